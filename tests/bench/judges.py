"""The true values behind a row of logits, to far more digits than a double holds.

A truth is a pair (hi, rest): hi is the double nearest to the true value, rest is what it lacks in units of ulp(hi), so
that an error is measured in fractions of an ulp.  Two judges share no line:

    exact   refcalc.exact, which needs nothing installed
    mpfr    MPFR at 200 bits by gmpy2, from the peers group
"""

__all__ = ["JUDGES", "Judge", "Truth", "ulps"]

from collections import Counter
from fractions import Fraction
from importlib import import_module
from math import frexp, inf, ulp
from typing import Any, Protocol

from refcalc.exact import _integer
from refcalc.exact._rounding import Enclosure
from refcalc.exact._row import Row
from refcalc.exact.softmax import drops, probability, weighted_tail

Truth = tuple[float, float]


def ulps(got: float, truth: Truth, scale: float = 0.0) -> float:
    """Return |got - truth| in units in the last place of the truth, or of `scale`.

    >>> ulps(1.0, (1.0, 0.25)), ulps(1.0, (1.0, -0.25))      # below 1.0 an ulp is half as long
    (0.25, 0.5)
    >>> ulps(1.0, (1.0, 0.25), scale=4.0)
    0.0625
    >>> ulps(inf, (inf, 0.0)), ulps(0.0, (inf, 0.0))
    (0.0, inf)
    """
    hi, rest = truth
    if abs(hi) == inf:
        return 0.0 if got == hi else inf
    error = abs((got - hi) / ulp(hi) - rest)
    if scale:
        return error * (ulp(hi) / ulp(scale))
    halved = rest * hi < 0.0 and frexp(hi)[0] in (0.5, -0.5) and ulp(hi) > ulp(0.0)
    return error * 2.0 if halved else error


class Judge(Protocol):
    """What is true of one row."""

    def __init__(self, row: list[float]) -> None: ...
    def nll(self, y: int) -> Truth: ...
    def probability(self, y: int) -> Truth: ...
    def logsumexp(self) -> Truth: ...
    def entropy(self) -> Truth: ...


class Exact:
    """The enclosures of refcalc.exact before it rounds; LEVEL trusts no libm, and their middle is right to 2**-70.

    Its results themselves are doubles, and would leave half an ulp open.
    """

    LEVEL = 2

    def __init__(self, row: list[float]) -> None:
        self.row = Row(row)
        self.m = Fraction(self.row.m)
        self.log_sum = middle(log_of_ties(self.row.ties) if self.row.ties else self.row.log1p_tail(self.LEVEL))

    def nll(self, y: int) -> Truth:
        x = self.row.xs[y]
        return pair(self.m - Fraction(x) + self.log_sum) if x > -inf else (inf, 0.0)

    def probability(self, y: int) -> Truth:
        x = self.row.xs[y]
        if self.row.ties:
            return pair(Fraction(x > -inf, self.row.ties))
        return pair(middle(probability(self.row, x, self.LEVEL)))

    def logsumexp(self) -> Truth:
        return pair(self.m + self.log_sum)

    def entropy(self) -> Truth:
        if self.row.ties:
            return pair(self.log_sum)
        spread = middle(weighted_tail(self.row, drops(self.row), self.LEVEL))
        return pair(self.log_sum + spread * middle(self.row.share(self.LEVEL)))


def log_of_ties(n: int) -> Enclosure:
    y = _integer.log(n, 0, 128) if n > 1 else 0
    return y, y, 1 << 128


def middle(enclosure: Enclosure) -> Fraction:
    lo, hi, d = enclosure
    return Fraction(lo + hi, 2 * d)


def pair(truth: Fraction) -> Truth:
    hi = float(truth)
    return hi, float((truth - Fraction(hi)) / Fraction(ulp(hi)))


class Mpfr:
    """The sums relative to the largest logit, in MPFR with 200 bits."""

    def __init__(self, row: list[float]) -> None:
        gmpy2 = import_module("gmpy2")
        gmpy2.get_context().precision = 200
        self.mpfr, self.exp = gmpy2.mpfr, gmpy2.exp
        self.row, self.m = row, gmpy2.mpfr(max(row))
        counts = Counter(row)
        counts[max(row)] -= 1
        terms = [(self.m - gmpy2.mpfr(z), n) for z, n in counts.items() if n and z > -inf]
        masses = [n * gmpy2.exp(-d) for d, n in terms]
        tail = gmpy2.fsum(masses)
        self.whole, self.log_sum = 1 + tail, gmpy2.log1p(tail)
        self.spread = gmpy2.fsum([mass * d for mass, (d, _) in zip(masses, terms, strict=True)])

    def nll(self, y: int) -> Truth:
        return self._pair((self.m - self.mpfr(self.row[y])) + self.log_sum)

    def probability(self, y: int) -> Truth:
        return self._pair(self.exp(self.mpfr(self.row[y]) - self.m) / self.whole)

    def logsumexp(self) -> Truth:
        return self._pair(self.m + self.log_sum)

    def entropy(self) -> Truth:
        return self._pair(self.log_sum + self.spread / self.whole)

    def _pair(self, value: Any) -> Truth:
        hi = float(value)
        return hi, float((value - self.mpfr(hi)) / self.mpfr(ulp(hi))) if abs(hi) < inf else 0.0


JUDGES: dict[str, type[Judge]] = {"exact": Exact, "mpfr": Mpfr}
