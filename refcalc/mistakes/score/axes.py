"""Scoring one target with softmax over something else than the classes of its row.

Each function gives the nll, in nats, of target y on row t of sequence b.
"""

__all__ = ["reshape_not_transpose", "softmax_over_batch", "softmax_wrong_axis"]

from collections.abc import Sequence
from math import exp, fsum, log
from typing import Any

from refcalc.evidence import Batch
from refcalc.mistakes.kind import DoesNotApply, entered
from refcalc.mistakes.pipeline import Run, witness
from refcalc.softmax import logsumexp

_EXAMPLES = Batch, witness  # the names that the examples use


def _reshaped(run: Run, b: int, t: int) -> tuple[Sequence[float], float]:
    """Return row t of the reinterpreted scores, and its logsumexp."""
    # The rows that have a target, T - 1 of them, or all T where the last is asked for.
    length = run.evidence.lengths[b]
    rows = length if t == length - 1 else length - 1
    flat = run.remembered(("flat", b, rows), lambda: [z for s in range(rows) for z in run.row(b, s)])

    def reshaped() -> tuple[Sequence[float], float]:
        row = flat[t::rows]
        return row, logsumexp(row)

    return run.remembered(("reshaped", b, rows, t), reshaped)  # type: ignore[no-any-return]


def _reshaped_nlls(run: Run, b: int, t: int) -> list[float]:
    row, normal = _reshaped(run, b, t)
    return [normal - z for z in row]


@entered(
    "reshape-not-transpose",
    "score",
    "Shapes pass and the loss is near chance.",
    hidden_if="T = 1, or all scores are equal",
    remedy="Move the class axis (permute, transpose); a reshape only renames it.",
    reports="markhliu/DGAI#7, codertimo/BERT-pytorch#35, unslothai/unsloth#10713",
    needs=("logits",),
    row=_reshaped_nlls,
)
def reshape_not_transpose(run: Run, b: int, t: int, y: int) -> float:
    """The (T, V) scores of a sequence are reinterpreted as (V, T), where they should be transposed.

    >>> rows = [[0.0, 5.0, 0.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]]
    >>> witness(reshape_not_transpose, Batch(rows, [0, 1, 2]))
    'right 0.01338590172, wrong 0.8975613902'
    """
    row, normal = _reshaped(run, b, t)
    return normal - row[run.class_of(y)]


@entered(
    "softmax-wrong-axis",
    "score",
    "The loss is near log T, not near log V, and depends on the length of the sequence.",
    hidden_if="the sums over the two axes agree",
    remedy="Name the class axis (dim=-1).",
    reports="",
    needs=("logits",),
    aliases=("softmax-over-time",),
    row=lambda run, b, t: _column_nlls(run, ("time", b), _sequence(run, b), run.row(b, t)),
)
def softmax_wrong_axis(run: Run, b: int, t: int, y: int) -> float:
    """Softmax is taken over the places of a sequence, where it should be over the classes.

    >>> witness(softmax_wrong_axis, Batch([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [0, 1, 0]))
    'right 0.6931471806, wrong 1.098612289'
    """
    c = run.class_of(y)
    return _column_normaliser(run, ("time", b), _sequence(run, b), c) - run.row(b, t)[c]


@entered(
    "softmax-over-batch",
    "score",
    "The loss is near log B, and depends on the batch size.",
    hidden_if="the sums over the two axes agree",
    remedy="Name the class axis (dim=-1); without one, some functions take axis 0 of three.",
    needs=("logits",),
    row=lambda run, b, t: _column_nlls(run, ("batch", t), _across(run, t), run.row(b, t)),
)
def softmax_over_batch(run: Run, b: int, t: int, y: int) -> float:
    """Softmax is taken over the sequences of a batch, where it should be over the classes.

    >>> row = [[0.0, 0.0], [0.0, 0.0]]
    >>> witness(softmax_over_batch, Batch([row, row, row], [[0, 1], [1, 0], [0, 0]]))
    'right 0.6931471806, wrong 1.098612289'
    """
    if len(set(run.evidence.lengths)) > 1:
        raise DoesNotApply("sequences of one length")
    c = run.class_of(y)
    return _column_normaliser(run, ("batch", t), _across(run, t), c) - run.row(b, t)[c]


# --- private ---------------------------------------------------------------------------------------------------------


def _sequence(run: Run, b: int) -> list[tuple[int, int]]:
    return run.remembered(("sequence", b), lambda: [(b, s) for s in range(run.evidence.lengths[b])])  # type: ignore[no-any-return]


def _across(run: Run, t: int) -> list[tuple[int, int]]:
    return run.remembered(("across", t), lambda: [(a, t) for a in range(len(run.evidence.lengths))])  # type: ignore[no-any-return]


def _column_nlls(run: Run, key: Any, places: list[tuple[int, int]], row: Sequence[float]) -> list[float]:
    """Return the nll of each class where softmax runs over other places."""

    def normalisers() -> list[float]:
        return [_logsumexp(column) for column in zip(*(run.row(*place) for place in places), strict=True)]

    return [normal - z for normal, z in zip(run.remembered(("all", *key), normalisers), row, strict=True)]


def _column_normaliser(run: Run, key: Any, places: list[tuple[int, int]], c: int) -> float:
    """Return the logsumexp of class c over other places, where it should be over the classes."""

    def normaliser() -> float:
        return _logsumexp([run.row(*place)[c] for place in places])

    return run.remembered((*key, c), normaliser)  # type: ignore[no-any-return]


def _logsumexp(column: Sequence[float]) -> float:
    m = max(column)
    return log(fsum(map(exp, column))) if abs(m) < 600.0 else logsumexp(column)
