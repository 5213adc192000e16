"""Which row predicts which token: judged by second, naive implementations over every small case."""

import unittest
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

from refcalc.targets import (
    mask_document_starts,
    mask_padding,
    mask_prompt,
    pad,
    pair_mask,
    shift,
    shift_labels,
    windows,
)

X = -100


class Refusing(unittest.TestCase):
    def refused(
        self, kind: type[Exception], message: str, function: Callable[..., Any], *args: Any, **named: Any
    ) -> None:
        with self.subTest(args=args, **named):
            with self.assertRaises(kind) as caught:
                function(*args, **named)
            self.assertEqual(str(caught.exception), f"{function.__name__}: {message}")


class Shift(Refusing):
    def test_row_t_meets_token_t_plus_one(self) -> None:
        for length in range(1, 7):
            logits, tokens = [[t, -t] for t in range(length)], list(range(50, 50 + length))
            rows, targets = shift(logits, tokens)
            self.assertEqual(
                list(zip(rows, targets, strict=True)), [(logits[t], tokens[t + 1]) for t in range(length - 1)]
            )

    def test_a_batch_may_be_ragged_and_keeps_its_shape(self) -> None:
        rows, targets = shift([[[1], [2], [3]], [[4]], []], [[7, 8, 9], [5], []])
        self.assertEqual((rows, targets), ([[[1], [2]], [], []], [[8, 9], [], []]))
        self.assertEqual(shift([[[[1], [2]]]], [[[7, 8]]]), ([[[[1]]]], [[[8]]]))

    def test_no_tokens_make_no_pairs(self) -> None:
        self.assertEqual(shift([], []), ([], []))

    def test_refusals(self) -> None:
        self.refused(ValueError, "logits must be as long as tokens (1), got 2", shift, [[0.0], [0.0]], [1])
        self.refused(
            ValueError, "logits[1] must be as long as tokens[1] (1), got 2", shift, [[[0.0]], [[1.0]] * 2], [[1], [2]]
        )
        self.refused(ValueError, "logits must be as long as tokens (2), got 1", shift, [[[0.0]]], [[1], [2]])
        self.refused(TypeError, "tokens[0] must be a whole number, got 1.0", shift, [[0.0]], [1.0])
        self.refused(TypeError, "tokens[1][0] must be a whole number, got True", shift, [[[0.0]]] * 2, [[1], [True]])
        self.refused(TypeError, "tokens must be a sequence, got 'ab'", shift, [[0.0]], "ab")
        self.refused(TypeError, "logits must be a sequence, got None", shift, None, [1])

    def test_shifted_labels_are_the_targets_of_shift_and_one_ignored_place(self) -> None:
        for length in range(7):
            labels = list(range(10, 10 + length))
            want = shift([[0.0]] * length, labels)[1] + [X] if length else []
            self.assertEqual(shift_labels(labels), want)
        self.assertEqual(shift_labels([[1, 2], [3], []], ignore_index=0), [[2, 0], [0], []])
        self.assertEqual(shift_labels([1, X, 3]), [X, 3, X])

    def test_shift_labels_refuses_what_is_no_label(self) -> None:
        self.refused(TypeError, "labels[1] must be a whole number, got 0.5", shift_labels, [1, 0.5])
        self.refused(TypeError, "labels[1] must be a sequence, got 3", shift_labels, [[1], 3])
        self.refused(TypeError, "ignore_index must be a whole number, got None", shift_labels, [1], None)


