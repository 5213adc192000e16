"""compare and assert_close, judged by counting through the numbers of a dtype and by arithmetic on fractions."""

import pickle
import struct
import unittest
from bisect import bisect_right
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import exp, expm1, inf, log, nan, nextafter
from random import Random

from refcalc import cross_entropy_gradient, softmax
from refcalc._rounding import Limit, sizes
from refcalc.closeness import Comparison, assert_close, compare

# Every number from 0 to the one that would follow the largest, and for each dtype its largest and its least.
FLOAT16 = [struct.unpack("<e", struct.pack("<H", bits))[0] for bits in range(0x7C00)] + [65536.0]
BFLOAT16 = [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in range(0x7F80)] + [2.0**128]
LARGEST = {"float64": nextafter(inf, 0.0), "float32": 2.0**128 - 2.0**104, "float16": 65504.0, "bfloat16": BFLOAT16[-2]}
LEAST = {"float64": 5e-324, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def place(numbers: list[float], x: float) -> Fraction:
    """Return where x >= 0 stands among the numbers, in exact arithmetic."""
    i = bisect_right(numbers, x) - 1
    if i == len(numbers) - 1:
        return Fraction(i)
    below, above = Fraction(numbers[i]), Fraction(numbers[i + 1])
    return i + (Fraction(x) - below) / (above - below)


def rounded(x: float, dtype: str) -> float:
    """Return the number of dtype nearest to x, ties to even."""
    if dtype == "float64":
        return x
    if dtype == "float32":
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    numbers, size = FLOAT16 if dtype == "float16" else BFLOAT16, abs(x)
    i = bisect_right(numbers, size) - 1
    if i < len(numbers) - 1:
        below, above = size - numbers[i], numbers[i + 1] - size  # no double is rounded here
        i += above < below or (above == below and i % 2 == 1)
    return numbers[i] if x > 0.0 else -numbers[i]


def log_softmax_in(dtype: str, logits: list[float]) -> list[float]:
    """Return a log-softmax whose every operation is rounded to dtype; only the sum is kept in float32."""
    m = max(logits)
    shifted = [rounded(x - m, dtype) for x in logits]
    total = 0.0
    for d in shifted:
        total = rounded(total + rounded(exp(d), dtype), "float64" if dtype == "float64" else "float32")
    normaliser = rounded(log(rounded(total, dtype)), dtype)
    return [rounded(d - normaliser, dtype) for d in shifted]


def true_log_softmax(logits: list[float]) -> list[float]:
    with localcontext(Context(prec=25)):
        normaliser = sum((Decimal(x).exp() for x in logits), Decimal(0)).ln()
        return [float(Decimal(x) - normaliser) for x in logits]


class Ulp(unittest.TestCase):
    def test_all_numbers_of_the_narrow_dtypes_are_counted_one_by_one(self):
        for dtype, numbers in ("float16", FLOAT16), ("bfloat16", BFLOAT16):
            for i, x in enumerate(numbers):
                if sizes(-x, 0.0, dtype, Limit("", steps=1.0))[0] != i:
                    self.fail(f"{x!r} should be number {i} of {dtype}")

    def test_wide_dtypes_are_counted_by_their_bit_patterns(self):
        rng = Random(1)
        for dtype, number, pattern in ("float64", "<d", "<q"), ("float32", "<f", "<i"):
            width = struct.calcsize(number) * 8 - 1
            infinity = struct.unpack(pattern, struct.pack(number, inf))[0]
            for seed in range(1000):
                i, j = (int(rng.random() * 2.0 ** (width * rng.random())) % (infinity + 1) for _ in "ij")
                x, y = (struct.unpack(number, struct.pack(pattern, k))[0] for k in (i, j))
                with self.subTest(dtype=dtype, seed=seed, x=x, y=y):
                    steps = compare(x, y, dtype=dtype).worst_ulp
                    self.assertEqual((steps, type(steps)), (abs(i - j), int))
                    self.assertEqual(compare(-x, y, dtype=dtype).worst_ulp, i + j)

    def test_between_two_numbers_the_count_runs_on_evenly(self):
        rng = Random(2)
        for dtype, numbers in ("float16", FLOAT16), ("bfloat16", BFLOAT16):
            for seed in range(500):
                x, y = (numbers[int(rng.random() * (len(numbers) - 1))] * (1.0 + rng.random() / 64) for _ in "xy")
                with self.subTest(dtype=dtype, seed=seed, x=x, y=y):
                    want = abs(place(numbers, x) - place(numbers, y))
                    self.assertEqual(compare(x, y, dtype=dtype).worst_ulp, float(want))

    def test_rounding_moves_by_half_an_ulp_at_most_and_is_always_explained(self):
        rng = Random(3)
        for dtype in ROUNDOFF:
            for seed in range(500):
                x = (rng.random() - 0.5) * 2.0 ** int(rng.random() * 36 - 20)
                with self.subTest(dtype=dtype, seed=seed, x=x):
                    found = compare(rounded(x, dtype), x, dtype=dtype)
                    self.assertLessEqual(found.worst_ulp, 0.5)
                    self.assertTrue(found.explained)

    def test_a_tie_is_half_a_step_and_subnormals_have_the_least_step(self):
        for dtype, u in ROUNDOFF.items():
            if dtype != "float64":  # there no double lies between
                self.assertEqual(compare(1.0, 1.0 + u, dtype=dtype).worst_ulp, 0.5)
                self.assertEqual(compare(0.0, 5e-324, dtype=dtype).worst_ulp, 5e-324 / LEAST[dtype])
            self.assertEqual(compare(1.0 - u, 1.0 + 2 * u, dtype=dtype).worst_ulp, 2)
            self.assertEqual(compare(LEAST[dtype], -LEAST[dtype], dtype=dtype).worst_ulp, 2)

    def test_the_largest_number_is_one_step_from_inf_and_nothing_lies_beyond(self):
        for dtype, largest in LARGEST.items():
            with self.subTest(dtype=dtype):
                self.assertEqual(compare(inf, largest, dtype=dtype).worst_ulp, 1)
                self.assertEqual(compare(largest, inf, dtype=dtype).worst_ulp, 1)
                self.assertEqual(compare(-inf, -largest, dtype=dtype).worst_ulp, 1)
        self.assertEqual(compare(inf, 1e6, dtype="float16").worst_ulp, 0)
        self.assertEqual(compare(inf, 65520.0, dtype="float16").worst_ulp, 0.5)


class Differences(unittest.TestCase):
    def test_absolute_and_relative_differences_are_those_of_fractions(self):
        rng = Random(4)
        for seed in range(1000):
            a, e = ((rng.random() - 0.5) * 2.0 ** int(rng.random() * 2000 - 1000) for _ in "ae")
            a = a if rng.random() < 0.5 else e * (1.0 + rng.random() * 1e-12)
            if a == e:
                continue
            with self.subTest(seed=seed, a=a, e=e):
                found, gap = compare(a, e), abs(Fraction(a) - Fraction(e))
                self.assertEqual(found.worst_absolute, float(gap))
                if gap / abs(Fraction(e)) < 1e300:
                    self.assertAlmostEqual(Fraction(found.worst_relative) * abs(Fraction(e)) / gap, 1, delta=3e-16)

    def test_a_difference_beyond_the_doubles_is_inf_and_its_ratio_is_not(self):
        found = compare(1.5e308, -1.5e308)
        self.assertEqual((found.worst_absolute, found.worst_relative, found.explained), (inf, 2.0, False))

    def test_relative_to_zero_or_to_an_infinity_is_inf(self):
        for a, e in (1e-300, 0.0), (1.0, inf), (inf, 1.0), (-inf, inf), (inf, 0.0):
            with self.subTest(a=a, e=e):
                self.assertEqual(compare(a, e).worst_relative, inf)

    def test_more_steps_are_found_behind_many(self):
        for a, e in (-1e10, 1e10), (1e-30, 1.0), (1.0, 1e-30):
            with self.subTest(a=a, e=e):
                self.assertEqual(compare([1e10, a], [1e-10, e], dtype="float32").worst_ulp_at, (1,))

    def test_each_worst_value_has_its_own_index(self):
        found = compare([[0.5, 1e-9], [100.0, 8.0]], [[0.5, 3e-9], [101.0, 9.0]], dtype="float32")
        self.assertEqual((found.elements, found.differing, found.first), (4, 3, (0, 1)))
        self.assertEqual((found.worst_absolute, found.worst_absolute_at), (1.0, (1, 0)))
        self.assertEqual(found.worst_relative_at, (0, 1))
        self.assertEqual(found.worst_ulp_at, (0, 1))
        self.assertEqual((found.worst_share_at, found.worst_pair), ((0, 1), (1e-9, 3e-9)))

    def test_the_worst_of_many_is_the_worst_of_each(self):
        rng = Random(6)
        for dtype in ROUNDOFF:
            for seed in range(40):
                expected = [(rng.random() - 0.5) * 2.0 ** int(rng.random() * 40 - 20) for _ in range(20)]
                actual = [x * (1.0 + rng.random() * 2.0**-10) for x in expected]
                actual[7] = -actual[7] if seed % 3 == 0 else actual[7]
                expected[9] = 0.0 if seed % 5 == 0 else expected[9]
                with self.subTest(dtype=dtype, seed=seed):
                    for options in {}, {"classes": 10}:
                        found = compare(actual, expected, dtype=dtype, **options)
                        each = [compare(a, e, dtype=dtype, **options) for a, e in zip(actual, expected, strict=True)]
                        for name in "worst_ulp", "worst_absolute", "worst_relative", "worst_share":
                            all_of_them = [getattr(one, name) for one in each]
                            self.assertEqual(getattr(found, name), max(all_of_them))
                            self.assertEqual(getattr(found, f"{name}_at"), (all_of_them.index(max(all_of_them)),))

    def test_of_equal_differences_the_first_is_named(self):
        found = compare([1.0, 2.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0])
        self.assertEqual((found.first, found.worst_ulp_at, found.worst_absolute_at), ((1,), (1,), (1,)))

    def test_zeros_of_both_signs_and_equal_infinities_are_equal(self):
        found = compare([0.0, -0.0, inf, -inf], [-0.0, 0.0, inf, -inf])
        self.assertTrue(found.equal and found.explained)
        self.assertEqual(str(found), "equal: 4 of 4 numbers")

    def test_nan_is_far_from_everything_and_from_nan(self):
        for a, e in (nan, nan), (nan, 1.0), (1.0, nan), (nan, inf):
            with self.subTest(a=a, e=e):
                found = compare([1.0, a], [1.0, e], dtype="float16", classes=10)
                self.assertFalse(found.equal or found.explained)
                self.assertEqual((found.worst_ulp, found.worst_absolute, found.worst_relative), (inf, inf, inf))
                self.assertEqual((found.worst_ulp_at, found.first), ((1,), (1,)))

    def test_any_nesting_is_walked(self):
        class Tensor:
            ndim = 2

            def tolist(self):
                return [[1.0, 2.0], [3.0, 4.0]]

        class Scalar:
            ndim = 0

            def tolist(self):
                return 5.0

            def __float__(self):
                raise AssertionError("float of a tensor that has a gradient warns")

        self.assertTrue(compare([Scalar()], [5.0]).equal and compare(5, Scalar()).equal)
        self.assertTrue(compare(Tensor(), ((1, 2), (3, 4))).equal)
        self.assertTrue(compare([Tensor(), 5.0], [[[1, 2], [3, 4]], Fraction(5)]).equal)
        self.assertEqual(compare([[], [[1.0, 2.0]], 3.0], [[], [[1.0, 2.0]], 4.0]).first, (2,))
        self.assertEqual(compare([[[1.0], [2.0, 3.0]], [[4.0]]], [[[1.0], [2.0, 3.0]], [[5.0]]]).first, (1, 0, 0))
        self.assertEqual(compare(1.0, 2.0).first, ())
        self.assertEqual(str(compare([], [])), "equal: 0 of 0 numbers")

    def test_shapes_that_differ_are_a_result(self):
        row = [0.0] * 4
        for a, e, message in [
            ([row, row, row, [0.0] * 5], [row, row, row, row], "shape differs at [3]: 5 against 4"),
            ([1.0, 2.0], [1.0], "shape differs: 2 against 1"),
            ([1.0], 1.0, "shape differs: 1 against a number"),
            ([[1.0], [2.0]], [[1.0], [[2.0]]], "shape differs at [1][0]: a number against 1"),
            ([[nan], []], [[nan], [1.0]], "shape differs at [1]: 0 against 1"),
        ]:
            with self.subTest(message=message):
                found = compare(a, e)
                self.assertEqual(str(found), message)
                self.assertEqual((found.equal, found.explained, found.elements), (False, False, 0))


class Explained(unittest.TestCase):
    def test_honest_rounding_is_explained_and_uses_a_fair_part_of_the_error_allowed(self):
        largest = dict.fromkeys(ROUNDOFF, 0.0)
        for dtype in ROUNDOFF:
            for seed in range(60):
                rng = Random(seed)
                size, spread, offset = rng.choice([2, 10, 200]), rng.choice([0.01, 1.0, 30.0]), rng.choice([0, 0, 50])
                logits = [rounded(offset + (rng.random() - 0.5) * spread, dtype) for _ in range(size)]
                with self.subTest(dtype=dtype, seed=seed):
                    found = compare(log_softmax_in(dtype, logits), true_log_softmax(logits), dtype=dtype, classes=size)
                    self.assertTrue(found.explained, found)
                    largest[dtype] = max(largest[dtype], found.worst_share)
        self.assertGreater(min(largest.values()), 0.1, largest)  # a tenfold tighter limit would be wrong

    def test_other_numbers_are_not_explained(self):
        rng = Random(5)
        rows = [[rounded(rng.random() * 8, "bfloat16") for _ in range(50)] for _ in range(64)]
        for row, y in zip(rows, range(64), strict=True):  # a model that knows: the next token leads
            row[(y * 7) % 50] = 11.0
        scores = [true_log_softmax(row) for row in rows]
        loss = sum(-row[(y * 7) % 50] for y, row in enumerate(scores)) / 64
        unshifted = sum(-row[((y - 1) * 7) % 50] for y, row in enumerate(scores)) / 64
        dropped = true_log_softmax(rows[0][:-1])
        limits = {"classes": 50, "reduction": "mean", "targets": 64}
        for dtype in ROUNDOFF:
            with self.subTest(dtype=dtype):
                self.assertTrue(compare(rounded(loss, dtype), loss, dtype=dtype, **limits).explained)
                self.assertFalse(compare(rounded(unshifted, dtype), loss, dtype=dtype, **limits).explained)
        self.assertFalse(compare(dropped, scores[0][:-1], dtype="float32", classes=50).explained)

    def test_the_error_allowed_is_what_the_derivation_says(self):
        # log-softmax: u (4 t + log V + 6) + w h(V) + (V + 1) least, and 11 * 2**-53 t; share = gap / that
        for dtype, u in ROUNDOFF.items():
            for v, h in (10, 10.0), (2500, 400.0), (40_000, 5000.0):
                for t in 0.0, 0.5, 30.0:
                    with self.subTest(dtype=dtype, v=v, t=t):
                        fixed = u * (log(v) + 6) + min(u, 2.0**-24) * h + (v + 1) * LEAST[dtype]
                        relative = 4 * u + 11 * 2.0**-53
                        share = compare(t + 0.125, t, dtype=dtype, classes=v).worst_share
                        self.assertAlmostEqual(share * (relative * t + fixed) / 0.125, 1.0, places=12)
                        share = compare(t + 0.125, t, dtype=dtype, classes=v, scale=100.0).worst_share
                        scaled = relative * t + fixed + u * (300 + log(v))
                        self.assertAlmostEqual(share * scaled / 0.125, 1.0, places=12)
                        h_n = 64.0 if u < 2.0**-20 else 24.0  # min(64, 8 * 8), 4 * log2(64)
                        total = (relative + u * (2 + h_n)) * t + 64 * fixed
                        limits = {"classes": v, "reduction": "sum", "targets": 64}
                        share = compare(t + 0.125, t, dtype=dtype, **limits).worst_share
                        self.assertAlmostEqual(share * total / 0.125, 1.0, places=12)

    def test_without_classes_one_rounding_is_allowed(self):
        self.assertTrue(compare(1.0, 1.0 + 2.0**-24, dtype="float32").explained)
        self.assertFalse(compare(1.0, 1.0 + 2.0**-23, dtype="float32").explained)
        self.assertTrue(compare(0.0, 2.0**-150, dtype="float32").explained)
        self.assertFalse(compare(0.0, 2.0**-148, dtype="float32").explained)

    def test_overflow_is_explained_only_at_the_end_of_the_dtype(self):
        self.assertTrue(compare(inf, 65520.0, dtype="float16").explained)
        self.assertTrue(compare(-inf, -1e300, dtype="bfloat16").explained)
        self.assertEqual(compare(-inf, -1e300, dtype="bfloat16").worst_share, 0.0)
        self.assertFalse(compare(inf, 60000.0, dtype="float16").explained)
        self.assertFalse(compare(-inf, 65520.0, dtype="float16").explained)
        self.assertFalse(compare(inf, 0.0, dtype="float16", classes=10).explained)

    def test_an_infinite_truth_is_explained_by_inf_alone(self):
        for dtype, largest in LARGEST.items():
            with self.subTest(dtype=dtype):
                self.assertFalse(compare(largest, inf, dtype=dtype, classes=10).explained)
                self.assertFalse(compare(-inf, inf, dtype=dtype, classes=10).explained)


class ProbabilitiesAndGradients(unittest.TestCase):
    def setUp(self):
        rng = Random(8)
        self.rows = [[float(int(rng.random() * 64)) / 8 for _ in range(50)] for _ in range(40)]  # numbers of all dtypes
        self.labels = [(7 * i) % 50 for i in range(40)]
        self.right = cross_entropy_gradient(self.rows, self.labels)
        self.options = {"quantity": "gradient", "classes": 50, "reduction": "mean", "targets": 40}

    def gradient_in(self, dtype: str, probabilities: list[list[float]]) -> list[list[float]]:
        """Return the mean gradient, rounded at each step."""
        rows = [[p - (c == y) for c, p in enumerate(row)] for row, y in zip(probabilities, self.labels, strict=True)]
        return [[rounded(rounded(x, dtype) * rounded(1 / 40, dtype), dtype) for x in row] for row in rows]

    def test_honest_ones_are_explained_and_use_a_fair_part(self):
        for dtype in ROUNDOFF:
            with self.subTest(dtype=dtype):
                p = [[rounded(exp(t), dtype) for t in log_softmax_in(dtype, row)] for row in self.rows]
                right = [softmax(row) for row in self.rows]
                for found in (
                    compare(p, right, dtype=dtype, quantity="probability", classes=50),
                    compare(self.gradient_in(dtype, p), self.right, dtype=dtype, **self.options),
                ):
                    self.assertTrue(found.explained, found)
                    self.assertGreater(found.worst_share, 0.05 if dtype == "float64" else 0.1)

    def test_a_zero_a_doubled_and_an_undivided_gradient_are_not_explained(self):
        for dtype in ROUNDOFF:
            for factor in 0.0, 0.5, 2.0, 40.0, -1.0:
                with self.subTest(dtype=dtype, factor=factor):
                    right = self.right[:6]  # of 40 rows: fewer numbers, of which one must be too far off
                    wrong = [[factor * x for x in row] for row in right]
                    self.assertFalse(compare(wrong, right, dtype=dtype, **self.options).explained)
                    soft = self.options | {"quantity": "soft_gradient"}
                    self.assertFalse(compare(wrong, right, dtype=dtype, **soft).explained)

    def test_a_doubled_gradient_of_confident_hits_is_not_explained_either(self):
        rows = [[12.0 * (c == y) for c in range(50)] for y in self.labels]  # p = 0.9997, all others 6e-6
        right = cross_entropy_gradient(rows, self.labels)
        for dtype in ROUNDOFF:
            for factor in 0.0, 2.0:
                with self.subTest(dtype=dtype, factor=factor):
                    wrong = [[factor * x for x in row] for row in right]
                    self.assertFalse(compare(wrong, right, dtype=dtype, **self.options).explained)

    def test_zero_and_doubled_probabilities_of_many_classes_are_not_explained(self):
        right = 1 / 50257
        for dtype in ROUNDOFF:
            options = {"dtype": dtype, "quantity": "probability", "classes": 50257}
            self.assertTrue(compare(rounded(right, dtype), right, **options).explained)
            for wrong in 0.0, 2.0 * right:
                with self.subTest(dtype=dtype, wrong=wrong):
                    self.assertFalse(compare(wrong, right, **options).explained)

    def test_what_underflows_may_be_zero(self):
        floors = {"float64": 2.0**-1022, "float32": 2.0**-126, "bfloat16": 2.0**-126, "float16": 2.0**-24}
        for dtype, floor in floors.items():
            options = {"dtype": dtype, "quantity": "probability", "classes": 10}
            self.assertTrue(compare(0.0, floor, **options).explained)
            self.assertFalse(compare(0.0, 64.0 * floor, **options).explained)

    def test_the_error_allowed_is_what_the_derivation_says(self):
        # E = u (2 |log p| + log V + 6 or 8) + w h(V) + (V + 1) least + 32 * 2**-53; share = gap / the error allowed
        for dtype, u in ROUNDOFF.items():
            own = 32 * 2.0**-53
            floor = 2.0**-23 if dtype == "float16" else 0.0  # those of the other dtypes are too small to matter
            base = u * (log(50) + 6) + min(u, 2.0**-24) * 50 + 51 * LEAST[dtype] + own
            for p in 0.5, 0.01:
                for sign in 1, -1:
                    off = sign * p / 64
                    with self.subTest(dtype=dtype, p=p, sign=sign):
                        part = abs(expm1(sign * (base - 2 * u * log(p))))
                        options = {"dtype": dtype, "classes": 50}
                        share = compare(p + off, p, quantity="probability", **options).worst_share
                        want = p * part + 2 * (u + own) * p + floor
                        self.assertAlmostEqual(share * want / abs(off), 1.0, delta=1e-9)
                        part = abs(expm1(sign * (base + 2 * u - 2 * u * log(p))))
                        options |= {"reduction": "mean", "targets": 40}
                        for e, q in (p / 40, 0.0), ((p - 1) / 40, 1.0):
                            share = compare(e + off / 40, e, quantity="gradient", **options).worst_share
                            want = (p * part + (u + own) * (2 * 40 * abs(e) + q)) / 40 + floor
                            self.assertAlmostEqual(share * want / abs(off / 40), 1.0, delta=1e-9)
                        part = abs(expm1(sign * (base + 2 * u)))
                        share = compare(p / 40 + off / 40, p / 40, quantity="soft_gradient", **options).worst_share
                        want = (part + (u + own) * (2 * p + 1)) / 40 + floor
                        self.assertAlmostEqual(share * want / abs(off / 40), 1.0, delta=1e-9)

    def test_a_sum_divides_by_nothing_and_large_scales_are_taken(self):
        options = {"dtype": "bfloat16", "quantity": "gradient", "classes": 50}
        whole = compare(0.26, 0.25, reduction="sum", targets=40, **options)
        self.assertEqual(whole.worst_share, compare(0.26, 0.25, **options).worst_share)
        self.assertTrue(compare(1.0, 0.25, scale=1e6, **options).explained)
        self.assertEqual(compare(0.1, 0.0, **options).explained, False)

    def test_verdicts_name_what_was_computed(self):
        for quantity, words in [
            ("probability", "softmax over 50 classes"),
            ("gradient", "gradient over 50 classes, mean of 40 targets"),
            ("soft_gradient", "gradient of soft targets over 50 classes, mean of 40 targets"),
        ]:
            options = {} if quantity == "probability" else {"reduction": "mean", "targets": 40}
            found = compare([0.5], [0.015625], dtype="bfloat16", quantity=quantity, classes=50, **options)
            self.assertEqual(found.allowed, f"a bfloat16 {words}")
        found = compare([0.03125], [0.015625], dtype="bfloat16", **self.options)
        self.assertEqual(
            str(found),
            "not explained by a bfloat16 gradient over 50 classes, mean of 40 targets: "
            "1 of 1 numbers differ, first at [0]\n"
            "worst at [0]: 0.03125 (0x1.0000000000000p-5) against 0.015625 (0x1.0000000000000p-6), "
            "16.9 x the error allowed\n"
            "off by up to 128 ulp of bfloat16 at [0], 0.0156 at [0], relative 1 at [0]",
        )


class Messages(unittest.TestCase):
    def test_a_verdict_says_what_where_and_how_bad(self):
        found = compare([[4.5, 1.0], [2.0, 0.15625]], [[4.25, 1.0], [2.0, 0.125]], dtype="bfloat16", classes=10)
        self.assertEqual(
            str(found),
            "not explained by a bfloat16 log-softmax over 10 classes: 2 of 4 numbers differ, first at [0][0]\n"
            "worst at [0][0]: 4.5 (0x1.2000000000000p+2) against 4.25 (0x1.1000000000000p+2), "
            "2.53 x the error allowed\n"
            "off by up to 32 ulp of bfloat16 at [1][1], 0.25 at [0][0], relative 0.25 at [1][1]",
        )

    def test_a_number_has_no_index(self):
        found = compare(4.25, 4.2578125, dtype="bfloat16", classes=10, reduction="mean", targets=8)
        self.assertEqual(
            str(found),
            "explained by a bfloat16 log-softmax over 10 classes, mean of 8 targets: 1 of 1 numbers differ\n"
            "worst: 4.25 (0x1.1000000000000p+2) against 4.2578125 (0x1.1080000000000p+2), 0.0294 x the error allowed\n"
            "off by up to 0.25 ulp of bfloat16, 0.00781, relative 0.00183",
        )

    def test_assert_close_fails_with_the_verdict(self):
        with self.assertRaises(AssertionError) as caught:
            assert_close([1.0, 1.5], [1.0, 1.0], dtype="float32")
        self.assertEqual(
            str(caught.exception),
            "not explained by one rounding to float32: 1 of 2 numbers differ, first at [1]\n"
            "worst at [1]: 1.5 (0x1.8000000000000p+0) against 1.0 (0x1.0000000000000p+0), "
            "8.39e+06 x the error allowed\n"
            "off by up to 4194304 ulp of float32 at [1], 0.5 at [1], relative 0.5 at [1]",
        )
        with self.assertRaises(AssertionError) as caught:
            assert_close([1.0], [1.0, 1.0])
        self.assertEqual(str(caught.exception), "shape differs: 1 against 2")

    def test_assert_close_takes_a_tolerance_in_ulp(self):
        up = nextafter(1.0, 2.0)
        assert_close([up, 1.0], [1.0, 1.0], ulp=1)
        assert_close(1.0, 1.0, ulp=0)
        assert_close([5e-324, inf], [0.0, LARGEST["float64"]], ulp=1)
        assert_close(1.0 + 2.0**-24, 1.0, dtype="float32", ulp=0.5)
        for a, e, options in [
            (up, 1.0, {"ulp": 0}),
            (nextafter(up, 2.0), 1.0, {"ulp": 1}),
            (1.0 + 2.0**-23, 1.0, {"dtype": "float32", "ulp": 0.5}),
            (nan, nan, {"ulp": 1e9}),
            ([1.0], 1.0, {"ulp": 1e9}),
            (inf, 1e6, {"dtype": "float16", "ulp": 0}),
            (5e-324, 0.0, {"ulp": 0}),
            (1e-323, 0.0, {"ulp": 1}),
            ([nextafter(up, 2.0), up], [1.0, 1.0], {"ulp": 1}),
            ([up, nextafter(up, 2.0)], [1.0, 1.0], {"ulp": 1}),
        ]:
            with self.subTest(a=a, e=e), self.assertRaises(AssertionError):
                assert_close(a, e, **options)
        with self.assertRaises(AssertionError) as caught:
            assert_close(2.0, 1.0, dtype="bfloat16", ulp=2.5)
        self.assertEqual(
            str(caught.exception),
            "not explained by a tolerance of 2.5 ulp: 1 of 1 numbers differ\n"
            "worst: 2.0 (0x1.0000000000000p+1) against 1.0 (0x1.0000000000000p+0), 51.2 x the error allowed\n"
            "off by up to 128 ulp of bfloat16, 1, relative 1",
        )

    def test_assert_close_passes_its_other_arguments_on(self):
        options = {"dtype": "bfloat16", "classes": 10, "scale": 4.0, "reduction": "mean", "targets": 8}
        share = compare(4.5, 4.25, **options).worst_share
        assert_close(4.5, 4.25, **options)
        self.assertLess(share, 1.0)
        with self.assertRaises(AssertionError) as caught:
            assert_close(9.0, 4.25, **options)
        self.assertEqual(str(caught.exception), str(compare(9.0, 4.25, **options)))

    def test_a_comparison_is_frozen_pickles_and_has_no_truth_value(self):
        found = compare([1.0], [2.0])
        self.assertIsInstance(found, Comparison)
        self.assertEqual(pickle.loads(pickle.dumps(found)), found)
        with self.assertRaises(AttributeError):
            found.differing = 0
        with self.assertRaises(TypeError) as caught:
            bool(found)
        self.assertEqual(str(caught.exception), "Comparison has no truth value: ask for .equal or .explained")

    def test_refusals_name_the_function_the_argument_the_rule_and_the_value(self):
        dtypes = "be one of 'float64', 'float32', 'float16', 'bfloat16'"
        for name, function in ("compare", compare), ("assert_close", assert_close):
            for args, options, kind, message in [
                ((1.0, 1.0), {"dtype": "float8"}, ValueError, f"dtype must {dtypes}, got 'float8'"),
                ((1.0, 1.0), {"classes": 0}, ValueError, "classes must be at least 1, got 0"),
                ((1.0, 1.0), {"classes": 2.0}, TypeError, "classes must be a whole number, got 2.0"),
                ((1.0, 1.0), {"scale": -1.0}, ValueError, "scale must not be negative, got -1.0"),
                ((1.0, 1.0), {"scale": inf}, ValueError, "scale must be finite, got inf"),
                ((1.0, 1.0), {"reduction": "max"}, ValueError,
                 "reduction must be one of 'none', 'mean', 'sum', got 'max'"),
                ((1.0, 1.0), {"reduction": "mean"}, ValueError, "targets must be given for a mean, got None"),
                ((1.0, 1.0), {"reduction": "sum", "targets": 0}, ValueError, "targets must be at least 1, got 0"),
                ((1.0, 1.0), {"quantity": "grad"}, ValueError,
                 "quantity must be one of 'loss', 'probability', 'gradient', 'soft_gradient', got 'grad'"),
                ((1.0, 1.0), {"quantity": "gradient"}, ValueError, "classes must be given for a gradient, got None"),
                ((1.0, 1.0), {"quantity": "probability", "classes": 9, "reduction": "mean", "targets": 2}, ValueError,
                 "reduction must be 'none' for a probability, got 'mean'"),
                ((1.0, 1.0), {"quantity": "gradient", "classes": 9, "reduction": "mean"}, ValueError,
                 "targets must be given for a mean, got None"),
                (([[1.0], ["x"]], 1.0), {}, TypeError, "actual[1][0] must be a number, got 'x'"),
                ((1.0, [1.0, None]), {}, TypeError, "expected[1] must be a number, got None"),
                (({}, 1.0), {}, TypeError, "actual must be a number, got {}"),
                ((10**400, 1.0), {}, ValueError, "actual must be within the range of a double, got "
                 "100000000000000000...0000000000000000000"),
            ]:
                with self.subTest(function=name, message=message):
                    with self.assertRaises(kind) as caught:
                        function(*args, **options)
                    self.assertEqual(str(caught.exception), f"{name}: {message}")
        with self.assertRaises(ValueError) as caught:
            assert_close(1.0, 1.0, ulp=-1)
        self.assertEqual(str(caught.exception), "assert_close: ulp must not be negative, got -1.0")
        with self.assertRaises(ValueError) as caught:
            assert_close(1.0, 1.0, ulp=inf)
        self.assertEqual(str(caught.exception), "assert_close: ulp must be finite, got inf")
