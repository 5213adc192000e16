"""The second step done wrong: which row predicts which token?

Each function gives the items (b, t, c, p): row t of sequence b is scored against place p of sequence c.
Right is p = t + 1 in the same sequence.  Whether a wrong pair counts may be told from the mask of both places or from
the label alone, which differ beside padding: `Reading.by_labels`.
"""

__all__ = [
    "cross_row_leak",
    "double_shift",
    "no_shift",
    "no_shift_first_dropped",
    "no_shift_last_dropped",
    "reversed_shift",
]

from itertools import pairwise

from refcalc.evidence import Batch
from refcalc.mistakes.kind import entered
from refcalc.mistakes.pipeline import Item, Run, witness

_EXAMPLES = Batch, witness  # the names that the examples use


@entered(
    "no-shift",
    "align",
    "The loss is far too high, or near 0 where the model copies its input; there are T targets, not T - 1.",
    hidden_if="tokens and logits are constant",
    remedy="Score row t against token t + 1.",
    reports="huggingface/lighteval#1252, NVIDIA/FasterTransformer#274, huggingface/transformers#17960",
    aliases=("labels-not-shifted",),
    needs=("logits",),
)
def no_shift(run: Run) -> list[Item]:
    """Each row is scored against the token that it has just read.

    >>> rows = [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 1.0, 1.0]]
    >>> witness(no_shift, Batch(rows, [0, 0, 1, 2]))
    'right 0.2953041455, wrong 1.496131181'
    """
    return _shifted(run, 0)


@entered(
    "no-shift-first-dropped",
    "align",
    "The loss is far too high, although there are T - 1 targets.",
    hidden_if="tokens and logits are constant",
    remedy="Score row t against token t + 1; an echoed prompt needs the log-probability from the row before.",
    aliases=("echo-of-read-token",),
    needs=("logits",),
)
def no_shift_first_dropped(run: Run) -> list[Item]:
    """Each row but the first is scored against the token that it has just read.

    >>> rows = [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> witness(no_shift_first_dropped, Batch(rows, [1, 0, 1]))
    'right 0.4100375958, wrong 0.6931471806'
    """
    return [item for item in _shifted(run, 0) if item[1] > 0]


@entered(
    "no-shift-last-dropped",
    "align",
    "The loss is far too high, although there are T - 1 targets.",
    hidden_if="tokens and logits are constant",
    remedy="Cut the last row off the logits and the first token off the labels.",
    aliases=("both-cut-at-the-end",),
    needs=("logits",),
)
def no_shift_last_dropped(run: Run) -> list[Item]:
    """The last place is cut off logits and labels alike, so that each row is scored against the token it has read.

    >>> rows = [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> witness(no_shift_last_dropped, Batch(rows, [1, 0, 1]))
    'right 0.4100375958, wrong 1.410037596'
    """
    return [item for item in _shifted(run, 0) if item[1] < run.evidence.lengths[item[0]] - 1]


@entered(
    "double-shift",
    "align",
    "The loss is near chance on good text.",
    hidden_if="tokens and logits are constant",
    remedy="Shift once: either hand over labels as they stand, or a loss that does not shift.",
    reports="huggingface/transformers#47394, huggingface/transformers#46898, huggingface/transformers#44642, "
    "huggingface/transformers#32944, InternLM/InternLM#318",
    needs=("logits",),
)
def double_shift(run: Run) -> list[Item]:
    """Labels are shifted by the caller and again inside the loss, so that row t is scored against token t + 2.

    >>> rows = [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [1.0, 1.0, 1.0]]
    >>> witness(double_shift, Batch(rows, [0, 0, 1, 2]))
    'right 0.2953041455, wrong 1.89549474'
    """
    return _shifted(run, 2)


@entered(
    "reversed-shift",
    "align",
    "The loss is far too high, although there are T - 1 targets.",
    hidden_if="tokens and logits are constant",
    remedy="Cut the last row off the logits and the first token off the labels, not the other way round.",
    needs=("logits",),
)
def reversed_shift(run: Run) -> list[Item]:
    """Each row is scored against the token before the one that it has just read.

    >>> rows = [[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]]
    >>> witness(reversed_shift, Batch(rows, [1, 0, 0]))
    'right 0.4100375958, wrong 1.410037596'
    """
    return _shifted(run, -1)


@entered(
    "cross-row-leak",
    "align",
    "One target too many for each boundary between sequences, and each of them is chance.",
    hidden_if="there is one sequence, or the last place of each is padding",
    remedy="Shift each sequence, then flatten.",
    reports="huggingface/transformers#47394",
    needs=("logits",),
)
def cross_row_leak(run: Run) -> list[Item]:
    """The batch is flattened before the shift, so that a sequence's last row is scored against the next one's start.

    >>> rows = [[0.0, 0.0], [2.0, 0.0]]
    >>> witness(cross_row_leak, Batch([rows, rows], [[0, 0], [1, 0]]))
    'right 0.6931471806, wrong 1.171074124'
    """
    places = [(b, t) for b, n in enumerate(run.evidence.lengths) for t in range(n)]
    return [(*row, *place) for row, place in pairwise(places)]


# --- private ---------------------------------------------------------------------------------------------------------


def _shifted(run: Run, by: int) -> list[Item]:
    run.logits()
    lengths = enumerate(run.evidence.lengths)
    return [(b, t, b, t + by) for b, n in lengths for t in range(max(0, -by), min(n, n - by))]
