"""The exercise `loss`: from one row of logits to a masked mean, a perplexity and bits.

    rows           one position: log-probabilities by two ways, and the loss of a target
    texts          means over a sequence: aligned, shifted, not shifted, masked
    conversions    of a mean loss

Every function has a right answer by the textbook formula in doubles: largest score, exp, sum, log.  Scores may be -inf,
a class of probability zero, which that formula bears; offsets stay below 1e5, where it still has its digits, and means
below 700, where exp does not overflow.
"""

__all__ = ["EXERCISE"]

from refcalc.grading.exercise import Exercise
from refcalc.grading.exercises.loss import conversions, rows, texts

EXERCISE = Exercise(
    "loss",
    (
        *(rows.LOG_SOFTMAX, rows.LOG_SOFTMAX_NAIVE, rows.TOKEN_LOSS, texts.SEQUENCE_LOSS, conversions.PERPLEXITY),
        *(texts.SHIFTED_LOSS, texts.UNSHIFTED_LOSS, texts.MASKED_LOSS, conversions.BITS_PER_TOKEN),
    ),
)
