"""KL(p || q) of rows of logits and its gradient, correctly rounded: the names of refcalc.divergence.kl.

    x, y  the two rows      p, q  their softmax      m, tail  of a row, as in _row, and l = log1p(tail)
    top   the classes where x is largest, all n of them

With log p[i] = x[i] - m(x) - l(x), log q[i] = y[i] - m(y) - l(y), and g[i] = x[i] - y[i] less its mean over the top,

    KL(p || q)  =  sum_i p[i] (log p[i] - log q[i])
                =  (m(y) - mean of y over the top)  +  l(y)  -  l(x)  +  W
    W           =  sum_i p[i] g[i]  =  sum of g[i] e**(x[i] - m(x)) / (1 + tail(x)) over the classes not in the top.

The first part is rational and exact, the others are enclosed.  Where both rows have equally many largest logits, one as
a rule, and dust beside them, the others are dust too, on a number that is half-way between two doubles every fourth
time: see _dust.  Of many rows the parts are added, and the sum is rounded once.

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
from refcalc.exact._divergence_slopes import mean_gain, slope_of_p, slope_of_q
from refcalc.exact._dust import add_drops, dust, is_dust, sign_of_dust
from refcalc.exact._enclosures import log_size, negated, total
from refcalc.exact._read import exact_row
from refcalc.exact._rounding import Enclosure, affine, rounded
from refcalc.exact._row import Row
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
    shift = _mean_at_top(x, y) - Fraction(x.m)
    return [shift + Fraction(a) - Fraction(b) if a > -inf else ZERO for a, b in zip(x.xs, y.xs, strict=True)]


def _mean_at_top(x: Row, y: Row) -> Fraction:
    top = [Fraction(b) for a, b in zip(x.xs, y.xs, strict=True) if a == x.m]
    return sum(top, ZERO) / len(top)


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
    gains = _gains(x, y)
    if not any(gains) and x.xs.count(-inf) == y.xs.count(-inf):
        return _Parts(ZERO, nll=Nll())
    drop = Fraction(y.m) - _mean_at_top(x, y)
    if sign := _sign(x, y, gains):
        return _Parts(drop, lambda level: dust(sign))
    if x.ties:
        nll = Nll.of_probability(Fraction(x.ties, y.ties)) if y.ties else Nll(drop, {x.ties: -ONE}, [(y, ONE)])
        return _Parts(drop, lambda level: total(log_size(y, level), negated(log_size(x, level))), nll)
    return _Parts(
        drop, lambda level: total(log_size(y, level), negated(x.log1p_tail(level)), mean_gain(x, gains, level))
    )


def _sign(x: Row, y: Row, gains: list[Fraction]) -> int:
    """Return the sign of l(y) - l(x) + W where that is dust, else 0; 0 too where it is not seen."""
    # With both largest logits n times there, s and t what y and x have beside them, and E[i] = e**(x[i] - m(x)):
    #
    #     n (l(y) - l(x) + W)  =  n log1p(s/n) - n log1p(t/n) + sum g[i] E[i] / (1 + t/n)
    #                          =  s + sum (g[i] - 1) E[i] + rest,
    #     |rest| < s**2 / 2 + t**2 / 2 + t sum |g[i]| E[i]  <=  V**2 (2 + max |g[i] - 1|) e**(-2 least drop).
    if x.xs.count(x.m) != y.xs.count(y.m) or not (is_dust(x) and is_dust(y)):
        return 0
    sums: dict[Fraction, Fraction] = {}
    add_drops(sums, y, [ONE] * len(gains))
    add_drops(sums, x, [g - 1 for g in gains])
    return sign_of_dust(sums, len(gains) ** 2 * (2 + max(abs(g - 1) for g in gains)))


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