class Masks(Refusing):
    def test_padding_is_ignored_where_the_mask_is_zero(self) -> None:
        for mask in product([0, 1], repeat=4):
            want = [y if keep else X for y, keep in zip([5, 6, 7, 8], mask, strict=True)]
            self.assertEqual(mask_padding([5, 6, 7, 8], mask), want)
            self.assertEqual(mask_padding([5, 6, 7, 8], list(map(bool, mask))), want)
        self.assertEqual(mask_padding([[5, 6], [7]], [[1, 0], [0]], ignore_index=-1), [[5, -1], [-1]])

    def test_mask_padding_refusals(self) -> None:
        self.refused(ValueError, "attention_mask[1] must be 0 or 1, got 2", mask_padding, [5, 6], [1, 2])
        self.refused(TypeError, "attention_mask[0] must be a whole number, got 1.0", mask_padding, [5, 6], [1.0, 1])
        self.refused(ValueError, "attention_mask must be as long as labels (2), got 1", mask_padding, [5, 6], [1])
        self.refused(
            ValueError, "attention_mask[0] must be as long as labels[0] (2), got 1", mask_padding, [[5, 6]], [[1]]
        )
        self.refused(TypeError, "attention_mask must be a sequence, got 1", mask_padding, [5, 6], 1)
        self.refused(TypeError, "labels[0] must be a whole number, got '5'", mask_padding, ["5"], [1])

    def test_a_prompt_is_counted_from_the_first_place_that_is_not_ignored(self) -> None:
        for left, length, prompt in product(range(3), range(1, 5), range(5)):
            if prompt <= length:
                labels = [X] * left + list(range(10, 10 + length))
                want = [X] * (left + prompt) + list(range(10 + prompt, 10 + length))
                self.assertEqual(mask_prompt(labels, prompt), want)
                self.assertEqual(mask_prompt([labels, [3]], [prompt, 0]), [want, [3]])
        self.assertEqual(mask_prompt([X, X], 0), [X, X])
        self.assertEqual(mask_prompt([5, X, 6], 2), [X, X, 6])  # a place ignored inside the prompt is part of it

    def test_mask_prompt_refusals(self) -> None:
        rule = "must lie in [0, 2], the places from the first label on"
        self.refused(ValueError, f"prompt_lengths {rule}, got 3", mask_prompt, [X, 5, 6], 3)
        self.refused(ValueError, f"prompt_lengths[0] {rule}, got -1", mask_prompt, [[X, 5, 6]], [-1])
        self.refused(TypeError, "prompt_lengths must be a whole number, got 1.0", mask_prompt, [5], 1.0)
        self.refused(TypeError, "prompt_lengths must be a sequence, got 1", mask_prompt, [[5]], 1)
        self.refused(ValueError, "prompt_lengths must be as long as labels (1), got 2", mask_prompt, [[5]], [1, 1])

    def test_the_first_place_of_each_run_of_document_ids_is_ignored(self) -> None:
        for ids in product([0, 1, 2], repeat=4):
            labels, want, previous = [5, 6, 7, 8], [], None
            for y, document in zip(labels, ids, strict=True):
                want.append(X if document != previous else y)
                previous = document
            self.assertEqual(mask_document_starts(labels, ids), want)
        self.assertEqual(mask_document_starts([[5, 6], []], [[3, 3], []], ignore_index=9), [[9, 6], []])

    def test_mask_document_starts_refusals(self) -> None:
        f = mask_document_starts
        self.refused(ValueError, "document_ids must be as long as labels (2), got 1", f, [5, 6], [0])
        self.refused(TypeError, "document_ids[0] must be a whole number, got 'a'", f, [5], ["a"])
        self.refused(TypeError, "labels[0] must be a whole number, got None", f, [None], [0])

    def test_a_pair_counts_where_both_places_are_unmasked(self) -> None:
        for mask in product([0, 1], repeat=5):
            want = [0, *(a * b for a, b in pairwise(mask))]
            self.assertEqual(pair_mask(mask), want)
        self.assertEqual(pair_mask([[1, 1], [], [1]]), [[0, 1], [], [0]])
        self.refused(ValueError, "attention_mask[0][1] must be 0 or 1, got -1", pair_mask, [[1, -1]])

    def test_ignored_places_stay_ignored_whatever_the_order_of_the_masks(self) -> None:
        labels, mask, ids = [5, 6, 7, 8, 9], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1]
        one = mask_document_starts(mask_padding(labels, mask), ids)
        self.assertEqual(one, mask_padding(mask_document_starts(labels, ids), mask))
        self.assertEqual(one, [X, 6, X, 8, X])


class Pad(Refusing):
    def test_the_mask_finds_the_tokens_again(self) -> None:
        for lengths in product(range(4), repeat=3):
            sequences = [list(range(10, 10 + n)) for n in lengths]
            for side in ("right", "left"):
                batch, mask = pad(sequences, 10, side)
                self.assertEqual({len(row) for row in batch + mask}, {max(lengths)})
                kept = [[t for t, m in zip(b, ms, strict=True) if m] for b, ms in zip(batch, mask, strict=True)]
                self.assertEqual(kept, sequences)
                for n, ms in zip(lengths, mask, strict=True):
                    ones, zeros = [1] * n, [0] * (max(lengths) - n)
                    self.assertEqual(ms, ones + zeros if side == "right" else zeros + ones)
        self.assertEqual(pad([], 0), ([], []))
        self.assertEqual(pad([[1], []], -7)[0], [[1], [-7]])

    def test_refusals(self) -> None:
        self.refused(ValueError, "side must be one of 'left', 'right', got 'both'", pad, [[1]], 0, "both")
        self.refused(TypeError, "value must be a whole number, got 0.0", pad, [[1]], 0.0)
        self.refused(TypeError, "sequences[1][0] must be a whole number, got 2.0", pad, [[1], [2.0]], 0)
        self.refused(TypeError, "sequences[0] must be a sequence, got 1", pad, [1, 2], 0)


