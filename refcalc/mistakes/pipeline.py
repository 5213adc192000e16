"""A loss as five replaceable steps, and the value when one of them, or one in each of two, is done wrong.

    score    loss(run, b, t, y)       of the target y, given row t of sequence b
    align    align(run)               which row is scored against which place: items (b, t, c, p), place p of sequence c
    select   select(run, items)       how often each item counts in the sum, and how often in the denominator
    reduce   reduce(run, scored)      mean, sum and denominator
    express  express(run, reduced)    the quantity

Without a mistake this is the arithmetic of the float tier.  What each step gives is kept, so that all pairs of mistakes
together cost little more than reading each row once.
"""

__all__ = ["COUNT_OF", "Item", "Reduced", "Run", "Scored", "add", "exponential", "rate", "ratio", "restated", "witness"]

from collections.abc import Callable, Iterable
from math import exp, fsum, inf, isfinite, nan
from typing import Any, NamedTuple

from refcalc import _check
from refcalc.evidence import Batch, Evidence
from refcalc.exact_sum import ExactSum
from refcalc.mistakes.kind import LOSSES, PERPLEXITIES, DoesNotApply, Mistake
from refcalc.softmax import _log_1_plus, _masses
from refcalc.units import LOG_2

Item = tuple[int, int, int, int]
COUNT_OF = {"bits_per_byte": "n_bytes", "bits_per_char": "n_chars", "byte_perplexity": "n_bytes"}
COUNT_OF["word_perplexity"] = "n_words"


class Scored(NamedTuple):
    """Items with their losses, in parallel lists: the row and the place of the target, its loss and its share of n."""

    rows: list[int]
    places: list[int]
    losses: list[float]
    shares: list[float]

    def where(self, keep: Callable[[int, int], bool]) -> "Scored":
        """Return the items whose (row, place) is kept."""
        kept = [i for i, (row, place) in enumerate(zip(self.rows, self.places, strict=True)) if keep(row, place)]
        return Scored(*([values[i] for i in kept] for values in self))  # type: ignore[arg-type]

    def of(self, rows: Iterable[int]) -> "Scored":
        """Return the items of some rows."""
        wanted = set(rows)
        return self.where(lambda row, place: row in wanted)


class Reduced(NamedTuple):
    """What a reduction gives, and how to have it of some rows only."""

    mean: float
    total: float
    n: float
    part: Callable[[Iterable[int]], "Reduced"]


