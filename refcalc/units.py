"""From nats to the unit somebody else reports, and back.

    nll_sum    the sum of -log p over the scored targets, in nats
    mean_nll   nll_sum / number of scored targets, in nats per target

A rate has a numerator and a denominator, and both must be about the same text: n_bytes, n_chars and n_words count the
text of the scored targets.  A perplexity is exp of a mean in nats; 2 to the power of the same mean in bits is the same
number.

Accuracy of all functions here is "bounded": each operation rounds once, and the doubles nearest to log 2 and log 10 are
off by less than 0.31 and 0.85 relative units of u = 2**-53.  exact has the same names with one rounding in all.
"""

__all__ = [
    "bits_per_byte",
    "bits_per_char",
    "bits_per_token",
    "bits_to_nats",
    "byte_perplexity",
    "log10_to_nats",
    "nats_to_bits",
    "nats_to_log10",
    "perplexity",
    "perplexity_to_nll",
    "uniform_nll",
    "word_perplexity",
]

from math import exp, inf, log

from refcalc import _check
from refcalc.exact_sum import ExactSum

LOG_2 = float.fromhex("0x1.62e42fefa39efp-1")
LOG_10 = float.fromhex("0x1.26bb1bbb55516p+1")


def perplexity(mean_nll: float) -> float:
    """Return exp(mean_nll): the number of equally likely classes that would cost as much.

    mean_nll: nats per target, in [0, inf]; not a sum, and not in bits.

    >>> perplexity(0.0), perplexity(1000.0)     # the second is beyond the doubles; its logarithm stays 1000.0
    (1.0, inf)
    >>> perplexity(-2.5)
    Traceback (most recent call last):
    ValueError: perplexity: mean_nll must not be negative (an nll is minus a log-probability), got -2.5

    Raises ValueError if mean_nll is negative or nan; TypeError if it is no number.

    Accuracy: that of libm's exp, 0.52 ulp in glibc.
    """
    return _exp(_nll("perplexity", "mean_nll", mean_nll))


def perplexity_to_nll(ppl: float) -> float:
    """Return log(ppl), the mean nll in nats per target that has this perplexity.

    >>> perplexity_to_nll(1.0)
    0.0
    >>> perplexity_to_nll(0.5)
    Traceback (most recent call last):
    ValueError: perplexity_to_nll: ppl must be at least 1, got 0.5

    Raises ValueError if ppl is below 1 or nan; TypeError if it is no number.

    Accuracy: that of libm's log, 0.52 ulp in glibc.
    """
    x = _check.real("perplexity_to_nll", "ppl", ppl)
    if not x >= 1.0:
        _check.refuse("perplexity_to_nll", "ppl", "be at least 1", x)
    return log(x)


def nats_to_bits(nats: float) -> float:
    """Return nats / log 2.  Any sign: log-probabilities convert too.  Accuracy: 1 ulp, proved.

    >>> nats_to_bits(0.6931471805599453)
    1.0
    """
    return _check.not_nan("nats_to_bits", "nats", nats) / LOG_2


def bits_to_nats(bits: float) -> float:
    """Return bits * log 2.  Any sign.  Accuracy: 1 ulp, proved.

    >>> bits_to_nats(1.0)
    0.6931471805599453
    """
    return _check.not_nan("bits_to_nats", "bits", bits) * LOG_2


def nats_to_log10(nats: float) -> float:
    """Return nats / log 10, the unit of ARPA files, KenLM and SRILM.  Any sign.  Accuracy: 1.35 ulp, proved.

    >>> nats_to_log10(2.302585092994046)
    1.0
    """
    return _check.not_nan("nats_to_log10", "nats", nats) / LOG_10


def log10_to_nats(log10: float) -> float:
    """Return log10 * log 10: a score of KenLM or SRILM in nats.  Any sign.  Accuracy: 1.35 ulp, proved.

    >>> log10_to_nats(1.0)
    2.302585092994046
    """
    return _check.not_nan("log10_to_nats", "log10", log10) * LOG_10


