"""The uniform and the smoothed unigram model, judged by fractions and by decimal's logarithm."""

import unittest
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, log, nan
from random import Random
from typing import Any

from refcalc.baselines.unigram import SmoothedUnigram, UniformBaseline
from refcalc.units import uniform_nll
from tests.ulps import ulps_off, wide_context


def drawn(seed: int) -> tuple[list[int], list[int], float]:
    """Return training targets, a vocabulary that holds them, and a smoothing of some size."""
    rng = Random(seed)
    classes = 1 + int(rng.random() * 40)
    targets = [int(rng.random() * rng.random() * classes) for _ in range(1 + int(rng.random() * 200))]
    return targets, list(range(classes)), [1.0, 0.5, 0.1, 1e-3, 1e-300, 7.25, 1e6][seed % 7]


class Uniform(unittest.TestCase):
    def test_every_token_costs_log_v(self) -> None:
        for classes in (1, 2, 3, 290, 50_257):
            model = UniformBaseline(range(classes))
            with self.subTest(classes=classes):
                self.assertEqual(model.nll(classes - 1), uniform_nll(classes))
                self.assertEqual(model.probability(0, context=[1, 2]), 1 / classes)
                self.assertEqual(model.score([0, 0, classes - 1]).mean_nll, uniform_nll(classes))

    def test_a_score_is_that_of_one_document(self) -> None:
        tally = UniformBaseline("ab").score("abba")
        self.assertEqual((tally.n_targets, tally.n_documents, tally.n_bytes), (4, 1, None))


