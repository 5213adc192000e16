"""exp and log on whole numbers, at any number of bits, with a proved error.

    w   the working precision: a real number is written as an integer in units of 2**-w
    L   ln 2 in such units

Nothing here touches a float but the first guess of `log`, whose quality is checked and not trusted.
"""

__all__ = ["exp", "ln2", "ln10", "log", "log1p"]

import math
from functools import lru_cache


def exp(y: int, w: int) -> tuple[int, int]:
    """Return (n, k) with e**(y / 2**w) = n * 2**(k - w), n within 2 units of the truth and about 2**w to 2**(w + 1).

    >>> exp(-(1 << 40), 40)                     # e**-1 = 0.36787944117144 = 1617950892751 * 2**(-2 - 40)
    (1617950892750, -2)
    """
    # With g guard bits and v = w + g, take k whole factors of 2 out: y = k ln 2 + r, 0 <= r < ln 2.  Then halve r
    # j times, sum the Taylor series, and square j times.  The halved argument is the same integer in units of
    # 2**-(v + j), so halving loses nothing.
    #
    #   Ledger, relative, in units of 2**-v:
    #     L is off by less than 2, and is taken k times                             2 |k|
    #     a term's floors lose less than 1.5 units of 2**-(v + j); i terms           1.5 i 2**-j
    #     the series stops at a term below one unit                                  2 2**-j
    #     a squaring doubles the relative error and its floor adds one unit of
    #     2**-(v + j): after j of them  2**j (1.5 i + 2 + 1) 2**-(v + j)             1.5 i + 3
    #   in all, on a value below 2,                                                  4 |k| + 3 i + 6  units of 2**-v,
    #   which g makes less than half a unit of 2**-w; the last shift's floor adds less than one.
    size = max(0, y.bit_length() - w)  # |y / 2**w| < 2**size, so |k| < 2**(size + 1)
    if w <= 128 and size < 16:
        return _short_exp(y, w)
    g = size + w.bit_length() + 6
    v = w + g
    k, r = divmod(y << g, ln2(v))
    j = math.isqrt(w) * 3 // 4
    unit = v + j
    total = term = 1 << unit
    i = 0
    while term:
        i += 1
        term = (term * r >> unit) // i
        total += term
    for _ in range(j):
        total = total * total >> unit
    return total >> (j + g), k


def log(n: int, b: int, w: int) -> int:
    """Return log(n / 2**b) for n > 0 in units of 2**-w, within 2 units of the truth.

    >>> log(3, 0, 60) / 2**60, log(3, 1, 60) / 2**60
    (1.0986122886681098, 0.4054651081081644)
    """
    # Newton's step, on any guess y: log x = y + log1p(u) with u = x e**-y - 1, and for |u| < 2**-(v/4)
    #
    #     log1p(u) = u - u**2/2 + u**3/3 - ...,   |what is left out| < u**4/3 < 2**-v / 2.
    #
    # The step is repeated until u is that small, so a poor libm costs time and no bit.
    #
    #   Ledger in units of 2**-v:  n cut to v + 8 bits 2**-7; exp within 2 of 2**v, times x e**-y < 1 + 2**-9:  2.1;
    #   the shift to units of 2**-v 1; floors of u**2 and u**3 2; the series 1/2.  In all < 6, which is below one unit
    #   of 2**-w, and the last shift's floor adds less than one.
    v = w + 3
    cut = n.bit_length() - v - 8
    if cut > 0:
        n, b = n >> cut, b - cut
    if v <= 180:
        y = int((math.log(n) - b * 0.6931471805599453) * (1 << 60)) << v >> 60
    else:
        part = v // 4 + 8
        y = log(n, b, part) << (v - part)
    while True:
        e, k = exp(-y, v)
        u = _shifted(n * e, k - b) - (1 << v)
        square = u * u >> v
        y += u - (square >> 1) + (square * u >> v) // 3
        if abs(u).bit_length() < v - v // 4:
            return y >> 3


