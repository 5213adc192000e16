"""The exact tier against MPFR, function by function.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_exact.py
`python -m tests.peers.million` does the same with a million results and more.
"""

import unittest
from itertools import chain

from tests.peers import divergence_cases, exact_cases
from tests.peers.mpfr import judged

SEEDS = range(2_000_000, 2_000_300)


class AgainstMPFR(unittest.TestCase):
    def test_no_result_is_wrong_in_its_last_bit(self):
        undecided = results = 0
        for seed in SEEDS:
            for case in chain(exact_cases.cases(seed), divergence_cases.cases(seed)):
                verdict = judged(case.result, case.value)
                results += 1
                undecided += verdict is None
                self.assertIsNot(verdict, False, (seed, *case[:3]))
        self.assertGreater(results, 40 * len(SEEDS))
        self.assertLess(undecided, results / 1000)
