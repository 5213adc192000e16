"""Whatever a module does, the grader ends in time, has a verdict for every function, and leaves no process behind."""

import os
import py_compile
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from refcalc.grading import Exercise, Function, Verdict, grade
from refcalc.grading.worker import CHILD

HOSTILE = Path(__file__).with_name("hostile.py")
SHORT = 0.1  # seconds that a call may take which is meant to take longer


def double(x: float) -> float:
    return 2.0 * x


def exercise(*names: str) -> Exercise:
    return Exercise("double", tuple(Function(f"{n}(x)", "2 x", double, lambda rng: [(2.0,), (3.0,)]) for n in names))


class HostileCase(unittest.TestCase):
    def setUp(self) -> None:
        self.folder, work = Path(tempfile.mkdtemp()), tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(os.rmdir, work)  # fails if a child's folder is left in it
        self.enterContext(mock.patch("tempfile.tempdir", work))
        self.module = self.folder / "hostile.py"
        shutil.copy(HOSTILE, self.module)

    def graded(self, *names: str, **options) -> Verdict:
        return grade(self.module, exercise(*names), **options)

    def assert_verdicts(self, verdict: Verdict, **expected: tuple[str, str]) -> None:
        """Assert by function the status, and a part of the reason."""
        for name, (status, reason) in expected.items():
            with self.subTest(name):
                graded = verdict.functions[name]
                self.assertEqual(graded.status, status, graded.reason)
                self.assertIn(reason, graded.reason)


class Functions(HostileCase):
    def test_no_end(self) -> None:
        names = ("loops", "sleeps", "prints_without_end", "floods_the_channel", "shows_itself_slowly", "right")
        start = time.monotonic()
        verdict = self.graded(*names, timeout=SHORT)
        self.assertLess(time.monotonic() - start, 30 * SHORT + 60.0)  # what is promised, and time to start Python in
        self.assert_verdicts(verdict, **dict.fromkeys(names[:-1], ("hangs", f"no end within {SHORT} s")))

    def test_no_end_of_the_last_call(self) -> None:
        """The child that still hangs is asked no smaller input, and no other function."""
        verdict = self.graded("sleeps_at_last", "right", timeout=SHORT)
        self.assert_verdicts(verdict, sleeps_at_last=("hangs", f"no end within {SHORT} s"), right=("right", ""))
        self.assertEqual(verdict.functions["sleeps_at_last"].arguments, (3.0,))

    def test_a_function_does_not_pay_for_the_one_before(self) -> None:
        for spoils in ("spoils_the_channel", "patches_everything"):
            verdict = self.graded(spoils, "takes_a_square_root", "fails", timeout=20.0)
            self.assert_verdicts(verdict, takes_a_square_root=("right", ""), fails=("raises", "KeyError: 'no 0.0'"))

    def test_the_end_of_the_process(self) -> None:
        verdict = self.graded("exits_at_once", "is_terminated", "overflows_the_stack", "closes_everything", "right")
        self.assert_verdicts(
            verdict,
            exits_at_once=("raises", "ended the process with exit status 3"),
            is_terminated=("raises", "ended the process by signal SIGTERM"),
            overflows_the_stack=("raises", ""),  # SIGSEGV, or RecursionError where Python counts frames of C
            closes_everything=("raises", "ended the process with exit status"),
            right=("right", ""),
        )

    def test_what_is_raised(self) -> None:
        expected = {
            "exits": "SystemExit: 0 (line ",
            "interrupts": "KeyboardInterrupt (line ",
            "fails": "KeyError: 'no 0.0' (line ",
            "recurses": "RecursionError: maximum recursion depth exceeded",
            "asks_for_too_much_memory": "MemoryError (line ",
            "balloons": "MemoryError (line ",
            "fills_the_disk": "OSError: [Errno 27] File too large",
            "reads_the_input": "EOFError: EOF when reading a line (line ",
            "has_no_text": "Silent (line ",
        }
        verdict = self.graded(*expected, "right", timeout=20.0)
        self.assert_verdicts(verdict, **{name: ("raises", reason) for name, reason in expected.items()})
        self.assertEqual(verdict.functions["right"].status, "right")

    def test_what_is_no_answer(self) -> None:
        expected = {
            "nan": "nan came back, which is no number",
            "text": "str '0.0' came back, where a number is wanted",
            "nothing": "None came back, where a number is wanted",
            "generator": "<generator object generator at ",
            "boolean": "bool True came back, where a number is wanted",
            "scalar": "<numpy.float32 object at ",
            "tensor": "<torch.Tensor object at ",
            "without_a_repr": "Fraction whose repr raises ZeroDivisionError came back, ",
            "much_text": "list more than an answer can hold came back",
            "itself": "list more than an answer can hold came back",
            "too_long": "list more than an answer can hold came back",
        }
        verdict = self.graded(*expected, "right", timeout=20.0)
        self.assert_verdicts(verdict, **{name: ("refused", reason) for name, reason in expected.items()})
        self.assertEqual(verdict.functions["right"].status, "right")

    def test_what_is_done_besides_the_right_answer(self) -> None:
        names = (
            *("is_not_shadowed_by_its_siblings", "imports_a_sibling", "works_in_an_empty_folder"),
            *("prints", "leaves_a_thread", "leaves_a_process", "leaves_a_process_of_another_session"),
            *("leaves_a_process_without_an_environment", "leaves_folders_in_folders"),
            *("leaves_an_orphan", "forks", "prints_fake_answers", "closes_the_standard_streams"),
            *("patches_everything", "right", "leaves_a_link_for_its_folder"),
        )
        for name in ("random", "json", "fractions"):
            (self.folder / f"{name}.py").write_text("raise ImportError('the sibling')\n")
        (self.folder / "sibling.py").write_text("def twice(x):\n    return 2.0 * x\n")
        verdict = self.graded(*names, timeout=20.0)
        self.assert_verdicts(verdict, **dict.fromkeys(names, ("right", "")))
        ids = self.module.with_suffix(".ids").read_text("utf-8").split()
        self.assertGreaterEqual(len(ids), 8)  # two calls each, of four functions
        self.assertEqual([pid for pid in ids if runs(int(pid))], [])
        left = {"sibling.py", "random.py", "json.py", "fractions.py", "hostile.py", "hostile.ids"}
        self.assertEqual({path.name for path in self.folder.iterdir()}, left)  # no compiled files

    def test_changed_arguments(self) -> None:
        function = Function("changes_its_argument(rows)", "2 x", lambda rows: 2.0 * rows[0], lambda rng: [([2.0],)])
        graded = grade(self.module, Exercise("first", (function,))).functions["changes_its_argument"]
        self.assertEqual(graded.status, "wrong")
        self.assertIn("the arguments were changed", graded.reason)
        self.assertEqual(graded.got, graded.expected)


