"""The checklist of an audit: a run without a fault, and one fault after the other put into it."""

import gc
import io
import itertools
import json
import math
import tempfile
import unittest
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from refcalc import evaluate, windows
from refcalc.evaluation.audit import Audit, audit
from refcalc.evaluation.checklist import OF_RUN, OF_TEXTS
from refcalc.evaluation.corpus import OUT_OF_REACH, RULE, Corpus
from refcalc.evaluation.log import Receipts
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.receipt import Receipt
from tests.evaluation.evaluated import protocol, receipt, receipts, twice

TRAIN = [{"id": "a", "text": "the cat sat", "tokens": [5, 2, 7, 1]}, {"id": "b", "text": "caf\u00e9", "tokens": [8, 1]}]
TEST = [{"id": "c", "text": "a dog", "tokens": [5, 9, 9, 9, 1]}, {"id": "d", "text": "dogs", "tokens": [9, 3, 1]}]
LOG_V = math.log(290)


class Run(NamedTuple):
    """All that is given to an audit; a fault replaces one part of it."""

    documents: dict[str, list[dict[str, Any]]]
    protocols: dict[str, Protocol]
    lines: dict[str, list[Receipt]]
    uniform: tuple[Protocol, list[Receipt]] | None
    digests: dict[str, Any]

    def audit(self) -> Audit:
        files = [receipts(self.protocols[split], *self.lines[split]) for split in self.protocols]
        uniform = None if self.uniform is None else receipts(self.uniform[0], *self.uniform[1])
        return audit(self.documents, files, uniform=uniform, **self.digests)


def lines_of(documents: list[dict[str, Any]], nats: float) -> list[Receipt]:
    """Return receipts of so many nats per target, with a BOS before each document: every token is a target."""
    sizes = [(d["id"], len(d["tokens"]), len(d["text"].encode()), len(d["text"])) for d in documents]
    return [receipt(key, nats * n, n, n_bytes=size, n_chars=chars) for key, n, size, chars in sizes]


def sound() -> Run:
    protocols = {"train": protocol(split="train", corpus="v1-train"), "test": protocol(corpus="v1-test")}
    lines = {"train": lines_of(TRAIN, 2.0), "test": lines_of(TEST, 3.5)}
    uniform = protocol(corpus="v1-test", checkpoint="uniform"), lines_of(TEST, LOG_V)
    digests = {"corpus": ["v1-train", "v1-test"], "tokenizer": "bpe", "checkpoint": "step-80"}
    return Run({"train": TRAIN, "test": TEST}, protocols, lines, uniform, digests)


def with_protocols(run: Run, **changes: Any) -> Run:
    return run._replace(
        protocols={
            split: protocol(**{**each.to_dict(), "criteria": (), **changes}) for split, each in run.protocols.items()
        }
    )


def with_test(run: Run, change: Callable[[list[Receipt]], list[Receipt]]) -> Run:
    return run._replace(lines={**run.lines, "test": change(run.lines["test"])}, uniform=None)


def verdicts(result: Audit) -> dict[str, str]:
    return {check.name: check.verdict for check in (*result.texts, *result.run)}


def words(result: Audit, name: str) -> str:
    return next(check.words for check in (*result.texts, *result.run) if check.name == name)


