"""`refcalc loss`, run as people run it: arguments in, text and an exit status out."""

import contextlib
import io
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from refcalc.cli import main

# Two sequences of 4 and 3 tokens over V = 2; every nll is a logarithm of a small rational.
LOG_3 = math.log(3)
BATCH: dict[str, Any] = {
    "logits": [[[0, 0], [0, 0], [0, 0], [0, 0]], [[0, 0], [LOG_3, 0], [LOG_3, 0], [0, 0]]],
    "tokens": [[0, 1, 1, 0], [1, 0, 1, 0]],
    "attention_mask": [[1, 1, 1, 1], [1, 1, 1, 0]],
}


class LossCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = str(self.folder / "batch.json")

    def run_on(self, batch: Any, *options: str) -> tuple[int, str, str]:
        text = batch if isinstance(batch, str) else json.dumps(batch)
        Path(self.path).write_text(text, encoding="utf-8")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(["loss", self.path, *options])
        return status, out.getvalue(), err.getvalue()

    def report(self, batch: Any) -> dict[str, Any]:
        status, out, err = self.run_on(batch, "--json")
        self.assertEqual((status, err), (0, ""))
        result: dict[str, Any] = json.loads(out)
        return result

    def assert_refused(self, batch: Any, message: str) -> None:
        status, out, err = self.run_on(batch)
        self.assertEqual((status, out, err), (2, "", f"refcalc: {self.path}: {message}\n"))


