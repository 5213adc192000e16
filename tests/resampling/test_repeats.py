"""Seeds, judged by fractions and by figures from tables; verdicts by worked cases; rates by the equation they solve."""

import reprlib
import unittest
from decimal import Decimal, localcontext
from fractions import Fraction
from math import cos, exp, fsum, inf, log, log1p, nan, pi, sqrt
from random import Random
from typing import Any

from refcalc.resampling import materiality, proportion, seed_noise
from refcalc.resampling._exact import root
from refcalc.resampling._student import t_bound, t_tail
from refcalc.resampling.repeats import Materiality, SeedNoise
from tests.resampling.test_documents import assert_root
from tests.ulps import assert_ulps

SHAKESPEARE = [1.6757, 1.6792, 1.6856]


def noise(deviation: float, n: int = 3) -> SeedNoise:
    return SeedNoise(0.0, deviation, deviation / sqrt(n), 0.0, 0.0, 0.95, n)


class Student(unittest.TestCase):
    def test_one_and_two_degrees_have_formulas(self) -> None:
        # v = 1: tail(1) = 1/2, tail(sqrt 3) = 1/3.   v = 2: tail(t) = 1 - t / sqrt(2 + t t).
        self.assertEqual((t_tail(1.0, 1), t_bound(Decimal("0.5"), 1)), (0.5, 1.0))
        assert_ulps(t_tail(sqrt(3), 1), 1 / 3, limit=2)
        for c in ("0.001", "0.3", "0.5", "0.95", "0.999999", "0.999999999999"):
            with localcontext(prec=60):
                exact = Decimal(c)
                want = 2 * exact / (2 * (1 - exact * exact)).sqrt()
            self.assertEqual(t_bound(Decimal(c), 2), float(want), c)

    def test_figures_of_the_printed_tables(self) -> None:
        # Abramowitz & Stegun, table 26.10 and 26.5
        for c, v, want in [
            ("0.95", 1, "12.706"),
            ("0.95", 2, "4.303"),
            ("0.95", 3, "3.182"),
            ("0.9", 10, "1.812"),
            ("0.99", 30, "2.750"),
            ("0.999", 60, "3.460"),
            ("0.99", 120, "2.617"),
            ("0.95", inf, "1.960"),
            ("0.99", inf, "2.576"),
        ]:
            self.assertEqual(f"{t_bound(Decimal(c), v):.3f}", want, (c, v))

    def test_the_density_is_the_slope_of_the_tail_and_its_whole_is_one(self) -> None:
        # tail(t) is 1 minus the area under f on [-t, t]: here by Simpson's rule, from f without its factor.
        for v in (1, 3, 7.5, 40):
            t, steps = 1.5 * sqrt(v) if v < 8 else 2.5, 400
            points = [2 * t * k / steps - t for k in range(steps + 1)]
            f = [exp(-(v + 1) / 2 * log1p(x * x / v)) for x in points]
            area = (f[0] + f[-1] + 4 * fsum(f[1::2]) + 2 * fsum(f[2:-1:2])) * (2 * t / steps) / 3
            self.assertAlmostEqual(area / whole(v), 1 - t_tail(t, v), delta=1e-8, msg=str(v))

    def test_the_two_series_meet(self) -> None:
        for v in (1, 2.5, 30):
            t = sqrt(v)
            below, above = (t_tail(t * (1 + e), v) for e in (-1e-14, 1e-14))
            self.assertAlmostEqual(below, above, delta=1e-13)
            self.assertGreater(below, above)

    def test_the_farthest_tails_are_0_and_never_below(self) -> None:
        for t, v in ((30.0, 2000), (40.0, inf), (1e100, inf), (12.0, 1e9)):
            self.assertTrue(0.0 <= t_tail(t, v) < 1e-30, (t, v))
        assert_ulps(t_tail(1e150, 1), 2e-150 / pi, limit=1)

    def test_the_bound_has_the_tail_it_was_asked_for(self) -> None:
        for v in (1, 2, 3.7, 29, 399, 401, 10**6, inf):
            for c in ("0.1", "0.8", "0.95", "0.999"):
                got = t_tail(t_bound(Decimal(c), v), v)
                self.assertAlmostEqual(got, float(1 - Decimal(c)), delta=2e-15)


