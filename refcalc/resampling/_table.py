"""What is drawn in a resample: a numerator and a denominator for each document, or for each group of them."""

__all__ = ["Documents", "Table", "read", "same_documents", "table"]

from collections.abc import Hashable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from refcalc import _check
from refcalc.resampling._exact import integers, quotient

Documents = Sequence[tuple[float, float]] | Mapping[Any, tuple[float, float]]
ById = dict[Hashable, tuple[float, float]]

FEW = 8
LARGEST = 1e280  # of a ratio: so intervals around it stay within the doubles


class Table(NamedTuple):
    """The ratio of row i is above[i] / (below[i] * 2**p), exactly."""

    above: list[int]
    below: list[int]
    p: int
    what: str  # "documents" or "groups"

    def pooled(self) -> float:
        return self.ratio(sum(self.above), sum(self.below))

    def ratio(self, above: int, below: int) -> float:
        return quotient(above, below, self.p)

    def warnings(self) -> tuple[str, ...]:
        found = []
        if len(self.above) < FEW:
            rule = f"below {FEW} the interval is not to be trusted, most often it is too narrow"
            found.append(f"only {len(self.above)} {self.what} to draw from: {rule}")
        a, b = self.above[0], self.below[0]
        if all(above * b == a * below for above, below in zip(self.above, self.below, strict=True)):
            what = f"every {self.what[:-1]} has the same ratio"
            found.append(f"{what}: that no draw differs from it does not make it certain")
        return tuple(found)


def read(function: str, argument: str, documents: Documents) -> ById:
    """Return the documents by id, or by place where they have none."""
    if isinstance(documents, Mapping):
        pairs = dict(documents)
    else:
        pairs = dict(enumerate(_check.items(function, argument, documents)))
    result: ById = {}
    for key, pair in pairs.items():
        at = f"{argument}[{key!r}]"
        two = _check.items(function, at, pair)
        if len(two) != 2:
            _check.refuse(function, at, "hold a numerator and a denominator", pair)
        denominator = _check.finite(function, f"{at}[1]", two[1])
        if denominator <= 0.0:
            _check.refuse(function, f"{at}[1]", "be above 0 (leave out what was not scored)", denominator)
        result[key] = _check.finite(function, f"{at}[0]", two[0]), denominator
    return result


def same_documents(function: str, ours: ById, theirs: ById) -> ById:
    """Return theirs in the order of ours, or refuse them where a document is missing or is measured otherwise."""
    for key in ours:
        if key not in theirs:
            _check.refuse(function, "theirs", f"have the document {key!r}, which ours has", list(theirs))
    for key in theirs:
        if key not in ours:
            _check.refuse(function, "ours", f"have the document {key!r}, which theirs has", list(ours))
    for key, (_, n) in ours.items():
        if theirs[key][1] != n:
            rule = f"be {n!r}, the denominator of the same document in ours"
            _check.refuse(function, f"theirs[{key!r}][1]", rule, theirs[key][1])
    return {key: theirs[key] for key in ours}


def table(
    function: str,
    ours: ById,
    groups: Sequence[Hashable] | None,
    theirs: ById | None = None,
    argument: str = "documents",
) -> Table:
    """Return the table of the documents, or of the differences ours - theirs, summed up by group if there are any."""
    numerators = [s for s, _ in ours.values()]
    above, p = integers(numerators if theirs is None else [*numerators, *(s for s, _ in theirs.values())])
    if theirs is not None:
        above = [a - b for a, b in zip(above[: len(ours)], above[len(ours) :], strict=True)]
    below, q = integers([n for _, n in ours.values()])
    if groups is None:
        what = "documents"
    else:
        labels = _check.items(function, "groups", groups)
        _check.same_length(function, "groups", labels, argument, len(ours))
        for i, label in enumerate(labels):
            _check.hashable(function, f"groups[{i}]", label)
        above, below = _summed(above, labels), _summed(below, labels)
        argument = what = "groups"
    if len(above) < 2:
        raise ValueError(f"{function}: {argument} must hold at least 2 {what} to draw from, got {len(above)}")
    result = Table(above, below, p - q, what)
    if not _largest_ratio(result) <= LARGEST:
        _check.refuse(function, argument, f"have sums and ratios of at most {LARGEST}", "larger ones")
    return result


def _largest_ratio(rows: Table) -> float:
    """Return what no resample has a larger ratio than."""
    try:
        return rows.ratio(sum(map(abs, rows.above)), min(rows.below))
    except OverflowError:
        return inf


def _summed(units: list[int], groups: Sequence[Hashable]) -> list[int]:
    """Return the sum of each group, in the order in which they first come."""
    sums: dict[Hashable, int] = {}
    for group, unit in zip(groups, units, strict=True):
        sums[group] = sums.get(group, 0) + unit
    return list(sums.values())
