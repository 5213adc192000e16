"""Resampling of documents: against the seed document's own code, against counting by hand, and by its refusals."""

import random
import unittest
from collections import Counter
from fractions import Fraction
from itertools import islice, product
from math import inf, nan, nextafter
from random import Random
from typing import Any

from refcalc.resampling import _draws, bootstrap, paired_bootstrap, pooled_ratio
from refcalc.resampling._draws import Column, Resample, choices, resamples

THREE = [(2.0, 2), (18.0, 9), (8.0, 4)]
TOO_FEW = "below 8 the interval is not to be trusted, most often it is too narrow"


def drawn(seed: int, size: int) -> list[tuple[float, int]]:
    rng = Random(seed)
    return [(50.0 * rng.random(), 1 + int(20 * rng.random())) for _ in range(size)]


def as_published(documents: list[tuple[float, float]], draws: int, seed: int) -> tuple[float, float]:
    """Return the range as the code of the seed document computes it, word for word."""

    def token_mean(records: list[tuple[float, float]]) -> float:
        return sum(s for s, n in records) / sum(n for s, n in records)

    rng = random.Random(seed)
    means = sorted(token_mean([rng.choice(documents) for _ in documents]) for _ in range(draws))
    return means[int(0.025 * (len(means) - 1))], means[int(0.975 * (len(means) - 1))]


def all_ratios(documents: list[tuple[float, float]]) -> list[Fraction]:
    """Return the ratio of each of the K**K equally likely resamples, by size."""
    exact = [(Fraction(s), Fraction(n)) for s, n in documents]
    return sorted(Fraction(sum(s for s, _ in one), sum(n for _, n in one)) for one in product(exact, repeat=len(exact)))


def counts(resample: Resample, n: int) -> list[int]:
    result = [sum((plane >> i & 1) << p for p, plane in enumerate(resample.planes)) for i in range(n)]
    for item in resample.extras:
        result[item] += 1
    return result


def assert_root(case: unittest.TestCase, got: float, square: Fraction) -> None:
    """Fail unless got is the double nearest to the root of square: judged by the squares of its two borders."""
    low, high = ((Fraction(got) + Fraction(nextafter(got, end))) / 2 for end in (0.0, inf))
    case.assertTrue(low * low <= square <= high * high, (got, square))


class Published(unittest.TestCase):
    def test_the_worked_example_of_the_seed_document(self) -> None:
        result = bootstrap(THREE, draws=2000, seed=17, method="choice")
        self.assertEqual((result.observed, result.low, result.high), (28 / 15, 1.0, 2.0))

    def test_whole_sums_give_the_very_range_of_the_published_code(self) -> None:
        for seed in range(12):
            documents = [(float(int(s)), n) for s, n in drawn(seed, 3 + seed)]  # whole, so that sum() does not round
            for draws in (101, 200):
                result = bootstrap(documents, draws=draws, seed=seed, method="choice")
                self.assertEqual((result.low, result.high), as_published(documents, draws, seed), (seed, draws))

    def test_other_sums_are_rounded_once_where_the_published_code_rounds_at_each_step(self) -> None:
        documents = drawn(5, 40)
        result = bootstrap(documents, draws=101, seed=5, method="choice")
        for got, want in zip((result.low, result.high), as_published(documents, 101, 5), strict=True):
            self.assertAlmostEqual(got, want, delta=40 * 2.0**-53 * want)


