"""A published number held against the one computed again from its log."""

__all__ = ["Check", "Examined", "judged"]

from collections.abc import Sequence
from math import isfinite, isnan
from typing import Any, NamedTuple

from refcalc import _rounding
from refcalc.evaluation.readers.log import Findings
from refcalc.evaluation.readers.records import Printed
from refcalc.tally import Tally

DECIMALS, DIGITS = 2, 4  # decimals, or significant digits, from which on a JSON number may have been rounded for people


class Check(NamedTuple):
    """One published number, and what became of it."""

    place: str  # where it was published
    quantity: str
    published: str | None  # as it was printed; None where nothing was published
    recomputed: float | int
    agrees: bool
    verdict: str
    diagnosis: str | None = None  # of a number that does not agree, in sentences
    mistakes: tuple[tuple[str, ...], ...] = ()  # the candidates of the diagnosis, best first


class Examined(NamedTuple):
    """What came of the reading of logs."""

    checks: tuple[Check, ...]
    agreeing: int  # claims about single documents that agree, and are not among the checks
    found: Findings
    warnings: tuple[str, ...]
    tally: Tally | None


def judged(
    place: str, quantity: str, published: Any, recomputed: Sequence[float | int], *, error: float = 0.0, why: str = "",
    exact: bool = False,
) -> Check:  # fmt: skip
    """Return the verdict on a published number.

    published: a JSON number (Printed where its digits are known) or, of a number typed by hand, text.
    recomputed: the number computed again, and what other orders of summation give; one of them must be met.
    error: how far off rounding can bring it, and why in words.  exact: whether it was printed with all of its digits.

    A number is met if it is what one of these is rounded to at its last printed digit.  A JSON number of less than two
    decimals and of fewer than four digits is taken to be exact: programs write 2.5 for 2.5.
    """
    text, value = printed(published), float(published)
    best = recomputed[0]
    slack = half_unit(text) if not exact and (isinstance(published, str) or _for_people(text)) else 0.0
    for each in recomputed:
        if value == each or abs(value - each) <= slack:
            return Check(place, quantity, text, each, True, "all printed digits agree")
    if isfinite(value) and isfinite(best) and abs(value - best) <= error + slack:
        return Check(place, quantity, text, best, True, f"agrees within {why}")
    return Check(place, quantity, text, best, False, _off(value, best))


def printed(published: Any) -> str:
    """Return a number as it was printed."""
    return published.text if isinstance(published, Printed) else str(published).strip()


def half_unit(text: str) -> float:
    """Return half a unit of the last digit of a number; 0 for one that is not finite."""
    mantissa, _, exponent = text.lower().partition("e")
    if not any(c.isdigit() for c in mantissa):
        return 0.0
    digits = len(mantissa.partition(".")[2])
    return float(f"0.5e{max(-400, min(int(exponent or 0), 400)) - digits}") * (1.0 + 2.0**-40)


# --- private ---------------------------------------------------------------------------------------------------------


def _for_people(text: str) -> bool:
    """Return whether a number has so many digits that it may have been rounded to them."""
    mantissa, exponent, _ = text.lower().partition("e")
    digits = "".join(c for c in mantissa if c.isdigit()).lstrip("0")
    significant = len(digits if "." in mantissa else digits.rstrip("0"))
    return significant >= DIGITS or (not exponent and len(mantissa.partition(".")[2]) >= DECIMALS)


def _off(value: float, best: float) -> str:
    """Return how far off a number is, in words."""
    if isinstance(best, int):
        return f"off by {value - best:+g}"
    if isnan(value) or not isfinite(best) or not isfinite(value):
        return "off"
    ulp, gap, relative, _ = _rounding.sizes(value, best, "float64", _rounding.Limit("", steps=1.0))
    return f"off by {ulp:.0f} ulp" if ulp < 1e4 else f"off by {gap:.3g}, {100 * relative:.3g} %"
