"""One row, correctly rounded: judged by inversion, by hard cases made on purpose, and by two precisions."""

import reprlib
import unittest
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import inf, nan, nextafter
from threading import Thread

from refcalc import exact
from tests.exact import judge


class Inversion(unittest.TestCase):
    def test_each_result_lies_between_its_half_way_points(self):
        for i, xs in enumerate(judge.rows(36)):
            log_p, p = exact.log_softmax(xs), exact.softmax(xs)
            with self.subTest(row=i, xs=xs):
                self.assertTrue(judge.is_nearest(exact.logsumexp(xs), judge.logsumexp(xs)))
                for j in range(min(len(xs), 4)):
                    self.assertTrue(judge.is_nearest(exact.token_nll(xs, j), judge.nll(xs, j)))
                    self.assertEqual(log_p[j], -exact.token_nll(xs, j))
                    self.assertTrue(judge.is_nearest(p[j], judge.probability(xs, j)) or len(set(xs)) == 1)
                self.assertTrue(judge.is_nearest(exact.entropy(xs), judge.entropy(xs)))

    def test_the_judge_refuses_the_neighbours(self):
        xs = [0.3, -1.25, 2.0]
        got = exact.token_nll(xs, 1)
        for other in (nextafter(got, -inf), nextafter(got, inf)):
            self.assertFalse(judge.is_nearest(other, judge.nll(xs, 1)))

    def test_a_long_row_uses_every_part_of_the_kernel(self):
        xs = judge.rows(6, seed=5)[1] * 3 + [x / 100.0 for x in range(-1500, 300)]
        self.assertTrue(judge.is_nearest(exact.token_nll(xs, 7), judge.nll(xs, 7)))
        many = [float(i % 50) / 8.0 for i in range(5000)]
        self.assertTrue(judge.is_nearest(exact.token_nll(many, 3), judge.nll(many, 3)))


class Traps(unittest.TestCase):
    """Where plain widening goes on for ever, or a float loses everything."""

    def test_half_way_plus_dust_goes_up(self):
        self.assertEqual(exact.token_nll([1e16, -1.0], 1), 1e16 + 2.0)
        self.assertEqual(exact.log_softmax([1e16, -1.0]), [0.0, -(1e16 + 2.0)])

    def test_half_way_without_dust_goes_to_even(self):
        self.assertEqual(exact.token_nll([1e16, -inf, -1.0], 2), 1e16 + 2.0)
        self.assertEqual(exact.logsumexp([2.0**53 + 2.0, 0.0]), 2.0**53 + 2.0)

    def test_a_confident_hit_keeps_its_digits_down_to_the_least_double(self):
        self.assertEqual(exact.token_nll([0.0, -745.0], 0), 5e-324)
        self.assertEqual(exact.token_nll([0.0, -746.0], 0), 0.0)
        self.assertEqual(exact.token_nll([1e16, 0.0], 0), 0.0)
        self.assertEqual(exact.token_nll([0.0] + [-750.0] * 50_000, 0).hex(), "0x0.00000000000c0p-1022")

    def test_a_logsumexp_may_cancel(self):
        xs = [-2.3025850929940455, -1.6094379124341003, -0.35667494393873245]  # log .1, log .2, log .7
        self.assertTrue(judge.is_nearest(exact.logsumexp(xs), judge.logsumexp(xs)))
        self.assertEqual(exact.logsumexp([-1e16, 0.0]), 0.0)

    def test_ties_are_rational_probabilities_and_logarithms_of_whole_numbers(self):
        self.assertEqual(exact.softmax([7.0, 7.0, 7.0, -inf]), [1 / 3, 1 / 3, 1 / 3, 0.0])
        self.assertEqual(exact.token_nll([3.0], 0), 0.0)
        self.assertEqual(exact.token_nll([3.0, -inf], 1), inf)
        self.assertEqual(exact.entropy([3.0, -inf]), 0.0)
        self.assertEqual(exact.entropy([-4.0] * 8), exact.uniform_nll(8))
        self.assertEqual(exact.logsumexp([-inf, -inf]), -inf)

    def test_numbers_at_the_ends_of_the_doubles(self):
        big = 1.7976931348623157e308
        self.assertEqual(exact.token_nll([big, -big], 1), inf)
        self.assertEqual(exact.token_nll([big, big, 0.0], 1), exact.uniform_nll(2))
        self.assertEqual(exact.softmax([5e-324, 0.0]), [0.5, 0.5])
        self.assertEqual(exact.logsumexp([big, -1.0]), big)

    def test_no_zero_has_a_sign(self):
        for xs in ([0.0, -800.0], [3.0], [1e300, 0.0]):
            self.assertEqual(exact.log_softmax(xs)[0].hex(), "0x0.0p+0")


