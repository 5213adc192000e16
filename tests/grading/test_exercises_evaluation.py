"""The exercise `evaluation`: its right answers by the plain formulas, and each mistake in it under its name."""

import random
import unittest
from fractions import Fraction
from math import exp, fsum, inf, log

from refcalc.grading.exercise import Table
from refcalc.grading.exercises import EXERCISES
from tests.grading.answers import ExerciseCase, answered


class Evaluation(ExerciseCase):
    exercise = EXERCISES["evaluation"]

    def test_the_textbook_passes_on_every_draw(self):
        self.assert_textbook_passes(seeds=3)

    def test_a_seed_draws_the_same_again(self):
        self.assert_draws_repeat()

    def test_every_mistake_is_named_when_it_is_the_answer(self):
        self.assert_mistakes_are_named(seed=1)

    def test_what_is_in_no_catalogue_is_explained(self):
        self.assert_own_mistakes_are_explained()

    def test_what_has_no_answer_is_refused(self):
        self.assert_refused("token_mean", [])
        self.assert_refused("token_mean", [(0.0, 0)])
        self.assert_refused("token_mean", [(-1.0, 2)])
        self.assert_refused("bits_per_byte", 1.0, 0)
        self.assert_refused("document_report", [(1.0, 1, 0)])
        self.assert_refused("windows", [1, 2], 0)
        self.assert_refused("bootstrap_range", [(1.0, 1)], 20, 0)
        self.assert_refused("bootstrap_range", [(1.0, 1), (inf, 1)], 20, 0)
        self.assert_refused("greedy", Table([[0.0, 0.0]]), [0], 1, 0, [])
        self.assert_refused("greedy", Table([[0.0, 0.0]]), [0], 1, 2, [0, 1])


class RightAnswers(ExerciseCase):
    """Figures that the texts of the course work out, and second ways to the same answers."""

    exercise = EXERCISES["evaluation"]

    def test_two_batches_of_different_size(self):
        self.assertAlmostEqual(self.function("token_mean").oracle([(0.1, 1), (18.0, 9)]), 1.81, delta=1e-15)

    def test_two_documents_of_different_length(self):
        report = self.function("document_report").oracle([(6.0, 2, 3), (9.0, 4, 7)])
        self.assertEqual([*report], ["nats_per_target", "perplexity", "bits_per_byte"])
        self.assertEqual(report["nats_per_target"], 2.5)
        self.assertAlmostEqual(report["perplexity"], 12.182494, places=6)
        self.assertAlmostEqual(report["bits_per_byte"], 2.164043, places=6)

    def test_the_range_of_three_documents(self):
        documents = [(2.0, 2), (18.0, 9), (8.0, 4)]
        self.assertEqual(self.function("bootstrap_range").oracle(documents, 2000, 17), (1.0, 2.0))

    def test_ranges_by_fractions(self):
        function = self.function("bootstrap_range")
        for documents, draws, seed in function.draw(random.Random(3)):
            rng, means = random.Random(seed), []
            for _ in range(draws):
                drawn = [rng.choice(documents) for _ in documents]
                means.append(sum(Fraction(s) for s, _ in drawn) / sum(n for _, n in drawn))
            means.sort()
            ends = float(means[int(0.025 * (draws - 1))]), float(means[int(0.975 * (draws - 1))])
            self.assertEqual(function.oracle(documents, draws, seed), ends)

    def test_windows_give_every_token_but_the_first_once_and_share_one(self):
        function = self.function("windows")
        self.assertEqual(function.oracle([5, 6, 7, 8, 9], 3), [([5, 6, 7], [6, 7, 8]), ([8], [9])])
        for tokens, length in function.draw(random.Random(3)):
            pairs = function.oracle(tokens, length)
            self.assertEqual([token for _, wanted in pairs for token in wanted], tokens[1:])
            self.assertEqual([token for inputs, _ in pairs for token in inputs], tokens[:-1])
            self.assertTrue(all(inputs[1:] == wanted[:-1] for inputs, wanted in pairs))
            self.assertEqual({len(inputs) for inputs, _ in pairs[:-1]} - {length}, set())
            self.assertTrue(all(len(inputs) <= length for inputs, _ in pairs))

    def test_generation_by_hand(self):
        greedy = self.function("greedy").oracle
        model = Table([[0.0, 3.0, 2.0, 2.0], [5.0, 0.0, 4.0, 4.0]], multiplier=0)  # the first row after 1 and 3
        self.assertEqual(greedy(model, [1], 1, 9, [0]), [1])
        self.assertEqual(greedy(model, [2], 1, 4, [0]), [2, 2, 2, 2])  # a ban, then a tie
        self.assertEqual(greedy(model, [2], 1, 9, [0, 2]), [3, 1])


def average(values):
    listed = [*values]
    return sum(listed) / len(listed)


def report(documents, **wrong):
    s, n, b = (sum(each[k] for each in documents) for k in range(3))
    return {"nats_per_target": s / n, "perplexity": exp(s / n), "bits_per_byte": s / b / log(2), **wrong}


