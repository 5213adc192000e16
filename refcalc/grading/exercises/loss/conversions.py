"""A mean loss as a perplexity, and in bits."""

__all__ = ["BITS_PER_TOKEN", "PERPLEXITY"]

from collections.abc import Callable, Iterable
from math import exp, log
from random import Random

from refcalc import exact
from refcalc.evidence import Records
from refcalc.grading.exercise import Arguments, Function
from refcalc.grading.exercises._shared import below, explained
from refcalc.units import LOG_2, LOG_10

# --- wrong answers ---------------------------------------------------------------------------------------------------

POWERS: dict[str, Callable[[float], float]] = {
    "sign-turned": explained(
        "exp is taken of minus the loss: the mean probability, in the sense of the geometric mean.",
        "A perplexity is not below 1: take exp of the loss.",
        lambda mean_loss: exp(-mean_loss),
    ),
    "ten-to-the-nats": explained(
        "10 is raised to a loss in nats.", "exp for nats.", lambda mean_loss: 10.0**mean_loss
    ),
}
BITS: dict[str, Callable[[float], float]] = {
    "times-log-2": explained(
        "Nats are multiplied by log 2.",
        "A bit is log 2 = 0.69 nats, so that the number in bits is the larger one: divide by log 2.",
        lambda mean_loss: mean_loss * LOG_2,
    ),
    "base-10": explained(
        "The loss is converted to base 10.",
        "Divide by log 2 for bits.",
        lambda mean_loss: mean_loss / LOG_10,
    ),
}

# --- the arguments ---------------------------------------------------------------------------------------------------


def means(rng: Random) -> Iterable[Arguments]:
    """Return mean losses: ordinary, 0, 1, that of a uniform model, large."""
    ordinary: list[Arguments] = [(round(5.0 * rng.random(), 3),) for _ in range(5)]
    return [*ordinary, (0.0,), (1.0,), (log(50257),), (30.0 + below(rng, 10),), (600.0 + below(rng, 100),)]


# --- the functions ---------------------------------------------------------------------------------------------------


def one_target(mean_loss: float) -> list[Records]:
    return [Records([mean_loss])]


PERPLEXITY = Function(
    "perplexity(mean_loss)",
    "exp of the mean loss",
    exact.perplexity,
    means,
    POWERS,
    evidence=one_target,
    quantity="perplexity",
)
BITS_PER_TOKEN = Function(
    "bits_per_token(mean_loss)",
    "the mean loss in bits",
    exact.bits_per_token,
    means,
    BITS,
    evidence=one_target,
    quantity="bits_per_token",
)
