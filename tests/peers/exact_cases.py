"""Random and adversarial cases for every function of refcalc.exact, each with its result and its judge.

Numbers are drawn with random.random() only, whose sequence Python guarantees: a seed names the same cases everywhere.
"""

from collections.abc import Callable, Iterator
from functools import cache
from math import inf, nextafter
from random import Random
from typing import Any, NamedTuple

from gmpy2 import mpq

from refcalc import exact
from tests.peers import mpfr
from tests.peers.mpfr import Context, Row, Value


class Case(NamedTuple):
    function: str
    arguments: tuple[Any, ...]
    result: float
    value: Callable[[Context], Value]


class Draw:
    """Choices made with random() alone."""

    def __init__(self, seed: int) -> None:
        self.u = Random(seed).random

    def of(self, *values: Any) -> Any:
        return values[int(self.u() * len(values))]

    def below(self, n: int) -> int:
        return int(self.u() * n)

    def normal(self, size: int, spread: float, offset: float = 0.0) -> list[float]:
        return [offset + (self.u() + self.u() + self.u() + self.u() - 2.0) * spread for _ in range(size)]


def row(d: Draw) -> list[float]:  # noqa: PLR0911
    """Return a row of one of 14 families, ordinary ones and those that are hard in some way."""
    u, family = d.u, d.below(14)
    size = d.of(2, 3, 4, 5, 8, 10, 17, 40) if u() < 0.99 else d.of(250, 1200)
    if family < 3:
        return d.normal(size, d.of(3.0, 30.0), d.of(0.0, 1e4, -1e6, 1e9, 3e15, -1e15) if family == 2 else 0.0)
    if family == 3:  # a leading logit that is not 0, the rest far below
        return [d.of(10.0, 30.0, 300.0, 700.0, 5.3)] + [-u() * d.of(40.0, 700.0, 746.0) for _ in range(size - 1)]
    if family == 4:  # terms that underflow one by one
        return [0.0] + [-709.0 - 40.0 * u()] * (size - 1)
    if family == 5:  # ties, and rational distances
        return [(d.below(16) - 8) / d.of(1, 4, 64) for _ in range(size)]
    if family == 6:
        return [1200.0 * (u() - 0.5) for _ in range(size)]
    if family == 7:
        scale = 0.5 ** (1 + d.below(1049))
        return [(u() - 0.5) * scale for _ in range(size)]
    if family == 8:  # masked classes
        return [d.of(5.0 * u(), -inf) for _ in range(size)] + [1.5, u()]
    if family == 9:
        return [2000.0] + [0.0] * (size - 1)
    if family == 10:  # magnitudes mixed
        return [u() * d.of(1e300, 1e20, 1e16, 1e3, 1.0, 1e-5) * d.of(1.0, -1.0) for _ in range(size)]
    if family == 11:  # subnormal
        return [5e-324 * d.below(1000) for _ in range(size)]
    if family == 12:  # half-way, and dust
        return [1e16, -1.0] + [-2.0] * (size - 2)
    return [-0.0 if u() < 0.5 else -u() * 0.5**30 for _ in range(size)]


def cases(seed: int) -> Iterator[Case]:
    """Yield some 20 results: one row and a batch through every function."""
    d = Draw(seed)
    xs = row(d)
    finite = [j for j, x in enumerate(xs) if x > -inf]
    y = d.of(*finite)
    yield Case("token_nll", (xs, y), exact.token_nll(xs, y), lambda c: Row(c, xs).nll(y))
    yield Case("logsumexp", (xs,), exact.logsumexp(xs), lambda c: Row(c, xs).logsumexp())
    yield Case("entropy", (xs,), exact.entropy(xs), lambda c: Row(c, xs).entropy())
    p, log_p = exact.softmax(xs), exact.log_softmax(xs)
    for j in {d.of(*finite), d.of(*finite)}:
        yield Case("softmax", (xs, j), p[j], lambda c, j=j: Row(c, xs).probability(j))
        yield Case("log_softmax", (xs, j), 0.0 - log_p[j], lambda c, j=j: Row(c, xs).nll(j))
    yield from _one_loss(d, xs, y)
    yield from _batch(d, xs)
    yield from _conversions(d)
    yield from _divergence(d, xs)  # last, so that the draws before it stay those of older seeds


def _one_loss(d: Draw, xs: list[float], y: int) -> Iterator[Case]:
    size = len(xs)
    q = [d.of(0.0, 0.25, d.u()) for _ in xs] if d.u() < 0.4 else None
    w = d.of(None, [d.of(0.0, 1.0, 1.0 + 2.0**-52, d.u() * d.of(1e-5, 1.0, 1e4)) for _ in xs])
    options = {"weight": w, "label_smoothing": d.of(0.0, 0.1, 0.2, 0.01, 1.0, d.u()), "reduction": "sum"}
    target = y if q is None else q
    masses = mpfr.masses(size, None if q else y, q, w, options["label_smoothing"])
    got = exact.cross_entropy(xs, target, **options)
    if any(a and x == -inf for a, x in zip(masses, xs, strict=True)):
        assert got == inf, (xs, target, options)
    else:
        yield Case("cross_entropy", (xs, target, options), got, lambda c: Row(c, xs).loss(masses))
    slope = exact.cross_entropy_gradient(xs, target, **options)
    for j in {d.below(size), d.below(size)}:
        yield Case(
            "cross_entropy_gradient", (xs, target, options, j), slope[j], lambda c, j=j: Row(c, xs).slope(masses, j)
        )


