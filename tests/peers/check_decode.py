"""Decoding beside transformers' logits processors and generation, and lm-evaluation-harness's multiple choice.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_decode.py

Each processor is given the same 10,000 random rows in float64.  Values have to be equal to the bit, and the kept set to
be the same, except

- top-k, of scores equal to the k-th: transformers keeps all of them, refcalc the lowest indices;
- top-p, of equal scores at its edge: transformers keeps those that its sort puts last, refcalc the lowest indices;
- top-p, where the cumulative sum is within rounding of p: transformers decides by float sums, refcalc exactly.  Each
  such row is judged in decimal arithmetic, which has to find refcalc's set right and the sum that near to p.

transformers has no presence or frequency penalty; these are held against the two lines of tensor arithmetic that vLLM
has for them.  Its sequence_bias is kept in float32, so biases here have few bits; and its bad words let an eos pass.
"""

import unittest
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from math import inf
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from lm_eval.api.task import ConfigurableTask
from transformers import GenerationConfig, GenerationMixin, LlamaConfig, LlamaForCausalLM
from transformers.generation import logits_process as peers

import refcalc
from refcalc import decode
from tests.ulps import wide_context

ROWS = 10_000
EMPTY = torch.zeros((1, 0), dtype=torch.long)
WIDE = wide_context(40)

torch.set_num_threads(1)


class Case(NamedTuple):
    """A random row, and something for each processor to do."""

    row: list[float]
    ids: list[int]
    amount: float  # above 0, not 1
    k: int
    p: float


@cache
def cases(seed: int = 0) -> list[Case]:
    return list(random_cases(seed))


def random_cases(seed: int) -> Iterator[Case]:
    """Yield rows of 1 to 40 classes: gaussian, tied, masked, far apart; every fourth p is next to a cumulative sum."""
    for number in range(ROWS):
        rng = Random(f"{seed} {number}")
        size, spread = 1 + int(40 * rng.random()), [0.5, 3.0, 10.0, 100.0][number % 4]
        row = [rng.gauss(0.0, spread) for _ in range(size)]
        if number % 5 == 0:
            row = [float(round(z)) for z in row]  # many ties
        if number % 7 == 0 and size > 1:
            row[int(size * rng.random())] = -inf
            row[int(size * rng.random())] = 0.0
        ids = [int(size * rng.random()) for _ in range(1 + int(6 * rng.random()))]
        p = 1.0 - rng.random()
        if number % 4 == 1 and size > 1:
            p = float(cumulative(sorted(row, reverse=True))[int((size - 1) * rng.random())])
            p = min(max(p, 1e-300), float(np.nextafter(1.0, 0.0)))
        yield Case(row, ids, 0.25 + 2.0 * rng.random(), 1 + int(size * rng.random()), p)


def cumulative(scores: list[float]) -> list[Decimal]:
    """Return the cumulative probabilities of scores in this order, to some 35 digits."""
    sums, total = [], Decimal(0)
    for z in scores:
        total = WIDE.add(total, WIDE.exp(Decimal(z)))
        sums.append(total)
    return [WIDE.divide(each, total) for each in sums]


def run(processor: Any, row: list[float], ids: list[int] | None = None) -> list[float]:
    """Return what a processor of transformers makes of a row in float64."""
    before = EMPTY if ids is None else torch.tensor([ids])
    return processor(before, torch.tensor([row], dtype=torch.float64))[0].tolist()  # type: ignore[no-any-return]


def kept(row: list[float]) -> set[int]:
    return {i for i, z in enumerate(row) if z > -inf}


