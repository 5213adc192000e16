"""KL(p || q): how far rows of logits are from others, as distributions.

    p, q  the softmax of the two rows        d[i]  log p[i] - log q[i]        u  2**-53

    KL(p || q)  =  sum_i p[i] d[i]  =  sum_i p[i] (d[i] + exp(-d[i]) - 1),

for sum_i p[i] exp(-d[i]) = sum_i q[i] = 1 = sum_i p[i].  The terms of the second sum are never negative, so what two
close rows have in common does not cancel.  It also forgives: were every d[i] too large by the same delta, the second
sum would grow by delta + exp(-delta) - 1, which is about delta**2 / 2.  Such a delta is what the normalisers' errors
leave, and it can be seen, for then

    sum_i p[i] (exp(-d[i]) - 1)  =  exp(-delta) - 1  instead of 0.

It is taken off.  What is left of it is below c u sum_i |p[i] - q[i]| with c < 40, which by Pinsker's inequality is at
most c u sqrt(2 KL): squared and halved it is less than KL u / 10**12.  Source: Cover & Thomas (2006), lemma 11.6.1.

The gradients, by the logits x of p and y of q:

    dKL / dy[i]  =  q[i] - p[i]               dKL / dx[i]  =  p[i] (d[i] - KL)
"""

__all__ = ["kl_divergence", "kl_divergence_gradient"]

from collections.abc import Sequence
from math import expm1, factorial, fsum, inf, log1p
from typing import Any

from refcalc import _check
from refcalc._check import Nested
from refcalc.divergence._pairs import Named, RowPairs
from refcalc.exact_sum import ExactSum
from refcalc.softmax import row_log_softmax, row_softmax


def kl_divergence(p_logits: Nested, q_logits: Nested, *, reduction: str = "rowmean") -> Any:
    """Return KL(p || q) = sum_i p[i] log(p[i] / q[i]) of p = softmax(p_logits), q = softmax(q_logits), in nats.

    p_logits: scores of the distribution that weighs the classes (the teacher, the data), in nats and on any scale; -inf
        marks a class of probability zero.  [V], [N][V] or deeper, ragged in all but V.
    q_logits: scores of the distribution that p is compared with (the student, the model), nested alike.
    reduction: of many rows, "rowmean": the sum over the number of rows; "batchmean": over the length of the first axis;
        "mean": over the number of elements, which is no divergence; "sum"; or "none": one a row.

    The order of the arguments is that of torch.distributions.kl_divergence(p, q); torch.nn.functional.kl_div(log_q, p)
    turns it round.  "batchmean", "mean" and "sum" are its reductions, for [N][V] and deeper; `_pairs` compares them.
    0 log 0 is 0, and a class that p has and q has not makes it inf.

    >>> kl_divergence([0.0, 0.0], [0.0, float("-inf")]), kl_divergence([0.0, float("-inf")], [0.0, 0.0])
    (inf, 0.6931471805599453)
    >>> kl_divergence([1.0, 2.0], [1.0, 2.0])
    0.0
    >>> 0.0 < kl_divergence([0.0, 0.0], [0.0, 1e-12]) < 1.3e-25        # a sum of p log p - p log q would be noise
    True
    >>> p, q = [[0.0, float("-inf")], [1.0, 1.0]], [[0.0, 0.0], [2.0, 2.0]]
    >>> [kl_divergence(p, q, reduction=each) for each in ("rowmean", "mean", "none")]
    [0.34657359027997264, 0.17328679513998632, [0.6931471805599453, 0.0]]
    >>> kl_divergence([1.0, 2.0], [1.0])
    Traceback (most recent call last):
    ValueError: kl_divergence: q_logits must be as long as p_logits (2), got 1

    Raises as token_nll does, and ValueError for rows of different length or nests of different shape.

    Accuracy: 15 ulp for results above 1e-280, also where p and q are all but equal, down to logits that differ by an
    ulp or two: there the result is below 1e-30, and that is all that holds.  Proved below, for a libm with exp within
    0.52 and expm1 within 0.95 ulp; under 6 measured.  A p[i] below the least double counts as 0, and a log ratio beyond
    the doubles as inf.  Sums over rows are exact and rounded once: 1 ulp more for a mean.
    """
    pairs = RowPairs("kl_divergence", p_logits, q_logits, reduction)
    nested, rows = pairs.map(lambda p, q: _Pair(pairs.name, p, q).divergence())
    return nested if reduction == "none" else ExactSum(rows) / pairs.divisor


