"""The documents of an audit: duplicates, ids, empty texts, bad UTF-8, unknown tokens."""

import hashlib
import json
import re
import tempfile
import unicodedata
import unittest
from pathlib import Path
from random import Random
from typing import Any

from refcalc.evaluation.corpus import Corpus, Document, fingerprint
from refcalc.evaluation.documents import read_documents


def corpus_of(*documents: tuple[str, Any, str], unk_id: int | None = None, **more: Any) -> Corpus:
    corpus = Corpus(unk_id)
    for split, key, text in documents:
        corpus.add(split, {"id": key, "text": text, **more})
    return corpus


def pairwise_duplicates(documents: list[tuple[str, Any, str]]) -> set[frozenset[Document]]:
    """Return the groups of equal texts, by comparing the normalised texts themselves, each with each."""
    groups: set[frozenset[Document]] = set()
    for _, _, text in documents:
        same = [Document(split, key) for split, key, other in documents if normalised(other) == normalised(text)]
        if len(same) > 1:
            groups.add(frozenset(same))
    return groups


def normalised(text: str) -> str:
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip()


class Duplicates(unittest.TestCase):
    def test_the_rule_is_nfc_and_folded_white_space(self) -> None:
        for same in ("caf\u00e9 noir", "cafe\u0301 noir", " caf\u00e9\t\n noir\u3000", "caf\u00e9\u00a0noir"):
            self.assertEqual(fingerprint(same), hashlib.sha256("caf\u00e9 noir".encode()).digest())
        for other in ("Caf\u00e9 noir", "cafe noir", "caf\u00e9noir", "caf\u00e9 noir.", "ca\ufb01 noir"):
            self.assertNotEqual(fingerprint(other), fingerprint("caf\u00e9 noir"))

    def test_groups_are_those_of_comparing_each_text_with_each(self) -> None:
        pieces = ["a", "b", " ", "\n", "e\u0301", "\u00e9"]
        for seed in range(40):
            rng = Random(seed)
            texts = ["x" + "".join(rng.choice(pieces) for _ in range(rng.randrange(4))) for _ in range(25)]
            documents = [(rng.choice(["train", "test"]), i, text) for i, text in enumerate(texts)]
            got = corpus_of(*documents).duplicates()
            with self.subTest(seed=seed):
                self.assertEqual({frozenset(group) for group in got}, pairwise_duplicates(documents))
                self.assertEqual(len(got), len({frozenset(group) for group in got}))

    def test_empty_texts_are_empty_and_no_duplicates_of_each_other(self) -> None:
        corpus = corpus_of(("train", 1, ""), ("train", 2, " \n\u2003"), ("test", 3, "x"))
        self.assertEqual(corpus.empty, [Document("train", 1), Document("train", 2)])
        self.assertEqual(corpus.duplicates(), [])


class Ids(unittest.TestCase):
    def test_an_id_used_again_is_found_in_its_split_and_in_another(self) -> None:
        corpus = corpus_of(("train", "a", "1"), ("train", "b", "2"), ("train", "a", "3"), ("test", "b", "4"))
        self.assertEqual(corpus.reused, [(Document("train", "a"), "train"), (Document("test", "b"), "train")])

    def test_a_number_and_its_text_are_two_ids(self) -> None:
        self.assertEqual(corpus_of(("train", 1, "1"), ("train", "1", "2")).reused, [])


