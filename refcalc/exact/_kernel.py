"""The mass of many classes, sum of e**x, enclosed: the one place where the time goes.

A mass is handed over as (n, b, lo, hi), which says

    lo / 2**P  <  (sum of e**x) / e**(n / 2**b)  <  hi / 2**P

`quick` (levels 0 and 1) lets libm's exp work for the classes that weigh little, and corrects it in the others, the
heavy ones.  `tabled` (level 2) uses no libm at all, `long` (level 3 on) whole numbers of any length.

    P    bits after the point of a table entry: 89, so that every entry but the first fits three digits of Python's int
    A    e**(-i / 2**5), B  e**(-i / 2**15), C  e**(-i / 2**25), rounded down, in units of 2**-P: off by less than 1
"""

__all__ = ["Mass", "P", "long", "quick", "tabled"]

import math
from collections.abc import Sequence
from functools import lru_cache
from math import ceil, floor, fsum, ldexp
from operator import neg

from refcalc.exact import _integer
from refcalc.exact._libm import TRUST, libm_is_trusted

Mass = tuple[int, int, int, int]

P = 89
RANGE, SMALL = 650.0, 1e-280  # e**x beyond +-RANGE, sums below SMALL or beyond 1/SMALL: left to `tabled`
SHORT = 200  # a row of so few classes is done at level 0 as at level 1: that costs less than a second attempt
DEPTH = 79  # nats below the largest class that `tabled` looks at: e**-79 < 2**-113
_HEAVY = (ldexp(1.0, -4), ldexp(1.0, -12))  # at level 0 and 1: the share of the average from which a class is heavy

_UNIT, _STEP_B, _STEP_C = ldexp(1.0, P), ldexp(1.0, -15), ldexp(1.0, -25)
_LIGHT, _REST, _TABLED = ldexp(1.0, -50), ldexp(1.0, -48), ldexp(1.0, -50)  # see the ledgers

exp = math.exp  # a name of this module, so that a test can bend it


def quick(xs: Sequence[float], level: int) -> tuple[float, Mass] | None:
    """Return the largest of xs, and the mass of all the others, with libm's help.

    None where libm's exp is not trusted, out of RANGE, or meets nan.
    """
    # A class is heavy if e**x exceeds the share c of the average.  Split each heavy class at k = floor(2**15 x):
    #
    #     e**x  =  e**(k / 2**15) + e**x (1 - e**-z),    z = x - k / 2**15 in [0, 2**-15).
    #
    # The first part comes from the tables.  The second, and the light classes, are a small part of the mass, so that
    # libm's error is scaled down with them.  No x - m is formed anywhere: its rounding does not exist.
    if not libm_is_trusted():
        return None
    try:
        es = list(map(exp, xs))
    except OverflowError:
        return None
    total = sum(es)  # only steers the split: Python's versions differ in the last bits of sum
    if not SMALL < total < 1.0 / SMALL:
        return None
    heavy, cut = _heavy(xs, total, level)
    m = max(heavy)
    e = exp(m)
    if e > 0.75 * total:  # the others decide what is heavy among them
        total = fsum([*es, -e])
        if total < SMALL:
            return None
        heavy, cut = _heavy(xs, total, level)
    if not -RANGE < cut < RANGE:
        return None
    heavy.remove(m)
    heavy_es = list(map(exp, heavy))
    light = fsum([*es, -e, *map(neg, heavy_es)])  # exp is a function, so what is taken out cancels without error
    ys = [x * 32768.0 for x in heavy]
    ks = list(map(floor, ys))
    top = max(ks)
    a, b, _ = _tables()
    s = sum([a[(n := top - k) >> 10] * b[n & 1023] for k in ks]) >> P
    zs = [(y - k) * _STEP_B for y, k in zip(ys, ks, strict=True)]
    rest = fsum([e * (z * (1.0 - z * (0.5 - z / 6.0))) for e, z in zip(heavy_es, zs, strict=True)])
    scale, trust = _scale(top) if len(xs) > SHORT else (exp(-top * _STEP_B), 2.0 * TRUST)
    small = scale * (light + rest)
    #   Ledger.  Units of 2**-P:
    #     two entries of at most 2**P, each short by less than 1, and the last floor     -2 h - 1 .. 0   for h classes
    #   small, relative to scale * light, t = TRUST being libm's exp:
    #     libm t, fsum 2**-53; scale 2**-52.9, the sum and the product 2**-53 each       t + 2**-50.9
    #     (t a second time where scale is libm's, which saves a few microseconds on a short row)
    #   small, relative to scale * rest:
    #     libm t; z, which is exact but for -1/2 < y < 0, 2**-53; five operations on
    #     factors next to 1, 2**-52; the series z - z**2/2 + z**3/6, z**3/24 < 2**-49.5;
    #     fsum, scale, sum and product as above                                          t + 2**-48.6
    #   small, absolute: e**x below 2**-1022 is off by more than t, yet by less than 2**-1030 for 2**40 classes
    #   together, and scale < 2**938: below 2**-92, an eighth of a unit.
    #   Second order terms, and the roundings in the next line: below 2**-90 and 2**-100, covered by 2**-50 and 2**-48.
    slack = scale * (light * (trust + _LIGHT) + rest * (trust + _REST))
    middle, wide = floor(small * _UNIT), ceil(slack * _UNIT) + 2
    return m, (top, 15, s + middle - wide, s + middle + wide + 2 * len(heavy) + 1)


