"""The true value of every function of refcalc.exact, enclosed by MPFR (gmpy2) with directed rounding: the judge.

Nothing of refcalc is used.  A value is D + R with a rational D (mpq) and an interval R; that R is open where it is not
a point (an irrational number has no end in common with a rational one) decides half-way points as in the package.

    judged(result, value)   result is the double nearest to value(precision), for some precision up to LIMIT
"""

from collections.abc import Callable
from functools import cache
from math import copysign, inf, isnan, nextafter
from typing import NamedTuple

import gmpy2
from gmpy2 import mpfr, mpq

LIMIT = 30_000
TINY = mpq(1, 2**20_000)  # stands for anything positive and smaller: mpq cannot hold e**-1e16


class Interval(NamedTuple):
    """lo <= x <= hi, with < where lo < hi."""

    lo: mpfr
    hi: mpfr


class Value(NamedTuple):
    """rational + rest."""

    rational: mpq
    rest: Interval


class Context:
    """Interval arithmetic: `each` for functions that grow, `over` for what is not negative, the others for any sign."""

    def __init__(self, precision: int) -> None:
        wide = {"precision": precision, "emax": gmpy2.get_emax_max(), "emin": gmpy2.get_emin_min()}
        self.down = gmpy2.context(**wide, round=gmpy2.RoundDown)
        self.up = gmpy2.context(**wide, round=gmpy2.RoundUp)

    def of(self, x: object) -> Interval:
        """Return the smallest interval around a double, an int or an mpq."""
        q = mpq(x)
        if q < 0:
            return self.minus(self.of(-q))
        return Interval(
            self.down.div(self.down.add(q.numerator, 0), self.up.add(q.denominator, 0)),
            self.up.div(self.up.add(q.numerator, 0), self.down.add(q.denominator, 0)),
        )

    def difference(self, a: float, b: float) -> Interval:
        return Interval(self.down.sub(mpfr(a), mpfr(b)), self.up.sub(mpfr(a), mpfr(b)))

    def each(self, name: str, *xs: Interval) -> Interval:
        """Apply a function that grows with each of its arguments."""
        lo = getattr(self.down, name)(*(x.lo for x in xs))
        return Interval(lo, getattr(self.up, name)(*(x.hi for x in xs)))

    def add(self, *xs: Interval) -> Interval:
        total = xs[0]
        for x in xs[1:]:
            total = self.each("add", total, x)
        return total

    def times(self, c: object, x: Interval) -> Interval:
        """Return c x for a rational c."""
        return self.product(self.of(c), x)

    def product(self, x: Interval, y: Interval) -> Interval:
        corners = [(a, b) for a in x for b in y]
        return Interval(min(self.down.mul(*ends) for ends in corners), max(self.up.mul(*ends) for ends in corners))

    def minus(self, x: Interval) -> Interval:
        return Interval(self.down.minus(x.hi), self.down.minus(x.lo))  # exact; the operator would round to 53 bits

    def over(self, a: Interval, b: Interval) -> Interval:
        return Interval(self.down.div(a.lo, b.hi), self.up.div(a.hi, b.lo))


@cache
def context(precision: int) -> Context:
    return Context(precision)


ZERO = Interval(mpfr(0), mpfr(0))


