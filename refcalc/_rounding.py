"""What a dtype can hold, and how far off a result may be that was computed in it.

    a  an actual number             e  the expected one
    u  half the gap after 1 in the dtype: 2**-53 (float64), 2**-24 (float32), 2**-11 (float16), 2**-8 (bfloat16)
    V  classes                      N  targets whose losses were added up
    p  a softmax probability        q  what the target gives to the same class
"""

__all__ = ["FORMATS", "Limit", "limit", "sizes"]

from math import copysign, expm1, frexp, fsum, inf, isinf, isnan, ldexp, log, log2, sqrt
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
_COMPUTATIONS = {
    "loss": "log-softmax",
    "probability": "softmax",
    "gradient": "gradient",
    "soft_gradient": "gradient of soft targets",
}


class Limit(NamedTuple):
    """The error allowed: so many steps, or what `error` returns."""

    words: str
    relative: float = 0.0  # of a loss; else of log p
    fixed: float = 0.0  # the same
    steps: float | None = None
    quantity: str = "loss"
    u: float = 0.0  # this and all below: of a probability or a gradient
    denominator: float = 1.0
    floor: float = 0.0

    def share(self, steps: float, gap: float, a: float, e: float) -> float:
        """Return which share of the error allowed is used by a, so many steps and such a gap from e."""
        if self.steps is None:
            return gap / self.error(a, e)
        return steps / self.steps if self.steps else inf

    def error(self, a: float, e: float) -> float:
        """Return the error allowed to a where e is right, as derived at `limit`."""
        if self.quantity == "loss":
            return self.relative * abs(e) + self.fixed
        g = min(abs(e) * self.denominator, 1.0)  # |p - q|
        if self.quantity == "soft_gradient":
            p, q = 1.0, 1.0
        elif self.quantity == "gradient" and e < 0.0:
            p, q = 1.0 - g, 1.0
        else:
            p, q = g, 0.0
        moved = min(self.relative * abs(log(p)) + self.fixed, 700.0) if p else 0.0
        part = expm1(moved) if a > e else -expm1(-moved)
        return (p * part + self.u * (2.0 * g + q)) / self.denominator + self.floor


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
# The three logarithms of s cancel, and 2 t + H + 3 is left in units of u; 3 more are for the second order and for what
# comes after.  For weighting or smoothing a loss, 2 u t more is allowed.
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
# Probabilities.  Whether p is exp(d) / s or exp of the log-softmax, its relative error is the absolute one of log p:
# the computed p lies between p exp(-E) and p exp(E), where
#
#     E = u (2 |log p| + log V + 6) + w h(V) + ...,
#
# the 3 of the 6 that are left being two units of the last exp, or of exp, and one of the division.  So a probability is
# off by p (exp(E) - 1) upwards and by p (1 - exp(-E)) downwards, which is less than p: zero is explained only below the
# floor, and the double only where E > log 2, in bfloat16 for p < 1e-33.  The floor is twice the least positive number
# of float16, or twice the least normal one of the other dtypes, whose subnormals XLA flushes to zero.
#
# Gradients.  An element is e = (p - q) / D, D = N for a mean and 1 else.  The error of p is as above with 2 u more (1/D
# and the product); q/D is off by u q/D, the difference and the result by u |e| each.  What p and q are, e and D tell:
#
#     a class that is not the target      q = 0       p = D e              so the error is about E e
#     the target of a hard row, e < 0     q = 1       p = 1 - D |e|
#     soft targets, label smoothing       q <= 1      p <= 1, where p (exp(E) - 1) is largest
#
# So with hard targets zero and the double are never explained, but for classes of such small p: a row has larger ones.
# The target's own element, where p and q may cancel, is allowed up to u (log V + 11) / D; so are all of soft targets.
#
# Taken for granted: soft q are added up in float32, as in torch; jax, differentiating its log_softmax, adds in dtype.
#
#     e itself, where this package's float tier computed it (16 ulp)            32 2**-53 of p and of q
#
# An overflow before the result (10,000 losses added in float16) is no rounding: inf for a finite number is explained
# only where that number lies within the error allowed of the end of dtype.
def limit(
    function: str,
    *,
    dtype: str,
    quantity: str = "loss",
    classes: int | None = None,
    scale: float = 0.0,
    reduction: str = "none",
    targets: int | None = None,
) -> Limit:
    """Return the error that computing in dtype can cause; the arguments are those of `closeness.compare`."""
    _check.choice(function, "dtype", dtype, tuple(FORMATS))
    _check.choice(function, "quantity", quantity, tuple(_COMPUTATIONS))
    _check.choice(function, "reduction", reduction, ("none", "mean", "sum"))
    scale = _check.not_negative(function, "scale", scale, finite=True)
    if quantity != "loss" and classes is None:
        _check.refuse(function, "classes", f"be given for a {quantity}", classes)
    if quantity == "probability" and reduction != "none":
        _check.refuse(function, "reduction", "be 'none' for a probability", reduction)
    precision, low, _ = FORMATS[dtype]
    u, least = _ROUNDOFF[dtype], ldexp(1.0, low - precision)
    words, relative, fixed, n = f"one rounding to {dtype}", u + 11.0 * 2.0**-53, least, 1
    if classes is not None:
        v = _check.count(function, "classes", classes, least=1)
        words = f"a {dtype} {_COMPUTATIONS[quantity]} over {v} classes"
        relative += 3.0 * u
        fixed += u * (log(v) + 6.0) + min(u, 2.0**-24) * _additions(v) + v * least
    if scale:
        fixed += u * (3.0 * scale + log(classes or 1))
    if reduction != "none":
        if targets is None:
            _check.refuse(function, "targets", f"be given for a {reduction}", targets)
        n = _check.count(function, "targets", targets, least=1)
        words += f", {reduction} of {n} targets"
    if quantity != "loss":
        return _of_probabilities(words, dtype, quantity, fixed, n if reduction == "mean" else 1)
    if reduction != "none":
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
    return steps, gap, gap / size, allowed.share(steps, gap, a, e)


def _of_probabilities(words: str, dtype: str, quantity: str, fixed: float, denominator: int) -> Limit:
    """Return the limit of a softmax or a gradient; fixed is that of the log-softmax."""
    precision, low, _ = FORMATS[dtype]
    u, own = _ROUNDOFF[dtype], 32.0 * 2.0**-53
    fixed += own if quantity == "probability" else own + 2.0 * u
    floor = 2.0 * ldexp(1.0, low - precision if dtype == "float16" else low - 1)
    return Limit(words, 2.0 * u, fixed, None, quantity, u + own, denominator, floor)


def _additions(n: int) -> float:
    return min(n, max(8.0 * sqrt(n), n / 8.0))


def _extreme_sizes(a: float, e: float, dtype: str, allowed: Limit) -> tuple[float, float, float, float]:
    """Return the same for what sizes has no simple answer to: zero, nan, infinities, a gap beyond the doubles."""
    if isnan(a) or isnan(e):
        return inf, inf, inf, inf
    steps, gap = _steps(a, e, dtype), abs(a - e)
    apart = isinf(e) or (isinf(a) and a * e < 0.0)
    relative = inf if isinf(e) or not e else abs(a / 2.0 - e / 2.0) / abs(e / 2.0)
    if allowed.steps is None and apart:
        return steps, gap, relative, inf
    # An infinite a is an overflow: e had to be moved to the end of dtype.
    end = ldexp(1.0 - _ROUNDOFF[dtype], FORMATS[dtype][2])
    moved = max(0.0, end - abs(e)) if isinf(a) else gap
    return steps, gap, relative, allowed.share(steps, moved, a, e)


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
