"""Rows of logits that are hard on a loss, by family; accuracy.py measures on them.

Every row is drawn by random.Random(seed).random() and by arithmetic that rounds alike everywhere (logarithms are cut
short), so the rows are the same on every machine.  A family is a function of the generator that returns one row and its
target.
"""

__all__ = ["FAMILIES", "drawn"]

from collections.abc import Callable, Iterator, Sequence
from math import floor, inf, log
from random import Random

Case = tuple[list[float], int]

SIZES = (2, 3, 4, 5, 8, 10, 13, 20, 50, 100)
LOG_2 = float.fromhex("0x1.62e42fefa39efp-1")


def drawn(name: str, share: float = 1.0) -> Iterator[Case]:
    """Yield the rows of a family with their targets; a share below 1 is the beginning of the same sequence."""
    make, count = FAMILIES[name]
    rng = Random(f"refcalc {name}")
    for _ in range(max(1, round(count * share))):
        yield make(rng)


# --- draws -----------------------------------------------------------------------------------------------------------


def below(rng: Random, n: int) -> int:
    return int(rng.random() * n)


def size(rng: Random, sizes: Sequence[int] = SIZES) -> int:
    return sizes[below(rng, len(sizes))]


def between(rng: Random, low: float, high: float) -> float:
    return low + (high - low) * rng.random()


def normal(rng: Random) -> float:
    """Return nearly a normal deviate: the sum of four uniform ones, of mean 0 and variance 1."""
    draw = rng.random
    return (draw() + draw() + draw() + draw() - 2.0) * 1.7320508


def magnitude(rng: Random, low: int, high: int) -> float:
    """Return a number of either sign between 10**low and 10**high, small ones as often as large ones."""
    scale = float(f"1e{low + below(rng, high - low)}")
    return scale * between(rng, 1.0, 10.0) * (1.0 if rng.random() < 0.5 else -1.0)


def coarse_log(x: float) -> float:
    """Return log x to 40 bits after the point, so that all but one in 10,000 are the same in every libm."""
    return floor(log(x) * 2.0**40) / 2.0**40


def placed(rng: Random, leader: float, others: list[float], hit: bool) -> Case:
    """Return the others with the leader put in at a random place, and a target that is the leader or is not."""
    k = below(rng, len(others) + 1)
    others.insert(k, leader)
    return others, k if hit else (k + 1 + below(rng, len(others) - 1)) % len(others)


# --- families --------------------------------------------------------------------------------------------------------


def gauss(rng: Random) -> Case:
    n, scale = size(rng), (0.001, 0.1, 1.0, 3.0, 4.0, 30.0)[below(rng, 6)]
    return [scale * normal(rng) for _ in range(n)], below(rng, n)


def just_above_a_power_of_two(rng: Random, ties: int = 1) -> Case:
    """A hit whose tail t is just above 2**-k, log1p(t) just below it: an ulp of it is half an ulp of t."""
    k = 1 + below(rng, 40)
    behind = k * LOG_2 + coarse_log(ties) - rng.random() * 0.5 / (1 << k)
    return placed(rng, 0.0, [-behind] * ties, hit=True)


def the_same_with_ties(rng: Random) -> Case:
    return just_above_a_power_of_two(rng, ties=size(rng, (2, 3, 4, 5, 7, 10, 17, 30, 50, 70)))


def mixed(rng: Random) -> Case:
    """Some classes near the leader, some far, some tied, and the leading logit anywhere in +-30."""
    n, m = size(rng), between(rng, -30.0, 30.0)
    tied = m - between(rng, 0.0, 40.0)
    kinds = (lambda: m - rng.random(), lambda: m - between(rng, 0.0, 60.0), lambda: tied, lambda: m)
    return [kinds[below(rng, 4)]() for _ in range(n)], below(rng, n)


def offset(rng: Random) -> Case:
    n, m, scale = size(rng), magnitude(rng, 4, 15), between(rng, 0.1, 30.0)
    return [m + scale * normal(rng) for _ in range(n)], below(rng, n)


def confident_hit(rng: Random) -> Case:
    m, lead = between(rng, -40.0, 40.0), between(rng, 20.0, 45.0 if rng.random() < 0.5 else 700.0)
    return placed(rng, m, [m - lead - between(rng, 0.0, 10.0) for _ in range(size(rng))], hit=True)