class Exact(unittest.TestCase):
    def test_small_tables_are_those_of_counting_every_resample(self) -> None:
        for seed in range(4):
            documents = drawn(seed, 2 + seed)
            ratios, result = all_ratios(documents), bootstrap(documents, method="exact")
            size, mean = len(ratios), Fraction(sum(ratios), len(ratios))
            ranks = [-(-size * Fraction(tail) // 1) - 1 for tail in (0.025, 0.975)]
            self.assertEqual((result.low, result.high), tuple(float(ratios[int(rank)]) for rank in ranks), seed)
            rounded = [Fraction(float(ratio)) for ratio in ratios]
            mean = Fraction(sum(rounded), size)
            assert_root(self, result.standard_error, sum((r - mean) * (r - mean) for r in rounded) / size)

    def test_a_quantile_that_is_reached_exactly_is_taken(self) -> None:
        result = bootstrap([(1, 1), (3, 1)], method="exact", confidence=0.5)  # 1, 2, 2 and 3 are equally likely
        self.assertEqual((result.low, result.high), (1.0, 2.0))

    def test_the_standard_errors_of_the_catalogue_of_mistakes(self) -> None:
        # Drawing all without replacement gives 0; drawing tokens as if independent gives 0.35 where it is 0.71.
        self.assertEqual(bootstrap([(x, 1) for x in (1, 2, 3, 4)], method="exact").standard_error, 0.5590169943749475)
        self.assertEqual(bootstrap([(4, 4), (12, 4)], method="exact").standard_error, 0.7071067811865476)
        tokens = [(1, 1)] * 4 + [(3, 1)] * 4
        self.assertEqual(bootstrap(tokens, method="exact").standard_error, 0.35355339059327379)

    def test_random_draws_come_near_it(self) -> None:
        documents = drawn(3, 8)
        truth = bootstrap(documents, method="exact")
        for method in ("random", "choice"):
            result = bootstrap(documents, draws=2000, seed=1, method=method)
            self.assertAlmostEqual(result.standard_error, truth.standard_error, delta=0.06 * truth.standard_error)
            for got, want in ((result.low, truth.low), (result.high, truth.high)):
                self.assertAlmostEqual(got, want, delta=0.2 * truth.standard_error)


class Drawing(unittest.TestCase):
    def test_every_resample_draws_as_many_as_there_are(self) -> None:
        for n in (2, 4, 5, 17, 300, 1001):
            for resample in [*islice(resamples(n, 7), 20), *islice(choices(n, 7), 3)]:
                self.assertEqual(sum(counts(resample, n)), n)

    def test_counts_are_those_of_draws_with_replacement(self) -> None:
        # For n = 30: mean 1, variance 1 - 1/n, covariance of two items -1/n, and P(0) = (1 - 1/n)**n, each within
        # about four standard errors of its estimate.
        n, draws = 30, 2000
        seen: Counter[int] = Counter()
        first_two = square = 0
        each = [0] * n
        for resample in islice(resamples(n, 11), draws):
            w = counts(resample, n)
            seen.update(w)
            first_two += sum(w[i] * w[i + 1] for i in range(0, n, 2))
            square += sum(x * x for x in w)
            each = [a + b for a, b in zip(each, w, strict=True)]
        self.assertAlmostEqual(square / (n * draws), 2 - 1 / n, delta=0.02)
        self.assertAlmostEqual(first_two / (n * draws / 2), 1 - 1 / n, delta=0.02)
        self.assertAlmostEqual(seen[0] / (n * draws), 0.36166, delta=0.004)
        self.assertAlmostEqual(seen[3] / (n * draws), 0.06020, delta=0.003)
        self.assertAlmostEqual(seen[4] / (n * draws), 0.01401, delta=0.0015)
        chi_square = sum((x - draws) * (x - draws) / (draws * (1 - 1 / n)) for x in each)
        self.assertLess(chi_square, 60)  # of about 29 degrees of freedom: beyond it 6 in 10,000
        self.assertGreater(chi_square, 10)

    def test_the_cells_and_what_they_leave_over_are_the_poisson_law(self) -> None:
        for n in (5, 30, 10_000, 10**9):
            cells = _draws._poisson_cells(n)
            whole = [b - a for a, b in zip([0, *cells.bounds], cells.bounds, strict=False)]
            again = 256 - cells.bounds[-1]
            drawn_again = [b - a for a, b in zip([0.0, *cells.left_over], cells.left_over, strict=False)]
            whole += [0] * (len(drawn_again) - len(whole))
            shares = [(w + again * d) / 256 for w, d in zip(whole, drawn_again, strict=True)]
            mean = 1 - 2 / n**0.5
            self.assertAlmostEqual(sum(shares), 1.0, delta=1e-15)
            for k in range(12):  # P(k + 1) / P(k) = mean / (k + 1)
                self.assertAlmostEqual(shares[k + 1] * (k + 1), shares[k] * mean, delta=1e-15)

    def test_random_bits_are_even(self) -> None:
        planes = _draws._random_bits(20_000, Random(3).random)
        self.assertEqual(len(planes), 8)
        for a in planes:
            self.assertAlmostEqual(a.bit_count(), 10_000, delta=300)  # four standard deviations of 71
            for b in planes:
                if a != b:
                    self.assertAlmostEqual((a & b).bit_count(), 5_000, delta=260)

    def test_sums_over_a_resample_are_exact_for_numbers_of_any_sign(self) -> None:
        numbers = [int(1e18 * (Random(i).random() - 0.7)) for i in range(200)]
        for column in (numbers, [5] * 200):
            for resample in islice(resamples(200, 1), 5):
                want = sum(w * x for w, x in zip(counts(resample, 200), column, strict=True))
                self.assertEqual(Column(column).total(resample), want)

    def test_the_same_bits_on_every_python_and_machine(self) -> None:
        few, many = bootstrap(drawn(1, 4), seed=2), bootstrap(drawn(1, 100), draws=300, seed=2)
        self.assertEqual((few.low, few.high, few.standard_error), GOLDEN[0])
        self.assertEqual((many.low, many.high, many.standard_error), GOLDEN[1])

    def test_the_order_of_magnitude_of_numbers_does_not_matter(self) -> None:
        documents = drawn(8, 30)
        small = bootstrap([(s * 2.0**-900, n * 2.0**100) for s, n in documents], draws=50)
        self.assertEqual(small.low * 2.0**500 * 2.0**500, bootstrap(documents, draws=50).low)


class Groups(unittest.TestCase):
    def test_documents_of_a_group_are_drawn_as_one(self) -> None:
        documents, labels = drawn(4, 9), list("aabbbcadd")
        merged = [(0.0, 0)] * 4
        for (s, n), label in zip(documents, labels, strict=True):
            at = "abcd".index(label)
            merged[at] = merged[at][0] + s, merged[at][1] + n
        got, want = bootstrap(documents, groups=labels, method="exact"), bootstrap(merged, method="exact")
        self.assertEqual(got.resampled, 4)
        for a, b in zip(got[:4], want[:4], strict=True):
            self.assertAlmostEqual(a, b, delta=1e-15 * abs(b))
        got, want = pooled_ratio(documents, groups=labels), pooled_ratio(merged)
        self.assertAlmostEqual(got.standard_error, want.standard_error, delta=1e-14)
        self.assertEqual(got.warnings, (f"only 4 groups to draw from: {TOO_FEW}",))

    def test_eight_are_enough_for_no_warning(self) -> None:
        self.assertEqual(bootstrap(drawn(1, 8), draws=2).warnings, ())
        self.assertEqual(bootstrap(drawn(1, 7), draws=2).warnings, (f"only 7 documents to draw from: {TOO_FEW}",))

    def test_no_spread_is_no_certainty(self) -> None:
        for result in (bootstrap([(0, 1)] * 9, draws=5), pooled_ratio([(3, 1), (6, 2)] * 5)):
            words = "every document has the same ratio: that no draw differs from it does not make it certain"
            self.assertEqual((result.standard_error, result.warnings), (0.0, (words,)))


class Intervals(unittest.TestCase):
    def test_the_basic_interval_is_the_percentile_interval_mirrored(self) -> None:
        documents = drawn(2, 20)
        plain, basic = (bootstrap(documents, draws=100, interval=kind) for kind in ("percentile", "basic"))
        observed = plain.observed
        self.assertEqual((basic.low, basic.high), (2 * observed - plain.high, 2 * observed - plain.low))

    def test_confidence_is_the_decimal_that_is_written(self) -> None:
        documents = drawn(2, 20)
        narrow = bootstrap(documents, draws=201, confidence=0.8)
        everything = sorted(_ratios(documents, 201))
        self.assertEqual((narrow.low, narrow.high), (everything[20], everything[180]))

    def test_progress_is_told_the_draws_done(self) -> None:
        told: list[tuple[int, int]] = []
        bootstrap(drawn(2, 5), draws=250, progress=lambda *done: told.append(done))
        self.assertEqual((told[0], told[-1], len(told)), ((2, 250), (250, 250), 125))


def _ratios(documents: list[tuple[float, int]], draws: int) -> list[float]:
    found = []
    for resample in islice(resamples(len(documents), 0), draws):
        w = counts(resample, len(documents))
        s = sum(k * Fraction(s) for k, (s, _) in zip(w, documents, strict=True))
        found.append(float(s / sum(k * n for k, (_, n) in zip(w, documents, strict=True))))
    return found


class Paired(unittest.TestCase):
    def test_it_is_the_bootstrap_of_the_differences(self) -> None:
        ours = [(float(int(s)), n) for s, n in drawn(1, 12)]
        theirs = [(s + i % 3 - 0.5, n) for i, (s, n) in enumerate(ours)]
        result = paired_bootstrap(ours, theirs, draws=200, seed=4)
        differences = [(a[0] - b[0], a[1]) for a, b in zip(ours, theirs, strict=True)]
        self.assertEqual(result.difference, bootstrap(differences, draws=200, seed=4))
        self.assertEqual((result.ours, result.theirs), (bootstrap(ours).observed, bootstrap(theirs).observed))

    def test_what_is_hard_for_both_cancels(self) -> None:
        ours = drawn(6, 50)
        result = paired_bootstrap(ours, [(s + 0.25 * n, n) for s, n in ours], draws=100)
        self.assertAlmostEqual(result.difference.low, -0.25, delta=1e-12)
        self.assertAlmostEqual(result.difference.high, -0.25, delta=1e-12)
        self.assertEqual(result.ours_lower, 1.0)

    def test_the_share_of_resamples_in_which_ours_is_lower(self) -> None:
        # -1, 0 or 1 with probabilities 1/4, 1/2, 1/4
        self.assertEqual(paired_bootstrap([(1, 1), (2, 1)], [(2, 1), (1, 1)], method="exact").ours_lower, 0.25)

    def test_a_tie_is_not_lower(self) -> None:
        for method in ("random", "choice", "exact"):
            self.assertEqual(paired_bootstrap(THREE, THREE, draws=9, method=method).ours_lower, 0.0)

    def test_documents_that_are_not_the_same_are_refused(self) -> None:
        for ours, theirs, message in [
            ({"a": (1, 1), "b": (1, 1)}, {"a": (1, 1)}, "theirs must have the document 'b', which ours has, got ['a']"),
            ([(1, 1), (1, 1)], [(1, 1)] * 3, "ours must have the document 2, which theirs has, got [0, 1]"),
            (
                {"a": (1, 1), "b": (1, 4)},
                {"b": (1, 5), "a": (1, 1)},
                "theirs['b'][1] must be 4.0, the denominator of the same document in ours, got 5.0",
            ),
        ]:
            with self.subTest(message), self.assertRaises(ValueError) as caught:
                paired_bootstrap(ours, theirs)
            self.assertEqual(str(caught.exception), f"paired_bootstrap: {message}")


class DeltaMethod(unittest.TestCase):
    def test_ratio_and_standard_error_are_correctly_rounded(self) -> None:
        for seed in range(20):
            documents = [(s, n * 0.125 if seed % 2 else n) for s, n in drawn(seed, 2 + seed)]
            exact = [(Fraction(s), Fraction(n)) for s, n in documents]
            size, below = len(exact), sum(n for _, n in exact)
            ratio = Fraction(sum(s for s, _ in exact), below)
            square = sum((s - ratio * n) * (s - ratio * n) for s, n in exact) * size / (size - 1) / (below * below)
            result = pooled_ratio(documents)
            self.assertEqual(result.ratio, float(ratio))
            assert_root(self, result.standard_error, square)

    def test_equal_denominators_give_the_standard_error_of_a_mean(self) -> None:
        result = pooled_ratio([(1, 1), (2, 1), (3, 1), (4, 1)])
        assert_root(self, result.standard_error, Fraction(5, 3) / 4)
        # t of 3 degrees of freedom: 3.1824463052837095
        self.assertEqual(result.low, 2.5 - 3.1824463052837095 * result.standard_error)


class Refusals(unittest.TestCase):
    def test_each_names_the_argument_the_rule_and_the_value(self) -> None:
        two = [(1, 1), (2, 1)]
        cases: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
            ([], {}, ValueError, "documents must hold at least 2 documents to draw from, got 0"),
            ([(1, 1)], {}, ValueError, "documents must hold at least 2 documents to draw from, got 1"),
            (two, {"groups": "aa"}, TypeError, "groups must be a sequence, got 'aa'"),
            (two, {"groups": [1, 1]}, ValueError, "groups must hold at least 2 groups to draw from, got 1"),
            (
                [(1e280, 1), (-1e280, 1)],
                {},
                ValueError,
                "documents must have sums and ratios of at most 1e+280, got 'larger ones'",
            ),
            (two, {"groups": [1, [2]]}, TypeError, "groups[1] must be hashable, got [2]"),
            (two, {"groups": [1]}, ValueError, "groups must be as long as documents (2), got 1"),
            (7, {}, TypeError, "documents must be a sequence, got 7"),
            ([(1, 1), 3], {}, TypeError, "documents[1] must be a sequence, got 3"),
            ([(1, 1, 1)], {}, ValueError, "documents[0] must hold a numerator and a denominator, got (1, 1, 1)"),
            ([(nan, 1)], {}, ValueError, "documents[0][0] must be a number, got nan"),
            ({"x": (inf, 1)}, {}, ValueError, "documents['x'][0] must be finite, got inf"),
            ([("1", 1)], {}, TypeError, "documents[0][0] must be a number, got '1'"),
            (
                [(1, 0)],
                {},
                ValueError,
                "documents[0][1] must be above 0 (leave out what was not scored), got 0.0",
            ),
            (
                [(1e308, 1e-10)] * 2,
                {},
                ValueError,
                "documents must have sums and ratios of at most 1e+280, got 'larger ones'",
            ),
            (two, {"draws": 1}, ValueError, "draws must be at least 2, got 1"),
            (two, {"draws": 2.0}, TypeError, "draws must be a whole number, got 2.0"),
            (two, {"seed": None}, TypeError, "seed must be a whole number, got None"),
            (two, {"method": "rng"}, ValueError, "method must be one of 'random', 'choice', 'exact', got 'rng'"),
            (two, {"interval": "bca"}, ValueError, "interval must be one of 'percentile', 'basic', got 'bca'"),
            (two, {"confidence": 1}, ValueError, "confidence must lie between 0 and 1, got 1.0"),
            (two, {"confidence": "95"}, TypeError, "confidence must be a number, got '95'"),
            (
                two * 6,
                {"method": "exact"},
                ValueError,
                "method must be 'random' or 'choice' for more than 10 documents, got 'exact'",
            ),
        ]
        for documents, options, kind, message in cases:
            with self.subTest(message), self.assertRaises(kind) as caught:
                bootstrap(documents, **options)
            self.assertEqual(str(caught.exception), f"bootstrap: {message}")

    def test_the_input_is_not_changed(self) -> None:
        documents, labels = drawn(1, 9), list("aabbccdde")
        before = documents[:], labels[:]
        paired_bootstrap(documents, documents, groups=labels, draws=10)
        self.assertEqual((documents, labels), before)


GOLDEN = [
    (0.7870788843731094, 4.327818867136184, 0.9237022512969407),
    (2.0009237614638815, 2.6691381251115667, 0.1774515622223106),
]
