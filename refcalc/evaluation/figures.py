"""The metrics of a Tally, each with its numerator and denominator, and what gives them back.

    S  the nll sum, in nats      n  what was counted: targets, bytes, characters, words
"""

__all__ = ["METRICS", "Check", "Figure", "checks", "figures"]

from math import isfinite, log
from typing import NamedTuple

from refcalc import units
from refcalc.tally import Tally

# What each metric of Tally is divided by, and the unit of what is divided.
METRICS = {
    "mean_nll": ("n_targets", "nats"),
    "perplexity": ("n_targets", "nats"),
    "bits_per_token": ("n_targets", "bits"),
    "bits_per_byte": ("n_bytes", "bits"),
    "bits_per_char": ("n_chars", "bits"),
    "byte_perplexity": ("n_bytes", "nats"),
    "word_perplexity": ("n_words", "nats"),
}


class Figure(NamedTuple):
    """One metric: numerator / denominator, or exp of that if it is a perplexity."""

    value: float
    numerator: float
    unit: str  # of the numerator, nats or bits
    denominator: int
    counted: str  # what the denominator counts, by its name in Tally


class Check(NamedTuple):
    """A figure multiplied back to what it was made from."""

    name: str
    back: float
    expected: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the two differ by no more than the roundings between them."""
        return abs(self.back - self.expected) <= self.bound


def figures(tally: Tally) -> dict[str, Figure]:
    """Return every metric whose denominator was counted and is not 0.

    >>> figures(Tally(15.0, 6, n_bytes=10))["mean_nll"]
    Figure(value=2.5, numerator=15.0, unit='nats', denominator=6, counted='n_targets')
    """
    result = {}
    nats = float(tally.nll_sum)
    for name, (counted, unit) in METRICS.items():
        n = getattr(tally, counted)
        if n:
            numerator = nats if unit == "nats" else units.nats_to_bits(nats)
            result[name] = Figure(getattr(tally, name), numerator, unit, n, counted)
    return result


def checks(found: dict[str, Figure]) -> list[Check]:
    """Return each figure multiplied back to the nll sum, or to the mean that it is the exponential of.

    >>> [check.name for check in checks(figures(Tally(15.0, 6))) if check.holds]
    ['log(perplexity)', 'bits_per_token n_targets log(2)']

    What leaves the doubles is left out.  The bounds, with u = 2**-53: a perplexity is off by 0.52 ulp and its logarithm
    by as much, 2 u (1 + S/n) in all.  Between S and rate n log 2 there are no more than seven roundings, those of log 2
    included: 8 u S, and n 2**-1074 for a rate that is subnormal.
    """
    result = []
    nats = found["mean_nll"].numerator
    for name, figure in found.items():
        n = figure.denominator
        if name == "mean_nll" or not (isfinite(figure.value) and isfinite(nats)):
            continue
        if figure.unit == "nats":
            mean = nats / n
            result.append(Check(f"log({name})", log(figure.value), mean, 2.0**-52 * (1.0 + mean)))
        else:
            back = figure.value * n * units.LOG_2
            result.append(Check(f"{name} {figure.counted} log(2)", back, nats, 2.0**-50 * nats + n * 2.0**-1074))
    return result
