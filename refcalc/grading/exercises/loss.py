"""The exercise `loss`: from one row of logits to a masked mean, a perplexity and bits.

Every function has a right answer by the textbook formula in doubles: largest score, exp, sum, log.  Scores may be -inf,
a class of probability zero, which that formula bears; offsets stay below 1e5, where it still has its digits.
"""

__all__ = ["EXERCISE"]

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import inf, log
from random import Random

from refcalc import exact
from refcalc.evidence import Batch, Records
from refcalc.grading.exercise import Arguments, Exercise, Function
from refcalc.grading.exercises._shared import below, explained
from refcalc.mistakes import MISTAKES
from refcalc.mistakes.pipeline import Run
from refcalc.softmax import token_nll
from refcalc.units import LOG_2, LOG_10

Row = list[float]
UNDERFLOW = -760.0, -660.0  # log-probabilities between which one double program sees 0 and another does not
WIDE = 65_537  # classes; their number is beyond float16


# --- the right answers -----------------------------------------------------------------------------------------------


def log_softmax_naive(logits: Row) -> Row:
    """Return log(softmax(z)), -inf where the probability underflows; refuse what is close to underflowing."""
    if any(UNDERFLOW[0] < x < UNDERFLOW[1] for x in exact.log_softmax(logits)):
        raise ValueError("log_softmax_naive: a probability must be clearly above the least double, or below")
    return [log(p) if p else -inf for p in exact.softmax(logits)]


def masked_loss(rows: list[Row], targets: list[int], mask: list[int]) -> float:
    """Return the mean loss of the targets whose mask is 1."""
    return float(exact.cross_entropy(rows, labelled(targets, mask)))


def labelled(targets: list[int], mask: list[int]) -> list[int]:
    """Return the targets with the ignore index where the mask is 0."""
    return [y if kept else -100 for y, kept in zip(targets, mask, strict=True)]


# --- what the catalogue is tried on ----------------------------------------------------------------------------------


def one_target(logits: Row, target: int) -> list[Batch]:
    return [Batch([logits, logits], [target, target])]


def aligned(rows: list[Row], targets: list[int]) -> list[Batch]:
    """Return the sequence whose row t predicts targets[t]; it begins with a token that nothing predicts."""
    return [Batch([*rows, rows[-1]], [targets[0], *targets])]


def masked(rows: list[Row], targets: list[int], mask: list[int]) -> list[Batch | Records]:
    batch = Batch([*rows, rows[-1]], [targets[0], *targets], labels=[-100, *labelled(targets, mask)])
    return [batch, Records(list(map(token_nll, rows, targets)), mask=mask)]


def of_each_class(name: str, logits: Row) -> Row:
    """Return the log-probability of each class, scored as a mistake of the catalogue has it."""
    run, score = Run(Batch([logits], [0])), MISTAKES[name].function
    return [-score(run, 0, 0, y) for y in range(len(logits))]


def row_mistakes(*names: str) -> dict[str, Callable[[Row], Row]]:
    return {name: partial(of_each_class, name) for name in names}


UNSTABLE = row_mistakes("log-of-softmax-underflow", "naive-logsumexp", "naive-softmax-nan")
ANYWHERE = {
    **row_mistakes("double-softmax", "raw-logit-nll", "epsilon-clipped-log", "epsilon-added-in-log", "bf16-loss"),
    "bits-reported-as-nats": lambda logits: [x / LOG_2 for x in exact.log_softmax(logits)],
    "log10-as-natural": lambda logits: [x / LOG_10 for x in exact.log_softmax(logits)],
}


NAIVE = {
    "no-underflow": explained(
        "The log-probabilities are taken at once, which does not underflow.",
        "This function is to show what the other order does: softmax first, then the logarithm, -inf for that of 0.",
        partial(exact.log_softmax),
    ),
    "log-of-zero": explained(
        "The logarithm of a probability that has become 0 is left to raise an error.",
        "Return -inf there.",
        lambda logits: [log(p) for p in exact.softmax(logits)],
    ),
}
SHIFTED = explained(
    "Row t is scored against token t + 1, as it should be elsewhere.",
    "This function is to show the other number: score each row against the token that it has just read.",
    partial(exact.causal_lm_loss),
)


# --- the arguments ---------------------------------------------------------------------------------------------------


def row(rng: Random, classes: int, spread: float = 8.0, offset: float = 0.0) -> Row:
    return [round(offset + spread * (rng.random() - 0.5), 3) for _ in range(classes)]


