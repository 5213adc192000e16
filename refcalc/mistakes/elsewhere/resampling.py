"""Bootstraps and standard errors that are zero, too small, or of another statistic."""

__all__ = [
    "bootstrap_no_replacement",
    "boundary_zero_stderr",
    "error_for_deviation",
    "estimator_stderr_mismatch",
    "population_deviation",
    "reseeded_resamples",
    "short_resamples",
    "token_level_bootstrap",
]

from collections.abc import Sequence
from math import fsum, sqrt
from random import Random

from refcalc.mistakes.kind import entered


def stderr_of_mean(values: Sequence[float]) -> float:
    """Return the exact bootstrap standard error of the mean: what infinitely many resamples would give.

    >>> stderr_of_mean([1.0, 3.0])
    0.7071067811865475
    """
    n = len(values)
    mean = fsum(values) / n
    return sqrt(fsum((x - mean) * (x - mean) for x in values) / n) / sqrt(n)


@entered(
    "bootstrap-no-replacement",
    "resampling",
    "A standard error of 0.",
    hidden_if="all values are equal",
    remedy="Draw with replacement.",
    reports="neulab/compare-mt#108",
)
def bootstrap_no_replacement(values: Sequence[float]) -> float:
    """As many values are drawn as there are, without replacement: each resample is the sample.

    >>> bootstrap_no_replacement([1, 2, 3, 4]), round(stderr_of_mean([1, 2, 3, 4]), 9)
    (0.0, 0.559016994)
    """
    return 0.0 * len(values)


@entered(
    "short-resamples",
    "resampling",
    "A standard error that is too large by sqrt(n / n').",
    hidden_if="resamples are as long as the sample",
    remedy="Draw as many as there are.",
)
def short_resamples(values: Sequence[float], length: int) -> float:
    """Resamples are shorter than the sample, and their spread is reported as that of the sample's mean.

    >>> round(short_resamples([1, 2, 3, 4], 1), 9), round(stderr_of_mean([1, 2, 3, 4]), 9)
    (1.118033989, 0.559016994)
    """
    return stderr_of_mean(values) * sqrt(len(values) / length)


@entered(
    "token-level-bootstrap",
    "resampling",
    "A standard error that is far too small.",
    hidden_if="each document has one token",
    remedy="Resample documents, and compute the pooled ratio again.",
    reports="UKGovernmentBEIS/inspect_ai#1251, UKGovernmentBEIS/inspect_ai#1231, maziyarpanahi/openmed#369",
)
def token_level_bootstrap(documents: Sequence[Sequence[float]]) -> float:
    """The tokens of all documents are resampled as if they were independent.

    >>> documents = [[1, 1, 1, 1], [3, 3, 3, 3]]
    >>> round(token_level_bootstrap(documents), 9), round(stderr_of_mean([1, 3]), 9)
    (0.353553391, 0.707106781)
    """
    return stderr_of_mean([nll for document in documents for nll in document])


@entered(
    "estimator-stderr-mismatch",
    "resampling",
    "The interval does not belong to the number beside it.",
    hidden_if="all documents have equally many targets",
    remedy="Recompute in each resample the very statistic that is reported.",
)
def estimator_stderr_mismatch(documents: Sequence[Sequence[float]]) -> float:
    """The spread of the documents' means is reported beside a pooled mean.

    >>> round(estimator_stderr_mismatch([[1, 1, 1, 1, 1, 1, 1, 1, 1], [3]]), 9)     # the pooled mean is 1.2
    0.707106781
    """
    return stderr_of_mean([fsum(document) / len(document) for document in documents])


@entered(
    "boundary-zero-stderr",
    "resampling",
    "A standard error of 0 after a few trials, read as certainty.",
    hidden_if="some succeed and some fail",
    remedy="Use an interval that knows the boundary: Wilson's.",
    reports="EleutherAI/lm-evaluation-harness#4070",
)
def boundary_zero_stderr(successes: int, trials: int) -> float:
    """The standard error of a proportion is sqrt(p (1 - p) / n), which is 0 where all trials agree.

    >>> boundary_zero_stderr(0, 3), round(wilson_upper(0, 3), 9)
    (0.0, 0.561497032)
    """
    p = successes / trials
    return sqrt(p * (1.0 - p) / trials)


@entered(
    "reseeded-resamples",
    "resampling",
    "A standard error of 0: both ends of the interval are one number.",
    hidden_if="all documents have equal means",
    remedy="Make the generator once, before the loop over the draws.",
    reports="cmu-phil/tetrad#1432",
)
def reseeded_resamples(values: Sequence[float], draws: int, seed: int) -> list[float]:
    """The generator is made anew for each draw, from the same seed, so that all resamples are the same; their means.

    >>> len(set(reseeded_resamples([1.0, 2.0, 4.0], 100, seed=17)))      # right: nearly all of the 10 that there are
    1
    """
    means = []
    for _ in range(draws):
        rng = Random(seed)
        means.append(fsum(rng.choice(values) for _ in values) / len(values))
    return means


@entered(
    "population-deviation",
    "resampling",
    "The noise of a few runs is too small, by 18 % with three of them.",
    hidden_if="all values are equal; small where there are many",
    remedy="Divide by n - 1 where the mean comes from the same runs: numpy.std(ddof=1), statistics.stdev.",
    reports="jsboige/CoursIA#11144, SlopDotCash/asi#40, SlopDotCash/asi#1851, mwegrzyn/language-performance#27",
    aliases=("ddof-zero",),
)
def population_deviation(values: Sequence[float]) -> float:
    """The squares are divided by n, as if the values were all that there are and their mean were known.

    >>> round(population_deviation([1.0, 2.0, 4.0]), 9)                  # right: 1.527525232
    1.247219129
    """
    mean = fsum(values) / len(values)
    return sqrt(fsum((x - mean) * (x - mean) for x in values) / len(values))


@entered(
    "error-for-deviation",
    "resampling",
    "The spread of runs shrinks as there are more of them.",
    hidden_if="all values are equal",
    remedy="Say which is meant: the deviation of single runs, or the error of their mean, smaller by sqrt(n).",
    reports="silx-kit/pyFAI#1300",
    sort="convention",
)
def error_for_deviation(values: Sequence[float]) -> float:
    """The standard error of the mean is reported as the standard deviation of the runs.

    >>> round(error_for_deviation([1.0, 2.0, 4.0]), 9)                   # right: 1.527525232
    0.881917104
    """
    return population_deviation(values) / sqrt(len(values) - 1)


def wilson_upper(successes: int, trials: int, z: float = 1.959963984540054) -> float:
    """Return the upper end of Wilson's 95 % interval."""
    p, zz = successes / trials, z * z / trials
    return (p + zz / 2.0 + z * sqrt(p * (1.0 - p) / trials + zz / trials / 4.0)) / (1.0 + zz)
