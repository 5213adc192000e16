"""Mistake: masked_loss takes a mask and does not look at it.

The other functions are right: they are those of loss.py, and the grader asks for them here.
"""

from loss import (  # noqa: F401
    bits_per_token,
    log_softmax,
    log_softmax_naive,
    perplexity,
    sequence_loss,
    shifted_loss,
    token_loss,
    unshifted_loss,
)


def masked_loss(rows, targets, mask):
    total = 0.0
    for t in range(len(targets)):
        total += token_loss(rows[t], targets[t])
    return total / len(targets)
