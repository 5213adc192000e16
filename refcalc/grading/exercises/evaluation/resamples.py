"""How far a pooled mean moves with other documents: the algorithm of the course, draw for draw.

    rng = random.Random(seed);  one draw: the pooled mean of [rng.choice(documents) for _ in documents]
    the ends: the draws at int(0.025 (draws - 1)) and int(0.975 (draws - 1)) in order of size
"""

__all__ = ["FUNCTION"]

from collections.abc import Callable, Iterator
from math import fsum
from random import Random
from typing import Any

from refcalc.grading.exercise import Arguments, Function
from refcalc.grading.exercises._shared import average, below, explained
from refcalc.resampling import bootstrap

Document = tuple[float, int]  # nll sum and targets
Documents = list[Document]
Range = tuple[float, float]


def bootstrap_range(documents: Documents, draws: int, seed: int) -> Range:
    """Return the ends of the middle 95 % of the draws."""
    result = bootstrap(documents, draws=draws, seed=seed, method="choice")
    return result.low, result.high


# --- wrong answers ---------------------------------------------------------------------------------------------------


def pooled(documents: Documents) -> float:
    return fsum(s for s, _ in documents) / sum(n for _, n in documents)


def by_choice(rng: Random, documents: Documents) -> Documents:
    return [rng.choice(documents) for _ in documents]


def as_drawn(
    documents: Documents,
    draws: int,
    seed: int,
    draw: Callable[[Random, Documents], Documents] = by_choice,
    mean: Callable[[Documents], float] = pooled,
) -> list[float]:
    rng = Random(seed)
    return [mean(draw(rng, documents)) for _ in range(draws)]


def drawn(documents: Documents, draws: int, seed: int, **how: Any) -> list[float]:
    """Return the draws in order of size."""
    return sorted(as_drawn(documents, draws, seed, **how))


def ends(means: list[float], share: float = 0.025, last: int | None = None) -> Range:
    """Return the draws at a share of the places from each side; last is the place of the last draw."""
    end = len(means) - 1 if last is None else last
    return means[int(share * end)], means[int((1.0 - share) * end)]


def shorter(rng: Random, documents: Documents) -> Documents:
    return [rng.choice(documents) for _ in documents[1:]]


def by_choices(rng: Random, documents: Documents) -> Documents:
    return rng.choices(documents, k=len(documents))


def mean_of_means(documents: Documents) -> float:
    return average(s / n for s, n in documents)


def of_tokens(documents: Documents, draws: int, seed: int) -> Range:
    return ends(drawn([(s / n, 1) for s, n in documents for _ in range(n)], draws, seed))


WRONG: dict[str, Callable[[Documents, int, int], Range]] = {
    "bootstrap-no-replacement": lambda documents, draws, seed: (pooled(documents),) * 2,
    "short-resamples": lambda documents, draws, seed: ends(drawn(documents, draws, seed, draw=shorter)),
    "token-level-bootstrap": of_tokens,
    "estimator-stderr-mismatch": lambda documents, draws, seed: ends(drawn(documents, draws, seed, mean=mean_of_means)),
    "reseeded-resamples": lambda documents, draws, seed: ends(drawn(documents, 1, seed)),
    "choices-for-choice": explained(
        "Documents are drawn by rng.choices or rng.random, whose numbers are not those of rng.choice.",
        "It is as good a bootstrap, but not the one asked for: call rng.choice(documents) for each document.",
        lambda documents, draws, seed: ends(drawn(documents, draws, seed, draw=by_choices)),
    ),
    "ends-one-further": explained(
        "The ends are the draws at int(0.025 draws) and int(0.975 draws).",
        "Places are counted from 0 to draws - 1: take int(0.025 (draws - 1)) and int(0.975 (draws - 1)).",
        lambda documents, draws, seed: ends(drawn(documents, draws, seed), last=draws),
    ),
    "not-sorted": explained(
        "The ends are taken from the draws as they came.",
        "Sort them first: the ends are the means that 2.5 % of them lie below, and above.",
        lambda documents, draws, seed: ends(as_drawn(documents, draws, seed)),
    ),
    "ninety-percent": explained(
        "The ends leave out 5 % of the draws on each side, so that 90 % lie between them.",
        "Leave out 2.5 % on each side.",
        lambda documents, draws, seed: ends(drawn(documents, draws, seed), share=0.05),
    ),
}

# --- the arguments ---------------------------------------------------------------------------------------------------


def sets_of_documents(rng: Random) -> Iterator[Arguments]:
    """Yield documents of different sizes, numbers of draws and seeds; then two documents, and equal ones."""

    def documents(count: int) -> Documents:
        sizes = [1 + below(rng, 9) for _ in range(count)]
        return [(round(n * (0.2 + 3.0 * rng.random()), 3), n) for n in sizes]

    for count, draws in ((8, 200), (6, 120), (10, 81), (7, 240)):
        yield documents(count), draws, below(rng, 1000)
    yield [(2.0, 2), (18.0, 9), (8.0, 4)], 40, below(rng, 1000)
    yield documents(2), 41, 0
    yield [(3.0, 2)] * 4, 20, below(rng, 1000)


FUNCTION = Function(
    "bootstrap_range(documents, draws, seed)",
    "(low, high) of the sorted pooled means of draws by random.Random(seed).choice, at int(0.025 (draws - 1)) and "
    "int(0.975 (draws - 1)); documents are (nll_sum, n_targets)",
    bootstrap_range,
    sets_of_documents,
    WRONG,
)
