"""One row of logits, correctly rounded: the names of refcalc.softmax.

    z  a logit, in nats    m  the largest, at place k    V  classes
    tail  sum over j != k of e**(z[j] - m), so that log sum e**z = m + log1p(tail)

Every result here is 0, rational (tied rows), or transcendental by the theorem of Lindemann and Weierstrass, so that
widening ends; only for `entropy` that rests on a conjecture.
"""

__all__ = ["entropy", "log_softmax", "logsumexp", "softmax", "token_nll"]

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from math import fsum, inf, nextafter

from refcalc import _check
from refcalc._check import Row as Logits
from refcalc.exact import _kernel
from refcalc.exact._read import exact_row, scores
from refcalc.exact._rounding import Enclosure, affine, nearest, rounded, working_bits
from refcalc.exact._row import Row
from refcalc.exact.value import ONE, ZERO, Nll


def token_nll(logits: Logits, target: int) -> float:
    """Return the double nearest to -log softmax(z)[target], in nats.

    logits: V scores for one position, in nats and on any scale; -inf marks a class of probability zero.
    target: the class that was observed, in [0, V).

    >>> token_nll([1e16, -1.0], 1)          # 1e16 + 1, half-way between two doubles, and a little more
    1.0000000000000002e+16
    >>> token_nll([0.0, -745.0], 0)
    5e-324
    >>> token_nll([2**53 + 1, 0.0], 0)
    Traceback (most recent call last):
    ValueError: token_nll: logits[0] must be exactly a double, got 9007199254740993

    Raises what refcalc.token_nll raises, and ValueError for a number that is not exactly a double.

    Accuracy: correctly rounded, proved; ArithmeticError where 2**14 bits do not decide, which takes a row made for it.
    """
    row = _check.row("token_nll", "logits", logits)
    y = _check.target("token_nll", "target", target, len(row))
    return row_nll("token_nll", exact_row("token_nll", "logits", row), y)


def row_nll(function: str, row: Row, y: int) -> float:
    """Return token_nll of a row."""
    return _drop_nll(function, row, row.xs[y])


def log_softmax(logits: Logits) -> list[float]:
    """Return the V doubles nearest to log softmax(z), in nats; 0.0 has no sign.

    logits: V scores for one position, in nats and on any scale; -inf marks a class of probability zero.

    >>> log_softmax([1e16, -1.0])
    [0.0, -1.0000000000000002e+16]

    Raises as token_nll does.

    Accuracy: correctly rounded, proved.
    """
    row = exact_row("log_softmax", "logits", logits)
    between = log1p_tail_in_doubles(row)
    if between is None:
        return [0.0 - _drop_nll("log_softmax", row, x) for x in row.xs]
    # log1p(tail) is h and something between a and b.  fsum rounds the exact sum once, and rounding is monotone: if both
    # ends agree, so does what is between.
    _check.no_flush("log_softmax")
    m, (h, a, b) = row.m, between
    try:
        low = [fsum((x, -m, -h, -b)) for x in row.xs]
        high = [fsum((x, -m, -h, -a)) for x in row.xs]
    except OverflowError:  # x - m is beyond the doubles
        return [0.0 - _drop_nll("log_softmax", row, x) for x in row.xs]
    if low != high:
        for j, x in enumerate(row.xs):
            if low[j] != high[j]:
                low[j] = 0.0 - _drop_nll("log_softmax", row, x)
    return low


def logsumexp(logits: Logits) -> float:
    """Return the double nearest to log(exp(z[0]) + ... + exp(z[V-1])), in nats.

    logits: V >= 1 scores, in nats and on any scale; a row of nothing but -inf gives -inf.

    >>> logsumexp([1000.0, 1000.0]), logsumexp([-1e16, 0.0])
    (1000.6931471805599, 0.0)

    Raises what refcalc.logsumexp raises, and ValueError for a number that is not exactly a double.

    Accuracy: correctly rounded, proved, also where m and log1p(tail) cancel.
    """
    xs = scores("logsumexp", "logits", logits)
    if max(xs) == -inf:
        return -inf
    row = Row(xs)
    m = Fraction(row.m)
    if row.ties:
        return Nll(m, {row.ties: ONE}).nats("logsumexp")
    return rounded("logsumexp", lambda level: affine(m, ONE, row.log1p_tail(level)))


def softmax(logits: Logits) -> list[float]:
    """Return the V doubles nearest to exp(z[i]) / (exp(z[0]) + ... + exp(z[V-1])).

    logits: V scores for one position, in nats and on any scale; -inf gives probability 0.0.

    >>> softmax([0.0, 0.0, 0.0])
    [0.3333333333333333, 0.3333333333333333, 0.3333333333333333]

    Raises as token_nll does.

    Accuracy: correctly rounded, proved.
    """
    row = exact_row("softmax", "logits", logits)
    if row.ties:
        return [0.0 if x == -inf else nearest(1, row.ties) for x in row.xs]
    found = {x: rounded("softmax", partial(probability, row, x), start=2) if x > -inf else 0.0 for x in set(row.xs)}
    return [found[x] for x in row.xs]


