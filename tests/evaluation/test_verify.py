"""verify as a whole: what is held against what, the mistake that is named, and what it says."""

import json
import os
import tempfile
import unittest
from math import exp, fsum, log, nextafter
from pathlib import Path
from typing import Any

from refcalc import ExactSum, verify
from refcalc.evaluation.log import ReceiptLog
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.readers.check import judged
from refcalc.evaluation.readers.records import Printed
from refcalc.evaluation.receipt import Receipt
from refcalc.evaluation.report import Report
from refcalc.evaluation.verify import Verification
from tests.evaluation.test_readers import Files, at, changed, numbers

SHARED = Path(os.environ.get("REFCALC_DATA", Path(__file__).parents[3] / "shared" / "data"))
TWO = ({"nll_sum": 6.0, "n_targets": 2, "n_bytes": 3}, {"nll_sum": 9.0, "n_targets": 4, "n_bytes": 7})


class Judged(unittest.TestCase):
    def verdict(self, published: Any, *recomputed: float, **options: Any) -> tuple[bool, str]:
        check = judged("", "", published, recomputed, **options)
        return check.agrees, check.verdict

    def test_a_number_stands_for_all_that_is_rounded_to_it(self) -> None:
        agrees = (True, "all printed digits agree")
        for published, number in (
            (Printed("12.18"), 12.182494), (Printed("12.18"), 12.1751), ("2.5", 2.4501), ("2.50", 2.4951), ("3", 2.51),
            (Printed("1.200e-3"), 0.0012003), ("1e3", 1400.0), ("inf", float("inf")), (Printed("2.5"), 2.5),
            (Printed("2.37"), 2.374), (Printed("0.94"), 0.9351),
        ):  # fmt: skip
            self.assertEqual(self.verdict(published, number), agrees, published)
        for published, number in (
            (Printed("12.18"), 12.1749), ("2.50", 2.4949), ("3", 2.49), ("inf", 3.0), ("3", float("inf")),
            (Printed("2.5"), 2.5001), (Printed("2.37"), 2.3751), (Printed("12"), 12.1), (Printed("1.25e1"), 12.51),
        ):  # fmt: skip
            self.assertFalse(self.verdict(published, number)[0], published)

    def test_a_number_printed_with_all_of_its_digits_must_be_met_to_the_last(self) -> None:
        self.assertTrue(self.verdict(Printed("12.18"), 12.18, exact=True)[0])
        self.assertEqual(self.verdict(Printed("12.18"), nextafter(12.18, 13), exact=True), (False, "off by 1 ulp"))
        self.assertTrue(self.verdict(1.5, 1.4, 1.5)[0])  # one of several orders of summation

    def test_how_far_off(self) -> None:
        self.assertEqual(self.verdict(1.25, 1.0), (False, "off by 0.25, 25 %"))
        self.assertEqual(self.verdict(5, 4, exact=True), (False, "off by +1"))
        self.assertEqual(self.verdict(1.25, 1.0, error=0.25, why="x"), (True, "agrees within x"))
        self.assertTrue(self.verdict("2.50", 2.4941, error=0.001)[0])  # of 2.495 and more, and that may be off
        self.assertFalse(self.verdict("2.50", 2.4939, error=0.001)[0])


