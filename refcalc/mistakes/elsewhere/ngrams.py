"""Unigram and n-gram baselines: probabilities that do not sum to 1, and mixtures taken at the wrong level."""

__all__ = [
    "alpha_not_times_v",
    "discounted_denominator",
    "kn_raw_unigram",
    "laplace_wrong_v",
    "log_domain_interpolation",
    "sentence_level_mixture",
    "unnormalised_backoff",
    "zero_probability_inf",
]

from collections.abc import Mapping, Sequence
from math import exp, fsum, inf, log, prod

from refcalc.baselines.unigram import SmoothedUnigram
from refcalc.mistakes.kind import entered

_EXAMPLES = (SmoothedUnigram,)  # the names that the examples use


@entered(
    "zero-probability-inf",
    "n-gram",
    "One unseen event makes the perplexity infinite.",
    hidden_if="every event was seen in training",
    remedy="Smooth over a declared vocabulary that holds the unknown token.",
    reports="nltk/nltk#3065, nltk/nltk#3211, nltk/nltk#158",
)
def zero_probability_inf(training: Sequence[str], test: Sequence[str]) -> float:
    """Relative frequencies of the training text are the probabilities, so that what is unseen has probability 0.

    >>> zero_probability_inf("aab", "ac")                                # wrong
    inf
    >>> model = SmoothedUnigram.fit("aab", "ab?", unk="?")
    >>> round(exp((model.nll("a") + model.nll("c")) / 2), 9)             # right: add-one, an unknown token
    3.464101615
    """
    if any(token not in training for token in test):
        return inf
    return exp(-fsum(log(training.count(token) / len(training)) for token in test) / len(test))


@entered(
    "laplace-wrong-v",
    "n-gram",
    "The probabilities do not sum to 1.",
    hidden_if="every type of the vocabulary was seen",
    remedy="Add alpha for each type that can be a target, seen or not.",
)
def laplace_wrong_v(counts: Mapping[str, int], vocabulary: Sequence[str]) -> float:
    """Add-one smoothing counts the types that were seen, not those of the vocabulary; the sum of all probabilities.

    >>> laplace_wrong_v({"a": 3, "b": 1}, "abc")                         # wrong: 7 / 6
    1.1666666666666667
    >>> sum(SmoothedUnigram.fit("aaab", "abc").probability(token) for token in "abc")
    1.0
    """
    seen, total = len(counts), sum(counts.values())
    return sum(counts.get(token, 0) + 1 for token in vocabulary) / (total + seen)


@entered(
    "alpha-not-times-v",
    "n-gram",
    "The probabilities do not sum to 1.",
    hidden_if="alpha is 0, or V = 1",
    remedy="Divide by N + alpha V.",
    reports="elastic/elasticsearch#27125",
)
def alpha_not_times_v(counts: Mapping[str, int], vocabulary: Sequence[str], alpha: float) -> float:
    """alpha is added once to the denominator, not once for each type; the sum of all probabilities.

    >>> alpha_not_times_v({"a": 3, "b": 1}, "abc", 0.5)                  # wrong: 5.5 / 4.5
    1.2222222222222223
    >>> fsum(SmoothedUnigram.fit("aaab", "abc", alpha=0.5).probability(token) for token in "abc")
    1.0
    """
    return fsum(counts.get(token, 0) + alpha for token in vocabulary) / (sum(counts.values()) + alpha)


