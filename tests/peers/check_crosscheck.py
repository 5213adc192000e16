"""examples/crosscheck with the frameworks: every adapter answers, and PyTorch's answers are what is known of them.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_crosscheck.py
"""

import contextlib
import io
import json
import unittest
from typing import Any

from examples.crosscheck.__main__ import KEPT, main
from examples.crosscheck.asking import adapters, edge_results
from examples.crosscheck.worker import Framework


class Torch(unittest.TestCase):
    """One run of the command, for PyTorch alone."""

    @classmethod
    def setUpClass(cls) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            cls.status = main(["torch", "--json"])
        cls.found = json.loads(out.getvalue())

    def verdicts(self, function: str, question: str) -> dict[tuple[str, str], str]:
        return {
            (r["dtype"], r["family"]): r["explained_by_rounding"]
            for r in self.found["accuracy"]
            if (r["function"], r["question"]) == (function, question)
        }

    def edge(self, function: str, case: str) -> Any:
        return next(e for e in self.found["edge_cases"] if (e["function"], e["case"]) == (function, case))

    def test_rounding_explains_its_losses_in_every_dtype(self) -> None:
        self.assertEqual(self.status, 0)
        for function, question in [
            ("log_softmax", "log_softmax"),
            ("softmax", "softmax"),
            ("logsumexp", "logsumexp"),
            ("F.cross_entropy", "loss"),
            ("F.cross_entropy", "mean loss"),
            ("F.cross_entropy", "weighted loss"),
            ("F.nll_loss", "loss"),
        ]:
            verdicts = self.verdicts(function, question)
            self.assertEqual(len({dtype for dtype, _ in verdicts}), 4)
            self.assertEqual(set(verdicts.values()), {"yes"}, (function, question))

    def test_what_it_does_not_explain(self) -> None:
        # nan for 0 times -inf; and 5,000 log-probabilities added up in float16.
        self.assertEqual(self.verdicts("F.cross_entropy", "loss, soft targets")["float64", "masked classes"], "no")
        self.assertEqual(self.verdicts("F.kl_div", "kl_divergence")["float64", "masked classes"], "no")
        self.assertEqual(self.verdicts("F.cross_entropy", "smoothed loss")["float16", "V = 5,000"], "no")

    def test_a_confident_hit_loses_its_digits_within_rounding(self) -> None:
        worst = max(
            r["worst_ulp"]
            for r in self.found["accuracy"]
            if (r["function"], r["dtype"], r["family"]) == ("F.cross_entropy", "float64", "confident hit")
            and r["question"] == "loss"
        )
        self.assertGreater(worst, 1e9)

    def test_edge_cases(self) -> None:
        for case, own, answer in [
            ("every target ignored, mean", "refused", "nan"),
            ("every target ignored, sum", "0", "0"),
            ("target -1", "refused", "IndexError"),
            ("target V", "refused", "IndexError"),
            ("-inf where a soft target is 0", "0.313262", "nan"),
            ("a row of -inf", "refused", "nan"),
            ("inf, not the target", "refused", "nan"),
            ("nan in an ignored row, mean", "0.693147", "0.693147"),
            ("smoothing 0.3, one row ignored, mean", "0.707606", "0.707606"),
            ("weights 1, 2, 5, mean", "0.448703", "0.448703"),
            ("the same, soft targets", "1.57046", "1.57046"),
        ]:
            found = self.edge("F.cross_entropy", case)
            self.assertEqual((found["refcalc"], found["answer"]), (own, answer), case)


class Others(unittest.TestCase):
    def test_every_adapter_answers_without_dying(self) -> None:
        for path in adapters([]):
            with self.subTest(path.stem):
                framework = Framework(path)
                self.assertEqual(framework.absent, "")
                answers = {(r.function, r.edge.name): r.answer for r in edge_results(framework)}
                framework.close()
                self.assertTrue(answers)
                self.assertFalse([a for a in answers.values() if a.startswith("the process")])
                if path.stem == "optax":
                    self.assertEqual(answers["with_integer_labels", "target -1"], "0.407606")
                    self.assertEqual(answers["with_integer_labels", "target V"], "nan")
                    self.assertEqual(answers["safe_softmax_cross_entropy", "-inf where a soft target is 0"], "0.313262")
                if path.stem == "onnxruntime":
                    self.assertEqual(answers["SoftmaxCrossEntropyLoss", "every target ignored, mean"], "nan")

    def test_the_committed_tables_are_of_all_of_them(self) -> None:
        kept = KEPT.read_text("utf-8")
        for path in adapters([]):
            self.assertIn(f"\n| {path.stem} ", kept)


if __name__ == "__main__":
    unittest.main()