class Run:
    """The five steps over one evidence, for one quantity that was computed in one dtype."""

    def __init__(self, evidence: Evidence, quantity: str = "mean_nll", dtype: str = "float64") -> None:
        self.evidence, self.quantity, self.dtype = evidence, quantity, dtype
        self.batch = evidence if isinstance(evidence, Batch) else None
        loss = self.batch is not None and quantity in LOSSES
        self.weight = self.batch.weight if loss and self.batch else None
        self.smoothing = self.batch.label_smoothing if loss and self.batch else 0.0
        self.groups = evidence.groups or [[b] for b in range(len(evidence.lengths))]
        self.kept = [[self._keeps(b, p) for p in range(n)] for b, n in enumerate(evidence.lengths)]
        self._facts: dict[tuple[int, int], tuple[float, float]] = {}
        self._row: tuple[tuple[int, int], Any] = ((-1, -1), ())
        self._memory: dict[Any, Any] = {}

    # --- what a step may ask for -------------------------------------------------------------------------------------

    def row(self, b: int, t: int) -> Any:
        """Return the scores of row t of sequence b, those of a padded vocabulary left out."""
        if self._row[0] != (b, t):
            self._row = (b, t), self.whole_row(b, t)
        return self._row[1]

    def whole_row(self, b: int, t: int, *, padded: bool = False) -> Any:
        """Return the scores of a row as a sequence; with padded, those of classes that do not exist too."""
        batch = self.logits()
        name = f"logits[{b}][{t}]"
        row = _check.row("diagnose", name, batch.logits[b][t])
        length = len(row) if padded or batch.vocab_size is None else batch.vocab_size
        row = row if length == len(row) else row[:length]
        if len(row) != batch.classes and not padded:
            _check.refuse("diagnose", name, f"hold V = {batch.classes} scores as the first row does", len(row))
        return row

    def logits(self) -> Batch:
        """Return the batch, where there is one."""
        if self.batch is None:
            raise DoesNotApply("logits")
        return self.batch

    def facts(self, b: int, t: int) -> tuple[float, float]:
        """Return the largest score m of a row, and log(sum of exp(z - m))."""
        found = self._facts.get((b, t))
        if found is None:
            m, tail, _, _ = _masses("diagnose", f"logits[{b}][{t}]", self.row(b, t))
            found = self._facts[b, t] = m, _log_1_plus(tail)
        return found

    def nll(self, b: int, t: int, y: int) -> float:
        """Return the right nll, as token_nll gives it."""
        if self.batch is None:
            return self.evidence.nll[b][t]  # type: ignore[attr-defined, no-any-return]
        m, log_sum = self.facts(b, t)
        if not 0 <= y < self.batch.classes:
            _check.target("diagnose", f"the target of logits[{b}][{t}]", y, self.batch.classes)
        return (m - float(self.row(b, t)[y])) + log_sum

    def scale(self) -> float:
        """Return the largest size of a row's maximum or of its target's score, among the rows that were scored."""
        if self.batch is None:
            return 0.0
        sizes = [0.0]
        for b, t, c, p in _align(self):
            if self.kept[c][p] and self.open(b, t) and (b, t) in self._facts:
                sizes += [abs(self._facts[b, t][0]), abs(float(self.row(b, t)[self.target(c, p)]))]
        return max(size for size in sizes if size < inf)

    def remembered(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what compute gives, computed once."""
        if key not in self._memory:
            self._memory[key] = compute()
        return self._memory[key]

    def target(self, c: int, p: int) -> int:
        """Return the label at a place, or the token where the label is ignored."""
        if self.batch is None:
            return 0
        given = self.batch.given_labels
        label = self.batch.ignore_index if given is None else given[c][p]
        return self.batch.tokens[c][p] if label == self.batch.ignore_index else label

    def open(self, b: int, t: int) -> bool:
        """Return whether the attention mask has a token at a place."""
        mask = self.batch.attention_mask if self.batch else None
        return mask is None or mask[b][t]

    def ordinal(self, p: int) -> int:
        """Return which target of its row a place is, counted from 0."""
        return p - 1 if self.batch else p

    def share(self, y: int) -> float:
        return self.weight[y] if self.weight else 1.0

    def uniform(self, nll: Callable[..., float], b: int, t: int) -> float:
        """Return the sum over the classes of weight times nll: what label smoothing adds, times V / e."""
        weights = self.weight or [1.0] * self.logits().classes
        values = (w * nll(self, b, t, c) for c, w in enumerate(weights) if w)
        return self.remembered(("uniform", nll, b, t), lambda: add(values))  # type: ignore[no-any-return]

    def whole_loss(self, nll: Callable[..., float], b: int, t: int, y: int) -> float:
        """Return the loss of a target with weight and smoothing: sum of a[c] nll[c], see refcalc.loss."""
        if not self.smoothing:
            return self.share(y) * nll(self, b, t, y) if self.share(y) else 0.0
        spread = self.smoothing / self.logits().classes * self.uniform(nll, b, t)
        kept = (1.0 - self.smoothing) * self.share(y)
        return kept * nll(self, b, t, y) + spread if kept else spread

    def _keeps(self, b: int, p: int) -> bool:
        if self.batch is None:
            mask: Any = self.evidence.mask  # type: ignore[attr-defined]
            return mask is None or bool(mask[b][p])
        batch = self.batch
        return self.open(b, p) and batch.labels[b][p] != batch.ignore_index and not self.second_bos(b, p)

    def second_bos(self, b: int, p: int) -> bool:
        """Return whether a place holds a BOS at the head of its sequence that has a BOS before it."""
        if self.batch is None or self.batch.bos_id is None or self.batch.tokens[b][p] != self.batch.bos_id:
            return False
        head = [token for t, token in enumerate(self.batch.tokens[b][:p]) if self.open(b, t)]
        return bool(head) and all(token == self.batch.bos_id for token in head)

    # --- the steps ---------------------------------------------------------------------------------------------------

    def value(self, *mistakes: Mistake) -> float:
        """Return the quantity with these steps done wrong; DoesNotApply if one cannot be made on this evidence."""
        for mistake in mistakes:
            for need in mistake.needs:
                if getattr(self.evidence, need, None) is None:
                    raise DoesNotApply(need)
            if self.quantity not in mistake.quantities:
                raise DoesNotApply(f"another quantity than {self.quantity}")
        wrong = {mistake.step: mistake for mistake in mistakes}
        express = wrong["express"].function if "express" in wrong else _express
        return float(express(self, self._reduced(wrong)))

    def _reduced(self, wrong: dict[str, Mistake]) -> Reduced:
        steps = tuple(wrong.get(step) for step in ("score", "align", "select", "reduce"))
        reduce = wrong["reduce"].function if "reduce" in wrong else _reduce

        def reduced(scored: Scored) -> Reduced:
            mean, total, n = reduce(self, scored)
            return Reduced(mean, total, n, lambda rows: reduced(scored.of(rows)))

        result: Reduced = self.remembered(steps, lambda: reduced(self._scored(*steps[:3])))
        return result

    def _scored(self, score: Mistake | None, align: Mistake | None, select: Mistake | None) -> Scored:
        return self.remembered(("scored", score, align, select), lambda: self._score(score, align, select))  # type: ignore[no-any-return]

    def _score(self, score: Mistake | None, align: Mistake | None, select: Mistake | None) -> Scored:
        items: list[Item] = self.remembered(("items", align), lambda: (align.function if align else _align)(self))
        in_sum, in_count = (select.function if select else _select)(self, items)
        losses: list[Any] = self.remembered(("losses", score, align), lambda: [None] * len(items))
        nll = score.function if score else Run.nll
        plain = not (self.smoothing or self.weight) or (score is not None and score.whole_loss)
        scored = Scored([], [], [], [])
        for i, (b, t, c, p) in enumerate(items):
            if not (in_sum[i] or in_count[i]):
                continue
            y = self.target(c, p)
            if losses[i] is None and in_sum[i]:
                losses[i] = nll(self, b, t, y) if plain else self.whole_loss(nll, b, t, y)
            scored.rows.append(b)
            scored.places.append(p)
            scored.losses.append(in_sum[i] * losses[i] if in_sum[i] else 0.0)
            scored.shares.append(in_count[i] * self.share(y) if in_count[i] else 0.0)
        return scored


# --- the right steps -------------------------------------------------------------------------------------------------


def _align(run: Run) -> list[Item]:
    step = 1 if run.batch else 0
    return [(b, t, b, t + step) for b, n in enumerate(run.evidence.lengths) for t in range(n - step)]


def _select(run: Run, items: list[Item]) -> tuple[list[bool], list[bool]]:
    kept = [run.kept[c][p] and run.open(b, t) for b, t, c, p in items]
    return kept, kept


def _reduce(run: Run, scored: Scored) -> tuple[float, float, float]:
    total = add(scored.losses)
    return ratio(scored.losses, scored.shares), total, add(scored.shares)


def _express(run: Run, reduced: Reduced) -> float:
    if run.quantity in ("bits_per_byte", "bits_per_char") and (count := run.evidence.total(COUNT_OF[run.quantity])):
        return reduced.total / (count * LOG_2)  # as refcalc.units rounds it
    return restated(run, reduced, lambda nats: nats)


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


# --- arithmetic ------------------------------------------------------------------------------------------------------


def add(values: Iterable[float]) -> float:
    """Return the sum as rounding would have it: inf beyond the doubles, nan where inf meets -inf."""
    given = list(values)
    try:
        return fsum(given)
    except OverflowError:
        return inf
    except ValueError:
        return nan


def ratio(losses: list[float], shares: list[float]) -> float:
    """Return the sum of the losses over that of the shares, rounded once where both are finite."""
    if not any(shares):
        raise DoesNotApply("a target that counts")
    total = add(losses)
    return ExactSum(losses) / ExactSum(shares) if isfinite(total) else total / add(shares)


def exponential(x: float) -> float:
    """Return exp(x), inf beyond the doubles."""
    try:
        return exp(x)
    except OverflowError:
        return inf


def witness(function: Any, evidence: Evidence, quantity: str = "mean_nll", dtype: str = "float64") -> str:
    """Return the right value and the wrong one that a mistake makes of it, for the examples of the catalogue."""
    run = Run(evidence, quantity, dtype)
    return f"right {run.value():.10g}, wrong {run.value(function.mistake):.10g}"
