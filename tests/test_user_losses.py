"""A loss of one's own, with a mistake in it, on the probe and on small batches: its number is named.

The losses below are what people write: plain loops over logits and labels, nothing of the package in them.  What counts
is told from the labels alone, as frameworks do, or from the mask of both places of a pair.
"""

import unittest
from collections.abc import Callable, Iterable
from functools import cache
from math import exp, fsum, log
from typing import Any
from unittest import mock

from refcalc import Batch, diagnose, probe
from refcalc.mistakes.pipeline import Run
from refcalc.mistakes.trials import Trials
from refcalc.probes import prove

IGNORED = -100
SEEDS = (0, 3, 13)  # of which the first draw serves
LOGITS = [[[((7 * b + 5 * t + 3 * c * c) % 11) / 4.0 for c in range(8)] for t in range(8)] for b in range(2)]
SHIFTS: dict[str, Callable[[int], Iterable[tuple[int, int]]]] = {  # (row, place) of each pair in n places
    "double-shift": lambda n: ((t, t + 2) for t in range(n - 2)),
    "no-shift": lambda n: ((t, t) for t in range(n)),
    "no-shift-first-dropped": lambda n: ((t, t) for t in range(1, n)),
    "no-shift-last-dropped": lambda n: ((t, t) for t in range(n - 1)),
    "reversed-shift": lambda n: ((t, t - 1) for t in range(1, n)),
}


def nll(row: list[float], y: int) -> float:
    return log(fsum(map(exp, row))) - row[y]


def mean(losses: Iterable[float]) -> float:
    listed = list(losses)
    return fsum(listed) / len(listed)


def by_labels(logits: Any, labels: Any, pairs: Any, classes: int) -> float:
    """Return the mean nll over the pairs whose label is not ignored."""
    return mean(
        nll(rows[t][:classes], own[p])
        for rows, own in zip(logits, labels, strict=True)
        for t, p in pairs(len(own))
        if own[p] != IGNORED
    )


def by_mask(logits: Any, labels: Any, mask: Any, pairs: Any, classes: int) -> float:
    """Return the mean nll over the pairs whose label is not ignored, and of which neither place is padding."""
    return mean(
        nll(rows[t][:classes], own[p])
        for rows, own, real in zip(logits, labels, mask, strict=True)
        for t, p in pairs(len(own))
        if own[p] != IGNORED and real[p] and real[t]
    )


def targets_only(labels: list[list[int]], keep: Callable[[int, int], bool]) -> list[list[int]]:
    return [[y if keep(b, p) else IGNORED for p, y in enumerate(row)] for b, row in enumerate(labels)]


class Named(unittest.TestCase):
    def assert_named(self, name: str, reported: float, batch: Batch) -> None:
        found = diagnose(reported, batch)
        self.assertEqual([" + ".join(each.mistakes) for each in found.candidates], [name])


