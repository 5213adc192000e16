"""KL divergence and z-loss, judged by decimal arithmetic at many digits, from the logits as they are."""

import unittest
from decimal import Decimal, localcontext
from fractions import Fraction
from math import fsum, inf, log, nan, nextafter
from random import Random
from typing import Any

from refcalc import (
    cross_entropy,
    cross_entropy_gradient,
    kl_divergence,
    kl_divergence_gradient,
    logsumexp,
    softmax,
    z_loss,
    z_loss_gradient,
)
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


def row_pair(seed: int, size: int = 5) -> tuple[list[float], list[float]]:
    u = Random(seed).random
    return [6.0 * (u() - 0.5) for _ in range(size)], [6.0 * (u() - 0.5) for _ in range(size)]


class Batches(unittest.TestCase):
    """[B][T][V], ragged in T: three rows in two sequences, V = 5."""

    def setUp(self) -> None:
        self.pairs = [row_pair(seed) for seed in range(3)]
        (a, x), (b, y), (c, z) = self.pairs
        self.p, self.q = [[a, b], [c]], [[x, y], [z]]
        self.each = [kl_divergence(*pair) for pair in self.pairs]

    def test_each_reduction_divides_by_its_own_count(self) -> None:
        total = sum(map(Fraction, self.each))
        for reduction, divisor in [("rowmean", 3), ("batchmean", 2), ("mean", 15), ("sum", 1)]:
            with self.subTest(reduction=reduction):
                self.assertEqual(kl_divergence(self.p, self.q, reduction=reduction), float(total / divisor))
        self.assertEqual(kl_divergence(self.p, self.q), float(total / 3))
        self.assertEqual(kl_divergence(self.p, self.q, reduction="none"), [self.each[:2], self.each[2:]])

    def test_rows_of_one_batch(self) -> None:
        p, q = [a for a, _ in self.pairs], [x for _, x in self.pairs]
        for reduction, divisor in [("rowmean", 3), ("batchmean", 3), ("mean", 15)]:
            got = kl_divergence(p, q, reduction=reduction)
            self.assertEqual(got, float(sum(map(Fraction, self.each)) / divisor))

    def test_a_row_alone_is_a_batch_of_one(self) -> None:
        for reduction, divisor in [("rowmean", 1), ("batchmean", 1), ("mean", 5), ("sum", 1), ("none", 1)]:
            got = kl_divergence(*self.pairs[0], reduction=reduction)
            self.assertEqual(got, float(Fraction(self.each[0]) / divisor))

    def test_one_infinite_row_makes_the_sum_infinite(self) -> None:
        p, q = [[0.0, 0.0], [1.0, 2.0]], [[0.0, -inf], [1.0, 2.0]]
        self.assertEqual(kl_divergence(p, q), inf)
        self.assertEqual(kl_divergence(p, q, reduction="none"), [inf, 0.0])

    def test_a_refusal_names_the_row(self) -> None:
        one, ragged = [[0.0, 1.0], [2.0, 3.0]], [[0.0, 1.0], [2.0]]
        names = "'batchmean', 'mean', 'none', 'rowmean', 'sum'"
        for p, q, options, message in [
            (one, [[0.0, 1.0]], {}, "q_logits must be as long as p_logits (2), got 1"),
            (one, [[0.0, 1.0], [2.0]], {}, "q_logits[1] must be as long as p_logits[1] (2), got 1"),
            (ragged, ragged, {}, "p_logits[1] must hold V = 2 scores as the first row does, got 1"),
            (one, [[0.0, 1.0], [2.0, nan]], {}, "q_logits[1][1] must be finite or -inf, got nan"),
            ([[]], [[]], {}, "p_logits[0] must hold at least one score, got 0"),
            (one, one, {"reduction": "avg"}, f"reduction must be one of {names}, got 'avg'"),
        ]:
            for function in (kl_divergence, kl_divergence_gradient):
                with self.subTest(message=message), self.assertRaises(ValueError) as caught:
                    function(p, q, **options)
                self.assertEqual(str(caught.exception), f"{function.__name__}: {message}")


def kl_slopes(xs: list[float], ys: list[float]) -> tuple[list[Decimal], list[Decimal]]:
    """Return the gradients by y and by x: by the definition of KL, differentiated by hand."""
    with localcontext(wide_context(60)):
        p, q = ([Decimal(z).exp() for z in row] for row in (xs, ys))
        p, q = ([a / sum(row) for a in row] for row in (p, q))
        logs = [(a / b).ln() if a else Decimal(0) for a, b in zip(p, q, strict=True)]
        kl = sum(a * d for a, d in zip(p, logs, strict=True))
        by_q = [b - a for a, b in zip(p, q, strict=True)]
        return by_q, [a * (d - kl) for a, d in zip(p, logs, strict=True)]


