"""What several exercises use: whole numbers drawn, averages, and wrong functions with their explanation."""

__all__ = ["average", "below", "explained"]

from collections.abc import Callable, Iterable
from math import fsum
from random import Random
from typing import Any


def below(rng: Random, n: int) -> int:
    """Return a whole number in [0, n)."""
    return int(rng.random() * n)


def average(values: Iterable[float]) -> float:
    """Return the mean of numbers, all alike."""
    listed = list(values)
    return fsum(listed) / len(listed)


def explained(done: str, remedy: str, wrong: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrong function that is in no catalogue, with a docstring that says what is done, and what to do instead.

    >>> print(explained("It is doubled.", "Leave it.", lambda x: 2 * x).__doc__)
    It is doubled.
    <BLANKLINE>
    Leave it.
    """
    wrong.__doc__ = f"{done}\n\n{remedy}"
    return wrong
