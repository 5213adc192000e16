"""Stupid back-off: scores that rank tokens and are not probabilities."""

__all__ = ["StupidBackoff"]

from collections.abc import Iterable, Sequence
from typing import NoReturn

from refcalc import _check
from refcalc.baselines.ngram.alphabet import Alphabet, ending_counts
from refcalc.baselines.ngram.model import totals
from refcalc.baselines.unigram import Token


class StupidBackoff:
    """Stupid back-off: the relative frequency after the longest context in which the token was seen.

        S(w | h)  =  c(hw) / c(h)            if c(hw) > 0
                     alpha S(w | h')         otherwise; 0 if h is empty

    The S(w | h) do not sum to 1 over the vocabulary: what an unseen token gets is taken from no other.  They rank
    tokens.  A "perplexity" of them can be lowered at will by raising alpha, so probability, nll and score refuse.

    Made by StupidBackoff.fit.  It has the attributes order, vocabulary, bos, unk and alpha.

    >>> model = StupidBackoff.fit("abac", 2, "abc")
    >>> [model.unnormalised_score(token, "a") for token in "abc"]       # 0.4 * 2/4, 1/2, 1/2: 1.2 in all
    [0.2, 0.5, 0.5]
    >>> model.score("ab")
    Traceback (most recent call last):
    ValueError: StupidBackoff.score: the scores must sum to 1 (use unnormalised_score), got stupid back-off

    Accuracy: within n + 1 roundings.

    Source: Brants, Popat, Xu, Och & Dean (2007), Large Language Models in Machine Translation, equation 5.
    """

    def __init__(self, alphabet: Alphabet, levels: list[tuple[dict[int, int], dict[int, int]]], alpha: float) -> None:
        self.order, self.vocabulary = alphabet.order, alphabet.vocabulary
        self.bos, self.unk, self.alpha = alphabet.bos, alphabet.unk, alpha
        self._alphabet, self._levels = alphabet, levels

    @classmethod
    def fit(
        cls,
        tokens: Iterable[Token],
        order: int,
        vocabulary: Iterable[Token],
        *,
        alpha: float = 0.4,
        bos: Token | None = None,
        unk: Token | None = None,
    ) -> "StupidBackoff":
        """Return the model of the training tokens; the other arguments and refusals are those of KneserNey.fit.

        alpha: the factor of each step back, in [0, 1].

        >>> StupidBackoff.fit("abac", 2, "abc", alpha=0.0).unnormalised_score("a", "a")
        0.0
        """
        alphabet = Alphabet("StupidBackoff.fit", order, vocabulary, bos, unk)
        factor = _check.fraction_of_one("StupidBackoff.fit", "alpha", alpha)
        counts = alphabet.count("StupidBackoff.fit", tokens)
        endings = [ending_counts(counts, power) for power in alphabet.powers[1:]]
        return cls(alphabet, [(each, totals(each, alphabet.base)) for each in endings], factor)

    def unnormalised_score(self, token: Token, context: Sequence[Token] = ()) -> float:
        """Return S(token | context), in [0, 1]; not a probability."""
        alphabet = self._alphabet
        gram = alphabet.gram("StupidBackoff", token, context)
        factor = 1.0
        for k in range(alphabet.known(gram // alphabet.base), -1, -1):
            counts, sums = self._levels[k]
            ending = gram % alphabet.powers[k + 1]
            if ending in counts:
                return factor * (counts[ending] / sums[ending // alphabet.base])
            factor *= self.alpha
        return 0.0

    def probability(self, token: Token, context: Sequence[Token] = ()) -> float:
        """Refuse: the scores are no probabilities."""
        _refuse("probability")

    def nll(self, token: Token, context: Sequence[Token] = ()) -> float:
        """Refuse: the scores are no probabilities."""
        _refuse("nll")

    def nlls(self, tokens: Iterable[Token], context: Sequence[Token] = ()) -> list[float]:
        """Refuse: the scores are no probabilities."""
        _refuse("nlls")

    def score(self, tokens: Iterable[Token], context: Sequence[Token] = ()) -> NoReturn:
        """Refuse: no sum of these has a perplexity."""
        _refuse("score")


def _refuse(method: str) -> NoReturn:
    raise ValueError(f"StupidBackoff.{method}: the scores must sum to 1 (use unnormalised_score), got stupid back-off")
