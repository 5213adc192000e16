"""One row of logits, judged in wide decimal arithmetic: no shift of doubles, no log1p, no fsum."""

import unittest
from decimal import Decimal
from fractions import Fraction
from math import inf, isinf, log, nan, ulp
from random import Random

from refcalc.softmax import entropy, log_softmax, logsumexp, softmax, textbook_log_softmax, token_nll
from refcalc.units import uniform_nll
from tests.rows import FAMILIES, Truth, near_gauss, rows
from tests.ulps import assert_ulps, ulps_off

LEAST, LARGEST = 5e-324, 1.7976931348623157e308
FUNCTIONS = {
    "token_nll": lambda row: token_nll(row, 0),
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "softmax": softmax,
    "entropy": entropy,
}


def off_by(x: float, limit: float) -> tuple[Decimal, Decimal]:
    """Return the numbers that many ulp of x below and above x."""
    slack = Decimal(limit) * Decimal(ulp(x))
    return Decimal(x) - slack, Decimal(x) + slack


class Accuracy(unittest.TestCase):
    """Every bound that a docstring states, on rows of every family."""

    judged: list[tuple[str, int, list[float], Truth]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.judged = [(name, seed, row, Truth(row)) for name, seed, row in rows(seeds=8)]

    def test_token_nll_is_within_5_ulp_for_the_likeliest_class_and_any_other(self) -> None:
        for name, seed, row, truth in self.judged:
            for y in {row.index(max(row)), row.index(min(row)), seed % len(row)}:
                got = token_nll(row, y)
                with self.subTest(family=name, seed=seed, target=y):
                    if row[y] == -inf:
                        self.assertEqual(got, inf)
                    elif isinf(got):  # the distance of two logits beyond the largest double
                        self.assertGreater(Fraction(max(row)) - Fraction(row[y]), Fraction(LARGEST))
                    else:
                        self.assertTrue(truth.nll_lies_in(*off_by(got, 5), y), f"{row}: {got.hex()}")

    def test_log_softmax_is_the_negated_token_nll_of_every_class_to_the_bit(self) -> None:
        for name, seed, row, _ in self.judged:
            with self.subTest(family=name, seed=seed):
                got = log_softmax(row)
                for y in range(0, len(row), 1 + len(row) // 10):
                    self.assertEqual(-got[y], token_nll(row, y))

    def test_logsumexp_is_within_4_ulp_of_the_largest_addend(self) -> None:
        for name, seed, row, truth in self.judged:
            got = logsumexp(row)
            slack = 4 * Decimal(ulp(max(1.0, abs(max(row)), log(len(row)))))
            with self.subTest(family=name, seed=seed):
                self.assertTrue(truth.logsumexp_lies_in(Decimal(got) - slack, Decimal(got) + slack), f"{row}: {got}")

    def test_softmax_is_within_5_ulp_and_below_the_normal_doubles_within_6(self) -> None:
        for name, seed, row, truth in self.judged:
            got = softmax(row)
            for y in range(0, len(row), 1 + len(row) // 10):
                want = truth.probability(y)
                with self.subTest(family=name, seed=seed, target=y):
                    self.assertLessEqual(ulps_off(got[y], want), 5 if want > Decimal(2) ** -1022 else 6)

    def test_entropy_is_within_13_ulp_and_on_these_rows_within_4(self) -> None:
        for name, seed, row, truth in self.judged:
            if seed % 2:
                with self.subTest(family=name, seed=seed):
                    self.assertLessEqual(ulps_off(entropy(row), truth.entropy()), 4)

    def test_a_row_of_200_000_classes(self) -> None:
        rng = Random("a large vocabulary")
        row = [4.0 * rng.random() for _ in range(200_000)]
        row[77] = 9.5
        truth = Truth([round(z, 2) for z in row])  # few distinct values, so that decimal is quick
        got = token_nll(truth.row, 77)
        self.assertTrue(truth.nll_lies_in(*off_by(got, 5), 77), got)
        self.assertLessEqual(ulps_off(entropy(truth.row), truth.entropy()), 13)

    def test_every_family_made_rows(self) -> None:
        self.assertEqual({name for name, *_ in self.judged}, set(FAMILIES))


class HardRows(unittest.TestCase):
    def test_a_tail_below_one_ulp_of_one_survives(self) -> None:
        # decimal, 80 digits: ln(1 + exp(-40)) = 4.24835425529158898630...E-18
        assert_ulps(token_nll([0.0, -40.0], 0), 4.24835425529158898630e-18, limit=1)
        assert_ulps(logsumexp([0.0, -40.0]), 4.24835425529158898630e-18, limit=1)

    def test_a_tail_whose_terms_underflow_one_by_one(self) -> None:
        for z, n in [(-741.0, 20_000), (-750.0, 20_000), (-760.0, 2_000)]:
            row = [0.0] + [z] * n
            truth = Truth(row)
            with self.subTest(z=z):
                self.assertTrue(truth.nll_lies_in(*off_by(token_nll(row, 0), 5), 0), token_nll(row, 0))
                self.assertLessEqual(ulps_off(entropy(row), truth.entropy()), 4)
                self.assertEqual(entropy(row) > 0.0, z > -760.0)

    def test_the_sum_of_exponentials_may_overflow_where_no_term_does(self) -> None:
        for row in [[709.0] * 5, [709.7, 709.5], [709.0] + [706.0] * 22, [709.78, *[700.0] * 1000]]:
            truth = Truth(row)
            with self.subTest(row=row[:3]):
                self.assertTrue(truth.nll_lies_in(*off_by(token_nll(row, 0), 5), 0))
                self.assertLessEqual(ulps_off(softmax(row)[-1], truth.probability(len(row) - 1)), 5)
                self.assertLessEqual(ulps_off(entropy(row), truth.entropy()), 13)

    def test_small_probabilities_of_a_row_below_the_range_of_exp_keep_their_digits(self) -> None:
        for row in [[-700.0, -730.0, -744.0, -1400.0], [-600.0, -601.0, -740.0, -744.5]]:
            truth = Truth(row)
            for y, p in enumerate(softmax(row)):
                with self.subTest(row=row, target=y):
                    self.assertLessEqual(ulps_off(p, truth.probability(y)), 5)

    def test_equal_logits_give_the_uniform_nll_to_the_bit_at_any_height(self) -> None:
        for classes in [1, 2, 3, 10, 255, 1000, 50_257]:
            for height in [0.0, -3.7, 1e4, -745.5, 709.5, 1e300]:
                with self.subTest(classes=classes, height=height):
                    self.assertEqual(token_nll([height] * classes, classes - 1), uniform_nll(classes))
                    self.assertEqual(entropy([height] * classes), uniform_nll(classes))

    def test_masked_classes_add_nothing(self) -> None:
        self.assertEqual(logsumexp([-inf, 3.5, -inf]), 3.5)
        self.assertEqual(softmax([-inf, 3.5, -inf]), [0.0, 1.0, 0.0])
        self.assertEqual(log_softmax([-inf, 3.5, -inf]), [-inf, 0.0, -inf])
        self.assertEqual(entropy([-inf, 3.5, -inf]), 0.0)
        self.assertEqual(token_nll([-inf, 3.5], 0), inf)
        self.assertEqual(token_nll([-inf, 3.5], 1), 0.0)

    def test_a_row_of_nothing_but_minus_infinity_has_a_logsumexp_and_no_distribution(self) -> None:
        self.assertEqual(logsumexp([-inf, -inf]), -inf)
        for name in set(FUNCTIONS) - {"logsumexp"}:
            with self.subTest(function=name), self.assertRaises(ValueError) as caught:
                FUNCTIONS[name]([-inf, -inf])
            self.assertEqual(str(caught.exception), f"{name}: logits must hold a score above -inf, got [-inf, -inf]")

    def test_a_difference_beyond_the_largest_double_is_infinite(self) -> None:
        self.assertEqual(token_nll([1e308, -1e308], 1), inf)
        self.assertEqual(token_nll([1e308, -1e308], 0), 0.0)

    def test_the_textbook_formula_agrees_on_an_easy_row_and_loses_a_hit(self) -> None:
        easy = [0.5, -1.0, 2.0]
        for got, want in zip(textbook_log_softmax(easy), log_softmax(easy), strict=True):
            assert_ulps(got, want, limit=8)
        self.assertEqual(textbook_log_softmax([0.0, -40.0])[0], 0.0)


class Laws(unittest.TestCase):
    def test_permuting_the_classes_changes_no_bit(self) -> None:
        for name, seed, row in rows(seeds=6):
            rng = Random(seed)
            order = sorted(range(len(row)), key=lambda _: rng.random())
            moved = [row[i] for i in order]
            with self.subTest(family=name, seed=seed):
                for function in (log_softmax, softmax):
                    before = function(row)
                    self.assertEqual(function(moved), [before[i] for i in order])
                self.assertEqual(logsumexp(moved), logsumexp(row))
                self.assertEqual(entropy(moved), entropy(row))

    def test_a_class_of_probability_zero_changes_no_bit(self) -> None:
        for name, seed, row in rows(seeds=6):
            with self.subTest(family=name, seed=seed):
                self.assertEqual(token_nll([*row, -inf], 0), token_nll(row, 0))
                self.assertEqual(entropy([*row, -inf]), entropy(row))
                assert_ulps(softmax([*row, -inf])[0], softmax(row)[0], limit=10)  # may go the other way

    def test_a_constant_added_without_rounding_keeps_the_answer_within_the_two_bounds(self) -> None:
        for seed in range(40):
            rng = Random(seed)
            row = [float(int(near_gauss(rng, 4.0) * 4096)) / 4096 for _ in range(12)]
            for shift in [1.0, -512.0, 690.0, 2.0**30, -(2.0**40)]:
                moved = [z + shift for z in row]
                self.assertEqual([z - shift for z in moved], row)  # nothing was rounded
                with self.subTest(seed=seed, shift=shift):
                    assert_ulps(token_nll(moved, 3), token_nll(row, 3), limit=10)
                    assert_ulps(softmax(moved)[3], softmax(row)[3], limit=10)

    def test_the_logsumexp_of_the_parts_logsumexps_is_that_of_the_whole(self) -> None:
        for seed in range(40):
            rng = Random(seed)
            row = [near_gauss(rng, 5.0) for _ in range(60)]
            cut = 1 + int(rng.random() * 58)
            merged = logsumexp([logsumexp(row[:cut]), logsumexp(row[cut:])])
            with self.subTest(seed=seed, cut=cut):
                self.assertLessEqual(abs(merged - logsumexp(row)), 12 * ulp(max(1.0, abs(max(row)), log(60))))

    def test_probabilities_sum_to_one(self) -> None:
        for name, seed, row in rows(seeds=6):
            with self.subTest(family=name, seed=seed):
                self.assertLess(abs(sum(map(Fraction, softmax(row))) - 1), 5 * Fraction(2) ** -53 + len(row) * LEAST)

    def test_whole_numbers_and_fractions_are_the_numbers_they_are(self) -> None:
        self.assertEqual(token_nll([1, Fraction(1, 2), True], 1), token_nll([1.0, 0.5, 1.0], 1))
        self.assertEqual(logsumexp([2**60, 0]), float(2**60))
        self.assertEqual(log_softmax([Decimal("0.5"), Fraction(1, 4), 2]), log_softmax([0.5, 0.25, 2.0]))


class Refusals(unittest.TestCase):
    def refused(self, kind: type[Exception], message: str, function: str, row: object) -> None:
        with self.subTest(function=function, row=row):
            with self.assertRaises(kind) as caught:
                FUNCTIONS[function](row)
            self.assertEqual(str(caught.exception), f"{function}: {message}")

    def test_a_score_that_is_none_is_named_wherever_it_stands(self) -> None:
        for name in FUNCTIONS:
            for bad in (nan, inf):
                for i in range(3):
                    row = [0.0, 1.0, -inf]
                    row[i] = bad
                    self.refused(ValueError, f"logits[{i}] must be finite or -inf, got {bad}", name, row)
            self.refused(ValueError, "logits[0] must be finite or -inf, got nan", name, [nan])
            self.refused(ValueError, "logits[0] must be finite or -inf, got nan", name, [nan, -inf])
            self.refused(ValueError, "logits[0] must be finite or -inf, got nan", name, [Decimal("nan"), 1])
            self.refused(ValueError, "logits must hold at least one score, got 0", name, [])
            beyond = "logits[1] must be within the range of a double, got 100000000000000000...0000000000000000000"
            self.refused(ValueError, beyond, name, [0.0, 10**400])

    def test_what_is_no_number_is_named(self) -> None:
        for name in FUNCTIONS:
            for bad, shown in [("1", "'1'"), (None, "None"), (1j, "1j"), ([2.0], "[2.0]"), (b"1", "b'1'")]:
                self.refused(TypeError, f"logits[1] must be a number, got {shown}", name, [0.0, bad])
                self.refused(TypeError, f"logits[0] must be a number, got {shown}", name, [bad])

    def test_a_target_is_a_class_and_nothing_wraps_around(self) -> None:
        for bad in (-1, 2, -100):
            with self.subTest(target=bad), self.assertRaises(ValueError) as caught:
                token_nll([0.0, 0.0], bad)
            self.assertEqual(str(caught.exception), f"token_nll: target must lie in [0, 2), got {bad}")
        for kind in (True, 1.0, "1", None, Fraction(1)):
            with self.subTest(target=kind), self.assertRaises(TypeError) as caught:
                token_nll([0.0, 0.0], kind)
            self.assertEqual(str(caught.exception), f"token_nll: target must be a whole number, got {kind!r}")
