"""Inputs on which the exact tier once refused, or answered where it had to refuse: each with its whole kind."""

import unittest
from fractions import Fraction
from typing import Any
from unittest.mock import patch

from refcalc import ExactSum, _check, exact


class Scalar:
    """A whole number as an array holds it: it compares with a float by rounding itself, and knows .tolist()."""

    ndim = 0

    def __init__(self, value: int) -> None:
        self.value = value

    def __float__(self) -> float:
        return float(self.value)

    def __eq__(self, other: object) -> bool:
        return float(self) == other

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: Any) -> bool:
        return float(self) < float(other)

    def tolist(self) -> int:
        return self.value


class Refused(unittest.TestCase):
    def test_a_flush_to_zero_is_refused_on_every_way_to_a_double(self) -> None:
        nll = exact.batch_nll([[0.0, 0.0]], [0], weight=[1e-307] * 2)
        uses = {
            "logsumexp of one class": lambda: exact.logsumexp([1e-310]),
            "a unit": lambda: exact.nats_to_bits(1e-310),
            "a gradient of ties": lambda: exact.cross_entropy_gradient(
                [0.0] * 8, 0, weight=[1e-307] * 8, reduction="sum"
            ),
            "bits that are rational": lambda: exact.bits_per_byte(nll, 64),
            "a row": lambda: exact.token_nll([0.0, 1.0], 0),
        }
        for name, use in uses.items():
            with self.subTest(name), patch.object(_check, "LEAST_NORMAL", 0.0):
                self.assertRaises(ArithmeticError, use)

    def test_a_whole_number_of_an_array_is_not_rounded_silently(self) -> None:
        for use in (lambda: exact.token_nll([Scalar(2**53 + 1), Scalar(5)], 1), lambda: ExactSum([Scalar(2**53 + 1)])):
            with self.assertRaises(ValueError) as caught:
                use()
            self.assertIn("must be exactly a double, got 9007199254740993", str(caught.exception))
        self.assertEqual(exact.token_nll([Scalar(5), Scalar(5)], 1), exact.token_nll([5, 5], 1))


class Answered(unittest.TestCase):
    def test_a_tied_top_with_dust_below_it_is_decided(self) -> None:
        """Masked vocabularies: the gradient is half-way between two doubles but for e**-1e9."""
        for smoothing in (0.15, 0.3, 0.35, 0.4):
            for ties, classes in [(2, 4), (2, 8), (4, 10), (8, 16)]:
                with self.subTest(smoothing=smoothing, ties=ties, classes=classes):
                    far, near = ([0.0] * ties + [low] * (classes - ties) for low in (-1e9, -5e3))
                    gradients = [exact.cross_entropy_gradient(row, 0, label_smoothing=smoothing) for row in (far, near)]
                    self.assertEqual(*gradients)
        weights = [1 + 2**-52] * 5
        heavy = exact.cross_entropy_gradient([0.0] * 4 + [-1e9], 0, weight=weights, reduction="sum")
        # w / 4 less dust, and -3 w / 4 less dust: half-way cases that the dust decides.
        below = Fraction(1 + 2**-52) / 4 - Fraction(1, 2**200)
        self.assertEqual(heavy[1:4], [below.numerator / below.denominator] * 3)

    def test_powers_of_ten_have_rational_decimal_logarithms(self) -> None:
        weight = [1 + 2**-52] * 10
        nll = exact.batch_nll([[0.0] * 10] * 3, [0] * 3, weight=weight)
        exactly = 3 * Fraction(weight[0])  # half-way between two doubles
        self.assertEqual(exact.nats_to_log10(nll), exactly.numerator / exactly.denominator)
        self.assertEqual(exact.nats_to_log10(exact.batch_nll([[0.0] * 100], [0])), 2.0)
        self.assertEqual(exact.nats_to_log10(exact.batch_nll([[0.0] * 20], [0])), 1.3010299956639813)

    def test_differences_beyond_the_doubles_have_log_probabilities(self) -> None:
        self.assertEqual(exact.log_softmax([1e308, -1e308, 0.0]), [0.0, float("-inf"), -1e308])
        self.assertEqual(exact.log_softmax([-1.7976931348623157e308, 1e300, 1.0]), [float("-inf"), 0.0, -1e300])


if __name__ == "__main__":
    unittest.main()
