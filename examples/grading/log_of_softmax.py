"""Mistake: log_softmax takes softmax first, so that a small probability has become 0 before its logarithm.

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


def softmax(logits):
    top = max(logits)
    exps = [math.exp(x - top) for x in logits]
    total = sum(exps)
    return [e / total for e in exps]


def log_softmax(logits):
    return [math.log(p) if p > 0.0 else -math.inf for p in softmax(logits)]
