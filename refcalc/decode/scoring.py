"""Scores of a continuation that is given: under a policy, and under the model alone."""

__all__ = ["constrained_nll", "sequence_logprob"]

from collections.abc import Sequence
from typing import Any

from refcalc import _check
from refcalc._check import Nested
from refcalc.decode.generate import NextLogits, Rows
from refcalc.decode.pipeline import check_policy, processed, some_prompt
from refcalc.decode.policy import Policy
from refcalc.exact_sum import ExactSum
from refcalc.softmax import row_nll

_NORMALISERS = ("none", "tokens", "bytes", "chars")


def constrained_nll(
    rows: NextLogits | Nested,
    tokens: Sequence[int],
    policy: Policy,
    *,
    prompt: Sequence[int] = (),
    reduction: str = "sum",
) -> Any:
    """Return the nll of a continuation under a policy, in nats: not the model's own, which token_nll gives.

    rows: a model as for `greedy`, or [T][V], the rows it gave: row t predicts tokens[t].
    tokens: the T ids of the continuation, an eos at the end included.
    prompt: what stands before it; rows that are given need it for a repetition penalty only.
    reduction: "sum", "mean" over the T tokens, or "none" for a list.

    It is the sum of -log_softmax(process(row, policy, ...))[token]: of a receipt's ids, minus the sum of its
    processed_logprob.  A token that is no candidate has nll inf, an answer.  See `process` for a greedy policy, whose
    scores are those after bias, penalties and bans.

    >>> from refcalc import token_nll
    >>> round(constrained_nll([[5.0, 2.0, 1.0]], [1], Policy(banned=[0])), 9), round(token_nll([5.0, 2.0, 1.0], 1), 9)
    (0.313261688, 3.065883904)
    >>> constrained_nll([[5.0, 2.0, 1.0]], [0], Policy(banned=[0]))
    inf

    Raises ValueError for more tokens than max_new, tokens after an eos, none to average, and whatever greedy refuses;
    TypeError for what is of another kind.

    Accuracy: 5 ulp a token of the processed row; the sum is exact and it, or the mean, rounded once.
    """
    name = "constrained_nll"
    _check.choice(name, "reduction", reduction, ("sum", "mean", "none"))
    check_policy(name, policy)
    ids = _continuation(name, tokens, policy)
    before = _check.wholes(name, "prompt", prompt)
    if callable(rows):
        source = Rows(name, "rows", rows, some_prompt(name, before), policy)
    else:
        given = _check.items(name, "rows", rows)
        _check.same_length(name, "rows", given, "tokens", len(ids))
        in_turn = iter(given)
        source = Rows(name, "rows", lambda _: next(in_turn), before, policy)
    losses = []
    for t, token in enumerate(ids):
        row = processed(name, source.after(ids[:t]), policy, before, ids[:t])
        losses.append(row_nll(name, f"rows[{t}]", row, f"tokens[{t}]", token))
    if reduction == "none":
        return losses
    return ExactSum(losses) / (_some(name, len(losses)) if reduction == "mean" else 1)


def sequence_logprob(
    rows: Nested,
    tokens: Sequence[int],
    *,
    normalise: str = "none",
    n_bytes: int | None = None,
    n_chars: int | None = None,
) -> float:
    """Return the log-probability of a candidate, in nats, or per token, byte or character of it.

    rows, tokens: [T][V] and [T], of the candidate alone: row t predicts tokens[t].  With the rows of a prompt of P
        tokens and its candidate, row t having read tokens 0..t, these are rows[P-1:-1] and tokens[P:].  What was given
        is in neither the sum nor the count, and padding is not a token.
    normalise: what divides the sum of the log-probabilities:

        "none"     nothing; the largest is the answer of lm-evaluation-harness's acc
        "tokens"   T
        "bytes"    n_bytes, of the candidate's text in UTF-8; its acc_bytes
        "chars"    n_chars, of the candidate's text; its acc_norm

    n_bytes, n_chars: given where they divide.  The harness leaves the space before a candidate out of them, though the
        tokens hold it.

    >>> rows = [[1.0, 0.0], [0.0, 0.0]]
    >>> round(sequence_logprob(rows, [1, 0]), 9), round(sequence_logprob(rows, [1, 0], normalise="tokens"), 9)
    (-2.006408868, -1.003204434)
    >>> sequence_logprob(rows, [1, 0, -1])
    Traceback (most recent call last):
    ValueError: sequence_logprob: rows must be as long as tokens (3), got 2

    Raises ValueError for lengths that differ, ids outside [0, V), rows of different V or that are no logits, a count
    below 1, left out or not asked for, and no tokens to divide by; TypeError for what is of another kind.

    Accuracy: 5 ulp a token (all have one sign); their sum is exact, it or the quotient is rounded once.
    """
    name = "sequence_logprob"
    _check.choice(name, "normalise", normalise, _NORMALISERS)
    ids, given = _check.wholes(name, "tokens", tokens), _check.items(name, "rows", rows)
    _check.same_length(name, "rows", given, "tokens", len(ids))
    losses = []
    for t, token in enumerate(ids):
        row = _check.row(name, f"rows[{t}]", given[t])
        losses.append(row_nll(name, f"rows[{t}]", row, f"tokens[{t}]", token))
        _check.same_length(name, f"rows[{t}]", row, "rows[0]", len(given[0]))
    return 0.0 - ExactSum(losses) / _divisor(name, normalise, len(ids), bytes=n_bytes, chars=n_chars)


# --- private ---------------------------------------------------------------------------------------------------------


def _continuation(function: str, tokens: Sequence[int], policy: Policy) -> list[int]:
    """Return the tokens, having refused what the policy would have ended before."""
    ids = _check.wholes(function, "tokens", tokens)
    for t, token in enumerate(ids[:-1]):
        if token in policy.eos:
            _check.refuse(function, f"tokens[{t}]", "be the last, it is an eos", token)
    if policy.max_new is not None and len(ids) > policy.max_new:
        _check.refuse(function, "tokens", f"hold at most policy.max_new ({policy.max_new})", ids)
    return ids


def _some(function: str, n_tokens: int) -> int:
    """Return a number of tokens to divide by."""
    if not n_tokens:
        raise ValueError(f"{function}: tokens must hold at least one (nothing to average), got 0")
    return n_tokens


def _divisor(function: str, normalise: str, n_tokens: int, **counts: int | None) -> int:
    """Return the count that divides, having refused one that would not be used."""
    for unit, n in counts.items():
        if unit != normalise and n is not None:
            _check.refuse(function, f"n_{unit}", f"be left out where normalise is {normalise!r}", n)
        if unit == normalise and n is None:
            _check.refuse(function, f"n_{unit}", f"be given where normalise is {normalise!r}", n)
    if normalise in counts:
        return _check.count(function, f"n_{normalise}", counts[normalise], least=1)
    return _some(function, n_tokens) if normalise == "tokens" else 1
