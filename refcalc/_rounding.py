"""What a dtype can hold, and how far off a result may be that was computed in it.

    a  an actual number             e  the expected one
    u  half the gap after 1 in the dtype: 2**-53 (float64), 2**-24 (float32), 2**-11 (float16), 2**-8 (bfloat16)
    V  classes                      N  targets whose losses were added up
"""

__all__ = ["FORMATS", "Limit", "limit", "sizes"]

from math import copysign, frexp, fsum, inf, isinf, isnan, ldexp, log, log2, sqrt
from typing import NamedTuple

from refcalc import _check

# The precision p, and the exponents that frexp gives for the least normal number and for the largest.
FORMATS = {
    "float64": (53, -1021, 1024),
    "float32": (24, -125, 128),
    "float16": (11, -13, 16),
    "bfloat16": (8, -125, 128),
}
_ROUNDOFF = {dtype: ldexp(1.0, -precision) for dtype, (precision, _, _) in FORMATS.items()}  # u


class Limit(NamedTuple):
    """The error allowed: relative * |e| + fixed, or so many steps."""

    words: str
    relative: float = 0.0
    fixed: float = 0.0
    steps: float | None = None


# What a log-softmax in dtype may be off by, to first order in u.  One row; m its maximum, d[i] = x[i] - m, p its
# softmax, s = sum of exp(d), so 1 <= s <= V; t = log s - d[y] is the nll of target y, H <= log V the entropy of p.
#
#     d[y] and the result t, rounded once each        u (|d[y]| + t)                   = u (2 t - log s)
#     the other d[i], each moving log s by p[i]       u sum p[i] |d[i]|                = u (H - log s)
#     log, good to 1 ulp = 2 u                        2 u log s
#     exp, good to 1 ulp; s rounded to dtype          2 u + u
#     the additions of s                              w h(V), see below
#     terms that end among the subnormals             V times the least positive number
#
# The three logarithms of s cancel, and 2 t + H + 3 is left in units of u.  A softmax, or the gradient p - q, is
# off by less than 3 u more (a division and a subtraction, and p |d| < 0.4).  For weighting or smoothing a loss,
# 2 u t more is allowed.
#
#     d not formed (log s + m, then minus x[y]), or logits rounded to dtype     u (3 scale + log V)
#     e itself, where this package's float tier computed it (5.5 ulp)           11 2**-53 |e|
#
# Additions of n terms.  A chain of n errs by less than n u relatively; where its roundings do not all go one way, by
# less than 8 sqrt(n) u for all practical purposes (Higham & Mary 2019, doi:10.1137/18M1226312).  They do go one way
# where many terms are equal, but kernels add in eight lanes or more, whose chains have n / 8 terms at most.  So
#
#     h(n) = min(n, max(8 sqrt(n), n / 8)).
#
# Taken for granted: where dtype is narrower than float32, s is added in float32 (unit w = 2**-24), as in torch and jax.
# The sum over targets is not: torch adds bfloat16 losses in bfloat16, in blocks of 16 that make chains of
# 16 log_16(N) = 4 log2(N) terms.  Not covered is one chain in float32 over 10,000 equal terms or more.
#
# An overflow before the result (10,000 losses added in float16) is no rounding: inf for a finite number is explained
# only where that number lies within the error allowed of the end of dtype.
def limit(
    function: str,
    *,
    dtype: str,
    classes: int | None = None,
    scale: float = 0.0,
    reduction: str = "none",
    targets: int | None = None,
) -> Limit:
    """Return the error that computing in dtype can cause; the arguments are those of `closeness.compare`."""
    _check.choice(function, "dtype", dtype, tuple(FORMATS))
    _check.choice(function, "reduction", reduction, ("none", "mean", "sum"))
    scale = _check.not_negative(function, "scale", scale, finite=True)
    precision, low, _ = FORMATS[dtype]
    u, least = _ROUNDOFF[dtype], ldexp(1.0, low - precision)
    words, relative, fixed = f"one rounding to {dtype}", u + 11.0 * 2.0**-53, least
    if classes is not None:
        v = _check.count(function, "classes", classes, least=1)
        words = f"a {dtype} log-softmax over {v} classes"
        relative += 3.0 * u
        fixed += u * (log(v) + 6.0) + min(u, 2.0**-24) * _additions(v) + v * least
    if scale:
        fixed += u * (3.0 * scale + log(classes or 1))
    if reduction != "none":
        if targets is None:
            _check.refuse(function, "targets", f"be given for a {reduction}", targets)
        n = _check.count(function, "targets", targets, least=1)
        words += f", {reduction} of {n} targets"
        relative += u * (2.0 + (_additions(n) if precision >= 24 else min(n, 4.0 * log2(n))))
        fixed *= n if reduction == "sum" else 1
    return Limit(words, relative, fixed)


