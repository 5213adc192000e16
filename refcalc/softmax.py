"""One row of logits: its normaliser, its distribution, and how improbable one class is.

    z      a logit, in nats                  V    the number of classes
    m      the largest logit                 top  exp(m), or what stands for it where exp(m) leaves the doubles
    tail   the sum of exp(z[j] - m) over all classes but one that holds m
    u      2**-53, half the distance from 1.0 to the next double
    c_exp, c_log, c_log1p   the worst errors of libm's functions, in ulp (0.52, 0.52 and 0.9 in glibc)

How the numbers are made.  With tail as above,

    logsumexp(z)      =  m + log(1 + tail)
    nll of class y    =  (m - z[y]) + log(1 + tail).

Both terms of the nll are >= 0, so nothing cancels, and log1p sees a tail far below u: a confident hit keeps all of its
digits.  What would lose them is forming z[j] - m, whose rounding alone moves exp(z[j] - m) by up to |z[j] - m| / 2 ulp.
It is not formed:

    tail  =  (sum of exp(z[j]) without one maximum) / exp(m).

The sum leaves the maximum out by adding -exp(m) to all the others: fsum is exact until its one rounding, and libm gives
the same double for the same argument.

Ledger of the tail, in relative units of u:  exp(z[j]) 2 c_exp,  fsum 1,  exp(m) 2 c_exp,  the division 1;  together
k = 4 c_exp + 2.  One ulp of a result is at least u times it, so k counts ulps too.  log(1 + t) passes on at most
t / ((1 + t) log(1 + t)) <= 1 of it and adds c_log1p.

For t >= 1 it is taken as log(1.0 + t): the addition costs u, which log passes on divided by log 2 at most, together
(k / 2 + 1) / log 2 + c_log; a row of V equal logits so gives log V, the same double as uniform_nll(V).

  - A hit (z[y] = m): m - z[y] = 0 and the sum is exact, so  k + c_log1p = 4 c_exp + 2 + c_log1p.
  - Any other class: m - z[y] and the sum round once each, 1 ulp together.  The tail holds exp(z[y] - m), so with
    s = tail / (1 + tail) the nll is at least log(1 + 1/tail) = -log(s) and at least log(1 + tail) = -log(1 - s): the
    tail's relative error reaches the nll times s / max(-log(s), -log(1 - s)) <= 0.7214 at most (where s = 1/2).
    Together at most  0.7214 k + c_log1p + 1,  which is less than above.  For t >= 1 the addition's u comes on top, but
    nll >= log 2.  Below 1, where an ulp is u, s < 0.6322 and the first rounding is u / 4 (m - z[y] < 0.31):
    0.6322 k + 1 + c_log + 0.75 = 4.85; from 1 on an ulp is 2 u or more:  (k + 1) / 2 + c_log + 1 = 4.06.

With glibc's figures: 4.98 ulp, in every regime.  Sources: Blanchard, Higham & Higham (2021),
doi:10.1093/imanum/draa038; libm's errors: Gladman, Innocente, Mather & Zimmermann, hal-03141101.
"""

__all__ = ["entropy", "log_softmax", "logsumexp", "softmax", "textbook_log_softmax", "token_nll"]

from collections.abc import Sequence
from math import exp, fsum, inf, ldexp, log, log1p

from refcalc import _check
from refcalc._check import Row


def token_nll(logits: Row, target: int) -> float:
    """Return -log softmax(z)[target], in nats: how improbable the target is.

    logits: V scores for one position, in nats and on any scale; -inf marks a class of probability zero.
    target: the class that was observed, in [0, V).

    >>> token_nll([1000.0, 1000.0], 1)         # exp(1000.0) alone overflows
    0.6931471805599453
    >>> token_nll([0.0, -800.0], 1)            # the probability underflows, its logarithm does not
    800.0
    >>> token_nll([0.0, -40.0], 0) > 0.0       # log(1.0 + exp(-40.0)) is 0.0
    True
    >>> token_nll([0.0, float("-inf")], 1)     # an answer, not an error
    inf
    >>> token_nll([1.0, 2.0], 2)
    Traceback (most recent call last):
    ValueError: token_nll: target must lie in [0, 2), got 2

    Raises ValueError for an empty row, nan, +inf, a row of nothing but -inf, or a target outside [0, V); TypeError for
    what is no number, or a target that is no whole number.

    Accuracy: 5 ulp where libm's exp is within 0.52 ulp and its log1p within 0.9 (glibc); proved above.
    exact.token_nll gives the last bit.
    """
    return row_nll("token_nll", "logits", logits, "target", target)


