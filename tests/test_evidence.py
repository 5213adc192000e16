"""Batch and Records: what they hold, and every refusal by its full message."""

import unittest
from typing import Any

from refcalc import Batch, Records

ROWS = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
TWO = [ROWS, ROWS[:2]]
IDS = [[0, 1, 1], [1, 0]]


class Holding(unittest.TestCase):
    def test_one_sequence_is_a_batch_of_one(self):
        one = Batch(ROWS, [0, 1, 1], attention_mask=[1, 1, 0], labels=[0, 1, -100], prompt_lengths=1)
        self.assertEqual((one.tokens, one.lengths, one.classes), ([[0, 1, 1]], [3], 2))
        self.assertEqual((one.attention_mask, one.prompt_lengths), ([[True, True, False]], [1]))
        self.assertEqual(one.labels, [[-100, 1, -100]])

    def test_logits_are_not_copied_and_not_read(self):
        rows: list[Any] = [[0.0, "no number"], [float("nan"), 0.0]]
        batch = Batch(rows, [0, 1])
        self.assertIs(batch.logits[0][0], rows[0])

    def test_prompts_and_documents_become_ignored_labels_but_for_the_first_place(self):
        batch = Batch(TWO, IDS, prompt_lengths=[2, 0], document_ids=[[0, 0, 0], [0, 1]])
        self.assertEqual(batch.labels, [[-100, -100, 1], [1, -100]])
        self.assertEqual(Batch(TWO, IDS, document_ids=[[0, 0, 0], [0, 0]]).labels, IDS)

    def test_text_gives_the_counts_of_each_row(self):
        records = Records([[1.0], [2.0]], text=["n\u00e9 a", "b"])
        self.assertEqual(records.counts, {"n_bytes": [5, 1], "n_chars": [4, 1], "n_words": [2, 1]})
        self.assertEqual(records.total("n_bytes"), 6)
        self.assertIsNone(Records([1.0]).total("n_bytes"))

    def test_it_does_not_change(self):
        with self.assertRaises(AttributeError) as caught:
            Records([1.0]).nll = []
        self.assertEqual(str(caught.exception), "Records: nll cannot be set, evidence does not change")

    def test_an_empty_batch_is_evidence_of_nothing(self):
        self.assertEqual((Batch([], []).classes, Records([]).lengths), (0, [0]))


