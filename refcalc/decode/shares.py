"""Which classes hold a share of the probability: decided for the real numbers, not for their roundings.

    z  the scores of the classes, in the order in which they are added up      q  a share, a double in [0, 1]
    c[n]  =  (e**z[0] + ... + e**z[n-1]) / (e**z[0] + ... + e**z[V-1])         the cumulative distribution

Top-p and sampling both ask for the first n with c[n] >= q, or > q.  Sums of doubles answer wrongly where c[n] and q are
within rounding of each other, and differently on another machine.  Here floats decide only what they can prove, and
exact arithmetic the rest, so that the answer depends on z and q alone.
"""

__all__ = ["first_reaching"]

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from itertools import accumulate
from math import exp, inf, ldexp


def first_reaching(scores: Sequence[float], share: float, *, strictly: bool = False) -> int:
    """Return the least n for which the first n classes hold at least the share of the probability; strictly, more.

    scores: finite or -inf, one of them finite.  share: in [0, 1]; strictly, below 1.

    >>> first_reaching([0.0, 0.0, 0.0, 0.0], 0.5), first_reaching([0.0, 0.0, 0.0, 0.0], 0.5, strictly=True)
    (2, 3)

    Accuracy: exact, where libm's exp is within 16 ulp.
    """
    # The masses e**(z - m) in whole units of 2**-64 add up without error.  What a sum is off by, as part of the total:
    # libm's exp 2**-48; the rounding of z - m, which moves a mass by 2**-53 (m - z) of it, log(V) 2**-53 < 2**-48 in
    # all, for the mean of m - z is at most the entropy.  The floor costs a unit a class.  So much once for the sum and
    # once for the total that the share is taken of.
    m = max(scores)
    sums = list(accumulate(int(ldexp(exp(z - m), 64)) for z in scores))
    a, b = share.as_integer_ratio()
    target, slack = sums[-1] * a // b, (sums[-1] >> 45) + 2 * len(scores) + 1
    low, high = bisect_left(sums, target - slack), bisect_right(sums, target + slack)
    # The first low sums fall short for certain, and sums[high] reaches the share for certain.
    while low < high:
        middle = (low + high) // 2
        side = _side(scores, middle + 1, share)
        if side > 0 or (side == 0 and not strictly):
            high = middle
        else:
            low = middle + 1
    return low + 1


def _side(scores: Sequence[float], n: int, share: float) -> int:
    """Return the sign of c[n] - share.

    With share = a / b and classes of equal score z taken together, N of them, K among the first n, it is the sign of

        sum over z of  (b K - a N) e**z,

    which is 0 only if all of these whole numbers are: powers of e to different rational exponents are linearly
    independent (Lindemann and Weierstrass).  Otherwise it is computed to more and more digits, relative to the largest
    e**z that it holds.
    """
    a, b = share.as_integer_ratio()
    inside = Counter(scores[:n])
    factors = {z: b * inside[z] - a * count for z, count in Counter(scores).items() if z > -inf}
    factors = {z: factor for z, factor in factors.items() if factor}
    if not factors:
        return 0
    m, weight, digits = Decimal.from_float(max(factors)), sum(map(abs, factors.values())), 40
    while True:
        wide = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
        total = Decimal(0)
        for z, factor in factors.items():
            power = wide.exp(wide.subtract(Decimal.from_float(z), m))
            total = wide.fma(power, Decimal(factor), total)
        # Relative to 10**(1 - digits): a difference 0.5, which moves its power by e**-d d / 2 < 0.2; the power 0.5,
        # both times its factor; and 0.5 of a partial sum, at most weight, for each term.
        slack = wide.multiply(Decimal(weight * (len(factors) + 1)), wide.scaleb(Decimal(1), 1 - digits))
        if total.copy_abs() > slack:
            return 1 if total > 0 else -1
        digits *= 2
