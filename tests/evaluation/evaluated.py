"""Receipts for tests: written as an evaluation writes them."""

import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from refcalc import ExactSum
from refcalc.evaluation.log import ReceiptLog, Receipts
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.receipt import Receipt

PROTOCOL = {
    "vocab_size": 290,
    "tokenizer": "bpe",
    "corpus": "v1",
    "split": "test",
    "checkpoint": "step-80",
    "window": 24,
    "bos": "first",
    "bos_id": 0,
    "eos_id": 1,
    "eos_scored": True,
    "unk_id": 2,
    "units": ("bytes", "chars"),
}


def protocol(**changes: Any) -> Protocol:
    return Protocol(**{**PROTOCOL, **changes})


def receipt(document: str | int, nll: float, n_targets: int, **changes: Any) -> Receipt:
    """Return a receipt with one EOS, no UNK and some counts of text."""
    given = {"n_bytes": 10, "n_chars": 9, "n_eos": 1, "eos_nll": ExactSum(), "n_unk": 0, "unk_nll": ExactSum()}
    return Receipt(document, ExactSum([nll]), n_targets, **{**given, **changes})


def written(under: Protocol, *lines: Receipt) -> list[bytes]:
    """Return the lines of a file of receipts: the protocol, the receipts, their number."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "receipts.jsonl"
        receipts(under, *lines, path=str(path))
        return path.read_bytes().splitlines(keepends=True)


def twice(under: Protocol, line: Receipt) -> Receipts:
    """Return a file whose two receipts are the same."""
    first, second, end = written(under, line)
    return Receipts(BytesIO(first + second + second + end))


def receipts(under: Protocol, *lines: Receipt, path: str | None = None) -> Receipts:
    """Return complete receipts, in memory or in a file."""
    with ReceiptLog(path, under) as log:
        for line in lines:
            log.write(line)
        log.end()
    return log.receipts()
