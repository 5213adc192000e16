"""Mistake: mean_and_std subtracts the square of the mean from the mean of the squares, where all digits may cancel.

The other functions are right: they are those of baselines.py, and the grader asks for them here.
"""

import math

from baselines import add_alpha_unigram, bits_per_char, uniform_nll  # noqa: F401


def mean_and_std(values):
    n = len(values)
    mean = sum(values) / n
    variance = sum(x * x for x in values) / n - mean * mean
    return mean, math.sqrt(max(variance, 0.0) * n / (n - 1))
