"""Attention, judged in decimal arithmetic from the definition, and by what must hold whatever the numbers are."""

import unittest
from decimal import Decimal, localcontext
from math import fsum, inf, nan, sqrt
from random import Random
from typing import Any

from refcalc import multi_head_attention, scaled_dot_product_attention
from tests.ulps import wide_context

Matrix = list[list[float]]


def matrix(rng: Random, rows: int, width: int, spread: float = 1.0) -> Matrix:
    return [[spread * (2.0 * rng.random() - 1.0) for _ in range(width)] for _ in range(rows)]


def truth(q: Matrix, k: Matrix, v: Matrix, keep: list[list[bool]]) -> tuple[list[list[Decimal]], list[list[Decimal]]]:
    """Return output and weights by the definition: what is masked has the exponential 0."""
    with localcontext(wide_context(50)):
        root = Decimal(len(q[0])).sqrt()
        weights = []
        for i, row in enumerate(q):
            dots = [sum(Decimal(a) * Decimal(b) for a, b in zip(row, key, strict=True)) / root for key in k]
            masses = [dot.exp() if keep[i][j] else Decimal(0) for j, dot in enumerate(dots)]
            weights.append([mass / sum(masses) for mass in masses])
        output = [
            [sum(w * Decimal(x) for w, x in zip(row, column, strict=True)) for column in zip(*v, strict=True)]
            for row in weights
        ]
    return output, weights


def causal_mask(n_queries: int, n_keys: int, offset: int) -> list[list[bool]]:
    return [[j - i <= offset for j in range(n_keys)] for i in range(n_queries)]


class Definition(unittest.TestCase):
    def assert_right(self, q: Matrix, k: Matrix, v: Matrix, keep: list[list[bool]], **options: Any) -> None:
        output, weights = scaled_dot_product_attention(q, k, v, return_weights=True, **options)
        true_output, true_weights = truth(q, k, v, keep)
        # The weights' bound of the module's docstring, with the largest |q c k c| sum of this input; the output's is it
        # and 2 u of the sum of |weight value|.
        u = 2.0**-53
        sizes = [fsum(abs(a * b) for a, b in zip(row, key, strict=True)) for row in q for key in k]
        e = 5.0 * max(sizes) / sqrt(len(q[0]))
        allowed = u * (10.0 + 2.0 * e)
        for row, true_row in zip(weights, true_weights, strict=True):
            for w, true_w in zip(row, true_row, strict=True):
                self.assertLessEqual(abs(Decimal(w) - true_w), Decimal(allowed) * true_w)
        largest = max(abs(x) for row in v for x in row)
        for row, true_row in zip(output, true_output, strict=True):
            for x, true_x in zip(row, true_row, strict=True):
                self.assertLessEqual(abs(Decimal(x) - true_x), Decimal((allowed + 2.0 * u) * largest))

    def test_every_query_reads_every_key(self) -> None:
        for seed in range(20):
            rng = Random(seed)
            t_q, t_k, d, d_v = 1 + seed % 4, 1 + seed % 5, 1 + seed % 7, 1 + seed % 3
            spread = [1.0, 5.0, 0.01][seed % 3]
            q, k, v = matrix(rng, t_q, d, spread), matrix(rng, t_k, d, spread), matrix(rng, t_k, d_v)
            with self.subTest(seed=seed):
                self.assert_right(q, k, v, [[True] * t_k] * t_q)

    def test_causal_the_queries_being_the_last_of_the_sequence(self) -> None:
        for t_q, t_k in [(5, 5), (1, 5), (3, 5)]:
            rng = Random(t_q)
            q, k, v = matrix(rng, t_q, 4), matrix(rng, t_k, 4), matrix(rng, t_k, 2)
            self.assert_right(q, k, v, causal_mask(t_q, t_k, t_k - t_q), causal=True)

    def test_causal_from_another_position(self) -> None:
        rng = Random(3)
        q, k, v = matrix(rng, 3, 4), matrix(rng, 5, 4), matrix(rng, 5, 2)
        for offset in (0, 1, 4, 100):
            self.assert_right(q, k, v, causal_mask(3, 5, offset), causal=True, offset=offset)

    def test_padding_and_a_mask_for_each_query(self) -> None:
        rng = Random(4)
        q, k, v = matrix(rng, 2, 3), matrix(rng, 4, 3), matrix(rng, 4, 2)
        self.assert_right(q, k, v, [[True, False, True, True]] * 2, mask=[1, 0, 1, 1])
        rows = [[True, False, True, False], [False, True, True, True]]
        self.assert_right(q, k, v, rows, mask=rows)
        both = [[True, True, False, False], [True, True, False, True]]
        self.assert_right(q, k, v, both, mask=[1, 1, 0, 1], causal=True)

    def test_the_scale_multiplies_the_products(self) -> None:
        self.assertEqual(scaled_dot_product_attention([[3.0]], [[1.0], [2.0]], [[1.0], [3.0]], scale=0.0), [[2.0]])
        _, weights = scaled_dot_product_attention(
            [[1.0] * 4], [[0.0] * 4, [1.0] * 4], [[0.0]] * 2, scale=-200.0, return_weights=True
        )
        self.assertEqual(weights[0][0], 1.0)
        same = [[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 1.0, 1.0]]
        half = scaled_dot_product_attention(same, same, same, scale=0.5)
        self.assertEqual(half, scaled_dot_product_attention(same, same, same))


