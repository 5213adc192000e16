"""What the steps of a loss may ask of an evidence: its rows, each read once, its targets and its masks."""

__all__ = ["Reading"]

from collections.abc import Callable, Sequence
from copy import copy
from math import inf
from typing import Any, Self

from refcalc import _check
from refcalc.evidence import Batch, Evidence
from refcalc.mistakes.arithmetic import add
from refcalc.mistakes.kind import LOSSES, DoesNotApply
from refcalc.softmax import _log_1_plus, _masses


class Reading:
    """One evidence, read for one quantity that was computed in one dtype.

    weight, smoothing: those of the batch where the quantity is a loss, else none.
    groups: those of the evidence, or each row on its own.  kept: whether a place may be a target, [row][place].
    labels_alone: whether the labels alone say what counts, whatever the row that a label is paired with.
    """

    def __init__(self, evidence: Evidence, quantity: str = "mean_nll", dtype: str = "float64") -> None:
        self.evidence, self.quantity, self.dtype = evidence, quantity, dtype
        self.batch = evidence if isinstance(evidence, Batch) else None
        loss = self.batch is not None and quantity in LOSSES
        self.weight = self.batch.weight if loss and self.batch else None
        self.smoothing = self.batch.label_smoothing if loss and self.batch else 0.0
        self.labels_alone = False
        self.groups = evidence.groups or [[b] for b in range(len(evidence.lengths))]
        self.kept = self._all_kept()
        self._rows: dict[tuple[int, int], Sequence[float]] = {}
        self._facts: dict[tuple[int, int], tuple[float, float]] = {}
        self._nll: dict[tuple[int, int, int], float] = {}
        self._memory: dict[Any, Any] = {}

    def remembered(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what compute gives, computed once."""
        if key not in self._memory:
            self._memory[key] = compute()
        return self._memory[key]

    # --- scores ------------------------------------------------------------------------------------------------------

    def logits(self) -> Batch:
        """Return the batch, where there is one."""
        if self.batch is None:
            raise DoesNotApply("logits")
        return self.batch

    def row(self, b: int, t: int) -> Sequence[float]:
        """Return the scores of row t of sequence b, those of a padded vocabulary left out."""
        found = self._rows.get((b, t))
        return found if found is not None else self._read(b, t)

    def padded_row(self, b: int, t: int) -> Sequence[float]:
        """Return the scores of a row with those of classes that do not exist."""
        return _check.row("diagnose", self._at(b, t), self.logits().logits[b][t])

    def facts(self, b: int, t: int) -> tuple[float, float]:
        """Return the largest score m of a row, and log(sum of exp(z - m))."""
        found = self._facts.get((b, t))
        if found is None:
            m, tail, _, _ = _masses("diagnose", self._at(b, t), self.row(b, t))
            found = self._facts[b, t] = m, _log_1_plus(tail)
        return found

    def nll(self, b: int, t: int, y: int) -> float:
        """Return the right nll, as token_nll gives it."""
        found = self._nll.get((b, t, y))
        if found is None:
            found = self._nll[b, t, y] = self._scored(b, t, y)
        return found

    def nlls(self, b: int, t: int) -> list[float]:
        """Return the right nll of each class."""
        m, log_sum = self.facts(b, t)
        return [(m - z) + log_sum for z in self.row(b, t)]

    def class_of(self, y: int) -> int:
        """Return y, or decline: a target that is no class is a mistake of its own."""
        if not 0 <= y < self.logits().classes:
            raise DoesNotApply("targets that are classes")
        return y

    def scale(self) -> float:
        """Return the largest size of a row's maximum or of a target's score, among the rows that were scored."""
        sizes = [abs(m) for m, _ in self._facts.values()]
        sizes += [abs(float(self.row(b, t)[y])) for b, t, y in self._nll] if self.batch else []
        return max((size for size in sizes if size < inf), default=0.0)

    # --- targets -----------------------------------------------------------------------------------------------------

    def target(self, c: int, p: int) -> int:
        """Return the label at a place, or the token where the label is ignored."""
        if self.batch is None:
            return 0
        given = self.batch.given_labels
        label = self.batch.ignore_index if given is None else given[c][p]
        return self.batch.tokens[c][p] if label == self.batch.ignore_index else label

    def padding(self, b: int, t: int) -> bool:
        """Return whether the attention mask hides a place."""
        mask = self.batch.attention_mask if self.batch else None
        return mask is not None and not mask[b][t]

    def open(self, b: int, t: int) -> bool:
        """Return whether a row may be scored as far as the attention mask goes."""
        return self.labels_alone or not self.padding(b, t)

    def masked(self, b: int, p: int) -> bool:
        """Return whether the attention mask leaves no target at a place.

        The first token after padding has no row that predicts it, which labels alone can only say by ignoring it.
        """
        return self.padding(b, p) or (self.labels_alone and p > 0 and self.padding(b, p - 1))

    def labels_to_score(self) -> list[list[int]]:
        """Return labels that alone say what counts: the target where one is scored, elsewhere the ignore index.

        The first place of a sequence is in no pair; it keeps its label, as labels do.
        """
        ignored = self.logits().ignore_index
        kept = self.by_labels().kept
        return [[self.target(b, p) if keep else ignored for p, keep in enumerate(row)] for b, row in enumerate(kept)]

    def by_labels(self) -> Self:
        """Return the same reading with labels alone to say what counts; the right number is the same.

        Of right pairs each has a label of its own.  A wrong shift pairs labels with other rows, padding among them, and
        what is scored then depends on whether the row is looked at.
        """
        other = copy(self)  # what was read and scored is shared
        other.labels_alone = True
        other.kept = other._all_kept()
        return other

    def ordinal(self, p: int) -> int:
        """Return which target of its row a place is, counted from 0."""
        return p - 1 if self.batch else p

    def second_bos(self, b: int, p: int) -> bool:
        """Return whether a place holds a BOS at the head of its sequence that has a BOS before it."""
        if self.batch is None or self.batch.bos_id is None or self.batch.tokens[b][p] != self.batch.bos_id:
            return False
        head = [token for t, token in enumerate(self.batch.tokens[b][:p]) if not self.padding(b, t)]
        return bool(head) and all(token == self.batch.bos_id for token in head)

    # --- weight and smoothing ----------------------------------------------------------------------------------------

    def share(self, y: int) -> float:
        """Return the weight of a target, its share of the denominator."""
        return self.weight[y] if self.weight else 1.0

    def uniform(self, b: int, t: int, score: Any = None) -> float:
        """Return the sum over the classes of weight times nll: what label smoothing adds, times V / e."""

        def total() -> float:
            row = getattr(score, "row", None)
            if row is not None:
                nlls = row(self, b, t)
            elif score is None:
                nlls = self.nlls(b, t)
            else:
                nlls = [score(self, b, t, c) for c in range(self.logits().classes)]
            return add(nlls if not self.weight else [w * x for w, x in zip(self.weight, nlls, strict=True) if w])

        return self.remembered(("uniform", score, b, t), total)  # type: ignore[no-any-return]

    def plain_uniform(self, b: int, t: int) -> float:
        """Return the sum over the classes of the nll."""
        return self.remembered(("plain uniform", b, t), lambda: add(self.nlls(b, t)))  # type: ignore[no-any-return]

    def loss(self, b: int, t: int, y: int, score: Any = None) -> float:
        """Return the loss of a target with weight and smoothing: sum of a[c] nll[c], see refcalc.loss."""
        own = self.share(y) * (1.0 - self.smoothing)
        kept = own * (score(self, b, t, y) if score else self.nll(b, t, y)) if own else 0.0
        if not self.smoothing:
            return kept
        return kept + self.smoothing / self.logits().classes * self.uniform(b, t, score)

    # --- private -----------------------------------------------------------------------------------------------------

    def _at(self, b: int, t: int) -> str:
        """Return the name of a row as it was given."""
        return f"logits[{t}]" if self.logits().flat else f"logits[{b}][{t}]"

    def _read(self, b: int, t: int) -> Sequence[float]:
        """Return a row, remembered where it is a list already; rows of arrays are read again, but for the last."""
        batch, given = self.logits(), self.logits().logits[b][t]
        row = _check.row("diagnose", self._at(b, t), given)
        if batch.vocab_size is not None:
            row = row[: batch.vocab_size]
        if len(row) != batch.classes:
            rule = f"hold V = {batch.classes} scores as the first row does"
            _check.refuse("diagnose", self._at(b, t), rule, len(row))
        if row is not given and len(self._rows) > 64:
            self._rows.clear()
        self._rows[b, t] = row
        return row

    def _scored(self, b: int, t: int, y: int) -> float:
        if self.batch is None:
            return self.evidence.nll[b][t]  # type: ignore[attr-defined, no-any-return]
        m, log_sum = self.facts(b, t)
        if not 0 <= y < self.batch.classes:
            _check.target("diagnose", f"the target of {self._at(b, t)}", y, self.batch.classes)
        return (m - float(self.row(b, t)[y])) + log_sum

    def _all_kept(self) -> list[list[bool]]:
        return [[self._keeps(b, p) for p in range(n)] for b, n in enumerate(self.evidence.lengths)]

    def _keeps(self, b: int, p: int) -> bool:
        if self.batch is None:
            mask: Any = self.evidence.mask  # type: ignore[attr-defined]
            return mask is None or bool(mask[b][p])
        ignored = self.batch.labels[b][p] == self.batch.ignore_index
        return not ignored and not self.masked(b, p) and not self.second_bos(b, p)
