"""The exercise `loss`: what is asked, that the textbook passes, and that every mistake has its name."""

import unittest
from dataclasses import replace
from functools import partial
from math import exp, inf, isinf, log, log2

from refcalc import MISTAKES
from refcalc.grading import Exercise
from refcalc.grading.exercises import EXERCISES
from refcalc.grading.naming import named
from tests.grading.answers import ExerciseCase, answered, loaded, wrong_by_catalogue
from tests.grading.test_exercises_catalogue import shown

WIDE = 1_000
OF_ROWS = ("token_loss", "sequence_loss", "shifted_loss", "unshifted_loss", "masked_loss")
SCORES = {
    *("double-softmax", "raw-logit-nll", "log-of-softmax-underflow", "epsilon-clipped-log", "epsilon-added-in-log"),
    *("naive-logsumexp", "naive-softmax-nan", "zero-log-zero-nan", "bf16-loss", "bits-reported-as-nats"),
    *("log10-as-natural", "perplexity-as-nll"),
}
MEANS = {
    *("total-as-rate", "divided-by-vocab", "product-underflow", "softmax-wrong-axis", "reshape-not-transpose"),
    *("token-id-zero-dropped", "low-precision-accumulator", "fp16-accumulator"),
}


def narrow(exercise: Exercise) -> Exercise:
    """Return the exercise without the row of 65,537 classes, right answers and evidence computed once."""

    def few(draw):
        return lambda rng: [each for each in draw(rng) if not isinstance(each[0], list) or len(each[0]) < WIDE]

    def once(compute):
        known = {}

        def remembered(*arguments):
            key = repr(arguments)
            if key not in known:
                known[key] = compute(*arguments)
            return known[key]

        return remembered

    functions = [
        replace(
            each,
            draw=few(each.draw),
            oracle=once(each.oracle),
            evidence=None if each.evidence is None else once(each.evidence),
        )
        for each in exercise.functions
    ]
    return Exercise(exercise.name, tuple(functions))


class Loss(ExerciseCase):
    exercise = narrow(EXERCISES["loss"])

    def test_textbook_passes(self):
        self.assert_textbook_passes(5)

    def test_draws_repeat(self):
        self.assert_draws_repeat()

    def test_mistakes_are_named(self):
        self.assert_mistakes_are_named(3)

    def test_mistakes_of_its_own_are_explained(self):
        self.assert_own_mistakes_are_explained()

    def test_the_usual_guards_of_a_logarithm_are_named_by_their_size(self):
        """Written as they are found: by the textbook's softmax, and a running sum."""

        def guarded_loss(guard, rows, targets, mask):
            total = 0.0
            for logits, target, counts in zip(rows, targets, mask, strict=True):
                weights = [exp(z - max(logits)) for z in logits]
                total -= log(guard(weights[target] / sum(weights))) if counts else 0.0
            return total / sum(mask)

        for name, guard in (
            ("1e-12-added-in-log", lambda p: p + 1e-12), ("1e-9-added-in-log", lambda p: 1e-9 + p),
            ("log-clipped-at-1e-10", lambda p: max(p, 1e-10)), ("log-clipped-at-1e-16", lambda p: max(1e-16, p)),
        ):  # fmt: skip
            for seed in range(3):
                function = self.function("masked_loss")
                cases = answered(function, partial(guarded_loss, guard), seed)
                self.assertEqual(named(function, cases), [(name,)])

    def test_as_they_are_written(self):
        """By a loop that divides by what it has counted, and math.log, which raises where others go on with -inf."""

        def probabilities(logits):
            weights = [exp(z - max(logits)) for z in logits]
            return [w / sum(weights) for w in weights]

        def mean(losses):
            return sum(losses) / len(losses)

        def inverted(rows, targets, mask):
            return mean([-log(probabilities(r)[y]) for r, y, kept in zip(rows, targets, mask, strict=True) if not kept])

        def in_the_count_only(rows, targets, mask):
            return sum(loaded("loss").token_loss(r, y) for r, y in zip(rows, targets, strict=True)) / sum(mask)

        def over_time(rows, targets):
            columns = [[*map(log, probabilities(column))] for column in zip(*rows, strict=True)]
            return mean([-columns[y][t] for t, y in enumerate(targets)])

        self.assert_names("log_softmax", lambda logits: [*map(log, probabilities(logits))], "log-of-softmax-underflow")
        self.assert_names("masked_loss", inverted, "inverted-mask")
        self.assert_names("masked_loss", in_the_count_only, "masked-denominator-only")
        for name in ("sequence_loss", "unshifted_loss"):
            function = self.function(name)
            cases = [case for case in answered(function, over_time, 2) if case.reply.kind == "answer"]
            self.assertEqual(named(function, cases), [("softmax-wrong-axis",)])

    def test_a_threshold_far_above_underflow_is_wrong(self):
        for least in (1e-12, 1e-16, 1e-100, 1e-200):
            def cut(logits, least=least):
                return [x if x > log(least) else -inf for x in loaded("loss").log_softmax_naive(logits)]

            for seed in range(5):
                faults = [case for case in answered(self.function("log_softmax_naive"), cut, seed) if case.fault]
                self.assertNotEqual(faults, [], least)

    def test_what_shows_in_the_functions_of_rows(self):
        shows = {name: shown(self.function(name)) for name in OF_ROWS}
        for name in OF_ROWS:
            self.assertEqual(SCORES - shows[name], set(), name)
        for name in OF_ROWS[1:]:
            self.assertEqual(MEANS - shows[name], set(), name)
        shifts = {"no-shift", "no-shift-first-dropped", "no-shift-last-dropped", "double-shift", "reversed-shift"}
        self.assertEqual(shifts - shows["shifted_loss"], set())
        masks = {"padding-scored", "padded-denominator", "inverted-mask", "zero-times-inf-mask", "mask-not-shifted"}
        self.assertEqual(masks - shows["masked_loss"], set())

    def test_a_sum_held_in_float16(self):
        function = next(each for each in EXERCISES["loss"].functions if each.name == "token_loss")
        wrong = dict(wrong_by_catalogue(function))["fp16-lse-width"]
        cases = answered(function, wrong, 1)
        self.assertEqual(sum(case.fault is not None for case in cases), 1)
        self.assertEqual(named(function, cases), [("fp16-lse-width",)])


