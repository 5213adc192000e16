"""The receipts that `bootstrap` reads: JSON lines, one document each.

    document       the id of the document, text or a whole number, each once
    nll_sum        its nll sum in nats: a number, or text as a Tally writes it
    n_targets      its scored targets
    n_bytes, n_chars, n_words
                   what these targets cover, where it was counted
    n_documents    1, as a Tally writes it
    group          the group it belongs to (an author, a template), text or a whole number
    comment        anything

A line is a Tally's to_dict() with a document id.  Documents without a target are left out, and counted.
"""

__all__ = ["Receipt", "read_receipts"]

from typing import Any, NamedTuple

from refcalc import _check, _json
from refcalc.cli import _files
from refcalc.exact_sum import ExactSum
from refcalc.tally import Tally

REQUIRED = ("document", "nll_sum", "n_targets")
COUNTS = ("n_bytes", "n_chars", "n_words", "n_documents")
KEYS = (*REQUIRED, *COUNTS, "group", "comment")


class Receipt(NamedTuple):
    """What one line says."""

    tally: Tally
    group: str | int | None


def read_receipts(path: str) -> dict[str | int, Receipt]:
    """Return the receipts in a file by document id, in their order; what is wrong is refused with path and line."""
    receipts: dict[str | int, Receipt] = {}
    text = _files.read_text(path, "the receipts")
    if not text.strip():
        _check.refuse(path, "the file", "hold at least one receipt", 0)
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        at = f"line {number}"
        try:
            record = _json.read(line)
        except ValueError as error:
            raise ValueError(f"{path}: {at} {str(error).replace('line 1, ', '')}") from None
        key, receipt = _receipt(path, at, record)
        if key in receipts:
            _check.refuse(path, at, "name a document that no line before it names", key)
        receipts[key] = receipt
    return receipts


def _receipt(path: str, at: str, record: Any) -> tuple[str | int, Receipt]:
    if not isinstance(record, dict):
        _check.refuse(path, at, "hold a JSON object", record, TypeError)
    for key in record:
        if key not in KEYS:
            _check.refuse(path, at, f"have no keys but {', '.join(KEYS)}", key)
    for key in REQUIRED:
        if record.get(key) is None:
            _check.refuse(path, at, f"have the key {key}", sorted(record))
    try:
        total = record["nll_sum"]
        nll_sum = ExactSum.from_hex(total) if isinstance(total, str) else total
        tally = Tally(nll_sum, record["n_targets"], **{key: record.get(key) for key in COUNTS})
    except (TypeError, ValueError) as refusal:
        raise type(refusal)(f"{path}: {at}: {refusal}") from None
    if tally.n_documents > 1:
        _check.refuse(path, at, "be one document (n_documents 1)", tally.n_documents)
    group = record.get("group")
    return _name(path, f"{at}: document", record["document"]), Receipt(
        tally, None if group is None else _name(path, f"{at}: group", group)
    )


def _name(path: str, argument: str, value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        _check.refuse(path, argument, "be text or a whole number", value, TypeError)
    return value
