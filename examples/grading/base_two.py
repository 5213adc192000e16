"""Mistake: perplexity raises 2, not e, to a loss in nats.

The other functions are right.
"""

import math


def log_softmax(logits):
    top = max(logits)
    lse = top + math.log(sum(math.exp(x - top) for x in logits))
    return [x - lse for x in logits]


def log_softmax_naive(logits):
    """Softmax first and logarithm second, so that a probability which underflows has the logarithm -inf."""
    top = max(logits)
    exps = [math.exp(x - top) for x in logits]
    total = sum(exps)
    return [math.log(e / total) if e / total > 0.0 else -math.inf for e in exps]


def token_loss(logits, target):
    return -log_softmax(logits)[target]


def sequence_loss(rows, targets):
    total = 0.0
    for t in range(len(targets)):
        total += token_loss(rows[t], targets[t])
    return total / len(targets)


def perplexity(mean_loss):
    return 2**mean_loss


def shifted_loss(rows, tokens):
    """Row t has read the tokens up to t, and predicts token t + 1."""
    return sequence_loss(rows[:-1], tokens[1:])


def unshifted_loss(rows, tokens):
    """What comes out if that is forgotten: row t is asked for the token that it has just read."""
    return sequence_loss(rows, tokens)


def masked_loss(rows, targets, mask):
    total = 0.0
    count = 0
    for t in range(len(targets)):
        if mask[t]:
            total += token_loss(rows[t], targets[t])
            count += 1
    return total / count


def bits_per_token(mean_loss):
    return mean_loss / math.log(2)