class Checklist(unittest.TestCase):
    def test_a_sound_run_passes_in_the_order_in_which_to_doubt_it(self) -> None:
        result = sound().audit()
        self.assertEqual(verdicts(result), dict.fromkeys([*OF_TEXTS, *OF_RUN], "pass"))
        self.assertEqual([check.name for check in result.texts], list(OF_TEXTS))
        self.assertEqual([check.name for check in result.run], list(OF_RUN))
        self.assertEqual(words(result, "held-out gap"), "test 3.5 - train 2 = 1.5 nats per target")
        self.assertEqual(words(result, "targets"), "14, as the tokens have it: each in a window, once")
        self.assertEqual(words(result, "EOS"), "4 scored, as the protocol has it")
        self.assertEqual(result.failed, ())

    def test_each_fault_fails_its_own_check_and_then_the_gap_is_not_read(self) -> None:
        other = receipt("c", 3.5 * 4, 4, n_bytes=5, n_chars=5)
        faults: list[tuple[str, Run, str]] = [
            (
                "digests",
                sound()._replace(digests={**sound().digests, "corpus": ["v1-train", "v2"]}),
                "the corpus of test is v1-test in the protocol, and v1-train and v2 now",
            ),
            (
                "digests",
                sound()._replace(digests={**sound().digests, "tokenizer": "char"}),
                "the tokenizer of train is bpe in the protocol, and char now, "
                "the tokenizer of test is bpe in the protocol, and char now",
            ),
            ("documents", with_test(sound(), lambda lines: lines[:1]), "documents of test without a receipt: 'd'"),
            (
                "documents",
                with_test(sound(), lambda lines: [*lines, receipt("e", 1.0, 2)]),
                "receipts of test without a document: 'e'",
            ),
            (
                "targets",
                with_test(sound(), lambda lines: [other, lines[1]]),
                "targets of test that no window scored, or that are none: 'c' has 4 of 5",
            ),
            (
                "targets",
                sound()._replace(
                    lines={
                        "train": lines_of([{**d, "text": d["text"].replace("\u00e9", "e")} for d in TRAIN], 2.0),
                        "test": lines_of(TEST, 3.5),
                    }
                ),
                "bytes of train that are not its text's: 'b' has n_bytes 4 and a text of 5",
            ),
            (
                "EOS",
                with_test(sound(), lambda lines: [lines[0], receipt("d", 10.5, 3, n_bytes=4, n_chars=4, n_eos=0)]),
                "EOS of test: 'd' has 0, and EOS is scored",
            ),
            (
                "EOS",
                with_test(sound(), lambda lines: [lines[0], receipt("d", 10.5, 3, n_bytes=4, n_chars=4, n_eos=2)]),
                "EOS of test: 'd' has 2 of 1",
            ),
            (
                "losses",
                with_test(sound(), lambda lines: [lines[0], receipt("d", math.inf, 3, n_bytes=4, n_chars=4)]),
                "documents of test cost inf: 'd'",
            ),
            (
                "uniform baseline",
                with_test(sound(), lambda _: lines_of(TEST, 6.5)),
                f"test costs 6.5 nats per target, more than log V = {LOG_V:.6g}: "
                "are the labels shifted, or is the model untrained?",
            ),
            (
                "uniform baseline",
                sound()._replace(uniform=(protocol(corpus="v1-test"), lines_of(TEST, math.log(289)))),
                ", ".join(f"{d!r} has {math.log(289):.6g} nats per target, not {LOG_V:.6g}" for d in "cd"),
            ),
            (
                "uniform baseline",
                sound()._replace(uniform=(protocol(corpus="v1-test", window=8), lines_of(TEST, LOG_V))),
                "its protocol differs from the model's in window, stride",
            ),
            (
                "uniform baseline",
                sound()._replace(uniform=(protocol(corpus="v1-test"), lines_of(TEST[:1], LOG_V))),
                "1 documents of the model have no uniform receipt",
            ),
            (
                "weights",
                sound()._replace(digests={**sound().digests, "checkpoint": "step-81"}),
                "the checkpoint is step-80 in the protocol, and step-81 now",
            ),
        ]
        for name, run, message in faults:
            result = run.audit()
            with self.subTest(message):
                self.assertEqual([(check.name, check.words) for check in result.failed], [(name, message)])
                self.assertEqual(verdicts(result)["held-out gap"], "not known")
                self.assertEqual(words(result, "held-out gap"), f"it means nothing while these fail: {name}")

    def test_a_digest_that_begins_as_another_is_another(self) -> None:
        result = sound()._replace(digests={**sound().digests, "checkpoint": "step-8"}).audit()
        self.assertEqual(words(result, "weights"), "the checkpoint is step-80 in the protocol, and step-8 now")

    def test_a_name_in_the_protocol_cannot_be_held_against_a_digest(self) -> None:
        digests = {"corpus": ["sha256:1", "v1-test"], "tokenizer": "sha256:2", "checkpoint": "sha256:3"}
        result = sound()._replace(digests=digests).audit()
        self.assertEqual(verdicts(result)["digests"], "not known")
        self.assertIn(
            "the corpus of train has the name 'v1-train' in the protocol, and no digest", words(result, "digests")
        )
        self.assertNotIn("corpus of test", words(result, "digests"))
        message = "the checkpoint has the name 'step-80' in the protocol, and no digest"
        self.assertEqual((verdicts(result)["weights"], words(result, "weights")), ("not known", message))

    def test_targets_that_are_none_are_found_as_those_that_are_missing(self) -> None:
        more = receipt("c", 3.5 * 6, 6, n_bytes=5, n_chars=5)
        result = with_test(sound(), lambda lines: [more, lines[1]]).audit()
        self.assertEqual(
            words(result, "targets"), "targets of test that no window scored, or that are none: 'c' has 6 of 5"
        )

    def test_tokens_of_some_documents_leave_the_targets_not_known(self) -> None:
        some = {**sound().documents, "test": [TEST[0], {"id": "d", "text": "dogs"}]}
        result = sound()._replace(documents=some).audit()
        self.assertEqual(
            (verdicts(result)["targets"], words(result, "targets")), ("not known", "the tokens of test were not given")
        )

    def test_bytes_of_what_is_scored_are_not_those_of_the_text(self) -> None:
        run = with_protocols(sound()._replace(uniform=None), text="scored")
        lines = [replace(line, n_bytes=3) for line in run.lines["test"]]
        self.assertEqual(verdicts(run._replace(lines={**run.lines, "test": lines}).audit())["targets"], "pass")

    def test_what_is_not_given_is_not_known(self) -> None:
        run = sound()._replace(documents={}, uniform=None, digests={})
        result, no = run.audit(), "no file was given of the"
        for name, message in [
            ("UTF-8", "no documents were given"),
            ("digests", f"{no} corpus of train, {no} tokenizer of train, {no} corpus of test and 1 more"),
            ("documents", "no documents of train were given, no documents of test were given"),
            ("targets", "the tokens of train were not given, the tokens of test were not given"),
            ("uniform baseline", "no receipts of a uniform model were given; the costs lie below log V"),
            ("weights", f"{no} checkpoint"),
        ]:
            self.assertEqual((verdicts(result)[name], words(result, name)), ("not known", message))
        unknown = "digests, documents, targets, uniform baseline, weights"
        want = f"test 3.5 - train 2 = 1.5 nats per target; not known before it: {unknown}"
        self.assertEqual((verdicts(result)["held-out gap"], words(result, "held-out gap")), ("pass", want))
        result = audit({"train": TRAIN})
        self.assertEqual({words(result, name) for name in OF_RUN}, {"no receipts were given"})
        self.assertEqual(words(result, "duplicates across splits"), "there is one split only")

    def test_a_protocol_without_eos_has_none_to_count(self) -> None:
        run = with_protocols(sound()._replace(documents={}, uniform=None), eos_id=None, eos_scored=False)
        bare = {"n_eos": None, "eos_nll": None}
        lines = {split: [replace(line, **bare) for line in each] for split, each in run.lines.items()}
        result = run._replace(lines=lines).audit()
        self.assertEqual((verdicts(result)["EOS"], words(result, "EOS")), ("pass", "0 scored, as the protocol has it"))
        run = sound()._replace(lines={**sound().lines, "test": lines["test"]}, uniform=None)
        self.assertEqual(words(run.audit(), "EOS"), "the receipts of test do not count EOS")

    def test_the_gap_takes_train_another_split_and_one_protocol(self) -> None:
        only = sound()._replace(protocols={"test": sound().protocols["test"]})
        self.assertEqual(words(only.audit(), "held-out gap"), "it takes receipts of train and of a held-out split")
        run = sound()._replace(uniform=None)
        run = run._replace(protocols={**run.protocols, "test": protocol(corpus="v1-test", window=48)})
        self.assertEqual(words(run.audit(), "held-out gap"), "the protocols of train and test differ in window, stride")

    def test_splits_that_were_scored_by_two_models_fail(self) -> None:
        run = sound()._replace(uniform=None)
        run = run._replace(
            protocols={**run.protocols, "test": protocol(corpus="v1-test", checkpoint="step-90", tokenizer="char")}
        )
        result = run.audit()
        self.assertEqual([check.name for check in result.failed], ["digests", "weights"])
        self.assertEqual(words(result, "weights"), "the splits were scored by step-80 and step-90")
        self.assertIn("the tokenizer of test is char in the protocol, and bpe now", words(result, "digests"))
        run = run._replace(digests={})
        self.assertEqual(words(run.audit(), "digests"), "the splits have the tokenizers bpe and char")

    def test_a_uniform_model_itself_is_not_above_log_v(self) -> None:
        for dtype, nats in (("float64", LOG_V), ("float32", LOG_V * (1 + 2**-24)), ("bfloat16", 5.6875)):
            run = with_protocols(with_test(sound(), lambda _, nats=nats: lines_of(TEST, nats)), dtype=dtype)
            self.assertEqual(verdicts(run.audit())["uniform baseline"], "not known", dtype)


