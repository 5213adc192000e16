"""Every wrong number that the catalogue can make of an evidence, and when two numbers are the same but for rounding."""

__all__ = ["Nearness", "Numbers", "Trials"]

from itertools import combinations
from math import expm1, inf, isfinite, isnan, log

from refcalc import _check, _rounding
from refcalc.evidence import Evidence
from refcalc.mistakes import MISTAKES
from refcalc.mistakes.kind import PERPLEXITIES, STEPS, DoesNotApply, Mistake
from refcalc.mistakes.pipeline import COUNT_OF, Run
from refcalc.units import LOG_2

Numbers = dict[tuple[str, ...], tuple[float, ...]]  # by names of mistakes


class Trials:
    """The right number of an evidence, and every wrong one that the catalogue can make of it.

    Where a mask hides places, what counts can be read from the mask of both places of a pair or from the labels alone.
    Right pairs are the same either way; those of a wrong shift are not, and such a kind has a number for each way.
    """

    def __init__(self, evidence: Evidence, quantity: str, dtype: str) -> None:
        count = COUNT_OF.get(quantity)
        if count is not None and evidence.total(count) is None:
            _check.refuse("diagnose", "evidence", f"have {count} for {quantity}", None)
        self.run, self.right, self.refusal = Run(evidence, quantity, dtype), None, None
        masked = self.run.batch is not None and self.run.batch.attention_mask is not None
        self._by_labels = self.run.by_labels() if masked else None
        try:
            self.right = self.run.value()
        except DoesNotApply:
            raise ValueError(
                "diagnose: evidence must hold a target that counts (nothing to average), got none"
            ) from None
        except ValueError as error:
            if "the target of" not in str(error):
                raise
            self.refusal = str(error)  # a label that is no class: a mistake may still explain the number
        self._applying: list[Mistake] = []
        self._twofold: set[str] = set()  # kinds that have two numbers

    right: float | None
    refusal: str | None

    def singles(self) -> tuple[Numbers, dict[str, str]]:
        """Return the values by mistake, and for those that cannot be made what they would need."""
        values: Numbers = {}
        untried: dict[str, str] = {}
        for name, mistake in MISTAKES.items():
            if mistake.step not in STEPS or self.run.quantity not in mistake.quantities:
                continue
            try:
                values[name,] = self._values(mistake, both=mistake.step in ("align", "select", "reduce"))
            except DoesNotApply as error:
                untried[name] = str(error)
                continue
            except ValueError:  # a row that only the mistake reads holds what is no score
                untried[name] = "rows of logits that can be read where nothing should be scored"
                continue
            self._applying.append(mistake)
            if len(values[name,]) > 1:
                self._twofold.add(name)
        return values, untried

    def pairs(self) -> Numbers:
        """Return the values by two mistakes from different steps; after singles."""
        values: Numbers = {}
        for one, other in combinations(self._applying, 2):
            if one.step != other.step:
                both = one.name in self._twofold or other.name in self._twofold
                try:
                    values[one.name, other.name] = self._values(one, other, both=both)
                except (DoesNotApply, ValueError):
                    continue
        return values

    def _values(self, *mistakes: Mistake, both: bool) -> tuple[float, ...]:
        """Return the value, and where it is another one by labels alone, that one too."""
        value = self.run.value(*mistakes)
        if both and self._by_labels is not None:
            try:
                other = self._by_labels.value(*mistakes)
            except (DoesNotApply, ValueError):
                return (value,)
            if other != value and not (isnan(other) and isnan(value)):
                return value, other
        return (value,)


class Nearness:
    """When two numbers are the same but for rounding, for one quantity of one evidence.

    The error of a mean nll in dtype is at most  relative |mean| + fixed  (`_rounding`), that of a sum over N targets as
    much with N times the fixed part.  Carried on to the quantity v, with r and f for these two:

        bits                v = mean / log 2              r |v| + f / log 2                 + u |v|
        perplexity          v = exp(mean)                 |v| expm1(r log v + f)            + 2 u |v|
        per byte (C = n)    v = sum / (C log 2)           r |v| + f / (C log 2)             + 2 u |v|
        byte perplexity     v = exp(sum / C)              |v| expm1(r log v + f / C)        + 4 u |v|

    the last column being the roundings of the conversion itself.  It is taken as 4 u |v| everywhere.
    """

    def __init__(self, trials: Trials, slack: float, tolerance: float | None, dtype: str | None = None) -> None:
        run = trials.run
        self.dtype, self.quantity, self.slack, self.tolerance = dtype or run.dtype, run.quantity, slack, tolerance
        totals = run.quantity == "nll_sum" or run.quantity in COUNT_OF
        targets = max(sum(sum(row) for row in run.kept), 1)
        classes = run.batch.classes if run.batch else None
        allowed = _rounding.limit(
            "diagnose",
            dtype=self.dtype,
            classes=classes or None,
            scale=run.scale(),
            reduction="sum" if totals else "mean",
            targets=targets,
        )
        count = run.evidence.total(COUNT_OF[run.quantity]) if run.quantity in COUNT_OF else 1
        self.relative, self.fixed = allowed.relative, allowed.fixed / (count or 1)
        self.conversion = 4.0 * 2.0 ** -_rounding.FORMATS[self.dtype][0]

    def limit(self, value: float) -> _rounding.Limit:
        """Return the error that is allowed to a number whose true value is this one."""
        return _rounding.Limit("rounding", 0.0, self.allowed(value))

    def allowed(self, value: float) -> float:
        size = abs(value)
        if not isfinite(size):
            return 0.0
        if self.tolerance is not None:
            return self.tolerance * size + self.slack
        if self.quantity in PERPLEXITIES and size:
            moved = self.relative * abs(log(size)) + self.fixed
            error = size * expm1(moved) if moved < 700.0 else inf
        else:
            error = self.relative * size + self.fixed / (LOG_2 if self.quantity.startswith("bits") else 1.0)
        return error + self.conversion * size + self.slack

    def same(self, a: float, b: float) -> bool:
        """Return whether a can be b but for rounding; nan is nan, and an infinity itself."""
        if not isfinite(a) or not isfinite(b):
            return a == b or (isnan(a) and isnan(b))
        return abs(a - b) <= self.allowed(b)
