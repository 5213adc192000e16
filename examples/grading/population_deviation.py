"""Mistake: mean_and_std divides the squares by n, where it should be n - 1.

The other functions are right: they are those of baselines.py, and the grader asks for them here.
"""

import math

from baselines import add_alpha_unigram, bits_per_char, uniform_nll  # noqa: F401


def mean_and_std(values):
    mean = sum(values) / len(values)
    variance = sum((x - mean) ** 2 for x in values) / len(values)
    return mean, math.sqrt(variance)
