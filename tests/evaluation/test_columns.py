"""Receipts read many at once say what they say one by one."""

import math
import unittest
from dataclasses import replace
from io import BytesIO
from random import Random

from refcalc import ExactSum
from refcalc.evaluation.columns import Row, read_columns, read_rows
from refcalc.evaluation.log import Receipts
from refcalc.evaluation.receipt import Receipt, check_key, check_of
from tests.evaluation.evaluated import protocol, receipt, receipts, written

NLLS = (1.5, 0.1, 5e-324, 2.0**-1060, 1e308, 2.0**200, math.inf, -1e-9, 0.0, 1e22)
IDS = ("a", "caf\u00e9", 'q"uote', "back\\slash", "tab\t", "\x0b\x0f\x7f", "\U0001f600", "", 0, 7, -3, 10**20)


def one_by_one(found: Receipts) -> list[Row]:
    rows = []
    for _, r in found:
        nll = max(0.0, float(r.nll_sum))
        rows.append(Row(r.document, nll, r.n_targets, r.n_bytes, r.n_chars, r.n_words, r.n_eos, r.n_unk))
    return rows


class Rows(unittest.TestCase):
    def test_they_are_those_of_reading_one_by_one(self) -> None:
        for seed in range(6):
            rng = Random(seed)
            lines = [
                receipt(key, rng.choice(NLLS), 1 + rng.randrange(9), group=rng.choice([None, "g", 3])) for key in IDS
            ]
            lines += [receipt(i, rng.random() * 1e3, 7, n_bytes=rng.randrange(99)) for i in range(100, 140)]
            lines.append(receipt("unknown", 1.0, 3, n_unk=None, unk_nll=None))
            rng.shuffle(lines)
            found = receipts(protocol(), *lines)
            with self.subTest(seed=seed):
                self.assertEqual(sorted(read_rows(found), key=repr), sorted(one_by_one(found), key=repr))

    def test_a_sum_of_more_bits_than_a_double_is_rounded_once(self) -> None:
        total = ExactSum([1.0, 2.0**-53, 2.0**-100])  # above the tie between 1 and the next double
        found = receipts(protocol(units=()), Receipt("a", total, 2), Receipt("b", ExactSum([1.0, 2.0**-53]), 2))
        self.assertEqual([row.nll for row in read_rows(found)], [1.0 + 2.0**-52, 1.0])

    def test_most_are_read_at_once(self) -> None:
        lines = [receipt(i, 1.0, 2) for i in (*range(50), *map(chr, range(128)), "C:\\texts\\\"a\".txt", 2**64)]
        lines.append(replace(lines[0], document="one sure token", nll_sum=ExactSum([300.0, 1e-70])))
        kinds = [isinstance(each, Receipt) for each in read_columns(receipts(protocol(), *lines))]
        self.assertEqual(kinds, [False])

    def test_a_line_must_be_as_it_is_written_although_its_check_is_right(self) -> None:
        first, one, line, end = written(protocol(), receipt("one", 1.0, 2), receipt("a\n", 1.0, 2))
        for old, new, message in (
            (rb'"a\n"', rb'"\u0061\n"', "line 3 must have the check of what it says"),
            (rb'"a\n"', rb'"a\u000a"', "line 3 must have the check of what it says"),
            (rb'"a\n"', rb'"a\/"', "line 3 must have the check of what it says"),
            (rb'"a\n"', b"-0", "line 3 must have the check of what it says"),
            (rb'"a\n"', b'"a\xff"', "line 3 must be UTF-8, got a bad byte at offset 14"),
            (rb'"a\n"', b'"\xed\xa0\x80"', "line 3 must be UTF-8, got a bad byte at offset 13"),
            (b'"n_bytes":10', b'"n_bytes":010', "line 3 must be JSON, got Expecting ',' delimiter"),
        ):
            body = line.replace(old, new, 1).partition(b',"check"')[0]
            forged = body + b',"check":"' + check_of(body, check_key(protocol())).encode() + b'"}\n'
            with self.subTest(new), self.assertRaisesRegex(ValueError, message):
                list(read_columns(Receipts(BytesIO(first + one + forged + end))))

    def test_receipts_without_a_protocol_come_one_by_one(self) -> None:
        found = Receipts(BytesIO(b'{"document": "a", "nll_sum": 1.5, "n_targets": 2}\n'))
        self.assertEqual(list(read_rows(found)), [Row("a", 1.5, 2, None, None, None, None, None)])

    def test_a_file_that_lost_a_line_is_refused_at_its_end(self) -> None:
        lines = written(protocol(), *(receipt(i, 1.0, 2) for i in range(3)))
        with self.assertRaises(ValueError) as caught:
            list(read_rows(Receipts(BytesIO(b"".join([*lines[:2], *lines[3:]])))))
        want = "the receipts: the file must hold the 3 receipts that its last line counts, got 2"
        self.assertEqual(str(caught.exception), want)


if __name__ == "__main__":
    unittest.main()
