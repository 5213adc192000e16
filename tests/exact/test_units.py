"""Units, the unigram model, and numbers that are converted exactly as they are."""

import unittest
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf
from random import Random

from refcalc import exact
from tests.exact import judge

LOG_2, LOG_10 = Decimal(2).ln(judge.WIDE), Decimal(10).ln(judge.WIDE)


class Inversion(unittest.TestCase):
    def test_each_conversion_lies_between_its_half_way_points(self):
        rng = Random(6)
        for i in range(90):
            x, n = rng.random() * 10.0 ** rng.choice([-300, -20, -3, 0, 1, 2]), 1 + int(rng.random() * 1000)
            with self.subTest(i=i, x=x, n=n):
                for got, below in conversions(x, n):
                    self.assertTrue(judge.is_nearest(got, below))
                self.assertEqual(exact.nats_to_bits(-x), -exact.nats_to_bits(x))
                self.assertEqual(exact.bits_to_nats(-x), -exact.bits_to_nats(x))

    def test_logarithms(self):
        for v in (2, 3, 10, 50_257, 10**12):
            for got in (exact.uniform_nll(v), exact.perplexity_to_nll(float(v))):
                self.assertTrue(judge.is_nearest(got, lambda h, v=v: h.exp() < v))


def conversions(x: float, n: int) -> list[tuple[float, Callable[[Decimal], bool]]]:
    """Return each conversion of x, over n where it has a denominator, with the judge of it."""
    results = {
        "exp": exact.perplexity(x),
        "over log 2": exact.nats_to_bits(x),
        "over log 10": exact.nats_to_log10(x),
        "times log 2": exact.bits_to_nats(x),
        "times log 10": exact.log10_to_nats(x),
        "over n log 2": exact.bits_per_byte(x, n),
        "exp over n": exact.word_perplexity(x, n),
    }
    return [(got, conversion(kind, x, n)) for kind, got in results.items()]


@judge.remembered
def conversion(kind: str, x: float, n: int) -> Callable[[Decimal], bool]:
    d = Decimal(x)
    judges: dict[str, Callable[[Decimal], bool]] = {
        "exp": lambda h: h <= 0 or h.ln() < d,
        "over log 2": lambda h: h * LOG_2 < d,
        "over log 10": lambda h: h * LOG_10 < d,
        "times log 2": lambda h: h < d * LOG_2,
        "times log 10": lambda h: h < d * LOG_10,
        "over n log 2": lambda h: h * n * LOG_2 < d,
        "exp over n": lambda h: h <= 0 or h.ln() * n < d,
    }
    return judges[kind]


class Ends(unittest.TestCase):
    def test_overflow_gives_inf_and_the_last_doubles_are_right(self):
        x = 709.782712893384  # the last double below log of the largest one
        self.assertTrue(judge.is_nearest(exact.perplexity(x), lambda h: h.ln() < Decimal(x)))
        self.assertEqual(exact.perplexity(710.0), inf)
        self.assertEqual(exact.perplexity(1e300), inf)
        self.assertEqual(exact.perplexity(inf), inf)
        self.assertEqual(exact.bits_per_token(inf), inf)
        self.assertEqual(exact.nats_to_bits(-inf), -inf)
        self.assertEqual(exact.bits_to_nats(-inf), -inf)

    def test_zero_is_exact(self):
        self.assertEqual(exact.perplexity(0.0), 1.0)
        self.assertEqual(exact.perplexity(5e-324), 1.0)
        self.assertEqual(exact.nats_to_bits(-0.0).hex(), "0x0.0p+0")
        self.assertEqual(exact.perplexity_to_nll(1.0), 0.0)
        self.assertEqual(exact.uniform_nll(1), 0.0)

    def test_refusals(self):
        for f, arguments, message in [
            (
                exact.perplexity,
                (-1.0,),
                "perplexity: mean_nll must not be negative (an nll is minus a log-probability), got -1.0",
            ),
            (
                exact.perplexity,
                (Decimal("0.1"),),
                "perplexity: mean_nll must be exactly a double, got Decimal('0.1')",
            ),
            (exact.bits_per_byte, (1.0, 0), "bits_per_byte: n_bytes must be at least 1, got 0"),
            (exact.perplexity_to_nll, (0.5,), "perplexity_to_nll: ppl must be at least 1, got 0.5"),
            (exact.nats_to_bits, (float("nan"),), "nats_to_bits: nats must be a number, got nan"),
            (exact.uniform_nll, (0,), "uniform_nll: vocab_size must be at least 1, got 0"),
        ]:
            with self.subTest(message=message), self.assertRaises(ValueError) as caught:
                f(*arguments)
            self.assertEqual(str(caught.exception), message)


class Unigram(unittest.TestCase):
    def test_an_nll_is_the_nearest_double_to_the_logarithm_of_a_ratio(self):
        model = exact.SmoothedUnigram.fit("abracadabra", "abcdrz", alpha=0.1)
        total = 11 + 6 * Fraction(0.1)
        for token, count in (("a", 5), ("c", 1), ("z", 0)):
            p = (count + Fraction(0.1)) / total
            self.assertEqual(model.probability(token), float(p))
            ratio = Decimal(p.denominator), Decimal(p.numerator)
            self.assertTrue(judge.is_nearest(model.nll(token), lambda h, r=ratio: h.exp() * r[1] < r[0]))

    def test_scores_are_not_rounded_and_merge(self):
        model = exact.SmoothedUnigram.fit("aab", "abc", alpha=1.0)
        score, whole = model.score("abc") + model.score("a"), model.score("aabc")
        self.assertEqual((score.nll_sum, score.n_targets, score.n_documents), (whole.nll_sum, 4, 2))
        self.assertEqual(exact.word_perplexity(score.nll_sum, 1), 2.0 * 3.0 * 6.0 * 2.0)
        total = exact.SmoothedUnigram.fit("ab", "ab", alpha=0).score("ab").nll_sum
        self.assertEqual(float(total), exact.uniform_nll(4))

    def test_certainty_and_impossibility(self):
        model = exact.SmoothedUnigram.fit("aaa", "ab", alpha=0)
        self.assertEqual((model.nll("a"), model.nll("b")), (0.0, inf))
        self.assertEqual(model.score("aab").mean_nll, inf)
        self.assertEqual(float(model.score("").nll_sum), 0.0)

    def test_an_alpha_that_is_no_double_is_refused(self):
        with self.assertRaises(ValueError) as caught:
            exact.SmoothedUnigram.fit("a", "ab", alpha=Decimal("0.1"))
        message = "SmoothedUnigram.fit: alpha must be exactly a double, got Decimal('0.1')"
        self.assertEqual(str(caught.exception), message)
