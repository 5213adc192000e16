"""greedy, sample and repeatable: judged by hand, and by a plain generator written beside them."""

import json
import unittest
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate, count
from math import exp, fsum, inf, log, nan
from random import Random
from typing import Any

from refcalc import GenerationReceipt, Policy, greedy, log_softmax, repeatable, sample
from tests.decode.models import Model, table_model


def counting(ids: list[int]) -> list[float]:
    """A model of five ids that prefers the one after the last by far, and then BOS, which is 0."""
    return [9.0 if i == ids[-1] + 1 else 4.0 if i == 0 else float(-i) for i in range(5)]


def changed_at(step: int, model: Model, change: Callable[[list[float]], list[float]]) -> Model:
    """Return the model with its row at one step of a generation changed."""
    calls = count()
    return lambda ids: change(model(ids)) if next(calls) == step else model(ids)


class Greedy(unittest.TestCase):
    def test_it_stops_at_eos(self) -> None:
        receipt = greedy(counting, [0], Policy(eos=3, max_new=9))
        self.assertEqual((receipt.ids, receipt.stop), ((1, 2, 3), "eos"))
        self.assertEqual(greedy(counting, [0], Policy(eos=[4, 2], max_new=9)).ids, (1, 2))

    def test_it_stops_at_max_new(self) -> None:
        receipt = greedy(counting, [0], Policy(eos=4, max_new=2))
        self.assertEqual((receipt.ids, receipt.stop), ((1, 2), "max_new"))
        self.assertEqual(greedy(counting, [0], Policy(eos=3, max_new=3)).stop, "eos")  # both at once

    def test_bos_is_masked_out_of_the_candidates(self) -> None:
        """The protocol of the first seed: BOS, prompt, greedy, BOS banned, stop at EOS or max_new."""
        self.assertEqual(greedy(counting, [0, 4], Policy(max_new=2)).ids, (0, 1))
        receipt = greedy(counting, [0, 4], Policy(banned=[0], max_new=2))
        self.assertEqual(receipt.ids, (1, 2))
        raw = -log(fsum(map(exp, [4.0, -1.0, -2.0, -3.0, -4.0]))) - 1.0
        processed = -log(fsum(map(exp, [-1.0, -2.0, -3.0, -4.0]))) - 1.0
        self.assertAlmostEqual(receipt.steps[0].raw_logprob, raw, delta=1e-14)
        self.assertAlmostEqual(receipt.steps[0].processed_logprob, processed, delta=1e-14)

    def test_eos_waits_for_the_minimum(self) -> None:
        self.assertEqual(greedy(counting, [0], Policy(eos=1, min_new=2, max_new=9)).ids, (0, 0, 1))

    def test_of_equal_scores_the_lowest_index(self) -> None:
        self.assertEqual(greedy(lambda ids: [1.0, 3.0, 3.0], [0], Policy(max_new=1)).ids, (1,))

    def test_temperature_does_not_count_and_the_receipt_says_so(self) -> None:
        hot = greedy(counting, [0], Policy(temperature=5.0, top_k=2, max_new=3))
        self.assertEqual(hot.policy, Policy(temperature=0, top_k=2, max_new=3))
        self.assertEqual(hot.steps, greedy(counting, [0], Policy(max_new=3)).steps)
        self.assertIsNone(hot.seed)

    def test_a_certain_token_has_log_probability_0_without_a_sign(self) -> None:
        step = greedy(lambda ids: [-inf, 2.0], [0], Policy(max_new=1)).steps[0]
        self.assertEqual([str(x) for x in step[1:]], ["0.0", "0.0"])

    def test_penalties_follow_what_was_generated(self) -> None:
        flat = [1.0, 0.9, 0.8]
        for prompt, policy, ids in [
            ([2], Policy(presence_penalty=0.15, max_new=6), (0, 1, 0, 0, 0, 0)),  # 1, .9, .8; .85, .9, .8; .85, .75, .8
            ([2], Policy(frequency_penalty=0.15, max_new=6), (0, 1, 0, 2, 1, 0)),  # ... .7, .75, .8; .7, .75, .65
            ([0], Policy(repetition_penalty=1.15, max_new=4), (1, 0, 0, 0)),  # .87, .9, .8; .87, .78, .8
        ]:
            self.assertEqual(greedy(lambda ids: flat, prompt, policy).ids, ids)


