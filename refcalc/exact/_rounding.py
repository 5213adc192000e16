"""From an enclosure of a real number to the double nearest to it.

    level    how much work is spent on an enclosure: 0 and 1 trust libm's exp within a bound, 2 trusts nothing and is
             good to about 2**-76, and 3, 4, 5, ... are whole numbers of 256, 512, 1024, ... bits
    (lo, hi, d)   an open enclosure: integers with lo / d < the real number < hi / d, d > 0

Ziv's strategy: enclose, ask whether every number inside rounds to one double, and otherwise enclose more tightly.
Two things can make that go on for ever, and both are everyday input here:

* the number is rational and lies half-way between two doubles (the gradient of a uniform row with label smoothing).
  What is rational is therefore found out beforehand, with whole numbers, and rounded by `nearest`;
* the number is half-way between two doubles plus dust: `token_nll([1e16, -1.0], 1)` is 1e16 + 1 + e**-(1e16 + 1), and
  an enclosure with an honest error on both sides would need 1.4e16 bits to get off the half-way point.  The enclosures
  are therefore open and their rational part is exact: (1e16 + 1, 1e16 + 1 + 2**-1200) says all there is to know.
"""

__all__ = ["LIMIT_BITS", "Enclosure", "affine", "limit_bits", "nearest", "round_open", "rounded", "working_bits"]

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from math import inf, nextafter

from refcalc import _check

Enclosure = tuple[int, int, int]

LIMIT_BITS = 1 << 14  # the last precision tried, where limit_bits does not say otherwise
FIRST_LEVEL = 0  # tests raise it to force a tier

_limit = ContextVar("refcalc.exact.limit_bits", default=LIMIT_BITS)


@contextmanager
def limit_bits(bits: int) -> Iterator[None]:
    """Let the exact tier spend up to this many bits on a result, within the block and its thread or task only.

    bits: at least 128; only 256, 512, 1024, ... are tried.  Doubling them costs about four times the time.

    >>> from refcalc import exact
    >>> with exact.limit_bits(2**16):
    ...     exact.token_nll([0.0, 0.0], 1)
    0.6931471805599453

    Raises ValueError for fewer bits than 128; TypeError for what is no whole number.
    """
    token = _limit.set(_check.count("limit_bits", "bits", bits, least=128))
    try:
        yield
    finally:
        _limit.reset(token)


def working_bits(level: int) -> int:
    """Return the bits to which functions of one number are computed at a level."""
    return 128 if level < 3 else 256 << (level - 3)


def rounded(function: str, enclose: Callable[[int], Enclosure], start: int = 0) -> float:
    """Return the double nearest to the irrational number that enclose(level) encloses, from level start on.

    Raises ArithmeticError where LIMIT_BITS bits, or those of `limit_bits`, do not decide.
    """
    _check.no_flush(function)
    level = max(start, FIRST_LEVEL)
    while (result := round_open(*enclose(level))) is None:
        level += 1
        bits = working_bits(level)
        if bits > _limit.get():
            raise ArithmeticError(
                f"{function}: the last bit must be decided within {_limit.get()} bits (exact.limit_bits raises that), "
                f"got no decision from {working_bits(level - 1)}, and {bits} would be next"
            )
    return result


def round_open(lo: int, hi: int, d: int) -> float | None:
    """Return the double nearest to every real number strictly between lo/d and hi/d, or None if there are several.

    0.0 is returned without a sign.

    >>> round_open(2**53 + 1, 2**53 + 2, 1)       # the lower end is half-way, and is not in the enclosure
    9007199254740994.0
    >>> round_open(2**53, 2**53 + 2, 1) is None
    True
    """
    f, g = nearest(lo, d), nearest(hi, d)
    if f == g:
        return f
    if g == nextafter(f, inf) and g < inf:
        (a, b), (p, q) = f.as_integer_ratio(), g.as_integer_ratio()
        middle = (a * q + p * b) * d  # over 2 b q d
        if lo * 2 * b * q == middle:
            return g
        if hi * 2 * b * q == middle:
            return f
    return None


def nearest(n: int, d: int) -> float:
    """Return the double nearest to n/d, ties to even: inf where it overflows, and 0.0 without a sign."""
    _check.no_flush("exact")
    try:
        return n / d + 0.0  # int / int is correctly rounded, subnormals included; -0.0 + 0.0 is 0.0
    except OverflowError:
        return inf if n > 0 else -inf


def affine(offset: Fraction, scale: Fraction, enclosure: Enclosure) -> Enclosure:
    """Return the enclosure of offset + scale * x, exactly transformed, for scale != 0."""
    lo, hi, d = enclosure
    if scale < 0:
        lo, hi = hi, lo
    slope = scale.numerator * offset.denominator
    start = offset.numerator * scale.denominator * d
    return start + slope * lo, start + slope * hi, d * scale.denominator * offset.denominator