def row_nll(function: str, argument: str, logits: Row, target_argument: str, target: int) -> float:
    """token_nll in the name of another function, whose refusals it words."""
    row = _check.row(function, argument, logits)
    y = _check.target(function, target_argument, target, len(row))
    m, tail, _, _ = _masses(function, argument, row)
    return (m - float(row[y])) + _log_1_plus(tail)


def log_softmax(logits: Row) -> list[float]:
    """Return the V logarithms of the probabilities, log softmax(z), in nats.

    logits: V scores for one position, in nats and on any scale; -inf marks a class of probability zero.

    >>> log_softmax([0.0, -800.0])
    [0.0, -800.0]
    >>> log_softmax([0.0, 0.0])
    [-0.6931471805599453, -0.6931471805599453]
    >>> log_softmax([0.0, -40.0])[0] < 0.0
    True

    Raises as token_nll does.

    Accuracy: each element is the negated token_nll of its class, to the bit.
    """
    return row_log_softmax("log_softmax", "logits", logits)


def row_log_softmax(function: str, argument: str, logits: Row) -> list[float]:
    """log_softmax in the name of another function, whose refusals it words."""
    row = _check.row(function, argument, logits)
    m, tail, _, _ = _masses(function, argument, row)
    log_sum = _log_1_plus(tail)
    return [(z - m) - log_sum for z in map(float, row)]


def logsumexp(logits: Row) -> float:
    """Return log(exp(z[0]) + ... + exp(z[V-1])), in nats, without overflow.

    logits: V >= 1 scores, in nats and on any scale; a row of nothing but -inf gives -inf.

    >>> logsumexp([1000.0, 1000.0])
    1000.6931471805599
    >>> logsumexp([0.0, -40.0]) > 0.0
    True
    >>> logsumexp([])
    Traceback (most recent call last):
    ValueError: logsumexp: logits must hold at least one score, got 0

    Raises ValueError if there are no logits, or if one is nan or +inf; TypeError for what is no number.

    Accuracy: 4 ulp of max(1, |m|, log V), not of the result, which cancels where m is about -log(1 + tail); proved: the
    tail's ledger reaches the sum as at most k u, which is k/2 ulp of 1.0, log1p adds 0.9 ulp and the addition 1.
    """
    row = _check.row("logsumexp", "logits", logits)
    m, tail, _, _ = _masses("logsumexp", "logits", row, only_zeros=True)
    return m + _log_1_plus(tail)


def softmax(logits: Row) -> list[float]:
    """Return the V probabilities exp(z[i]) / (exp(z[0]) + ... + exp(z[V-1])).

    logits: V scores for one position, in nats and on any scale; -inf gives probability 0.0.

    >>> softmax([1000.0, 1000.0])
    [0.5, 0.5]
    >>> softmax([0.0, -800.0])                 # exp(-800) is less than the least double: see log_softmax
    [1.0, 0.0]

    Raises as token_nll does.

    Accuracy: 5 ulp (4 c_exp + 2, the ledger of the tail above); proved.  Subnormal probabilities: 1 ulp more.
    """
    return row_softmax("softmax", "logits", logits)[0]


def row_softmax(function: str, argument: str, logits: Row) -> tuple[list[float], list[float]]:
    """Return p = softmax(z) and 1 - p, in the name of another function; both hold their digits where p is near 1."""
    row = _check.row(function, argument, logits)
    m, _, masses, top = _masses(function, argument, row)
    # A mass below the normal doubles has lost digits.  That shows only in a probability larger than its mass.
    if top < 1.0 and min(masses) < _check.LEAST_NORMAL:
        masses = _scaled_masses(_check.floats(function, argument, row), m)
    total = fsum(masses)
    p = [mass / total for mass in masses]
    rest = [1.0 - pi for pi in p]
    k = p.index(max(p))
    rest[k] = fsum([*masses[:k], *masses[k + 1 :]]) / total
    return p, rest