class OnTheProbe(Named):
    """For speed `diagnose` itself is asked for the shifts of seed 0; else the numbers from which it chooses are.

    These numbers are made once for each probe.
    """

    @classmethod
    def setUpClass(cls) -> None:
        cls.probes = [(seed, probe(seed), Run(probe(seed)).labels_to_score()) for seed in SEEDS]
        cls.kept = {seed: cls.scored_by_mask(batch) for seed, batch, _ in cls.probes}
        cls.trials = {seed: Trials(batch, "mean_nll", "float64") for seed, batch, _ in cls.probes}
        cls.alone = {}
        for seed, batch, _ in cls.probes:
            trials = cls.trials[seed]
            trials.singles, trials.pairs = cache(trials.singles), cache(trials.pairs)
            with mock.patch("refcalc.probes.Trials", return_value=trials):
                cls.alone[seed] = prove(batch).alone

    @staticmethod
    def scored_by_mask(batch: Batch) -> list[list[int]]:
        """Return labels with all ignored but padding, whose neighbours the mask has to tell."""
        labels = [[*row] for row in batch.labels]
        labels[0][1] = IGNORED  # the second BOS
        return labels

    def assert_named_with(self, seed: int, name: str, reported: float) -> None:
        same = [
            names
            for names, values in self.trials[seed].singles()[0].items()
            if any(abs(v - reported) < 1e-13 * v for v in values)
        ]
        self.assertEqual(same, [(name,)])
        self.assertIn(name, self.alone[seed])

    def test_the_right_one_agrees(self) -> None:
        for seed, batch, labels in self.probes:
            with self.subTest(seed=seed):
                value = by_labels(batch.logits, labels, lambda n: ((t, t + 1) for t in range(n - 1)), batch.classes)
                self.assertTrue(diagnose(value, batch).agrees)

    def test_every_wrong_shift_is_named_alone_whatever_tells_what_counts(self) -> None:
        for seed, batch, labels in self.probes:
            for name, pairs in SHIFTS.items():
                with self.subTest(name, seed=seed):
                    value = by_labels(batch.logits, labels, pairs, batch.classes)
                    self.assert_named_with(seed, name, value)
                    if seed == 0:
                        with mock.patch("refcalc.diagnosis.Trials", return_value=self.trials[seed]):
                            self.assert_named(name, value, batch)
                    value = by_mask(batch.logits, self.kept[seed], batch.attention_mask, pairs, batch.classes)
                    self.assert_named_with(seed, name, value)

    def test_flattened_before_the_shift(self) -> None:
        for seed, batch, labels in self.probes:
            with self.subTest(seed=seed):
                rows = [row for sequence in batch.logits for row in sequence]
                flat = [y for own in labels for y in own]
                value = by_labels([rows], [flat], lambda n: ((t, t + 1) for t in range(n - 1)), batch.classes)
                self.assert_named_with(seed, "cross-row-leak", value)

    def test_masks_and_labels_that_go_wrong(self) -> None:
        for seed, batch, labels in self.probes:
            for name, wanted in self.wrong_labels(batch, labels).items():
                with self.subTest(name, seed=seed):
                    value = by_labels(batch.logits, wanted, lambda n: ((t, t + 1) for t in range(n - 1)), batch.classes)
                    self.assert_named_with(seed, name, value)

    @staticmethod
    def wrong_labels(batch: Batch, labels: list[list[int]]) -> dict[str, list[list[int]]]:
        tokens, mask, prompts = batch.tokens, batch.attention_mask or [], batch.prompt_lengths or []

        def told(keep: Callable[[int, int], bool]) -> list[list[int]]:
            return targets_only(tokens, keep)

        def same(b: int, p: int) -> bool:
            return labels[b][p] != IGNORED

        return {
            "padding-scored": told(lambda b, p: same(b, p) or not mask[b][p]),
            "ignored-labels-scored": tokens,
            "prompt-scored": told(lambda b, p: same(b, p) or p < prompts[b]),
            "mask-not-shifted": told(lambda b, p: p > 0 and same(b, p - 1)),
            "inverted-mask": told(lambda b, p: not same(b, p)),
            "eos-masked-as-pad": told(lambda b, p: same(b, p) and tokens[b][p] != batch.eos_id),
            "token-id-zero-dropped": told(lambda b, p: same(b, p) and tokens[b][p] != 0),
        }

    def test_counts_of_labels_before_the_shift(self) -> None:
        for seed, batch, labels in self.probes:
            with self.subTest(seed=seed):
                value = by_labels(batch.logits, labels, lambda n: ((t, t + 1) for t in range(n - 1)), batch.classes)
                after = sum(y != IGNORED for own in labels for y in own[1:])
                before = sum(y != IGNORED for own in labels for y in own)
                self.assert_named_with(seed, "unshifted-token-count", value * after / before)


class OnSmallBatches(Named):
    def test_padding_on_the_left(self) -> None:
        tokens = [[0, 0, 3, 4, 5, 6, 1, 2], [1, 2, 3, 4, 5, 6, 1, 2]]
        mask = [[0, 0, 1, 1, 1, 1, 1, 1], [1] * 8]
        labels = [[IGNORED] * 3 + tokens[0][3:], tokens[1]]
        batch = Batch(LOGITS, tokens, attention_mask=mask, labels=labels)
        for name, pairs in SHIFTS.items():
            with self.subTest(name):
                self.assert_named(name, by_labels(LOGITS, labels, pairs, 8), batch)
                self.assert_named(name, by_mask(LOGITS, labels, mask, pairs, 8), batch)

    def test_a_reversed_shift_scores_the_row_after_the_last_token_of_a_row_padded_on_the_right(self) -> None:
        tokens = [[3, 4, 5, 6, 1, 2, 0, 0], [1, 2, 3, 4, 5, 6, 1, 2]]
        mask = [[1, 1, 1, 1, 1, 1, 0, 0], [1] * 8]
        labels = [tokens[0][:6] + [IGNORED] * 2, tokens[1]]
        for given in ({"labels": labels}, {}):
            batch = Batch(LOGITS, tokens, attention_mask=mask, **given)
            self.assert_named("reversed-shift", by_labels(LOGITS, labels, SHIFTS["reversed-shift"], 8), batch)

    def test_without_a_mask_there_is_one_way_only(self) -> None:
        values, _ = Trials(Batch(LOGITS, [[1, 2, 3, 4, 5, 6, 7, 0]] * 2), "mean_nll", "float64").singles()
        self.assertEqual({len(each) for each in values.values()}, {1})


if __name__ == "__main__":
    unittest.main()
