"""The receipts of two files, document by document, in columns: what a comparison of a million documents can hold."""

__all__ = ["Aligned", "Ratios", "Side", "aligned"]

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from refcalc import _check
from refcalc._refusal import NoComparison
from refcalc.evaluation.columns import read_rows
from refcalc.evaluation.comparison import PER
from refcalc.evaluation.corpus import Id
from refcalc.evaluation.reading import Receipts
from refcalc.evaluation.scored import Faults


class Ratios(Sequence[tuple[float, int]]):
    """The nll sum and a count of each document: pairs that are made when they are asked for.

    >>> list(Ratios(array("d", [1.5, 2.0]), array("q", [3, 4])))
    [(1.5, 3), (2.0, 4)]
    """

    def __init__(self, nll: "array[float]", counts: "array[int]") -> None:
        self.nll, self.counts = nll, counts

    def __len__(self) -> int:
        return len(self.nll)

    def __getitem__(self, i: int) -> tuple[float, int]:  # type: ignore[override]  # nobody takes slices
        return self.nll[i], self.counts[i]

    def counted(self) -> "Ratios":
        """Return those whose count is not 0."""
        pairs = [(s, n) for s, n in self if n]
        return Ratios(array("d", [s for s, _ in pairs]), array("q", [n for _, n in pairs]))


class Side:
    """The receipts of one file in columns; rows: where each document stands in them."""

    def __init__(self, receipts: Receipts) -> None:
        self.path = receipts.path
        self.rows: dict[Id, int] = {}
        self.nll = array("d")
        self.counts = {each.field: array("q") for each in PER.values()}
        self.n_unk = 0
        columns = self.counts.values()
        for document, nll, *counts, _, n_unk in read_rows(receipts):
            if self.rows.setdefault(document, len(self.nll)) != len(self.nll):
                _check.refuse(self.path, "each document", "have one receipt", document)
            self.nll.append(nll)
            for column, count in zip(columns, counts, strict=True):
                column.append(count or 0)
            self.n_unk += n_unk or 0

    def take(self, documents: list[Id]) -> None:
        """Keep these documents alone, in their order, and forget the ids."""
        rows = array("q", [self.rows[key] for key in documents])
        self.nll = array("d", [self.nll[row] for row in rows])
        self.counts = {field: array("q", [column[row] for row in rows]) for field, column in self.counts.items()}
        self.rows = {}


class Aligned(NamedTuple):
    """The documents of both files in the order of their ids, so that the order of the receipts shows nowhere.

    only: how many documents ours alone has, and theirs alone.
    """

    documents: list[Id]
    ours: Side
    theirs: Side
    only: tuple[int, int]

    def ratios(self, field: str) -> tuple[Ratios, Ratios]:
        """Return the nll sums over one of the counts, ours and theirs."""
        return Ratios(self.ours.nll, self.ours.counts[field]), Ratios(self.theirs.nll, self.theirs.counts[field])


def aligned(ours: Receipts, theirs: Receipts, common_only: bool = False) -> Aligned:
    """Return the documents of both files side by side.

    Raises NoComparison for a document that one of them lacks, unless the common ones are wanted only, and where there
    is none in common.
    """
    first, second = Side(ours), Side(theirs)
    documents = sorted(first.rows.keys() & second.rows.keys(), key=lambda key: (isinstance(key, str), key))
    only = len(first.rows) - len(documents), len(second.rows) - len(documents)
    if not documents:
        raise NoComparison(f"{second.path}: the file must hold a document of {first.path}, got none")
    for one, other in ((second, first), (first, second)):
        if len(one.rows) > len(documents) and not common_only:
            missing = Faults(repr(key) for key in one.rows if key not in other.rows)
            rule = f"hold the documents of {one.path} (unless despite names documents)"
            raise NoComparison(f"{other.path}: the file must {rule}, got none of {missing}")
    for side in (first, second):
        side.take(documents)
    return Aligned(documents, first, second, only)
