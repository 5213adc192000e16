"""The exercise `baselines`: its right answers by the plain formulas, and each mistake in it under its name."""

import random
import statistics
import unittest
from fractions import Fraction
from math import log, log2, log10, sqrt

from refcalc.grading.exercises import EXERCISES
from tests.grading.answers import ExerciseCase


class Baselines(ExerciseCase):
    exercise = EXERCISES["baselines"]

    def test_the_textbook_passes_on_every_draw(self):
        self.assert_textbook_passes(seeds=3)

    def test_a_seed_draws_the_same_again(self):
        self.assert_draws_repeat()

    def test_every_mistake_is_named_when_it_is_the_answer(self):
        self.assert_mistakes_are_named(seed=1)

    def test_what_is_in_no_catalogue_is_explained(self):
        self.assert_own_mistakes_are_explained()

    def test_what_has_no_answer_is_refused(self):
        self.assert_refused("uniform_nll", 0)
        self.assert_refused("add_alpha_unigram", ["a"], [], 1.0)
        self.assert_refused("add_alpha_unigram", ["z"], ["a"], 1.0)
        self.assert_refused("add_alpha_unigram", [], ["a"], 0.0)
        self.assert_refused("bits_per_char", -1.0, 3, 3)
        self.assert_refused("bits_per_char", 1.0, 0, 3)
        self.assert_refused("bits_per_char", 1.0, 3, 0)
        self.assert_refused("mean_and_std", [1.0])


class RightAnswers(ExerciseCase):
    """Figures that the texts of the course work out, and second ways to the same answers."""

    exercise = EXERCISES["baselines"]

    def test_uniform_over_the_characters_of_a_text(self):
        self.assertAlmostEqual(self.function("uniform_nll").oracle(65), 4.174, places=3)
        self.assertAlmostEqual(self.function("uniform_nll").oracle(290), 5.669881, places=6)

    def test_four_targets_smoothed_by_one(self):
        got = self.function("add_alpha_unigram").oracle(["a", "a", "b", "EOS"], ["a", "b", "c", "EOS"], 1.0)
        self.assertEqual(got, {"a": 3 / 8, "b": 2 / 8, "c": 1 / 8, "EOS": 2 / 8})

    def test_unigrams_by_fractions(self):
        function = self.function("add_alpha_unigram")
        for train, vocabulary, alpha in function.draw(random.Random(3)):
            total = len(train) + Fraction(alpha) * len(vocabulary)
            exact = {token: (train.count(token) + Fraction(alpha)) / total for token in vocabulary}
            self.assertEqual(sum(exact.values()), 1)
            self.assertEqual(function.oracle(train, vocabulary, alpha), {t: float(p) for t, p in exact.items()})

    def test_characters_and_word_pieces(self):
        self.assertAlmostEqual(self.function("bits_per_char").oracle(1.77, 100, 100), 2.5536, places=4)
        self.assertAlmostEqual(self.function("bits_per_char").oracle(3.34, 2033, 1000), 2.37, places=2)

    def test_three_seeds(self):
        mean, deviation = self.function("mean_and_std").oracle([1.6757, 1.6792, 1.6856])
        self.assertEqual((round(mean, 4), round(deviation, 4)), (1.6802, 0.0050))  # n would give 0.0041

    def test_deviations_by_the_standard_library(self):
        function = self.function("mean_and_std")
        for (values,) in function.draw(random.Random(3)):
            mean, deviation = function.oracle(values)
            self.assertAlmostEqual(mean, statistics.mean(values), delta=1e-12)
            self.assertAlmostEqual(deviation, statistics.stdev(values), delta=1e-12)


class WrittenByHand(ExerciseCase):
    """Wrong functions as somebody would write them, with nothing of the exercise in them."""

    exercise = EXERCISES["baselines"]

    def test_a_uniform_model(self):
        self.assert_names("uniform_nll", log2, "bits-reported-as-nats")
        self.assert_names("uniform_nll", log10, "log10-as-natural")
        self.assert_names("uniform_nll", float, "perplexity-as-nll")
        self.assert_names("uniform_nll", lambda v: log(1 / v), "sign-left-out")

    def test_characters_for_tokens(self):
        self.assert_names("bits_per_char", lambda loss, c, t: loss / (c / t), "bits-without-ln2")
        self.assert_names("bits_per_char", lambda loss, c, t: loss / log(2), "token-vs-word-unit")
        self.assert_names("bits_per_char", lambda loss, c, t: loss / log(2) / c, "rate-as-total")
        self.assert_names("bits_per_char", lambda loss, c, t: loss / log(2) / (t / c), "tokens-per-character-inverted")

    def test_deviations(self):
        self.assert_names("mean_and_std", lambda x: (statistics.mean(x), statistics.pstdev(x)), "population-deviation")
        self.assert_names("mean_and_std", lambda x: (statistics.mean(x), statistics.stdev(x) / sqrt(len(x))),
                          "error-for-deviation")  # fmt: skip
        self.assert_names("mean_and_std", lambda x: (statistics.mean(x), statistics.variance(x)),
                          "variance-for-deviation")  # fmt: skip

    def test_squares_that_cancel_in_any_order_of_adding(self):
        def one_pass(values, order):
            squares, total = sum(x * x for x in order(values)), sum(order(values))
            mean, n = total / len(values), len(values)
            return mean, sqrt(max(0.0, (squares - n * mean * mean) / (n - 1)))

        for order in (list, reversed, sorted):
            self.assert_names("mean_and_std", lambda x, order=order: one_pass([*x], order), "cancelling-variance")


if __name__ == "__main__":
    unittest.main()
