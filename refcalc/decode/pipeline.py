"""From a row of logits to the row that the next token is chosen from, under a whole policy."""

__all__ = ["argmax", "distribution", "draw", "process"]

from collections import Counter
from collections.abc import Sequence
from math import inf

from refcalc import _check
from refcalc._check import Row
from refcalc.decode.policy import Policy
from refcalc.decode.processors import (
    add_bias,
    ban,
    checked,
    divide_by_temperature,
    keep_top_k,
    keep_top_p,
    penalise_frequency,
    penalise_presence,
    penalise_repetition,
)
from refcalc.decode.shares import first_reaching
from refcalc.softmax import softmax

_SAMPLING = {"temperature", "top_k", "top_p"}  # processors that a greedy policy leaves out


def process(logits: Row, policy: Policy, prompt: Sequence[int] = (), generated: Sequence[int] = ()) -> list[float]:
    """Return the row that the policy chooses the next token from, after these ids.

    logits: V scores of the model for the next token.
    prompt, generated: the ids so far; penalties and the minimum length ask what was generated, the repetition penalty
        also what the prompt holds, wherever the model's context begins.

    A greedy policy leaves out temperature, top-k and top-p, wherever its order has them (at its end they would not
    change the largest score): its processed log-probabilities are those after bias, penalties and bans, as transformers
    and vLLM report them.

    >>> process([5.0, 2.0, 1.0], Policy(banned=[0], temperature=0.5))
    [-inf, 4.0, 2.0]

    Raises ValueError for scores that are no row of logits, ids outside [0, V), a row without a candidate before or
    after, and scores that a processor would take beyond the doubles; TypeError for other kinds.

    Accuracy: each value is that of the float operations, in policy.order; what stays is exact.
    """
    name, row = "process", checked("process", "logits", logits)
    before, after = _check.wholes(name, "prompt", prompt), _check.wholes(name, "generated", generated)
    check_ids(name, policy, len(row), prompt=before, generated=after)
    return processed(name, row, policy, before, after)


def distribution(logits: Row, policy: Policy, prompt: Sequence[int] = (), generated: Sequence[int] = ()) -> list[float]:
    """Return the V probabilities with which the policy chooses the next token; the arguments are those of process.

    Greedy is certain: at temperature 0 everything is on one token.

    >>> distribution([1.0, 3.0, 3.0], Policy(temperature=0))
    [0.0, 1.0, 0.0]
    >>> distribution([1.0, 3.0, 3.0], Policy(top_k=2))
    [0.0, 0.5, 0.5]

    Raises as process does.  Accuracy: softmax's 5 ulp of the processed row.
    """
    row = process(logits, policy, prompt, generated)
    if policy.greedy:
        row = keep_top_k(row, 1)
    return softmax(row)


def argmax(logits: Row) -> int:
    """Return the index of the largest score, the lowest of several.

    >>> argmax([1.0, 3.0, 3.0])
    1

    Raises ValueError for scores that are no row of logits; TypeError for other kinds.
    """
    row = checked("argmax", "logits", logits)
    return row.index(max(row))


def draw(logits: Row, uniform: float) -> int:
    """Return the token that a uniform number draws, by inverting the cumulative distribution in token order.

    It is the least i with softmax(z)[0] + ... + softmax(z)[i] > uniform, for the real numbers that z and uniform stand
    for, not for rounded sums: the same on every machine.

    logits: V scores, finite or -inf.  uniform: in [0, 1).

    >>> [draw([0.0, 0.0, float("-inf"), 0.0], u) for u in (0.0, 0.3333333333333333, 0.34, 0.9999)]
    [0, 0, 1, 3]

    Raises ValueError for scores that are no row of logits, or a number outside [0, 1); TypeError for other kinds.

    Accuracy: exact, where libm's exp is within 16 ulp.
    """
    row = checked("draw", "logits", logits)
    u = _check.real("draw", "uniform", uniform)
    if not 0.0 <= u < 1.0:
        _check.refuse("draw", "uniform", "lie in [0, 1)", u)
    return first_reaching(row, u, strictly=True) - 1


# --- for the rest of the room ----------------------------------------------------------------------------------------


def check_policy(function: str, policy: Policy) -> None:
    """Refuse what is no policy."""
    if not isinstance(policy, Policy):
        _check.refuse(function, "policy", "be a Policy", policy, TypeError)


def check_ids(function: str, policy: Policy, classes: int, **sequences: Sequence[int]) -> None:
    """Refuse a policy or sequences with ids that the model does not have."""
    check_policy(function, policy)
    biased = [token for token, _ in policy.bias]
    for argument, ids in [("banned", policy.banned), ("bias", biased), ("eos", policy.eos)]:
        for token in ids:
            _check.target(function, f"policy.{argument}", token, classes)
    for argument, ids in sequences.items():
        for i, token in enumerate(ids):
            _check.target(function, f"{argument}[{i}]", token, classes)


def some_prompt(function: str, prompt: Sequence[int]) -> tuple[int, ...]:
    """Return a prompt of at least one id."""
    ids = tuple(_check.wholes(function, "prompt", prompt))
    if not ids:
        raise ValueError(f"{function}: prompt must hold at least one id (a BOS, where there is no text), got 0")
    return ids


def processed(
    function: str, row: list[float], policy: Policy, prompt: Sequence[int], generated: Sequence[int]
) -> list[float]:
    """process in the name of another function, after its checks."""
    for name in policy.order:
        if not (policy.greedy and name in _SAMPLING):
            row = _apply(name, row, policy, prompt, generated)
    if max(row) == -inf:
        raise ValueError(f"{function}: policy must leave a candidate at step {len(generated)}, got none")
    return row


# --- private ---------------------------------------------------------------------------------------------------------


def _apply(  # noqa: PLR0911, a branch for each name in ORDER
    name: str, row: list[float], policy: Policy, prompt: Sequence[int], generated: Sequence[int]
) -> list[float]:
    """Return the row after one processor of the policy; one that has nothing to do is left out."""
    match name:
        case "bias" if policy.bias:
            return add_bias(row, dict(policy.bias))
        case "repetition_penalty" if policy.repetition_penalty != 1.0:
            return penalise_repetition(row, {*prompt, *generated}, policy.repetition_penalty)
        case "frequency_penalty" if policy.frequency_penalty:
            return penalise_frequency(row, Counter(generated), policy.frequency_penalty)
        case "presence_penalty" if policy.presence_penalty:
            return penalise_presence(row, generated, policy.presence_penalty)
        case "banned" if policy.banned:
            return ban(row, policy.banned)
        case "min_new" if len(generated) < policy.min_new:
            return ban(row, policy.eos)
        case "temperature" if policy.temperature != 1.0:
            return divide_by_temperature(row, policy.temperature)
        case "top_k" if policy.top_k is not None:
            return keep_top_k(row, policy.top_k)
        case "top_p" if policy.top_p is not None:
            return keep_top_p(row, policy.top_p)
    return row