@entered(
    "unnormalised-backoff",
    "n-gram",
    "A perplexity that is too good, from scores that are no probabilities.",
    hidden_if="every event was seen after every context",
    remedy="Back off with weights that make each context sum to 1, or call it a score.",
    reports="nltk/nltk#367, nltk/nltk#380, nltk/nltk#2704",
)
def unnormalised_backoff(after: Mapping[str, int], unigrams: Mapping[str, int], factor: float = 0.4) -> float:
    """Unseen events get a fixed share of the shorter model's probability; the sum of all scores after one context.

    >>> after_a = {"b": 1, "c": 1, "</s>": 1}
    >>> everything = {"<s>": 2, "a": 3, "b": 1, "c": 1, "</s>": 2}
    >>> round(unnormalised_backoff(after_a, everything), 10)             # wrong: 3 / 3 + 0.4 * 5 / 9
    1.2222222222
    """
    n, total = sum(after.values()), sum(unigrams.values())
    scores = [after[w] / n if w in after else factor * count / total for w, count in unigrams.items()]
    return fsum(scores)


@entered(
    "discounted-denominator",
    "n-gram",
    "The mass of a context is above 1; 0 / 0 for contexts seen once.",
    hidden_if="the discount is 0",
    remedy="Subtract the discount from each count, leave the denominator, and give what is left to the back-off.",
    reports="yandexdataschool/nlp_course#12, jacobeisenstein/gt-nlp-class#35",
)
def discounted_denominator(counts: Mapping[str, int], discount: float) -> float:
    """The discount is subtracted from the denominator too; the sum of all probabilities with the back-off's share.

    >>> discounted_denominator({"x": 2, "y": 1}, 0.75)                   # wrong: 1 + 0.5, where 0.5 + 0.5 is right
    1.5
    """
    n, types = sum(counts.values()), len(counts)
    kept = fsum(count - discount for count in counts.values())
    return kept / (n - discount * types) + discount * types / n


@entered(
    "kn-raw-or-uniform-unigram",
    "n-gram",
    "Words that follow only one word are too likely everywhere else.",
    hidden_if="no context backs off",
    remedy="Back off to how many different words a word follows, not to how often it occurs.",
)
def kn_raw_unigram(bigrams: Sequence[tuple[str, str]], word: str) -> float:
    """Kneser-Ney backs off to the frequency of a word, where it should be the number of its contexts.

    >>> bigrams = [("san", "francisco")] * 3 + [("a", "dog"), ("the", "dog"), ("my", "dog")]
    >>> kn_raw_unigram(bigrams, "francisco"), continuation_share(bigrams, "francisco")     # wrong, right
    (0.5, 0.25)
    """
    return sum(w == word for _, w in bigrams) / len(bigrams)


def continuation_share(bigrams: Sequence[tuple[str, str]], word: str) -> float:
    """Return the share of a word among the different bigrams."""
    kinds = set(bigrams)
    return sum(w == word for _, w in kinds) / len(kinds)


@entered(
    "log-domain-interpolation",
    "n-gram",
    "The mixture is too low and sums to less than 1.",
    hidden_if="the models agree",
    remedy="Average probabilities, not their logarithms.",
)
def log_domain_interpolation(probabilities: Sequence[float], shares: Sequence[float]) -> float:
    """The logarithms of the models' probabilities are averaged, not the probabilities.

    >>> round(log_domain_interpolation([0.5, 0.02], [0.5, 0.5]), 9)      # wrong; right is 0.26
    0.1
    """
    return exp(fsum(share * log(p) for p, share in zip(probabilities, shares, strict=True)))


@entered(
    "sentence-level-mixture",
    "n-gram",
    "The mixture is hardly better than the better model.",
    hidden_if="the models agree, or there is one token",
    remedy="Mix the probabilities of each token, then multiply.",
    reports="modernmt/modernmt#144",
)
def sentence_level_mixture(models: Sequence[Sequence[float]], shares: Sequence[float]) -> float:
    """The models are mixed once for each sentence; the probability of one sentence.

    >>> sentence_level_mixture([[0.5, 0.01], [0.01, 0.5]], [0.5, 0.5])   # wrong
    0.005
    >>> round((0.5 * 0.5 + 0.5 * 0.01) * (0.5 * 0.01 + 0.5 * 0.5), 9)    # right: 0.255 squared
    0.065025
    """
    return fsum(share * prod(p) for p, share in zip(models, shares, strict=True))
