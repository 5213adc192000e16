"""The divergence of two rows, correctly rounded: the name of refcalc.divergence.

    x, y  the two rows      p, q  their softmax      m, tail  of a row, as in _row, and l = log1p(tail)
    k     a place where x is largest

With log p[i] = x[i] - m(x) - l(x), log q[i] = y[i] - m(y) - l(y), and g[i] = (y[k] - x[k]) - (y[i] - x[i]),

    KL(p || q)  =  sum_i p[i] (log p[i] - log q[i])
                =  (m(y) - y[k])  +  l(y)  -  l(x)  +  sum_{i != k} g[i] e**(x[i] - m(x)) / (1 + tail(x)).

The first part is rational and exact, the others are enclosed.  Where both rows are all but certain, the others are dust
on a number that is half-way between two doubles every fourth time, and far too small to be enclosed: there the sign of
the dust is found with rationals.
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
    if sign := _sign_of_dust(x, y, gains):
        dust = (0, 1, 1 << DUST_BITS) if sign > 0 else (-1, 0, 1 << DUST_BITS)
        return rounded(NAME, lambda level: affine(drop, ONE, dust))

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


# Tails are dust where all other logits are DUSTY below the largest.  What they make of KL is below 2**-DUST_BITS then:
# V classes, each with a gain below 2**1027, times e**-2500 < 2**-3606.
DUSTY, DUST_BITS = 2500, 2400


def _sign_of_dust(x: Row, y: Row, gains: list[Fraction]) -> int:
    """Return the sign of KL(p || q) - (m(y) - y[k]) where both tails are dust, else 0; 0 too where it is not seen."""
    # With the tails t of x and s of y, 0 < t - l(x) < t**2 / 2 and the like of y, and E[i] = e**(x[i] - m(x)):
    #
    #     l(y) - l(x) + sum g[i] E[i] / (1 + t)  =  s + sum (g[i] - 1) E[i] + rest,
    #     |rest| < s**2 / 2 + t**2 / 2 + t sum |g[i]| E[i]  <=  V**2 (2 + max |g[i] - 1|) e**(-2 a)
    #
    # with a the least drop.  The sum and the bound are compared after both were multiplied by e**first, first being the
    # least drop whose coefficient is not 0.
    if any(sum(z >= row.m - DUSTY for z in row.xs) > 1 for row in (x, y)):
        return 0
    sums: dict[Fraction, Fraction] = {}
    for row, coefficients in ((y, [ONE] * len(gains)), (x, [g - 1 for g in gains])):
        for z, c in zip(row.xs, coefficients, strict=True):
            if -inf < z < row.m:
                drop = Fraction(row.m) - Fraction(z)
                sums[drop] = sums.get(drop, ZERO) + c
    least, first = min(sums), min((drop for drop, c in sums.items() if c), default=ZERO)
    if not DUSTY <= least <= first < 2 * least:
        return 0
    power, off = _power(2 * least - first)
    total, slack = ZERO, len(gains) ** 2 * (2 + max(abs(g - 1) for g in gains)) * (power + off)
    for drop, c in sums.items():
        if c:
            power, off = _power(drop - first)
            total, slack = total + c * power, slack + abs(c) * off
    return 0 if abs(total) <= slack else 1 if total > 0 else -1


def _power(drop: Fraction) -> tuple[Fraction, Fraction]:
    """Return e**-drop, for drop >= 0, and what that is off by at most."""
    if drop > 4096:
        return ZERO, Fraction(1, 1 << 4096)
    w = 256
    n, k = _integer.exp(-(drop.numerator << w) // drop.denominator, w)  # off by 2 units, and by less than 2 of drop's
    return Fraction(n, 1 << w - k), Fraction(4, 1 << w - k)


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
