"""Arithmetic that goes wrong before there is a loss: empty distributions, overflow, counters, cancellation."""

__all__ = [
    "cancelling_variance",
    "exp_overflow",
    "float32_count_stall",
    "lse_all_neginf_nan",
    "lse_posinf_nan",
]

from collections.abc import Sequence
from math import exp, fsum, log

from refcalc.mistakes.kind import entered
from refcalc.softmax import logsumexp
from refcalc.units import perplexity

_EXAMPLES = logsumexp, perplexity  # the names that the examples use


@entered(
    "lse-all-neginf-nan",
    "arithmetic",
    "nan for a row in which everything is masked.",
    hidden_if="some score is finite",
    remedy="Return -inf where the largest score is -inf; a loss of such a row must be refused.",
    reports="JuliaStats/StatsFuns.jl#22, HenrikBengtsson/matrixStats#84, tensorflow/tensorflow#11692, "
    "microsoft/onnxruntime#28461",
)
def lse_all_neginf_nan(logits: Sequence[float]) -> float:
    """The largest score is subtracted although it is -inf.

    >>> lse_all_neginf_nan([-float("inf"), -float("inf")]), logsumexp([-float("inf"), -float("inf")])
    (nan, -inf)
    """
    m = max(logits)
    return m + log(fsum(exp(z - m) for z in logits))


@entered(
    "lse-posinf-nan",
    "arithmetic",
    "nan for a row that holds +inf.",
    hidden_if="no score is +inf",
    remedy="Refuse +inf: no distribution belongs to it.",
)
def lse_posinf_nan(logits: Sequence[float]) -> float:
    """The largest score is subtracted although it is +inf.

    >>> lse_posinf_nan([float("inf"), 0.0])
    nan
    >>> logsumexp([float("inf"), 0.0])
    Traceback (most recent call last):
    ValueError: logsumexp: logits[0] must be finite or -inf, got inf
    """
    return lse_all_neginf_nan(logits)


@entered(
    "exp-overflow",
    "arithmetic",
    "The run ends in OverflowError.",
    hidden_if="the mean nll is below 709.78",
    remedy="Report inf, and the mean nll beside it, which is finite.",
    reports="facebookresearch/fairseq#1833, huggingface/transformers#11855, UKGovernmentBEIS/inspect_ai#5028",
)
def exp_overflow(mean_nll: float) -> float:
    """exp is left to raise an error where the perplexity is beyond the doubles.

    >>> exp_overflow(1000.0)
    Traceback (most recent call last):
    OverflowError: math range error
    >>> perplexity(1000.0)
    inf
    """
    return exp(mean_nll)


@entered(
    "float32-count-stall",
    "arithmetic",
    "The mean rises with the length of the evaluation.",
    hidden_if="there are fewer than 16,777,216 targets",
    remedy="Count in whole numbers.",
    reports="SlopDotCash/asi#1065, rxi/fe#30",
)
def float32_count_stall(nll_sum: float, n_targets: int) -> float:
    """Targets are counted one by one in float32, which stands still at 2 to the power 24; the mean nll.

    >>> float32_count_stall(4e7, 20_000_000), 4e7 / 20_000_000
    (2.384185791015625, 2.0)
    """
    return nll_sum / min(n_targets, 16_777_216)


@entered(
    "cancelling-variance",
    "arithmetic",
    "A variance below 0, and then the square root of it.",
    hidden_if="the spread is not small beside the mean",
    remedy="Subtract the mean before squaring.",
    reports="ggml-org/llama.cpp#2858",
)
def cancelling_variance(values: Sequence[float]) -> float:
    """The variance is the mean of the squares minus the square of the mean, which cancel.

    >>> cancelling_variance([0.1, 0.1, 0.1]) < 0.0
    True
    """
    total = squares = 0.0
    for x in values:
        total, squares = total + x, squares + x * x
    mean = total / len(values)
    return squares / len(values) - mean * mean
