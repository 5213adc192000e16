"""The n-gram models against their formulas, computed from lists of tuples in fractions.

The judge pads each sequence, lists its n-grams as tuples and counts them by comparing: no number, digit, dictionary of
counts or recursion of the package is used.
"""

import os
import pickle
import subprocess
import sys
import unittest
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import fsum, inf, log, nan
from random import Random
from typing import Any
from unittest import mock

from refcalc.baselines.ngram import Additive, KneserNey, StupidBackoff, WittenBell
from refcalc.baselines.ngram.kneser_ney import FALL_BACK, estimated_discounts
from refcalc.tally import Tally

U = Fraction(1, 2**53)
BOS = "<"
VOCABULARY = "abcd"  # d never occurs in training

Gram = tuple[str, ...]


def text(seed: int, length: int, bos: bool) -> str:
    """Return a text of a, b and c in which what follows depends on what stands before."""
    rng, written = Random(seed), "ab"
    while len(written) < length:
        written += (written[-1] if rng.random() < 0.3 else "abc"[int(3 * rng.random() * rng.random())]) + (
            BOS if bos and rng.random() < 0.1 else ""
        )
    return written


# --- the judge -------------------------------------------------------------------------------------------------------


class Judge:
    """The counts of a text, by their definitions."""

    def __init__(self, written: str, order: int) -> None:
        self.order = order
        self.grams = [gram for sequence in written.split(BOS) for gram in self.padded(sequence)]

    def padded(self, sequence: str) -> Iterator[Gram]:
        tokens = (BOS,) * (self.order - 1) + tuple(sequence)
        return (tokens[i - self.order + 1 : i + 1] for i in range(self.order - 1, len(tokens)))

    @cache  # noqa: B019 (a judge lives as long as its test)
    def c(self, gram: Gram) -> int:
        """How often gram occurs."""
        return sum(each[len(each) - len(gram) :] == gram for each in self.grams)

    @cache  # noqa: B019
    def adjusted(self, gram: Gram) -> int:
        """c at the highest order, the number of different left neighbours below it."""
        if len(gram) == self.order:
            return self.c(gram)
        return sum(self.c((before, *gram)) > 0 for before in VOCABULARY + BOS)

    def all_grams(self, length: int) -> Iterator[Gram]:
        for context in product(VOCABULARY + BOS, repeat=length - 1):
            for token in VOCABULARY:
                yield (*context, token)


def kneser_ney(judge: Judge, model: KneserNey, token: str, context: Gram) -> Fraction:
    lower = kneser_ney(judge, model, token, context[1:]) if context else Fraction(1, len(VOCABULARY))
    d = (0.0, *model.discounts[len(context)])
    counts = {w: judge.adjusted((*context, w)) for w in VOCABULARY}
    total = sum(counts.values())
    if not total:
        return lower
    left_over = sum((Fraction(d[min(n, 3)]) for n in counts.values()), Fraction(0))
    return (counts[token] - Fraction(d[min(counts[token], 3)]) + left_over * lower) / total


def witten_bell(judge: Judge, _model: WittenBell, token: str, context: Gram) -> Fraction:
    lower = witten_bell(judge, _model, token, context[1:]) if context else Fraction(1, len(VOCABULARY))
    counts = {w: judge.c((*context, w)) for w in VOCABULARY}
    if not any(counts.values()):
        return lower
    new = sum(n > 0 for n in counts.values())
    keep = Fraction(sum(counts.values()), sum(counts.values()) + new)  # lambda of section 2.5
    return keep * Fraction(counts[token], sum(counts.values())) + (1 - keep) * lower


def additive(judge: Judge, model: Additive, token: str, context: Gram) -> Fraction:
    alpha = Fraction(model.alpha)
    total = sum(judge.c((*context, w)) for w in VOCABULARY)
    return (judge.c((*context, token)) + alpha) / (total + alpha * len(VOCABULARY))


def stupid_backoff(judge: Judge, alpha: float, token: str, context: Gram) -> Fraction:
    if judge.c((*context, token)):
        return Fraction(judge.c((*context, token)), sum(judge.c((*context, w)) for w in VOCABULARY))
    return Fraction(alpha) * stupid_backoff(judge, alpha, token, context[1:]) if context else Fraction(0)


JUDGED: list[tuple[Any, Any, dict[str, Any], int]] = [  # a model, its formula, options, roundings of u for each order
    (KneserNey, kneser_ney, {}, 8),
    (KneserNey, kneser_ney, {"discounts": (0.75, 0.75, 0.75)}, 8),
    (WittenBell, witten_bell, {}, 4),
    (Additive, additive, {}, 7),
    (Additive, additive, {"alpha": 0.1}, 7),
]
MODELS = (KneserNey, WittenBell, Additive)


