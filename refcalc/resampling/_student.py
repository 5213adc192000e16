"""Student's t: its two-sided tail, and the bound that holds a given share; the normal law is that of inf degrees.

    t  a bound, >= 0      v  degrees of freedom, > 0, whole or not, or inf      f(t)  the density

Decimal arithmetic is used throughout: its exp, ln and sqrt are correctly rounded on every machine, so the bits of a
result do not hang on a libm.
"""

__all__ = ["share_of", "t_bound", "t_tail"]

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import lru_cache
from math import inf

from refcalc import _check

WIDE = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN)
LEAST_CONFIDENCE = 1e-20  # below it, 1 - confidence in 50 digits has too few of the confidence
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


def share_of(function: str, confidence: float) -> Decimal:
    """Return a confidence as the decimal that Python prints: 0.95 is 95 in 100, not the double just below it."""
    value = _check.real(function, "confidence", confidence)
    if not 0.0 < value < 1.0:
        _check.refuse(function, "confidence", "lie between 0 and 1", value)
    if value < LEAST_CONFIDENCE:
        _check.refuse(function, "confidence", f"be at least {LEAST_CONFIDENCE}", value)
    return Decimal(repr(value))


def t_tail(t: float, degrees: float) -> float:
    """Return the probability that a t variable is further from 0 than t, on either side.

    >>> t_tail(1.0, 1)        # the Cauchy law: half of it lies beyond 1
    0.5

    Accuracy: correctly rounded down to 1e-14, but for truths within 1e-30 of halfway between two doubles; smaller tails
    are within 1e-30 of the truth (where t t <= v; relative beyond).  Measured against mpmath.
    """
    with localcontext(WIDE):
        return max(0.0, float(_tail(Decimal(abs(t)), Decimal(degrees))))


def t_bound(confidence: Decimal, degrees: float) -> float:
    """Return t such that a t variable lies in [-t, t] with this probability.

    >>> t_bound(Decimal("0.95"), 2), t_bound(Decimal("0.95"), inf)
    (4.302652729749464, 1.9599639845400543)

    Accuracy: correctly rounded, as t_tail is; the method is Newton's, from below, where a convex tail never overshoots.
    """
    with localcontext(WIDE):
        v, tail = Decimal(degrees), 1 - confidence
        # Every t law has wider tails than the normal one, whose own tail is below exp(-t t / 2): no start overshoots.
        t = Decimal(0) if degrees == inf else Decimal(t_bound(confidence, inf)) * (1 - Decimal("1e-15"))
        while True:
            step = (_tail(t, v) - tail) / (2 * _density(t, v))
            t += step
            if abs(step) <= t.scaleb(-25):  # Newton squares the error: what is left is far below
                return float(t)


# The tail is an incomplete beta function, I_x(v/2, 1/2) with x = v / (v + t t), and has two series of positive terms
# (DLMF 8.17.8 from either end; for v = inf the first is 26.2.11 of Abramowitz & Stegun):
#
#     1 - tail  =  2 t f(t)      (1 + r[0] + r[0] r[1] + ...)      r[k]  =  (v + 1 + 2k) / (3 + 2k)      t t / (v + t t)
#         tail  =  2 t f(t) / v  (1 + q[0] + q[0] q[1] + ...)      q[k]  =  (v + 1 + 2k) / (v + 2 + 2k)  v / (v + t t)
#
# The first is taken for t t <= v, the second beyond: either way the terms soon halve at every step.


def _tail(t: Decimal, v: Decimal) -> Decimal:
    density, square = _density(t, v), t * t
    twice = 2 * t * density
    if square <= v and density < Decimal("1e-35"):
        return Decimal(0)  # so is the tail, within 1e-30
    if v.is_infinite():
        return 1 - twice * _series(lambda k: square / (3 + 2 * k))
    if square <= v:
        return 1 - twice * _series(lambda k: (v + 1 + 2 * k) / (3 + 2 * k) * square / (v + square))
    return twice / v * _series(lambda k: (v + 1 + 2 * k) / (v + 2 + 2 * k) * v / (v + square))


def _series(ratio: Callable[[int], Decimal]) -> Decimal:
    """Return 1 + ratio(0) + ratio(0) ratio(1) + ..."""
    term = total = Decimal(1)
    k = 0
    while term > total.scaleb(-WIDE.prec):
        term *= ratio(k)
        total += term
        k += 1
    return total


def _density(t: Decimal, v: Decimal) -> Decimal:
    """Return f(t) = (1 + t t / v)**(-(v + 1) / 2) Gamma((v + 1) / 2) / (sqrt(pi v) Gamma(v / 2))."""
    if v.is_infinite():
        return (-t * t / 2).exp() / (2 * PI).sqrt()
    power = (-(v + 1) / 2 * (1 + t * t / v).ln()).exp()
    return power * _gamma_ratio(v) / (PI * v).sqrt()


@lru_cache
def _gamma_ratio(v: Decimal) -> Decimal:
    """Return Gamma((v + 1) / 2) / Gamma(v / 2), by recurrence from where Stirling's series is good to 32 digits."""
    factor = Decimal(1)
    while v < 400:
        factor *= v / (v + 1)
        v += 2
    return factor * (_log_gamma((v + 1) / 2) - _log_gamma(v / 2)).exp()


def _log_gamma(z: Decimal) -> Decimal:
    """Return log Gamma(z) - log(2 pi) / 2 for z >= 200; what is left out is below 1 / (156 z**13) (DLMF 5.11.1)."""
    tail = sum((Decimal(n) / (d * z ** (2 * k + 1)) for k, (n, d) in enumerate(STIRLING)), Decimal(0))
    return (z - Decimal("0.5")) * z.ln() - z + tail


STIRLING = ((1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360))
