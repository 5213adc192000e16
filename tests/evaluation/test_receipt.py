"""Receipts and their file: no bit is lost, no change goes unseen, and a torn file is gone on with or left alone."""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from refcalc import ExactSum, Receipt, Tally
from refcalc.evaluation.log import ReceiptLog
from refcalc.evaluation.reading import LONGEST_LINE, Receipts
from refcalc.evaluation.receipt import check_key, checked
from tests.evaluation.small import protocol, receipt, write

UNDER = protocol(eos_id=3, eos_scored=True, unk_id=0)
WINDOWS: dict[str, Any] = {"n_windows": 1, "n_eos": 1, "eos_nll": 0.1, "n_unk": 0, "unk_nll": 0.0}
THREE = [
    receipt("a", 0.1, 2, 3, **WINDOWS),
    receipt("é \\ \"quoted\"\n", 1e-300, 1, 0, **{**WINDOWS, "eos_nll": 0.0}),
    receipt(-17, 9.7, 4, 7, group="g", **{**WINDOWS, "n_unk": 2, "unk_nll": 9.6}),
]


class FileCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "receipts.jsonl"
        write(self.path, UNDER, *THREE)
        self.good = self.path.read_bytes()

    def ends(self) -> list[int]:
        """Return where a file may have ended: around each end of a line, and every now and then between them."""
        size, newlines = len(self.good), [i for i, byte in enumerate(self.good) if byte == 10]
        near = {end for at in newlines for end in range(at - 1, at + 3) if end <= size}
        return sorted({*range(0, size, 29), *near})

    def read(self, data: bytes) -> list[Receipt]:
        self.path.write_bytes(data)
        return [each for _, each in Receipts(str(self.path))]

    def refusal(self, data: bytes) -> str:
        """Return what is said of a file, without its path."""
        with self.assertRaises((ValueError, TypeError)) as caught:
            self.read(data)
        message = str(caught.exception)
        self.assertTrue(message.startswith(f"{self.path}: "), message)
        return message.removeprefix(f"{self.path}: ")


class OneReceipt(unittest.TestCase):
    def test_a_tally_with_more(self) -> None:
        given = receipt("a", 0.1, 2, 3)
        record = given.to_dict()
        self.assertEqual(Tally.from_dict({key: record[key] for key in Tally().to_dict()}), given.tally)
        self.assertEqual(given.tally, Tally(0.1, 2, n_bytes=3))

    def test_a_sum_of_many_doubles_comes_back_to_the_last_bit(self) -> None:
        total = ExactSum([1e300, 0.1, 5e-324])
        given = Receipt(0, total, 3)
        again = Receipt.from_dict(json.loads(json.dumps(given.to_dict())))
        self.assertEqual((again, again.nll_sum), (given, total))

    def test_parts_must_fit_the_whole(self) -> None:
        for message, wrong in [
            ("n_eos must be at most n_targets (1), got 2", {"n_eos": 2, "eos_nll": 0.5}),
            ("n_unk must be at least 1 where unk_nll is not 0, got 0", {"n_unk": 0, "unk_nll": 0.5}),
            ("n_eos must be at least 1 where eos_nll is not 0, got None", {"eos_nll": 0.5}),
            ("eos_nll must be an ExactSum, got None", {"n_eos": 1}),
            ("group must be text or a whole number, got 1.5", {"group": 1.5}),
        ]:
            with self.subTest(message), self.assertRaises((ValueError, TypeError)) as caught:
                receipt("a", 1.0, 1, **wrong)
            self.assertEqual(str(caught.exception), f"Receipt: {message}")

    def test_a_part_costs_no_more_than_the_whole_but_for_the_rounding_of_the_rest(self) -> None:
        least = UNDER.least_nll
        receipt("a", 1.0, 2, 3, n_eos=1, eos_nll=1.0 - least).check_under(UNDER)
        for under, eos_nll in ((UNDER, 1.0 - 2.1 * least), (None, 1.0 + 1e-12)):
            with self.assertRaises(ValueError) as caught:
                receipt("a", 1.0, 2, 3, n_eos=1, eos_nll=eos_nll).check_under(under)
            self.assertEqual(str(caught.exception), f"Receipt: eos_nll must be at most nll_sum (1.0), got {eos_nll}")

    def test_a_little_below_zero_is_rounding_and_more_is_not(self) -> None:
        given = receipt("a", 10 * UNDER.least_nll, 10, 3)
        given.check_under(UNDER)
        self.assertEqual(given.tally, Tally(0.0, 10, n_bytes=3))
        rule = "Receipt: nll_sum must not be negative (an nll is minus a log-probability)"
        least = UNDER.least_nll
        for wrong, under, message in [
            (receipt("a", 10.1 * least, 10, 3), UNDER, f"{rule} beyond rounding, got {10.1 * least}"),
            (receipt("a", -1e-300, 10, 3), None, f"{rule}, got -1e-300"),
            (receipt("a", float("-inf"), 10, 3), UNDER, f"{rule} beyond rounding, got -inf"),
        ]:
            with self.subTest(message), self.assertRaises(ValueError) as caught:
                wrong.check_under(under)
            self.assertEqual(str(caught.exception), message)


