"""Reading the numbers of the exact tier: exactly doubles, or refused."""

__all__ = ["exact_row", "scores"]

from collections.abc import Sequence
from math import inf
from typing import Any

from refcalc import _check
from refcalc.exact._row import Row


def exact_row(function: str, argument: str, logits: Sequence[Any]) -> Row:
    """Return a Row of the logits, having refused what is no row of doubles with a finite one among them."""
    xs = scores(function, argument, logits)
    if xs[0] == -inf and max(xs) == -inf:
        _check.refuse(function, argument, "hold a score above -inf", logits)
    return Row(xs)


def scores(function: str, argument: str, logits: Sequence[Any]) -> list[float]:
    """Return the logits as a list of floats, each finite or -inf."""
    row = _check.row(function, argument, logits)
    if list(map(type, row)).count(float) != len(row):
        return _check.doubles(function, argument, row)
    if not sum(row) < inf:  # nan, or inf, or an overflow of large numbers: look
        return _check.floats(function, argument, row)
    return row if isinstance(row, list) else list(row)
