"""A receipt: what an evaluation found for one document, in one line of JSON.

    document       the id of the document, text or a whole number, each once
    nll_sum        its nll sum in nats: a number, or text as a Tally writes it, which loses no bit
    n_targets      its scored targets
    n_bytes, n_chars, n_words
                   what these targets cover, where it was counted
    n_documents    1, as a Tally writes it
    group          the group it belongs to (an author, a template), text or a whole number
    n_windows      how many windows it took
    n_eos, eos_nll how many of the targets are the end of the text, and their nll sum
    n_unk, unk_nll the same of the targets that the vocabulary does not have
    comment        anything
    check          in a file that names its protocol: see below

The first three are required.  A line is a Tally's to_dict() with a document id, and more where more is known.

The check is the first 64 bits of the sha256 of the protocol's digest and of the receipt as to_dict has it, so that a
value changed by hand is found, and a line that was measured under another protocol.  It is no signature: whoever
changes a value and computes the check again, as anybody can, is not found.
"""

__all__ = ["Receipt", "check_key", "check_of", "checked", "not_negative"]

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from refcalc import _check
from refcalc.evaluation.protocol import Protocol
from refcalc.exact_sum import ExactSum
from refcalc.tally import Tally

REQUIRED = ("document", "nll_sum", "n_targets")
COUNTS = ("n_bytes", "n_chars", "n_words")
PARTS = {"n_eos": "eos_nll", "n_unk": "unk_nll"}
KEYS = (*REQUIRED, *COUNTS, "n_documents", "group", "n_windows", "n_eos", "eos_nll", "n_unk", "unk_nll")
CHECK_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an evaluation found for one document; None is what was not counted.

    >>> receipt = Receipt("a", ExactSum([1.25, 0.25]), 2, n_bytes=3)
    >>> receipt.tally
    Tally(1.5, 2, n_bytes=3, n_documents=1)
    >>> Receipt.from_dict(receipt.to_dict()) == receipt
    True

    nll_sum, eos_nll, unk_nll: ExactSum, below 0 only by rounding, where a log-probability came out above 0.

    Raises ValueError for a count below 0, an nll sum without targets, and a part that has more targets than the whole;
    TypeError for what is of another kind.
    """

    document: str | int
    nll_sum: ExactSum
    n_targets: int
    n_bytes: int | None = None
    n_chars: int | None = None
    n_words: int | None = None
    group: str | int | None = None
    n_windows: int | None = None
    n_eos: int | None = None
    eos_nll: ExactSum | None = None
    n_unk: int | None = None
    unk_nll: ExactSum | None = None

    def __post_init__(self) -> None:
        _check_name("document", self.document)
        if self.group is not None:
            _check_name("group", self.group)
        for name in ("n_targets", *COUNTS, "n_windows", *PARTS):
            value = getattr(self, name)
            if value is not None or name == "n_targets":
                object.__setattr__(self, name, _check.count("Receipt", name, value))
        self._check_sum("nll_sum", "n_targets")
        for count, nll in PARTS.items():
            if getattr(self, count) is None and getattr(self, nll) is None:
                continue
            self._check_sum(nll, count)
            if getattr(self, count) > self.n_targets:
                _check.refuse("Receipt", count, f"be at most n_targets ({self.n_targets})", getattr(self, count))

    def _check_sum(self, nll: str, count: str) -> None:
        total, n = getattr(self, nll), getattr(self, count)
        if not isinstance(total, ExactSum):
            _check.refuse("Receipt", nll, "be an ExactSum", total, TypeError)
        if not n and total != ExactSum():
            _check.refuse("Receipt", count, f"be at least 1 where {nll} is not 0", n)

    @property
    def tally(self) -> Tally:
        """The nll sum and the counts; a sum that rounding brought below 0 is 0."""
        counts = {name: getattr(self, name) for name in COUNTS}
        return Tally(not_negative(self.nll_sum), self.n_targets, n_documents=1, **counts)

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON can hold it, without losing a bit; the group only where there is one."""
        record = {key: getattr(self, key, 1) for key in KEYS if key != "group" or self.group is not None}
        return {key: value.to_hex() if isinstance(value, ExactSum) else value for key, value in record.items()}

    @classmethod
    def from_dict(cls, record: Any, protocol: Protocol | None = None) -> "Receipt":
        """Return the receipt that to_dict described, or another program: in plain numbers, the unknown left out.

        protocol: what it must fit: counts of its units, and no nll below 0 by more than its dtype's rounding.

        Raises ValueError and TypeError for other keys, numbers that are text (but for "inf" and what to_dict writes),
        an nll below 0 and whatever Receipt refuses.
        """
        if not isinstance(record, dict):
            _check.refuse("Receipt", "record", "be a JSON object", record, TypeError)
        for key in record:
            if key not in (*KEYS, "comment", "check"):
                _check.refuse("Receipt", "record", f"have no keys but {', '.join(KEYS)}, comment", key)
        for key in REQUIRED:
            if record.get(key) is None:
                _check.refuse("Receipt", "record", f"have the key {key}", sorted(record))
        if record.get("n_documents") is not None and _check.whole("Receipt", "n_documents", record["n_documents"]) != 1:
            _check.refuse("Receipt", "n_documents", "be 1, for a receipt is of one document", record["n_documents"])
        values: dict[str, Any] = {key: record.get(key) for key in KEYS if key != "n_documents"}
        for nll in ("nll_sum", *PARTS.values()):
            if values[nll] is not None:
                values[nll] = _exact(nll, values[nll])
        receipt = cls(**values)
        receipt.check_under(protocol)
        return receipt

    def check_under(self, protocol: Protocol | None) -> None:
        """Refuse a part above the whole, what a protocol does not let happen, and without one an nll below 0.

        Below 0, and above the whole, there may be the rounding of the protocol's dtype.
        """
        least = 0.0 if protocol is None else protocol.least_nll
        for nll, count in (("nll_sum", "n_targets"), *((nll, count) for count, nll in PARTS.items())):
            total, n = getattr(self, nll), getattr(self, count)
            if n and float(total) < least * n:
                rule = "not be negative (an nll is minus a log-probability)"
                _check.refuse("Receipt", nll, rule if not least else f"{rule} beyond rounding", float(total))
            if n and float(total) > float(self.nll_sum) - least * self.n_targets:
                _check.refuse("Receipt", nll, f"be at most nll_sum ({float(self.nll_sum)!r})", float(total))
        if protocol is None:
            return
        for name in COUNTS:
            value, unit = getattr(self, name), name.removeprefix("n_")
            if (value is not None) != (unit in protocol.units):
                rule = f"be counted if and only if {unit!r} is among the protocol's units"
                _check.refuse("Receipt", name, rule, value)


