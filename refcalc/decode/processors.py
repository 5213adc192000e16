"""One processor each: functions from a row of scores to the row that stays of it.

A row is V scores, finite or -inf; a score of -inf is no candidate.  Each function returns a new row.  Its arithmetic is
that of the float operations that it names and no more, so the values are the same on every machine; which scores stay
is decided exactly.

Against transformers' processors (tests/peers/check_decode.py) there are two differences, both at ties: of scores equal
to the k-th, top-k there keeps all, and among equal scores at its edge top-p there keeps those that its sort has last.
Here the lowest indices stay, so that top-k of 1 is greedy.

Every function raises ValueError for a row that is empty or holds nan or +inf, an id outside [0, V), a parameter out of
its range, and a score that would leave the doubles; TypeError for other kinds.
"""

__all__ = [
    "add_bias",
    "ban",
    "divide_by_temperature",
    "keep_top_k",
    "keep_top_p",
    "penalise_frequency",
    "penalise_presence",
    "penalise_repetition",
]

from collections.abc import Callable, Collection, Iterable, Mapping
from math import inf, isfinite
from typing import Any

from refcalc import _check
from refcalc._check import Row
from refcalc.decode.shares import first_reaching


def add_bias(logits: Row, bias: Mapping[int, float]) -> list[float]:
    """Return the row with bias[i] added to score i: z + b.

    >>> add_bias([1.0, 2.0], {1: 0.5})
    [1.0, 2.5]
    """
    added = {i: _check.finite("add_bias", f"bias[{i}]", b) for i, b in _pairs("add_bias", "bias", bias)}
    return _changed("add_bias", logits, "bias", bias, lambda z, i: z + added[i])


def penalise_repetition(logits: Row, seen: Collection[int], penalty: float) -> list[float]:
    """Return the row with the scores of seen tokens lowered: z < 0 ? z * penalty : z / penalty.

    seen: ids of the prompt and of what was generated; how often does not matter.  penalty: above 0; 1 changes nothing.

    >>> penalise_repetition([-2.0, 1.0, 4.0], {0, 2}, 2.0)
    [-4.0, 1.0, 2.0]

    Source: Keskar et al. (2019), arXiv:1909.05858, section 4.1, whose formula divides whatever the sign.
    """
    factor = positive("penalise_repetition", "penalty", penalty)
    return _changed("penalise_repetition", logits, "seen", seen, lambda z, _: z * factor if z < 0.0 else z / factor)


def penalise_frequency(logits: Row, counts: Mapping[int, int], penalty: float) -> list[float]:
    """Return the row with the penalty subtracted for each time that a token was generated: z - count * penalty.

    >>> penalise_frequency([1.0, 1.0], {1: 3}, 0.5)
    [1.0, -0.5]
    """
    name, each = "penalise_frequency", _check.finite("penalise_frequency", "penalty", penalty)
    times = {
        i: _check.real(name, f"counts[{i}]", _check.count(name, f"counts[{i}]", n))
        for i, n in _pairs(name, "counts", counts)
    }
    return _changed(name, logits, "counts", counts, lambda z, i: z - times[i] * each)


def penalise_presence(logits: Row, generated: Collection[int], penalty: float) -> list[float]:
    """Return the row with the penalty subtracted once from each token that was generated: z - penalty.

    >>> penalise_presence([1.0, 1.0], [1, 1, 1], 0.5)
    [1.0, 0.5]
    """
    once = _check.finite("penalise_presence", "penalty", penalty)
    return _changed("penalise_presence", logits, "generated", generated, lambda z, _: z - once)


def ban(logits: Row, ids: Collection[int]) -> list[float]:
    """Return the row without these candidates: their scores are -inf.

    >>> ban([1.0, 2.0, 3.0], [2])
    [1.0, 2.0, -inf]
    """
    row = _row("ban", logits)
    for token in _check.iterable("ban", "ids", ids):
        row[_check.target("ban", "ids", token, len(row))] = -inf
    return row


