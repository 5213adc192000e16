"""Which row predicts which token, and which targets count.

    T   positions of a sequence      V   classes
    row t of the logits has read tokens 0..t and predicts token t + 1

Labels are targets with a mark: a place that holds the ignore index is no target.  Masks and labels align with the
tokens *before* the shift.  All functions take one sequence or a batch of them (ragged in T), return new lists and leave
their input alone.  They only move and mark whole numbers: exact.
"""

__all__ = [
    "mask_document_starts",
    "mask_padding",
    "mask_prompt",
    "pad",
    "pair_mask",
    "shift",
    "shift_labels",
    "windows",
]

from collections.abc import Iterator, Sequence
from typing import Any

from refcalc import _check
from refcalc._check import Nested

IGNORE_INDEX = -100


def shift(logits: Nested, tokens: Nested) -> tuple[list[Any], list[Any]]:
    """Return the rows that predict a token, and the tokens they predict: ([T-1][V], [T-1]).

    logits: [T][V], or a batch of such.  tokens: [T], or a batch of such; token ids, whole numbers.

    The rows themselves are handed on, not copied.

    >>> shift([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], [1, 0, 1])
    ([[0.1, 0.2], [0.3, 0.4]], [0, 1])
    >>> shift([[0.1, 0.2]], [1])               # a sequence of one token has no pair
    ([], [])

    Raises ValueError if logits and tokens differ in length; TypeError if a token is no whole number.
    """

    def pairs(at: str, row: Sequence[Any], rows: Nested) -> tuple[list[Any], list[int]]:
        rows = _check.items("shift", "logits" + at, rows)
        _check.same_length("shift", "logits" + at, rows, "tokens" + at, len(row))
        return list(rows)[:-1], _check.wholes("shift", "tokens" + at, row)[1:]

    nested = _check.map_rows("shift", pairs, ("tokens", "logits"), (tokens, logits))
    return _unzip(nested) if isinstance(nested, list) else nested


def shift_labels(labels: Nested, ignore_index: int = IGNORE_INDEX) -> list[Any]:
    """Return labels moved one place to the left, the last place ignored: as long as the logits they are scored with.

    >>> shift_labels([5, 7, 2])
    [7, 2, -100]

    Raises TypeError if a label is no whole number.
    """
    ignored = _check.whole("shift_labels", "ignore_index", ignore_index)

    def shifted(at: str, row: Sequence[Any]) -> list[int]:
        marked = _check.wholes("shift_labels", "labels" + at, row)
        return [*marked[1:], ignored] if marked else []

    return _lists(_check.map_rows("shift_labels", shifted, ("labels",), (labels,)))


def mask_padding(labels: Nested, attention_mask: Nested, ignore_index: int = IGNORE_INDEX) -> list[Any]:
    """Return labels with the places ignored where the attention mask is 0.

    attention_mask: 0/1 or bool, nested like the labels.

    >>> mask_padding([5, 7, 0, 0], [1, 1, 0, 0])
    [5, 7, -100, -100]

    Raises ValueError if the mask differs in length or holds another number; TypeError for another kind.
    """
    ignored = _check.whole("mask_padding", "ignore_index", ignore_index)

    def masked(at: str, row: Sequence[Any], mask: Nested) -> list[int]:
        kept = _check.bits("mask_padding", "attention_mask" + at, mask)
        _check.same_length("mask_padding", "attention_mask" + at, kept, "labels" + at, len(row))
        marked = _check.wholes("mask_padding", "labels" + at, row)
        return [y if keep else ignored for y, keep in zip(marked, kept, strict=True)]

    names = ("labels", "attention_mask")
    return _lists(_check.map_rows("mask_padding", masked, names, (labels, attention_mask)))


