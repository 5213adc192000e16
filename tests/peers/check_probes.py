"""Probes of many seeds, with and without options of the loss: every mistake is told from all others on each."""

import unittest
from itertools import product

from refcalc import probe
from refcalc.mistakes.kind import ALL
from refcalc.probes import prove


class Seeds(unittest.TestCase):
    def test_no_mistake_is_beside_another_and_no_number_has_more_than_three_explanations(self) -> None:
        for seed, (smoothing, weighted) in product(range(6), [(0.0, False), (0.1, False), (0.0, True)]):
            with self.subTest(seed=seed, smoothing=smoothing, weighted=weighted):
                self.assert_clean(probe(seed, label_smoothing=smoothing, weighted=weighted), "mean_nll")

    def test_the_other_quantities_have_a_probe_of_their_own(self) -> None:
        for seed, quantity in product(range(1, 3), ALL):
            with self.subTest(seed=seed, quantity=quantity):
                self.assert_clean(probe(seed, quantity=quantity), quantity)

    def assert_clean(self, batch: object, quantity: str) -> None:
        for group in prove(batch, quantity, "float32").coincide:
            self.assertGreater(len(group[0]), 1, group)
            self.assertLessEqual(len(group), 3, group)


if __name__ == "__main__":
    unittest.main()