class Invariants(unittest.TestCase):
    def test_rows_of_weights_sum_to_one_and_what_is_masked_is_zero(self) -> None:
        for seed in range(40):
            rng = Random(seed)
            t, d = 1 + seed, 3
            q, k = matrix(rng, t, d, 3.0 ** (seed % 6)), matrix(rng, t, d, 3.0)
            _, weights = scaled_dot_product_attention(q, k, k, causal=True, return_weights=True)
            for i, row in enumerate(weights):
                self.assertLessEqual(abs(fsum([*row, -1.0])), 2.0 * 2.0**-52)
                self.assertEqual(set(row[i + 1 :]) - {0.0}, set())
                self.assertTrue(all(w >= 0.0 for w in row))

    def test_a_cached_run_gives_the_bits_of_the_full_run(self) -> None:
        for seed in range(6):
            rng = Random(seed)
            q, k, v = ([matrix(rng, 9, 5, 4.0) for _ in range(heads)] for heads in (4, 2, 2))
            full, weights = multi_head_attention(q, k, v, causal=True, return_weights=True)
            for start, end in [(t, t + 1) for t in range(9)] + [(0, 4), (4, 9), (2, 7)]:
                now = [head[start:end] for head in q]
                cache = [[head[:end] for head in tensor] for tensor in (k, v)]
                step, step_weights = multi_head_attention(now, *cache, causal=True, return_weights=True)
                with self.subTest(seed=seed, start=start, end=end):
                    self.assertEqual(step, [head[start:end] for head in full])
                    self.assertEqual(step_weights, [[row[:end] for row in head[start:end]] for head in weights])

    def test_padding_changes_no_bit_and_may_hold_anything(self) -> None:
        rng = Random(7)
        q, k, v = matrix(rng, 4, 3), matrix(rng, 4, 3), matrix(rng, 4, 2)
        want, weights = scaled_dot_product_attention(q, k, v, return_weights=True)
        rubbish: Any = [[nan] * 3, [], "x"]
        padded = scaled_dot_product_attention(
            q, [*k, *rubbish], [*v, *rubbish], mask=[1] * 4 + [0] * 3, return_weights=True
        )
        self.assertEqual(padded, (want, [[*row, 0.0, 0.0, 0.0] for row in weights]))

    def test_no_average_leaves_the_doubles(self) -> None:
        """Five weights of 0.2 are above 1 together."""
        largest = 1.7976931348623157e308
        for signs in ([1.0] * 5, [-1.0] * 5):
            values = [[sign * largest, 1.0] for sign in signs] + [[0.5 * signs[0], 1.0]]  # the last weighs nothing
            for scale in range(20):
                q, k = [[1.0]], [[0.1 * scale * i] for i in range(5)] + [[-1e4]]
                ((x, _),) = scaled_dot_product_attention(q, k, values)
                self.assertLessEqual(abs(x / values[0][0] - 1.0), 2.0 * 2.0**-52)
        mixed = scaled_dot_product_attention([[0.0]], [[0.0], [-0.0]], [[largest], [-largest]])
        self.assertEqual(mixed, [[0.0]])

    def test_keys_after_a_query_are_not_read(self) -> None:
        rows = [[1.0, 0.5], [0.5, -1.0], [nan, nan]]
        self.assertEqual(
            scaled_dot_product_attention(rows[:2], rows, rows, causal=True, offset=0),
            scaled_dot_product_attention(rows[:2], rows[:2], rows[:2], causal=True),
        )

    def test_tuples_and_arrays_are_taken(self) -> None:
        rows, array = ((1, 2), (3, 4)), memoryview(bytes([1, 2, 3, 4])).cast("B", (2, 2))
        want = scaled_dot_product_attention([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0], [2.0]])
        self.assertEqual(scaled_dot_product_attention(rows, array, ((1,), (2,))), want)

    def test_no_queries_give_no_rows(self) -> None:
        self.assertEqual(scaled_dot_product_attention([], [[1.0]], [[1.0]], return_weights=True), ([], []))


