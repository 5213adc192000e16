"""Conversions, judged in decimal arithmetic, against each other, and by the refusals they owe."""

import unittest
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, nan, nextafter
from random import Random

from refcalc import units
from tests.ulps import assert_ulps, ulps_off, wide_context

WIDE = wide_context(60)
with localcontext(WIDE):
    LN_2, LN_10 = Decimal(2).ln(), Decimal(10).ln()


def drawn(seed: int) -> tuple[float, int]:
    """Return an nll of any size and a count."""
    rng = Random(seed)
    scale = [1e-300, 1e-3, 1.0, 30.0, 1e5, 1e300][seed % 6]
    return scale * rng.random(), 1 + int(10_000 * rng.random())


class Accuracy(unittest.TestCase):
    def within(self, limit: float, seed: int, got: float, want: Callable[[], Decimal]) -> None:
        with self.subTest(seed=seed), localcontext(WIDE):
            self.assertLessEqual(ulps_off(got, want()), limit)

    def test_the_unit_conversions_are_within_their_bounds_for_either_sign(self) -> None:
        for seed in range(900):
            x = drawn(seed)[0] * (-1.0 if seed // 6 % 2 else 1.0)  # each of the six sizes has both
            exact = Decimal(x)
            self.within(1, seed, units.nats_to_bits(x), lambda: exact / LN_2)  # noqa: B023
            self.within(1, seed, units.bits_to_nats(x), lambda: exact * LN_2)  # noqa: B023
            self.within(1.35, seed, units.nats_to_log10(x), lambda: exact / LN_10)  # noqa: B023
            self.within(1.35, seed, units.log10_to_nats(x), lambda: exact * LN_10)  # noqa: B023
            self.within(1, seed, units.bits_per_token(abs(x)), lambda: abs(exact) / LN_2)  # noqa: B023

    def test_rates_are_within_3_ulp(self) -> None:
        for seed in range(600):
            x, n = drawn(seed)
            for rate in (units.bits_per_byte, units.bits_per_char):
                self.within(3, seed, rate(x, n), lambda: Decimal(x) / (n * LN_2))  # noqa: B023

    def test_perplexities_are_within_1_ulp_and_one_more_for_each_nat_of_a_quotient(self) -> None:
        for seed in range(300):
            x, n = drawn(seed)
            if x < 700.0:
                self.within(1, seed, units.perplexity(x), lambda: Decimal(x).exp())  # noqa: B023
            if x / n < 700.0:
                for rate in (units.byte_perplexity, units.word_perplexity):
                    self.within(1 + x / n, seed, rate(x, n), (Decimal(x) / n).exp)

    def test_the_logarithms_are_within_1_ulp(self) -> None:
        for seed in range(300):
            x, n = drawn(seed)
            self.within(1, seed, units.perplexity_to_nll(1.0 + x), lambda: Decimal(1.0 + x).ln())  # noqa: B023
            self.within(1, seed, units.uniform_nll(n), lambda: Decimal(n).ln())  # noqa: B023

    def test_the_constants_are_the_doubles_nearest_to_the_logarithms(self) -> None:
        for constant, truth in [(units.LOG_2, LN_2), (units.LOG_10, LN_10)]:
            self.assertEqual(constant, float(truth))


class Laws(unittest.TestCase):
    def test_there_and_back_again(self) -> None:
        for seed in range(200):
            x = drawn(seed)[0]
            with self.subTest(seed=seed):
                assert_ulps(units.bits_to_nats(units.nats_to_bits(x)), x, limit=2)
                assert_ulps(units.log10_to_nats(units.nats_to_log10(x)), x, limit=2)
                if 1e-3 < x < 700.0:
                    assert_ulps(units.perplexity_to_nll(units.perplexity(x)), x, limit=2 + int(1 / x))

    def test_a_perplexity_is_two_to_the_power_of_the_bits(self) -> None:
        with localcontext(WIDE):
            for seed in range(50):
                x, n = 20.0 * Random(seed).random() * 9, 9
                bits = Decimal(units.bits_per_byte(x, n))
                self.assertLess(abs(2**bits / Decimal(units.byte_perplexity(x, n)) - 1), Decimal("1e-13"))

    def test_what_is_beyond_the_doubles_is_infinite_and_infinity_stays(self) -> None:
        self.assertEqual(units.perplexity(710.0), inf)
        self.assertEqual(units.byte_perplexity(7100.0, 10), inf)
        for function in (units.perplexity, units.perplexity_to_nll, units.nats_to_bits, units.bits_per_token):
            self.assertEqual(function(inf), inf)
        self.assertEqual(units.bits_per_byte(inf, 3), inf)
        self.assertEqual(units.nats_to_log10(-inf), -inf)

    def test_counts_beyond_the_doubles(self) -> None:
        self.assertEqual(units.byte_perplexity(2.0**1023, 2**1024), units.perplexity(0.5))
        self.assertEqual(units.bits_per_byte(2.0**1023, 2**1024), units.nats_to_bits(0.5))
        for rate in (units.bits_per_byte, units.bits_per_char):
            self.assertEqual([rate(15.0, 10**400), rate(inf, 10**400)], [0.0, inf])
        for rate in (units.byte_perplexity, units.word_perplexity):
            self.assertEqual([rate(15.0, 10**400), rate(inf, 10**400)], [1.0, inf])

    def test_ends_of_the_ranges(self) -> None:
        self.assertEqual(units.perplexity(0.0), 1.0)
        self.assertEqual(units.perplexity_to_nll(1.0), 0.0)
        self.assertEqual(units.uniform_nll(1), 0.0)
        self.assertEqual(units.bits_per_char(0.0, 1), 0.0)
        self.assertEqual(units.uniform_nll(10**400) > 900.0, True)

    def test_any_number_will_do(self) -> None:
        self.assertEqual(units.perplexity(Fraction(1, 2)), units.perplexity(0.5))
        self.assertEqual(units.bits_per_byte(3, 1), units.bits_per_byte(3.0, 1))


class Refusals(unittest.TestCase):
    def refused(self, message: str, kind: type[Exception], name: str, *arguments: object) -> None:
        with self.subTest(function=name, arguments=arguments):
            with self.assertRaises(kind) as caught:
                getattr(units, name)(*arguments)
            self.assertEqual(str(caught.exception), f"{name}: {message}")

    def test_a_negative_nll_is_named_for_what_it_is(self) -> None:
        rule = "must not be negative (an nll is minus a log-probability), got -1.0"
        for name in ("perplexity", "bits_per_token"):
            self.refused(f"mean_nll {rule}", ValueError, name, -1.0)
            self.refused("mean_nll must be a number, got nan", ValueError, name, nan)
        for name in ("bits_per_byte", "bits_per_char", "byte_perplexity", "word_perplexity"):
            self.refused(f"nll_sum {rule}", ValueError, name, -1.0, 2)
            self.refused("nll_sum must be a number, got nan", ValueError, name, nan, 2)

    def test_a_perplexity_below_one_is_none(self) -> None:
        for bad in (nextafter(1.0, 0.0), 0.0, -1.0, -inf, nan):
            self.refused(f"ppl must be at least 1, got {bad}", ValueError, "perplexity_to_nll", bad)

    def test_a_denominator_is_a_whole_number_above_zero(self) -> None:
        counts = {"bits_per_byte": "n_bytes", "byte_perplexity": "n_bytes", "bits_per_char": "n_chars"}
        for name, count in {**counts, "word_perplexity": "n_words"}.items():
            for bad in (0, -1):
                self.refused(f"{count} must be at least 1, got {bad}", ValueError, name, 1.0, bad)
            for kind in (1.0, True, "1", None):
                self.refused(f"{count} must be a whole number, got {kind!r}", TypeError, name, 1.0, kind)
        self.refused("vocab_size must be at least 1, got 0", ValueError, "uniform_nll", 0)
        self.refused("vocab_size must be a whole number, got 2.0", TypeError, "uniform_nll", 2.0)

    def test_conversions_refuse_nan_and_what_is_no_number(self) -> None:
        for name in ("nats_to_bits", "bits_to_nats", "nats_to_log10", "log10_to_nats"):
            argument = name.split("_")[0]
            self.refused(f"{argument} must be a number, got nan", ValueError, name, nan)
            for kind in ("1", None, 1j, [1.0], b"1"):
                self.refused(f"{argument} must be a number, got {kind!r}", TypeError, name, kind)
