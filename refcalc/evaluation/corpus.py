"""The documents of all splits, seen once each: what repeats, what is empty, what is no UTF-8, how much is unknown.

A document is a mapping with an id (text or a whole number) and a text; it may name its split and bring its token ids:

    {"id": "a", "text": "the cat sat", "split": "train", "tokens": [5, 7, 2]}

Other keys are left alone.
"""

__all__ = ["OUT_OF_REACH", "RULE", "Corpus", "Document", "Sizes", "Split", "fingerprint"]

from array import array
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple
from unicodedata import normalize

from refcalc import _check
from refcalc.evaluation.protocol import Protocol

RULE = "sha256 of the UTF-8 of the text in Unicode NFC, each run of white space one space, none at the ends"
OUT_OF_REACH = "near-duplicates, slices of a longer text and translations are out of its reach"

NOT_KNOWN = -1  # a count, where counts are kept in an array

Id = str | int


class Document(NamedTuple):
    """A document by its split and id."""

    split: str
    id: Id

    def __str__(self) -> str:
        return f"{self.id!r} of {self.split}"


class Split(NamedTuple):
    """What a split holds; n_tokens is None unless every document has tokens, n_unknown where no UNK is known too."""

    name: str
    documents: int
    n_bytes: int
    n_chars: int
    n_tokens: int | None
    n_unknown: int | None


class Sizes(NamedTuple):
    """What the receipt of a document has to count; None without its tokens and a protocol."""

    n_bytes: int
    n_targets: int | None
    n_eos: int | None


class Corpus:
    """The documents of all splits, added one after the other.

    protocols: how each split is evaluated, where that is known: which tokens are targets, and which is UNK.
    unk_id: the token id that stands for what the vocabulary lacks, where no protocol says it.
    empty, invalid, reused: documents of nothing but white space; those that have no UTF-8, with the offset of the first
        byte which is none; and those with the id of an earlier one, with that one's split.

    >>> corpus = Corpus()
    >>> corpus.add("train", {"id": "a", "text": "caf\\u00e9  noir"})
    >>> corpus.add("test", {"id": "b", "text": "cafe\\u0301\\nnoir "})
    >>> [[str(document) for document in group] for group in corpus.duplicates()]
    [["'a' of train", "'b' of test"]]

    Memory: the id, a digest and three counts of a document, some 300 bytes; of the texts, one at a time.
    """

    def __init__(self, protocols: Mapping[str, Protocol] | None = None, unk_id: int | None = None) -> None:
        self.empty: list[Document] = []
        self.invalid: list[tuple[Document, int]] = []
        self.reused: list[tuple[Document, str]] = []
        self._protocols = {} if protocols is None else protocols
        self._unk_id = None if unk_id is None else _check.whole("audit", "unk_id", unk_id)
        self._splits: dict[str, _Counts] = {}
        self._ids: list[Id] = []
        self._split_of: list[str] = []
        self._sizes = array("q")  # three a document
        self._first: dict[bytes, int] = {}  # the digest of a text: the number of the first document that has it
        self._repeats: dict[int, list[int]] = {}  # that number: the numbers of the others

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, split: str, document: Mapping[str, Any], at: str = "document") -> None:
        """Take in one document of a split.  at: its place, for refusals.

        Raises ValueError where id or text are missing, or another split is named; TypeError for another kind.
        """
        key, text, tokens = _fields(at, split, document)
        number, protocol = len(self._ids), self._protocols.get(split)
        earlier = next((name for name, counts in self._splits.items() if key in counts.numbers), None)
        if earlier is not None:
            self.reused.append((Document(split, key), earlier))
        n_bytes = self._compare(number, Document(split, key), text)
        self._ids.append(key)
        self._split_of.append(split)
        self._sizes.append(n_bytes)
        self._sizes.extend((NOT_KNOWN,) * 2 if tokens is None or protocol is None else _targets(tokens, protocol))
        if split not in self._splits:
            self._splits[split] = _Counts(protocol.unk_id if protocol is not None else self._unk_id)
        self._splits[split].add(key, number, n_bytes, len(text), tokens)

    def splits(self) -> tuple[Split, ...]:
        """Return what each split holds, in the order in which they came."""
        return tuple(counts.split(name) for name, counts in self._splits.items())

    def duplicates(self) -> list[tuple[Document, ...]]:
        """Return the groups of documents whose texts are the same by the RULE, in the order of their first ones."""
        groups = [(first, *others) for first, others in sorted(self._repeats.items())]
        return [tuple(Document(self._split_of[i], self._ids[i]) for i in group) for group in groups]

    def ids(self, split: str) -> Mapping[Id, int] | None:
        """Return the ids of a split, each with a number to ask sizes for; None where there is no such split."""
        return self._splits[split].numbers if split in self._splits else None

    def sizes(self, number: int) -> Sizes:
        """Return what the receipt of a document has to count."""
        n_bytes, n_targets, n_eos = self._sizes[3 * number : 3 * number + 3]
        return Sizes(n_bytes, None, None) if n_targets == NOT_KNOWN else Sizes(n_bytes, n_targets, n_eos)

    def _compare(self, number: int, document: Document, text: str) -> int:
        """Note whether a text is empty, no UTF-8, or one that was there before; return its bytes."""
        try:
            n_bytes = len(text.encode("utf-8"))
        except UnicodeEncodeError as error:
            self.invalid.append((document, len(text[: error.start].encode("utf-8"))))
            return len(text.encode("utf-8", "surrogatepass"))
        if not text or text.isspace():
            self.empty.append(document)
            return n_bytes
        first = self._first.setdefault(fingerprint(text), number)
        if first != number:
            self._repeats.setdefault(first, []).append(number)
        return n_bytes


