"""constrained_nll and sequence_logprob: probabilities of everything that can be generated add up to 1."""

import unittest
from collections.abc import Iterator
from itertools import product
from math import exp, fsum, inf, log, nan
from typing import Any

from refcalc import ExactSum, Policy, constrained_nll, exact, greedy, sample, sequence_logprob, token_nll
from tests.decode.models import table_model
from tests.ulps import assert_ulps


def everything(classes: int, policy: Policy) -> Iterator[tuple[int, ...]]:
    """Yield every sequence that ends with an eos or at max_new, and holds no eos before."""
    assert policy.max_new is not None
    for length in range(1, policy.max_new + 1):
        for ids in product(range(classes), repeat=length):
            if not set(ids[:-1]) & set(policy.eos) and (ids[-1] in policy.eos or length == policy.max_new):
                yield ids


class Constrained(unittest.TestCase):
    def test_what_can_be_generated_has_probability_1(self) -> None:
        model = table_model(4)
        for policy in [
            Policy(eos=3, max_new=4),
            Policy(eos=[1, 3], min_new=2, max_new=3),
            Policy(eos=3, max_new=4, temperature=0.5, banned=[0]),
            Policy(eos=3, max_new=4, top_k=2, frequency_penalty=0.5, presence_penalty=-0.5),
            Policy(eos=3, max_new=4, top_p=0.8, repetition_penalty=1.5, bias={2: 1.0}, context=2),
            Policy(eos=3, max_new=4, temperature=0),
        ]:
            losses = [constrained_nll(model, ids, policy, prompt=[1]) for ids in everything(4, policy)]
            with self.subTest(policy=policy):
                self.assertAlmostEqual(fsum(exp(-nll) for nll in losses), 1.0, delta=1e-14)

    def test_a_receipt_s_ids_have_its_processed_scores(self) -> None:
        model = table_model(6)
        policy = Policy(temperature=0.7, top_p=0.9, repetition_penalty=1.3, banned=[0], eos=5, min_new=3, max_new=20)
        for receipt in [sample(model, [1, 2], policy, 4), greedy(model, [1, 2], policy)]:
            losses = [-step.processed_logprob for step in receipt.steps]
            arguments = model, receipt.ids, receipt.policy
            self.assertEqual(constrained_nll(*arguments, prompt=[1, 2], reduction="none"), losses)
            self.assertEqual(constrained_nll(*arguments, prompt=[1, 2]), fsum(losses))
            self.assertEqual(
                constrained_nll(*arguments, prompt=[1, 2], reduction="mean"), ExactSum(losses) / len(losses)
            )

    def test_rows_that_were_kept_score_as_the_model_does(self) -> None:
        model, ids = table_model(6), [3, 3, 0, 5]
        policy = Policy(repetition_penalty=1.7, frequency_penalty=0.3, min_new=2, eos=5)
        rows = [model([1, *ids[:t]]) for t in range(4)]
        want = constrained_nll(model, ids, policy, prompt=[1], reduction="none")
        self.assertEqual(constrained_nll(rows, ids, policy, prompt=[1], reduction="none"), want)
        self.assertNotEqual(constrained_nll(rows, ids, policy, reduction="none"), want)  # 1 was in the prompt

    def test_it_is_not_the_model_s_own(self) -> None:
        row = [5.0, 2.0, 1.0]
        policy = Policy(banned=[0])
        self.assertAlmostEqual(constrained_nll([row], [1], policy), log(1 + exp(-1.0)), delta=1e-15)
        self.assertEqual(constrained_nll([row], [1], Policy()), token_nll(row, 1))
        self.assertEqual(constrained_nll([row], [0], policy), inf)
        self.assertEqual(constrained_nll([row, row], [2, 0], Policy(eos=0, min_new=2)), inf)
        self.assertLess(constrained_nll([row] * 3, [2, 1, 0], Policy(eos=0, min_new=2)), inf)

    def test_a_sum_beyond_the_doubles_is_infinite_and_its_mean_is_not(self) -> None:
        rows, ids = [[1e308, 0.0]] * 2, [1, 1]
        self.assertEqual(constrained_nll(rows, ids, Policy()), inf)
        self.assertEqual(constrained_nll(rows, ids, Policy(), reduction="mean"), 1e308)
        self.assertEqual(sequence_logprob(rows, ids), -inf)
        self.assertEqual(sequence_logprob(rows, ids, normalise="tokens"), -1e308)
        self.assertEqual(sequence_logprob([[0.0, 0.0]], [0], normalise="bytes", n_bytes=10**400), 0.0)

    def test_nothing(self) -> None:
        self.assertEqual(constrained_nll([], [], Policy()), 0.0)
        self.assertEqual(constrained_nll([], [], Policy(), reduction="none"), [])


