"""Two files of receipts side by side: the differences of their documents, pair by pair."""

__all__ = ["compare_reports"]

from collections.abc import Callable, Iterable, Sequence
from math import isfinite, isnan
from os import PathLike
from typing import Any

from refcalc import _check
from refcalc._refusal import NoComparison
from refcalc.evaluation.ablation import KINDS, RETRAINING, Arm, check_arms
from refcalc.evaluation.aligned import Aligned, Ratios, aligned
from refcalc.evaluation.comparability import DOCUMENTS, check_despite, terms_of
from refcalc.evaluation.comparison import PER, Quantity, ReportComparison
from refcalc.evaluation.reading import Receipts, protocol_of, receipts_of
from refcalc.exact_sum import ExactSum
from refcalc.resampling import paired_bootstrap

NAME = "compare_reports"

Progress = Callable[[int, int], object]
Source = str | PathLike[str] | Receipts


def compare_reports(
    ours: Source,
    theirs: Source,
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

    Accuracy: the nll of a document is rounded once; the rest as in paired_bootstrap.  The order of the
    receipts shows nowhere.
    Memory: some 400 bytes a document for the two files, and 1 kB while they are resampled.
    """
    if per is not None:
        _check.choice(NAME, "per", per, tuple(PER))
    remarks = _of_arms(kind, arms)
    allowed = check_despite(despite)
    files = [receipts_of(each) for each in (ours, theirs)]
    first, second = map(protocol_of, files)
    if kind == RETRAINING and first.checkpoint == second.checkpoint:
        remarks += (f"both were scored on the checkpoint {first.checkpoint!r}: two trainings end in different weights",)
    terms = terms_of(first, second, allowed, per)
    pairs = aligned(files[0], files[1], DOCUMENTS in allowed)
    drawing = {"draws": draws, "seed": seed, "confidence": confidence, "progress": progress}
    measured = [_quantity(each, pairs, bool(terms.overruled), drawing) for each in terms.offered]
    if first.tokenizer != second.tokenizer:
        remarks += _of_unknown(pairs.ours.n_unk, pairs.theirs.n_unk)
    warnings = [*remarks, *terms.cautions, *(words for _, more in measured for words in more)]
    return ReportComparison(
        ours=files[0].path,
        theirs=files[1].path,
        documents=len(pairs.documents),
        only_ours=pairs.only[0],
        only_theirs=pairs.only[1],
        differences=terms.differences,
        despite=(*terms.overruled, *([DOCUMENTS] if any(pairs.only) else ())),
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


# --- the quantities --------------------------------------------------------------------------------------------------


def _quantity(per: str, pairs: Aligned, free: bool, drawing: dict[str, Any]) -> tuple[Quantity, tuple[str, ...]]:
    """Return one quantity of both sides, with an interval where there can be one, and what it warns of.

    free: whether the counts of a document may differ.
    """
    field = PER[per].field
    ours, theirs = pairs.ratios(field)
    differing = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a[1] != b[1]), None)
    if differing is not None and not free:
        at, rule = (
            f"document {pairs.documents[differing]!r}",
            f"have {field} {ours[differing][1]}, as in {pairs.ours.path}",
        )
        _check.refuse(pairs.theirs.path, at, rule, theirs[differing][1], NoComparison)
    no_interval = _no_interval(ours, theirs) if differing is None else "the two count the same documents differently"
    if no_interval:
        a, b = _ratio(pairs.ours.path, field, ours), _ratio(pairs.theirs.path, field, theirs)
        return Quantity(per, a, b, None if isnan(a - b) else a - b, no_interval=no_interval), ()
    paired = paired_bootstrap(ours.counted(), theirs.counted(), **drawing)
    found = paired.difference
    interval = (found.observed, found.low, found.high, found.standard_error, paired.ours_lower)
    return Quantity(per, paired.ours, paired.theirs, *interval), found.warnings


def _no_interval(ours: Ratios, theirs: Ratios) -> str:
    """Return why documents of the same counts cannot be resampled, or nothing if they can."""
    if not all(isfinite(s) for side in (ours, theirs) for s, _ in side):
        return "the loss of a document is inf"
    if any(s and not n for side in (ours, theirs) for s, n in side):
        return "a document has a loss and nothing to divide it by"
    return "" if sum([n > 0 for _, n in ours]) > 1 else "it takes two documents"


def _ratio(path: str, field: str, side: Ratios) -> float:
    n = sum(side.counts)
    if not n:
        _check.refuse(path, field, "be at least 1 in the documents compared", n)
    return ExactSum(side.nll) / n


def _of_unknown(ours: int, theirs: int) -> tuple[str, ...]:
    """Return what unknown tokens do to a comparison of two tokenizers."""
    if not (ours or theirs):
        return ()
    counts = f"ours scored {ours:,} unknown tokens, theirs {theirs:,}"
    return (f"{counts}: they are cheaper than the text that they stand for, in whatever unit",)
