"""The exact tier: every result is the double nearest to the true value of the whole formula.

The functions are those of refcalc, under the same names, with the same arguments and refusals.  The float tier is fast
and states a bound for its error; here there is none, nothing to choose and nothing to tune:

    >>> from refcalc import exact
    >>> exact.token_nll([1e16, -1.0], 1)                      # 1e16 + 1 + e**-(1e16 + 1): up, by that much
    1.0000000000000002e+16
    >>> exact.logsumexp([-0.6931471805599453, -0.6931471805599453])   # log 2 less the nearest double to it
    2.3190468138462996e-17

"The numbers given" are taken at their word: float16, bfloat16 and float32 are exactly doubles, and whatever is not
exactly a double (a Decimal of 0.1, a whole number above 2**53 that has no double) is refused.  0.0 has no sign.

A composed quantity is rounded once, at the end.  `batch_nll` returns an `Nll`, a value that was never rounded: it adds,
it divides, it pickles, and it goes into `perplexity`, `bits_per_byte` and the others, or into a `Tally`.

    >>> shards = [exact.batch_nll([[0.0, 1.0]], [1]), exact.batch_nll([[2.0, 0.5], [0.0, 0.0]], [0, 1])]
    >>> total = sum(shards)
    >>> exact.bits_per_byte(total, 3) == exact.bits_per_byte(shards[1] + shards[0], 3)
    True

Where 2**14 bits do not decide a last bit, which takes a row made for it, ArithmeticError says so; `limit_bits` raises
that limit.

How it is done (each module says why it may be done so):

    softmax, divergence, normaliser, loss, units, unigram   the public functions
    value         the unrounded value, and what is known about when it is rational
    _row          one row relative to its largest logit, enclosed as tightly as asked for
    _kernel       the sum of e**x over many classes: with libm's exp (checked once, trusted to 16 ulp), with tables,
                  with whole numbers
    _rounding     from an enclosure to a double: open ends, levels of work, the limit of bits
    _enclosures   sums, differences and products of enclosures
    _integer      exp and log on whole numbers at any number of bits
    _independent  logarithms of whole numbers, written so that what is rational shows
    _scored       the coefficients of a cross-entropy
    _divergence_slopes   the gradients of a divergence
    _dust         the sign of what is too small to be enclosed
    _read         numbers that are doubles, or refused
    _dyadic       sums of products of doubles without error
    _libm         whether this process's exp may be used

The same bits on every Python and machine with IEEE doubles, rounding to nearest.  A process that flushes subnormal
numbers to zero is refused with ArithmeticError.  Nothing global is touched: threads may use it at once.
"""

__all__ = [
    "LIMIT_BITS",
    "Nll",
    "SmoothedUnigram",
    "batch_nll",
    "bits_per_byte",
    "bits_per_char",
    "bits_per_token",
    "bits_to_nats",
    "byte_perplexity",
    "causal_lm_loss",
    "cross_entropy",
    "cross_entropy_gradient",
    "entropy",
    "kl_divergence",
    "kl_divergence_gradient",
    "limit_bits",
    "log10_to_nats",
    "log_softmax",
    "logsumexp",
    "nats_to_bits",
    "nats_to_log10",
    "perplexity",
    "perplexity_to_nll",
    "softmax",
    "token_nll",
    "uniform_nll",
    "word_perplexity",
    "z_loss",
    "z_loss_gradient",
]

from refcalc.exact._rounding import LIMIT_BITS, limit_bits
from refcalc.exact.divergence import kl_divergence, kl_divergence_gradient
from refcalc.exact.loss import batch_nll, causal_lm_loss, cross_entropy, cross_entropy_gradient
from refcalc.exact.normaliser import z_loss, z_loss_gradient
from refcalc.exact.softmax import entropy, log_softmax, logsumexp, softmax, token_nll
from refcalc.exact.unigram import SmoothedUnigram
from refcalc.exact.units import (
    bits_per_byte,
    bits_per_char,
    bits_per_token,
    bits_to_nats,
    byte_perplexity,
    log10_to_nats,
    nats_to_bits,
    nats_to_log10,
    perplexity,
    perplexity_to_nll,
    uniform_nll,
    word_perplexity,
)
from refcalc.exact.value import Nll
