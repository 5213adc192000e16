"""An amount of nats that has not been rounded yet.

    value  =  D  +  sum of c log n  +  sum of c log1p(tail)

with a rational D, whole numbers n (the size of a tie; numerator and denominator of a probability), rows of logits that
are not tied, and rational coefficients c, those of the rows positive.  Such values add and scale exactly.

What is rational about a value is known without computing it:  log1p(tail) is log S - m, S = sum of e**x over the row.
For coefficients c_r > 0 expand product of S_r**c_r, denominators cleared: a sum of powers of e with positive
coefficients, in which the largest and the smallest exponent survive.  They differ if one row is not tied.  By Lindemann
and Weierstrass such a sum is never algebraic times one power of e.  So with a row in it, neither the value, nor value /
log 2, nor e**value is rational.  Without a row:

    value          is rational only if the logarithms cancel (then it is D)
    value / log 2  is rational only if D = 0 and the logarithms are a multiple of log 2
    e**value       is rational only if D = 0 and the product of n**c is

which `independent` decides with whole numbers.  Negative coefficients of rows would undo this (two rows that differ by
a constant cancel, and no enclosure would ever show it): they are refused, and there is no subtraction.

Source: Baker, Transcendental Number Theory, theorem 1.4.
"""

__all__ = ["Nll"]

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import inf, lcm
from typing import Any

from refcalc import _check
from refcalc.exact import _integer
from refcalc.exact._independent import independent, rational_part
from refcalc.exact._rounding import Enclosure, affine, nearest, rounded, working_bits
from refcalc.exact._row import Row

ZERO, ONE = Fraction(0), Fraction(1)


