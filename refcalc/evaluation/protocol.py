"""Everything that changes an evaluation's number, or what the number is worth, frozen before the run.

Two numbers compare when their protocols say that they measured the same thing; a number counts when its protocol says
what has to be done to get it again.
"""

__all__ = ["Protocol", "file_digest", "text_digest"]

import hashlib
import json
from dataclasses import dataclass, fields
from typing import Any

from refcalc import _check, _json, _rounding
from refcalc.evaluation.criteria import Criterion, criteria_of

UNITS = ("bytes", "chars", "words")
LARGEST_LOGIT = 64.0
DIGESTED = ("tokenizer", "corpus", "checkpoint")


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How an evaluation is done: two that are equal have the same digest.

    vocab_size: V, the classes that a row of scores has.
    tokenizer, corpus, checkpoint: digests, as file_digest gives them, or another text that identifies them for good.
    split: its name; looks: how often it was looked at before this run.  A test set that was used to choose has become a
        validation set.
    window: the most rows that the model is given at once; stride: the new targets in each window after the first
        (None: window).  What is left, carried_context, is read again and not scored.
    bos: where bos_id, which is not among a document's tokens, is put: "none", before the "first" window, or at the head
        of "every" one.  Without it a document's first token is no target.
    bos_scored: whether a target that is bos_id counts (one that stands among a document's tokens).
    eos_id, eos_scored: whether a target that is eos_id counts; if so, every document must end with it.  Where bos_id is
        the same id, as in GPT-2, it is the end wherever it is a target.
    unk_id: the token for what the vocabulary does not have.  It counts, and is counted.
    ignore_index: the mark of what is no target.
    units: which of "bytes", "chars" and "words" of the original text are counted; text: whether they are those of the
        "whole" document, or of what is "scored" only.
    word_rule: what a word is; refcalc counts the runs of what is no white space.
    dtype: of the scores.  log_base: of log-probabilities, "e", "2" or "10"; receipts are in nats whatever it is.
    criteria: what was to count as success, see refcalc.evaluation.criteria.

    >>> digests = {"tokenizer": "bpe-32", "corpus": "v1", "checkpoint": "step-80"}
    >>> protocol = Protocol(vocab_size=290, split="test", window=24, **digests)
    >>> protocol.stride, protocol.carried_context, Protocol.from_json(protocol.to_json()) == protocol
    (24, 0, True)

    Raises ValueError for a value out of range, an unknown name and ids or strides that do not fit the rest; TypeError
    for what is of another kind.
    """

    vocab_size: int
    tokenizer: str
    corpus: str
    split: str
    checkpoint: str
    window: int
    stride: int | None = None
    bos: str = "none"
    bos_id: int | None = None
    bos_scored: bool = False
    eos_id: int | None = None
    eos_scored: bool = False
    unk_id: int | None = None
    ignore_index: int = -100
    units: tuple[str, ...] = UNITS
    text: str = "whole"
    word_rule: str = "white space"
    dtype: str = "float32"
    log_base: str = "e"
    looks: int = 0
    criteria: tuple[Criterion, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("vocab_size", 1), ("window", 1), ("looks", 0)):
            self._set(name, _check.count("Protocol", name, getattr(self, name), least))
        for name in (*DIGESTED, "split", "word_rule"):
            _check_text(name, getattr(self, name))
        stride = self.window if self.stride is None else _check.count("Protocol", "stride", self.stride, 1)
        if stride > self.window:
            _check.refuse("Protocol", "stride", f"be at most window ({self.window})", stride)
        self._set("stride", stride)
        for name, names in (("bos", ("none", "first", "every")), ("text", ("whole", "scored"))):
            _check.choice("Protocol", name, getattr(self, name), names)
        _check.choice("Protocol", "dtype", self.dtype, tuple(_rounding.FORMATS))
        _check.choice("Protocol", "log_base", self.log_base, ("e", "2", "10"))
        self._check_ids()
        self._set("units", _units(self.units))
        if not isinstance(self.criteria, tuple) or not all(isinstance(each, Criterion) for each in self.criteria):
            rule = "be a tuple of Criterion, as read_criteria gives it"
            _check.refuse("Protocol", "criteria", rule, self.criteria, TypeError)
        tables = {each.name: each.to_dict() for each in self.criteria}
        if len(tables) < len(self.criteria):
            _check.refuse("Protocol", "criteria", "have a name each", [each.name for each in self.criteria])
        self._set("criteria", criteria_of("Protocol", "criteria", tables))

    def _check_ids(self) -> None:
        for name in ("bos_id", "eos_id", "unk_id"):
            if getattr(self, name) is not None:
                self._set(name, _check.target("Protocol", name, getattr(self, name), self.vocab_size))
        self._set("ignore_index", _check.whole("Protocol", "ignore_index", self.ignore_index))
        for name, needs in (("bos_scored", "bos_id"), ("eos_scored", "eos_id")):
            if not isinstance(getattr(self, name), bool):
                _check.refuse("Protocol", name, "be True or False", getattr(self, name), TypeError)
            if getattr(self, name) and getattr(self, needs) is None:
                _check.refuse("Protocol", needs, f"be given where {name} is True", None)
        if self.bos != "none" and self.bos_id is None:
            _check.refuse("Protocol", "bos_id", f"be given where bos is {self.bos!r}", None)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def carried_context(self) -> int:
        """The rows of a later window that are read again and not scored: window - stride."""
        return self.window - (self.stride or self.window)

    @property
    def unscored(self) -> frozenset[int]:
        """The tokens that are no targets, wherever they stand; one id for BOS and EOS is the EOS."""
        scored = {self.bos_id: self.bos_scored, self.eos_id: self.eos_scored}
        return frozenset(token for token, counts in scored.items() if token is not None and not counts)

    @property
    def digest(self) -> str:
        """The sha256 of to_json(), which is canonical."""
        return text_digest(self.to_json())

    @property
    def least_nll(self) -> float:
        """How far below 0 rounding can bring the nll of a target: log p of logits up to 64, computed in dtype."""
        allowed = _rounding.limit("Protocol", dtype=self.dtype, classes=self.vocab_size, scale=LARGEST_LOGIT)
        return -allowed.fixed

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        result = {each.name: getattr(self, each.name) for each in fields(self)}
        criteria = {each.name: each.to_dict() for each in self.criteria}
        return {**result, "units": list(self.units), "criteria": criteria}

    def to_json(self) -> str:
        """Return the protocol in one line of JSON: equal protocols give equal texts."""
        return json.dumps(self.to_dict(), separators=(",", ":"), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Protocol":
        """Return the protocol that to_json wrote.

        Raises ValueError for another set of keys, and whatever Protocol refuses; TypeError for what is no text.
        """
        if not isinstance(text, str):
            _check.refuse("Protocol.from_json", "text", "be text", text, TypeError)
        try:
            record = _json.read(text)
        except ValueError as error:
            raise ValueError(f"Protocol.from_json: text {error}") from None
        return cls.from_dict(record)

    @classmethod
    def from_dict(cls, record: Any) -> "Protocol":
        """Return the protocol that to_dict described: all of its keys, and no others."""
        if not isinstance(record, dict):
            _check.refuse("Protocol", "record", "be a JSON object", record, TypeError)
        names = [each.name for each in fields(cls)]
        for name in [*record, *names]:
            if name not in record or name not in names:
                rule = "be given" if name in names else "be a field of Protocol, which it is not"
                _check.refuse("Protocol", name, rule, record.get(name))
        criteria = criteria_of("Protocol", "criteria", record["criteria"])
        return cls(**{**record, "units": _units(record["units"]), "criteria": criteria})

    def differences(self, other: "Protocol") -> dict[str, tuple[Any, Any]]:
        """Return the fields in which two protocols differ, with both values: ours, theirs."""
        ours, theirs = self.to_dict(), other.to_dict()
        return {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}


def file_digest(path: str) -> str:
    """Return "sha256:..." of the bytes of a file: of a checkpoint, a tokenizer, a corpus."""
    with open(_check.file("file_digest", "path", path), "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def text_digest(text: str) -> str:
    """Return "sha256:..." of the UTF-8 bytes of a text.

    >>> text_digest("abc")[:19]
    'sha256:ba7816bf8f01'
    """
    if not isinstance(text, str):
        _check.refuse("text_digest", "text", "be text", text, TypeError)
    try:
        return f"sha256:{hashlib.sha256(text.encode('utf-8')).hexdigest()}"
    except UnicodeEncodeError:
        _check.refuse("text_digest", "text", "be Unicode without lone surrogates", text)


# --- private ---------------------------------------------------------------------------------------------------------


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        _check.refuse("Protocol", name, "be text", value, TypeError)
    if not value.strip():
        _check.refuse("Protocol", name, "not be empty", value)
    text_digest(value)


def _units(units: Any) -> tuple[str, ...]:
    """Return the units in their own order, each once."""
    if not isinstance(units, (list, tuple)):
        _check.refuse("Protocol", "units", "be a tuple of names", units, TypeError)
    for i, unit in enumerate(units):
        _check.choice("Protocol", f"units[{i}]", unit, UNITS)
    return tuple(unit for unit in UNITS if unit in units)
