"""Mistake: shifted_loss shifts tokens that its helper shifts once more.

The other functions are right: they are those of loss.py, and the grader asks for them here.
"""

from loss import (  # noqa: F401
    bits_per_token,
    log_softmax,
    log_softmax_naive,
    masked_loss,
    perplexity,
    sequence_loss,
    token_loss,
    unshifted_loss,
)


def next_token_loss(rows, labels):
    return sequence_loss(rows[:-1], labels[1:])


def shifted_loss(rows, tokens):
    return next_token_loss(rows[:-1], tokens[1:])
