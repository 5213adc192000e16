"""Cross-entropy over many positions, its gradient, and the loss of a causal language model.

    N  scored rows      V  classes      p = softmax(z), one row's probabilities
    q  the target distribution of a row: 1 for the target of a hard row, or the probabilities given (soft rows)
    w  class weights    e  label smoothing

Every variant is one formula.  Smoothing mixes the target distribution with the uniform one, weights scale its classes:

    a[c]  =  w[c] ((1 - e) q[c] + e / V)
    loss of a row      =  - sum_c a[c] log p[c]              with 0 log 0 = 0
    its gradient       =  A p[c] - a[c],   A = sum_c a[c]
    mean over the rows =  sum of losses / D,   D = the sum of w[target] (hard rows) or N (soft rows)

That is what PyTorch's cross_entropy computes, and ONNX's SoftmaxCrossEntropyLoss where both define it.

Accuracy ("bounded"): all terms are positive, so their errors do not grow.  A row's loss carries the 5 ulp of token_nll,
4 roundings of a[c], the product's and the sum's: 11 ulp, and 6 for hard targets without smoothing.  Sums over rows are
exact and rounded once, denominators too: 1 ulp more.  Proved, where no product on the way (a weight, a share of the
smoothing, an nll, a probability) leaves the normal doubles: an nll beyond them is inf before it is weighted, a share
below them 0.  exact has the same names, correctly rounded, and no such condition.
"""

__all__ = ["causal_lm_loss", "cross_entropy", "cross_entropy_gradient", "masked_mean"]

from collections.abc import Sequence
from functools import partial
from math import fsum, inf
from typing import Any

from refcalc import _check
from refcalc._check import Nested, Row
from refcalc._scored import REDUCTIONS, ScoredRows, causal_targets
from refcalc.exact_sum import ExactSum
from refcalc.softmax import row_log_softmax, row_nll, row_softmax
from refcalc.targets import IGNORE_INDEX