class Processors(unittest.TestCase):
    def test_values_are_equal_to_the_bit(self) -> None:
        for row, ids, amount, _, _ in cases():
            size, some = len(row), sorted(set(ids))
            counts = {i: ids.count(i) for i in some}
            bias = {i: round(8.0 * amount) / 8.0 - 1.25 for i in some}  # exact in float32
            scores, seen = torch.tensor(row, dtype=torch.float64), torch.zeros(size, dtype=torch.float64)
            for i, n in counts.items():
                seen[i] = n
            for got, want in [
                (decode.divide_by_temperature(row, amount), run(peers.TemperatureLogitsWarper(amount), row)),
                (
                    decode.penalise_repetition(row, ids, amount),
                    run(peers.RepetitionPenaltyLogitsProcessor(amount), row, ids),
                ),
                (
                    decode.add_bias(row, bias),
                    run(peers.SequenceBiasLogitsProcessor({(i,): b for i, b in bias.items()}), row, ids),
                ),
                (decode.ban(row, some), run(peers.NoBadWordsLogitsProcessor([[i] for i in some]), row, ids)),
                (decode.ban(row, some), run(peers.SuppressTokensLogitsProcessor(some), row, ids)),
                (decode.penalise_frequency(row, counts, amount), (scores - amount * seen).tolist()),
                (decode.penalise_presence(row, ids, amount), (scores - amount * seen.clamp(max=1.0)).tolist()),
            ]:
                self.assertEqual(got, want)

    def test_the_minimum_length(self) -> None:
        for row, ids, _, _, _ in cases():
            eos, least = sorted({ids[0], ids[-1]}), len(ids) - 1
            policy = refcalc.Policy(eos=eos, min_new=least)
            for new in range(len(ids)):
                processor = peers.MinNewTokensLengthLogitsProcessor(1, least, eos)
                want = run(processor, row, [0, *ids[:new]])
                if kept(want):
                    self.assertEqual(decode.process(row, policy, [0], ids[:new]), want)

    def test_top_k(self) -> None:
        ties = 0
        for row, _, _, k, _ in cases():
            ours, theirs = decode.keep_top_k(row, k), run(peers.TopKLogitsWarper(k), row)
            if ours != theirs:
                ties += 1
                kth = sorted(row, reverse=True)[k - 1]
                extra = kept(theirs) - kept(ours)
                self.assertEqual({row[i] for i in extra}, {kth})
                self.assertLess(kept(ours), kept(theirs))
                lowest = [i for i, z in enumerate(row) if z == kth]
                self.assertEqual([i for i in lowest if i in kept(ours)], lowest[: len(lowest) - len(extra)])
        self.assertGreater(ties, 100)  # the exception is looked at
        self.assertLess(ties, ROWS / 5)  # tied rows only

    def test_top_p(self) -> None:
        ties = roundings = 0
        for row, _, _, _, p in cases():
            ours, theirs = decode.keep_top_p(row, p), run(peers.TopPLogitsWarper(p), row)
            self.assertTrue(all(z in (-inf, x) for z, x in zip(ours, row, strict=True)))
            if ours == theirs:
                continue
            if sorted(ours) == sorted(theirs):
                ties += 1
                least = min(z for z in ours if z > -inf)
                self.assertEqual({row[i] for i in kept(ours) ^ kept(theirs)}, {least})
            else:
                roundings += 1
                self.assert_within_rounding(row, p, len(kept(ours)), len(kept(theirs)))
        self.assertGreater(min(ties, roundings), 100)
        self.assertLess(roundings, ROWS / 4)  # where p was put next to a sum, and nowhere else

    def assert_within_rounding(self, row: list[float], p: float, ours: int, theirs: int) -> None:
        """Assert that refcalc keeps as many as it takes, and that p is next to each sum that transformers misjudged."""
        sums = cumulative(sorted(row, reverse=True))
        self.assertEqual([c >= Decimal(p) for c in sums].index(True) + 1, ours)
        for n in range(min(ours, theirs), max(ours, theirs)):
            self.assertLess(abs(sums[n - 1] - Decimal(p)), Decimal(len(row)) * Decimal(2) ** -52)


class Order(unittest.TestCase):
    def test_all_processors_together_in_transformers_own_order(self) -> None:
        """The list is made by transformers itself, from a configuration with everything in it."""
        looked_at = 0
        for row, ids, amount, k, p in cases(seed=1):
            size = len(row)
            if size < 5 or len({*row}) < size:
                continue
            looked_at += 1
            banned, eos, least = [ids[-1]], [(ids[-1] + 1) % size], len(ids) % 3
            bias = {ids[0]: 0.75, (ids[0] + 2) % size: -1.5}
            config = GenerationConfig(
                do_sample=True,
                temperature=amount,
                top_k=k,
                top_p=p,
                repetition_penalty=0.5 + amount,
                bad_words_ids=[[i] for i in banned],
                sequence_bias={(i,): b for i, b in bias.items()},
                min_new_tokens=least,
            )
            config._eos_token_tensor = torch.tensor(eos)
            prompt, new = ids[:1], ids[1:]
            processors = maker()._get_logits_processor(config, input_ids_seq_length=1)
            policy = refcalc.Policy(
                temperature=amount,
                top_k=k,
                top_p=p,
                repetition_penalty=0.5 + amount,
                banned=banned,
                bias=bias,
                eos=eos,
                min_new=least,
            )
            ours, theirs = decode.process(row, policy, prompt, new), run(processors, row, ids)
            self.assertEqual(ours, theirs)  # no p of these is within rounding of a sum
            scores = torch.tensor(theirs, dtype=torch.float64)
            logs = compared(refcalc.log_softmax(ours), scores.log_softmax(0).tolist(), "loss", size)
            shares = compared(
                decode.distribution(row, policy, prompt, new), scores.softmax(0).tolist(), "probability", size
            )
            self.assertTrue(logs.explained and shares.explained, (logs, shares))
        self.assertGreater(looked_at, 5000)


