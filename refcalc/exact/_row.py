"""One row of logits and what is known about it: every class relative to the largest.

    m     the largest logit                                    k   its place (the first of several)
    tail  sum over j != k of e**(x[j] - m), so that  log sum e**x = m + log1p(tail)  and  nll(y) = (m - x[y]) + log1p(tail)

The rational part m - x[y] is exact, log1p(tail) > 0 is enclosed, and nothing cancels.  By the theorem of Lindemann and
Weierstrass log1p(tail) is transcendental, unless the row has a single finite logit (it is 0), and e**log1p(tail) e**a is
transcendental for every rational a, unless all finite logits are tied (then it is their number, `ties`, times e**a).

Source: Baker, Transcendental Number Theory, theorem 1.4.
"""

__all__ = ["Row"]

import struct
from collections import Counter
from math import inf

from refcalc.exact import _integer, _kernel
from refcalc.exact._kernel import P
from refcalc.exact._rounding import Enclosure, working_bits

_SAMPLE = 1024  # logits looked at to see whether many are equal, as in rows of a 16-bit format


class Row:
    """A row of doubles, finite or -inf, at least one of them finite.  Equal rows are equal to the last bit."""

    __slots__ = ("_data", "_seen", "k", "m", "ties", "xs")

    def __init__(self, xs: list[float]) -> None:
        """Take xs, which must not change afterwards."""
        self.xs = xs
        self.m = max(xs)
        self.k = xs.index(self.m)
        self.ties = self._ties()  # the number of finite logits if they are all equal, else 0
        self._data = b""
        self._seen: dict[object, tuple[int, int, int]] = {}

    def tail(self, level: int) -> Enclosure:
        """Return an enclosure of the tail, for a row that is not tied."""
        deepest = 1200 if level < 3 else 4 * working_bits(level)
        bits = P + 24 if level < 3 else working_bits(level) + 24
        num, b, lo, hi, p = self._mass(level)
        if self.m - num / (1 << b) > 0.7 * (deepest + 64):
            return 0, 1, 1 << deepest  # every class is below 2**-(deepest + 63): 0.7 > ln 2; fewer than 2**63 classes
        a, q = self.m.as_integer_ratio()
        # e**(num / 2**b - m), short by less than one unit of 2**-bits in the exponent, that is by less than 2 of n's
        d = (num * q - (a << b) << bits) // (q << b)
        n, k = _integer.exp(d, bits)
        return (n - 2) * lo, (n + 4) * hi, 1 << bits + p - k

    def log1p_tail(self, level: int) -> Enclosure:
        """Return an enclosure of log1p(tail), for a row that is not tied."""
        found = self._seen.get(level)
        if found is None:
            found = self._seen[level] = self._log1p_tail(level)
        return found

    def power(self, x: float, level: int) -> Enclosure:
        """Return an enclosure of e**(x - m), relative precision kept however small it is; exact where it is 0 or 1."""
        bits = working_bits(level)
        if x == -inf or x == self.m:
            return (int(x == self.m),) * 2 + (1,)
        n, k = _kernel.power(x, self.m, bits)
        return max(n - 4, 0), n + 4, 1 << bits - k

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return _read, (self.data,)

    @property
    def data(self) -> bytes:
        """The logits as little-endian doubles, 8 bytes a class, -0.0 as 0.0."""
        if not self._data:
            self._data = struct.pack(f"<{len(self.xs)}d", *[x + 0.0 for x in self.xs])
        return self._data

    def _ties(self) -> int:
        m = self.m
        for x in self.xs:  # as a rule the first or the second logit decides
            if x not in (m, -inf):
                return 0
        return self.xs.count(m)

    def _rest(self) -> list[float]:
        return self.xs[: self.k] + self.xs[self.k + 1 :]

    def _mass(self, level: int) -> tuple[int, int, int, int, int]:
        """Return (n, b, lo, hi, p): the tail times e**m, as in _kernel."""
        rest = self._rest()
        counts = None
        sample = rest[:: len(rest) // _SAMPLE + 1]
        if level < 3:
            if len(rest) > _SAMPLE and len(set(sample)) < 0.9 * len(sample):
                found = Counter(rest)
                rest, counts = list(found), list(found.values())
            elif level < 2 and (quick := _kernel.quick(rest, level)):
                return *quick, P
        if level < 3 and (tabled := _kernel.tabled(rest, counts)):
            return *tabled, P
        found = Counter(rest)
        bits = max(128, working_bits(level)) + len(rest).bit_length() + 8
        x, lo, hi = _kernel.long(found, found.values(), bits)
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


def _read(data: bytes) -> Row:
    return Row(list(struct.unpack(f"<{len(data) // 8}d", data)))
