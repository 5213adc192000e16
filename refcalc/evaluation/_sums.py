"""What a report does with exact sums beyond adding them."""

__all__ = ["minus", "of_powers", "times"]

from collections.abc import Mapping

from refcalc.exact_sum import ExactSum


def minus(total: ExactSum, part: ExactSum) -> ExactSum:
    """Return total - part; part is finite.

    >>> minus(ExactSum([1e16, 1.0]), ExactSum([1e16]))
    ExactSum.from_hex('0x1p+0')
    """
    text = part.to_hex()
    if part == ExactSum():
        return total
    return total + ExactSum.from_hex(text[1:] if text.startswith("-") else f"-{text}")


def times(value: float, n: int) -> ExactSum:
    """Return n times a double, n >= 0.

    >>> times(0.1, 10) == ExactSum([0.1] * 10)
    True
    """
    total, doubled = ExactSum(), ExactSum((value,))
    while n:
        if n % 2:
            total += doubled
        doubled, n = doubled + doubled, n // 2
    return total


def of_powers(powers: Mapping[int, int]) -> ExactSum:
    """Return the sum of whole numbers times powers of two, by the exponent of the power.

    >>> float(of_powers({-1: 3, 2: 1}))
    5.5
    """
    least = min(powers, default=0)
    total = sum(whole << (power - least) for power, whole in powers.items())
    zeros = (total & -total).bit_length() - 1
    return ExactSum.from_hex(f"{total >> zeros:#x}p{least + zeros:+d}") if total else ExactSum()
