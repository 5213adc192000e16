"""`refcalc bootstrap RECEIPTS`: how far a loss would move with other documents, and whether two systems differ."""

__all__ = ["add_to", "run"]

import argparse
import json
from collections.abc import Callable
from typing import Any

from refcalc import _check, _json, units
from refcalc._refusal import NoComparison
from refcalc.cli import _progress

Documents = dict[str | int, tuple[float, int]]

PER = {"target": "n_targets", "byte": "n_bytes", "char": "n_chars", "word": "n_words"}
NAMES = {"target": "target", "byte": "byte", "char": "character", "word": "word"}
UNITS: dict[str, Callable[[float], float]] = {"nats": float, "bits": units.nats_to_bits, "perplexity": units.perplexity}

RECEIPTS = """How far a loss would move with other documents, and whether two systems differ
on the same ones.

The receipts are JSON lines, one document each, as `refcalc.evaluate` writes
them or with less:

    document       the id of the document, text or a whole number, each once
    nll_sum        its nll sum in nats: a number, or text as a Tally writes it
    n_targets      its scored targets
    n_bytes, n_chars, n_words
                   what these targets cover, where it was counted
    n_documents    1, as a Tally writes it
    group          the group it belongs to (an author, a template), text or a
                   whole number
    comment        anything

A line may be a Tally's to_dict() with a document id.  Documents without a
target are left out, and counted.
"""

