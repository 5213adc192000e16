"""Families of rows of logits, each hard in its own way, and their true values in wide decimal arithmetic."""

from collections import Counter
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from math import inf, log
from random import Random

from tests.ulps import wide_context

# Numbers are drawn by Random.random() alone: its sequence is the same on every Python.


def pick(rng: Random, *values: float) -> float:
    return values[int(rng.random() * len(values))]


def near_gauss(rng: Random, deviation: float) -> float:
    """Return a number from a bell curve: twelve uniform numbers add up to one of variance 1."""
    total = -6.0
    for _ in range(12):
        total += rng.random()
    return deviation * total


def size(rng: Random, most: int = 30) -> int:
    return 2 + int(rng.random() * (most - 1))


def gauss(rng: Random) -> list[float]:
    deviation = pick(rng, 0.001, 1.0, 4.0, 30.0)
    return [near_gauss(rng, deviation) for _ in range(size(rng))]


def hit(rng: Random) -> list[float]:
    lead = pick(rng, 20.0, 45.0, 200.0, 600.0, 700.0, 744.0, 760.0, 900.0)
    return [lead + near_gauss(rng, 1.0), *(near_gauss(rng, 1.0) for _ in range(size(rng)))]


def offset(rng: Random) -> list[float]:
    shift = pick(rng, -1.0, 1.0) * pick(rng, 1e4, 1e7, 1e10, 1e12, 1e15)
    return [shift + near_gauss(rng, pick(rng, 1.0, 30.0)) for _ in range(size(rng))]


def leader_not_zero(rng: Random) -> list[float]:
    """A leading logit of 0.1 or so, the rest hundreds below: there the rounding of z - m costs hundreds of ulp."""
    return [rng.random(), *(-pick(rng, 300.0, 500.0, 650.0, 700.0, 735.0) - rng.random() for _ in range(size(rng)))]


def ties(rng: Random) -> list[float]:
    top, below = near_gauss(rng, 3.0), near_gauss(rng, 3.0)
    return [top] * size(rng, 9) + [min(top, below)] * size(rng, 70)


def ties_far_below(rng: Random) -> list[float]:
    return [rng.random(), *[-709.0 - 37.0 * rng.random()] * size(rng, 500)]


def masked(rng: Random) -> list[float]:
    row = gauss(rng)
    return [z if i == 0 or rng.random() < 0.5 else -inf for i, z in enumerate(row)]


def one_class(rng: Random) -> list[float]:
    return [near_gauss(rng, pick(rng, 1.0, 1e6, 1e300))]


def power_of_two(rng: Random) -> list[float]:
    """Two classes whose tail is just above a power of two, where one ulp of the nll is half of one of the tail."""
    return [0.0, log(2.0) * -float(1 + int(rng.random() * 60)) * (1.0 - 1e-4 * rng.random())]


def edge(rng: Random) -> list[float]:
    """Logits about where exp leaves the doubles, above and below."""
    shift = pick(rng, -1.0, 1.0) * pick(rng, 700.0, 709.0, 709.78, 720.0, 745.0)
    return [shift + near_gauss(rng, pick(rng, 0.1, 1.0, 10.0)) for _ in range(size(rng))]


def huge(rng: Random) -> list[float]:
    scale = pick(rng, 1e17, 1e200, 1e308)
    return [scale * (2.0 * rng.random() - 1.0) for _ in range(size(rng))]


def log_probabilities(rng: Random) -> list[float]:
    """Rows whose logsumexp is about 0, so that it cancels."""
    shares = [rng.random() + 1e-9 for _ in range(size(rng))]
    total = Decimal(0)
    for share in shares:
        total += Decimal(share)
    return [float((Decimal(share) / total).ln()) for share in shares]


FAMILIES: dict[str, Callable[[Random], list[float]]] = {
    family.__name__: family
    for family in [
        gauss, hit, offset, leader_not_zero, ties, ties_far_below, masked, one_class, power_of_two, edge, huge,
        log_probabilities,
    ]
}  # fmt: skip


def rows(seeds: int) -> list[tuple[str, int, list[float]]]:
    """Return (family, seed, row) for that many seeds of every family, each shuffled by its own seed."""
    found = []
    for name, family in FAMILIES.items():
        for seed in range(seeds):
            rng = Random(f"{name} {seed}")
            row = family(rng)
            found.append((name, seed, sorted(row, key=lambda _: rng.random())))
    return found


# --- the truth -------------------------------------------------------------------------------------------------------


class Truth:
    """What a row's results really are, to some 50 digits of each.

    Everything is relative to one class that holds the maximum.  Its own term is 1, so with rest the sum of the others,
    the row's sum of exponentials is 1 + rest, and as many more digits are carried as rest is small, down to 1e-340: no
    double is smaller.  Doubles and their differences are exact in decimal, or are cut at the last of so many digits.
    """

    def __init__(self, row: list[float]) -> None:
        finite = Counter(z for z in row if z > -inf)
        self.row, self.m = row, Decimal(max(finite))
        finite[max(finite)] -= 1
        gap = min((float(self.m - Decimal(z)) for z, n in finite.items() if n), default=0.0)
        digits = 60 + min(int(gap / 2.3), 340) + max(Decimal(z).adjusted() for z in finite if z)
        self.context: Context = wide_context(digits)
        with localcontext(self.context):
            self.rest = Decimal(0)
            for z, n in finite.items():
                self.rest += n * self.exp_below(z)

    def exp_below(self, z: float) -> Decimal:
        """Return exp(z - m); what is below 1e-4000 is 0."""
        d = Decimal(z) - self.m
        return d.exp() if d > -10_000 else Decimal(0)

    def nll_lies_in(self, low: Decimal, high: Decimal, y: int) -> bool:
        """Return whether low <= nll of class y <= high.

        Decided without a logarithm: exp increases, and exp(nll - (m - z[y])) is 1 + rest.
        """
        with localcontext(self.context):
            a = self.m - Decimal(self.row[y])
            return (low - a).exp() <= 1 + self.rest <= (high - a).exp()

    def logsumexp_lies_in(self, low: Decimal, high: Decimal) -> bool:
        with localcontext(self.context):
            return (low - self.m).exp() <= 1 + self.rest <= (high - self.m).exp()

    def probability(self, y: int) -> Decimal:
        with localcontext(self.context):
            return self.exp_below(self.row[y]) / (1 + self.rest)

    def entropy(self) -> Decimal:
        """Return -sum p log p, term by term, by decimal's own logarithm."""
        with localcontext(self.context):
            total = Decimal(0)
            for z, n in Counter(self.row).items():
                p = self.exp_below(z) / (1 + self.rest) if z > -inf else Decimal(0)
                total -= n * p * p.ln() if p else Decimal(0)
            return total
