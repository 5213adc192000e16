"""What a report holds: totals and parts as tallies, and what follows from them."""

__all__ = ["Content", "Lengths", "Verdict"]

from dataclasses import dataclass
from math import isinf
from typing import NamedTuple, cast

from refcalc.evaluation._sums import minus
from refcalc.evaluation.criteria import Criterion
from refcalc.evaluation.figures import Check, Figure, checks, figures
from refcalc.evaluation.protocol import Protocol
from refcalc.exact_sum import ExactSum
from refcalc.tally import Tally


class Lengths(NamedTuple):
    """How many targets the documents have: of so many, at least a quarter, a half ... have no more than this."""

    least: int
    quarter: int
    median: int
    three_quarters: int
    most: int


class Verdict(NamedTuple):
    """What became of a criterion; holds is None where its reference is not known."""

    criterion: Criterion
    value: float | None
    reference: float | None
    holds: bool | None


@dataclass(frozen=True)
class Content:
    """What a report holds; Report says what it means."""

    source: str
    protocol: Protocol
    total: Tally
    eos: Tally | None
    unknown: Tally | None
    n_windows: int | None
    lengths: Lengths
    macro_mean_nll: float
    worst: tuple[tuple[float, str | int, int], ...]
    baselines: dict[str, Tally]
    splits: dict[str, Tally]
    warnings: tuple[str, ...]

    @property
    def known(self) -> Tally | None:
        """The targets that the vocabulary has: beside the total, never instead of it."""
        if self.unknown is None or isinf(float(self.unknown.nll_sum)):
            return None
        nll_sum = minus(cast(ExactSum, self.total.nll_sum), cast(ExactSum, self.unknown.nll_sum))
        return Tally(nll_sum, self.total.n_targets - self.unknown.n_targets, n_documents=0)

    @property
    def figures(self) -> dict[str, Figure]:
        """Every metric that was counted, by its name in Tally."""
        return figures(self.total)

    @property
    def checks(self) -> list[Check]:
        """The figures multiplied back to what they were made from."""
        return checks(self.figures)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What became of each criterion of the protocol."""
        return tuple(self._verdict(criterion) for criterion in self.protocol.criteria)

    @property
    def holds(self) -> bool:
        """Whether all criteria hold; one that cannot be judged does not."""
        return all(verdict.holds for verdict in self.verdicts)

    def _verdict(self, criterion: Criterion) -> Verdict:
        value, name = _value(self.total, criterion.metric), criterion.reference
        named = {**self.splits, **self.baselines}
        other = _value(named.get(name), criterion.metric) if isinstance(name, str) else name
        if value is None or other is None:
            return Verdict(criterion, value, other, None)
        return Verdict(criterion, value, other, criterion.holds(value, other))


# --- private ---------------------------------------------------------------------------------------------------------


def _value(tally: Tally | None, metric: str) -> float | None:
    return None if tally is None or metric not in figures(tally) else figures(tally)[metric].value
