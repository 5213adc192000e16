"""The example tiny_gpt, end to end on a few updates: every file of a run, judged by plain formulas and by PyTorch."""

import contextlib
import gzip
import io
import json
import os
import re
import tempfile
import unittest
from math import log, log2
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.nn import functional

import refcalc
from examples.tiny_gpt import __main__ as program
from examples.tiny_gpt import ablation, attention, baselines, evaluating, text, training
from refcalc.evaluation.log import Receipts

UPDATES, SEED = 12, program.SEEDS[0]
PUBLISHED = Path(os.environ.get("REFCALC_DATA", ".")) / "tinyshakespeare.txt"


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.text = cls.folder / "text.txt"
        document = "{0} squared is {1}.\nThe square of {0}, as anybody can see, is {1}.\n\n"
        cls.text.write_text("".join(document.format(k, k * k) for k in range(900)), "utf-8")
        printed = io.StringIO()
        arguments = ["all", "--text", str(cls.text), "--folder", str(cls.folder), "--seeds", "2"]
        with contextlib.redirect_stdout(printed):
            program.main([*arguments, "--updates", str(UPDATES), "--retrain", "4"])
        cls.printed = printed.getvalue()
        cls.corpus = text.load(cls.text)
        cls.seed = cls.folder / f"seed-{SEED}"

    def test_the_documents_are_the_text(self) -> None:
        documents = [document for split in text.SPLITS for document in self.corpus.splits[split]]
        self.assertEqual("".join(document.text for document in documents), self.text.read_text("utf-8"))
        self.assertEqual(len({document.id for document in documents}), len(documents))

    def test_every_receipt_is_pytorchs_sum(self) -> None:
        model = training.load(self.corpus, self.seed / "trained.pt").eval()
        receipts = {receipt.document: receipt for _, receipt in Receipts(str(self.seed / "trained-test.jsonl"))}
        self.assertEqual(set(receipts), {document.id for document in self.corpus.splits["test"]})
        for document in self.corpus.splits["test"]:
            ids = [text.BOS, *self.corpus.encode(document.text), text.EOS]
            total = 0.0
            for start in range(0, len(ids) - 1, 64):
                window = torch.tensor(ids[start : start + 65])
                with torch.no_grad():
                    rows = model(window[None, :-1])[0].double()
                total += functional.cross_entropy(rows, window[1:], reduction="sum").item()
            receipt = receipts[document.id]
            self.assertEqual((receipt.n_targets, receipt.n_bytes), (len(ids) - 1, len(document.text.encode())))
            self.assertAlmostEqual(float(receipt.nll_sum) / total, 1.0, delta=1e-6)  # other batches, other roundings

    def test_training_helped_and_began_near_the_uniform_model(self) -> None:
        means = {
            state: refcalc.Report.of(str(self.seed / f"{state}-test.jsonl")).total.mean_nll
            for state in ("initial", "trained")
        }
        self.assertAlmostEqual(means["initial"], log(self.corpus.vocab_size), delta=0.5)
        self.assertLess(means["trained"], means["initial"] - 0.5)

    def test_the_baselines_are_plain_counts(self) -> None:
        train = [y for document in evaluating.documents(self.corpus, "train") for y in document.tokens]
        test = [y for document in evaluating.documents(self.corpus, "test") for y in document.tokens]
        size = self.corpus.vocab_size
        want = -sum(log((train.count(y) + 1) / (len(train) + size)) * test.count(y) for y in set(test))
        found = refcalc.Report.of(str(baselines.receipts(self.folder / "baselines", "unigram", "test")))
        self.assertAlmostEqual(float(found.total.nll_sum) / want, 1.0, delta=1e-12)

    def test_the_mode_of_the_model_is_restored(self) -> None:
        model = training.load(self.corpus, self.seed / "trained.pt")
        for mode in (True, False):
            model.train(mode)
            with contextlib.suppress(ZeroDivisionError), evaluating.evaluation_mode(model):
                self.assertFalse(model.training or torch.is_grad_enabled())
                raise ZeroDivisionError
            self.assertEqual((model.training, torch.is_grad_enabled()), (mode, True))

    def test_both_retrained_arms_saw_the_same_windows_and_one_stayed_at_zero(self) -> None:
        folder = self.seed / "ablation"
        arms = [json.loads((folder / f"paired-retraining-{n}.json").read_text("utf-8")) for n in ("control", "zeroed")]
        for name in ("trajectory_digest", "base_digest", "targets", "updates", "parameters"):
            self.assertEqual(arms[0][name], arms[1][name], name)
        model = training.load(self.corpus, folder / f"retrained-{ablation.OFF.replace(' ', '-')}.pt")
        self.assertFalse(model.positions.weight.any())
        table = model.positions.weight.numel()
        self.assertEqual(arms[0]["trainable_parameters"] - arms[1]["trainable_parameters"], table)
        self.assertIn("the two are not mixed: compare_reports: arms[1].kind", self.printed)

    def test_the_losses_of_both_arms_are_said_before_and_after(self) -> None:
        for name, label in [("control", "control"), ("zeroed", ablation.OFF)]:
            stages = ("before-retraining", "paired-retraining")
            found = [refcalc.Report.of(str(self.seed / "ablation" / f"{stage}-{name}.jsonl")) for stage in stages]
            before, after = (each.total.mean_nll for each in found)
            self.assertLess(after, before)
            line = f"\n{label}: {before:.6f} nats per target before 4 updates, {after:.6f} after\n"
            self.assertIn(line, self.printed)

    def test_an_ablation_is_run_anew(self) -> None:
        arm = self.seed / "ablation" / "paired-retraining-control.json"
        with contextlib.redirect_stdout(io.StringIO()):
            ablation.ablate(self.corpus, self.seed, 3, SEED)
            self.assertEqual(json.loads(arm.read_text("utf-8"))["updates"], 3)
            ablation.ablate(self.corpus, self.seed, 4, SEED)
        self.assertEqual(json.loads(arm.read_text("utf-8"))["updates"], 4)

    def test_the_attention_is_right_and_a_wrong_one_is_found(self) -> None:
        self.assertEqual(self.printed.count("in float64; none looks ahead\n"), 2)
        model = training.load(self.corpus, self.seed / "trained.pt")
        right = functional.scaled_dot_product_attention

        def looks_ahead(query: Any, key: Any, value: Any, is_causal: bool) -> Any:
            return right(query, key, value)

        def too_sharp(query: Any, key: Any, value: Any, is_causal: bool) -> Any:
            return right(query, key, value, is_causal=is_causal, scale=1.001 / query.shape[-1] ** 0.5)

        def too_large(query: Any, key: Any, value: Any, is_causal: bool) -> Any:
            return 1.001 * right(query, key, value, is_causal=is_causal)

        for wrong, words in [(looks_ahead, "comes after"), (too_sharp, "is off by"), (too_large, "a row is not 1")]:
            with mock.patch.object(functional, "scaled_dot_product_attention", wrong):
                self.assertRaisesRegex(AssertionError, words, attention.check, model, self.corpus)

    def test_the_audit_is_without_fault(self) -> None:
        audited = self.printed.partition("--- report ---\n")[2].partition("\n\nDuplicates have")[0]
        self.assertNotIn("FAIL", audited.upper())
        self.assertIn("it costs log V on every target", audited)
        self.assertIn("the same checkpoint before and after", audited)

    def test_a_run_is_not_trained_over_nor_used_for_another_text(self) -> None:
        before = (self.seed / "trained.pt").read_bytes()
        other = self.folder / "other.txt"
        other.write_text("Another text.\n\n" * 900, "utf-8")
        for command, path, words in [("train", self.text, "a model was trained"), ("evaluate", other, "another text")]:
            with self.subTest(command), contextlib.redirect_stdout(io.StringIO()):
                arguments = [command, "--text", str(path), "--folder", str(self.folder)]
                self.assertRaisesRegex(ValueError, words, program.main, arguments)
        self.assertEqual((self.seed / "trained.pt").read_bytes(), before)

    def test_a_text_without_three_splits_is_refused(self) -> None:
        short = self.folder / "short.txt"
        for written in ("", "abc"):
            short.write_text(written, "utf-8")
            self.assertRaisesRegex(ValueError, "long enough for three splits", text.load, short)

    def test_any_number_of_updates_can_be_trained(self) -> None:
        for updates in (1, 2, 8, 9, 10):
            run = training.train(training.new_model(self.corpus, 1), self.corpus, updates, 1)
            self.assertEqual(run.updates, updates)

    def test_the_trajectory_depends_on_the_seed_alone(self) -> None:
        first, again, other = ([*training.draws(50, 3, seed)] for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_generation_never_gives_a_bos_and_repeats(self) -> None:
        lines = (self.seed / "generated.jsonl").read_text("utf-8").splitlines()
        self.assertEqual(len(lines), 5)
        for line in lines:
            receipt = refcalc.GenerationReceipt.from_dict(json.loads(line))
            self.assertNotIn(text.BOS, receipt.ids)
            self.assertIn(receipt.stop, ("eos", "max_new"))
        self.assertEqual(self.printed.count(", repeats; "), 5)

    def test_the_baselines_of_the_text_alone(self) -> None:
        """By log2 and gzip; where tinyshakespeare is at hand, they are the published ones."""
        known = PUBLISHED if PUBLISHED.exists() else self.text
        corpus, whole = text.load(known), known.read_text("utf-8")
        held_out = whole[int(0.9 * len(whole)) :]
        found = dict(baselines.of_the_text(corpus, "test"))
        compressed = 8 * len(gzip.compress(held_out.encode(), 9)) / len(held_out)
        self.assertEqual([*found.values()], [log2(len(set(whole))), compressed])
        if known == PUBLISHED:
            published = {"uniform, 65 characters": 6.022, "gzip -9": 3.191}
            self.assertEqual({name: round(bits, 3) for name, bits in found.items()}, published)

    def test_the_report_is_verified_and_the_ladder_is_in_order(self) -> None:
        self.assertEqual(self.printed.count("numbers agree with the receipts"), 2)
        rungs = [float(x) for x in re.findall(r"^.{24} *(\d+\.\d+) bits per character$", self.printed, re.M)]
        self.assertEqual(len(rungs), 7)
        self.assertEqual(rungs, sorted(rungs, reverse=True))
        for name in ("ladder.svg", "seeds.svg"):
            self.assertIn("<svg", (self.folder / name).read_text("utf-8"))


if __name__ == "__main__":
    unittest.main()
