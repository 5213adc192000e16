"""Reports: the figures of the seed documents, sums that do not depend on the way they are read, and what is refused."""

import json
import random
import tempfile
import unittest
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from math import exp, inf, log
from pathlib import Path
from typing import Any
from unittest import mock

from refcalc import ExactSum, Receipt, Report, Tally
from refcalc._refusal import NoComparison
from refcalc.evaluation.criteria import read_criteria
from refcalc.evaluation.figures import Check, checks, figures
from refcalc.evaluation.reading import LONGEST_LINE, Receipts
from refcalc.evaluation.totals import Totals
from refcalc.units import uniform_nll
from tests.evaluation.small import protocol, receipt, write

COUNTED = protocol(eos_id=3, eos_scored=True, unk_id=0, units=("bytes", "chars", "words"), bos="first", bos_id=1)


class ReportCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name: str, receipts: Iterable[Receipt], **fields: Any) -> str:
        return write(self.folder / name, protocol(**fields), *receipts)

    def report(self, *receipts: Receipt, **fields: Any) -> Report:
        return Report.of(self.file("receipts.jsonl", receipts, **fields))

    def assert_near(self, value: float, printed: str) -> None:
        """Assert that a value rounds to the digits that are printed."""
        digits = len(printed.partition(".")[2])
        self.assertEqual(f"{value:.{digits}f}", printed)


