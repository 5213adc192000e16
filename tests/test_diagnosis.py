"""diagnose: what it says of a number, when it agrees, and what it refuses."""

import os
import subprocess
import sys
import unittest
from math import exp, inf, log, nan, nextafter
from typing import Any

from refcalc import Batch, Records, diagnose, probe
from refcalc.diagnosis import Diagnosis

HALVES = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]  # every nll is log 2
SEEN_TOGETHER = Records([[1.0, 2.0], [4.0], [3.0, 3.0, 3.5]], groups=[[0], [1, 2]], n_bytes=11, n_chars=9)
SIX = Records([[2, 2, 2, 2], [1.004]], groups=[[0], [1]])


def names(found: Diagnosis) -> list[str]:
    return [" + ".join(candidate.mistakes) for candidate in found.candidates]


class Verdicts(unittest.TestCase):
    def test_the_right_number_agrees_and_says_what_it_could_not_tell(self):
        found = diagnose(log(2), Batch(HALVES, [0, 1, 0]))
        self.assertEqual((found.agrees, found.right, found.candidates), (True, log(2), ()))
        self.assertIn("no-shift", found.hidden)
        self.assertNotIn("raw-logit-nll", found.hidden)
        self.assertIn("On this evidence it would be the same with these mistakes:\n", str(found))
        self.assertIn("\n  no-shift: tokens and logits are constant\n", str(found))

    def test_two_mistakes_of_different_steps_are_named_together(self):
        # the mean of means times 6 targets, over characters; right is 16.5 over 11 bytes
        wrong = (3 / 2 + 13.5 / 4) / 2 * 6 / 9 / log(2)
        found = diagnose(wrong, SEEN_TOGETHER, quantity="bits_per_byte")
        self.assertEqual(names(found)[0], "mean-of-means + chars-for-bytes")
        self.assertEqual(len(found.candidates[0].mistakes), 2)

    def test_a_typed_zero_of_any_size_stands_for_no_other_number(self):
        for text in ("0e400", "0e99999999999"):
            with self.subTest(text), self.assertRaises(ValueError) as caught:
                diagnose(text, Records([1.0, 2.0]))
            message = f"diagnose: reported must have an exponent within the doubles, got {text!r}"
            self.assertEqual(str(caught.exception), message)

    def test_the_nearest_misses_are_wrong_numbers(self):
        found = diagnose(1e30, Records([[1.0, 2.0], [4.0]], groups=[[0], [1]]))
        self.assertNotIn(found.right, [candidate.value for candidate in found.nearest])

    def test_the_order_of_candidates_does_not_depend_on_the_hash_seed(self):
        code = (
            "from refcalc import Records, diagnose\n"
            "records = Records([[1.0], [3.0]], groups=[[0], [1]], window=1, n_bytes=2, n_chars=2, n_words=2)\n"
            "print([c.mistakes for c in diagnose('1', records).candidates])"
        )
        orders = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("0", "7")
        }
        self.assertEqual(len(orders), 1)

    def test_a_near_miss_is_asked_for_its_dtype(self):
        records = Records([[0.1], [2.0] * 9], groups=[[0], [1]])
        hint = "if the number was computed in float32, give that dtype"
        for reported, near in [(1.05000001, True), (1.81000001, True), (7.0, False)]:
            with self.subTest(reported):
                self.assertEqual(hint in str(diagnose(reported, records)), near)
        self.assertEqual(diagnose(1.05000001, records, dtype="float32").candidates[0].mistakes, ("mean-of-means",))

    def test_what_nothing_explains_says_so_with_the_nearest_misses(self):
        found = diagnose(123.456, SEEN_TOGETHER)
        self.assertEqual(found.candidates, ())
        self.assertIn("No mistake of the catalogue, and no two of different steps, give it.\nThe nearest", str(found))
        gaps = [abs(candidate.value - 123.456) for candidate in found.nearest]
        self.assertEqual(gaps, sorted(gaps))

    def test_a_pair_is_left_out_where_one_of_it_explains_the_number(self):
        found = diagnose(16.5 / 9, SEEN_TOGETHER)
        self.assertEqual(names(found)[0], "unshifted-token-count")
        self.assertFalse(any("unshifted-token-count +" in name or "+ unshifted" in name for name in names(found)))

    def test_all_that_match_are_reported(self):
        found = diagnose(1.0, Records([[1.0], [3.0]], groups=[[0], [1]]))
        self.assertIn("double-scaled", names(found))
        self.assertIn("unshifted-token-count", names(found))  # K = 2 and one target a row: both halve the mean
        self.assertIn("this evidence cannot tell them apart", str(found))

    def test_inf_and_nan_are_matched_to_the_mistakes_that_give_them(self):
        far = Batch([[0.0, 800.0], [0.0, 0.0]], [1, 0])
        self.assertIn("log-of-softmax-underflow", names(diagnose(inf, far)))
        large = Batch([[1000.0, 1000.0], [0.0, 0.0]], [1, 0])
        self.assertEqual(names(diagnose(inf, large)), ["naive-logsumexp"])
        self.assertEqual(names(diagnose("nan", large)), ["naive-softmax-nan"])
        self.assertEqual(diagnose(nan, Records([1.0])).candidates, ())
        self.assertTrue(diagnose(inf, Records([inf])).agrees)
        self.assertEqual(
            str(diagnose(-inf, Records([1.0]))).splitlines()[0], "-inf is not the right mean_nll, which is 1."
        )

    def test_a_label_that_is_no_class_has_no_right_answer_but_a_mistake_may_explain_the_number(self):
        batch = Batch([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [0, 0], labels=[0, -1])
        found = diagnose("0.4076", batch)
        self.assertEqual((found.right, names(found)), (None, ["target-index-wraps"]))
        rule = "the target of logits[0] must lie in [0, 3), got -1"
        self.assertTrue(str(found).startswith(f"There is no right mean_nll: diagnose: {rule}."))
        with self.assertRaises(ValueError) as caught:
            diagnose(0.5, batch)
        self.assertEqual(str(caught.exception), f"diagnose: {rule}")

    def test_two_customs_are_no_mistake(self):
        found = diagnose(2.0, Records([[1] * 9, [3]]))
        self.assertEqual(names(found), ["macro-vs-micro"])
        self.assertIn("\n    No mistake by itself: two customs that get compared as if they were one.\n", str(found))

    def test_it_has_no_truth_value(self):
        with self.assertRaises(TypeError) as caught:
            bool(diagnose(1.0, Records([1.0])))
        self.assertEqual(str(caught.exception), "Diagnosis has no truth value: ask for .agrees")

    def test_what_cannot_be_tried_is_listed_with_what_it_needs(self):
        found = diagnose(1.0, Records([1.0, 2.0]))
        self.assertEqual(found.untried["mean-of-means"], "groups")
        self.assertEqual(found.untried["no-shift"], "logits")

    def test_distances_are_relative_and_in_ulp_of_the_dtype(self):
        wrong = nextafter(nextafter(1.5, 2), 2)
        found = diagnose(wrong, Records([[2, 2, 2, 2], [1]], groups=[[0], [1]]))
        self.assertEqual((found.candidates[0].value, found.candidates[0].ulp), (1.5, 2))
        self.assertEqual(found.candidates[0].relative, 2.0**-51 / 1.5)
        self.assertAlmostEqual(found.relative, 0.3 / 1.8, delta=1e-15)


class WhatCannotBeSeen(unittest.TestCase):
    # 20.4 / 11 = 1.8545...; the mean of means is (5/3 + 15.4/8) / 2 = 1.79583...
    EVIDENCE = Records([[1.0, 2.0, 2.0], [1.5, 3.2, 1.7, 1.8, 2.2, 2.0, 2.0, 1.0]], groups=[[0], [1]])

    def test_digits_that_end_early_agree_as_far_as_they_go(self):
        said = str(diagnose("2", self.EVIDENCE))
        self.assertTrue(said.startswith("2 agrees with the right mean_nll, 1.854545455, as far as its digits go.\n"))
        self.assertIn("\n  mean-of-means: not told apart by these digits\n", said)
        self.assertIn("\n  padded-denominator: everything counts\n", said)
        right = "1.8545454545454545 is the right mean_nll: 1.854545455."
        self.assertEqual(str(diagnose("1.8545454545454545", self.EVIDENCE)).splitlines()[0], right)

    def test_a_kind_is_hidden_only_if_the_digits_could_be_its_own(self):
        evidence = Records([[1.0, 1.0, 1.0, 4.0], [2.0, 2.0, 1.98]], groups=[[0], [1]])  # 1.8543; by means 1.8717
        self.assertTrue(diagnose("1.85", evidence).agrees)
        self.assertNotIn("mean-of-means", diagnose("1.85", evidence).hidden)  # it would be typed as 1.87
        self.assertIn("mean-of-means", diagnose("1.9", evidence).hidden)
        self.assertEqual(diagnose("1.9", evidence).vague["mean-of-means"], "its digits")
        self.assertNotIn("padded-denominator", diagnose("1.9", evidence).vague)

    def test_a_coarse_dtype_and_a_tolerance_are_said_to_be_the_reason(self):
        said = str(diagnose(1.85, self.EVIDENCE, dtype="bfloat16"))
        self.assertTrue(said.startswith("1.85 is the right mean_nll: 1.854545455, within the rounding of bfloat16.\n"))
        self.assertIn("\n  mean-of-means: not told apart by bfloat16\n", said)
        said = str(diagnose(1.86, self.EVIDENCE, tolerance=0.05))
        self.assertTrue(said.startswith("1.86 is the right mean_nll: 1.854545455, within the tolerance.\n"))
        self.assertIn("\n  mean-of-means: not told apart by the tolerance\n", said)

    def test_a_wrong_number_leaves_hidden_what_makes_no_difference(self):
        found = diagnose("7.1", self.EVIDENCE)
        self.assertIn("padded-denominator", found.hidden)
        self.assertEqual((found.vague, found.limit), ({}, ""))


class Text(unittest.TestCase):
    def test_what_was_not_tried_is_said_where_nothing_explains_the_number(self):
        said = str(diagnose(77.5, Records([1.0, 2.0])))
        self.assertIn("\nNot tried without logits: double-shift, no-shift, no-shift-first-dropped and ", said)
        self.assertIn("\nNot tried without groups: mean-of-means, ", said)
        self.assertRegex(said.splitlines()[-1], r"^Nor \d+ more without .*\beos_id\b.*\.$")

    def test_differences_are_shown(self):
        self.assertIn(
            "  mean-of-means: 1.502 (relative difference 0.0013)\n", str(diagnose("1.5", SIX, tolerance=0.002))
        )
        self.assertRegex(
            str(diagnose(123.456, SEEN_TOGETHER)), r"misses:\n  .*: [0-9.]+ \(relative difference [0-9.]+\)"
        )

    def test_each_sentence_of_a_pair_says_whose_it_is(self):
        wrong = (3 / 2 + 13.5 / 4) / 2 * 6 / 9 / log(2)
        said = str(diagnose(wrong, SEEN_TOGETHER, quantity="bits_per_byte"))
        self.assertIn("\n    mean-of-means: Each batch, ", said)
        self.assertIn("\n    chars-for-bytes: The characters of the text are counted as its bytes.\n", said)

    def test_the_first_three_of_many_are_explained(self):
        found = diagnose("1.2", probe())
        self.assertGreater(len(found.candidates), 3)
        lines = str(found).splitlines()
        listed = [i for i, line in enumerate(lines) if "(relative difference " in line]
        self.assertEqual(len(listed), len(found.candidates))
        explained = [i for i in listed if lines[i + 1].startswith("    ")]
        self.assertEqual(explained, listed[:3])

    def test_few_digits_may_match_by_chance(self):
        records = Records([[2, 2, 2, 2], [1]], groups=[[0], [1]])
        chance = " kinds and pairs were tried; with so few digits a match may be chance."
        for reported, said in (("1.5", True), ("1.500", True), ("0.001500e3", True), ("1.5000", False), (1.5, False)):
            with self.subTest(reported):
                found = diagnose(reported, records)
                self.assertEqual(str(found).endswith(f"\n{found.tried}{chance}"), said)
        self.assertGreater(found.tried, 50)


class Tolerance(unittest.TestCase):
    def test_a_text_stands_for_all_that_is_rounded_to_it(self):
        evidence = Records([1.0, 2.0, 2.0])  # 5/3
        for text, agrees in (("1.67", True), ("1.6667", True), ("1.66", False), ("1.7e0", True), ("167e-2", True)):
            with self.subTest(text):
                self.assertEqual(diagnose(text, evidence).agrees, agrees)
        self.assertFalse(diagnose(1.67, evidence).agrees)

    def test_it_follows_the_dtype(self):
        evidence = Records([2.0] * 40)
        for dtype, near, far in (("float64", 1e-15, 1e-12), ("float32", 1e-7, 1e-4), ("bfloat16", 1e-2, 0.5)):
            with self.subTest(dtype):
                self.assertTrue(diagnose(2.0 * (1 + near), evidence, dtype=dtype).agrees)
                self.assertFalse(diagnose(2.0 * (1 + far), evidence, dtype=dtype).agrees)

    def test_a_perplexity_multiplies_the_error_of_its_logarithm(self):
        evidence = Records([200.0] * 40)
        off = 200.0 * (1 + 2e-7)  # a rounding of the mean in float32
        self.assertTrue(diagnose(off, evidence, dtype="float32").agrees)
        self.assertTrue(diagnose(exp(off), evidence, quantity="perplexity", dtype="float32").agrees)
        self.assertFalse(diagnose(exp(200.0) * 1.001, evidence, quantity="perplexity", dtype="float32").agrees)

    def test_one_that_is_given_is_relative(self):
        self.assertTrue(diagnose(2.02, Records([2.0]), tolerance=0.011).agrees)
        self.assertFalse(diagnose(2.02, Records([2.0]), tolerance=0.009).agrees)


class Refusals(unittest.TestCase):
    def assert_refused(self, message: str, *arguments: Any, kind: type[Exception] = ValueError, **options: Any) -> None:
        with self.assertRaises(kind) as caught:
            diagnose(*arguments, **options)
        self.assertEqual(str(caught.exception), message)

    def test_numbers(self):
        one = Records([1.0])
        self.assert_refused(
            "diagnose: reported must not be negative (no perplexity is), got -1.0", -1.0, one, quantity="perplexity"
        )
        self.assert_refused("diagnose: reported must be a number, got 'high'", "high", one)
        self.assert_refused("diagnose: reported must be a number, got None", None, one, kind=TypeError)
        self.assert_refused("diagnose: tolerance must not be negative, got -0.1", 1.0, one, tolerance=-0.1)

    def test_evidence(self):
        for quantity, count in (
            ("bits_per_byte", "n_bytes"),
            ("byte_perplexity", "n_bytes"),
            ("bits_per_char", "n_chars"),
            ("word_perplexity", "n_words"),
        ):
            message = f"diagnose: evidence must have {count} for {quantity}, got None"
            self.assert_refused(message, 1.0, Records([1.0]), quantity=quantity)
        nothing = "diagnose: evidence must hold a target that counts (nothing to average), got none"
        self.assert_refused(nothing, 1.0, Records([]))
        self.assert_refused(nothing, 1.0, Batch(HALVES, [0, 1, 0], labels=[-100] * 3))
        self.assert_refused("diagnose: evidence must be a Batch or Records, got [1.0]", 1.0, [1.0], kind=TypeError)

    def test_scores(self):
        for row, message in (
            ([nan, 0.0], "diagnose: logits[1][0] must be finite or -inf, got nan"),
            ([-inf, -inf], "diagnose: logits[1] must hold a score above -inf, got [-inf, -inf]"),
        ):
            self.assert_refused(message, 1.0, Batch([[0.0, 0.0], row, [0.0, 0.0]], [0, 1, 0]))

    def test_the_place_of_a_score_in_a_batch_has_both_indices(self):
        batch = Batch([[[0.0, 0.0], [0.0, 0.0]], [[0.0, inf], [0.0, 0.0]]], [[0, 1], [1, 0]])
        self.assert_refused("diagnose: logits[1][0][1] must be finite or -inf, got inf", 1.0, batch)

    def test_options(self):
        self.assert_refused(
            "diagnose: quantity must be one of 'mean_nll', 'nll_sum', 'perplexity', 'bits_per_token', 'bits_per_byte', "
            "'bits_per_char', 'byte_perplexity', 'word_perplexity', got 'loss'",
            1.0, Records([1.0]), quantity="loss",
        )  # fmt: skip
        self.assert_refused(
            "diagnose: dtype must be one of 'float64', 'float32', 'float16', 'bfloat16', got 'fp8'",
            1.0, Records([1.0]), dtype="fp8",
        )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