class Context(unittest.TestCase):
    def test_the_model_sees_the_last_ids_only(self) -> None:
        seen: list[list[int]] = []

        def next_logits(ids: list[int]) -> list[float]:
            seen.append(ids)
            return counting(ids)

        greedy(next_logits, [0, 0, 0], Policy(context=2, max_new=4, repetition_penalty=1.0))
        self.assertEqual(seen, [[0, 0], [0, 1], [1, 2], [2, 3]])
        seen.clear()
        greedy(next_logits, [0, 0, 0], Policy(max_new=2))
        self.assertEqual(seen, [[0, 0, 0], [0, 0, 0, 1]])

    def test_penalties_see_all_of_them(self) -> None:
        policy = Policy(context=1, repetition_penalty=10.0, max_new=3)
        self.assertEqual(greedy(lambda ids: [3.0, 2.0, 1.0], [0, 2], policy).ids, (1, 0, 0))

    def test_a_model_that_changes_its_list_changes_nothing_else(self) -> None:
        def careless(ids: list[int]) -> list[float]:
            row = counting(ids)
            ids.clear()
            return row

        for context in (None, 1, 9):
            policy = Policy(max_new=3, context=context)
            self.assertEqual(greedy(careless, [0], policy).steps, greedy(counting, [0], policy).steps)


class Sample(unittest.TestCase):
    def test_against_a_plain_generator(self) -> None:
        """One uniform number a step, the cumulative distribution inverted in token order; temperature and bans."""
        for seed in range(40):
            model, uniform, ids, temperature = table_model(6, seed), Random(seed).random, [5], 0.5 + seed % 3
            while len(ids) < 9 and (len(ids) == 1 or ids[-1] != 0):
                masses = [exp(z / temperature) if i != 3 else 0.0 for i, z in enumerate(model(ids))]
                sums = list(accumulate(masses))
                ids.append(bisect_right(sums, uniform() * sums[-1]))
            policy = Policy(temperature=temperature, banned=[3], eos=0, max_new=8)
            self.assertEqual([5, *sample(model, [5], policy, seed).ids], ids)

    def test_raw_and_processed(self) -> None:
        model, policy = table_model(6), Policy(temperature=0.25, top_k=3, max_new=20)
        receipt = sample(model, [1], policy, 7)
        ids = [1]
        for step in receipt.steps:
            row = model(ids)
            cut = sorted(row)[-3]
            left = [z / 0.25 if z >= cut else -inf for z in row]
            self.assertEqual(step, (step.token, log_softmax(row)[step.token], log_softmax(left)[step.token]))
            ids.append(step.token)

    def test_temperature_0_is_greedy(self) -> None:
        model, policy = table_model(9), Policy(temperature=0, max_new=12)
        drawn = sample(model, [1], policy, 3)
        self.assertEqual(drawn.steps, greedy(model, [1], policy).steps)
        self.assertEqual(drawn.seed, 3)

    def test_top_k_of_1_is_greedy_even_among_ties(self) -> None:
        for seed in range(20):
            drawn = sample(lambda ids: [1.0, 2.0, 2.0], [0], Policy(top_k=1, max_new=3), seed)
            self.assertEqual(drawn.ids, (1, 1, 1))

    def test_the_seed_decides(self) -> None:
        model, policy = table_model(50), Policy(max_new=20)
        self.assertEqual(sample(model, [0], policy, 5), sample(model, [0], policy, 5))
        self.assertNotEqual(sample(model, [0], policy, 5).ids, sample(model, [0], policy, 6).ids)


class Repeatable(unittest.TestCase):
    def setUp(self) -> None:
        self.model = table_model(6)
        policy = Policy(temperature=0.7, top_p=0.95, repetition_penalty=1.1, eos=5, max_new=30, context=4)
        self.receipts = [sample(self.model, [1, 2], policy, 11), greedy(self.model, [1, 2], policy)]

    def test_it_is(self) -> None:
        for receipt in self.receipts:
            self.assertIsNone(repeatable(receipt, self.model))
            kept = GenerationReceipt.from_dict(json.loads(json.dumps(receipt.to_dict(), allow_nan=False)))
            self.assertEqual(kept, receipt)
            self.assertIsNone(repeatable(kept, self.model))

    def test_the_first_step_that_differs_is_named(self) -> None:
        for receipt in self.receipts:
            step = len(receipt.ids) - 2
            token = receipt.ids[step]
            other = (token + 1) % 5
            lifted = changed_at(step, self.model, lambda row, i=other: [*row[:i], 50.0, *row[i + 1 :]])
            self.assertEqual(repeatable(receipt, lifted), (step, "token", token, other))

            nudged = changed_at(step, self.model, lambda row: [z + 1e-9 * (z == min(row)) for z in row])
            found = repeatable(receipt, nudged)
            assert found is not None
            self.assertEqual((found.step, found.what), (step, "raw_logprob"))
            self.assertEqual(found.recorded, receipt.steps[step].raw_logprob)
            self.assertLess(found.now, found.recorded)

    def test_a_processed_score_may_differ_alone(self) -> None:
        receipt = greedy(self.model, [1], Policy(max_new=2))
        record = receipt.to_dict()
        record["steps"][1]["processed_logprob"] -= 0.25
        found = repeatable(GenerationReceipt.from_dict(record), self.model)
        now = receipt.steps[1].processed_logprob
        self.assertEqual(found, (1, "processed_logprob", now - 0.25, now))

    def test_a_tolerance_is_for_log_probabilities_only(self) -> None:
        receipt = greedy(counting, [0], Policy(max_new=3))

        def nearly(ids: list[int]) -> list[float]:
            return [z + 1e-6 * (i == 0) for i, z in enumerate(counting(ids))]

        self.assertIsNotNone(repeatable(receipt, nearly))
        self.assertIsNone(repeatable(receipt, nearly, tolerance=1e-6))
        self.assertIsNotNone(repeatable(receipt, nearly, tolerance=1e-10))
        found = repeatable(receipt, lambda ids: [0.0, 0.0, 1.0, 0.0, 0.0], tolerance=inf)
        self.assertEqual(found, (0, "token", 1, 2))


