"""A loss as five replaceable steps, and the value when one of them, or one in each of two, is done wrong.

    score    nll(run, b, t, y)        of the target y, given row t of sequence b
    align    items(run)               which row is scored against which place: (b, t, c, p), place p of sequence c
    select   counts(run, items)       how often each item counts in the sum, and how often in the denominator
    reduce   three(run, scored)       mean, sum and denominator
    express  quantity(run, reduced)   the quantity

Without a mistake this is the arithmetic of the float tier.  What each step gives is kept, so that all pairs of mistakes
together cost little more than reading each row once.
"""

__all__ = ["COUNT_OF", "Item", "Part", "Reduced", "Run", "Scored", "rate", "restated", "witness"]

from collections.abc import Callable, Hashable, Iterable
from math import isfinite, isnan
from typing import Any, NamedTuple

from refcalc.evidence import Evidence
from refcalc.exact_sum import ExactSum
from refcalc.mistakes.arithmetic import add, exponential, ratio
from refcalc.mistakes.kind import LOSSES, PERPLEXITIES, DoesNotApply, Mistake
from refcalc.mistakes.reading import Reading
from refcalc.units import LOG_2

Item = tuple[int, int, int, int]
COUNT_OF = {  # the count of text that a rate is divided by
    "bits_per_byte": "n_bytes",
    "bits_per_char": "n_chars",
    "byte_perplexity": "n_bytes",
    "word_perplexity": "n_words",
}


class Part(NamedTuple):
    """Some of the items that were scored, by their losses and their shares of the denominator."""

    losses: list[float]
    shares: list[float]


class Scored(NamedTuple):
    """Items with their losses, in parallel lists: row and place of the target, loss, and share of the denominator.

    grouped: by the name of each key that they were split by, the indices and shares of the parts: whatever the losses.
    """

    rows: list[int]
    places: list[int]
    losses: list[float]
    shares: list[float]
    grouped: dict[str, list[tuple[list[int], list[float]]]]

    def split(self, name: str, key: Callable[[int, int], Hashable]) -> list[Part]:
        """Return the parts whose (row, place) have one key, in the order of their first items; none without a share."""
        if name not in self.grouped:
            indices: dict[Hashable, list[int]] = {}
            for i, found in enumerate(map(key, self.rows, self.places)):
                indices.setdefault(found, []).append(i)
            parts = [(part, [self.shares[i] for i in part]) for part in indices.values()]
            self.grouped[name] = [(part, shares) for part, shares in parts if any(shares)]
        return [Part([self.losses[i] for i in part], shares) for part, shares in self.grouped[name]]

    def of(self, rows: Iterable[int]) -> "Scored":
        """Return the items of some rows."""
        wanted = set(rows)
        kept = [i for i, row in enumerate(self.rows) if row in wanted]
        parts = ([values[i] for i in kept] for values in self[:4])
        return Scored(*parts, {})  # type: ignore[arg-type, call-arg]


class Reduced(NamedTuple):
    """What a reduction gives, and how to have it of some rows only."""

    mean: float
    total: float
    n: float
    part: Callable[[Iterable[int]], "Reduced"]


