"""The processors of a row, judged by fractions rounded once an operation, and by hand."""

import unittest
from collections.abc import Callable
from fractions import Fraction
from math import inf, nan
from random import Random
from typing import Any

from refcalc.decode import (
    add_bias,
    argmax,
    ban,
    divide_by_temperature,
    keep_top_k,
    keep_top_p,
    penalise_frequency,
    penalise_presence,
    penalise_repetition,
)

EVERY: list[tuple[Callable[..., list[float]], Any]] = [
    (add_bias, {0: 1.0}),
    (ban, [0]),
    (divide_by_temperature, 2.0),
    (keep_top_k, 1),
    (keep_top_p, 0.5),
]
WITH_PENALTY: list[tuple[Callable[..., list[float]], Any]] = [
    (penalise_frequency, {0: 1}),
    (penalise_presence, [0]),
    (penalise_repetition, [0]),
]


def rounded(value: Fraction) -> float:
    """Return the double nearest to a fraction: what one float operation gives."""
    return value.numerator / value.denominator


class Values(unittest.TestCase):
    def test_each_is_the_float_operations_that_it_names(self) -> None:
        for seed in range(200):
            u = Random(seed).random
            row = [20.0 * (u() - 0.5) for _ in range(6)]
            a, count = 0.1 + 3.0 * u(), 1 + seed % 5
            z, x = Fraction(row[2]), Fraction(a)
            with self.subTest(seed=seed):
                self.assertEqual(add_bias(row, {2: a})[2], rounded(z + x))
                self.assertEqual(penalise_repetition(row, [2], a)[2], rounded(z * x if z < 0 else z / x))
                self.assertEqual(penalise_frequency(row, {2: count}, a)[2], rounded(z - Fraction(rounded(count * x))))
                self.assertEqual(penalise_presence(row, [2, 2], a)[2], rounded(z - x))
                self.assertEqual(divide_by_temperature(row, a), [rounded(Fraction(each) / x) for each in row])

    def test_they_touch_the_tokens_they_are_told_and_no_others(self) -> None:
        row = [1.0, -2.0, 3.0, -4.0]
        self.assertEqual(add_bias(row, {3: 0.5, 0: -1.0}), [0.0, -2.0, 3.0, -3.5])
        self.assertEqual(penalise_repetition(row, [0, 1, 1], 2.0), [0.5, -4.0, 3.0, -4.0])
        self.assertEqual(penalise_repetition(row, [0, 1, 1], 0.5), [2.0, -1.0, 3.0, -4.0])  # below 1 it encourages
        self.assertEqual(penalise_repetition([2.0**-9, -(2.0**-9)], [0, 1], 2.0), [2.0**-10, -(2.0**-8)])
        self.assertEqual(penalise_frequency(row, {0: 0, 2: 3}, 0.5), [1.0, -2.0, 1.5, -4.0])
        self.assertEqual(penalise_frequency(row, {2: 3}, -0.5), [1.0, -2.0, 4.5, -4.0])
        self.assertEqual(penalise_presence(row, [2, 2, 2], 0.5), [1.0, -2.0, 2.5, -4.0])
        self.assertEqual(ban(row, [1, 3, 3]), [1.0, -inf, 3.0, -inf])

    def test_what_is_no_candidate_stays_none(self) -> None:
        row = [-inf, 1.0]
        for function, argument in EVERY:
            with self.subTest(function.__name__):
                self.assertEqual(function(row, argument)[0], -inf)
        for function, argument in WITH_PENALTY:
            with self.subTest(function.__name__):
                self.assertEqual(function(row, argument, 0.5)[0], -inf)
        self.assertEqual(penalise_frequency([-inf, 1.0], {0: 100}, -1e307), [-inf, 1.0])  # no inf - inf
        self.assertEqual(keep_top_k([-inf, 1.0, -inf], 3), [-inf, 1.0, -inf])

    def test_no_row_is_changed_in_place(self) -> None:
        row = [2.0, 1.0, 0.0]
        for function, argument in EVERY:
            function(row, argument)
            function(tuple(row), argument)
        for function, argument in WITH_PENALTY:
            function(row, argument, 2.0)
        self.assertEqual(row, [2.0, 1.0, 0.0])


class Ties(unittest.TestCase):
    def test_the_lowest_index_is_the_larger(self) -> None:
        row = [1.0, 3.0, 3.0, 0.0, 3.0]
        self.assertEqual(argmax(row), 1)
        self.assertEqual(keep_top_k(row, 2), [-inf, 3.0, 3.0, -inf, -inf])
        self.assertEqual(keep_top_p(row, 0.5), [-inf, 3.0, 3.0, -inf, -inf])
        self.assertEqual(divide_by_temperature(row, 0), [-inf, 3.0, -inf, -inf, -inf])
        self.assertEqual(keep_top_k([0.0, -0.0], 1), [0.0, -inf])
        self.assertEqual(keep_top_k([-0.0, 0.0], 1), [-0.0, -inf])

    def test_top_k_against_repeated_argmax(self) -> None:
        for seed in range(100):
            u = Random(seed).random
            row = [float(int(5 * u())) for _ in range(8)]  # many ties
            left, kept = row[:], []
            for k in range(1, 9):
                kept.append(argmax(left))
                left[kept[-1]] = -inf
                want = [z if i in kept else -inf for i, z in enumerate(row)]
                self.assertEqual(keep_top_k(row, k), want)

    def test_all_may_stay(self) -> None:
        row = [0.5, -3.0, 0.5]
        self.assertEqual(keep_top_k(row, 3), row)
        self.assertEqual(keep_top_k(row, 10**9), row)
        self.assertEqual(keep_top_p(row, 1.0), row)
        self.assertEqual(keep_top_p([0.0, -800.0], 1.0), [0.0, -800.0])  # its probability is below the doubles
        self.assertEqual(divide_by_temperature(row, 1.0), row)