class Sequences(unittest.TestCase):
    def setUp(self) -> None:
        model, self.tokens = table_model(5), [2, 0, 4, 4, 1, 3, 2]
        self.rows = [model([t]) for t in range(7)]
        nll = ExactSum(exact.token_nll(row, token) for row, token in zip(self.rows, self.tokens, strict=True))
        self.total = float(nll)

    def test_against_the_exact_tier(self) -> None:
        assert_ulps(sequence_logprob(self.rows, self.tokens), -self.total, 7)
        assert_ulps(sequence_logprob(self.rows, self.tokens, normalise="tokens"), -self.total / 7, 8)
        assert_ulps(sequence_logprob(self.rows, self.tokens, normalise="bytes", n_bytes=31), -self.total / 31, 8)
        assert_ulps(sequence_logprob(self.rows, self.tokens, normalise="chars", n_chars=20), -self.total / 20, 8)

    def test_the_prompt_is_in_neither_the_sum_nor_the_count(self) -> None:
        """Of a sequence of 7 tokens, 3 of them given, the last 4 are scored from the rows before them."""
        candidate = sequence_logprob(self.rows[2:-1], self.tokens[3:], normalise="tokens")
        by_hand = fsum(token_nll(self.rows[t - 1], self.tokens[t]) for t in range(3, 7))
        self.assertEqual(candidate, -by_hand / 4)

    def test_the_normalisers_order_candidates_differently(self) -> None:
        """S = -3 over 2 tokens and 12 bytes, -2 over 1 token and 3 bytes."""
        long, short = [[0.0, log(exp(1.5) - 1)]] * 2, [[0.0, log(exp(2.0) - 1)]]
        got = [
            [sequence_logprob(rows, [0] * len(rows), normalise=by, n_bytes=n if by == "bytes" else None)]
            for by in ("none", "tokens", "bytes")
            for rows, n in ((long, 12), (short, 3))
        ]
        for (x,), want in zip(got, [-3.0, -2.0, -1.5, -2.0, -0.25, -2 / 3], strict=True):
            self.assertAlmostEqual(x, want, delta=1e-14)

    def test_a_candidate_of_no_tokens(self) -> None:
        self.assertEqual(str(sequence_logprob([], [])), "0.0")
        self.assertEqual(sequence_logprob([[0.0, -inf]], [1]), -inf)


class Refusals(unittest.TestCase):
    def assert_refused(self, kind: type[Exception], message: str, function: Any, *a: Any, **named: Any) -> None:
        with self.subTest(message), self.assertRaises(kind) as caught:
            function(*a, **named)
        self.assertEqual(str(caught.exception), f"{function.__name__}: {message}")

    def test_constrained_nll(self) -> None:
        row, plain, once = [0.0, 0.0, 0.0], Policy(), Policy(max_new=1)
        for kind, message, rows, tokens, policy in [
            (ValueError, "rows must be as long as tokens (2), got 1", [row], [1, 1], plain),
            (ValueError, "tokens[0] must lie in [0, 3), got 3", [row], [3], plain),
            (ValueError, "tokens[0] must be the last, it is an eos, got 2", [row, row], [2, 1], Policy(eos=2)),
            (ValueError, "tokens must hold at most policy.max_new (1), got [1, 1]", [row] * 2, [1, 1], once),
            (ValueError, "rows[1] must be as long as rows[0] (3), got 2", [row, row[:2]], [1, 1], plain),
            (ValueError, "rows[0][1] must be finite or -inf, got nan", [[0.0, nan]], [1], plain),
            (ValueError, "rows[0] must hold a score above -inf, got [-inf]", [[-inf]], [0], plain),
            (ValueError, "policy must leave a candidate at step 0, got none", [[0.0]], [0], Policy(banned=[0])),
            (ValueError, "policy.eos must lie in [0, 3), got 8", [row], [0], Policy(eos=8)),
            (TypeError, "policy must be a Policy, got None", [row], [0], None),
            (TypeError, "tokens[0] must be a whole number, got 1.0", [row], [1.0], plain),
            (TypeError, "rows must be a sequence, got 5", 5, [0], plain),
            (ValueError, "prompt must hold at least one id (a BOS, where there is no text), got 0", len, [0], plain),
        ]:
            self.assert_refused(kind, message, constrained_nll, rows, tokens, policy)
        message = "reduction must be one of 'sum', 'mean', 'none', got 'avg'"
        self.assert_refused(ValueError, message, constrained_nll, [row], [0], plain, reduction="avg")
        message = "tokens must hold at least one (nothing to average), got 0"
        self.assert_refused(ValueError, message, constrained_nll, [], [], plain, reduction="mean")

    def test_sequence_logprob(self) -> None:
        rows = [[0.0, 0.0], [0.0, 0.0]]
        for kind, message, arguments, options in [
            (ValueError, "rows must be as long as tokens (3), got 2", (rows, [0, 1, -1]), {}),
            (ValueError, "tokens[1] must lie in [0, 2), got -1", (rows, [0, -1]), {}),
            (ValueError, "rows[1] must be as long as rows[0] (2), got 1", ([[0.0, 0.0], [0.0]], [0, 0]), {}),
            (ValueError, "rows[0] must hold at least one score, got 0", ([[]], [0]), {}),
            (ValueError, "rows[0][0] must be finite or -inf, got nan", ([[nan, 0.0]], [0]), {}),
            (
                ValueError,
                "normalise must be one of 'none', 'tokens', 'bytes', 'chars', got 'length'",
                (rows, [0, 1]),
                {"normalise": "length"},
            ),
            (
                ValueError,
                "n_bytes must be given where normalise is 'bytes', got None",
                (rows, [0, 1]),
                {"normalise": "bytes"},
            ),
            (ValueError, "n_chars must be at least 1, got 0", (rows, [0, 1]), {"normalise": "chars", "n_chars": 0}),
            (ValueError, "n_bytes must be left out where normalise is 'none', got 4", (rows, [0, 1]), {"n_bytes": 4}),
            (
                ValueError,
                "n_chars must be left out where normalise is 'tokens', got 4",
                (rows, [0, 1]),
                {"normalise": "tokens", "n_chars": 4},
            ),
            (
                ValueError,
                "tokens must hold at least one (nothing to average), got 0",
                ([], []),
                {"normalise": "tokens"},
            ),
            (TypeError, "rows[0] must be a sequence, got 0.0", ([0.0], [0]), {}),
        ]:
            self.assert_refused(kind, message, sequence_logprob, *arguments, **options)


if __name__ == "__main__":
    unittest.main()
