"""The catalogue: every public case gives the number that was reported, and each entry says what it must."""

import re
import unittest
from math import exp, isnan, log, sqrt
from statistics import pstdev, stdev

from refcalc import MISTAKES, Batch, Records, causal_lm_loss, cross_entropy, diagnose
from refcalc.mistakes import NO_COMPUTATION
from refcalc.mistakes.arithmetic import rounded
from refcalc.mistakes.elsewhere import decoding, ngrams, numbers, resampling
from refcalc.mistakes.kind import ALL, STEPS, DoesNotApply
from refcalc.mistakes.pipeline import Run
from refcalc.mistakes.ranking import RANKING
from tests.mistake_cases import CASES

# The kinds that public reports were sorted into, by the names used there.
REPORTED = [
    "mean-of-means",
    "double-shift",
    "no-shift",
    "padding-scored",
    "padded-denominator",
    "empty-rows-averaged",
    "sum-of-means",
    "chunk-means-added",
    "double-scaled",
    "missing-world-size",
    "unshifted-token-count",
    "mean-of-perplexities",
    "window-start-unscored",
    "tail-dropped",
    "wrong-window-weight",
    "overlap-scored-twice",
    "window-recipe-unstated",
    "two-to-the-nats",
    "e-to-the-bits",
    "bits-without-ln2",
    "log10-as-natural",
    "chars-for-bytes",
    "replacement-char-bytes",
    "transformed-text-bytes",
    "exponentiate-then-rescale",
    "token-vs-word-unit",
    "total-as-rate",
    "macro-bits-per-byte",
    "eos-nll-without-bytes",
    "smoothed-perplexity",
    "objective-perplexity",
    "weighted-mean-normaliser",
    "weights-not-additive",
    "smoothing-k-minus-one",
    "smoothing-counts-ignored",
    "weight-times-smoothing",
    "target-index-wraps",
    "ignore-value-mismatch",
    "eos-masked-as-pad",
    "token-id-zero-dropped",
    "wrong-start-token",
    "bos-added-twice",
    "bos-first-window-only",
    "none-first-token-as-zero",
    "document-edge-scored",
    "cross-row-leak",
    "shard-edge-target-lost",
    "double-softmax",
    "raw-logit-nll",
    "log-of-softmax-underflow",
    "epsilon-clipped-log",
    "naive-logsumexp",
    "lse-all-neginf-nan",
    "lse-posinf-nan",
    "zero-log-zero-nan",
    "bf16-loss",
    "low-precision-accumulator",
    "float32-count-stall",
    "reshape-not-transpose",
    "softmax-wrong-axis",
    "zero-probability-inf",
    "oov-left-out",
    "laplace-wrong-v",
    "alpha-not-times-v",
    "unnormalised-backoff",
    "discounted-denominator",
    "log-domain-interpolation",
    "sentence-level-mixture",
    "end-token-miscounted",
    "kn-raw-or-uniform-unigram",
    "prompt-in-length-norm",
    "pad-in-token-length",
    "temperature-zero-division",
    "top1-is-not-argmax",
    "logprob-divided-by-t",
    "processed-vs-raw-logprob",
    "penalty-boosts-negative",
    "split-encode-slice",
    "bootstrap-no-replacement",
    "short-resamples",
    "token-level-bootstrap",
    "estimator-stderr-mismatch",
    "boundary-zero-stderr",
    "inverted-mask",
    "aux-scaled-by-world",
    "duplicated-eval-rows",
    "macro-vs-micro",
    "kl-divided-by-vocab",
    "ignored-class-in-normaliser",
    "padded-vocab-in-softmax",
    "divide-inside-loop",
    "misnamed-transform",
    "exp-overflow",
    "product-underflow",
    "visible-token-mlm-ppl",
    "cancelling-variance",
    "boundary-subtracted-twice",
    "short-last-batch",
    "batch-size-dependent-eval",
    "mask-numerator-only",
    "one-row-denominator",
    "mask-not-shifted",
    "zero-times-inf-mask",
    "mean-of-windows",
    "silent-truncation",
    "fp16-lse-width",
    "unit-mass-smoothing",
    "class-count-wrong-axis",
]


