"""Scoring one target wrongly: softmax twice, no softmax, the wrong classes or the wrong axis in it.

Each function gives the nll, in nats, of target y on row t of sequence b.
"""

__all__ = [
    "double_softmax",
    "ignored_class_in_normaliser",
    "padded_vocab_in_softmax",
    "raw_logit_nll",
    "reshape_not_transpose",
    "softmax_over_batch",
    "softmax_wrong_axis",
    "target_index_wraps",
]

from math import exp, fsum, inf, log
from typing import Any

from refcalc.evidence import Batch
from refcalc.mistakes.kind import DoesNotApply, entered
from refcalc.mistakes.pipeline import Run, witness
from refcalc.softmax import logsumexp

_EXAMPLES = Batch, witness  # the names that the examples use


@entered(
    "double-softmax",
    "score",
    "The loss does not fall below log(1 + (V - 1) / e), however good the model.",
    hidden_if="softmax leaves the row as it is up to a constant: all scores equal",
    remedy="Hand logits to a loss that takes logits; log_softmax twice is harmless, softmax twice is not.",
    reports="ariecattan/SciCo#2, tflearn/tflearn#562, bowang-lab/Transformer-GCN-QA#32",
    aliases=("probabilities-as-logits",),
    needs=("logits",),
)
def double_softmax(run: Run, b: int, t: int, y: int) -> float:
    """Probabilities are handed over as if they were logits, so that softmax is taken of them once more.

    >>> witness(double_softmax, Batch([[50.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [1, 0]))
    'right 3.857499696e-22, wrong 0.5514447139'
    """

    def normaliser() -> tuple[float, float]:
        m, log_sum = run.facts(b, t)
        top = exp(-log_sum)
        p = [exp(z - m) * top for z in run.row(b, t)]
        return m + log_sum, log(fsum(map(exp, p)))

    normal, second = run.remembered(("double", b, t), normaliser)
    return second - exp(float(run.row(b, t)[_class(run, y)]) - normal)  # type: ignore[no-any-return]


@entered(
    "raw-logit-nll",
    "score",
    "The loss is negative, or falls without end.",
    hidden_if="the logits are log-probabilities already",
    remedy="Subtract the target's logit from the row's logsumexp.",
    needs=("logits",),
    aliases=("nll-of-logits",),
)
def raw_logit_nll(run: Run, b: int, t: int, y: int) -> float:
    """Logits are handed over as if they were log-probabilities, so that the loss is minus the target's logit.

    >>> witness(raw_logit_nll, Batch([[3.0, 3.0], [0.0, 0.0]], [0, 1]))
    'right 0.6931471806, wrong -3'
    """
    return -float(run.row(b, t)[_class(run, y)])


@entered(
    "padded-vocab-in-softmax",
    "score",
    "The loss is slightly too high, by the probability of classes that no token has.",
    hidden_if="the scores of the added classes are -inf",
    remedy="Cut the rows to the real vocabulary, or set the scores of the added classes to -inf, before softmax.",
    reports="NeelM0906/Mference#30, mlc-ai/xgrammar#220, karpathy/llm.c#143",
    needs=("logits", "vocab_size"),
)
def padded_vocab_in_softmax(run: Run, b: int, t: int, y: int) -> float:
    """Classes that were added to round the vocabulary up take part in the normaliser.

    >>> witness(padded_vocab_in_softmax, Batch([[2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], [1, 0], vocab_size=3))
    'right 0.4076059644, wrong 0.4938117091'
    """
    row = run.whole_row(b, t, padded=True)
    normal = run.remembered(("padded", b, t), lambda: logsumexp(row))
    return normal - float(row[_class(run, y)])  # type: ignore[no-any-return]


@entered(
    "ignored-class-in-normaliser",
    "score",
    "Two losses differ by the probability of the ignored class.",
    hidden_if="the ignored class has probability 0",
    remedy="Say which is meant: to ignore targets (the class stays in softmax) or to remove a class (its score is -inf).",
    reports="pytorch/pytorch#63004",
    needs=("logits",),
    sort="convention",
)
def ignored_class_in_normaliser(run: Run, b: int, t: int, y: int) -> float:
    """An ignore index that is a class removes the class from softmax, where it should remove targets only.

    >>> witness(ignored_class_in_normaliser, Batch([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]], [2, 1], ignore_index=0))
    'right 0.8619948041, wrong 0.6931471806'
    """
    ignored = run.logits().ignore_index
    if not 0 <= ignored < run.logits().classes:
        raise DoesNotApply("an ignore index that is a class")
    row = run.row(b, t)

    def without() -> float:
        return logsumexp([z for c, z in enumerate(row) if c != ignored])

    return run.remembered(("without ignored", b, t), without) - float(row[_class(run, y)])  # type: ignore[no-any-return]


