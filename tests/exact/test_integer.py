"""exp and log on whole numbers, against decimal and against themselves at twice the precision."""

import unittest
from decimal import Decimal, localcontext
from random import Random

from refcalc.exact import _integer


class Bounds(unittest.TestCase):
    def test_exp_is_within_2_units(self):
        rng = Random(1)
        for i in range(300):
            w = rng.choice([40, 64, 113, 128, 129, 256, 300])
            y = int((rng.random() - 0.5) * rng.choice([1.0, 30.0, 1500.0]) * 2**60) << w >> 60
            n, k = _integer.exp(y, w)
            with self.subTest(i=i, w=w, y=y), localcontext(prec=w // 3 + 40) as c:
                c.Emax, c.Emin = 10**6, -(10**6)
                truth = (Decimal(y) / 2**w).exp() * Decimal(2) ** (w - k)
                self.assertLess(abs(truth - n), 2)

    def test_log_is_within_2_units_and_log1p_encloses(self):
        rng = Random(2)
        for i in range(100):
            w = rng.choice([30, 64, 128, 200, 300])
            n, b = rng.getrandbits(rng.choice([1, 20, 100, 400])) + 1, rng.choice([0, 1, 90])
            q = w + rng.choice([0, 300])
            t = rng.getrandbits(rng.choice([10, q - 30, q, q + 9])) + 1
            lo, hi = _integer.log1p(t, q)
            with self.subTest(i=i, w=w, n=n, b=b, q=q, t=t), localcontext(prec=q // 3 + 80):
                self.assertLess(abs((Decimal(n) / 2**b).ln() * 2**w - _integer.log(n, b, w)), 2)
                self.assertLess(Decimal(lo), (1 + Decimal(t) / 2**q).ln() * 2**q)
                self.assertGreater(Decimal(hi), (1 + Decimal(t) / 2**q).ln() * 2**q)

    def test_two_precisions_agree(self):
        for w in (100, 128, 1000, 4000):
            y = (7 << w) // 3
            for precise, coarse in [(_integer.exp(-y << w, 2 * w), _integer.exp(-y, w))]:
                self.assertEqual(precise[1], coarse[1])
                self.assertLess(abs((precise[0] >> w) - coarse[0]), 4)
            self.assertLess(abs((_integer.log(10, 0, 2 * w) >> w) - _integer.log(10, 0, w)), 4)
            self.assertLess(abs((_integer.ln2(2 * w) >> w) - _integer.ln2(w)), 4)