def fingerprint(text: str) -> bytes:
    """Return what is the same for two texts that are duplicates by the RULE, and for no others.

    >>> fingerprint(" the\\n cat") == fingerprint("the cat"), fingerprint("the cat") == fingerprint("The cat")
    (True, False)

    Raises UnicodeEncodeError for lone surrogates, which have no UTF-8.
    """
    return sha256(" ".join(normalize("NFC", text).split()).encode("utf-8")).digest()


# --- private ---------------------------------------------------------------------------------------------------------


class _Counts:
    """The ids of a split, each with the number of its first document, and the sums over all of them."""

    def __init__(self, unk_id: int | None) -> None:
        self.unk_id = unk_id
        self.numbers: dict[Id, int] = {}
        self.documents = self.n_bytes = self.n_chars = self.n_tokens = self.n_unknown = 0
        self.all_have_tokens = True

    def add(self, key: Id, number: int, n_bytes: int, n_chars: int, tokens: list[int] | None) -> None:
        self.numbers.setdefault(key, number)
        self.documents += 1
        self.n_bytes += n_bytes
        self.n_chars += n_chars
        if tokens is None:
            self.all_have_tokens = False
        else:
            self.n_tokens += len(tokens)
            self.n_unknown += 0 if self.unk_id is None else tokens.count(self.unk_id)

    def split(self, name: str) -> Split:
        n_tokens = self.n_tokens if self.all_have_tokens else None
        n_unknown = self.n_unknown if self.all_have_tokens and self.unk_id is not None else None
        return Split(name, self.documents, self.n_bytes, self.n_chars, n_tokens, n_unknown)


def _fields(at: str, split: str, document: Mapping[str, Any]) -> tuple[Id, str, list[int] | None]:
    """Return the id, the text and the tokens of a document, refused by name where they are of no use."""
    if not isinstance(document, Mapping):
        _check.refuse("audit", at, "be a mapping with id and text", document, TypeError)
    for name in ("id", "text"):
        if document.get(name) is None:
            _check.refuse("audit", at, f"have the key {name}", sorted(map(str, document)))
    key, text, tokens = document["id"], document["text"], document.get("tokens")
    if type(key) is not int and not isinstance(key, str):
        _check.refuse("audit", f"{at}: id", "be text or a whole number", key, TypeError)
    if not isinstance(text, str):
        _check.refuse("audit", f"{at}: text", "be text", text, TypeError)
    if document.get("split") not in (None, split):
        _check.refuse("audit", f"{at}: split", f"be {split!r}, where the document is given", document["split"])
    return key, text, None if tokens is None else _check.wholes("audit", f"{at}: tokens", tokens)


def _targets(tokens: list[int], protocol: Protocol) -> tuple[int, int]:
    """Return how many tokens of a document are targets, and how many of these are its EOS."""
    targets = tokens[1:] if protocol.bos == "none" else tokens
    if targets and not 0 <= min(targets) <= max(targets) < protocol.vocab_size:  # of another tokenizer: no targets
        targets = [token for token in targets if 0 <= token < protocol.vocab_size]
    n_eos = targets.count(protocol.eos_id) if protocol.eos_id is not None and protocol.eos_scored else 0
    return len(targets) - sum([targets.count(token) for token in protocol.unscored]), n_eos
