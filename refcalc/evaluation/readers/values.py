"""The numbers of a log, each converted or refused by file, line and key."""

__all__ = ["count", "items", "log_probability", "nll", "read_all", "table", "texts"]

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from refcalc import _check
from refcalc.evaluation.readers.records import Record

SLACK = 2.0**-7  # rounding in bfloat16 can leave the log-probability of a sure token this far above 0


def nll(record: Record, argument: str, value: Any) -> float:
    """Return an nll of a log: a number or "inf", at least 0 but for the rounding of a sure token."""
    if value == "inf":
        return inf
    x = _number(record, argument, value)
    if not x >= -SLACK:
        record.refuse(argument, "be an nll, at least 0 but for rounding", value)
    return x


def log_probability(record: Record, argument: str, value: Any) -> float:
    """Return the nll of a log-probability of a log: a number or "-inf", at most 0 but for rounding."""
    if value == "-inf":
        return inf
    x = _number(record, argument, value)
    if not x <= SLACK:
        record.refuse(argument, "be a log-probability, at most 0 but for rounding", value)
    return 0.0 - x


def read_all(record: Record, argument: str, values: Sequence[Any], read: Callable[..., float]) -> list[float]:
    """Return the nlls of a list of values, read by one of the two above; a first null is no target.

    Most lists are floats without a fault, and looking at the extremes of one is faster than at each value.
    """
    first = int(bool(values) and values[0] is None)
    scored = values[first:]
    if scored and set(map(type, scored)) == {float}:
        low, high = min(scored), max(scored)
        if read is log_probability and -inf < low and high <= SLACK:
            return [0.0 - x for x in scored]
        if read is nll and low >= -SLACK and high < inf:
            return list(scored)
    return [read(record, f"{argument}[{i}]", values[i]) for i in range(first, len(values))]


def table(record: Record, argument: str, value: Any) -> dict[str, Any]:
    """Return an object of a log; an empty one in place of null."""
    if value is not None and not isinstance(value, dict):
        record.refuse(argument, "be an object", value, TypeError)
    return value or {}


def items(record: Record, argument: str, value: Any) -> Sequence[Any]:
    """Return a list of a log; an empty one in place of null."""
    return () if value is None else _check.items(record.path, f"{record.at}: {argument}", value)


def texts(record: Record, argument: str, value: Any) -> list[str]:
    """Return a list of text of a log; an empty one in place of null."""
    for i, each in enumerate(items(record, argument, value)):
        if not isinstance(each, str):
            record.refuse(f"{argument}[{i}]", "be text", each, TypeError)
    return list(value or ())


def count(record: Record, argument: str, value: Any, least: int = 0) -> int:
    """Return a whole number of a log."""
    return _check.count(record.path, f"{record.at}: {argument}", value, least)


# --- private ---------------------------------------------------------------------------------------------------------


def _number(record: Record, argument: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        record.refuse(argument, "be a number", value, TypeError)
    return _check.finite(record.path, f"{record.at}: {argument}", value)
