"""The two simplest models of text: one that knows nothing, and one that knows how often each token occurs.

    V      the vocabulary: every token that can be a target, declared before anything is counted
    n(t)   how often t was a target in training      N   the sum of n(t)

Both ignore the context.  A special token that is never a target (a BOS) takes its share of the probability if the
vocabulary has it.
"""

__all__ = ["SmoothedUnigram", "UniformBaseline"]

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from math import inf, log, log1p

from refcalc import _check, units
from refcalc.tally import Tally

Token = Hashable


class UniformBaseline:
    """The model that gives every token of the vocabulary the probability 1 / V: nll log V, perplexity V.

    vocabulary: the tokens, all different.

    >>> model = UniformBaseline("abcd")
    >>> model.probability("b"), model.nll("b")
    (0.25, 1.3862943611198906)
    >>> model.nll("z")
    Traceback (most recent call last):
    ValueError: UniformBaseline: token must be in the vocabulary, got 'z'

    Raises ValueError for an empty vocabulary, a token named twice, or a token outside it; TypeError for a token that
    has no hash.

    Accuracy: probabilities are correctly rounded, nll that of libm's log.
    """

    def __init__(self, vocabulary: Iterable[Token]) -> None:
        self.vocabulary = distinct_tokens("UniformBaseline", vocabulary)

    def probability(self, token: Token, context: Sequence[Token] = ()) -> float:
        """Return 1 / V."""
        self._check_token("token", token)
        return 1 / len(self.vocabulary)

    def nll(self, token: Token, context: Sequence[Token] = ()) -> float:
        """Return log V, in nats."""
        self._check_token("token", token)
        return units.uniform_nll(len(self.vocabulary))

    def score(self, tokens: Iterable[Token]) -> Tally:
        """Return the Tally of tokens as the targets of one document."""
        targets = list(_check.iterable("UniformBaseline", "tokens", tokens))
        for i, token in enumerate(targets):
            self._check_token(f"tokens[{i}]", token)
        return Tally.of([units.uniform_nll(len(self.vocabulary))] * len(targets))

    def _check_token(self, argument: str, token: Token) -> None:
        _check.hashable("UniformBaseline", argument, token)
        if token not in self.vocabulary:
            _check.refuse("UniformBaseline", argument, "be in the vocabulary", token)


