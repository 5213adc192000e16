"""first_reaching and draw, judged by a scan in decimal arithmetic and, where classes tie, by whole numbers."""

import unittest
from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter
from random import Random

from refcalc.decode import draw, keep_top_p
from refcalc.decode.shares import first_reaching
from tests.ulps import wide_context

WIDE = wide_context(60)


def cumulative(scores: list[float]) -> list[Decimal]:
    """Return c[1], ..., c[V] to some 55 digits."""
    sums, total = [], Decimal(0)
    for z in scores:
        total = WIDE.add(total, WIDE.exp(Decimal(z)))
        sums.append(total)
    return [WIDE.divide(each, total) for each in sums]


def random_row(u: Random, size: int) -> list[float]:
    spread = [1.0, 5.0, 30.0][int(3 * u.random())]
    return [spread * (u.random() - 0.5) for _ in range(size)]


class Against60Digits(unittest.TestCase):
    def assert_first(self, scores: list[float], sums: list[Decimal], share: float) -> None:
        """Hold it against a scan of c, for scores and a share that 60 digits tell apart."""
        for strictly in (False, True):
            want = [c > share if strictly else c >= share for c in sums].index(True) + 1
            with self.subTest(scores=scores, share=share, strictly=strictly):
                self.assertEqual(first_reaching(scores, share, strictly=strictly), want)

    def test_any_share(self) -> None:
        for seed in range(100):
            u = Random(seed)
            scores = random_row(u, 1 + seed % 12)
            self.assert_first(scores, cumulative(scores), u.random())

    def test_the_doubles_next_to_a_cumulative_sum(self) -> None:
        """Here c[n] and the share are within an ulp of each other: sums of doubles would be right by luck only."""
        for seed in range(100):
            u = Random(seed)
            scores = random_row(u, 2 + seed % 9)
            sums = cumulative(scores)
            near = float(sums[int(u.random() * (len(scores) - 1))])
            for share in (nextafter(near, 0.0), near, nextafter(near, 1.0)):
                if share < 1.0:
                    self.assert_first(scores, sums, share)

    def test_a_row_of_many_classes(self) -> None:
        scores = random_row(Random(5), 1000)
        sums = cumulative(scores)
        for n in (1, 10, 500, 999):
            self.assert_first(scores, sums, float(sums[n - 1]))

    def test_the_scores_may_have_any_offset(self) -> None:
        for offset in (-1e15, 2.0**40, 700.0):
            scores = [offset, offset + 1.0, offset - 2.0]
            plain = [0.0, 1.0, -2.0]
            for share in (0.1, 0.25, 0.26, 0.9, 0.99):
                self.assertEqual(first_reaching(scores, share), first_reaching(plain, share))


class Exactly(unittest.TestCase):
    def test_tied_classes_are_counted(self) -> None:
        for size in (1, 2, 3, 7, 8, 10, 48):
            for share in [0.0, 0.1, 1 / 3, 0.5, 0.7, 0.875, nextafter(1.0, 0.0), *(k / size for k in range(size))]:
                want = Fraction(share) * size  # the least n with n >= want; strictly, n > want
                with self.subTest(size=size, share=share):
                    self.assertEqual(first_reaching([-3.5] * size, share), max(1, -(-want // 1)))
                    self.assertEqual(first_reaching([-3.5] * size, share, strictly=True), want // 1 + 1)

    def test_what_is_far_below_still_decides(self) -> None:
        self.assertEqual(first_reaching([0.0, 0.0], 0.5), 1)
        self.assertEqual(first_reaching([0.0, 0.0, -1e5], 0.5), 2)  # c[1] is 0.5 less e**-100000 / 4
        self.assertEqual(first_reaching([-1e5, 0.0, 0.0], 0.5), 2)
        self.assertEqual(first_reaching([-1e5, 0.0, 0.0], 0.5, strictly=True), 2)
        self.assertEqual(first_reaching([0.0, -1e5, 0.0], 0.5, strictly=True), 2)  # c[2] is 0.5 and e**-100000 / 4

    def test_scores_that_differ_by_the_least(self) -> None:
        for least in (5e-324, 1e-300, 1e-17):
            self.assertEqual(first_reaching([0.0, -least], 0.5, strictly=True), 1)
            self.assertEqual(first_reaching([-least, 0.0], 0.5), 2)

    def test_no_candidate_has_no_share(self) -> None:
        self.assertEqual(first_reaching([-inf, 0.0, -inf, 0.0], 0.5), 2)
        self.assertEqual(first_reaching([-inf, 0.0, -inf, 0.0], 0.5, strictly=True), 4)
        self.assertEqual(first_reaching([-inf, -2000.0, 0.0], 0.0, strictly=True), 2)  # e**-2000 is above 0


class Draw(unittest.TestCase):
    def test_each_token_has_its_interval_in_token_order(self) -> None:
        for seed in range(50):
            u = Random(seed)
            row = random_row(u, 2 + seed % 7)
            for uniform in (u.random() for _ in range(10)):
                reached = [c > uniform for c in cumulative(row)]
                self.assertEqual(draw(row, uniform), reached.index(True))

    def test_both_ends(self) -> None:
        self.assertEqual(draw([-inf, 1.0, 1.0], 0.0), 1)
        self.assertEqual(draw([1.0, 1.0, -inf], nextafter(1.0, 0.0)), 1)
        self.assertEqual(draw([1.0, 1.0], 0.5), 1)  # [0, 0.5) and [0.5, 1)

    def test_it_refuses(self) -> None:
        for row, uniform, message in [
            ([1.0], 1.0, "draw: uniform must lie in [0, 1), got 1.0"),
            ([1.0], -0.1, "draw: uniform must lie in [0, 1), got -0.1"),
            ([1.0], float("nan"), "draw: uniform must lie in [0, 1), got nan"),
            ([-inf], 0.5, "draw: logits must hold a score above -inf, got [-inf]"),
        ]:
            with self.subTest(message), self.assertRaises(ValueError) as caught:
                draw(row, uniform)
            self.assertEqual(str(caught.exception), message)


class TopP(unittest.TestCase):
    def test_it_keeps_the_fewest_that_reach_p(self) -> None:
        for seed in range(100):
            u = Random(seed)
            row, p = random_row(u, 2 + seed % 9), 1.0 - u.random()
            kept = [i for i, z in enumerate(keep_top_p(row, p)) if z > -inf]
            share = {i: WIDE.divide(WIDE.exp(Decimal(row[i])), sum(WIDE.exp(Decimal(z)) for z in row)) for i in kept}
            with self.subTest(seed=seed):
                self.assertGreaterEqual(sum(share.values()), Decimal(p))
                self.assertLess(sum(share.values()) - min(share.values()), Decimal(p))
                self.assertGreaterEqual(min(row[i] for i in kept), max([-inf, *set(row) - {row[i] for i in kept}]))


if __name__ == "__main__":
    unittest.main()
