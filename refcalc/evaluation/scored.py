"""What the receipts of one split say, and where they do not fit its documents: read once, one receipt at a time."""

__all__ = ["Faults", "ScoredSplit", "uniform_cost", "uniform_faults"]

from array import array
from collections.abc import Iterable
from math import isinf

from refcalc import _check, _rounding
from refcalc.evaluation.columns import Row, read_rows
from refcalc.evaluation.corpus import Corpus, Id
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.reading import Receipts, protocol_of
from refcalc.exact_sum import ExactSum
from refcalc.units import uniform_nll

MOST_SHOWN = 3


class Faults:
    """How often something is wrong, and the first few times in words.

    >>> faults = Faults(f"line {i}" for i in range(5))
    >>> len(faults), str(faults)
    (5, 'line 0, line 1, line 2 and 2 more')
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._count = 0
        self._first: list[str] = []
        for each in words:
            self.add(each)

    def add(self, words: str) -> None:
        self._count += 1
        if self._count <= MOST_SHOWN:
            self._first.append(words)

    def __len__(self) -> int:
        return self._count

    def __str__(self) -> str:
        more = self._count - len(self._first)
        return ", ".join(self._first) + (f" and {more:,} more" if more else "")


class ScoredSplit:
    """The sums over the receipts of one split, and the receipts at fault.

    targets: how many each document has, by its id.
    n_targets, n_eos, n_unk: over all receipts; None where one of them does not count EOS, or UNK.
    mean_nll: in nats per target; None without targets.
    held: how many receipts were held against the tokens of their document.
    infinite: receipts whose nll is not finite.
    strangers, missing: receipts without a document, and documents without a receipt.
    wrong_targets, wrong_eos, wrong_bytes: receipts that count other than document and protocol say.

    Raises ValueError for a document with two receipts, receipts that name no protocol, and whatever Receipts refuses.
    Memory: an id, a count and an nll a receipt, some 200 bytes.
    """

    def __init__(self, receipts: Receipts, corpus: Corpus) -> None:
        self.path, self.protocol = receipts.path, protocol_of(receipts)
        self.targets: dict[Id, int] = {}
        self.n_targets = self.held = 0
        self.n_eos: int | None = 0
        self.n_unk: int | None = 0
        self._nlls = array("d")
        self.infinite, self.strangers, self.missing = Faults(), Faults(), Faults()
        self.wrong_targets, self.wrong_eos, self.wrong_bytes = Faults(), Faults(), Faults()
        numbers = corpus.ids(self.protocol.split)
        self.has_documents = numbers is not None
        for row in read_rows(receipts):
            if row.document in self.targets:
                _check.refuse(self.path, "each document", "have one receipt", row.document)
            self._add(row)
            if numbers is None:
                continue
            if row.document in numbers:
                self._hold(row, corpus, numbers[row.document])
            else:
                self.strangers.add(repr(row.document))
        for key in numbers or ():
            if key not in self.targets:
                self.missing.add(repr(key))
        self.mean_nll = ExactSum(self._nlls) / self.n_targets if self.n_targets else None

    def _add(self, row: Row) -> None:
        self.targets[row.document] = row.n_targets
        self.n_targets += row.n_targets
        self.n_eos = None if self.n_eos is None or row.n_eos is None else self.n_eos + row.n_eos
        self.n_unk = None if self.n_unk is None or row.n_unk is None else self.n_unk + row.n_unk
        self._nlls.append(row.nll)
        if isinf(row.nll):
            self.infinite.add(repr(row.document))
        due = self.protocol.eos_scored and row.n_targets > 0  # without a BOS, a document of one token has no target
        if row.n_eos is not None and (row.n_eos > 0) != due:
            rule = "EOS is scored" if self.protocol.eos_scored else "EOS is not scored"
            self.wrong_eos.add(f"{row.document!r} has {row.n_eos}, and {rule}")

    def _hold(self, row: Row, corpus: Corpus, number: int) -> None:
        """Hold the counts of a receipt against those of its document."""
        sizes, key = corpus.sizes(number), row.document
        if self.protocol.text == "whole" and row.n_bytes not in (None, sizes.n_bytes):
            self.wrong_bytes.add(f"{key!r} has n_bytes {row.n_bytes} and a text of {sizes.n_bytes}")
        if sizes.n_targets is None:
            return
        self.held += 1
        if row.n_targets != sizes.n_targets:
            self.wrong_targets.add(f"{key!r} has {row.n_targets} of {sizes.n_targets}")
        if self.protocol.eos_scored and row.n_eos and row.n_eos != sizes.n_eos:
            self.wrong_eos.add(f"{key!r} has {row.n_eos} of {sizes.n_eos}")


def uniform_cost(protocol: Protocol) -> tuple[float, float]:
    """Return log V, what a target costs a uniform model, and the error that computing it in this dtype may make."""
    cost, classes = uniform_nll(protocol.vocab_size), protocol.vocab_size
    return cost, _rounding.limit("audit", dtype=protocol.dtype, classes=classes).error(cost, cost)


def uniform_faults(receipts: Receipts, model: ScoredSplit) -> Faults:
    """Return the documents on which a uniform model was not scored as the model was, or did not cost log V a target."""
    each, allowed = uniform_cost(protocol_of(receipts))
    faults, seen = Faults(), 0
    for row in read_rows(receipts):
        n, key = row.n_targets, row.document
        seen += key in model.targets
        if model.targets.get(key) != n:
            faults.add(f"{key!r} has {n} targets, and {model.targets.get(key, 'no receipt')} by the model")
        elif not abs(row.nll - n * each) <= n * allowed:
            faults.add(f"{key!r} has {row.nll / n:.6g} nats per target, not {each:.6g}")
    if seen < len(model.targets):
        faults.add(f"{len(model.targets) - seen:,} documents of the model have no uniform receipt")
    return faults