class Counts(unittest.TestCase):
    def test_bytes_characters_and_documents_of_each_split(self) -> None:
        corpus = corpus_of(("train", 1, "caf\u00e9"), ("test", 2, "\U0001f600"), ("train", 3, "ab"))
        self.assertEqual(
            [tuple(split) for split in corpus.splits()], [("train", 2, 7, 6, None, None), ("test", 1, 4, 1, None, None)]
        )
        self.assertEqual(len(corpus), 3)

    def test_unknown_tokens_are_counted_where_all_documents_have_tokens(self) -> None:
        corpus = Corpus(unk_id=0)
        corpus.add("train", {"id": 1, "text": "ab", "tokens": [0, 5, 0]})
        corpus.add("test", {"id": 2, "text": "ab", "tokens": [0]})
        corpus.add("test", {"id": 3, "text": "cd"})
        self.assertEqual([split[-2:] for split in corpus.splits()], [(3, 2), (None, None)])
        self.assertEqual((corpus.ids("test"), corpus.ids("validation")), ({2: 1, 3: 2}, None))
        self.assertEqual(corpus.sizes(2), (2, None, None))


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "documents.jsonl"

    def read(self, content: bytes) -> list[tuple[str, dict[str, Any]]]:
        self.path.write_bytes(content)
        return list(read_documents(str(self.path)))

    def test_lines_are_documents_and_blank_lines_are_passed_over(self) -> None:
        got = self.read(b'{"id": 1, "text": "a"}\n\n{"id": 2, "text": "b", "meta": {}}')
        self.assertEqual([at.rpartition(": ")[2] for at, _ in got], ["line 1", "line 3"])
        self.assertEqual(got[1][1], {"id": 2, "text": "b", "meta": {}})

    def test_a_bad_byte_is_found_at_its_offset_in_the_text(self) -> None:
        corpus = Corpus()
        for at, document in self.read(
            '{"id": 1, "text": "\u00e9\u00e9x'.encode() + b'\xff\xfe"}\n{"id": 2, "text": "ok"}'
        ):
            corpus.add("train", document, at)
        corpus.add("train", {"id": 3, "text": "ab\ud800"})
        self.assertEqual(corpus.invalid, [(Document("train", 1), 5), (Document("train", 3), 2)])
        self.assertEqual(corpus.duplicates(), [])

    def test_a_line_that_is_no_document_is_refused_by_its_number(self) -> None:
        for content, message in [
            (
                b'{"id": 1, "text": "a"}\n{"id": 2, "te',
                "PATH: line 2 must be JSON, got Unterminated string starting at at column 11",
            ),
            (b"\n \n", "PATH: the file must hold at least one document, got 0"),
            (
                b'{"id": "\xff", "text": "a"}',
                "PATH: line 1 must be UTF-8 outside of its text, got a bad byte at offset 8",
            ),
            (
                b'{"text": "\xff", "\xc3\xa9\xfe": 1, "id": 1}',
                "PATH: line 1 must be UTF-8 outside of its text, got a bad byte at offset 10",
            ),
            (b"[1]", "PATH: line 1 must hold a JSON object, got [1]"),
            (b'{"id": 1, "id": 2, "text": "a"}', "PATH: line 1 must not name a key twice, got 'id' again"),
            (
                b'{"id": NaN}',
                'PATH: line 1 must hold numbers that are finite, or the strings "inf" and "-inf", got NaN at column 8',
            ),
        ]:
            with self.subTest(message), self.assertRaises((ValueError, TypeError)) as caught:
                self.read(content)
            self.assertEqual(str(caught.exception), message.replace("PATH", str(self.path)))
        with self.assertRaises(ValueError) as caught:
            next(read_documents(str(self.path.parent)))
        want = f"{self.path.parent}: the documents must be a file that can be read, got Is a directory"
        self.assertEqual(str(caught.exception), want)

    def test_a_document_of_another_kind_is_refused_by_its_field(self) -> None:
        for document, kind, message in [
            ({"text": "a"}, ValueError, "audit: here must have the key id, got ['text']"),
            ({"id": "a"}, ValueError, "audit: here must have the key text, got ['id']"),
            ({"id": 1.5, "text": "a"}, TypeError, "audit: here: id must be text or a whole number, got 1.5"),
            ({"id": True, "text": "a"}, TypeError, "audit: here: id must be text or a whole number, got True"),
            ({"id": 1, "text": 5}, TypeError, "audit: here: text must be text, got 5"),
            (
                {"id": 1, "text": "a", "split": "test"},
                ValueError,
                "audit: here: split must be 'train', where the document is given, got 'test'",
            ),
            (
                {"id": 1, "text": "a", "tokens": [1, 2.0]},
                TypeError,
                "audit: here: tokens[1] must be a whole number, got 2.0",
            ),
            ([1], TypeError, "audit: here must be a mapping with id and text, got [1]"),
        ]:
            with self.subTest(message), self.assertRaises(kind) as caught:
                Corpus().add("train", json.loads(json.dumps(document)), "here")
            self.assertEqual(str(caught.exception), message)


if __name__ == "__main__":
    unittest.main()