def contexts(order: int) -> Iterator[Gram]:
    """Yield every context of up to order - 1 tokens, seen or not, those with BOS and d in them included."""
    for length in range(order):
        for context in product(VOCABULARY + BOS, repeat=length):
            if BOS not in context[1:]:
                yield context


def as_padded(context: Gram, order: int) -> Gram:
    """Return a context that begins with BOS as the judge has it."""
    return (BOS,) * (order - len(context)) + context[1:] if context[:1] == (BOS,) else context


class Formulas(unittest.TestCase):
    def test_every_probability_is_that_of_the_formula_within_the_roundings_stated(self) -> None:
        for seed, (cls, formula, options, roundings) in enumerate(JUDGED):
            for order, length in ((1, 40), (2, 60), (3, 150), (4, 400)):
                written = text(seed, length, bos=order != 3)
                judge = Judge(written, order)
                model = cls.fit(written, order, VOCABULARY, bos=None if order == 3 else BOS, **options)
                with self.subTest(model=cls.__name__, order=order, seed=seed):
                    for context in contexts(order):
                        if order == 3 and BOS in context:
                            continue
                        for token in VOCABULARY:
                            want = formula(judge, model, token, as_padded(context, order))
                            off = abs(Fraction(model.probability(token, context)) / want - 1)
                            self.assertLessEqual(off, roundings * order * U, (context, token))

    def test_stupid_back_off_is_that_of_the_formula(self) -> None:
        for order, length in ((1, 40), (3, 150)):
            written = text(order, length, bos=True)
            judge, model = Judge(written, order), StupidBackoff.fit(written, order, VOCABULARY, bos=BOS)
            for context in contexts(order):
                for token in VOCABULARY:
                    want = stupid_backoff(judge, 0.4, token, as_padded(context, order))
                    got = Fraction(model.unnormalised_score(token, context))
                    self.assertLessEqual(abs(got - want), (order + 1) * U * want, (context, token))

    def test_the_discounts_are_those_of_equation_26(self) -> None:
        for order in (2, 3):
            written = text(order, 3000, bos=False)
            judge, model = Judge(written[:1], order), KneserNey.fit(written, order, VOCABULARY)
            judge.grams = list(Judge(written, order).padded(written))
            for length, found in enumerate(model.discounts, 1):
                have = [judge.adjusted(gram) for gram in judge.all_grams(length)]
                n = {k: Fraction(have.count(k)) for k in range(1, 5)}
                if not (n[1] and n[2] and n[3]):
                    want: tuple[float, ...] = FALL_BACK
                else:
                    y = n[1] / (n[1] + 2 * n[2])
                    want = tuple(float(k - (k + 1) * y * n[k + 1] / n[k]) for k in (1, 2, 3))
                    want = want if min(want) > 0 else FALL_BACK
                with self.subTest(order=order, length=length):
                    self.assertEqual(found, want)

    def test_counts_of_counts_without_an_answer_fall_back(self) -> None:
        def discounts(*number: int) -> tuple[float, ...]:
            have = [k for k, times in enumerate(number, 1) for _ in range(times)]
            return estimated_discounts(dict(enumerate(have)))

        self.assertEqual(discounts(10, 5, 2, 1), (0.5, 1.4, 2.0))  # Y = 1/2: 1 - 2/4, 2 - 3/5, 3 - 4/4
        self.assertEqual(discounts(10, 5, 2, 0), (0.5, 1.4, 3.0))
        for number in ((0, 5, 2, 1), (10, 0, 2, 1), (10, 5, 0, 1), (), (10, 5, 10, 1), (10, 5, 2, 4)):
            with self.subTest(number=number):
                self.assertEqual(discounts(*number), (0.5, 1.0, 1.5))