def tabled(xs: Sequence[float], counts: Sequence[int]) -> Mass | None:
    """Return the mass of xs, each class as often as counts says, without libm, to 2**-73 or better.

    None where a class is so large that 2**25 times it overflows.
    """
    second = max(xs)
    if not -1e270 < second < 1e270:
        return None
    cut = second - DEPTH
    kept = [x for x in xs if x >= cut]
    weights = counts if len(kept) == len(xs) else [c for x, c in zip(xs, counts, strict=True) if x >= cut]
    ys = [x * 33554432.0 for x in kept]
    ks = list(map(floor, ys))
    top = max(ks)
    a, b, c = _tables()
    places = [min(top - k, _DEEPEST) for k in ks]
    ts = [w * (a[n >> 20] * b[n >> 10 & 1023] * c[n & 1023] >> 2 * P) for n, w in zip(places, weights, strict=True)]
    # e**x = T e**z with z = 2**-25 (y - k) < 2**-25, and e**z - 1 = z + z**2/2 + z**3/6 + less than z**4/23.
    zs = [(y - k) * _STEP_C for y, k in zip(ys, ks, strict=True)]
    rest = fsum([t * (z * (1.0 + z * (0.5 + z / 6.0))) for t, z in zip(ts, zs, strict=True)])
    #   Ledger.  Units of 2**-P, for each class:
    #     three entries of at most 2**P short by less than 1 each, and the floor         -4 .. 0; times e**z: -4.1 .. 0
    #     a class below the cut, or deeper than the table reaches                        less than 2**-20
    #   rest, relative to itself (it is below 2**-25 of the mass): t to float 2**-53; z, and five operations next to 1,
    #     2**-51.6; the series 2**-79; fsum 2**-53                                        2**-50.8
    middle, wide = floor(rest), ceil(rest * _TABLED) + 1
    return top, 25, (s := sum(ts)) + middle - wide, s + middle + wide + 5 * sum(counts) + 2


def long(xs: Sequence[float], counts: Sequence[int], bits: int) -> tuple[float, int, int]:
    """Return (x, lo, hi) with lo / 2**bits < (sum of e**x) / e**x < hi / 2**bits, x being the largest of xs."""
    pairs = list(zip(xs, counts, strict=True))
    second = max(x for x, _ in pairs)
    total = width = 0
    for x, count in pairs:
        n, k = power(x, second, bits)
        total += count * (n >> -k)
        width += count
    # A power is within 4 units of its own last place, which k <= 0 only makes smaller; the shift's floor adds 1.
    return second, total - 5 * width, total + 5 * width


def power(x: float, m: float, bits: int) -> tuple[int, int]:
    """Return (n, k) with e**(x - m) = n * 2**(k - bits), n within 4 units of the truth, for x <= m.

    Where e**(x - m) < 2**-(8 bits + 2400), n is 0 and k is -(8 bits + 2400).
    """
    if x == m:
        return 1 << bits, 0
    deepest = 8 * bits + 2400
    if m - x > 0.7 * deepest:  # 0.7 > ln 2
        return 0, -deepest
    (a, b), (p, q) = x.as_integer_ratio(), m.as_integer_ratio()
    d = max(b, q)
    y = ((a * (d // b) - p * (d // q)) << bits) // d  # short by less than one unit: e**(x - m) by less than 2 of n's
    return _integer.exp(y, bits)


def _heavy(xs: Sequence[float], total: float, level: int) -> tuple[list[float], float]:
    share = _HEAVY[1 if len(xs) <= SHORT else level]
    cut = math.log(total * share / len(xs))
    return [x for x in xs if x >= cut], cut


def _scale(top: int) -> tuple[float, float]:
    """Return e**-(top / 2**15) without libm, and what it adds to libm's error: nothing."""
    n, k = _integer.exp(-top << 64 - 15, 64)
    return ldexp(n, k - 64), TRUST


_DEEPEST = (DEPTH + 1 << 25) - 1


@lru_cache(maxsize=1)
def _tables() -> tuple[list[int], list[int], list[int]]:
    return _table(5, 32 * (DEPTH + 1)), _table(15, 1024), _table(25, 1024)


def _table(b: int, size: int) -> list[int]:
    """Return e**(-i / 2**b) for i in range(size) in units of 2**-P, rounded down (off by less than 1 and 2**-20).

    With v = P + 40 bits a step's product is short by less than 1 + 2 units, 4 * size < 2**14 of 2**-v in all.
    """
    v = P + 40
    n, k = _integer.exp(-1 << v - b, v)
    step, power, entries = n >> -k, 1 << v, []
    for _ in range(size):
        entries.append(power >> 40)
        power = power * step >> v
    return entries