class Published(Files):
    def test_the_worked_figures_agree(self) -> None:
        figures = {"mean_nll": "2.5", "perplexity": "12.182494", "bits_per_byte": "2.164043", "n_targets": "6"}
        found = self.verify(*TWO, reported=figures)
        self.assertTrue(found.agrees)
        self.assertEqual([check.quantity for check in found.checks], [*figures])

    def test_the_mean_of_document_means_is_named(self) -> None:
        found = self.verify(*TWO, reported={"mean_nll": 2.625})
        self.assertFalse(found.agrees)
        self.assertEqual(found.checks[0].mistakes[0], ("macro-vs-micro",))
        self.assertIn("2.625 is not the right mean_nll, which is 2.5.", str(found))

    def test_mistakes_within_the_tokens_are_named(self) -> None:
        log_ = [{"logprobs": [None, -0.5, -1.25]}, {"logprobs": [None, -3.0, -0.125, -2.0]}]
        for value, quantity, kind in (
            (exp(6.875 / 5 / log(2)), "perplexity", "e-to-the-bits"),
            (6.875 / 5, "bits_per_token", "bits-without-ln2"),
        ):
            found = self.verify(*log_, reported={quantity: value})
            self.assertFalse(found.agrees)
            self.assertIn((kind,), found.checks[0].mistakes)

    def test_a_summary_line_and_a_file_beside_the_log_are_held_against_it(self) -> None:
        for ppl, agrees in ((12.1825, True), (12.1835, False)):
            self.assertEqual(self.verify(*TWO, {"summary": {"ppl": ppl}}).agrees, agrees)
            self.write(*TWO)
            beside = Path(self.path).with_name("published.json")
            for text in (json.dumps({"model": "x", "ppl": ppl}), json.dumps({"ppl": ppl, "loss": 2.5}, indent=2)):
                beside.write_text(text)
                self.assertEqual(verify([self.path, beside]).agrees, agrees)

    def test_a_number_of_one_decimal_that_may_have_been_rounded_is_said_to_be_so(self) -> None:
        (check,) = self.verify(*TWO, {"summary": {"ppl": 12.2}}).checks
        self.assertEqual((check.agrees, check.diagnosis), (False, None))
        self.assertEqual(check.verdict, "off by 0.0175, 0.144 %; if it was rounded, it agrees")

    def test_several_files_are_one_log(self) -> None:
        other = Path(self.path).with_name("other.jsonl")
        other.write_text(json.dumps(TWO[1]))
        found = verify([self.write(TWO[0]), other], reported={"mean_nll": 2.5, "n_documents": 2})
        self.assertTrue(found.agrees)

    def test_rounding_in_the_dtype_of_the_publisher_is_forgiven(self) -> None:
        nlls = [0.1 * i for i in range(1, 50)]
        mean = fsum(nlls) / 49
        for error, dtype, agrees in (
            (1e-15, "float64", True), (1e-8, "float64", False), (1e-8, "float32", True), (1e-4, "float32", False),
        ):  # fmt: skip
            for quantity, value in (("mean_nll", mean), ("perplexity", exp(mean)), ("bits_per_token", mean / log(2))):
                found = self.verify({"nlls": nlls}, reported={quantity: value * (1 + error)}, dtype=dtype)
                with self.subTest(quantity, error=error, dtype=dtype):
                    self.assertEqual(found.agrees, agrees)

    def test_a_perplexity_may_be_off_by_more_the_higher_it_is(self) -> None:
        for scale, agrees in ((0.5, False), (20.0, True)):
            nlls = [scale + i / 7000 for i in range(49)]
            ppl = exp(fsum(nlls) / 49) * (1.0 + 4e-5)
            self.assertEqual(self.verify({"nlls": nlls}, reported={"perplexity": ppl}, dtype="float32").agrees, agrees)

    def test_a_number_that_is_off_as_float32_is_gets_a_hint(self) -> None:
        for error, hint in ((1e-8, True), (1e-3, False)):
            found = self.verify({"nlls": [0.1, 0.2], "mean_nll": fsum([0.1, 0.2]) / 2 * (1 + error)})
            self.assertFalse(found.agrees)
            self.assertEqual("may have been computed in float32" in " ".join(found.warnings), hint)

    def test_what_the_log_does_not_count_is_not_judged(self) -> None:
        found = self.verify({"nlls": [1.5]}, {"summary": {"bpb": 1.5, "n_words": 2, "loss": 1.5}})
        self.assertEqual(
            found.unverified,
            {
                f"{self.path}: line 2: bits_per_byte": "the log does not count n_bytes",
                f"{self.path}: line 2: n_words": "the log does not count n_words",
            },
        )
        self.assertTrue(found.agrees)

    def test_claims_about_documents_are_counted_and_shown_where_they_differ(self) -> None:
        lines = [{"id": i, "nlls": [1.5, 0.5], "mean_nll": 1.0 + (i == 7)} for i in range(30)]
        found = self.verify(*lines)
        self.assertEqual(found.n_documents_agree, 29)
        self.assertEqual([(check.place, check.recomputed) for check in found.checks], [(f"{self.path}: line 8", 1.0)])
        self.assertEqual(len(self.verify(*[{**line, "mean_nll": 3} for line in lines]).checks), 20)

    def test_arguments_that_are_no_use_are_refused(self) -> None:
        path = self.write(*TWO)
        names = (
            "mean_nll, nll_sum, perplexity, bits_per_token, bits_per_byte, bits_per_char, byte_perplexity, "
            "word_perplexity, n_targets, n_bytes, n_chars, n_words, n_documents"
        )
        for arguments, options, message in (
            ([], {}, "paths must name at least one file, got []"),
            (path, {"vocab_size": 0}, "vocab_size must be at least 1, got 0"),
            (path, {"dtype": "int8"}, "dtype must be one of 'float64', 'float32', 'float16', 'bfloat16', got 'int8'"),
            (path, {"reported": {"ppl": "x"}}, "reported['ppl'] must be a number, got 'x'"),
            (path, {"reported": {"ppl": float("nan")}}, "reported['ppl'] must be a number, got nan"),
            (path, {"reported": {"f1": 1}}, f"reported['f1'] must name a quantity or a count ({names}), got 'f1'"),
            (
                path,
                {"reported": {"word_perplexity": "3"}},
                "reported['word_perplexity'] must be what the log can give (the log does not count n_words), got '3'",
            ),
        ):
            with self.subTest(options), self.assertRaises(ValueError) as caught:
                verify(arguments, **options)  # type: ignore[arg-type]
            self.assertEqual(str(caught.exception), f"verify: {message}")
        with self.assertRaisesRegex(ValueError, "paths must name each file once"):
            verify([path, path])
        with self.assertRaisesRegex(ValueError, "run.log: the file must come with a log, of which its numbers were"):
            verify(self.write({"ppl": 3.0}))

    def test_a_verification_has_no_truth_value(self) -> None:
        with self.assertRaisesRegex(TypeError, "ask for .agrees"):
            bool(self.verify(*TWO))


