"""`refcalc grade FILE.py`: run somebody's functions, say which are right, and name what is wrong in the others."""

__all__ = ["add_to", "run"]

import argparse
import json
import os
import re
import sys
from textwrap import wrap
from threading import Lock, Timer
from typing import Any, Self

from refcalc import _json
from refcalc.cli import _files, _progress

DESCRIPTION = """Run the functions of a file, say which are right, and name what is wrong in the
others.

Exercises: loss (log_softmax, log_softmax_naive, token_loss, sequence_loss,
perplexity, shifted_loss, unshifted_loss, masked_loss, bits_per_token),
evaluation (token_mean, bits_per_byte, document_report, windows,
bootstrap_range, greedy), baselines (uniform_nll, add_alpha_unigram,
bits_per_char, mean_and_std); or one of your own, an Exercise that a file of
Python defines: FILE.py:NAME.  Without a file to grade, the functions of the
exercise are listed: what they are called with, and what they return.

The numbers are fresh each time; --seed repeats those of a run.  The file runs
in a process of its own with limits of time and memory.  That keeps accidents
away and is no sandbox: it can read and write what you can.
"""
STATUSES = """Exit status: 0 if every function is right (or listed), 1 if one is not, 2 where
nothing could be run."""
COLOURS = {"right": "32", "missing": "33"}
RED = "31"
INDENTED: dict[str, Any] = {"width": 80, "initial_indent": "    ", "subsequent_indent": "    "}
LATE = 1.0  # seconds after which a terminal is told what is going on


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser(
        "grade",
        help="run somebody's functions, and name what is wrong in them",
        description=DESCRIPTION,
        epilog=STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", help="a file of Python with the functions")
    parser.add_argument("--exercise", default="loss", metavar="NAME", help="which functions these are (default: loss)")
    parser.add_argument("--seed", type=int, metavar="N", help="of the numbers that are asked (default: fresh ones)")
    parser.add_argument("--timeout", type=float, default=2.0, metavar="S", help="seconds for one call (default: 2)")
    parser.add_argument(
        "--alias", action="append", default=[], metavar="NAME=OTHER", help="a function has another name in the file"
    )
    parser.add_argument("--aliases", metavar="FILE.toml", help='the same in a file: log_softmax = "my_log_softmax"')
    parser.add_argument("--strict", action="store_true", help="ask for 4 ulp, not 1e-9 max(1, |answer|)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status: 0 if every function is right, else 1."""
    from refcalc.grading.grader import exercise_named, grade  # noqa: PLC0415 (other commands do not need it)

    exercise = exercise_named(_own_exercise(options.exercise) if ":" in options.exercise else options.exercise)
    if options.file is None:
        return _listed(exercise, options.json), 0
    aliases = _aliases(options)
    try:
        with _Progress() as progress:
            verdict = grade(
                options.file,
                exercise,
                seed=options.seed,
                aliases=aliases,
                timeout=options.timeout,
                strict=options.strict,
                watch=progress.show,
            )
    except OSError as error:
        if error.filename != options.file:  # no folder for the child, or no process
            raise
        raise ValueError(f"{options.file}: the module must be a file that can be read, got {error.strerror}") from None
    status = 0 if verdict.right else 1
    if options.json:
        return json.dumps(_json.plain(verdict.record()), indent=1, allow_nan=False), status
    lines = verdict.lines(_painted if _in_colour() else str)
    if all(each.status == "missing" for each in verdict.functions.values()):
        lines += _meant(options.file)
    return "\n".join(lines), status


# --- private ---------------------------------------------------------------------------------------------------------


def _own_exercise(name: str) -> Any:
    """Return the exercise that a file defines, from FILE.py:NAME."""
    import runpy  # noqa: PLC0415 (seldom needed)

    path, _, variable = name.rpartition(":")
    _files.read_text(path, "the exercise")
    try:
        names = runpy.run_path(path)
    except Exception as error:  # whatever the file raises
        raise ValueError(f"{path}: the exercise must run, got {type(error).__name__}: {error}") from None
    if variable not in names:
        raise ValueError(f"{path}: the file must define {variable}, got no such name")
    return names[variable]


def _listed(exercise: Any, as_json: bool) -> str:
    """Return what each function of an exercise is called with, and what it returns."""
    if as_json:
        functions = [{"signature": each.signature, "returns": each.returns} for each in exercise.functions]
        return json.dumps({"exercise": exercise.name, "functions": functions}, indent=1)
    return "\n".join(line for each in exercise.functions for line in (each.signature, *wrap(each.returns, **INDENTED)))


def _meant(path: str) -> list[str]:
    """Return the exercise whose functions a file defines, as the text has it, in a line that recommends it."""
    from refcalc.grading.exercises import EXERCISES  # noqa: PLC0415 (other commands do not need it)

    with open(path, encoding="utf-8", errors="replace") as file:
        defined = {*re.findall(r"^def (\w+)", file.read(), re.MULTILINE)}
    there = {name: sum(each.name in defined for each in exercise.functions) for name, exercise in EXERCISES.items()}
    likely = max(there, key=lambda name: there[name])
    return [f"the file has functions of another exercise: --exercise {likely}"] if there[likely] else []


def _aliases(options: argparse.Namespace) -> dict[str, str]:
    """Return the aliases of the file, and over them those of the command line."""
    aliases: dict[str, str] = {}
    if options.aliases is not None:
        import tomllib  # noqa: PLC0415 (seldom needed)

        try:
            aliases = tomllib.loads(_files.read_text(options.aliases, "the aliases"))
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{options.aliases}: must be TOML, got {error}") from None
    for alias in options.alias:
        name, sign, other = alias.partition("=")
        if not sign:
            raise ValueError(f"--alias: must be of the form NAME=OTHER, got {alias}")
        aliases[name.strip()] = other.strip()
    return aliases


def _in_colour() -> bool:
    """Return whether the output is a terminal, and nobody has asked for no colour (no-color.org)."""
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _painted(status: str) -> str:
    return f"\033[{COLOURS.get(status, RED)}m{status}\033[0m"


class _Progress:
    """One line on a terminal's standard error that says which function is asked, once that takes long."""

    def __init__(self) -> None:
        self._terminal = _progress.on_terminal()
        self._name, self._lock, self._late = "", Lock(), False
        self._timer = Timer(LATE, self._begin)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._terminal:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            if self._late:
                _progress.say()
            self._late = self._terminal = False

    def show(self, name: str) -> None:
        with self._lock:
            self._name = name
            if self._late:
                _progress.say(f"grading {name}")

    def _begin(self) -> None:
        with self._lock:
            if self._terminal:
                self._late = True
                _progress.say(f"grading {self._name}")
