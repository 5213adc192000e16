"""What the models have in common: a probability that climbs from the uniform distribution to the longest context.

    p_0(w)      =  1 / V
    p_k(w | h)  =  (a(hw) + m(h) p_(k-1)(w | h')) / d(h)        h: the last k-1 tokens, if training has seen them

Each model chooses the share a(hw) >= 0 of what it counted, the mass m(h) > 0 that it leaves to shorter contexts, and
the denominator d(h).  If

    sum_w a(hw)  +  m(h)  =  d(h)

then by induction the p_k(w | h) sum to 1 over the vocabulary.  After a context that training has not seen, no longer
one was seen either, and p_(k-1) is the answer.
"""

__all__ = ["Level", "NgramModel", "totals"]

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import log
from typing import NamedTuple

from refcalc import _check
from refcalc.baselines.ngram.alphabet import Alphabet
from refcalc.baselines.unigram import Token, minus_log
from refcalc.tally import Tally

NO_DISCOUNTS = (0.0, 0.0, 0.0, 0.0)
NEARLY_SUBNORMAL = 2.0**-1000  # a p below it may have lost digits on its way


class Level(NamedTuple):
    """The n-grams of one order."""

    counts: dict[int, int]  # of each n-gram
    contexts: dict[int, tuple[float, float]]  # (d, m) of each context
    modulus: int  # g % modulus is the n-gram of this order that g ends with
    discounts: tuple[float, float, float, float] = NO_DISCOUNTS  # of the counts 0, 1, 2, and 3 or more


class NgramModel:
    """A probability model made by one of the `fit` methods.

    It has the attributes order, vocabulary, bos, unk, and n_grams (how many distinct n-grams of the orders 1 to n it
    holds).
    """

    def __init__(self, alphabet: Alphabet, levels: list[Level]) -> None:
        self.order, self.vocabulary = alphabet.order, alphabet.vocabulary
        self.bos, self.unk = alphabet.bos, alphabet.unk
        self.n_grams = sum(len(level.counts) for level in levels)
        self._alphabet, self._levels = alphabet, levels

    def probability(self, token: Token, context: Sequence[Token] = ()) -> float:
        """Return p(token | context), in (0, 1].

        context: the tokens before it, of which the last n-1 count; a bos among them hides what is before it.
        """
        return self._probability(self._alphabet.gram(type(self).__name__, token, context))

    def nll(self, token: Token, context: Sequence[Token] = ()) -> float:
        """Return -log p(token | context), in nats."""
        return self._nll(self._alphabet.gram(type(self).__name__, token, context))

    def nlls(self, tokens: Iterable[Token], context: Sequence[Token] = ()) -> list[float]:
        """Return the nll of each token of a text after those before it, bos left out, in nats.

        context: what stands before the text: the end of the training text, say, where the history runs on.
        """
        name = type(self).__name__
        grams = self._alphabet.grams(name, tokens, self._alphabet.history(name, context))
        return [self._nll(gram) for gram in grams]

    def score(self, tokens: Iterable[Token], context: Sequence[Token] = ()) -> Tally:
        """Return the Tally of nlls(tokens, context): one document, or one for each bos."""
        text = list(_check.iterable(type(self).__name__, "tokens", tokens))
        nlls = self.nlls(text, context)
        documents = sum(map(self._alphabet.is_bos, text)) + (not text or not self._alphabet.is_bos(text[0]))
        return Tally(Tally.of(nlls).nll_sum, len(nlls), n_documents=documents)

    def _probability(self, gram: int) -> float:
        base = self._alphabet.base
        p = 1.0 / self._alphabet.size
        for counts, contexts, modulus, discounts in self._levels_of(gram):
            ending = gram % modulus
            seen = contexts.get(ending // base)
            if seen is None:
                break
            count = counts.get(ending, 0)
            p = (count - discounts[count if count < 3 else 3] + seen[1] * p) / seen[0]
        return min(p, 1.0)

    def _nll(self, gram: int) -> float:
        p = self._probability(gram)
        if not p >= NEARLY_SUBNORMAL:  # true of nan too, which must never pass for a 1
            return minus_log(self._exact_probability(gram))
        return -log(p) if p < 1.0 else 0.0

    def _exact_probability(self, gram: int) -> Fraction:
        """Return what _probability rounds."""
        p = Fraction(1, self._alphabet.size)
        for level in self._levels_of(gram):
            ending = gram % level.modulus
            seen = level.contexts.get(ending // self._alphabet.base)
            if seen is None:
                break
            count = level.counts.get(ending, 0)
            share = count - Fraction(level.discounts[min(count, 3)])
            p = (share + Fraction(seen[1]) * p) / Fraction(seen[0])
        return p

    def _levels_of(self, gram: int) -> Sequence[Level]:
        """Return the levels that the probability of an n-gram climbs, as far as training has seen its contexts."""
        return self._levels


def totals(counts: dict[int, int], base: int) -> dict[int, int]:
    """Return c(h), the sum of the counts of the n-grams with context h."""
    sums: dict[int, int] = {}
    for gram, count in counts.items():
        context = gram // base
        sums[context] = sums.get(context, 0) + count
    return sums
