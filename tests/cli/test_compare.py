"""`refcalc compare`, run as people run it: arguments in, text and an exit status out."""

import contextlib
import io
import json
import re
from dataclasses import fields
from random import Random
from typing import Any
from unittest import mock

from refcalc.cli import compare, main
from refcalc.evaluation import ablation
from refcalc.evaluation.ablation import Arm
from refcalc.evaluation.compare_reports import compare_reports
from refcalc.evaluation.comparison import PER
from refcalc.evaluation.protocol import Protocol
from tests.cli.test_bootstrap import CommandCase, Terminal
from tests.evaluation.evaluated import protocol, receipt, receipts


class CompareCase(CommandCase):
    def setUp(self) -> None:
        super().setUp()
        self.ours = self.scored("ours.jsonl", 1)
        self.theirs = self.scored("theirs.jsonl", 2, checkpoint="step-40", looks=3)

    def scored(self, name: str, seed: int, n: int = 10, **changes: Any) -> str:
        rng, path = Random(seed), self.folder / name
        lines = [receipt(f"d{i}", (2 + rng.random()) * (3 + i), 3 + i) for i in range(n)]
        receipts(protocol(**changes), *lines, path=str(path))
        return str(path)

    def arm(self, name: str, **changes: Any) -> str:
        record = Arm(name, "paired-retraining", "sha256:1", "sha256:2", 40, 4676, 1000, 1000, 3.5).to_dict()
        return self.write(f"{name}.json", json.dumps({**record, **changes}))


class Comparisons(CompareCase):
    def test_the_numbers_are_those_of_the_function(self) -> None:
        report = self.report("compare", self.ours, self.theirs, "--draws", "30", "--seed", "4", "--confidence", "0.9")
        want = compare_reports(self.ours, self.theirs, draws=30, seed=4, confidence=0.9)
        self.assertEqual(report, json.loads(json.dumps(want.to_dict())))
        self.assertEqual(report["differences"], {"checkpoint": ["step-80", "step-40"], "looks": [0, 3]})
        status, out, err = self.run_on("compare", self.ours, self.theirs, "--draws", "30")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out, f"{compare_reports(self.ours, self.theirs, draws=30)}\n")
        self.assertIn("\nlooked at   before ours never, before theirs 3 times\n", out)
        self.assertIn("\ndiffer in   checkpoint: 'step-80' and 'step-40'\n", out)

    def test_a_refused_comparison_has_status_1_and_despite_lifts_it(self) -> None:
        other = self.scored("other.jsonl", 2, window=48, stride=24)
        rule = "both must have the same window (unless despite names what may differ)"
        want = f"refcalc: compare_reports: {rule}, got window 24 and 48\n"
        self.assertEqual(self.run_on("compare", self.ours, other), (1, "", want))
        status, out, _ = self.run_on("compare", self.ours, other, "--despite", "window", "--draws", "9")
        self.assertEqual(status, 0)
        self.assertIn("\nDESPITE     window: 24 and 48\n", out)
        fewer = self.scored("fewer.jsonl", 2, 9)
        rule = f"the file must hold the documents of {self.ours} (unless despite names documents)"
        self.assertEqual(
            self.run_on("compare", self.ours, fewer), (1, "", f"refcalc: {fewer}: {rule}, got none of 'd9'\n")
        )
        both = self.report("compare", self.ours, fewer, "--despite", "documents", "--draws", "9")
        self.assertEqual((both["documents"], both["only_ours"], both["despite"]), (9, 1, ["documents"]))

    def test_two_tokenizers_leave_bytes_and_characters(self) -> None:
        other = self.scored("other.jsonl", 2, tokenizer="char")
        status, out, _ = self.run_on("compare", self.ours, other, "--draws", "9")
        self.assertEqual(status, 0)
        self.assertEqual(
            re.findall(r"^(bits|nats) per (\w+) +\d", out, re.MULTILINE), [("bits", "byte"), ("bits", "character")]
        )
        self.assertIn("\nnats per target: not comparable, for the two differ in tokenizer\n", out)
        self.assertEqual(self.run_on("compare", self.ours, other, "--per", "target")[0], 1)

    def test_an_ablation_is_named_and_its_arms_are_shown(self) -> None:
        arms = ["--arm", self.arm("control"), "--arm", self.arm("zeroed", trainable_parameters=900)]
        options = ["--draws", "9", "--ablation", "paired-retraining"]
        status, out, _ = self.run_on("compare", self.ours, self.theirs, *options, *arms)
        self.assertEqual(status, 0)
        self.assertIn("\n  trainable parameters                          1,000                        900\n", out)
        other = ["--arm", self.arm("control"), "--arm", self.arm("other", trajectory_digest="sha256:3")]
        status, _, err = self.run_on("compare", self.ours, self.theirs, *options, *other)
        self.assertEqual(status, 1)
        self.assertIn("arms on different windows are not compared, got 'sha256:3'", err)
        status, _, err = self.run_on("compare", self.ours, self.theirs, "--ablation", "intervention", *arms)
        self.assertEqual(
            (status, err.partition(", got")[0]),
            (1, "refcalc: compare_reports: arms[0].kind must be 'intervention', the kind of this ablation"),
        )

    def test_progress_shows_on_a_terminal_only(self) -> None:
        self.assertEqual(self.run_on("compare", self.ours, self.theirs)[2], "")
        with mock.patch("io.StringIO", Terminal):
            shown = self.run_on("compare", self.ours, self.theirs, "--draws", "200")[2]
        self.assertTrue(shown.endswith("\r200 of 200 draws\r\x1b[K"))


