"""Where there is no plain answer: what each framework returns, and what refcalc does, side by side.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_edge_cases.py

A test first states what the frameworks do, measured with the versions that the peers pin or bring.  If one of these
lines fails, a framework has changed, and the test's reader should know.
"""

import unittest
from collections.abc import Callable
from math import exp, inf, isnan, log, nan
from typing import Any

import jax
import numpy as np
import optax
import scipy.special
import torch
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window
from nltk.lm import Lidstone
from torch.nn.functional import cross_entropy as torch_loss
from torchmetrics.functional.text import perplexity as torchmetrics_perplexity
from transformers.loss.loss_utils import ForCausalLMLoss
from transformers.trainer_pt_utils import LabelSmoother

import refcalc

jax.config.update("jax_enable_x64", True)

optax_loss = optax.softmax_cross_entropy_with_integer_labels

ROWS = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]


def t(values: Any) -> torch.Tensor:
    """Return a float64 tensor, or one of whole numbers."""
    tensor = torch.tensor(values)
    return torch.tensor(values, dtype=torch.float64) if tensor.is_floating_point() else tensor


def j(values: Any) -> jax.Array:
    return jax.numpy.asarray(values, dtype=float)


class Case(unittest.TestCase):
    def assert_nan(self, *values: Any) -> None:
        for value in values:
            self.assertTrue(isnan(value), value)

    def assert_value(self, want: float, *values: Any) -> None:
        for value in values:
            self.assertAlmostEqual(float(value), want, delta=1e-12)

    def assert_refused(self, message: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        with self.assertRaises(ValueError) as refusal:
            function(*arguments, **options)
        self.assertEqual(str(refusal.exception), message)


class NothingToAverage(Case):
    def test_every_target_ignored(self):
        targets = [-100, -100]
        self.assert_nan(torch_loss(t(ROWS), t(targets)))
        self.assertEqual(torch_loss(t(ROWS), t(targets), reduction="sum"), 0.0)
        self.assertEqual(torch_loss(t(ROWS), t(targets), reduction="none").tolist(), [0.0, 0.0])
        self.assert_nan(torchmetrics_perplexity(t([ROWS]), t([targets]), ignore_index=-100))

        message = "cross_entropy: targets must hold a target that counts (nothing to average), got [-100, -100]"
        self.assert_refused(message, refcalc.cross_entropy, ROWS, targets)
        self.assertEqual(refcalc.cross_entropy(ROWS, targets, reduction="sum"), 0.0)
        self.assertEqual(refcalc.cross_entropy(ROWS, targets, reduction="none"), [0.0, 0.0])
        self.assertEqual(refcalc.cross_entropy_gradient(ROWS, targets, reduction="sum"), [[0.0] * 3] * 2)

    def test_an_empty_batch(self):
        rows, targets = torch.empty(0, 3, dtype=torch.float64), torch.empty(0, dtype=torch.long)
        self.assert_nan(torch_loss(rows, targets), optax_loss(j(rows.numpy()), targets.numpy()).mean())
        self.assertEqual(torch_loss(rows, targets, reduction="sum"), 0.0)
        self.assertEqual(torch_loss(rows, targets, reduction="none").tolist(), [])
        with self.assertRaises(ZeroDivisionError):
            Lidstone(0.5, 1).perplexity([])

        message = "cross_entropy: targets must hold a target that counts (nothing to average), got []"
        self.assert_refused(message, refcalc.cross_entropy, [], [])
        self.assertEqual(refcalc.cross_entropy([], [], reduction="sum"), 0.0)
        self.assertEqual(refcalc.cross_entropy([], [], reduction="none"), [])

    def test_a_sequence_of_one_token_has_no_pair(self):
        logits, labels = [[[0.0, 0.0, 0.0]]], [[1]]
        self.assert_nan(ForCausalLMLoss(torch.tensor(logits), t(labels), 3))

        message = "causal_lm_loss: labels must hold a target that counts (nothing to average), got [[1]]"
        self.assert_refused(message, refcalc.causal_lm_loss, logits, labels)
        self.assertEqual(refcalc.causal_lm_loss(logits, labels, reduction="sum"), 0.0)
        self.assertEqual(refcalc.shift(logits, labels), ([[]], [[]]))

    def test_zero_items(self):
        logits = [[[0.0, 0.0]] * 3]
        for labels, got in [([[-100, -100, -100]], nan), ([[0, 1, 1]], inf)]:
            loss = float(ForCausalLMLoss(torch.tensor(logits), t(labels), 2, num_items_in_batch=0))
            self.assertEqual(str(loss), str(got))
            message = "causal_lm_loss: num_items must be at least 1, got 0"
            self.assert_refused(message, refcalc.causal_lm_loss, logits, labels, num_items=0)

    def test_no_classes(self):
        self.assertEqual(torch.logsumexp(t([0.0])[:0], 0), -inf)
        self.assertEqual(scipy.special.logsumexp([]), -inf)
        self.assertEqual(jax.nn.logsumexp(j([])), -inf)
        self.assert_refused("logsumexp: logits must hold at least one score, got 0", refcalc.logsumexp, [])

    def test_every_weight_that_is_used_zero(self):
        weight = [0.0, 1.0, 0.0]
        self.assert_nan(torch_loss(t(ROWS), t([2, 0]), weight=t(weight)))
        message = "cross_entropy: weight must not be 0 for every scored target, got [0.0, 1.0, 0.0]"
        self.assert_refused(message, refcalc.cross_entropy, ROWS, [2, 0], weight=weight)


class WrongTargets(Case):
    def test_a_target_outside_the_classes(self):
        for target, optax_has in [(-1, 0.4076059644443803), (3, nan), (-100, nan)]:
            with self.assertRaisesRegex(IndexError, f"Target {target} is out of bounds"):
                torch_loss(t(ROWS[:1]), t([target]), ignore_index=-7)
            got = float(optax_loss(j(ROWS[0]), target))  # -1 is the last class
            self.assertTrue(isnan(got) if isnan(optax_has) else abs(got - optax_has) < 1e-12)
            message = f"cross_entropy: targets[0] must lie in [0, 3), got {target}"
            self.assert_refused(message, refcalc.cross_entropy, ROWS[:1], [target], ignore_index=-7)
        # torchmetrics takes -1 for the last class too
        self.assert_value(exp(refcalc.token_nll(ROWS[0], 2)), torchmetrics_perplexity(t([ROWS[:1]]), t([[-1]])))
        for target in (-100, 3):
            with self.assertRaises(IndexError):
                torchmetrics_perplexity(t([ROWS[:1]]), t([[target]]))

    def test_an_ignored_class_stays_in_the_normaliser(self):
        logits, targets = [[0.0, 1.0, 1.0], [5.0, 0.0, 0.0]], [1, 0]
        got = torch_loss(t(logits), t(targets), ignore_index=0)
        self.assert_value(0.8619948040582511, got, refcalc.cross_entropy(logits, targets, ignore_index=0))

    def test_probability_targets_and_an_ignored_class(self):
        with self.assertRaisesRegex(RuntimeError, "ignore_index is not supported for floating point target"):
            torch_loss(t(ROWS[:1]), t([[0.0, 1.0, 0.0]]), ignore_index=1)
        message = "cross_entropy: ignore_index must be negative with probability targets, got 1"
        self.assert_refused(message, refcalc.cross_entropy, ROWS[:1], [[0.0, 1.0, 0.0]], ignore_index=1)

    def test_probability_targets_need_not_sum_to_one_but_must_not_be_negative(self):
        soft = [[1.0, 1.0, 0.0]]
        want = refcalc.token_nll(ROWS[0], 0) + refcalc.token_nll(ROWS[0], 1)
        self.assert_value(want, torch_loss(t(ROWS[:1]), t(soft)), refcalc.cross_entropy(ROWS[:1], soft))
        self.assertLess(torch_loss(t(ROWS[:1]), t([[-1.0, 1.0, 1.0]])), 0.0)
        message = "cross_entropy: targets[0][0] must not be negative, got -1.0"
        self.assert_refused(message, refcalc.cross_entropy, ROWS[:1], [[-1.0, 1.0, 1.0]])


class InfiniteLogits(Case):
    def test_a_class_of_probability_zero_that_is_not_the_target(self):
        row, hard, soft = [-inf, 0.0, 1.0], 2, [0.0, 0.0, 1.0]
        want = 0.3132616875182228
        self.assert_value(want, torch_loss(t([row]), t([hard])), optax_loss(j(row), hard))
        self.assert_value(want, refcalc.cross_entropy([row], [hard]))
        # As a distribution: 0 times inf is nan in two of three.
        self.assert_nan(torch_loss(t([row]), t([soft])), optax.softmax_cross_entropy(j(row), j(soft)))
        self.assert_value(want, optax.safe_softmax_cross_entropy(j(row), j(soft)), refcalc.cross_entropy([row], [soft]))
        # Smoothing gives it a share of the target: inf is the right answer.
        self.assertEqual(torch_loss(t([row]), t([hard]), label_smoothing=0.1), inf)
        self.assertEqual(refcalc.cross_entropy([row], [hard], label_smoothing=0.1), inf)

    def test_a_target_of_probability_zero(self):
        self.assertEqual(torch_loss(t([[-inf, 0.0]]), t([0])), inf)
        self.assertEqual(refcalc.cross_entropy([[-inf, 0.0]], [0]), inf)

    def test_a_row_without_any_mass(self):
        row = [-inf, -inf]
        self.assert_nan(torch_loss(t([row]), t([0])), optax_loss(j(row), 0))
        with np.errstate(invalid="ignore"):
            theirs = [torch.log_softmax(t(row), -1), scipy.special.log_softmax(row), jax.nn.log_softmax(j(row))]
        self.assert_nan(*(value for values in theirs for value in values))
        for got in (torch.logsumexp(t(row), -1), scipy.special.logsumexp(row), jax.nn.logsumexp(j(row))):
            self.assertEqual(got, -inf)

        self.assertEqual(refcalc.logsumexp(row), -inf)
        rule = "must hold a score above -inf, got [-inf, -inf]"
        self.assert_refused(f"cross_entropy: logits[0] {rule}", refcalc.cross_entropy, [row], [0])
        self.assert_refused(f"log_softmax: logits {rule}", refcalc.log_softmax, row)

    def test_plus_infinity(self):
        row = [inf, 0.0]
        self.assert_nan(torch_loss(t([row]), t([0])), torch_loss(t([row]), t([1])), optax_loss(j(row), 0))
        self.assertEqual(optax_loss(j(row), 1), inf)
        for got in (torch.logsumexp(t(row), -1), scipy.special.logsumexp(row), jax.nn.logsumexp(j(row))):
            self.assertEqual(got, inf)

        rule = "must be finite or -inf, got inf"
        self.assert_refused(f"cross_entropy: logits[0][0] {rule}", refcalc.cross_entropy, [row], [1])
        self.assert_refused(f"logsumexp: logits[0] {rule}", refcalc.logsumexp, row)

    def test_nan(self):
        self.assert_nan(torch_loss(t([[nan, 0.0]]), t([1])))
        message = "cross_entropy: logits[0][0] must be finite or -inf, got nan"
        self.assert_refused(message, refcalc.cross_entropy, [[nan, 0.0]], [1])
        # An ignored row may hold it, with smoothing too.
        rows, targets = [[nan, nan, nan], [0.0, 0.0, 0.0]], [-100, 0]
        for smoothing in (0.0, 0.1):
            got = torch_loss(t(rows), t(targets), label_smoothing=smoothing)
            self.assert_value(log(3.0), got, refcalc.cross_entropy(rows, targets, label_smoothing=smoothing))


class Options(Case):
    def test_smoothing_averages_over_the_rows_that_count(self):
        got = torch_loss(t(ROWS), t([2, -100]), label_smoothing=0.3)
        want = 0.7076059644443804
        self.assert_value(want, got, refcalc.cross_entropy(ROWS, [2, -100], label_smoothing=0.3))

    def test_smoothing_outside_zero_to_one(self):
        with self.assertRaisesRegex(RuntimeError, r"label_smoothing must be between 0\.0 and 1\.0"):
            torch_loss(t(ROWS), t([2, 0]), label_smoothing=1.5)
        # PyTorch takes a negative one for 0.0.
        self.assertEqual(torch_loss(t(ROWS), t([2, 0]), label_smoothing=-0.1), torch_loss(t(ROWS), t([2, 0])))
        for smoothing in (1.5, -0.1):
            message = f"cross_entropy: label_smoothing must lie in [0, 1], got {smoothing}"
            self.assert_refused(message, refcalc.cross_entropy, ROWS, [2, 0], label_smoothing=smoothing)

    def test_the_label_smoother_of_transformers(self):
        logits, labels = [[[1.0, 2.0, 3.0], [0.0, 1.0, 0.0], [2.0, 0.0, 0.0]]], [[0, 1, 2]]
        smoother = LabelSmoother(epsilon=0.1)
        # It sums over the classes in float32, whatever the dtype of the logits.
        in_place = smoother({"logits": t(logits)}, t(labels))
        want = refcalc.cross_entropy(logits, labels, label_smoothing=0.1)
        self.assertFalse(refcalc.compare(in_place, want, classes=3).explained)
        refcalc.assert_close(in_place, want, dtype="float32", classes=3)
        shifted = smoother({"logits": t(logits)}, t(labels), shift_labels=True)
        want = refcalc.cross_entropy(*refcalc.shift(logits, labels), label_smoothing=0.1)
        refcalc.assert_close(shifted, want, dtype="float32", classes=3)
        self.assert_nan(smoother({"logits": t(logits)}, t([[-100] * 3])))

    def test_weights_divide_hard_targets_by_their_sum_and_soft_ones_by_the_rows(self):
        logits, weight = [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], [1.0, 2.0, 5.0]
        hard, soft = [2, 1], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
        for targets, denominator in [(hard, 7.0), (soft, 2.0)]:
            want = (5.0 * refcalc.token_nll(logits[0], 2) + 2.0 * refcalc.token_nll(logits[1], 1)) / denominator
            got = torch_loss(t(logits), t(targets), weight=t(weight))
            self.assert_value(want, got, refcalc.cross_entropy(logits, targets, weight=weight))

    def test_negative_weights(self):
        weight = [-1.0, 1.0, -2.0]
        self.assertGreater(torch_loss(t(ROWS), t([2, 0]), weight=t(weight)), 0.0)
        message = "cross_entropy: weight[0] must not be negative, got -1.0"
        self.assert_refused(message, refcalc.cross_entropy, ROWS, [2, 0], weight=weight)


class Precision(Case):
    def test_a_confident_hit(self):
        row = [0.0, -40.0]
        self.assertEqual(torch_loss(t([row]), t([0])), 0.0)
        self.assertEqual(scipy.special.log_softmax(row)[0], 0.0)
        self.assertEqual(jax.nn.log_softmax(j(row))[0], 0.0)
        self.assertEqual(torch.logsumexp(t(row), 0), 0.0)
        refcalc.assert_close(float(scipy.special.logsumexp(row)), refcalc.logsumexp(row), ulp=2)
        # decimal, 80 digits: ln(1 + exp(-40)) = 4.24835425529158898630...E-18
        refcalc.assert_close(refcalc.token_nll(row, 0), 4.24835425529158898630e-18, ulp=1)

    def test_the_loss_of_equal_logits_in_narrow_dtypes(self):
        right = refcalc.uniform_nll(50_257)
        for name, dtype, printed in [("bfloat16", torch.bfloat16, 10.8125), ("float16", torch.float16, 10.828125)]:
            loss = torch_loss(torch.zeros(1, 50_257, dtype=dtype), t([0])).item()
            self.assertEqual(loss, printed)
            refcalc.assert_close(loss, right, dtype=name, classes=50_257)
            self.assertFalse(refcalc.compare(loss, right, dtype="float32", classes=50_257).explained)
        self.assertEqual(torch.logsumexp(torch.zeros(70_000, dtype=torch.float16), 0), inf)
        refcalc.assert_close(refcalc.logsumexp([0.0] * 70_000), log(70_000), ulp=1)

    def test_a_perplexity_by_softmax_and_log(self):
        # torchmetrics takes the logarithm of a probability that underflows.
        self.assertEqual(torchmetrics_perplexity(torch.tensor([[[0.0, 200.0]]]), t([[0]])), inf)
        self.assertEqual(torchmetrics_perplexity(t([[[0.0, 800.0]]]), t([[0]])), inf)
        self.assertEqual(refcalc.token_nll([0.0, 800.0], 0), 800.0)
        self.assertEqual(refcalc.perplexity(200.0), exp(200.0))
        self.assertEqual(refcalc.perplexity(800.0), inf)  # beyond the doubles, rounded; its logarithm stays finite


class Neighbours(Case):
    def test_the_rolling_windows_of_the_evaluation_harness_score_the_same_targets(self):
        tokens = list(range(1, 11))
        for length, context in [(4, 1), (3, 1), (10, 1), (12, 1), (1, 1)]:
            theirs = [make_disjoint_window(w) for w in get_rolling_token_windows(tokens, 0, length, context)]
            ours = list(refcalc.windows(tokens, length, bos=0))
            self.assertEqual([targets for _, targets in theirs], [targets for _, _, targets in ours])
            self.assertEqual([y for _, targets in theirs for y in targets], tokens)
            # All windows read the same tokens, but for the last one, which carries more context there.
            for (read, _), (_, inputs, _) in list(zip(theirs, ours, strict=True))[:-1]:
                self.assertEqual([*read, *inputs[len(read) :]], inputs)
        self.assertEqual(list(get_rolling_token_windows([], 0, 4, 1)), [])
        self.assertEqual(list(refcalc.windows([], 4, bos=0)), [])

    def test_a_smoothed_unigram_of_nltk(self):
        training, vocabulary = ["a", "a", "b", "zebra"], ["a", "b", "c"]
        for alpha in (0.5, 1.0, 2.0):
            theirs = Lidstone(alpha, 1)
            theirs.fit([[(token,) for token in training]], vocabulary_text=vocabulary)
            ours = refcalc.SmoothedUnigram.fit(training, [*vocabulary, "<UNK>"], alpha=alpha, unk="<UNK>")
            for token in [*vocabulary, "<UNK>", "yak"]:
                self.assert_value(theirs.score(token), ours.probability(token))
            # nltk's entropy is in bits
            self.assert_value(theirs.entropy([("a",), ("c",)]), ours.score(["a", "c"]).bits_per_token)


if __name__ == "__main__":
    unittest.main()