def entropy(logits: Row) -> float:
    """Return -sum p[i] log p[i] of p = softmax(z), in nats, where 0 log 0 is 0.

    logits: V scores for one position, in nats and on any scale; -inf marks a class of probability zero.

    >>> entropy([7.0, 7.0])
    0.6931471805599453
    >>> entropy([0.0, -40.0]) > 0.0            # 1 - p is 4.2e-18: log(sum) - sum p z would be 0.0
    True
    >>> entropy([3.0])
    0.0

    Raises as token_nll does.

    Accuracy: 13 ulp, proved (the two terms below are positive and carry k + c_log1p and 2 k + 4); under 4 measured
    (tests/bench/accuracy.py).
    """
    # Substituting log p[i] = (z[i] - m) - log(1 + tail), and p[i] = exp(z[i] - m) / (1 + tail),
    #
    #     entropy  =  log(1 + tail)  +  sum_i exp(z[i] - m) (m - z[i]) / (1 + tail),
    #
    # a sum of positive terms, to which a maximum itself adds nothing.
    row = _check.row("entropy", "logits", logits)
    m, tail, masses, top = _masses("entropy", "logits", row)
    # A class that has a mass is less than 2**11 below m: in that unit the sum is below the tail and does not overflow.
    unit = ldexp(1.0, -11)
    spread = fsum([mass * ((m - z) * unit) for mass, z in zip(masses, map(float, row), strict=True) if mass])
    return _log_1_plus(tail) + spread / (top * unit) / (1.0 + tail)


def textbook_log_softmax(logits: Sequence[float]) -> list[float]:
    """Return log softmax(z) by the textbook formula, the starting point of this module.

    It never overflows and never takes the logarithm of zero, and it is what most code does.  Where one class is nearly
    certain its digits are gone, since 1.0 + tail has no room for them:

    >>> textbook_log_softmax([0.0, -800.0])
    [0.0, -800.0]
    >>> textbook_log_softmax([0.0, -40.0])[0] == 0.0, log_softmax([0.0, -40.0])[0] == 0.0
    (True, False)

    Accuracy: plain; a confident hit can lose every digit.
    """
    m = max(logits)
    log_sum = log(fsum(exp(z - m) for z in logits))
    return [z - m - log_sum for z in logits]


def _log_1_plus(t: float) -> float:
    return log(1.0 + t) if t >= 1.0 else log1p(t)


# --- the masses of the classes ---------------------------------------------------------------------------------------

# The least tail, before its division by top, to be trusted: a term below the normal doubles is off by up to 2**-1074,
# so V of them by V 2**-1074, which is V 2**-114 of this and nothing beside u.
LEAST_TAIL = ldexp(1.0, -960)

# exp(SHIFT + SHIFT_ERROR) is SCALE = 2**256 to 107 bits: 256 times log 2 and what rounding cuts from it.
SCALE = ldexp(1.0, 256)
SHIFT = 256 * float.fromhex("0x1.62e42fefa39efp-1")
SHIFT_ERROR = 256 * float.fromhex("0x1.abc9e3b39803fp-56")


def _masses(
    function: str, argument: str, row: Sequence[float], *, only_zeros: bool = False
) -> tuple[float, float, list[float], float]:
    """Return m, the tail, the masses exp(z[i] - m) * top, and top, having refused what is no row of logits.

    Good rows are not scanned for bad scores: a nan, a +inf, a text or an overflow show in the tail or as an exception,
    and what is wrong is looked for then.  A row of nothing but -inf is refused unless only_zeros allows it.
    """
    try:
        m = max(row)
        top = exp(m)
        masses = list(map(exp, row))
        tail = fsum([*masses, -top])
        if LEAST_TAIL <= tail < inf:
            return float(m), tail / top, masses, top
    except (ArithmeticError, TypeError, ValueError):
        pass
    scores = _check.floats(function, argument, row)
    if set(map(type, row)) != {float}:  # the same bits for the same numbers, of whatever kind they were
        return _masses(function, argument, scores, only_zeros=only_zeros)
    m = max(scores)
    if m == -inf:
        if not only_zeros:
            _check.refuse(function, argument, "hold a score above -inf", row)
        return m, 0.0, [0.0] * len(scores), 1.0
    masses = _scaled_masses(scores, m)
    return m, fsum([*masses, -SCALE]) / SCALE, masses, SCALE


def _scaled_masses(scores: list[float], m: float) -> list[float]:
    """Return exp(z - m) * 2**256 for each z: rows of any offset, and tails down to 2**-1330.

    Here z - m must be formed; what its rounding cuts off is carried.  d is the double nearest to
    z - m + 256 log 2, the rest is c, and exp(d + c) = exp(d) (1 + c) but for c**2 / 2 < 2**-88.
    Relative error: exp 2 c_exp, the addition 1; with fsum 2 c_exp + 2 in all, less than the ledger above.
    """

    def mass(z: float) -> float:
        if z == m:
            return SCALE
        if z < m - 1000.0:  # exp(-1000) is below 2**-1442: 2**100 of these would not show
            return 0.0
        d = fsum((z, -m, SHIFT, SHIFT_ERROR))
        e = exp(d)
        return e + e * fsum((z, -m, SHIFT, SHIFT_ERROR, -d))

    return [mass(z) for z in scores]
