"""Policy: what it takes, what it refuses, and a row under all of it, by hand."""

import json
import unittest
from dataclasses import FrozenInstanceError, replace
from itertools import permutations
from math import inf, log, nan
from typing import Any

from refcalc import Policy
from refcalc.decode import ORDER, distribution, process

FULL = Policy(
    temperature=0.5,
    top_k=3,
    top_p=0.9,
    repetition_penalty=2.0,
    frequency_penalty=0.25,
    presence_penalty=0.5,
    banned=[4],
    bias={1: 1.0, 4: 9.0},
    eos=[5, 0],
    min_new=3,
    max_new=9,
    context=16,
)


class Row(unittest.TestCase):
    def test_every_processor_in_order(self) -> None:
        logits = [7.0, 2.0, -1.0, 2.0, 5.0, 6.0, 0.5]
        # bias         [7, 3, -1, 2, 14, 6, .5]
        # repetition   seen 1, 2, 3: [7, 1.5, -2, 1, 14, 6, .5]
        # frequency    of 1 and 2: [7, 1.25, -2.25, 1, 14, 6, .5]; presence: [7, .75, -2.75, 1, 14, 6, .5]
        # banned 4, and eos 0 and 5 before the third token: [-, .75, -2.75, 1, -, -, .5]
        # temperature  [-, 1.5, -5.5, 2, -, -, 1]; top 3: [-, 1.5, -, 2, -, -, 1]
        # top-p        e**2, e**1.5, e**1 of 14.589: 0.506, 0.814 < 0.9, so all three
        got = process(logits, FULL, prompt=[3], generated=[2, 1])
        self.assertEqual(got, [-inf, 1.5, -inf, 2.0, -inf, -inf, 1.0])
        self.assertEqual(process(logits, replace(FULL, top_p=0.8), [3], [2, 1])[6], -inf)

    def test_after_the_minimum_eos_is_a_candidate(self) -> None:
        logits = [7.0, 2.0, -1.0, 2.0, 5.0, 6.0, 0.5]
        # [14, -, -, -, -, 12, -] has 0.881 on its first, which is less than 0.9, and 2 has now been generated twice
        self.assertEqual(process(logits, FULL, [3], [2, 1, 2]), [14.0, -inf, -inf, -inf, -inf, 12.0, -inf])
        few = replace(FULL, top_k=None, top_p=None)
        self.assertEqual(process(logits, few, [3], [2, 1, 2]), [14.0, 1.5, -6.0, 2.0, -inf, 12.0, 1.0])

    def test_counts_are_of_what_was_generated_and_the_repetition_penalty_sees_the_prompt_too(self) -> None:
        row = [4.0, 4.0, 4.0]
        self.assertEqual(process(row, Policy(frequency_penalty=1.0), [0, 0], [1, 1, 2]), [4.0, 2.0, 3.0])
        self.assertEqual(process(row, Policy(presence_penalty=1.0), [0, 0], [1, 1, 2]), [4.0, 3.0, 3.0])
        self.assertEqual(process(row, Policy(repetition_penalty=2.0), [0, 0], [1, 1]), [2.0, 2.0, 4.0])

    def test_the_order_is_the_policy_s(self) -> None:
        row = [1.0, 2.0]
        bias_last = (*ORDER[1:], "bias")
        policy = Policy(bias={0: -3.0}, repetition_penalty=2.0)
        self.assertEqual(process(row, policy, [0]), [-4.0, 2.0])
        self.assertEqual(process(row, replace(policy, order=bias_last), [0]), [-2.5, 2.0])
        temperature_last = sorted(ORDER, key="temperature".__eq__)
        hot = Policy(temperature=4.0, top_p=0.7)
        self.assertEqual(process([0.0, 2.0], hot), [0.0, 0.5])
        self.assertEqual(process([0.0, 2.0], replace(hot, order=temperature_last)), [-inf, 0.5])

    def test_truncation_comes_last_and_top_k_before_top_p(self) -> None:
        shares = [log(0.4), log(0.3), log(0.2), log(0.1)]
        self.assertEqual(process(shares, Policy(top_k=2, top_p=0.5))[1:], [-inf] * 3)  # 0.4 / 0.7 is enough
        top_p_first = (*ORDER[:-2], "top_p", "top_k")
        self.assertGreater(process(shares, Policy(top_k=2, top_p=0.5, order=top_p_first))[1], -inf)  # 0.4 is not
        self.assertEqual(process([0.0, 5e-324], Policy(temperature=4.0, top_k=1)), [0.0, -inf])  # tied by rounding
        self.assertEqual(process([0.0, log(0.9)], Policy(temperature=9.0, top_p=0.51)), [0.0, log(0.9) / 9.0])

    def test_greedy_leaves_out_what_does_not_change_the_largest(self) -> None:
        policy = Policy(temperature=0, top_k=1, top_p=0.1, banned=[2])
        self.assertEqual(process([1.0, 3.0, 9.0, 3.0], policy), [1.0, 3.0, -inf, 3.0])
        self.assertEqual(distribution([1.0, 3.0, 9.0, 3.0], policy), [0.0, 1.0, 0.0, 0.0])

    def test_greedy_leaves_them_out_wherever_the_order_has_them(self) -> None:
        policy = Policy(temperature=0, top_k=1, top_p=0.1, banned=[2], order=(*ORDER[6:], *ORDER[:6]))
        self.assertEqual(process([0.0, 1.0, 2.0], policy), [0.0, 1.0, -inf])
        with self.assertRaises(ValueError):  # the one that top-k keeps is banned
            process([0.0, 1.0, 2.0], replace(policy, temperature=1e-3))

    def test_the_standard_orders_of_truncation_leave_the_largest(self) -> None:
        for names in permutations(["temperature", "top_k", "top_p"]):
            policy = Policy(temperature=3.0, top_k=2, top_p=0.4, order=(*ORDER[:6], *names))
            got = process([0.0, 1.0, 0.5, -4.0], policy)
            self.assertEqual(got.index(max(got)), 1)

    def test_nothing_asked_for_changes_nothing(self) -> None:
        row = [0.1, -inf, 7.0]
        self.assertEqual(process(row, Policy(), [0, 2], [2, 2]), row)