class Cases(unittest.TestCase):
    def test_each_case_gives_the_wrong_and_the_right_number(self):
        for name, mistake, evidence, quantity, wrong, right in CASES:
            with self.subTest(name):
                run = Run(evidence, quantity)
                self.assert_number(run.value(MISTAKES[mistake]), wrong)
                if right is not None:
                    self.assert_number(run.value(), right)

    def test_diagnose_names_the_mistake_first(self):
        for name, mistake, evidence, quantity, wrong, right in CASES:
            with self.subTest(name):
                found = diagnose(wrong, evidence, quantity=quantity)
                self.assertFalse(found.agrees)
                self.assertEqual(found.candidates[0].mistakes, (MISTAKES[mistake].name,))
                self.assertEqual(found.right is None, right is None)

    def test_diagnose_agrees_with_the_right_number(self):
        for name, _, evidence, quantity, _, right in CASES:
            if right is not None:
                with self.subTest(name):
                    self.assertTrue(diagnose(right, evidence, quantity=quantity).agrees)

    def assert_number(self, got: float, want: float) -> None:
        if isnan(want) or got == want:
            self.assertEqual(isnan(got), isnan(want))
        else:
            self.assertAlmostEqual(got, want, delta=1e-13 * abs(want) + 1e-16)


class Elsewhere(unittest.TestCase):
    def test_baselines(self):
        self.assertEqual(ngrams.zero_probability_inf("aab", "ac"), float("inf"))
        self.assertAlmostEqual(ngrams.zero_probability_inf("aab", "ab"), sqrt(4.5), delta=1e-14)
        self.assertAlmostEqual(ngrams.alpha_not_times_v({"a": 3, "b": 1}, "abc", 0.5), 11 / 9, delta=1e-15)
        counts = {"<s>": 2, "a": 3, "b": 1, "c": 1, "</s>": 2}
        after_a = {"b": 1, "c": 1, "</s>": 1}
        self.assertAlmostEqual(ngrams.unnormalised_backoff(after_a, counts), 11 / 9, delta=1e-15)
        self.assertEqual(ngrams.discounted_denominator({"x": 2, "y": 1}, 0.75), 1.5)
        self.assertEqual(ngrams.sentence_level_mixture([[0.5, 0.01], [0.01, 0.5]], [0.5, 0.5]), 0.005)

    def test_decoding(self):
        self.assertAlmostEqual(decoding.temperature_zero_division([1, 3, 2], 0)[1], 0.665241, delta=1e-6)
        self.assertEqual(decoding.temperature_zero_division([1, 3], 1.0), decoding.temperature_zero_division([1, 3], 0))
        self.assertEqual(decoding.top1_is_not_argmax([3, 3, 1]), [0.5, 0.5, 0.0])
        self.assertAlmostEqual(decoding.logprob_divided_by_t([2, 1, 0], 0.5, 0), -0.8152119288887612, delta=1e-15)
        self.assertAlmostEqual(decoding.processed_vs_raw_logprob([5, 2, 1], {0}, 1), -0.31326168751822303, delta=1e-15)
        self.assertEqual(decoding.banned_score_zero([-3, 2, -1], {0, 1}), [0.0, 0.0, -1])
        self.assertEqual([decoding.prompt_counted_as_new([5] * n, 4) for n in (0, 1, 4, 6)], [4, 3, 0, 0])

    def test_standard_errors(self):
        self.assertEqual(resampling.bootstrap_no_replacement([1, 2, 3, 4]), 0.0)
        self.assertAlmostEqual(resampling.stderr_of_mean([1, 2, 3, 4]), 0.5590169943749475, delta=1e-15)
        self.assertAlmostEqual(resampling.token_level_bootstrap([[1] * 4, [3] * 4]), sqrt(1 / 8), delta=1e-15)
        self.assertAlmostEqual(resampling.wilson_upper(0, 3), 0.5614970317550455, delta=1e-14)
        values = [1.6757, 1.6792, 1.6856]
        self.assertAlmostEqual(resampling.population_deviation(values), pstdev(values), delta=1e-15)
        self.assertAlmostEqual(resampling.error_for_deviation(values), stdev(values) / sqrt(3), delta=1e-15)
        means = resampling.reseeded_resamples(values, 5, seed=1)
        self.assertEqual(means, [resampling.reseeded_resamples(values, 1, seed=1)[0]] * 5)

    def test_arithmetic(self):
        self.assertTrue(isnan(numbers.lse_all_neginf_nan([-float("inf")] * 2)))
        self.assertLess(numbers.cancelling_variance([0.1, 0.1, 0.1]), 0.0)
        self.assertEqual(numbers.float32_count_stall(4e7, 20_000_000), 2.384185791015625)
        self.assertRaises(OverflowError, numbers.exp_overflow, 1000.0)
        self.assertEqual(rounded(65519.0, "float16"), 65504.0)
        self.assertEqual(rounded(-(1 + 2**-8), "bfloat16"), -1.0)  # a tie, to even


