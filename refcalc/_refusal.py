"""The one form of refusal: function: argument[index] must RULE, got VALUE."""

__all__ = ["NoComparison", "refuse", "shown"]

import reprlib
from typing import NoReturn


class NoComparison(ValueError):
    """Both sides are sound, but what they measured is not the same: the command line then exits with 1, not 2."""


def shown(value: object) -> str:
    """Return value as a refusal shows it: its repr, cut short where it is long."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python's own limit on the digits of an int
        return f"{type(value).__name__} of more digits than Python shows"


def refuse(function: str, argument: str, rule: str, value: object, kind: type[Exception] = ValueError) -> NoReturn:
    """Raise the one form of refusal."""
    raise kind(f"{function}: {argument} must {rule}, got {shown(value)}")
