"""`refcalc loss FILE.json`: the loss of a batch in its five steps, beside the numbers it is mistaken for."""

__all__ = ["add_to", "run"]

import argparse
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from refcalc import _check, _json, units
from refcalc._scored import causal_targets
from refcalc.cli import batch_file
from refcalc.loss import causal_lm_loss, cross_entropy
from refcalc.tally import Tally
from refcalc.targets import IGNORE_INDEX, mask_document_starts, mask_padding, mask_prompt

METRICS = {  # what each is called in a table, and what it needs
    "mean_nll": ("nats per target", "n_targets"),
    "perplexity": ("perplexity per target", "n_targets"),
    "bits_per_token": ("bits per target", "n_targets"),
    "bits_per_byte": ("bits per byte", "n_bytes"),
    "byte_perplexity": ("perplexity per byte", "n_bytes"),
    "bits_per_char": ("bits per character", "n_chars"),
    "word_perplexity": ("perplexity per word", "n_words"),
}


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser(
        "loss",
        help="the loss of a batch of logits, step by step, beside the numbers it is mistaken for",
        description=batch_file.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", help="a batch in JSON")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    batch = batch_file.read_batch(options.file)
    try:
        report = _report(batch)
    except (TypeError, ValueError) as refusal:
        raise type(refusal)(f"{options.file}: {refusal}") from None
    if options.json:
        return json.dumps(_json.plain({"file": options.file, **report}), indent=1, allow_nan=False), 0
    return _table(options.file, report), 0


# --- the numbers -----------------------------------------------------------------------------------------------------


def _report(batch: batch_file.BatchFile) -> dict[str, Any]:
    """Return the five steps, the metrics, the baseline and the four numbers, by name."""
    rows, classes = _checked_rows(batch.tokens), _classes(batch.logits)
    stages = _stages(batch)
    counts = {name: _count(targets) for name, targets in stages.items()}
    labels = _labels(batch)
    losses = causal_lm_loss(batch.logits, labels, attention_mask=batch.attention_mask, reduction="none")
    targets = causal_targets("causal_lm_loss", labels, batch.attention_mask, IGNORE_INDEX)
    nlls = [nll for nll, target in _scored(losses, targets)]
    if not nlls:
        _check.refuse("causal_lm_loss", "labels", "hold a target that counts (nothing to average)", labels)
    text = {name: getattr(batch, name) for name in ("n_bytes", "n_chars", "n_words")}
    total = Tally.of(nlls)
    tally = Tally(total.nll_sum, total.n_targets, **text)
    options = {"weight": batch.weight, "label_smoothing": batch.label_smoothing}
    loss = cross_entropy(batch.logits, targets, **options) if any(options.values()) else None
    return {
        "rows": rows,
        "vocab_size": classes,
        "pairs": counts["pairs"],
        "ignored": {after: counts[before] - counts[after] for before, after in pairwise(counts)},
        "nll_sum": float(tally.nll_sum),
        "n_targets": tally.n_targets,
        **{name: count for name, count in text.items() if count is not None},
        **({} if loss is None else {"loss": loss}),
        **{name: getattr(tally, name) for name, (_, count) in METRICS.items() if getattr(tally, count) is not None},
        "uniform_nll": units.uniform_nll(classes),
        "four_numbers": _four_numbers(batch, labels, tally.mean_nll, masked=counts["pairs"] > tally.n_targets),
    }


def _stages(batch: batch_file.BatchFile) -> dict[str, Any]:
    """Return the targets of the rows after each step of selection."""

    def targets(labels: Any, mask: Any) -> Any:
        return causal_targets("causal_lm_loss", labels, mask, IGNORE_INDEX)

    mask = batch.attention_mask
    given = batch.tokens if batch.labels is None else batch.labels
    without_prompt = given if batch.prompt_lengths is None else _without_prompt(batch, given)
    return {
        "pairs": targets(batch.tokens, None),
        "padding": targets(batch.tokens, mask),
        "labels": targets(given, mask),
        "prompt": targets(without_prompt, mask),
        "document starts": targets(_labels(batch), mask),
    }


def _labels(batch: batch_file.BatchFile) -> Any:
    """Return the labels before the shift with all that is selected away ignored, but for padding."""
    labels = batch.tokens if batch.labels is None else batch.labels
    if batch.prompt_lengths is not None:
        labels = _without_prompt(batch, labels)
    return labels if batch.document_ids is None else mask_document_starts(labels, batch.document_ids)


def _without_prompt(batch: batch_file.BatchFile, labels: Any) -> Any:
    if batch.attention_mask is not None:
        labels = mask_padding(labels, batch.attention_mask)
    return mask_prompt(labels, batch.prompt_lengths)


def _four_numbers(batch: batch_file.BatchFile, labels: Any, right: float, masked: bool) -> dict[str, Any]:
    """Return the mean nll shifted and not, what is masked left out and not: four plausible numbers, one right.

    A number that does not exist (padding rows may hold nan) is the refusal instead.
    """
    at_place = labels if batch.attention_mask is None else mask_padding(labels, batch.attention_mask)
    return {
        "shifted, masked": right,
        "shifted, not masked": _number(causal_lm_loss, batch.logits, batch.tokens) if masked else right,
        "not shifted, masked": _number(cross_entropy, batch.logits, at_place),
        "not shifted, not masked": _number(cross_entropy, batch.logits, batch.tokens),
    }


def _number(loss: Any, logits: Any, labels: Any) -> float | str:
    try:
        return float(loss(logits, labels))
    except ValueError as refusal:
        return str(refusal)


def _classes(logits: Any) -> int:
    """Return V, the length of the first row; other lengths are refused where they are met."""
    values = _check.items("causal_lm_loss", "logits", logits)
    return _classes(values[0]) if len(values) and _check.is_sequence(values[0]) else len(values)


def _checked_rows(tokens: Any) -> int:
    """Return the number of tokens, which is that of rows; a negative id is refused, since -100 marks labels only."""
    rows = 0

    def check(at: str, row: Any) -> None:
        nonlocal rows
        rows += len(row)
        for t, token in enumerate(row):
            _check.count("causal_lm_loss", f"tokens{at}[{t}]", token)

    _check.map_rows("causal_lm_loss", check, ("tokens",), (tokens,))
    return rows


def _count(targets: Any) -> int:
    return sum(1 for _ in _scored(targets, targets))


def _scored(losses: Any, targets: Any) -> Iterator[tuple[Any, int]]:
    """Yield the loss and the target of each scored row."""
    for loss, target in zip(losses, targets, strict=False):
        if isinstance(target, list):
            yield from _scored(loss, target)
        elif target != IGNORE_INDEX:
            yield loss, target


# --- the table -------------------------------------------------------------------------------------------------------


def _table(file: str, report: dict[str, Any]) -> str:
    ignored = ", ".join(f"{name} {count}" for name, count in report["ignored"].items() if count)
    lines = [
        f"{file}",
        "",
        f"score    {report['rows']} rows of V = {report['vocab_size']} logits",
        f"align    {report['pairs']} pairs: row t predicts token t + 1",
        f"select   {report['n_targets']} targets scored" + (f"; not scored: {ignored}" if ignored else ""),
        f"reduce   {report['nll_sum']:.10g} nats / {report['n_targets']} targets",
    ]
    if "loss" in report:
        lines.append(f"{'':<8} {report['loss']:<16.10g} nats per target with weight and label smoothing")
    for name, (unit, _) in METRICS.items():
        if name in report:
            step = "express" if name == "mean_nll" else ""
            lines.append(f"{step:<8} {report[name]:<16.10g} {unit}")
    lines.append(f"{'':<8} {report['uniform_nll']:<16.10g} nats per target for a model that knows nothing, ln V")
    four = report["four_numbers"]
    lines += ["", f"{'nats per target':<18}{'masked':>16}{'not masked':>16}"]
    for shift in ("shifted", "not shifted"):
        cells = [four[f"{shift}, {mask}"] for mask in ("masked", "not masked")]
        shown = [f"{cell:.10g}" if isinstance(cell, float) else "refused" for cell in cells]
        lines.append(f"{shift:<18}{shown[0]:>16}{shown[1]:>16}")
    lines.append("the loss is the number shifted and masked; the others look as good")
    lines += [f"refused: {cell}" for cell in four.values() if isinstance(cell, str)]
    return "\n".join(lines)
