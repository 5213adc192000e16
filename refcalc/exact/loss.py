"""Cross-entropy, its gradient and the causal loss, correctly rounded: the names and the formula of refcalc.loss.

    w  class weights      e  label smoothing (the double given, exactly)      p = softmax(z)      q  target distribution

    a[c]  =  w[c] ((1 - e) q[c] + e / V),    A = sum_c a[c]
    loss of a row  =  sum_c a[c] nll[c]  =  sum_c a[c] (m - z[c])  +  A log1p(tail)
    its gradient   =  A p[c] - a[c]
    mean           =  sum of losses / D,     D = the sum of w[target] (hard rows) or N (soft rows)

The sums of a[c] and a[c] (m - z[c]) are rational and kept so, D too; each result is rounded once, at the end.
"""

__all__ = ["batch_nll", "causal_lm_loss", "cross_entropy", "cross_entropy_gradient"]

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

from refcalc import _check
from refcalc._check import Nested
from refcalc._scored import REDUCTIONS, causal_targets
from refcalc.exact._read import exact_row
from refcalc.exact._rounding import affine, nearest, rounded
from refcalc.exact._row import Row
from refcalc.exact._scored import ExactRows
from refcalc.exact.softmax import probability, row_nll
from refcalc.exact.value import ONE, ZERO, Nll
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
    """Return the cross-entropy between the targets and softmax(logits), in nats: a double, or a nest of them.

    The arguments are those of refcalc.cross_entropy.

    >>> cross_entropy([[0.0] * 8] * 3, [0, 1, 2], weight=[1.0 + 2**-52] * 8, reduction="sum")
    6.2383246250395095
    >>> cross_entropy([[0.0, -745.0], [0.0, -745.0]], [0, 0], reduction="none")
    [5e-324, 5e-324]

    Raises what refcalc.cross_entropy raises, and ValueError for a number that is not exactly a double.

    Accuracy: correctly rounded, proved; ArithmeticError where 2**14 bits do not decide, which takes rows made for it.
    """
    rows = ExactRows("cross_entropy", ("logits", "targets"), ignore_index, weight, label_smoothing)
    return _reduced(rows, logits, targets, reduction)


def batch_nll(
    logits: Nested,
    targets: Nested,
    *,
    ignore_index: int = IGNORE_INDEX,
    weight: Sequence[float] | None = None,
    label_smoothing: float = 0.0,
    reduction: str = "sum",
) -> Nll:
    """Return the cross-entropy of a batch as an Nll, not rounded yet: to merge, to divide, and to express.

    The arguments are those of refcalc.cross_entropy; reduction is "sum" or "mean".

    >>> from refcalc.exact import perplexity
    >>> perplexity(batch_nll([[0.0, 0.0, 0.0], [7.0, 7.0, 7.0]], [0, 2], reduction="mean"))
    3.0

    Raises as cross_entropy does.  Accuracy: exact.
    """
    rows = ExactRows("batch_nll", ("logits", "targets"), ignore_index, weight, label_smoothing)
    _check.choice(rows.name, "reduction", reduction, ("mean", "sum"))
    if reduction == "mean":
        return _mean(rows, logits, targets, targets, keep=True)
    return _total(rows, logits, targets, keep=True)[0]


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

    The arguments are those of refcalc.cross_entropy.  Ignored rows have gradient 0.0; no 0.0 has a sign.

    >>> cross_entropy_gradient([2000.0, 0.0, 0.0, 0.0], 0, label_smoothing=0.1)[0]    # half-way, less 3 e**-2000
    0.075
    >>> cross_entropy_gradient([0.0, 0.0], [0.5, 0.5])
    [0.0, 0.0]

    Raises as cross_entropy does.  Accuracy: correctly rounded, proved.
    """
    rows = ExactRows("cross_entropy_gradient", ("logits", "targets"), ignore_index, weight, label_smoothing)
    _check.choice(rows.name, "reduction", reduction, REDUCTIONS)
    found: list[tuple[Row, list[Fraction], list[float]]] = []

    def scored(names: tuple[str, str], row: Sequence[Any], y: int | None, q: list[float] | None) -> list[float]:
        slope: list[float] = []
        found.append((exact_row(rows.name, names[0], row), rows.masses(y, q), slope))
        return slope

    nested, _, shares = rows.walk(scored, lambda classes: [0.0] * classes, logits, targets)
    divisor = rows.denominator(shares, targets) if reduction == "mean" else ONE
    for row, masses, slope in found:
        slope[:] = _slope(rows.name, row, [a / divisor for a in masses])
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

    The arguments are those of refcalc.causal_lm_loss.

    >>> causal_lm_loss([[0.0, 0.0], [5.0, 1.0]], [0, 1], num_items=3)          # log(2) / 3
    0.23104906018664845

    Raises as cross_entropy does, and ValueError if num_items is below 1 or stands beside another reduction.
    Accuracy: correctly rounded, proved.
    """
    name = "causal_lm_loss"
    _check.choice(name, "reduction", reduction, REDUCTIONS)
    if num_items is not None:
        if reduction != "mean":
            _check.refuse(name, "num_items", f"be None with reduction {reduction!r}", num_items)
        num_items = _check.count(name, "num_items", num_items, least=1)
    rows = ExactRows(name, ("logits", "labels"), ignore_index, hard=True, shifted=True)
    targets = causal_targets(name, labels, attention_mask, rows.ignore_index)
    if num_items is not None:
        return (_total(rows, logits, targets)[0] / Fraction(num_items)).nats(name)
    losses = _reduced(rows, logits, targets, reduction, labels)
    return _without_last(losses) if reduction == "none" else losses


