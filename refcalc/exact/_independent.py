"""Logarithms of whole numbers written so that what is rational about them shows.

A sum of c log n, with whole numbers n and rational c, may be 0, or log of a rational number, without looking so:
log 6 - log 2 - log 3.  Over numbers that are pairwise coprime it is visible, because then

    product of b**c is rational  <=>  every single b**c is rational  <=>  b is a perfect power for c's denominator,

for a prime divides one b only.  Coprime numbers are found with gcd alone, by splitting what two of them share (factor
refinement); nothing is factored into primes.

Source: Bach, Driscoll & Shallit (1993), Factor refinement, J. Algorithms 15(2), doi:10.1006/jagm.1993.1038.
"""

__all__ = ["independent", "rational_part"]

from collections.abc import Mapping
from fractions import Fraction
from math import gcd


def independent(logs: Mapping[int, Fraction]) -> dict[int, Fraction]:
    """Return the same sum of c log n over numbers that are 2 or odd, pairwise coprime, with c != 0.

    >>> independent({6: Fraction(1), 2: Fraction(-1), 3: Fraction(-1)})
    {}
    >>> independent({12: Fraction(1, 2), 3: Fraction(1, 2)})
    {2: Fraction(1, 1), 3: Fraction(1, 1)}
    """
    twos = Fraction(0)
    base: dict[int, Fraction] = {}
    for n, c in logs.items():
        zeros = (n & -n).bit_length() - 1
        twos += zeros * c
        _insert(base, n >> zeros, c)
    return ({2: twos} if twos else {}) | {b: c for b, c in base.items() if c}


def rational_part(base: Mapping[int, Fraction]) -> tuple[Fraction, dict[int, Fraction]]:
    """Return (R, others): the product of the b**c that are rational, and the b whose powers are not.

    base: as `independent` returns it.

    >>> rational_part({2: Fraction(-2), 9: Fraction(3, 2), 5: Fraction(1, 2)})
    (Fraction(27, 4), {5: Fraction(1, 2)})
    """
    product, others = Fraction(1), {}
    for b, c in base.items():
        root = _root(b, c.denominator)
        if root:
            product *= Fraction(root) ** c.numerator
        else:
            others[b] = c
    return product, others


def _insert(base: dict[int, Fraction], n: int, c: Fraction) -> None:
    """Add c log n, keeping the numbers of base coprime."""
    todo = [(n, c)]
    while todo:
        n, c = todo.pop()
        if n == 1:
            continue
        shared = next(((b, g) for b in base if (g := gcd(n, b)) > 1), None)
        if shared is None:
            base[n] = c
        elif shared[0] == n:
            base[n] += c
        else:
            b, g = shared
            d = base.pop(b)
            todo += [(n // g, c), (b // g, d), (g, c + d)]


def _root(b: int, v: int) -> int:
    """Return the v-th root of b >= 2 if it is whole, else 0."""
    if v == 1:
        return b
    if v >= b.bit_length():
        return 0
    low, high = 1, 1 << -(-b.bit_length() // v)  # low**v < b <= high**v
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**v >= b else (middle, high)
    return high if high**v == b else 0