class Distributions(unittest.TestCase):
    def test_the_probabilities_sum_to_one_after_every_context_seen_or_not(self) -> None:
        for cls, _, options, roundings in JUDGED:
            for order in (1, 2, 4):
                model = cls.fit(text(order, 300, bos=True), order, VOCABULARY, bos=BOS, **options)
                with self.subTest(model=cls.__name__, order=order):
                    for context in contexts(order + 1):
                        total = fsum(model.probability(token, context) for token in VOCABULARY)
                        self.assertLessEqual(abs(total - 1.0), (roundings * order + 1) * 2.0**-53, context)

    def test_a_real_alphabet_sums_to_one_too(self) -> None:
        rng = Random(7)
        ids = [int(300 * rng.random() * rng.random()) for _ in range(5000)]
        for cls in MODELS:
            model = cls.fit(ids, 3, range(300))
            for context in ((), (0, 0), (0, 299), (299, 299), (ids[0], ids[1]), (5,)):
                with self.subTest(model=cls.__name__, context=context):
                    self.assertAlmostEqual(
                        fsum(model.probability(w, context) for w in range(300)), 1.0, delta=24 / 2**53
                    )

    def test_nothing_seen_is_the_uniform_distribution(self) -> None:
        for cls in MODELS:
            model = cls.fit([], 3, VOCABULARY)
            self.assertEqual([model.probability(token, "ab") for token in VOCABULARY], [0.25] * 4)
            self.assertEqual(model.n_grams, 0)

    def test_an_nll_beyond_the_doubles_is_still_right(self) -> None:
        order = 90
        model = WittenBell.fit("a" * 100_000, order, "ab")
        self.assertEqual(model.probability("b", "a" * (order - 1)), 0.0)  # about 1e-450
        # Order k has one context of k - 1 letters a: 100,000 - k + 1 tokens follow it, of one kind.
        want = log(2) + fsum(log(100_000 - k + 1 + 1) for k in range(1, order + 1))
        self.assertAlmostEqual(model.nll("b", "a" * (order - 1)), want, delta=1e-10)
        self.assertEqual(model.nll("a", "a" * (order - 1)), 0.0)
        self.assertGreater(model.nll("a"), 0.0)

    def test_the_largest_alpha_leaves_the_uniform_distribution(self) -> None:
        model = Additive.fit("aaaa", 2, "abc", alpha=2.0**500 * (1 - 2.0**-53))
        self.assertEqual((model.probability("b", "a"), model.nll("a", "a")), (1 / 3, -log(1 / 3)))

    def test_a_probability_that_is_no_number_never_costs_nothing(self) -> None:
        model = Additive.fit("aaaa", 2, "abc")
        with mock.patch.object(model, "_probability", return_value=nan):
            self.assertAlmostEqual(model.nll("a", "a"), log(6 / 4), delta=1e-15)  # p is (3 + 1) / (3 + 3)

    def test_so_is_one_that_discounts_made(self) -> None:
        # Left neighbours: a and b before every run of letters a below the top, BOS before b.  So p_1(b) is
        # (1 - d + d) / 3, 98 orders leave d / 2 each, and the top, where the run occurs 101 times, d / 101.
        d = 1 / 1024
        model = KneserNey.fit("b" + "a" * 200, 100, "ab", discounts=(d, d, d))
        self.assertEqual(model.probability("b", "a" * 99), 0.0)
        self.assertAlmostEqual(model.nll("b", "a" * 99), log(3) + 98 * log(2048) + log(101 * 1024), delta=1e-10)

    def test_a_vocabulary_of_one_token_costs_nothing(self) -> None:
        for cls in MODELS:
            model = cls.fit("aaaa", 2, "a")
            self.assertAlmostEqual(model.probability("a", "a"), 1.0, delta=1e-15)
            self.assertGreaterEqual(model.nll("a", "a"), 0.0)