def whole(v: float) -> float:
    """Return the area under (1 + x x / v)**(-(v + 1) / 2): with x = sqrt(v) tan(a), the mean of cos(a)**(v - 1)."""
    steps = 20_000
    angles = [pi * (k + 0.5) / steps - pi / 2 for k in range(steps)]
    return sqrt(v) * fsum(exp((v - 1) * log(cos(a))) for a in angles) * pi / steps


class Seeds(unittest.TestCase):
    def test_the_three_seeds_of_the_seed_document(self) -> None:
        got = seed_noise(SHAKESPEARE)
        self.assertEqual((f"{got.mean:.4f}", f"{got.standard_deviation:.4f}"), ("1.6802", "0.0050"))
        bits = seed_noise([2.418, 2.423, 2.432])
        self.assertEqual((f"{bits.mean:.3f}", f"{bits.standard_deviation:.3f}"), ("2.424", "0.007"))

    def test_mean_and_deviations_are_correctly_rounded(self) -> None:
        for seed in range(24):
            rng = Random(seed)
            scale = [1e-3, 1.0, 1e200][seed % 3]
            values = [1e9 * (seed % 3) + (rng.random() - 0.5) * scale for _ in range(2 + seed % 7)]
            exact, n = [Fraction(x) for x in values], len(values)
            mean = sum(exact) / n
            square = sum((x - mean) * (x - mean) for x in exact) / (n - 1)
            got = seed_noise(values)
            self.assertEqual(got.mean, float(mean))
            assert_root(self, got.standard_deviation, square)
            assert_root(self, got.standard_error, square / n)

    def test_the_interval_is_that_of_t(self) -> None:
        got = seed_noise([1.0, 2.0, 3.0])
        reach = 4.302652729749464 * got.standard_error
        self.assertEqual((got.low, got.high), (2.0 - reach, 2.0 + reach))

    def test_roots_at_the_ends_of_the_doubles(self) -> None:
        edges = (Fraction(1, 2**2148), Fraction(5, 2**2140), Fraction(2**2046 - 1, 3), Fraction(10**40 + 1, 10**40))
        for square in edges:
            assert_root(self, root(square.numerator, square.denominator), square)
        self.assertEqual((root(0, 7), root(2**2046, 1)), (0.0, 2.0**1023))

    def test_roots_a_hair_from_halfway_between_two_doubles(self) -> None:
        middle = 2**54 + 2  # the doubles beside it are 2**54 and 2**54 + 4
        for d in (1, 3, 10**30):
            self.assertEqual(root(middle * middle * d + 1, d), 2.0**54 + 4)
            self.assertEqual(root(middle * middle * d - 1, d), 2.0**54)

    def test_what_is_refused(self) -> None:
        cases: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
            ([1.0], {}, ValueError, "values must hold at least 2 runs, got 1"),
            ([1.0, nan], {}, ValueError, "values[1] must be a number, got nan"),
            ([inf, 1.0], {}, ValueError, "values[0] must be finite, got inf"),
            (["a", 1.0], {}, TypeError, "values[0] must be a number, got 'a'"),
            (3.0, {}, TypeError, "values must be a sequence, got 3.0"),
            (
                [1.7e308, -1.7e308],
                {},
                ValueError,
                "values must have a deviation and an interval within the range of a double, got [1.7e+308, -1.7e+308]",
            ),
            (
                [1e308, -1e308],
                {},
                ValueError,
                "values must have a deviation and an interval within the range of a double, got [1e+308, -1e+308]",
            ),
            ([1.0, 2.0], {"confidence": 1e-170}, ValueError, "confidence must be at least 1e-20, got 1e-170"),
            ([1.0, 2.0], {"confidence": 0.0}, ValueError, "confidence must lie between 0 and 1, got 0.0"),
        ]
        for values, options, kind, message in cases:
            with self.subTest(message), self.assertRaises(kind) as caught:
                seed_noise(values, **options)
            self.assertEqual(str(caught.exception), f"seed_noise: {message}")


