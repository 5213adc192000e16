"""Mistake: perplexity raises 2, not e, to a loss in nats.

The other functions are right: they are those of loss.py, and the grader asks for them here.
"""

from loss import (  # noqa: F401
    bits_per_token,
    log_softmax,
    log_softmax_naive,
    masked_loss,
    sequence_loss,
    shifted_loss,
    token_loss,
    unshifted_loss,
)


def perplexity(mean_loss):
    return 2**mean_loss