def compared(ours: list[float], theirs: list[float], quantity: str, classes: int) -> refcalc.Comparison:
    finite = [(a, b) for a, b in zip(ours, theirs, strict=True) if b > -inf]
    a, b = (list(each) for each in zip(*finite, strict=True))
    return refcalc.compare(b, a, dtype="float64", classes=classes, quantity=quantity)


def maker() -> Any:
    """Return the least that transformers needs to make its list of processors."""

    class Maker(GenerationMixin):
        config = SimpleNamespace(is_encoder_decoder=False)

        def __init__(self) -> None:
            pass

    return Maker()


class Generation(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(3)
        config = LlamaConfig(
            vocab_size=60,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            initializer_range=0.5,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=2,
        )
        self.model = LlamaForCausalLM(config).eval()

    def next_logits(self, ids: list[int]) -> Any:
        with torch.no_grad():
            return self.model(torch.tensor([ids])).logits[0, -1]

    def test_greedy(self) -> None:
        stops = set()
        for start in range(3, 33):
            arguments: dict[str, Any] = {"repetition_penalty": 1.5} if start % 2 else {}
            eos = [1, *range(40, 46)]
            made = self.model.generate(
                torch.tensor([[0, start]]),
                do_sample=False,
                max_new_tokens=12,
                min_new_tokens=3,
                bad_words_ids=[[0], [2]],
                eos_token_id=eos,
                use_cache=False,
                return_dict_in_generate=True,
                output_scores=True,
                output_logits=True,
                **arguments,
            )
            policy = refcalc.Policy(banned=[0, 2], eos=eos, min_new=3, max_new=12, **arguments)
            receipt = refcalc.greedy(self.next_logits, [0, start], policy)
            stops.add(receipt.stop)
            self.assertEqual(list(receipt.ids), made.sequences[0, 2:].tolist())
            for name, rows in [("raw_logprob", made.logits), ("processed_logprob", made.scores)]:
                theirs = [float(row[0].log_softmax(0)[i]) for row, i in zip(rows, receipt.ids, strict=True)]
                ours = [getattr(step, name) for step in receipt.steps]
                if name == "raw_logprob" or not arguments:  # a penalty in float32 rounds the score before
                    outcome = refcalc.compare(theirs, ours, dtype="float32", classes=60, quantity="loss")
                    self.assertTrue(outcome.explained, outcome)
                for a, b in zip(ours, theirs, strict=True):
                    self.assertAlmostEqual(a, b, delta=1e-5)
            self.assertIsNone(refcalc.repeatable(receipt, self.next_logits))
        self.assertEqual(stops, {"eos", "max_new"})


class MultipleChoice(unittest.TestCase):
    def test_lm_eval_s_three_accuracies(self) -> None:
        """lm-evaluation-harness 0.4.13: acc by the sum, acc_norm by characters, acc_bytes by bytes of the choice."""
        rng, disagreements = Random(4), 0
        for _ in range(500):
            choices = [rng.choice("aé整🙂") * (1 + int(6 * rng.random())) for _ in range(4)]
            rows = [[[rng.gauss(0.0, 1.0) for _ in range(8)] for _ in text[: 1 + len(text) // 2]] for text in choices]
            tokens = [[int(8 * rng.random()) for _ in each] for each in rows]
            sums = [refcalc.sequence_logprob(r, t) for r, t in zip(rows, tokens, strict=True)]
            predictions = {
                "acc": first_of_largest(sums),
                "acc_norm": first_of_largest(
                    refcalc.sequence_logprob(r, t, normalise="chars", n_chars=len(text))
                    for r, t, text in zip(rows, tokens, choices, strict=True)
                ),
                "acc_bytes": first_of_largest(
                    refcalc.sequence_logprob(r, t, normalise="bytes", n_bytes=len(text.encode()))
                    for r, t, text in zip(rows, tokens, choices, strict=True)
                ),
            }
            disagreements += len(set(predictions.values())) > 1
            for gold in range(4):
                task = SimpleNamespace(
                    OUTPUT_TYPE="multiple_choice",
                    config=SimpleNamespace(process_results=None),
                    _metric_fn_list=dict.fromkeys(predictions),
                    doc_to_choice=lambda doc, texts=choices: texts,
                    doc_to_target=lambda doc, index=gold: index,
                    multiple_input=False,
                    multiple_target=False,
                )
                got = ConfigurableTask.process_results(task, {}, [(each, False) for each in sums])
                for name, index in predictions.items():
                    self.assertEqual(got[name], index == gold)
        self.assertGreater(disagreements, 100)


def first_of_largest(values: Any) -> int:
    numbers = list(values)
    return numbers.index(max(numbers))


if __name__ == "__main__":
    unittest.main()