class Numbers(LossCase):
    def test_the_steps_are_counted_and_the_mean_is_over_the_scored_pairs(self) -> None:
        report = self.report(BATCH)
        # Five pairs: four at probability 1/2 (rows 0-2 and row 0), one at probability 1/4 (row 1 of the second).
        self.assertEqual((report["rows"], report["vocab_size"], report["pairs"], report["n_targets"]), (8, 2, 6, 5))
        self.assertEqual(report["ignored"], {"padding": 1, "labels": 0, "prompt": 0, "document starts": 0})
        self.assertAlmostEqual(report["mean_nll"], math.log(2**4 * 4) / 5, delta=1e-15)
        self.assertAlmostEqual(report["uniform_nll"], math.log(2), delta=1e-15)

    def test_the_four_numbers_are_those_computed_by_hand(self) -> None:
        four = self.report(BATCH)["four_numbers"]
        by_hand = {
            "shifted, masked": math.log(2**4 * 4) / 5,
            "shifted, not masked": (math.log(2**4 * 4) + math.log(4 / 3)) / 6,
            "not shifted, masked": (math.log(2**5) + math.log(4 / 3) + math.log(4)) / 7,
            "not shifted, not masked": (math.log(2**6) + math.log(4 / 3) + math.log(4)) / 8,
        }
        self.assertEqual(set(four), set(by_hand))
        for name, want in by_hand.items():
            self.assertAlmostEqual(four[name], want, delta=1e-15, msg=name)

    def test_labels_prompts_and_document_starts_take_targets_away_one_after_the_other(self) -> None:
        batch = {
            **BATCH,
            "labels": [[0, 1, 1, -100], [1, 0, 1, -100]],
            "prompt_lengths": [2, 0],
            "document_ids": [[0, 0, 0, 0], [0, 0, 1, 1]],
        }
        report = self.report(batch)
        self.assertEqual(report["ignored"], {"padding": 1, "labels": 1, "prompt": 1, "document starts": 1})
        self.assertEqual(report["n_targets"], 2)

    def test_a_single_sequence_needs_no_batch_around_it(self) -> None:
        single = {key: value[1] for key, value in BATCH.items()}
        batched = {key: value[1:] for key, value in BATCH.items()}
        self.assertEqual(self.report(single), self.report(batched))

    def test_text_gives_the_counts_of_bytes_characters_and_words(self) -> None:
        report = self.report({**BATCH, "text": ["né", "a b"]})
        self.assertEqual((report["n_bytes"], report["n_chars"], report["n_words"]), (6, 5, 3))
        self.assertAlmostEqual(report["bits_per_byte"], 6 / 6, delta=1e-15)
        self.assertAlmostEqual(report["bits_per_char"], 6 / 5, delta=1e-15)
        self.assertAlmostEqual(report["byte_perplexity"], 2, delta=1e-14)
        self.assertAlmostEqual(report["word_perplexity"], 4, delta=1e-14)

    def test_a_text_without_words_has_bits_per_byte_all_the_same(self) -> None:
        report = self.report({**BATCH, "text": "\n\n\n"})
        self.assertAlmostEqual(report["bits_per_byte"], 6 / 3, delta=1e-15)
        self.assertNotIn("word_perplexity", report)

    def test_labels_that_were_shifted_before_are_noticed(self) -> None:
        shifted = {**BATCH, "labels": [[1, 1, 0, -100], [0, 1, -100, -100]]}
        self.assertEqual(self.report(shifted)["labels_not_tokens"], 4)
        self.assertIn("note: 4 labels are not the token at their place; shifted already?", self.run_on(shifted)[1])
        aligned = {**BATCH, "labels": [[-100, 1, 1, 0], [-100, 0, 1, -100]]}
        self.assertEqual(self.report(aligned)["labels_not_tokens"], 0)
        self.assertNotIn("note", self.run_on(aligned)[1])

    def test_weights_and_smoothing_make_an_objective_beside_the_plain_nll(self) -> None:
        report = self.report({**BATCH, "weight": [1, 3]})
        self.assertEqual(report["mean_nll"], self.report(BATCH)["mean_nll"])
        # Scored targets 1, 1, 0 and 0, 1: nll log 2 but for the last, log 4.
        self.assertAlmostEqual(report["objective"], (3 + 3 + 1 + 1 + 3 * 2) * math.log(2) / 11, delta=1e-15)
        self.assertNotIn("objective", self.report(BATCH))

    def test_without_counts_nothing_is_said_of_bytes(self) -> None:
        self.assertNotIn("bits_per_byte", self.report(BATCH))

    def test_infinities_are_strings_both_ways(self) -> None:
        report = self.report({"logits": [["-inf", 0], [0, 0]], "tokens": [1, 0]})
        self.assertEqual((report["mean_nll"], report["perplexity"]), ("inf", "inf"))

    def test_padding_rows_may_hold_anything_and_the_unmasked_numbers_say_what_is_wrong(self) -> None:
        rows = [[0, 0], [0, 0], ["-inf", "-inf"]]
        four = self.report({"logits": rows, "tokens": [0, 1, 1], "attention_mask": [1, 1, 0]})["four_numbers"]
        self.assertAlmostEqual(four["shifted, masked"], math.log(2), delta=1e-15)
        self.assertEqual(
            four["not shifted, not masked"],
            {"refused": "cross_entropy: logits[2] must hold a score above -inf, got [-inf, -inf]"},
        )

    def test_logits_in_an_array_file_give_the_same_report_as_inline(self) -> None:
        numbers = [z for sequence in BATCH["logits"] for row in sequence for z in row]
        (self.folder / "z.f64").write_bytes(struct.pack(f"<{len(numbers)}d", *numbers))
        named = {**BATCH, "logits": {"path": "z.f64", "dtype": "float64", "shape": [2, 4, 2]}}
        self.assertEqual(self.report(named), self.report(BATCH))

    def test_the_table_holds_the_numbers_of_the_report(self) -> None:
        status, out, err = self.run_on({**BATCH, "n_bytes": 6})
        self.assertEqual((status, err), (0, ""))
        report = self.report({**BATCH, "n_bytes": 6})
        for name in ("mean_nll", "perplexity", "bits_per_token", "bits_per_byte", "byte_perplexity", "uniform_nll"):
            self.assertIn(f"{report[name]:.10g}", out)
        for number in report["four_numbers"].values():
            self.assertIn(f"{number:.10g}", out)
        self.assertIn("5 targets scored; not scored: padding 1", out)


