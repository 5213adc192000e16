"""`refcalc report RECEIPTS`: every figure of an evaluation, from its receipts alone."""

__all__ = ["add_to", "run"]

import argparse
import json
from typing import Any

from refcalc.cli._pairs import pair

DESCRIPTION = """Every figure of an evaluation with its numerator and denominator, from the
receipts that refcalc.evaluate wrote and from nothing else: the totals, what the
unknown tokens and the ends of the texts have in them, the baselines, the worst
documents.

The uniform baseline is always there.  A --baseline is another model's receipts,
under the same protocol and of the same documents; a --split is the same model's
receipts on another split, for the criteria.

Criteria are part of the protocol, so they were written down before the run.
Exit status 1 if one does not hold, or cannot be judged because the receipts
that it speaks of are not there, and if a baseline or split is under another
protocol; 2 for receipts that are torn, changed by hand, incomplete, mixed, or
twice of one document.
"""


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser(
        "report",
        help="every figure of an evaluation, from its receipts",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("receipts", help="the file of receipts")
    for option, words in (("baseline", "another model, on the same documents"), ("split", "another split")):
        help_ = f"receipts of {words}; may be given again"
        parser.add_argument(f"--{option}", action="append", default=[], metavar="NAME=RECEIPTS", help=help_)
    parser.add_argument("--worst", type=int, default=5, metavar="N", help="how many documents to name (default: 5)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    from refcalc.evaluation.report import Report  # noqa: PLC0415 (it loads hashlib and more)

    report = Report.of(
        options.receipts,
        baselines=_named("--baseline", options.baseline),
        splits=_named("--split", options.split),
        worst=options.worst,
    )
    output = json.dumps(report.to_dict(), indent=1, allow_nan=False) if options.json else str(report)
    return output, 0 if report.holds else 1


def _named(option: str, given: list[str]) -> dict[str, str]:
    """Return the paths by name."""
    result: dict[str, str] = {}
    for each in given:
        name, path = pair(f"report: {option}", "NAME=RECEIPTS", each)
        if name in result:
            raise ValueError(f"report: {option} must give each name once, got {name!r} again")
        result[name] = path
    return result