def bits_per_token(mean_nll: float) -> float:
    """Return mean_nll / log 2, in bits per target: the mean nll in another unit.

    mean_nll: nats per target, in [0, inf].

    >>> bits_per_token(0.6931471805599453)
    1.0

    Raises ValueError if mean_nll is negative or nan; TypeError if it is no number.  Accuracy: 1 ulp, proved.
    """
    return _nll("bits_per_token", "mean_nll", mean_nll) / LOG_2


def bits_per_byte(nll_sum: float, n_bytes: int) -> float:
    """Return nll_sum / (n_bytes log 2), in bits per byte.

    nll_sum: nats, in [0, inf], over all scored targets.
    n_bytes: the UTF-8 bytes of the original text of those targets, at least 1.

    >>> bits_per_byte(15.0, 10)
    2.1640425613334453
    >>> bits_per_byte(15.0, 0)
    Traceback (most recent call last):
    ValueError: bits_per_byte: n_bytes must be at least 1, got 0

    Raises ValueError for a negative nll_sum or nan, or if n_bytes is below 1; TypeError if one is of the wrong kind.

    Accuracy: 3 ulp, proved (log 2 and two quotients: 0.31 + 1 + 1 relative units of u).
    """
    return _bits("bits_per_byte", nll_sum, "n_bytes", n_bytes)


def bits_per_char(nll_sum: float, n_chars: int) -> float:
    """Return nll_sum / (n_chars log 2), in bits per character; as bits_per_byte, with another denominator.

    n_chars: the characters (Unicode code points) of the original text of the scored targets, at least 1.

    >>> bits_per_char(0.0, 65)
    0.0
    """
    return _bits("bits_per_char", nll_sum, "n_chars", n_chars)


def byte_perplexity(nll_sum: float, n_bytes: int) -> float:
    """Return exp(nll_sum / n_bytes): 2 to the power of bits_per_byte.

    Arguments and refusals of bits_per_byte.

    >>> byte_perplexity(0.0, 10)
    1.0

    Accuracy: 1 + q ulp with q = nll_sum / n_bytes; proved (the quotient's rounding, q u, is multiplied by q).
    """
    return _mean_perplexity("byte_perplexity", nll_sum, "n_bytes", n_bytes)


def word_perplexity(nll_sum: float, n_words: int) -> float:
    """Return exp(nll_sum / n_words): the sum is divided by words, not the token perplexity rescaled.

    Arguments and refusals of bits_per_byte, with the number of words.  Accuracy of byte_perplexity.

    >>> word_perplexity(0.0, 6)
    1.0
    """
    return _mean_perplexity("word_perplexity", nll_sum, "n_words", n_words)


def uniform_nll(vocab_size: int) -> float:
    """Return log V, the nll in nats of every target under a model that knows nothing.

    >>> uniform_nll(1)
    0.0

    Raises ValueError if vocab_size is below 1; TypeError if it is no whole number.
    Accuracy: that of libm's log, 0.52 ulp in glibc.
    """
    return log(_check.count("uniform_nll", "vocab_size", vocab_size, least=1))


# --- private ---------------------------------------------------------------------------------------------------------


def _exp(x: float) -> float:
    """Return exp(x) as rounding would have it: inf beyond the doubles, where math.exp raises."""
    try:
        return exp(x)
    except OverflowError:
        return inf


def _nll(function: str, argument: str, value: float) -> float:
    """Return an nll in [0, inf], with the remedy in the refusal of what looks like a log-probability."""
    x = _check.not_nan(function, argument, value)
    if x < 0.0:
        _check.refuse(function, argument, "not be negative (an nll is minus a log-probability)", x)
    return x


def _bits(function: str, nll_sum: float, count_argument: str, count: int) -> float:
    return _rate(function, nll_sum, count_argument, count) / LOG_2


def _mean_perplexity(function: str, nll_sum: float, count_argument: str, count: int) -> float:
    return _exp(_rate(function, nll_sum, count_argument, count))


def _rate(function: str, nll_sum: float, count_argument: str, count: int) -> float:
    """Return nll_sum / count, whatever the size of the count."""
    total, n = _nll(function, "nll_sum", nll_sum), _check.count(function, count_argument, count, least=1)
    return total / n if n < 2**1000 else ExactSum((total,)) / n  # a float divided by a larger int may overflow
