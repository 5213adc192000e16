"""Values that were not rounded: merging, pickling, and what is rational about them."""

import pickle
import unittest
from decimal import getcontext
from fractions import Fraction
from math import inf
from random import Random
from threading import Thread

from refcalc import exact
from refcalc.exact import Nll
from refcalc.exact._independent import independent, rational_part
from tests.exact import judge


def scored(count: int, seed: int) -> tuple[list[list[float]], list[int]]:
    rng = Random(seed)
    rows = [[3.0 * (rng.random() - 0.5) for _ in range(5)] for _ in range(count)]
    rows[0] = [1.0] * 5
    return rows, [int(5 * rng.random()) for _ in rows]


class Merging(unittest.TestCase):
    def test_shards_in_any_order_give_the_same_value(self):
        rows, ys = scored(12, seed=1)
        whole = exact.batch_nll(rows, ys)
        shards = [exact.batch_nll(rows[i::3], ys[i::3]) for i in range(3)]
        merged = [shards[0] + shards[1] + shards[2], sum(reversed(shards)), Nll.total(shards)]
        for value in merged:
            self.assertEqual(value, whole)
            self.assertEqual(hash(value), hash(whole))
            self.assertEqual(float(value), exact.cross_entropy(rows, ys, reduction="sum"))
            self.assertEqual(float(value / 12), exact.cross_entropy(rows, ys))
            self.assertEqual(exact.perplexity(value / 12), exact.perplexity(whole / 12))

    def test_a_value_survives_pickling_and_the_change_of_its_rows(self):
        rows, ys = scored(4, seed=2)
        value = exact.batch_nll(rows, ys)
        want = float(value)
        copy = pickle.loads(pickle.dumps(value))
        for row in rows:
            row[:] = [0.0] * 5
        self.assertEqual((float(value), float(copy)), (want, want))
        self.assertEqual(copy, value)
        self.assertNotEqual(copy, value / 2)

    def test_the_perplexity_is_rounded_once(self):
        differ = 0
        for seed in range(40):
            rows, ys = scored(3, seed)
            nll = exact.batch_nll(rows, ys, reduction="mean")
            differ += exact.perplexity(nll) != exact.perplexity(float(nll))
        self.assertGreater(differ, 5)

    def test_what_cannot_be_divided_by_is_refused(self):
        value = exact.batch_nll([0.0, 0.0], 0)
        for divisor, message in [
            (0, "Nll: divisor must be above 0 and finite, got 0"),
            (-1.0, "Nll: divisor must be above 0 and finite, got -1.0"),
            (inf, "Nll: divisor must be above 0 and finite, got inf"),
        ]:
            with self.assertRaises(ValueError) as caught:
                value / divisor
            self.assertEqual(str(caught.exception), message)
        with self.assertRaises(TypeError):
            value + 1.0
        with self.assertRaises(TypeError):
            value - value
        self.assertEqual(float(exact.batch_nll([0.0, -inf], 1)), inf)
        self.assertEqual(exact.perplexity(exact.batch_nll([0.0, -inf], 1)), inf)


class Rationality(unittest.TestCase):
    def test_ties_to_a_whole_power_are_decided_by_integers(self):
        three = [0.0] * 3
        self.assertEqual(exact.perplexity(exact.batch_nll([three] * 9, [0] * 9, reduction="mean")), 3.0)
        half_way = exact.word_perplexity(exact.batch_nll([three] * 34, [0] * 34), 1)
        self.assertEqual(half_way, 3**34 - 1)  # 54 bits and odd: to even

    def test_dust_on_a_half_way_point_goes_up(self):
        three = [0.0] * 3
        for dust in (-300.0, -2000.0, -1e16):
            nll = exact.batch_nll([*[three] * 34, [0.0, dust, dust]], [0] * 35)
            self.assertEqual(exact.word_perplexity(nll, 1), 3**34 + 1)

    def test_bits_of_powers_of_two_are_rational(self):
        eight, w = [0.0] * 8, 1.0 + 3 * 2.0**-52
        nll = exact.batch_nll(eight, 0, weight=[w] * 8)  # 3 w bits, which is half-way
        self.assertEqual(exact.bits_per_token(nll), 3.0 + 4 * 2.0**-51)
        dusty = exact.batch_nll([eight, [0.0] + [-3000.0] * 7], [0, 0], weight=[w] * 8)
        self.assertEqual(exact.bits_per_token(dusty), 3.0 + 5 * 2.0**-51)
        two = exact.batch_nll([0.0, 0.0], 1)
        self.assertEqual(exact.bits_per_token((exact.batch_nll(eight, 0) + two) / 2), 2.0)

    def test_logarithms_that_cancel_are_zero(self):
        logs = {6: Fraction(1), 2: Fraction(-1), 3: Fraction(-1)}
        self.assertEqual(Nll(logs=logs).nats("f"), 0.0)
        self.assertEqual(Nll(logs=logs).exp("f"), 1.0)
        self.assertEqual(Nll(Fraction(2**53 + 1), logs=logs).nats("f"), float(2**53))

    def test_numbers_are_split_into_coprime_ones(self):
        rng = Random(4)
        for _ in range(80):
            numbers = [1 + int(rng.random() * 10 ** rng.choice([1, 2, 6])) for _ in range(5)]
            logs = {n: Fraction(int(rng.random() * 7) - 3, 2) for n in numbers}
            base = independent(logs)
            product, others = rational_part(base)
            left = Fraction(1)
            for n, c in logs.items():
                left *= Fraction(n) ** int(2 * c)
            right = product**2
            for n, c in others.items():
                right *= Fraction(n) ** int(2 * c)
            self.assertEqual(left, right, logs)

    def test_perfect_powers_are_seen(self):
        self.assertEqual(rational_part({3**20: Fraction(7, 10)}), (Fraction(3**14), {}))
        self.assertEqual(rational_part({3**20: Fraction(1, 3)}), (Fraction(1), {3**20: Fraction(1, 3)}))


class Surroundings(unittest.TestCase):
    def test_threads_agree_and_the_decimal_context_stays(self):
        before = getcontext().copy()
        rows = judge.rows(12, seed=8)
        want = [exact.log_softmax(xs) for xs in rows]
        found: list[object] = []
        threads = [Thread(target=lambda: found.append([exact.log_softmax(xs) for xs in rows])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [want] * 4)
        self.assertEqual(repr(getcontext()), repr(before))
