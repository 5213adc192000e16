"""Rows of logits by family, rounded to a dtype: the numbers that a kernel is handed are the numbers that are judged."""

__all__ = ["FAMILIES", "ORDINARY", "rounded", "rows_of"]

from collections.abc import Callable
from functools import cache
from math import frexp, inf, isinf, ldexp
from random import Random

PRECISION = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}  # bits of the significand

Case = tuple[list[float], int]  # one row, one target


def rounded(x: float, dtype: str) -> float:
    """Return the number of the dtype that is nearest to x, ties to even; x is within its normal range, or 0 or -inf."""
    if isinf(x):
        return x
    m, k = frexp(x)
    bits = PRECISION[dtype]
    return ldexp(round(ldexp(m, bits)), k - bits)


@cache
def rows_of(family: str, dtype: str, seed: int = 0) -> tuple[list[list[float]], list[int]]:
    """Return the rows of a family, all of one V, and their targets."""
    make, classes, count = FAMILIES[family]
    rng = Random(f"{seed} {family}")
    cases = [make(rng, classes) for _ in range(count)]
    return [[rounded(x, dtype) for x in row] for row, _ in cases], [target for _, target in cases]


def spread(rng: Random, classes: int, width: float = 4.0) -> list[float]:
    """Return logits with about a normal distribution, whose standard deviation is width."""
    u = rng.random
    return [width * 1.732 * (u() + u() + u() + u() - 2.0) for _ in range(classes)]


def ordinary(rng: Random, classes: int) -> Case:
    return spread(rng, classes), int(rng.random() * classes)


def offset(rng: Random, classes: int) -> Case:
    row, target = ordinary(rng, classes)
    return [1000.0 + x for x in row], target


def confident_hit(rng: Random, classes: int) -> Case:
    row = spread(rng, classes, 1.0)
    target = int(rng.random() * classes)
    row[target] = max(row) + 15.0 + 30.0 * rng.random()
    return row, target


def confident_miss(rng: Random, classes: int) -> Case:
    row, leader = confident_hit(rng, classes)
    return row, (leader + 1) % classes


def masked(rng: Random, classes: int) -> Case:
    """Half of the classes have probability zero; the target is none of these."""
    row = spread(rng, classes)
    return [x if i % 2 else -inf for i, x in enumerate(row)], 1


def equal(rng: Random, classes: int) -> Case:
    return [rng.random()] * classes, 0


ORDINARY = "ordinary"
FAMILIES: dict[str, tuple[Callable[[Random, int], Case], int, int]] = {  # how a row is made, V, how many rows
    ORDINARY: (ordinary, 10, 20),
    "offset 1000": (offset, 10, 20),
    "confident hit": (confident_hit, 10, 20),
    "confident miss": (confident_miss, 10, 20),
    "masked classes": (masked, 10, 20),
    "equal": (equal, 10, 20),
    "V = 5,000": (ordinary, 5000, 2),
}
