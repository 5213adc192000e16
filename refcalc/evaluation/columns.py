"""Receipts read many at once, where their lines are as ReceiptLog writes them.

A line that is written as ReceiptLog writes it is read by a regular expression, which is as strict as JSON and faster;
whatever does not match is read again by Receipts, which also says what is wrong.
"""

__all__ = ["NUMBERS", "SUMS", "Columns", "Row", "in_json", "read_columns", "read_ids", "read_rows"]

import json
import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import repeat
from typing import Any, NamedTuple

from refcalc.evaluation.reading import Receipts
from refcalc.evaluation.receipt import CHECK_DIGITS, COUNTS, KEYS, PARTS, Receipt, check_of, not_negative

CHECK_LENGTH = len(b',"check":""}\n') + CHECK_DIGITS
SUMS = ("nll_sum", *PARTS.values())
NUMBERS = ("n_targets", *COUNTS, "n_windows", *PARTS)

ESCAPE = r'\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))'  # as json.dumps has it, so that an id is written in one way
NAME = rf'"[^"\\\x00-\x1f]*(?:{ESCAPE}[^"\\\x00-\x1f]*)*"|0|-?[1-9]\d{{0,99}}'
HEAD = re.compile(rf'{{"document":({NAME}),'.encode())

Columns = Mapping[str, tuple[bytes, ...]]  # by field; a sum is a whole number in hexadecimal and, "_power", one of two


class Row(NamedTuple):
    """What a receipt says, its nll sum rounded once, and 0 in place of one that rounding brought below it."""

    document: str | int
    nll: float
    n_targets: int
    n_bytes: int | None
    n_chars: int | None
    n_words: int | None
    n_eos: int | None
    n_unk: int | None


def read_columns(receipts: Receipts) -> Iterator[Columns | Receipt]:
    """Yield the receipts of a file, many at once by columns, or one by itself; that the file is complete is not seen.

    Without a protocol, as other programs write them, they come one by one.
    """
    if receipts.protocol is None:
        yield from (receipt for _, receipt in receipts)
        return
    first = next(iter(receipts), None)
    key, written, number = receipts.key, _written(first and first[1]), 2
    for block in receipts.blocks():
        rows = written.findall(block)
        if not _are_all(rows, block, key):
            rows = []
            for at, line in enumerate(BytesIO(block), number):
                row = written.findall(line)
                if _are_all(row, line, key):
                    rows += row
                else:
                    receipt = receipts.receipt(at, line)
                    if receipt is not None:  # the line that counts them
                        yield receipt
        if rows:
            yield dict(zip(written.groupindex, zip(*rows, strict=True), strict=True))
        number += block.count(b"\n")


def read_rows(receipts: Receipts) -> Iterator[Row]:
    """Yield what the receipts of a file say, in no order; a file that is not complete is refused at its end."""
    found = 0
    for each in read_columns(receipts):
        if isinstance(each, Receipt):
            found += 1
            nll = float(not_negative(each.nll_sum))
            yield Row(each.document, nll, *(getattr(each, name) for name in Row._fields[2:]))
            continue
        n = len(each["n_targets"])
        found += n
        powers = map(int, each["nll_sum_power"])
        nlls = map(_rounded, map(int, each["nll_sum"], repeat(16)), powers)
        counts = (map(int, each[name]) if name in each else repeat(None, n) for name in Row._fields[2:])
        yield from map(Row, map(_id, each["document"]), nlls, *counts)
    receipts.finish(found)


def read_ids(receipts: Receipts) -> Iterator[tuple[int, bytes]]:
    """Yield the number of each line and the id that it names, in JSON; the rest of a line is not looked at."""
    for number, line in receipts.lines():
        head = HEAD.match(line)
        if head:
            yield number, head[1]
            continue
        receipt = receipts.receipt(number, line)
        if receipt is not None:
            yield number, in_json(receipt.document)


def in_json(document: str | int) -> bytes:
    """Return an id as it stands in a line."""
    return json.dumps(document, ensure_ascii=False).encode()


# --- private ---------------------------------------------------------------------------------------------------------


def _id(text: bytes) -> str | int:
    """Return an id as it stands in a line."""
    if b"\\" in text:
        return str(json.loads(text))
    return text[1:-1].decode() if text.startswith(b'"') else int(text)


def _rounded(whole: int, power: int) -> float:
    """Return whole times 2**power, rounded once; what _written finds is below 2**420."""
    return whole / (1 << -power) if power < 0 else float(whole << power)


def _are_all(rows: list[tuple[bytes, ...]], block: bytes, key: Any) -> bool:
    """Return whether the rows that were found are all that a block of UTF-8 holds, and their checks are right."""
    if sum(len(row[0]) + CHECK_LENGTH for row in rows) < len(block):
        return False
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return "".join(check_of(row[0], key) for row in rows) == b"".join(row[-1] for row in rows).decode()


def _written(first: Receipt | None) -> re.Pattern[bytes]:
    """Return what finds the lines that ReceiptLog writes, with the fields that a first receipt has.

    Left to Receipts are lines with other fields, sums that are negative, infinite or of more than 320 bits, and counts
    of more than 15 digits.
    """
    counted = {key for key in KEYS if getattr(first, key, 1) is not None} | {"group"}
    patterns = {"document": f"(?P<document>{NAME})", "n_documents": "1", "group": f"(?:{NAME})"}
    for name in NUMBERS:
        patterns[name] = rf"(?P<{name}>0|[1-9]\d{{0,14}})"
    for name in SUMS:
        patterns[name] = rf'"0x(?P<{name}>[0-9a-f]{{1,80}})p(?P<{name}_power>-\d{{1,4}}|\+\d{{1,2}})"'
    fields = []
    for key in KEYS:
        field = f'"{key}":{patterns[key] if key in counted else "null"},'
        fields.append(f"(?:{field})?" if key == "group" else field)
    body = "".join(fields).removesuffix(",")
    return re.compile(rf'(?P<body>{{{body}),"check":"(?P<check>[0-9a-f]{{{CHECK_DIGITS}}})"}}\n'.encode())