class Oracles(ExerciseCase):
    """The right answers, by hand."""

    exercise = EXERCISES["loss"]

    def test_by_hand(self):
        third = [0.0, 0.0, 0.0]
        certain = [log(3.0), 0.0]  # 3 : 1
        for name, arguments, want in [
            ("log_softmax", (third,), [-log(3)] * 3),
            ("log_softmax", ([0.0, -inf],), [0.0, -inf]),
            ("log_softmax_naive", ([0.0, -900.0],), [0.0, -inf]),
            ("log_softmax_naive", (certain,), [log(0.75), log(0.25)]),
            ("token_loss", ([0.0, -900.0], 1), 900.0),
            ("sequence_loss", ([third, [*certain, -inf]], [0, 1]), (log(3) + log(4)) / 2),
            ("perplexity", (log(7),), 7.0),
            ("shifted_loss", ([certain, certain, certain], [0, 1, 0]), (log(4) + log(4 / 3)) / 2),
            ("unshifted_loss", ([certain, certain, certain], [0, 1, 0]), (log(4) + 2 * log(4 / 3)) / 3),
            ("masked_loss", ([certain, certain, certain], [1, 0, 1], [0, 1, 1]), (log(4 / 3) + log(4)) / 2),
            ("bits_per_token", (log(8),), 3.0),
        ]:
            with self.subTest(name, arguments=arguments):
                got = self.function(name).oracle(*arguments)
                for a, b in zip(*([got, want] if isinstance(want, list) else [[got], [want]]), strict=True):
                    self.assertTrue(a == b or abs(a - b) < 1e-14, (a, b))

    def test_what_has_no_right_answer(self):
        self.assert_refused("log_softmax_naive", [0.0, -740.0])  # of a subnormal probability
        self.assert_refused("log_softmax", [])
        self.assert_refused("token_loss", [0.0, 0.0], 2)
        self.assert_refused("masked_loss", [[0.0, 0.0]], [0], [0])
        self.assert_refused("shifted_loss", [[0.0, 0.0]], [0])

    def test_the_two_orders_differ_where_a_probability_underflows(self):
        cases = [case.arguments for case in answered(self.function("log_softmax_naive"), lambda logits: [], 5)]
        naive, stable = loaded("loss").log_softmax_naive, loaded("loss").log_softmax
        self.assertGreaterEqual(sum(any(map(isinf, naive(*each))) for each in cases), 2)
        self.assertFalse(any(any(map(isinf, stable(*each))) for each in cases))

    def test_both_forms_of_the_two_conversions_pass(self):
        """2 to the power of bits, and the logarithm to base 2 of the perplexity."""
        for seed in range(20):
            for name, answer in (
                ("perplexity", lambda mean_loss: 2.0 ** (mean_loss / log(2))),
                ("bits_per_token", lambda mean_loss: log2(exp(mean_loss))),
            ):
                faults = [case for case in answered(self.function(name), answer, seed) if case.fault]
                self.assertEqual(faults, [])

    def test_names_are_of_the_catalogue_or_explained_here(self):
        own = {name for each in self.exercise.functions for name in each.mistakes} - {*MISTAKES}
        self.assertEqual(own, {
            *("no-underflow", "log-of-zero", "shifted", "sign-left-out", "sign-turned", "logarithm-left-out"),
            *("normaliser-left-out", "one-minus-probability", "ten-to-the-nats", "times-log-2", "base-10"),
            "masked-denominator-only",
            *(f"1e-{n}-added-in-log" for n in (5, 6, 7, 9, 10, 12, 15, 16, 20)),
            *(f"log-clipped-at-1e-{n}" for n in (5, 6, 8, 9, 10, 12, 15, 16, 20)),
        })


if __name__ == "__main__":
    unittest.main()
