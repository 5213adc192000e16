"""N-grams as whole numbers.

    B   the base: V tokens, and the digits BOS and NOTHING
    g   an n-gram, the number whose n digits are its tokens

With its first token as the leading digit,

    g // B       is its context, the n-gram without its last token,
    g % B**k     is the k-gram that it ends with,

so one dictionary from whole numbers to counts holds the n-grams of one order, and nothing depends on how a token
hashes or compares.
"""

__all__ = ["Alphabet", "ending_counts", "left_neighbours"]

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from refcalc import _check
from refcalc.baselines.unigram import Token, distinct_tokens

MOST_ORDER = 1000  # its numbers have as many digits: beyond, the powers alone take the memory of a text


class Alphabet:
    """The digits of the tokens of a vocabulary, for n-grams of one order.

    function: who to name in a refusal.
    bos: the token that begins a sequence, in the vocabulary or not; None if there is none.
    unk: the token of the vocabulary that stands for every token outside it; None if there is none.
    """

    def __init__(
        self, function: str, order: int, vocabulary: Iterable[Token], bos: Token | None, unk: Token | None
    ) -> None:
        self.order = _check.count(function, "order", order, least=1)
        if self.order > MOST_ORDER:
            _check.refuse(function, "order", f"be at most {MOST_ORDER}", self.order)
        self.vocabulary = tuple(distinct_tokens(function, vocabulary))
        self.size = len(self.vocabulary)
        self.bos, self.unk = bos, unk
        _check.hashable(function, "bos", bos)
        _check.hashable(function, "unk", unk)
        self._digits = {token: digit for digit, token in enumerate(self.vocabulary)}
        if unk is not None and unk not in self._digits:
            _check.refuse(function, "unk", "be in the vocabulary", unk)
        self._bos = self.size if bos is None else self._digits.setdefault(bos, self.size)
        if unk is not None and self._digits[unk] == self._bos:
            _check.refuse(function, "unk", "be another token than bos, or unknown ones are not counted", unk)
        self.nothing = self.size + 1  # the digit of a token that is not known: no n-gram of training has it
        self.base = self.size + 2
        self.powers = [self.base**k for k in range(self.order + 1)]
        self.beginning = self._bos * self._ones()  # the context of the first token of a sequence: n-1 times BOS

    def count(self, function: str, tokens: Iterable[Token]) -> dict[int, int]:
        """Return how often each n-gram occurs in tokens, those that begin with BOS included."""
        return Counter(self.grams(function, tokens, self.beginning))

    def grams(self, function: str, tokens: Iterable[Token], history: int) -> Iterator[int]:
        """Yield the n-gram that ends at each token that is not bos.  history: the n-1 tokens before the first."""
        digits, base, modulus, bos = self._digits, self.base, self.powers[-2], self._bos
        for i, token in enumerate(_check.iterable(function, "tokens", tokens)):
            try:
                digit = digits[token]
            except (KeyError, TypeError):
                digit = self._stranger(function, f"tokens[{i}]", token)
            if digit == bos:
                history = self.beginning
                continue
            gram = history * base + digit
            yield gram
            history = gram % modulus

    def gram(self, function: str, token: Token, context: Sequence[Token]) -> int:
        """Return the n-gram of a token after a context of any length."""
        digit = self._digit(function, "token", token)
        if digit >= self.size:
            _check.refuse(function, "token", "be in the vocabulary (bos is not)", token)
        return self.history(function, context) * self.base + digit

    def history(self, function: str, context: Sequence[Token]) -> int:
        """Return the last n-1 tokens of a context; NOTHING stands where it is shorter, BOS before a bos in it."""
        if not isinstance(context, Sequence):
            context = _check.items(function, "context", context)
        history = self.nothing * self._ones()
        first = max(0, len(context) - self.order + 1)
        for i in range(first, len(context)):
            digit = self._digit(function, f"context[{i}]", context[i])
            history = self.beginning if digit == self._bos else (history * self.base + digit) % self.powers[-2]
        return history

    def known(self, history: int) -> int:
        """Return how many of the last tokens of a history are known."""
        length = self.order - 1
        while length and history % self.powers[length] // self.powers[length - 1] == self.nothing:
            length -= 1
        return length

    def is_bos(self, token: Token) -> bool:
        """Return whether a token of the text is bos."""
        return self.bos is not None and self._digits.get(token) == self._bos

    def _digit(self, function: str, argument: str, token: Token) -> int:
        try:
            return self._digits[token]
        except (KeyError, TypeError):
            return self._stranger(function, argument, token)

    def _stranger(self, function: str, argument: str, token: Token) -> int:
        """Return the digit of unk for a token outside the vocabulary, or refuse the token."""
        _check.hashable(function, argument, token)
        if self.unk is None:
            _check.refuse(function, argument, "be in the vocabulary (no unk was named)", token)
        return self._digits[self.unk]

    def _ones(self) -> int:
        """Return the history whose n-1 digits are 1."""
        return sum(self.powers[:-2])


def ending_counts(counts: dict[int, int], modulus: int) -> dict[int, int]:
    """Return c: how often the endings (g % modulus) of n-grams occur, given how often the n-grams do."""
    shorter: dict[int, int] = {}
    for gram, count in counts.items():
        ending = gram % modulus
        shorter[ending] = shorter.get(ending, 0) + count
    return shorter


def left_neighbours(counts: dict[int, int], modulus: int) -> dict[int, int]:
    """Return N1+(. w): how many different n-grams of counts have the same ending (g % modulus)."""
    return Counter(gram % modulus for gram in counts)