class SeedFigures(ReportCase):
    def test_two_documents_that_check_each_other(self) -> None:
        report = self.report(receipt("a", 6.0, 2, 3), receipt("b", 9.0, 4, 7))
        found = report.figures
        self.assertEqual(found["mean_nll"][:4], (2.5, 15.0, "nats", 6))
        self.assert_near(found["perplexity"].value, "12.182494")
        self.assert_near(found["bits_per_byte"].value, "2.164043")
        self.assertEqual((found["bits_per_byte"].denominator, found["bits_per_byte"].counted), (10, "n_bytes"))
        self.assertEqual(report.macro_mean_nll, 2.625)
        self.assertLess(abs(log(found["perplexity"].value) - 2.5), 1e-12)
        self.assertLess(abs(found["bits_per_byte"].value * 10 * log(2) - 15.0), 1e-12)

    def test_the_test_split_of_the_project_with_its_baselines(self) -> None:
        """Four documents of 63 bytes, 119 targets, nll sum 401.284752; V = 290."""
        sizes, share = [30, 30, 30, 29], 401.284752 / 119
        ours = [receipt(i, share * n, n, 63) for i, n in enumerate(sizes)]
        unigram = [receipt(i, 4.399566 * n, n, 63) for i, n in enumerate(sizes)]
        other = self.file("unigram.jsonl", reversed(unigram), checkpoint="add-one unigram")
        report = Report.of(self.file("ours.jsonl", ours), baselines={"unigram": other})
        self.assert_near(report.total.mean_nll, "3.372141")
        self.assert_near(report.total.perplexity, "29.140844")
        self.assert_near(report.total.bits_per_byte, "2.297347")
        self.assertEqual((report.total.n_bytes, report.total.n_targets), (252, 119))
        self.assert_near(report.baselines["uniform"].mean_nll, "5.669881")
        self.assert_near(report.baselines["unigram"].mean_nll, "4.399566")
        self.assertEqual(report.baselines["uniform"].mean_nll, uniform_nll(290))
        self.assertIn("this model                 3.372141       29.14084       2.297347\n", str(report))

    def test_batches_of_one_and_nine(self) -> None:
        report = self.report(receipt("tail", 0.1, 1, 1), receipt("full", 18.0, 9, 9))
        self.assert_near(report.total.mean_nll, "1.81")
        self.assert_near(report.macro_mean_nll, "1.05")
        self.assert_near(report.total.perplexity, "6.11")
        self.assert_near(exp(report.macro_mean_nll), "2.86")

    def test_a_document_without_a_target_is_in_no_average(self) -> None:
        report = self.report(receipt("a", 2.0, 1, 1), receipt("b", 8.0, 2, 1), receipt("c", 0.0, 0, 1))
        self.assertEqual((report.macro_mean_nll, report.total.mean_nll, report.total.n_documents), (3.0, 10 / 3, 3))

    def test_the_smoothed_toy(self) -> None:
        report = self.report(Receipt("c EOS", ExactSum([log(8), log(4)]), 2, 1), vocab_size=4)
        self.assert_near(float(report.total.nll_sum), "3.465736")  # type: ignore[arg-type]
        self.assert_near(report.total.mean_nll, "1.732868")

    def test_unknown_words_stand_beside_the_total(self) -> None:
        """Of ten test characters two are unknown."""
        report = self.report(receipt("a", 20.0, 10, 30, n_unk=2, unk_nll=8.0), unk_id=0)
        part = report.to_dict()
        self.assertEqual(part["unknown"]["share_of_targets"], 0.2)
        self.assertEqual(part["unknown"]["share_of_nll"], 0.4)
        self.assertEqual((part["known"]["mean_nll"], report.total.mean_nll), (1.5, 2.0))

    def test_criteria_written_before_the_run(self) -> None:
        """ln 14210 = 9.56; test 3.695 is within 0.018 of validation 3.677; 5.33 bits per character, below 9.70."""
        toml = """
            ["does it learn"]
            metric = "mean_nll"
            below = "uniform"
            by = 5
            ["does it generalise"]
            metric = "mean_nll"
            within = 0.02
            of = "validation"
            ["does context help"]
            metric = "bits_per_char"
            below = 9.70
            by = 4.0
            ["is it perfect"]
            metric = "bits_per_char"
            below = 5.0
        """
        fields: dict[str, Any] = {"vocab_size": 14210, "units": ("chars",), "criteria": read_criteria(toml)}
        test = [Receipt("t", ExactSum([3695.0]), 1000, n_chars=1000)]
        validation = [Receipt("v", ExactSum([3677.0]), 1000, n_chars=1000)]
        ours = self.file("test.jsonl", test, **fields)
        other = self.file("validation.jsonl", validation, **{**fields, "split": "validation", "criteria": ()})
        report = Report.of(ours, splits={"validation": other})
        self.assert_near(report.baselines["uniform"].mean_nll, "9.56")
        self.assert_near(report.total.bits_per_char, "5.33")
        self.assertEqual([verdict.holds for verdict in report.verdicts], [True, True, True, False])
        self.assert_near(abs(report.verdicts[1].value - report.verdicts[1].reference), "0.018")  # type: ignore[operator]
        self.assertFalse(report.holds)
        without = Report.of(ours)
        self.assertEqual([verdict.holds for verdict in without.verdicts], [True, None, True, False])
        self.assertIn("NOT KNOWN      does it generalise: nats per target 3.695, within 0.02 of\n", str(without))


def many(n: int, seed: int) -> list[Receipt]:
    """Return receipts of every kind: with ids that JSON escapes, huge sums, negative by rounding, without targets."""
    rng = random.Random(seed)
    ids = ["é", 'a"b', "back\\slash", "new\nline", 5, -5, 0, "5", "\x7f", "日本", "x" * 300, 10**30]
    receipts = []
    for i in range(n):
        targets = int(rng.random() * 9)
        nlls = [rng.random() * 10.0 ** int(rng.random() * 40 - 20) for _ in range(targets)]
        if i % 17 == 0:
            nlls = [COUNTED.least_nll / 2.0] * targets
        ends, unknown, total = nlls[-1:], nlls[: i % 3], ExactSum(nlls)
        document, group = ids[i] if i < len(ids) else f"document {i}", f"group {i % 5}" if i % 11 == 0 else None
        counts = (targets, 3 * targets, 2 * targets, int(targets > 1), group, 1)
        receipts.append(
            Receipt(document, total, *counts, len(ends), ExactSum(ends), len(unknown), ExactSum(unknown))
        )
    return receipts


