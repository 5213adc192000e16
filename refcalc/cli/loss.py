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
from refcalc.evidence import Batch
from refcalc.loss import causal_lm_loss, cross_entropy
from refcalc.tally import Tally
from refcalc.targets import mask_padding, mask_prompt

NAME = "causal_lm_loss"  # whose refusals these are
TEXT_COUNTS = ("n_bytes", "n_chars", "n_words")
DESCRIPTION = """Take a batch of logits and token ids through the five steps of a loss, and print
the right number beside those that it is mistaken for.
"""
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
        description=f"{DESCRIPTION}\n{batch_file.FORMAT}",
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
        text = str(refusal)
        if batch.given_labels is None:  # the file has no labels to be blamed
            text = text.replace(f"{NAME}: labels", f"{NAME}: tokens")
        kind = TypeError if isinstance(refusal, TypeError) else ValueError
        raise kind(f"{options.file}: {text}") from None
    if options.json:
        return json.dumps(_json.plain({"file": options.file, **report}), indent=1, allow_nan=False), 0
    return _table(options.file, report), 0


# --- the numbers -----------------------------------------------------------------------------------------------------


def _report(batch: Batch) -> dict[str, Any]:
    """Return the five steps, the metrics, the baseline and the four numbers, by name."""
    _check_tokens(batch)
    logits = _as_given(batch, _real_classes(batch))
    stages = _stages(batch)
    targets = _as_given(batch, list(stages.values())[-1])
    labels, mask = _as_given(batch, _without_second_bos(batch)), _as_given(batch, batch.attention_mask)
    losses = causal_lm_loss(logits, labels, attention_mask=mask, ignore_index=batch.ignore_index, reduction="none")
    counts = {name: sum(1 for _ in _scored(targets, targets, batch)) for name, targets in stages.items()}
    tally = _tally(batch, [nll for nll, _ in _scored(losses, targets, batch)])
    return {
        "rows": sum(batch.lengths),
        "vocab_size": batch.classes,
        "pairs": counts["pairs"],
        "ignored": {after: counts[before] - counts[after] for before, after in pairwise(counts)},
        "labels_not_tokens": _labels_not_tokens(batch),
        "nll_sum": float(tally.nll_sum),
        "n_targets": tally.n_targets,
        **{name: count for name in TEXT_COUNTS if (count := getattr(tally, name)) is not None},
        **{name: getattr(tally, name) for name, (_, count) in METRICS.items() if getattr(tally, count)},
        **_objective(batch, logits, targets),
        "uniform_nll": units.uniform_nll(batch.classes),
        "four_numbers": _four_numbers(batch, logits, tally),
    }


def _tally(batch: Batch, nlls: list[float]) -> Tally:
    if not nlls:
        given = batch.tokens if batch.given_labels is None else batch.given_labels
        rule = "hold a target that counts (nothing to average)"
        _check.refuse(NAME, "labels", rule, _as_given(batch, given))
    total = Tally.of(nlls)
    return Tally(total.nll_sum, total.n_targets, **{name: batch.total(name) for name in TEXT_COUNTS})


def _stages(batch: Batch) -> dict[str, Any]:
    """Return the targets of the rows, [B][T], after each step of selection."""
    mask, ignored = batch.attention_mask, batch.ignore_index
    given = batch.tokens if batch.given_labels is None else batch.given_labels
    without_prompt = given
    if batch.prompt_lengths is not None:
        without_prompt = given if mask is None else mask_padding(given, mask, ignored)
        without_prompt = mask_prompt(without_prompt, batch.prompt_lengths, ignored)
    steps = {
        "pairs": (batch.tokens, None),
        "padding": (batch.tokens, mask),
        "labels": (given, mask),
        "prompt": (without_prompt, mask),
        "document starts": (batch.labels, mask),
    }
    if batch.bos_id is not None:
        steps["second BOS"] = (_without_second_bos(batch), mask)
    return {name: causal_targets(NAME, labels, masked, ignored) for name, (labels, masked) in steps.items()}


def _without_second_bos(batch: Batch) -> list[list[int]]:
    """Return the labels, ignored where a BOS follows a BOS at the head of a sequence."""
    if batch.bos_id is None:
        return batch.labels
    from refcalc.mistakes.reading import Reading  # noqa: PLC0415 (few batches have a BOS twice)

    second = Reading(batch).second_bos
    return [
        [batch.ignore_index if second(b, t) else y for t, y in enumerate(row)] for b, row in enumerate(batch.labels)
    ]


