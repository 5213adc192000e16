"""Two files of receipts side by side: the differences of their documents, pair by pair."""

__all__ = ["compare_reports"]

from array import array
from collections.abc import Callable, Iterable, Sequence
from math import isfinite, isnan
from typing import Any, NamedTuple

from refcalc import _check
from refcalc._refusal import NoComparison
from refcalc.evaluation.ablation import KINDS, Arm, check_arms
from refcalc.evaluation.columns import read_rows
from refcalc.evaluation.comparability import DOCUMENTS, check_despite, terms_of
from refcalc.evaluation.comparison import PER, Quantity, ReportComparison
from refcalc.evaluation.corpus import Id
from refcalc.evaluation.log import Receipts
from refcalc.evaluation.scored import Faults, protocol_of
from refcalc.exact_sum import ExactSum
from refcalc.resampling import paired_bootstrap

NAME = "compare_reports"

Progress = Callable[[int, int], object]
Column = list[tuple[float, int]]  # the nll sum and a count of each document


def compare_reports(
    ours: str | Receipts,
    theirs: str | Receipts,
    *,
    despite: Iterable[str] = (),
    per: str | None = None,
    kind: str | None = None,
    arms: tuple[Arm, Arm] | None = None,
    draws: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> ReportComparison:
    """Return two evaluations of the same documents side by side, with the bootstrap interval of ours - theirs.

    ours, theirs: files of receipts with their protocols.
    despite: fields of the protocol that may differ nonetheless, and "documents" where only those of both are to be
        compared.  The result names those that it took.
    per: "target", "byte", "char" or "word": the one quantity to compare; without it, all that can be.
    kind, arms: of an ablation: "intervention" or "paired-retraining", and the Arm of each side.
    draws, seed, confidence, progress: those of paired_bootstrap; documents are drawn.

    >>> from refcalc.evaluation.log import ReceiptLog
    >>> from refcalc.evaluation.protocol import Protocol
    >>> from refcalc.evaluation.receipt import Receipt
    >>> def scored(tokenizer, *nlls):
    ...     more = {"corpus": "v1", "split": "test", "checkpoint": "step-80", "window": 8, "units": ("bytes",)}
    ...     log = ReceiptLog(None, Protocol(vocab_size=9, tokenizer=tokenizer, **more))
    ...     for i, nll in enumerate(nlls):
    ...         log.write(Receipt(i, ExactSum([nll]), 4, n_bytes=10))
    ...     log.end()
    ...     return log.receipts()
    >>> result = compare_reports(scored("bpe", 4.0, 8.0), scored("bpe", 6.0, 9.0))
    >>> [(each.name, each.ours, each.theirs, each.difference) for each in result.quantities[:1]]
    [('nats per target', 1.5, 1.875, -0.375)]
    >>> [each.name for each in compare_reports(scored("bpe", 4.0, 8.0), scored("char", 6.0, 9.0)).quantities]
    ['bits per byte']

    Raises NoComparison, a ValueError, where protocols, documents or arms do not allow it, naming what differs;
    ValueError for an unknown field, a kind without arms, and whatever Receipts refuses.

    Accuracy: the nll of a document is rounded once; the rest as in paired_bootstrap.
    """
    if per is not None:
        _check.choice(NAME, "per", per, tuple(PER))
    remarks = _of_arms(kind, arms)
    allowed = check_despite(despite)
    files = [each if isinstance(each, Receipts) else Receipts(each) for each in (ours, theirs)]
    first, second = map(protocol_of, files)
    terms = terms_of(first, second, allowed, per)
    sides = _Side(files[0]), _Side(files[1])
    pairs = _paired(*sides, DOCUMENTS in allowed)
    only = [len(side.place) - len(pairs.ours) for side in sides]
    drawing = {"draws": draws, "seed": seed, "confidence": confidence, "progress": progress}
    measured = [_quantity(each, sides, pairs, bool(terms.overruled), drawing) for each in terms.offered]
    warnings = [*remarks, *terms.cautions, *_of_unknown(sides), *(words for _, more in measured for words in more)]
    return ReportComparison(
        ours=sides[0].path,
        theirs=sides[1].path,
        documents=len(pairs.ours),
        only_ours=only[0],
        only_theirs=only[1],
        differences=terms.differences,
        despite=(*terms.overruled, *([DOCUMENTS] if any(only) else ())),
        withheld=terms.withheld,
        quantities=tuple(quantity for quantity, _ in measured),
        looks=(first.looks, second.looks),
        draws=draws,
        seed=seed,
        confidence=confidence,
        kind=kind,
        arms=arms,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _of_arms(kind: str | None, arms: Sequence[Arm] | None) -> tuple[str, ...]:
    """Return what is to be known of the arms of an ablation; none where it is not one."""
    if kind is None and arms is None:
        return ()
    _check.choice(NAME, "kind", kind, KINDS)
    given = [] if arms is None else _check.items(NAME, "arms", arms)
    if len(given) != 2 or not all(isinstance(arm, Arm) for arm in given):
        _check.refuse(NAME, "arms", "hold the Arm of ours and that of theirs", arms, TypeError)
    return check_arms(str(kind), (given[0], given[1]))


# --- the receipts ----------------------------------------------------------------------------------------------------


class _Side:
    """The receipts of one file in columns; place: the row of each document."""

    def __init__(self, receipts: Receipts) -> None:
        self.path, self.protocol = receipts.path, protocol_of(receipts)
        self.place: dict[Id, int] = {}
        self.nll = array("d")
        self.counts = {each.field: array("q") for each in PER.values()}
        self.n_unk = 0
        columns = self.counts.values()
        for document, nll, *counts, _, n_unk in read_rows(receipts):
            if self.place.setdefault(document, len(self.nll)) != len(self.nll):
                _check.refuse(self.path, "each document", "have one receipt", document)
            self.nll.append(nll)
            for column, count in zip(columns, counts, strict=True):
                column.append(count or 0)
            self.n_unk += n_unk or 0

    def column(self, field: str, rows: "array[int]") -> Column:
        """Return the nll sum and a count of each row."""
        counts = self.counts[field]
        return [(self.nll[row], counts[row]) for row in rows]


class _Pairs(NamedTuple):
    """The rows of the documents that both sides have."""

    ours: "array[int]"
    theirs: "array[int]"


def _paired(ours: _Side, theirs: _Side, common_only: bool) -> _Pairs:
    """Return the rows of the documents of both, having refused, unless those are wanted, documents that one lacks.

    They are in the order of their ids, so that the order of the receipts does not show in what is drawn.
    """
    pairs = _Pairs(array("q"), array("q"))
    for key in sorted(ours.place, key=lambda key: (isinstance(key, str), key)):
        if key in theirs.place:
            pairs.ours.append(ours.place[key])
            pairs.theirs.append(theirs.place[key])
    for one, other in ((theirs, ours), (ours, theirs)):
        if len(one.place) > len(pairs.ours) and not common_only:
            missing = Faults(repr(key) for key in one.place if key not in other.place)
            rule = f"hold the documents of {one.path} (unless despite names documents)"
            raise NoComparison(f"{other.path}: the file must {rule}, got none of {missing}")
    if not len(pairs.ours):
        raise NoComparison(f"{theirs.path}: the file must hold a document of {ours.path}, got none")
    return pairs


# --- the quantities --------------------------------------------------------------------------------------------------


def _quantity(
    per: str, sides: tuple[_Side, _Side], pairs: _Pairs, free: bool, drawing: dict[str, Any]
) -> tuple[Quantity, tuple[str, ...]]:
    """Return one quantity of both sides, with an interval where there can be one, and what it warns of.

    free: whether the counts of a document may differ.
    """
    field = PER[per].field
    ours, theirs = sides[0].column(field, pairs.ours), sides[1].column(field, pairs.theirs)
    other = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a[1] != b[1]), None)
    if other is not None and not free:
        key = list(sides[0].place)[pairs.ours[other]]
        rule = f"have {field} {ours[other][1]}, as in {sides[0].path}"
        _check.refuse(sides[1].path, f"document {key!r}", rule, theirs[other][1], NoComparison)
    no_interval = "the two count the same documents differently" if other is not None else _no_interval(ours, theirs)
    if no_interval:
        a, b = (_ratio(side.path, field, column) for side, column in zip(sides, (ours, theirs), strict=True))
        return Quantity(per, a, b, None if isnan(a - b) else a - b, no_interval=no_interval), ()
    scored = [i for i, (_, n) in enumerate(ours) if n]
    paired = paired_bootstrap([ours[i] for i in scored], [theirs[i] for i in scored], **drawing)
    found = paired.difference
    interval = (found.observed, found.low, found.high, found.standard_error, paired.ours_lower)
    return Quantity(per, paired.ours, paired.theirs, *interval), found.warnings


def _no_interval(ours: Column, theirs: Column) -> str:
    """Return why documents of the same counts cannot be resampled, or nothing if they can."""
    if not all(isfinite(s) for column in (ours, theirs) for s, _ in column):
        return "the loss of a document is inf"
    if any(s and not n for column in (ours, theirs) for s, n in column):
        return "a document has a loss and nothing to divide it by"
    return "" if sum([n > 0 for _, n in ours]) > 1 else "it takes two documents"


def _ratio(path: str, field: str, column: Column) -> float:
    n = sum([n for _, n in column])
    if not n:
        _check.refuse(path, field, "be at least 1 in the documents compared", n)
    return ExactSum([s for s, _ in column]) / n


def _of_unknown(sides: tuple[_Side, _Side]) -> tuple[str, ...]:
    """Return what unknown tokens do to a comparison of two tokenizers."""
    ours, theirs = sides
    if ours.protocol.tokenizer == theirs.protocol.tokenizer or not (ours.n_unk or theirs.n_unk):
        return ()
    counts = f"ours scored {ours.n_unk:,} unknown tokens, theirs {theirs.n_unk:,}"
    return (f"{counts}: they are cheaper than the text that they stand for, in whatever unit",)