def single_rows(rng: Random) -> Iterator[Row]:
    """Yield rows for one position: ordinary, with an unlikely class, of large offset, with an impossible class."""
    for classes in (3, 2, 5, 4, 8):
        yield row(rng, classes)
    yield [0.0, 0.0, 0.0]
    yield [*row(rng, 3), -30.0 - below(rng, 10)]
    yield row(rng, 4, offset=1e3 + below(rng, 1000))
    yield row(rng, 3, offset=-1e4 - below(rng, 1000))
    yield [*row(rng, 2), 900.0 + below(rng, 100)]
    yield [*row(rng, 3), -inf]


def naive_rows(rng: Random) -> Iterator[Arguments]:
    """Yield rows whose largest score is near 0, so that exp does not overflow in any form of softmax."""
    for classes in (3, 2, 5, 4):
        yield (row(rng, classes),)
    yield ([0.0, -30.0 - below(rng, 10), row(rng, 1)[0]],)
    yield ([row(rng, 1)[0], -800.0 - below(rng, 100), row(rng, 1)[0]],)
    yield ([0.0, -1000.0 - below(rng, 1000)],)


def one_row(rng: Random) -> Iterator[Arguments]:
    return ((logits,) for logits in single_rows(rng))


def row_and_target(rng: Random) -> Iterator[Arguments]:
    for logits in single_rows(rng):
        possible = [y for y, z in enumerate(logits) if z > -inf]
        yield logits, possible[below(rng, len(possible))]
        if len(possible) < len(logits) or max(logits) - min(logits) > 20.0:
            yield logits, logits.index(min(logits))
    yield [0.0] * WIDE, below(rng, WIDE)


def text(rng: Random, length: int, classes: int, **of_rows: float) -> tuple[list[Row], list[int]]:
    """Return rows and targets; two of the targets are 0."""
    targets = [below(rng, classes) for _ in range(length)]
    targets[1 + below(rng, length - 1)] = targets[0] = 0
    return [row(rng, classes, **of_rows) for _ in range(length)], targets


def texts(rng: Random) -> Iterator[tuple[list[Row], list[int]]]:
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


def lowered(rows: list[Row], targets: list[int], count: int, by: float) -> tuple[list[Row], list[int]]:
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


def means(rng: Random) -> Iterable[Arguments]:
    ordinary: list[Arguments] = [(round(5.0 * rng.random(), 3),) for _ in range(5)]
    return [*ordinary, (0.0,), (1.0,), (log(50257),), (30.0 + below(rng, 10),), (600.0 + below(rng, 100),)]


# --- the exercise ----------------------------------------------------------------------------------------------------


def one_number(mean_loss: float) -> list[Records]:
    return [Records([mean_loss])]


EXERCISE = Exercise(
    "loss",
    (
        Function(
            "log_softmax(logits)", "the V log-probabilities, in nats",
            exact.log_softmax, one_row, {**ANYWHERE, **UNSTABLE},
        ),
        Function(
            "log_softmax_naive(logits)", "log(softmax(logits)), -inf where that underflows",
            log_softmax_naive, naive_rows, {**ANYWHERE, **NAIVE},
            floor=1.0,
        ),
        Function(
            "token_loss(logits, target)", "-log p of the target, in nats",
            exact.token_nll, row_and_target, evidence=one_target,
        ),
        Function(
            "sequence_loss(rows, targets)", "the mean loss of row t and target t, in nats",
            exact.cross_entropy, texts, evidence=aligned,
        ),
        Function(
            "perplexity(mean_loss)", "exp of the mean loss",
            exact.perplexity, means, evidence=one_number, quantity="perplexity",
        ),
        Function(
            "shifted_loss(rows, tokens)", "the mean loss of row t and token t + 1, in nats",
            exact.causal_lm_loss, texts, evidence=lambda rows, tokens: [Batch(rows, tokens)],
        ),
        Function(
            "unshifted_loss(rows, tokens)", "the mean loss of row t and token t, in nats",
            exact.cross_entropy, texts, {"shifted": SHIFTED}, evidence=aligned,
        ),
        Function(
            "masked_loss(rows, targets, mask)", "the mean loss where the mask is 1, in nats",
            masked_loss, masked_texts, evidence=masked,
        ),
        Function(
            "bits_per_token(mean_loss)", "the mean loss in bits",
            exact.bits_per_token, means, evidence=one_number, quantity="bits_per_token",
        ),
    ),
)  # fmt: skip
