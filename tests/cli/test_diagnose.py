"""`refcalc diagnose`, `mistakes` and `probe`, run as people run them."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from refcalc import MISTAKES, probe
from refcalc.cli import main
from refcalc.mistakes import NO_COMPUTATION
from refcalc.mistakes.kind import ALL
from refcalc.mistakes.pipeline import Run
from refcalc.probes import record_of

RECORDS = {"nll": [[2, 2, 2, 2], [1]], "groups": [[0], [1]], "n_bytes": [7, 1]}
BATCH: dict[str, Any] = {
    "logits": [[2, 0, 0], [0, 1, 0], [0, 0, 3], [1, 1, 1]],
    "tokens": [0, 0, 1, 2],
}


class Commands(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(Path(folder.name) / "batch.json")

    def run_with(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(arguments)
        return status, out.getvalue(), err.getvalue()

    def diagnose(self, batch: Any, number: str, *options: str) -> tuple[int, str, str]:
        Path(self.path).write_text(batch if isinstance(batch, str) else json.dumps(batch), encoding="utf-8")
        return self.run_with("diagnose", self.path, number, *options)


class Diagnose(Commands):
    def test_a_right_number_has_status_0_and_a_wrong_one_1(self) -> None:
        self.assertEqual(self.diagnose(RECORDS, "1.8")[0], 0)
        status, out, err = self.diagnose(RECORDS, "1.5")
        self.assertEqual((status, err), (1, ""))
        self.assertIn("1.5 is not the right mean_nll, which is 1.8.", out)
        self.assertIn("mean-of-means: 1.5", out)

    def test_a_batch_of_logits_is_read_with_all_of_its_keys(self) -> None:
        status, out, _ = self.diagnose(BATCH, "1.895")
        self.assertEqual(status, 1)
        self.assertIn("  double-shift: 1.89549474 (relative difference 0.00026)\n", out)
        status, out, _ = self.diagnose(
            {**BATCH, "label_smoothing": 0.1, "comment": "x"}, "0.2953", "--dtype", "float32"
        )
        self.assertEqual(status, 1)
        self.assertIn("  smoothing-left-out: 0.2953041455 (relative difference 1.4e-05)\n", out)

    def test_quantity_tolerance_and_json(self) -> None:
        status, out, _ = self.diagnose(RECORDS, "1.5", "--quantity", "bits_per_byte", "--tolerance", "0.2", "--json")
        record = json.loads(out)
        self.assertEqual((status, record["agrees"], record["quantity"]), (0, True, "bits_per_byte"))
        status, out, _ = self.diagnose({"nll": ["inf", 1]}, "nan", "--json")
        record = json.loads(out)
        self.assertEqual((status, record["right"], record["reported"]), (1, "inf", "nan"))

    def test_negative_numbers_need_no_escape(self) -> None:
        status, out, _ = self.diagnose({"logits": [[3, 3], [0, 0]], "tokens": [0, 1]}, "-3.0")
        self.assertEqual(status, 1)
        self.assertIn("raw-logit-nll: -3", out)
        for number in ("-1e-3", "-2.5E+1", "-.5", "-inf"):
            with self.subTest(number):
                status, out, err = self.diagnose(RECORDS, number)
                self.assertEqual((status, err), (1, ""))
                self.assertTrue(out.startswith(f"{number} is not the right mean_nll, which is 1.8.\n"))

    def test_short_names_of_dtypes_are_understood(self) -> None:
        for short, dtype in (("fp64", "float64"), ("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16")):
            record = json.loads(self.diagnose(RECORDS, "1.8", "--dtype", short, "--json")[1])
            self.assertEqual(record["dtype"], dtype)

    def test_help_states_the_exit_statuses(self) -> None:
        with self.assertRaises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as out:
            main(["diagnose", "--help"])
        self.assertIn("\nExit status: 0 if the number is right, 1 if it is not, 2 for bad input.\n", out.getvalue())

    def test_refusals_are_one_line_with_status_2(self) -> None:
        for batch, number, options, message in (
            (RECORDS, "many", [], "diagnose: reported must be a number, got 'many'"),
            (RECORDS, "1", ["--quantity", "bits_per_char"],
             "diagnose: evidence must have n_chars for bits_per_char, got None"),
            (RECORDS, "-1", ["--quantity", "perplexity"],
             "diagnose: reported must not be negative (no perplexity is), got '-1'"),
            ({"nll": [1], "logits": []}, "1", [],
             "every key must be one of aux, comment, groups, mask, max_length, n_bytes, n_chars, n_words, nll, pieces, "
             "stride, text, window, got 'logits'"),
            ({"nll": [-1]}, "1", [], "Records: nll[0] must not be negative, got -1.0"),
            ({**BATCH, "groups": [[1]]}, "1", [], "Batch: groups must hold each row from 0 to 0 once, got [[1]]"),
            ({**BATCH, "tokens": [0, 0, 1]}, "1", [], "Batch: logits must be as long as tokens (3), got 4"),
            ({**BATCH, "tokens": [0, 0, 1, 9]}, "1", [],
             "diagnose: the target of logits[2] must lie in [0, 3), got 9"),
            ("[1", "1", [], "the file must be JSON, got Expecting ',' delimiter at line 1, column 3"),
        ):  # fmt: skip
            with self.subTest(message):
                self.assertEqual(self.diagnose(batch, number, *options), (2, "", f"refcalc: {self.path}: {message}\n"))


class Mistakes(Commands):
    def test_all_are_listed_by_step(self) -> None:
        status, out, err = self.run_with("mistakes")
        self.assertEqual((status, err), (0, ""))
        for name in (*MISTAKES, *NO_COMPUTATION):
            self.assertIn(f"\n  {name} ", out)
        self.assertTrue(out.startswith("score\n  double-softmax "))

    def test_one_is_explained_with_its_witness_under_any_of_its_names(self) -> None:
        status, out, _ = self.run_with("mistakes", "missing-world-size")
        self.assertEqual(status, 0)
        self.assertTrue(out.startswith("double-scaled (also missing-world-size): mistake, step reduce\n"))
        self.assertIn("\n>>> witness(double_scaled, Records([[2, 4], [1, 3]]", out)
        self.assertIn("huggingface/transformers#35210", out)
        self.assertIn("needs the tokenizer", self.run_with("mistakes", "split-encode-slice")[1])

    def test_json_holds_the_same(self) -> None:
        listed = json.loads(self.run_with("mistakes", "--json")[1])["mistakes"]
        self.assertEqual(set(listed), set(MISTAKES))
        self.assertEqual(json.loads(self.run_with("mistakes", "no-shift", "--json")[1]), listed["no-shift"])

    def test_a_part_of_names_lists_those_that_have_it(self) -> None:
        status, out, _ = self.run_with("mistakes", "smoothing")
        listed = {line.split()[0] for line in out.splitlines() if line.startswith("  ") and line[2] != " "}
        self.assertEqual((status, listed), (0, {name for name in MISTAKES if "smoothing" in name}))
        self.assertTrue(out.startswith("score\n  smoothing-k-minus-one "))
        self.assertTrue(self.run_with("mistakes", "no-shift")[1].startswith("no-shift"))  # a name, and a part of others

    def test_a_name_it_does_not_know_is_refused(self) -> None:
        message = "refcalc: no mistake is called 'no-shfit'; did you mean no-shift?\n"
        self.assertEqual(self.run_with("mistakes", "no-shfit"), (2, "", message))


class Probe(Commands):
    def test_it_is_read_back_by_loss_and_diagnose_with_the_answers_it_states(self) -> None:
        status, out, err = self.run_with("probe")
        self.assertEqual((status, err), (0, ""))
        record = json.loads(out)
        answers = record.pop("comment")["answers"]
        self.assertEqual(record, record_of(probe()))
        self.assertEqual(set(answers), set(ALL))
        self.assertEqual(self.diagnose(out, repr(answers["word_perplexity"]), "--quantity", "word_perplexity")[0], 0)
        report = json.loads(self.run_with("loss", self.path, "--json")[1])
        for quantity in ALL:
            self.assertAlmostEqual(report[quantity] / answers[quantity], 1.0, delta=1e-14, msg=quantity)

    def test_the_labels_to_score_give_the_answer_without_masks(self) -> None:
        record = json.loads(self.run_with("probe", "--weighted", "--label-smoothing", "0.1")[1])
        comment = record["comment"]
        plain = {"logits": record["logits"], "tokens": record["tokens"], "labels": comment["labels_to_score"]}
        options = {key: record[key] for key in ("vocab_size", "weight", "label_smoothing")}
        self.assertEqual(self.diagnose({**plain, **options}, repr(comment["answers"]["mean_nll"]))[0], 0)
        report = json.loads(self.run_with("loss", self.path, "--json")[1])
        self.assertAlmostEqual(report["objective"], comment["answers"]["mean_nll"], delta=1e-13)
        self.assertAlmostEqual(report["perplexity"] / comment["answers"]["perplexity"], 1.0, delta=1e-13)

    def test_help_says_what_each_key_of_the_comment_means(self) -> None:
        with self.assertRaises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as out:
            main(["probe", "--help"])
        self.assertIn("logits[..., :vocab_size]", out.getvalue())
        for key in json.loads(self.run_with("probe")[1])["comment"]:
            self.assertIn(f"\n    {key.replace('mean_nll', 'QUANTITY')}", out.getvalue())

    def test_what_it_says_of_one_quantity(self) -> None:
        comment = json.loads(self.run_with("probe", "--quantity", "nll_sum", "--seed", "3")[1])["comment"]
        self.assertIn("rate-as-total", comment["told apart by nll_sum in float32"])
        self.assertEqual(comment["answers"]["nll_sum"], Run(probe(3, quantity="nll_sum"), "nll_sum").value())
        self.assertEqual(self.run_with("probe", "--quantity", "x")[0], 2)


if __name__ == "__main__":
    unittest.main()
