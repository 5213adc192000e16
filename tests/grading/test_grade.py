"""`grade`: what it says of right and wrong functions, in which words, and what it refuses."""

import json
import shutil
import tempfile
import unittest
from collections.abc import Callable
from itertools import pairwise
from math import inf, nan
from pathlib import Path
from random import Random
from time import monotonic
from unittest import mock

import refcalc
from refcalc import Verdict, _json
from refcalc._refusal import shown
from refcalc.grading import Exercise, Function, Table, grade
from refcalc.grading.judge import Case, close, judged
from refcalc.grading.shrinking import shrunk, smaller
from refcalc.grading.worker import Reply, Stranger, Worker

LOSS = Path(__file__).resolve().parents[2] / "examples" / "grading" / "loss.py"


def mean(values: list[float]) -> float:
    if not values:
        raise ValueError("mean: values must hold at least one number, got 0")
    return sum(values) / len(values)


def follow(next_scores: Table, tokens: list[int]) -> list[list[float]]:
    return [next_scores(tokens[:n]) for n in range(len(tokens) + 1)]


def halved(values: list[float]) -> float:
    """The sum is halved, whatever the number of values.

    Divide by their number.
    """
    return sum(values) / 2


OWN = Exercise(
    "own",
    (
        Function("mean(values)", "the mean", mean, lambda rng: [([round(8.0 * rng.random(), 3) for _ in range(n)],)
                 for n in (3, 2, 5)], {"halved": halved}),
        Function("follow(next_scores, tokens)", "the rows", follow, lambda rng: [
            (Table([[rng.random(), -inf] for _ in range(5)]), [3, 1, 4, 1])]),
    ),
)  # fmt: skip