class Reading(FileCase):
    def test_what_was_written_is_read(self) -> None:
        self.assertEqual(self.read(self.good), THREE)
        self.assertEqual(Receipts(str(self.path)).protocol, UNDER)
        self.assertEqual([number for number, _ in Receipts(str(self.path))], [2, 3, 4])

    def test_another_layout_of_the_same_values_is_the_same(self) -> None:
        lines = self.good.splitlines()
        loose = [json.dumps(dict(reversed(json.loads(line).items())), indent=None).encode() for line in lines[1:]]
        self.assertEqual(self.read(b"\n".join([lines[0], *loose, b""])), THREE)
        head = json.dumps(dict(reversed(json.loads(lines[0]).items()))).encode()
        self.assertEqual(self.read(b"\r\n".join([b" " + head, *loose, b""])), THREE)
        reordered = [lines[0], lines[4], lines[3], lines[1], lines[2], b""]
        self.assertEqual(self.read(b"\n".join(reordered)), [THREE[2], THREE[0], THREE[1]])

    def test_any_value_changed_by_hand_is_found(self) -> None:
        head, line, *rest = self.good.splitlines(keepends=True)
        record = json.loads(line)
        tried = []
        for key, value in record.items():
            other: Any = {
                "document": "b", "n_bytes": 4, "n_targets": 3, "check": "0" * 16, "nll_sum": "0x3p-4",
                "eos_nll": "0x1p-6", "n_windows": 2, "n_eos": 2, "n_unk": 1,
            }.get(key, value)  # fmt: skip
            if other == value:
                continue
            tried.append(key)
            changed = json.dumps({**record, key: other}, separators=(",", ":")).encode() + b"\n"
            with self.subTest(key):
                said = self.refusal(b"".join([head, changed, *rest]))
                self.assertTrue(said.startswith("line 2 must have the check of what it says"), said)
        self.assertEqual(len(tried), 9)

    def test_a_protocol_changed_by_hand_is_found(self) -> None:
        head, *rest = self.good.splitlines(keepends=True)
        changed = head.replace(b'"window":24', b'"window":12').replace(b'"stride":24', b'"stride":12')
        self.assertIn("line 1 must have the digest of its protocol, sha256:", self.refusal(b"".join([changed, *rest])))
        other = protocol(eos_id=3, eos_scored=True, unk_id=0, checkpoint="step-81")
        record = {"protocol": other.to_dict(), "digest": other.digest}
        mixed = b"".join([json.dumps(record).encode() + b"\n", *rest])
        self.assertTrue(self.refusal(mixed).startswith("line 2 must have the check of what it says under the protocol"))

    def test_a_line_taken_out_or_put_in_is_missed(self) -> None:
        lines = self.good.splitlines(keepends=True)
        count = "the file must hold the 3 receipts that its last line counts, got "
        self.assertEqual(self.refusal(b"".join([*lines[:2], *lines[3:]])), count + "2")
        more = checked(receipt("d", 1.0, 1, 1, **WINDOWS).to_dict(), check_key(UNDER))
        self.assertEqual(self.refusal(b"".join([*lines[:4], more, lines[4]])), count + "4")
        again = "the evaluation was not finished, and goes on when it is run again"
        rule = f"the file must end with the line that counts its receipts ({again}), got 3 receipts without it"
        self.assertEqual(self.refusal(b"".join(lines[:4])), rule)
        self.assertIn("line 6 must be a receipt, for the receipts were", self.refusal(self.good + lines[4]))

    def test_bad_lines_are_named(self) -> None:
        head, line, *rest = self.good.splitlines(keepends=True)
        record = json.loads(line)

        total = b'"nll_sum":"%b"' % record["nll_sum"].encode()

        def changed(**values: Any) -> bytes:
            return json.dumps({**record, **values}).encode() + b"\n"

        finite = 'must hold numbers that are finite, or the strings "inf" and "-inf"'
        total_rule = 'nll_sum must be a number, "inf" or an exact sum in hexadecimal'
        negative = "nll_sum must not be negative (an nll is minus a log-probability) beyond rounding"
        twice = line.replace(b'"n_targets":2', b'"n_targets":2,"n_targets":2')
        unchecked = json.dumps({key: value for key, value in record.items() if key != "check"}).encode() + b"\n"
        unit = "must be counted if and only if"
        for bad, message in [
            (b"{}\n", "line 2: record must have the key document, got []"),
            (b"[]\n", "line 2 must hold a JSON object, got []"),
            (b"\n", "line 2 must be JSON, got Expecting value at column 1"),
            (b"\xff\n", "line 2 must be UTF-8, got a bad byte at offset 0"),
            (twice, "line 2 must not name a key twice, got 'n_targets' again"),
            (line.replace(total, b'"nll_sum":NaN'), f"line 2 {finite}, got NaN at column 27"),
            (line.replace(total, b'"nll_sum":Infinity'), f"line 2 {finite}, got Infinity at column 27"),
            (changed(nll_sum="0.1"), f"line 2: {total_rule}, got '0.1'"),
            (changed(nll_sum="nan"), f"line 2: {total_rule}, got 'nan'"),
            (changed(nll_sum=True), "line 2: nll_sum must be a number, got True"),
            (changed(nll_sum=-1), f"line 2: {negative}, got -1.0"),
            (changed(n_targets=2.0), "line 2: n_targets must be a whole number, got 2.0"),
            (changed(n_targets="2"), "line 2: n_targets must be a whole number, got '2'"),
            (changed(n_targets=-2), "line 2: n_targets must be at least 0, got -2"),
            (changed(n_targets=0), "line 2: n_targets must be at least 1 where nll_sum is not 0, got 0"),
            (changed(n_documents=0), "line 2: n_documents must be 1, for a receipt is of one document, got 0"),
            (changed(n_documents=2), "line 2: n_documents must be 1, for a receipt is of one document, got 2"),
            (changed(n_bytes=None), f"line 2: n_bytes {unit} 'bytes' is among the protocol's units, got None"),
            (changed(n_chars=2), f"line 2: n_chars {unit} 'chars' is among the protocol's units, got 2"),
            (changed(document=None), f"line 2: record must have the key document, got {sorted(record)!r:.20}"),
            (changed(document=["a"]), "line 2: document must be text or a whole number, got ['a']"),
            (changed(loss=2), "line 2: record must have no keys but document, nll_sum, n_targets, "),
            (head, "line 2 must be a receipt under the protocol of line 1 (were two files put together?), got 'sha"),
            (b'{"end":{"n_documents":3}}\n', "line 2 must have the keys end.n_documents and check, got {'end': "),
            (unchecked, "line 2 must have a check, as "),
            (b" " * LONGEST_LINE + line, "line 2 must be at most 1,048,576 bytes long, got a longer one"),
            (b" " * LONGEST_LINE, "line 2 must be at most 1,048,576 bytes long, got a longer one"),
        ]:  # fmt: skip
            with self.subTest(message):
                self.assertIn(message, self.refusal(b"".join([head, bad, *rest])))
        self.assertEqual(self.refusal(b""), "the file must hold at least one receipt, got 0")

    def test_what_is_no_file_is_refused(self) -> None:
        with self.assertRaises(TypeError) as caught:
            Receipts(3)  # type: ignore[arg-type]
        self.assertEqual(str(caught.exception), "Receipts: source must be the path of a file, or an open one, got 3")

    def test_a_file_that_ends_anywhere_too_early_is_refused(self) -> None:
        for end in self.ends()[:-1]:
            with self.subTest(end):
                self.refusal(self.good[:end])


