"""Every public function goes through the same battery: see tests/battery.py."""

import copy
import reprlib
import unittest
from fractions import Fraction
from typing import Any

import refcalc
from tests.battery import ROWS, ArrayLike, Real, equal_sequences, no_elements, no_sequences, scalars, sequences

# The functions of these modules go through it; classes, and what reads files or compares, have tests of their own.
MODULES = (
    "refcalc.divergence.kl",
    "refcalc.divergence.normaliser",
    "refcalc.loss",
    "refcalc.softmax",
    "refcalc.targets",
    "refcalc.units",
)


class Battery(unittest.TestCase):
    """The battery of one tier; tests/exact has the other's."""

    tier: Any = refcalc
    modules: Any = MODULES
    takes_reals = True  # whether anything with a __float__ is a number, or only what is seen to be exactly a double

    def assert_refused(self, argument: Any, value: Any, kind: type[Exception], message: str) -> None:
        with self.subTest(str(argument), value=value):
            with self.assertRaises(kind) as caught:
                argument.call(value)
            self.assertEqual(str(caught.exception), f"{argument.function}: {message}")

    def test_every_public_function_is_in_it(self) -> None:
        tested = {argument.function for argument in [*sequences(self.tier), *scalars(self.tier)]}
        modules = {name: getattr(getattr(self.tier, name), "__module__", "") for name in self.tier.__all__}
        public = {name for name, module in modules.items() if module in self.modules}
        self.assertEqual(public - tested, set())
        self.assertGreater(len(public), 20)

    def test_every_kind_of_sequence_gives_the_same_answer(self) -> None:
        for argument in sequences(self.tier):
            want = argument.call(list(argument.good))
            for form, value in equal_sequences(argument).items():
                if form == "reals" and not self.takes_reals:
                    message = f"{argument.name}[0] must be exactly a double, got {value[0]!r}"
                    self.assert_refused(argument, value, ValueError, message)
                    continue
                with self.subTest(str(argument), form=form):
                    self.assertEqual(argument.call(value), want)

    def test_every_kind_of_number_gives_the_same_answer(self) -> None:
        for argument in scalars(self.tier):
            want = argument.call(argument.good)
            wholes = argument.holds == "wholes"
            for value in [ArrayLike(1)] if wholes else [1.0, Fraction(1), Real(1), True]:
                if isinstance(value, Real) and not self.takes_reals:
                    message = f"{argument.name} must be exactly a double, got {value!r}"
                    self.assert_refused(argument, value, ValueError, message)
                    continue
                with self.subTest(str(argument), value=value):
                    self.assertEqual(argument.call(value), want)

    def test_what_is_no_sequence_is_refused(self) -> None:
        for argument in sequences(self.tier):
            for value in no_sequences():
                self.assert_refused(
                    argument, value, TypeError, f"{argument.name} must be a sequence, got {reprlib.repr(value)}"
                )

    def test_what_is_no_element_is_refused_by_its_place(self) -> None:
        for argument in sequences(self.tier):
            for bad, kind, rule in no_elements(argument):
                last = len(argument.good) - 1
                shown = reprlib.repr(bad.tolist() if isinstance(bad, ArrayLike) else bad)
                message = f"{argument.name}[{last}] must {rule}, got {shown}"
                self.assert_refused(argument, [*argument.good[:-1], bad], kind, message)

    def test_what_is_no_number_is_refused(self) -> None:
        for argument in scalars(self.tier):
            for bad, kind, rule in no_elements(argument):
                optional = bad is None and argument.name in {"stride", "bos", "num_items"}
                if not optional:
                    shown = reprlib.repr(bad.tolist() if isinstance(bad, ArrayLike) else bad)
                    self.assert_refused(argument, bad, kind, f"{argument.name} must {rule}, got {shown}")

    def test_nothing_is_modified(self) -> None:
        rows = copy.deepcopy(ROWS)
        for argument in sequences(self.tier):
            for value in (list(argument.good), [argument.good[0], *argument.good[1:]]):
                before = list(value)
                argument.call(value)
                with self.subTest(str(argument)):
                    self.assertEqual(value, before)
                    self.assertEqual(ROWS, rows)

    def test_an_answer_shares_no_list_with_the_input(self) -> None:
        for argument in sequences(self.tier):
            value = list(argument.good)
            answer = argument.call(value)
            with self.subTest(str(argument)):
                self.assertIsNot(answer, value)

    def test_a_view_of_another_library_nests_like_a_list(self) -> None:
        batch = ArrayLike([[[0.0, 1.0], [2.0, 0.5]], [[0.0, 0.0], [1.0, 0.0]]])
        batch.ndim = 3
        ids = ArrayLike([[0, 1], [1, 0]])
        ids.ndim = 2
        for name in ("cross_entropy", "cross_entropy_gradient", "causal_lm_loss", "shift"):
            function = getattr(self.tier, name, None)
            if function is not None:
                with self.subTest(name):
                    self.assertEqual(function(batch, ids), function(batch.tolist(), ids.tolist()))
