"""ExactSum, judged by sums of fractions."""

import copy
import pickle
import unittest
from decimal import Decimal
from fractions import Fraction
from math import inf, isinf, nan
from random import Random
from unittest.mock import patch

from refcalc import _check
from refcalc.exact_sum import ExactSum

LEAST, LARGEST = 5e-324, 1.7976931348623157e308


def drawn(seed: int, count: int = 60) -> list[float]:
    """Return numbers of one of several kinds: alike, of all sizes, cancelling, subnormal, and near overflow."""
    rng = Random(seed)
    values = [rng.random() - 0.5 for _ in range(count)]
    scales = {
        0: [1.0],
        1: [float(f"1e{e}") for e in range(-300, 301, 30)],
        2: [1.0, 1e16, 1e32],
        3: [LEAST * 1e5, 1e-308],
        4: [LARGEST, LARGEST / 3],
    }[seed % 5]
    values = [v * scales[int(rng.random() * len(scales))] for v in values]
    return [*values, *(-v for v in values[::3])] if seed % 2 else values


def nearest_double(x: Fraction) -> float:
    """Return the double nearest to a fraction (float of a Fraction rounds once), infinite beyond them."""
    try:
        return float(x)
    except OverflowError:
        return inf if x > 0 else -inf


class Sums(unittest.TestCase):
    def test_a_sum_is_the_true_sum_rounded_once(self) -> None:
        for seed in range(200):
            values = drawn(seed)
            with self.subTest(seed=seed):
                self.assertEqual(float(ExactSum(values)), nearest_double(sum(map(Fraction, values), Fraction(0))))

    def test_a_quotient_is_the_true_quotient_rounded_once(self) -> None:
        for seed in range(80):
            values, others = drawn(seed), drawn(seed + 1)
            total, rest = (sum(map(Fraction, v), Fraction(0)) for v in (values, others))
            with self.subTest(seed=seed):
                for n in (3, -7, 10**30):
                    self.assertEqual(ExactSum(values) / n, nearest_double(total / n))
                self.assertEqual(ExactSum(values) / ExactSum(others), nearest_double(total / rest))

    def test_no_order_grouping_or_sharding_shows_in_a_bit(self) -> None:
        for seed in range(50):
            values, rng = drawn(seed), Random(seed)
            whole = ExactSum(values)
            cut = int(rng.random() * len(values))
            shuffled = sorted(values, key=lambda _: rng.random())
            one_by_one = ExactSum()
            for v in shuffled:
                one_by_one += v
            with self.subTest(seed=seed):
                for other in (
                    ExactSum(values[:cut]) + ExactSum(values[cut:]),
                    ExactSum(values[cut:]) + ExactSum(values[:cut]),
                    ExactSum([ExactSum(values[:cut]), *values[cut:]]),
                    ExactSum(shuffled),
                    one_by_one,
                    sum([ExactSum([v]) for v in shuffled]),
                ):
                    self.assertEqual(other, whole)
                    self.assertEqual(hash(other), hash(whole))
                    self.assertEqual(other.to_hex(), whole.to_hex())

    def test_nothing_overflows_on_the_way(self) -> None:
        self.assertEqual(float(ExactSum([LARGEST, LARGEST, -LARGEST])), LARGEST)
        self.assertEqual(ExactSum([LARGEST] * 4) / 4, LARGEST)
        self.assertEqual(float(ExactSum([LARGEST, LARGEST])), inf)
        self.assertEqual(float(ExactSum([-LARGEST, -LARGEST])), -inf)
        self.assertEqual(ExactSum([LARGEST, LARGEST]) / -1, -inf)

    def test_ints_are_exact_beyond_the_doubles_precision(self) -> None:
        self.assertEqual(float(ExactSum([2**53 + 1, -(2**53)])), 1.0)
        self.assertEqual(ExactSum([1, 0.5]) + 1, ExactSum([2.5]))
        self.assertEqual(1 + ExactSum([1.5]), ExactSum([2.5]))

    def test_any_iterable_will_do_and_is_left_alone(self) -> None:
        values = [0.1, 0.2]
        self.assertEqual(ExactSum(iter(values)), ExactSum(values))
        self.assertEqual(ExactSum((0.2, 0.1)), ExactSum(values))
        self.assertEqual(values, [0.1, 0.2])
        self.assertEqual(float(ExactSum()), 0.0)

    def test_infinities_stay_and_divide(self) -> None:
        self.assertEqual(float(ExactSum([1.0, inf])), inf)
        self.assertEqual(float(ExactSum([-inf]) + 1e308), -inf)
        self.assertEqual(ExactSum([inf]) / 3, inf)
        self.assertEqual(ExactSum([inf]) / -3, -inf)
        self.assertTrue(isinf(float(ExactSum([inf]) + ExactSum([inf]))))
        self.assertNotEqual(ExactSum([inf]), ExactSum([-inf]))
        self.assertEqual(ExactSum([inf]) + 1.0, ExactSum([inf]))
        self.assertEqual(ExactSum([inf, 1.0]), ExactSum([inf]))

    def test_equality_is_that_of_sums_and_of_nothing_else(self) -> None:
        self.assertEqual(ExactSum([0.5, 0.25]), ExactSum([0.75]))
        self.assertNotEqual(ExactSum([0.1] * 3), ExactSum([0.3]))
        self.assertFalse(ExactSum([1.0]) == 1.0)
        self.assertEqual(ExactSum([-0.0]), ExactSum())

    def test_adding_makes_a_new_sum(self) -> None:
        a = ExactSum([1.0])
        before = a
        a += 2.0
        self.assertEqual((float(before), float(a)), (1.0, 3.0))