METHODS = """The methods, how to draw as many documents as there are, with replacement:

    random    from the numbers of random.Random(seed).random() alone: the same
              draws on every Python, and fast (default)
    choice    one document after the other by rng.choice(documents), as the
              algorithm is published (Efron & Tibshirani 1993, 13.3; Koehn
              2004): the same law, and the very draws of code that is written
              so; slower
    exact     nothing is drawn: every possible resample counts with its
              probability; up to 10 documents, or groups

With --against, the difference is RECEIPTS minus the other: below 0 the first is
the lower, which is the better.  In each resample both have the same documents.
Files of other documents, or of other counts, are not compared: exit status 1.
"""


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser(
        "bootstrap",
        help="how far a loss would move with other documents, and whether two systems differ on the same ones",
        description=f"{RECEIPTS}\n{METHODS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("receipts", help="a loss for each document, in JSON lines")
    parser.add_argument("--against", metavar="RECEIPTS", help="another system on the same documents: the difference")
    parser.add_argument("--per", choices=PER, default="target", help="what nll sums are divided by (default: target)")
    parser.add_argument("--groups", action="store_true", help="draw groups of documents as wholes")
    parser.add_argument("--draws", type=int, default=2000, metavar="N", help="resamples (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the draws (default: 0)")
    parser.add_argument("--method", choices=("random", "choice", "exact"), default="random", help="see above")
    parser.add_argument("--interval", choices=("percentile", "basic"), default="percentile")
    parser.add_argument("--confidence", type=float, default=0.95, metavar="C", help="of the interval (default: 0.95)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    report = _report(options)
    if options.json:
        return json.dumps(_json.plain(report), indent=1, allow_nan=False), 0
    return _table(report), 0


# --- the numbers -----------------------------------------------------------------------------------------------------


def _report(options: argparse.Namespace) -> dict[str, Any]:
    from refcalc.resampling import bootstrap, paired_bootstrap, pooled_ratio  # noqa: PLC0415 (it loads decimal)

    documents, groups, left_out = _read(options.receipts, options)
    drawing = {
        "draws": options.draws,
        "seed": options.seed,
        "method": options.method,
        "interval": options.interval,
        "confidence": options.confidence,
        "groups": groups,
        "progress": _progress.of_draws(),
    }
    result = bootstrap(documents, **drawing)
    delta = pooled_ratio(documents, confidence=options.confidence, groups=groups)
    report = {
        "file": options.receipts,
        "per": options.per,
        "documents": len(documents),
        "left_out": left_out,
        "grouped": options.groups,
        **_fields(result),
        "delta_method": {"standard_error": delta.standard_error, "low": delta.low, "high": delta.high},
    }
    for name, convert in UNITS.items():
        report[name] = {end: convert(getattr(result, end)) for end in ("observed", "low", "high")}
    if options.against is not None:
        others, _, _ = _read(options.against, options)
        _same_documents(options, documents, others)
        paired = paired_bootstrap(documents, others, **drawing)
        against = {"file": options.against, "observed": paired.theirs, "ours_lower": paired.ours_lower}
        report["against"] = {**against, "difference": _fields(paired.difference)}
    return report


def _fields(result: Any) -> dict[str, Any]:
    fields: dict[str, Any] = result._asdict()
    return fields


def _read(path: str, options: argparse.Namespace) -> tuple[Documents, list[Any] | None, int]:
    """Return (nll sum, count) of each document, the groups if they are asked for, and how many scored nothing."""
    from refcalc.evaluation.log import Receipts  # noqa: PLC0415 (it loads hashlib and more)

    count = PER[options.per]
    documents: Documents = {}
    groups = []
    seen: set[str | int] = set()
    receipts = Receipts(path)
    for number, receipt in receipts:
        if receipt.document in seen:
            receipts.refuse(number, "name a document that no line before it names", receipt.document)
        seen.add(receipt.document)
        tally = receipt.tally
        n = getattr(tally, count)
        at = f"line {number}: document {receipt.document!r}"
        if n is None:
            raise ValueError(
                f"{path}: {at} must have {count}, its {NAMES[options.per]}s, for --per {options.per}, got none"
            )
        if options.groups and receipt.group is None:
            raise ValueError(f"{path}: {at} must have a group for --groups, got none")
        if not tally.n_targets:
            continue
        if not n:
            _check.refuse(path, at, f"have {count} of at least 1 where targets are scored", n)
        documents[receipt.document] = float(tally.nll_sum), n
        groups.append(receipt.group)
    return documents, groups if options.groups else None, len(seen) - len(documents)


def _same_documents(options: argparse.Namespace, ours: Documents, theirs: Documents) -> None:
    """Refuse files that do not hold the same documents, of the same counts."""
    first, second, count = options.receipts, options.against, PER[options.per]
    for path, documents, other, others in ((second, theirs, first, ours), (first, ours, second, theirs)):
        for key in others:
            if key not in documents:
                rule = f"the file must score the document {key!r}, as {other} does, got no such one"
                raise NoComparison(f"{path}: {rule}")
    for key, (_, n) in ours.items():
        if theirs[key][1] != n:
            hint = " (--per byte or char holds for any tokenizer)" if options.per == "target" else ""
            rule = f"have {count} {n}, as in {first}{hint}"
            _check.refuse(second, f"document {key!r}", rule, theirs[key][1], NoComparison)


# --- the table -------------------------------------------------------------------------------------------------------


def _table(report: dict[str, Any]) -> str:
    per, share = NAMES[report["per"]], f"{100 * report['confidence']:g} %"
    left_out = f"; {report['left_out']} without a target left out" if report["left_out"] else ""
    grouped = f" in {report['resampled']:,} groups" if report["grouped"] else ""
    drawn = "every resample" if report["seed"] is None else f"{report['draws']:,} draws, seed {report['seed']}"
    lines = [
        report["file"],
        "",
        f"documents       {report['documents']:,}{grouped}{left_out}",
        f"drawn           {drawn}, {report['method']}, {report['interval']} interval",
        f"standard error  {report['standard_error']:.4g} nats; {report['delta_method']['standard_error']:.4g} by the "
        "delta method",
        "",
        f"{f'per {per}':<16}{'observed':>14}{share + ' from':>14}{'to':>14}",
    ]
    for name in UNITS:
        lines.append(_row(name, report[name]))
    lines += [f"warning: {words}" for words in report["warnings"]]
    if "against" in report:
        against = report["against"]
        lines += ["", f"against {against['file']}: {against['observed']:.6g} nats per {per}"]
        lines.append(_row("difference", against["difference"]))
        lines.append("the difference is the first minus the second, in nats: below 0 the first is the better")
        lines.append(f"the first is the lower in {100 * against['ours_lower']:.4g} % of the resamples")
        lines.append(_verdict(against["difference"]))
    return "\n".join(lines)


def _row(name: str, numbers: dict[str, float]) -> str:
    return f"{name:<16}" + "".join(f"{numbers[end]:>14.6g}" for end in ("observed", "low", "high"))


def _verdict(difference: dict[str, Any]) -> str:
    """Return the conclusion; one that would say too much carries what speaks against it."""
    if difference["low"] > 0.0 or difference["high"] < 0.0:
        if difference["warnings"]:
            return f"the interval does not hold 0, but that settles nothing: {'; '.join(difference['warnings'])}"
        return "the interval does not hold 0: the documents tell the two apart"
    return "the interval holds 0: these documents do not tell the two apart"