def _divergence(d: Draw, xs: list[float]) -> Iterator[Case]:
    """The row against another of its kind: changed a little, changed in one class, shuffled, or shifted."""
    near, shift = d.of(1.0, 1e-3, 1e-9, 1e-15), d.of(0.0, 0.0, 3.0, -1000.5)
    lone, kind = d.below(len(xs)), d.below(4)
    if kind == 0:
        ys = [x + near * (d.u() - 0.5) + shift for x in xs]
    elif kind == 1:
        ys = [nextafter(x, inf) if j == lone else x for j, x in enumerate(xs)]
    elif kind == 2:
        ys = [x + shift for x in reversed(xs)]
    else:
        ys = [x + shift for x in xs]
    given, got = (xs, ys), exact.kl_divergence(xs, ys)
    support = [(x, y) for x, y in zip(xs, ys, strict=True) if x > -inf]
    if any(y == -inf for _, y in support):
        assert got == inf, given
    elif len({mpq(y) - mpq(x) for x, y in support}) == 1 and xs.count(-inf) == ys.count(-inf):
        assert got == 0.0, given
    else:
        yield Case("kl_divergence", given, got, lambda c: Row(c, xs).divergence(Row(c, ys)))


def _batch(d: Draw, xs: list[float]) -> Iterator[Case]:
    rows = [xs] + [[d.of(0.5, *xs) for _ in xs] for _ in range(d.of(0, 1, 2, 5))]
    if any(max(r) == -inf for r in rows):
        return
    ys = [d.of(*(j for j, x in enumerate(r) if x > -inf)) for r in rows]
    w = d.of(None, [d.of(0.5, 1.0, d.u()) for _ in xs])
    shares = [mpq(w[y]) if w else mpq(1) for y in ys]
    divisor = sum(shares)
    if not divisor:
        return

    @cache
    def mean(c: Context) -> Value:
        losses = [
            Row(c, r).loss([share * int(j == y) for j in range(len(r))])
            for r, y, share in zip(rows, ys, shares, strict=True)
        ]
        return mpfr.scaled(c, mpfr.total(c, losses), 1 / divisor)

    n, given = 1 + d.below(12), (rows, ys, w)
    part = mpq(1, n)
    nll = exact.batch_nll(rows, ys, weight=w, reduction="mean")
    yield Case("cross_entropy mean", given, exact.cross_entropy(rows, ys, weight=w), mean)
    yield Case("perplexity", given, exact.perplexity(nll), lambda c: mpfr.exp(c, mean(c)))
    yield Case("bits_per_token", given, exact.bits_per_token(nll), lambda c: mpfr.over_log(c, mean(c), 2))
    given = (*given, n)
    yield Case(
        "bits_per_byte",
        given,
        exact.bits_per_byte(nll, n),
        lambda c: mpfr.over_log(c, mpfr.scaled(c, mean(c), part), 2),
    )
    yield Case(
        "word_perplexity", given, exact.word_perplexity(nll, n), lambda c: mpfr.exp(c, mpfr.scaled(c, mean(c), part))
    )


def _conversions(d: Draw) -> Iterator[Case]:
    x, v = d.u() * d.of(1e-300, 1e-10, 1e-3, 1.0, 10.0, 700.0), 1 + d.below(200_000)
    given = Value(mpq(x), mpfr.ZERO)

    def times_log(base: int) -> Callable[[Context], Value]:
        return lambda c: Value(mpq(0), c.times(mpq(x), c.each("log", c.of(base))))

    yield Case("perplexity of a double", (x,), exact.perplexity(x), lambda c: mpfr.exp(c, given))
    yield Case("nats_to_bits", (x,), exact.nats_to_bits(x), lambda c: mpfr.over_log(c, given, 2))
    yield Case("nats_to_log10", (x,), exact.nats_to_log10(x), lambda c: mpfr.over_log(c, given, 10))
    yield Case("bits_to_nats", (x,), exact.bits_to_nats(x), times_log(2))
    yield Case("log10_to_nats", (x,), exact.log10_to_nats(x), times_log(10))
    log = exact.perplexity_to_nll(1.0 + x)
    yield Case("perplexity_to_nll", (1.0 + x,), log, lambda c: Value(mpq(0), c.each("log", c.of(1.0 + x))))
    yield Case("uniform_nll", (v,), exact.uniform_nll(v), lambda c: Value(mpq(0), c.each("log", c.of(v))))
    counts, alpha = [d.below(50) for _ in range(5)], d.of(1.0, 0.1, d.u())
    model = exact.SmoothedUnigram.fit([t for t, n in enumerate(counts) for _ in range(n)], range(5), alpha)
    inverse = (sum(counts) + 5 * mpq(alpha)) / (counts[3] + mpq(alpha))
    yield Case(
        "SmoothedUnigram.nll", (counts, alpha), model.nll(3), lambda c: Value(mpq(0), c.each("log", c.of(inverse)))
    )