class Gradients(unittest.TestCase):
    def test_both_by_decimal(self) -> None:
        for seed in range(60):
            xs, ys = row_pair(seed, 2 + seed % 6)
            if seed % 5 == 4:
                xs[0], ys[-1] = -inf, ys[-1] - 60.0
            by_q, by_p = kl_slopes(xs, ys)
            p, q, u = softmax(xs), softmax(ys), 2.0**-52
            with self.subTest(seed=seed):
                got = kl_divergence_gradient(xs, ys)
                for g, want, pi, qi in zip(got, by_q, p, q, strict=True):
                    self.assertLessEqual(abs(Decimal(g) - want), Decimal(11.0 * u * (pi + qi)))
                got = kl_divergence_gradient(xs, ys, of="p_logits")
                kl = kl_divergence(xs, ys)
                for g, want, pi, qi in zip(got, by_p, p, q, strict=True):
                    size = abs(log(pi / qi)) + kl if pi else 0.0
                    self.assertLessEqual(abs(Decimal(g) - want), Decimal(25.0 * u * pi * size))

    def test_neighbours_by_decimal(self) -> None:
        """Where p and q are close, d[i] may be far below the common error of all d, a share of sum |p - q|."""
        for seed in range(150):
            rng = Random(seed)
            xs = [rng.gauss(0.0, 1.0) for _ in range(2 + seed % 6)]
            ys = [x + 10.0 ** -(seed % 13) * rng.gauss(0.0, 1.0) for x in xs]
            by_q, by_p = kl_slopes(xs, ys)
            p, kl = softmax(xs), kl_divergence(xs, ys)
            far = kl + 2.0 * fsum(abs(float(each)) for each in by_q)
            with self.subTest(seed=seed):
                got = kl_divergence_gradient(xs, ys, of="p_logits")
                for g, want, pi in zip(got, by_p, p, strict=True):
                    size = abs(float(want) / pi + kl) + far  # d[i] is p (d - KL) / p + KL
                    self.assertLessEqual(abs(Decimal(g) - want), Decimal(25.0 * 2.0**-53 * pi * size))

    def test_two_that_are_nearly_certain_keep_their_digits(self) -> None:
        got = kl_divergence_gradient([0.0, -40.0], [0.0, -42.0])[0]
        want = kl_slopes([0.0, -40.0], [0.0, -42.0])[0][0]
        self.assertLess(ulps_off(got, want), 11.0)

    def test_each_reduction_divides_by_its_own_count(self) -> None:
        (a, x), (b, y), (c, z) = (row_pair(seed) for seed in range(3))
        for of in ("q_logits", "p_logits"):
            each = [kl_divergence_gradient(*pair, of=of, reduction="none") for pair in ((a, x), (b, y), (c, z))]
            for reduction, divisor in [("rowmean", 3), ("batchmean", 2), ("mean", 15), ("sum", 1), ("none", 1)]:
                want = [[g / divisor for g in row] for row in each]
                got = kl_divergence_gradient([[a, b], [c]], [[x, y], [z]], of=of, reduction=reduction)
                self.assertEqual(got, [want[:2], want[2:]])

    def test_refusals(self) -> None:
        with self.assertRaises(ValueError) as caught:
            kl_divergence_gradient([0.0], [0.0], of="p")
        message = "of must be one of 'q_logits', 'p_logits', got 'p'"
        self.assertEqual(str(caught.exception), f"kl_divergence_gradient: {message}")
        for q in ([0.0, -inf], [1.7e308, -1.7e308]):
            with self.assertRaises(ValueError) as caught:
                kl_divergence_gradient([[0.0, 0.0]], [q], of="p_logits")
            message = "q_logits[0] must give a finite divergence from p_logits[0], got inf"
            self.assertEqual(str(caught.exception), f"kl_divergence_gradient: {message}")


def z_truth(row: list[float], c: float) -> tuple[Decimal, list[Decimal]]:
    """Return c log(sum of exp)**2 and its gradient."""
    with localcontext(wide_context(80)):
        masses = [Decimal(z).exp() for z in row]
        size = sum(masses).ln()
        return Decimal(c) * size * size, [2 * Decimal(c) * size * mass / sum(masses) for mass in masses]


