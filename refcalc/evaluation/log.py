"""The file of receipts: its protocol, then a line a document written as the run goes on, then how many there are.

    {"protocol":{...},"digest":"sha256:..."}
    {"document":"a","nll_sum":"0x3p+1","n_targets":2,...,"check":"0f..."}
    ...
    {"end":{"n_documents":2},"check":"9c..."}

A run that is killed leaves whole lines, and at most the beginning of one more.  The same run, started again, takes that
beginning off and goes on.  A file without its last line is not complete, and no report is made of it; the order of the
lines between the first and the last does not matter.
"""

__all__ = ["ReceiptLog", "Receipts"]

import json
import os
from io import BytesIO
from typing import Any

from refcalc import _check
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.reading import LONGEST_LINE, Receipts
from refcalc.evaluation.receipt import Receipt, check_key, checked


class ReceiptLog:
    """A file of receipts that is being written, or memory where the path is None.

    What is there already is read and kept: `done` are the ids of the documents that have their receipts.  Each receipt
    is in the hands of the operating system once `write` returns.

    >>> from refcalc import ExactSum
    >>> protocol = Protocol(vocab_size=4, tokenizer="t", corpus="c", checkpoint="k", split="test", window=8, units=())
    >>> log = ReceiptLog(None, protocol)
    >>> log.write(Receipt("a", ExactSum([1.5]), 2))
    >>> log.end()
    >>> [receipt.document for _, receipt in log.receipts()]
    ['a']

    Raises ValueError, before anything is written, for a file of another protocol or of something else, and whatever
    Receipts refuses; for a document that has its receipt, and for what the protocol does not let happen.
    """

    def __init__(self, path: str | os.PathLike[str] | None, protocol: Protocol) -> None:
        if not isinstance(protocol, Protocol):
            _check.refuse("ReceiptLog", "protocol", "be a Protocol", protocol, TypeError)
        self.path = None if path is None else os.fspath(path)
        self.protocol = protocol
        self.done: set[str | int] = set()
        self._key = check_key(protocol)
        self._ended = False
        header = {"protocol": protocol.to_dict(), "digest": protocol.digest}
        first = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        self._file: Any = BytesIO() if path is None else open(path, "a+b")  # noqa: SIM115 (closed by __exit__)
        try:
            if path is not None:
                self._lock()
            whole = self._read(first)
            self._file.truncate(whole)
            self._file.seek(0, os.SEEK_END)
            if not whole:
                self._append(first)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "ReceiptLog":
        return self

    def __exit__(self, *_: object) -> None:
        if self.path is not None:
            self._file.close()

    def write(self, receipt: Receipt) -> None:
        """Append the receipt of a document that has none."""
        if receipt.document in self.done:
            _check.refuse("ReceiptLog", "document", "have one receipt", receipt.document)
        if self._ended:
            _check.refuse("ReceiptLog", "document", "be one of those that were counted at the end", receipt.document)
        receipt.check_under(self.protocol)
        line = checked(receipt.to_dict(), self._key)
        if len(line) > LONGEST_LINE:
            rule = f"have a receipt of at most {LONGEST_LINE:,} bytes"
            _check.refuse("ReceiptLog", "document", rule, receipt.document)
        self._append(line)
        self.done.add(receipt.document)

    def end(self) -> None:
        """Write the last line, if it is not there: all documents have their receipts."""
        if not self._ended:
            self._append(checked({"end": {"n_documents": len(self.done)}}, self._key))
            self._ended = True

    def receipts(self) -> Receipts:
        """Return what was written, to be read."""
        return Receipts(BytesIO(self._file.getvalue()) if self.path is None else self.path)

    def _append(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()

    def _lock(self) -> None:
        """Refuse a file that another run is writing; the system lets go of the lock when the run ends or is killed."""
        try:
            import fcntl  # noqa: PLC0415 (not on every system)

            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{self.path}: the file must be written by one run at a time, got another one") from None
        except (ImportError, OSError):  # a system or a file system without such locks
            return

    def _read(self, first: bytes) -> int:
        """Read what is there, and return how many bytes of it stand; first: the line that the file must begin with."""
        self._file.seek(0)
        start = self._file.read(len(first))
        if len(start) < len(first) and first.startswith(start):  # nothing, or the beginning of the first line
            return 0
        found = Receipts(self.path or "", unfinished=True)
        if found.protocol is None:
            raise ValueError(f"{self.path}: the file must begin with a protocol, to be gone on with, got none")
        differing = found.protocol.differences(self.protocol)
        if differing:
            shown_ = ", ".join(f"{name} {theirs!r}" for name, (theirs, _) in differing.items())
            rule = "be of this protocol, to be gone on with"
            raise ValueError(f"{self.path}: the file must {rule}, got one that differs in {shown_}")
        for number, receipt in found:
            if receipt.document in self.done:
                found.refuse(number, "name a document that no line before it names", receipt.document)
            self.done.add(receipt.document)
        self._ended = found.n_documents is not None
        return found.whole
