"""KL divergence and its gradient, correctly rounded: judged by decimal at 160 digits and more, by other steps."""

import unittest
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from math import inf, nan, nextafter
from random import Random

from refcalc import exact
from tests.exact import judge


@judge.remembered
def kl(xs: list[float], ys: list[float], digits: int = 160) -> Callable[[Decimal], bool]:
    """log(sum exp y / sum exp x) - sum p (y - x), which cancels: 400 digits bear it down to the least doubles."""
    with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        masses = [Decimal(x).exp() for x in xs]
        total = sum(masses)
        mean = sum(a * (Decimal(y) - Decimal(x)) for a, x, y in zip(masses, xs, ys, strict=True) if a) / total
        truth = (sum(Decimal(y).exp() for y in ys) / total).ln() - mean
    return lambda h: h < truth


def pairs(count: int) -> list[tuple[list[float], list[float]]]:
    """Return pairs of rows: strangers, neighbours down to the last bit, shifted, masked."""
    result = []
    for i, xs in enumerate(judge.rows(count, seed=11)):
        u = Random(i).random
        near = 10.0 ** -[0, 3, 8, 14][i % 4]
        ys = [x + near * (u() - 0.5) + [0.0, 100.0][i % 2] for x in xs]
        if i % 6 == 5:
            ys = xs[::-1]
        if i % 5 == 4 and len(xs) > 2:
            xs[1], ys[2] = -inf, ys[2] - 500.0
        result.append((xs, ys))
    return result


