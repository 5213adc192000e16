"""Negative numbers on the command line: one helper for every command that takes numbers (`diagnose`, `seeds`)."""

__all__ = ["allow_negative"]

import argparse
import re

NEGATIVE = re.compile(r"-\.?\d|-(inf|infinity|nan)$", re.IGNORECASE)  # no option begins with a digit


def allow_negative(parser: argparse.ArgumentParser) -> None:
    """Let a parser take every negative number for a number: argparse itself takes -2e-3 and -inf for options.

    Call it in `add_to`, on the parser of the command.  Up to Python 3.13 argparse knows no exponents, and it has no
    public way to be told.

    >>> parser = argparse.ArgumentParser()
    >>> action = parser.add_argument("number", type=float)
    >>> allow_negative(parser)
    >>> parser.parse_args(["-2e-3"]).number
    -0.002
    """
    parser._negative_number_matcher = NEGATIVE