def _reduced(rows: ExactRows, logits: Nested, targets: Nested, reduction: str, given: Nested = None) -> Any:
    """Return the losses reduced; a mean of nothing is refused by the targets, or by what they were given as."""
    _check.choice(rows.name, "reduction", reduction, REDUCTIONS)
    if reduction == "sum":
        return _total(rows, logits, targets)[0].nats(rows.name)
    if reduction == "mean":
        return _mean(rows, logits, targets, targets if given is None else given).nats(rows.name)

    def scored(names: tuple[str, str], row: Sequence[Any], y: int | None, q: list[float] | None) -> float:
        exact = exact_row(rows.name, names[0], row)
        if y is not None and not rows.weight and not rows.smoothing:
            return row_nll(rows.name, exact, y)
        return rows.loss(exact, y, q).nats(rows.name)

    return rows.walk(scored, lambda classes: 0.0, logits, targets)[0]


def _total(rows: ExactRows, logits: Nested, targets: Nested, keep: bool = False) -> tuple[Nll, list[float]]:
    """Return the sum of the rows' losses, and their shares of D; with keep, of copies of the rows."""

    def scored(names: tuple[str, str], row: Sequence[Any], y: int | None, q: list[float] | None) -> Nll:
        exact = exact_row(rows.name, names[0], row)
        return rows.loss(exact.freeze() if keep else exact, y, q)

    _, losses, shares = rows.walk(scored, lambda classes: None, logits, targets)
    return Nll.total(losses), shares


def _mean(rows: ExactRows, logits: Nested, targets: Nested, given: Nested, keep: bool = False) -> Nll:
    total, shares = _total(rows, logits, targets, keep)
    return total / rows.denominator(shares, given)


def _slope(function: str, row: Row, masses: list[Fraction]) -> list[float]:
    """Return A p[c] - a[c] for each class of one row, masses being a."""
    total = sum(masses, ZERO)
    if row.ties:
        exact = [(0 if x == -inf else total / row.ties) - a for x, a in zip(row.xs, masses, strict=True)]
        return [nearest(g.numerator, g.denominator) for g in exact]

    def class_slope(c: int, x: float) -> float:
        a = masses[c]
        if x == -inf or not total:
            return nearest(-a.numerator, a.denominator)
        # Where p is nearly 1, 1 - p = tail / (1 + tail) keeps its digits: A p - a = (A - a) - A (1 - p).
        if c == row.k:
            return rounded(function, lambda level: affine(total - a, -total, row.rest_share(level)), start=2)
        return rounded(function, lambda level: affine(-a, total, probability(row, x, level)), start=2)

    return [class_slope(c, x) for c, x in enumerate(row.xs)]


def _without_last(nested: Any) -> Any:
    """Return a nest of losses with the last of each sequence dropped: it had no label."""
    if nested and isinstance(nested[0], list):
        return [_without_last(each) for each in nested]
    return nested[:-1]