class Nearest(unittest.TestCase):
    def test_each_result_lies_between_its_half_way_points(self) -> None:
        for i, (xs, ys) in enumerate(pairs(30)):
            with self.subTest(i=i, xs=xs, ys=ys):
                self.assertTrue(judge.is_nearest(exact.kl_divergence(xs, ys), kl(xs, ys)))

    def test_rows_one_bit_apart_are_apart(self) -> None:
        for xs, ys in [
            ([0.0, 1.0], [0.0, nextafter(1.0, inf)]),
            ([0.0, 0.0], [0.0, 1e-150]),
            ([0.0, 0.0], [0.0, 1e-162]),
            ([0.0, -700.0], [0.0, -700.0000000000001]),
            ([0.0, 1.0, -inf], [0.0, 1.0, -90.0]),
        ]:
            with self.subTest(xs=xs, ys=ys):
                self.assertTrue(judge.is_nearest(exact.kl_divergence(xs, ys), kl(xs, ys, 400)))

    def test_a_constant_shift_is_exactly_nothing(self) -> None:
        for xs, shift in [([0.0, 1.0, 5.0], 0.5), ([1e16, 2e16], 2e15), ([0.0, -inf, 2.0], -8.0), ([3.0, 3.0], 0.1)]:
            got = exact.kl_divergence(xs, [x + shift for x in xs])
            self.assertEqual(got.hex(), "0x0.0p+0", (xs, shift))

    def test_a_uniform_p_is_a_matter_of_whole_numbers_and_logarithms(self) -> None:
        eight, two = [0.0] * 8, [0.0, 0.0] + [-inf] * 6
        self.assertEqual(exact.kl_divergence(two, eight), exact.uniform_nll(4))
        self.assertEqual(exact.kl_divergence([7.0, -inf], [1.0, 2.0]), exact.token_nll([1.0, 2.0], 0))
        # 1e16 + 1 is half-way between two doubles, and the dust goes up, too far below for any number of bits.
        self.assertEqual(exact.kl_divergence([0.0, -inf], [-1.0, 1e16]), 1e16 + 2.0)

    def test_half_way_and_dust(self) -> None:
        # -log q[0] is 2**53 + 1, half-way; what p leaves to the other classes weighs them down or up.
        self.assertEqual(exact.kl_divergence([0.0, -900.0], [-1.0, 2.0**53]), 2.0**53)
        self.assertEqual(exact.kl_divergence([0.0, -5000.0, -900.0], [-1.0, 2.0**53, -(2.0**60)]), 2.0**53 + 2.0)

    def test_dust_too_far_below_for_any_number_of_bits(self) -> None:
        # -log q[0] is 2**53 + 1 again.  Each row says what decides.
        for p, q, up in [
            ([0.0, -1e5], [-1.0, 2.0**53], False),  # 2**53 e**-1e5, which q takes from p's second class
            ([0.0, -1e5, -2e5], [-1.0, 2.0**53, -1e9], False),  # the same; the third class is too rare
            ([0.0, -1e5, -1e5], [-1.0, 2.0**53, -(2.0**60)], True),  # the third class, which q has hardly
            ([0.0, -1e5, -1e5 - 9.0], [-1.0, 2.0**53, -(2.0**60)], False),  # the same, rarer by 2**13: 2**7 is too few
            ([0.0, -1e5, -1e5 - 2.0], [-1.0, 2.0**53, -(2.0**60)], True),
            ([0.0, -1e9, -1e5], [-1.0, 2.0**53, -1e5 - 2.5], True),  # 1.5 e**-1e5 gained, e**-1e5 lost
            ([0.0, -1e9, -1e5], [-1.0, 2.0**53, -1e5 - 1.5], False),  # 0.5 e**-1e5 gained
            ([0.0, -1e17], [-1.0, 2.0**53], True),  # q's own tail, e**-(2**53 + 1)
        ]:
            with self.subTest(p=p, q=q):
                self.assertEqual(exact.kl_divergence(p, q), 2.0**53 + 2.0 * up)

    def test_two_largest_logits_of_q_are_no_dust(self) -> None:
        # The gaps vanish beside 2**66, and log 2 is above half-way, while p's second class is below.
        got = exact.kl_divergence([0.0, -1e5, -1e5], [-(2.0**13), 2.0**66, 2.0**66])
        self.assertEqual(got, 2.0**66 + 2.0**14)
        self.assertEqual(exact.kl_divergence([0.0, -1e5], [0.0, 0.0]), exact.uniform_nll(2))

    def test_dust_beside_equally_many_largest_logits(self) -> None:
        # log 2 - log 2 is nothing, and 2**53 + 1 is half-way.
        for far in (1500.0, 1e9):
            p, q = [0.0, 0.0, -far, -far, -far], [-1.0, -1.0, 2.0**53, 2.0**53]
            self.assertEqual(exact.kl_divergence(p, [*q, 0.0]), 2.0**53)
            self.assertEqual(exact.kl_divergence(p, [*q, -(2.0**70)]), 2.0**53 + 2.0)
        self.assertEqual(exact.kl_divergence([0.0, -inf, 0.0], [-1.0, 2.0**53, 2.0**53]), 2.0**52 + 1.0)

    def test_what_p_has_and_q_has_not_is_infinite(self) -> None:
        self.assertEqual(exact.kl_divergence([0.0, -2000.0], [0.0, -inf]), inf)
        self.assertEqual(exact.kl_divergence([0.0, 0.0, -inf], [0.0, -inf, 0.0]), inf)

    def test_beyond_the_doubles_and_below_them(self) -> None:
        self.assertEqual(exact.kl_divergence([0.0, 0.0], [1.7e308, -1.7e308]), 1.7e308)
        self.assertEqual(exact.kl_divergence([-1.7e308, 1.7e308], [1.7e308, -1.7e308]), inf)
        self.assertEqual(exact.kl_divergence([0.0, 0.0], [0.0, 1e-200]), 0.0)


