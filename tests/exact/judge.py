"""Correct rounding decided by inversion: exp increases, so a result lies between two numbers if their exp does.

A double g is nearest to a value v if the half-way points h below and above g enclose it.  For an nll,

    h < nll of y  <=>  exp(h + x[y]) < sum of exp(x),

where no logarithm, no shift and no step of the package occurs.  decimal's exp is correctly rounded; DIGITS leave room.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import cache, wraps
from math import inf, nextafter
from random import Random
from typing import Any

DIGITS = 120
WIDE = Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)


def is_nearest(got: float, below: Callable[[Decimal], bool]) -> bool:
    """Return whether got is nearest to the value that below(h) compares h with: below(h) says that h < value."""
    with localcontext(WIDE):
        low, high = half_way(nextafter(got, -inf), got), half_way(got, nextafter(got, inf))
        return below(low) and not below(high)


def half_way(a: float, b: float) -> Decimal:
    return (Decimal(a) + Decimal(b)) / 2


def remembered(make: Callable[..., Callable[[Decimal], bool]]) -> Callable[..., Callable[[Decimal], bool]]:
    """Return a maker of judges that makes each one once, and each asks decimal once a number: see test_every_tier.

    A row comes as a list, and reaches the maker as a tuple.
    """

    @cache
    def made(*arguments: Any) -> Callable[[Decimal], bool]:
        return cache(make(*arguments))

    @wraps(make)
    def judge(*arguments: Any) -> Callable[[Decimal], bool]:
        return made(*(tuple(a) if isinstance(a, list) else a for a in arguments))

    return judge


@cache
def masses_of(xs: tuple[float, ...]) -> tuple[list[Decimal], Decimal]:
    """Return exp of each of a row, and their sum."""
    with localcontext(WIDE):
        mass = {x: Decimal(x).exp() for x in set(xs)}
        masses = [mass[x] for x in xs]
        return masses, sum(masses, Decimal(0))


@remembered
def nll(xs: tuple[float, ...], y: int) -> Callable[[Decimal], bool]:
    _, total = masses_of(xs)
    return lambda h: (h + Decimal(xs[y])).exp() < total


@remembered
def logsumexp(xs: tuple[float, ...]) -> Callable[[Decimal], bool]:
    _, total = masses_of(xs)
    return lambda h: h.exp() < total


@remembered
def probability(xs: tuple[float, ...], j: int) -> Callable[[Decimal], bool]:
    masses, total = masses_of(xs)
    return lambda h: h * total < masses[j]


@remembered
def entropy(xs: tuple[float, ...]) -> Callable[[Decimal], bool]:
    """entropy = log S - sum p x, hence h < entropy  <=>  exp(h + sum p x) < S."""
    masses, total = masses_of(xs)
    with localcontext(WIDE):
        mean = sum(a * Decimal(x) for a, x in zip(masses, xs, strict=True) if a) / total
    return lambda h: (h + mean).exp() < total


def rows(count: int, seed: int = 0) -> list[list[float]]:
    """Return rows of many kinds: ordinary, wide, tied, far from 0, next to certain, all but equal."""
    rng = Random(seed)
    u = rng.random
    result = []
    for i in range(count):
        size = rng.choice([2, 3, 5, 10, 40])
        spread, offset = [(3, 0), (30, 0), (3, 1e4), (3, -1e6), (0.001, 0), (1e-12, 1.0)][i % 6]
        row = [offset + spread * (u() + u() + u() - 1.5) for _ in range(size)]
        if i % 7 == 0:
            row[0] = max(row) + 40.0 * u()
        if i % 5 == 0:
            row = [round(4.0 * x) / 4.0 for x in row]
        result.append(row)
    return result