def confident_miss(rng: Random) -> Case:
    m = between(rng, -40.0, 40.0)
    return placed(rng, m, [m - between(rng, 20.0, 900.0) for _ in range(size(rng))], hit=False)


def far_behind_a_leader(rng: Random) -> Case:
    """The leading logit is not 0 and the others are hundreds below: the rounding of x - m alone costs 100 ulp."""
    m, low = between(rng, 0.05, 4.0), between(rng, 100.0, 700.0)
    return placed(rng, m, [-low - 5.0 * rng.random() for _ in range(size(rng))], hit=rng.random() < 0.75)


def ties_at_the_edge(rng: Random) -> Case:
    """Tied classes 709 to 746 below the leader: their masses, or the sum of them, are at the end of the doubles."""
    m = (0.0, 0.1, between(rng, -20.0, 20.0))[below(rng, 3)]
    return placed(rng, m, [m - between(rng, 709.0, 746.0)] * size(rng, (1, 2, 5, 10, 50, 100, 2000)), hit=True)


def term_by_term_underflow(rng: Random) -> Case:
    """Every exp(x - m) underflows or nearly so, and 50,000 of them do not."""
    return [0.0] + [-(740.0 + below(rng, 16) + (0.0 if rng.random() < 0.5 else rng.random()))] * 50_000, 0


def subnormal_results(rng: Random) -> Case:
    m = (0.0, between(rng, -5.0, 5.0))[below(rng, 2)]
    return placed(rng, m, [m - between(rng, 700.0, 750.0) for _ in range(size(rng))], hit=rng.random() < 0.9)


def masked_classes(rng: Random) -> Case:
    n, scale = size(rng), between(rng, 0.1, 60.0)
    row = [-inf if rng.random() < 0.5 else scale * normal(rng) for _ in range(n)]
    row[below(rng, n)] = scale * normal(rng)
    return row, below(rng, n)


def log_probabilities(rng: Random) -> Case:
    """Rows whose logsumexp is nearly 0, as log-probabilities have: m and log1p(tail) cancel."""
    masses = [rng.random() * rng.random() for _ in range(size(rng))]
    total = sum(map(floor, [mass * 2.0**40 for mass in masses])) / 2.0**40
    return [coarse_log(mass / total) for mass in masses], below(rng, len(masses))


def any_magnitude(rng: Random) -> Case:
    n = size(rng)
    return [magnitude(rng, -20, 300 if rng.random() < 0.2 else 4) for _ in range(n)], below(rng, n)


def long_row(rng: Random) -> Case:
    """V from 1,000 to 200,000, as of a language model: the target leads, is likely, or is any class."""
    n, scale, m = size(rng, (1000, 1000, 1000, 50_257, 200_000)), between(rng, 0.5, 6.0), between(rng, -20.0, 20.0)
    row = [m + scale * normal(rng) for _ in range(n)]
    y = below(rng, n)
    row[y] += between(rng, 0.0, 40.0)
    return row, y if rng.random() < 0.7 else below(rng, n)


def one_class(rng: Random) -> Case:
    return [magnitude(rng, -300, 300)], 0


FAMILIES: dict[str, tuple[Callable[[Random], Case], int]] = {
    "gauss": (gauss, 12_000),
    "V = 2, tail just above 2**-k": (just_above_a_power_of_two, 12_000),
    "the same with 2 to 70 ties": (the_same_with_ties, 12_000),
    "mixed": (mixed, 10_000),
    "offset 1e4 to 1e15": (offset, 10_000),
    "confident hit": (confident_hit, 10_000),
    "confident miss": (confident_miss, 8_000),
    "leader not 0, rest 100 to 700 behind": (far_behind_a_leader, 10_000),
    "ties 709 to 746 behind": (ties_at_the_edge, 4_000),
    "50,000 terms that underflow": (term_by_term_underflow, 20),
    "subnormal results": (subnormal_results, 8_000),
    "-inf entries": (masked_classes, 8_000),
    "log-probabilities": (log_probabilities, 6_000),
    "any magnitude": (any_magnitude, 6_000),
    "V = 1,000 to 200,000": (long_row, 100),
    "V = 1": (one_class, 200),
}
