"""The command line: `python -m refcalc COMMAND ...`, or `refcalc COMMAND ...` where it is installed.

Exit status: 0 agrees or complete; 1 disagrees, or a comparison is refused; 2 bad input or usage.  Results go to the
standard output once they are complete; what is refused is one line on the standard error.  Control characters, in the
name of a document or file, are shown as escapes.
"""

__all__ = ["main"]

import argparse
import os
import sys
from collections.abc import Sequence

from refcalc._refusal import NoComparison, harmless
from refcalc.cli import (
    audit,
    baselines,
    bootstrap,
    compare,
    diagnose,
    grade,
    loss,
    mistakes,
    probe,
    report,
    seeds,
    verify,
)

COMMANDS = (grade, loss, diagnose, mistakes, probe, baselines, bootstrap, seeds, report, audit, compare, verify)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    parser = argparse.ArgumentParser(prog="refcalc", description="Language-model loss arithmetic, checked.")
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(subparsers)
    options = parser.parse_args(arguments)
    try:
        output, status = options.run(options)
    except (OSError, ValueError, TypeError, ArithmeticError) as refusal:
        print(f"refcalc: {_one_line(refusal)}", file=sys.stderr)
        return 1 if isinstance(refusal, NoComparison) else 2
    except RecursionError:
        print("refcalc: the input must not nest so deeply, got too many levels", file=sys.stderr)
        return 2
    return _written(output if options.run is grade.run else harmless(output), status)  # grade writes in colours


def _written(output: str, status: int) -> int:
    """Write the output and return the status, or 2 where it could not be written."""
    try:
        if sys.stdout is None:  # closed by whoever started the command
            raise OSError("the standard output must be open, got a closed one")
        print(output, flush=True)
    except BrokenPipeError:  # whoever read the output (`head`) has had enough
        _forget_output()
    except (OSError, UnicodeEncodeError) as failure:
        print(f"refcalc: {_one_line(failure)}", file=sys.stderr)
        _forget_output()
        return 2
    return status


def _forget_output() -> None:
    """Let Python not try once more, at its end, to write what could not be written."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(refusal: Exception) -> str:
    words = str(refusal)
    if isinstance(refusal, OSError) and refusal.filename is not None:
        words = f"{os.fsdecode(refusal.filename)}: must be a file that can be opened, got {refusal.strerror}"
    return harmless(" ".join(words.split()))
