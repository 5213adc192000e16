"""Interpolated Kneser-Ney smoothing with the three discounts of Chen & Goodman."""

__all__ = ["KneserNey"]

from collections import Counter
from collections.abc import Iterable, Sequence

from refcalc import _check
from refcalc.baselines.ngram.alphabet import Alphabet, left_neighbours
from refcalc.baselines.ngram.model import Level, NgramModel
from refcalc.baselines.unigram import Token

Discounts = tuple[float, float, float]

FALL_BACK: Discounts = (0.5, 1.0, 1.5)


class KneserNey(NgramModel):
    """Interpolated modified Kneser-Ney: the strongest model that only counts.

        p_k(w | h)  =  (a(hw) - D(a(hw)) + m(h) p_(k-1)(w | h')) / a(h)        p_0(w)  =  1 / V
        m(h)        =  D1 N1(h.) + D2 N2(h.) + D3 N3+(h.)

    The adjusted count a(hw) is the count c(hw) at the highest order.  At lower orders it is N1+(. hw), how many
    different tokens were seen before hw, for a shorter context is asked only where the longer one does not know:
    "Francisco" is frequent, but hardly ever after anything but "San".  Nk(h.) is how many tokens w have a(hw) = k, and
    a(h) the sum of a(hw) over w.  What D takes away from the counts is what m(h) hands to p_(k-1).

    Each order has its own discounts.  With n_k = how many of its n-grams have a(hw) = k,

        Y  =  n_1 / (n_1 + 2 n_2),    D(k)  =  k - (k + 1) Y n_(k+1) / n_k        k = 1, 2; D(3) also above 3; D(0) = 0

    Where n_1, n_2 or n_3 is 0, or a D(k) is not in (0, k], as in small or artificial data, the discounts of this order
    are 0.5, 1 and 1.5.

    Made by KneserNey.fit.  Beside the attributes of every model it has discounts: (D1, D2, D3) for each order, 1 to n.

    >>> model = KneserNey.fit("abracadabra", 2, "abcdr")
    >>> model.discounts
    ((0.5, 1.0, 1.5), (0.5, 1.0, 1.5))
    >>> model.probability("b", "a")       # (2 - 1 + 2 p_1(b)) / 4, where p_1(b) = (1 - 0.5 + 3.5 / 5) / 8 = 0.15
    0.325

    Accuracy: a probability is within 8 n units of u = 2**-53 of its formula with these discounts, relatively; so are
    the sum over the vocabulary, and, absolutely, an nll, but for the rounding of libm's log (proved: all terms are
    positive, and each order adds at most 8 roundings).  Nothing depends on hashes or on the order of a sum.

    Source: Chen & Goodman (1998), TR-10-98: a in section 2.7, equation 23 at the lowest order; p and m in section 3;
    D in equation 26.  The uniform distribution below the lowest order, and the discounts where equation 26 has no
    answer, are those of KenLM (Heafield et al., 2013).  KenLM and SRILM write one BOS before a sequence and let n-grams
    that begin with it keep their counts c; here there are n-1 and no exception.
    """

    discounts: tuple[Discounts, ...]

    @classmethod
    def fit(
        cls,
        tokens: Iterable[Token],
        order: int,
        vocabulary: Iterable[Token],
        *,
        bos: Token | None = None,
        unk: Token | None = None,
        discounts: Sequence[float] | None = None,
    ) -> "KneserNey":
        """Return the model of the training tokens, which are read once and not kept.

        order: n, from 1 to 1000.
        vocabulary: every token that can be a target, all different.
        bos: the token that begins a sequence; None: the history runs on.
        unk: a token of the vocabulary that stands for every token outside it, in training and after.
        discounts: D1, D2 and D3 for every order, D(k) in (0, k]; three equal ones are the unmodified Kneser-Ney; None:
            estimated for each order.

        >>> KneserNey.fit("aab", 2, "ab").probability("c")
        Traceback (most recent call last):
        ValueError: KneserNey: token must be in the vocabulary (no unk was named), got 'c'

        Raises ValueError for an order below 1 or above 1000, an empty vocabulary, a token named twice, a training
        token outside it without an unk, an unk outside it or equal to bos, or discounts out of their range; TypeError
        for a token that has no hash, or tokens that are not iterable.
        """
        name = "KneserNey.fit"
        alphabet = Alphabet(name, order, vocabulary, bos, unk)
        given = None if discounts is None else _three_discounts(name, discounts)
        levels = []
        counts = alphabet.count(name, tokens)
        for k in range(alphabet.order, 0, -1):
            if k < alphabet.order:
                counts = left_neighbours(counts, alphabet.powers[k])
            levels.append(_level(counts, alphabet.base, alphabet.powers[k], given or estimated_discounts(counts)))
        return cls(alphabet, levels[::-1])

    def __init__(self, alphabet: Alphabet, levels: list[Level]) -> None:
        super().__init__(alphabet, levels)
        self.discounts = tuple(level.discounts[1:] for level in levels)


def estimated_discounts(counts: dict[int, int]) -> Discounts:
    """Return D(1), D(2) and D(3) of one order: equation 26, rounded once, or what stands in where it has no answer."""
    number = Counter(counts.values())  # number[k] is n_k
    if not (number[1] and number[2] and number[3]):
        return FALL_BACK
    below = number[1] + 2 * number[2]
    d1, d2, d3 = (
        (k * number[k] * below - (k + 1) * number[1] * number[k + 1]) / (number[k] * below) for k in (1, 2, 3)
    )
    return (d1, d2, d3) if d1 > 0.0 and d2 > 0.0 and d3 > 0.0 else FALL_BACK


def _level(counts: dict[int, int], base: int, modulus: int, discounts: Discounts) -> Level:
    """Return the level of n-grams with these adjusted counts.

    One pass gathers a(h), N1(h.), N2(h.) and N3+(h.) as the digits of one number, to a base that none of them reaches.
    Most contexts are alike, so the numbers are taken apart, and (d, m) is kept, once for all that are equal.
    """
    limit = 1 + sum(counts.values())
    weights = (0, limit, limit**2, limit**3)
    digits: dict[int, int] = {}
    for gram, count in counts.items():
        context = gram // base
        digits[context] = digits.get(context, 0) + count + weights[count if count < 3 else 3]
    kinds = {number: _denominator_and_mass(number, limit, discounts) for number in set(digits.values())}
    contexts = {context: kinds[number] for context, number in digits.items()}
    return Level(counts, contexts, modulus, (0.0, *discounts))


def _denominator_and_mass(number: int, limit: int, discounts: Discounts) -> tuple[float, float]:
    rest, total = divmod(number, limit)
    rest, ones = divmod(rest, limit)
    more, twos = divmod(rest, limit)
    return total, discounts[0] * ones + discounts[1] * twos + discounts[2] * more


def _three_discounts(function: str, discounts: Sequence[float]) -> Discounts:
    values = _check.weights(function, "discounts", discounts)
    if len(values) != 3:
        _check.refuse(function, "discounts", "be three numbers", discounts)
    for k, value in enumerate(values, 1):
        if not 0.0 < value <= k:
            _check.refuse(function, f"discounts[{k - 1}]", f"be above 0 and at most {k}", value)
    return values[0], values[1], values[2]
