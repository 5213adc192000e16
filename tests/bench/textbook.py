"""The plain formula that refcalc is held against, as careful code has it."""

__all__ = ["textbook_nll"]

from math import exp, fsum, log


def textbook_nll(row: list[float], y: int) -> float:
    """Return m + log(sum of exp(z - m)) - z[y]; a list is faster here than a generator."""
    m = max(row)
    return m + log(fsum([exp(z - m) for z in row])) - row[y]
