"""Cross-entropy, its gradient and the causal loss, correctly rounded."""

import unittest
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, nan, nextafter
from random import Random

import refcalc
from refcalc import exact
from tests.exact import judge
from tests.ulps import ulps_apart


def product(rows: list[list[float]], ys: list[int], w: list[float]) -> Callable[[Decimal], bool]:
    """exp(loss) = product of (S / e**x[y])**w[y] for whole weights w."""
    with localcontext(judge.WIDE):
        truth = Decimal(1)
        for row, y in zip(rows, ys, strict=True):
            truth *= (sum(Decimal(x).exp() for x in row) / Decimal(row[y]).exp()) ** int(w[y])
    return lambda h: h.exp() < truth


class Exactness(unittest.TestCase):
    def test_a_weighted_sum_is_judged_by_inversion(self):
        rng = Random(3)
        for seed in range(10):
            rows = [[4.0 * (rng.random() - 0.5) for _ in range(4)] for _ in range(3)]
            ys, w = [0, 3, 1], [2.0, 1.0, 1.0, 3.0]
            with self.subTest(seed=seed):
                got = exact.cross_entropy(rows, ys, weight=w, reduction="sum")
                self.assertTrue(judge.is_nearest(got, product(rows, ys, w)))

    def test_it_agrees_with_the_float_tier_within_that_tier_s_bound(self):
        rng = Random(4)
        for seed in range(4):
            rows = [[8.0 * (rng.random() - 0.5) for _ in range(5)] for _ in range(4)]
            soft = [[rng.random() for _ in range(5)] for _ in rows]
            hard = [int(5 * rng.random()) for _ in rows]
            hard[1] = -100
            weight = [rng.random() for _ in range(5)]
            for targets in (hard, soft):
                for reduction in ("mean", "sum", "none"):
                    options = {"weight": weight, "label_smoothing": 0.3, "reduction": reduction}
                    got = exact.cross_entropy(rows, targets, **options)
                    want = refcalc.cross_entropy(rows, targets, **options)
                    slope = exact.cross_entropy_gradient(rows, targets, **options)
                    about = refcalc.cross_entropy_gradient(rows, targets, **options)
                    with self.subTest(seed=seed, options=options):
                        for a, b in zip(*(x if reduction == "none" else [x] for x in (got, want)), strict=True):
                            self.assertLessEqual(ulps_apart(a, b), 14)
                        for r, s in zip(slope, about, strict=True):
                            for a, b in zip(r, s, strict=True):
                                self.assertAlmostEqual(a, b, delta=1e-13)

    def test_the_causal_loss_shifts(self):
        rows, labels = [[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]], [0, 1, 0]
        nlls = [exact.token_nll(rows[0], 1), exact.token_nll(rows[1], 0)]
        self.assertEqual(exact.causal_lm_loss(rows, labels, reduction="none"), nlls)
        self.assertEqual(exact.causal_lm_loss(rows, labels), exact.cross_entropy(rows[:2], [1, 0]))
        self.assertEqual(
            exact.causal_lm_loss(rows, labels, num_items=3), float(exact.batch_nll(rows[:2], [1, 0]) / 3)
        )
        self.assertEqual(exact.causal_lm_loss(rows, labels, attention_mask=[1, 1, 0]), nlls[0])


class Traps(unittest.TestCase):
    def test_the_gradient_of_tied_rows_is_rational_and_may_be_half_way(self):
        w = 1.0 + 2.0**-52
        options = {"weight": [w] * 4, "reduction": "sum"}
        got = exact.cross_entropy_gradient([0.0] * 4, 0, **options)
        self.assertEqual(got, [float(Fraction(w) * Fraction(q, 4)) for q in (-3, 1, 1, 1)])
        for eps, size in ((0.2, 2), (0.4, 4)):
            e, got = Fraction(eps), exact.cross_entropy_gradient([5.0] * size, 0, label_smoothing=eps)
            self.assertEqual(got, [float((1 - e) * (Fraction(1, size) - (c == 0))) for c in range(size)])

    def test_the_gradient_is_zero_where_target_and_prediction_are_equal(self):
        self.assertEqual(exact.cross_entropy_gradient([0.0] * 4, 1, label_smoothing=1.0), [0.0] * 4)
        self.assertEqual(exact.cross_entropy_gradient([3.0, 3.0], [0.5, 0.5]), [0.0, 0.0])

    def test_a_smoothed_confident_hit_is_half_way_less_dust(self):
        for eps in (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4):
            value = Fraction(eps) * 3 / 4
            down = float(value) if Fraction(float(value)) <= value else nextafter(float(value), 0.0)
            up = nextafter(down, 1.0)
            self.assertIn(value - Fraction(down), ((Fraction(up) - Fraction(down)) / 2, 0, value - Fraction(down)))
            for top in (2000.0, 1e16):
                got = exact.cross_entropy_gradient([top, 0.0, 0.0, 0.0], 0, label_smoothing=eps)[0]
                just_below = value - Fraction(1, 1 << 2000)
                self.assertEqual(got, just_below.numerator / just_below.denominator, eps)

    def test_a_confident_hit_has_a_gradient(self):
        self.assertEqual(exact.cross_entropy_gradient([0.0, -745.0], 0), [-5e-324, 5e-324])
        self.assertEqual(exact.cross_entropy_gradient([0.0, -inf], 1), [1.0, -1.0])

    def test_nothing_times_an_infinite_nll_is_nothing(self):
        row = [0.0, 1.0, -inf]
        self.assertEqual(exact.cross_entropy(row, 2), inf)
        self.assertEqual(exact.cross_entropy(row, 0, label_smoothing=0.1), inf)
        self.assertLess(exact.cross_entropy(row, 0, label_smoothing=0.1, weight=[1.0, 1.0, 0.0]), inf)
        self.assertEqual(exact.cross_entropy(row, [0.5, 0.5, 0.0]), exact.cross_entropy(row[:2], [0.5, 0.5]))
        self.assertEqual(exact.cross_entropy(row, 2, weight=[1.0, 1.0, 0.0], reduction="sum"), 0.0)

    def test_many_ties_are_a_half_way_point_of_nothing_in_nats(self):
        got = exact.cross_entropy([[0.0] * 2] * 3, [0] * 3, reduction="sum")
        self.assertEqual(got, exact.uniform_nll(8))


