"""The totals of a file of receipts, in one pass and in memory that grows by 8 bytes a document: a hash of its id."""

__all__ = ["Totals"]

import json
from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import repeat

from refcalc.evaluation._sums import of_powers
from refcalc.evaluation.columns import NUMBERS, SUMS, Columns, in_json, read_columns, read_ids
from refcalc.evaluation.reading import Receipts
from refcalc.evaluation.receipt import Receipt, not_negative
from refcalc.exact_sum import ExactSum

BUCKETS = 256
NO_MEAN = -1.0


class Totals:
    """What all receipts of a file add up to.

    counts: by the field of a receipt; None where the receipts do not have it.
    sums: of nll_sum, eos_nll and unk_nll, exactly; a receipt's sum that rounding brought below 0 counts as 0.
    sum_of_means: of the documents' own means, for an average in which each document has the same weight.
    lengths: how many documents have so many targets.
    worst: (mean nll, document, n_targets), the highest mean first.
    below_zero: how many receipts have a sum below 0.
    ids: a number that is the same for the same ids in any order, within this process.

    Raises ValueError for a document with two receipts, and whatever Receipts refuses.
    """

    def __init__(self, receipts: Receipts, worst: int = 5) -> None:
        self.path = receipts.path
        self.n_documents = 0
        self.below_zero = 0
        self.lengths: Counter[int] = Counter()
        self.sums = {name: ExactSum() for name in SUMS}
        self.sum_of_means = ExactSum()
        self._counts = dict.fromkeys(NUMBERS, 0)
        self._known: Counter[str] = Counter()  # how many receipts have the field
        self._powers: dict[str, Counter[int]] = {name: Counter() for name in SUMS}
        self._most_worst = worst
        self._worst: list[tuple[float, bytes, int]] = []
        self._hashes = [array("q") for _ in range(BUCKETS)]
        self._read(receipts)
        receipts.finish(self.n_documents)
        self._refuse_twice(receipts)
        for name, powers in self._powers.items():
            self.sums[name] += of_powers(powers)
        for name in NUMBERS:
            if self._known[name] not in (0, self.n_documents):
                rule = f"have {name} in all of its {self.n_documents} receipts or in none"
                raise ValueError(f"{self.path}: the file must {rule}, got it in {self._known[name]}")

    @property
    def counts(self) -> dict[str, int | None]:
        return {name: count if self._known[name] else None for name, count in self._counts.items()}

    @property
    def worst(self) -> list[tuple[float, str | int, int]]:
        return [(mean, json.loads(document), n) for mean, document, n in self._worst]

    @property
    def ids(self) -> int:
        return sum(map(sum, self._hashes))

    def _read(self, receipts: Receipts) -> None:
        for each in read_columns(receipts):
            if isinstance(each, Receipt):
                self._add(each)
            else:
                self._add_rows(each)

    def _add_rows(self, texts: Columns) -> None:
        """Add many receipts by the columns of what was matched.

        A sum is a whole number times a power of two; those with the same power are added as whole numbers.
        """
        targets = [*map(int, texts["n_targets"])]
        for name in NUMBERS:
            if name in texts:
                self._known[name] += len(targets)
                self._counts[name] += sum(map(int, texts[name]))
        for name in reversed(SUMS):  # the values of nll_sum last
            if name in texts:
                values = [*zip(map(int, texts[name], repeat(16)), map(int, texts[f"{name}_power"]), strict=True)]
                total = self._powers[name]
                for whole, power in values:
                    total[power] += whole
        means = [
            NO_MEAN if not n else whole / (n << -power) if power < 0 else (whole << power) / n
            for n, (whole, power) in zip(targets, values, strict=True)
        ]
        self._add_documents(texts["document"], targets, means)

    def _add(self, receipt: Receipt) -> None:
        """Add one receipt."""
        for name in NUMBERS:
            value = getattr(receipt, name)
            if value is not None:
                self._known[name] += 1
                self._counts[name] += value
        for name in SUMS:
            self.sums[name] += not_negative(getattr(receipt, name) or ExactSum())
        self.below_zero += float(receipt.nll_sum) < 0.0
        mean = not_negative(receipt.nll_sum) / receipt.n_targets if receipt.n_targets else NO_MEAN
        self._add_documents([in_json(receipt.document)], [receipt.n_targets], [mean])

    def _add_documents(self, documents: Sequence[bytes], targets: list[int], means: list[float]) -> None:
        """Add what is known of each document by itself: its id, its length, its mean."""
        for hashed in map(hash, documents):
            self._hashes[hashed % BUCKETS].append(hashed)
        self.lengths.update(targets)
        self.n_documents += len(targets)
        self.sum_of_means += ExactSum(mean for mean in means if mean != NO_MEAN)
        bar = self._worst[-1][0] if len(self._worst) >= max(1, self._most_worst) else 0.0
        better = [each for each in zip(means, documents, targets, strict=True) if each[0] >= bar]
        self._worst = sorted([*self._worst, *better], reverse=True)[: self._most_worst]

    def _refuse_twice(self, receipts: Receipts) -> None:
        """Refuse a document with two receipts: where two hashes are equal, the ids are read again and held together."""
        twice: set[int] = set()
        for bucket in self._hashes:
            if len(set(bucket)) < len(bucket):
                twice |= {hashed for hashed, n in Counter(bucket).items() if n > 1}
        first: dict[bytes, int] = {}
        for number, document in read_ids(receipts) if twice else ():
            if hash(document) in twice:
                if document in first:
                    rule = f"name a document that no line before it names (line {first[document]} does)"
                    receipts.refuse(number, rule, json.loads(document))
                first[document] = number
