"""`refcalc bootstrap`, run as people run it: arguments in, text and an exit status out."""

import contextlib
import io
import json
import math
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from refcalc import Tally, bootstrap, paired_bootstrap
from refcalc.cli import main
from refcalc.evaluation.receipt import KEYS
from refcalc.resampling.documents import MOST_ENUMERATED

THREE = [("a", 2.0, 2), ("b", 18.0, 9), ("c", 8.0, 4)]


def line(document: Any, nll_sum: Any, n_targets: int, **more: Any) -> str:
    return json.dumps({"document": document, "nll_sum": nll_sum, "n_targets": n_targets, **more})


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class CommandCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.write("receipts.jsonl", "\n".join(line(*each) for each in THREE) + "\n")

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def run_on(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([*arguments])
        return status, out.getvalue(), err.getvalue()

    def report(self, *arguments: str) -> dict[str, Any]:
        status, out, err = self.run_on(*arguments, "--json")
        self.assertEqual((status, err), (0, ""))
        result: dict[str, Any] = json.loads(out)
        return result


class Documents(CommandCase):
    def test_the_worked_example_of_the_seed_document(self) -> None:
        report = self.report("bootstrap", self.path, "--seed", "17", "--method", "choice")
        self.assertEqual((report["observed"], report["low"], report["high"]), (28 / 15, 1.0, 2.0))
        self.assertEqual(report["perplexity"]["low"], math.e)
        self.assertEqual(len(report["warnings"]), 1)

    def test_the_table_has_the_numbers_and_the_warning(self) -> None:
        status, out, err = self.run_on("bootstrap", self.path, "--method", "exact")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("\ndrawn           every resample, exact, percentile interval\n", out)
        self.assertIn("\nper target            observed     95 % from            to\n", out)
        self.assertIn("\nnats                   1.86667             1             2\n", out)
        self.assertIn("\nwarning: only 3 documents to draw from: below 8 the interval is not to be trusted", out)

    def test_a_tally_with_a_document_id_is_a_receipt(self) -> None:
        tallies = [Tally(1.5 + i, 3, n_bytes=7 + i, n_documents=1) for i in range(9)]
        text = "\n".join(json.dumps({"document": i, "group": i % 4, **t.to_dict()}) for i, t in enumerate(tallies))
        report = self.report("bootstrap", self.write("t.jsonl", text), "--per", "byte", "--draws", "50", "--groups")
        pairs = [(float(t.nll_sum), t.n_bytes) for t in tallies]
        want = bootstrap(pairs, draws=50, groups=[i % 4 for i in range(9)])
        self.assertEqual((report["low"], report["high"], report["resampled"]), (want.low, want.high, 4))
        _, out, _ = self.run_on("bootstrap", str(self.folder / "t.jsonl"), "--groups", "--draws", "9")
        self.assertIn("\ndocuments       9 in 4 groups\n", out)
        self.assertAlmostEqual(report["bits"]["low"], want.low / math.log(2), delta=1e-15)

    def test_documents_without_a_target_are_left_out_and_counted(self) -> None:
        path = self.write("empty.jsonl", "\n".join([*(line(*each) for each in THREE), line("d", 0, 0)]))
        status, out, _ = self.run_on("bootstrap", path, "--draws", "10")
        self.assertIn("\ndocuments       3; 1 without a target left out\n", out)
        self.assertEqual((status, self.report("bootstrap", path)["left_out"]), (0, 1))

    def test_two_systems_on_the_same_documents(self) -> None:
        ours = {key: (s, n) for key, s, n in THREE}
        theirs = {key: (s + n, n) for key, s, n in reversed(THREE)}
        path = self.write("theirs.jsonl", "\n".join(line(key, s, n) for key, (s, n) in theirs.items()))
        report = self.report("bootstrap", self.path, "--against", path)["against"]
        want = paired_bootstrap(ours, theirs)
        self.assertEqual((report["difference"]["observed"], report["ours_lower"]), (-1.0, 1.0))
        self.assertEqual(report["difference"]["low"], want.difference.low)

    def test_a_conclusion_says_which_way_and_carries_what_speaks_against_it(self) -> None:
        path = self.write("theirs.jsonl", "\n".join(line(key, s + n + i, n) for i, (key, s, n) in enumerate(THREE)))
        _, out, _ = self.run_on("bootstrap", self.path, "--against", path)
        few = "only 3 documents to draw from: below 8 the interval is not to be trusted, most often it is too narrow"
        self.assertEqual(
            out.splitlines()[-3:],
            [
                "the difference is the first minus the second, in nats: below 0 the first is the better",
                "the first is the lower in 100 % of the resamples",
                f"the interval does not hold 0, but that settles nothing: {few}",
            ],
        )
        self.assertIn(f"\nwarning: {few}\n\nagainst ", out)
        _, out, _ = self.run_on("bootstrap", self.path, "--against", self.path)
        self.assertTrue(out.endswith("\nthe interval holds 0: these documents do not tell the two apart\n"))
        nine = [(i, 1.0 + i % 4, 2) for i in range(9)]
        ours = self.write("ours.jsonl", "\n".join(line(*each) for each in nine))
        theirs = self.write("theirs.jsonl", "\n".join(line(i, s + 1 + i % 2, n) for i, s, n in nine))
        _, out, _ = self.run_on("bootstrap", ours, "--against", theirs)
        self.assertTrue(out.endswith("\nthe interval does not hold 0: the documents tell the two apart\n"))

    def test_progress_shows_on_a_terminal_only_and_leaves_nothing_behind(self) -> None:
        self.assertEqual(self.run_on("bootstrap", self.path)[2], "")
        with mock.patch("io.StringIO", Terminal):
            shown = self.run_on("bootstrap", self.path)[2]
        self.assertTrue(shown.startswith("\r20 of 2,000 draws\r40 of 2,000 draws"))
        self.assertTrue(shown.endswith("\r2,000 of 2,000 draws\r\x1b[K"))


class Refusals(CommandCase):
    def assert_refused(self, text: str, message: str, *options: str, status: int = 2) -> None:
        path = self.write("bad.jsonl", text)
        with self.subTest(message):
            self.assertEqual(
                self.run_on("bootstrap", path, *options), (status, "", f"refcalc: {message.replace('PATH', path)}\n")
            )

    def test_torn_and_foreign_lines_are_named(self) -> None:
        good = line(*THREE[0])
        keys = ", ".join((*KEYS, "comment"))
        for text, message in [
            (good + '\n{"document": "b", "nll_s', "Unterminated string starting at at column 19"),
            (good + "\n\n" + good, "Expecting value at column 1"),
        ]:
            number = text.count("\n", 0, len(good) + 1) + 1
            self.assert_refused(text, f"PATH: line {number} must be JSON, got {message}")
        for empty in ("", "\n"):
            self.assert_refused(empty, "PATH: the file must hold at least one receipt, got 0")
        self.assert_refused(f"{good}\n[1]", "PATH: line 2 must hold a JSON object, got [1]")
        self.assert_refused(
            f"{good}\n{good}", "PATH: line 2 must name a document that no line before it names, got 'a'"
        )
        self.assert_refused(line("b", 1, 1, loss=2), f"PATH: line 1: record must have no keys but {keys}, got 'loss'")
        self.assert_refused(
            '{"document": 1, "nll_sum": 2}',
            "PATH: line 1: record must have the key n_targets, got ['document', 'nll_sum']",
        )
        self.assert_refused(line(1.5, 1, 1), "PATH: line 1: document must be text or a whole number, got 1.5")
        self.assert_refused(
            line("b", -1, 1),
            "PATH: line 1: nll_sum must not be negative (an nll is minus a log-probability), got -1.0",
        )
        self.assert_refused(
            line("b", "1.5", 1),
            "PATH: line 1: nll_sum must be a number, \"inf\" or an exact sum in hexadecimal, got '1.5'",
        )
        self.assert_refused(
            line("b", 1, 1, n_documents=2),
            "PATH: line 1: n_documents must be 1, for a receipt is of one document, got 2",
        )
        (self.folder / "bad.jsonl").write_bytes(b"\xff")
        path = str(self.folder / "bad.jsonl")
        want = f"refcalc: {path}: line 1 must be UTF-8, got a bad byte at offset 0\n"
        self.assertEqual(self.run_on("bootstrap", path), (2, "", want))

    def test_what_the_options_need_must_be_there(self) -> None:
        text = "\n".join(line(*each) for each in THREE)
        message = "PATH: line 1: document 'a' must have n_words, its words, for --per word, got none"
        self.assert_refused(text, message, "--per", "word")
        self.assert_refused(text, "PATH: line 1: document 'a' must have a group for --groups, got none", "--groups")
        none = line("a", 1, 1, n_chars=0)
        self.assert_refused(
            none,
            "PATH: line 1: document 'a' must have n_chars of at least 1 where targets are scored, got 0",
            "--per",
            "char",
        )
        self.assert_refused(line("a", 1, 1), "bootstrap: documents must hold at least 2 documents to draw from, got 1")

    def test_two_files_must_hold_the_same_documents_or_are_not_compared(self) -> None:
        text = "\n".join(line(*each, n_bytes=5) for each in THREE)
        other = self.write("other.jsonl", "\n".join(line(*each) for each in THREE[:2]))
        message = f"{other}: the file must score the document 'c', as PATH does, got no such one"
        self.assert_refused(text, message, "--against", other, status=1)
        other = self.write("other.jsonl", "\n".join([text, line("d", 1, 1)]))
        message = f"PATH: the file must score the document 'd', as {other} does, got no such one"
        self.assert_refused(text, message, "--against", other, status=1)
        other = self.write("other.jsonl", "\n".join(line(key, s, n + 1, n_bytes=n) for key, s, n in THREE))
        hint = "(--per byte or char holds for any tokenizer)"
        message = f"{other}: document 'a' must have n_targets 2, as in PATH {hint}, got 3"
        self.assert_refused(text, message, "--against", other, status=1)
        message = f"{other}: document 'a' must have n_bytes 5, as in PATH, got 2"
        self.assert_refused(text, message, "--against", other, "--per", "byte", status=1)

    def test_a_file_that_cannot_be_read_is_named(self) -> None:
        message = f"refcalc: {self.folder}: the receipts must be a file that can be read, got Is a directory\n"
        self.assertEqual(self.run_on("bootstrap", str(self.folder)), (2, "", message))


class Help(CommandCase):
    def test_it_says_how_the_methods_differ_and_what_the_difference_is(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), self.assertRaises(SystemExit):
            main(["bootstrap", "--help"])
        said = " ".join(out.getvalue().split())
        for words in ("the same draws on every Python", "Koehn 2004", f"up to {MOST_ENUMERATED} documents"):
            self.assertIn(words, said)
        self.assertIn("the difference is RECEIPTS minus the other: below 0 the first is the lower", said)