class Alone(HostileCase):
    def test_a_child_whose_grader_was_killed_ends_by_itself(self) -> None:
        self.module.write_text("while True:\n    pass\n")
        command = [sys.executable, "-I", "-B", str(CHILD)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            process.stdin.write(f"token\n{(str(self.module), 0.1)!r}\n".encode())
            process.stdin.flush()
            try:
                self.assertEqual(process.wait(60.0), -signal.SIGALRM)
            finally:
                process.kill()


class Imports(HostileCase):
    END = "\ndef right(x):\n    return 2.0 * x\n"

    def imported(self, source: str, timeout: float = 2.0) -> Verdict:
        self.module.write_text(source + self.END)
        return self.graded("right", "missing", timeout=timeout)

    def test_what_ends_an_import(self) -> None:
        for source, status, reason in [
            ("x = 1\nraise ValueError('no')", "raises", "at import: ValueError: no (line 2)"),
            ("def f(:", "raises", "at import: SyntaxError: "),
            ("import sys\nsys.exit(3)", "raises", "at import: SystemExit: 3 (line 2)"),
            ("import os\nos._exit(4)", "raises", "at import: ended the process with exit status 4"),
            ("import nothing_of_this_name", "raises", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ]:
            with self.subTest(source):
                for graded in self.imported(source).functions.values():
                    self.assertEqual(graded.status, status)
                    self.assertIn(reason, graded.reason)

    def test_a_sibling_is_what_its_source_says(self) -> None:
        """A compiled file can be of what stood there before: of the same size, written in the same second."""
        package = self.folder / "package"
        package.mkdir()
        for path in (self.folder / "sibling.py", package / "__init__.py"):
            path.write_text("factor = 3.0\n")
            py_compile.compile(str(path), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
            path.write_text("factor = 1.0\n")
        self.module.write_text("import sibling, package\ndef right(x): return x * (sibling.factor + package.factor)\n")
        verdict = self.graded("right", timeout=20.0)
        self.assertTrue(verdict.right, str(verdict))

    def test_a_syntax_error_of_a_sibling_names_its_file_and_line(self) -> None:
        (self.folder / "sibling.py").write_text("x = 1\ny = 2\ndef f(:\n")
        graded = self.imported("import os\nimport sibling").functions["right"]
        self.assertRegex(graded.reason, r"^at import: SyntaxError: .* \(sibling\.py, line 3\) \(line 2\)$")

    def test_no_end(self) -> None:
        verdict = self.imported("while True:\n    print('spam' * 1000)", timeout=0.02)
        for graded in verdict.functions.values():
            self.assertEqual((graded.status, graded.reason), ("hangs", "at import: no end within 0.2 s"))

    def test_what_an_import_can_stand(self) -> None:
        source = (
            "import os, sys, threading, time\nos.fork()\nsys.stdin.close()\nsys.stdout.close()\nsys.path.clear()\n"
            "threading.Thread(target=time.sleep, args=(60,)).start()\nprint = None\n__builtins__ = None\n"
            "if __name__ == '__main__':\n    raise SystemExit"
        )
        verdict = self.imported(source, timeout=20.0)
        self.assertEqual(verdict.functions["right"].status, "right", verdict.functions["right"].reason)
        self.assertEqual(verdict.functions["missing"].status, "missing")


def runs(pid: int) -> bool:
    """Return whether a process runs, some time after it was killed; a zombie does not."""
    for _ in range(50):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    return False
            os.kill(pid, 0)
        except OSError:
            return False
        time.sleep(0.02)
    return True


if __name__ == "__main__":
    unittest.main()
