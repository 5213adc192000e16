"""Mistake: bits_per_char returns bits per token, and has no use for the characters.

The other functions are right.
"""

import math


def uniform_nll(vocab_size):
    return math.log(vocab_size)


def add_alpha_unigram(train, vocabulary, alpha):
    total = len(train) + alpha * len(vocabulary)
    return {token: (train.count(token) + alpha) / total for token in vocabulary}


def bits_per_char(loss, n_chars, n_tokens):
    return loss / math.log(2)


def mean_and_std(values):
    mean = sum(values) / len(values)
    squares = sum((x - mean) ** 2 for x in values)
    return mean, math.sqrt(squares / (len(values) - 1))
