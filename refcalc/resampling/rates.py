"""A rate of successes in independent trials, with an interval that holds at the borders too."""

__all__ = ["Proportion", "proportion"]

from math import inf, sqrt
from typing import NamedTuple

from refcalc import _check
from refcalc.resampling._student import share_of, t_bound

MOST_TRIALS = 10**300  # beyond, the terms leave the doubles


class Proportion(NamedTuple):
    """A rate and its Wilson interval."""

    rate: float
    low: float
    high: float
    confidence: float
    successes: int
    n: int


def proportion(successes: int, n: int, *, confidence: float = 0.95) -> Proportion:
    """Return the rate successes / n with its Wilson interval: all rates that n trials would not refute.

        low   =  2 s s / n / (2 s + z z + r)         r = z sqrt(z z + 4 s (n - s) / n)
        high  =  (2 s + z z + r) / (2 (n + z z))     z  the normal bound of the confidence

    successes, n: whole numbers, 0 <= successes <= n, 1 <= n <= 10**300; the trials are independent.

    >>> proportion(0, 3)[:3]              # three failures are no certainty: up to 56 % may succeed
    (0.0, 0.0, 0.5614970317550455)
    >>> [f"{100 * x:.0f} %" for r in (proportion(29, 100), proportion(72, 100)) for x in r[:3]]
    ['29 %', '21 %', '39 %', '72 %', '63 %', '80 %']

    Raises ValueError for n below 1 or above 10**300, a count below 0 or above n, or a confidence outside (0, 1) or
    below 1e-20; TypeError for counts that are not whole numbers.

    Accuracy: rate is correctly rounded, low and high are within 10 ulp (proved: no more roundings, and every term is
    positive).  Source: Wilson (1927), doi:10.1080/01621459.1927.10502953; low by the product of the two roots.
    """
    n = _check.count("proportion", "n", n, least=1)
    if n > MOST_TRIALS:
        _check.refuse("proportion", "n", "be at most 10**300", n)
    s = _check.count("proportion", "successes", successes)
    if s > n:
        _check.refuse("proportion", "successes", f"be at most n ({n})", s)
    share = share_of("proportion", confidence)
    z = t_bound(share, inf)
    above = 2 * s + z * z + z * sqrt(z * z + 4 * s * (n - s) / n)
    high = 1.0 if s == n else above / (2 * (n + z * z))
    return Proportion(s / n, 2 * s * s / n / above, high, float(share), s, n)