def divide_by_temperature(logits: Row, temperature: float) -> list[float]:
    """Return the row divided by the temperature, z / T; at 0 only the largest score stays, the first of several.

    >>> divide_by_temperature([2.0, 1.0], 0.5), divide_by_temperature([1.0, 3.0, 3.0], 0)
    ([4.0, 2.0], [-inf, 3.0, -inf])
    """
    name = "divide_by_temperature"
    t = _check.not_negative(name, "temperature", temperature, finite=True)
    if t == 0.0:
        return keep_top_k(logits, 1)
    row = _row(name, logits)
    result = [z / t for z in row]
    if t < 1.0:
        for i, (z, x) in enumerate(zip(row, result, strict=True)):
            _refuse_overflow(name, i, z, x)
    return result


def keep_top_k(logits: Row, k: int) -> list[float]:
    """Return the row with only its k largest scores, of equal ones the lowest indices; k of V or more keep all.

    >>> keep_top_k([3.0, 1.0, 3.0, 3.0], 2)
    [3.0, -inf, 3.0, -inf]
    """
    row, kept = _row("keep_top_k", logits), _check.count("keep_top_k", "k", k, least=1)
    return _only(row, _largest_first(row)[:kept])


def keep_top_p(logits: Row, p: float) -> list[float]:
    """Return the row with only its fewest largest scores whose probability together is at least p, in (0, 1].

    Of equal scores the lowest indices stay.  The probability is that of the row as it comes in.

    >>> keep_top_p([0.0, 0.0, 0.0, 0.0], 0.5)         # exactly 0.5, no rounding
    [0.0, 0.0, -inf, -inf]
    """
    limit = share("keep_top_p", "p", p)
    row = checked("keep_top_p", "logits", logits)
    if limit == 1.0:
        return row
    order = _largest_first(row)
    return _only(row, order[: first_reaching([row[i] for i in order], limit)])


# --- rows and parameters, for the rest of the room -------------------------------------------------------------------


def checked(function: str, argument: str, logits: Row) -> list[float]:
    """Return a row of logits as a new list of floats, at least one of them above -inf."""
    row = _check.floats(function, argument, _check.row(function, argument, logits))
    if max(row) == -inf:
        _check.refuse(function, argument, "hold a score above -inf", row)
    return row


def positive(function: str, argument: str, value: Any) -> float:
    """Return a factor, finite and above 0, as a float."""
    factor = _check.finite(function, argument, value)
    if factor <= 0.0:
        _check.refuse(function, argument, "be above 0", factor)
    return factor


def share(function: str, argument: str, value: Any) -> float:
    """Return a share of the probability, in (0, 1], as a float."""
    p = _check.real(function, argument, value)
    if not 0.0 < p <= 1.0:
        _check.refuse(function, argument, "lie in (0, 1]", p)
    return p


# --- private ---------------------------------------------------------------------------------------------------------


def _row(function: str, logits: Row) -> list[float]:
    return _check.floats(function, "logits", _check.row(function, "logits", logits))


def _pairs(function: str, argument: str, values: Any) -> Iterable[tuple[Any, Any]]:
    """Return the items of a mapping from ids to numbers."""
    if not isinstance(values, Mapping):
        _check.refuse(function, argument, "be a mapping from ids to numbers", values, TypeError)
    return values.items()


def _changed(
    function: str, logits: Row, argument: str, ids: Collection[int], change: Callable[[float, int], float]
) -> list[float]:
    """Return the row with change(z, i) for the score z of each of the ids; -inf stays what it is."""
    row = _row(function, logits)
    for i in {_check.target(function, argument, token, len(row)) for token in _check.iterable(function, argument, ids)}:
        if (z := row[i]) > -inf:
            row[i] = change(z, i)
            _refuse_overflow(function, i, z, row[i])
    return row


def _refuse_overflow(function: str, i: int, z: float, result: float) -> None:
    if isfinite(z) and not isfinite(result):
        _check.refuse(function, f"logits[{i}]", "stay within the doubles", z)


def _largest_first(row: list[float]) -> list[int]:
    """Return the candidates from the largest score to the least, of equal ones the lowest index first."""
    candidates = [i for i, z in enumerate(row) if z > -inf]
    return sorted(candidates, key=row.__getitem__, reverse=True)  # a stable sort, reversed or not


def _only(row: list[float], kept: Collection[int]) -> list[float]:
    result = [-inf] * len(row)
    for i in kept:
        result[i] = row[i]
    return result