class Sums(unittest.TestCase):
    def test_they_are_rounded_once(self) -> None:
        for seed in range(4):
            rows = [pair for pair in pairs(20)[4 * seed : 4 * seed + 4] if exact.kl_divergence(*pair) < inf]
            rows = [(xs, ys) for xs, ys in rows if len(xs) == len(rows[0][0])]
            p, q = [xs for xs, _ in rows], [ys for _, ys in rows]
            for reduction, divisor in [("sum", 1), ("rowmean", len(rows)), ("mean", len(rows) * len(p[0]))]:
                below = sum_of_kl(tuple(map(tuple, p)), tuple(map(tuple, q)), divisor)
                with self.subTest(seed=seed, reduction=reduction):
                    self.assertTrue(judge.is_nearest(exact.kl_divergence(p, q, reduction=reduction), below))

    def test_of_uniform_rows_they_are_logarithms_of_whole_numbers(self) -> None:
        two, four = [0.0, 0.0, -inf, -inf], [1.0] * 4
        self.assertEqual(exact.kl_divergence([two] * 3, [four] * 3, reduction="sum"), exact.uniform_nll(8))
        self.assertEqual(exact.kl_divergence([[two, two], [two]], [[four] * 2, [four]]), exact.uniform_nll(2))
        got = exact.kl_divergence([[two] * 4] * 3, [[four] * 4] * 3, reduction="batchmean")
        self.assertEqual(got, exact.uniform_nll(16))

    def test_a_uniform_row_beside_others(self) -> None:
        p, q = [[0.0, 0.0], [0.0, 1.0]], [[0.5, 1.0], [1.0, 0.0]]
        below = sum_of_kl(tuple(map(tuple, p)), tuple(map(tuple, q)), 2)
        self.assertTrue(judge.is_nearest(exact.kl_divergence(p, q), below))

    def test_half_way_and_dust(self) -> None:
        p, q = [[0.0, -1e5]] * 2, [[-1.0, 2.0**53]] * 2
        self.assertEqual(exact.kl_divergence(p, q), 2.0**53)
        self.assertEqual(exact.kl_divergence([*p, [0.0, 0.0]], [*q, [0.0, -inf]]), inf)


