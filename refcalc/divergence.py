"""How far one row of logits is from another, as distributions.

    p, q  the softmax of the two rows        d[i]  log p[i] - log q[i]        u  2**-53

    KL(p || q)  =  sum_i p[i] d[i]  =  sum_i p[i] (d[i] + exp(-d[i]) - 1),

for sum_i p[i] exp(-d[i]) = sum_i q[i] = 1 = sum_i p[i].  The terms of the second sum are never negative, so what two
close rows have in common does not cancel.  It also forgives: were every d[i] too large by the same delta, the second
sum would grow by delta + exp(-delta) - 1, which is about delta**2 / 2.  Such a delta is what the normalisers' errors
leave, and it can be seen, for then

    sum_i p[i] (exp(-d[i]) - 1)  =  exp(-delta) - 1  instead of 0.

It is taken off.  What is left of it is below c u sum_i |p[i] - q[i]| with c < 40, which by Pinsker's inequality is at
most c u sqrt(2 KL): squared and halved it is less than KL u / 10**12.  Source: Cover & Thomas (2006), lemma 11.6.1.
"""

__all__ = ["kl_divergence"]

from collections.abc import Sequence
from math import expm1, factorial, fsum, inf, log1p

from refcalc import _check
from refcalc._check import Row
from refcalc.softmax import row_log_softmax, row_softmax


def kl_divergence(p_logits: Row, q_logits: Row) -> float:
    """Return KL(p || q) = sum_i p[i] log(p[i] / q[i]) of p = softmax(p_logits), q = softmax(q_logits), in nats.

    p_logits: V scores of the distribution that weighs the classes (the teacher, the data), in nats and on any scale;
        -inf marks a class of probability zero.
    q_logits: V scores of the distribution that p is compared with (the student, the model).

    The order is that of torch.distributions.kl_divergence(p, q); torch.nn.functional.kl_div(log_q, p) turns it round.
    0 log 0 is 0, and a class that p has and q has not makes it inf.

    >>> kl_divergence([0.0, 0.0], [0.0, float("-inf")]), kl_divergence([0.0, float("-inf")], [0.0, 0.0])
    (inf, 0.6931471805599453)
    >>> kl_divergence([1.0, 2.0], [1.0, 2.0])
    0.0
    >>> 0.0 < kl_divergence([0.0, 0.0], [0.0, 1e-12]) < 1.3e-25        # a sum of p log p - p log q would be noise
    True
    >>> kl_divergence([1.0, 2.0], [1.0])
    Traceback (most recent call last):
    ValueError: kl_divergence: q_logits must be as long as p_logits (2), got 1

    Raises as token_nll does, and ValueError for rows of different length.

    Accuracy: 15 ulp for results above 1e-280, also where p and q are all but equal, down to logits that differ by an
    ulp or two: there the result is below 1e-30, and that is all that holds.  Proved below, for a libm with exp within
    0.52 and expm1 within 0.95 ulp; under 4 measured.  A p[i] below the least double counts as 0, and a log ratio beyond
    the doubles as inf.
    """
    # Ledger of a term, relative, in units of u; a probability carries 4.1 (the ledger in refcalc.softmax), d 1:
    #
    #     |d| < 1        d passes on 2.4, the series and its factors 4, the products 3, p 4.1     13.5
    #     1 <= d         d 1.8, expm1 1.9 * 1.72, the sum 1, the product 1, p 4.1                 11.2
    #     -2 <= d <= -1  d 2.9, expm1 1.9 * 2.4, the sum 1, the product 1, p 4.1                  13.6
    #     d < -2         q 4.1 * 1.69, p (1 - d) 7.1 * 0.69, the difference 1                     12.9
    #
    # and 1 for fsum.
    name = "kl_divergence"
    rows = _check.row(name, "p_logits", p_logits), _check.row(name, "q_logits", q_logits)
    _check.same_length(name, "q_logits", rows[1], "p_logits", len(rows[0]))
    xs, p, p_shift = _normalised(name, "p_logits", rows[0])
    ys, q, q_shift = _normalised(name, "q_logits", rows[1])
    if any(y == -inf < x for x, y in zip(xs, ys, strict=True)):
        return inf
    shift = [*p_shift, -q_shift[0], -q_shift[1]]
    try:
        delta = _common_error(p, q, _log_ratios(p, xs, ys, shift))
        ds = _log_ratios(p, xs, ys, [*shift, -delta])
        return fsum(map(_term, p, q, ds))
    except OverflowError:
        return inf


def _normalised(function: str, argument: str, row: Sequence[float]) -> tuple[list[float], list[float], list[float]]:
    """Return the logits, their probabilities, and two numbers that added to a logit give its log-probability."""
    p, _ = row_softmax(function, argument, row)
    log_p = row_log_softmax(function, argument, row)
    zs = list(map(float, row))
    return zs, p, [-max(zs), max(log_p)]


def _log_ratios(p: list[float], xs: list[float], ys: list[float], shift: list[float]) -> list[float]:
    """Return d, each rounded once from the logits and the sum of shift; -inf where p is 0."""
    return [fsum((x, -y, *shift)) if pi else -inf for pi, x, y in zip(p, xs, ys, strict=True)]


def _common_error(p: list[float], q: list[float], ds: list[float]) -> float:
    """Return by how much all of ds are too large.

    Where |d| is above 2, q - p tells more than p (exp(-d) - 1) does: it does not depend on d.  What does depend on it
    holds a share of q.  Where that is less than half, KL is above 0.1 and the error does not show.
    """
    near = [abs(d) < 2.0 for d in ds]
    share = fsum(qi for qi, close in zip(q, near, strict=True) if close)
    if share < 0.5:
        return 0.0
    excess = fsum(pi * expm1(-d) if close else qi - pi for pi, qi, d, close in zip(p, q, ds, near, strict=True))
    return -log1p(excess / share)


# exp(-d) - 1 + d = d**2 (1/2! - d/3! + d**2/4! - ...): for |d| < 1 what comes after 1/20! is below u.
_FACTORS = [(-1.0 if i % 2 else 1.0) / factorial(i) for i in range(20, 1, -1)]


def _term(p: float, q: float, d: float) -> float:
    """Return p (d + exp(-d) - 1), which is p d + q - p, without cancellation."""
    if d < -2.0:
        return q - p * (1.0 - d) if p else q
    if abs(d) >= 1.0:
        return p * (d + expm1(-d))
    series = 0.0
    for factor in _FACTORS:
        series = series * d + factor
    return p * (d * d * series)
