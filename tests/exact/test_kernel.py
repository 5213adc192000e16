"""The enclosures of a row at every level, a libm that is off, and a process that is not fit."""

import math
import unittest
from decimal import Decimal, localcontext
from unittest import mock

from refcalc import _check, exact
from refcalc.exact import _kernel, _libm
from refcalc.exact._row import Row
from tests.exact import judge


def bent(by: float, from_: float = -math.inf):
    """Return an exp that is off by a factor 1 + by, by a sign that depends on the argument."""

    def exp(x: float) -> float:
        y = math.exp(x)
        return y * (1.0 + (by if hash(x) & 1 else -by)) if x > from_ else y

    return exp


class Enclosures(unittest.TestCase):
    def test_the_tail_and_its_log1p_are_inside_at_every_level(self):
        for i, xs in enumerate([*judge.rows(40, seed=3), [0.0, -600.0], [0.0, -700.0], [1e6, -1.0], [700.0, 690.0]]):
            row = Row(xs)
            if row.ties:
                continue
            with localcontext(judge.WIDE):
                tail = sum((Decimal(x) - Decimal(row.m)).exp() for j, x in enumerate(xs) if j != row.k)
                log1p = (1 + tail).ln()
            for level in range(5):
                for name, truth in (("tail", tail), ("log1p_tail", log1p)):
                    lo, hi, d = getattr(row, name)(level)
                    with self.subTest(row=i, level=level, name=name), localcontext(prec=800):
                        # The judge is good to 119 digits or, of log1p, to 10**-118.
                        slack = truth * Decimal("1e-115") + Decimal("1e-117") * (name != "tail")
                        self.assertLess(Decimal(lo) / d, truth + slack)
                        self.assertGreater(Decimal(hi) / d, truth - slack)

    def test_each_level_is_narrower_than_the_one_before(self):
        row = Row([x / 7.0 for x in range(-300, 30)])
        widths = []
        for level in range(6):
            lo, hi, d = row.tail(level)
            widths.append((hi - lo) / d)
        self.assertEqual(widths, sorted(widths, reverse=True))
        self.assertLess(widths[0], 2.0**-44)
        self.assertLess(widths[2], 2.0**-66)
        self.assertLess(widths[3], 2.0**-240)

    def test_table_entries_are_short_by_less_than_one_unit(self):
        for b, table in zip((5, 15, 25), _kernel._tables(), strict=True):
            for i in (0, 1, 2, 500, len(table) - 1):
                with localcontext(prec=60):
                    truth = (-Decimal(i) / 2**b).exp() * 2**_kernel.P
                    self.assertLessEqual(Decimal(table[i]), truth)
                    self.assertLess(truth - table[i], Decimal("1.000001"))


class BentExp(unittest.TestCase):
    def test_an_exp_off_by_12_ulp_changes_no_result(self):
        rows = [*judge.rows(40, seed=9), [math.sin(i) * 9.0 for i in range(3000)]]
        want = [(exact.token_nll(xs, 0), exact.logsumexp(xs)) for xs in rows]
        with mock.patch.object(_kernel, "exp", bent(12 * 2.0**-53)):
            self.assertEqual([(exact.token_nll(xs, 0), exact.logsumexp(xs)) for xs in rows], want)

    def test_an_exp_that_is_off_by_more_is_found_out(self):
        self.assertTrue(_libm.exp_is_good(math.exp))
        self.assertTrue(_libm.exp_is_good(bent(2.0**-53)))
        self.assertFalse(_libm.exp_is_good(bent(2.0**-32)))
        self.assertFalse(_libm.exp_is_good(bent(2.0**-32, from_=600.0)))
        self.assertFalse(_libm.exp_is_good(lambda x: 0.0))

    def test_an_exp_that_is_not_trusted_is_not_used(self):
        xs = [math.sin(i) * 9.0 for i in range(300)]
        want = exact.token_nll(xs, 0)
        with (
            mock.patch.object(_kernel, "libm_is_trusted", lambda: False),
            mock.patch.object(_kernel, "exp", lambda x: 1 / 0),
        ):
            self.assertEqual(exact.token_nll(xs, 0), want)


class Environment(unittest.TestCase):
    def test_a_process_that_flushes_subnormals_is_refused(self):
        # LEAST_NORMAL * 0.5 is 0.0 in such a process; here the constant is replaced to the same effect.
        message = "{}: the process must not flush subnormal numbers to zero, got a mode that does"
        with mock.patch.object(_check, "LEAST_NORMAL", 0.0):
            for f, arguments in [
                (exact.token_nll, ([0.0, 1.0], 0)),
                (exact.log_softmax, ([0.0, 1.0],)),
                (exact.perplexity, (1.5,)),
            ]:
                with self.assertRaises(ArithmeticError) as caught:
                    f(*arguments)
                self.assertEqual(str(caught.exception), message.format(f.__name__))
