"""Which mistakes are named: those that give all that is wrong, and contradict nothing that is right."""

import unittest
from math import inf, log, nan, sqrt

from refcalc import Batch, Records
from refcalc.grading import Function
from refcalc.grading.judge import Case, judged
from refcalc.grading.naming import explained, named
from refcalc.grading.worker import Reply
from refcalc.mistakes.kind import DoesNotApply
from tests.grading.answers import answered


def identity(x: float) -> float:
    return x


def function(cases: list[float], **mistakes) -> Function:
    return Function("identity(x)", "x", identity, lambda rng: [(x,) for x in cases], mistakes)


class Naming(unittest.TestCase):
    def assert_named(self, asked: Function, answer, *names: tuple[str, ...]) -> None:
        self.assertEqual(named(asked, answered(asked, answer, 1)), [*names])

    def test_a_mistake_gives_every_wrong_answer_and_every_right_one(self) -> None:
        asked = function([0.0, 1.0, 2.0, 4.0], squared=lambda x: x * x, root=sqrt, doubled=lambda x: 2 * x)
        self.assert_named(asked, lambda x: x * x, ("squared",))
        self.assert_named(asked, lambda x: 4.0 if x == 2.0 else x)  # squared and doubled give 4.0, but not the rest

    def test_a_mistake_that_raises(self) -> None:
        asked = function([1.0, 4.0, -1.0, -4.0], root=sqrt)
        self.assert_named(asked, sqrt, ("root",))
        self.assert_named(asked, lambda x: sqrt(x) if x > 0 else x)  # the mistake would raise where this is right

    def test_an_error_of_arithmetic_stands_for_inf_and_nan(self) -> None:
        asked = function([1.0, 2.0], infinite=lambda x: inf, undefined=lambda x: [nan][0], finite=lambda x: 7.0)

        def divides(x: float) -> float:
            return x / 0

        def fails(x: float) -> float:
            raise ArithmeticError

        self.assert_named(asked, divides, ("infinite",), ("undefined",))
        self.assert_named(asked, fails)

    def test_an_error_of_arithmetic_stands_for_inf_where_that_is_right_too(self) -> None:
        asked = Function("f(x)", "x", identity, lambda rng: [(2.0,), (inf,)], {"doubled": lambda x: 2.0 * x})

        def doubled(x: float) -> float:
            return float(int(x) * 2)  # OverflowError

        self.assertEqual(explained(asked, answered(asked, doubled, 1)), ([("doubled",)], True))

    def test_a_mean_of_nothing_is_no_contradiction(self) -> None:
        """A mistake that leaves nothing to average cannot be made; who makes it divides by zero, or returns 0."""

        def dropped(losses: list[float]) -> float:
            kept = [x for x in losses if x > 1.0]
            if not kept:
                raise DoesNotApply("a loss above 1")
            return sum(kept) / len(kept)

        asked = Function("mean(losses)", "", lambda losses: sum(losses) / len(losses),
                         lambda rng: [([0.5],), ([0.5, 2.0, 4.0],), ([2.0, 4.0],)], {"dropped": dropped})  # fmt: skip
        for of_nothing in (0.0, nan, ZeroDivisionError, 7.0):
            replies = [Reply("answer", of_nothing), Reply("answer", 3.0), Reply("answer", 3.0)]
            if of_nothing is ZeroDivisionError:
                replies[0] = Reply("raised", error="ZeroDivisionError")
            asked_and_got = zip(asked.cases(1), replies, strict=True)
            cases = [Case(*case, reply, judged(reply, case[1], None)) for case, reply in asked_and_got]
            self.assertEqual(explained(asked, cases), ([("dropped",)], of_nothing != 7.0))
        self.assertEqual(explained(asked, cases[:1]), ([], False))  # nothing of it was given

    def test_together_they_give_at_least_half(self) -> None:
        asked = function(
            [2.0, 3.0, -2.0, -3.0, -5.0],
            low=lambda x: x if x < 0 else 9.0,
            high=lambda x: x if x > 0 else 8.0,
            double=lambda x: 2 * x,
        )
        for answer, names, whole in [
            (lambda x: 9.0 if x > 0 else x, [("low",)], True),
            (lambda x: 9.0 if x > 0 else 8.0, [("high",), ("low",)], False),
            (lambda x: 7.0 if x > 0 else 8.0, [("high",)], False),  # three of five
            (lambda x: 9.0 if x > 0 else 7.0, [], False),  # two of five
        ]:
            self.assertEqual(explained(asked, answered(asked, answer, 1)), (names, whole))

    def test_two_of_the_catalogue_in_different_steps(self) -> None:
        losses = [[1.0, 2.0, 3.0], [0.5, 4.0], [2.0, 2.0, 0.25]]

        def wrong(total: float) -> float:
            return total / log(2)

        asked = Function(
            "total(nll)", "", lambda nll: sum(nll) / len(nll), lambda rng: [(each,) for each in losses],
            evidence=lambda nll: [Records(nll)],
        )  # fmt: skip
        names = named(asked, answered(asked, lambda nll: wrong(sum(nll)), 1))
        self.assertIn(("bits-reported-as-nats", "divided-by-rows"), [tuple(sorted(each)) for each in names])
        self.assertTrue(all(len(each) == 2 for each in names))

    def test_no_pair_is_sought_for_nothing_but_nan(self) -> None:
        asked = Function(
            "loss(rows, tokens)", "", lambda rows, tokens: 1.0,
            lambda rng: [([[0.0, 1.0], [2.0, 0.0], [0.0, 0.5]], [0, 1, 0])],
            evidence=lambda rows, tokens: [Batch(rows, tokens)],
        )  # fmt: skip
        self.assert_named(asked, lambda rows, tokens: nan)


if __name__ == "__main__":
    unittest.main()
