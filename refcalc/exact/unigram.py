"""The smoothed unigram model, correctly rounded."""

__all__ = ["SmoothedUnigram"]

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from refcalc import _check
from refcalc.baselines import unigram
from refcalc.baselines.unigram import Token
from refcalc.exact.value import Nll
from refcalc.tally import Tally


class SmoothedUnigram(unigram.SmoothedUnigram):
    """refcalc.SmoothedUnigram, whose nll is the double nearest to -log p(t) and whose scores are not rounded.

        p(t)  =  (n(t) + alpha) / (N + alpha V)

    >>> model = SmoothedUnigram.fit("aaab", "ab", alpha=0)
    >>> model.probability("a"), model.nll("b")
    (0.75, 1.3862943611198906)
    >>> model.score("bbb").bits_per_token                  # exactly 2: p(b) = 1/4
    2.0

    Raises what refcalc.SmoothedUnigram raises, and ValueError for an alpha that is neither a double nor a Fraction.

    Accuracy: correctly rounded, proved.
    """

    @classmethod
    def fit(
        cls, targets: Iterable[Token], vocabulary: Iterable[Token], alpha: float = 1.0, unk: Token | None = None
    ) -> "SmoothedUnigram":
        """Return the model of the training targets; the arguments are those of refcalc.SmoothedUnigram.fit."""
        if not isinstance(alpha, Fraction):
            _check.double("SmoothedUnigram.fit", "alpha", alpha)
        return super().fit(targets, vocabulary, alpha, unk)  # type: ignore[return-value]

    def nll(self, token: Token, context: Sequence[Token] = ()) -> float:
        """Return the double nearest to -log p(token), in nats; inf where p is 0."""
        return Nll.of_probability(self._share("token", token)).nats("SmoothedUnigram")

    def score(self, tokens: Iterable[Token]) -> Tally:
        """Return the Tally of tokens as the targets of one document; its nll_sum is not rounded."""
        nlls: dict[Token, Nll] = {}
        targets = list(tokens)
        for i, token in enumerate(targets):
            if token not in nlls:
                nlls[token] = Nll.of_probability(self._share(f"tokens[{i}]", token))
        total = Nll.total(nlls[token].scaled(Fraction(n)) for token, n in Counter(targets).items())
        return Tally(total, len(targets), n_documents=1)
