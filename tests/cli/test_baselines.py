"""`refcalc baselines`, run as people run it: arguments in, text and an exit status out."""

import contextlib
import io
import json
import math
import tempfile
import unittest
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock
from xml.etree import ElementTree

from refcalc.baselines.compression import compressed_bits
from refcalc.baselines.ngram import KneserNey
from refcalc.cli import main


def speech(seed: int, words: int) -> str:
    rng = Random(seed)
    known = [
        "the",
        "a",
        "king",
        "queen",
        "of",
        "and",
        "my",
        "lord",
        "caf\u00e9",
        "speaks,",
        "loves.",
        "away\n",
        "night",
    ]
    return " ".join(known[int(len(known) * rng.random() * rng.random())] for _ in range(words))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def setUpModule() -> None:
    """Compress each text once: the tests ask for the same ones, and xz -9e takes most of the time."""
    once = mock.patch("refcalc.baselines.compression.compressed_bits", cache(compressed_bits))
    once.start()
    unittest.addModuleCleanup(once.stop)


class BaselinesCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.train, self.evaluation = speech(1, 2000), speech(2, 400) + "?"
        self.train_path = self.write("train.txt", self.train.encode())
        self.eval_path = self.write("eval.txt", self.evaluation.encode())

    def write(self, name: str, content: bytes) -> str:
        (self.folder / name).write_bytes(content)
        return str(self.folder / name)

    def run_with(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(["baselines", *arguments])
        return status, out.getvalue(), err.getvalue()

    def report(self, *arguments: str) -> dict[str, Any]:
        status, out, err = self.run_with(*arguments, "--json")
        self.assertEqual((status, err), (0, ""))
        result: dict[str, Any] = json.loads(out)
        return result

    def assert_refused(self, message: str, *arguments: str) -> None:
        self.assertEqual(self.run_with(*arguments), (2, "", f"refcalc: {message}\n"))


class Numbers(BaselinesCase):
    def test_every_model_is_the_one_it_says(self) -> None:
        report = self.report(self.train_path, self.eval_path, "--order", "2", "3")
        bits = {row["model"]: row["bits"] for row in report["models"]}
        characters = sorted(set(self.train + self.evaluation))
        count, data = Counter(self.train), self.evaluation.encode()
        total = len(self.train) + len(characters)
        by_hand = {
            "uniform": len(self.evaluation) * math.log2(len(characters)),
            "unigram, add-one": math.fsum(-math.log2((count[c] + 1) / total) for c in self.evaluation),
            "gzip -9": compressed_bits(data, "gzip -9"),
            "xz -9e": compressed_bits(data, "xz -9e"),
            "bzip2 -9": compressed_bits(data, "bzip2 -9"),
            "xz -9e, primed": compressed_bits(data, "xz -9e", self.train.encode()),
        }
        for order in (2, 3):
            model = KneserNey.fit(self.train, order, characters)
            p = [model.probability(c, self.evaluation[:i]) for i, c in enumerate(self.evaluation)]
            by_hand[f"Kneser-Ney, order {order}"] = math.fsum(-math.log2(x) for x in p)
        self.assertEqual(set(bits), set(by_hand))
        for name, want in by_hand.items():
            self.assertAlmostEqual(bits[name] / want, 1.0, delta=1e-12, msg=name)

    def test_rates_are_per_character_and_per_byte_of_the_evaluation_text(self) -> None:
        report = self.report(self.train_path, self.eval_path)
        self.assertEqual(report["n_chars"], len(self.evaluation))
        self.assertEqual(report["n_bytes"], len(self.evaluation.encode()))
        self.assertLess(report["n_chars"], report["n_bytes"])
        self.assertEqual(report["vocab_size"], len(set(self.train + self.evaluation)))
        for row in report["models"]:
            self.assertEqual(row["bits_per_char"], row["bits"] / report["n_chars"])
            self.assertEqual(row["bits_per_byte"], row["bits"] / report["n_bytes"])
        rates = [row["bits"] for row in report["models"]]
        self.assertEqual(rates, sorted(rates, reverse=True))
        orders = sorted(row["model"] for row in report["models"] if row["model"].startswith("Kneser-Ney"))
        self.assertEqual(orders, ["Kneser-Ney, order 4", "Kneser-Ney, order 7"])

    def test_a_held_out_part_is_cut_where_its_share_says_and_the_history_runs_on(self) -> None:
        report = self.report(self.train_path, "--held-out", "0.3", "--order", "3")
        cut = len(self.train) * 7 // 10
        train, rest = self.train[:cut], self.train[cut:]
        self.assertEqual((report["n_train_chars"], report["n_chars"]), (cut, len(rest)))
        self.assertEqual(report["history"], "runs on from the training text")
        model = KneserNey.fit(train, 3, sorted(set(self.train)))
        want = math.fsum(-math.log2(model.probability(c, self.train[: cut + i])) for i, c in enumerate(rest))
        got = next(row["bits"] for row in report["models"] if row["model"] == "Kneser-Ney, order 3")
        self.assertAlmostEqual(got / want, 1.0, delta=1e-12)

    @mock.patch("refcalc.baselines.compression.compressed_bits", return_value=8)
    def test_a_tenth_is_a_tenth_and_not_the_nearest_double(self, _: mock.Mock) -> None:
        path = self.write("ten.txt", b"abcdefghij")
        self.assertEqual(self.report(path, "--held-out", "0.1")["n_train_chars"], 9)

    @mock.patch("refcalc.baselines.compression.compressed_bits", return_value=8)
    def test_lines_end_as_they_do_in_the_file(self, _: mock.Mock) -> None:
        path = self.write("dos.txt", b"a\r\nb\r\n" * 50)
        report = self.report(path, "--held-out", "0.5", "--order", "2")
        self.assertEqual((report["vocab_size"], report["n_chars"], report["n_train_chars"]), (4, 150, 150))

    def test_a_byte_order_mark_is_no_character_and_said_to_be_left_out(self) -> None:
        marked = self.write("marked.txt", b"\xef\xbb\xbf" + self.evaluation.encode())
        arguments = ("--order", "2")
        want, got = (self.report(self.train_path, path, *arguments) for path in (self.eval_path, marked))
        self.assertEqual(got["models"], want["models"])
        self.assertEqual(
            got["warnings"], [f"{marked}: the byte order mark at its start is left out", *want["warnings"]]
        )


class Output(BaselinesCase):
    def test_the_table_says_what_was_measured_and_how(self) -> None:
        status, out, err = self.run_with(self.train_path, "--held-out", "0.25", "--order", "3")
        self.assertEqual((status, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(lines[0], f"train       {self.train_path}: {len(self.train) * 3 // 4:,} characters")
        self.assertTrue(lines[1].startswith(f"evaluate    the last 0.25 of {self.train_path}: "))
        self.assertEqual(lines[3], "history     runs on from the training text")
        self.assertEqual(lines[5].split(), ["bits", "per", "character", "bits", "per", "byte"])
        rows = self.report(self.train_path, "--held-out", "0.25", "--order", "3")["models"]
        for line, row in zip(lines[6:-1], rows, strict=True):
            self.assertEqual(
                line.split(), [*row["model"].split(), f"{row['bits_per_char']:.3f}", f"{row['bits_per_byte']:.3f}"]
            )

    @mock.patch("refcalc.baselines.compression.compressed_bits", return_value=8)
    def test_a_text_too_short_for_compressors_is_warned_of(self, _: mock.Mock) -> None:
        path = self.write("one.txt", b"aaaaaaaaab")
        words = (
            "below 10,000 the compressors mean little, headers (up to 70 bytes) and xz's steps of 4 bytes show in their"
        )
        _, out, _ = self.run_with(path, "--held-out", "0.1", "--order", "2")
        self.assertEqual(out.splitlines()[-1], f"warning: 1 byte to evaluate: {words} lines")
        self.assertIn(f"the last 0.1 of {path}: 1 character, 1 byte\n", out)
        for size, warnings in ((9_999, [f"9,999 bytes to evaluate: {words} lines"]), (10_000, [])):
            path = self.write("eval.txt", b"ab" * 5_000 if size == 10_000 else b"a" * size)
            self.assertEqual(self.report(self.train_path, path, "--order", "1")["warnings"], warnings)

    @mock.patch("refcalc.baselines.compression.compressed_bits", return_value=8)  # takes most of the time
    def test_an_evaluation_text_that_the_models_have_seen_is_warned_of(self, _: mock.Mock) -> None:
        seen = "the training text: the fitted and the primed models have seen it, their lines say nothing of new text"
        part = self.write("part.txt", self.train[100:9000].encode())
        marked = self.write("marked.txt", b"\xef\xbb\xbf" + self.train.encode())
        _, out, _ = self.run_with(self.train_path, self.train_path, "--order", "2")
        self.assertIn(f"\nwarning: the evaluation text is {seen}", out)
        for path, where in ((part, "stands in"), (marked, "is")):
            self.assertIn(
                f"the evaluation text {where} {seen}", self.report(self.train_path, path, "--order", "2")["warnings"]
            )
        for arguments in ((self.eval_path,), ("--held-out", "0.1")):
            warnings = self.report(self.train_path, *arguments, "--order", "2")["warnings"]
            self.assertFalse([words for words in warnings if "seen" in words])

    def test_a_negative_difference_of_lengths_is_warned_of_and_not_drawn(self) -> None:
        path = str(self.folder / "ladder.svg")
        lengths = mock.patch(
            "refcalc.baselines.compression.compressed_bits",
            side_effect=lambda text, method, before=b"": 8 - 40 * bool(before),
        )
        with lengths:
            report = self.report(self.train_path, self.eval_path, "--order", "2", "--svg", path)
        words = "xz -9e, primed: a difference of two lengths, here negative (-32 bits), measures nothing"
        self.assertEqual(report["warnings"][-1], words)
        self.assertEqual(report["models"][-1]["bits"], -32)
        self.assertNotIn("primed", Path(path).read_text(encoding="utf-8"))

    def test_the_last_line_is_the_best_whichever_it_is(self) -> None:
        a, b = self.write("a.txt", b"aaaa"), self.write("b.txt", b"bbbb")
        _, out, _ = self.run_with(a, b)
        self.assertEqual(out.splitlines()[-2].split(), ["uniform", "1.000", "1.000"])
        help_text = io.StringIO()
        with contextlib.redirect_stdout(help_text), self.assertRaises(SystemExit):
            main(["baselines", "--help"])
        self.assertIn("does not need less than the last line,\nwhichever model that is", help_text.getvalue())

    def test_what_it_is_doing_shows_on_a_terminal_only_and_is_cleared(self) -> None:
        with mock.patch("io.StringIO", Terminal):
            shown = self.run_with(self.train_path, self.eval_path, "--order", "3")[2]
        steps = shown.split("\r\x1b[K")
        self.assertEqual((steps[0], steps[-1]), ("", ""))
        self.assertIn(f"Kneser-Ney, order 3: fitting on {len(self.train):,} characters ...", steps)
        self.assertIn("xz -9e, primed ...", steps)
        with mock.patch("io.StringIO", Terminal):
            shown = self.run_with(self.train_path, self.eval_path, "--order", "0")[2]
        self.assertTrue(shown.endswith("\r\x1b[Krefcalc: KneserNey.fit: order must be at least 1, got 0\n"))

    def test_the_ladder_is_drawn(self) -> None:
        path = str(self.folder / "ladder.svg")
        report = self.report(self.train_path, self.eval_path, "--order", "3", "--svg", path)
        root = ElementTree.parse(path).getroot()
        text = " ".join(root.itertext())
        self.assertIn(f"eval.txt: {len(self.evaluation):,} characters", text)
        for row in report["models"]:
            self.assertIn(row["model"], text)
            self.assertIn(f"{row['bits_per_char']:.3f}", text)


class Refusals(BaselinesCase):
    def test_a_text_to_evaluate_is_needed_once(self) -> None:
        message = "baselines: the evaluation text must be EVAL or --held-out, got"
        self.assert_refused(f"{message} 'none'", self.train_path)
        self.assert_refused(f"{message} 'both'", self.train_path, self.eval_path, "--held-out", "0.1")

    def test_a_share_is_a_number_between_0_and_1(self) -> None:
        for share in ("0", "1", "-0.1", "nan", "ten", "1/0", "1e9"):
            message = f"baselines: --held-out must be a number above 0 and below 1, got {share!r}"
            self.assert_refused(message, self.train_path, f"--held-out={share}")

    @mock.patch("refcalc.baselines.compression.compressed_bits", return_value=8)
    def test_a_share_of_many_digits_is_refused_before_it_is_reckoned(self, _: mock.Mock) -> None:
        for share in ("1e-30000000", "1E+9999"):
            message = f"baselines: --held-out must have an exponent of at most 3 digits, got {share!r}"
            self.assert_refused(message, self.train_path, f"--held-out={share}")
        self.assertEqual(self.report(self.train_path, "--held-out", "1e-0001", "--order", "1")["held_out"], "1e-0001")

    def test_an_empty_text_is_refused_by_name(self) -> None:
        empty = self.write("empty.txt", b"")
        message = f"baselines: {empty} must hold at least one character, got 0"
        self.assert_refused(message, self.train_path, empty)
        self.assert_refused(message, empty, self.eval_path)
        self.assert_refused(message, empty, "--held-out", "0.5")
        message = "baselines: what --held-out leaves for training must hold at least one character, got 0"
        self.assert_refused(message, self.write("one.txt", b"a"), "--held-out", "0.5")

    def test_a_picture_that_cannot_be_written_is_refused_before_the_work(self) -> None:
        path, folder = str(self.folder / "none" / "a.svg"), str(self.folder / "none")
        message = f"{path}: the picture must go into a folder that exists, got {folder}"
        with mock.patch("refcalc.cli.baselines._report", side_effect=AssertionError):
            self.assert_refused(message, self.train_path, self.eval_path, "--svg", path)

    def test_a_file_that_is_no_utf_8_text_is_named(self) -> None:
        bad = self.write("bad.txt", b"ab\xff")
        self.assert_refused(f"{bad}: the file must be UTF-8, got a bad byte at offset 2", bad, self.eval_path)

    def test_an_order_below_1_is_refused(self) -> None:
        message = "KneserNey.fit: order must be at least 1, got 0"
        self.assert_refused(message, self.train_path, self.eval_path, "--order", "0")

    def test_a_file_that_cannot_be_read_is_named_with_what_it_was_to_hold(self) -> None:
        missing, folder = str(self.folder / "none.txt"), str(self.folder)
        message = "must be a file that can be read, got"
        self.assert_refused(
            f"{missing}: the training text {message} No such file or directory", missing, self.eval_path
        )
        self.assert_refused(f"{folder}: the evaluation text {message} Is a directory", self.train_path, folder)
