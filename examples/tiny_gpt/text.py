"""The text: documents with stable ids, their split, and the characters that the model knows.

Every document ends with EOS, which is a target like any other; BOS stands before it and is never one.  A character that
no training document holds becomes UNK, a target too: to leave it out would take the hardest places out of the
denominator.
"""

import ast
import hashlib
import json
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from refcalc.evaluation.protocol import text_digest

UNK, BOS, EOS = 0, 1, 2
SPLITS = ("train", "validation", "test")
LONGEST = 4000  # characters taken of one module's documentation
PIECE = 1000  # characters, at least, in a piece of a text file
PACKAGES = (
    "asyncio",
    "collections",
    "concurrent",
    "email",
    "http",
    "importlib",
    "json",
    "logging",
    "multiprocessing",
    "re",
    "unittest",
    "urllib",
    "wsgiref",
    "xml",
)


class Document(NamedTuple):
    id: str
    group: str  # documents of one group hang together: they go to the same split
    text: str


class Corpus(NamedTuple):
    name: str
    splits: dict[str, list[Document]]
    characters: str  # those of the training documents, in order: token 3 + k is characters[k]

    @property
    def vocab_size(self) -> int:
        return 3 + len(self.characters)

    @property
    def digest(self) -> str:
        """Of every document, its id and its split."""
        texts = {split: [[document.id, document.text] for document in part] for split, part in self.splits.items()}
        return text_digest(json.dumps(texts))

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without BOS or EOS."""
        ids = {character: 3 + k for k, character in enumerate(self.characters)}
        return [ids.get(character, UNK) for character in text]

    def decode(self, tokens: list[int]) -> bytes:
        """The UTF-8 of the tokens that are characters; UNK, which stands for many, becomes a byte that is none."""
        return b"".join(b"\xff" if t == UNK else b"" if t < 3 else self.characters[t - 3].encode() for t in tokens)


def load(path: Path | None = None) -> Corpus:
    """The corpus of a text file, or of the standard library's documentation."""
    splits = by_id(standard_library()) if path is None else by_place(path)
    for split, documents in splits.items():
        if not documents:
            raise ValueError(f"{path}: the text must be long enough for three splits, got none of it for {split}")
    characters = "".join(sorted({character for document in splits["train"] for character in document.text}))
    return Corpus("the standard library" if path is None else path.name, splits, characters)


def standard_library() -> Iterator[Document]:
    """The docstrings of each module of the standard library, which any Python has; a package is a group."""
    folder = Path(sysconfig.get_path("stdlib"))
    for path in sorted([*folder.glob("*.py"), *(file for name in PACKAGES for file in (folder / name).glob("*.py"))]):
        tree = ast.parse(path.read_text("utf-8"))
        places = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
        text = "\n\n".join(filter(None, map(ast.get_docstring, places)))
        if text:
            name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
            yield Document(name, name.partition(".")[0], text[:LONGEST])


def by_id(documents: Iterable[Document]) -> dict[str, list[Document]]:
    """A tenth to test and a tenth to validation by a hash of the group: a new document moves no other one."""
    splits: dict[str, list[Document]] = {split: [] for split in SPLITS}
    for document in documents:
        share = int.from_bytes(hashlib.sha256(document.group.encode()).digest()[:4], "big") / 2**32
        splits["test" if share < 0.1 else "validation" if share < 0.2 else "train"].append(document)
    return splits


def by_place(path: Path) -> dict[str, list[Document]]:
    """The last tenth of a text file to test, the tenth before it to validation, each cut into documents."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: the text must be UTF-8, got another byte at {error.start}") from None
    ends = [0, int(0.8 * len(text)), int(0.9 * len(text)), len(text)]
    parts = zip(SPLITS, ends, ends[1:], strict=False)
    return {split: list(pieces(f"{path.stem}-{split}", text[start:end])) for split, start, end in parts}


def pieces(name: str, text: str) -> Iterator[Document]:
    """Cut behind blank lines into documents that, one after the other, are the text; some 25 neighbours are a group."""
    start = 0
    while start < len(text):
        blank = text.find("\n\n", start + PIECE)
        end = len(text) if blank < 0 else blank + 2
        yield Document(f"{name}-{start:07d}", f"{name}-{start // (25 * PIECE):03d}", text[start:end])
        start = end