class Refusals(unittest.TestCase):
    def assert_refused(self, message: str, function: Any, *arguments: Any, kind: type[Exception] = ValueError) -> None:
        with self.subTest(message), self.assertRaises(kind) as caught:
            function(*arguments)
        self.assertEqual(str(caught.exception), message)

    def test_rows(self) -> None:
        for function, *rest in [(f, a) for f, a in EVERY] + [(f, a, 2.0) for f, a in WITH_PENALTY]:
            name = function.__name__
            self.assert_refused(f"{name}: logits must hold at least one score, got 0", function, [], *rest)
            self.assert_refused(f"{name}: logits[1] must be finite or -inf, got nan", function, [0.0, nan], *rest)
            self.assert_refused(f"{name}: logits[0] must be finite or -inf, got inf", function, [inf], *rest)
            self.assert_refused(f"{name}: logits[0] must be a number, got 'a'", function, ["a"], *rest, kind=TypeError)

    def test_ids(self) -> None:
        for function, argument, *ids in [
            (add_bias, "bias", {2: 1.0}),
            (ban, "ids", [2]),
            (penalise_frequency, "counts", {2: 1}, 2.0),
            (penalise_presence, "generated", [2], 2.0),
            (penalise_repetition, "seen", [2], 2.0),
        ]:
            message = f"{function.__name__}: {argument} must lie in [0, 2), got 2"
            self.assert_refused(message, function, [0.0, 1.0], *ids)
        self.assert_refused("ban: ids must lie in [0, 2), got -1", ban, [0.0, 1.0], [-1])

    def test_what_holds_no_ids(self) -> None:
        for message, function, *rest in [
            ("add_bias: bias must be a mapping from ids to numbers, got [(0, 1.0)]", add_bias, [(0, 1.0)]),
            ("penalise_frequency: counts must be a mapping from ids to numbers, got [1]", penalise_frequency, [1], 2.0),
            ("penalise_presence: generated must be iterable, got 1", penalise_presence, 1, 2.0),
            ("penalise_repetition: seen must be iterable, got None", penalise_repetition, None, 2.0),
            ("ban: ids must be iterable, got 1", ban, 1),
            ("ban: ids must be a whole number, got '1'", ban, "1"),
        ]:
            self.assert_refused(message, function, [0.0, 1.0], *rest, kind=TypeError)

    def test_parameters(self) -> None:
        row = [0.0, 1.0]
        for message, function, *rest in [
            ("divide_by_temperature: temperature must not be negative, got -0.5", divide_by_temperature, -0.5),
            ("divide_by_temperature: temperature must be a number, got nan", divide_by_temperature, nan),
            ("divide_by_temperature: temperature must be finite, got inf", divide_by_temperature, inf),
            ("keep_top_k: k must be at least 1, got 0", keep_top_k, 0),
            ("keep_top_p: p must lie in (0, 1], got 0.0", keep_top_p, 0.0),
            ("keep_top_p: p must lie in (0, 1], got 1.5", keep_top_p, 1.5),
            ("keep_top_p: p must lie in (0, 1], got nan", keep_top_p, nan),
            ("penalise_repetition: penalty must be above 0, got 0.0", penalise_repetition, [0], 0.0),
            ("penalise_frequency: penalty must be finite, got inf", penalise_frequency, {0: 1}, inf),
            ("penalise_frequency: counts[0] must be at least 0, got -1", penalise_frequency, {0: -1}, 1.0),
            (
                f"penalise_frequency: counts[0] must be within the range of a double, got 1{'0' * 17}...{'0' * 19}",
                penalise_frequency,
                {0: 10**400},
                0.0,
            ),
            ("penalise_presence: penalty must be a number, got nan", penalise_presence, [0], nan),
            ("add_bias: bias[1] must be finite, got -inf", add_bias, {1: -inf}),
        ]:
            self.assert_refused(message, function, row, *rest)
        self.assert_refused("keep_top_p: logits must hold a score above -inf, got [-inf]", keep_top_p, [-inf], 0.5)

    def test_scores_that_would_leave_the_doubles(self) -> None:
        for function, *rest in [
            (divide_by_temperature, 1e-310),
            (add_bias, {0: 1e308}),
            (penalise_repetition, [0], 1e-10),
            (penalise_presence, [0], -1e308),
            (penalise_frequency, {0: 100}, -1e307),
        ]:
            message = f"{function.__name__}: logits[0] must stay within the doubles, got 1e+308"
            self.assert_refused(message, function, [1e308, 0.0], *rest)


if __name__ == "__main__":
    unittest.main()
