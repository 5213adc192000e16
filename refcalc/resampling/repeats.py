"""Runs that differ in their seed alone: the noise between them, and whether a difference is larger than that.

    s   the sample standard deviation of n runs       SE  the standard error of a mean, s / sqrt(n)
    d   a difference of two means                     SE(d)  its standard error, sqrt(SE(a)**2 + SE(b)**2)
"""

__all__ = ["Materiality", "SeedNoise", "materiality", "seed_noise"]

from collections.abc import Sequence
from decimal import Decimal
from math import ceil, inf, sqrt
from typing import NamedTuple

from refcalc import _check
from refcalc.resampling._exact import deviation, integers, quotient
from refcalc.resampling._student import share_of, t_bound, t_tail

LEAST, LARGEST = 1e-150, 1e150  # of a noise: beyond, a difference in standard errors may leave the doubles
MOST_RUNS = 10**15
POWER = Decimal("0.8")  # the chance that the runs named by materiality find a difference that is there


class SeedNoise(NamedTuple):
    """The mean of runs, how far single runs and such means scatter, and the t interval of the mean."""

    mean: float
    standard_deviation: float
    standard_error: float
    low: float
    high: float
    confidence: float
    n: int


class Materiality(NamedTuple):
    """What a difference amounts to beside the noise; str() says it in a sentence."""

    verdict: str  # "within the noise", "unclear" or "real"
    difference: float
    standard_error: float  # of the difference
    chance: float  # of a difference at least so large, either way, from the noise alone
    seeds_needed: int | None  # of an unclear one: runs on each side that find a true one in 80 % of cases

    def __str__(self) -> str:
        times = abs(self.difference) / self.standard_error
        often = f"{float(f'{100 * self.chance:.2g}'):g} %" if self.chance >= 0.001 else "less than 0.1 %"
        words = f"{self.verdict}: {self.difference:.4g} is {times:.3g} standard errors of the difference; "
        words += f"noise alone gives as much in {often} of cases"
        if self.seeds_needed is None:
            return words
        return f"{words}; {self.seeds_needed} seeds on each side would find a true one of this size in 80 % of cases"


def seed_noise(values: Sequence[float], *, confidence: float = 0.95) -> SeedNoise:
    """Return mean, standard deviation (of a sample: n - 1 divides), standard error and t interval of runs.

    values: the result of each run, two or more; runs that differ in nothing but the seed.
    confidence: of the interval mean +- t SE, t of n - 1 degrees of freedom; it takes the results to be near normal.

    >>> noise = seed_noise([1.6757, 1.6792, 1.6856])
    >>> f"{noise.mean:.4f} +- {noise.standard_deviation:.4f}, standard error {noise.standard_error:.4f}"
    '1.6802 +- 0.0050, standard error 0.0029'
    >>> f"{noise.low:.4f} to {noise.high:.4f}"      # three runs say little: t is 4.30
    '1.6677 to 1.6926'

    Raises ValueError for fewer than two runs, a result that is not finite, a deviation or an interval that leaves the
    doubles, or a confidence outside (0, 1) or below 1e-20.

    Accuracy: mean, standard deviation and standard error are correctly rounded; t within 1 ulp (measured against
    mpmath, tests/peers/check_resampling.py).
    """
    share = share_of("seed_noise", confidence)
    given = _check.items("seed_noise", "values", values)
    runs = [_check.finite("seed_noise", f"values[{i}]", x) for i, x in enumerate(given)]
    n = len(runs)
    if n < 2:
        raise ValueError(f"seed_noise: values must hold at least 2 runs, got {n}")
    units, p = integers(runs)
    mean, single = quotient(sum(units), n, p), _deviation_or_inf(runs)
    error = deviation(runs, over=n) if single < inf else inf
    reach = t_bound(share, n - 1) * error
    if not abs(mean) + reach < inf:
        _check.refuse("seed_noise", "values", "have a deviation and an interval within the range of a double", runs)
    return SeedNoise(mean, single, error, mean - reach, mean + reach, float(share), n)


def _deviation_or_inf(runs: list[float]) -> float:
    try:
        return deviation(runs)
    except OverflowError:
        return inf


