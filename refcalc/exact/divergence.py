"""KL(p || q) of rows of logits and its gradient, correctly rounded: the names of refcalc.divergence.kl.

    x, y  the two rows      p, q  their softmax      m, tail  of a row, as in _row, and l = log1p(tail)
    k     a place where x is largest

With log p[i] = x[i] - m(x) - l(x), log q[i] = y[i] - m(y) - l(y), and g[i] = (y[k] - x[k]) - (y[i] - x[i]),

    KL(p || q)  =  sum_i p[i] (log p[i] - log q[i])
                =  (m(y) - y[k])  +  l(y)  -  l(x)  +  sum_{i != k} g[i] e**(x[i] - m(x)) / (1 + tail(x)).

The first part is rational and exact, the others are enclosed.  Where both rows are all but certain, the others are dust
on a number that is half-way between two doubles every fourth time, and far too small to be enclosed: there the sign of
the dust is found with rationals.  Of many rows the parts are added, and the sum is rounded once.

The gradients are in _divergence_slopes.
"""

__all__ = ["kl_divergence", "kl_divergence_gradient"]

from collections.abc import Callable
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

from refcalc import _check
from refcalc._check import Nested
from refcalc.divergence._pairs import Named, RowPairs
from refcalc.exact import _integer
from refcalc.exact._divergence_slopes import slope_of_p, slope_of_q
from refcalc.exact._enclosures import log_size, negated, product, total
from refcalc.exact._read import exact_row
from refcalc.exact._rounding import Enclosure, affine, rounded
from refcalc.exact._row import Row
from refcalc.exact.softmax import weighted_tail
from refcalc.exact.value import ONE, ZERO, Nll


def kl_divergence(p_logits: Nested, q_logits: Nested, *, reduction: str = "rowmean") -> Any:
    """Return the double nearest to KL(p || q) of p = softmax(p_logits), q = softmax(q_logits), in nats; or a nest.

    The arguments are those of refcalc.kl_divergence.  It is 0.0 where the rows differ by the same amount everywhere.

    >>> kl_divergence([1.0, 2.0], [1.5, 2.5]), kl_divergence([0.0, 0.0], [0.0, 2**-530])
    (0.0, 1.012e-320)
    >>> kl_divergence([0.0, 0.0], [0.0, float("-inf")])
    inf
    >>> kl_divergence([[0.0, 0.0], [3.0, 3.0]], [[0.0, 2**-530], [0.0, 2**-530]], reduction="sum")
    2.0237e-320

    Raises what refcalc.kl_divergence raises, and ValueError for a number that is not exactly a double.

    Accuracy: correctly rounded, sums and means too.  That widening always ends is proved where all of p's finite logits
    are equal (a linear form in logarithms); else it rests on Schanuel's conjecture, as for entropy.  The limit of 2**14
    bits stands guard.
    """
    pairs = RowPairs("kl_divergence", p_logits, q_logits, reduction)
    if reduction == "none":
        return pairs.map(lambda p, q: _rounded_sum(pairs.name, [_parts(*_rows(pairs.name, p, q))], 1))[0]
    _, parts = pairs.map(lambda p, q: _parts(*_rows(pairs.name, p, q)))
    return _rounded_sum(pairs.name, parts, pairs.divisor)