class Targets(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_the_targets_of_a_document_are_those_of_its_windows(self) -> None:
        """The windows are gone through target by target; EOS and BOS count where the protocol says so."""
        for seed, (bos, bos_scored, eos_scored) in enumerate(
            itertools.product(("none", "first", "every"), (False, True), (False, True))
        ):
            rng = Random(seed)
            under = protocol(bos=bos, bos_scored=bos_scored, eos_scored=eos_scored, window=5, stride=1 + seed % 5)
            corpus = Corpus({"test": under})
            tokens = [[rng.randrange(4) for _ in range(rng.randrange(14))] for _ in range(30)]
            for i, row in enumerate(tokens):
                corpus.add("test", {"id": i, "text": "x", "tokens": row})
            for i, row in enumerate(tokens):
                given = {} if bos == "none" else {"bos": 0, "bos_in": bos}
                found = [y for _, _, targets in windows(row, 5, under.stride, **given) for y in targets if y != -100]
                scored = [y for y in found if (y != 0 or bos_scored) and (y != 1 or eos_scored)]
                sizes = corpus.sizes(i)
                with self.subTest(seed=seed, i=i):
                    self.assertEqual((sizes.n_targets, sizes.n_eos), (len(scored), scored.count(1)))

    def test_what_evaluate_scored_passes_under_every_policy(self) -> None:
        for bos, bos_id, bos_scored, eos_scored in itertools.product(
            ("none", "first", "every"), (0, 1), (False, True), (False, True)
        ):
            policy = {"bos": bos, "bos_id": bos_id, "bos_scored": bos_scored, "eos_scored": eos_scored}
            rng = Random(str(policy))
            end = [1] if eos_scored else []
            rows = [[5] * (bos != "none") + [rng.randrange(4) for _ in range(n)] + end for n in range(9)]
            under = protocol(**policy, window=3, units=())
            with self.subTest(policy):
                log = Path(self.folder) / f"{bos}{bos_id}{bos_scored}{eos_scored}.jsonl"
                evaluate(enumerate(rows), lambda ids: [[0.0] * 290] * len(ids), under, log)
                documents = [{"id": i, "text": str(i), "tokens": row} for i, row in enumerate(rows)]
                found = verdicts(audit({"test": documents}, log, uniform=log))
                self.assertEqual([found[name] for name in ("targets", "EOS", "uniform baseline")], ["pass"] * 3)

    def test_tokens_outside_of_the_vocabulary_are_no_targets(self) -> None:
        run = sound()
        for token, n in ((289, 5), (290, 4), (-100, 4)):
            documents = [{**TEST[0], "tokens": [token, 9, 9, 9, 1]}, TEST[1]]
            found = words(run._replace(documents={**run.documents, "test": documents}).audit(), "targets")
            self.assertEqual("'c' has 5 of 4" in found, n == 4, found)

    def test_one_id_for_bos_and_eos_is_the_eos(self) -> None:
        for bos_scored, eos_scored, n in ((False, True, 3), (True, False, 2), (False, False, 2)):
            corpus = Corpus({"test": protocol(bos_id=1, bos_scored=bos_scored, eos_scored=eos_scored)})
            corpus.add("test", {"id": 1, "text": "x", "tokens": [5, 6, 1]})
            self.assertEqual(corpus.sizes(0).n_targets, n)


class Results(unittest.TestCase):
    def test_unknown_tokens_have_their_share_of_the_texts_and_of_the_targets(self) -> None:
        result = sound().audit()
        self.assertEqual([(s.name, s.n_tokens, s.n_unknown) for s in result.splits], [("train", 6, 1), ("test", 8, 0)])
        self.assertEqual(
            [(s.split, s.n_targets, s.n_eos, s.n_unknown) for s in result.scored],
            [("train", 6, 2, 0), ("test", 8, 2, 0)],
        )
        self.assertIn(
            "\ntrain                      2           16           15            6       16.7 %\n", str(result)
        )
        self.assertEqual(audit({"train": TRAIN}, unk_id=9).splits[0].n_unknown, 0)

    def test_the_table_has_the_rule_and_80_columns(self) -> None:
        result = audit({"train": TRAIN, "test": [{**TRAIN[0], "id": "x" * 90}, {"id": "y", "text": ""}]})
        table = str(result)
        self.assertEqual([check.name for check in result.failed], ["empty documents", "duplicates across splits"])
        self.assertIn(f"Duplicates have the same {RULE}; {OUT_OF_REACH}.", " ".join(table.split()))
        self.assertIn("\n  FAIL      duplicates across splits  ", table)
        self.assertIn("\nthe run, in the order to doubt it: not known, for no receipts were given\n", table)
        self.assertLessEqual({len(line) for line in table.splitlines() if "xxx" not in line}, {*range(81)})
        self.assertLessEqual(max(map(len, str(sound().audit()).splitlines())), 80)

    def test_duplicates_are_listed_by_group(self) -> None:
        texts = {"train": ["one", "two", "one"], "test": ["two", "one ", "three"]}
        result = audit(
            {
                split: [{"id": f"{split}{i}", "text": text} for i, text in enumerate(each)]
                for split, each in texts.items()
            }
        )
        groups = [[str(document) for document in group] for group in result.duplicates]
        self.assertEqual(
            groups,
            [["'train0' of train", "'train2' of train", "'test1' of test"], ["'train1' of train", "'test0' of test"]],
        )
        self.assertEqual(words(result, "duplicates in a split"), "'train2' of train repeats 'train0'")
        self.assertEqual(
            words(result, "duplicates across splits"),
            "'test1' of test is 'train0' of train, 'test0' of test is 'train1' of train",
        )

    def test_all_documents_at_fault_are_listed(self) -> None:
        texts = [*"abcde", "", "f\ud800", " ", "", ""]
        documents = [{"id": min(i, 8), "text": text} for i, text in enumerate(texts)]
        result = audit({"train": documents})
        self.assertEqual(words(result, "empty documents"), "5 of train, 7 of train, 8 of train and 1 more")
        record = json.loads(json.dumps(result.to_dict()))
        self.assertEqual([document["id"] for document in record["empty"]], [5, 7, 8, 8])
        self.assertEqual(record["invalid"], [{"split": "train", "id": 6, "from_byte": 1}])
        self.assertEqual(record["reused"], [{"split": "train", "id": 8, "used_in": "train"}])
        self.assertEqual(record["failed"], ["UTF-8", "empty documents", "ids"])

    def test_receipts_may_be_given_by_any_kind_of_path(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "r.jsonl"
            receipts(protocol(), receipt("c", 1.0, 2), path=str(path))
            for given in (path, str(path), [path]):
                self.assertEqual(audit((), given).scored[0].n_targets, 2)

    def test_documents_may_name_their_splits_in_one_stream(self) -> None:
        stream = (
            {**document, "split": split} for split, each in (("train", TRAIN), ("test", TEST)) for document in each
        )
        self.assertEqual(audit(stream).splits, audit({"train": TRAIN, "test": TEST}).splits)

    def test_no_text_is_kept(self) -> None:
        class Text(str):
            """Text that can be watched."""

        corpus, texts = Corpus(), []
        for i in range(3):
            text = Text(f"text {i}")
            texts.append(weakref.ref(text))
            corpus.add("train", {"id": i, "text": text})
            del text
        gc.collect()
        self.assertEqual([text() for text in texts], [None] * 3)


class Refusals(unittest.TestCase):
    def assert_refused(self, message: str, *arguments: Any, kind: type[Exception] = ValueError, **options: Any) -> None:
        with self.subTest(message), self.assertRaises(kind) as caught:
            audit(*arguments, **options)
        self.assertEqual(str(caught.exception), message)

    def test_receipts_that_cannot_be_audited(self) -> None:
        test = protocol()
        line = receipt("c", 1.0, 2)
        self.assert_refused(
            "the receipts: the split must be one that no other file has the receipts of, got 'test'",
            (),
            [receipts(test, line), receipts(test, line)],
        )
        self.assert_refused(
            "the receipts: the split of the uniform model must be one of the run's, got 'train'",
            (),
            receipts(test, line),
            uniform=receipts(protocol(split="train"), line),
        )
        self.assert_refused("audit: uniform must come with receipts of a model, got 'u.jsonl'", (), uniform="u.jsonl")
        self.assert_refused("audit: receipts must be iterable, got 5", (), 5, kind=TypeError)

    def test_receipts_without_a_protocol_and_documents_scored_twice(self) -> None:
        bare = Receipts(io.BytesIO(b'{"document": "c", "nll_sum": 1.0, "n_targets": 2}\n'))
        self.assert_refused("the receipts: line 1 must hold the protocol, as ReceiptLog writes it, got none", (), bare)
        message = "the receipts: each document must have one receipt, got 'c'"
        self.assert_refused(message, (), twice(protocol(), receipt("c", 1.0, 2)))

    def test_documents_that_name_no_split(self) -> None:
        document = {"id": 1, "text": "a"}
        rule = "must name its split, where documents are not given by split"
        self.assert_refused(f"audit: documents[0] {rule}, got {document!r}", [document])
        self.assert_refused("audit: documents must be iterable, got 5", 5, kind=TypeError)
        self.assert_refused("audit: documents['train'] must be iterable, got 5", {"train": 5}, kind=TypeError)
        self.assert_refused(
            "audit: documents['train'][1] must have the key id, got ['text']", {"train": [document, {"text": ""}]}
        )
        self.assert_refused("audit: documents['test'] must hold at least one document, got 0", {"test": []})
        self.assert_refused("audit: unk_id must be a whole number, got 'x'", {}, unk_id="x", kind=TypeError)


if __name__ == "__main__":
    unittest.main()