def cross_entropy(
    logits: Nested,
    targets: Nested,
    *,
    ignore_index: int = IGNORE_INDEX,
    weight: Sequence[float] | None = None,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """Return the cross-entropy between the targets and softmax(logits), in nats: a float, or a nest of them.

    logits: [V], [N][V] or deeper, class axis last, ragged elsewhere; -inf marks a class of probability zero.
    targets: classes, nested like the logits but one level less; or probabilities, nested like the logits.
    ignore_index: rows with this target are not scored, their logits not read; it may be a class.
    weight: V class weights, finite and not negative.
    label_smoothing: e in [0, 1], spread over all V classes.
    reduction: "mean" over the scored rows (over their weights, for hard targets), "sum", or "none": every row's loss,
        nested like the rows, 0.0 where ignored.

    >>> rows = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [9.0, 9.0, 9.0]]
    >>> cross_entropy(rows, [-100, 0, 2])
    1.0986122886681098
    >>> cross_entropy(rows, [-100, 0, 2], reduction="none")
    [0.0, 1.0986122886681098, 1.0986122886681098]
    >>> cross_entropy([0.0, 0.0], [0.5, 0.5])
    0.6931471805599453
    >>> cross_entropy(rows, [-100, -100, -100])
    Traceback (most recent call last):
    ValueError: cross_entropy: targets must hold a target that counts (nothing to average), got [-100, -100, -100]

    Raises ValueError for a target outside [0, V) that is not the ignore index, rows of different V, nan or +inf in a
    scored row, a scored row of nothing but -inf, a negative weight or probability, and a mean of nothing; TypeError for
    what is no number.

    Accuracy: 12 ulp, 7 for hard targets without smoothing, where no product leaves the normal doubles; proved in the
    module's docstring.
    Source: the formulas of torch.nn.CrossEntropyLoss (PyTorch 2.13 documentation), ONNX SoftmaxCrossEntropyLoss-13.
    """
    rows = ScoredRows("cross_entropy", ("logits", "targets"), ignore_index, weight, label_smoothing)
    return _reduced(rows, logits, targets, reduction)


def cross_entropy_gradient(
    logits: Nested,
    targets: Nested,
    *,
    ignore_index: int = IGNORE_INDEX,
    weight: Sequence[float] | None = None,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """Return d cross_entropy / d logits, nested like the logits; with reduction "none", that of the sum.

    The arguments are those of cross_entropy.  Ignored rows have gradient 0.0.

    >>> cross_entropy_gradient([[0.0, 0.0], [0.0, 0.0]], [0, -100], reduction="sum")
    [[-0.5, 0.5], [0.0, 0.0]]
    >>> cross_entropy_gradient([0.0, -40.0], 0)[0] < 0.0     # p - 1 would be 0.0 on a confident hit
    True

    Raises as cross_entropy does.

    Accuracy: 16 ulp of A p[c] + a[c] over the denominator; for hard targets without smoothing 16 ulp of the result;
    where no product, and no p[c], leaves the normal doubles.
    """
    rows = ScoredRows("cross_entropy_gradient", ("logits", "targets"), ignore_index, weight, label_smoothing)
    _check.choice(rows.name, "reduction", reduction, REDUCTIONS)
    nested, slopes, shares = rows.walk(partial(_row_slope, rows), lambda classes: [0.0] * classes, logits, targets)
    if reduction == "mean":
        rows.check_denominator(shares, targets)
        denominator = float(ExactSum(shares))
        for slope in slopes:
            slope[:] = [g / denominator for g in slope]
    return nested


def causal_lm_loss(
    logits: Nested,
    labels: Nested,
    *,
    attention_mask: Nested = None,
    ignore_index: int = IGNORE_INDEX,
    num_items: int | None = None,
    reduction: str = "mean",
) -> Any:
    """Return the cross-entropy of each label given the row before it, in nats: the shift happens here.

    logits: [T][V] or [B][T][V].  labels: [T] or [B][T], not shifted; the ignore index marks places that do not count.
    attention_mask: 0/1, nested like the labels; a pair (row t, label t + 1) counts if both places are unmasked.
    num_items: divide the sum by this count instead of by the number of scored targets (all micro-batches' or all
        ranks' targets under gradient accumulation); only with reduction "mean".
    reduction: "mean", "sum", or "none": [T-1] losses for each sequence, 0.0 where ignored.

    >>> causal_lm_loss([[0.0, 0.0], [5.0, 1.0]], [0, 1])         # one pair: row 0, label 1
    0.6931471805599453
    >>> causal_lm_loss([[0.0, 0.0], [5.0, 1.0]], [0, 1], num_items=2)
    0.34657359027997264

    Raises as cross_entropy does, and ValueError if num_items is below 1 or stands beside another reduction.

    Accuracy: 6 ulp (token_nll's 5, the exact mean's rounding); proved.
    Source: the convention of transformers' causal loss (labels shifted inside, num_items_in_batch as denominator).
    """
    name = "causal_lm_loss"
    _check.choice(name, "reduction", reduction, REDUCTIONS)
    if num_items is not None:
        if reduction != "mean":
            _check.refuse(name, "num_items", f"be None with reduction {reduction!r}", num_items)
        num_items = _check.count(name, "num_items", num_items, least=1)
    rows = ScoredRows(name, ("logits", "labels"), ignore_index, hard=True, shifted=True)
    targets = causal_targets(name, labels, attention_mask, rows.ignore_index)
    if num_items is not None:
        return ExactSum(_losses(rows, logits, targets)[1]) / num_items
    losses = _reduced(rows, logits, targets, reduction, labels)
    return _without_last(losses) if reduction == "none" else losses


def masked_mean(values: Sequence[float], mask: Sequence[float]) -> float:
    """Return sum(mask[i] values[i]) / sum(mask): the mean over the unmasked values, or a weighted mean.

    values: numbers, nested like the mask; those under a 0 are not read.
    mask: 0/1 or bool, or weights that are finite and not negative.

    >>> masked_mean([1.0, 3.0, float("nan")], [1, 1, 0])
    2.0
    >>> masked_mean([1.0, 2.0], [0, 0])
    Traceback (most recent call last):
    ValueError: masked_mean: mask must have a sum above 0 (nothing to average), got [0, 0]

    Raises ValueError if the two differ in length, for a negative weight, nan in a value that counts, or if every weight
    is 0; TypeError for what is no number.

    Accuracy: 0/1 masks correctly rounded; weights 2 ulp of the sum of |mask[i] values[i]| over the sum of weights,
    where no product leaves the normal doubles.
    """
    name = "masked_mean"
    products: list[float] = []
    counted: list[float] = []

    def weigh(at: str, row: Sequence[Any], weights: Nested) -> None:
        kept = _check.weights(name, "mask" + at, weights)
        _check.same_length(name, "mask" + at, kept, "values" + at, len(row))
        for i, (value, w) in enumerate(zip(row, kept, strict=True)):
            if w:
                products.append(w * _check.not_nan(name, f"values{at}[{i}]", value))
                counted.append(w)

    _check.map_rows(name, weigh, ("values", "mask"), (values, mask))
    if inf in products and -inf in products:
        _check.refuse(name, "values", "not hold both inf and -inf where the mask counts", values)
    if not counted:
        _check.refuse(name, "mask", "have a sum above 0 (nothing to average)", mask)
    return ExactSum(products) / ExactSum(counted)


# --- private ---------------------------------------------------------------------------------------------------------


def _losses(rows: ScoredRows, logits: Nested, targets: Nested) -> tuple[Any, list[float], list[float]]:
    return rows.walk(partial(_row_loss, rows), lambda classes: 0.0, logits, targets)


def _reduced(rows: ScoredRows, logits: Nested, targets: Nested, reduction: str, given: Nested = None) -> Any:
    _check.choice(rows.name, "reduction", reduction, REDUCTIONS)
    nested, losses, shares = _losses(rows, logits, targets)
    if reduction == "none":
        return nested
    if reduction == "sum":
        return float(ExactSum(losses))
    rows.check_denominator(shares, targets if given is None else given)
    return ExactSum(losses) / ExactSum(shares)


def _row_mass(rows: ScoredRows, y: int | None, q: list[float] | None) -> list[float]:
    """Return a[0..V-1] of the module's docstring, for a class y or probabilities q."""
    e, w = rows.smoothing, rows.weight or [1.0] * rows.classes
    spread = e / rows.classes
    if q is not None:
        return [wc * ((1.0 - e) * qc + spread) for wc, qc in zip(w, q, strict=True)]
    assert y is not None
    mass = [wc * spread for wc in w]
    mass[y] = w[y] * ((1.0 - e) + spread)
    return mass


def _row_loss(rows: ScoredRows, names: tuple[str, str], row: Row, y: int | None, q: list[float] | None) -> float:
    """Return - sum_c a[c] log p[c] for one scored row."""
    if y is not None and not rows.smoothing:
        w = rows.weight[y] if rows.weight else 1.0
        nll = row_nll(rows.name, names[0], row, names[1], y)
        return w * nll if w else 0.0
    log_p = row_log_softmax(rows.name, names[0], row)
    try:
        return fsum([a * -lp for a, lp in zip(_row_mass(rows, y, q), log_p, strict=True) if a])
    except OverflowError:  # beyond the doubles
        return inf


def _row_slope(rows: ScoredRows, names: tuple[str, str], row: Row, y: int | None, q: list[float] | None) -> list[float]:
    """Return A p[c] - a[c] for each class of one scored row."""
    # Where p[c] is near 1 this cancels.  The same number without cancellation on a hard target:
    #
    #     p[c] (A - a[c])  -  a[c] (1 - p[c]),
    #
    # where A - a[c] and 1 - p[c] are sums over the other classes, taken so for the class that holds more than half.
    p, rest = row_softmax(rows.name, names[0], row)
    mass = _row_mass(rows, y, q)
    total, largest = fsum(mass), max(mass)
    others = [total - a for a in mass]
    if largest > 0.5 * total:
        c = mass.index(largest)
        others[c] = fsum([*mass[:c], *mass[c + 1 :]])
    return [pc * other - a * r for pc, other, a, r in zip(p, others, mass, rest, strict=True)]


def _without_last(nested: Any) -> Any:
    """Return a nest of losses with the last of each sequence dropped: it had no label."""
    if nested and isinstance(nested[0], list):
        return [_without_last(each) for each in nested]
    return nested[:-1]
