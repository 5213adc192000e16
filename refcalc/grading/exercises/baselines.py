"""The exercise `baselines`: what a model has to beat, characters for tokens, and the noise between runs.

A unigram is a dict: the probability of every token of the vocabulary, those that training never saw among them.
"""

__all__ = ["EXERCISE"]

from collections import Counter
from collections.abc import Callable, Iterator
from math import inf, sqrt
from random import Random

from refcalc import _check, exact
from refcalc.baselines.unigram import SmoothedUnigram
from refcalc.evidence import Records
from refcalc.grading.exercise import Arguments, Exercise, Function
from refcalc.grading.exercises._shared import average, below, explained
from refcalc.mistakes.elsewhere.numbers import cancelling_variance
from refcalc.mistakes.elsewhere.resampling import error_for_deviation, population_deviation
from refcalc.resampling import seed_noise
from refcalc.units import LOG_2

Unigram = dict[str, float]

# --- the right answers -----------------------------------------------------------------------------------------------


def add_alpha_unigram(train: list[str], vocabulary: list[str], alpha: float) -> Unigram:
    """Return (count + alpha) / (N + alpha V) for each token of the vocabulary."""
    model = SmoothedUnigram.fit(train, vocabulary, alpha)
    return {token: model.probability(token) for token in vocabulary}


def bits_per_character(loss: float, n_chars: int, n_tokens: int) -> float:
    """Return the bits of all tokens over all characters, of a mean loss in nats per token."""
    return exact.bits_per_char(loss * _check.count("bits_per_char", "n_tokens", n_tokens, least=1), n_chars)


def mean_and_std(values: list[float]) -> tuple[float, float]:
    """Return the mean and the sample standard deviation: n - 1 divides."""
    noise = seed_noise(values)
    return noise.mean, noise.standard_deviation


# --- what the catalogue is tried on ----------------------------------------------------------------------------------


def uniform_target(vocab_size: int) -> list[Records]:
    return [Records([exact.uniform_nll(vocab_size)])]


def tokens_of(loss: float, n_chars: int, n_tokens: int) -> list[Records]:
    return [Records([loss] * n_tokens, n_chars=n_chars)]


# --- wrong answers ---------------------------------------------------------------------------------------------------

CONSTANTS: dict[str, Callable[[int], float]] = {
    "probability-for-nll": explained(
        "The probability 1 / V is returned.",
        "Take minus its logarithm: log V.",
        lambda vocab_size: 1.0 / vocab_size,
    ),
    "sign-left-out": explained(
        "The logarithm of the probability is returned, which is negative.",
        "A loss is minus the logarithm of a probability.",
        lambda vocab_size: -exact.uniform_nll(vocab_size),
    ),
}


def unigram(train: list[str], vocabulary: list[str], alpha: float, total: float) -> Unigram:
    """Return (count + alpha) / total for each token."""
    counts = Counter(train)
    return {token: (counts[token] + alpha) / total for token in vocabulary}


UNIGRAMS: dict[str, Callable[[list[str], list[str], float], Unigram]] = {
    "laplace-wrong-v": lambda train, vocabulary, alpha: unigram(
        train, vocabulary, alpha, len(train) + alpha * len({*train})
    ),
    "alpha-not-times-v": lambda train, vocabulary, alpha: unigram(train, vocabulary, alpha, len(train) + alpha),
    "zero-probability-inf": lambda train, vocabulary, alpha: unigram(train, vocabulary, 0.0, len(train)),
    "alpha-not-in-denominator": explained(
        "alpha is added to the counts, not to their sum, so that the probabilities sum to more than 1.",
        "Divide by N + alpha V.",
        lambda train, vocabulary, alpha: unigram(train, vocabulary, alpha, len(train)),
    ),
    "alpha-taken-as-one": explained(
        "1 is added to each count, whatever alpha is.",
        "Add alpha to each count, and alpha V to their sum.",
        lambda train, vocabulary, alpha: add_alpha_unigram(train, vocabulary, 1.0),
    ),
}

RATES: dict[str, Callable[[float, int, int], float]] = {
    "rate-as-total": lambda loss, n_chars, n_tokens: exact.bits_per_char(loss, n_chars),
    "tokens-per-character-inverted": explained(
        "Bits per token are multiplied by the characters in a token.",
        "A token that stands for more characters costs less for each: divide by n_chars / n_tokens.",
        lambda loss, n_chars, n_tokens: loss / LOG_2 * n_chars / n_tokens,
    ),
    "times-log-2": explained(
        "Nats are multiplied by log 2.",
        "A bit is log 2 = 0.69 nats, so that the number in bits is the larger one: divide by log 2.",
        lambda loss, n_chars, n_tokens: loss * LOG_2 * n_tokens / n_chars,
    ),
}


