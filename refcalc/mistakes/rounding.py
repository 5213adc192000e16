"""Numbers as a narrower dtype holds them."""

__all__ = ["rounded"]

from math import copysign, frexp, inf, isfinite, ldexp

from refcalc._rounding import FORMATS


def rounded(x: float, dtype: str) -> float:
    """Return the number of dtype nearest to x, ties to even; beyond its largest, inf.

    >>> rounded(257.0, "bfloat16"), rounded(65520.0, "float16"), rounded(1e-46, "float32")
    (256.0, inf, 0.0)
    """
    if dtype == "float64" or not isfinite(x) or not x:
        return x
    precision, low, high = FORMATS[dtype]
    k = max(frexp(x)[1], low) - precision  # the gap between neighbours is 2**k
    y = ldexp(round(ldexp(x, -k)), k)
    return copysign(inf, x) if abs(y) >= ldexp(1.0, high) else y