class Texts(unittest.TestCase):
    def test_the_history_runs_on_or_is_forgotten_at_bos(self) -> None:
        for cls in MODELS:
            written = text(3, 400, bos=True)
            model = cls.fit(written, 3, VOCABULARY, bos=BOS)
            with self.subTest(model=cls.__name__):
                nlls = model.nlls("ab<ca", context="b")
                want = [("a", "b"), ("b", "ba"), ("c", "<"), ("a", "<c")]
                self.assertEqual(nlls, [model.nll(token, context) for token, context in want])
                self.assertEqual(model.nll("a", "abc<"), model.nll("a", "<"))
                self.assertEqual(model.nll("a", "ddddab"), model.nll("a", "ab"))
                self.assertNotEqual(model.nll("a", "<b"), model.nll("a", "b"))
                self.assertEqual(model.nll("a", "????ab"), model.nll("a", "ab"))  # what is out of reach is not read

    def test_sequences_are_separate_whatever_their_order(self) -> None:
        one, two = text(4, 50, bos=False), text(5, 70, bos=False)
        for cls in MODELS:
            model = cls.fit(BOS + one + BOS + two, 3, VOCABULARY, bos=BOS)
            other = cls.fit(two + BOS + BOS + one, 3, VOCABULARY, bos=BOS)
            scores = [[m.probability(w, c) for c in contexts(3) for w in VOCABULARY] for m in (model, other)]
            self.assertEqual(*scores)

    def test_a_score_is_the_tally_of_the_nlls(self) -> None:
        model = KneserNey.fit(text(6, 300, bos=True), 3, VOCABULARY, bos=BOS)
        self.assertEqual(model.score("abca", context="b"), Tally.of(model.nlls("abca", context="b")))
        self.assertEqual(model.score("<ab<ca"), model.score("<ab") + model.score("<ca"))
        self.assertEqual(model.score("<ab<ca").n_documents, 2)
        self.assertEqual(model.score("ab<ca").n_documents, 2)
        self.assertEqual(model.score(""), Tally.of([]))
        self.assertEqual(model.score(iter("abca")), model.score("abca"))
        merged = model.score("ab") + model.score("ca", context="ab")
        self.assertEqual(merged.nll_sum, model.score("abca").nll_sum)

    def test_fit_reads_a_stream_once(self) -> None:
        for cls in (*MODELS, StupidBackoff):
            written = text(8, 200, bos=False)
            self.assertEqual(cls.fit(iter(written), 3, iter(VOCABULARY)).vocabulary, tuple(VOCABULARY))
        self.assertEqual(*(KneserNey.fit(w, 3, VOCABULARY).nll("a", "bb") for w in (written, iter(written))))

    def test_tokens_of_any_kind_give_the_same_numbers(self) -> None:
        written = text(9, 300, bos=True)
        kinds: list[dict[str, Any]] = [
            {w: i for i, w in enumerate("abcd<")},
            {w: (w, None) for w in "abcd<"},
            {w: f"{w}\u00e9" for w in "abcd<"},
        ]
        for cls in MODELS:
            want = cls.fit(written, 3, VOCABULARY, bos=BOS).nlls("<abcdab")
            self.assertEqual(cls.fit(written.encode(), 3, b"abcd", bos=ord(BOS)).nlls(b"<abcdab"), want)
            for kind in kinds:
                model = cls.fit([kind[w] for w in written], 3, [kind[w] for w in VOCABULARY], bos=kind[BOS])
                self.assertEqual(model.nlls([kind[w] for w in "<abcdab"]), want)

    def test_unk_stands_for_every_stranger(self) -> None:
        for cls in MODELS:
            model = cls.fit("abxyab", 2, "ab?", unk="?")
            same = cls.fit("ab??ab", 2, "ab?")
            self.assertEqual(model.nlls("azb", context="q"), same.nlls("a?b", context="?"))

    def test_a_bos_in_the_vocabulary_takes_its_share_and_is_never_a_target(self) -> None:
        for cls in MODELS:
            model = cls.fit("<ab<ab", 2, "ab<", bos=BOS)
            self.assertEqual(len(model.nlls("<ab")), 2)
            self.assertAlmostEqual(fsum(model.probability(w, "<") for w in "ab<"), 1.0, delta=1e-15)
            self.assertGreater(model.probability(BOS, "<"), 0.0)

    def test_a_model_knows_its_size_and_can_be_pickled(self) -> None:
        for cls in MODELS:
            model = cls.fit("abab", 2, "ab")
            self.assertEqual(model.n_grams, 2 + 3)  # a, b; BOS a, a b, b a
            again = pickle.loads(pickle.dumps(model))
            self.assertEqual(again.nlls("abba"), model.nlls("abba"))
            self.assertEqual((again.order, again.vocabulary, again.bos, again.unk), (2, ("a", "b"), None, None))


HASHED = """
from refcalc.baselines.ngram import *
words = "the cat sat on the mat and the dog sat on the cat".split() * 3
for model in (KneserNey, WittenBell, Additive):
    print([x.hex() for x in model.fit(words, 3, sorted(set(words))).nlls(words)])
"""


