"""Additive smoothing of n-grams."""

__all__ = ["Additive"]

from collections.abc import Iterable, Sequence

from refcalc import _check
from refcalc.baselines.ngram.alphabet import Alphabet, ending_counts
from refcalc.baselines.ngram.model import Level, NgramModel, totals
from refcalc.baselines.unigram import Token

LARGEST_ALPHA = 2.0**500  # below it, alpha V stays within the doubles


class Additive(NgramModel):
    """Additive smoothing: alpha is added to the count of every token after the n-1 tokens before it.

        p(w | h)  =  (c(hw) + alpha) / (c(h) + alpha V)

    No shorter context is asked, so after one that training has not seen all tokens are alike.  Only where fewer than
    n-1 tokens are known, at the beginning of a text, is h that many.

    Made by Additive.fit.  Beside the attributes of every model it has alpha.

    >>> model = Additive.fit("abab", 2, "abc")
    >>> model.probability("b", "a"), model.probability("b", "c")      # (2 + 1) / (2 + 3) and 1 / 3
    (0.6, 0.3333333333333333)

    Accuracy: a probability is within 7 units of u = 2**-53, relatively; so are the sum over the vocabulary, and,
    absolutely, an nll, but for the rounding of libm's log (proved: all terms are positive).

    Source: Lidstone's rule; alpha = 1 is Laplace's.  Chen & Goodman (1998), TR-10-98, section 2.1.
    """

    alpha: float

    @classmethod
    def fit(
        cls,
        tokens: Iterable[Token],
        order: int,
        vocabulary: Iterable[Token],
        *,
        alpha: float = 1.0,
        bos: Token | None = None,
        unk: Token | None = None,
    ) -> "Additive":
        """Return the model of the training tokens; the other arguments and refusals are those of KneserNey.fit.

        alpha: what is added to each count, above 0 and below 2**500.

        >>> Additive.fit("abab", 2, "abc", alpha=0.0)
        Traceback (most recent call last):
        ValueError: Additive.fit: alpha must be above 0, got 0.0
        """
        alphabet = Alphabet("Additive.fit", order, vocabulary, bos, unk)
        added = _check.not_negative("Additive.fit", "alpha", alpha, finite=True)
        if not added:
            _check.refuse("Additive.fit", "alpha", "be above 0", added)
        if added >= LARGEST_ALPHA:
            _check.refuse("Additive.fit", "alpha", "be below 2**500", added)
        counts = alphabet.count("Additive.fit", tokens)
        mass = added * alphabet.size
        levels = [_level(ending_counts(counts, power), alphabet.base, power, mass) for power in alphabet.powers[1:]]
        model = cls(alphabet, levels)
        model.alpha = added
        return model

    def _levels_of(self, gram: int) -> Sequence[Level]:
        """Return one level: (c(hw) + alpha V / V) / (c(h) + alpha V) is one step up from 1 / V."""
        known = self._alphabet.known(gram // self._alphabet.base)
        return self._levels[known : known + 1]


def _level(counts: dict[int, int], base: int, modulus: int, mass: float) -> Level:
    shared: dict[int, tuple[float, float]] = {}
    contexts: dict[int, tuple[float, float]] = {}
    for context, total in totals(counts, base).items():
        contexts[context] = shared.setdefault(total, (total + mass, mass))
    return Level(counts, contexts, modulus)
