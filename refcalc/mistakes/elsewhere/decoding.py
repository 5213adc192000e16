"""Greedy generation and the log-probabilities that it reports."""

__all__ = [
    "banned_score_zero",
    "logprob_divided_by_t",
    "penalty_boosts_negative",
    "processed_vs_raw_logprob",
    "prompt_counted_as_new",
    "temperature_zero_division",
    "top1_is_not_argmax",
]

from collections.abc import Collection, Sequence
from math import inf

from refcalc.mistakes.kind import entered
from refcalc.softmax import log_softmax, softmax

_EXAMPLES = (softmax,)  # the names that the examples use


@entered(
    "temperature-zero-division",
    "decoding",
    "An error at temperature 0, or other text on each run.",
    hidden_if="the temperature is above 0",
    remedy="Temperature 0 is argmax: take the first of the largest scores.",
    reports="karpathy/nanoGPT#738, turboderp/exllama#226, Lightning-AI/litgpt#2239, inclusionAI/LLaDA2.X#6",
)
def temperature_zero_division(logits: Sequence[float], temperature: float) -> list[float]:
    """Temperature 0 is skipped, because it cannot divide, and the token is sampled as at temperature 1.

    >>> [round(p, 6) for p in temperature_zero_division([1.0, 3.0, 2.0], 0.0)]     # right: [0, 1, 0]
    [0.090031, 0.665241, 0.244728]
    """
    return softmax([z / temperature for z in logits] if temperature else logits)


@entered(
    "top1-is-not-argmax",
    "decoding",
    "Greedy text differs from run to run.",
    hidden_if="the largest score is unique",
    remedy="Settle ties by a rule that is written down: the lowest index.",
    reports="mstar-project/mstar#254, pytorch/executorch#22631",
)
def top1_is_not_argmax(logits: Sequence[float]) -> list[float]:
    """Everything that ties with the first is kept by top-k of 1, and sampled from.

    >>> top1_is_not_argmax([3.0, 3.0, 1.0])                              # right: [1, 0, 0]
    [0.5, 0.5, 0.0]
    """
    largest = max(logits)
    return softmax([z if z >= largest else -inf for z in logits])


@entered(
    "logprob-divided-by-t",
    "decoding",
    "exp of the log-probabilities does not sum to 1.",
    hidden_if="the temperature is 1",
    remedy="Divide logits by the temperature, then take log_softmax; say whether a receipt is raw or processed.",
    reports="PrimeIntellect-ai/prime-rl#697, vllm-project/vllm#9453",
)
def logprob_divided_by_t(logits: Sequence[float], temperature: float, token: int) -> float:
    """The log-probability is divided by the temperature after normalisation.

    >>> round(logprob_divided_by_t([2.0, 1.0, 0.0], 0.5, 0), 9)          # wrong
    -0.815211929
    >>> round(log_softmax([2.0 / 0.5, 1.0 / 0.5, 0.0])[0], 9)            # right
    -0.142931628
    """
    return log_softmax(logits)[token] / temperature


@entered(
    "processed-vs-raw-logprob",
    "decoding",
    "Log-probabilities that are too good.",
    hidden_if="no processor changed the scores",
    remedy="Name the scores raw or processed, and compare like with like.",
    reports="huggingface/transformers#21321, huggingface/transformers#24801, huggingface/transformers#32014",
)
def processed_vs_raw_logprob(logits: Sequence[float], banned: Collection[int], token: int) -> float:
    """Scores are renormalised over what a ban has left, and read as the model's log-probabilities.

    >>> round(processed_vs_raw_logprob([5.0, 2.0, 1.0], {0}, 1), 9)      # wrong
    -0.313261688
    >>> round(log_softmax([5.0, 2.0, 1.0])[1], 9)                        # right
    -3.065883904
    """
    return log_softmax([-inf if i in banned else z for i, z in enumerate(logits)])[token]


@entered(
    "penalty-boosts-negative",
    "decoding",
    "Repeats become more likely with the penalty.",
    hidden_if="the penalised scores are positive",
    remedy="Multiply negative scores by the penalty, divide the others.",
)
def penalty_boosts_negative(logits: Sequence[float], repeated: Collection[int], penalty: float) -> list[float]:
    """The scores of repeated tokens are divided by the penalty whatever their sign.

    >>> penalty_boosts_negative([-2.0, 1.0], {0}, 2.0)                   # right: [-4.0, 1.0]
    [-1.0, 1.0]
    """
    return [z / penalty if i in repeated else z for i, z in enumerate(logits)]


@entered(
    "banned-score-zero",
    "decoding",
    "A banned token is chosen all the same.",
    hidden_if="some score that is not banned is above 0",
    remedy="Set the scores of banned tokens to -inf; 0 is a score like any other.",
    reports="nelson-liu/lexical-semantic-recognition#8",
)
def banned_score_zero(logits: Sequence[float], banned: Collection[int]) -> list[float]:
    """The scores of banned tokens are set to 0, as if they were probabilities.

    >>> banned_score_zero([3.0, -1.0, -2.0], {0})                        # right: [-inf, -1.0, -2.0]
    [0.0, -1.0, -2.0]
    """
    return [0.0 if i in banned else z for i, z in enumerate(logits)]


@entered(
    "prompt-counted-as-new",
    "decoding",
    "Long prompts get short answers, or none.",
    hidden_if="the prompt is empty, or generation stops by itself before",
    remedy="Count what was generated (max_new_tokens), not the whole sequence (max_length).",
    reports="huggingface/transformers#13983, postgresml/postgresml#1220, neulab/prompt2model#141",
    aliases=("max-length-for-max-new",),
)
def prompt_counted_as_new(prompt: Sequence[int], max_new: int) -> int:
    """The limit on new tokens is held against prompt and new tokens together; how many may be generated.

    >>> prompt_counted_as_new([5, 7, 2], 4)                              # right: 4
    1
    """
    return max(0, max_new - len(prompt))