class Kept(unittest.TestCase):
    def test_json_both_ways(self) -> None:
        for policy in (Policy(), FULL, Policy(temperature=0.1 + 0.2, bias={3: 1e-300})):
            text = json.dumps(policy.to_dict(), allow_nan=False)
            again = Policy.from_dict(json.loads(text))
            self.assertEqual(again, policy)
            self.assertEqual(hash(again), hash(policy))
            self.assertEqual(json.dumps(again.to_dict()), text)
        self.assertEqual(Policy().to_dict()["order"], list(ORDER))
        self.assertEqual(Policy().to_dict()["ties"], "lowest index")

    def test_one_policy_has_one_form(self) -> None:
        self.assertEqual(Policy(eos=[2, 1, 2], banned=(7, 3)), Policy(eos=(1, 2), banned=[3, 7, 7]))
        self.assertEqual(Policy(bias={5: 1, 2: 0.5}), Policy(bias=[(2, 0.5), (5, 1.0)]))
        self.assertEqual(Policy(eos=3).eos, (3,))
        self.assertEqual(Policy(eos={3, 1}, banned={5}), Policy(eos=[1, 3], banned=[5]))
        self.assertEqual(str(Policy(temperature=-0.0).temperature), "0.0")

    def test_it_does_not_change(self) -> None:
        with self.assertRaises(FrozenInstanceError):
            FULL.top_k = 4  # type: ignore[misc]