@entered(
    "reshape-not-transpose",
    "score",
    "Shapes pass and the loss is near chance.",
    hidden_if="T = 1, or all scores are equal",
    remedy="Move the class axis (permute, transpose); a reshape only renames it.",
    reports="markhliu/DGAI#7, codertimo/BERT-pytorch#35, unslothai/unsloth#10713",
    needs=("logits",),
)
def reshape_not_transpose(run: Run, b: int, t: int, y: int) -> float:
    """The (T, V) scores of a sequence are reinterpreted as (V, T), where they should be transposed.

    >>> rows = [[0.0, 5.0, 0.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]]
    >>> witness(reshape_not_transpose, Batch(rows, [0, 1, 2]))
    'right 0.01338590172, wrong 0.8975613902'
    """
    # The rows that have a target, T - 1 of them, or all T where the last is asked for.
    length = run.evidence.lengths[b]
    rows = length if t == length - 1 else length - 1
    classes = run.logits().classes

    def columns() -> list[list[float]]:
        flat = [float(z) for s in range(rows) for z in run.row(b, s)]
        return [flat[s::rows] for s in range(rows)]

    row = run.remembered(("reshaped", b, rows), columns)[t]
    normal = run.remembered(("reshaped", b, rows, t), lambda: logsumexp(row))
    return normal - row[_class(run, y, classes)]  # type: ignore[no-any-return]


@entered(
    "softmax-wrong-axis",
    "score",
    "The loss is near log T, not near log V, and depends on the length of the sequence.",
    hidden_if="the sums over the two axes agree",
    remedy="Name the class axis (dim=-1).",
    reports="",
    needs=("logits",),
    aliases=("softmax-over-time",),
)
def softmax_wrong_axis(run: Run, b: int, t: int, y: int) -> float:
    """Softmax is taken over the places of a sequence, where it should be over the classes.

    >>> witness(softmax_wrong_axis, Batch([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [0, 1, 0]))
    'right 0.6931471806, wrong 1.098612289'
    """
    return _over_axis(run, ("time", b), [(b, s) for s in range(run.evidence.lengths[b])], b, t, y)


@entered(
    "softmax-over-batch",
    "score",
    "The loss is near log B, and depends on the batch size.",
    hidden_if="the sums over the two axes agree",
    remedy="Name the class axis (dim=-1); without one, some functions take axis 0 of three.",
    needs=("logits",),
)
def softmax_over_batch(run: Run, b: int, t: int, y: int) -> float:
    """Softmax is taken over the sequences of a batch, where it should be over the classes.

    >>> row = [[0.0, 0.0], [0.0, 0.0]]
    >>> witness(softmax_over_batch, Batch([row, row, row], [[0, 1], [1, 0], [0, 0]]))
    'right 0.6931471806, wrong 1.098612289'
    """
    if len(set(run.evidence.lengths)) > 1:
        raise DoesNotApply("sequences of one length")
    return _over_axis(run, ("batch", t), [(a, t) for a in range(len(run.evidence.lengths))], b, t, y)


@entered(
    "target-index-wraps",
    "score",
    "A plausible number for a label that is no class.",
    hidden_if="every label is a class",
    remedy="Refuse labels outside [0, V) that are not the ignore index.",
    reports="Theano/Theano#3042, PaddlePaddle/Paddle#10945, PaddlePaddle/Paddle#36891, tensorflow/tensorflow#3739, "
    "tensorflow/tensorflow#8484",
    needs=("logits",),
)
def target_index_wraps(run: Run, b: int, t: int, y: int) -> float:
    """A negative label is taken as an index from the end of the row.

    >>> run = Run(Batch([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [0, 2], labels=[0, -1]))
    >>> round(run.value(target_index_wraps.mistake), 10)     # there is no right value
    0.4076059644
    """
    return run.nll(b, t, y + run.logits().classes if y < 0 else y)


# --- private ---------------------------------------------------------------------------------------------------------


def _class(run: Run, y: int, classes: int | None = None) -> int:
    """Return y, or decline: a target that is no class is another mistake."""
    if not 0 <= y < (classes or run.logits().classes):
        raise DoesNotApply("targets that are classes")
    return y


def _over_axis(run: Run, key: Any, places: list[tuple[int, int]], b: int, t: int, y: int) -> float:
    """Return the nll of class y with a softmax over other places instead of over the classes."""
    c = _class(run, y)

    def normaliser() -> float:
        column = [float(run.whole_row(*place)[c]) for place in places]
        return logsumexp(column) if max(column) > -inf else -inf

    normal = run.remembered((*key, c), normaliser)
    return normal - float(run.row(b, t)[c])  # type: ignore[no-any-return]
