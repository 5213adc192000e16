"""Which rows of a batch are scored, and against what: the walk that the float tier and the exact tier share.

No arithmetic is done here: the tiers differ in what they compute of a row, not in which rows count or what is refused.
"""

__all__ = ["REDUCTIONS", "ScoredRows", "causal_targets"]

from collections.abc import Callable, Sequence
from typing import Any

from refcalc import _check
from refcalc._check import Nested
from refcalc.targets import mask_padding, pair_mask, shift_labels

REDUCTIONS = ("mean", "none", "sum")


class ScoredRows:
    """The options of one cross-entropy, and the walk over its rows, refusing in the name of one function.

    name: that function; arguments: what it calls its logits and its targets; hard: whether it takes classes only;
    shifted: whether its targets are labels moved one place to the left, so that row t has label t + 1.
    """

    def __init__(
        self,
        name: str,
        arguments: tuple[str, str],
        ignore_index: int,
        weight: Any = None,
        label_smoothing: float = 0.0,
        *,
        hard: bool = False,
        shifted: bool = False,
    ) -> None:
        self.name, self.arguments, self.hard, self.shifted = name, arguments, hard, shifted
        self.ignore_index = _check.whole(name, "ignore_index", ignore_index)
        self.weight = None if weight is None else _check.weights(name, "weight", weight)
        self.smoothing = _check.fraction_of_one(name, "label_smoothing", label_smoothing)
        self.classes = 0  # V, known after the first row
        self._soft: bool | None = None  # whether the targets are probabilities, known after the first row

    def walk(
        self, scored: Callable[..., Any], ignored: Callable[[int], Any], logits: Nested, targets: Nested
    ) -> tuple[Any, list[Any], list[float]]:
        """Return the results of all rows, nested like them; those of the scored rows; and their shares of D.

        scored(names, row, y, q) gives a scored row's result: it has a class y, or else target probabilities q.
        ignored(V) gives an ignored row's result.
        """
        results: list[Any] = []
        shares: list[float] = []

        def leaf(at: str, row: Sequence[Any], target: Nested) -> Any:
            soft = _check.is_sequence(target)
            if not len(row) and soft and not len(target):
                return []  # a batch, or a sequence, of no rows
            names = (self.arguments[0] + at, self.arguments[1] + (_next_place(at) if self.shifted else at))
            self._check_classes(names[0], _check.row(self.name, names[0], row))
            if self._soft not in (None, soft):
                _check.refuse(self.name, names[1], "be of one kind in all rows, a class or probabilities", target)
            self._soft = soft
            y, q, share = None, None, 1.0
            if soft:
                if self.hard:
                    _check.refuse(self.name, names[1], f"nest one level less than {names[0]}", target)
                q = self._probabilities(names[1], target)
            else:
                y = _check.whole(self.name, names[1], target)
                if y == self.ignore_index:
                    return ignored(len(row))
                _check.target(self.name, names[1], y, self.classes)
                share = self.weight[y] if self.weight else 1.0
            result = scored(names, row, y, q)
            results.append(result)
            shares.append(share)
            return result

        return _check.map_rows(self.name, leaf, self.arguments, (logits, targets)), results, shares

    def _check_classes(self, name: str, row: Sequence[Any]) -> None:
        if not self.classes:
            self.classes = len(row)
            if self.weight is not None:
                _check.same_length(self.name, "weight", self.weight, "a row of logits", len(row))
        elif len(row) != self.classes:
            _check.refuse(self.name, name, f"hold V = {self.classes} scores as the first row does", len(row))

    def _probabilities(self, name: str, target: Nested) -> list[float]:
        if self.ignore_index >= 0:
            _check.refuse(self.name, "ignore_index", "be negative with probability targets", self.ignore_index)
        q = _check.weights(self.name, name, target)
        _check.same_length(self.name, name, q, "its row of logits", self.classes)
        return q

    def check_denominator(self, shares: list[float], targets: Nested) -> None:
        """Refuse a mean over nothing, by the shares that walk returned."""
        if not shares:
            rule = "hold a target that counts (nothing to average)"
            _check.refuse(self.name, self.arguments[1], rule, targets)
        if not any(shares):
            _check.refuse(self.name, "weight", "not be 0 for every scored target", self.weight)


def causal_targets(name: str, labels: Nested, attention_mask: Nested, ignore_index: int) -> Any:
    """Return the target of each row: the label one place on, ignored for the last row and where the pair is masked."""

    def shifted(at: str, row: Sequence[Any], mask: Nested = None) -> list[int]:
        ids = _check.wholes(name, "labels" + at, row)
        if mask is None:
            return shift_labels(ids, ignore_index)
        kept = _check.bits(name, "attention_mask" + at, mask)
        _check.same_length(name, "attention_mask" + at, kept, "labels" + at, len(ids))
        return shift_labels(mask_padding(ids, pair_mask(kept), ignore_index), ignore_index)

    names, values = ("labels", "attention_mask"), (labels, attention_mask)
    given = 1 if attention_mask is None else 2
    return _check.map_rows(name, shifted, names[:given], values[:given])


def _next_place(at: str) -> str:
    """Return the place after one: "[1][4]" after "[1][3]"."""
    outer, _, last = at.rpartition("[")
    return f"{outer}[{int(last[:-1]) + 1}]" if last else at
