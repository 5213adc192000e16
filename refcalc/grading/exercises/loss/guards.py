"""The logarithm guarded against zero: a small number added to the probability, or put under it, of any usual size.

The catalogue has one size of each, 1e-8 added and 1e-7 as the least; a grade names the others as well.
"""

__all__ = ["guarded"]

from collections.abc import Callable, Iterator
from functools import partial
from math import log
from typing import Any

from refcalc.grading.exercises._shared import explained
from refcalc.softmax import softmax

Row = list[float]
ADDED = "1e-5", "1e-6", "1e-7", "1e-9", "1e-10", "1e-12", "1e-15", "1e-16", "1e-20"
LEAST = "1e-5", "1e-6", "1e-8", "1e-9", "1e-10", "1e-12", "1e-15", "1e-16", "1e-20"
REMEDY = "Take log_softmax of the logits, which never forms a probability: nothing is there to be guarded against."


def guarded(answer: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return the wrong forms of an answer by name; answer: takes a function from a row to log p, and the arguments.

    >>> wrong = guarded(lambda log_p, logits, target: -log_p(logits)[target])
    >>> wrong["1e-12-added-in-log"]([0.0, -800.0], 1) == wrong["log-clipped-at-1e-12"]([0.0, -800.0], 1) == -log(1e-12)
    True
    """
    return dict(_guarded(answer))


# --- private ---------------------------------------------------------------------------------------------------------


def _guarded(answer: Callable[..., Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    for size in ADDED:
        done = f"{size} is added to the probability before the logarithm."
        yield f"{size}-added-in-log", explained(done, REMEDY, partial(answer, partial(_added, float(size))))
    for size in LEAST:
        done = f"Probabilities are clipped from below at {size} before the logarithm."
        yield f"log-clipped-at-{size}", explained(done, REMEDY, partial(answer, partial(_clipped, float(size))))


def _added(size: float, logits: Row) -> Row:
    return [log(p + size) for p in softmax(logits)]


def _clipped(least: float, logits: Row) -> Row:
    return [log(max(p, least)) for p in softmax(logits)]
