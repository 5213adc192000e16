"""Mistake: add_alpha_unigram smooths over the tokens that it has seen, not over the vocabulary.

The other functions are right: they are those of baselines.py, and the grader asks for them here.
"""

from baselines import bits_per_char, mean_and_std, uniform_nll  # noqa: F401


def add_alpha_unigram(train, vocabulary, alpha):
    total = len(train) + alpha * len(set(train))
    return {token: (train.count(token) + alpha) / total for token in vocabulary}
