"""What a function would answer to the cases of an exercise, judged and named in this process, without a child."""

__all__ = ["EXAMPLES", "ExerciseCase", "answered", "loaded", "wrong_by_catalogue"]

import random
import unittest
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from refcalc import MISTAKES
from refcalc.grading.exercise import Exercise, Function
from refcalc.grading.judge import Case, judged
from refcalc.grading.naming import named
from refcalc.grading.worker import Reply
from refcalc.mistakes.kind import STEPS, DoesNotApply
from refcalc.mistakes.pipeline import Run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "grading"
FEW = 3


def loaded(name: str) -> ModuleType:
    """Return an example as a module."""
    spec = spec_from_file_location(f"graded_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answered(function: Function, answer: Callable[..., Any], seed: int) -> list[Case]:
    """Return the cases of a function with what an answer gives to them; where it does not apply, that is the right."""
    cases = []
    for arguments in function.draw(random.Random(seed)):
        want = function.oracle(*arguments)
        try:
            reply = Reply("answer", answer(*arguments))
        except DoesNotApply:
            reply = Reply("answer", want)
        except (ArithmeticError, ValueError) as error:
            reply = Reply("raised", error=type(error).__name__)
        cases.append(Case(arguments, want, reply, judged(reply, want, None)))
    return cases


def wrong_by_catalogue(function: Function) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield what the catalogue can do wrong with the evidence that a function's arguments are."""
    for name, mistake in MISTAKES.items():
        possible = function.evidence is not None and mistake.step in STEPS and function.quantity in mistake.quantities
        if possible and name not in function.mistakes:
            yield name, partial(_value, function, name)


def _value(function: Function, name: str, *arguments: Any) -> float:
    assert function.evidence is not None
    refusal = DoesNotApply("evidence")
    for evidence in function.evidence(*arguments):
        try:
            return Run(evidence, function.quantity).value(MISTAKES[name])
        except DoesNotApply as error:
            refusal = error
    raise refusal


class ExerciseCase(unittest.TestCase):
    """What holds for every exercise; a test of one names it, and has the answers of examples/grading to it."""

    exercise: Exercise

    def function(self, name: str) -> Function:
        return next(function for function in self.exercise.functions if function.name == name)

    def assert_textbook_passes(self, seeds: int) -> None:
        module = loaded(self.exercise.name)
        for function in self.exercise.functions:
            for seed in range(seeds):
                cases = answered(function, getattr(module, function.name), seed)
                self.assertEqual([case for case in cases if case.fault], [], function.name)

    def assert_draws_repeat(self) -> None:
        """Assert that a seed draws the same again, and another one as many others."""
        for function in self.exercise.functions:
            one, again, other = ([*function.draw(random.Random(seed))] for seed in (1, 1, 2))
            self.assertEqual(one, again, function.name)
            self.assertNotEqual(one, other, function.name)
            self.assertEqual(len(one), len(other), function.name)
            self.assertEqual({len(each) for each in one}, {len(function.parameters)}, function.name)

    def assert_mistakes_are_named(self, seed: int) -> None:
        """Assert that each mistake, used as the answer, is named among few; one that a function lists has to show."""
        for function in self.exercise.functions:
            for name, wrong in (*function.mistakes.items(), *wrong_by_catalogue(function)):
                cases = answered(function, wrong, seed)
                if name in function.mistakes or any(case.fault for case in cases):
                    with self.subTest(function.name, mistake=name):
                        names = named(function, cases)
                        self.assertIn((name,), names)
                        self.assertLessEqual(len(names), FEW)
                        self.assertTrue(any(case.fault for case in cases))

    def assert_own_mistakes_are_explained(self) -> None:
        """Assert that what is in no catalogue has a docstring: what is done, and what to do instead."""
        for function in self.exercise.functions:
            for name, wrong in function.mistakes.items():
                if name not in MISTAKES:
                    done, _, remedy = (wrong.__doc__ or "").partition("\n\n")
                    self.assertTrue(done.endswith(".") and remedy.endswith("."), name)

    def assert_names(self, function: str, answer: Callable[..., Any], *names: str) -> None:
        """Assert that an answer is wrong, and that just these mistakes are named."""
        cases = answered(self.function(function), answer, 2)
        self.assertTrue(any(case.fault for case in cases))
        self.assertEqual(named(self.function(function), cases), [(name,) for name in names])

    def assert_refused(self, name: str, *arguments: Any) -> None:
        with self.subTest(name, arguments=arguments), self.assertRaises(ValueError):
            self.function(name).oracle(*arguments)
