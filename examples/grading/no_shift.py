"""Mistake: shifted_loss cuts the last place off rows and tokens alike, so that nothing is shifted.

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


def shifted_loss(rows, tokens):
    return sequence_loss(rows[:-1], tokens[:-1])