class Reports(Files):
    def setUp(self) -> None:
        super().setUp()
        protocol = Protocol(
            vocab_size=290, tokenizer="t", corpus="c", checkpoint="k", split="test", window=8, units=("bytes",)
        )
        with ReceiptLog(self.path, protocol) as log_:
            log_.write(Receipt("a", ExactSum([6.0]), 2, n_bytes=3, n_windows=1))
            log_.write(Receipt("b", ExactSum([9.0]), 4, n_bytes=7, n_windows=1))
            log_.end()
        self.report = Report.of(self.path).to_dict()
        self.beside = Path(self.path).with_name("report.json")

    def verify_with(self, report: Any) -> Verification:
        self.beside.write_text(json.dumps(report), encoding="utf-8")
        return verify([self.path, self.beside])

    def test_a_report_agrees_with_its_receipts_and_each_change_to_a_number_is_found(self) -> None:
        self.assertTrue(self.verify_with(self.report).agrees)
        paths = numbers(self.report)
        self.assertGreater(len(paths), 40)
        for path in paths:
            other = at(self.report, path) * 1.001 + 1
            wrong = changed(self.report, lambda r: at(r, path[:-1]).__setitem__(path[-1], other))  # noqa: B023
            with self.subTest(path):
                self.assertFalse(self.verify_with(wrong).agrees)

    def test_a_report_may_name_any_number_of_the_worst_documents(self) -> None:
        for n in (0, 1, 2):
            self.assertTrue(self.verify_with(Report.of(self.path, worst=n).to_dict()).agrees)
        wrong = {**self.report, "worst": self.report["worst"][1:]}
        self.assertFalse(self.verify_with(wrong).agrees)

    def test_receipts_of_other_runs_leave_the_rest_to_be_held(self) -> None:
        report = Report.of(self.path, baselines={"itself": self.path}).to_dict()
        self.assertTrue(self.verify_with(report).agrees)
        for key in ("warnings", "macro_mean_nll", "checks"):
            self.assertFalse(self.verify_with({**report, key: None}).agrees, key)

    def test_a_part_of_a_report_of_another_kind_is_refused_by_its_name(self) -> None:
        for key in ("baselines", "splits", "figures", "total"):
            with self.subTest(key), self.assertRaises(TypeError) as caught:
                self.verify_with({**self.report, key: 7})
            self.assertEqual(str(caught.exception), f"{self.beside}: line 1: {key} must be an object, got 7")

    def test_a_report_of_another_protocol_is_found(self) -> None:
        wrong = {**self.report, "protocol_digest": "sha256:0"}
        self.assertIn("protocol_digest says 'sha256:0'", self.verify_with(wrong).contradictions[0])