class Verdicts(unittest.TestCase):
    def test_the_differences_of_the_seed_document(self) -> None:
        # classic 1.787 +- .007, SwiGLU 1.678 +- .010, RoPE 1.625 +- .006, three seeds each
        self.assertEqual(materiality(0.109, 0.01).verdict, "real")
        self.assertEqual(materiality(1.787 - 1.678, (noise(0.007), noise(0.010))).verdict, "real")
        self.assertEqual(materiality(1.787 - 1.625, (noise(0.007), noise(0.006))).verdict, "real")
        self.assertEqual(materiality(1.680 - 1.678, seed_noise(SHAKESPEARE)).verdict, "within the noise")
        self.assertEqual(materiality(-0.019, seed_noise(SHAKESPEARE)).verdict, "real")

    def test_a_known_deviation_is_taken_as_the_normal_law(self) -> None:
        got = materiality(0.003, 0.001, runs=2)
        self.assertEqual((got.standard_error, got.verdict), (0.001, "real"))
        assert_ulps(got.chance, 0.00269979606326018905, limit=1)  # outside three standard errors

    def test_the_borders_are_one_standard_error_and_the_t_bound(self) -> None:
        for s, border in ((noise(1.0), 4.302652729749464 * sqrt(2 / 3)), (1.0, 1.9599639845400543 * sqrt(2))):
            error = materiality(1.0, s).standard_error
            self.assertEqual(materiality(error, s).verdict, "within the noise")
            self.assertEqual(materiality(error * 1.0001, s).verdict, "unclear")
            self.assertEqual(materiality(-border * 0.9999, s).verdict, "unclear")
            self.assertEqual(materiality(-border * 1.0001, s).verdict, "real")

    def test_one_standard_error_is_within_the_noise_at_any_confidence(self) -> None:
        # At confidence 0.5 the bound is 0.67 standard errors.
        for times, verdict in ((0.7, "within the noise"), (1.0, "within the noise"), (1.0001, "real")):
            self.assertEqual(materiality(times, 1 / sqrt(2), confidence=0.5).verdict, verdict)

    def test_the_ends_of_the_range_have_verdicts(self) -> None:
        self.assertEqual(materiality(1e150, 1e-150, runs=10**15).verdict, "real")
        self.assertEqual(materiality(1e150, 1e150).verdict, "within the noise")
        self.assertEqual(materiality(-5e-324, 1e-150).verdict, "within the noise")

    def test_the_seeds_needed_are_enough_and_one_less_is_not(self) -> None:
        for difference in (0.009, 0.012, 0.017):
            got = materiality(difference, seed_noise(SHAKESPEARE))
            m = got.seeds_needed
            assert m is not None
            s = seed_noise(SHAKESPEARE).standard_deviation
            reach = [t_bound(Decimal("0.95"), 2 * k - 2) + t_bound(Decimal("0.6"), 2 * k - 2) for k in (m - 1, m)]
            self.assertGreater(reach[0] * s * sqrt(2 / (m - 1)), difference)
            self.assertLessEqual(reach[1] * s * sqrt(2 / m), difference)

    def test_a_pair_of_equal_noises_needs_the_seeds_of_one(self) -> None:
        for s in (0.5, 2.0):
            d = 1.8 * s
            self.assertEqual(materiality(d, (noise(s), noise(s))).seeds_needed, materiality(d, noise(s)).seeds_needed)
        pair = noise(0.8), noise(sqrt(1.36))  # of variances 0.64 and 1.36: 1 on average
        self.assertEqual(materiality(1.8, pair).seeds_needed, materiality(1.8, noise(1.0)).seeds_needed)

    def test_that_many_seeds_find_the_difference_four_times_in_five(self) -> None:
        # A simulation of the promise: a true difference d, m runs on each side, Welch's t at 5 %.
        rng, found, trials = Random(1), 0, 300
        m = materiality(1.2, noise(1.0)).seeds_needed
        assert m is not None
        for _ in range(trials):
            a, b = ([shift + sum(rng.random() for _ in range(12)) - 6.0 for _ in range(m)] for shift in (0.0, 1.2))
            d = (fsum(a) - fsum(b)) / m
            error = sqrt((sample_variance(a) + sample_variance(b)) / m)
            found += abs(d) > critical(2 * m - 2) * error
        self.assertAlmostEqual(found / trials, 0.8, delta=0.08)

    def test_welch_s_degrees_of_freedom(self) -> None:
        # (1 + 4)**2 / (1/2 + 16/4) with squared errors 1 and 4: 25 / (1/2 + 4) for n = 3 and 5
        a, b = SeedNoise(0, 0, 1.0, 0, 0, 0.95, 3), SeedNoise(0, 0, 2.0, 0, 0, 0.95, 5)
        for pair in ((a, b), (b, a)):
            got = materiality(5.0, pair)
            assert_ulps(got.standard_error, sqrt(5), limit=2)
            assert_ulps(got.chance, t_tail(sqrt(5), 25 / 4.5), limit=20)

    def test_the_sentence_says_all_of_it(self) -> None:
        for got, words in [
            (
                Materiality("real", -0.5, 0.25, 0.0001, None),
                "real: -0.5 is 2 standard errors of the difference; "
                "noise alone gives as much in less than 0.1 % of cases",
            ),
            (
                Materiality("unclear", 0.5, 0.25, 0.09, 7),
                "unclear: 0.5 is 2 standard errors of the difference; noise alone gives as much in 9 % of cases; "
                "7 seeds on each side would find a true one of this size in 80 % of cases",
            ),
        ]:
            self.assertEqual(str(got), words)

    def test_what_is_refused(self) -> None:
        kinds = "be a number, a SeedNoise or a pair of SeedNoise"
        unit = "lie between 1e-150 and 1e+150 (take another unit)"
        same = "be above 0 (do the runs differ in their seed?), got 0.0"
        cases: list[tuple[Any, Any, dict[str, Any], type[Exception], str]] = [
            (nan, 1.0, {}, ValueError, "difference must be a number, got nan"),
            (0.1, 0.0, {}, ValueError, f"noise must {same}"),
            (0.1, -1, {}, ValueError, "noise must be above 0 (do the runs differ in their seed?), got -1.0"),
            (0.1, seed_noise([2.0, 2.0]), {}, ValueError, f"noise.standard_deviation must {same}"),
            (0.1, (noise(0.0), noise(0.0)), {}, ValueError, f"noise must {same}"),
            (0.1, "1", {}, TypeError, "noise must be a number, got '1'"),
            (0.1, (1.0, 2.0), {}, TypeError, f"noise must {kinds}, got (1.0, 2.0)"),
            (0.1, 1.0, {"runs": 0}, ValueError, "runs must be at least 1, got 0"),
            (
                0.1,
                (noise(1.0), noise(2.0)),
                {"runs": 2},
                ValueError,
                "runs must be left out beside a pair, which has its own, got 2",
            ),
            (1e308, 1.7e308, {}, ValueError, "difference must lie within 1e+150 of 0 (take another unit), got 1e+308"),
            (1.0, 1e-310, {}, ValueError, f"noise must {unit}, got 1e-310"),
            (1.0, 1.7e308, {}, ValueError, f"noise must {unit}, got 1.7e+308"),
            (1.0, seed_noise([0.0, 5e-324]), {}, ValueError, f"noise.standard_deviation must {unit}, got 5e-324"),
            (0.1, 1.0, {"runs": 10**15 + 1}, ValueError, "runs must be at most 10**15, got 1000000000000001"),
            (0.1, 1.0, {"confidence": 1e-21}, ValueError, "confidence must be at least 1e-20, got 1e-21"),
            (0.1, 1.0, {"confidence": 1.5}, ValueError, "confidence must lie between 0 and 1, got 1.5"),
        ]
        for difference, given, options, kind, message in cases:
            with self.subTest(message), self.assertRaises(kind) as caught:
                materiality(difference, given, **options)
            self.assertEqual(str(caught.exception), f"materiality: {message}")


