"""The probe: one batch on which every mistake is named alone, and no two of different steps among more than three."""

import unittest
from functools import cache
from itertools import pairwise
from math import isfinite
from random import Random
from unittest import mock

from refcalc import MISTAKES, Batch, diagnose, probe
from refcalc.mistakes.kind import ALL, STEPS
from refcalc.mistakes.trials import Nearness, Trials
from refcalc.probes import prove, record_of

# Seen as inf or nan only: on extreme scores they coincide, and on a batch that shows the others they are hidden.
EXTREME = {
    "fp16-lse-width",
    "log-of-softmax-underflow",
    "naive-logsumexp",
    "naive-softmax-nan",
    "product-underflow",
    "zero-log-zero-nan",
    "zero-times-inf-mask",
}
# Not to be had on a batch with a right answer, or with an ignore index that is no class.
ELSEWHERE = {"target-index-wraps", "ignored-class-in-normaliser"}
OPTIONS = {
    "class-count-wrong-axis": "smoothing",
    "smoothed-perplexity": "smoothing",
    "smoothing-counts-ignored": "smoothing",
    "smoothing-k-minus-one": "smoothing",
    "smoothing-left-out": "smoothing",
    "unit-mass-smoothing": "smoothing",
    "weight-times-smoothing": "both",
    "weighted-mean-normaliser": "weights",
    "weights-left-out": "weights",
}


def expected(quantity: str, option: str = "") -> set[str]:
    """Return the kinds that a probe for this quantity, with these options, must show."""
    kinds = {name for name, mistake in MISTAKES.items() if mistake.step in STEPS and quantity in mistake.quantities}
    return {name for name in kinds - EXTREME - ELSEWHERE if OPTIONS.get(name, option) == option}


class Naming(unittest.TestCase):
    def assert_told_apart(self, batch: Batch, quantity: str, option: str = "") -> None:
        trials = Trials(batch, quantity, "float32")
        singles, untried = trials.singles()
        near = Nearness(trials, 0.0, None)
        self.assertLessEqual(expected(quantity, option), {name for (name,) in singles}, untried)
        # A pair that is one of its members, or the right number, but for rounding, is no pair.
        assert trials.right is not None
        right = trials.right
        numbers = [(v, names) for names, values in singles.items() for v in values if not near.same(v, right)]
        for names, values in trials.pairs().items():
            known = [right, *(value for name in names for value in singles[name,])]
            numbers += [(v, names) for v in values if not any(near.same(v, each) for each in known)]
        groups: list[list[tuple[str, ...]]] = [[]]
        ordered = sorted(each for each in numbers if isfinite(each[0]))
        for (before, _), (value, names) in pairwise([(-1e300, ()), *ordered]):
            if not near.same(before, value):
                groups.append([])
            groups[-1].append(names)
        alone = {group[0][0] for group in groups if len({*group}) == 1 and len(group[0]) == 1}
        beside = {names[0] for group in groups if len({*group}) > 1 for names in group if len(names) == 1}
        self.assertEqual(beside, set())
        self.assertEqual(expected(quantity, option) - alone - {"empty-rows-nan"}, set())
        self.assertLessEqual(max(map(len, groups)), 3, max(groups, key=len))

    def test_every_mistake_is_told_from_all_others_and_from_all_pairs(self):
        for quantity in ALL:  # the default probe serves for all of them
            with self.subTest(quantity):
                self.assert_told_apart(probe(), quantity)

    def test_options_of_the_loss_make_more_mistakes_possible_and_these_are_told_too(self):
        smoothed = probe(72, label_smoothing=0.1)  # these seeds need one draw; tests.peers.check_probes tries others
        self.assert_told_apart(smoothed, "mean_nll", "smoothing")
        self.assert_told_apart(smoothed, "perplexity", "smoothing")
        self.assert_told_apart(probe(2, weighted=True), "mean_nll", "weights")

    def test_diagnose_names_them(self):
        draw = Random(4)
        for quantity in ("mean_nll", "word_perplexity"):
            batch = probe()
            trials = Trials(batch, quantity, "float64")
            trials.singles, trials.pairs = cache(trials.singles), cache(trials.pairs)  # else made for each number anew
            with (
                mock.patch("refcalc.diagnosis.Trials", return_value=trials),
                mock.patch("refcalc.probes.Trials", return_value=trials),
            ):
                self.assert_named(draw, trials, batch, quantity)

    def assert_named(self, draw: Random, trials: Trials, batch: Batch, quantity: str) -> None:
        singles, _ = trials.singles()
        proof = prove(batch, quantity)
        for name in draw.sample(proof.alone, 2):
            for value in singles[name,]:
                found = diagnose(value, batch, quantity=quantity)
                self.assertEqual([candidate.mistakes for candidate in found.candidates], [(name,)])
        pairs = {
            names: values[-1]
            for names, values in trials.pairs().items()
            if isfinite(values[-1]) and {*names} <= {*proof.alone}
        }
        for names in draw.sample(sorted(pairs), 3):
            found = diagnose(pairs[names], batch, quantity=quantity)
            self.assertLessEqual(len(found.candidates), 3)
            named = [set(candidate.mistakes) for candidate in found.candidates]
            self.assertTrue(any(each <= {*names} for each in named), (names, named))

    def test_what_gives_nan_on_it_is_named(self):
        found = diagnose("nan", probe())
        self.assertEqual(found.candidates[0].mistakes, ("empty-rows-nan",))


class Proof(unittest.TestCase):
    def test_it_says_what_is_hidden_and_what_coincides(self):
        proof = prove(probe(), "mean_nll", "float32")
        self.assertEqual(set(proof.hidden), EXTREME | {"target-index-wraps"})
        self.assertEqual({*proof.alone} & {*proof.hidden}, set())
        shifts = (("no-shift", "tail-dropped"), ("no-shift-last-dropped", "tail-dropped"))
        self.assertIn(shifts, proof.coincide)  # the last place is dropped once more

    def test_the_same_seed_gives_the_same_batch_and_another_another(self):
        self.assertEqual(record_of(probe()), record_of(probe(0)))
        self.assertNotEqual(record_of(probe())["logits"], record_of(probe(1))["logits"])

    def test_its_scores_are_the_same_in_float32_and_narrower(self):
        for sequence in probe().logits:
            for row in sequence:
                for z in row:
                    self.assertEqual(z * 256, int(z * 256))
                    self.assertLess(abs(z), 10)

    def test_refusals(self):
        for arguments, options, kind, message in (
            ((0.5,), {}, TypeError, "probe: seed must be a whole number, got 0.5"),
            ((), {"label_smoothing": 2}, ValueError, "probe: label_smoothing must lie in [0, 1], got 2.0"),
        ):
            with self.assertRaises(kind) as caught:
                probe(*arguments, **options)
            self.assertEqual(str(caught.exception), message)
        with self.assertRaises(ValueError) as caught:
            probe(quantity="loss")
        self.assertTrue(str(caught.exception).startswith("probe: quantity must be one of 'mean_nll', "))


if __name__ == "__main__":
    unittest.main()