class SmoothedUnigram:
    """The unigram model with additive smoothing, fitted once on training targets and frozen.

        p(t)  =  (n(t) + alpha) / (N + alpha V)

    Made by SmoothedUnigram.fit.  It has the attributes vocabulary, alpha, unk and counts (of the training targets).

    >>> model = SmoothedUnigram.fit(["a", "a", "b", "EOS"], ["a", "b", "c", "EOS"])
    >>> [model.probability(token) for token in model.vocabulary]
    [0.375, 0.25, 0.125, 0.25]
    >>> model.score(["c", "EOS"]).mean_nll             # log(32) / 2
    1.732867951399863
    >>> model.nll("d")
    Traceback (most recent call last):
    ValueError: SmoothedUnigram: token must be in the vocabulary (no unk was named), got 'd'

    Accuracy: probabilities are correctly rounded, so what they sum to is within 2**-53 of 1; an nll is within 2 ulp
    where libm's log1p is within 0.9 (proved: the ratio (1 - p) / p is exact and rounded once).  exact.SmoothedUnigram
    gives the last bit of the nll.

    Source: Lidstone's rule; alpha = 1 is Laplace's.  Chen & Goodman (1998), TR-10-98, equation 2.
    """

    def __init__(self, counts: dict[Token, int], alpha: float, unk: Token | None) -> None:
        self.counts, self.alpha, self.unk = counts, alpha, unk
        self.vocabulary = tuple(counts)
        self._alpha = Fraction(alpha)
        self._total = sum(counts.values()) + self._alpha * len(counts)  # ints and a Fraction: exact
        self._nlls: dict[Token, float] = {}

    @classmethod
    def fit(
        cls, targets: Iterable[Token], vocabulary: Iterable[Token], alpha: float = 1.0, unk: Token | None = None
    ) -> "SmoothedUnigram":
        """Return the model of the training targets.

        targets: the tokens to count; not those it will be tested on.
        vocabulary: every token that can be a target, all different.
        alpha: what is added to each count, finite and not negative.  0 allowed: unseen tokens then have nll inf.
        unk: a token of the vocabulary that stands for every token outside it, in training and after.

        >>> SmoothedUnigram.fit("aab", "ab?", alpha=0, unk="?").nll("z")
        inf

        Raises ValueError for an empty vocabulary, a token named twice, a training target outside it without an unk, an
        unk outside it, a negative alpha, or nothing to count with alpha 0; TypeError for a token that has no hash.
        """
        name = "SmoothedUnigram.fit"
        tokens = distinct_tokens(name, vocabulary)
        _check.hashable(name, "unk", unk)
        if unk is not None and unk not in tokens:
            _check.refuse(name, "unk", "be in the vocabulary", unk)
        smoothing = _check.not_negative(name, "alpha", alpha, finite=True)
        counts, given = dict.fromkeys(tokens, 0), list(_check.iterable(name, "targets", targets))
        for i, token in enumerate(given):
            _check.hashable(name, f"targets[{i}]", token)
        for token, n in Counter(given).items():
            if token not in counts and unk is None:
                place = f"targets[{given.index(token)}]"
                _check.refuse(name, place, "be in the vocabulary (no unk was named)", token)
            counts[token if token in counts else unk] += n
        if not smoothing and not any(counts.values()):
            _check.refuse(name, "alpha", "be above 0 where there are no targets", smoothing)
        return cls(counts, alpha if isinstance(alpha, Fraction) else smoothing, unk)

    def probability(self, token: Token, context: Sequence[Token] = ()) -> float:
        """Return p(token); the context has no influence."""
        return float(self._share("token", token))

    def nll(self, token: Token, context: Sequence[Token] = ()) -> float:
        """Return -log p(token), in nats; inf where p is 0."""
        return self._nll("token", token)

    def score(self, tokens: Iterable[Token]) -> Tally:
        """Return the Tally of tokens as the targets of one document."""
        given = _check.iterable("SmoothedUnigram", "tokens", tokens)
        return Tally.of([self._nll(f"tokens[{i}]", token) for i, token in enumerate(given)])

    def _nll(self, argument: str, token: Token) -> float:
        _check.hashable("SmoothedUnigram", argument, token)
        if token not in self._nlls:
            p = self._share(argument, token)
            self._nlls[token] = minus_log(p) if p else inf
        return self._nlls[token]

    def _share(self, argument: str, token: Token) -> Fraction:
        """Return p(token), exactly."""
        _check.hashable("SmoothedUnigram", argument, token)
        if token not in self.counts:
            if self.unk is None:
                _check.refuse("SmoothedUnigram", argument, "be in the vocabulary (no unk was named)", token)
            token = self.unk
        return (self.counts[token] + self._alpha) / self._total


def minus_log(p: Fraction) -> float:
    """Return -log p = log(1 + (1 - p) / p): the ratio keeps the digits of a p near 1."""
    ratio = (1 - p) / p
    if ratio < 2**1000:
        return log1p(float(ratio))
    return log(p.denominator) - log(p.numerator)  # beyond the doubles, where log takes ints of any size


def distinct_tokens(function: str, vocabulary: Iterable[Token]) -> dict[Token, None]:
    """Return the tokens in their order, as the keys of a dict."""
    tokens = list(_check.iterable(function, "vocabulary", vocabulary))
    for i, token in enumerate(tokens):
        _check.hashable(function, f"vocabulary[{i}]", token)
    distinct = dict.fromkeys(tokens)
    if not tokens:
        _check.refuse(function, "vocabulary", "hold at least one token", tokens)
    for i, (token, first) in enumerate(zip(tokens, distinct, strict=False)):
        if token != first:
            _check.refuse(function, f"vocabulary[{i}]", "not be named twice", token)
    if len(distinct) < len(tokens):
        _check.refuse(function, f"vocabulary[{len(distinct)}]", "not be named twice", tokens[len(distinct)])
    return distinct