class Refusals(LossCase):
    """One line on the standard error, naming the place; nothing on the standard output; status 2."""

    def test_what_is_not_json(self) -> None:
        self.assert_refused("[1, x]", "the file must be JSON, got Expecting value at line 1, column 5")
        self.assert_refused('{"a": 1, "a": 2}', "the file must not name a key twice, got 'a' again")
        self.assert_refused("[" * 100_000, "the file must not nest so deeply, got too many levels of [ or {")
        self.assert_refused("9" * 5000, "the file must hold whole numbers of at most 4,300 digits, got a longer one")
        self.assert_refused("[1]", "the file must hold a JSON object, got [1]")

    def test_nan_is_refused_with_its_line_and_column_but_not_inside_a_string(self) -> None:
        rule = 'the file must hold numbers that are finite, or the strings "inf" and "-inf"'
        self.assert_refused('{"comment": "NaN",\n "logits": NaN}', f"{rule}, got NaN at line 2, column 12")
        self.assert_refused('{"logits": [-Infinity]}', f"{rule}, got -Infinity at line 1, column 13")

    def test_bytes_that_are_no_utf8(self) -> None:
        Path(self.path).write_bytes(b'{"comment": "\xff"}')
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(main(["loss", self.path]), 2)
        self.assertEqual(err.getvalue(), f"refcalc: {self.path}: the file must be UTF-8, got a bad byte at offset 13\n")

    def test_keys_that_lack_or_are_not_known(self) -> None:
        self.assert_refused({"tokens": [0]}, "the file must have the key logits, got ['tokens']")
        self.assert_refused({"logits": [[0]]}, "the file must have the key tokens, got ['logits']")
        known = (
            "attention_mask, aux, bos_id, comment, document_ids, eos_id, groups, ignore_index, label_smoothing, "
            "labels, logits, max_length, n_bytes, n_chars, n_words, pad_id, pieces, prompt_lengths, stride, text, "
            "tokens, unk_id, vocab_size, weight, window"
        )
        self.assert_refused({**BATCH, "mask": []}, f"every key must be one of {known}, got 'mask'")

    def test_ragged_and_misfit_batches(self) -> None:
        ragged = {**BATCH, "logits": [[[0, 0], [0, 0, 0], [0, 0], [0, 0]], BATCH["logits"][1]]}
        self.assert_refused(ragged, "Batch: logits[0][1] must hold V = 2 scores as the first row does, got 3")
        short = {**BATCH, "tokens": [[0, 1, 1], [1, 0, 1, 0]], "attention_mask": None}
        self.assert_refused(short, "Batch: logits[0] must be as long as tokens[0] (3), got 4")
        mask = {**BATCH, "attention_mask": [[1, 1, 1, 1], [1, 1, 1]]}
        self.assert_refused(mask, "Batch: attention_mask[1] must be as long as tokens[1] (4), got 3")

    def test_numbers_that_are_none(self) -> None:
        text = {"logits": [[0, "x"], [0, 0]], "tokens": [0, 1]}
        self.assert_refused(text, "causal_lm_loss: logits[0][1] must be a number, got 'x'")
        nan = {"logits": [[0, "nan"], [0, 0]], "tokens": [0, 1]}
        self.assert_refused(nan, "causal_lm_loss: logits[0][1] must be finite or -inf, got nan")
        true = {"logits": [[0, True], [0, 0]], "tokens": [0, 1]}
        self.assert_refused(true, "causal_lm_loss: logits[0][1] must be a number, got 'true'")
        flat = {"logits": [0, 0], "tokens": [0, 1]}
        self.assert_refused(flat, "Batch: logits[0] must be a sequence, got 0")

    def test_tokens_that_are_none(self) -> None:
        self.assert_refused(
            {"logits": [[0, 0]] * 2, "tokens": [0, 2]}, "causal_lm_loss: tokens[1] must lie in [0, 2), got 2"
        )
        self.assert_refused(
            {"logits": [[0, 0]] * 2, "tokens": [0, -100]}, "causal_lm_loss: tokens[1] must be at least 0, got -100"
        )
        self.assert_refused(
            {"logits": [[0, 0]] * 2, "tokens": [0, 1.0]}, "Batch: tokens[1] must be a whole number, got 1.0"
        )

    def test_nothing_to_average(self) -> None:
        rule = "causal_lm_loss: tokens must hold a target that counts (nothing to average)"
        self.assert_refused({"logits": [[0, 0]], "tokens": [0]}, f"{rule}, got [0]")
        self.assert_refused({"logits": [], "tokens": []}, f"{rule}, got []")

    def test_counts_that_do_not_fit_the_text(self) -> None:
        self.assert_refused(
            {**BATCH, "text": "abc", "n_bytes": 4}, "Batch: n_bytes must be the 3 that the text has, got 4"
        )
        self.assert_refused({**BATCH, "n_bytes": 0}, "Batch: n_bytes must be at least 1, got 0")
        self.assert_refused({**BATCH, "text": 7}, "Batch: text must be a sequence, got 7")
        whole = "Batch: text must be the text of the scored targets, whole or of each row"
        self.assert_refused({**BATCH, "text": ["a"]}, f"{whole}, got ['a']")
        self.assert_refused({**BATCH, "text": ""}, f"{whole}, got ''")

    def test_what_other_commands_use_is_checked_here_too(self) -> None:
        self.assert_refused({**BATCH, "n_bytes": [1]}, "Batch: n_bytes must be as long as the rows (2), got 1")
        self.assert_refused(
            {**BATCH, "groups": [[0], [0]]}, "Batch: groups must hold each row from 0 to 1 once, got [[0], [0]]"
        )
        self.assert_refused({**BATCH, "window": -3}, "Batch: window must be at least 1, got -3")
        self.assert_refused({**BATCH, "pieces": 5}, "Batch: pieces must be a sequence, got 5")
        self.assert_refused(
            {"nll": [1.0]},
            "the file must have logits and tokens, not the nll of records, got <Records of 1 rows, 1 places>",
        )

    def test_array_files_stay_beside_the_batch_file(self) -> None:
        rule = "logits must be an array file beside the batch file"
        self.assert_refused({**BATCH, "logits": "../z.npy"}, f"{rule}, got '../z.npy'")
        self.assert_refused({**BATCH, "logits": "/z.npy"}, f"{rule}, got '/z.npy'")
        self.assert_refused(
            {**BATCH, "logits": {"path": "z.npy", "mode": "w"}},
            "logits must have the keys path, dtype, shape and tensor only, got ['mode']",
        )

    def test_files_that_are_not_there(self) -> None:
        status, out, err = self.run_on({**BATCH, "logits": "z.npy"})
        self.assertEqual((status, out), (2, ""))
        self.assertEqual(err.count("\n"), 1)
        self.assertIn("No such file", err)


