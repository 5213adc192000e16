"""The z-loss: what is added to a cross-entropy so that the softmax's normaliser stays near 1.

    Z  the sum of exp(z[j]) over a row      L = log Z, its logsumexp      c  a coefficient      p = softmax(z)

    z-loss of a row   =  c L**2
    its gradient      =  2 c L p[i]            (dL / dz[i] = p[i])

Cross-entropy does not change where all logits of a row are moved by the same amount; the z-loss holds that amount
down.  Its mean is taken over the same rows as the cross-entropy's, so the loss that is trained on is

    cross_entropy(logits, targets) + z_loss(logits, targets),

and its gradient is the sum of the two.  The sum is no nll, and its exponential no perplexity.  Sources: Chowdhery et
al. (2022), PaLM, arXiv:2204.02311, section 5, c = 1e-4; Zoph et al. (2022), ST-MoE, arXiv:2202.08906, equation 5, for
the logits of a router, c = 1e-3.
"""

__all__ = ["begin", "z_loss", "z_loss_gradient"]

from collections.abc import Sequence
from typing import Any

from refcalc import _check
from refcalc._check import Nested
from refcalc._scored import REDUCTIONS, ScoredRows
from refcalc.exact_sum import ExactSum
from refcalc.softmax import row_log_softmax, row_softmax
from refcalc.targets import IGNORE_INDEX


def z_loss(
    logits: Nested,
    targets: Nested = None,
    *,
    coefficient: float = 1e-4,
    ignore_index: int = IGNORE_INDEX,
    reduction: str = "mean",
) -> Any:
    """Return coefficient * logsumexp(row)**2, over the rows of a batch: a float, or a nest of them.

    logits: [V], [N][V] or deeper, class axis last, ragged elsewhere; -inf marks a class of probability zero.
    targets: those of the cross-entropy that it is added to, nested like the logits but one level less.  They say which
        rows count and nothing else; without them all do.
    coefficient: finite and not negative; 1e-4 is PaLM's.
    ignore_index: rows with this target do not count, their logits are not read.
    reduction: "mean" over the rows that count, "sum", or "none": every row's, 0.0 where ignored.

    >>> z_loss([0.0, 0.0], coefficient=1.0)                   # (log 2)**2
    0.4804530139182014
    >>> z_loss([[3.0], [5.0]], [-100, 0], coefficient=0.5)
    12.5
    >>> z_loss([[3.0], [5.0]], coefficient=0.5, reduction="none")
    [4.5, 12.5]
    >>> z_loss([0.0, 0.0], coefficient=-1.0)
    Traceback (most recent call last):
    ValueError: z_loss: coefficient must not be negative, got -1.0

    Raises as cross_entropy does, and ValueError for a coefficient that is negative or not finite.

    Accuracy: with e = 4 ulp of max(1, |m|, log V), which a logsumexp may be off by, a row's is within
    coefficient (2 |L| e + e**2) and 2 ulp, where no product leaves the normal doubles; sums are exact and rounded once.
    """
    rows = ScoredRows("z_loss", ("logits", "targets"), ignore_index, hard=True)
    c, given = begin(rows, logits, targets, coefficient, reduction)

    def scored(names: tuple[str, str], row: Sequence[Any], *_: Any) -> float:
        size = _logsumexp(rows.name, names[0], row)
        return c * size * size

    nested, losses, shares = rows.walk(scored, lambda classes: 0.0, logits, given)
    if reduction == "none":
        return nested
    if reduction == "sum":
        return float(ExactSum(losses))
    rows.check_denominator(shares, given)
    return ExactSum(losses) / len(losses)


def z_loss_gradient(
    logits: Nested,
    targets: Nested = None,
    *,
    coefficient: float = 1e-4,
    ignore_index: int = IGNORE_INDEX,
    reduction: str = "mean",
) -> Any:
    """Return d z_loss / d logits, 2 coefficient logsumexp(row) softmax(row), nested like the logits.

    The arguments are those of z_loss; with reduction "none" the gradient is that of the sum.  Ignored rows have 0.0.

    >>> z_loss_gradient([3.0, 3.0, float("-inf")], coefficient=0.5, reduction="sum")      # 3 + log 2, halved
    [1.8465735902799727, 1.8465735902799727, 0.0]
    >>> z_loss_gradient([[4.0], [0.0]], coefficient=0.5)
    [[2.0], [0.0]]

    Raises as z_loss does.

    Accuracy: with e as in z_loss, within 2 coefficient p[i] e and 9 ulp, where no product leaves the normal doubles.
    """
    rows = ScoredRows("z_loss_gradient", ("logits", "targets"), ignore_index, hard=True)
    c, given = begin(rows, logits, targets, coefficient, reduction)

    def scored(names: tuple[str, str], row: Sequence[Any], *_: Any) -> list[float]:
        size, shares = _logsumexp(rows.name, names[0], row), row_softmax(rows.name, names[0], row)[0]
        return [2.0 * (c * (size * p)) for p in shares]  # in this order no inf meets a share of 0

    nested, slopes, shares = rows.walk(scored, lambda classes: [0.0] * classes, logits, given)
    if reduction == "mean":
        rows.check_denominator(shares, given)
        for slope in slopes:
            slope[:] = [g / len(slopes) for g in slope]
    return nested


def begin(
    rows: ScoredRows, logits: Nested, targets: Nested, coefficient: float, reduction: str
) -> tuple[float, Nested]:
    """Return the coefficient and the targets, or a class for every row where there are none; for both tiers."""
    _check.choice(rows.name, "reduction", reduction, REDUCTIONS)
    c = _check.not_negative(rows.name, "coefficient", coefficient, finite=True)
    if targets is None:
        if rows.ignore_index != IGNORE_INDEX:
            _check.refuse(rows.name, "ignore_index", "stand beside targets", rows.ignore_index)
        targets = _check.map_rows(rows.name, lambda at, row: 0, ("logits",), (logits,))
    return c, targets


def _logsumexp(name: str, argument: str, row: Sequence[Any]) -> float:
    """logsumexp of a row with mass, in the name of another function: m + log1p(tail)."""
    log_p = row_log_softmax(name, argument, row)
    return max(map(float, row)) - max(log_p)
