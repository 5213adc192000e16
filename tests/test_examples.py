"""The examples that need nothing installed: each runs, and its key figures are right by plain formulas."""

import ast
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from functools import cache
from math import exp, fsum, log
from pathlib import Path
from typing import Any

from examples import four_numbers
from examples import frozen_evaluation as frozen
from refcalc import KneserNey

ROOT = Path(__file__).resolve().parents[1]
BATCH = ROOT / "examples" / "real_batch.json"


@cache
def run(*arguments: str) -> str:
    """Return what `python -m ...` prints from the root, or fail: a warning is an error, and so is an exit status."""
    command = [sys.executable, "-W", "error", "-m", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        raise AssertionError(f"{' '.join(arguments)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def number_after(words: str, text: str) -> float:
    """Return the first number that follows the words."""
    found = re.search(re.escape(words) + r"\s+(?:\d+\s+)??(-?\d+\.\d*(?:e-?\d+)?)", text)
    if found is None:
        raise AssertionError(f"no number after {words!r} in\n{text}")
    return float(found[1])


def mean_nll(logits: Any, pairs: list[tuple[int, int, int]]) -> float:
    """Return the mean nll of (sequence, row, target), by the textbook."""
    return fsum(log(fsum(map(exp, logits[b][t]))) - logits[b][t][y] for b, t, y in pairs) / len(pairs)


def pairs_of(tokens: list[list[int]], mask: list[list[int]], shift: int) -> list[tuple[int, int, int]]:
    return [
        (b, t - shift, y)
        for b, sequence in enumerate(tokens)
        for t, y in enumerate(sequence)
        if t >= shift and mask[b][t]
    ]


def four_means(logits: Any, tokens: list[list[int]], mask: list[list[int]]) -> list[float]:
    """Return the mean nll shifted and masked, shifted only, masked only, and neither."""
    full = [[1] * len(sequence) for sequence in tokens]
    return [mean_nll(logits, pairs_of(tokens, kept, shift)) for shift in (1, 0) for kept in (mask, full)]


def numbers(logits: Any) -> list[float]:
    """Return all logits of a batch, flat."""
    return [z for sequence in logits for row in sequence for z in row]


class FourNumbers(unittest.TestCase):
    def test_the_four_are_right_and_differ(self):
        printed = run("examples.four_numbers")
        tokens = four_numbers.TOKENS
        want = four_means(four_numbers.logits_of_a_fair_model(tokens, seed=4), tokens, four_numbers.MASK)
        names = ["shifted, masked", "shifted, padding scored", "not shifted, masked", "not shifted, padding scored"]
        for name, value in zip(names, want, strict=True):
            self.assertAlmostEqual(number_after(f"\n{name}", printed), value, delta=6e-7, msg=name)
        self.assertEqual(len({round(value, 2) for value in want}), 4)
        self.assertEqual(printed.count("<- the loss"), 1)


class WorkedFigures(unittest.TestCase):
    def test_all_figures_agree(self):
        printed = run("examples.worked_figures")
        self.assertTrue(printed.endswith("\nall figures agree\n"), printed)
        self.assertGreaterEqual(printed.count("printed"), 40)
        self.assertNotIn("DIFFERS", printed)


class MergedParts(unittest.TestCase):
    def test_the_parts_give_the_whole(self):
        printed = run("examples.merge_logsumexp")
        merged = number_after("logsumexp of these eight", printed)
        self.assertAlmostEqual(merged, number_after("logsumexp of the whole row", printed), delta=1e-14)
        at_once = number_after("all at once", printed)
        self.assertEqual(number_after("sums added, divided by all targets", printed), at_once)
        self.assertIn("logsumexp                 -inf", printed)

    def test_what_the_merge_costs_is_shown(self):
        printed = run("examples.merge_logsumexp")
        self.assertEqual(number_after("minus the target's logit", printed), 0.0)
        # exp(-45) + exp(-40) + exp(-50)
        self.assertAlmostEqual(number_after("nll of the whole row", printed) / 4.277172316081879e-18, 1.0, delta=1e-15)
        wrong = number_after("mean of the chunks' means (wrong)", printed)
        self.assertGreater(abs(wrong - number_after("all at once", printed)), 0.01)


class Echo(unittest.TestCase):
    def test_the_fault_is_named_and_the_numbers_are_right_by_plain_formulas(self):
        printed = run("examples.name_the_echo")
        case = json.loads((ROOT / "examples" / "echo.json").read_text(encoding="utf-8"))
        rows, tokens, echo = case["logits"], case["tokens"], case["echo"]
        right = mean_nll([rows], [(0, t, y) for t, y in enumerate(tokens[1:])])
        self.assertAlmostEqual(number_after("which is", printed), right, delta=1e-8)
        echoed = fsum(-x for x in echo[1:]) / len(echo[1:])
        self.assertAlmostEqual(number_after("mean nll", printed), echoed, delta=1e-6)
        at_their_own_rows = mean_nll([rows], [(0, t, y) for t, y in enumerate(tokens) if t])
        self.assertAlmostEqual(echoed, at_their_own_rows, delta=1e-6)
        self.assertIn("It is what this gives:\n  no-shift-first-dropped: ", printed)


class FrozenEvaluation(unittest.TestCase):
    def test_the_figures_are_those_of_the_probabilities_one_by_one(self):
        printed = run("examples.frozen_evaluation")
        train = [id_ for text in frozen.TEXTS["train"].values() for id_ in (frozen.BOS, *frozen.encode(text))]
        model = KneserNey.fit(train, 4, frozen.VOCABULARY, bos=frozen.BOS)
        nlls, size = [], 0
        for text in frozen.TEXTS["test"].values():
            ids, size = [frozen.BOS, *frozen.encode(text)], size + len(text.encode())
            # A window of 256 rows carries 128, more than the 3 that this model looks back.
            nlls += [-log(model.probability(y, ids[:t])) for t, y in enumerate(ids) if t]
        self.assertAlmostEqual(number_after("\nnats per target", printed), fsum(nlls) / len(nlls), delta=5e-7)
        self.assertAlmostEqual(number_after("\nbits per byte", printed), fsum(nlls) / log(2) / size, delta=5e-7)
        self.assertIn(f" {len(frozen.VOCABULARY)} ", printed.partition("\nuniform")[2].partition("\n")[0])
        self.assertTrue(printed.startswith("windows scored by a second run: 0\n"))
        self.assertEqual(printed.count("\nholds          "), 3)


class RealBatch(unittest.TestCase):
    def setUp(self) -> None:
        self.batch = json.loads(BATCH.read_text(encoding="utf-8"))

    def test_the_command_gives_its_loss_and_the_four_numbers(self):
        batch = self.batch
        report = json.loads(run("refcalc", "loss", "examples/real_batch.json", "--json"))
        want = four_means(batch["logits"], batch["tokens"], batch["attention_mask"])
        for got, value in zip(report["four_numbers"].values(), want, strict=True):
            self.assertAlmostEqual(got, value, delta=1e-13)
        self.assertEqual(report["n_targets"], 71)
        self.assertEqual(report["n_bytes"], len("".join(batch["text"])))  # all of it ASCII, and all of it scored
        self.assertAlmostEqual(report["bits_per_byte"], want[0] * 71 / (log(2) * report["n_bytes"]), delta=1e-13)
        self.assertLess(report["mean_nll"], 0.7 * report["uniform_nll"])  # it has learned something

    def test_its_numbers_are_float32_and_its_tokens_spell_the_text(self):
        logits = numbers(self.batch["logits"])
        self.assertEqual(struct.unpack(f"<{len(logits)}f", struct.pack(f"<{len(logits)}f", *logits)), tuple(logits))
        classes = ast.literal_eval(self.batch["comment"].partition("the characters ")[2])
        for i, (tokens, mask) in enumerate(zip(self.batch["tokens"], self.batch["attention_mask"], strict=True)):
            said = "".join(classes[y] for y, kept in zip(tokens, mask, strict=True) if kept)
            self.assertEqual(said, "\n" + self.batch["text"][i])

    def test_it_can_be_made_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "batch.json")
            run("examples.make_real_batch", path)
            again = json.loads(Path(path).read_text(encoding="utf-8"))
        logits, made = self.batch.pop("logits"), again.pop("logits")
        self.assertEqual(again, self.batch)
        # Another libm may move a training step's last bit; a float32 of 4.0 holds 2.4e-7.
        for z, made_z in zip(numbers(logits), numbers(made), strict=True):
            self.assertAlmostEqual(z, made_z, delta=1e-5)


class LossLab(unittest.TestCase):
    def test_its_numbers_are_right_by_plain_formulas(self):
        printed = run("examples.loss_lab")
        logits = four_numbers.logits_of_a_fair_model(four_numbers.TOKENS, seed=4)
        tokens, mask = [four_numbers.TOKENS[2]], [four_numbers.MASK[2]]
        want = four_means(logits[2:], tokens, mask)
        found = [float(x) for x in re.findall(r"(?:masked|padding scored) (\d+\.\d+)", printed)]
        for got, value in zip(found, want, strict=True):
            self.assertAlmostEqual(got, value, delta=6e-7)
        self.assertAlmostEqual(number_after("exp(nats) =", printed), exp(want[0]), delta=6e-7)
        self.assertIn("-inf        -800.0", printed)
        self.assertIn("these three as losses: inf, and 280.0\n", printed)
        real, places = (sum(scored[0][1:]) for scored in (mask, [[1] * len(mask[0])]))
        self.assertAlmostEqual(number_after("of the count:", printed), want[0] * real / places, delta=6e-7)
        self.assertTrue(printed.endswith("9 of 9 right: exercise loss, seed 4\n"), printed)


class Deceptions(unittest.TestCase):
    def test_each_is_found(self):
        parts = dict(part.split("\n", 1) for part in run("examples.deceptions").strip().split("\n\n"))
        for name, reported, right, found in [
            ("batch means", 1.05, 1.81, "mean-of-means:"),
            ("padding", None, None, "padding-scored:"),
            ("shift", None, None, "no-shift:"),
            ("base", 1.32, 1.32 / log(2), "bits-without-ln2:"),
            ("fitting the test", log(500 / 30) / 2, log(32) / 2, "'test 0' of test is 'counted 1' of counted"),
            ("bytes for characters", None, None, "bytes-for-chars:"),
            ("train as test", None, None, "'test-1' of test is 'train-2' of train"),
            ("one lucky seed", 0.0026, 0.0011, "within the noise"),
            ("windows changed", None, None, "must have the same window, stride"),
        ]:
            with self.subTest(name):
                text = parts.pop(name)
                self.assertIn(found, " ".join(text.split()))
                for words, value in [("reported", reported), ("right", right)]:
                    if value is not None:
                        printed = re.search(rf"{words} +(?:better by )?(\d+\.\d+)", text)
                        self.assertAlmostEqual(float(printed[1]), value, delta=5.1e-5)
        self.assertEqual(parts, {})


class WhatIsShown(unittest.TestCase):
    """What the READMEs show is what the programs print."""

    def check_shown(self, shown: str, printed: str) -> None:
        """The parts of what is shown are printed in this order, with something or nothing in place of each "..."."""
        rest = "\n" + printed
        for part in shown.strip("\n").removesuffix("\n...").split("\n...\n"):
            before, found, rest = rest.partition(f"\n{part}\n")
            self.assertTrue(found, f"not printed:\n{part}\n\nbut:\n{before}")
            rest = "\n" + rest

    def test_the_commands_of_the_readme(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        for command in ("grade examples/grading/no_shift.py --seed 1", "loss examples/real_batch.json"):
            with self.subTest(command):
                _, found, after = readme.partition(f"python -m refcalc {command}")
                self.assertTrue(found)
                shown = re.search(r"\n\n```\n(.*?)\n```\n", after, re.S)[1]
                done = subprocess.run(
                    [sys.executable, "-m", "refcalc", *command.split()],
                    cwd=ROOT,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual((done.returncode, done.stderr), ("no_shift" in command, ""))
                self.check_shown(shown, done.stdout)

    def test_every_example_is_in_a_table(self):
        readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
        files = [*ROOT.glob("examples/*.py"), *ROOT.glob("examples/*/__main__.py")]
        names = [path.parent.name if path.stem == "__main__" else path.stem for path in files]
        rows = {n: re.search(rf"^\| `python -m examples\.{n}[ `]", readme, re.M) for n in names}
        self.assertEqual([n for n, row in rows.items() if row is None], [])

    def test_the_output_of_the_examples(self):
        readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```\n\$ python -m (\S+)\n(.*?)^```$", readme, re.M | re.S)
        self.assertGreaterEqual(len(blocks), 3)
        for name, shown in blocks:
            with self.subTest(name):
                self.check_shown(shown, run(name))


if __name__ == "__main__":
    unittest.main()
