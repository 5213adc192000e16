"""The gradients of KL(p || q) by the logits y of q and x of p, correctly rounded; the names are those of divergence.

    q[i] - p[i]      and      p[i] (g[i] - W),   W = sum_j p[j] g[j],      both times a share (1 over the divisor)

The first is rational where both rows are tied, the second where x is.  Else they are transcendental or 0: over a common
denominator each numerator is a sum of powers of e with rational coefficients, which is 0 only where the coefficients of
every power are (Lindemann and Weierstrass), and it is no rational multiple of its denominator, whose exponents reach
further.  So the first is 0 where x and y have the same logits, counted from x[i] and from y[i]; the second where over
the classes of each one logit the mean of g is g[i].
"""

__all__ = ["mean_gain", "slope_of_p", "slope_of_q"]

from collections import Counter
from fractions import Fraction
from functools import cache, partial
from math import inf

from refcalc.exact._dust import add_drops, dust, is_dust, sign_of_dust
from refcalc.exact._enclosures import difference, product
from refcalc.exact._rounding import Enclosure, affine, nearest, rounded
from refcalc.exact._row import Row
from refcalc.exact.softmax import probability, weighted_tail
from refcalc.exact.value import ONE, ZERO


def slope_of_q(name: str, x: Row, y: Row, share: Fraction) -> list[float]:
    """Return share (q[i] - p[i]) for each class."""
    alike = _drops(x) == _drops(y)

    def class_slope(a: float, b: float) -> float:
        if alike and (a == b == -inf or Fraction(x.m) - Fraction(a) == Fraction(y.m) - Fraction(b)):
            return 0.0
        known = [_known_probability(row, z) for row, z in ((x, a), (y, b))]
        if None not in known:
            exact = share * (known[1] - known[0])  # type: ignore[operator]
            return nearest(exact.numerator, exact.denominator)
        certain = a == x.m and b == y.m and not (x.ties or y.ties)

        def enclose(level: int) -> Enclosure:
            if certain:  # 1 - p and 1 - q keep their digits
                return affine(ZERO, share, difference(x.rest_share(level), y.rest_share(level)))
            return affine(ZERO, share, difference(_probability(y, b, level), _probability(x, a, level)))

        return rounded(name, enclose, start=2)

    return [class_slope(a, b) for a, b in zip(x.xs, y.xs, strict=True)]


def slope_of_p(name: str, x: Row, gains: list[Fraction], share: Fraction) -> list[float]:
    """Return share p[i] (g[i] - W) for each class, gains being g: 0 for -inf, with mean 0 over the largest logits."""
    sums: dict[float, Fraction] = {}
    for a, g in zip(x.xs, gains, strict=True):
        sums[a] = sums.get(a, ZERO) + g
    counts = Counter(x.xs)
    means = {sums[a] / counts[a] for a in counts if a > -inf}
    if x.ties:
        exact = [share * g / x.ties for g in gains]
        return [nearest(each.numerator, each.denominator) for each in exact]
    count, dusty = x.xs.count(x.m), is_dust(x)
    mean = cache(partial(mean_gain, x, gains))

    def class_slope(a: float, g: Fraction) -> float:
        if a == -inf or means == {g}:
            return 0.0
        if a == x.m and dusty and (sign := _sign(x, gains, g)):
            return rounded(name, lambda level: affine(share * g / count, share, dust(sign)))

        def enclose(level: int) -> Enclosure:
            return affine(ZERO, share, product(affine(g, -ONE, mean(level)), probability(x, a, level)))

        return rounded(name, enclose, start=2)

    return [class_slope(a, g) for a, g in zip(x.xs, gains, strict=True)]


def mean_gain(x: Row, gains: list[Fraction], level: int) -> Enclosure:
    """Return an enclosure of W, for a row that is not tied: over its largest logits the gains have mean 0."""
    below = [g if a < x.m else ZERO for a, g in zip(x.xs, gains, strict=True)]
    return product(weighted_tail(x, below, level), x.share(level))


def _sign(x: Row, gains: list[Fraction], g: Fraction) -> int:
    """Return the sign of p[i] (g[i] - W) - g[i] / n for one of n largest logits, beside dust; 0 if it is not seen."""
    # With t what x has beside them, and E[j] = e**(x[j] - m(x)), p[i] is 1 / (n + t) and W = sum g[j] E[j] / (n + t):
    #
    #     (n + t)**2 (p[i] (g[i] - W) - g[i] / n)  =  - sum (g[i] + g[j]) E[j] - g[i] t**2 / n.
    sums: dict[Fraction, Fraction] = {}
    add_drops(sums, x, [-g - other for other in gains])
    return sign_of_dust(sums, len(gains) ** 2 * abs(g))


def _drops(row: Row) -> Counter[Fraction]:
    """Return m - x of the finite logits, with how often each occurs."""
    return Counter(Fraction(row.m) - Fraction(x) for x in row.xs if x > -inf)


def _known_probability(row: Row, x: float) -> Fraction | None:
    """Return the probability of a class where it is rational."""
    if x == -inf:
        return ZERO
    return Fraction(1, row.ties) if row.ties else None


def _probability(row: Row, x: float, level: int) -> Enclosure:
    """Return an enclosure of a probability, the number itself where it is rational."""
    known = _known_probability(row, x)
    return probability(row, x, level) if known is None else (known.numerator, known.numerator, known.denominator)
