"""Scoring one target in a form that loses it: underflow, overflow, clipping, 0 times infinity, rounding.

Each function gives the nll, in nats, of target y on row t of sequence b, as the run's dtype would.
"""

__all__ = [
    "bf16_loss",
    "epsilon_added_in_log",
    "epsilon_clipped_log",
    "fp16_lse_width",
    "log_of_softmax_underflow",
    "naive_logsumexp",
    "naive_softmax_nan",
    "zero_log_zero_nan",
]

from math import exp, inf, isinf, log, nan

from refcalc.evidence import Batch
from refcalc.mistakes.arithmetic import exponential, rounded
from refcalc.mistakes.kind import entered
from refcalc.mistakes.pipeline import Run, witness

_EXAMPLES = Batch, witness  # the names that the examples use
CLIP, ADDED = 1e-7, 1e-8


@entered(
    "log-of-softmax-underflow",
    "score",
    "The loss is inf although the target is possible.",
    hidden_if="no probability is below the least number of the dtype",
    remedy="Take log_softmax at once: the logarithm of a probability does not underflow.",
    reports="allenai/allennlp#2797",
    needs=("logits",),
    row=lambda run, b, t: [_through_probability(run, x) for x in run.nlls(b, t)],
)
def log_of_softmax_underflow(run: Run, b: int, t: int, y: int) -> float:
    """Softmax is taken first and the logarithm second, so that a probability that underflows becomes log 0.

    >>> witness(log_of_softmax_underflow, Batch([[0.0, 800.0], [0.0, 0.0]], [1, 0]))
    'right 800, wrong inf'
    """
    return _through_probability(run, run.nll(b, t, y))


@entered(
    "epsilon-clipped-log",
    "score",
    "The loss saturates at 16.118, minus the logarithm of 1e-7.",
    hidden_if="no target has a probability below 1e-7",
    remedy="Take log_softmax of the logits: no clip is needed.",
    reports="keras-team/keras#17634, tensorflow/tensorflow#62204, ooples/AiDotNet#1827",
    row=lambda run, b, t: [min(x, -log(CLIP)) for x in run.nlls(b, t)],
)
def epsilon_clipped_log(run: Run, b: int, t: int, y: int) -> float:
    """Probabilities are clipped from below at 1e-7 before the logarithm.

    >>> witness(epsilon_clipped_log, Batch([[0.0, 30.0], [0.0, 0.0]], [1, 0]))
    'right 30, wrong 16.11809565'
    """
    return min(run.nll(b, t, y), -log(CLIP))


@entered(
    "epsilon-added-in-log",
    "score",
    "The loss saturates at 18.42, and is slightly too low elsewhere.",
    hidden_if="the dtype does not see 1e-8 beside the probabilities of the targets",
    remedy="Take log_softmax of the logits: nothing need be added.",
    reports="ooples/AiDotNet#1827",
    row=lambda run, b, t: [-log(exponential(-x) + ADDED) for x in run.nlls(b, t)],
)
def epsilon_added_in_log(run: Run, b: int, t: int, y: int) -> float:
    """1e-8 is added to the probability before the logarithm.

    >>> witness(epsilon_added_in_log, Batch([[0.0, 30.0], [0.0, 0.0]], [1, 0]))
    'right 30, wrong 18.42067139'
    """
    return -log(exponential(-run.nll(b, t, y)) + ADDED)


@entered(
    "naive-logsumexp",
    "score",
    "The loss is inf, or -inf, or OverflowError, on logits that are only large.",
    hidden_if="the sum of exp of the logits is within the dtype",
    remedy="Subtract the largest score before exp.",
    reports="",
    needs=("logits",),
    row=lambda run, b, t: [inf] * run.logits().classes if isinf(_unshifted_sum(run, b, t)) else run.nlls(b, t),
)
def naive_logsumexp(run: Run, b: int, t: int, y: int) -> float:
    """The logarithm of the sum of exp is taken without subtracting the largest score first.

    >>> witness(naive_logsumexp, Batch([[1000.0, 1000.0], [0.0, 0.0]], [1, 0]))
    'right 0.6931471806, wrong inf'
    """
    total = _unshifted_sum(run, b, t)
    return inf if isinf(total) else run.nll(b, t, y) if total else -inf


