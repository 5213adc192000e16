"""What an evaluation found, from its receipts alone: every figure with its numerator and denominator.

    S  the nll sum, in nats      N  the scored targets      B  the bytes of their text
"""

__all__ = ["Report"]

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from refcalc import _check
from refcalc._refusal import NoComparison, shown
from refcalc.evaluation import rendering
from refcalc.evaluation._sums import times
from refcalc.evaluation.content import Content, Lengths
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.reading import Receipts, Source, protocol_of, receipts_of
from refcalc.evaluation.totals import Totals
from refcalc.tally import Tally
from refcalc.units import uniform_nll

OF_ANOTHER_MODEL = ("checkpoint", "dtype", "log_base", "looks", "criteria")
OF_ANOTHER_SPLIT = ("corpus", "split", "looks", "criteria")


@dataclass(frozen=True)
class Report(Content):
    """What an evaluation found: the totals are those of all receipts, whatever their order.

    total, eos, unknown: the Tally of all targets; of those that are the end of the text, and of those that the
        vocabulary does not have, or None where these were not counted.
    macro_mean_nll: the mean of the documents' own means.  It weighs each document the same, and is not the mean_nll.
    worst: (mean nll, document, its targets), the highest first.
    baselines: by name; "uniform" gives each of the V tokens the same probability.  splits: the same of other splits.

    >>> from refcalc import ExactSum
    >>> from refcalc.evaluation.log import ReceiptLog
    >>> from refcalc.evaluation.receipt import Receipt
    >>> digests = {"tokenizer": "t", "corpus": "c", "checkpoint": "k"}
    >>> log = ReceiptLog(None, Protocol(vocab_size=290, split="test", window=24, units=("bytes",), **digests))
    >>> log.write(Receipt("a", ExactSum([6.0]), 2, n_bytes=3))
    >>> log.write(Receipt("b", ExactSum([9.0]), 4, n_bytes=7))
    >>> log.end()
    >>> report = Report.of(log.receipts())
    >>> report.total.mean_nll, report.total.bits_per_byte, report.macro_mean_nll
    (2.5, 2.1640425613334453, 2.625)
    >>> report.figures["bits_per_byte"]
    Figure(value=2.1640425613334453, numerator=21.64042561333445, unit='bits', denominator=10, counted='n_bytes')
    >>> report.baselines["uniform"].mean_nll == uniform_nll(290)
    True
    """

    @classmethod
    def of(
        cls,
        receipts: Source | Receipts,
        *,
        baselines: Mapping[str, Source | Receipts] | None = None,
        splits: Mapping[str, Source | Receipts] | None = None,
        worst: int = 5,
    ) -> "Report":
        """Return the report of a file of receipts, read once and not kept.

        receipts: its path, or Receipts.
        baselines: receipts of other models, under the same protocol and of the same documents.
        splits: receipts of the same model on other splits, which the criteria may speak of.
        worst: how many documents to name.

        Raises ValueError for receipts that Receipts refuses, without a protocol or a scored target, or with two of one
        document; NoComparison, which is one, for a baseline or split under another protocol, naming what differs, and
        for the same split again.
        """
        worst = _check.count("Report.of", "worst", worst)
        receipts = receipts_of(receipts)
        protocol = protocol_of(receipts)
        totals = Totals(receipts, worst)
        total = _tally(totals)
        others = {"uniform": _uniform(protocol, total)}
        for name, each in (baselines or {}).items():
            _check_name("baselines", name, others)
            theirs = Totals(_check_fields(receipts, receipts_of(each), OF_ANOTHER_MODEL))
            others[name] = _tally(theirs)
            _check_documents(totals, total, theirs, others[name])
        elsewhere: dict[str, Tally] = {}
        for name, each in (splits or {}).items():
            _check_name("splits", name, {**others, **elsewhere})
            other = _check_split(receipts, _check_fields(receipts, receipts_of(each), OF_ANOTHER_SPLIT))
            elsewhere[name] = _tally(Totals(other))
        return cls(
            source=receipts.path,
            protocol=protocol,
            total=total,
            eos=_part(totals, "eos"),
            unknown=_part(totals, "unk"),
            n_windows=totals.counts["n_windows"],
            lengths=_lengths(totals.lengths),
            macro_mean_nll=totals.sum_of_means / (totals.n_documents - totals.lengths[0]),
            worst=tuple(totals.worst),
            baselines=others,
            splits=elsewhere,
            warnings=tuple(_warnings(protocol, totals, total)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON can hold it: numbers that are not finite are text, and the sum loses no bit."""
        return rendering.as_dict(self)

    def __str__(self) -> str:
        return rendering.as_text(self)


# --- private ---------------------------------------------------------------------------------------------------------


def _tally(totals: Totals) -> Tally:
    counts = {name: totals.counts[name] for name in ("n_bytes", "n_chars", "n_words")}
    n_targets = totals.counts["n_targets"]
    if not n_targets:
        raise ValueError(f"{totals.path}: the documents must have a scored target (nothing to average), got none")
    return Tally(totals.sums["nll_sum"], n_targets, n_documents=totals.n_documents, **counts)


def _part(totals: Totals, name: str) -> Tally | None:
    n = totals.counts[f"n_{name}"]
    return None if n is None else Tally(totals.sums[f"{name}_nll"], n, n_documents=0)


def _uniform(protocol: Protocol, total: Tally) -> Tally:
    """Return the tally of a model that gives each of the V tokens the same probability."""
    counts = {name: getattr(total, name) for name in ("n_bytes", "n_chars", "n_words", "n_documents")}
    nll, n = uniform_nll(protocol.vocab_size), total.n_targets
    return Tally(times(nll, n), n, **counts)


def _lengths(counted: Counter[int]) -> Lengths:
    n, below = counted.total(), 0
    found: list[int] = []
    shares = [1, -(-n // 4), -(-n // 2), -(-3 * n // 4), n]
    for length in sorted(counted):
        below += counted[length]
        while len(found) < len(shares) and below >= shares[len(found)]:
            found.append(length)
    return Lengths(*found)


def _check_name(argument: str, name: str, taken: Mapping[str, Tally]) -> None:
    if name in taken:
        _check.refuse("Report.of", argument, f"have other names than {', '.join(map(repr, taken))}", name)


def _check_fields(ours: Receipts, theirs: Receipts, free: tuple[str, ...]) -> Receipts:
    """Return theirs, having refused a protocol that differs in more than the free fields."""
    differing = protocol_of(ours).differences(protocol_of(theirs))
    held = [f"{name} {shown(value)}" for name, (value, _) in differing.items() if name not in free]
    got = [f"{name} {shown(value)}" for name, (_, value) in differing.items() if name not in free]
    if held:
        rule = f"be under the protocol of {ours.path}, with {', '.join(held)}"
        raise NoComparison(f"{theirs.path}: the receipts must {rule}, got {', '.join(got)}")
    return theirs


def _check_split(ours: Receipts, theirs: Receipts) -> Receipts:
    """Return theirs, having refused the same split: a criterion that holds a split against itself always holds."""
    differing = protocol_of(ours).differences(protocol_of(theirs))
    if not differing.keys() & {"corpus", "split"}:
        rule = f"be of another split than those of {ours.path}"
        raise NoComparison(f"{theirs.path}: the receipts must {rule}, got {protocol_of(theirs).split!r} again")
    return theirs


def _check_documents(ours: Totals, our_tally: Tally, theirs: Totals, their_tally: Tally) -> None:
    """Refuse receipts that do not cover the same documents, targets and text."""
    for name in ("n_documents", "n_targets", "n_bytes", "n_chars", "n_words"):
        if getattr(our_tally, name) != getattr(their_tally, name):
            rule = f"have {name} {getattr(our_tally, name)} as {ours.path} has"
            raise NoComparison(f"{theirs.path}: the receipts must {rule}, got {getattr(their_tally, name)}")
    if ours.ids != theirs.ids:
        raise NoComparison(f"{theirs.path}: the receipts must be of the documents of {ours.path}, got others")


def _warnings(protocol: Protocol, totals: Totals, total: Tally) -> Iterator[str]:
    """Yield what a reader should know before believing the figures."""
    if protocol.looks:
        times_ = "once" if protocol.looks == 1 else f"{protocol.looks} times"
        yield (
            f"this split ({protocol.split}) was looked at {times_} before this run: used to choose, a test set has "
            "become a validation set"
        )
    if total.mean_nll > uniform_nll(protocol.vocab_size):
        yield "the mean nll is above ln V, that of a model that knows nothing: are the labels shifted?"
    if totals.below_zero:
        yield f"nll sums below 0 by rounding, which count as 0: {totals.below_zero}"
    if totals.lengths[0]:
        yield f"documents without a scored target: {totals.lengths[0]}"
    n_eos, due = totals.counts["n_eos"], totals.n_documents - totals.lengths[0] if protocol.eos_scored else 0
    if (n_eos or 0) != due:
        yield f"ends of a text that were scored: {n_eos}, where the protocol has {due}"
    if protocol.bos == "none" and protocol.text == "whole":
        yield "without a BOS a document's first token is no target, but its text is in the counts"
