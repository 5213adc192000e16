"""Interpolated Witten-Bell smoothing."""

__all__ = ["WittenBell"]

from collections import Counter
from collections.abc import Iterable

from refcalc.baselines.ngram.alphabet import Alphabet, ending_counts
from refcalc.baselines.ngram.model import Level, NgramModel, totals
from refcalc.baselines.unigram import Token


class WittenBell(NgramModel):
    """Interpolated Witten-Bell: the chance of something new is how often something new was met.

        p_k(w | h)  =  (c(hw) + N(h) p_(k-1)(w | h')) / (c(h) + N(h))        p_0(w)  =  1 / V

    N(h) is how many different tokens followed h, that is, how often its next token was new.

    Made by WittenBell.fit.

    >>> model = WittenBell.fit("aab", 1, "abcd")
    >>> model.probability("a"), model.probability("d")      # (2 + 2/4) / 5 and (0 + 2/4) / 5
    (0.5, 0.1)

    Accuracy: a probability is within 4 n units of u = 2**-53, relatively; so are the sum over the vocabulary, and,
    absolutely, an nll, but for the rounding of libm's log (proved: all terms are positive).

    Source: Chen & Goodman (1998), TR-10-98, section 2.5; the recursion ends in the uniform distribution.
    """

    @classmethod
    def fit(
        cls,
        tokens: Iterable[Token],
        order: int,
        vocabulary: Iterable[Token],
        *,
        bos: Token | None = None,
        unk: Token | None = None,
    ) -> "WittenBell":
        """Return the model of the training tokens; arguments and refusals are those of KneserNey.fit.

        >>> model = WittenBell.fit(["<s>", "a", "b", "<s>", "a"], 2, ["a", "b"], bos="<s>")
        >>> model.probability("a", ["<s>"]) > model.probability("a", ["b"])
        True
        """
        alphabet = Alphabet("WittenBell.fit", order, vocabulary, bos, unk)
        counts = alphabet.count("WittenBell.fit", tokens)
        levels = [_level(ending_counts(counts, power), alphabet.base, power) for power in alphabet.powers[1:]]
        return cls(alphabet, levels)


def _level(counts: dict[int, int], base: int, modulus: int) -> Level:
    different = Counter(gram // base for gram in counts)
    contexts: dict[int, tuple[float, float]] = {}
    shared: dict[tuple[float, float], tuple[float, float]] = {}
    for context, total in totals(counts, base).items():
        seen = (total + different[context], different[context])
        contexts[context] = shared.setdefault(seen, seen)
    return Level(counts, contexts, modulus)
