"""The batch format that all commands read: a JSON object whose keys are the keywords of a batch.

    logits           [B][T][V] or [T][V]: numbers inline, or an array file beside the JSON file
    tokens           [B][T] or [T]: token ids
    labels           like tokens: the targets before the shift, -100 where ignored; the tokens themselves if left out
    attention_mask   like tokens: 1 for a token, 0 for padding
    prompt_lengths   [B], or one number: tokens of each sequence that are a prompt and not scored
    document_ids     like tokens: the document of each token of a packed sequence
    groups           lists of indices of sequences: each list is one micro-batch, or what one rank holds
    weight, label_smoothing
                     options of the loss, as cross_entropy defines them
    vocab_size       the classes that exist, where rows of logits are padded
    ignore_index     what labels hold where they are ignored, if not -100
    bos_id, eos_id, pad_id, unk_id
                     ids with a meaning; a BOS after a BOS at the head is no target
    window, stride, max_length, aux, pieces
                     how the text was read, and what else a mistake may need: see refcalc.Batch
    text             the text of the scored targets, one string or a list of them: gives n_bytes, n_chars and n_words
    n_bytes, n_chars, n_words
                     or these counts themselves, for all sequences or a list with one for each
    comment          anything

With nll, [D][n] or [n], instead of logits and tokens, it holds records: the nll of each scored token, and mask.

An array file is named by its path, relative to the JSON file ("logits.npy", "batch.safetensors"), or by an object
with the keywords of open_array: {"path": "logits.f32", "dtype": "float32", "shape": [2, 8, 50257]}.  It is read row by
row.  Numbers that are not finite are the strings "inf" and "-inf"; bare NaN and Infinity are refused.
"""

__all__ = ["BatchFile", "read_batch", "read_evidence"]

from math import inf
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from refcalc import _check, _json
from refcalc.evidence import Batch, Records
from refcalc.tally import text_counts
from refcalc.targets import IGNORE_INDEX

INFINITIES = {"inf": inf, "-inf": -inf}

TEXT_KEYS = ("groups", "n_bytes", "n_chars", "n_words", "text", "pieces", "window", "stride", "max_length", "aux")
PLACE_KEYS = ("tokens", "labels", "attention_mask", "prompt_lengths", "document_ids")
LOSS_KEYS = ("weight", "label_smoothing", "vocab_size", "ignore_index", "bos_id", "eos_id", "pad_id", "unk_id")
RECORD_KEYS = tuple(sorted(("comment", "mask", "nll", *TEXT_KEYS)))
KEYS = tuple(sorted(("comment", "logits", *TEXT_KEYS, *PLACE_KEYS, *LOSS_KEYS)))


class BatchFile(NamedTuple):
    """What a batch file says, nested as it is there; what it leaves out is None."""

    logits: Any  # [B][T][V] or [T][V]
    tokens: Any  # [B][T] or [T]
    labels: Any = None
    attention_mask: Any = None
    prompt_lengths: Any = None
    document_ids: Any = None
    n_bytes: int | None = None
    n_chars: int | None = None
    n_words: int | None = None
    weight: Any = None
    label_smoothing: float = 0.0


def read_evidence(path: str) -> Batch | Records:
    """Return what a file holds as evidence: records where it has nll, else a batch."""
    record = _record(path)
    given = {key: value for key, value in record.items() if key != "comment" and value is not None}
    try:
        if "nll" in given:
            return Records(_numbers(given.pop("nll")), **given)
        return Batch(_logits(path, given.pop("logits")), given.pop("tokens"), **given)
    except (TypeError, ValueError) as refusal:
        text = str(refusal)
        raise type(refusal)(text if text.startswith(path) else f"{path}: {text}") from None


def read_batch(path: str) -> BatchFile:
    """Return the batch in a file.  What is wrong with its form is refused in a message that begins with the path."""
    record = _record(path)
    if "nll" in record:
        _check.refuse(path, "the file", "have logits and tokens, not the nll of records", sorted(record))
    given: dict[str, Any] = {key: record.get(key) for key in PLACE_KEYS}
    given["labels"] = _labels(path, record)
    given.update(_counts(path, record))
    given.update(weight=record.get("weight"), label_smoothing=record.get("label_smoothing") or 0.0)
    return BatchFile(_real_classes(path, record), **given)