def kl_divergence_gradient(
    p_logits: Nested, q_logits: Nested, *, of: str = "q_logits", reduction: str = "rowmean"
) -> Any:
    """Return d kl_divergence / d q_logits, which is (q - p) / divisor, or d kl_divergence / d p_logits; nested alike.

    of: the argument that is differentiated: "q_logits" (a student trained on KL(teacher || student)) or "p_logits" (on
        KL(student || teacher)).
    The other arguments are those of kl_divergence; with reduction "none" the gradient is that of the sum.

    >>> kl_divergence_gradient([0.0, 0.0], [0.0, float("-inf")])
    [0.5, -0.5]
    >>> kl_divergence_gradient([0.0, -40.0], [0.0, -800.0])[0] > 0.0       # q - p would be 0.0
    True
    >>> kl_divergence_gradient([0.0, float("-inf")], [5.0, 2.0], of="p_logits")
    [0.0, 0.0]
    >>> kl_divergence_gradient([0.0, 0.0], [0.0, float("-inf")], of="p_logits")
    Traceback (most recent call last):
    ValueError: kl_divergence_gradient: q_logits must give a finite divergence from p_logits, got inf

    Raises as kl_divergence does, and ValueError for a gradient by p_logits where a divergence is inf.

    Accuracy: of q_logits 11 ulp of p[i] + q[i], or of 2 - p[i] - q[i] where both are above a half; of p_logits 25 ulp
    of p[i] (|d[i]| + KL + 2 sum_j |p[j] - q[j]|) for a KL above 1e-30 (under 5 measured): the common error of all d is
    a share of that sum, and d[i] alone may be far smaller.  Both over the divisor, where no product leaves the normal
    doubles.
    """
    name = "kl_divergence_gradient"
    _check.choice(name, "of", of, ("q_logits", "p_logits"))
    pairs = RowPairs(name, p_logits, q_logits, reduction)
    by_q = of == "q_logits"
    nested, slopes = pairs.map(lambda p, q: _Pair(name, p, q).slope_of_q() if by_q else _Pair(name, p, q).slope_of_p())
    for slope in slopes:
        slope[:] = [g / pairs.divisor for g in slope]
    return nested


class _Pair:
    """Two rows: their logits, p and q with 1 - p and 1 - q, and what added to logits makes them log p and log q."""

    def __init__(self, name: str, p: Named, q: Named) -> None:
        self.name, self.names = name, (p[0], q[0])
        self.xs, self.p, self.p_rest, p_shift = _normalised(name, *p)
        self.ys, self.q, self.q_rest, q_shift = _normalised(name, *q)
        self._shift = [*p_shift, -q_shift[0], -q_shift[1]]

    def divergence(self) -> float:
        """Return KL(p || q)."""
        # Ledger of a term, relative, in units of u; a probability carries 4.1 (the ledger in refcalc.softmax), d 1:
        #
        #     |d| < 1        d passes on 2.4, the series and its factors 4, the products 3, p 4.1     13.5
        #     1 <= d         d 1.8, expm1 1.9 * 1.72, the sum 1, the product 1, p 4.1                 11.2
        #     -2 <= d <= -1  d 2.9, expm1 1.9 * 2.4, the sum 1, the product 1, p 4.1                  13.6
        #     d < -2         q 4.1 * 1.69, p (1 - d) 7.1 * 0.69, the difference 1                     12.9
        #
        # and 1 for fsum.
        if any(y == -inf < x for x, y in zip(self.xs, self.ys, strict=True)):
            return inf
        try:
            return fsum(map(_term, self.p, self.q, self.log_ratios()))
        except OverflowError:
            return inf

    def log_ratios(self) -> list[float]:
        """Return d, what the normalisers' errors have in common taken off; -inf where p is 0."""
        delta = _common_error(self.p, self.q, self._log_ratios(self._shift))
        return self._log_ratios([*self._shift, -delta])

    def slope_of_q(self) -> list[float]:
        """Return q - p, from 1 - p and 1 - q where both are above a half."""
        columns = zip(self.p, self.p_rest, self.q, self.q_rest, strict=True)
        return [p_rest - q_rest if min(p, q) > 0.5 else q - p for p, p_rest, q, q_rest in columns]

    def slope_of_p(self) -> list[float]:
        """Return p (d - KL), 0.0 where p is 0."""
        kl = self.divergence()
        if kl == inf:
            _check.refuse(self.name, self.names[1], f"give a finite divergence from {self.names[0]}", inf)
        return [p * (d - kl) if p else 0.0 for p, d in zip(self.p, self.log_ratios(), strict=True)]

    def _log_ratios(self, shift: list[float]) -> list[float]:
        """Return d, each rounded once from the logits and the sum of shift; -inf where p is 0."""
        return [fsum((x, -y, *shift)) if p else -inf for p, x, y in zip(self.p, self.xs, self.ys, strict=True)]


def _normalised(
    function: str, argument: str, row: Sequence[Any]
) -> tuple[list[float], list[float], list[float], list[float]]:
    """Return the logits, p, 1 - p, and two numbers that added to a logit give its log-probability."""
    p, rest = row_softmax(function, argument, row)
    log_p = row_log_softmax(function, argument, row)
    zs = list(map(float, row))
    return zs, p, rest, [-max(zs), max(log_p)]


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
