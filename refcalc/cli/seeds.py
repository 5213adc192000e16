"""`refcalc seeds NUMBERS...`: the noise between runs that differ in their seed, and whether a difference is larger."""

__all__ = ["add_to", "run"]

import argparse
import json
from pathlib import Path
from typing import Any

from refcalc import _check, _json

DESCRIPTION = """The mean of runs that differ in their seed alone, and how far they scatter.

With --against, or with --difference, whether a difference is within the noise, unclear (and how many seeds would settle
it) or real: at most one standard error of the difference is within the noise, beyond the t bound it is real.
"""


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser(
        "seeds",
        help="the noise between runs with other seeds, and whether a difference is larger",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("numbers", type=float, nargs="+", metavar="NUMBERS", help="the result of each run")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--against", type=float, nargs="+", metavar="N", help="the runs of another system")
    other.add_argument("--difference", type=float, metavar="D", help="a difference of two means of as many runs")
    parser.add_argument("--confidence", type=float, default=0.95, metavar="C", help="of intervals (default: 0.95)")
    parser.add_argument("--svg", metavar="FILE", help="draw the means and their intervals into this file")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    from refcalc.resampling import materiality, seed_noise  # noqa: PLC0415 (it loads decimal)

    sides = {"runs": seed_noise(options.numbers, confidence=options.confidence)}
    verdict = None
    if options.against is not None:
        sides["against"] = seed_noise(options.against, confidence=options.confidence)
        difference = _check.finite("seeds", "the difference", sides["runs"].mean - sides["against"].mean)
        verdict = materiality(difference, (sides["runs"], sides["against"]), confidence=options.confidence)
    elif options.difference is not None:
        verdict = materiality(options.difference, sides["runs"], confidence=options.confidence)
    if options.svg is not None:
        _draw(options.svg, sides, options.confidence)
    if options.json:
        report: dict[str, Any] = {name: side._asdict() for name, side in sides.items()}
        if verdict is not None:
            report["difference"] = {**verdict._asdict(), "words": str(verdict)}
        return json.dumps(_json.plain(report), indent=1, allow_nan=False), 0
    return _table(sides, verdict), 0


def _table(sides: dict[str, Any], verdict: Any) -> str:
    share = f"{100 * sides['runs'].confidence:g} %"
    heads = ("runs", "mean", "standard dev.", "standard err.", f"{share} from", "to")
    lines = [f"{'':<10}{heads[0]:>5}" + "".join(f"{head:>15}" for head in heads[1:])]
    for name, side in sides.items():
        numbers = (side.mean, side.standard_deviation, side.standard_error, side.low, side.high)
        lines.append(f"{name:<10}{side.n:>5}" + "".join(f"{x:>15.6g}" for x in numbers))
    if verdict is not None:
        lines += ["", *str(verdict).split("; ")]
    return "\n".join(lines)


def _draw(path: str, sides: dict[str, Any], confidence: float) -> None:
    from refcalc.drawing import error_bars  # noqa: PLC0415

    rows = [(f"{name}, {side.n} seeds", side.mean, side.low, side.high) for name, side in sides.items()]
    svg = error_bars(rows, title="Means over seeds", unit="mean", bars=f"{100 * confidence:g} % t interval")
    Path(path).write_text(svg, encoding="utf-8")
