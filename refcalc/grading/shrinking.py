"""A smaller input that still fails: parts are left out and numbers made simple as long as the function stays wrong.

Lists of one length among the arguments are cut together, a row with its target and its mask; so are columns of rows.
"""

__all__ = ["shrunk", "smaller"]

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import isfinite
from time import monotonic
from typing import Any

from refcalc.grading.exercise import Arguments, Table
from refcalc.grading.judge import Case

CALLS = 600  # of the graded function
SECONDS = 1.0
QUICK = 0.05  # seconds for a batch; behind one that takes longer, inputs are tried one by one
BATCH = 8  # inputs that are tried at once; fewer where they are large
LEAVES = 50_000  # numbers in them


def shrunk(case: Case, first_failing: Callable[[Sequence[Arguments]], Case | None]) -> Case:
    """Return the smallest failing case that is found from a failing one, within a bounded number of calls.

    first_failing: tries inputs, leaving aside those that have no right answer, and returns the first that fails in the
        same way, or None.
    """
    calls, end = CALLS, monotonic() + SECONDS
    candidates, quick = smaller(case.arguments), False
    while calls > 0 and (start := monotonic()) < end:
        size = max(1, min(BATCH, calls, LEAVES // (1 + _leaves(case.arguments)))) if quick else 1
        batch = list(islice(candidates, size))
        if not batch:
            break
        calls -= len(batch)
        found = first_failing(batch)
        quick = monotonic() - start < QUICK
        if found is not None:
            case, candidates = found, smaller(found.arguments)
    return case


def smaller(arguments: Arguments) -> Iterator[Arguments]:
    """Yield inputs that are a step smaller: the largest steps first.

    >>> list(smaller(([5, 7], [1, 0])))[:3]
    [([7], [0]), ([5], [1]), ([7], [1, 0])]
    """
    lengths = sorted({len(value) for value in arguments if isinstance(value, list)}, reverse=True)
    for n in lengths:
        for start, end in _cuts(n):
            yield tuple(_without(value, n, start, end) for value in arguments)
    for n in sorted({len(row) for value in arguments for row in _rows(value)}, reverse=True):
        for start, end in _cuts(n):
            yield tuple(
                [_without(row, n, start, end) for row in value] if _rows(value) else value for value in arguments
            )
    for digits in (0, 1):
        rounded = tuple(_rounded(value, digits) for value in arguments)
        if _leaves(arguments) > 1 and repr(rounded) != repr(arguments):
            yield rounded
    for i, value in enumerate(arguments):
        for less in _less(value):
            yield (*arguments[:i], less, *arguments[i + 1 :])


# --- private ---------------------------------------------------------------------------------------------------------


def _cuts(n: int) -> Iterator[tuple[int, int]]:
    """Yield what to leave out of n elements: halves, quarters, ..., single ones."""
    size = (n + 1) // 2
    while size:
        yield from ((start, min(n, start + size)) for start in range(0, n, size))
        size //= 2


def _without(value: Any, n: int, start: int, end: int) -> Any:
    return value[:start] + value[end:] if isinstance(value, list) and len(value) == n else value


def _rows(value: Any) -> list[list[Any]]:
    return value if isinstance(value, list) and value and all(isinstance(row, list) for row in value) else []


def _less(value: Any) -> Iterator[Any]:
    """Yield what is simpler than a value, of its own kind."""
    if isinstance(value, list):
        for start, end in _cuts(len(value)):
            yield value[:start] + value[end:]
    if isinstance(value, (list, tuple)):
        for i, each in enumerate(value):
            for less in _less(each):
                yield type(value)((*value[:i], less, *value[i + 1 :]))
    elif isinstance(value, dict):
        for key, each in value.items():
            for less in _less(each):
                yield {**value, key: less}
    elif isinstance(value, Table):
        yield from (Table(rows, value.multiplier) for rows in _less(list(map(list, value.rows))) if rows)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _simpler(value)


def _simpler(x: float) -> Iterator[float]:
    if not isfinite(x):
        return
    kind = type(x)
    half = x // 2 if isinstance(x, int) else round(x / 2.0, 0) + 0.0
    for y in dict.fromkeys((kind(0), kind(1), kind(-1), half, round(x, 0) + kind(0), round(x, 1))):
        if _plainness(y) < _plainness(x):
            yield y


def _plainness(x: float) -> tuple[int, float, bool]:
    return len(repr(abs(x))), abs(x), x < 0


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_rounded(each, digits) for each in value)
    return round(value, digits) + 0.0 if isinstance(value, float) and isfinite(value) else value


def _leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_leaves, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_leaves, value))
    return sum(map(len, value.rows)) if isinstance(value, Table) else 1
