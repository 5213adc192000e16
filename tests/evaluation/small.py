"""Small protocols and files of receipts for the tests of evaluations."""

__all__ = ["protocol", "receipt", "write"]

from pathlib import Path
from typing import Any

from refcalc import ExactSum
from refcalc.evaluation.log import ReceiptLog
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.receipt import Receipt

FIELDS: dict[str, Any] = {
    "vocab_size": 290,
    "tokenizer": "bpe-32",
    "corpus": "v1",
    "split": "test",
    "checkpoint": "step-80",
    "window": 24,
    "units": ("bytes",),
}


def protocol(**changes: Any) -> Protocol:
    return Protocol(**{**FIELDS, **changes})


def receipt(document: Any, nll_sum: float, n_targets: int, n_bytes: int | None = None, **more: Any) -> Receipt:
    sums = {name: ExactSum([more.pop(name)]) for name in ("eos_nll", "unk_nll") if name in more}
    return Receipt(document, ExactSum([nll_sum]), n_targets, n_bytes, **more, **sums)


def write(path: Path, under: Protocol, *receipts: Receipt, ended: bool = True) -> str:
    with ReceiptLog(str(path), under) as log:
        for each in receipts:
            log.write(each)
        if ended:
            log.end()
    return str(path)
