"""The divergence of two rows, correctly rounded: the name of refcalc.divergence.

    x, y  the two rows      p, q  their softmax      m, tail  of a row, as in _row, and l = log1p(tail)
    k     a place where x is largest

With log p[i] = x[i] - m(x) - l(x), log q[i] = y[i] - m(y) - l(y), and g[i] = (y[k] - x[k]) - (y[i] - x[i]),

    KL(p || q)  =  sum_i p[i] (log p[i] - log q[i])
                =  (m(y) - y[k])  +  l(y)  -  l(x)  +  sum_{i != k} g[i] e**(x[i] - m(x)) / (1 + tail(x)).

The first part is rational and exact, the others are enclosed.
"""

__all__ = ["kl_divergence"]

from fractions import Fraction
from math import inf

from refcalc import _check
from refcalc._check import Row as Logits
from refcalc.exact import _integer
from refcalc.exact._read import exact_row
from refcalc.exact._rounding import Enclosure, affine, rounded, working_bits
from refcalc.exact._row import Row
from refcalc.exact.softmax import weighted_tail
from refcalc.exact.value import ONE, ZERO, Nll

NAME = "kl_divergence"


def kl_divergence(p_logits: Logits, q_logits: Logits) -> float:
    """Return the double nearest to KL(p || q) of p = softmax(p_logits), q = softmax(q_logits), in nats.

    The arguments are those of refcalc.kl_divergence.  It is 0.0 where the rows differ by the same amount everywhere.

    >>> kl_divergence([1.0, 2.0], [1.5, 2.5]), kl_divergence([0.0, 0.0], [0.0, 2**-530])
    (0.0, 1.012e-320)
    >>> kl_divergence([0.0, 0.0], [0.0, float("-inf")])
    inf

    Raises what refcalc.kl_divergence raises, and ValueError for a number that is not exactly a double.

    Accuracy: correctly rounded.  That widening always ends is proved where all of p's finite logits are equal (a linear
    form in logarithms); else it rests on Schanuel's conjecture, as for entropy.  The limit of 2**14 bits stands guard.
    """
    given = _check.row(NAME, "p_logits", p_logits), _check.row(NAME, "q_logits", q_logits)
    _check.same_length(NAME, "q_logits", given[1], "p_logits", len(given[0]))
    x, y = exact_row(NAME, "p_logits", given[0]), exact_row(NAME, "q_logits", given[1])
    xs, ys = x.xs, y.xs
    if any(b == -inf < a for a, b in zip(xs, ys, strict=True)):
        return inf
    if x.ties:
        return _from_uniform(x, y)
    shift = Fraction(ys[x.k]) - Fraction(x.m)
    gains = [shift + Fraction(a) - Fraction(b) if a > -inf else ZERO for a, b in zip(xs, ys, strict=True)]
    if not any(gains) and xs.count(-inf) == ys.count(-inf):
        return 0.0
    drop = Fraction(y.m) - Fraction(ys[x.k])

    def enclose(level: int) -> Enclosure:
        own, other = x.log1p_tail(level), _log_size(y, level)
        return affine(drop, ONE, _sum(other, _negated(own), _product(weighted_tail(x, gains, level), x.share(level))))

    return rounded(NAME, enclose, start=2)


def _from_uniform(x: Row, y: Row) -> float:
    """Return KL(p || q) for a p of 1/N on N classes:  the mean of their m(y) - y[i], less log N, plus l(y)."""
    held = [b for a, b in zip(x.xs, y.xs, strict=True) if a > -inf]
    drop = Fraction(y.m) - sum(map(Fraction, held), ZERO) / x.ties
    if y.ties:
        return Nll.of_probability(Fraction(x.ties, y.ties)).nats(NAME)
    return Nll(drop, {x.ties: -ONE}, [(y, ONE)]).nats(NAME)


def _log_size(row: Row, level: int) -> Enclosure:
    """Return an enclosure of log1p(tail), also for a tied row."""
    if not row.ties:
        return row.log1p_tail(level)
    w = working_bits(level)
    n = _integer.log(row.ties, 0, w)
    return (n - 2, n + 2, 1 << w) if row.ties > 1 else (0, 0, 1)


def _sum(*enclosures: Enclosure) -> Enclosure:
    """Return the enclosure of a sum; all denominators are powers of two."""
    unit = max(d for _, _, d in enclosures)
    return sum(lo * (unit // d) for lo, _, d in enclosures), sum(hi * (unit // d) for _, hi, d in enclosures), unit


def _negated(enclosure: Enclosure) -> Enclosure:
    lo, hi, d = enclosure
    return -hi, -lo, d


def _product(signed: Enclosure, positive: Enclosure) -> Enclosure:
    """Return the enclosure of a product, the second factor being positive."""
    (lo, hi, d), (bottom, top, unit) = signed, positive
    return lo * (bottom if lo >= 0 else top), hi * (top if hi >= 0 else bottom), d * unit