class Bits(unittest.TestCase):
    def test_no_hash_shows(self) -> None:
        outputs = {
            subprocess.run(
                [sys.executable, "-c", HASHED],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("0", "1", "2")
        }
        self.assertEqual(len(outputs), 1)
        self.assertEqual(len(outputs.pop().splitlines()), 3)


class Refusals(unittest.TestCase):
    def assert_refused(self, message: str, call: Any, kind: type[Exception] = ValueError) -> None:
        with self.assertRaises(kind) as caught:
            call()
        self.assertEqual(str(caught.exception), message)

    def test_stupid_back_off_refuses_a_perplexity(self) -> None:
        model = StupidBackoff.fit("abab", 2, "ab")
        for name, arguments in {"probability": "a", "nll": "a", "nlls": "ab", "score": "ab"}.items():
            message = f"StupidBackoff.{name}: the scores must sum to 1 (use unnormalised_score), got stupid back-off"
            self.assert_refused(message, lambda n=name, a=arguments: getattr(model, n)(a))

    def test_bad_arguments_of_fit_are_named(self) -> None:
        for cls in (*MODELS, StupidBackoff):
            name = f"{cls.__name__}.fit"

            def fit(tokens: Any = "ab", order: Any = 2, vocabulary: Any = "ab", cls: Any = cls, **more: Any) -> Any:
                return lambda: cls.fit(tokens, order, vocabulary, **more)

            self.assert_refused(f"{name}: order must be at least 1, got 0", fit(order=0))
            self.assert_refused(f"{name}: order must be at most 1000, got 1001", fit(order=1001))
            self.assert_refused(f"{name}: order must be a whole number, got 2.0", fit(order=2.0), TypeError)
            self.assert_refused(f"{name}: vocabulary must hold at least one token, got []", fit(vocabulary=""))
            self.assert_refused(f"{name}: vocabulary[2] must not be named twice, got 'a'", fit(vocabulary="aba"))
            self.assert_refused(f"{name}: unk must be in the vocabulary, got '?'", fit(unk="?"))
            stranger = f"{name}: tokens[1] must be in the vocabulary (no unk was named), got 'z'"
            self.assert_refused(stranger, fit(tokens="azb"))
            unknown = f"{name}: unk must be another token than bos, or unknown ones are not counted, got 'a'"
            self.assert_refused(unknown, fit(unk="a", bos="a"))
            for argument, given in (("tokens", [[]]), ("tokens", [([],)]), ("vocabulary", [[]])):
                message = f"{name}: {argument}[0] must be hashable, got {given[0]}"
                self.assert_refused(message, fit(**{argument: given}), TypeError)
            for argument in ("bos", "unk"):
                self.assert_refused(f"{name}: {argument} must be hashable, got []", fit(**{argument: []}), TypeError)
            for argument in ("tokens", "vocabulary"):
                self.assert_refused(
                    f"{name}: {argument} must be iterable, got None", fit(**{argument: None}), TypeError
                )

    def test_bad_tokens_and_contexts_are_named(self) -> None:
        for cls in MODELS:
            name, model = cls.__name__, cls.fit("ab", 3, "ab", bos=BOS)
            stranger = "must be in the vocabulary (no unk was named), got 'z'"
            self.assert_refused(f"{name}: token {stranger}", lambda m=model: m.probability("z"))
            self.assert_refused(f"{name}: context[2] {stranger}", lambda m=model: m.nll("a", "aaz"))
            self.assert_refused(f"{name}: tokens[1] {stranger}", lambda m=model: m.score("az"))
            self.assert_refused(f"{name}: context[0] {stranger}", lambda m=model: m.nlls("a", "z"))
            unhashable = f"{name}: tokens[1] must be hashable, got []"
            self.assert_refused(unhashable, lambda m=model: m.score(["a", []]), TypeError)
            self.assert_refused(f"{name}: tokens must be iterable, got 7", lambda m=model: m.score(7), TypeError)
            outside = f"{name}: token must be in the vocabulary (bos is not), got '<'"
            self.assert_refused(outside, lambda m=model: m.probability(BOS))
            self.assert_refused(f"{name}: context must be a sequence, got 7", lambda m=model: m.nll("a", 7), TypeError)

    def test_bad_smoothing_is_named(self) -> None:
        for alpha, rule in ((0.0, "be above 0"), (-1.0, "not be negative"), (inf, "be finite"), (nan, "be a number")):
            message = f"Additive.fit: alpha must {rule}, got {alpha}"
            self.assert_refused(message, lambda a=alpha: Additive.fit("ab", 2, "ab", alpha=a))
        for alpha in (2.0**500, 1e308):
            message = f"Additive.fit: alpha must be below 2**500, got {alpha}"
            self.assert_refused(message, lambda a=alpha: Additive.fit("ab", 2, "ab", alpha=a))
        message = "StupidBackoff.fit: alpha must lie in [0, 1], got 1.5"
        self.assert_refused(message, lambda: StupidBackoff.fit("ab", 2, "ab", alpha=1.5))
        for discounts, rule in (
            ((0.5, 1.0), "discounts must be three numbers, got (0.5, 1.0)"),
            ((0.0, 1.0, 1.0), "discounts[0] must be above 0 and at most 1, got 0.0"),
            ((1.0, 2.5, 1.0), "discounts[1] must be above 0 and at most 2, got 2.5"),
            ((1.0, 1.0, nan), "discounts[2] must be a number, got nan"),
        ):
            message = f"KneserNey.fit: {rule}"
            self.assert_refused(message, lambda d=discounts: KneserNey.fit("ab", 2, "ab", discounts=d))