class Reading(ReportCase):
    def totals(self, path: str) -> Any:
        found = Totals(Receipts(path), worst=4)
        names = ("counts", "sums", "sum_of_means", "lengths", "worst", "below_zero", "ids", "n_documents")
        return {name: getattr(found, name) for name in names}

    def test_the_totals_are_those_of_fractions_and_of_lists(self) -> None:
        receipts = many(700, 1)
        found = self.totals(write(self.folder / "r.jsonl", COUNTED, *receipts))
        self.assertEqual(found["n_documents"], 700)
        for name in ("nll_sum", "eos_nll", "unk_nll"):
            want = sum((max(fraction(getattr(each, name)), Fraction(0)) for each in receipts), Fraction(0))
            self.assertEqual(fraction(found["sums"][name]), want, name)
        for name in ("n_targets", "n_bytes", "n_chars", "n_words", "n_windows", "n_eos", "n_unk"):
            self.assertEqual(found["counts"][name], sum(getattr(each, name) for each in receipts), name)
        means = [(each.tally.mean_nll, each.document, each.n_targets) for each in receipts if each.n_targets]
        self.assertEqual([w[0] for w in found["worst"]], sorted((m for m, _, _ in means), reverse=True)[:4])
        self.assertLessEqual(set(found["worst"]), set(means))
        self.assertAlmostEqual(float(found["sum_of_means"]) / sum(m for m, _, _ in means), 1.0, delta=1e-13)
        self.assertEqual(found["below_zero"], sum(float(each.nll_sum) < 0.0 for each in receipts))
        self.assertGreater(found["below_zero"], 10)
        self.assertEqual(sorted(found["lengths"].elements()), sorted(each.n_targets for each in receipts))

    def test_neither_the_order_nor_the_layout_changes_a_bit(self) -> None:
        path = write(self.folder / "r.jsonl", COUNTED, *many(700, 2))
        want, report = self.totals(path), Report.of(path).to_dict()
        head, *lines = Path(path).read_bytes().splitlines(keepends=True)
        for seed in range(3):
            random.Random(seed).shuffle(lines)
            spaced = [json.dumps(json.loads(line)).encode() + b"\n" for line in lines]
            loose = spaced[: 200 * seed] + lines[200 * seed :]
            Path(path).write_bytes(b"".join([head, *loose]))
            with self.subTest(seed):
                self.assertEqual(self.totals(path), want)
                self.assertEqual(Report.of(path).to_dict(), report)

    def test_lines_as_they_are_written_are_not_read_one_by_one(self) -> None:
        """Otherwise it would be right, and slow."""
        plain = [receipt(i, 1.0 + i, 2, 3) for i in range(2000)]
        path = self.file("plain.jsonl", plain)
        with mock.patch.object(Receipts, "receipt", autospec=True, side_effect=Receipts.receipt) as slow:
            self.assertEqual(Report.of(path).total.n_targets, 4000)
        self.assertLess(slow.call_count, 300)  # those of the last block, whose last line counts the receipts

    def test_a_value_changed_in_a_line_that_looks_as_it_was_written_is_found(self) -> None:
        path = self.file("r.jsonl", [receipt(i, 1.0 + i, 2, 3) for i in range(2000)])
        data = Path(path).read_bytes()
        for number in (2, 1000, 2001):
            lines = data.splitlines(keepends=True)
            lines[number - 1] = lines[number - 1].replace(b'"n_bytes":3', b'"n_bytes":4')
            Path(path).write_bytes(b"".join(lines))
            with self.subTest(number), self.assertRaises(ValueError) as caught:
                Report.of(path)
            self.assertIn(f"line {number} must have the check of what it says", str(caught.exception))

    def test_the_worst_of_many_that_are_close_and_equal(self) -> None:
        values = [1.0 + (i * 7919 % 2003) / 4096.0 for i in range(3000)]
        found = Report.of(self.file("r.jsonl", [receipt(i, 2.0 * x, 2, 3) for i, x in enumerate(values)])).worst
        self.assertEqual([mean for mean, _, _ in found], sorted(values, reverse=True)[:5])
        equal = Report.of(self.file("equal.jsonl", [receipt(f"{i:04}", 2.0, 2, 3) for i in range(3000)])).worst
        self.assertEqual([document for _, document, _ in equal], ["2999", "2998", "2997", "2996", "2995"])

    def test_an_infinite_document_makes_the_mean_infinite_and_no_more(self) -> None:
        infinite, other = receipt("a", inf, 2, 3, n_unk=1, unk_nll=inf), receipt("b", 1.0, 1, 3, n_unk=0, unk_nll=0.0)
        report = self.report(infinite, other, unk_id=0)
        self.assertEqual((report.total.mean_nll, report.macro_mean_nll, report.known), (inf, inf, None))
        self.assertEqual(report.to_dict()["figures"]["perplexity"]["value"], "inf")
        self.assertEqual((report.checks, report.worst[0]), ([], (inf, "a", 2)))
        json.dumps(report.to_dict(), allow_nan=False)
        str(report)

    def test_the_spread_of_lengths_by_counting(self) -> None:
        for sizes in ([5], [1, 9], [3, 1, 2], [4, 1, 3, 2], [5, 4, 3, 2, 1], [7, 1, 2, 3, 4, 5, 6], [2] * 7 + [9]):
            report = self.report(*(receipt(i, 1.0, n, 1) for i, n in enumerate(sizes)))
            (self.folder / "receipts.jsonl").unlink()
            for share, value in zip((0, 0.25, 0.5, 0.75, 1), report.lengths, strict=True):
                self.assertGreaterEqual(sum(n <= value for n in sizes), share * len(sizes))
                self.assertLess(sum(n < value for n in sizes), max(share * len(sizes), 0.5))


