"""Resampling, seeds and rates beside SciPy, NumPy and mpmath.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_resampling.py

SciPy's bootstrap interpolates between order statistics and draws other numbers, so intervals are compared within what
the number of draws allows; everything that has one right answer is compared to the last digits.
"""

import unittest
from decimal import Decimal
from math import inf, sqrt
from random import Random

import mpmath
import numpy as np
import scipy.stats as st

from refcalc import bootstrap, materiality, paired_bootstrap, pooled_ratio, proportion, seed_noise
from refcalc.resampling._student import t_bound, t_tail
from tests.ulps import assert_ulps

CONFIDENCES = ("0.5", "0.8", "0.9", "0.95", "0.99", "0.999")
DEGREES = (1, 2, 3, 4, 5, 9.5, 10, 30, 99, 100, 399, 401, 2000, inf)


def drawn(seed: int, size: int) -> list[tuple[float, int]]:
    rng = Random(seed)
    return [(50.0 * rng.random(), 1 + int(20 * rng.random())) for _ in range(size)]


def ratio(s: np.ndarray, n: np.ndarray, axis: int = -1) -> np.ndarray:
    return s.sum(axis=axis) / n.sum(axis=axis)


def mpmath_tail(t: float, v: float) -> mpmath.mpf:
    t = mpmath.mpf(t)
    if v == inf:
        return mpmath.erfc(t / mpmath.sqrt(2))
    return mpmath.betainc(mpmath.mpf(v) / 2, 0.5, 0, v / (v + t * t), regularized=True)


class Student(unittest.TestCase):
    def test_bounds_are_correctly_rounded_by_mpmath(self) -> None:
        # The double is the nearest if the tails half a step to either side lie on either side of the one asked for.
        with mpmath.workdps(40):
            for c in (*CONFIDENCES, "0.999999"):
                for v in DEGREES:
                    t = t_bound(Decimal(c), v)
                    half = mpmath.mpf(float(np.spacing(t))) / 2
                    low, high = mpmath_tail(t - half, v), mpmath_tail(t + half, v)
                    self.assertTrue(low > 1 - mpmath.mpf(c) > high, (c, v))

    def test_tails_are_correctly_rounded_by_mpmath(self) -> None:
        with mpmath.workdps(40):
            for t in (0.001, 0.5, 1.0, 2.5, 7.0, 30.0):
                for v in DEGREES:
                    got, want = t_tail(t, v), float(mpmath_tail(t, v))
                    slack = 0.0 if want > 1e-14 or t * t > v else 1e-30
                    self.assertAlmostEqual(got, want, delta=slack, msg=str((t, v)))

    def test_bounds_and_tails_agree_with_scipy(self) -> None:
        for c in CONFIDENCES:
            for v in DEGREES:
                law = st.norm if v == inf else st.t(v)
                self.assertAlmostEqual(t_bound(Decimal(c), v) / law.isf((1 - float(c)) / 2), 1, delta=3e-13)
                self.assertAlmostEqual(t_tail(2.0, v) / (2 * law.sf(2.0)), 1, delta=1e-13)