def mask_prompt(labels: Nested, prompt_lengths: Nested, ignore_index: int = IGNORE_INDEX) -> list[Any]:
    """Return labels with each sequence's prompt ignored: its first prompt_length places that are not ignored yet.

    Padding on the left is no prompt, so mask it first; the count starts behind it.
    prompt_lengths: a whole number for one sequence, a list of them for a batch.

    >>> mask_prompt([[-100, 5, 7, 2]], [2])
    [[-100, -100, -100, 2]]
    >>> mask_prompt([5, 7], 3)
    Traceback (most recent call last):
    ValueError: mask_prompt: prompt_lengths must lie in [0, 2], the places from the first label on, got 3

    Raises ValueError if a prompt is longer than the sequence, or negative; TypeError for what is no whole number.
    """
    ignored = _check.whole("mask_prompt", "ignore_index", ignore_index)

    def masked(at: str, row: Sequence[Any], length: Nested) -> list[int]:
        marked = _check.wholes("mask_prompt", "labels" + at, row)
        start = next((t for t, y in enumerate(marked) if y != ignored), len(marked))
        places = len(marked) - start
        n = _check.whole("mask_prompt", "prompt_lengths" + at, length)
        if not 0 <= n <= places:
            rule = f"lie in [0, {places}], the places from the first label on"
            _check.refuse("mask_prompt", "prompt_lengths" + at, rule, n)
        return [*marked[:start], *[ignored] * n, *marked[start + n :]]

    names = ("labels", "prompt_lengths")
    return _lists(_check.map_rows("mask_prompt", masked, names, (labels, prompt_lengths)))


def mask_document_starts(labels: Nested, document_ids: Nested, ignore_index: int = IGNORE_INDEX) -> list[Any]:
    """Return the labels of packed documents with the first place of each document ignored, place 0 included.

    No row of a document predicts its first token: the row before belongs to another document.
    document_ids: whole numbers, nested like the labels; a document is a run of equal ids.

    >>> mask_document_starts([5, 7, 2, 9], [0, 0, 1, 1])
    [-100, 7, -100, 9]

    Raises ValueError if the ids differ in length; TypeError for what is no whole number.
    """
    ignored = _check.whole("mask_document_starts", "ignore_index", ignore_index)

    def masked(at: str, row: Sequence[Any], ids: Nested) -> list[int]:
        documents = _check.wholes("mask_document_starts", "document_ids" + at, ids)
        _check.same_length("mask_document_starts", "document_ids" + at, documents, "labels" + at, len(row))
        marked = _check.wholes("mask_document_starts", "labels" + at, row)
        starts = [t == 0 or documents[t] != documents[t - 1] for t in range(len(documents))]
        return [ignored if starts_here else y for y, starts_here in zip(marked, starts, strict=True)]

    names = ("labels", "document_ids")
    return _lists(_check.map_rows("mask_document_starts", masked, names, (labels, document_ids)))


def pad(sequences: Nested, value: int, side: str = "right") -> tuple[list[list[int]], list[list[int]]]:
    """Return the sequences filled up with value to the longest length, and the attention mask: 1 for a token, else 0.

    side: "right" fills up behind each sequence, "left" before it.

    >>> pad([[5, 7], [2]], 0)
    ([[5, 7], [2, 0]], [[1, 1], [1, 0]])
    >>> pad([[5, 7], [2]], 0, side="left")[1]
    [[1, 1], [0, 1]]

    Raises ValueError for another side; TypeError if a token or the value is no whole number.
    """
    _check.choice("pad", "side", side, ("left", "right"))
    filler = _check.whole("pad", "value", value)
    given = _check.items("pad", "sequences", sequences)
    rows = [_check.wholes("pad", f"sequences[{i}]", row) for i, row in enumerate(given)]
    longest = max(map(len, rows), default=0)

    def filled(row: list[int], fill: int) -> list[int]:
        more = [fill] * (longest - len(row))
        return [*row, *more] if side == "right" else [*more, *row]

    return [filled(row, filler) for row in rows], [filled([1] * len(row), 0) for row in rows]


def pair_mask(attention_mask: Nested) -> list[Any]:
    """Return for each place before the shift whether its label counts: it and the place before it are both unmasked.

    The label at place t + 1 is predicted by row t.  If either is padding there is no pair; place 0 has no row.

    >>> pair_mask([0, 1, 1, 0])                # padding on both sides: one pair, (1, 2)
    [0, 0, 1, 0]

    Raises ValueError for numbers other than 0 and 1; TypeError for other kinds.
    """

    def pairs(at: str, row: Sequence[Any]) -> list[int]:
        mask = _check.bits("pair_mask", "attention_mask" + at, row)
        return [int(t > 0 and mask[t - 1] and mask[t]) for t in range(len(mask))]

    return _lists(_check.map_rows("pair_mask", pairs, ("attention_mask",), (attention_mask,)))