def fraction(total: ExactSum) -> Fraction:
    sign = -1 if total.to_hex().startswith("-") else 1
    whole, _, power = total.to_hex().lstrip("-").partition("p")
    return sign * int(whole, 16) * Fraction(2) ** int(power)


class Refusals(ReportCase):
    def test_two_receipts_of_one_document(self) -> None:
        path = self.file("r.jsonl", [receipt(i, 1.0, 1, 1) for i in range(900)])
        lines = Path(path).read_bytes().splitlines(keepends=True)
        with self.assertRaises(ValueError) as caught:
            self.rewritten(path, [*lines[:700], lines[9], *lines[701:]])
        rule = "line 701 must name a document that no line before it names (line 10 does), got 8"
        self.assertEqual(str(caught.exception), f"{path}: {rule}")
        loose = json.dumps(json.loads(lines[9])).encode() + b"\n"
        with self.assertRaises(ValueError) as caught:
            self.rewritten(path, [*lines[:700], loose, *lines[701:]])
        self.assertEqual(str(caught.exception), f"{path}: {rule}")

    def rewritten(self, path: str, lines: list[bytes]) -> Report:
        Path(path).write_bytes(b"".join(lines))
        return Report.of(path)

    def test_a_line_without_end_is_not_held_in_memory(self) -> None:
        path = self.file("r.jsonl", [receipt(i, 1.0, 1, 1) for i in range(900)])
        data = Path(path).read_bytes()
        for bad in (b"x" * 3 * LONGEST_LINE, b"[" * 3 * LONGEST_LINE + b"\n"):
            Path(path).write_bytes(data + bad)
            with self.assertRaises(ValueError) as caught:
                Report.of(path)
            message = "line 903 must be at most 1,048,576 bytes long, got a longer one"
            self.assertEqual(str(caught.exception), f"{path}: {message}")

    def test_ids_with_equal_hashes_are_not_taken_for_one(self) -> None:
        path = self.file("r.jsonl", [receipt(i, 1.0, 1, 1) for i in ("1", 1, "a")])
        with mock.patch("refcalc.evaluation.totals.hash", lambda text: 7, create=True):
            self.assertEqual(Report.of(path).total.n_documents, 3)

    def test_what_is_no_evaluation(self) -> None:
        bare = self.folder / "bare.jsonl"
        bare.write_text('{"document": "a", "nll_sum": 1, "n_targets": 1}\n', encoding="utf-8")
        empty = self.file("empty.jsonl", [])
        for path, message in [
            (bare, "line 1 must hold the protocol, as ReceiptLog writes it, got none"),
            (empty, "the documents must have a scored target (nothing to average), got none"),
            (self.folder, "the receipts must be a file that can be read, got Is a directory"),
            (self.folder / "no", "the receipts must be a file that can be read, got No such file or directory"),
        ]:
            with self.subTest(message), self.assertRaises(ValueError) as caught:
                Report.of(str(path))
            self.assertEqual(str(caught.exception), f"{path}: {message}")

    def test_a_count_that_only_some_have(self) -> None:
        path = self.file("r.jsonl", [receipt("a", 1.0, 1, 1, n_windows=1), receipt("b", 1.0, 1, 1)])
        with self.assertRaises(ValueError) as caught:
            Report.of(path)
        rule = "the file must have n_windows in all of its 2 receipts or in none, got it in 1"
        self.assertEqual(str(caught.exception), f"{path}: {rule}")

    def test_other_baselines_and_splits_are_no_comparison(self) -> None:
        ours = self.file("ours.jsonl", [receipt("a", 1.0, 2, 3), receipt("b", 1.0, 1, 3)])
        under = f"the receipts must be under the protocol of {ours}, with"
        field = f"{under} window 24, stride 24, got window 12, stride 12"
        a, b = receipt("a", 1.0, 2, 3), receipt("b", 1.0, 1, 3)
        for name, receipts, fields, message in [
            ("window", [a, b], {"window": 12}, field),
            ("fewer", [a], {}, f"the receipts must have n_documents 2 as {ours} has, got 1"),
            ("bytes", [a, receipt("b", 1.0, 1, 4)], {}, f"the receipts must have n_bytes 6 as {ours} has, got 7"),
            ("ids", [a, receipt("c", 1.0, 1, 3)], {}, f"the receipts must be of the documents of {ours}, got others"),
        ]:
            path = self.file(f"{name}.jsonl", receipts, checkpoint="other", **fields)
            with self.subTest(name), self.assertRaises(NoComparison) as caught:
                Report.of(ours, baselines={"other": path})
            self.assertEqual(str(caught.exception), f"{path}: {message}")
        other = self.file("split.jsonl", [receipt("z", 1.0, 2, 3)], split="validation", checkpoint="other")
        with self.assertRaises(NoComparison) as caught:
            Report.of(ours, splits={"validation": other})
        rule = f"be under the protocol of {ours}, with checkpoint 'step-80', got checkpoint 'other'"
        self.assertEqual(str(caught.exception), f"{other}: the receipts must {rule}")
        again = self.file("again.jsonl", [a], looks=1)
        with self.assertRaises(NoComparison) as caught:
            Report.of(ours, splits={"validation": again})
        rule = f"be of another split than those of {ours}, got 'test' again"
        self.assertEqual(str(caught.exception), f"{again}: the receipts must {rule}")
        with self.assertRaises(ValueError) as caught:
            Report.of(ours, baselines={"uniform": ours})
        message = "Report.of: baselines must have other names than 'uniform', got 'uniform'"
        self.assertEqual(str(caught.exception), message)


