"""Documents in files: a line of JSON each, read as a stream."""

__all__ = ["read_documents"]

import re
from collections.abc import Iterator
from typing import Any

from refcalc import _check, _json

BAD_BYTE = re.compile("[\udc80-\udcff]")  # as "surrogateescape" writes it


def read_documents(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, document) of each line of a file, one line in memory at a time; blank lines are passed over.

    A byte of a text that is no UTF-8 is kept as the lone surrogate that stands for it: Corpus finds and places it.

    Raises ValueError for a file that cannot be read or holds no document, and for a line that is no JSON object or no
    UTF-8 outside of its text, by its number.
    """
    found = 0
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    found += 1
                    yield f"{path}: line {number}", _record(path, number, line)
    except OSError as error:
        raise ValueError(f"{path}: the documents must be a file that can be read, got {error.strerror}") from None
    if not found:
        _check.refuse(path, "the file", "hold at least one document", 0)


# --- private ---------------------------------------------------------------------------------------------------------


def _record(path: str, number: int, line: bytes) -> dict[str, Any]:
    bad = _first_bad_byte(line)
    text = line.decode("utf-8", "surrogateescape")
    record = _json.read_line(path, number, text)
    if not isinstance(record, dict):
        _check.refuse(path, f"line {number}", "hold a JSON object", record, TypeError)
    if bad is not None and BAD_BYTE.findall(text) != BAD_BYTE.findall(str(record.get("text"))):
        raise ValueError(f"{path}: line {number} must be UTF-8 outside of its text, got a bad byte at offset {bad}")
    return record


def _first_bad_byte(line: bytes) -> int | None:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None
