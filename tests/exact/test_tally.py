"""A Tally that carries an nll which was not rounded."""

import copy
import pickle
import unittest
from math import inf
from random import Random

from refcalc import Tally, exact
from refcalc.exact import Nll

METRICS = {
    "mean_nll": "n_targets",
    "perplexity": "n_targets",
    "bits_per_token": "n_targets",
    "bits_per_byte": "n_bytes",
    "bits_per_char": "n_chars",
    "byte_perplexity": "n_bytes",
    "word_perplexity": "n_words",
}


def document(seed: int) -> Tally:
    rng = Random(seed)
    rows = [[4.0 * rng.random() for _ in range(5)] for _ in range(1 + seed % 4)]
    return Tally(exact.batch_nll(rows, [0] * len(rows)), len(rows), n_bytes=7 + seed, n_chars=6, n_words=2)


class Metrics(unittest.TestCase):
    def test_each_is_that_of_the_exact_tier(self) -> None:
        for seed in range(12):
            tally = document(seed)
            for metric, count in METRICS.items():
                n, nll = getattr(tally, count), tally.nll_sum
                if metric == "mean_nll":
                    want = float(nll / n)
                else:
                    function = getattr(exact, metric)
                    want = function(nll / n) if count == "n_targets" else function(nll, n)
                with self.subTest(seed=seed, metric=metric):
                    self.assertEqual(getattr(tally, metric), want)

    def test_they_are_rounded_once(self) -> None:
        three = Tally(exact.batch_nll([[0.0, 0.0, 0.0]] * 17, [0] * 17), 17)
        self.assertEqual((three.perplexity, (three + three).perplexity), (3.0, 3.0))
        self.assertEqual(Tally(float(three.nll_sum), 17).perplexity, 2.9999999999999996)

    def test_an_infinite_nll_is_an_answer(self) -> None:
        tally = Tally(exact.batch_nll([0.0, -inf], 1), 1, n_bytes=1)
        self.assertEqual((tally.mean_nll, tally.perplexity, tally.bits_per_byte), (inf, inf, inf))

    def test_a_metric_without_its_denominator_is_refused(self) -> None:
        tally = Tally(exact.batch_nll([0.0, 0.0], 1), 1)
        with self.assertRaises(ValueError) as caught:
            tally.bits_per_byte  # noqa: B018
        self.assertEqual(str(caught.exception), "Tally.bits_per_byte: n_bytes must be counted and at least 1, got None")


class Merging(unittest.TestCase):
    def test_no_order_or_grouping_shows(self) -> None:
        parts = [document(seed) for seed in range(6)]
        whole, other = sum(parts), sum(parts[3:], Tally()) + sum(parts[:3], Tally())
        self.assertEqual(other, whole)
        self.assertEqual(hash(other), hash(whole))
        self.assertEqual([getattr(other, m) for m in METRICS], [getattr(whole, m) for m in METRICS])
        self.assertEqual(whole.nll_sum, Nll.total(part.nll_sum for part in parts))

    def test_the_empty_tally_changes_nothing(self) -> None:
        tally = document(3)
        self.assertEqual((tally + Tally(), Tally() + tally), (tally, tally))

    def test_it_does_not_merge_with_rounded_numbers(self) -> None:
        rounded = Tally(1.0, 1, n_bytes=1, n_chars=1, n_words=1)
        rule = "Tally: nll_sum must be rounded, with float(), in both tallies or in neither"
        for a, b, got in [(rounded, document(1), "ExactSum and Nll"), (document(1), rounded, "Nll and ExactSum")]:
            with self.assertRaises(ValueError) as caught:
                a + b
            self.assertEqual(str(caught.exception), f"{rule}, got {got}")

    def test_a_sum_over_no_targets_is_zero(self) -> None:
        with self.assertRaises(ValueError) as caught:
            Tally(exact.batch_nll([0.0, 0.0], 1), 0)
        message = "Tally: n_targets must be at least 1 where nll_sum is not 0, got 0"
        self.assertEqual(str(caught.exception), message)


class Records(unittest.TestCase):
    def test_pickle_and_copies_lose_nothing(self) -> None:
        tally = document(2) + document(5)
        for other in (pickle.loads(pickle.dumps(tally)), copy.copy(tally), copy.deepcopy(tally)):
            self.assertEqual(other, tally)
            self.assertEqual(other.perplexity, tally.perplexity)
        self.assertNotEqual(tally, Tally(float(tally.nll_sum), tally.n_targets))

    def test_no_text_holds_it(self) -> None:
        tally = Tally(exact.batch_nll([0.0, 0.0], 1), 1)
        with self.assertRaises(ValueError) as caught:
            tally.to_dict()
        rule = "Tally.to_dict: nll_sum must be rounded, with float() (or be pickled as it is)"
        self.assertEqual(str(caught.exception), f"{rule}, got <Nll of about...05599453 nats>")
        self.assertEqual(Tally(float(tally.nll_sum), 1).to_dict()["n_targets"], 1)
        self.assertEqual(repr(tally), "Tally(0.6931471805599453, 1, n_documents=1)")
