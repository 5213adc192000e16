"""examples/crosscheck with kernels of plain Python: what it asks, how it judges, and what it survives."""

import contextlib
import io
import json
import math
import re
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import refcalc
from examples import crosscheck
from examples.crosscheck import asking, families, report, worker
from examples.crosscheck.__main__ import KEPT, main
from examples.crosscheck.questions import truth
from examples.crosscheck.worker import Framework

ROOT = Path(__file__).resolve().parents[1]
FEW = {name: families.FAMILIES[name] for name in ("ordinary", "confident hit", "masked classes")}

PLAIN = """
    import math, os
    from examples.crosscheck import Kernel

    VERSION = "1"
    DTYPES = ("float64", "float32")

    def right(rows, dtype):
        print("what a framework prints is no answer")
        return [max(row) + math.log(math.fsum(math.exp(x - max(row)) for x in row)) for row in rows]

    def wrong(rows, dtype):
        return [x + 0.01 for x in right(rows, dtype)]

    def late(rows, targets, dtype):
        return [lse - row[y] for lse, row, y in zip(right(rows, dtype), rows, targets)]

    def dies(rows, dtype):
        if max(rows[0]) == math.inf:
            os.abort()
        return right(rows, dtype)

    class Scalar:
        def __init__(self, x):
            self.x = x

        def tolist(self):
            return self.x

    def of_scalars(rows, dtype):
        return tuple(Scalar(x) for x in right(rows, dtype))

    KERNELS = [
        Kernel("logsumexp", "of scalars", of_scalars),
        Kernel("entropy", "none", lambda rows, dtype: None),
        Kernel("entropy", "text", lambda rows, dtype: ["1.0"] * len(rows)),
        Kernel("entropy", "reads", lambda rows, dtype: [float(input()) for _ in rows]),
        Kernel("logsumexp", "right", right), Kernel("logsumexp", "wrong", wrong), Kernel("logsumexp", "dies", dies),
        Kernel("loss", "late", late), Kernel("softmax", "raises", lambda rows, dtype: 1 / 0),
        Kernel("entropy", "nan", lambda rows, dtype: [math.nan] * len(rows)),
    ]
"""


class Rounding(unittest.TestCase):
    def test_narrow_numbers_are_those_of_struct(self) -> None:
        u = Random(1).random
        for _ in range(300):
            x = (u() - 0.5) * 10.0 ** int(8.0 * u() - 4.0)
            for dtype, form in [("float32", "<f"), ("float16", "<e")]:
                if dtype == "float32" or abs(x) > 1e-4:
                    self.assertEqual(families.rounded(x, dtype), struct.unpack(form, struct.pack(form, x))[0])
            self.assertEqual(families.rounded(x, "float64"), x)

    def test_bfloat16_is_the_upper_half_of_float32_ties_to_even(self) -> None:
        for x, want in [(257.0, 256.0), (259.0, 260.0), (1.00390625, 1.0), (1.01171875, 1.015625), (0.0, 0.0)]:
            self.assertEqual(families.rounded(x, "bfloat16"), want)

    def test_rows_of_a_family_have_one_v_and_the_numbers_of_the_dtype(self) -> None:
        for family in families.FAMILIES:
            for dtype in ("float32", "float16", "bfloat16"):
                rows, targets = families.rows_of(family, dtype)
                self.assertEqual({len(row) for row in rows}, {len(rows[0])})
                self.assertEqual(len(rows), len(targets))
                for row, y in zip(rows, targets, strict=True):
                    self.assertGreater(row[y], -math.inf)
                    self.assertEqual([families.rounded(x, dtype) for x in row], row)


class Kernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(families.FAMILIES, FEW, clear=True):
            path = Path(folder) / "plain.py"
            path.write_text(textwrap.dedent(PLAIN), encoding="utf-8")
            framework = Framework(path)
            cls.absent = framework.absent
            cls.results = list(asking.results(framework))
            cls.edges = list(asking.edge_results(framework))
            framework.close()

    def of(self, function: str, dtype: str = "float64") -> dict[str, Any]:
        return {r.family: r for r in self.results if (r.function, r.dtype) == (function, dtype)}

    def test_each_is_asked_in_every_dtype_on_every_family(self) -> None:
        self.assertEqual(self.absent, "")
        for function in ("right", "wrong", "dies", "late", "raises", "nan"):
            for dtype in ("float64", "float32"):
                self.assertEqual(self.of(function, dtype).keys(), FEW.keys())

    def test_what_rounding_explains_and_what_it_does_not(self) -> None:
        for family in FEW:
            self.assertEqual(self.of("right")[family].judgement.explained, "yes")
            self.assertEqual(self.of("wrong")[family].judgement.explained, "no")
        self.assertLess(self.of("right")["ordinary"].judgement.comparison.worst_ulp, 8)
        # A logit taken from a finished logsumexp: on a confident hit what is left is the rounding of the logit.
        self.assertEqual(self.of("late", "float32")["ordinary"].judgement.explained, "yes")

    def test_a_far_offset_is_explained_by_the_size_of_the_logits_only(self) -> None:
        question = next(q for q in asking.QUESTIONS if q.name == "loss")
        rows, targets = families.rows_of("offset 1000", "float64")
        late = [
            m + math.log(math.fsum(math.exp(x - m) for x in row)) - row[y]
            for row, y in zip(rows, targets, strict=True)
            for m in [max(row)]
        ]
        self.assertEqual(question.judged(late, "offset 1000", "float64").explained, "by logits")
        right = [refcalc.token_nll(row, y) for row, y in zip(rows, targets, strict=True)]
        self.assertEqual(question.judged(right, "offset 1000", "float64").explained, "yes")

    def test_what_is_raised_and_what_kills_the_process_are_answers(self) -> None:
        self.assertEqual({r.error for r in self.of("raises").values()}, {"ZeroDivisionError"})
        answers = {(e.function, e.edge.name): e.answer for e in self.edges}
        self.assertEqual(answers["dies", "inf"], "the process ended, signal 6")
        self.assertEqual(answers["dies", "a row of -inf"], answers["right", "a row of -inf"])
        self.assertEqual(answers["late", "nan"], "nan")
        self.assertEqual(answers["late", "-inf, not the target"], "0.313262")

    def test_an_answer_is_numbers_in_lists_of_any_kind(self) -> None:
        for dtype in ("float64", "float32"):
            right, boxed = self.of("right", dtype), self.of("of scalars", dtype)
            for family in FEW:
                self.assertEqual(boxed[family].judgement, right[family].judgement)
        for function, error in [("none", "TypeError"), ("text", "TypeError"), ("reads", "EOFError")]:
            self.assertEqual({r.error for r in self.of(function).values()}, {error})

    def test_a_kernel_that_never_comes_back_is_ended(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sleeps.py"
            path.write_text(
                "import time\nfrom examples.crosscheck import Kernel\nVERSION, DTYPES = '1', ('float64',)\n"
                "KERNELS = [Kernel('softmax', 'sleeps', lambda rows, dtype: time.sleep(3600))]\n",
                encoding="utf-8",
            )
            framework = Framework(path)
            with mock.patch.object(worker, "SECONDS", 0.1):
                value, error = framework.ask(0, "float64", [[[0.0]]], {})
            framework.close()
        self.assertEqual((value, error), (None, "the process ended, signal 9"))

    def test_options_that_a_kernel_does_not_take_are_not_asked(self) -> None:
        asked = {r.question.name for r in self.results if r.function == "late"}
        self.assertEqual(asked, {"loss"})
        self.assertNotIn("weights 1, 2, 5, mean", {e.edge.name for e in self.edges})

    def test_text_is_eighty_columns_wide_and_marks_what_stands_out(self) -> None:
        text = report.as_text(self.results, self.edges)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        cells = {line.split()[1]: line.split()[2:] for line in text.splitlines() if line.startswith("plain ")}
        self.assertTrue(all(cell.endswith("!") for cell in cells["wrong"]), cells)
        self.assertEqual(cells["nan"], ["nan!", "nan!"])
        self.assertEqual(cells["raises"], ["raises", "raises"])
        self.assertTrue(all(cell[-1].isdigit() for cell in cells["right"]), cells)

    def test_long_cells_in_every_dtype_leave_it_eighty_columns_wide(self) -> None:
        wrong = [r._replace(dtype=d) for r in self.results if r.function == "wrong" for d in crosscheck.DTYPES]
        text = report.as_text(wrong, [])
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertIn("\nplain wrong\n", text)

    def test_json_has_every_family_and_is_strict(self) -> None:
        found = json.loads(json.dumps(report.as_json({"plain": "1"}, self.results, self.edges), allow_nan=False))
        self.assertEqual(len(found["accuracy"]), len(self.results))
        nan = next(r for r in found["accuracy"] if r["function"] == "nan")
        self.assertEqual((nan["worst_ulp"], nan["worst_pair"][0], nan["explained_by_rounding"]), ("inf", "nan", "no"))

    def test_the_exact_tier_s_own_answers_have_no_error(self) -> None:
        for question in asking.QUESTIONS:
            with self.subTest(question=question.name):
                judgement = question.judged(truth(question, "ordinary", "float64"), "ordinary", "float64")
                self.assertTrue(judgement.comparison.equal)

    def test_refcalc_answers_the_edge_cases_or_refuses(self) -> None:
        own = {(e.kind, e.name): e.answer() for e in asking.EDGE_CASES}
        self.assertEqual(own["loss", "every target ignored, mean"], "refused")
        self.assertEqual(own["loss", "every target ignored, sum"], "0")
        self.assertEqual(own["loss", "smoothing 0.3, one row ignored, mean"], "0.707606")
        self.assertEqual(own["loss", "-inf where a soft target is 0"], "0.313262")
        self.assertEqual(own["logsumexp", "a row of -inf"], "-inf")


class CommandLine(unittest.TestCase):
    def test_the_kernel_of_the_docstring_works(self) -> None:
        code = textwrap.dedent((crosscheck.__doc__ or "").split("This one is complete:\n")[1].split("\nA kernel")[0])
        mylib = """
            import math
            __version__ = "2.5"
            def array(rows, dtype):
                return rows
            def fused_loss(rows, targets, reduction):
                tops = [max(row) for row in rows]
                logs = [math.log(math.fsum(math.exp(x - m) for x in row)) for row, m in zip(rows, tops)]
                losses = [(m - row[y]) + log for row, y, m, log in zip(rows, targets, tops, logs)]
                return losses if reduction == "none" else math.fsum(losses) / len(losses)
        """
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "mine.py").write_text(code, encoding="utf-8")
            (Path(folder) / "mylib.py").write_text(textwrap.dedent(mylib), encoding="utf-8")
            command = [sys.executable, "-W", "error", str(ROOT / "examples" / "crosscheck"), "mine.py", "--json"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        self.assertEqual(found["versions"], {"mine": "2.5"})
        asked = {(r["question"], r["dtype"]) for r in found["accuracy"]}
        self.assertEqual(asked, {(q, d) for q in ("loss", "mean loss") for d in ("float32", "bfloat16")})
        self.assertEqual({r["explained_by_rounding"] for r in found["accuracy"]}, {"yes"})
        self.assertNotIn("every target ignored, mean", {e["case"] for e in found["edge_cases"]})

    def run_main(self, *arguments: str) -> tuple[int, str, str]:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            status = main(list(arguments))
        return status, out.getvalue(), err.getvalue()

    def test_a_name_that_there_is_not(self) -> None:
        status, out, err = self.run_main("pytorch")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("pytorch: no adapter of that name (jax, numpy, onnxruntime, optax, scipy, sklearn, torch)", err)

    def test_an_adapter_that_asks_for_what_there_is_not_is_said(self) -> None:
        for given, message in [
            ("('float8',), [Kernel('loss', 'f', print)]", "DTYPES must be of float64, float32, float16, bfloat16, got"),
            ("('float64',), [Kernel('lse', 'f', print)]", "Kernel: question must be one of log_softmax, softmax, "),
            ("('float64',), [Kernel('loss', 'f', print, ('weights',))]", "Kernel: options must be of reduction, "),
            ("('float64',), []", "DTYPES and KERNELS must not be empty"),
        ]:
            with tempfile.TemporaryDirectory() as folder, self.subTest(message):
                path = Path(folder) / "mine.py"
                code = f"from examples.crosscheck import Kernel\nVERSION = '1'\nDTYPES, KERNELS = {given}\n"
                path.write_text(code, encoding="utf-8")
                status, out, err = self.run_main(str(path))
                self.assertEqual((status, out), (1, ""))
                self.assertTrue(err.startswith(f"not asked: mine: ValueError: {message}"), err)

    def test_what_cannot_be_imported_is_said(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mine.py"
            path.write_text("import no_such_framework\n", encoding="utf-8")
            status, out, err = self.run_main(str(path))
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err, "not asked: mine: ModuleNotFoundError: No module named 'no_such_framework'\n")


class Readme(unittest.TestCase):
    def test_its_table_is_the_one_that_was_written(self) -> None:
        kept, readme = (path.read_text("utf-8") for path in (KEPT, ROOT / "README.md"))
        tables = re.findall(r"(?:^\|.*\n)+", kept, re.MULTILINE)
        shown = re.findall(r"(?:^\|.*\n)+", readme, re.MULTILINE)
        quoted = [table for table in shown if "torch F.cross_entropy" in table]
        self.assertGreaterEqual(len(quoted), 1)
        for table in quoted:
            self.assertIn(table, tables)


if __name__ == "__main__":
    unittest.main()