class Run(Reading):
    """The five steps over one evidence."""

    def value(self, *mistakes: Mistake) -> float:
        """Return the quantity with these steps done wrong; DoesNotApply if one cannot be made on this evidence."""
        for mistake in mistakes:
            for need in mistake.needs:
                if getattr(self.evidence, need, None) is None:
                    raise DoesNotApply(need)
            if self.quantity not in mistake.quantities:
                raise DoesNotApply(f"another quantity than {self.quantity}")
        wrong = {mistake.step: mistake.function for mistake in mistakes}
        return float(wrong.get("express", _express)(self, self._reduced(wrong)))

    def _reduced(self, wrong: dict[str, Any]) -> Reduced:
        steps = [wrong.get(step) for step in ("score", "align", "select", "reduce")]
        reduce = wrong.get("reduce", _reduce if any(steps) else _reduce_exactly)

        def reduced(scored: Scored) -> Reduced:
            mean, total, n = reduce(self, scored)
            return Reduced(mean, total, n, lambda rows: reduced(scored.of(rows)))

        key = (self.labels_alone, *steps)
        result: Reduced = self.remembered(key, lambda: reduced(self._items_once(*steps[:3])))
        return result

    def _items_once(self, *steps: Any) -> Scored:
        """Return the items that count; those of two wrong steps, of which no reduction but the right one asks, anew."""
        if steps.count(None) < 2:
            return self._scored_items(*steps)
        scored: Scored = self.remembered(("scored", self.labels_alone, *steps), lambda: self._scored_items(*steps))
        return scored

    def _scored_items(self, score: Any, align: Any, select: Any) -> Scored:
        """Return the items that count, with their losses."""
        chosen, counts, scored = self.remembered(
            ("chosen", self.labels_alone, align, select), lambda: self._chosen(align, select)
        )
        items, targets = self.remembered(("items", align), lambda: self._items(align))
        known: list[Any] = self.remembered(("losses", score, align), lambda: [None] * len(items))
        nll = self._loss(score)
        read = chosen if counts is None else [i for i, n in zip(chosen, counts, strict=True) if n and not isnan(n)]
        for i in read:
            if known[i] is None:
                b, t, _, _ = items[i]
                known[i] = nll(b, t, targets[i])
        if counts is None:
            losses = [known[i] for i in chosen]
        else:  # a count of nan is one that met an infinite loss
            losses = [n * known[i] if n and not isnan(n) else n for i, n in zip(chosen, counts, strict=True)]
        return scored._replace(losses=losses)  # type: ignore[no-any-return]

    def _items(self, align: Any) -> tuple[list[Item], list[int]]:
        items = (align or _align)(self)
        return items, [self.target(c, p) for _, _, c, p in items]

    def _chosen(self, align: Any, select: Any) -> tuple[list[int], list[float] | None, Scored]:
        """Return the places in the list of items of those that count, how often (None: once each), and their shares."""
        items, targets = self.remembered(("items", align), lambda: self._items(align))
        in_sum, in_count = (select or _select)(self, items)
        chosen = [i for i, (a, b) in enumerate(zip(in_sum, in_count, strict=True)) if a or b]
        counts: list[float] | None = [float(in_sum[i]) for i in chosen]
        if all(n == 1.0 for n in counts or ()):
            counts = None
        if self.weight:
            shares = [in_count[i] * self.share(self.class_of(targets[i])) if in_count[i] else 0.0 for i in chosen]
        else:
            shares = [float(in_count[i]) for i in chosen]
        return chosen, counts, Scored([items[i][0] for i in chosen], [items[i][3] for i in chosen], [], shares, {})

    def _loss(self, score: Any) -> Callable[[int, int, int], float]:
        """Return the function of (b, t, y) that gives a loss, its nll scored so."""
        if score is not None and score.whole_loss:
            return lambda b, t, y: float(score(self, b, t, y))
        if self.smoothing or self.weight:
            return lambda b, t, y: self.loss(b, t, y, score)
        return self.nll if score is None else lambda b, t, y: float(score(self, b, t, y))


# --- the right steps -------------------------------------------------------------------------------------------------


def _align(run: Run) -> list[Item]:
    step = 1 if run.batch else 0
    return [(b, t, b, t + step) for b, n in enumerate(run.evidence.lengths) for t in range(n - step)]


def _select(run: Run, items: list[Item]) -> tuple[list[bool], list[bool]]:
    kept = [run.kept[c][p] and run.open(b, t) for b, t, c, p in items]
    return kept, kept


def _reduce(run: Run, scored: Scored) -> tuple[float, float, float]:
    return ratio(scored.losses, scored.shares), add(scored.losses), add(scored.shares)


def _reduce_exactly(run: Run, scored: Scored) -> tuple[float, float, float]:
    """The right reduction, rounded once as the float tier does it; wrong numbers may be an ulp off."""
    mean, total, n = _reduce(run, scored)
    return ExactSum(scored.losses) / ExactSum(scored.shares) if isfinite(total) else mean, total, n


def _express(run: Run, reduced: Reduced) -> float:
    if run.quantity in ("bits_per_byte", "bits_per_char") and (count := run.evidence.total(COUNT_OF[run.quantity])):
        return reduced.total / (count * LOG_2)  # as refcalc.units rounds it
    return restated(run, reduced, lambda nats: nats)


# --- for the mistakes of the last step -------------------------------------------------------------------------------


def rate(run: Run, reduced: Reduced) -> float:
    """Return nats per target, byte, character or word, whichever the quantity is about; for nll_sum, the sum."""
    if run.quantity == "nll_sum":
        return reduced.total
    if run.quantity not in COUNT_OF:
        return reduced.mean
    count = run.evidence.total(COUNT_OF[run.quantity])
    if not count:
        raise DoesNotApply(COUNT_OF[run.quantity])
    return reduced.total / count


def restated(run: Run, reduced: Reduced, change: Callable[[float], float]) -> float:
    """Return the quantity, its nats changed on the way."""
    nats = change(rate(run, reduced))
    if run.quantity in PERPLEXITIES:
        return exponential(nats)
    return nats if run.quantity in LOSSES else nats / LOG_2


def witness(function: Any, evidence: Evidence, quantity: str = "mean_nll", dtype: str = "float64") -> str:
    """Return the right value and the wrong one that a mistake makes of it, for the examples of the catalogue."""
    run = Run(evidence, quantity, dtype)
    return f"right {run.value():.10g}, wrong {run.value(function.mistake):.10g}"
