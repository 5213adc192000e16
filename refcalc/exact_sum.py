"""Sums of doubles that never round until they are read.

Every double is a whole number of units of 2**-1074, the least of them, so a sum of doubles is one Python int: no order,
grouping or sharding of the additions shows in a bit of it, and nothing overflows on the way.
"""

__all__ = ["ExactSum"]

from collections.abc import Iterable
from math import fsum, inf, isinf, isnan
from typing import Any

from refcalc import _check

UNIT_BITS = 1074  # 2**-1074 is the least positive double


class ExactSum:
    """A sum of numbers that is exact whatever their order, size and number.

    ExactSum(values) sums finite or infinite floats, ints and other sums.  `a + b` merges two sums or adds a number;
    `float(a)` is the true sum rounded once; `a / n` is the true quotient by a whole number or another sum, rounded
    once.  Sums are immutable, equal when their values are equal, hashable, and pickle.

    >>> float(ExactSum([1e16, 1.0, -1e16])), 1e16 + 1.0 - 1e16
    (1.0, 0.0)
    >>> ExactSum([0.1] * 10) / 10
    0.1
    >>> float(ExactSum([1e308, 1e308, -1e308, -1e308]))
    0.0
    >>> ExactSum([1.5]).to_hex()
    '0x3p-1'

    Raises ValueError for nan, a Decimal or Fraction that is not exactly a double, an int beyond the doubles, or inf and
    -inf in one sum; TypeError for what is no number; ArithmeticError where the process flushes subnormals to zero.

    Accuracy: the sum is exact; float() and / are correctly rounded, beyond the doubles to inf.
    """

    __slots__ = ("_infinite", "_units")

    _units: int  # the sum in units of 2**-1074, if it is finite, else 0
    _infinite: float  # inf or -inf if one was added, else 0.0

    def __init__(self, values: "Iterable[float | ExactSum]" = ()) -> None:
        _check.no_flush("ExactSum")
        if not isinstance(values, Iterable):
            _check.refuse("ExactSum", "values", "be iterable", values, TypeError)
        self._units, self._infinite = _total(list(values))

    def __add__(self, other: "ExactSum | float") -> "ExactSum":
        if not isinstance(other, ExactSum):
            other = ExactSum((other,))
        if self._infinite + other._infinite != self._infinite + other._infinite:  # inf - inf is nan
            raise ValueError("ExactSum: values must not hold both inf and -inf, got both")
        return _sum_of(self._units + other._units, self._infinite + other._infinite)

    __radd__ = __add__  # the order never shows; the builtin sum(...) of ExactSums starts at 0

    def __float__(self) -> float:
        return self / 1

    def __truediv__(self, divisor: "ExactSum | int") -> float:
        if isinstance(divisor, ExactSum):
            denominator = divisor._units  # 0 if it is infinite
        else:
            denominator = _check.whole("ExactSum", "divisor", divisor) << UNIT_BITS
        if not denominator:
            _check.refuse("ExactSum", "divisor", "be finite and not 0", divisor)
        if self._infinite:
            return self._infinite if denominator > 0 else -self._infinite
        _check.no_flush("ExactSum")
        try:
            return self._units / denominator  # int / int rounds once, to nearest
        except OverflowError:
            return inf if (self._units > 0) == (denominator > 0) else -inf

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactSum):
            return NotImplemented
        return (self._units, self._infinite) == (other._units, other._infinite)

    def __hash__(self) -> int:
        return hash((self._units, self._infinite))

    def __repr__(self) -> str:
        return f"ExactSum.from_hex({self.to_hex()!r})"

    def to_hex(self) -> str:
        """Return the exact sum as a hexadecimal float with as many digits as it takes, or "inf" or "-inf".

        It is canonical: equal sums give equal texts.  Any reader of hexadecimal floats (`float.fromhex`, C's strtod)
        reads it as the correctly rounded sum.

        >>> ExactSum([0.1] * 3).to_hex(), float.fromhex(ExactSum([0.1] * 3).to_hex())
        ('0x26666666666667p-55', 0.30000000000000004)
        """
        if self._infinite:
            return repr(self._infinite)
        if not self._units:
            return "0x0p+0"
        zeros = (self._units & -self._units).bit_length() - 1
        return f"{self._units >> zeros:#x}p{zeros - UNIT_BITS:+d}"

    @classmethod
    def from_hex(cls, text: str) -> "ExactSum":
        """Return the sum that to_hex wrote, to the last bit.

        >>> ExactSum.from_hex("0x3p-1") == ExactSum([1.5])
        True
        >>> ExactSum.from_hex("0.75")
        Traceback (most recent call last):
        ValueError: ExactSum.from_hex: text must be what to_hex writes, got '0.75'

        Raises ValueError for any other text; TypeError if it is no text.
        """
        if not isinstance(text, str):
            _check.refuse("ExactSum.from_hex", "text", "be a str", text, TypeError)
        result = _read_hex(text)
        if result is None or result.to_hex() != text:
            _check.refuse("ExactSum.from_hex", "text", "be what to_hex writes", text)
        return result


def _sum_of(units_: int, infinite: float) -> ExactSum:
    result = ExactSum()
    result._units, result._infinite = 0 if infinite else units_, infinite
    return result


def _total(values: list[Any]) -> tuple[int, float]:
    """Return the exact sum of the finite values in units of 2**-1074, and the infinite ones' sum.

    fsum rounds once, so what it returned can be taken off and the rest summed again, until nothing is left: usually
    after two or three passes.  Where it is not usable (an inf, an overflow, an int beyond 2**53) or slow to end, the
    values are added one by one.
    """
    if set(map(type, values)) <= {float}:
        try:
            total, rest = 0, values[:]
            for _ in range(3):
                part = fsum(rest)
                if part == 0.0:
                    return total, 0.0
                total += _units(part)
                rest.append(-part)
        except (OverflowError, ValueError):
            pass
    total, infinite = 0, 0.0
    for i, value in enumerate(values):
        if isinstance(value, ExactSum):
            total, infinite = total + value._units, infinite + value._infinite
            continue
        x = _check.not_nan("ExactSum", f"values[{i}]", value)
        if isinf(x):
            infinite += x
        elif type(value) is int:
            total += _units(value)
        else:
            total += _units(_check.double("ExactSum", f"values[{i}]", value))
    if isnan(infinite):
        raise ValueError("ExactSum: values must not hold both inf and -inf, got both")
    return 0 if infinite else total, infinite


def _units(x: float) -> int:
    """Return a finite number in units of 2**-1074, exactly."""
    numerator, denominator = x.as_integer_ratio()  # the denominator is a power of two
    return numerator << UNIT_BITS + 1 - denominator.bit_length()


def _read_hex(text: str) -> ExactSum | None:
    """Return the sum of a text of the form of to_hex, or None.  Lengths are bounded, so that no text costs memory."""
    if text in ("inf", "-inf"):
        return ExactSum((float(text),))
    digits, _, exponent = text.partition("p")
    if len(text) > 4096 or len(exponent) > 6:
        return None
    try:
        shift = int(exponent) + UNIT_BITS
        return _sum_of(int(digits, 16) << shift, 0.0) if shift >= 0 else None
    except ValueError:
        return None