class Unigram(unittest.TestCase):
    def test_probabilities_are_the_true_fractions_rounded_once(self) -> None:
        for seed in range(100):
            targets, vocabulary, alpha = drawn(seed)
            model = SmoothedUnigram.fit(targets, vocabulary, alpha)
            total = len(targets) + Fraction(alpha) * len(vocabulary)
            with self.subTest(seed=seed):
                for token in vocabulary:
                    want = float((targets.count(token) + Fraction(alpha)) / total)
                    self.assertEqual(model.probability(token), want)
                    self.assertEqual(model.probability(token, context=[1]), want)

    def test_probabilities_sum_to_one_within_one_rounding(self) -> None:
        for seed in range(100):
            model = SmoothedUnigram.fit(*drawn(seed))
            total = sum((Fraction(model.probability(token)) for token in model.vocabulary), Fraction(0))
            with self.subTest(seed=seed):
                self.assertLessEqual(abs(total - 1), Fraction(1, 2**53))

    def test_an_nll_is_within_2_ulp(self) -> None:
        for seed in range(60):
            targets, vocabulary, alpha = drawn(seed)
            model = SmoothedUnigram.fit(targets, vocabulary, alpha)
            total = len(targets) + Fraction(alpha) * len(vocabulary)
            for token in vocabulary[:: 1 + len(vocabulary) // 5]:
                ratio = total / (targets.count(token) + Fraction(alpha))
                lost = len(str(int(1 / (ratio - 1)))) if ratio > 1 else 0  # digits that are gone where it is near 1
                with self.subTest(seed=seed, token=token), localcontext(wide_context(40 + lost)):
                    got, want = model.nll(token), (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
                    self.assertLessEqual(ulps_off(got, want) if got else abs(want), 2)

    def test_a_probability_near_one_keeps_the_digits_of_its_nll(self) -> None:
        model = SmoothedUnigram.fit("a" * 1000, "ab", alpha=1e-20)
        with localcontext(wide_context(80)):
            alpha = Decimal(model.alpha)
            p = (1000 + alpha) / (1000 + 2 * alpha)
            self.assertLessEqual(ulps_off(model.nll("a"), -p.ln()), 2)

    def test_smoothing_below_the_reach_of_a_ratio_of_doubles(self) -> None:
        for alpha in (1e-308, 5e-324):
            with self.subTest(alpha=alpha), localcontext(wide_context(80)):
                model = SmoothedUnigram.fit("a" * 10, "ab", alpha)
                p = Decimal(alpha) / (10 + 2 * Decimal(alpha))
                self.assertLessEqual(ulps_off(model.nll("b"), -p.ln()), 2)

    def test_without_smoothing_an_unseen_token_is_impossible(self) -> None:
        model = SmoothedUnigram.fit("aab", "abc", alpha=0)
        self.assertEqual((model.probability("c"), model.nll("c")), (0.0, inf))
        self.assertEqual(model.score("ac").mean_nll, inf)
        self.assertEqual(SmoothedUnigram.fit("aaa", "ab", alpha=0).nll("a"), 0.0)

    def test_a_token_that_is_never_a_target_takes_its_share(self) -> None:
        with_bos = SmoothedUnigram.fit("aab", ["BOS", "a", "b"])
        self.assertEqual([with_bos.probability(t) for t in ("BOS", "a", "b")], [1 / 6, 3 / 6, 2 / 6])

    def test_an_unk_stands_for_what_is_outside_in_training_and_after(self) -> None:
        model = SmoothedUnigram.fit("aabzq", "ab?", unk="?")
        self.assertEqual(model.counts, {"a": 2, "b": 1, "?": 2})
        self.assertEqual(model.probability("never seen"), model.probability("?"))
        self.assertEqual(model.score("xyz"), model.score("???"))

    def test_scoring_neither_fits_again_nor_changes_what_was_given(self) -> None:
        targets, vocabulary = ["a", "b", "a"], ["a", "b", "c"]
        model = SmoothedUnigram.fit(targets, vocabulary)
        before = [model.probability(t) for t in vocabulary], dict(model.counts)
        first = model.score(["c", "c", "c"])
        self.assertEqual(([model.probability(t) for t in vocabulary], dict(model.counts)), before)
        self.assertEqual(model.score(["c", "c", "c"]), first)
        self.assertEqual((targets, vocabulary), (["a", "b", "a"], ["a", "b", "c"]))

    def test_a_score_is_the_exact_sum_of_the_nlls(self) -> None:
        model = SmoothedUnigram.fit(iter("abracadabra"), iter("abcdr"))
        tally = model.score(iter("cab"))
        self.assertEqual(float(tally.nll_sum), float(sum(Fraction(model.nll(t)) for t in "cab")))
        self.assertEqual((tally.n_targets, tally.n_documents), (3, 1))

    def test_no_training_targets_make_it_uniform(self) -> None:
        model = SmoothedUnigram.fit([], "abcd", alpha=0.3)
        self.assertEqual(model.probability("a"), 0.25)
        self.assertAlmostEqual(model.nll("a"), log(4), places=15)

    def test_alpha_may_be_a_fraction(self) -> None:
        model = SmoothedUnigram.fit("aab", "ab", alpha=Fraction(1, 3))
        self.assertEqual(model.probability("a"), float(Fraction(7, 11)))


class Refusals(unittest.TestCase):
    def refused(self, message: str, make: Callable[[], object], kind: type[Exception] = ValueError) -> None:
        with self.subTest(message=message):
            with self.assertRaises(kind) as caught:
                make()
            self.assertEqual(str(caught.exception), message)

    def test_a_vocabulary_holds_tokens_each_once(self) -> None:
        for name, make in [
            ("UniformBaseline", UniformBaseline),
            ("SmoothedUnigram.fit", lambda v: SmoothedUnigram.fit("", v)),
        ]:
            self.refused(f"{name}: vocabulary must hold at least one token, got []", lambda: make([]))  # noqa: B023
            for vocabulary, i in [("aa", 1), ("abca", 3), ("abac", 2), ("abcb", 3)]:
                rule = f"vocabulary[{i}] must not be named twice, got {vocabulary[i]!r}"
                self.refused(f"{name}: {rule}", lambda: make(vocabulary))  # noqa: B023

    def test_a_token_has_a_hash_and_tokens_are_iterable(self) -> None:
        uniform, unigram = UniformBaseline("ab"), SmoothedUnigram.fit("ab", "ab")
        fit: Any = SmoothedUnigram.fit
        hashable, iterable = "must be hashable, got []", "must be iterable, got None"
        for name, model in (("UniformBaseline", uniform), ("SmoothedUnigram", unigram)):
            use: Any = model
            self.refused(f"{name}: token {hashable}", lambda: use.nll([]), TypeError)  # noqa: B023
            self.refused(f"{name}: token {hashable}", lambda: use.probability([]), TypeError)  # noqa: B023
            self.refused(f"{name}: tokens[1] {hashable}", lambda: use.score(["a", []]), TypeError)  # noqa: B023
            self.refused(f"{name}: tokens {iterable}", lambda: use.score(None), TypeError)  # noqa: B023
        self.refused(f"UniformBaseline: vocabulary[0] {hashable}", lambda: UniformBaseline([[]]), TypeError)
        self.refused(f"SmoothedUnigram.fit: vocabulary {iterable}", lambda: fit("a", None), TypeError)
        self.refused(f"SmoothedUnigram.fit: targets[1] {hashable}", lambda: fit(["a", []], "a"), TypeError)
        self.refused(f"SmoothedUnigram.fit: targets {iterable}", lambda: fit(None, "a"), TypeError)
        self.refused(f"SmoothedUnigram.fit: unk {hashable}", lambda: fit("a", "a", unk=[]), TypeError)

    def test_a_token_outside_the_vocabulary(self) -> None:
        uniform, unigram = UniformBaseline("ab"), SmoothedUnigram.fit("ab", "ab")
        rule = "must be in the vocabulary"
        no_unk = f"{rule} (no unk was named), got 'z'"
        for use in (uniform.nll, uniform.probability):
            self.refused(f"UniformBaseline: token {rule}, got 'z'", lambda: use("z"))  # noqa: B023
        self.refused(f"UniformBaseline: tokens[1] {rule}, got 'z'", lambda: uniform.score("az"))
        for use in (unigram.nll, unigram.probability):
            self.refused(f"SmoothedUnigram: token {no_unk}", lambda: use("z"))  # noqa: B023
        self.refused(f"SmoothedUnigram: tokens[1] {no_unk}", lambda: unigram.score("az"))
        self.refused(f"SmoothedUnigram.fit: targets[2] {no_unk}", lambda: SmoothedUnigram.fit("abzz", "ab"))
        self.refused(
            "SmoothedUnigram.fit: unk must be in the vocabulary, got '?'",
            lambda: SmoothedUnigram.fit("a", "a", unk="?"),
        )

    def test_a_smoothing_is_finite_and_not_negative(self) -> None:
        for alpha, rule in [(-1.0, "not be negative"), (inf, "be finite"), (nan, "be a number")]:
            message = f"SmoothedUnigram.fit: alpha must {rule}, got {alpha}"
            self.refused(message, lambda: SmoothedUnigram.fit("a", "ab", alpha))  # noqa: B023
        message = "SmoothedUnigram.fit: alpha must be a number, got '1'"
        self.refused(message, lambda: SmoothedUnigram.fit("a", "ab", "1"), TypeError)
        message = "SmoothedUnigram.fit: alpha must be above 0 where there are no targets, got 0.0"
        self.refused(message, lambda: SmoothedUnigram.fit("", "ab", 0))
