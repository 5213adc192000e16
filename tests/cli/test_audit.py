"""`refcalc audit`, run as people run it: arguments in, text and an exit status out."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

from refcalc.evaluation.protocol import file_digest
from tests.cli.test_bootstrap import CommandCase
from tests.evaluation.evaluated import protocol, receipt, receipts

TRAIN = [("a", "the cat sat"), ("b", "a dog barked")]
TEST = [("c", "cats purr")]


def lines(documents: list[tuple[Any, str]], **more: Any) -> str:
    return "\n".join(json.dumps({"id": key, "text": text, **more}) for key, text in documents) + "\n"


class AuditCase(CommandCase):
    def setUp(self) -> None:
        super().setUp()
        self.train = self.write("train.jsonl", lines(TRAIN))
        self.test = self.write("test.v2.jsonl", lines(TEST, tokens=[5, 6, 7, 1]))

    def receipts(self, name: str, **changes: Any) -> str:
        path = self.folder / name
        path.unlink(missing_ok=True)
        given = {"corpus": file_digest(self.test), "tokenizer": file_digest(self.train), "units": ()}
        counts = {"n_bytes": None, "n_chars": None}
        receipts(protocol(**{**given, **changes}), receipt("c", 4.0, 4, **counts), path=str(path))
        return str(path)


class Texts(AuditCase):
    def test_a_file_names_its_split_unless_its_lines_or_the_option_do(self) -> None:
        report = self.report("audit", self.train, self.test)
        self.assertEqual([(s["name"], s["documents"]) for s in report["splits"]], [("train", 2), ("test", 1)])
        report = self.report("audit", self.train, "--split", f"held-out={self.test}")
        self.assertEqual([s["name"] for s in report["splits"]], ["train", "held-out"])
        path = self.write(
            "all.jsonl",
            lines(TRAIN, split="train") + lines(TEST, split="test") + '{"id": 1, "text": "x", "split": null}',
        )
        report = self.report("audit", path)
        self.assertEqual([s["name"] for s in report["splits"]], ["train", "test", "all"])
        self.assertEqual(report["failed"], [])

    def test_a_leak_is_a_failure_with_its_documents_and_the_rule(self) -> None:
        leak = self.write("test.jsonl", lines([("x", " The cat"), ("y", "the  cat\u00a0sat\n")]))
        status, out, err = self.run_on("audit", self.train, leak)
        self.assertEqual((status, err), (1, ""))
        self.assertIn("\n  FAIL      duplicates across splits  'y' of test is 'a' of train\n", out)
        self.assertIn("Duplicates have the same sha256 of the UTF-8 of the text in Unicode NFC", out)
        self.assertIn("near-duplicates", out)
        status, out, _ = self.run_on("audit", self.train, leak, "--json")
        report = json.loads(out)
        self.assertEqual((status, report["failed"]), (1, ["duplicates across splits"]))
        self.assertEqual(report["duplicates"], [[{"split": "train", "id": "a"}, {"split": "test", "id": "y"}]])

    def test_a_bad_byte_is_placed_and_the_other_documents_are_still_looked_at(self) -> None:
        path = self.folder / "bad.jsonl"
        path.write_bytes('{"id": 1, "text": "\u00e9t\u00e9 '.encode() + b'\xff"}\n{"id": 2, "text": "the cat sat"}\n')
        status, out, _ = self.run_on("audit", str(path), self.train)
        self.assertEqual(status, 1)
        self.assertIn("\n  FAIL      UTF-8                     1 of bad is invalid from byte 6 on\n", out)
        self.assertIn("\n  FAIL      duplicates across splits  'a' of train is 2 of bad\n", out)

    def test_unknown_tokens_are_counted_where_the_id_is_given(self) -> None:
        report = self.report("audit", self.test, "--unk-id", "5")
        self.assertEqual((report["splits"][0]["n_tokens"], report["splits"][0]["n_unknown"]), (4, 1))

    def test_a_text_that_does_not_fit_memory_twice_is_not_needed(self) -> None:
        """Many long documents in one file: what stays is their digests."""
        path = self.write("long.jsonl", "".join(lines([(i, f"{i} " * 2_000)]) for i in range(200)))
        self.report("audit", path)  # what is imported and cached is not counted
        tracemalloc.start()
        self.report("audit", path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertLess(peak, Path(path).stat().st_size / 3)


class Runs(AuditCase):
    def test_digests_of_the_files_are_held_against_the_protocol(self) -> None:
        path = self.receipts("r.jsonl", checkpoint=file_digest(self.train))
        files = ["--tokenizer", self.train, "--checkpoint", self.train]
        report = self.report("audit", self.test, "--receipts", path, *files)
        verdicts = {check["name"]: check["verdict"] for check in report["run"]}
        self.assertEqual([verdicts[name] for name in ("digests", "documents", "targets", "weights")], ["pass"] * 4)
        self.assertEqual(report["scored"][0]["mean_nll"], 1.0)
        for option, name in (("--tokenizer", "digests"), ("--checkpoint", "weights")):
            status, out, _ = self.run_on("audit", self.test, "--receipts", path, option, self.test, "--json")
            self.assertEqual((status, json.loads(out)["failed"]), (1, [name]))

    def test_a_corpus_that_was_changed_since_is_found(self) -> None:
        path = self.receipts("r.jsonl")
        self.write("test.v2.jsonl", lines([("c", "cats purr.")], tokens=[5, 6, 7, 1]))
        status, out, _ = self.run_on("audit", self.test, "--receipts", path)
        self.assertEqual(status, 1)
        self.assertIn("\n  FAIL      digests                   the corpus of test is\n", out)

    def test_receipts_alone_and_a_uniform_model(self) -> None:
        path = self.receipts("r.jsonl")
        uniform = self.receipts("u.jsonl", checkpoint="uniform")
        status, out, _ = self.run_on("audit", "--receipts", path, "--uniform", uniform)
        self.assertEqual(status, 1)
        self.assertIn("'c' has 1 nats per target, not 5.66988", out)
        self.assertIn("the texts: not known, for no documents were given\n", out)


class Refusals(AuditCase):
    def test_bad_input_is_named_with_status_2(self) -> None:
        torn = self.write("torn.jsonl", '{"id": 1, "text": "a"}\n{"id": 2, "te')
        other = self.write("other.jsonl", '{"id": 1, "text": "a", "split": "train"}')
        number = self.write("number.jsonl", '{"id": 1, "text": "a", "split": 7}')
        missing = str(self.folder / "missing.jsonl")
        path = self.receipts("r.jsonl")
        for arguments, message in [
            ([], "audit: documents or --receipts must be given, got none"),
            (["--split", "train"], "audit: --split must be NAME=DOCUMENTS, got 'train'"),
            ([torn], f"{torn}: line 2 must be JSON, got Unterminated string starting at at column 11"),
            (
                ["--split", f"test={other}"],
                f"audit: {other}: line 1: split must be 'test', where the document is given, got 'train'",
            ),
            ([number], f"{number}: line 1: split must be text that is not empty, got 7"),
            ([missing], f"{missing}: the documents must be a file that can be read, got No such file or directory"),
            (
                ["--receipts", missing],
                f"{missing}: the receipts must be a file that can be read, got No such file or directory",
            ),
            (
                ["--receipts", path, path],
                f"{path}: the split must be one that no other file has the receipts of, got 'test'",
            ),
            ([self.train, "--uniform", path], f"audit: uniform must come with receipts of a model, got {path[:12]!r}"),
        ]:
            with self.subTest(message):
                status, out, err = self.run_on("audit", *arguments)
                self.assertEqual((status, out), (2, ""))
                self.assertTrue(err.startswith(f"refcalc: {message.removesuffix(repr(path[:12]))}"), err)
