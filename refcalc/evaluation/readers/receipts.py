"""Receipts as `evaluate` writes them: a first line with the protocol, and a line with its check for each document."""

__all__ = ["LOOKED_FOR", "read", "recognises"]

from collections.abc import Iterator
from typing import Any

from refcalc.evaluation.readers.log import Document, Findings
from refcalc.evaluation.readers.records import Record
from refcalc.evaluation.reading import Receipts

LOOKED_FOR = "refcalc receipts (a first line with the protocol)"


def recognises(value: Any) -> bool:
    """Return whether a record is the first line of such a file."""
    return isinstance(value, dict) and isinstance(value.get("protocol"), dict) and "digest" in value


def read(path: str, found: Findings) -> Iterator[Document]:
    """Yield the documents of a file of receipts; each is refused by path and line where it is no receipt."""
    receipts = Receipts(path)
    if receipts.protocol is not None:
        found.vocab_sizes.add(receipts.protocol.vocab_size)
    seen: set[str | int] = set()
    for number, receipt in receipts:
        if receipt.document in seen:
            receipts.refuse(number, "name a document that no line before it names", receipt.document)
        seen.add(receipt.document)
        yield Document(Record(path, f"line {number}", receipt.document, None), None, receipt.tally, {})
