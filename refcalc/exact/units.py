"""From nats to the unit somebody else reports, and back, with one rounding: the names of refcalc.units.

Each function takes a number, exactly as it is, or an Nll that was never rounded: `perplexity(batch_nll(...) / n)` is
the double nearest to the perplexity, where exp of a rounded mean is not.
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

from fractions import Fraction
from math import copysign, inf, isinf

from refcalc import _check
from refcalc.exact.value import ONE, Nll

Nats = Nll | float


def perplexity(mean_nll: Nats) -> float:
    """Return the double nearest to exp(mean_nll).

    mean_nll: nats per target, an Nll or a number in [0, inf]; not a sum, and not in bits.

    >>> perplexity(1.0), perplexity(1000.0)
    (2.718281828459045, inf)

    Raises what refcalc.perplexity raises, and ValueError for a number that is not exactly a double.
    Accuracy: correctly rounded, proved; so for all functions of this module.
    """
    return _nll("perplexity", "mean_nll", mean_nll).exp("perplexity")


def perplexity_to_nll(ppl: float) -> float:
    """Return the double nearest to log(ppl), the mean nll in nats per target that has this perplexity.

    >>> perplexity_to_nll(1.0), perplexity_to_nll(float("inf"))
    (0.0, inf)
    """
    name = "perplexity_to_nll"
    x = _check.double(name, "ppl", ppl)
    if not x >= 1.0:
        _check.refuse(name, "ppl", "be at least 1", x)
    return inf if x == inf else Nll.of_probability(1 / Fraction(x)).nats(name)


def nats_to_bits(nats: Nats) -> float:
    """Return the double nearest to nats / log 2.  Any sign.

    >>> nats_to_bits(-1.0)
    -1.4426950408889634
    """
    return _quotient("nats_to_bits", "nats", nats, 2)


def bits_to_nats(bits: float) -> float:
    """Return the double nearest to bits * log 2.  Any sign.

    >>> bits_to_nats(1.0)
    0.6931471805599453
    """
    return _product("bits_to_nats", "bits", bits, 2)


def nats_to_log10(nats: Nats) -> float:
    """Return the double nearest to nats / log 10.  Any sign.

    >>> nats_to_log10(1.0)
    0.4342944819032518
    """
    return _quotient("nats_to_log10", "nats", nats, 10)


def log10_to_nats(log10: float) -> float:
    """Return the double nearest to log10 * log 10.  Any sign.

    >>> log10_to_nats(1.0)
    2.302585092994046
    """
    return _product("log10_to_nats", "log10", log10, 10)


def bits_per_token(mean_nll: Nats) -> float:
    """Return the double nearest to mean_nll / log 2, in bits per target.

    mean_nll: nats per target, an Nll or a number in [0, inf].

    >>> from refcalc.exact import batch_nll
    >>> bits_per_token(batch_nll([0.0] * 8, 5))
    3.0
    """
    return _nll("bits_per_token", "mean_nll", mean_nll).over_log("bits_per_token", 2)


def bits_per_byte(nll_sum: Nats, n_bytes: int) -> float:
    """Return the double nearest to nll_sum / (n_bytes log 2), in bits per byte.

    nll_sum: nats, an Nll or a number in [0, inf], over all scored targets.
    n_bytes: the UTF-8 bytes of the original text of those targets, at least 1.

    >>> bits_per_byte(15.0, 10)
    2.1640425613334453
    """
    return _bits("bits_per_byte", nll_sum, "n_bytes", n_bytes)


def bits_per_char(nll_sum: Nats, n_chars: int) -> float:
    """Return the double nearest to nll_sum / (n_chars log 2), in bits per character; as bits_per_byte.

    >>> bits_per_char(0.0, 65)
    0.0
    """
    return _bits("bits_per_char", nll_sum, "n_chars", n_chars)


def byte_perplexity(nll_sum: Nats, n_bytes: int) -> float:
    """Return the double nearest to exp(nll_sum / n_bytes); arguments of bits_per_byte.

    >>> byte_perplexity(0.0, 10)
    1.0
    """
    return _mean_perplexity("byte_perplexity", nll_sum, "n_bytes", n_bytes)


def word_perplexity(nll_sum: Nats, n_words: int) -> float:
    """Return the double nearest to exp(nll_sum / n_words); arguments of bits_per_byte, with the number of words.

    >>> from refcalc.exact import batch_nll
    >>> word_perplexity(batch_nll([[0.0, 0.0, 0.0]] * 34, [0] * 34), 1), 3**34    # half-way between two doubles
    (1.6677181699666568e+16, 16677181699666569)
    """
    return _mean_perplexity("word_perplexity", nll_sum, "n_words", n_words)


def uniform_nll(vocab_size: int) -> float:
    """Return the double nearest to log V.

    >>> uniform_nll(1), uniform_nll(2)
    (0.0, 0.6931471805599453)
    """
    size = _check.count("uniform_nll", "vocab_size", vocab_size, least=1)
    return Nll(logs={size: ONE}).nats("uniform_nll")


def _nll(function: str, argument: str, value: Nats) -> Nll:
    if isinstance(value, Nll):
        return value
    x = _signed(function, argument, value)
    if x < 0.0:
        _check.refuse(function, argument, "not be negative (an nll is minus a log-probability)", x)
    return Nll(infinite=True) if x == inf else Nll(Fraction(x))


def _bits(function: str, nll_sum: Nats, count_argument: str, count: int) -> float:
    return _over_count(function, nll_sum, count_argument, count).over_log(function, 2)


def _mean_perplexity(function: str, nll_sum: Nats, count_argument: str, count: int) -> float:
    return _over_count(function, nll_sum, count_argument, count).exp(function)


def _over_count(function: str, nll_sum: Nats, argument: str, count: int) -> Nll:
    return _nll(function, "nll_sum", nll_sum) / Fraction(_check.count(function, argument, count, least=1))


def _quotient(function: str, argument: str, value: Nats, base: int) -> float:
    if isinstance(value, Nll):
        return value.over_log(function, base)
    x = _signed(function, argument, value)
    size = Nll(infinite=True) if isinf(x) else Nll(Fraction(abs(x)))
    return copysign(size.over_log(function, base), x) + 0.0


def _product(function: str, argument: str, value: float, base: int) -> float:
    x = _signed(function, argument, value)
    return x if isinf(x) else Nll(logs={base: Fraction(x)}).nats(function)


def _signed(function: str, argument: str, value: float) -> float:
    _check.not_nan(function, argument, value)
    return _check.double(function, argument, value)