class Usage(unittest.TestCase):
    def test_help_and_usage_have_their_exit_statuses(self) -> None:
        for arguments, status in ([["--help"], 0], [["loss", "--help"], 0], [[], 2], [["lose"], 2], [["loss"], 2]):
            out, err = io.StringIO(), io.StringIO()
            with self.subTest(arguments), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                with self.assertRaises(SystemExit) as exit_:
                    main(arguments)
                self.assertEqual(exit_.exception.code, status)


class Pipes(LossCase):
    def test_a_reader_that_has_had_enough_is_no_error(self) -> None:
        Path(self.path).write_text(json.dumps(BATCH), encoding="utf-8")
        reader, writer = os.pipe()
        os.close(reader)  # nobody will read
        command = [sys.executable, "-W", "error", "-m", "refcalc", "loss", self.path]
        with os.fdopen(writer, "wb") as out:
            run = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, b""))

    def test_an_output_that_cannot_be_written_is_bad(self) -> None:
        Path(self.path).write_text(json.dumps({**BATCH, "comment": "é"}), encoding="utf-8")
        accented = self.folder / "é.json"
        accented.write_text(json.dumps(BATCH), encoding="utf-8")
        for arguments, environment, message in [
            (f"{self.path} >&-", {}, "refcalc: the standard output must be open, got a closed one"),
            (str(accented), {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, "refcalc: 'ascii' codec can't encode"),
        ]:
            with self.subTest(arguments):
                command = f'"{sys.executable}" -m refcalc loss {arguments}'
                run = subprocess.run(
                    command, shell=True, capture_output=True, text=True, check=False, env={**os.environ, **environment}
                )
                self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (2, "", 1))
                self.assertTrue(run.stderr.startswith(message), run.stderr)

    def test_what_nests_too_deep_for_python_is_one_line(self) -> None:
        deep = "[" * 900 + "0" + "]" * 900
        status, out, err = self.run_on(f'{{"logits": {deep}, "tokens": {deep}}}')
        self.assertEqual((status, out, err.count("\n")), (2, "", 1))


if __name__ == "__main__":
    unittest.main()
