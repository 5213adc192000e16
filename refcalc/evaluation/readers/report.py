"""A report as `refcalc report --json` writes it: what was published of a file of receipts."""

__all__ = ["LOOKED_FOR", "claims", "hold", "recognises"]

from collections.abc import Iterator
from typing import Any

from refcalc.evaluation.readers.log import Findings
from refcalc.evaluation.readers.published import claims_of
from refcalc.evaluation.readers.records import Record
from refcalc.evaluation.readers.values import items, table
from refcalc.evaluation.report import Report

LOOKED_FOR = "beside receipts, a refcalc report in JSON"
OF_OTHERS = ("baselines", "splits", "criteria")  # what receipts of other runs have a part in
LIBM = 2.0**-50
NOT_NUMBERS = ("file", "note")


def recognises(value: Any) -> bool:
    """Return whether a record is a report."""
    return isinstance(value, dict) and {"protocol_digest", "figures", "total"} <= set(value)


def claims(record: Record) -> dict[str, Any]:
    """Return the figures and counts of a report."""
    value = record.printed()
    for key in ("figures", "total"):
        if not isinstance(value[key], dict):
            record.refuse(key, "be an object", value[key], TypeError)
    figures = {name: each.get("value") if isinstance(each, dict) else each for name, each in value["figures"].items()}
    counts = {name: each for name, each in value["total"].items() if name.startswith("n_")}
    return claims_of(record, {**counts, **figures})


def hold(record: Record, receipts: str, found: Findings) -> None:
    """Hold everything else that a report says against the one that its receipts give."""
    published = record.printed()
    own = Report.of(receipts, worst=len(items(record, "worst", published.get("worst")))).to_dict()
    baselines, splits = (table(record, key, published.get(key)) for key in ("baselines", "splits"))
    alone = baselines.keys() <= {"uniform"} and not splits
    if not alone:
        found.unverified[f"{record.place}: {', '.join(OF_OTHERS)}"] = "receipts of other runs have a part in them"
    for key in own:
        if key not in NOT_NUMBERS and (alone or key not in OF_OTHERS):
            _hold_leaves(record, found, key, published.get(key), own[key])


# --- private ---------------------------------------------------------------------------------------------------------


def _hold_leaves(record: Record, found: Findings, key: str, published: Any, own: Any) -> None:
    theirs, ours = dict(_leaves(key, published)), dict(_leaves(key, own))
    for path in sorted(theirs.keys() | ours.keys()):
        if not _within_rounding(theirs.get(path), ours.get(path)):
            found.same(record, (path, theirs.get(path)), ("the report that the receipts give", ours.get(path)))


def _within_rounding(one: Any, other: Any) -> bool:
    """Return whether two floats are the same but for another C library's exp and log."""
    return isinstance(one, float) and isinstance(other, float) and abs(one - other) <= LIBM * abs(other)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the numbers, texts and nulls within a value, each with its path."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(f"{path}.{key}", each)
    elif isinstance(value, (list, tuple)):
        for i, each in enumerate(value):
            yield from _leaves(f"{path}[{i}]", each)
    else:
        yield path, value