def log1p(t: int, q: int) -> tuple[int, int]:
    """Return (lo, hi) with lo < log(1 + t / 2**q) < hi, all in units of 2**-q, for t > 0.

    A small t keeps its own relative precision: hi - lo is a few units whatever the size of t.

    >>> log1p(1 << 100, 200)[0] >> 90, log1p(1 << 200, 200)[1] / 2**200    # log1p(2**-100), log 2
    (1023, 0.6931471805599453)
    """
    if t.bit_length() > q - 16:
        y = log((1 << q) + t, q, q)
        return y - 2, y + 2
    # The alternating series t - t**2/2 + t**3/3 ...: the power after i steps is short of the truth by less than 2 (its
    # floor adds 1, and the error before is multiplied by t < 2**-16), so a term is off by less than 2/i + 1 <= 2.  The
    # terms decrease, so what is left out is less than the first term left out, which is below 1.
    y, power, i = t, t, 1
    while power:
        i += 1
        power = power * t >> q
        y += power // i if i & 1 else -(power // i)
    return y - 2 * i, y + 2 * i


def ln2(w: int) -> int:
    """Return ln 2 in units of 2**-w, within 2 units of the truth."""
    v = -(-w // 256) * 256  # computed at few precisions only
    return _ln2(v) >> (v - w)


@lru_cache(maxsize=64)
def ln10(w: int) -> int:
    """Return ln 10 in units of 2**-w, within 2 units of the truth."""
    return log(10, 0, w)


_V = 160  # the precision of the short way


def _short_exp(y: int, w: int) -> tuple[int, int]:
    """Return what exp returns, for w <= 128 and |y / 2**w| < 2**16, in a third of the time."""
    # y = (k ln 2 + i / 1024 + z), z < 2**-10: e**y = 2**k * table[i] * e**z, the series by Horner's rule.
    #
    #   Ledger in units of 2**-160, on a value below 2: L 2 * 2 |k| < 2**19; Horner's floors, factors 1/i! and the
    #   series' rest z**13/13! < 2**-162 together 4; the table 2; the product's floor 1.  In all less than 2**20, which
    #   is 2**-12 of a unit of 2**-128; the last shift's floor adds less than one unit of 2**-w.
    ln2_, table, factors = _short_tables()
    k, r = divmod(y << (_V - w), ln2_)
    z = r & ((1 << _V - 10) - 1)
    s = 0
    for factor in factors:
        s = (s * z >> _V) + factor
    return s * table[r >> _V - 10] >> (2 * _V - w), k


@lru_cache(maxsize=1)
def _short_tables() -> tuple[int, list[int], list[int]]:
    """Return ln 2, e**(i / 1024) for i in range(710) and 1/12!, 1/11!, ..., 1/0!, in units of 2**-160."""
    v = _V + 32
    step, _ = exp(1 << v - 10, v)
    power, table = 1 << v, []
    for _ in range(710):
        table.append(power >> 32)
        power = power * step >> v
    return ln2(_V), table, [(1 << _V) // math.factorial(i) for i in range(12, -1, -1)]


@lru_cache(maxsize=64)
def _ln2(w: int) -> int:
    # ln 2 = 18 artanh(1/26) - 2 artanh(1/4801) + 8 artanh(1/8749): 26 = 2*13, and so on, so that
    # (27/25)**9 * (4800/4802) * (8750/8748)**4 = 2.  Each artanh has fewer than w terms that are off by less than 2.
    guard = w.bit_length() + 8
    v = w + guard
    return (18 * _artanh(26, v) - 2 * _artanh(4801, v) + 8 * _artanh(8749, v)) >> guard


def _artanh(n: int, w: int) -> int:
    """Return artanh(1/n) = 1/n + 1/(3 n**3) + 1/(5 n**5) + ... in units of 2**-w, each term off by less than 2."""
    power = total = (1 << w) // n
    i = 1
    while power:
        power //= n * n
        i += 2
        total += power // i
    return total


def _shifted(n: int, k: int) -> int:
    return n << k if k >= 0 else n >> -k