def kl_divergence_gradient(
    p_logits: Nested, q_logits: Nested, *, of: str = "q_logits", reduction: str = "rowmean"
) -> Any:
    """Return d kl_divergence / d q_logits or d kl_divergence / d p_logits, each number the nearest double.

    The arguments are those of refcalc.kl_divergence_gradient.  No 0.0 has a sign.

    >>> kl_divergence_gradient([0.0, 1.0, 2.0], [7.0, 9.0, 8.0])[0]        # the same probability
    0.0
    >>> kl_divergence_gradient([0.0, 0.0, 0.0], [1.0, 2.0, 6.0], of="p_logits")
    [0.6666666666666666, 0.3333333333333333, -1.0]

    Raises what refcalc.kl_divergence_gradient raises, and ValueError for a number that is not exactly a double.

    Accuracy: correctly rounded, proved; ArithmeticError where 2**14 bits do not decide, which takes rows made for it.
    """
    name = "kl_divergence_gradient"
    _check.choice(name, "of", of, ("q_logits", "p_logits"))
    pairs = RowPairs(name, p_logits, q_logits, reduction)
    found: list[tuple[Row, Row, list[float]]] = []

    def pair(p: Named, q: Named) -> list[float]:
        x, y = _rows(name, p, q)
        if of == "p_logits" and _beyond(x, y):
            _check.refuse(name, q[0], f"give a finite divergence from {p[0]}", inf)
        found.append((x, y, []))
        return found[-1][2]

    nested, _ = pairs.map(pair)
    share = Fraction(1, pairs.divisor)
    for x, y, slope in found:
        slope[:] = slope_of_q(name, x, y, share) if of == "q_logits" else slope_of_p(name, x, _gains(x, y), share)
    return nested


def _rows(name: str, p: Named, q: Named) -> tuple[Row, Row]:
    return exact_row(name, *p), exact_row(name, *q)


def _beyond(x: Row, y: Row) -> bool:
    """Return whether p has a class that q has not."""
    return any(b == -inf < a for a, b in zip(x.xs, y.xs, strict=True))


def _gains(x: Row, y: Row) -> list[Fraction]:
    """Return g, 0 for a class that p has not."""
    shift = Fraction(y.xs[x.k]) - Fraction(x.m)
    return [shift + Fraction(a) - Fraction(b) if a > -inf else ZERO for a, b in zip(x.xs, y.xs, strict=True)]


# --- the divergence --------------------------------------------------------------------------------------------------


INFINITE = Nll(infinite=True)


class _Parts(NamedTuple):
    """KL of two rows, not rounded: as an Nll, where p is uniform or it is 0 or inf; and always as drop + enclose."""

    drop: Fraction
    enclose: Callable[[int], Enclosure] | None = None  # None: 0
    nll: Nll | None = None


def _parts(x: Row, y: Row) -> _Parts:
    if _beyond(x, y):
        return _Parts(ZERO, nll=INFINITE)
    if x.ties:
        return _from_uniform(x, y)
    gains = _gains(x, y)
    if not any(gains) and x.xs.count(-inf) == y.xs.count(-inf):
        return _Parts(ZERO, nll=Nll())
    drop = Fraction(y.m) - Fraction(y.xs[x.k])
    if sign := _sign_of_dust(x, y, gains):
        dust = (0, 1, 1 << DUST_BITS) if sign > 0 else (-1, 0, 1 << DUST_BITS)
        return _Parts(drop, lambda level: dust)

    def enclose(level: int) -> Enclosure:
        spread = product(weighted_tail(x, gains, level), x.share(level))
        return total(log_size(y, level), negated(x.log1p_tail(level)), spread)

    return _Parts(drop, enclose)


def _from_uniform(x: Row, y: Row) -> _Parts:
    """Return KL(p || q) for a p of 1/N on N classes:  the mean of their m(y) - y[i], less log N, plus l(y)."""
    held = [b for a, b in zip(x.xs, y.xs, strict=True) if a > -inf]
    drop = Fraction(y.m) - sum(map(Fraction, held), ZERO) / x.ties
    nll = Nll.of_probability(Fraction(x.ties, y.ties)) if y.ties else Nll(drop, {x.ties: -ONE}, [(y, ONE)])
    return _Parts(drop, lambda level: total(log_size(y, level), negated(log_size(x, level))), nll)


def _rounded_sum(name: str, parts: list[_Parts], divisor: int) -> float:
    """Return the sum of the parts over the divisor."""
    known = [each.nll for each in parts if each.nll is not None]
    if any(nll is INFINITE for nll in known):
        return inf
    if len(known) == len(parts):
        return (Nll.total(known) / divisor).nats(name)
    drop = sum((each.drop for each in parts), ZERO)
    enclosed = [each.enclose for each in parts if each.enclose]
    share = Fraction(1, divisor)
    return rounded(
        name, lambda level: affine(drop * share, share, total(*(enclose(level) for enclose in enclosed))), start=2
    )


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