def not_negative(total: ExactSum) -> ExactSum:
    """Return a sum, or 0 in place of one that rounding brought below it."""
    return total if float(total) >= 0.0 else ExactSum()


# --- the check -------------------------------------------------------------------------------------------------------


def check_key(protocol: Protocol) -> Any:
    """Return the hash that the check of every line goes on from."""
    return hashlib.sha256(protocol.digest.encode())


def checked(record: dict[str, Any], key: Any) -> bytes:
    """Return a record as a line of JSON that ends with its check."""
    body = json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    return b'%b,"check":"%b"}\n' % (body[:-1], check_of(body[:-1], key).encode())


def check_of(body: bytes, key: Any) -> str:
    """Return the check of a line without the brace, and what else, it ends with."""
    digest = key.copy()
    digest.update(body)
    result: str = digest.hexdigest()[:CHECK_DIGITS]
    return result


# --- private ---------------------------------------------------------------------------------------------------------


def _check_name(argument: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        _check.refuse("Receipt", argument, "be text or a whole number", value, TypeError)
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        _check.refuse("Receipt", argument, "be Unicode without lone surrogates", value)


def _exact(argument: str, value: Any) -> ExactSum:
    """Return a number as it is read from JSON: not text, but for what ExactSum writes."""
    if isinstance(value, str):
        try:
            return ExactSum.from_hex(value)
        except ValueError:
            _check.refuse("Receipt", argument, 'be a number, "inf" or an exact sum in hexadecimal', value)
    if isinstance(value, bool):
        _check.refuse("Receipt", argument, "be a number", value, TypeError)
    return ExactSum((_check.double("Receipt", argument, value),))