def materiality(
    difference: float,
    noise: "float | SeedNoise | tuple[SeedNoise, SeedNoise]",
    *,
    runs: int | None = None,
    confidence: float = 0.95,
) -> Materiality:
    """Return whether a difference is within the noise of seeds, unclear, or real.

        within the noise   |d| <= SE(d)               two means of the same thing differ by as much, one time in three
        real               |d| >  SE(d) and t SE(d)   with t of the confidence: noise alone exceeds it in 5 % of cases
        unclear            what lies between          with the runs on each side that find such a d in 80 % of cases

    difference: of the means of two sides, or of two single runs; at most 1e150.
    noise: a SeedNoise, taken to be that of either side; a pair of them, one for each side (Welch's t); or a number, the
        standard deviation of single runs, known from elsewhere (the normal law is t then).  From 1e-150 to 1e150.
    runs: how many runs each mean is of, if not as many as noise is of, at most 10**15; 1 where noise is a number.

    >>> print(materiality(0.002, seed_noise([1.6757, 1.6792, 1.6856])))
    within the noise: 0.002 is 0.488 standard errors of the difference; noise alone gives as much in 67 % of cases
    >>> print(*str(materiality(0.012, 0.005)).split("; "), sep="\\n")
    unclear: 0.012 is 1.7 standard errors of the difference
    noise alone gives as much in 9 % of cases
    3 seeds on each side would find a true one of this size in 80 % of cases
    >>> materiality(0.012, 0.005, runs=3).verdict, materiality(0.109, 0.010).verdict
    ('real', 'real')

    Raises ValueError for a difference, a noise or runs outside these ranges (runs that agree to the last digit, whose
    noise is 0, most often had the same seed), or runs given beside a pair; TypeError for other kinds.

    Accuracy: standard_error within 5 ulp (proved: as many roundings); chance is that of a t within as much.
    Source: Welch (1947), doi:10.1093/biomet/34.1-2.28, for the degrees of freedom of a pair.
    """
    name = "materiality"
    d = _check.finite(name, "difference", difference)
    if abs(d) > LARGEST:
        _check.refuse(name, "difference", f"lie within {LARGEST} of 0 (take another unit)", d)
    share = share_of(name, confidence)
    side = _side_of(name, noise, runs)
    chance = t_tail(abs(d) / side.error, side.degrees)
    if abs(d) <= side.error:
        return Materiality("within the noise", d, side.error, chance, None)
    if chance < 1 - share:
        return Materiality("real", d, side.error, chance, None)
    return Materiality("unclear", d, side.error, chance, _seeds_needed(abs(d), side, share))


# --- the noise of a difference ---------------------------------------------------------------------------------------


class _Side(NamedTuple):
    deviation: float  # of single runs
    error: float  # SE(d)
    degrees: float  # of freedom; inf where the deviation is known


def _side_of(function: str, noise: "float | SeedNoise | tuple[SeedNoise, SeedNoise]", runs: int | None) -> _Side:
    count = None if runs is None else _check.count(function, "runs", runs, least=1)
    if count is not None and count > MOST_RUNS:
        _check.refuse(function, "runs", "be at most 10**15", count)
    if isinstance(noise, SeedNoise):
        s = _noise(function, "noise.standard_deviation", noise.standard_deviation)
        return _Side(s, s * sqrt(2 / (count or noise.n)), noise.n - 1)
    if not isinstance(noise, tuple):
        s = _noise(function, "noise", noise)
        return _Side(s, s * sqrt(2 / (count or 1)), inf)
    if len(noise) != 2 or not all(isinstance(each, SeedNoise) for each in noise):
        _check.refuse(function, "noise", "be a number, a SeedNoise or a pair of SeedNoise", noise, TypeError)
    if count is not None:
        _check.refuse(function, "runs", "be left out beside a pair, which has its own", count)
    wide, narrow = sorted(noise, key=lambda each: -each.standard_error)
    error = _noise(function, "noise", wide.standard_error)
    ratio = narrow.standard_error / error
    square = ratio * ratio  # of the errors; Welch's degrees of freedom need no more
    degrees = (1 + square) * (1 + square) / (1 / (wide.n - 1) + square * square / (narrow.n - 1))
    single = sqrt((wide.n + square * narrow.n) / 2)  # the mean variance of single runs, in errors of the wider mean
    return _Side(error * single, error * sqrt(1 + square), degrees)


def _noise(function: str, argument: str, value: float) -> float:
    x = _check.finite(function, argument, value)
    if x <= 0.0:
        _check.refuse(function, argument, "be above 0 (do the runs differ in their seed?)", x)
    if not LEAST <= x <= LARGEST:
        _check.refuse(function, argument, f"lie between {LEAST} and {LARGEST} (take another unit)", x)
    return x


def _seeds_needed(d: float, side: _Side, share: Decimal) -> int:
    """Return the least m with (t(share) + t(power)) sqrt(2 / m) deviation <= d, t of 2 (m - 1) degrees of freedom."""

    def reach(degrees: float) -> float:
        return (t_bound(share, degrees) + t_bound(2 * POWER - 1, degrees)) * side.deviation / d

    normal = reach(inf)
    m = max(2, ceil(2 * normal * normal))  # t laws are wider than the normal one: it takes no less
    while side.degrees < inf and reach(2 * (m - 1)) * sqrt(2 / m) > 1.0:
        m += 1
    return m
