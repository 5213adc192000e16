"""Scoring one target wrongly: softmax twice, no softmax, or the wrong classes in it.

Each function gives the nll, in nats, of target y on row t of sequence b.
"""

__all__ = [
    "double_softmax",
    "ignored_class_in_normaliser",
    "padded_vocab_in_softmax",
    "raw_logit_nll",
    "target_index_wraps",
]

from collections.abc import Callable
from math import exp, fsum, log

from refcalc.evidence import Batch
from refcalc.mistakes.kind import DoesNotApply, entered
from refcalc.mistakes.pipeline import Run, witness
from refcalc.softmax import logsumexp

_EXAMPLES = Batch, witness  # the names that the examples use


def _probability_normaliser(run: Run, b: int, t: int) -> tuple[Callable[[float], float], float]:
    """Return the probability of a score, and the logsumexp of a row's probabilities."""
    m, log_sum = run.facts(b, t)
    normal = m + log_sum

    def second() -> float:
        if abs(m) < 600.0:  # exp(z) is a double, and so is its share
            total = exp(-normal)
            return log(fsum(map(exp, [x * total for x in map(exp, run.row(b, t))])))
        return log(fsum(exp(exp(z - normal)) for z in run.row(b, t)))

    return lambda z: exp(z - normal), run.remembered(("double", b, t), second)


def _second_nlls(run: Run, b: int, t: int) -> list[float]:
    p, second = _probability_normaliser(run, b, t)
    return [second - p(z) for z in run.row(b, t)]


def _padded_normaliser(run: Run, b: int, t: int) -> float:
    return run.remembered(("padded", b, t), lambda: logsumexp(run.padded_row(b, t)))  # type: ignore[no-any-return]


@entered(
    "double-softmax",
    "score",
    "The loss does not fall below log(1 + (V - 1) / e), however good the model.",
    hidden_if="softmax leaves the row as it is up to a constant: all scores equal",
    remedy="Hand logits to a loss that takes logits; log_softmax twice is harmless, softmax twice is not.",
    reports="ariecattan/SciCo#2, tflearn/tflearn#562, bowang-lab/Transformer-GCN-QA#32",
    aliases=("probabilities-as-logits",),
    needs=("logits",),
    row=_second_nlls,
)
def double_softmax(run: Run, b: int, t: int, y: int) -> float:
    """Probabilities are handed over as if they were logits, so that softmax is taken of them once more.

    >>> witness(double_softmax, Batch([[50.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [1, 0]))
    'right 3.857499696e-22, wrong 0.5514447139'
    """

    p, second = _probability_normaliser(run, b, t)
    return second - p(run.row(b, t)[run.class_of(y)])


@entered(
    "raw-logit-nll",
    "score",
    "The loss is negative, or falls without end.",
    hidden_if="the logits are log-probabilities already",
    remedy="Subtract the target's logit from the row's logsumexp.",
    needs=("logits",),
    aliases=("nll-of-logits",),
    row=lambda run, b, t: [-z for z in run.row(b, t)],
)
def raw_logit_nll(run: Run, b: int, t: int, y: int) -> float:
    """Logits are handed over as if they were log-probabilities, so that the loss is minus the target's logit.

    >>> witness(raw_logit_nll, Batch([[3.0, 3.0], [0.0, 0.0]], [0, 1]))
    'right 0.6931471806, wrong -3'
    """
    return -run.row(b, t)[run.class_of(y)]


@entered(
    "padded-vocab-in-softmax",
    "score",
    "The loss is slightly too high, by the probability of classes that no token has.",
    hidden_if="the scores of the added classes are -inf",
    remedy="Cut the rows to the real vocabulary, or set the scores of the added classes to -inf, before softmax.",
    reports="NeelM0906/Mference#30, mlc-ai/xgrammar#220, karpathy/llm.c#143",
    needs=("logits", "vocab_size"),
    row=lambda run, b, t: [_padded_normaliser(run, b, t) - z for z in run.row(b, t)],
)
def padded_vocab_in_softmax(run: Run, b: int, t: int, y: int) -> float:
    """Classes that were added to round the vocabulary up take part in the normaliser.

    >>> witness(padded_vocab_in_softmax, Batch([[2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], [1, 0], vocab_size=3))
    'right 0.4076059644, wrong 0.4938117091'
    """
    return _padded_normaliser(run, b, t) - run.row(b, t)[run.class_of(y)]


@entered(
    "ignored-class-in-normaliser",
    "score",
    "Two losses differ by the probability of the ignored class.",
    hidden_if="the ignored class has probability 0",
    remedy="Say which is meant: ignoring targets (the class stays in softmax) or removing a class (its score is -inf).",
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

    return run.remembered(("without ignored", b, t), without) - row[run.class_of(y)]  # type: ignore[no-any-return]


@entered(
    "target-index-wraps",
    "score",
    "A plausible number for a label that is no class.",
    hidden_if="every label is a class",
    remedy="Refuse labels outside [0, V) that are not the ignore index.",
    reports="Theano/Theano#3042, PaddlePaddle/Paddle#10945, PaddlePaddle/Paddle#36891, tensorflow/tensorflow#3739, "
    "tensorflow/tensorflow#8484",
    needs=("logits",),
    row=lambda run, b, t: run.nlls(b, t),
)
def target_index_wraps(run: Run, b: int, t: int, y: int) -> float:
    """A negative label is taken as an index from the end of the row.

    >>> run = Run(Batch([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [0, 2], labels=[0, -1]))
    >>> round(run.value(target_index_wraps.mistake), 10)     # there is no right value
    0.4076059644
    """
    return run.nll(b, t, y + run.logits().classes if y < 0 else y)