class Heads(unittest.TestCase):
    def test_each_head_of_keys_serves_the_queries_that_follow_one_another(self) -> None:
        rng = Random(5)
        q, k, v = ([matrix(rng, 3, 4) for _ in range(heads)] for heads in (6, 2, 2))
        got, weights = multi_head_attention(q, k, v, mask=[1, 1, 0], return_weights=True)
        for h in range(6):
            want = scaled_dot_product_attention(q[h], k[h // 3], v[h // 3], mask=[1, 1, 0], return_weights=True)
            self.assertEqual((got[h], weights[h]), want)


class Refusals(unittest.TestCase):
    def test_one_head(self) -> None:
        q, k, v = [[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0], [2.0]]
        for arguments, options, kind, message in [
            ((q, k, v), {"mask": [0, 0]}, ValueError, "query[0] must have a key to read, got []"),
            ((q, [], []), {}, ValueError, "query[0] must have a key to read, got []"),
            ((k, q, [[1.0]]), {"causal": True}, ValueError, "query[0] must have a key to read, got []"),
            ((q, k, v), {"causal": True, "offset": -1}, ValueError, "query[0] must have a key to read, got []"),
            ((q, k, v), {"offset": 1}, ValueError, "offset must be None where attention is not causal, got 1"),
            ((q, k, v), {"causal": True, "offset": 1.0}, TypeError, "offset must be a whole number, got 1.0"),
            ((q, k, v[:1]), {}, ValueError, "value must be as long as key (2), got 1"),
            ((q, [[1.0], [2.0]], v), {}, ValueError, "key[0] must hold 2 numbers as query[0] does, got 1"),
            ((q, k, [[1.0], [2.0, 3.0]]), {}, ValueError, "value[1] must hold 1 numbers as value[0] does, got 2"),
            (([[]], k, v), {}, ValueError, "query[0] must hold at least one number, got 0"),
            (([1.0], k, v), {}, TypeError, "query[0] must be a sequence, got 1.0"),
            ((q, [[1.0, nan], [0.0, 0.0]], v), {}, ValueError, "key[0][1] must be a number, got nan"),
            ((q, k, [[1.0], [inf]]), {}, ValueError, "value[1][0] must be finite, got inf"),
            ((q, k, [[1.0], ["2"]]), {}, TypeError, "value[1][0] must be a number, got '2'"),
            ((q, k, v), {"mask": [1]}, ValueError, "mask must be as long as key (2), got 1"),
            ((q, k, v), {"mask": [1, 2]}, ValueError, "mask[1] must be 0 or 1, got 2"),
            ((q, k, v), {"mask": [[1, 1], [1, 1]]}, ValueError, "mask must be as long as query (1), got 2"),
            ((q, k, v), {"mask": [[1]]}, ValueError, "mask[0] must be as long as key (2), got 1"),
            ((q, k, v), {"scale": inf}, ValueError, "scale must be finite, got inf"),
            (
                ([[1e200, 0.0]], [[0.0, 0.0], [-1e200, 0.0]], v),
                {},
                ValueError,
                "query[0] must have a finite product with key[1], got 'overflow'",
            ),
        ]:
            with self.subTest(message=message), self.assertRaises(kind) as caught:
                scaled_dot_product_attention(*arguments, **options)
            self.assertEqual(str(caught.exception), f"scaled_dot_product_attention: {message}")

    def test_several_heads(self) -> None:
        one, two, wide = [[1.0], [2.0]], [[1.0]], [[1.0, 2.0], [3.0, 4.0]]
        for arguments, message in [
            (([one] * 3, [one] * 2, [one] * 2), "query must hold a multiple of key's 2 heads, got 3"),
            (([], [one], [one]), "query must hold a multiple of key's 1 heads, got 0"),
            (([one], [], []), "query must hold a multiple of key's 0 heads, got 1"),
            (([one, one], [one, one], [one]), "value must be as long as key (2), got 1"),
            (([one, one], [one, two], [one, one]), "key[1] must be as long as key[0] (2), got 1"),
            (([one, two], [one], [one]), "query[1] must be as long as query[0] (2), got 1"),
            (([one, one], [one], [two]), "value[0] must be as long as key[0] (2), got 1"),
            (([one, one], [one, [[1.0], [nan]]], [one, one]), "key[1][1][0] must be a number, got nan"),
            (([one, wide], [one, wide], [one, one]), "query[1][0] must hold 1 numbers as query[0][0] does, got 2"),
            (([one, one], [one, one], [one, wide]), "value[1][0] must hold 1 numbers as value[0][0] does, got 2"),
        ]:
            with self.subTest(message=message), self.assertRaises(ValueError) as caught:
                multi_head_attention(*arguments)
            self.assertEqual(str(caught.exception), f"multi_head_attention: {message}")


if __name__ == "__main__":
    unittest.main()