class WrittenByHand(ExerciseCase):
    """Wrong functions as somebody would write them, with nothing of the exercise in them."""

    exercise = EXERCISES["evaluation"]

    def test_means_of_batches(self):
        self.assert_names("token_mean", lambda b: fsum(s / n for s, n in b if n) / sum(n > 0 for _, n in b),
                          "mean-of-means")  # fmt: skip
        self.assert_names("token_mean", lambda b: fsum(s / n for s, n in b) / len(b), "mean-of-means", "empty-rows-nan")
        self.assert_names("token_mean", lambda b: fsum(s for s, _ in b) / len(b), "divided-by-rows")
        self.assert_names("token_mean", lambda b: fsum(s for s, _ in b), "total-as-rate")
        self.assert_names("token_mean", lambda b: fsum(s for s, _ in b) / sum(n for _, n in b) / log(2),
                          "bits-reported-as-nats")  # fmt: skip

    def test_rates(self):
        self.assert_names("bits_per_byte", lambda s, n: s / n, "bits-without-ln2")
        self.assert_names("bits_per_byte", lambda s, n: s * log(2) / n, "times-log-2")
        self.assert_names("bits_per_byte", lambda s, n: s / log(2), "total-as-rate", "token-vs-word-unit")

    def test_reports(self):
        self.assert_names("document_report", lambda d: report(d, perplexity=average(exp(s / n) for s, n, _ in d)),
                          "mean-of-perplexities")  # fmt: skip
        self.assert_names("document_report", lambda d: report(d, perplexity=2 ** report(d)["nats_per_target"]),
                          "two-to-the-nats")  # fmt: skip
        self.assert_names("document_report", lambda d: report(d, bits_per_byte=report(d)["bits_per_byte"] * log(2)),
                          "bits-without-ln2")  # fmt: skip

    def test_reports_that_are_wrong_in_several_values(self):
        def averages(documents):
            mean, rates = average(s / n for s, n, _ in documents), [s / b / log(2) for s, _, b in documents if b]
            return {"nats_per_target": mean, "perplexity": exp(mean), "bits_per_byte": average(rates)}

        def averages_of_exp(documents):
            return {**averages(documents), "perplexity": average(exp(s / n) for s, n, _ in documents)}

        def other_bases(documents):
            right = report(documents)
            rate = right["bits_per_byte"] * log(2)
            return report(documents, perplexity=2 ** right["nats_per_target"], bits_per_byte=rate)

        self.assert_names("document_report", averages, "macro-vs-micro", "macro-bits-per-byte")
        self.assert_names("document_report", averages_of_exp,
                          "macro-vs-micro", "mean-of-perplexities", "macro-bits-per-byte")  # fmt: skip
        self.assert_names("document_report", other_bases, "two-to-the-nats", "bits-without-ln2")
        self.assert_names("document_report", lambda d: {**averages(d), "perplexity": 7.0},  # which nothing gives
                          "macro-vs-micro", "macro-bits-per-byte")  # fmt: skip

    def test_windows(self):
        def cut(gap, shift):
            def answer(tokens, length):
                ahead, behind = tokens[shift:], tokens[: len(tokens) - shift]
                return [(behind[i : i + length], ahead[i : i + length]) for i in range(0, len(ahead), length + gap)]

            return answer

        def chunks(tokens, length):
            parts = [tokens[i : i + length] for i in range(0, len(tokens), length)]
            return [[part[:-1], part[1:]] for part in parts if part[1:]]

        self.assert_names("windows", cut(0, 0), "no-shift")
        self.assert_names("windows", cut(0, 2), "double-shift")
        self.assert_names("windows", cut(1, 1), "windows-apart")
        self.assert_names("windows", chunks, "window-start-unscored")
        self.assert_names("windows", lambda *call: cut(0, 1)(*call)[:1], "silent-truncation")
        self.assert_names("windows", lambda tokens, n: [
            (tokens[i : i + n], tokens[i + 1 : i + n + 1]) for i in range(0, len(tokens), n)
        ], "window-without-target")  # fmt: skip
        self.assert_names("windows", lambda tokens, n: [
            (tokens[i : i + n], tokens[i + 1 : i + n + 1]) for i in range(0, len(tokens) - 1, n)
        ], "last-input-without-target")  # fmt: skip

    def test_a_ban_by_a_low_score(self):
        def banned_at(score):
            def answer(next_logits, prompt, eos, max_new, banned):
                ids = []
                while len(ids) < max_new and eos not in ids:
                    logits = [score if i in banned else z for i, z in enumerate(next_logits([*prompt, *ids]))]
                    ids.append(logits.index(max(logits)))
                return ids

            return answer

        for score in (-10.0, -100.0, -1000.0):
            self.assert_names("greedy", banned_at(score), "banned-score-finite")
        self.assert_names("greedy", banned_at(0.0), "banned-score-zero")
        self.assertFalse([case for case in answered(self.function("greedy"), banned_at(-inf), 2) if case.fault])

    def test_draws_that_are_not_sorted(self):
        def answer(documents, draws, seed):
            rng, means = random.Random(seed), []
            for _ in range(draws):
                sample = [rng.choice(documents) for _ in documents]
                means.append(fsum(s for s, _ in sample) / sum(n for _, n in sample))
            return means[int(0.025 * (draws - 1))], means[int(0.975 * (draws - 1))]

        self.assert_names("bootstrap_range", answer, "not-sorted")

    def test_generation_as_if_the_model_remembered(self):
        def answer(next_logits, prompt, eos, max_new, banned):
            new, read = [], prompt
            while len(new) < max_new and eos not in new:
                logits = [-inf if i in banned else z for i, z in enumerate(next_logits(read))]
                new.append(logits.index(max(logits)))
                read = new[-1:]
            return new

        self.assert_names("greedy", answer, "newest-token-only")


if __name__ == "__main__":
    unittest.main()