class Text(unittest.TestCase):
    def test_a_text_round_trips_and_any_reader_of_hex_floats_reads_the_rounded_sum(self) -> None:
        for seed in range(100):
            total = ExactSum(drawn(seed))
            with self.subTest(seed=seed):
                self.assertEqual(ExactSum.from_hex(total.to_hex()), total)
                self.assertEqual(eval(repr(total), {"ExactSum": ExactSum}), total)
                if not isinf(float(total)):
                    self.assertEqual(float.fromhex(total.to_hex()), float(total))

    def test_a_text_is_canonical(self) -> None:
        for values, text in [
            ([], "0x0p+0"), ([1.0], "0x1p+0"), ([-1.5], "-0x3p-1"), ([8.0], "0x1p+3"), ([LEAST], "0x1p-1074"),
            ([inf], "inf"), ([-inf, 1.0], "-inf"),
        ]:  # fmt: skip
            with self.subTest(values=values):
                self.assertEqual(ExactSum(values).to_hex(), text)
                self.assertEqual(ExactSum.from_hex(text), ExactSum(values))
                self.assertEqual(repr(ExactSum(values)), f"ExactSum.from_hex({text!r})")

    def test_a_copy_and_a_pickle_are_equal(self) -> None:
        for seed in range(20):
            total = ExactSum(drawn(seed))
            for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
                self.assertEqual(pickle.loads(pickle.dumps(total, protocol)), total)
            self.assertEqual(copy.deepcopy(total), total)

    def test_any_other_text_is_refused(self) -> None:
        for text in [
            "", "0.75", "0x2p+0", "0x1p0", "0x1p+00", "0X1P+0", " 0x1p+0", "0x1p+0 ", "+0x1p+0", "0x01p+0", "0x1_0p+0",
            "1p+0", "0x1p-1075", "0x1p+9999999", "-0x0p+0", "0x0p+1", "nan", "Infinity", "+inf", "0x1p", "p+1",
            "0x1.8p+0", "0x1p+1.5", "0x" + "1" * 5000 + "p+0",
        ]:  # fmt: skip
            with self.subTest(text=text[:20]):
                with self.assertRaises(ValueError) as caught:
                    ExactSum.from_hex(text)
                message = f"ExactSum.from_hex: text must be what to_hex writes, got {_check.shown(text)}"
                self.assertEqual(str(caught.exception), message)