class Conventions(unittest.TestCase):
    def test_ignored_rows_are_not_read(self):
        rows = [[nan, nan], [0.0, 1.0]]
        self.assertEqual(exact.cross_entropy(rows, [-100, 1]), exact.token_nll([0.0, 1.0], 1))
        self.assertEqual(exact.cross_entropy(rows, [-100, 1], reduction="none")[0], 0.0)
        self.assertEqual(exact.cross_entropy_gradient(rows, [-100, 1])[0], [0.0, 0.0])

    def test_no_target_at_all(self):
        self.assertEqual(exact.cross_entropy([[1.0, 2.0]], [-100], reduction="sum"), 0.0)
        for f in (exact.cross_entropy, exact.cross_entropy_gradient):
            with self.assertRaises(ValueError) as caught:
                f([[1.0, 2.0]], [-100])
            self.assertEqual(
                str(caught.exception),
                f"{f.__name__}: targets must hold a target that counts (nothing to average), got [-100]",
            )

    def test_refusals(self):
        row = [0.0, 1.0]
        for options, message in [
            ({"targets": [0.5, -0.5]}, "targets[1] must not be negative, got -0.5"),
            ({"targets": 0, "weight": [1.0, -1.0]}, "weight[1] must not be negative, got -1.0"),
            ({"targets": 0, "weight": [0.0, 1.0]}, "weight must not be 0 for every scored target, got [0.0, 1.0]"),
            ({"targets": 0, "weight": [1, Fraction(1, 3)]}, "weight[1] must be exactly a double, got Fraction(1, 3)"),
            ({"targets": [Fraction(1, 3), 0]}, "targets[0] must be exactly a double, got Fraction(1, 3)"),
            (
                {"targets": 0, "label_smoothing": Fraction(1, 10)},
                "label_smoothing must be exactly a double, got Fraction(1, 10)",
            ),
            (
                {"targets": [0.5, 0.5], "ignore_index": 1},
                "ignore_index must be negative with probability targets, got 1",
            ),
            ({"targets": 0, "reduction": "avg"}, "reduction must be one of 'mean', 'none', 'sum', got 'avg'"),
        ]:
            with self.subTest(options=options), self.assertRaises(ValueError) as caught:
                exact.cross_entropy(row, **options)
            self.assertEqual(str(caught.exception), f"cross_entropy: {message}")
        with self.assertRaises(ValueError) as caught:
            exact.batch_nll(row, 0, reduction="none")
        self.assertEqual(str(caught.exception), "batch_nll: reduction must be one of 'mean', 'sum', got 'none'")

    def test_the_causal_loss_names_a_label_by_its_own_place_as_the_float_tier_does(self):
        two = [[0.0, 1.0], [1.0, 0.0]]
        for arguments, kind, message in [
            ((two, [0, 2]), ValueError, "labels[1] must lie in [0, 2), got 2"),
            (([two, two], [[0, 1], [0, -3]]), ValueError, "labels[1][1] must lie in [0, 2), got -3"),
            ((two, [1.0, 1]), TypeError, "labels[0] must be a whole number, got 1.0"),
            ((two, [0, -100]), ValueError, "labels must hold a target that counts (nothing to average), got [0, -100]"),
            (([[two]], [[0, 1]]), ValueError, "labels[0] must be as long as logits[0] (1), got 2"),
            (([two, [[0.0, nan]] * 2], [[0, 1]] * 2), ValueError, "logits[1][0][1] must be finite or -inf, got nan"),
        ]:
            for f in (exact.causal_lm_loss, refcalc.causal_lm_loss):
                with self.subTest(f=f.__module__, message=message), self.assertRaises(kind) as caught:
                    f(*arguments)
                self.assertEqual(str(caught.exception), f"causal_lm_loss: {message}")
