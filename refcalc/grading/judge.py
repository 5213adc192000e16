"""Whether an answer is right: held against the right one, place by place.

A number is right if |got - want| <= 1e-9 max(1, |want|): so the textbook formula passes even on confident hits, whose
digits it loses; a strict grade asks for 4 ulp.  Infinities equal themselves.  Where a whole number, a text, a bool or
None is wanted, it has to be that.
"""

__all__ = ["LOST", "ROUNDED", "Case", "Fault", "close", "judged", "told"]

from math import isfinite, isnan, ulp
from typing import Any, NamedTuple

from refcalc._refusal import harmless
from refcalc.closeness import compare
from refcalc.grading.exercise import Arguments
from refcalc.grading.worker import Reply, Stranger

RELATIVE, NARROW = 1e-9, 1e-6
LOST = "digits were lost on the way: right, but for a strict grade"
ROUNDED = "so near a miss may be rounding: in float32, or to a few digits"
ULP = 4
NAMES = {str: "text", bool: "a bool", type(None): "None"}


class Fault(NamedTuple):
    """What is wrong with the answer to one call.

    status: "wrong", "raises", "hangs", or "refused" where it is no answer.
    reason: in words, "" where the two numbers say it.  ulp: how far these are apart.
    """

    status: str
    reason: str = ""
    ulp: float | None = None


class Case(NamedTuple):
    """One call: its arguments, the right answer, what came back, and what is wrong with that, if anything."""

    arguments: Arguments
    want: Any
    reply: Reply
    fault: Fault | None


def judged(reply: Reply, want: Any, floor: float | None) -> Fault | None:
    """Return what is wrong with a reply, None if it is right.

    floor: where 4 ulp are asked for, the least number whose ulp these are; None where 1e-9 will do.
    """
    if reply.kind == "hung":
        return Fault("hangs", reply.error)
    if reply.kind == "died":
        return Fault("raises", reply.error)
    if reply.kind == "raised":
        return Fault("raises", told(reply))
    fault = _fault(reply.value, want, floor, "")
    if fault is None and reply.changed:
        return Fault("wrong", "the answer is right, but the arguments were changed: copy what you change")
    return fault


def told(reply: Reply) -> str:
    """Return in words what was raised, and where."""
    message = f"{reply.error}: {reply.message}" if reply.message else reply.error
    return _printable(message) if reply.line is None else f"{_printable(message)} (line {reply.line})"


def close(a: Any, b: Any) -> bool:
    """Return whether two answers are the same but for rounding; here nan is nan."""
    if isinstance(b, dict):
        return isinstance(a, dict) and a.keys() == b.keys() and all(close(a[key], b[key]) for key in b)
    if isinstance(b, (list, tuple)):
        return isinstance(a, (list, tuple)) and len(a) == len(b) and all(map(close, a, b))
    if not _is_number(a) or not _is_number(b):
        return type(a) is type(b) and bool(a == b)
    return (isnan(a) and isnan(b)) or _near(a, b)


# --- private ---------------------------------------------------------------------------------------------------------


def _fault(got: Any, want: Any, floor: float | None, at: str) -> Fault | None:
    if isinstance(want, dict):
        return _dict_fault(got, want, floor, at)
    if isinstance(want, (list, tuple)):
        return _list_fault(got, want, floor, at)
    if _is_number(want):
        return _number_fault(got, want, floor, at)
    if type(got) is not type(want):
        return _stranger(got, NAMES[type(want)], at)
    return None if got == want else Fault("wrong", _place(at, f"{got!r}, where {want!r} is right"))


def _dict_fault(got: Any, want: dict[Any, Any], floor: float | None, at: str) -> Fault | None:
    if not isinstance(got, dict):
        return _stranger(got, "a dict", at)
    for key, value in want.items():
        if key not in got:
            return Fault("wrong", _place(at, f"the key {key!r} is missing"))
        fault = _fault(got[key], value, floor, f"{at}[{key!r}]")
        if fault is not None:
            return fault
    more = [key for key in got if key not in want]
    return Fault("wrong", _place(at, f"the key {more[0]!r} is one too many")) if more else None


def _list_fault(got: Any, want: list[Any] | tuple[Any, ...], floor: float | None, at: str) -> Fault | None:
    if not isinstance(got, (list, tuple)):
        return _stranger(got, "a list", at)
    faults = [_fault(a, b, floor, f"{at}[{i}]") for i, (a, b) in enumerate(zip(got, want, strict=False))]
    first = next((fault for fault in faults if fault is not None), None)
    if (first is None or first.status == "wrong") and len(got) != len(want):
        return Fault("wrong", _place(at, f"{_counted(len(got))}, where {len(want)} are right"))
    return first


def _number_fault(got: Any, want: float, floor: float | None, at: str) -> Fault | None:
    if not _is_number(got):
        return _stranger(got, "a number", at)
    if isnan(got) and not isnan(want):
        return Fault("refused", _place(at, "nan came back, which is no number"))
    if got == want or (isnan(want) and isnan(got)):
        return None
    if not isinstance(want, int) and (_within(got, want, floor) if floor is not None else _near(got, want)):
        return None
    reason = [f"first at {at}"] if at else []
    if not isinstance(want, int) and abs(got - want) <= NARROW * max(1.0, abs(want)):
        reason.append(LOST if _near(got, want) else ROUNDED)
    return Fault("wrong", "; ".join(reason), compare(got, want).worst_ulp)


def _stranger(got: Any, wanted: str, at: str) -> Fault:
    """Return the refusal of something that is of another kind than the answer."""
    shown = str(got) if got is None or isinstance(got, Stranger) else f"{type(got).__name__} {got!r}"
    shown = _printable(shown)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return Fault("refused", _place(at, f"{shown} came back, where {wanted} is wanted"))


def _place(at: str, text: str) -> str:
    return f"at {at}: {text}" if at else text


def _printable(text: str) -> str:
    """Return a module's own words on one line, without what would steer a terminal."""
    return harmless(" ".join(text.split()))


def _counted(n: int) -> str:
    return f"{n} element{'' if n == 1 else 's'}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _near(a: float, b: float) -> bool:
    """Return whether a is b within 1e-9 of max(1, |b|)."""
    if not isfinite(a) or not isfinite(b):
        return a == b
    return abs(a - b) <= RELATIVE * max(1.0, abs(b))


def _within(a: float, b: float, floor: float) -> bool:
    """Return whether a is within 4 ulp of b, or of the floor if that is larger."""
    return isfinite(a) and isfinite(b) and abs(a - b) <= ULP * ulp(max(abs(b), floor))
