"""Where input is converted and where it is refused, with one wording for each rule.

Every refusal reads

    function: argument[index] must RULE, got VALUE

and is a ValueError where the value is wrong, a TypeError where its kind is.

Good input is not scanned before it is used: the functions here that read every element (`floats`) are called
after a result came out wrong, to find the culprit, or where a conversion is needed anyway.
"""

__all__ = [
    "Nested",
    "Numbers",
    "Row",
    "bits",
    "choice",
    "count",
    "floats",
    "fraction_of_one",
    "is_batch",
    "items",
    "not_negative",
    "real",
    "refuse",
    "row",
    "same_length",
    "shown",
    "target",
    "weights",
    "whole",
    "wholes",
]

import reprlib
from collections.abc import Sequence
from math import inf
from typing import Any, NoReturn

Row = Sequence[float]  # V scores, or anything that gives them by .tolist()
Numbers = Sequence[float]
Nested = Any  # a number, or a sequence of nested numbers: Python's type system cannot say "ragged"


def shown(value: object) -> str:
    """Return value as a refusal shows it: its repr, cut short where it is long."""
    return reprlib.repr(value)


def refuse(function: str, argument: str, rule: str, value: object, kind: type[Exception] = ValueError) -> NoReturn:
    """Raise the one form of refusal."""
    raise kind(f"{function}: {argument} must {rule}, got {shown(value)}")


# --- sequences -------------------------------------------------------------------------------------------------------


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


def row(function: str, argument: str, logits: Row) -> Sequence[float]:
    """Return one row of scores as a sequence that is not empty, its scores not looked at."""
    values = items(function, argument, logits)
    if not len(values):
        raise ValueError(f"{function}: {argument} must hold at least one score, got 0")
    return values


def is_batch(values: Nested) -> bool:
    """Return whether values nests sequences (True also for what is empty), rather than numbers."""
    if hasattr(values, "ndim"):  # arrays and tensors know; to index them would give scalars of their own kind
        return bool(values.ndim > 1 or values.ndim == 1 and not len(values))
    return not len(values) or _is_sequence(values[0])


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes)) or getattr(value, "ndim", 0) > 0


def same_length(function: str, argument: str, values: Sequence[Any], other: str, length: int) -> None:
    """Refuse values unless it holds as many elements as the argument called other."""
    if len(values) != length:
        raise ValueError(f"{function}: {argument} must be as long as {other} ({length}), got {len(values)}")


# --- numbers ---------------------------------------------------------------------------------------------------------


def real(function: str, argument: str, value: Any) -> float:
    """Return value as a float; text, None and complex numbers are no numbers here."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int) or (hasattr(value, "__float__") and not isinstance(value, str)):
        try:
            return float(value)
        except OverflowError:
            refuse(function, argument, "be within the range of a double", value)
        except (TypeError, ValueError):
            pass
    refuse(function, argument, "be a number", value, TypeError)


def floats(function: str, argument: str, scores: Sequence[Any]) -> list[float]:
    """Return the scores of one row as Python floats, each finite or -inf, or name the one that is not."""
    result = []
    for i, score in enumerate(scores):
        z = score if type(score) is float else real(function, f"{argument}[{i}]", score)
        if not z < inf:  # true of nan as well as of +inf
            refuse(function, f"{argument}[{i}]", "be finite or -inf", z)
        result.append(z)
    return result


def not_negative(function: str, argument: str, value: Any, *, finite: bool = False) -> float:
    """Return a number in [0, inf] as a float; with finite, in [0, inf)."""
    x = real(function, argument, value)
    if not x >= 0.0:
        refuse(function, argument, "not be negative" if x < 0.0 else "be a number", x)
    if finite and x == inf:
        refuse(function, argument, "be finite", x)
    return x


def fraction_of_one(function: str, argument: str, value: Any) -> float:
    """Return a number in [0, 1] as a float."""
    x = real(function, argument, value)
    if not 0.0 <= x <= 1.0:
        refuse(function, argument, "lie in [0, 1]", x)
    return x


def weights(function: str, argument: str, values: Nested) -> list[float]:
    """Return a sequence of finite numbers, none of them negative, as floats."""
    return [
        not_negative(function, f"{argument}[{i}]", w, finite=True)
        for i, w in enumerate(items(function, argument, values))
    ]


# --- whole numbers ---------------------------------------------------------------------------------------------------


def whole(function: str, argument: str, value: Any) -> int:
    """Return a whole number as an int: bool, text and floats are refused, scalars of arrays are not."""
    if type(value) is int:
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool) or not isinstance(value, int):
        refuse(function, argument, "be a whole number", value, TypeError)
    return int(value)


def wholes(function: str, argument: str, values: Nested) -> list[int]:
    """Return a sequence of whole numbers as a list of ints."""
    sequence = items(function, argument, values)
    return [
        v if type(v) is int else whole(function, f"{argument}[{i}]", v) for i, v in enumerate(sequence)
    ]


def count(function: str, argument: str, value: Any, least: int = 0) -> int:
    """Return a whole number that is at least `least`: 0 for what is counted, 1 for what is divided by."""
    n = whole(function, argument, value)
    if n < least:
        refuse(function, argument, f"be at least {least}", n)
    return n


def target(function: str, argument: str, value: Any, classes: int) -> int:
    """Return the index of a class, in [0, V): nothing wraps around from the end."""
    y = whole(function, argument, value)
    if not 0 <= y < classes:
        refuse(function, argument, f"lie in [0, {classes})", y)
    return y


def bits(function: str, argument: str, values: Nested) -> list[bool]:
    """Return a mask, a sequence of 0 and 1 or of bool, as a list of bool."""
    result = []
    for i, value in enumerate(items(function, argument, values)):
        flag = value if isinstance(value, bool) else whole(function, f"{argument}[{i}]", value)
        if flag not in (0, 1):
            refuse(function, f"{argument}[{i}]", "be 0 or 1", value)
        result.append(bool(flag))
    return result


# --- names -----------------------------------------------------------------------------------------------------------


def choice(function: str, argument: str, value: object, names: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the names."""
    if value not in names:
        refuse(function, argument, f"be one of {', '.join(map(repr, names))}", value)
