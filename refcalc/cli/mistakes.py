"""`refcalc mistakes`: the catalogue of mistakes; with a name, one of them explained."""

__all__ = ["add_to", "run"]

import argparse
import json
import textwrap
from typing import Any

WIDTH = 80


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser("mistakes", help="list the known mistakes, or explain one", description=__doc__)
    parser.add_argument("name", nargs="?", help="the mistake to explain, by any name of it; or a part of names to list")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    from refcalc.mistakes import MISTAKES, NO_COMPUTATION  # noqa: PLC0415 (other commands do not need it)

    if options.name is None:
        if options.json:
            listed = {name: _record(mistake) for name, mistake in MISTAKES.items()}
            return json.dumps({"mistakes": listed, "no_computation": NO_COMPUTATION}, indent=1), 0
        return "\n".join([*_list(MISTAKES), "", "no computation of a batch", *_table(NO_COMPUTATION)]), 0
    if options.name in NO_COMPUTATION:
        return f"{options.name}: {NO_COMPUTATION[options.name]}", 0
    named = {name: mistake for name, mistake in MISTAKES.items() if options.name in name}
    if named and options.name not in (*MISTAKES, *MISTAKES.aliases) and not options.json:
        return "\n".join(_list(named)), 0
    try:
        mistake = MISTAKES[options.name]
    except KeyError as error:
        raise ValueError(error.args[0]) from None
    return json.dumps(_record(mistake), indent=1) if options.json else "\n".join(_explained(mistake)), 0


def _record(mistake: Any) -> dict[str, Any]:
    given = {key: value for key, value in mistake._asdict().items() if key != "function"}
    return {**given, "done": mistake.done, "witness": mistake.witness}


def _list(mistakes: Any) -> list[str]:
    lines = []
    for step in dict.fromkeys(mistake.step for mistake in mistakes.values()):
        lines += ["", step, *_table({name: each.done for name, each in mistakes.items() if each.step == step})]
    return lines[1:]


def _table(sentences: dict[str, str]) -> list[str]:
    return [line for name, sentence in sentences.items() for line in _wrapped(f"  {name:<28} {sentence}", 31)]


def _wrapped(text: str, indent: int = 0) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False, subsequent_indent=" " * indent)


def _explained(mistake: Any) -> list[str]:
    aliases = f" (also {', '.join(mistake.aliases)})" if mistake.aliases else ""
    parts = {
        "symptom": mistake.symptom,
        "hidden if": f"{mistake.hidden_if}.",
        "remedy": mistake.remedy,
        "needs": ", ".join(mistake.needs),
        "changes": ", ".join(mistake.quantities) if mistake.step in _STEPS else "",
        "reports": mistake.reports,
    }
    lines = [f"{mistake.name}{aliases}: {mistake.sort}, step {mistake.step}", "", *_wrapped(mistake.done), ""]
    lines += [line for name, text in parts.items() if text for line in _wrapped(f"{name:<10} {text}", 11)]
    return [*lines, "", *mistake.witness.splitlines()]


_STEPS = ("score", "align", "select", "reduce", "express")