def naive_windows(
    tokens: list[int], length: int, stride: int, bos: int | None, bos_in: str
) -> list[tuple[int, list[int], list[int]]]:
    """Say of each target which window scores it and what stands before it, one target at a time.

    The first window scores the first `length` targets, each later one the next `stride`.  Its rows end with its last
    target's; they reach back as far as `length` rows go from where that window begins, a whole number of strides on.
    """
    text = tokens if bos is None else [bos, *tokens]
    places = list(range(1, len(text)))  # of the targets, in text
    found = []
    first = 0  # the row at which the window begins
    while places:
        mine = [p for p in places if p <= first + length]
        places = places[len(mine) :]
        inputs = [text[r] for r in range(first, mine[-1])]
        targets = [text[r + 1] if r + 1 in mine else X for r in range(first, mine[-1])]
        start = first if bos is None else first - 1
        if bos is not None and (first == 0 or bos_in == "every"):
            inputs[0] = bos
            start = first
        found.append((start, inputs, targets))
        first += stride
    return found


class Windows(Refusing):
    def test_every_small_case_is_that_of_the_naive_definition(self) -> None:
        for n, length, bos, bos_in in product(range(8), range(1, 7), (None, 0), ("first", "every")):
            tokens = list(range(10, 10 + n))
            for stride in range(1, length + 1):
                with self.subTest(n=n, length=length, stride=stride, bos=bos, bos_in=bos_in):
                    got = list(windows(tokens, length, stride, bos=bos, bos_in=bos_in))
                    self.assertEqual(got, naive_windows(tokens, length, stride, bos, bos_in))

    def test_every_target_is_scored_exactly_once_and_from_what_stands_before_it(self) -> None:
        for n, length, bos, bos_in in product(range(7), range(1, 7), (None, 0), ("first", "every")):
            tokens = list(range(10, 10 + n))
            for stride in range(1, length + 1):
                scored = []
                for start, inputs, targets in windows(tokens, length, stride, bos=bos, bos_in=bos_in):
                    self.assertEqual(len(inputs), len(targets))
                    self.assertLessEqual(len(inputs), length)
                    with_bos = bos is not None and (bos_in == "every" or not scored)
                    read = [bos] * with_bos + tokens[start : start + len(inputs) - with_bos]
                    self.assertEqual(inputs, read)
                    ends = [start + i + 1 - with_bos for i in range(len(inputs))]  # the place of each row's target
                    for place, target in zip(ends, targets, strict=True):
                        self.assertIn(target, (tokens[place], X))
                    new = [t for t in targets if t != X]
                    self.assertEqual(targets[len(targets) - len(new) :], new)  # carried context comes first
                    self.assertLessEqual(len(new), length if not scored else stride)
                    scored += new
                self.assertEqual(scored, tokens if bos is not None else tokens[1:])

    def test_without_a_stride_windows_do_not_overlap(self) -> None:
        self.assertEqual(list(windows([1, 2, 3, 4, 5], 2)), list(windows([1, 2, 3, 4, 5], 2, 2)))
        self.assertNotIn(X, [t for _, _, targets in windows(range(100), 7) for t in targets])

    def test_another_mark_for_carried_context(self) -> None:
        self.assertEqual(list(windows([1, 2, 3], 2, 1, ignore_index=-1)), [(0, [1, 2], [2, 3])])
        self.assertEqual(list(windows([1, 2, 3, 4], 2, 1, ignore_index=-1))[1], (1, [2, 3], [-1, 4]))

    def test_refusals_come_before_the_first_window(self) -> None:
        self.refused(ValueError, "length must be at least 1, got 0", windows, [1, 2], 0)
        self.refused(ValueError, "stride must be at least 1, got 0", windows, [1, 2], 2, 0)
        lost = "stride must be at most length (2), or targets between two windows are lost, got 3"
        self.refused(ValueError, lost, windows, [1, 2], 2, 3)
        self.refused(
            ValueError, "bos_in must be one of 'first', 'every', got 'all'", windows, [1], 2, bos=0, bos_in="all"
        )
        self.refused(ValueError, "tokens[1] must not be the ignore index, got -100", windows, [1, X], 2)
        self.refused(TypeError, "tokens[1] must be a whole number, got '2'", windows, [1, "2"], 2)
        self.refused(TypeError, "tokens must be a sequence, got '12'", windows, "12", 2)
        self.refused(TypeError, "bos must be a whole number, got '<s>'", windows, [1], 2, bos="<s>")
        self.refused(TypeError, "length must be a whole number, got 2.0", windows, [1], 2.0)
