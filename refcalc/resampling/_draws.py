"""Draws with replacement: how often each of n items is drawn in n draws, and sums over them, exactly.

    n  items, and draws in one resample      w[i]  how often item i is drawn      U  256 cells of equal probability

A resample is held in two parts that add up: `planes`, whose integer number p has bit i set where bit p of a count is,
and `extras`, a list of items drawn besides.  So a sum over a resample is a popcount for every bit of the summands,
not a step for every item.
"""

__all__ = ["Column", "Resample", "choices", "resamples"]

import random
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from itertools import accumulate
from typing import NamedTuple


class Resample(NamedTuple):
    planes: list[int]
    extras: list[int]


class Column:
    """A whole number for each item, summed over resamples."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = numbers
        self.least = min(numbers)
        # The bits of the numbers, the least of them taken off: slice b holds bit b of every number, item i at bit i.
        above = [number - self.least for number in reversed(numbers)]
        width = max(above).bit_length()
        digits = "".join([f"{number:0{width}b}" for number in above]) if width else ""
        self.slices = [int(digits[width - 1 - b :: width], 2) for b in range(width)]

    def total(self, resample: Resample) -> int:
        numbers = self.numbers
        total = sum([numbers[i] for i in resample.extras])
        for p, plane in enumerate(resample.planes):
            if plane:
                above = 0
                for b, bits in enumerate(self.slices):
                    above += (plane & bits).bit_count() << b
                total += above + plane.bit_count() * self.least << p
        return total


def choices(n: int, seed: int) -> Iterator[Resample]:
    """Yield resamples as `[rng.choice(items) for _ in items]` draws them, rng = random.Random(seed)."""
    choice, items = random.Random(seed).choice, range(n)
    while True:
        yield Resample([], [choice(items) for _ in items])


def resamples(n: int, seed: int) -> Iterator[Resample]:
    """Yield resamples of n items, from random.Random(seed).random() alone."""
    uniform = random.Random(seed).random
    cells = _poisson_cells(n)
    while True:
        planes, extras = _poisson_counts(n, uniform, cells) if len(cells.bounds) > 1 else ([], [])
        drawn = sum([plane.bit_count() << p for p, plane in enumerate(planes)]) + len(extras)
        if drawn <= n:
            extras += [int(n * uniform()) for _ in range(n - drawn)]  # n * uniform() never rounds up to n
            yield Resample(planes, extras)


# Independent Poisson counts, given their sum N, are those of N draws with replacement.  So a resample may begin with n
# Poisson counts of a mean m a little below 1, is begun again in the rare case that N > n, and ends with the n - N draws
# that are missing, an item each.  m = 1 - 2 / sqrt(n) puts N two standard deviations below n; for n <= 4 it is 0.
#
# Poisson counts of n items come at once from 8 n random bits.  The 8 bits of an item choose one of 256 cells, of which
# floor(256 P(k)) mean k.  The last few cells hold what filled no whole one: an item that falls there draws again, from
# what the cells left over of each P(k).


class _Cells(NamedTuple):
    bounds: list[int]  # a cell below bounds[k] means k or fewer; from bounds[-1] on, draw again
    left_over: list[float]  # the chance of k or fewer when drawn again


def _poisson_cells(n: int) -> _Cells:
    """Return the cells of a Poisson count; in decimal arithmetic, so that no libm shows in them."""
    with localcontext(Context(prec=40)):
        mean = max(Decimal(0), 1 - 2 / Decimal(n).sqrt())
        shares = [256 * (-mean).exp()]
        while shares[-1] > Decimal("1e-20"):
            shares.append(shares[-1] * mean / len(shares))
        whole = [int(share) for share in shares]
        again = 256 - sum(whole)
        rest = accumulate([share - cells for share, cells in zip(shares, whole, strict=True)])
        left_over = [float(total / again) for total in rest] if again else []
    return _Cells(list(accumulate(cells for cells in whole if cells)), left_over)


def _poisson_counts(n: int, uniform: Callable[[], float], cells: _Cells) -> Resample:
    """Return a Poisson count for each of n items."""
    bits = _random_bits(n, uniform)
    *below, decided = [_below(bound, bits) for bound in cells.bounds]
    at_least = [decided & ~mask for mask in below]  # at_least[k - 1] has bit i set where k or more are of item i
    planes = []
    for p in range(len(at_least).bit_length()):
        plane = 0
        for mask in at_least[(1 << p) - 1 :: 1 << p]:  # bit p of a count changes at every multiple of 2**p
            plane ^= mask
        planes.append(plane)
    extras: list[int] = []
    undecided = f"{decided:0{n}b}"[::-1]
    item = undecided.find("0")
    while item >= 0:
        extras += [item] * bisect_right(cells.left_over, uniform(), hi=len(cells.left_over) - 1)
        item = undecided.find("0", item + 1)
    return Resample(planes, extras)


def _below(bound: int, bits: list[int]) -> int:
    """Return the items whose cell is below the bound; bits[j] has the items whose bit j (of 8) is 0, 0 the lowest."""
    result = 0
    for j, zeros in enumerate(bits):
        result = zeros | result if bound >> j & 1 else zeros & result
    return result


def _random_bits(n: int, uniform: Callable[[], float]) -> list[int]:
    """Return 8 random whole numbers of n bits each.

    1 + uniform() is 1 and 52 bits, of which the topmost four and the lowest eight are not used: adding 1 rounds the 53
    bits of uniform() to even, which shows in the lowest alone, for each value of the others has 512 of the 2**53.
    """
    size = -(-n // 8)
    doubles = array("d", [1.0 + uniform() for _ in range(-(-8 * size // 5))])
    if sys.byteorder == "big":
        doubles.byteswap()
    raw = doubles.tobytes()
    row = b"".join([raw[k::8] for k in range(1, 6)])
    full = (1 << n) - 1
    return [int.from_bytes(row[j * size : (j + 1) * size], "little") & full for j in range(8)]
