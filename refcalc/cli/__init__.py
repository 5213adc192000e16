"""The command line: `python -m refcalc COMMAND ...`, or `refcalc COMMAND ...` where it is installed.

Exit status: 0 agrees or complete; 1 disagrees, or a comparison is refused; 2 bad input or usage.  Results go to the
standard output once they are complete; what is refused is one line on the standard error.
"""

__all__ = ["main"]

import argparse
import os
import sys
from collections.abc import Sequence

from refcalc.cli import baselines, bootstrap, diagnose, loss, mistakes, probe, seeds

COMMANDS = (loss, diagnose, mistakes, probe, baselines, bootstrap, seeds)


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
        return 2
    try:
        print(output, flush=True)
    except BrokenPipeError:  # whoever read the output (`head`) has had enough; Python must not try again at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(status)


def _one_line(refusal: Exception) -> str:
    return " ".join(str(refusal).split())
