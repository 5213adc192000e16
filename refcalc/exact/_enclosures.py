"""Sums, differences and products of enclosures; see _rounding for what an enclosure is."""

__all__ = ["difference", "log_size", "negated", "product", "square", "total"]

from refcalc.exact import _integer
from refcalc.exact._rounding import Enclosure, working_bits
from refcalc.exact._row import Row


def log_size(row: Row, level: int) -> Enclosure:
    """Return an enclosure of log1p(tail), also for a tied row."""
    if not row.ties:
        return row.log1p_tail(level)
    w = working_bits(level)
    n = _integer.log(row.ties, 0, w)
    return (n - 2, n + 2, 1 << w) if row.ties > 1 else (0, 0, 1)


def total(*enclosures: Enclosure) -> Enclosure:
    """Return the enclosure of a sum."""
    terms = list(map(_dyadic, enclosures))
    unit = max(d for _, _, d in terms)
    return sum(lo * (unit // d) for lo, _, d in terms), sum(hi * (unit // d) for _, hi, d in terms), unit


def _dyadic(enclosure: Enclosure) -> Enclosure:
    """Return the enclosure widened to a power of two for its denominator; an end that it can hold stays exact."""
    lo, hi, d = enclosure
    if not d & (d - 1):
        return enclosure
    w = d.bit_length() + 64
    return (lo << w) // d, -((-hi << w) // d), 1 << w


def negated(enclosure: Enclosure) -> Enclosure:
    lo, hi, d = enclosure
    return -hi, -lo, d


def difference(a: Enclosure, b: Enclosure) -> Enclosure:
    """Return the enclosure of a - b, whatever their denominators."""
    (lo, hi, d), (bottom, top, unit) = a, b
    return lo * unit - top * d, hi * unit - bottom * d, d * unit


def product(signed: Enclosure, positive: Enclosure) -> Enclosure:
    """Return the enclosure of a product, the second factor being positive."""
    (lo, hi, d), (bottom, top, unit) = signed, positive
    return lo * (bottom if lo >= 0 else top), hi * (top if hi >= 0 else bottom), d * unit


def square(enclosure: Enclosure) -> Enclosure:
    """Return the enclosure of the square of a number that is not 0."""
    lo, hi, d = enclosure
    ends = lo * lo, hi * hi
    return 0 if lo < 0 < hi else min(ends), max(ends), d * d