class Words(Files):
    def test_the_table_fits_80_columns_and_the_verdict_comes_last(self) -> None:
        wide = {"perplexity": 12.182493960703473, "byte_perplexity": 4.4816890703380645, "bits_per_byte": 2.164}
        for reported, last in (
            (wide, "Agrees."),
            ({**wide, "mean_nll": "1.7"}, "Disagrees: 1 of 4 numbers are not what the log gives."),
            ({}, "Complete: nothing was published to be compared."),
        ):
            lines = str(self.verify(*TWO, reported=reported)).split("\n")
            self.assertEqual(lines[-1], last)
            self.assertLessEqual(max(map(len, lines[1:])), 80)
        same = self.verify({"id": 1, "nlls": [1.5]}, {"id": 1, "nlls": [1.5]})
        self.assertEqual(str(same).split("\n")[-1], "Disagrees: the files contradict themselves.")

    def test_numbers_and_verdicts_stand_side_by_side(self) -> None:
        text = str(self.verify(*TWO, reported={"perplexity": "12.18", "mean_nll": "2.625"}))
        self.assertIn("2 documents, 6 targets, 10 bytes; nll sum 15.0 nats\n  mean_nll        2.5\n", text)
        self.assertIn("perplexity     12.18 12.182493960703473  all printed digits agree\n", text)
        self.assertIn("mean_nll       2.625                2.5  off by 0.125, 5 %\n", text)
        self.assertIn("  macro-vs-micro: 2.625", text)

    def test_one_of_something_is_in_the_singular(self) -> None:
        text = str(self.verify({"nll_sum": 6.0, "n_targets": 2, "n_bytes": 1}))
        self.assertIn("1 document, 2 targets, 1 byte; nll sum 6.0 nats\n", text)

    def test_what_json_can_hold_says_the_same(self) -> None:
        record = self.verify({"logprobs": ["-inf"]}, reported={"mean_nll": "inf"}).to_dict()
        self.assertTrue(record["agrees"])
        self.assertEqual(record["recomputed"]["perplexity"], float("inf"))
        self.assertEqual(record["checks"][0]["published"], "inf")


class SharedLogs(unittest.TestCase):
    def setUp(self) -> None:
        if not SHARED.exists():
            self.skipTest("the shared logs are not here")

    def test_the_echo_of_a_server_is_worse_than_a_uniform_guess(self) -> None:
        found = verify(SHARED / "llama_cpp_echo_completions.jsonl", vocab_size=49152)
        assert found.tally is not None
        nlls = []
        for line in (SHARED / "llama_cpp_echo_completions.jsonl").read_text("utf-8").splitlines():
            nlls += [-x for x in json.loads(line)["choices"][0]["logprobs"]["token_logprobs"][1:]]
        self.assertEqual((found.tally.mean_nll, found.tally.n_targets), (fsum(nlls) / len(nlls), 408))
        self.assertIn("the mean nll 10.9386 is above ln V = 10.8027, that of a uniform guess", found.warnings[0])
        self.assertTrue(found.agrees)

    def test_each_log_probability_of_the_echo_differs_from_its_copy_when_it_is_changed(self) -> None:
        lines = (SHARED / "llama_cpp_echo_completions.jsonl").read_text("utf-8").splitlines()
        first = json.loads(lines[0])
        with tempfile.TemporaryDirectory() as folder:
            for t in range(1, 144, 11):
                wrong = changed(first, lambda r: r["choices"][0]["logprobs"]["token_logprobs"].__setitem__(t, -1.0))  # noqa: B023
                path = Path(folder, "echo.jsonl")
                path.write_text("\n".join([json.dumps(wrong), *lines[1:]]))
                self.assertEqual(verify(path).n_contradictions, 1)

    def test_the_chat_completion(self) -> None:
        found = verify(SHARED / "llama_cpp_chat_completion.json")
        assert found.tally is not None
        self.assertEqual((found.format, found.tally.n_targets), ("chat completions", 16))


if __name__ == "__main__":
    unittest.main()
