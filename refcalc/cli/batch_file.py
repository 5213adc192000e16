"""The batch format that all commands read: a JSON object whose keys are the keywords of a batch.

    logits           [B][T][V] or [T][V]: numbers inline, or an array file beside the JSON file
    tokens           [B][T] or [T]: token ids
    labels           like tokens: the targets before the shift, -100 where ignored; the tokens themselves if left out
    attention_mask   like tokens: 1 for a token, 0 for padding
    prompt_lengths   [B], or one number: tokens of each sequence that are a prompt and not scored
    document_ids     like tokens: the document of each token of a packed sequence
    text             the text of the scored targets, one string or a list of them: gives n_bytes, n_chars and n_words
    n_bytes, n_chars, n_words
                     or these counts themselves
    comment          anything

An array file is named by its path, relative to the JSON file ("logits.npy", "batch.safetensors"), or by an object
with the keywords of open_array: {"path": "logits.f32", "dtype": "float32", "shape": [2, 8, 50257]}.  It is read row by
row.  Numbers that are not finite are the strings "inf" and "-inf"; bare NaN and Infinity are refused.
"""

__all__ = ["BatchFile", "read_batch"]

from math import inf
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from refcalc import _check, _json
from refcalc.tally import text_counts

INFINITIES = {"inf": inf, "-inf": -inf}

KEYS = (
    "attention_mask",
    "comment",
    "document_ids",
    "labels",
    "logits",
    "n_bytes",
    "n_chars",
    "n_words",
    "prompt_lengths",
    "text",
    "tokens",
)


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


def read_batch(path: str) -> BatchFile:
    """Return the batch in a file.  What is wrong with its form is refused in a message that begins with the path."""
    try:
        record = _json.read(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: the file {error}") from None
    if not isinstance(record, dict):
        _check.refuse(path, "the file", "hold a JSON object", record, TypeError)
    for key in record:
        if key not in KEYS:
            _check.refuse(path, "every key", f"be one of {', '.join(KEYS)}", key)
    for key in ("logits", "tokens"):
        if record.get(key) is None:
            _check.refuse(path, "the file", f"have the key {key}", sorted(record))
    given = {key: record.get(key) for key in ("tokens", "labels", "attention_mask", "prompt_lengths", "document_ids")}
    return BatchFile(_logits(path, record["logits"]), **given, **_counts(path, record))


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
        stated[key] = None if count is None else _check.count(path, key, count, least=1)
    if record.get("text") is None:
        return stated
    texts = [record["text"]] if isinstance(record["text"], str) else record["text"]
    counts = [text_counts(path, f"text[{i}]", text) for i, text in enumerate(_check.items(path, "text", texts))]
    counted = {key: sum(count[key] for count in counts) for key in stated}
    for key, count in stated.items():
        if count is not None and count != counted[key]:
            _check.refuse(path, key, f"be the {counted[key]} that the text has", count)
    return {**counted}
