"""evaluate: which row scores which token, under every policy; and a run that was killed is no other run."""

import ast
import io
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from itertools import product
from math import ceil, exp, fsum, inf, log
from pathlib import Path
from typing import Any
from unittest import mock

import refcalc
from refcalc import ExactSum, KneserNey, evaluate
from refcalc.evaluation.log import Receipts
from refcalc.evaluation.run import Document
from tests.evaluation.small import protocol

V, BOS, EOS, UNK = 7, 0, 1, 2
FULL = {"vocab_size": V, "bos_id": BOS, "eos_id": EOS, "unk_id": UNK, "units": ("bytes", "chars", "words")}


def scores(context: list[int]) -> list[float]:
    """Return the logits after a context, every token of which matters, the order too."""
    rng = random.Random(str(context))
    return [rng.random() * 6.0 - 3.0 for _ in range(V)]


def model(ids: list[int]) -> list[list[float]]:
    return [scores(ids[: t + 1]) for t in range(len(ids))]


def nll(context: list[int], target: int) -> float:
    z = scores(context)
    return log(fsum(map(exp, z))) - z[target]


def contexts(tokens: list[int], length: int, stride: int, bos: str) -> list[tuple[list[int], int]]:
    """Return the context and the token for every target, token by token: each from the first window that holds it.

    Window w reads the rows w stride .. w stride + length - 1 of the text with its BOS.
    """
    text = tokens if bos == "none" else [BOS, *tokens]
    found = []
    for i in range(1, len(text)):
        w = next(w for w in range(len(text)) if i - 1 < w * stride + length)
        context = text[w * stride : i]
        found.append(([BOS, *context[1:]] if bos == "every" else context, text[i]))
    return found


TEXTS = [[3, 4, 5, 2, 6, 3, 2, 1], [4, 1], [1], [5, 5, 0, 5, 3, 3, 1, 6, 4, 4, 6, 1]]


