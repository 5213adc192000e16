"""Cases as those of exact_cases for KL divergence in all its reductions, the z-loss, and the gradients of both."""

from collections.abc import Iterator
from functools import cache
from math import inf, log, nan, nextafter

from gmpy2 import mpq

from refcalc import exact
from tests.peers import mpfr
from tests.peers.exact_cases import Case, Draw
from tests.peers.mpfr import Context, Row, Value

HALF_WAY = 2.0**53  # one more is half-way between two doubles, and so are three more


def cases(seed: int) -> Iterator[Case]:
    """Yield some 25 results: a batch of pairs of rows, and a batch of rows; nan where 2**14 bits did not decide."""
    d = Draw(seed)
    for family in (_divergences, _z_losses):
        try:
            yield from family(d)
        except ArithmeticError as error:
            yield Case("refused", (str(error),), nan, lambda c: Value(mpq(0), mpfr.ZERO))


def pair(d: Draw, size: int) -> tuple[list[float], list[float]]:  # noqa: PLR0911, PLR0912
    """Return the logits of p and of q, of one of 14 families."""
    u, family = d.u, d.below(14)
    xs = d.normal(size, d.of(1.0, 3.0, 30.0), d.of(0.0, 0.0, 0.0, 1e9, -3e15))
    if family == 0:
        return xs, d.normal(size, d.of(1.0, 30.0, 700.0), d.of(0.0, 1e4, -1e300))
    if family == 1:  # KL down to 1e-30
        near, shift = 10.0 ** -d.below(17), d.of(0.0, 0.0, 100.0, 1e9)
        return xs, [x + near * (u() - 0.5) + shift for x in xs]
    if family == 2:  # the last bit of one class or of several
        return xs, [nextafter(x, d.of(inf, -inf)) if u() < 0.4 else x for x in xs]
    if family == 3:  # all but uniform, KL near the least double
        scale = 0.5 ** (500 + d.below(40))
        return [d.of(0.0, u()) * scale for _ in xs], [u() * scale for _ in xs]
    if family == 4:  # all but certain, tails near the least double
        far = [-d.of(36.0, 300.0, 700.0, 740.0, 0.0) * (1.0 + 0.01 * u()) for _ in xs[1:]]
        return [0.0, *far], [0.0, *(x + d.of(0.0, 1e-9, 2.0) * (u() - 0.5) for x in far)]
    if family == 5:  # the same logits in another order, or all but the same: q[i] - p[i] is 0 or nearly
        xs, shift = [d.below(6) / 4.0 for _ in xs], d.of(0.0, 0.5)
        ys = [x + shift for x in sorted(xs, key=lambda _: u())]
        return xs, [nextafter(y, inf) if u() < 0.1 else y for y in ys]
    if family == 6:  # pairs of equal logits whose mean of log p - log q is the same, or nearly
        ys = list(xs)
        for j in range(1, size, 2):
            h, lone = d.of(1.0, 2.0**-20, 3.0) * d.below(9), d.below(32) / 16.0
            xs[j - 1 : j + 1] = lone, lone
            ys[j - 1 : j + 1] = lone + h, nextafter(lone - h, d.of(lone - h, lone - h, inf))
        return xs, ys
    if family == 7:  # half-way and dust, also around the 2500 from where the package finds its sign otherwise
        far = d.of(40.0, 900.0, 2490.0, 2500.0, 2510.0, 1e4, 1e6)
        ys = [d.of(HALF_WAY, -(2.0**60), -far - 1.0, HALF_WAY - far, 2.0 * u()) for _ in xs[1:]]
        return [0.0, *(-far - d.of(0.0, 1.0, u(), 20.0 * u()) for _ in ys)], [-d.of(1.0, 3.0, 0.25), *ys]
    if family == 8:  # a tied row, its gradient by p half-way
        return [d.of(0.0, 0.0, 0.0, -inf) for _ in xs[1:]] + [0.0], [d.of(HALF_WAY, -1.0, 1.0, u()) for _ in xs]
    if family == 9:  # masked classes
        ys = [d.of(x, x, x + u(), -u() * 700.0) for x in xs]
        hidden = [u() < 0.4 for _ in xs[1:]] + [False]
        xs = [-inf if hide else x for x, hide in zip(xs, hidden, strict=True)]
        return xs, [-inf if hide and u() < d.of(0.5, 1.0) else y for y, hide in zip(ys, hidden, strict=True)]
    if family == 10:  # offsets far apart, and magnitudes mixed
        return xs, [x + d.of(1e16, 1e300, -1e300, 0.0) * d.of(0.0, 1.0, u()) for x in xs]
    if family == 11:  # one class has all
        lone = d.below(size)
        return [x if j == lone else -inf for j, x in enumerate(xs)], d.normal(size, d.of(1.0, 50.0))
    if family == 12:  # the largest logit several times and dust, the gradient by p half-way
        far = d.of(30.0, 900.0, 5e3, 1e6, 5e8)
        xs = [0.0] + [d.of(0.0, 0.0, -far, -far - u()) for _ in xs[1:]]
        return xs, [d.of(y, 3.0 * (u() - 0.5), HALF_WAY, -1.0) for y in xs]
    return xs, [d.of(y, y, y, -inf) for y in xs[1:]] + [u()]  # often infinite