def sizes(a: float, e: float, dtype: str, allowed: Limit, beyond: float = -1) -> tuple[float, float, float, float]:
    """Return how far apart two numbers are: in ulp, absolutely, relatively, and as a share of the error allowed.

    beyond: where no more steps than that lie between them, their count may be returned as 0.
    """
    gap, size = abs(a - e), abs(e)
    if not (gap < inf and size > 0.0):  # nan is not less than inf
        return _extreme_sizes(a, e, dtype, allowed)
    # The gaps of dtype at x and above are wider than |x| u, so there are fewer than gap / (min(|a|, |e|) u) steps: when
    # millions of pairs are compared, few need counting.  The half leaves room for the roundings of this line.
    few = a * e > 0.0 and gap < 0.5 * beyond * min(abs(a), size) * _ROUNDOFF[dtype]
    steps = 0 if few else _steps(a, e, dtype)
    if allowed.steps is None:
        share = gap / (allowed.relative * size + allowed.fixed)
    else:
        share = steps / allowed.steps if allowed.steps else inf
    return steps, gap, gap / size, share


def _additions(n: int) -> float:
    return min(n, max(8.0 * sqrt(n), n / 8.0))


def _extreme_sizes(a: float, e: float, dtype: str, allowed: Limit) -> tuple[float, float, float, float]:
    """Return the same for what sizes has no simple answer to: zero, nan, infinities, a gap beyond the doubles."""
    if isnan(a) or isnan(e):
        return inf, inf, inf, inf
    steps, gap = _steps(a, e, dtype), abs(a - e)
    apart = isinf(e) or (isinf(a) and a * e < 0.0)
    relative = inf if isinf(e) or not e else abs(a / 2.0 - e / 2.0) / abs(e / 2.0)
    if allowed.steps is not None:
        share = steps / allowed.steps if allowed.steps else inf
    elif apart:
        share = inf
    else:  # an infinite a is an overflow: e had to be moved to the end of dtype
        high = FORMATS[dtype][2]
        moved = max(0.0, ldexp(1.0 - _ROUNDOFF[dtype], high) - abs(e)) if isinf(a) else gap
        share = moved / (allowed.relative * abs(e) + allowed.fixed)
    return steps, gap, relative, share


def _steps(a: float, e: float, dtype: str) -> float:
    (i, f), (j, g) = _place(a, dtype), _place(e, dtype)
    return abs(i - j) if f == g else abs(fsum((i - j, f, -g)))


def _place(x: float, dtype: str) -> tuple[int, float]:
    """Return the number of x in the order of dtype's numbers, counted from zero, as a whole part and a fraction.

    With |x| = m 2**k, 1/2 <= m < 1, each k holds 2**(p - 1) numbers, the gap between them is 2**(k - p), and the
    subnormals go on with the least k.  Each step below is exact.
    """
    precision, low, high = FORMATS[dtype]
    m, k = frexp(x)
    if isinf(x) or k > high:  # inf stands where the next number would be
        m, k = copysign(0.5, x), high + 1
    elif k < low or not x:
        m, k = ldexp(x, -low), low
    gaps = ldexp(m, precision)
    binades = (k - low) * 2 ** (precision - 1)
    return int(gaps) + (binades if x > 0.0 else -binades), gaps - int(gaps)