class Windows(unittest.TestCase):
    def test_every_policy_scores_the_tokens_that_it_should(self) -> None:
        for bos, (length, stride), eos_scored, bos_scored in product(
            ("none", "first", "every"), ((5, 5), (5, 2), (1, 1), (64, 64)), (False, True), (False, True)
        ):
            scored = {"bos_scored": bos_scored, "eos_scored": eos_scored}
            under = protocol(**FULL, **scored, window=length, stride=stride, bos=bos)
            documents = [Document(i, tokens, "é ü" * i) for i, tokens in enumerate(TEXTS)]
            log = self.receipts(documents, under)
            for i, tokens in enumerate(TEXTS):
                counts = {BOS: bos_scored, EOS: eos_scored}
                pairs = [(c, y) for c, y in contexts(tokens, length, stride, bos) if counts.get(y, True)]
                with self.subTest(bos=bos, length=length, stride=stride, document=i):
                    got = log[i]
                    text = (5 * i, 3 * i, i + 1 if i else 0)
                    self.assertEqual((got.n_targets, got.n_bytes, got.n_chars, got.n_words), (len(pairs), *text))
                    self.assertAlmostEqual(float(got.nll_sum), fsum(nll(c, y) for c, y in pairs), delta=1e-12)
                    rows = len(tokens) - (bos == "none")
                    self.assertEqual(got.n_windows, 1 + ceil(max(rows - length, 0) / stride) if rows else 0)
                    for token, n, part in ((EOS, got.n_eos, got.eos_nll), (UNK, got.n_unk, got.unk_nll)):
                        nlls = [nll(c, y) for c, y in pairs if y == token]
                        self.assertEqual(n, len(nlls))
                        self.assertAlmostEqual(float(part), fsum(nlls), delta=1e-12)

    def receipts(self, documents: Any, under: Any, **options: Any) -> list[Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.jsonl")
            report = evaluate(documents, options.pop("model", model), under, path, **options)
            receipts = [each for _, each in Receipts(path)]
        self.assertEqual(report.total, sum(each.tally for each in receipts))
        return receipts

    def test_log_probabilities_in_every_base(self) -> None:
        want = self.receipts([("a", TEXTS[0], "x")], protocol(vocab_size=V, dtype="float64"))[0]
        for base, scale in (("e", 1.0), ("2", log(2)), ("10", log(10))):

            def logs(ids: list[int], scale: float = scale) -> list[list[float]]:
                return [[x / scale for x in refcalc.log_softmax(row)] for row in model(ids)]

            under = protocol(vocab_size=V, dtype="float64", log_base=base)
            got = self.receipts([("a", TEXTS[0], "x")], under, model=logs, scores="log_probabilities")[0]
            self.assertAlmostEqual(float(got.nll_sum), float(want.nll_sum), delta=1e-13)

    def test_a_log_probability_above_0_by_rounding_is_kept_as_it_is(self) -> None:
        row = [2.0**-60, -inf, -inf]
        under = protocol(vocab_size=3)
        options = {"model": lambda ids: [row for _ in ids], "scores": "log_probabilities"}
        got = self.receipts([("a", [0, 0, 0], "x")], under, **options)
        self.assertEqual(got[0].nll_sum, ExactSum([-(2.0**-59)]))

    def test_a_baseline_is_asked_for_the_targets_alone(self) -> None:
        fitted = KneserNey.fit([3, 4, 5, 3, 4, 6, 3, 4, 5], 3, range(V))
        under = protocol(vocab_size=V, bos="first", bos_id=BOS, window=3, stride=2)
        got = self.receipts([("a", TEXTS[0], "x")], under, model=fitted)[0]
        want = [-log(fitted.probability(y, c)) for c, y in contexts(TEXTS[0], 3, 2, "first")]
        self.assertAlmostEqual(float(got.nll_sum), fsum(want), delta=1e-12)

    def test_one_id_for_both_ends_is_the_end_where_it_is_a_target(self) -> None:
        for eos_scored, want in ((True, 4), (False, 3)):
            under = protocol(vocab_size=V, bos="first", bos_id=EOS, eos_id=EOS, eos_scored=eos_scored)
            got = self.receipts([("a", [3, 4, 5, EOS], "x")], under)[0]
            self.assertEqual((got.n_targets, got.n_eos), (want, int(eos_scored)))

    def test_without_units_no_text_is_needed(self) -> None:
        got = self.receipts([("a", TEXTS[0])], protocol(vocab_size=V, units=()))[0]
        self.assertEqual((got.n_bytes, got.n_targets), (None, 7))


class Refusals(unittest.TestCase):
    def assert_refused(self, message: str, documents: Any, scored_by: Any = model, **fields: Any) -> None:
        options = {"scores": fields.pop("scores", "logits")}
        under = protocol(**{"vocab_size": V, **fields})
        with self.subTest(message), self.assertRaises((ValueError, TypeError)) as caught:
            evaluate(documents, scored_by, under, **options)
        self.assertEqual(str(caught.exception), f"evaluate: {message}")

    def test_what_the_report_is_to_hold_is_looked_at_before_the_work(self) -> None:
        asked: list[list[int]] = []
        for options, kind in (({"worst": -1}, ValueError), ({"wurst": 1}, TypeError)):
            with self.assertRaises(kind):
                evaluate([("a", [3, 3], "x")], asked.append, protocol(vocab_size=V), **options)  # type: ignore[arg-type]
        self.assertEqual(asked, [])

    def test_documents(self) -> None:
        put, end = "not be the BOS, which the protocol puts there", "end with the EOS 1, which the protocol scores"
        ended = {"eos_id": 1, "eos_scored": True}
        for message, document, fields in [
            ("tokens[1] must lie in [0, 7), got 7", [3, 7], {}),
            ("tokens[1] must be a whole number, got 3.0", [3, 3.0], {}),
            ("tokens[1] must not be the protocol's ignore index, got 4", [3, 4], {"ignore_index": 4}),
            (f"tokens[0] must {put}, got 0", [0, 3], {"bos": "every", "bos_id": 0}),
            (f"tokens must {end}, got [3]", [1, 3], ended),
            (f"tokens must {end}, got []", [], ended),
        ]:
            self.assert_refused(f"document 'a': {message}", [("a", document, "x")], **fields)
        self.assert_refused("document 'a': text must be text, got None", [("a", [3, 3])])
        self.assert_refused("documents must have different ids, got 'a'", [("a", [3, 3], "x")] * 2)
        self.assert_refused("documents must be iterable, got 3", 3)
        rule = "documents must hold Documents, or tuples (id, tokens, text), got "
        self.assert_refused(rule + "{'id': 'a', 'text': 'x', 'tokens': [3]}", [{"id": "a", "tokens": [3], "text": "x"}])
        rule = "documents must have ids that are text or whole numbers, got "
        for bad in ("['a']", "True", "1.5"):
            self.assert_refused(rule + bad, [(ast.literal_eval(bad), [3, 3], "x")])
        with self.assertRaises(TypeError) as caught:
            evaluate([], model, FULL)  # type: ignore[arg-type]
        self.assertIn("evaluate: protocol must be a Protocol, got {", str(caught.exception))

    def test_scores(self) -> None:
        good, a = [0.0] * V, [("a", [3, 4, 5], "x")]
        at = "document 'a': window 0"
        for message, rows in [
            (f"{at}: rows must be as long as its tokens (2), got 3", [good] * 3),
            (f"{at}: row 1 must be as long as the vocabulary (7), got 8", [good, [*good, 0.0]]),
            (f"{at}: row 1[2] must be finite or -inf, got nan", [good, [0.0, 0.0, float("nan"), *good[3:]]]),
        ]:
            self.assert_refused(message, a, lambda ids, rows=rows: rows)
        self.assert_refused(f"{at}: rows must be a sequence, got 3", a, lambda ids: 3)
        self.assert_refused(f"{at}: row 0 must be a sequence, got 0.5", a, lambda ids: [0.5, 0.5])
        self.assert_refused("model must be a function, or have a method nll, got 3", a, 3)
        rule = f"{at}: row 0 must hold log-probabilities, whose probabilities sum to 1, got "
        logs = {"scores": "log_probabilities"}
        self.assert_refused(rule + "0.5", a, lambda ids: [[log(0.5)] + [-inf] * 6] * 2, **logs)
        self.assert_refused(rule + "0.0", a, lambda ids: [[-inf] * V] * 2, **logs)
        self.assert_refused("protocol.log_base must be 'e' for logits, got '2'", a, log_base="2")
        self.assert_refused("scores must be one of 'logits', 'log_probabilities', got 'nll'", a, scores="nll")
        fields = {"units": ("words",), "word_rule": "letters"}
        self.assert_refused("protocol.word_rule must be one of 'white space', got 'letters'", a, **fields)


class Stopped(Exception):
    pass


class GoingOn(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "r.jsonl")
        self.under = protocol(vocab_size=V, bos="first", bos_id=BOS)
        self.documents = [(i, [3 + i % 4, 4, 5, 6], "x") for i in range(9)]

    def test_a_document_with_a_receipt_is_not_scored_again(self) -> None:
        calls = 0

        def failing(ids: list[int]) -> list[list[float]]:
            nonlocal calls
            calls += 1
            if calls == 5:
                raise Stopped
            return model(ids)

        with self.assertRaises(Stopped):
            evaluate(self.documents, failing, self.under, self.path)
        self.assertEqual(len(list(Receipts(self.path, unfinished=True))), 4)
        done: list[int] = []
        report = evaluate(self.documents, failing, self.under, self.path, progress=done.append)
        self.assertEqual((calls, done), (10, list(range(1, 10))))
        calls = 4  # from here on it fails
        self.assertEqual(report, evaluate(self.documents, failing, self.under, self.path))
        in_memory = evaluate(self.documents, model, self.under)
        self.assertEqual((in_memory.total, in_memory.worst), (report.total, report.worst))

    def test_a_terminal_shows_how_far_it_is_and_keeps_nothing_of_it(self) -> None:
        for on_terminal, want in ((False, ""), (True, "\rdocuments scored: 1\r\x1b[K")):
            stream = io.StringIO()
            with mock.patch.object(stream, "isatty", lambda on=on_terminal: on), mock.patch("sys.stderr", stream):
                evaluate(self.documents, model, self.under)
            self.assertEqual(stream.getvalue(), want)

    def test_other_documents_are_refused(self) -> None:
        evaluate(self.documents[:2], model, self.under, self.path)
        before = Path(self.path).read_bytes()
        for documents, message in [
            (self.documents[:1], f"evaluate: documents must hold 1, of which {self.path} has a receipt, got 1 others"),
            (self.documents[:3], "ReceiptLog: document must be one of those that were counted at the end, got 2"),
        ]:
            with self.subTest(message), self.assertRaises(ValueError) as caught:
                evaluate(documents, model, self.under, self.path)
            self.assertEqual(str(caught.exception), message)
            self.assertEqual(Path(self.path).read_bytes(), before)

    def test_nothing_is_written_of_documents_that_come_before_those_with_receipts(self) -> None:
        def two() -> Iterator[Any]:
            yield from self.documents[:2]
            raise Stopped

        with self.assertRaises(Stopped):
            evaluate(two(), model, self.under, self.path)
        before = Path(self.path).read_bytes()
        for documents in (self.documents[5:], self.documents[::-1], [self.documents[0], *self.documents[2:]]):
            with self.assertRaises(ValueError) as caught:
                evaluate(documents, model, self.under, self.path)
            rule = f"evaluate: documents must begin with those of which {self.path} has receipts, "
            self.assertEqual(str(caught.exception)[: len(rule)], rule)
            self.assertEqual(Path(self.path).read_bytes(), before)

    def test_a_run_without_documents_is_not_complete(self) -> None:
        with self.assertRaisesRegex(ValueError, "^evaluate: documents must hold at least one document, got 0$"):
            evaluate([], model, self.under, self.path)
        evaluate(self.documents, model, self.under, self.path)

    def test_a_killed_run_is_gone_on_with_to_the_same_last_byte(self) -> None:
        whole = self.path + ".whole"
        subprocess.run([sys.executable, "-c", RUN, whole, "0"], check=True, cwd=ROOT)
        want = Path(whole).read_bytes()
        rng, killed = random.Random(8), 0
        for _ in range(3):
            child = subprocess.Popen([sys.executable, "-c", RUN, self.path, "0.002"], cwd=ROOT)
            before = size(self.path)
            while child.poll() is None and size(self.path) <= before:
                time.sleep(0.002)
            time.sleep(rng.random() * 0.03)
            child.send_signal(signal.SIGKILL)
            killed += child.wait() == -signal.SIGKILL
            self.assertEqual(Path(self.path).read_bytes(), want[: size(self.path)])
        self.assertGreaterEqual(killed, 1)
        subprocess.run([sys.executable, "-c", RUN, self.path, "0"], check=True, cwd=ROOT)
        self.assertEqual(Path(self.path).read_bytes(), want)


def size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0


ROOT = Path(__file__).resolve().parents[2]
RUN = """
import sys, time
from refcalc.evaluation.run import evaluate
from tests.evaluation.test_run import V, model
from tests.evaluation.small import protocol

def slow(ids):
    time.sleep(float(sys.argv[2]))
    return model(ids)

documents = [(f"document {i}", [3 + i % 4, 4, 5, 6] * (1 + i % 5), "text " * i) for i in range(150)]
evaluate(documents, slow, protocol(vocab_size=V, bos="first", bos_id=0), sys.argv[1])
"""


if __name__ == "__main__":
    unittest.main()