def with_deviation(values: list[float], deviation: float) -> tuple[float, float]:
    return average(values), deviation


def variance(values: list[float]) -> float:
    """Return the sample variance."""
    return population_deviation(values) * population_deviation(values) * len(values) / (len(values) - 1)


def cancelling_deviation(values: list[float]) -> float:
    """Return the sample standard deviation by the mean of the squares; 0 where that is below the mean's square."""
    return sqrt(max(0.0, cancelling_variance(values)) * len(values) / (len(values) - 1))


DEVIATIONS: dict[str, Callable[[list[float]], tuple[float, float]]] = {
    "population-deviation": lambda values: with_deviation(values, population_deviation(values)),
    "error-for-deviation": lambda values: with_deviation(values, error_for_deviation(values)),
    "cancelling-variance": lambda values: with_deviation(values, cancelling_deviation(values)),
    "variance-for-deviation": explained(
        "The mean square is returned, not its root.",
        "Take the square root, which has the unit of the values.",
        lambda values: with_deviation(values, variance(values)),
    ),
}

# --- the arguments ---------------------------------------------------------------------------------------------------


def sizes(rng: Random) -> Iterator[Arguments]:
    """Yield sizes of vocabularies: of characters, of word pieces, 1 and 2."""
    for size in (65, 290, 14_210, 50_257, 3 + below(rng, 60), 1_000 + below(rng, 9_000), 1, 2, 128_256):
        yield (size,)


def corpora(rng: Random) -> Iterator[Arguments]:
    """Yield targets of training and vocabularies with tokens that were never seen; then every token seen, and none."""

    def some(alphabet: list[str], count: int) -> list[str]:
        return [alphabet[below(rng, len(alphabet))] for _ in range(count)]

    letters = ["a", "b", "c", "d", "EOS", "BOS"]
    for count, alpha in ((5, 1.0), (8, 0.5), (12, 1.0), (20, 0.1), (6, 2.0)):
        yield some(letters[:4], count), letters, alpha
    yield ["a", "a", "b", "EOS"], ["a", "b", "c", "EOS"], 1.0
    yield [*letters, *some(letters, 9)], letters, 0.25
    yield [], letters[:3], 1.0
    yield ["a"] * 3, ["a"], 1.0
    yield some(letters[:3], 7), letters, 1e-9


def losses(rng: Random) -> Iterator[Arguments]:
    """Yield mean losses and counts: word pieces, characters, more tokens than characters; then special losses."""
    for _ in range(4):
        tokens = 5 + below(rng, 30)
        yield round(0.5 + 3.0 * rng.random(), 3), 2 * tokens + below(rng, 20), tokens
    yield round(0.5 + 3.0 * rng.random(), 3), 40, 40
    yield round(0.5 + 3.0 * rng.random(), 3), 10 + below(rng, 9), 30
    yield 0.0, 20, 7
    yield 2.0, 1, 1
    yield inf, 20, 7


def runs(rng: Random) -> Iterator[Arguments]:
    """Yield results of runs: three of the size of losses, others; then equal ones, two whole numbers, a tiny spread."""

    def some(count: int, about: float, spread: float) -> list[float]:
        return [round(about + spread * (rng.random() - 0.5), 4) for _ in range(count)]

    yield (some(3, 1.68, 0.02),)
    for count, about, spread in ((5, 1.79, 0.1), (3, 60.0, 9.0), (8, 0.0, 4.0), (2, 2.42, 0.2)):
        yield (some(count, about, spread),)
    yield ([1.5, 1.5, 1.5],)
    yield ([3 + below(rng, 9), 20 + below(rng, 9)],)
    # Squares and their sum lose the spread here in any order of adding, and in any precision that a sum may carry on.
    large = 1_000.0 + below(rng, 3_000)
    yield ([large, large + large / 2**27] * 2,)


# --- the exercise ----------------------------------------------------------------------------------------------------

EXERCISE = Exercise(
    "baselines",
    (
        Function("uniform_nll(vocab_size)", "the loss of a model that knows nothing, in nats", exact.uniform_nll, sizes,
                 CONSTANTS, evidence=uniform_target),
        Function("add_alpha_unigram(train, vocabulary, alpha)",
                 "a dict: the probability of each token of the vocabulary, seen in training or not",
                 add_alpha_unigram, corpora, UNIGRAMS),
        Function("bits_per_char(loss, n_chars, n_tokens)", "bits per character of a mean loss in nats per token",
                 bits_per_character, losses, RATES, evidence=tokens_of, quantity="bits_per_char"),
        Function("mean_and_std(values)", "(mean, sample standard deviation), whose squares n - 1 divides", mean_and_std,
                 runs, DEVIATIONS),
    ),
)  # fmt: skip
