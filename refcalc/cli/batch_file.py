"""The batch format that the commands of losses and mistakes read: JSON whose keys are the keywords of a batch."""

__all__ = ["FORMAT", "read_batch", "read_evidence"]

from math import inf, nan
from pathlib import Path, PurePath
from typing import Any

from refcalc import _check, _json
from refcalc.evidence import Batch, Records

FORMAT = """The file is a JSON object whose keys are the keywords of a batch:

    logits           [B][T][V] or [T][V]: numbers inline, or an array file
                     beside the JSON file
    tokens           [B][T] or [T]: token ids
    labels           like tokens: the targets before the shift, -100 where
                     ignored; the tokens themselves if left out
    attention_mask   like tokens: 1 for a token, 0 for padding
    prompt_lengths   [B] (one number beside a single [T]): tokens of each
                     sequence that are a prompt and not scored
    document_ids     like tokens: the document of each token of a packed
                     sequence
    groups           lists of indices of sequences: each list is one
                     micro-batch, or what one rank holds
    weight, label_smoothing
                     options of the loss, as cross_entropy defines them
    vocab_size       the classes that exist, where rows of logits are padded
    ignore_index     what labels hold where they are ignored, if not -100
    bos_id, eos_id, pad_id, unk_id
                     ids with a meaning; a BOS after a BOS at the head is no
                     target
    window, stride, max_length, aux, pieces
                     how the text was read, and what else a mistake may need:
                     see refcalc.Batch
    text             the text of the scored targets, one string or a list with
                     one for each sequence: gives n_bytes, n_chars and n_words
    n_bytes, n_chars, n_words
                     or these counts themselves, for all sequences or a list
                     with one for each
    comment          anything

With nll, [D][n] or [n], instead of logits and tokens, it holds records: the nll
of each scored token, and mask.

An array file is named by its path, relative to the JSON file ("logits.npy",
"batch.safetensors"), or by an object with the keywords of open_array:
{"path": "logits.f32", "dtype": "float32", "shape": [2, 8, 50257]}.  It is read
row by row.  Numbers that are not finite are the strings "inf", "-inf" and, in
rows that are not scored, "nan"; bare NaN and Infinity are refused.
"""

NOT_FINITE = {"inf": inf, "-inf": -inf, "nan": nan}

TEXT_KEYS = ("groups", "n_bytes", "n_chars", "n_words", "text", "pieces", "window", "stride", "max_length", "aux")
PLACE_KEYS = ("tokens", "labels", "attention_mask", "prompt_lengths", "document_ids")
LOSS_KEYS = ("weight", "label_smoothing", "vocab_size", "ignore_index", "bos_id", "eos_id", "pad_id", "unk_id")
RECORD_KEYS = tuple(sorted(("comment", "mask", "nll", *TEXT_KEYS)))
KEYS = tuple(sorted(("comment", "logits", *TEXT_KEYS, *PLACE_KEYS, *LOSS_KEYS)))


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
        kind = TypeError if isinstance(refusal, TypeError) else ValueError  # their subclasses take other arguments
        raise kind(text if text.startswith(path) else f"{path}: {text}") from None


def read_batch(path: str) -> Batch:
    """Return the batch in a file; records are refused.  Refusals begin with the path."""
    evidence = read_evidence(path)
    if not isinstance(evidence, Batch):
        _check.refuse(path, "the file", "have logits and tokens, not the nll of records", evidence)
    return evidence


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
    except TypeError as error:
        raise TypeError(f"{path}: logits: {error}") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: logits: {error}") from None


def _numbers(value: Any) -> Any:
    """Return nested numbers with "inf", "-inf" and "nan" read.

    Other text stays, and true and false become text, to be refused by their place.
    """
    if isinstance(value, list):
        plain = not any(isinstance(each, (str, list, bool)) for each in value)
        return value if plain else [_numbers(each) for each in value]
    if isinstance(value, bool):
        return str(value).lower()
    return NOT_FINITE.get(value, value) if isinstance(value, str) else value