class Checks(ReportCase):
    def test_every_figure_of_random_totals_is_multiplied_back(self) -> None:
        rng = random.Random(5)
        for _ in range(2000):
            scale = 10.0 ** (rng.random() * 600 - 320)
            targets, n_bytes = 1 + int(rng.random() * 10**6), 1 + int(rng.random() * 10**7)
            tally = Tally(rng.random() * scale, targets, n_bytes=n_bytes, n_chars=7, n_words=3)
            self.assertEqual([check for check in checks(figures(tally)) if not check.holds], [])

    def test_a_figure_over_the_wrong_count_is_found(self) -> None:
        found = figures(Tally(15.0, 6, n_bytes=10))
        wrong = {**found, "bits_per_byte": found["bits_per_byte"]._replace(denominator=6)}
        self.assertEqual([check.holds for check in checks(wrong)], [True, True, False, True])
        off = {**found, "perplexity": found["perplexity"]._replace(value=found["perplexity"].value * (1 + 1e-14))}
        self.assertEqual([check.holds for check in checks(off)], [False, True, True, True])
        self.assertFalse(Check("", float("nan"), 1.0, 1.0).holds)


class Warnings(ReportCase):
    def test_each_says_what_is_the_matter(self) -> None:
        one = receipt("a", 1.0, 1, 3)
        unended, ended = (receipt("a", 1.0, 1, 3, n_eos=n, eos_nll=0.0) for n in (0, 1))
        looked = "this split (test) was looked at 3 times before this run: used to choose, a test"
        for receipts, fields, words in [
            ([receipt("a", 7.0, 1, 3)], {}, "the mean nll is above ln V"),
            ([one], {"looks": 3}, looked),
            ([receipt("a", -1e-6, 1, 3)], {}, "nll sums below 0 by rounding, which count as 0: 1"),
            ([one, receipt("b", 0.0, 0, 3)], {}, "documents without a scored target: 1"),
            ([unended], {"eos_id": 2, "eos_scored": True}, "a text that were scored: 0, where the protocol has 1"),
            ([ended], {"eos_id": 2}, "ends of a text that were scored: 1, where the protocol has 0"),
            ([one], {}, "without a BOS a document's first token is no target"),
        ]:
            with self.subTest(words):
                report = self.report(*receipts, **fields)
                (self.folder / "receipts.jsonl").unlink()
                self.assertEqual(sum(words in warning for warning in report.warnings), 1, report.warnings)
                self.assertIn("warning: ", str(report))
        sound = self.report(receipt("a", 1.0, 1, 3), bos="first", bos_id=1)
        self.assertEqual(sound.warnings, ())