class Refusals(unittest.TestCase):
    def test_each_by_name(self) -> None:
        for arguments, message in [
            ({"temperature": -1.0}, "temperature must not be negative, got -1.0"),
            ({"temperature": nan}, "temperature must be a number, got nan"),
            ({"temperature": inf}, "temperature must be finite, got inf"),
            ({"top_k": 0}, "top_k must be at least 1, got 0"),
            ({"top_p": 0.0}, "top_p must lie in (0, 1], got 0.0"),
            ({"top_p": 1.01}, "top_p must lie in (0, 1], got 1.01"),
            ({"repetition_penalty": 0.0}, "repetition_penalty must be above 0, got 0.0"),
            ({"repetition_penalty": -1.2}, "repetition_penalty must be above 0, got -1.2"),
            ({"frequency_penalty": inf}, "frequency_penalty must be finite, got inf"),
            ({"presence_penalty": nan}, "presence_penalty must be a number, got nan"),
            ({"banned": [-1]}, "banned[0] must be at least 0, got -1"),
            ({"bias": {2: -inf}}, "bias[0][1] must be finite, got -inf"),
            ({"bias": [(2, 1.0), (2, 2.0)]}, "bias[1][0] must be an id that was not given before, got 2"),
            ({"bias": [(2,)]}, "bias[0] must be as long as a pair of id and number (2), got 1"),
            ({"eos": -2}, "eos[0] must be at least 0, got -2"),
            ({"min_new": 2}, "min_new must be 0 where there is no eos, got 2"),
            ({"min_new": 3, "max_new": 2, "eos": 0}, "min_new must be at most max_new (2), got 3"),
            (
                {"min_new": 1, "eos": 4, "banned": [1, 4]},
                "banned[1] must be no eos where min_new says from when on it may come, got 4",
            ),
            ({"max_new": 0}, "max_new must be at least 1, got 0"),
            ({"context": 0}, "context must be at least 1, got 0"),
            ({"ties": "random"}, "ties must be one of 'lowest index', got 'random'"),
            ({"order": ORDER[1:]}, f"order must name each of {', '.join(ORDER)} once, got"),
            ({"order": [*ORDER[1:], "top_k"]}, f"order must name each of {', '.join(ORDER)} once, got"),
        ]:
            self.assert_refused(ValueError, f"Policy: {message}", Policy, **arguments)
        self.assertEqual(Policy(eos=1, min_new=2, max_new=2).min_new, 2)  # never an eos: what is possible is allowed

    def test_kinds(self) -> None:
        for arguments, message in [
            ({"temperature": "1"}, "temperature must be a number, got '1'"),
            ({"top_k": 5.0}, "top_k must be a whole number, got 5.0"),
            ({"eos": True}, "eos[0] must be a whole number, got True"),
            ({"banned": "ab"}, "banned must be a sequence, got 'ab'"),
            ({"bias": [(1, 2.0), ("2", 2.0)]}, "bias[1][0] must be a whole number, got '2'"),
            ({"bias": [(1, 2.0), (2, "2")]}, "bias[1][1] must be a number, got '2'"),
        ]:
            self.assert_refused(TypeError, f"Policy: {message}", Policy, **arguments)
        self.assert_refused(TypeError, "Policy.from_dict: record must be a dict, got []", Policy.from_dict, [])
        known = ", ".join(Policy().to_dict())
        message = f"Policy.from_dict: record must have no keys but {known}, got 'topk'"
        self.assert_refused(ValueError, message, Policy.from_dict, {"topk": 1})

    def test_a_row_without_a_candidate(self) -> None:
        for message, logits, policy, *ids in [
            ("policy must leave a candidate at step 0, got none", [1.0, 2.0], Policy(banned=[0, 1])),
            ("policy must leave a candidate at step 2, got none", [1.0, -inf], Policy(banned=[0]), [], [0, 0]),
            (
                "policy must leave a candidate at step 0, got none",
                [1.0, 2.0],
                Policy(top_k=1, banned=[1], order=(*ORDER[:4], *ORDER[5:], "banned")),
            ),
            ("policy must leave a candidate at step 0, got none", [1.0, 2.0], Policy(eos=[0, 1], min_new=1)),
            ("logits must hold a score above -inf, got [-inf, -inf]", [-inf, -inf], Policy()),
            ("policy.banned must lie in [0, 2), got 2", [0.0, 0.0], Policy(banned=[2])),
            ("policy.bias must lie in [0, 2), got 7", [0.0, 0.0], Policy(bias={7: 1.0})),
            ("policy.eos must lie in [0, 2), got 3", [0.0, 0.0], Policy(eos=3)),
            ("prompt[1] must lie in [0, 2), got 2", [0.0, 0.0], Policy(), [0, 2]),
            ("generated[0] must lie in [0, 2), got -1", [0.0, 0.0], Policy(), [], [-1]),
        ]:
            self.assert_refused(ValueError, f"process: {message}", process, logits, policy, *ids)
        message = "process: policy must be a Policy, got {'top_k': 1}"
        self.assert_refused(TypeError, message, process, [0.0], {"top_k": 1})

    def assert_refused(self, kind: type[Exception], message: str, function: Any, *a: Any, **named: Any) -> None:
        with self.subTest(message), self.assertRaises(kind) as caught:
            function(*a, **named)
        got = str(caught.exception)
        self.assertEqual(got[: len(message)] if message.endswith("got") else got, message)  # a value cut short


if __name__ == "__main__":
    unittest.main()