class Refusals(unittest.TestCase):
    def assert_refused(self, message: str, make: Any, *arguments: Any, **options: Any) -> None:
        kind = TypeError if " a whole number" in message or "be a sequence" in message else ValueError
        with self.assertRaises(kind) as caught:
            make(*arguments, **options)
        self.assertEqual(str(caught.exception), message)

    def test_shapes(self):
        rule = "must be as long as"
        self.assert_refused(f"Batch: logits {rule} tokens (3), got 2", Batch, ROWS[:2], [0, 1, 1])
        self.assert_refused(f"Batch: logits[1] {rule} tokens[1] (2), got 3", Batch, [ROWS, ROWS], IDS)
        self.assert_refused(f"Batch: logits {rule} tokens (2), got 1", Batch, [ROWS], IDS)
        self.assert_refused(f"Batch: labels[0] {rule} tokens[0] (3), got 2", Batch, TWO, IDS, labels=[[0, 1], [0, 1]])
        mask = [[1, 1, 1], [1]]
        self.assert_refused(
            f"Batch: attention_mask[1] {rule} tokens[1] (2), got 1", Batch, TWO, IDS, attention_mask=mask
        )
        self.assert_refused(f"Batch: document_ids {rule} tokens (2), got 1", Batch, TWO, IDS, document_ids=[[0, 0, 0]])
        self.assert_refused(f"Batch: prompt_lengths {rule} tokens (2), got 1", Batch, TWO, IDS, prompt_lengths=[1])
        self.assert_refused(f"Batch: weight {rule} a row of logits (2), got 3", Batch, TWO, IDS, weight=[1, 1, 1])
        self.assert_refused(f"Records: mask {rule} nll (2), got 1", Records, [[1], [2]], mask=[[1]])
        self.assert_refused(f"Records: mask[1] {rule} nll[1] (1), got 2", Records, [[1], [2]], mask=[[1], [1, 0]])
        self.assert_refused(f"Records: n_bytes {rule} the rows (2), got 3", Records, [[1], [2]], n_bytes=[1, 2, 3])

    def test_rows(self):
        rule = "must hold V = 2 scores as the first row does, got"
        self.assert_refused(f"Batch: logits[1] {rule} 3", Batch, [[0, 0], [0, 0, 0]], [0, 1])
        self.assert_refused(f"Batch: logits[1][0] {rule} 1", Batch, [[[0, 0]], [[0]]], [[0], [1]])
        self.assert_refused("Batch: logits[0] must hold at least one score, got 0", Batch, [[], []], [0, 1])

    def test_kinds(self):
        self.assert_refused("Batch: tokens[1][0] must be a whole number, got 0.5", Batch, TWO, [[0, 1, 1], [0.5, 1]])
        self.assert_refused("Batch: eos_id must be a whole number, got True", Batch, TWO, IDS, eos_id=True)
        self.assert_refused("Batch: tokens must be a sequence, got 5", Batch, TWO, 5)
        self.assert_refused("Records: groups[0] must be a sequence, got 0", Records, [[1], [2]], groups=[0, 1])

    def test_values(self):
        self.assert_refused(
            "Batch: attention_mask[0] must be 0 or 1, got 2", Batch, ROWS, IDS[0], attention_mask=[2, 1, 1]
        )
        self.assert_refused("Batch: weight[1] must not be negative, got -1.0", Batch, ROWS, IDS[0], weight=[1, -1])
        self.assert_refused(
            "Batch: label_smoothing must lie in [0, 1], got 1.5", Batch, ROWS, IDS[0], label_smoothing=1.5
        )
        rule = "must be at most the length of a row of logits (2)"
        self.assert_refused(f"Batch: vocab_size {rule}, got 3", Batch, ROWS, IDS[0], vocab_size=3)
        self.assert_refused("Batch: window must be at least 1, got 0", Batch, ROWS, IDS[0], window=0)
        self.assert_refused("Batch: stride must be at most window (2), got 3", Batch, ROWS, IDS[0], window=2, stride=3)
        self.assert_refused("Batch: stride must be at most window (None), got 1", Batch, ROWS, IDS[0], stride=1)
        self.assert_refused("Records: nll[1] must not be negative, got -1.0", Records, [1.0, -1.0])
        self.assert_refused("Records: nll[0][0] must be a number, got nan", Records, [[float("nan")]])
        self.assert_refused("Records: aux must not be negative, got -0.5", Records, [1.0], aux=-0.5)
        self.assert_refused("Records: n_bytes must be at least 1, got 0", Records, [1.0], n_bytes=0)
        self.assert_refused("Records: n_bytes must have a sum of at least 1, got [0]", Records, [1.0], n_bytes=[0])
        self.assert_refused(
            "Records: pieces[0][1] must be a byte, in [0, 256), got 256", Records, [1.0], pieces=[[1, 256]]
        )

    def test_groups_hold_each_row_once(self):
        rule = "Records: groups must hold each row from 0 to 1 once"
        for groups in ([[0]], [[0, 1], [1]], [[0], [2]], [[-1], [0]]):
            self.assert_refused(f"{rule}, got {groups}", Records, [[1], [2]], groups=groups)

    def test_text_and_counts_must_agree(self):
        self.assert_refused(
            "Records: n_bytes must be the 2 that the text has, got 3", Records, [1.0], text="ab", n_bytes=3
        )


if __name__ == "__main__":
    unittest.main()
