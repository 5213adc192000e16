"""Dust: what a row leaves to classes too far below its largest logit to be enclosed, and the sign of what it does.

    drop   m - x of a class, exactly

A number that is half-way between two doubles but for dust goes up or down with the dust, and no number of bits shows it
where the drops are large.  To first order its effect is a sum of c e**-drop with rational c: rationals tell its sign.
"""

__all__ = ["add_drops", "dust", "is_dust", "sign_of_dust"]

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import inf

from refcalc.exact import _integer
from refcalc.exact._rounding import Enclosure
from refcalc.exact._row import Row
from refcalc.exact.value import ZERO

# Other logits are dust where all are DUSTY below the largest.  What they make of a number is below 2**-DUST_BITS then:
# V classes, each with a coefficient below 2**1028, times e**-2500 < 2**-3606.
DUSTY, DUST_BITS = 2500, 2400


def is_dust(row: Row) -> bool:
    """Return whether all logits but the largest are dust."""
    m = row.m
    return all(z == m or z < m - DUSTY for z in row.xs)


def dust(sign: int) -> Enclosure:
    return min(sign, 0), max(sign, 0), 1 << DUST_BITS


def add_drops(sums: dict[Fraction, Fraction], row: Row, coefficients: Iterable[Fraction]) -> None:
    """Add to sums, by drop, the coefficients of the classes of a row that are not its largest."""
    for z, c in zip(row.xs, coefficients, strict=True):
        if -inf < z < row.m:
            drop = Fraction(row.m) - Fraction(z)
            sums[drop] = sums.get(drop, ZERO) + c


def sign_of_dust(sums: Mapping[Fraction, Fraction], slack: Fraction) -> int:
    """Return the sign of the sum of c e**-drop and a rest of at most slack e**(-2 least drop); 0 if it is not seen."""
    # The sum and the bound are compared after both were multiplied by e**first, first being the least drop whose
    # coefficient is not 0.
    least, first = min(sums), min((drop for drop, c in sums.items() if c), default=ZERO)
    if not DUSTY <= least <= first < 2 * least:
        return 0
    power, off = _power(2 * least - first)
    total, slack = ZERO, slack * (power + off)
    for drop, c in sums.items():
        if c:
            power, off = _power(drop - first)
            total, slack = total + c * power, slack + abs(c) * off
    return 0 if abs(total) <= slack else 1 if total > 0 else -1


def _power(drop: Fraction) -> tuple[Fraction, Fraction]:
    """Return e**-drop, for drop >= 0, and what that is off by at most."""
    if drop > 4096:
        return ZERO, Fraction(1, 1 << 4096)
    w = 256
    n, k = _integer.exp(-(drop.numerator << w) // drop.denominator, w)  # off by 2 units, and by less than 2 of drop's
    return Fraction(n, 1 << w - k), Fraction(4, 1 << w - k)