class ZLoss(unittest.TestCase):
    def test_a_row_and_its_gradient_by_decimal(self) -> None:
        for seed in range(60):
            row, _ = row_pair(seed, 1 + seed % 7)
            row = [z + [0.0, 30.0, -700.0, -2.0][seed % 4] for z in row]
            c = [1.0, 1e-4, 0.3][seed % 3]
            want, slopes = z_truth(row, c)
            size = abs(logsumexp(row))
            e = 4.0 * 2.0**-52 * max(1.0, abs(max(row)), log(len(row)))
            with self.subTest(seed=seed):
                allowed = Decimal(c * (2.0 * size * e + e * e)) + Decimal(2.0**-51) * want
                self.assertLessEqual(abs(Decimal(z_loss(row, coefficient=c)) - want), allowed)
                for got, slope, p in zip(z_loss_gradient(row, coefficient=c), slopes, softmax(row), strict=True):
                    allowed = Decimal(2.0 * c * p * e) + Decimal(9.0 * 2.0**-52) * abs(slope)
                    self.assertLessEqual(abs(Decimal(got) - slope), allowed)

    def test_its_mean_is_over_the_rows_of_the_cross_entropy(self) -> None:
        rows: Any = [[[0.5, 1.0], [nan, nan]], [[2.0, -1.0]]]
        targets = [[0, -100], [1]]
        each = [z_loss(rows[0][0]), z_loss(rows[1][0])]
        total = sum(map(Fraction, each))
        self.assertEqual(z_loss(rows, targets), float(total / 2))
        self.assertEqual(z_loss(rows, targets, reduction="sum"), float(total))
        self.assertEqual(z_loss(rows, targets, reduction="none"), [[each[0], 0.0], [each[1]]])
        self.assertEqual(z_loss([rows[0][0], rows[1][0]]), float(total / 2))
        slope = z_loss_gradient(rows, targets)
        self.assertEqual(slope[0][1], [0.0, 0.0])
        alone = z_loss_gradient(rows[1][0])
        self.assertEqual(slope[1][0], [g / 2.0 for g in alone])

    def test_added_to_a_cross_entropy_its_gradient_is_the_slope_of_the_sum(self) -> None:
        rows, targets, h = [[0.5, 1.0, -0.3], [2.0, -1.0, 0.1]], [2, 0], 1e-5

        def loss(i: int, j: int, step: float) -> float:
            moved = [list(row) for row in rows]
            moved[i][j] += step
            return cross_entropy(moved, targets) + z_loss(moved, targets, coefficient=0.1)

        ce, z = cross_entropy_gradient(rows, targets), z_loss_gradient(rows, targets, coefficient=0.1)
        for i in range(2):
            for j in range(3):
                slope = (loss(i, j, h) - loss(i, j, -h)) / (2.0 * h)
                self.assertAlmostEqual(fsum((ce[i][j], z[i][j])), slope, delta=1e-9)

    def test_what_is_not_there_has_no_share(self) -> None:
        self.assertEqual(z_loss([1.5, -inf], coefficient=2.0), 4.5)
        self.assertEqual(z_loss_gradient([1.5, -inf], coefficient=2.0), [6.0, 0.0])
        self.assertEqual(z_loss([1e200], coefficient=1.0), inf)
        self.assertEqual(z_loss_gradient([1e308, 0.0], coefficient=10.0), [inf, 0.0])
        self.assertEqual(z_loss_gradient([1e308, 1e308], coefficient=1.0), [1e308, 1e308])
        self.assertEqual(z_loss([[3.0]], [-100], reduction="sum"), 0.0)
        self.assertEqual(z_loss([5.0], coefficient=0.0), 0.0)

    def test_refusals(self) -> None:
        for arguments, options, message in [
            (([[1.0]], [-100]), {}, "targets must hold a target that counts (nothing to average), got [-100]"),
            (([],), {}, "logits must hold at least one score, got 0"),
            (([[1.0], [1.0, 2.0]],), {}, "logits[1] must hold V = 1 scores as the first row does, got 2"),
            (([-inf],), {}, "logits must hold a score above -inf, got [-inf]"),
            (([[1.0, nan]],), {}, "logits[0][1] must be finite or -inf, got nan"),
            (([[1.0]], [1]), {}, "targets[0] must lie in [0, 1), got 1"),
            (([[1.0, 2.0]], [[0.5, 0.5]]), {}, "targets[0] must nest one level less than logits[0], got [0.5, 0.5]"),
            (([[1.0]],), {"ignore_index": 0}, "ignore_index must stand beside targets, got 0"),
            (([1.0],), {"coefficient": inf}, "coefficient must be finite, got inf"),
            (([1.0],), {"coefficient": -1e-4}, "coefficient must not be negative, got -0.0001"),
            (([1.0],), {"reduction": "avg"}, "reduction must be one of 'mean', 'none', 'sum', got 'avg'"),
        ]:
            for function in (z_loss, z_loss_gradient):
                with self.subTest(message=message), self.assertRaises(ValueError) as caught:
                    function(*arguments, **options)
                self.assertEqual(str(caught.exception), f"{function.__name__}: {message}")


if __name__ == "__main__":
    unittest.main()