class Nll:
    """An nll in nats that has not been rounded: `batch_nll` and the exact models return it.

    `float(nll)` is the nearest double; `a + b` merges; `nll / n` divides by a positive whole number, double or
    Fraction, exactly as it is; `perplexity(nll)`, `bits_per_byte(nll, n)` and the like round once, at their own end.
    Values are immutable, hashable and pickle; two are equal if they are made of the same terms (in any order).  A value
    holds the logits of its rows, 8 bytes a class: nothing shorter says how it rounds.

    >>> from refcalc.exact import batch_nll, perplexity
    >>> nll = batch_nll([[0.0, 0.0, 0.0]] * 17, [0] * 17) + batch_nll([[5.0, 5.0, 5.0]] * 17, [1] * 17)
    >>> perplexity(nll / 34)                               # the mean is log 3, no double
    3.0
    >>> perplexity(float(nll) / 34)
    2.9999999999999996
    """

    __slots__ = ("_infinite", "_logs", "_rational", "_rows")

    def __init__(
        self,
        rational: Fraction = ZERO,
        logs: Mapping[int, Fraction] | None = None,
        rows: Iterable[tuple[Row, Fraction]] = (),
        infinite: bool = False,
    ) -> None:
        self._rational = rational
        self._logs = dict(logs or {})
        self._rows = tuple(rows)
        self._infinite = infinite

    @classmethod
    def of_probability(cls, p: Fraction) -> "Nll":
        """Return -log p, inf for 0."""
        return cls(logs={p.denominator: ONE, p.numerator: -ONE}) if p else cls(infinite=True)

    @classmethod
    def total(cls, values: Iterable["Nll"]) -> "Nll":
        """Return the sum of many values, in less time than one by one."""
        values = list(values)
        logs: dict[int, Fraction] = {}
        for value in values:
            for n, c in value._logs.items():
                logs[n] = logs.get(n, ZERO) + c
        return cls(
            sum((value._rational for value in values), ZERO),
            logs,
            [term for value in values for term in value._rows],
            any(value._infinite for value in values),
        )

    def __add__(self, other: "Nll") -> "Nll":
        if not isinstance(other, Nll):
            return NotImplemented
        return Nll.total((self, other))

    def __radd__(self, other: object) -> "Nll":
        """Let the builtin sum(...) of values start at its 0."""
        return self if other == 0 and not isinstance(other, Nll) else NotImplemented

    def __truediv__(self, divisor: float | Fraction) -> "Nll":
        n = divisor if isinstance(divisor, (int, Fraction)) else _check.double("Nll", "divisor", divisor)
        if not 0 < n < inf:
            _check.refuse("Nll", "divisor", "be above 0 and finite", divisor)
        return self.scaled(1 / Fraction(n))

    def scaled(self, factor: Fraction) -> "Nll":
        """Return factor times the value, for a factor above 0."""
        logs = {b: c * factor for b, c in self._logs.items()}
        return Nll(self._rational * factor, logs, [(row, c * factor) for row, c in self._rows], self._infinite)

    def __float__(self) -> float:
        return self.nats("Nll")

    def __eq__(self, other: object) -> bool:
        return self._terms() == other._terms() if isinstance(other, Nll) else NotImplemented

    def __hash__(self) -> int:
        rational, logs, rows, infinite = self._terms()
        return hash((rational, frozenset(logs.items()), frozenset(rows.items()), infinite))

    def __repr__(self) -> str:
        return f"<Nll of about {float(self)!r} nats>"

    # --- rounding, in the name of a function ---

    def nats(self, function: str) -> float:
        """Return the value in nats."""
        if self._infinite:
            return inf
        logs = independent(self._logs)
        if not logs and not self._rows:
            return nearest(self._rational.numerator, self._rational.denominator)
        return rounded(function, lambda level: affine(self._rational, ONE, self._sum(logs, level)))

    def over_log(self, function: str, base: int) -> float:
        """Return the value divided by log base, for a base of 2 (bits) or 10."""
        if self._infinite:
            return inf
        logs = independent(self._logs)
        exact = _take_out(logs, base)
        if not logs and not self._rows and not self._rational:
            return nearest(exact.numerator, exact.denominator)

        def enclose(level: int) -> Enclosure:
            lo, hi, d = affine(self._rational, ONE, self._sum(logs, level))
            w = working_bits(level) + 16
            log_base = _integer.log(base, 0, w)
            up, down = log_base + 2, log_base - 2
            quotient = (lo << w) * (down if lo >= 0 else up), (hi << w) * (up if hi >= 0 else down), d * up * down
            return affine(exact, ONE, quotient)

        return rounded(function, enclose)

    def exp(self, function: str) -> float:
        """Return e**value, inf beyond the doubles."""
        if self._infinite:
            return inf
        base = independent(self._logs)
        lo, _, d = affine(self._rational, ONE, self._sum(base, 2))
        if lo > 710 * d:
            return inf
        product, logs = rational_part(base)
        if not logs and not self._rows and not self._rational:
            return nearest(product.numerator, product.denominator)

        def enclose(level: int) -> Enclosure:
            return affine(ZERO, product, _exp(affine(self._rational, ONE, self._sum(logs, level)), level))

        return rounded(function, enclose)

    def _sum(self, logs: Mapping[int, Fraction], level: int) -> Enclosure:
        """Return an enclosure of the logarithms' and rows' part."""
        w = working_bits(level)
        terms: list[tuple[Fraction, Enclosure]] = [(c, row.log1p_tail(level)) for row, c in self._rows]
        for n, c in logs.items():
            y = _integer.log(n, 0, w)
            terms.append((c, (y - 2, y + 2, 1 << w)))
        d = max((d for _, (_, _, d) in terms), default=1)  # powers of two
        common = lcm(*(c.denominator for c, _ in terms))
        low = high = 0
        for c, (lo, hi, unit) in terms:
            factor = c.numerator * (common // c.denominator) * (d // unit)
            low += factor * (lo if factor > 0 else hi)
            high += factor * (hi if factor > 0 else lo)
        return low, high, d * common

    def _terms(self) -> tuple[Any, dict[int, Fraction], dict[Row, Fraction], bool]:
        rows: dict[Row, Fraction] = Counter()  # type: ignore[assignment]
        for row, c in self._rows:
            rows[row] += c
        return self._rational, {n: c for n, c in self._logs.items() if c}, dict(rows), self._infinite


def _exp(enclosure: Enclosure, level: int) -> Enclosure:
    """Return an enclosure of e**y; from y > 0 its lower end is at least 1, exactly."""
    lo, hi, d = enclosure
    w = working_bits(level) + 16
    n, k = _integer.exp((lo << w) // d, w)
    p, q = _integer.exp(-(-hi << w) // d, w)
    shift = max(0, -k, -q)
    bottom, top, unit = n - 2 << k + shift, p + 2 << q + shift, 1 << w + shift
    return max(bottom, unit) if lo >= 0 else bottom, top, unit


def _take_out(logs: dict[int, Fraction], base: int) -> Fraction:
    """Take the multiple of log base, 2 or 10, out of a sum over coprime numbers, and return it.

    10 = 2 * 5, so log 10 shows only where 5 stands by itself; 2 always does.
    """
    if base == 2:
        return logs.pop(2, ZERO)
    if logs.keys() == {2, 5} and logs[2] == logs[5]:
        del logs[5]
        return logs.pop(2)
    return ZERO