def _divergences(d: Draw) -> Iterator[Case]:
    size, batch, places = d.of(1, 2, 2, 3, 4, 5, 8, 17, 40), d.of(1, 1, 2, 3), d.of(1, 2)
    grid = [[pair(d, size) for _ in range(places)] for _ in range(batch)]
    p, q = ([[each[i] for each in line] for line in grid] for i in (0, 1))
    flat = [each for line in grid for each in line]
    infinite = [any(y == -inf < x for x, y in zip(*each, strict=True)) for each in flat]
    alone = exact.kl_divergence(p, q, reduction="none")
    for each, lost, got in zip(flat, infinite, (kl for line in alone for kl in line), strict=True):
        if lost:
            assert got == inf, each
        else:
            yield Case("kl_divergence none", each, got, lambda c, e=each: Row(c, e[0]).divergence(Row(c, e[1])))

    @cache
    def total(c: Context) -> Value:
        return mpfr.total(c, [Row(c, xs).divergence(Row(c, ys)) for xs, ys in flat])

    divisors = {"rowmean": len(flat), "batchmean": batch, "mean": len(flat) * size, "sum": 1}
    for reduction, n in divisors.items():
        got = exact.kl_divergence(p, q, reduction=reduction)
        if any(infinite):
            assert got == inf, (p, q)
        else:
            share = mpq(1, n)
            yield Case(f"kl_divergence {reduction}", (p, q), got, lambda c, s=share: mpfr.scaled(c, total(c), s))
    for of in ("q_logits",) if any(infinite) else ("q_logits", "p_logits"):
        reduction = d.of(*divisors)
        share = mpq(1, divisors[reduction])
        slopes = exact.kl_divergence_gradient(p, q, of=of, reduction=reduction)
        for each, slope in zip(flat, (slope for line in slopes for slope in line), strict=True):
            for j in {each[0].index(max(each[0])), d.below(size)}:

                def value(c: Context, each=each, of=of, share=share, j=j) -> Value:
                    return mpfr.scaled(c, Row(c, each[0]).divergence_slope(Row(c, each[1]), of, j), share)

                yield Case(f"kl_divergence_gradient {of}", (*each, reduction, divisors, j), slope[j], value)


def logits(d: Draw, size: int) -> list[float]:  # noqa: PLR0911
    """Return a row whose normaliser is hard in one of 7 ways."""
    u, family = d.u, d.below(7)
    xs = d.normal(size, d.of(0.01, 3.0, 30.0), d.of(0.0, 0.0, 0.0, 1e4, -1e9, d.of(1e150, 1e200), -1e-200))
    if family == 0:
        return xs
    if family == 1:  # a normaliser of 1, or nearly
        size_of = exact.logsumexp(xs)
        return [x - size_of for x in xs]
    if family == 2:  # the same, tied
        return [-log(size)] * size
    if family == 3:  # its square half-way, and dust; or its slope, with a coefficient of 1 + 2**-52
        m = d.of(3.0 * 2.0**25 + 1.0, -(2.0**27) - 1.0, 1.5, 0.75, 1.0, 0.0)
        return [m, *(m - d.of(50.0, 700.0, 1e3, 1e6, 5e8) - u() for _ in xs[1:])]
    if family == 4:  # one class has all, or some have none
        lone, least = d.below(size), d.of(1.0, 0.3)
        return [x if j == lone or u() > least else -inf for j, x in enumerate(xs)]
    if family == 5:  # all but certain, near 0
        return [d.of(0.0, 1e-9, -1e-13, 5e-324), *(-d.of(20.0, 36.0, 300.0, 740.0) - u() for _ in xs[1:])]
    return [d.below(6) / 4.0 for _ in xs]


def _z_losses(d: Draw) -> Iterator[Case]:
    size, count = d.of(1, 2, 2, 3, 4, 8, 17, 40), d.of(1, 2, 3, 5)
    rows = [logits(d, size) for _ in range(count)]
    targets = d.of(None, [0] + [d.of(size - 1, -100) for _ in rows[1:]])
    counted = [targets is None or y >= 0 for y in targets or rows]
    coefficient = d.of(1.0, 1.0, 1.0 + 2.0**-52, 1e-4, 0.3, d.u(), 1e-280, 2.0**-1060, 0.0)

    @cache
    def squares(c: Context) -> Value:
        sizes = [Row(c, xs).logsumexp() for xs, counts in zip(rows, counted, strict=True) if counts]
        return mpfr.total(c, [mpfr.product(c, each, each) for each in sizes])

    for reduction, n in {"mean": sum(counted), "sum": 1}.items():
        options = {"coefficient": coefficient, "reduction": reduction}
        given, factor = (rows, targets, options), mpq(coefficient) / n
        got = exact.z_loss(rows, targets, **options)
        yield Case(f"z_loss {reduction}", given, got, lambda c, f=factor: mpfr.scaled(c, squares(c), f))
        slopes = exact.z_loss_gradient(rows, targets, **options)
        for xs, counts, slope in zip(rows, counted, slopes, strict=True):
            for j in {xs.index(max(xs)), d.below(size)}:

                def value(c: Context, xs=xs, j=j, factor=2 * factor * counts) -> Value:
                    found = Row(c, xs)
                    return mpfr.scaled(c, mpfr.product(c, found.logsumexp(), found.probability(j)), factor)

                yield Case("z_loss_gradient", (*given, j), slope[j], value)
