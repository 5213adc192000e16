"""Sums of products of doubles without any error: each double is an integer over a power of two."""

__all__ = ["dot"]

from collections.abc import Iterable
from fractions import Fraction


def dot(*columns: Iterable[float]) -> Fraction:
    """Return the sum over i of columns[0][i] * columns[1][i] * ..., exactly.

    >>> dot([1e300, 1.0, -1e300], [2.0, 3.0, 2.0])
    Fraction(3, 1)
    """
    sums: dict[int, int] = {}  # by the exponent of the denominator
    for numbers in zip(*columns, strict=True):
        product, bits = 1, 0
        for x in numbers:
            n, d = x.as_integer_ratio()
            product *= n
            bits += d.bit_length() - 1
        sums[bits] = sums.get(bits, 0) + product
    most = max(sums, default=0)
    total = 0
    for bits, n in sums.items():
        total += n << most - bits
    return Fraction(total, 1 << most)