class GoingOn(FileCase):
    def go_on(self, data: bytes, under: Any = UNDER) -> bytes:
        self.path.write_bytes(data)
        with ReceiptLog(str(self.path), under) as log:
            for each in THREE:
                if each.document not in log.done:
                    log.write(each)
            log.end()
        return self.path.read_bytes()

    def test_from_wherever_it_ended_the_file_is_made_the_same(self) -> None:
        for end in self.ends():
            with self.subTest(end):
                self.assertEqual(self.go_on(self.good[:end]), self.good)

    def test_only_what_is_missing_is_written(self) -> None:
        lines = self.good.splitlines(keepends=True)
        self.path.write_bytes(b"".join(lines[:3]) + lines[3][:-1])
        with ReceiptLog(str(self.path), UNDER) as log:
            self.assertEqual(log.done, {THREE[0].document, THREE[1].document})
            self.assertEqual(self.path.read_bytes(), b"".join(lines[:3]))

    def test_another_protocol_or_file_is_refused_and_left_as_it_is(self) -> None:
        lines = self.good.splitlines(keepends=True)
        distinct = "name a document that no line before it names"
        for data, message in [
            (self.good.replace(b'"n_targets":4', b'"n_targets":5'), "line 4 must have the check"),
            (self.good[:-1] + b"x\n", "line 5 must be JSON, got "),
            (lines[0] + lines[1] * 2 + lines[2][:9], f"line 3 must {distinct}, got 'a'"),
            (b"my only copy of something", "the file must begin with a protocol, to be gone on with, got none"),
            (b"{}\n", "the file must begin with a protocol, to be gone on with, got none"),
            (self.good[:200] + b"\n", "line 1 must be JSON, got "),
            (b"\n", "the file must hold at least one receipt, got 0"),
            (self.good + b"my own note", "line 6 must be whole, with a newline at its end"),
            (self.good + lines[1][:40], "line 6 must be whole, with a newline at its end"),
            (b"".join(lines[:3]) + b"my own note", "line 4 must be whole, with a newline at its end"),
        ]:  # fmt: skip
            with self.subTest(message), self.assertRaises((ValueError, TypeError)) as caught:
                self.go_on(data)
            self.assertIn(f"{self.path}: {message}", str(caught.exception))
            self.assertEqual(self.path.read_bytes(), data)
        with self.assertRaises(ValueError) as caught:
            self.go_on(self.good[:-30], protocol(eos_id=3, eos_scored=True, unk_id=0, looks=1, corpus="v2"))
        rule = "the file must be of this protocol, to be gone on with, got one that differs in corpus 'v1', looks 0"
        self.assertEqual(str(caught.exception), f"{self.path}: {rule}")
        self.assertEqual(self.path.read_bytes(), self.good[:-30])

    def test_one_run_at_a_time_writes_a_file(self) -> None:
        with ReceiptLog(self.path, UNDER), self.assertRaises(ValueError) as caught:
            ReceiptLog(self.path, UNDER)
        message = f"{self.path}: the file must be written by one run at a time, got another one"
        self.assertEqual(str(caught.exception), message)
        with ReceiptLog(self.path, UNDER) as log:
            self.assertEqual([each for _, each in log.receipts()], THREE)

    def test_what_could_not_be_read_is_not_written(self) -> None:
        before = self.good[: self.good.rindex(b'{"end"')]
        self.path.write_bytes(before)
        with ReceiptLog(self.path, UNDER) as log:
            for message, bad in [
                ("ReceiptLog: document must have a receipt of at most", receipt("x" * LONGEST_LINE, 1.0, 1, 1)),
                ("Receipt: n_bytes must be counted if and only if", receipt("x", 1.0, 1)),
                ("Receipt: nll_sum must not be negative", receipt("x", -1.0, 1, 1)),
            ]:
                with self.subTest(message), self.assertRaises(ValueError) as caught:
                    log.write(bad)
                self.assertIn(message, str(caught.exception))
        self.assertEqual(self.path.read_bytes(), before)

    def test_a_document_has_one_receipt_and_none_comes_after_the_end(self) -> None:
        with ReceiptLog(None, UNDER) as log:
            log.write(THREE[0])
            for message in ("have one receipt, got 'a'", "be one of those that were counted at the end, got -17"):
                with self.subTest(message), self.assertRaises(ValueError) as caught:
                    log.write(THREE[0] if "one receipt" in message else THREE[2])
                self.assertEqual(str(caught.exception), f"ReceiptLog: document must {message}")
                log.end()
            log.end()
            self.assertEqual([each for _, each in log.receipts()], THREE[:1])


if __name__ == "__main__":
    unittest.main()
