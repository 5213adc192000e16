"""What wrong computations need: sums that overflow quietly, and numbers as a narrow dtype holds them."""

__all__ = ["add", "exponential", "ratio", "rounded"]

from collections.abc import Iterable
from math import copysign, exp, frexp, fsum, inf, isfinite, ldexp, nan

from refcalc._rounding import FORMATS
from refcalc.mistakes.kind import DoesNotApply


def add(values: Iterable[float]) -> float:
    """Return the sum as rounding would have it: inf beyond the doubles, nan where inf meets -inf.

    >>> add([1e308, 1e308]), add([float("inf"), -float("inf")])
    (inf, nan)
    """
    try:
        return fsum(values)
    except OverflowError:
        return inf
    except ValueError:
        return nan


def ratio(losses: list[float], shares: list[float]) -> float:
    """Return the sum of the losses over that of the shares.

    >>> ratio([0.1] * 10, [1.0] * 10)
    0.1
    """
    if not any(shares):
        raise DoesNotApply("a target that counts")
    return add(losses) / add(shares)


def exponential(x: float) -> float:
    """Return exp(x), inf beyond the doubles.

    >>> exponential(0.0), exponential(1000.0)
    (1.0, inf)
    """
    try:
        return exp(x)
    except OverflowError:
        return inf


def rounded(x: float, dtype: str) -> float:
    """Return the number of dtype nearest to x, ties to even; beyond its largest, inf.

    >>> rounded(257.0, "bfloat16"), rounded(65520.0, "float16"), rounded(1e-46, "float32")
    (256.0, inf, 0.0)
    """
    if dtype == "float64" or not isfinite(x) or not x:
        return x
    precision, low, high = FORMATS[dtype]
    k = max(frexp(x)[1], low) - precision  # the gap between neighbours is 2**k
    y = ldexp(round(ldexp(x, -k)), k)
    return copysign(inf, x) if abs(y) >= ldexp(1.0, high) else y
