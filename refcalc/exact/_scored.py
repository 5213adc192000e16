"""The coefficients of one cross-entropy, exactly: a[c] = w[c] ((1 - e) q[c] + e / V), as in refcalc.exact.loss."""

__all__ = ["ExactRows"]

from fractions import Fraction
from math import inf
from typing import Any

from refcalc import _check
from refcalc._check import Nested
from refcalc._scored import ScoredRows
from refcalc.exact._dyadic import dot
from refcalc.exact._row import Row
from refcalc.exact.value import ONE, ZERO, Nll


class ExactRows(ScoredRows):
    """The options of one cross-entropy, exactly the numbers handed in."""

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
        super().__init__(name, arguments, ignore_index, weight, label_smoothing, hard=hard, shifted=shifted)
        _check.double(name, "label_smoothing", label_smoothing)
        if weight is not None:
            _check.doubles(name, "weight", _check.items(name, "weight", weight))
        self.kept = 1 - Fraction(self.smoothing)  # 1 - e

    def _probabilities(self, name: str, target: Nested) -> list[float]:
        q = super()._probabilities(name, target)
        _check.doubles(self.name, name, _check.items(self.name, name, target))
        return q

    def denominator(self, shares: list[float], targets: Nested) -> Fraction:
        """Return D, the sum of the shares, or refuse a mean over nothing."""
        self.check_denominator(shares, targets)
        return dot(shares)

    def masses(self, y: int | None, q: list[float] | None) -> list[Fraction]:
        """Return a[0..V-1] for a class y or probabilities q."""
        weights = [Fraction(w) for w in self.weight] if self.weight else [ONE] * self.classes
        spread = Fraction(self.smoothing) / self.classes
        if q is not None:
            return [w * (self.kept * Fraction(qc) + spread) for w, qc in zip(weights, q, strict=True)]
        masses = [w * spread for w in weights] if spread else [ZERO] * self.classes
        assert y is not None
        masses[y] += weights[y] * self.kept
        return masses

    def loss(self, row: Row, y: int | None, q: list[float] | None) -> Nll:
        """Return the loss of one row, not rounded."""
        #   sum_c a[c] nll[c]  =  (1 - e) sum_c w[c] q[c] nll[c]  +  e / V sum_c w[c] nll[c]
        #
        # Each part is a factor, columns of doubles whose product is the class's coefficient, and the logits.
        weights = self.weight or [1.0] * self.classes
        target: tuple[Fraction, list[list[float]], list[float]]
        if q is not None:
            target = self.kept, [weights, q], row.xs
        else:
            assert y is not None
            target = self.kept * Fraction(weights[y]), [[1.0]], [row.xs[y]]
        drop = total = ZERO
        for factor, columns, logits in (target, (Fraction(self.smoothing) / self.classes, [weights], row.xs)):
            counted = [each for each in zip(*columns, logits, strict=True) if all(each[:-1])] if factor else []
            if not counted:
                continue  # 0 nll[c] is 0, where nll[c] is inf too
            *coefficients, zs = zip(*counted, strict=True)
            if -inf in zs:
                return Nll(infinite=True)
            mass = dot(*coefficients)
            total += factor * mass
            drop += factor * (Fraction(row.m) * mass - dot(*coefficients, zs))
        if not total:
            return Nll()
        return Nll(drop, {row.ties: total}) if row.ties else Nll(drop, rows=[(row, total)])
