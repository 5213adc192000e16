"""The n-gram models beside nltk.lm's, on the same tokens: equal where both define the same thing.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_ngram.py

Where nltk (3.10) defines something else:

- Its padded_everygram_pipeline counts <s> as if it were predicted.  Here its n-grams are made without those whose last
  token is <s>, and then the counts of both are the same.
- Its Kneser-Ney and Witten-Bell end in relative frequencies: a token that training never saw has probability 0 and
  makes a text infinitely improbable.  refcalc goes one step further down, to 1 / V.  Nltk's recursion is run here with
  refcalc's unigram probabilities in that place; everything above them is nltk's own.
- Its Kneser-Ney has one discount for all counts, refcalc three, estimated for each order; here both use the same one.
- Its vocabulary always holds <UNK> and, with padding, <s>, which therefore get a share of additive smoothing.  Here
  refcalc is given the same vocabulary.
- Without padding, the first n-gram of a text has no left neighbour, and where it occurs nowhere else nltk's Kneser-Ney
  divides by zero; in refcalc BOS is the neighbour.
"""

import math
import unittest
from collections.abc import Iterator
from random import Random
from typing import Any

from nltk.lm import KneserNeyInterpolated, Lidstone, StupidBackoff, Vocabulary, WittenBellInterpolated
from nltk.util import everygrams, pad_sequence

import refcalc

BOS, UNK = "<s>", "<UNK>"
WORDS = ["a", "b", "c", "d"]


def sequences(seed: int, count: int) -> list[list[str]]:
    rng = Random(seed)
    return [
        [WORDS[int(3 * rng.random() * rng.random())] for _ in range(3 + int(9 * rng.random()))] for _ in range(count)
    ]


def grams(sequence: list[str], order: int) -> Iterator[tuple[str, ...]]:
    """Yield the n-grams of a padded sequence, of all orders, that end in a target."""
    padded = list(pad_sequence(sequence, order, pad_left=True, left_pad_symbol=BOS))
    return (gram for gram in everygrams(padded, max_len=order) if gram[-1] != BOS)


def fitted(model: Any, texts: list[list[str]], order: int) -> Any:
    """Return nltk's model, fitted."""
    model.fit([list(grams(text, order)) for text in texts], [*WORDS, BOS])
    return model


def stream(texts: list[list[str]]) -> list[str]:
    """Return the sequences as refcalc reads them."""
    return [token for text in texts for token in (BOS, *text)]


def seen_contexts(texts: list[list[str]], order: int) -> list[tuple[str, ...]]:
    """Return contexts that training knows, of every length, and their extensions by one token in front."""
    seen = {gram[:-1] for text in texts for gram in grams(text, order)}
    return sorted(
        seen | {(w, *context) for context in seen for w in WORDS if len(context) < order - 1 and BOS not in context}
    )