class Row:
    """One row at one precision: `count` classes at the largest logit m, the others `dust` beside them."""

    def __init__(self, c: Context, xs: list[float]) -> None:
        self.c, self.xs, self.m = c, xs, max(xs)
        self.count = xs.count(self.m)
        self.powers = [ZERO if x == -inf else c.each("exp", c.difference(x, self.m)) for x in xs]
        self.dust = c.add(ZERO, *(p for p, x in zip(self.powers, xs, strict=True) if x < self.m))
        self.whole = c.add(c.of(self.count), self.dust)
        self.log1p = self.log_size(1)

    def log_size(self, n: int) -> Interval:
        """Return log((count + dust) / n), to all digits where it is next to 0."""
        return self.c.each("log1p", self.c.times(mpq(1, n), self.c.add(self.c.of(self.count - n), self.dust)))

    def nll(self, y: int) -> Value:
        return Value(mpq(self.m) - mpq(self.xs[y]), self.log1p)

    def logsumexp(self) -> Value:
        return Value(mpq(self.m), self.log1p)

    def probability(self, j: int) -> Value:
        """Return p[j]; for the largest logit, n times there, as 1/n less dust / (n (n + dust))."""
        if self.xs[j] < self.m:
            return Value(mpq(0), self.c.over(self.powers[j], self.whole))
        part = mpq(1, self.count)
        return Value(part, self.c.times(-part, self.c.over(self.dust, self.whole)))

    def entropy(self) -> Value:
        c = self.c
        spread = [
            c.each("mul", c.difference(self.m, x), p) for x, p in zip(self.xs, self.powers, strict=True) if x > -inf
        ]
        return Value(mpq(0), c.add(self.log1p, c.over(c.add(ZERO, *spread), self.whole)))

    def loss(self, masses: list[mpq]) -> Value:
        """Return sum of masses[c] nll[c]; every class with a mass is finite."""
        drop = sum((a * (mpq(self.m) - mpq(x)) for a, x in zip(masses, self.xs, strict=True) if a), mpq(0))
        return Value(drop, self.c.times(sum(masses, mpq(0)), self.log1p))

    def ratios(self, other: "Row") -> list[mpq]:
        """Return log(p / q) of each class but for the two normalisers, 0 for one that self has not."""
        shift = mpq(other.m) - mpq(self.m)
        return [shift + mpq(x) - mpq(y) if x > -inf else mpq(0) for x, y in zip(self.xs, other.xs, strict=True)]

    def mean(self, values: list[Value]) -> Value:
        """Return the sum of p[j] times values[j]."""
        return total(self.c, [product(self.c, self.probability(j), v) for j, v in enumerate(values)])

    def divergence(self, other: "Row") -> Value:
        """Return KL(self || other), the sum of p (log p - log q); other has every class that self has."""
        sizes = self.c.add(other.log_size(self.count), self.c.minus(self.log_size(self.count)))
        return self.mean([Value(ratio, sizes) for ratio in self.ratios(other)])

    def divergence_slope(self, other: "Row", of: str, j: int) -> Value:
        """Return d KL(self || other) / d other.xs[j], or / d self.xs[j]."""
        p = self.probability(j)
        if of == "q_logits":
            return total(self.c, [other.probability(j), scaled(self.c, p, mpq(-1))])
        logs = [Value(ratio, ZERO) for ratio in self.ratios(other)]
        return product(self.c, p, total(self.c, [logs[j], scaled(self.c, self.mean(logs), mpq(-1))]))

    def slope(self, masses: list[mpq], j: int) -> Value:
        p, mass = self.probability(j), sum(masses, mpq(0))
        return Value(mass * p.rational - masses[j], self.c.times(mass, p.rest))


def masses(size: int, y: int | None, q: list[float] | None, weight: list[float] | None, smoothing: float) -> list[mpq]:
    """Return w ((1 - e) q + e / V) for each class."""
    w = weight or [1.0] * size
    e = mpq(smoothing)
    share = q if q is not None else [float(c == y) for c in range(size)]
    return [mpq(wc) * ((1 - e) * mpq(qc) + e / size) for wc, qc in zip(w, share, strict=True)]


def total(c: Context, values: list[Value]) -> Value:
    return Value(sum((v.rational for v in values), mpq(0)), c.add(ZERO, *(v.rest for v in values)))


def scaled(c: Context, value: Value, factor: mpq) -> Value:
    return Value(value.rational * factor, c.times(factor, value.rest))


def product(c: Context, a: Value, b: Value) -> Value:
    mixed = c.times(a.rational, b.rest), c.times(b.rational, a.rest), c.product(a.rest, b.rest)
    return Value(a.rational * b.rational, c.add(*mixed))


def interval(c: Context, value: Value) -> Interval:
    return c.add(c.of(value.rational), value.rest)


def over_log(c: Context, value: Value, base: int) -> Value:
    """Return value / log base for a value >= 0."""
    return Value(mpq(0), c.over(interval(c, value), c.each("log", c.of(base))))


def exp(c: Context, value: Value) -> Value:
    return Value(mpq(0), c.each("exp", interval(c, value)))


def judged(result: float, value: Callable[[Context], Value]) -> bool | None:
    """Return whether result is the double nearest to the value, or None where LIMIT bits do not tell, or it is nan."""
    if isnan(result):
        return None
    if result == 0.0 and copysign(1.0, result) < 0.0:
        return False
    precision = 200
    while precision < LIMIT:
        d, rest = value(context(precision))
        if rest.hi == inf:
            lo, hi = mpq(rest.lo), inf
        else:
            lo, hi = d + _rational(rest.lo, False), d + _rational(rest.hi, True)
        below, above = _borders(result)
        exact = rest.lo == rest.hi
        if exact and lo in (below, above):
            return bool(result == 0.0 or result.hex().rstrip("0123456789+-").rstrip("p")[-1:] in "02468ace")
        if below <= lo and hi <= above:
            return True
        if hi <= below or lo >= above:
            return False
        precision *= 3
    return None


def _rational(x: mpfr, up: bool) -> mpq:
    if abs(x) > mpfr("1e-5900"):
        return mpq(x)
    if x == 0:
        return mpq(0)
    return (TINY if up else mpq(0)) if x > 0 else (mpq(0) if up else -TINY)


def _borders(g: float) -> tuple[object, object]:
    """Return the half-way points below and above a double."""
    if g == inf:
        return mpq(2) ** 1024 - mpq(2) ** 970, inf
    below, above = nextafter(g, -inf), nextafter(g, inf)
    top = mpq(g) + mpq(2) ** 970 if above == inf else (mpq(g) + mpq(above)) / 2
    return (mpq(g) + mpq(below)) / 2, top