class Rates(unittest.TestCase):
    def test_wilson_intervals_agree_with_scipy(self) -> None:
        for n in (1, 3, 10, 100, 12345):
            for s in sorted({0, 1, n // 3, n - 1, n}):
                for c in (0.8, 0.95, 0.99):
                    got, want = proportion(s, n, confidence=c), st.binomtest(s, n).proportion_ci(c, method="wilson")
                    self.assertAlmostEqual(got.low, want.low, delta=1e-14)
                    self.assertAlmostEqual(got.high, want.high, delta=1e-14)


class Seeds(unittest.TestCase):
    def test_mean_deviation_and_interval_agree_with_numpy_and_scipy(self) -> None:
        for seed in range(200):
            rng = Random(seed)
            values = [1.7 + 0.01 * rng.random() for _ in range(2 + seed % 9)]
            got = seed_noise(values)
            self.assertAlmostEqual(got.mean, np.mean(values), delta=1e-15)
            self.assertAlmostEqual(got.standard_deviation, np.std(values, ddof=1), delta=1e-15)
            self.assertAlmostEqual(got.standard_error, st.sem(values), delta=1e-15)
            low, high = st.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=st.sem(values))
            self.assertAlmostEqual(got.low, low, delta=1e-13)
            self.assertAlmostEqual(got.high, high, delta=1e-13)

    def test_the_chance_of_a_difference_is_welch_s(self) -> None:
        for seed in range(200):
            rng = Random(seed)
            a = [1.7 + 0.01 * rng.random() for _ in range(2 + seed % 5)]
            b = [1.7 + 0.02 * rng.random() for _ in range(2 + seed % 3)]
            x, y = seed_noise(a), seed_noise(b)
            want = st.ttest_ind(a, b, equal_var=False)
            self.assertAlmostEqual(materiality(x.mean - y.mean, (x, y)).chance, want.pvalue, delta=1e-11)


class Documents(unittest.TestCase):
    def test_random_intervals_agree_with_scipy(self) -> None:
        for seed, size in ((1, 10), (2, 40), (3, 300)):
            documents = drawn(seed, size)
            s, n = (np.array(column, float) for column in zip(*documents, strict=True))
            for method in ("percentile", "basic"):
                got = bootstrap(documents, draws=20_000, seed=seed, interval=method)
                want = st.bootstrap(
                    (s, n), ratio, paired=True, vectorized=True, n_resamples=20_000, method=method, batch=1000,
                    rng=np.random.default_rng(seed),
                )  # fmt: skip
                step = got.standard_error
                self.assertAlmostEqual(got.standard_error, want.standard_error, delta=0.03 * step)
                self.assertAlmostEqual(got.low, want.confidence_interval.low, delta=0.08 * step)
                self.assertAlmostEqual(got.high, want.confidence_interval.high, delta=0.08 * step)

    def test_the_random_draws_have_the_law_of_numpy_s(self) -> None:
        documents = drawn(7, 200)
        s, n = (np.array(column, float) for column in zip(*documents, strict=True))
        indices = np.random.default_rng(1).integers(0, 200, size=(4000, 200))
        theirs = ratio(s[indices], n[indices])
        ours = [bootstrap(documents, draws=2, seed=seed).low for seed in range(2000)]  # the lower of two draws
        pairs = np.minimum(theirs[::2], theirs[1::2])
        self.assertGreater(st.ks_2samp(ours, pairs).pvalue, 0.001)

    def test_enumeration_is_the_limit_of_scipy_s(self) -> None:
        documents = drawn(4, 6)
        s, n = (np.array(column, float) for column in zip(*documents, strict=True))
        exact = bootstrap(documents, method="exact")
        grid = np.array(np.meshgrid(*[range(6)] * 6)).reshape(6, -1).T  # all 46,656
        every = ratio(s[grid], n[grid])
        self.assertAlmostEqual(exact.standard_error, every.std(), delta=1e-13)
        self.assertAlmostEqual(exact.low, np.quantile(every, 0.025, method="inverted_cdf"), delta=1e-14)
        self.assertAlmostEqual(exact.high, np.quantile(every, 0.975, method="inverted_cdf"), delta=1e-14)

    def test_paired_intervals_agree_with_scipy(self) -> None:
        ours = drawn(5, 60)
        theirs = [(s + Random(i).random(), n) for i, (s, n) in enumerate(ours)]
        got = paired_bootstrap(ours, theirs, draws=20_000, seed=5).difference
        s, t = (np.array([a for a, _ in side]) for side in (ours, theirs))
        n = np.array([n for _, n in ours], float)
        want = st.bootstrap(
            (s, t, n), lambda s, t, n, axis=-1: (s.sum(axis) - t.sum(axis)) / n.sum(axis), paired=True,
            n_resamples=20_000, method="percentile", batch=1000, rng=np.random.default_rng(5),
        )  # fmt: skip
        self.assertAlmostEqual(got.low, want.confidence_interval.low, delta=0.08 * got.standard_error)
        self.assertAlmostEqual(got.high, want.confidence_interval.high, delta=0.08 * got.standard_error)

    def test_the_delta_method_is_least_squares_with_clustered_errors(self) -> None:
        # s / sqrt(n) on sqrt(n): its slope is the pooled ratio, its sandwich the delta method without K / (K - 1).
        for seed in range(20):
            documents = drawn(seed, 30)
            labels = [i // 3 for i in range(30)]
            s, n = (np.array(column, float) for column in zip(*documents, strict=True))
            x, y = np.sqrt(n), s / np.sqrt(n)
            slope = np.linalg.lstsq(x[:, None], y, rcond=None)[0][0]
            scores = x * (y - slope * x)
            for groups, size in ((None, 30), (labels, 10)):
                sums = scores if groups is None else np.add.reduceat(scores, range(0, 30, 3))
                want = sqrt(size / (size - 1) * (sums @ sums)) / (x @ x)
                got = pooled_ratio(documents, groups=groups)
                self.assertAlmostEqual(got.ratio, slope, delta=1e-13)
                self.assertAlmostEqual(got.standard_error, want, delta=1e-13)

    def test_the_jackknife_comes_near_the_delta_method(self) -> None:
        documents = drawn(9, 500)
        s, n = (np.array(column, float) for column in zip(*documents, strict=True))
        left = (s.sum() - s) / (n.sum() - n)
        want = sqrt(499 / 500 * ((left - left.mean()) ** 2).sum())
        assert_ulps(round(pooled_ratio(documents).standard_error / want, 1), 1.0, limit=0)