# --- private ---------------------------------------------------------------------------------------------------------


def _record(path: str) -> dict[str, Any]:
    """Return the JSON object of a file, its keys checked."""
    try:
        record = _json.read(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: the file {error}") from None
    if not isinstance(record, dict):
        _check.refuse(path, "the file", "hold a JSON object", record, TypeError)
    keys = RECORD_KEYS if "nll" in record else KEYS
    for key in record:
        if key not in keys:
            _check.refuse(path, "every key", f"be one of {', '.join(keys)}", key)
    for key in () if "nll" in record else ("logits", "tokens"):
        if record.get(key) is None:
            _check.refuse(path, "the file", f"have the key {key}", sorted(record))
    return record


def _real_classes(path: str, record: dict[str, Any]) -> Any:
    """Return the logits without the classes that pad the vocabulary."""
    logits = _logits(path, record["logits"])
    if record.get("vocab_size") is None:
        return logits
    size = _check.count(path, "vocab_size", record["vocab_size"], least=1)
    return _check.map_rows(path, lambda at, row: list(row)[:size], ("logits",), (logits,))


def _labels(path: str, record: dict[str, Any]) -> Any:
    """Return the labels with -100 where ignored, also where a BOS follows a BOS at the head; None if not given."""
    if record.get("ignore_index") is None and record.get("bos_id") is None:
        return record.get("labels")
    from refcalc.mistakes.reading import Reading  # noqa: PLC0415 (few batches have these keys)

    evidence = read_evidence(path)
    assert isinstance(evidence, Batch)
    given = evidence.tokens if evidence.given_labels is None else evidence.given_labels
    run = Reading(evidence)
    labels = [
        [IGNORE_INDEX if y == evidence.ignore_index or run.second_bos(b, p) else y for p, y in enumerate(row)]
        for b, row in enumerate(given)
    ]
    return labels if _check.is_sequence(record["tokens"][0]) else labels[0]


def _logits(path: str, logits: Any) -> Any:
    """Return inline logits with the strings for infinities turned into floats, or the array file they name."""
    if isinstance(logits, list):
        return _numbers(logits)
    keywords = {"path": logits} if isinstance(logits, str) else logits
    if not isinstance(keywords, dict) or not isinstance(keywords.get("path"), str):
        _check.refuse(path, "logits", 'be nested numbers, a path, or an object with "path"', logits, TypeError)
    unknown = sorted(set(keywords) - {"path", "dtype", "shape", "tensor"})
    if unknown:
        _check.refuse(path, "logits", "have the keys path, dtype, shape and tensor only", unknown)
    beside = PurePath(keywords["path"])
    if beside.is_absolute() or ".." in beside.parts:
        _check.refuse(path, "logits", "be an array file beside the batch file", keywords["path"])
    from refcalc.arrays import open_array  # noqa: PLC0415 (most batches are inline)

    try:
        return open_array(Path(path).parent / beside, **{key: keywords[key] for key in keywords if key != "path"})
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path}: logits: {error}") from None


def _numbers(value: Any) -> Any:
    """Return nested numbers with "inf" and "-inf" read; other text stays, to be refused by its place."""
    if isinstance(value, list):
        plain = not any(isinstance(each, (str, list)) for each in value)
        return value if plain else [_numbers(each) for each in value]
    return INFINITIES.get(value, value) if isinstance(value, str) else value


def _counts(path: str, record: dict[str, Any]) -> dict[str, int | None]:
    """Return n_bytes, n_chars and n_words, as stated or as the text has them."""
    stated = {key: record.get(key) for key in ("n_bytes", "n_chars", "n_words")}
    for key, count in stated.items():
        total = sum(_check.wholes(path, key, count)) if isinstance(count, list) else count
        stated[key] = None if total is None else _check.count(path, key, total, least=1)
    if record.get("text") is None:
        return stated
    texts = [record["text"]] if isinstance(record["text"], str) else record["text"]
    counts = [text_counts(path, f"text[{i}]", text) for i, text in enumerate(_check.items(path, "text", texts))]
    counted = {key: sum(count[key] for count in counts) for key in stated}
    for key, count in stated.items():
        if count is not None and count != counted[key]:
            _check.refuse(path, key, f"be the {counted[key]} that the text has", count)
    return {**counted}
