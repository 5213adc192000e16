"""The z-loss and its gradient, correctly rounded: judged by decimal at many digits."""

import unittest
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from math import inf, log

from refcalc import exact
from tests.exact import judge


@judge.remembered
def z(rows: list[tuple[float, ...]], c: float, divisor: int) -> Callable[[Decimal], bool]:
    with localcontext(Context(prec=240, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        sizes = [sum(Decimal(x).exp() for x in xs).ln() for xs in rows]
        truth = Decimal(c) * sum(size * size for size in sizes) / divisor
    return lambda h: h < truth


@judge.remembered
def slope(xs: list[float], i: int, c: float) -> Callable[[Decimal], bool]:
    with localcontext(Context(prec=240, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        masses = [Decimal(x).exp() for x in xs]
        truth = 2 * Decimal(c) * sum(masses).ln() * masses[i] / sum(masses)
    return lambda h: h < truth


class Nearest(unittest.TestCase):
    def test_rows_and_means(self) -> None:
        rows = judge.rows(12, seed=5)
        for n, xs in enumerate(rows):
            c = [1.0, 1e-4, 0.3][n % 3]
            with self.subTest(n=n):
                self.assertTrue(judge.is_nearest(exact.z_loss(xs, coefficient=c), z((tuple(xs),), c, 1)))
        for size in (2, 3, 5):
            batch = [xs for xs in rows if len(xs) == size]
            got = exact.z_loss(batch, coefficient=0.1)
            self.assertTrue(judge.is_nearest(got, z(tuple(map(tuple, batch)), 0.1, len(batch))))

    def test_slopes(self) -> None:
        for n, xs in enumerate(judge.rows(12, seed=6)):
            i, c = n % len(xs), [1.0, 1e-4][n % 2]
            with self.subTest(n=n):
                self.assertTrue(judge.is_nearest(exact.z_loss_gradient(xs, coefficient=c)[i], slope(xs, i, c)))

    def test_a_normaliser_all_but_one(self) -> None:
        for xs in ([-log(2.0)] * 2, [-log(3.0)] * 3, [0.0, -300.0], [1e-9, -30.0], [-1e-13, -29.9336]):
            with self.subTest(xs=xs):
                self.assertTrue(judge.is_nearest(exact.z_loss(xs, coefficient=1.0), z((tuple(xs),), 1.0, 1)))
                self.assertTrue(judge.is_nearest(exact.z_loss_gradient(xs)[0], slope(xs, 0, 1e-4)))

    def test_one_finite_logit_is_rational(self) -> None:
        self.assertEqual(exact.z_loss([1.5, -inf], coefficient=2.0), 4.5)
        self.assertEqual(exact.z_loss([0.0], coefficient=2.0), 0.0)
        self.assertEqual(exact.z_loss([[3.0], [5.0]], coefficient=1.0), 17.0)
        self.assertEqual(exact.z_loss_gradient([-1.5, -inf], coefficient=2.0), [-6.0, 0.0])
        self.assertEqual(exact.z_loss([1e200], coefficient=1.0), inf)
        self.assertEqual(exact.z_loss([0.5, 0.5], coefficient=0.0), 0.0)
        self.assertEqual([g.hex() for g in exact.z_loss_gradient([-0.5, 0.5], coefficient=0.0)], ["0x0.0p+0"] * 2)

    def test_half_way_and_dust(self) -> None:
        # m**2 is odd and has 54 bits: half-way.  A class a million below moves the normaliser up, by e**-1e6.
        m = 3.0 * 2.0**25 + 1.0
        below, above = int(m) ** 2 - 1, int(m) ** 2 + 1
        self.assertEqual(exact.z_loss([m, m - 1e6], coefficient=1.0), above)
        self.assertEqual(exact.z_loss([-m, -m - 1e6], coefficient=1.0), below)
        self.assertEqual(exact.z_loss([[m, m - 1e6]] * 3, coefficient=1.0), above)

    def test_half_way_and_dust_in_a_slope(self) -> None:
        # 2 c m = 3 + 3 * 2**-52 is half-way.  The far class, t = e**-1e6, adds t to L and takes m t by p.
        self.assertEqual(exact.z_loss_gradient([1.5, -1e6], coefficient=1.0 + 2.0**-52)[0], 3.0 + 2.0**-51)
        self.assertEqual(exact.z_loss_gradient([0.75, -1e6], coefficient=2.0 + 2.0**-51)[0], 3.0 + 2.0**-50)
        # m = 1: they cancel but for -t**2 / 2, beside a double.
        self.assertEqual(exact.z_loss_gradient([1.0, -1e6], coefficient=1.0 + 2.0**-52)[0], 2.0 + 2.0**-51)

    def test_the_rows_that_count(self) -> None:
        rows, targets = [[[0.5, 1.0], [inf, inf]], [[2.0, -1.0]]], [[0, -100], [1]]
        want = exact.z_loss([rows[0][0], rows[1][0]])
        self.assertEqual(exact.z_loss(rows, targets), want)
        each = [exact.z_loss(rows[0][0]), exact.z_loss(rows[1][0])]
        self.assertEqual(exact.z_loss(rows, targets, reduction="none"), [[each[0], 0.0], [each[1]]])
        self.assertEqual(exact.z_loss_gradient(rows, targets, reduction="sum")[1], [exact.z_loss_gradient(rows[1][0])])
        self.assertEqual(exact.z_loss_gradient(rows, targets)[0][1], [0.0, 0.0])
        half = [0.5 * g for g in exact.z_loss_gradient(rows[1][0])]
        self.assertEqual(exact.z_loss_gradient(rows, targets)[1], [half])
        self.assertEqual(exact.z_loss_gradient([2.0, -1.0, -inf]), [*exact.z_loss_gradient([2.0, -1.0]), 0.0])
        self.assertEqual(exact.z_loss([[3.0]], [-100], reduction="sum"), 0.0)


class Refusals(unittest.TestCase):
    def test_each_names_its_place(self) -> None:
        for arguments, options, message in [
            (([[1.0]], [-100]), {}, "targets must hold a target that counts (nothing to average), got [-100]"),
            (([-inf],), {}, "logits must hold a score above -inf, got [-inf]"),
            (([[2**53 + 1]],), {}, "logits[0][0] must be exactly a double, got 9007199254740993"),
            (([1.0],), {"coefficient": Decimal("0.1")}, "coefficient must be exactly a double, got Decimal('0.1')"),
            (([1.0],), {"coefficient": -1.0}, "coefficient must not be negative, got -1.0"),
            (([[1.0, 2.0]], [[0.5, 0.5]]), {}, "targets[0] must nest one level less than logits[0], got [0.5, 0.5]"),
            (([1.0],), {"ignore_index": 3}, "ignore_index must stand beside targets, got 3"),
        ]:
            for function in (exact.z_loss, exact.z_loss_gradient):
                with self.subTest(message=message), self.assertRaises(ValueError) as caught:
                    function(*arguments, **options)
                self.assertEqual(str(caught.exception), f"{function.__name__}: {message}")
