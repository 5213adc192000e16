"""`refcalc grade`, run as people run it: a file in, a table or JSON and an exit status out."""

import contextlib
import json
import os
import pathlib
from unittest import mock

from refcalc.cli import main
from tests.cli.test_bootstrap import CommandCase, Terminal

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "grading"
OWN = """
from refcalc.grading import Exercise, Function
DOUBLE = Exercise("double", (Function("double(x)", "2 x", lambda x: 2.0 * x, lambda rng: [(1.5,), (rng.random(),)]),))
"""


class Grade(CommandCase):
    def graded(self, source: str, *arguments: str) -> tuple[int, str, str]:
        """Run the command on a module, in the exercise that is defined above."""
        exercise = self.write("own.py", OWN)
        return self.run_on("grade", self.write("m.py", source), "--exercise", f"{exercise}:DOUBLE", *arguments)

    def test_right_and_wrong(self) -> None:
        right = "def double(x):\n    return x + x\n"
        status, out, err = self.graded(right, "--seed", "4")
        table = "right     double  2 cases\n1 of 1 right: exercise double, seed 4\n"
        self.assertEqual((status, out, err), (0, table, ""))
        status, out, _ = self.graded("def double(x):\n    return x\n", "--seed", "4")
        self.assertEqual(status, 1)
        self.assertIn("          expected 2.0\n          got      1.0  (4.5e+15 ulp apart)\n", out)
        status, out, _ = self.graded("def double(x):\n    return x * (2 + 1e-14)\n")
        self.assertEqual(status, 0)
        status, out, _ = self.graded("def double(x):\n    return x * (2 + 1e-14)\n", "--strict")
        self.assertEqual(status, 1)
        self.assertIn(", strict, seed ", out)

    def test_json(self) -> None:
        status, out, _ = self.graded("def double(x):\n    return -float('inf')\n", "--json", "--seed", "4")
        report = json.loads(out)
        self.assertEqual(status, 1)
        self.assertEqual([report[key] for key in ("exercise", "seed", "strict", "right")], ["double", 4, False, False])
        (function,) = report["functions"]
        self.assertEqual([function[key] for key in ("name", "status", "got")], ["double", "wrong", "-inf"])
        self.assertEqual(function["arguments"], {"x": 0.0})

    def test_without_a_file_the_functions_are_listed(self) -> None:
        exercise = f"{self.write('own.py', OWN)}:DOUBLE"
        self.assertEqual(self.run_on("grade", "--exercise", exercise), (0, "double(x)\n    2 x\n", ""))
        status, out, _ = self.run_on("grade", "--exercise", exercise, "--json")
        listed = {"exercise": "double", "functions": [{"signature": "double(x)", "returns": "2 x"}]}
        self.assertEqual((status, json.loads(out)), (0, listed))
        status, out, _ = self.run_on("grade", "--exercise", "evaluation")
        self.assertEqual([line for line in out.splitlines() if len(line) > 80], [])
        self.assertIn("\nbits_per_byte(nll_sum, n_bytes)\n    bits per byte of a sum in nats\n", out)

    def test_who_does_not_know_what_to_write_is_told(self) -> None:
        said = "missing   double\n          the module has no function double\n          double(x) returns 2 x\n"
        self.assertTrue(self.graded("")[1].startswith(said))
        wrong = "def double(x):\n    return 0.1\n"
        self.assertIn("ulp apart)\n          double(x) returns 2 x\n", self.graded(wrong)[1])
        (function,) = json.loads(self.graded(wrong, "--json")[1])["functions"]
        self.assertEqual((function["signature"], function["returns"]), ("double(x)", "2 x"))

    def test_a_file_for_another_exercise_is_recognised(self) -> None:
        status, out, _ = self.run_on("grade", str(EXAMPLES / "baselines.py"))
        self.assertEqual(status, 1)
        self.assertTrue(out.endswith("\nthe file has functions of another exercise: --exercise baselines\n"), out)
        for source in ("", "def double(x):\n    return x\n"):
            self.assertNotIn("another exercise", self.graded(source)[1])

    def test_aliases(self) -> None:
        source = "def twice(x):\n    return 2.0 * x\n"
        self.assertEqual(self.graded(source)[0], 1)
        self.assertEqual(self.graded(source, "--alias", "double=twice")[0], 0)
        toml = self.write("aliases.toml", 'double = "twice"\n')
        self.assertEqual(self.graded(source, "--aliases", toml)[0], 0)
        self.assertEqual(self.graded(source, "--aliases", toml, "--alias", "double=thrice")[0], 1)

    def test_what_cannot_be_run(self) -> None:
        loss, folder = str(EXAMPLES / "loss.py"), str(self.folder)
        own, bad, odd = self.write("own.py", OWN), self.write("bad.toml", "double twice"), self.write("o.toml", "b = 1")
        missing, broken = self.folder / "missing.py", self.write("broken.py", "import no_such_module")
        for arguments, message in [
            ((str(missing),), f"{missing}: the module must be a file that can be read, got No such file or directory"),
            ((folder,), "grade: path must be a regular file, got "),
            ((loss, "--exercise", "losses"), "grade: exercise must be one of 'loss', 'evaluation', 'baselines', got "),
            ((loss, "--exercise", f"{own}:HALF"), f"{own}: the file must define HALF, got no such name"),
            ((loss, "--exercise", f"{own}:Function"), "grade: exercise must be an Exercise, or the name of one, got "),
            ((loss, "--exercise", f"{missing}:X"), f"{missing}: the exercise must be a file that can be read, got "),
            ((loss, "--exercise", f"{broken}:X"), f"{broken}: the exercise must run, got Module"),
            ((loss, "--alias", "perplexity"), "--alias: must be of the form NAME=OTHER, got perplexity"),
            ((loss, "--alias", "b=c"), "grade: a key of aliases must be one of 'log_softmax', "),
            ((loss, "--aliases", bad), f"{bad}: must be TOML, got "),
            ((loss, "--aliases", odd), "grade: a key of aliases must be one of 'log_softmax', "),
            ((loss, "--timeout", "-1"), "grade: timeout must not be negative, got -1.0"),
        ]:
            with self.subTest(arguments):
                status, out, err = self.run_on("grade", *arguments)
                self.assertEqual((status, out), (2, ""))
                self.assertTrue(err.startswith(f"refcalc: {message}"), err)
                self.assertEqual(err.count("\n"), 1)

    def test_a_child_without_a_folder_is_not_put_down_to_the_module(self) -> None:
        with mock.patch("tempfile.tempdir", str(self.folder / "nothing")):
            status, out, err = self.run_on("grade", str(EXAMPLES / "loss.py"))
        self.assertEqual((status, out), (2, ""))
        self.assertNotIn("the module", err)

    def test_colour_and_progress_are_for_a_terminal(self) -> None:
        def shown(**environment: str) -> tuple[str, str]:
            out, err = Terminal(), Terminal()
            with (
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
                mock.patch.dict(os.environ, environment),
                mock.patch("refcalc.cli.grade.LATE", 0.0),
            ):  # fmt: skip
                main(["grade", self.write("m.py", slow), "--exercise", f"{self.write('own.py', OWN)}:DOUBLE"])
            return out.getvalue(), err.getvalue()

        slow = "import time\ntime.sleep(0.05)\ndef double(x):\n    return 2.0 * x\n"
        out, err = shown(NO_COLOR="")
        self.assertTrue(out.startswith("\033[32mright\033[0m     double  2 cases\n"), out)
        self.assertTrue(err.startswith("\r\033[K") and err.endswith("\r\033[K"), repr(err))
        self.assertIn("grading double", err)
        self.assertTrue(shown(NO_COLOR="1")[0].startswith("right     double  2 cases\n"))
