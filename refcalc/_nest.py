"""Rows, batches and deeper nests: converting them to sequences, walking them, and holding their lengths together."""

__all__ = ["Nested", "Numbers", "Row", "is_sequence", "items", "iterable", "map_rows", "row", "same_length"]

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from refcalc._refusal import refuse

Row = Sequence[float]  # V scores, or anything that gives them by .tolist()
Numbers = Sequence[float]
Nested = Any  # a number, or a sequence of nested numbers: Python's type system cannot say "ragged"


def items(function: str, argument: str, values: Nested) -> Sequence[Any]:
    """Return values as a sequence, its elements not looked at.

    Lists and tuples come back as they are.  What has `.tolist()` (a NumPy array, a tensor, an array.array, a
    memoryview) is converted by it, for its elements are not Python's numbers: a float32 scalar would drag Python
    floats down to its own precision.
    """
    if isinstance(values, (list, tuple)):
        return values
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes, bytearray)):
        return values
    refuse(function, argument, "be a sequence", values, TypeError)


def iterable(function: str, argument: str, values: Any) -> Iterable[Any]:
    """Return what can be gone through, a stream included, none of it read."""
    try:
        iter(values)
    except TypeError:
        refuse(function, argument, "be iterable", values, TypeError)
    return values  # type: ignore[no-any-return]


def row(function: str, argument: str, logits: Row) -> Sequence[float]:
    """Return one row of scores as a sequence that is not empty, its scores not looked at."""
    values = items(function, argument, logits)
    if not len(values):
        raise ValueError(f"{function}: {argument} must hold at least one score, got 0")
    return values


def is_sequence(value: object) -> bool:
    """Return whether value nests further: a sequence or an array with an axis, not a number and not text."""
    if isinstance(value, (int, float, str, bytes, bytearray)):
        return False
    return isinstance(value, Sequence) or (hasattr(value, "tolist") and getattr(value, "ndim", 1) > 0)


def map_rows(
    function: str, leaf: Callable[..., Any], names: Sequence[str], values: Sequence[Nested], at: str = ""
) -> Any:
    """Return leaf(at, row, ...) for each innermost row of the first argument, nested as that is.

    names, values: the arguments walked in step; all must be as long as the first, level by level, down to its rows.
    at: where the walk stands, "[1][0]" say, so that a refusal can name the place: names[0] + at.

    >>> map_rows("f", lambda at, row, low: [x - low for x in row], ("rows", "lows"), ([[3, 4], [5]], [1, 2]))
    [[2, 3], [3]]
    """
    first = items(function, names[0] + at, values[0])
    if not len(first) or not is_sequence(first[0]):
        return leaf(at, first, *values[1:])
    others = [items(function, name + at, value) for name, value in zip(names[1:], values[1:], strict=True)]
    for name, other in zip(names[1:], others, strict=True):
        same_length(function, name + at, other, names[0] + at, len(first))
    children = enumerate(zip(first, *others, strict=True))
    return [map_rows(function, leaf, names, each, f"{at}[{i}]") for i, each in children]


def same_length(function: str, argument: str, values: Sequence[Any], other: str, length: int) -> None:
    """Refuse values unless it holds as many elements as the argument called other."""
    if len(values) != length:
        raise ValueError(f"{function}: {argument} must be as long as {other} ({length}), got {len(values)}")