@cache
def hard(size: int) -> tuple[list[float], float]:
    """Return a row, and the double below whose upper half-way point its nll of class 0 lies, by about 2**-(45 size)."""
    with localcontext(Context(prec=14 * size + 60, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        xs = [0.0, -0.75]
        f = float((1 + Decimal("-0.75").exp()).ln() + Decimal(2) ** -10)
        missing = judge.half_way(f, nextafter(f, inf)).exp() - 1 - Decimal("-0.75").exp()
        for _ in range(size - 2):
            aim = missing.ln()
            x = float(aim)
            xs.append(x if Decimal(x) < aim else nextafter(x, -inf))
            missing -= Decimal(xs[-1]).exp()
    return xs, f


class HardCases(unittest.TestCase):
    """Rows whose nll lies next to a half-way point, made by letting each further class repair what is missing."""

    def test_each_further_class_needs_more_bits(self):
        for size in (3, 4, 6, 8, 12, 16, 24):
            xs, f = hard(size)
            with self.subTest(size=size):
                self.assertEqual(exact.token_nll(xs, 0), f)
                self.assertEqual(exact.token_nll([*xs[:-1], nextafter(xs[-1], inf)], 0), nextafter(f, inf))
                self.assertEqual(exact.cross_entropy([xs, xs], [0, 0]), f)

    def test_beyond_the_limit_is_refused_and_not_guessed(self):
        xs, _ = hard(24)
        message = (
            "token_nll: the last bit must be decided within 512 bits (exact.limit_bits raises that), "
            "got no decision from 512, and 1024 would be next"
        )
        with exact.limit_bits(512), self.assertRaises(ArithmeticError) as caught:
            exact.token_nll(xs, 0)
        self.assertEqual(str(caught.exception), message)

    def test_the_limit_is_that_of_the_innermost_block_and_of_its_own_thread(self):
        xs, f = hard(24)
        found = []
        with exact.limit_bits(512):
            with exact.limit_bits(4096):
                self.assertEqual(exact.token_nll(xs, 0), f)
            with self.assertRaises(ArithmeticError):
                exact.token_nll(xs, 0)
            thread = Thread(target=lambda: found.append(exact.token_nll(xs, 0)))
            thread.start()
            thread.join()
        self.assertEqual(found, [f])
        self.assertEqual(exact.token_nll(xs, 0), f)

    def test_a_limit_is_a_whole_number_of_bits(self):
        for bits, kind, message in [
            (127, ValueError, "limit_bits: bits must be at least 128, got 127"),
            (512.0, TypeError, "limit_bits: bits must be a whole number, got 512.0"),
        ]:
            with self.assertRaises(kind) as caught, exact.limit_bits(bits):
                pass
            self.assertEqual(str(caught.exception), message)


class Refusals(unittest.TestCase):
    def test_each_function_says_what_is_wrong(self):
        for argument, message in [
            ([], "logits must hold at least one score, got 0"),
            ([0.0, nan], "logits[1] must be finite or -inf, got nan"),
            ([inf, 0.0], "logits[0] must be finite or -inf, got inf"),
            ([0.0, Decimal("0.1")], "logits[1] must be exactly a double, got Decimal('0.1')"),
            ([Fraction(1, 3)], "logits[0] must be exactly a double, got Fraction(1, 3)"),
            ([2**53 + 1, 0], "logits[0] must be exactly a double, got 9007199254740993"),
            ([2**1024, 0], f"logits[0] must be within the range of a double, got {_short(2**1024)}"),
        ]:
            for f in (exact.logsumexp, exact.softmax, exact.log_softmax, exact.entropy):
                with self.subTest(f=f.__name__, argument=argument), self.assertRaises(ValueError) as caught:
                    f(argument)
                self.assertEqual(str(caught.exception), f"{f.__name__}: {message}")
        for f in (exact.softmax, exact.log_softmax, exact.entropy):
            with self.assertRaises(ValueError) as caught:
                f([-inf, -inf])
            self.assertEqual(
                str(caught.exception), f"{f.__name__}: logits must hold a score above -inf, got [-inf, -inf]"
            )

    def test_exact_numbers_of_other_kinds_are_taken(self):
        want = exact.log_softmax([0.5, 2.0, 3.0])
        self.assertEqual(exact.log_softmax([Fraction(1, 2), 2, Decimal(3)]), want)
        self.assertEqual(exact.log_softmax((0.5, 2.0, 3.0)), want)
        self.assertEqual(exact.log_softmax(range(3)), exact.log_softmax([0.0, 1.0, 2.0]))

    def test_the_target_is_checked(self):
        for target, kind, message in [
            (2, ValueError, "token_nll: target must lie in [0, 2), got 2"),
            (-1, ValueError, "token_nll: target must lie in [0, 2), got -1"),
            (1.0, TypeError, "token_nll: target must be a whole number, got 1.0"),
        ]:
            with self.assertRaises(kind) as caught:
                exact.token_nll([0.0, 1.0], target)
            self.assertEqual(str(caught.exception), message)

    def test_input_is_not_modified(self):
        xs = [1.0, -inf, 3.0]
        exact.token_nll(xs, 0), exact.softmax(xs), exact.log_softmax(xs), exact.entropy(xs), exact.logsumexp(xs)
        self.assertEqual(xs, [1.0, -inf, 3.0])


def _short(value: int) -> str:
    return reprlib.repr(value)