class Refusals(unittest.TestCase):
    def refused(self, kind: type[Exception], message: str, values: list[object]) -> None:
        with self.subTest(values=values):
            with self.assertRaises(kind) as caught:
                ExactSum(values)
            self.assertEqual(str(caught.exception), message)

    def test_what_cannot_be_summed_is_named(self) -> None:
        for padding in ([], [1.0], [1], [LARGEST] * 2):
            at = f"values[{len(padding)}]"
            self.refused(ValueError, f"ExactSum: {at} must be a number, got nan", [*padding, nan])
            for bad in ("1", None, 1j, [1.0], b"1"):
                self.refused(TypeError, f"ExactSum: {at} must be a number, got {bad!r}", [*padding, bad])
            rule = f"{at} must be within the range of a double, got 100000000000000000...0000000000000000000"
            self.refused(ValueError, f"ExactSum: {rule}", [*padding, 10**400])

    def test_both_infinities_have_no_sum(self) -> None:
        message = "ExactSum: values must not hold both inf and -inf, got both"
        self.refused(ValueError, message, [inf, -inf])
        self.refused(ValueError, message, [inf, 1, -inf])
        self.refused(ValueError, message, [ExactSum([inf]), -inf])
        with self.assertRaises(ValueError) as caught:
            ExactSum([inf]) + -inf
        self.assertEqual(str(caught.exception), message)

    def test_a_divisor_is_finite_not_zero_and_whole_or_a_sum(self) -> None:
        for kind, divisor, message in [
            (ValueError, 0, "be finite and not 0, got 0"),
            (ValueError, ExactSum(), "be finite and not 0, got ExactSum.from_hex('0x0p+0')"),
            (ValueError, ExactSum([inf]), "be finite and not 0, got ExactSum.from_hex('inf')"),
            (TypeError, 2.0, "be a whole number, got 2.0"),
            (TypeError, True, "be a whole number, got True"),
        ]:
            with self.subTest(divisor=divisor):
                with self.assertRaises(kind) as caught:
                    ExactSum([1.0]) / divisor
                self.assertEqual(str(caught.exception), f"ExactSum: divisor must {message}")

    def test_what_is_not_exactly_a_double_is_not_rounded_silently(self) -> None:
        self.assertEqual(ExactSum([Fraction(1, 2), Decimal("0.25"), 2**60 + 1]), ExactSum([0.75, 2**60 + 1]))
        for inexact in (Fraction(1, 3), Decimal("0.1")):
            with self.subTest(inexact), self.assertRaises(ValueError) as caught:
                ExactSum([1.0, inexact])
            self.assertEqual(str(caught.exception), f"ExactSum: values[1] must be exactly a double, got {inexact!r}")

    def test_a_number_alone_is_nothing_to_sum(self) -> None:
        with self.assertRaises(TypeError) as caught:
            ExactSum(5)  # type: ignore[arg-type]
        self.assertEqual(str(caught.exception), "ExactSum: values must be iterable, got 5")

    def test_a_text_must_be_text(self) -> None:
        with self.assertRaises(TypeError) as caught:
            ExactSum.from_hex(b"0x1p+0")
        self.assertEqual(str(caught.exception), "ExactSum.from_hex: text must be a str, got b'0x1p+0'")

    def test_a_process_that_flushes_subnormals_is_refused(self) -> None:
        message = "ExactSum: the process must not flush subnormal numbers to zero, got a mode that does"
        total = ExactSum([1.0])
        with patch.object(_check, "LEAST_NORMAL", 0.0):  # what 2**-1022 / 2 would be there
            for use in (lambda: ExactSum([1.0]), lambda: float(total), lambda: total + 1.0):
                with self.assertRaises(ArithmeticError) as caught:
                    use()
                self.assertEqual(str(caught.exception), message)
