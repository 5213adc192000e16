"""Mistake: add_alpha_unigram smooths over the tokens that it has seen, not over the vocabulary.

The other functions are right.
"""

import math


def uniform_nll(vocab_size):
    return math.log(vocab_size)


def add_alpha_unigram(train, vocabulary, alpha):
    total = len(train) + alpha * len(set(train))
    return {token: (train.count(token) + alpha) / total for token in vocabulary}


def bits_per_char(loss, n_chars, n_tokens):
    bits_per_token = loss / math.log(2)
    return bits_per_token / (n_chars / n_tokens)


def mean_and_std(values):
    mean = sum(values) / len(values)
    squares = sum((x - mean) ** 2 for x in values)
    return mean, math.sqrt(squares / (len(values) - 1))
