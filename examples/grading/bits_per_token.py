"""Mistake: bits_per_char returns bits per token, and has no use for the characters.

The other functions are right: they are those of baselines.py, and the grader asks for them here.
"""

import math

from baselines import add_alpha_unigram, mean_and_std, uniform_nll  # noqa: F401


def bits_per_char(loss, n_chars, n_tokens):
    return loss / math.log(2)
