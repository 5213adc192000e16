"""Reading a file of receipts, strictly and as a stream; refcalc.evaluation.log says what is in one."""

__all__ = ["LONGEST_LINE", "Receipts", "Source", "protocol_of", "receipts_of"]

import json
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO, NoReturn

from refcalc import _check, _json
from refcalc._refusal import shown
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.receipt import Receipt, check_key, checked

LONGEST_LINE = 2**20
BLOCK = 2**16
HEADER = re.compile(rb'\s*\{\s*"(?:protocol|digest)"\s*:')
BEGINNINGS = (b'{"document":', b'{"end":')  # of the lines that ReceiptLog writes after the first
Source = str | os.PathLike[str] | BinaryIO
UNFINISHED = "the evaluation was not finished, and goes on when it is run again"


class Receipts:
    """The receipts of a file, read as a stream: pairs of a line's number and what it says.

    source: the path of a file, or one that is open for reading bytes.
    unfinished: whether the file may end where a run was killed.
    protocol: that of the file's first line; None for receipts without one, as other programs may write them.

    Raises ValueError, with path and line, for what is no receipt, a line whose check is not right, one above 2**20
    bytes, and a file that is not complete; TypeError for a value of another kind.  That no id is there twice is for the
    reader to see.
    """

    def __init__(self, source: Source, *, unfinished: bool = False) -> None:
        source = _path_or_file("Receipts", source)
        self.path = source if isinstance(source, str) else "the receipts"
        self.unfinished = unfinished
        self.whole = self._start = 0  # the bytes of the lines that are whole, and of the protocol's
        self.n_documents: int | None = None  # as the last line has it
        self.protocol: Protocol | None = None
        self._source = _repeatable(source) if isinstance(source, str) else source
        with self._opened() as file:
            first = file.readline(LONGEST_LINE + 1)
        if not first.strip():
            raise ValueError(f"{self.path}: the file must hold at least one receipt, got 0")
        if HEADER.match(first):
            self.protocol = self._header(first)
            self._start = len(first)
        self.key = None if self.protocol is None else check_key(self.protocol)

    def __iter__(self) -> Iterator[tuple[int, Receipt]]:
        found, self.whole = 0, self._start
        for number, line in self.lines():
            if self.unfinished and self._is_torn(line):
                break
            receipt = self.receipt(number, line)
            self.whole += len(line)
            if receipt is not None:
                found += 1
                yield number, receipt
        self.finish(found)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the bytes of each line but the protocol's."""
        self.n_documents = None
        with self._opened() as file:
            file.seek(self._start)
            lines = iter(partial(file.readline, LONGEST_LINE + 1), b"")
            yield from enumerate(lines, 2 if self._start else 1)

    def blocks(self) -> Iterator[bytes]:
        """Yield the same lines, many at once; the last may be the beginning of one that is too long."""
        self.n_documents = None
        with self._opened() as file:
            file.seek(self._start)
            for block in iter(partial(file.read, BLOCK), b""):
                yield block if block.endswith(b"\n") else block + file.readline(LONGEST_LINE + 1)

    def receipt(self, number: int, line: bytes) -> Receipt | None:
        """Return what a line says; None for the line that counts the receipts."""
        record = self._record(number, line)
        if "end" in record:
            self._end(number, record)
            return None
        if "protocol" in record and self.key is not None:
            rule = "be a receipt under the protocol of line 1 (were two files put together?)"
            self.refuse(number, rule, record.get("digest"))
        try:
            receipt = Receipt.from_dict(record, self.protocol)
        except (TypeError, ValueError) as refusal:
            raise type(refusal)(f"{self.path}: line {number}: {str(refusal).removeprefix('Receipt: ')}") from None
        if self.key is not None:
            self._same_check(number, record, checked(receipt.to_dict(), self.key))
        return receipt

    def finish(self, found: int) -> None:
        """Refuse a file that is not complete; found: the receipts that were in it."""
        if self.protocol is None or (self.unfinished and self.n_documents is None):
            return
        if self.n_documents is None:
            rule = f"end with the line that counts its receipts ({UNFINISHED})"
            raise ValueError(f"{self.path}: the file must {rule}, got {found} receipts without it")
        if self.n_documents != found:
            rule = f"hold the {self.n_documents} receipts that its last line counts"
            raise ValueError(f"{self.path}: the file must {rule}, got {found}")

    def refuse(self, number: int, rule: str, value: object) -> NoReturn:
        """Refuse a line."""
        raise ValueError(f"{self.path}: line {number} must {rule}, got {shown(value)}")

    def _is_torn(self, line: bytes) -> bool:
        """Return whether a line is the beginning of one that a killed run was writing, and not somebody's own words."""
        ours = any(line.startswith(each[: len(line)]) for each in BEGINNINGS)
        return ours and not line.endswith(b"\n") and len(line) <= LONGEST_LINE and self.n_documents is None

    def _opened(self) -> AbstractContextManager[BinaryIO]:
        """Return the file, to be read from its beginning."""
        if isinstance(self._source, str):
            return _open(self._source)
        self._source.seek(0)
        return nullcontext(self._source)

    def _record(self, number: int, line: bytes) -> dict[str, Any]:
        """Return the JSON object of a line."""
        if len(line) > LONGEST_LINE:
            rule = f"be at most {LONGEST_LINE:,} bytes long"
            raise ValueError(f"{self.path}: line {number} must {rule}, got a longer one")
        if self.protocol is not None and not line.endswith(b"\n"):
            self.refuse(number, f"be whole, with a newline at its end ({UNFINISHED})", line)
        record = _json.read_line(self.path, number, line.removesuffix(b"\n"))
        if not isinstance(record, dict):
            raise TypeError(f"{self.path}: line {number} must hold a JSON object, got {shown(record)}")
        return record

    def _header(self, line: bytes) -> Protocol:
        record = self._record(1, line)
        if set(record) != {"protocol", "digest"}:
            self.refuse(1, "have the keys protocol and digest", list(record))
        try:
            protocol = Protocol.from_dict(record["protocol"])
        except (TypeError, ValueError) as refusal:
            raise type(refusal)(f"{self.path}: line 1: {refusal}") from None
        if record["digest"] != protocol.digest:
            self.refuse(1, f"have the digest of its protocol, {protocol.digest}", record["digest"])
        return protocol

    def _end(self, number: int, record: dict[str, Any]) -> None:
        end = record["end"]
        if self.key is None:
            self.refuse(number, "be a receipt, in a file without a protocol", record)
        if self.n_documents is not None:
            self.refuse(number, "be a receipt, for the receipts were counted before", record)
        if not isinstance(end, dict) or set(end) != {"n_documents"} or set(record) != {"end", "check"}:
            self.refuse(number, "have the keys end.n_documents and check", record)
        n_documents = _check.count(self.path, f"line {number}: end.n_documents", end["n_documents"])
        self._same_check(number, record, checked({"end": {"n_documents": n_documents}}, self.key))
        self.n_documents = n_documents

    def _same_check(self, number: int, record: dict[str, Any], right: bytes) -> None:
        """Refuse a line whose check is not that of the line as it should be written."""
        check = json.loads(right)["check"]
        if "check" not in record:
            self.refuse(number, "have a check, as ReceiptLog writes it", sorted(record))
        if record["check"] != check:
            doubt = "was it changed by hand, or measured under another?"
            rule = f"have the check of what it says under the protocol of line 1, {check} ({doubt})"
            self.refuse(number, rule, record["check"])


def protocol_of(receipts: Receipts) -> Protocol:
    """Return the protocol of a file of receipts, which must have one."""
    if receipts.protocol is None:
        raise ValueError(f"{receipts.path}: line 1 must hold the protocol, as ReceiptLog writes it, got none")
    return receipts.protocol


def receipts_of(source: "Source | Receipts") -> Receipts:
    """Return receipts as they are, or those of a file."""
    return source if isinstance(source, Receipts) else Receipts(source)


# --- private ---------------------------------------------------------------------------------------------------------


def _path_or_file(function: str, source: Any) -> str | BinaryIO:
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    if not hasattr(source, "readline"):
        _check.refuse(function, "source", "be the path of a file, or an open one", source, TypeError)
    result: BinaryIO = source
    return result


def _repeatable(path: str) -> str | BinaryIO:
    """Return the path of a file, or what a pipe holds: that can be read only once."""
    if os.path.isfile(path):
        return path
    with _open(path) as file:
        return BytesIO(file.read())


def _open(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise ValueError(f"{path}: the receipts must be a file that can be read, got {error.strerror}") from None