def sample_variance(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return sum((x - mean) * (x - mean) for x in values) / (len(values) - 1)


def critical(degrees: int, known: dict[int, float] = {}) -> float:  # noqa: B006
    if degrees not in known:
        known[degrees] = t_bound(Decimal("0.95"), degrees)
    return known[degrees]


class Rates(unittest.TestCase):
    def test_none_of_three_is_no_certainty(self) -> None:
        got = proportion(0, 3)
        self.assertEqual((got.rate, got.low), (0.0, 0.0))
        self.assertEqual(f"{got.high:.10f}", "0.5614970318")
        self.assertEqual((proportion(3, 3).high, f"{proportion(3, 3).low:.10f}"), (1.0, "0.4385029682"))

    def test_the_largest_counts_and_the_least_confidence_have_an_interval(self) -> None:
        got = proportion(1, 10**300)  # (1 + z z / 2 +- ...) / n, as of any n that is large beside z z
        small = proportion(1, 10**10)
        self.assertAlmostEqual(got.high * 1e300 / (small.high * 1e10), 1.0, delta=1e-8)
        self.assertEqual(proportion(10**300, 10**300).rate, 1.0)
        self.assertTrue(0.0 < proportion(0, 3, confidence=1e-20).high < 1e-39)

    def test_29_and_72_of_a_hundred_are_apart(self) -> None:
        self.assertLess(proportion(29, 100).high, proportion(72, 100).low)

    def test_the_bounds_are_the_rates_whose_score_is_z(self) -> None:
        # (s / n - p)**2 = z z p (1 - p) / n
        with localcontext(prec=60):
            z = Decimal("1.959963984540054235524594430520551527956")
            for n in (1, 2, 3, 10, 1000, 10**7, 10**12):
                for s in {0, 1, n // 3, n - 1, n}:
                    got, rate = proportion(s, n), Decimal(s) / n
                    for bound in (got.low, got.high):
                        if bound in (0.0, 1.0):
                            continue
                        p = Decimal(bound)
                        miss = (rate - p) * (rate - p) - z * z * p * (1 - p) / n
                        slope = -2 * (rate - p) - z * z * (1 - 2 * p) / n
                        self.assertLess(abs(miss / slope), 10 * Decimal(2) ** -52 * p, (s, n))

    def test_what_is_refused(self) -> None:
        cases: list[tuple[Any, Any, type[Exception], str]] = [
            (0, 0, ValueError, "n must be at least 1, got 0"),
            (-1, 3, ValueError, "successes must be at least 0, got -1"),
            (4, 3, ValueError, "successes must be at most n (3), got 4"),
            (1.0, 3, TypeError, "successes must be a whole number, got 1.0"),
            (1, 10**300 + 1, ValueError, f"n must be at most 10**300, got {reprlib.repr(10**300 + 1)}"),
            (True, 3, TypeError, "successes must be a whole number, got True"),
        ]
        for successes, n, kind, message in cases:
            with self.subTest(message), self.assertRaises(kind) as caught:
                proportion(successes, n)
            self.assertEqual(str(caught.exception), f"proportion: {message}")
        with self.assertRaises(ValueError) as caught:
            proportion(0, 3, confidence=1e-170)
        self.assertEqual(str(caught.exception), "proportion: confidence must be at least 1e-20, got 1e-170")