@judge.remembered
def sum_of_kl(p: list[list[float]], q: list[list[float]], divisor: int) -> Callable[[Decimal], bool]:
    with localcontext(Context(prec=160, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        total = Decimal(0)
        for xs, ys in zip(p, q, strict=True):
            masses, others = ([Decimal(z).exp() for z in row] for row in (xs, ys))
            size, other = sum(masses), sum(others)
            total += sum(a / size * ((a * other) / (b * size)).ln() for a, b in zip(masses, others, strict=True) if a)
        truth = total / divisor
    return lambda h: h < truth


@judge.remembered
def slope(xs: list[float], ys: list[float], i: int, of: str, digits: int = 160) -> Callable[[Decimal], bool]:
    with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        p, q = ([Decimal(z).exp() for z in row] for row in (xs, ys))
        p, q = ([a / sum(row) for a in row] for row in (p, q))
        if of == "q_logits":
            truth = q[i] - p[i]
        else:
            logs = [(a / b).ln() if a else Decimal(0) for a, b in zip(p, q, strict=True)]
            truth = p[i] * (logs[i] - sum(a * d for a, d in zip(p, logs, strict=True)))
    return lambda h: h < truth


class Slopes(unittest.TestCase):
    def test_each_result_lies_between_its_half_way_points(self) -> None:
        strangers = [(xs, ys) for xs, ys in pairs(12) if exact.kl_divergence(xs, ys) > 0.0]
        for n, (xs, ys) in enumerate(strangers):
            for of in ("q_logits", "p_logits"):
                if of == "p_logits" and exact.kl_divergence(xs, ys) == inf:
                    continue
                got = exact.kl_divergence_gradient(xs, ys, of=of)
                i = n % len(xs)
                with self.subTest(n=n, of=of, xs=xs, ys=ys):
                    self.assertTrue(judge.is_nearest(got[i], slope(xs, ys, i, of)))

    def test_nothing_is_exactly_nothing(self) -> None:
        for xs, ys, of in [
            ([0.0, 1.0, 5.0], [0.5, 1.5, 5.5], "q_logits"),
            ([0.0, 1.0, 5.0], [0.5, 1.5, 5.5], "p_logits"),
            ([0.0, -inf, 2.0], [-8.0, -inf, -6.0], "q_logits"),
            ([3.0, 3.0], [0.1, 0.1], "q_logits"),
            ([3.0, 3.0], [0.1, 0.1], "p_logits"),
        ]:
            got = exact.kl_divergence_gradient(xs, ys, of=of)
            self.assertEqual([g.hex() for g in got], ["0x0.0p+0"] * len(xs))

    def test_one_class_may_have_none(self) -> None:
        got = exact.kl_divergence_gradient([0.0, 1.0, 2.0], [1.0, 3.0, 2.0])
        self.assertEqual(got[0], 0.0)
        self.assertEqual(got[1], -got[2])
        # The means of g over the two classes at 0 and over the one at 1 are 0.
        got = exact.kl_divergence_gradient([0.0, 0.0, 1.0, -inf], [0.5, -0.5, 1.0, 7.0], of="p_logits")
        self.assertEqual((got[2], got[3]), (0.0, 0.0))
        self.assertEqual(got[0], -got[1])
        self.assertLess(got[0], 0.0)
        # The means of g over the two classes at 1 and over the two at 0 are 1.
        got = exact.kl_divergence_gradient([1.0, 1.0, 0.0, 0.0], [1.0, -1.0, -1.0, -1.0], of="p_logits")
        self.assertEqual((got[0], got[2], got[3]), (-got[1], 0.0, 0.0))
        self.assertLess(got[0], 0.0)

    def test_what_is_rational(self) -> None:
        self.assertEqual(exact.kl_divergence_gradient([0.0] * 4, [0.0, 0.0, -inf, -inf]), [0.25, 0.25, -0.25, -0.25])
        got = exact.kl_divergence_gradient([[0.0] * 3] * 2, [[1.0, 2.0, 6.0]] * 2, of="p_logits")
        self.assertEqual(got, [[1.0 / 3.0, 1.0 / 6.0, -0.5]] * 2)

    def test_dust_has_its_sign_and_its_digits(self) -> None:
        got = exact.kl_divergence_gradient([0.0, -700.0], [0.0, -702.0])
        self.assertTrue(judge.is_nearest(got[0], slope([0.0, -700.0], [0.0, -702.0], 0, "q_logits", 700)))
        self.assertEqual(exact.kl_divergence_gradient([0.0, 0.0, -inf], [0.0, 0.0, -1e6]), [0.0, 0.0, 0.0])

    def test_half_way_and_dust_below_a_tied_top_of_p(self) -> None:
        # The slope is -(1 + 2**-53) / 4, half-way, but for what the other classes of p do: they are masked, as a rule.
        for beyond in ([0.0], [-2.0], [3.0, -3.5], [-3.0, 3.5], [1.0, 1.0, -1.5, -1.5]):
            found = []
            for far in (1500.0, 1e9, 1e16):
                lows = [-far - 2.0 * j for j in range(len(beyond))]
                p, q = [0.0, 0.0, *lows], [1.0, -(2.0**-53), *(x + v for x, v in zip(lows, beyond, strict=True))]
                found.append(exact.kl_divergence_gradient(p, q, of="p_logits")[:2])
                if far == 1500.0:
                    for i in range(2):
                        self.assertTrue(judge.is_nearest(found[0][i], slope(p, q, i, "p_logits", 700)))
            with self.subTest(beyond=beyond):
                self.assertEqual(found, found[:1] * 3)

    def test_an_infinite_divergence_has_no_slope_by_p(self) -> None:
        self.assertEqual(exact.kl_divergence_gradient([0.0, 0.0], [0.0, -inf]), [0.5, -0.5])
        with self.assertRaises(ValueError) as caught:
            exact.kl_divergence_gradient([0.0, 0.0], [0.0, -inf], of="p_logits")
        message = "q_logits must give a finite divergence from p_logits, got inf"
        self.assertEqual(str(caught.exception), f"kl_divergence_gradient: {message}")


class Refusals(unittest.TestCase):
    def test_each_names_the_row(self) -> None:
        for p, q, message in [
            ([], [], "p_logits must hold at least one score, got 0"),
            ([0.0], [], "q_logits must hold at least one score, got 0"),
            ([0.0], [0.0, 1.0], "q_logits must be as long as p_logits (1), got 2"),
            ([nan], [0.0], "p_logits[0] must be finite or -inf, got nan"),
            ([0.0], [inf], "q_logits[0] must be finite or -inf, got inf"),
            ([0.0], [-inf], "q_logits must hold a score above -inf, got [-inf]"),
            ([0.0], [Decimal("0.1")], "q_logits[0] must be exactly a double, got Decimal('0.1')"),
        ]:
            with self.subTest(message=message), self.assertRaises(ValueError) as caught:
                exact.kl_divergence(p, q)
            self.assertEqual(str(caught.exception), f"kl_divergence: {message}")