class GradeCase(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def graded(self, source: str, exercise: Exercise = OWN, **options) -> Verdict:
        path = self.folder / "answers.py"
        path.write_text(source, "utf-8")
        return grade(path, exercise, **{"timeout": 20.0, **options})


class Words(GradeCase):
    def test_an_exercise_of_ones_own(self) -> None:
        verdict = self.graded(
            "def average(values):\n    return sum(values) / 2\n"
            "def follow(next_scores, tokens):\n    return [next_scores(tokens[:n]) for n in range(len(tokens) + 1)]\n",
            aliases={"mean": "average"},
            seed=5,
        )
        self.assertEqual(
            str(verdict),
            "wrong     mean    2 of 3 cases\n"
            "          mean([1.0])\n"
            "          expected 1.0\n"
            "          got      0.5  (4.5e+15 ulp apart)\n"
            "          halved: The sum is halved, whatever the number of values. Divide by\n"
            "            their number.\n"
            "right     follow  1 case\n"
            "1 of 2 right: exercise own, seed 5",
        )
        self.assertFalse(verdict.right)
        with self.assertRaisesRegex(TypeError, "^Verdict has no truth value: ask for .right$"):
            bool(verdict)

    def test_every_way_to_be_wrong_in_one_module(self) -> None:
        names = {
            "right": "return sum(values) / len(values)",
            "off": "return sum(values) / len(values) * (1 + 2e-9)",
            "short": "return []",
            "crash": "return 1 / 0",
            "inside": "return sum(values) / len(values) if len(values) > 2 else 1 / 0",
        }
        draw = OWN.functions[0].draw
        exercise = Exercise("five", tuple(Function(f"{n}(values)", "", mean, draw) for n in [*names, "rigth"]))
        source = "".join(f"def {name}(values):\n    {body}\n" for name, body in names.items())
        verdict = self.graded(source, exercise, seed=1)
        found = {name: (graded.status, graded.failed, graded.reason) for name, graded in verdict.functions.items()}
        self.assertEqual(
            found,
            {
                "right": ("right", 0, ""),
                "off": ("wrong", 3, "so near a miss may be rounding: in float32, or to a few digits"),
                "short": ("refused", 3, "list [] came back, where a number is wanted"),
                "crash": ("raises", 3, "ZeroDivisionError: division by zero (line 8)"),
                "inside": ("raises", 1, "ZeroDivisionError: division by zero (line 10)"),
                "rigth": ("missing", 0, "the module has no function rigth; did you mean right?"),
            },
        )
        self.assertEqual(verdict.functions["crash"].arguments, ([0.0],))
        self.assertEqual(verdict.functions["inside"].arguments, ([0.0],))
        self.assertEqual(verdict.functions["off"].expected, mean(*verdict.functions["off"].arguments))
        for line in str(verdict).splitlines():
            self.assertLess(len(line), 80)
        record = json.loads(json.dumps(_json.plain(verdict.record()), allow_nan=False))
        self.assertEqual([each["status"] for each in record["functions"]], [status for status, _, _ in found.values()])
        self.assertEqual(record["functions"][3]["arguments"], {"values": [0.0]})

    def test_a_near_miss_is_put_down_to_rounding_only_where_nothing_else_explains_it(self) -> None:
        def more(values: list[float]) -> float:
            "A little is added."
            return mean(values) * (1 + 2e-9)

        source = "def mean(values):\n    return sum(values) / len(values) * (1 + 2e-9)\n"
        for mistakes, hinted in (({}, True), ({"more": more}, False)):
            function = Function("mean(values)", "", mean, OWN.functions[0].draw, mistakes)
            text = str(self.graded(source, Exercise("one", (function,)), seed=1))
            self.assertEqual("so near a miss may be rounding" in text, hinted)
            self.assertEqual("more: A little is added." in text, not hinted)

    def test_an_import_that_fails_is_told_once(self) -> None:
        exercise = Exercise("two", (OWN.functions[0], Function("f(x)", "", float, list)))
        lines = str(self.graded("1 / 0\n", exercise)).splitlines()
        said = ["raises    mean", "          at import: ZeroDivisionError: division by zero (line 1)"]
        self.assertEqual(lines[:-1], [*said, "raises    f     as above"])

    def test_an_exercise_that_cannot_be_asked_is_refused_by_the_name_of_its_function(self) -> None:
        def asked(oracle: Callable[..., object], *calls: object) -> Exercise:
            return Exercise("one", (Function("f(x)", "x", oracle, lambda rng: calls),))

        fails = "draw and oracle must give arguments and answers, got "
        kinds = "arguments and answers must be numbers, text, None, Tables, and lists"
        for exercise, kind, message in (
            (asked(lambda x: x / 0, (1,)), ValueError, f"{fails}ZeroDivisionError: division by zero"),
            (asked(float, 1), ValueError, f"{fails}TypeError: "),
            (asked(float), ValueError, "draw must give at least one tuple of arguments, got 0"),
            (asked(lambda x: {x}, (1,)), TypeError, kinds),
            (asked(lambda x: 1.0, ([{2: object()}],)), TypeError, kinds),
        ):  # fmt: skip
            with self.assertRaises(kind) as caught:
                self.graded("def f(x):\n    return x\n", exercise)
            self.assertTrue(str(caught.exception).startswith(f"f: {message}"), caught.exception)

    def test_the_time_for_everything_is_bounded(self) -> None:
        exercise = Exercise("five", tuple(Function(f"f{i}(x)", "", float, lambda rng: [(1.0,)]) for i in range(40)))
        source = "import time\n" + "".join(f"def f{i}(x):\n    time.sleep(60)\n" for i in range(40))
        verdict = self.graded(source, exercise, timeout=0.02)
        self.assertEqual({graded.status for graded in verdict.functions.values()}, {"hangs"})
        self.assertEqual(verdict.functions["f39"].reason, "not called: the time for all functions was up")


class Numbers(GradeCase):
    def test_a_seed_asks_the_same_again_and_without_one_the_numbers_are_fresh(self) -> None:
        exercise = Exercise("one", OWN.functions[:1])
        for source in ("def mean(values):\n    return values[0]\n", "import os\ndef mean(values):\n    os._exit(1)\n"):
            one, again, fresh, other = (self.graded(source, exercise, seed=s) for s in (7, 7, None, None))
            self.assertEqual(one, again)
            self.assertEqual(self.graded(source, exercise, seed=fresh.seed), fresh)
            self.assertNotEqual(fresh.seed, other.seed)  # but once in a million
        self.assertNotEqual(one.functions["mean"].arguments, fresh.functions["mean"].arguments)  # as they were drawn

    def test_the_textbook_passes_and_strict_asks_for_more(self) -> None:
        self.assertTrue(grade(LOSS, timeout=1e300).right)  # longer than a timer of the system can be set
        verdict = grade(LOSS, strict=True, seed=1, timeout=20.0)
        strict = {name for name, graded in verdict.functions.items() if graded.status != "right"}
        self.assertIn("log_softmax", strict)  # the digits of confident hits
        self.assertNotIn("perplexity", strict)
        lost = "digits were lost on the way: right, but for a strict grade"
        self.assertTrue(all(verdict.functions[name].reason.endswith(lost) for name in strict))
        self.assertNotIn(" returns ", str(verdict))
        self.assertEqual([graded.mistakes for graded in verdict.functions.values() if graded.mistakes], [])
        source = f"import sys\nsys.path.append({str(Path(refcalc.__file__).parents[1])!r})\n"
        source += "from refcalc import exact, log_softmax, token_nll as token_loss, perplexity, bits_per_token\n"
        source += "sequence_loss = unshifted_loss = exact.cross_entropy\nshifted_loss = exact.causal_lm_loss\n"
        verdict = self.graded(source, "loss", strict=True)
        self.assertEqual(
            {name for name, graded in verdict.functions.items() if graded.status != "right"},
            {"log_softmax_naive", "masked_loss"},  # they are not there
        )


class Crossing(GradeCase):
    def test_not_a_bit_is_lost_either_way(self) -> None:
        path = self.folder / "m.py"
        path.write_text("def same(*x):\n    return x\n", "utf-8")
        numbers = (0.1, -0.0, 5e-324, 1.7976931348623157e308, inf, -inf, nan, 2**999, -(2**70))
        calls = [numbers, (True, None, "\n\u00e9\ud800"), ([[]], {"a": (), 1: [0.5]}), ([7.25] * 5000,), ((),), ()]
        with Worker(str(path), 20.0, monotonic() + 60.0) as worker:
            replies = list(worker.ask("same", calls))
        self.assertEqual([repr(reply.value) for reply in replies], [repr(call) for call in calls])
        self.assertFalse(any(reply.changed for reply in replies))

    def test_a_model_is_rebuilt(self) -> None:
        path = self.folder / "m.py"
        path.write_text("def rows(model, prompts):\n    return [model(prompt) for prompt in prompts]\n", "utf-8")
        rng = Random(3)
        prompts = [[int(50 * rng.random()) for _ in range(n)] for n in range(8)]
        for model in (Table([[rng.random(), -inf] for _ in range(7)]), Table([[1], [2], [3]], 0)):
            with Worker(str(path), 20.0, monotonic() + 60.0) as worker:
                (reply,) = worker.ask("rows", [(model, prompts)])
            self.assertEqual(reply.value, [model(prompt) for prompt in prompts])

    def test_what_a_module_says_does_not_steer_the_terminal(self) -> None:
        source = "def mean(values):\n    raise ValueError('\\x1b[2J\\n\\ud800 \u00e9')\n"
        graded = self.graded(source, Exercise("one", OWN.functions[:1])).functions["mean"]
        self.assertEqual(graded.reason, "ValueError: \\x1b[2J \\ud800 \u00e9 (line 2)")


class Judge(unittest.TestCase):
    def status(self, got, want, *, floor=None, changed=False) -> str:
        fault = judged(Reply("answer", got, changed), want, floor)
        return fault.status if fault else "right"

    def test_numbers(self) -> None:
        for got, want, status in [
            (1.0 + 0.9e-9, 1.0, "right"),
            (1.0 + 1.1e-9, 1.0, "wrong"),
            (0.9e-9, 0.0, "right"),
            (1e6 + 0.9e-3, 1e6, "right"),
            (1e6 + 1.1e-3, 1e6, "wrong"),
            (1, 1.0, "right"),
            (inf, inf, "right"),
            (-inf, inf, "wrong"),
            (1e308, inf, "wrong"),
            (inf, 1e308, "wrong"),
            (nan, 1.0, "refused"),
            (nan, nan, "right"),
            (True, 1.0, "refused"),
            ("1.0", 1.0, "refused"),
            (None, 1.0, "refused"),
            (Stranger("int", "beyond the doubles"), 1.0, "refused"),
            (1.0 + 1e-12, 1, "wrong"),  # a whole number is wanted
            (1.0, 1, "right"),
        ]:
            with self.subTest(got=got, want=want):
                self.assertEqual(self.status(got, want), status)
        self.assertEqual(self.status(1.0, 1.0, changed=True), "wrong")

    def test_strict(self) -> None:
        u = 2.0**-52
        self.assertEqual(self.status(1.0 + 4 * u, 1.0, floor=0.0), "right")
        self.assertEqual(self.status(1.0 + 5 * u, 1.0, floor=0.0), "wrong")
        self.assertEqual(self.status(2.0**-60, 0.0, floor=0.0), "wrong")
        self.assertEqual(self.status(2.0**-60, 0.0, floor=1.0), "right")
        self.assertEqual(self.status(inf, inf, floor=0.0), "right")

    def test_nests(self) -> None:
        want = {"a": [(0.5, [1, 2])], "b": "text", "c": None, "d": True}
        right = {"d": True, "c": None, "b": "text", "a": ([[0.5, (1, 2)]])}
        self.assertEqual(self.status(right, want), "right")
        for change, reason in [
            ({"a": [(0.5, [1])]}, "at ['a'][0][1]: 1 element, where 2 are right"),
            ({"a": [(0.5, [1, 3])]}, "first at ['a'][0][1][1]"),
            ({"a": [(0.5, [1, nan])]}, "at ['a'][0][1][1]: nan came back, which is no number"),
            ({"a": {}}, "at ['a']: dict {} came back, where a list is wanted"),
            ({"b": "other"}, "at ['b']: 'other', where 'text' is right"),
            ({"c": 0.0}, "at ['c']: float 0.0 came back, where None is wanted"),
            ({"d": 1}, "at ['d']: int 1 came back, where a bool is wanted"),
            ({"e": 1}, "the key 'e' is one too many"),
        ]:
            fault = judged(Reply("answer", {**right, **change}), want, None)
            self.assertEqual(fault and fault.reason, reason)
        fault = judged(Reply("answer", {"a": right["a"]}), want, None)
        self.assertEqual(fault and fault.reason, "the key 'b' is missing")
        self.assertTrue(close(right, want))
        self.assertFalse(close([1.0, nan], [1.0, 2.0]))
        self.assertTrue(close([1.0, nan], [1.0, nan]))
        self.assertFalse(close(True, 1.0))


class Smaller(unittest.TestCase):
    def test_lists_of_one_length_and_columns_are_cut_together(self) -> None:
        found = list(smaller(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [0, 1], [1, 0])))
        self.assertIn(([[4.0, 5.0, 6.0]], [1], [0]), found)
        self.assertIn(([[1.0, 3.0], [4.0, 6.0]], [0, 1], [1, 0]), found)

    def test_every_step_is_smaller_so_that_steps_end(self) -> None:
        """From any input, always taking the last step offered comes to an end, at something of no size."""
        inputs = ([[3.25, -1e300, inf], [2.0, 0.1, 7.0]], {"a": [5, -2]}, Table([[1.5], [2.5]], 3), "text", -7)
        path = [inputs]
        while len(path) < 2000:
            steps = list(smaller(path[-1]))
            if not steps:
                break
            path.append(steps[-1])
        self.assertLess(len(path), 2000)
        self.assertTrue(all(one != other for one, other in pairwise(path)))


