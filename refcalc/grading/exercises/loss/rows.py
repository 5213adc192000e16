"""One row of logits: its log-probabilities, softmax first or not, and the loss of one target."""

__all__ = ["LOG_SOFTMAX", "LOG_SOFTMAX_NAIVE", "TOKEN_LOSS", "Row", "row"]

from collections.abc import Callable, Iterator
from functools import partial
from math import inf, log
from random import Random

from refcalc import exact
from refcalc.evidence import Batch
from refcalc.grading.exercise import Arguments, Function
from refcalc.grading.exercises._shared import below, explained
from refcalc.grading.exercises.loss.guards import guarded
from refcalc.mistakes import MISTAKES
from refcalc.mistakes.pipeline import Run
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


# --- wrong answers ---------------------------------------------------------------------------------------------------


def of_each_class(name: str, logits: Row) -> Row:
    """Return the log-probability of each class, scored as a mistake of the catalogue has it."""
    run, score = Run(Batch([logits], [0])), MISTAKES[name].function
    return [-score(run, 0, 0, y) for y in range(len(logits))]


def scored(*names: str) -> dict[str, Callable[[Row], Row]]:
    return {name: partial(of_each_class, name) for name in names}


UNSTABLE = scored("log-of-softmax-underflow", "naive-logsumexp", "naive-softmax-nan")
ANYWHERE: dict[str, Callable[[Row], Row]] = {
    **scored("double-softmax", "raw-logit-nll", "epsilon-clipped-log", "epsilon-added-in-log", "bf16-loss"),
    **guarded(lambda log_p, logits: log_p(logits)),
    "bits-reported-as-nats": lambda logits: [x / LOG_2 for x in exact.log_softmax(logits)],
    "log10-as-natural": lambda logits: [x / LOG_10 for x in exact.log_softmax(logits)],
    "logarithm-left-out": explained(
        "The probabilities are returned.",
        "Return their logarithms, none of which is above 0.",
        partial(exact.softmax),
    ),
    "sign-turned": explained(
        "Minus the log-probabilities are returned.",
        "The minus belongs to the loss; the logarithm of a probability is not above 0.",
        lambda logits: [-x for x in exact.log_softmax(logits)],
    ),
    "normaliser-left-out": explained(
        "The largest score is subtracted, and nothing else.",
        "Subtract the logarithm of the sum of exp as well, so that exp of the results sums to 1.",
        lambda logits: [z - max(logits) for z in logits],
    ),
}
NAIVE: dict[str, Callable[[Row], Row]] = {
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
LOSSES: dict[str, Callable[[Row, int], float]] = {
    **guarded(lambda log_p, logits, target: -log_p(logits)[target]),
    "sign-left-out": explained(
        "The log-probability is returned, which is not above 0.",
        "A loss is minus the logarithm of a probability.",
        lambda logits, target: -exact.token_nll(logits, target),
    ),
    "logarithm-left-out": explained(
        "The probability of the target is returned.",
        "Return minus its logarithm.",
        lambda logits, target: exact.softmax(logits)[target],
    ),
    "one-minus-probability": explained(
        "The probability of all the other classes is returned.",
        "Return minus the logarithm of the target's probability.",
        lambda logits, target: 1.0 - exact.softmax(logits)[target],
    ),
}

# --- the arguments ---------------------------------------------------------------------------------------------------


def row(rng: Random, classes: int, offset: float = 0.0) -> Row:
    """Return scores of three decimals, within 4 of the offset."""
    return [round(offset + 8.0 * (rng.random() - 0.5), 3) for _ in range(classes)]


def rows(rng: Random) -> Iterator[Row]:
    """Yield ordinary rows, one with an unlikely class, two of large offset, a confident one, an impossible class."""
    for classes in (3, 2, 5, 4, 8):
        yield row(rng, classes)
    yield [0.0, 0.0, 0.0]
    yield [*row(rng, 3), -30.0 - below(rng, 10)]
    yield row(rng, 4, offset=1e3 + below(rng, 1000))
    yield row(rng, 3, offset=-1e4 - below(rng, 1000))
    yield [*row(rng, 2), 900.0 + below(rng, 100)]
    yield [*row(rng, 3), -inf]


def any_rows(rng: Random) -> Iterator[Arguments]:
    return ((logits,) for logits in rows(rng))


def low_rows(rng: Random) -> Iterator[Arguments]:
    """Yield rows whose largest score is near 0, so that exp does not overflow in any form of softmax."""
    for classes in (3, 2, 5, 4):
        yield (row(rng, classes),)
    yield ([0.0, -30.0 - below(rng, 10), *row(rng, 1)],)
    yield ([*row(rng, 1), -800.0 - below(rng, 100), *row(rng, 1)],)
    yield ([*row(rng, 2), -500.0 - below(rng, 100)],)  # far below 1e-16 and 1e-200, and no underflow
    yield ([0.0, -1000.0 - below(rng, 1000)],)


def rows_and_targets(rng: Random) -> Iterator[Arguments]:
    """Yield each row with a target, and with the least likely one if that is special; then a row of many classes."""
    for logits in rows(rng):
        possible = [y for y, z in enumerate(logits) if z > -inf]
        yield logits, possible[below(rng, len(possible))]
        if len(possible) < len(logits) or max(logits) - min(logits) > 20.0:
            yield logits, logits.index(min(logits))
    yield [0.0] * WIDE, below(rng, WIDE)


# --- the functions ---------------------------------------------------------------------------------------------------


def one_target(logits: Row, target: int) -> list[Batch]:
    return [Batch([logits, logits], [target, target])]


LOG_SOFTMAX = Function(
    "log_softmax(logits)",
    "the V log-probabilities, in nats",
    exact.log_softmax,
    any_rows,
    {**ANYWHERE, **UNSTABLE},
)
LOG_SOFTMAX_NAIVE = Function(
    "log_softmax_naive(logits)",
    "log(softmax(logits)), -inf where that underflows",
    log_softmax_naive,
    low_rows,
    {**ANYWHERE, **NAIVE},
    floor=1.0,
)
TOKEN_LOSS = Function(
    "token_loss(logits, target)",
    "-log p of the target, in nats",
    exact.token_nll,
    rows_and_targets,
    LOSSES,
    evidence=one_target,
)
