"""What the harness makes of the samples of a task, in its own arithmetic.

It adds up floats with Python's `sum`, which rounds after each addition up to Python 3.11 and compensates from 3.12 on.
Which Python was used is not in the log, so every number here is a tuple: from the sum that was rounded once, and from
both of these.  All of them are the same but for the last digits, and a published number has to be one of them.
"""

__all__ = ["AGGREGATIONS", "DEFAULTS", "group_mean", "group_stderr", "stderr"]

from collections.abc import Callable, Sequence
from math import exp, fsum, inf, isfinite, log, sqrt
from typing import Any

Numbers = tuple[float, ...]


def sums(values: Sequence[float]) -> Numbers:
    """Return the sum rounded once, that of Python 3.12 and later, and that of Python 3.11 and earlier."""
    if not all(map(isfinite, values)):
        return (plain(values),)
    return fsum(values), compensated(values), plain(values)


def plain(values: Sequence[float]) -> float:
    """Return the sum rounded after each addition."""
    total = 0.0
    for value in values:
        total += value
    return total


def compensated(values: Sequence[float]) -> float:
    """Return the sum by the method of Neumaier (1974), with what each addition lost added at the end."""
    total = lost = 0.0
    for value in values:
        after = total + value
        lost += (total - after) + value if abs(total) >= abs(value) else (value - after) + total
        total = after
    return total + lost


def mean(values: Sequence[float]) -> Numbers:
    return tuple(total / len(values) for total in sums(values))


def weighted_mean(pairs: Sequence[tuple[float, int]]) -> Numbers:
    n = sum(count for _, count in pairs)
    return tuple(total / n for total in sums([ll for ll, _ in pairs]))


def exp_minus(numbers: Numbers) -> Numbers:
    return tuple(exp(-x) if x > -709.0 else inf for x in numbers)


def median(values: Sequence[float]) -> Numbers:
    return (sorted(values)[len(values) // 2],)


AGGREGATIONS: dict[str, Callable[[Any], Numbers]] = {
    "mean": mean,
    "nanmean": mean,  # a nan does not get through the reader
    "median": median,
    "perplexity": lambda values: exp_minus(mean(values)),
    "weighted_perplexity": lambda pairs: exp_minus(weighted_mean(pairs)),
    "bits_per_byte": lambda pairs: tuple(-x / log(2) for x in weighted_mean(pairs)),
}
DEFAULTS = {
    "perplexity": "perplexity",
    "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity",
    "bits_per_byte": "bits_per_byte",
    **dict.fromkeys(("f1", "mcc", "bleu", "chrf", "chrf++", "ter"), ""),  # not done here
    **dict.fromkeys(("brier_score", "acc_all", "likelihood", "bypass"), ""),
}


def stderr(values: Sequence[float]) -> Numbers:
    """Return the standard error of a mean: the sample deviation over sqrt n."""
    found = []
    for mu in mean(values):
        # Squares by ** as the harness has them: they are bits of the C library's pow.
        squares = [(x - mu) ** 2 for x in values]
        found += [sqrt(total / (len(values) - 1)) / sqrt(len(values)) for total in sums(squares)]
    return tuple(found)


def group_mean(values: Sequence[float], sizes: Sequence[int]) -> Numbers:
    """Return the mean of tasks, weighted with their sizes."""
    n = sum(sizes)
    return tuple(total / n for total in sums([value * size for value, size in zip(values, sizes, strict=True)]))


def group_stderr(errors: Sequence[float], sizes: Sequence[int]) -> Numbers:
    """Return the pooled standard error of a weighted mean; with sizes of 1, that of a plain one."""
    if all(size == 1 for size in sizes):
        return tuple(sqrt(total) / len(errors) for total in sums([error**2 for error in errors]))
    terms = [(size - 1) * error**2 * size for error, size in zip(errors, sizes, strict=True)]
    n = sum(sizes)
    return tuple(sqrt(total / (n - len(sizes)) / n) for total in sums(terms))