class Refusals(unittest.TestCase):
    def assert_refused(self, kind: type[Exception], message: str, function: Any, *a: Any, **named: Any) -> None:
        with self.subTest(message), self.assertRaises(kind) as caught:
            function(*a, **named)
        self.assertEqual(str(caught.exception), message)

    def test_by_both(self) -> None:
        one, rows = Policy(max_new=1), {1: [0.0, 0.0], 2: [0.0, 0.0, 0.0]}
        for kind, message, next_logits, prompt, policy in [
            (ValueError, "prompt must hold at least one id (a BOS, where there is no text), got 0", counting, [], one),
            (TypeError, "prompt[0] must be a whole number, got 'a'", counting, ["a"], one),
            (ValueError, "prompt[1] must lie in [0, 5), got 5", counting, [0, 5], one),
            (ValueError, "prompt[0] must lie in [0, 5), got -1", counting, [-1], one),
            (ValueError, "policy.max_new must be set, generation needs an end, got None", counting, [0], Policy()),
            (ValueError, "policy.banned must lie in [0, 5), got 9", counting, [0], Policy(banned=[9], max_new=1)),
            (ValueError, "policy.eos must lie in [0, 5), got 5", counting, [0], Policy(eos=5, max_new=1)),
            (TypeError, "policy must be a Policy, got None", counting, [0], None),
            (TypeError, "next_logits must be callable, got [[0.0]]", [[0.0]], [0], one),
            (
                ValueError,
                "policy must leave a candidate at step 0, got none",
                counting,
                [0],
                Policy(banned=range(5), max_new=1),
            ),
            (
                ValueError,
                "next_logits[1] must be as long as next_logits[0] (2), got 3",
                lambda ids: rows[len(ids)],
                [0],
                Policy(max_new=2),
            ),
            (ValueError, "next_logits[0][1] must be finite or -inf, got nan", lambda ids: [0.0, nan], [0], one),
            (ValueError, "next_logits[0] must hold a score above -inf, got [-inf]", lambda ids: [-inf], [0], one),
            (ValueError, "next_logits[0] must hold at least one score, got 0", lambda ids: [], [0], one),
            (TypeError, "next_logits[0] must be a sequence, got None", lambda ids: None, [0], one),
        ]:
            self.assert_refused(kind, f"greedy: {message}", greedy, next_logits, prompt, policy)
            self.assert_refused(kind, f"sample: {message}", sample, next_logits, prompt, policy, 0)

    def test_the_seed(self) -> None:
        one = Policy(max_new=1)
        self.assert_refused(ValueError, "sample: seed must be at least 0, got -1", sample, counting, [0], one, -1)
        message = "sample: seed must be a whole number, got None"
        self.assert_refused(TypeError, message, sample, counting, [0], one, None)

    def test_decode(self) -> None:
        message = "greedy: decode must be callable, got 'utf-8'"
        self.assert_refused(TypeError, message, greedy, counting, [0], Policy(max_new=1), decode="utf-8")
        message = "greedy: decode() must be bytes, got 'abc'"
        self.assert_refused(TypeError, message, greedy, counting, [0], Policy(max_new=1), decode=lambda ids: "abc")

    def test_repeatable(self) -> None:
        receipt = greedy(counting, [0], Policy(max_new=1))
        message = "repeatable: receipt must be a GenerationReceipt, got {}"
        self.assert_refused(TypeError, message, repeatable, {}, counting)
        self.assert_refused(TypeError, "repeatable: next_logits must be callable, got 3", repeatable, receipt, 3)
        message = "repeatable: tolerance must not be negative, got -1.0"
        self.assert_refused(ValueError, message, repeatable, receipt, counting, tolerance=-1.0)


if __name__ == "__main__":
    unittest.main()