@entered(
    "naive-softmax-nan",
    "score",
    "The loss is nan on logits that are only large.",
    hidden_if="exp of every logit is within the dtype",
    remedy="Subtract the largest score before exp.",
    needs=("logits",),
    row=lambda run, b, t: run.nlls(b, t) if 0.0 < _unshifted_sum(run, b, t) < inf else [nan],
)
def naive_softmax_nan(run: Run, b: int, t: int, y: int) -> float:
    """Softmax divides exp of a score by the sum without subtracting the largest first: inf / inf, or 0 / 0.

    >>> witness(naive_softmax_nan, Batch([[1000.0, 1000.0], [0.0, 0.0]], [1, 0]))
    'right 0.6931471806, wrong nan'
    """
    total = _unshifted_sum(run, b, t)
    if not total or (isinf(total) and isinf(rounded(exponential(float(run.row(b, t)[run.class_of(y)])), run.dtype))):
        return nan
    return inf if isinf(total) else run.nll(b, t, y)


@entered(
    "zero-log-zero-nan",
    "score",
    "The loss is nan as soon as some class has a score of -inf.",
    hidden_if="no score of a scored row is -inf",
    remedy="Leave out classes of target probability 0 before multiplying.",
    reports="google-deepmind/optax#896, OpenBMB/ModelCenter#14, candle-org/MindAct#1633",
    needs=("logits",),
    row=lambda run, b, t: [nan] if -inf in run.row(b, t) else run.nlls(b, t),
)
def zero_log_zero_nan(run: Run, b: int, t: int, y: int) -> float:
    """A one-hot target is multiplied with the log-probabilities, so that 0 meets -inf.

    >>> witness(zero_log_zero_nan, Batch([[-float("inf"), 0.0], [0.0, 0.0]], [0, 1]))
    'right 0, wrong nan'
    """
    row = run.row(b, t)
    impossible = run.remembered(("impossible", b, t), lambda: row.count(-inf))
    return nan if impossible > (row[run.class_of(y)] == -inf) else run.nll(b, t, y)


@entered(
    "fp16-lse-width",
    "score",
    "The loss is inf on a vocabulary above 65,504.",
    hidden_if="the sum of the shifted exponentials is below 65,520",
    remedy="Hold the sum in float32, as kernels do.",
    reports="google-research/last#43",
    needs=("logits",),
    row=lambda run, b, t: [inf] * run.logits().classes if _too_wide(run, b, t) else run.nlls(b, t),
)
def fp16_lse_width(run: Run, b: int, t: int, y: int) -> float:
    """The sum of exp(z - m) is held in float16, which ends at 65,504.

    >>> witness(fp16_lse_width, Batch([[0.0] * 65536, [0.0] * 65536], [0, 0]))
    'right 11.09035489, wrong inf'
    """
    return inf if _too_wide(run, b, t) else run.nll(b, t, y)


@entered(
    "bf16-loss",
    "score",
    "Losses come in coarse steps; many tie.",
    hidden_if="every nll is a bfloat16",
    remedy="Cast the logits to float32 before the loss, not the losses after it.",
    reports="",
    row=lambda run, b, t: [rounded(x, "bfloat16") for x in run.nlls(b, t)],
)
def bf16_loss(run: Run, b: int, t: int, y: int) -> float:
    """The nll of each token is rounded to bfloat16, which has three decimal digits.

    >>> witness(bf16_loss, Batch([[0.0, 1.0], [0.0, 0.0]], [0, 0]))
    'right 1.313261688, wrong 1.3125'
    """
    return rounded(run.nll(b, t, y), "bfloat16")


# --- private ---------------------------------------------------------------------------------------------------------


def _unshifted_sum(run: Run, b: int, t: int) -> float:
    """Return the sum of exp of a row as the dtype holds it."""
    m, log_sum = run.facts(b, t)
    return rounded(exponential(m + log_sum), run.dtype)


def _through_probability(run: Run, nll: float) -> float:
    return nll if nll < 8.0 or rounded(exponential(-nll), run.dtype) else inf


def _too_wide(run: Run, b: int, t: int) -> bool:
    return isinf(rounded(exp(run.facts(b, t)[1]), "float16"))
