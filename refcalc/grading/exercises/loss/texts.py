"""The mean loss of a sequence: targets beside their rows, rows that predict the next token, and masks."""

__all__ = ["MASKED_LOSS", "SEQUENCE_LOSS", "SHIFTED_LOSS", "UNSHIFTED_LOSS"]

from collections.abc import Callable, Iterator
from functools import partial
from itertools import compress
from math import inf
from random import Random

from refcalc import exact
from refcalc.evidence import Batch, Records
from refcalc.grading.exercise import Arguments, Function
from refcalc.grading.exercises._shared import average, below, explained
from refcalc.grading.exercises.loss.guards import guarded
from refcalc.grading.exercises.loss.rows import Row, row
from refcalc.softmax import token_nll

Text = tuple[list[Row], list[int]]  # T rows of V scores, and T targets or tokens

# --- the right answer ------------------------------------------------------------------------------------------------


def masked_loss(rows: list[Row], targets: list[int], mask: list[int]) -> float:
    """Return the mean loss of the targets whose mask is 1."""
    return float(exact.cross_entropy(rows, labelled(targets, mask)))


def labelled(targets: list[int], mask: list[int]) -> list[int]:
    """Return the targets with the ignore index where the mask is 0."""
    return [y if kept else -100 for y, kept in zip(targets, mask, strict=True)]


# --- what the catalogue is tried on ----------------------------------------------------------------------------------


def unaligned(rows: list[Row], tokens: list[int]) -> list[Batch]:
    return [Batch(rows, tokens)]


def aligned(rows: list[Row], targets: list[int]) -> list[Batch]:
    """Return the sequence whose row t predicts targets[t]; it begins with a token that nothing predicts.

    Its last row predicts nothing, and adds nothing to a sum of exp over the rows.
    """
    return [Batch([*rows, [-inf] * len(rows[0])], [targets[0], *targets])]


def masked(rows: list[Row], targets: list[int], mask: list[int]) -> list[Batch | Records]:
    labels = [-100, *labelled(targets, mask)]
    batch = Batch([*rows, [-inf] * len(rows[0])], [targets[0], *targets], labels=labels)
    return [batch, Records(list(map(token_nll, rows, targets)), mask=mask)]


# --- wrong answers ---------------------------------------------------------------------------------------------------

SIGN = "The mean log-probability is returned, which is not above 0.", "A loss is minus the logarithm of a probability."


def by_row(log_p: Callable[[Row], Row], rows: list[Row], targets: list[int]) -> float:
    """Return the mean loss of row t and target t, its log-probabilities taken by another function."""
    return -average(log_p(logits)[y] for logits, y in zip(rows, targets, strict=True))


def by_row_shifted(log_p: Callable[[Row], Row], rows: list[Row], tokens: list[int]) -> float:
    return by_row(log_p, rows[:-1], tokens[1:])


def by_row_masked(log_p: Callable[[Row], Row], rows: list[Row], targets: list[int], mask: list[int]) -> float:
    return by_row(log_p, [*compress(rows, mask)], [*compress(targets, mask)])


ALIGNED = {
    "sign-left-out": explained(*SIGN, lambda rows, targets: -exact.cross_entropy(rows, targets)),
    **guarded(by_row),
}
SHIFTED = {
    "sign-left-out": explained(*SIGN, lambda rows, tokens: -exact.causal_lm_loss(rows, tokens)),
    **guarded(by_row_shifted),
}
MASKED = {
    "sign-left-out": explained(*SIGN, lambda rows, targets, mask: -masked_loss(rows, targets, mask)),
    "masked-denominator-only": explained(
        "Places whose mask is 0 are not counted, but their losses are in the sum.",
        "Leave them out of the sum as well.",
        lambda rows, targets, mask: average(map(token_nll, rows, targets)) * len(mask) / sum(mask),
    ),
    **guarded(by_row_masked),
}
UNSHIFTED = {
    **ALIGNED,
    "shifted": explained(
        "Row t is scored against token t + 1, as it should be elsewhere.",
        "This function is to show the other number: score each row against the token that it has just read.",
        partial(exact.causal_lm_loss),
    ),
}

# --- the arguments ---------------------------------------------------------------------------------------------------


def text(rng: Random, length: int, classes: int, offset: float = 0.0) -> Text:
    """Return rows and targets; two of the targets are 0."""
    targets = [below(rng, classes) for _ in range(length)]
    targets[1 + below(rng, length - 1)] = targets[0] = 0
    return [row(rng, classes, offset) for _ in range(length)], targets


def texts(rng: Random) -> Iterator[Text]:
    """Yield rows and targets: ordinary, with unlikely targets, of large offset, with impossible classes."""
    for length, classes in ((5, 3), (4, 6), (7, 4), (3, 3), (9, 5)):
        yield text(rng, length, classes)
    yield lowered(*text(rng, 4, 3), 1, 35.0 + below(rng, 10))
    yield text(rng, 5, 4, offset=1e3 + below(rng, 1000))
    yield lowered(*text(rng, 6, 3), 6, 300.0)  # together less likely than the least double
    yield lowered(*text(rng, 5, 4), 1, 900.0)  # alone
    rows, targets = text(rng, 4, 5)
    for t in range(4):
        free = [c for c in range(5) if c not in (targets[t], targets[(t + 1) % 4])]
        rows[t][free[below(rng, len(free))]] = -inf
    yield rows, targets


def lowered(rows: list[Row], targets: list[int], count: int, by: float) -> Text:
    """Return the text with unlikely targets in some rows from the second: the token just read, and the one after."""
    for k in range(1, count + 1):
        t = k % len(rows)
        unlikely = targets[t], targets[(t + 1) % len(rows)]
        rows[t] = [z - by if c in unlikely else z for c, z in enumerate(rows[t])]
    return rows, targets


def masked_texts(rng: Random) -> Iterator[Arguments]:
    """Yield rows, targets and masks: gaps, padding at the end, and a target that is impossible where none counts."""
    for rows, targets in texts(rng):
        mask = [1] * len(rows)
        mask[0] = mask[2 + below(rng, len(rows) - 2)] = 0
        yield rows, targets, mask
    rows, targets = text(rng, 6, 4)
    yield rows, targets, [1, 1, 1, 1, 0, 0]
    impossible = [-inf if c == targets[5] else z for c, z in enumerate(rows[5])]
    yield [*rows[:5], impossible], targets, [1, 1, 1, 1, 0, 0]
    yield rows, targets, [1] * 6


# --- the functions ---------------------------------------------------------------------------------------------------

SEQUENCE_LOSS = Function(
    "sequence_loss(rows, targets)",
    "the mean loss of row t and target t, in nats",
    exact.cross_entropy,
    texts,
    ALIGNED,
    evidence=aligned,
)
SHIFTED_LOSS = Function(
    "shifted_loss(rows, tokens)",
    "the mean loss of row t and token t + 1, in nats",
    exact.causal_lm_loss,
    texts,
    SHIFTED,
    evidence=unaligned,
)
UNSHIFTED_LOSS = Function(
    "unshifted_loss(rows, tokens)",
    "the mean loss of row t and token t, in nats",
    exact.cross_entropy,
    texts,
    UNSHIFTED,
    evidence=aligned,
)
MASKED_LOSS = Function(
    "masked_loss(rows, targets, mask)",
    "the mean loss where the mask is 1, in nats",
    masked_loss,
    masked_texts,
    MASKED,
    evidence=masked,
)
