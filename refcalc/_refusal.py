"""The one form of refusal: function: argument[index] must RULE, got VALUE."""

__all__ = ["NoComparison", "harmless", "refuse", "shown"]

import re
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


def harmless(text: str) -> str:
    r"""Return text in which what would steer a terminal, or cannot be written, is shown as its escape.

    >>> harmless("caf\u00e9 \x1b[31m\n")
    'café \\x1b[31m\n'
    """
    return re.sub(r"[^\n -~]", lambda found: found[0] if found[0].isprintable() else ascii(found[0])[1:-1], text)


def refuse(function: str, argument: str, rule: str, value: object, kind: type[Exception] = ValueError) -> NoReturn:
    """Raise the one form of refusal."""
    raise kind(f"{function}: {argument} must {rule}, got {shown(value)}")
