"""How far a double is from another double, or from a number known to many digits."""

import struct
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, DivisionByZero, InvalidOperation
from math import isnan, ulp


def ulps_apart(a: float, b: float) -> int:
    """Return the number of steps from a to b along the doubles (neither is nan).

    >>> ulps_apart(1.0, 1.0000000000000002), ulps_apart(0.0, -0.0), ulps_apart(5e-324, -5e-324)
    (1, 0, 2)
    """
    if isnan(a) or isnan(b):
        raise AssertionError(f"got {a!r} and {b!r}: nan has no place among the doubles")
    return abs(_place(a) - _place(b))


def assert_ulps(got: float, want: float, limit: int) -> None:
    """Fail with both bit patterns if got is more than limit doubles from want."""
    off = ulps_apart(got, want)
    if off > limit:
        raise AssertionError(f"got {got.hex()}, want {want.hex()}: {off} ulp apart, limit {limit}")


def ulps_off(got: float, truth: Decimal) -> float:
    """Return the distance of a finite double from the truth, in ulp of the truth.

    >>> ulps_off(2.0**60, Decimal(2**60 + 128))
    0.5
    """
    wide = wide_context(60)
    return float(wide.divide(wide.subtract(Decimal(got), truth).copy_abs(), Decimal(ulp(float(truth)))))


def wide_context(digits: int) -> Context:
    """Return a decimal context of that many digits; its exponents go very far, and beyond are 0 and infinity."""
    return Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[DivisionByZero, InvalidOperation])


def _place(x: float) -> int:
    """Return the place of x among the doubles, counted from zero."""
    bits = int.from_bytes(struct.pack(">d", abs(x)), "big")
    return bits if x >= 0.0 else -bits