def windows(
    tokens: Sequence[int],
    length: int,
    stride: int | None = None,
    *,
    bos: int | None = None,
    bos_in: str = "first",
    ignore_index: int = IGNORE_INDEX,
) -> Iterator[tuple[int, list[int], list[int]]]:
    """Yield the windows (start, inputs, targets) that together score every target of a long text exactly once.

    length: rows in a window: inputs and targets have that many places, fewer only in the last window.
    stride: new targets in each window after the first, in [1, length]; default length.  A smaller stride carries
        context: its rows are in the window again, their targets hold the ignore index.
    bos: a token to begin with.  Without it token 0 is no target, for no row predicts it; with it every token is one.
    bos_in: "first" puts it before the first window only, "every" at the head of each.
    start: where the window's tokens begin in `tokens`, the BOS not counted.

    Neighbours share one token: the last target of one window is the first input of the next.

    >>> list(windows([10, 11, 12, 13, 14], 3))
    [(0, [10, 11, 12], [11, 12, 13]), (3, [13], [14])]
    >>> list(windows([10, 11, 12, 13, 14], 3, stride=1))
    [(0, [10, 11, 12], [11, 12, 13]), (1, [11, 12, 13], [-100, -100, 14])]
    >>> list(windows([10, 11, 12, 13], 2, bos=1, bos_in="every"))
    [(0, [1, 10], [10, 11]), (2, [1, 12], [12, 13])]

    Raises ValueError, before the first window, if length is below 1, stride outside [1, length] (some target would be
    scored by no window), bos_in another name, or a token equal to the ignore index (it could not be told from a carried
    target); TypeError for what is no whole number.
    """
    n = _check.count("windows", "length", length, least=1)
    new = n if stride is None else _check.count("windows", "stride", stride, least=1)
    if new > n:
        _check.refuse("windows", "stride", f"be at most length ({n}), or targets between two windows are lost", new)
    _check.choice("windows", "bos_in", bos_in, ("first", "every"))
    ignored = _check.whole("windows", "ignore_index", ignore_index)
    ids = _check.wholes("windows", "tokens", tokens)
    if ignored in ids:
        _check.refuse("windows", f"tokens[{ids.index(ignored)}]", "not be the ignore index", ignored)
    sequence = ids if bos is None else [_check.whole("windows", "bos", bos), *ids]
    bos_in_windows = 0 if bos is None else 1 if bos_in == "first" else len(sequence)
    return _windows(sequence, n, new, bos_in_windows, ignored)


# --- private ---------------------------------------------------------------------------------------------------------


def _windows(
    sequence: list[int], length: int, new: int, with_bos: int, ignored: int
) -> Iterator[tuple[int, list[int], list[int]]]:
    """The windows of a sequence that begins with a BOS if with_bos, the number of windows that do, is not 0.

    Row r reads sequence[r] and predicts sequence[r + 1].  The window at row r holds the rows r .. r + length - 1; what
    comes before `scored` was scored by the windows before it.  In a later window with a BOS, that stands in for
    sequence[r], the token which its first row would have read.
    """
    rows = len(sequence) - 1
    scored = 0
    for number, first in enumerate(range(0, rows, new)):
        if scored == rows:  # the windows before reached the end
            return
        end = min(first + length, rows)
        inputs, targets = sequence[first:end], sequence[first + 1 : end + 1]
        if number < with_bos:
            inputs[0] = sequence[0]
        bos_before = 1 if with_bos and number >= with_bos else 0
        carried = scored - first
        yield first - bos_before, inputs, [*[ignored] * carried, *targets[carried:]]
        scored = end


def _lists(nested: Any) -> list[Any]:
    result: list[Any] = nested
    return result


def _unzip(nested: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return a nest of pairs as a pair of nests."""
    pairs = [_unzip(each) if isinstance(each, list) else each for each in nested]
    return [rows for rows, _ in pairs], [ids for _, ids in pairs]
