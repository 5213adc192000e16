"""What a reported number was computed from: a batch of logits, or the losses of tokens that somebody logged.

    B  sequences, called rows in groups     T  places of a sequence     V  classes

Both are read-only once made, and hold what was given: logits are neither copied nor read here.
"""

__all__ = ["Batch", "Evidence", "Records"]

from collections.abc import Sequence
from typing import Any

from refcalc import _check
from refcalc._check import Nested
from refcalc.tally import text_counts
from refcalc.targets import IGNORE_INDEX, mask_document_starts, mask_padding, mask_prompt

COUNTS = ("n_bytes", "n_chars", "n_words")


class Evidence:
    """What Batch and Records share: rows of places, groups of rows, and counts of the text that was scored."""

    lengths: list[int]  # T of each row
    groups: list[list[int]] | None
    counts: dict[str, list[int] | None]  # n_bytes, n_chars, n_words: one for each row, or a single one for all
    pieces: list[bytes] | None
    text: list[str] | None
    window: int | None
    stride: int | None
    max_length: int | None
    aux: float

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}: {name} cannot be set, evidence does not change")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.lengths)} rows, {sum(self.lengths)} places>"

    def _keep(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def total(self, name: str) -> int | None:
        """Return the count of all rows together, or None if it was not given."""
        counts = self.counts[name]
        return None if counts is None else sum(counts)

    def _keep_shared(self, groups: Nested, text: Any, pieces: Any, stated: dict[str, Any], **sizes: Any) -> None:
        name, rows = type(self).__name__, len(self.lengths)
        texts = None if text is None else [text] if isinstance(text, str) else list(_check.items(name, "text", text))
        counts = {key: _counts(name, key, value, rows) for key, value in stated.items()}
        if texts is not None:
            counted = [text_counts(name, f"text[{i}]", each) for i, each in enumerate(texts)]
            for key, given in counts.items():
                found = [count[key] for count in counted]
                if given is not None and sum(given) != sum(found):
                    _check.refuse(name, key, f"be the {sum(found)} that the text has", sum(given))
                counts[key] = found if given is None else given
        self._keep(groups=_groups(name, groups, rows), counts=counts, text=texts, pieces=_pieces(name, pieces))
        for key in ("window", "stride", "max_length"):
            value = sizes[key]
            self._keep(**{key: None if value is None else _check.count(name, key, value, least=1)})
        if self.stride is not None and (self.window is None or self.stride > self.window):
            _check.refuse(name, "stride", f"be at most window ({self.window})", self.stride)
        aux = _check.not_negative(name, "aux", sizes["aux"], finite=True)
        self._keep(aux=aux)


class Batch(Evidence):
    """Logits, the tokens they were to predict, and everything that decides which of them count.

    logits: [B][T][V], or [T][V] for one sequence; row t has read tokens 0..t.
    tokens: [B][T], token ids before the shift.  labels: the same with the ignore index where nothing is scored.
    attention_mask, document_ids: nested like the tokens.  prompt_lengths: one for each sequence.
    groups: lists of indices of rows; each list is one micro-batch, or what one rank holds.
    weight, label_smoothing: options of the loss, as cross_entropy defines them.
    n_bytes, n_chars, n_words: the text of the scored targets, one number or one for each row; or text itself.
    pieces: the bytes of each scored token, in their order, as bytes or lists of ints.
    vocab_size: the real V, where the rows of logits are padded to a rounder one.
    eos_id, bos_id, pad_id, unk_id: ids with a meaning.  A BOS at the head, after a BOS, is no target.
    window: places in a window, or targets of one; stride: new targets of each window; max_length: places read at all.
    aux: what the objective adds to the mean nll, in nats per target (a z-loss, a KL term).

    >>> batch = Batch([[[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]]], [[0, 0, 1]], attention_mask=[[1, 1, 1]])
    >>> batch, batch.classes
    (<Batch of 1 rows, 3 places>, 2)

    Raises ValueError for lengths that differ, groups that are no partition of the rows, and counts below 1; TypeError
    for what is of another kind.  Scores are read when they are needed, and refused then.
    """

    logits: list[Sequence[Any]]
    tokens: list[list[int]]
    labels: list[list[int]]  # the tokens, with the ignore index where labels, a prompt or a document's start say so
    given_labels: list[list[int]] | None
    attention_mask: list[list[bool]] | None
    document_ids: list[list[int]] | None
    prompt_lengths: list[int] | None
    weight: list[float] | None
    label_smoothing: float
    ignore_index: int
    vocab_size: int | None
    eos_id: int | None
    pad_id: int | None
    bos_id: int | None
    unk_id: int | None
    classes: int

    def __init__(
        self,
        logits: Nested,
        tokens: Nested,
        *,
        attention_mask: Nested = None,
        labels: Nested = None,
        groups: Nested = None,
        n_bytes: Nested = None,
        n_chars: Nested = None,
        n_words: Nested = None,
        weight: Sequence[float] | None = None,
        label_smoothing: float = 0.0,
        eos_id: int | None = None,
        pad_id: int | None = None,
        bos_id: int | None = None,
        unk_id: int | None = None,
        prompt_lengths: Nested = None,
        document_ids: Nested = None,
        vocab_size: int | None = None,
        ignore_index: int = IGNORE_INDEX,
        window: int | None = None,
        stride: int | None = None,
        max_length: int | None = None,
        aux: float = 0.0,
        text: str | Sequence[str] | None = None,
        pieces: Nested = None,
    ) -> None:
        name = "Batch"
        given = _check.items(name, "tokens", tokens)
        flat = not (len(given) and _check.is_sequence(given[0]))
        ids = _rows(name, "tokens", tokens, flat, _check.wholes)
        lengths = [len(row) for row in ids]

        def like(argument: str, nested: Nested, convert: Any) -> Any:
            if nested is None:
                return None
            rows = _rows(name, argument, nested, flat, convert)
            _check.same_length(name, argument, rows, "tokens", len(ids))
            for b, row in enumerate(rows):
                at = "" if flat else f"[{b}]"
                _check.same_length(name, argument + at, row, "tokens" + at, lengths[b])
            return rows

        scores = like("logits", logits, _check.items)
        classes = len(_check.row(name, "logits", scores[0][0])) if any(lengths[:1]) else 0
        real = None if vocab_size is None else _check.count(name, "vocab_size", vocab_size, least=1)
        if real is not None and real > classes:
            _check.refuse(name, "vocab_size", f"be at most the length of a row of logits ({classes})", real)
        ignored = _check.whole(name, "ignore_index", ignore_index)
        mask = like("attention_mask", attention_mask, _check.bits)
        prompts = None if prompt_lengths is None else _check.wholes(name, "prompt_lengths", _listed(prompt_lengths))
        if prompts is not None:
            _check.same_length(name, "prompt_lengths", prompts, "tokens", len(ids))
        documents = like("document_ids", document_ids, _check.wholes)
        given_labels = like("labels", labels, _check.wholes)
        if weight is not None:
            weight = _check.weights(name, "weight", weight)
            _check.same_length(name, "weight", weight, "a row of logits", real or classes)
        specials = {"eos_id": eos_id, "pad_id": pad_id, "bos_id": bos_id, "unk_id": unk_id}
        specials = {key: None if id_ is None else _check.whole(name, key, id_) for key, id_ in specials.items()}
        self._keep(
            logits=scores, tokens=ids, lengths=lengths, classes=real or classes, vocab_size=real, **specials,
            attention_mask=mask, document_ids=documents, prompt_lengths=prompts, given_labels=given_labels,
            labels=_labels(ids if given_labels is None else given_labels, mask, prompts, documents, ignored),
            weight=weight, label_smoothing=_check.fraction_of_one(name, "label_smoothing", label_smoothing),
            ignore_index=ignored,
        )  # fmt: skip
        stated = {"n_bytes": n_bytes, "n_chars": n_chars, "n_words": n_words}
        self._keep_shared(groups, text, pieces, stated, window=window, stride=stride, max_length=max_length, aux=aux)


class Records(Evidence):
    """The nll of each scored token, where there are no logits: what an evaluation logged.

    nll: [D][n] in nats, nested by document or by batch; or [n] for one.  mask: 0/1, nested like nll; 1 where it counts.
    The other arguments are those of Batch; groups are lists of indices of documents.

    >>> Records([[2.0, 4.0], [1.0]], groups=[[0], [1]])
    <Records of 2 rows, 3 places>

    Raises ValueError for a negative nll or nan, lengths that differ, groups that are no partition and counts below 1;
    TypeError for what is of another kind.
    """

    nll: list[list[float]]
    mask: list[list[bool]] | None

    def __init__(
        self,
        nll: Nested,
        *,
        mask: Nested = None,
        groups: Nested = None,
        n_bytes: Nested = None,
        n_chars: Nested = None,
        n_words: Nested = None,
        window: int | None = None,
        stride: int | None = None,
        max_length: int | None = None,
        aux: float = 0.0,
        text: str | Sequence[str] | None = None,
        pieces: Nested = None,
    ) -> None:
        name = "Records"
        given = _check.items(name, "nll", nll)
        flat = not any(_check.is_sequence(row) for row in given)
        rows = _rows(name, "nll", nll, flat, _losses)
        masks = None if mask is None else _rows(name, "mask", mask, flat, _check.bits)
        if masks is not None:
            _check.same_length(name, "mask", masks, "nll", len(rows))
            for d, row in enumerate(masks):
                at = "" if flat else f"[{d}]"
                _check.same_length(name, "mask" + at, row, "nll" + at, len(rows[d]))
        self._keep(nll=rows, mask=masks, lengths=[len(row) for row in rows])
        stated = {"n_bytes": n_bytes, "n_chars": n_chars, "n_words": n_words}
        self._keep_shared(groups, text, pieces, stated, window=window, stride=stride, max_length=max_length, aux=aux)


# --- private ---------------------------------------------------------------------------------------------------------


def _rows(name: str, argument: str, nested: Nested, flat: bool, convert: Any) -> list[Any]:
    """Return a nest of places as a list of rows, each converted; a flat one as a list of one row."""
    if flat:
        return [convert(name, argument, nested)]
    return [convert(name, f"{argument}[{b}]", row) for b, row in enumerate(_check.items(name, argument, nested))]


def _losses(name: str, argument: str, values: Nested) -> list[float]:
    sequence = enumerate(_check.items(name, argument, values))
    return [_check.not_negative(name, f"{argument}[{i}]", value) for i, value in sequence]


def _listed(value: Nested) -> Any:
    return value if _check.is_sequence(value) else [value]


def _labels(
    labels: list[list[int]], mask: Any, prompts: list[int] | None, documents: Any, ignored: int
) -> list[list[int]]:
    """Return the labels with prompts and starts of documents ignored; the attention mask is looked at by pairs.

    The first label of a row stays: no row predicts it, so it changes no right number, but it does change wrong ones.
    """
    if prompts is not None:
        labels = mask_prompt(labels if mask is None else mask_padding(labels, mask, ignored), prompts, ignored)
    if documents is None:
        return labels
    masked = mask_document_starts(labels, documents, ignored)
    return [[*before[:1], *after[1:]] for before, after in zip(labels, masked, strict=True)]


def _groups(name: str, groups: Nested, rows: int) -> list[list[int]] | None:
    if groups is None:
        return None
    given = enumerate(_check.items(name, "groups", groups))
    result = [_check.wholes(name, f"groups[{k}]", group) for k, group in given]
    if sorted(row for group in result for row in group) != list(range(rows)):
        _check.refuse(name, "groups", f"hold each row from 0 to {rows - 1} once", groups)
    return result


def _counts(name: str, argument: str, value: Nested, rows: int) -> list[int] | None:
    if value is None:
        return None
    if not _check.is_sequence(value):
        return [_check.count(name, argument, value, least=1)]
    counts = [_check.count(name, f"{argument}[{i}]", n) for i, n in enumerate(_check.wholes(name, argument, value))]
    _check.same_length(name, argument, counts, "the rows", rows)
    if not sum(counts):
        _check.refuse(name, argument, "have a sum of at least 1", counts)
    return counts


def _pieces(name: str, pieces: Nested) -> list[bytes] | None:
    if pieces is None:
        return None
    result = []
    for i, piece in enumerate(_check.items(name, "pieces", pieces)):
        values = list(piece) if isinstance(piece, bytes) else _check.wholes(name, f"pieces[{i}]", piece)
        for j, value in enumerate(values):
            if not 0 <= value < 256:
                _check.refuse(name, f"pieces[{i}][{j}]", "be a byte, in [0, 256)", value)
        result.append(bytes(values))
    return result