class RightSteps(unittest.TestCase):
    """Without a mistake the pipeline is the float tier, to the bit."""

    def setUp(self):
        self.logits = [[[(7 * b + 5 * t + 3 * c) % 11 / 4 for c in range(5)] for t in range(6)] for b in range(3)]
        self.tokens = [[(3 * b + 2 * t) % 5 for t in range(6)] for b in range(3)]
        self.mask = [[1] * 6, [1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]]

    def test_the_mean_is_that_of_the_causal_loss(self):
        batch = Batch(self.logits, self.tokens, attention_mask=self.mask)
        self.assertEqual(Run(batch).value(), causal_lm_loss(self.logits, self.tokens, attention_mask=self.mask))
        self.assertEqual(
            Run(batch, "nll_sum").value(),
            causal_lm_loss(self.logits, self.tokens, attention_mask=self.mask, reduction="sum"),
        )

    def test_weights_and_smoothing_are_those_of_cross_entropy(self):
        rows, targets = [row[:-1] for row in self.logits], [row[1:] for row in self.tokens]
        for options in (
            {"weight": [1, 2, 0, 4, 0.5]},
            {"label_smoothing": 0.3},
            {"weight": [1, 2, 0, 4, 0.5], "label_smoothing": 1.0},
        ):
            got = Run(Batch(self.logits, self.tokens, **options)).value()
            self.assertAlmostEqual(got / cross_entropy(rows, targets, **options), 1.0, delta=1e-14)

    def test_perplexity_and_rates_are_of_the_plain_nll(self):
        batch = Batch(self.logits, self.tokens, weight=[1, 2, 0, 4, 0.5], label_smoothing=0.3, n_bytes=20)
        mean = causal_lm_loss(self.logits, self.tokens)
        self.assertAlmostEqual(Run(batch, "perplexity").value(), exp(mean), delta=1e-13)
        self.assertAlmostEqual(Run(batch, "bits_per_byte").value(), mean * 15 / 20 / log(2), delta=1e-14)

    def test_smoothing_reads_whole_rows_as_it_reads_single_classes(self):
        for name, mistake in MISTAKES.items():
            row = getattr(mistake.function, "row", None)
            if row is None:
                continue
            run = Run(Batch(self.logits, self.tokens, vocab_size=4))
            with self.subTest(name):
                want = [mistake.function(run, 1, 2, c) for c in range(4)]
                for got, nll in zip(row(run, 1, 2), want, strict=True):
                    self.assertAlmostEqual(got, nll, delta=1e-14)