def _labels_not_tokens(batch: Batch) -> int:
    """Return how many labels are not the token at their own place: labels that were shifted before, as a rule."""
    if batch.given_labels is None:
        return 0
    pairs = [
        (y, token)
        for labels, tokens in zip(batch.given_labels, batch.tokens, strict=True)
        for y, token in zip(labels, tokens, strict=True)
    ]
    return sum(1 for y, token in pairs if y not in (token, batch.ignore_index))


def _objective(batch: Batch, logits: Any, targets: Any) -> dict[str, float]:
    """Return the mean cross-entropy with class weights and label smoothing, if the batch has any."""
    options: dict[str, Any] = {"weight": batch.weight, "label_smoothing": batch.label_smoothing}
    if not any(options.values()):
        return {}
    return {"objective": cross_entropy(logits, targets, ignore_index=batch.ignore_index, **options)}


def _four_numbers(batch: Batch, logits: Any, tally: Tally) -> dict[str, Any]:
    """Return the mean nll shifted and not, what is masked left out and not: four plausible numbers, one right.

    A number that does not exist (padding rows may hold nan) is the refusal instead.
    """
    labels, tokens = _as_given(batch, _without_second_bos(batch)), _as_given(batch, batch.tokens)
    at_place = labels
    if batch.attention_mask is not None:
        at_place = mask_padding(labels, _as_given(batch, batch.attention_mask), batch.ignore_index)
    all_pairs = sum(length - 1 for length in batch.lengths if length) == tally.n_targets
    return {
        "shifted, masked": tally.mean_nll,
        "shifted, not masked": tally.mean_nll if all_pairs else _number(causal_lm_loss, logits, tokens, -1),
        "not shifted, masked": _number(cross_entropy, logits, at_place, batch.ignore_index),
        "not shifted, not masked": _number(cross_entropy, logits, tokens, -1),
    }


def _number(loss: Any, logits: Any, labels: Any, ignore_index: int) -> float | dict[str, str]:
    try:
        return float(loss(logits, labels, ignore_index=ignore_index))
    except ValueError as refusal:
        return {"refused": str(refusal)}


def _real_classes(batch: Batch) -> Any:
    """Return the logits without the classes that pad the vocabulary, all rows of one length."""
    if batch.vocab_size is None:
        return batch.logits
    return [[list(row)[: batch.vocab_size] for row in rows] for rows in batch.logits]


def _as_given(batch: Batch, nested: Any) -> Any:
    """Return a nest of one row without the batch around it if the file had none, so that places have their names."""
    return nested[0] if batch.flat and nested is not None else nested


def _check_tokens(batch: Batch) -> None:
    """Refuse a negative token id: only labels have marks."""
    for b, row in enumerate(batch.tokens):
        for t, token in enumerate(row):
            _check.count(NAME, f"tokens[{t}]" if batch.flat else f"tokens[{b}][{t}]", token)


def _scored(losses: Any, targets: Any, batch: Batch) -> Iterator[tuple[Any, int]]:
    """Yield the loss and the target of each scored row; the last row of a sequence, which has neither, is left out."""
    for loss, target in zip(losses, targets, strict=False):
        if isinstance(target, list):
            yield from _scored(loss, target, batch)
        elif target != batch.ignore_index:
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
    for name, (unit, _) in METRICS.items():
        if name in report:
            step = "express" if name == "mean_nll" else ""
            lines.append(f"{step:<8} {report[name]:<16.10g} {unit}")
    lines.append(f"{'':<8} {report['uniform_nll']:<16.10g} nats per target for a model that knows nothing, ln V")
    if "objective" in report:
        lines.append(
            f"{'':<8} {report['objective']:<16.10g} the objective: with the class weights and the label smoothing"
        )
    four = report["four_numbers"]
    lines += ["", f"{'nats per target':<18}{'masked':>16}{'not masked':>16}"]
    for shift in ("shifted", "not shifted"):
        cells = [four[f"{shift}, {mask}"] for mask in ("masked", "not masked")]
        shown = [f"{cell:.10g}" if isinstance(cell, float) else "refused" for cell in cells]
        lines.append(f"{shift:<18}{shown[0]:>16}{shown[1]:>16}")
    lines.append("the loss is the number shifted and masked; the others look as good")
    lines += [f"refused: {cell['refused']}" for cell in four.values() if isinstance(cell, dict)]
    if report["labels_not_tokens"]:
        lines.append(f"note: {report['labels_not_tokens']} labels are not the token at their place; shifted already?")
    return "\n".join(lines)
