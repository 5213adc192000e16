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
    "double",
    "doubles",
    "file",
    "finite",
    "floats",
    "fraction_of_one",
    "hashable",
    "is_sequence",
    "items",
    "iterable",
    "map_rows",
    "no_flush",
    "not_nan",
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

import os
import stat
from collections.abc import Sequence
from math import inf, isnan, ldexp
from typing import Any

from refcalc._nest import Nested, Numbers, Row, is_sequence, items, iterable, map_rows, row, same_length
from refcalc._refusal import refuse, shown

LEAST_NORMAL = ldexp(1.0, -1022)
LARGEST_WEIGHT = ldexp(1.0, 500)


# --- numbers ---------------------------------------------------------------------------------------------------------


def real(function: str, argument: str, value: Any) -> float:
    """Return value as a float; text, None and complex numbers are no numbers here."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int) or (hasattr(value, "__float__") and not isinstance(value, (str, bytes, complex))):
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


def double(function: str, argument: str, value: Any) -> float:
    """Return a number that is exactly a double as a float: an answer to the last bit is about the number handed in."""
    if hasattr(value, "tolist"):  # an array's integer compares with a float by rounding itself
        value = value.tolist()
    x = real(function, argument, value)
    if type(value) is not float and x != value and not isnan(x):
        refuse(function, argument, "be exactly a double", value)
    return x


def doubles(function: str, argument: str, scores: Sequence[Any]) -> list[float]:
    """Return the scores of one row as Python floats, each finite or -inf and exactly what was given."""
    for i, score in enumerate(scores):
        double(function, f"{argument}[{i}]", score)
    return floats(function, argument, scores)


def not_nan(function: str, argument: str, value: Any) -> float:
    """Return a number of any sign, infinite or not, as a float."""
    x = real(function, argument, value)
    if isnan(x):
        refuse(function, argument, "be a number", x)
    return x


def finite(function: str, argument: str, value: Any) -> float:
    """Return a finite number of any sign as a float."""
    x = not_nan(function, argument, value)
    if x in (inf, -inf):
        refuse(function, argument, "be finite", x)
    return x


def not_negative(function: str, argument: str, value: Any, *, finite: bool = False) -> float:
    """Return a number in [0, inf] as a float; with finite, in [0, inf)."""
    x = not_nan(function, argument, value)
    if x < 0.0:
        refuse(function, argument, "not be negative", x)
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
    """Return a sequence of finite numbers, none of them negative, as floats.

    They are below 2**500, so that the sums and products of two of them that a loss takes stay within the doubles.
    """
    result = []
    for i, value in enumerate(items(function, argument, values)):
        w = not_negative(function, f"{argument}[{i}]", value, finite=True)
        if w >= LARGEST_WEIGHT:
            refuse(function, f"{argument}[{i}]", "be below 2**500", w)
        result.append(w)
    return result


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
    return [v if type(v) is int else whole(function, f"{argument}[{i}]", v) for i, v in enumerate(sequence)]


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
        flag = value.tolist() if hasattr(value, "tolist") else value
        flag = flag if isinstance(flag, bool) else whole(function, f"{argument}[{i}]", flag)
        if flag not in (0, 1):
            refuse(function, f"{argument}[{i}]", "be 0 or 1", value)
        result.append(bool(flag))
    return result


# --- keys ------------------------------------------------------------------------------------------------------------


def hashable(function: str, argument: str, value: object) -> None:
    """Refuse what has no hash; a tuple has one only if all that it holds has."""
    try:
        hash(value)
    except TypeError:
        refuse(function, argument, "be hashable", value, TypeError)


# --- names -----------------------------------------------------------------------------------------------------------


def choice(function: str, argument: str, value: object, names: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the names."""
    if value not in names:
        refuse(function, argument, f"be one of {', '.join(map(repr, names))}", value)


def file(function: str, argument: str, value: Any) -> str:
    """Return the path of a regular file, or of a link to one, as text; where there is none, open's own errors stand.

    Directories are refused, and so are pipes and devices, which may never come to an end.
    """
    if not isinstance(value, (str, os.PathLike)):
        refuse(function, argument, "be the path of a file", value, TypeError)
    path = os.fsdecode(value)
    if not stat.S_ISREG(os.stat(path).st_mode):
        refuse(function, argument, "be a regular file", path)
    return path


# --- the machine -----------------------------------------------------------------------------------------------------



def no_flush(function: str) -> None:
    """Refuse to go on where the process flushes subnormal numbers to zero: exact results would lose them unseen.

    Some libraries switch the whole process so (`torch.set_flush_denormal`, code compiled with -ffast-math).  Halving
    the least normal double shows a flush of results as well as one of operands.
    """
    if not LEAST_NORMAL * 0.5 > 0.0:
        raise ArithmeticError(f"{function}: the process must not flush subnormal numbers to zero, got a mode that does")
