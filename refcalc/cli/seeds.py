"""`refcalc seeds NUMBERS...`: the noise between runs that differ in their seed, and whether a difference is larger."""

__all__ = ["add_to", "run"]

import argparse
import json
from pathlib import Path
from typing import Any

from refcalc import _check, _json
from refcalc.cli import _files, _numbers

DESCRIPTION = """The mean of runs that differ in their seed alone, and how far they scatter.

With --against, or with --difference, whether a difference is within the noise,
unclear or real: at most one standard error of the difference is within the
noise, beyond that and the t bound it is real.  An unclear one comes with the
seeds on each side that would find a true difference of this size in 80 % of
cases (its power; one time in five they still miss it).

Runs that are all alike show no noise, and no difference can be weighed against
it: exit status 1.
"""

NO_NOISE = "no noise seen"


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
    _numbers.allow_negative(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    from refcalc.resampling import seed_noise  # noqa: PLC0415 (it loads decimal)

    if options.svg is not None:
        _files.check_writable(options.svg, "the picture")
    sides = {"runs": seed_noise(options.numbers, confidence=options.confidence)}
    if options.against is not None:
        sides["against"] = seed_noise(options.against, confidence=options.confidence)
    verdict = _verdict(options, sides)
    if options.svg is not None:
        _draw(options.svg, sides, options.confidence)
    status = 1 if verdict is not None and verdict["verdict"] == NO_NOISE else 0
    if options.json:
        report: dict[str, Any] = {name: side._asdict() for name, side in sides.items()}
        if verdict is not None:
            report["difference"] = verdict
        return json.dumps(_json.plain(report), indent=1, allow_nan=False), status
    return _table(sides, verdict), status


def _verdict(options: argparse.Namespace, sides: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the difference amounts to, and its words; None where none was asked for."""
    from refcalc.resampling import materiality  # noqa: PLC0415

    if options.against is None and options.difference is None:
        return None
    difference, noise = options.difference, sides["runs"]
    if options.against is not None:
        difference, noise = noise.mean - sides["against"].mean, (noise, sides["against"])
    difference = _check.finite("seeds", "the difference", difference)
    if not any(side.standard_deviation for side in sides.values()):
        words = f"{NO_NOISE}: whether {difference:.4g} is more than noise cannot be said"
        unknown = {"standard_error": 0.0, "chance": None, "seeds_needed": None}
        return {"verdict": NO_NOISE, "difference": difference, **unknown, "words": words}
    verdict = materiality(difference, noise, confidence=options.confidence)
    return {**verdict._asdict(), "words": str(verdict)}


def _table(sides: dict[str, Any], verdict: dict[str, Any] | None) -> str:
    share = f"{100 * sides['runs'].confidence:g} %"
    heads = ("runs", "mean", "standard dev.", "standard err.", f"{share} from", "to")
    lines = [f"{'':<10}{heads[0]:>5}" + "".join(f"{head:>15}" for head in heads[1:])]
    for name, side in sides.items():
        numbers = (side.mean, side.standard_deviation, side.standard_error, side.low, side.high)
        lines.append(f"{name:<10}{side.n:>5}" + "".join(f"{x:>15.6g}" for x in numbers))
    if verdict is not None:
        lines += ["", *verdict["words"].split("; ")]
        if "against" in sides:
            lines.append("the difference is runs minus against")
    alike = [name for name, side in sides.items() if not side.standard_deviation]
    lines += [f"warning: {name}: all are alike; did they differ in their seed?" for name in alike]
    return "\n".join(lines)


def _draw(path: str, sides: dict[str, Any], confidence: float) -> None:
    from refcalc.drawing import error_bars  # noqa: PLC0415

    rows = [(f"{name}, {side.n} seeds", side.mean, side.low, side.high) for name, side in sides.items()]
    svg = error_bars(rows, title="Means over seeds", unit="mean", bars=f"{100 * confidence:g} % t interval")
    Path(path).write_text(svg, encoding="utf-8")