class Text(ReportCase):
    def test_it_fits_80_columns_whatever_it_holds(self) -> None:
        big = [
            Receipt(f"{'long id ' * 20}{i}", ExactSum([1e13 + i]), 10**13, 10**14, 10**14, 10**13, n_windows=10**9,
                    n_eos=10**6, eos_nll=ExactSum([1e9]), n_unk=0, unk_nll=ExactSum())
            for i in range(7)
        ]  # fmt: skip
        wide_open = {"split": "a split " * 20, "window": 10**9, "stride": 1, "vocab_size": 10**9, "looks": 10**9}
        under = replace(COUNTED, **wide_open)
        text = str(Report.of(write(Path(self.folder / "r.jsonl"), under, *big)))
        wide = [line for line in text.splitlines()[1:] if len(line) > 80]
        self.assertEqual(wide, [])

    def test_it_has_every_figure_with_its_fraction_and_the_note(self) -> None:
        text = str(self.report(receipt("a", 6.0, 2, 3), receipt("b", 9.0, 4, 7)))
        for line in (
            "nats per target              2.5   15 nats / 6 targets",
            "perplexity             12.182494   exp(15 nats / 6 targets)",
            "bits per byte          2.1640426   21.64042561 bits / 10 bytes",
            "a                                                        3                   2",
            "multiplied back: 4 of 4 figures give the nll sum again",
            "split       test, not looked at before",
            "note: only the canonical encoding of each text was scored: other sequences of",
        ):
            self.assertIn(f"\n{line}\n", text)


if __name__ == "__main__":
    unittest.main()
