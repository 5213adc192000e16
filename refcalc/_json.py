"""Reading JSON strictly: what the standard reader lets through silently is refused with its place.

Bare NaN and Infinity are no JSON; of a key given twice one value would vanish; deep nesting would end the process.
In JSON a number that is not finite is the string "inf", "-inf" or "nan".
"""

__all__ = ["plain", "read", "read_line"]

import json
import re
from collections.abc import Callable
from functools import partial
from math import isfinite
from typing import Any, NoReturn


def read(text: str | bytes, *, number: Callable[[str], float] | None = None) -> Any:
    """Return what a JSON text holds; a ValueError says what it must be and what it is instead.

    number: what makes a number of the digits of a float, where not float itself.
    """
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        constant = partial(_refuse_constant, text)
        return json.loads(text, parse_float=number, parse_constant=constant, object_pairs_hook=_distinct_keys)
    except UnicodeDecodeError as error:
        raise ValueError(f"must be UTF-8, got a bad byte at offset {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"must be JSON, got {error.msg} at line {error.lineno}, column {error.colno}") from None
    except _Refusal:
        raise
    except ValueError:  # Python's own limit on the digits of an int
        raise ValueError("must hold whole numbers of at most 4,300 digits, got a longer one") from None
    except RecursionError:
        raise ValueError("must not nest so deeply, got too many levels of [ or {") from None


def read_line(path: str, number: int, line: str | bytes) -> Any:
    """Return what a line of a file holds, read strictly; a ValueError names the file and the line."""
    try:
        return read(line)
    except ValueError as error:
        raise ValueError(f"{path}: line {number} {str(error).replace('line 1, ', '')}") from None


def plain(value: Any) -> Any:
    """Return value as JSON can hold it: floats that are not finite as the strings "inf", "-inf", "nan".

    >>> plain({"perplexity": float("inf"), "nll": [1.5]})
    {'perplexity': 'inf', 'nll': [1.5]}
    """
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return repr(value) if isinstance(value, float) and not isfinite(value) else value


class _Refusal(ValueError):
    """What the hooks below refuse, told apart from what Python's reader raises."""


def _refuse_constant(text: str, name: str) -> NoReturn:
    """Refuse NaN, Infinity or -Infinity by its place: the first that stands outside a string."""
    found = next(match for match in re.finditer(r'"(?:\\.|[^"\\])*"|-?Infinity|NaN', text) if match[0] == name)
    line, column = text.count("\n", 0, found.start()) + 1, found.start() - text.rfind("\n", 0, found.start())
    rule = 'must hold numbers that are finite, or the strings "inf" and "-inf"'
    raise _Refusal(f"{rule}, got {name} at line {line}, column {column}")


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _Refusal(f"must not name a key twice, got {key!r} again")
        result[key] = value
    return result
