"""Mistake: log_softmax takes exp of scores as they are, and overflows where one is large.

The other functions are right: they are those of loss.py, and the grader asks for them here.
"""

import math

from loss import (  # noqa: F401
    bits_per_token,
    log_softmax_naive,
    masked_loss,
    perplexity,
    sequence_loss,
    shifted_loss,
    token_loss,
    unshifted_loss,
)


def log_softmax(logits):
    lse = math.log(sum(math.exp(x) for x in logits))
    return [x - lse for x in logits]
