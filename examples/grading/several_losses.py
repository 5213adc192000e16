"""Four mistakes: token_loss clips, shifted_loss does not shift, perplexity raises 2, masked_loss ignores the mask.

The other functions are right: they are those of loss.py, and the grader asks for them here.
"""

import math

from loss import bits_per_token, log_softmax, log_softmax_naive, sequence_loss, unshifted_loss  # noqa: F401


def token_loss(logits, target):
    p = math.exp(log_softmax(logits)[target])
    return -math.log(max(p, 1e-7))


def perplexity(mean_loss):
    return 2**mean_loss


def shifted_loss(rows, tokens):
    return sequence_loss(rows, tokens)


def masked_loss(rows, targets, mask):
    return sequence_loss(rows, targets)
