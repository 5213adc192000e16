"""The pairs of rows of two nests of logits, and what their divergences are divided by: for both tiers.

    reduction     divides the sum over all rows by            torch.nn.functional.kl_div
    "rowmean"     the number of rows                          (flatten to [N][V], then "batchmean")
    "batchmean"   the length of the first axis                "batchmean"
    "mean"        the number of rows times V                  "mean"
    "sum"         1                                           "sum"
    "none"        nothing: one divergence a row               "none", summed over its last axis

They agree for one row, but for "mean", which is V times too small for a divergence (a warning of PyTorch's own).  On
[B][T][V] "batchmean" is a sum over the T places of a sequence, averaged over the B sequences: T times "rowmean" where
all are equally long.  A row alone is a batch of one here; PyTorch divides it by V.
"""

__all__ = ["REDUCTIONS", "RowPairs"]

from collections.abc import Callable, Sequence
from typing import Any

from refcalc import _check
from refcalc._check import Nested

REDUCTIONS = ("batchmean", "mean", "none", "rowmean", "sum")

Named = tuple[str, Sequence[Any]]  # a row, with what a refusal calls it


class RowPairs:
    """The rows of p_logits and q_logits, walked in step, refusing in the name of one function."""

    def __init__(self, name: str, p_logits: Nested, q_logits: Nested, reduction: str) -> None:
        _check.choice(name, "reduction", reduction, REDUCTIONS)
        self.name, self.reduction = name, reduction
        self._logits = p_logits, q_logits
        self._classes = self._rows = 0
        self._alone = False

    def map(self, leaf: Callable[[Named, Named], Any]) -> tuple[Any, list[Any]]:
        """Return leaf(p row, q row) of every pair, nested like the rows, and as a list."""
        results: list[Any] = []

        def pair(at: str, p: Sequence[Any], q: Nested) -> Any:
            names = f"p_logits{at}", f"q_logits{at}"
            rows = _check.row(self.name, names[0], p), _check.row(self.name, names[1], q)
            _check.same_length(self.name, names[1], rows[1], names[0], len(rows[0]))
            self._classes = self._classes or len(rows[0])
            if len(rows[0]) != self._classes:
                rule = f"hold V = {self._classes} scores as the first row does"
                _check.refuse(self.name, names[0], rule, len(rows[0]))
            self._alone = not at
            results.append(leaf((names[0], rows[0]), (names[1], rows[1])))
            return results[-1]

        nested = _check.map_rows(self.name, pair, ("p_logits", "q_logits"), self._logits)
        self._rows = len(results)
        return nested, results

    @property
    def divisor(self) -> int:
        """What the sum over the rows is divided by, once they were walked."""
        match self.reduction:
            case "rowmean":
                return self._rows
            case "batchmean":
                return 1 if self._alone else len(_check.items(self.name, "p_logits", self._logits[0]))
            case "mean":
                return self._rows * self._classes
        return 1
