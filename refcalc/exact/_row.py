"""One row of logits and what is known about it: every class relative to the largest.

    m     the largest logit                                    k   its place (the first of several)
    tail  sum over j != k of e**(x[j] - m), so that

        log sum e**x  =  m + log1p(tail),        nll of class y  =  (m - x[y]) + log1p(tail).

The rational part m - x[y] is exact, log1p(tail) >= 0 is enclosed, and in the nll nothing cancels.  A row whose finite
logits are all equal is tied: log1p(tail) is log of their number, `ties`.  In every other row log1p(tail) is
transcendental, and so is e**log1p(tail) = 1 + tail (Lindemann and Weierstrass; see `value` for sums of them).
"""

__all__ = ["Row"]

import struct
from collections import Counter
from collections.abc import Callable
from math import inf

from refcalc.exact import _integer, _kernel
from refcalc.exact._kernel import P
from refcalc.exact._rounding import Enclosure, working_bits

_SAMPLE = 1024  # logits looked at to see whether many are equal, as in rows of a 16-bit format


class Row:
    """A row of doubles, finite or -inf, at least one of them finite.  Equal rows are equal to the last bit."""

    __slots__ = ("_data", "_m", "_seen", "_xs", "ties")

    def __init__(self, xs: list[float]) -> None:
        """Take xs, which must not change until it was frozen."""
        self._xs: list[float] | None = xs
        self._data = b""
        self._m = -inf  # not known yet
        self.ties = _ties(xs)  # the number of finite logits if all of them are equal, else 0
        self._seen: dict[tuple[str, int], Enclosure] = {}  # what was enclosed at a level

    @property
    def xs(self) -> list[float]:
        """The logits."""
        return self._xs if self._xs is not None else list(struct.unpack(f"<{len(self._data) // 8}d", self._data))

    @property
    def m(self) -> float:
        """The largest logit."""
        if self._m == -inf:
            self._m = max(self.xs)
        return self._m

    @property
    def k(self) -> int:
        """Its place, the first of several."""
        return self.xs.index(self.m)

    @property
    def data(self) -> bytes:
        """The logits as little-endian doubles, 8 bytes a class."""
        return self._data or struct.pack(f"<{len(self.xs)}d", *self.xs)

    def freeze(self) -> "Row":
        """Return the row made fit to be kept: enclosed once, its logits copied to `data`, the list forgotten."""
        if not self.ties:
            self.log1p_tail(0)
        self._data, self._xs = self.data, None
        return self

    def tail(self, level: int) -> Enclosure:
        """Return an enclosure of the tail, for a row that is not tied."""
        return self._once("tail", level, self._tail)

    def log1p_tail(self, level: int) -> Enclosure:
        """Return an enclosure of log1p(tail), for a row that is not tied."""
        return self._once("log1p_tail", level, self._log1p_tail)

    def share(self, level: int) -> Enclosure:
        """Return an enclosure of 1 / (1 + tail), the probability of the largest logit."""
        return self._once("share", level, self._share)

    def rest_share(self, level: int) -> Enclosure:
        """Return an enclosure of tail / (1 + tail), the probability of all other classes, with relative precision."""
        lo, hi, d = self.tail(level)
        return lo * (d + hi), hi * (d + lo), (d + lo) * (d + hi)

    def power(self, x: float, level: int) -> Enclosure:
        """Return an enclosure of e**(x - m), relative precision kept however small it is; exact where it is 0 or 1."""
        bits = working_bits(level)
        if x in (-inf, self.m):
            return (0, 0, 1) if x == -inf else (1, 1, 1)
        n, k = _kernel.power(x, self.m, bits)
        return (n - 4, n + 4, 1 << bits - k) if n else (0, 1, 1 << -k)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)

    def __reduce__(self) -> tuple[Callable[[bytes], "Row"], tuple[bytes]]:
        return _read, (self.data,)

    def _once(self, name: str, level: int, enclose: Callable[[int], Enclosure]) -> Enclosure:
        found = self._seen.get((name, level))
        if found is None:
            found = self._seen[name, level] = enclose(level)
        return found

    def _tail(self, level: int) -> Enclosure:
        # From level 3 on, other classes at m are counted apart: their part of the tail is exact.  With nothing but dust
        # beside them a probability is below 1/N, a half-way point perhaps, by as little as it is.
        equal = self.xs.count(self.m) - 1 if level >= 3 else 0
        deepest = 1200 if level < 3 else 4 * working_bits(level)
        bits = P + 24 if level < 3 else working_bits(level) + 24
        num, b, lo, hi, p = self._mass(level)
        if self.m - num / (1 << b) > 0.7 * (deepest + 64):
            # Every class is below 2**-(deepest + 63): 0.7 > ln 2; fewer than 2**63 classes.
            return equal << deepest, (equal << deepest) + 1, 1 << deepest
        a, q = self.m.as_integer_ratio()
        # e**(num / 2**b - m), short by less than one unit of 2**-bits in the exponent, that is by less than 2 of n's
        d = (num * q - (a << b) << bits) // (q << b)
        n, k = _integer.exp(d, bits)
        unit = 1 << bits + p - k
        return (n - 2) * lo + equal * unit, (n + 4) * hi + equal * unit, unit

    def _share(self, level: int) -> Enclosure:
        lo, hi, d = self.tail(level)
        if level >= 3:
            return d * (d + lo), d * (d + hi), (d + lo) * (d + hi)  # exact ends
        w = working_bits(level)
        return (d << w) // (d + hi) - 1, -((-d << w) // (d + lo)), 1 << w

    def _mass(self, level: int) -> tuple[int, int, int, int, int]:
        """Return (n, b, lo, hi, p): the tail times e**m, as in _kernel; from level 3 on without the classes at m."""
        if level < 2 and not _few_distinct(self.xs) and (quick := _kernel.quick(self.xs, level)):
            self._m, mass = quick
            return *mass, P
        found = Counter(self.xs)
        found[self.m] = 0 if level >= 3 else found[self.m] - 1
        found = +found
        xs, counts = list(found), list(found.values())
        if level < 3 and (tabled := _kernel.tabled(xs, counts)):
            return *tabled, P
        bits = working_bits(level) + len(self.xs).bit_length() + 8
        x, lo, hi = _kernel.long(xs, counts, bits)
        a, q = x.as_integer_ratio()
        return a, q.bit_length() - 1, lo, hi, bits

    def _log1p_tail(self, level: int) -> Enclosure:
        lo, hi, d = self.tail(level)
        q = d.bit_length() - 1
        if not lo:
            return 0, hi, d  # 0 < log1p(t) < t
        excess = max(0, hi.bit_length() - (P + 32 if level < 3 else working_bits(level) + 32))
        lo, hi, q = lo >> excess, -(-hi >> excess), q - excess
        # log1p grows, and more slowly than by (hi - lo) / (1 + lo)
        bottom, top = _integer.log1p(lo, q)
        return bottom, top + ((hi - lo << q) // ((1 << q) + lo)) + 1, 1 << q


def _ties(xs: list[float]) -> int:
    """Return the number of finite logits if they are all equal, else 0."""
    first = -inf
    for x in xs:  # as a rule the second logit decides
        if x not in (first, -inf):
            if first > -inf:
                return 0
            first = x
    return xs.count(first)


def _few_distinct(xs: list[float]) -> bool:
    """Return whether a sample shows many equal logits in a long row."""
    sample = xs[:: len(xs) // _SAMPLE + 1]
    return len(xs) > _SAMPLE and len(set(sample)) < 0.9 * len(sample)


def _read(data: bytes) -> Row:
    return Row(list(struct.unpack(f"<{len(data) // 8}d", data)))