class Shrinking(unittest.TestCase):
    def test_slow_functions_are_asked_little(self) -> None:
        """Inputs are tried one by one where each takes long, so that the end comes with the first after the time."""
        tried = []

        def first_failing(inputs):
            tried.append(len(inputs))
            clock.return_value += 0.6 * len(inputs)

        with mock.patch("refcalc.grading.shrinking.monotonic", return_value=7.0) as clock:
            case = Case(([0.5] * 50,), 0.0, Reply("answer", 1.0), None)
            self.assertEqual(shrunk(case, first_failing), case)
        self.assertEqual(tried, [1, 1])

    def test_quick_ones_are_asked_several_at_once(self) -> None:
        tried = []
        shrunk(Case(([0.5] * 50,), 0.0, Reply("answer", 1.0), None), lambda inputs: tried.append(len(inputs)))
        self.assertLess(len(tried), sum(tried) / 4)


class Refusals(unittest.TestCase):
    def test_refusals(self) -> None:
        loss = "'log_softmax', 'log_softmax_naive', 'token_loss', 'sequence_loss', 'perplexity', 'shifted_loss', "
        loss += "'unshifted_loss', 'masked_loss', 'bits_per_token'"
        name, rule = "aliases['perplexity']", "must be the name of a function"
        for arguments, options, kind, message in [
            ((LOSS.parent,), {}, ValueError, f"path must be a regular file, got {shown(str(LOSS.parent))}"),
            ((7,), {}, TypeError, "path must be the path of a file, got 7"),
            ((LOSS, "x"), {}, ValueError, "exercise must be one of 'loss', 'evaluation', 'baselines', got 'x'"),
            ((LOSS,), {"aliases": {"mean": "f"}}, ValueError, f"a key of aliases must be one of {loss}, got 'mean'"),
            ((LOSS,), {"aliases": {"perplexity": "a.b"}}, ValueError, f"{name} {rule}, got 'a.b'"),
            ((LOSS,), {"timeout": 0}, ValueError, "timeout must be above 0, got 0"),
            ((LOSS,), {"timeout": inf}, ValueError, "timeout must be finite, got inf"),
            ((LOSS,), {"seed": 1.5}, TypeError, "seed must be a whole number, got 1.5"),
        ]:
            with self.subTest(message), self.assertRaises(kind) as caught:
                grade(*arguments, **options)
            self.assertEqual(str(caught.exception), f"grade: {message}")
        with self.assertRaises(FileNotFoundError):
            grade(LOSS.with_name("nothing.py"))

    def test_exercises(self) -> None:
        for signature in ("mean", "mean(a, )", "a mean(x)", "(x)"):
            with self.subTest(signature), self.assertRaisesRegex(ValueError, "^Function: signature must be of the "):
                Function(signature, "", mean, lambda rng: [])
        with self.assertRaisesRegex(ValueError, "^Exercise: functions must be at least one, each of another name"):
            Exercise("none", ())
        with self.assertRaisesRegex(ValueError, "^Table: rows must hold at least one row, got 0$"):
            Table([])


if __name__ == "__main__":
    unittest.main()