class Refusals(CompareCase):
    def test_bad_input_is_named_with_status_2(self) -> None:
        control = self.arm("control")
        lines = (self.folder / "ours.jsonl").read_bytes().splitlines(keepends=True)
        (self.folder / "torn.jsonl").write_bytes(b"".join(lines[:-2]))
        torn, broken, missing = str(self.folder / "torn.jsonl"), self.write("broken.json", "{"), str(self.folder / "no")
        bad = self.arm("bad", updates=1.5)
        bare = self.write("bare.jsonl", '{"document": "a", "nll_sum": 1.5, "n_targets": 2}\n')
        whose = "compare: an ablation must have its kind, --ablation, and two --arm"
        for arguments, message in [
            ([self.ours, torn], f"{torn}: the file must end with the line that counts its receipts"),
            ([bare, self.ours], f"{bare}: line 1 must hold the protocol, as ReceiptLog writes it, got none"),
            (
                [missing, self.ours],
                f"{missing}: the receipts must be a file that can be read, got No such file or directory",
            ),
            (
                [self.ours, self.theirs, "--despite", "windows"],
                "compare_reports: despite[0] must be one of 'vocab_size', ",
            ),
            ([self.ours, self.theirs, "--arm", control], f"{whose}, got no kind and 1"),
            (
                [self.ours, self.theirs, "--ablation", "intervention", "--arm", control],
                f"{whose}, got intervention and 1",
            ),
            (
                [self.ours, self.theirs, "--ablation", "paired-retraining", "--arm", control, "--arm", broken],
                f"{broken}: must be JSON, got Expecting property name enclosed in double quotes at line 1, column 2",
            ),
            (
                [self.ours, self.theirs, "--ablation", "paired-retraining", "--arm", control, "--arm", missing],
                f"{missing}: the record of the arm must be a file that can be read, got No such file or directory",
            ),
            (
                [self.ours, self.theirs, "--ablation", "intervention", "--arm", control, "--arm", bad],
                f"{self.folder}/bad.json: Arm: updates must be a whole number, got 1.5",
            ),
            ([self.ours, self.theirs, "--confidence", "1"], "paired_bootstrap: confidence must"),
        ]:
            with self.subTest(message):
                status, out, err = self.run_on("compare", *arguments)
                self.assertEqual((status, out), (2, ""))
                self.assertTrue(err.startswith(f"refcalc: {message}"), err)


class Help(CompareCase):
    def test_it_names_every_field_of_a_protocol(self) -> None:
        for name in (field.name for field in fields(Protocol)):
            shown = name[:3].upper() if name.startswith(("bos", "eos")) else name
            self.assertRegex(compare.DESCRIPTION, rf"\b{shown}\b")

    def test_it_names_what_the_function_knows(self) -> None:
        self.assertEqual(compare.KINDS, ablation.KINDS)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), self.assertRaises(SystemExit):
            main(["compare", "--help"])
        self.assertIn("{" + ",".join(PER) + "}", out.getvalue())
        record = re.search(r'\{"name".*?\}', out.getvalue(), re.DOTALL)
        self.assertEqual(Arm.from_dict(json.loads(record[0] if record else "")).targets, 4676)
