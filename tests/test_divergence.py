"""kl_divergence, judged by decimal arithmetic at many digits, from the logits as they are."""

import unittest
from decimal import Decimal, localcontext
from math import inf, nan, nextafter
from random import Random

from refcalc import kl_divergence
from tests.ulps import ulps_off, wide_context

LIMIT = 15  # ulp


def truth(xs: list[float], ys: list[float], digits: int = 120) -> Decimal:
    """Return log(sum exp y / sum exp x) - sum p (y - x), which cancels and so takes many digits."""
    with localcontext(wide_context(digits)):
        masses = [Decimal(x).exp() for x in xs]
        total = sum(masses)
        mean = sum(a * (Decimal(y) - Decimal(x)) for a, x, y in zip(masses, xs, ys, strict=True) if a) / total
        return (sum(Decimal(y).exp() for y in ys) / total).ln() - mean


class Accuracy(unittest.TestCase):
    def assert_close(self, xs: list[float], ys: list[float], digits: int = 120) -> None:
        with self.subTest(xs=xs, ys=ys):
            self.assertLess(ulps_off(kl_divergence(xs, ys), truth(xs, ys, digits)), LIMIT)

    def test_strangers(self) -> None:
        for seed in range(200):
            u = Random(seed).random
            size, spread, offset = 2 + seed % 9, [1.0, 5.0, 30.0][seed % 3], [0.0, 1e4, -1e6][seed // 3 % 3]
            xs = [offset + spread * (u() - 0.5) for _ in range(size)]
            self.assert_close(xs, [spread * (u() - 0.5) for _ in range(size)])

    def test_neighbours_down_to_the_last_bits(self) -> None:
        for seed in range(200):
            u = Random(seed).random
            near, shift = 10.0 ** -[1, 3, 6, 9, 12, 15][seed % 6], [0.0, -700.0, 30.0][seed % 3]
            xs = [6.0 * (u() - 0.5) for _ in range(2 + seed % 9)]
            self.assert_close(xs, [x + near * (u() - 0.5) + shift for x in xs])

    def test_one_bit(self) -> None:
        self.assert_close([0.0, 1.0], [0.0, nextafter(1.0, inf)])
        self.assert_close([3e4, 3e4 + 1.0, -7.0], [0.0, nextafter(1.0, inf), -7.0 - 3e4])

    def test_rare_classes_that_differ_much(self) -> None:
        for seed in range(60):
            u = Random(seed).random
            xs = [0.0] + [-30.0 - 60.0 * u() for _ in range(5)]
            self.assert_close(xs, [5.0] + [-25.0 - 60.0 * u() for _ in range(5)], digits=200)

    def test_masked_classes(self) -> None:
        for xs, ys in [
            ([0.0, 1.0, -inf], [0.5, 1.0, 2.0]),
            ([0.0, 1.0, -inf], [0.5, 1.0, -inf]),
            ([0.0, 1.0, -inf], [0.0, 1.0, -80.0]),
            ([0.0, -inf, 1e-9], [0.0, -75.0, 0.0]),
        ]:
            self.assert_close(xs, ys)


class Cases(unittest.TestCase):
    def test_equal_rows_have_none(self) -> None:
        for xs in ([0.1, 0.7, -3.0], [-inf, 5.0], [1e300, 1e299], [2.0]):
            self.assertEqual(kl_divergence(xs, xs), 0.0)

    def test_a_constant_shift_leaves_next_to_nothing(self) -> None:
        for shift in (1.0, 1e3, 2.0**40):
            got = kl_divergence([0.0, 1.0, 2.5], [shift, 1.0 + shift, 2.5 + shift])
            self.assertTrue(0.0 <= got < 1e-50, got)

    def test_the_first_row_weighs(self) -> None:
        self.assertEqual(kl_divergence([0.0, 0.0], [0.0, -inf]), inf)
        self.assertEqual(kl_divergence([0.0, -2000.0], [0.0, -inf]), inf)
        self.assertLess(ulps_off(kl_divergence([0.0, -inf], [0.0, 0.0]), Decimal(2).ln(wide_context(40))), 2.0)
        self.assertGreater(kl_divergence([0.0, 0.0], [0.0, 30.0]), 14.0)
        self.assertLess(kl_divergence([0.0, 30.0], [0.0, 0.0]), 0.7)

    def test_beyond_the_doubles_it_is_infinite(self) -> None:
        self.assertEqual(kl_divergence([-1.7e308, 1.7e308], [1.7e308, -1.7e308]), inf)
        self.assertEqual(kl_divergence([0.0, 0.0], [1.7e308, -1.7e308]), inf)

    def test_a_refusal_names_the_row(self) -> None:
        for p, q, message in [
            ([], [], "p_logits must hold at least one score, got 0"),
            ([0.0], [], "q_logits must hold at least one score, got 0"),
            ([0.0], [0.0, 1.0], "q_logits must be as long as p_logits (1), got 2"),
            ([0.0, nan], [0.0, 0.0], "p_logits[1] must be finite or -inf, got nan"),
            ([0.0, -inf], [0.0, inf], "q_logits[1] must be finite or -inf, got inf"),
            ([-inf], [0.0], "p_logits must hold a score above -inf, got [-inf]"),
            ([0.0], [-inf], "q_logits must hold a score above -inf, got [-inf]"),
        ]:
            with self.subTest(message=message), self.assertRaises(ValueError) as caught:
                kl_divergence(p, q)
            self.assertEqual(str(caught.exception), f"kl_divergence: {message}")
