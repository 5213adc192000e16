"""`refcalc baselines`, run as people run it: arguments in, text and an exit status out."""

import contextlib
import io
import json
import math
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any
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

    def test_a_tenth_is_a_tenth_and_not_the_nearest_double(self) -> None:
        path = self.write("ten.txt", b"abcdefghij")
        self.assertEqual(self.report(path, "--held-out", "0.1")["n_train_chars"], 9)

    def test_lines_end_as_they_do_in_the_file(self) -> None:
        path = self.write("dos.txt", b"a\r\nb\r\n" * 50)
        report = self.report(path, "--held-out", "0.5", "--order", "2")
        self.assertEqual((report["vocab_size"], report["n_chars"], report["n_train_chars"]), (4, 150, 150))

    def test_an_empty_training_text_leaves_the_uniform_model_and_compressors(self) -> None:
        report = self.report(self.write("empty.txt", b""), self.eval_path, "--order", "2")
        bits = {row["model"]: row["bits"] for row in report["models"]}
        self.assertAlmostEqual(bits["Kneser-Ney, order 2"] / bits["uniform"], 1.0, delta=1e-12)
        self.assertNotIn("xz -9e, primed", bits)


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
        for line, row in zip(lines[6:], rows, strict=True):
            self.assertEqual(
                line.split(), [*row["model"].split(), f"{row['bits_per_char']:.3f}", f"{row['bits_per_byte']:.3f}"]
            )

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

    def test_nothing_to_evaluate_is_refused(self) -> None:
        empty = self.write("empty.txt", b"")
        self.assert_refused(f"baselines: {empty} must hold at least one character, got 0", self.train_path, empty)
        message = "baselines: the held-out part must hold at least one character, got 0"
        self.assert_refused(message, empty, "--held-out", "0.5")

    def test_a_file_that_is_no_utf_8_text_is_named(self) -> None:
        bad = self.write("bad.txt", b"ab\xff")
        self.assert_refused(f"{bad}: the file must be UTF-8, got a bad byte at offset 2", bad, self.eval_path)

    def test_an_order_below_1_is_refused(self) -> None:
        message = "KneserNey.fit: order must be at least 1, got 0"
        self.assert_refused(message, self.train_path, self.eval_path, "--order", "0")

    def test_a_missing_file_is_named(self) -> None:
        status, out, err = self.run_with(str(self.folder / "none.txt"), self.eval_path)
        self.assertEqual((status, out), (2, ""))
        self.assertIn("none.txt", err)
