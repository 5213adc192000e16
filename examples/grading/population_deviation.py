"""Mistake: mean_and_std divides the squares by n, where it should be n - 1.

The other functions are right.
"""

import math


def uniform_nll(vocab_size):
    return math.log(vocab_size)


def add_alpha_unigram(train, vocabulary, alpha):
    total = len(train) + alpha * len(vocabulary)
    return {token: (train.count(token) + alpha) / total for token in vocabulary}


def bits_per_char(loss, n_chars, n_tokens):
    bits_per_token = loss / math.log(2)
    return bits_per_token / (n_chars / n_tokens)


def mean_and_std(values):
    mean = sum(values) / len(values)
    variance = sum((x - mean) ** 2 for x in values) / len(values)
    return mean, math.sqrt(variance)