class Nltk(unittest.TestCase):
    def compare(self, ours: Any, theirs: Any, texts: list[list[str]], order: int) -> None:
        score = getattr(ours, "unnormalised_score", None) or ours.probability
        compared = 0
        for context in seen_contexts(texts, order):
            if BOS in context and len(context) < order - 1:
                continue  # refcalc fills such a context up with BOS, nltk takes it as it is
            for token in WORDS:
                want = theirs.score(token, context or None)
                self.assertAlmostEqual(score(token, context), want, delta=1e-13, msg=(context, token))
                compared += 1
        self.assertGreaterEqual(compared, 4 * (2 * order - 1))

    def test_additive_is_lidstone(self) -> None:
        for order in (1, 2, 3):
            texts = sequences(order, 20)
            theirs = fitted(Lidstone(0.3, order, vocabulary=Vocabulary([*WORDS, BOS])), texts, order)
            self.assertEqual(sorted(theirs.vocab), sorted([*WORDS, BOS, UNK]))
            ours = refcalc.Additive.fit(stream(texts), order, [*WORDS, BOS, UNK], alpha=0.3, bos=BOS)
            self.compare(ours, theirs, texts, order)

    def test_stupid_back_off_is_stupid_back_off(self) -> None:
        for order in (1, 2, 3, 4):
            texts = sequences(order, 20)
            theirs = fitted(StupidBackoff(0.4, order, vocabulary=Vocabulary([*WORDS, BOS])), texts, order)
            ours = refcalc.StupidBackoff.fit(stream(texts), order, WORDS, bos=BOS)
            self.compare(ours, theirs, texts, order)

    def test_witten_bell_is_witten_bell_above_the_unigrams(self) -> None:
        for order in (1, 2, 3, 4):
            texts = sequences(order, 20)
            theirs = fitted(WittenBellInterpolated(order, vocabulary=Vocabulary([*WORDS, BOS])), texts, order)
            ours = refcalc.WittenBell.fit(stream(texts), order, WORDS, bos=BOS)
            self.assertEqual(theirs.score("d"), 0.0)  # never seen
            theirs.estimator.unigram_score = ours.probability
            self.compare(ours, theirs, texts, order)

    def test_kneser_ney_with_one_discount_is_nltk_s_above_the_unigrams(self) -> None:
        for order in (2, 3, 4):
            texts = sequences(order, 20)
            theirs = fitted(KneserNeyInterpolated(order, 0.6, vocabulary=Vocabulary([*WORDS, BOS])), texts, order)
            ours = refcalc.KneserNey.fit(stream(texts), order, WORDS, bos=BOS, discounts=(0.6, 0.6, 0.6))
            # At the lowest order both count left neighbours; refcalc discounts these too, in favour of 1 / V.
            neighbours = {w: theirs.estimator._continuation_counts(w) for w in WORDS}
            total = neighbours["a"][1]
            kinds = sum(n > 0 for n, _ in neighbours.values())
            for token, (n, _) in neighbours.items():
                want = (max(n - 0.6, 0.0) + 0.6 * kinds / len(WORDS)) / total
                self.assertAlmostEqual(ours.probability(token), want, delta=1e-13)
            theirs.estimator.unigram_score = ours.probability
            self.compare(ours, theirs, texts, order)

    def test_without_padding_nltk_divides_by_zero_at_the_beginning_of_a_text(self) -> None:
        theirs = KneserNeyInterpolated(3, 0.6)
        theirs.fit([list(everygrams(["c", "a", "b"], max_len=3))], ["a", "b", "c"])
        with self.assertRaises(ZeroDivisionError):
            theirs.score("a", ("c",))
        ours = refcalc.KneserNey.fit(["c", "a", "b"], 3, ["a", "b", "c"])
        self.assertAlmostEqual(math.fsum(ours.probability(w, ["c"]) for w in "abc"), 1.0, delta=1e-15)

    def test_the_perplexity_of_a_text_is_nltk_s(self) -> None:
        texts, held_out = sequences(7, 40), sequences(8, 1)[0]
        theirs = fitted(WittenBellInterpolated(3, vocabulary=Vocabulary([*WORDS, BOS])), texts, 3)
        ours = refcalc.WittenBell.fit(stream(texts), 3, WORDS, bos=BOS)
        theirs.estimator.unigram_score = ours.probability
        trigrams = [gram for gram in grams(held_out, 3) if len(gram) == 3]
        tally = ours.score([BOS, *held_out])
        self.assertEqual(tally.n_targets, len(trigrams))
        self.assertAlmostEqual(tally.perplexity, theirs.perplexity(trigrams), delta=1e-12)
        self.assertAlmostEqual(tally.bits_per_token, theirs.entropy(trigrams), delta=1e-13)

    def test_the_scores_of_stupid_back_off_do_not_sum_to_one(self) -> None:
        """Nltk gives them a perplexity all the same, which a larger alpha makes as small as one likes."""
        texts = [["a", "b", "a"], ["a", "c"]]
        found = {}
        for alpha in (0.4, 1.0):
            theirs = fitted(StupidBackoff(alpha, 2, vocabulary=Vocabulary([*WORDS, BOS])), texts, 2)
            found[alpha] = theirs.perplexity([("a", "a"), ("b", "b")])
        self.assertLess(found[1.0], found[0.4])
        ours = refcalc.StupidBackoff.fit(stream(texts), 2, WORDS, bos=BOS)
        total = math.fsum(ours.unnormalised_score(w, "a") for w in WORDS)
        self.assertAlmostEqual(total, 1.0 + 0.4 * 3 / 5, delta=1e-15)  # a b and a c share 1; a has 3 of 5 unigrams
        with self.assertRaises(ValueError):
            ours.score(["a", "b"])


if __name__ == "__main__":
    unittest.main()
