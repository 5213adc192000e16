"""Doubles as whole numbers of one unit, and roots of their quotients: what is computed in between never rounds."""

__all__ = ["deviation", "integers", "quotient", "root"]

from collections.abc import Sequence
from math import isqrt


def integers(values: Sequence[float]) -> tuple[list[int], int]:
    """Return whole numbers k and one p such that each value is k / 2**p, exactly; the values are finite.

    >>> integers([1.5, 2, -0.25])
    ([6, 8, -1], 2)
    """
    ratios = [value.as_integer_ratio() for value in values]  # every denominator is a power of two
    p = max((denominator for _, denominator in ratios), default=1).bit_length() - 1
    return [numerator << p + 1 - denominator.bit_length() for numerator, denominator in ratios], p


def quotient(numerator: int, denominator: int, p: int = 0) -> float:
    """Return numerator / (denominator * 2**p), p of either sign, rounded once."""
    return (numerator << max(0, -p)) / (denominator << max(0, p))  # int / int is correctly rounded


def root(numerator: int, denominator: int) -> float:
    """Return the square root of numerator / denominator >= 0, rounded once.

    >>> root(1, 4), root(2, 1)
    (0.5, 1.4142135623730951)
    """
    # With a scale of 4**k the whole root has at least 63 bits.  What it leaves over is kept as one more bit, set if
    # anything is left: enough for the division to round as the true root would.
    k = max(0, 64 - (numerator.bit_length() - denominator.bit_length()) // 2)
    scaled, rest = divmod(numerator << 2 * k, denominator)
    whole = isqrt(scaled)
    return (2 * whole + (whole * whole != scaled or rest != 0)) / (2 << k)


def deviation(values: Sequence[float], weights: Sequence[int] | None = None, over: int = 1) -> float:
    """Return the standard deviation of the values over sqrt(over), rounded once.

    Without weights the values are a sample of m >= 2, and m - 1 divides; with weights they are a whole population.

    >>> deviation([1.0, 3.0]), deviation([1.0, 3.0], [1, 1])
    (1.4142135623730951, 1.0)
    """
    units, p = integers(values)
    if weights is None:
        size, total, squares = len(units), sum(units), sum([u * u for u in units])
        parts = size * (size - 1)
    else:
        size, total = sum(weights), sum([w * u for w, u in zip(weights, units, strict=True)])
        squares = sum([w * u * u for w, u in zip(weights, units, strict=True)])
        parts = size * size
    return root(size * squares - total * total, parts * over << 2 * p)