class Catalogue(unittest.TestCase):
    def test_every_reported_kind_is_there_or_said_to_be_no_computation(self):
        for name in REPORTED:
            with self.subTest(name):
                self.assertTrue(name in MISTAKES or name in MISTAKES.aliases or name in NO_COMPUTATION)

    def test_every_entry_is_complete(self):
        for name, mistake in MISTAKES.items():
            with self.subTest(name):
                self.assertEqual(name, mistake.name)
                self.assertRegex(name, r"^[a-z0-9]+(-[a-z0-9]+)*$")
                for sentence in (mistake.done, mistake.symptom, mistake.remedy):
                    self.assertTrue(sentence.endswith("."), sentence)
                self.assertTrue(mistake.hidden_if)
                self.assertIn(">>>", mistake.witness)
                self.assertIn(mistake.sort, ("mistake", "convention"))
                self.assertLessEqual(set(mistake.quantities), set(ALL))
                for report in filter(None, mistake.reports.split(", ")):
                    self.assertTrue(re.match(r"^[\w.-]+/[\w.-]+(#\d+| .*)?$", report), report)

    def test_names_and_aliases_are_distinct(self):
        aliases = [alias for mistake in MISTAKES.values() for alias in mistake.aliases]
        names = [*MISTAKES, *aliases, *NO_COMPUTATION]
        self.assertEqual(len(names), len(set(names)))
        for alias in aliases:
            self.assertIn(alias, MISTAKES[alias].aliases)

    def test_every_step_has_mistakes_and_every_one_of_them_a_rank(self):
        ranked = [name for name, mistake in MISTAKES.items() if mistake.step in STEPS]
        self.assertEqual(sorted(ranked), sorted(RANKING))
        self.assertEqual({MISTAKES[name].step for name in ranked}, set(STEPS))

    def test_a_name_it_does_not_have_is_a_key_error_with_a_proposal(self):
        with self.assertRaises(KeyError) as caught:
            MISTAKES["no-shfit"]
        self.assertEqual(caught.exception.args[0], "no mistake is called 'no-shfit'; did you mean no-shift?")
        with self.assertRaises(KeyError) as caught:
            MISTAKES["?"]
        self.assertEqual(caught.exception.args[0], "no mistake is called '?'")

    def test_what_cannot_be_made_says_what_it_needs(self):
        run = Run(Records([1.0, 2.0]))
        for name, need in (("mean-of-means", "groups"), ("double-shift", "logits"), ("bits-without-ln2", "quantity")):
            with self.subTest(name), self.assertRaises(DoesNotApply) as caught:
                run.value(MISTAKES[name])
            self.assertIn(need, str(caught.exception))


class Special(unittest.TestCase):
    """Mistakes whose number depends on the dtype, or on what a row may hold."""

    def test_underflow_depends_on_the_dtype(self):
        batch = Batch([[0.0, 110.0], [0.0, 0.0]], [1, 0])
        mistake = MISTAKES["log-of-softmax-underflow"]
        self.assertEqual(Run(batch, dtype="float32").value(mistake), float("inf"))
        self.assertEqual(Run(batch).value(mistake), 110.0)

    def test_unshifted_exponentials_underflow_too(self):
        batch = Batch([[-800.0, -800.0], [0.0, 0.0]], [1, 0])
        self.assertEqual(Run(batch).value(MISTAKES["naive-logsumexp"]), -float("inf"))
        self.assertTrue(isnan(Run(batch).value(MISTAKES["naive-softmax-nan"])))

    def test_a_row_of_padding_may_hold_nan(self):
        nan = float("nan")
        batch = Batch([[0.0, 0.0], [nan, nan], [nan, nan]], [0, 1, 1], attention_mask=[1, 1, 0])
        self.assertEqual(Run(batch).value(), log(2))
        self.assertTrue(isnan(Run(batch).value(MISTAKES["zero-times-inf-mask"])))
        found = diagnose(9.0, batch)
        needed = "rows of logits that can be read where nothing should be scored"
        self.assertEqual(found.untried["padding-scored"], needed)


if __name__ == "__main__":
    unittest.main()