def probability(row: Row, x: float, level: int) -> Enclosure:
    """Return an enclosure of the probability of a class with logit x > -inf, in a row that is not tied."""
    lo, hi, d = row.power(x, level)
    bottom, top, unit = row.share(level)
    return lo * bottom, hi * top, d * unit


def entropy(logits: Logits) -> float:
    """Return the double nearest to the entropy of softmax(z), in nats.

    logits: V scores for one position, in nats and on any scale; -inf marks a class of probability zero.

    >>> entropy([7.0, 7.0]), entropy([0.0, -750.0])         # the second is about 751 e**-750
    (0.6931471805599453, 1.5e-323)

    Raises as token_nll does.

    Accuracy: correctly rounded.  That widening always ends rests on Schanuel's conjecture here (the entropy is no
    linear form in logarithms); the limit of 2**14 bits stands guard.
    """
    # With d[j] = m - z[j], log p[j] = -d[j] - log1p(tail), so that
    #
    #     entropy  =  log1p(tail)  +  (sum over j != k of d[j] e**-d[j]) / (1 + tail),
    #
    # positive terms only.
    row = exact_row("entropy", "logits", logits)
    if row.ties:
        return Nll(ZERO, {row.ties: ONE}).nats("entropy")

    distances = drops(row)

    def enclose(level: int) -> Enclosure:
        lo, hi, d = row.log1p_tail(level)
        bottom, top, unit = weighted_tail(row, distances, level)
        share_lo, share_hi, share_unit = row.share(level)
        both = unit * share_unit
        return lo * both + bottom * share_lo * d, hi * both + top * share_hi * d, d * both

    return rounded("entropy", enclose, start=2)


def drops(row: Row) -> list[Fraction]:
    """Return m - x for each class, 0 for one of probability zero."""
    return [Fraction(row.m) - Fraction(x) if x > -inf else ZERO for x in row.xs]


def weighted_tail(row: Row, factors: Iterable[Fraction], level: int) -> Enclosure:
    """Return an enclosure of the sum over j of f[j] e**(z[j] - m), for a row that is not tied.

    factors: f[j] of any sign, below 2**1026, and 0 where z[j] is m or -inf; with nothing but 0 the enclosure is 0.
    """
    bits = working_bits(level) + len(row.xs).bit_length() + 8
    terms = [(f, *_kernel.power(x, row.m, bits)) for f, x in zip(factors, row.xs, strict=True) if f]
    if not terms:
        return 0, 0, 1
    q = bits + 64 - max(k for _, _, k in terms)
    low = high = 0
    for f, n, k in terms:
        if n:  # n is within 4 units of the truth; the shift and the division round down, so 2 more for the upper end
            ends = (n - 4) * f.numerator, (n + 4) * f.numerator
            low += _scaled(min(ends), q - bits + k) // f.denominator
            high += _scaled(max(ends), q - bits + k) // f.denominator + 2
        else:  # e**(z - m) < 2**k with k = -(8 bits + 2400)
            dust = 1 << max(0, q + k + 1026)
            low, high = (low, high + dust) if f > 0 else (low - dust, high)
    return low, high + 1, 1 << q


def log1p_tail_in_doubles(row: Row) -> tuple[float, float, float] | None:
    """Return doubles (h, a, b) with h + a < log1p(tail) < h + b, or None for a tied row."""
    if row.ties:
        return None
    lo, hi, d = row.log1p_tail(0)
    h = lo / d
    n, unit = h.as_integer_ratio()
    return h, nextafter((lo * unit - n * d) / (unit * d), -inf), nextafter((hi * unit - n * d) / (unit * d), inf)


def _drop_nll(function: str, row: Row, x: float) -> float:
    """Return (m - x) + log1p(tail): the nll of a class with logit x."""
    if x == -inf:
        return inf
    if row.ties:
        return Nll(logs={row.ties: ONE}).nats(function)  # a finite x is m

    def enclose(level: int) -> Enclosure:
        lo, hi, d = row.log1p_tail(level)
        (p, q), (s, t) = row.m.as_integer_ratio(), x.as_integer_ratio()
        unit = max(q, t)  # powers of two
        drop = (p * (unit // q) - s * (unit // t)) * d
        return drop + lo * unit, drop + hi * unit, d * unit

    return rounded(function, enclose)


def _scaled(n: int, shift: int) -> int:
    return n << shift if shift >= 0 else n >> -shift
