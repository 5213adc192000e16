"""A batch of logits, and everything that decides which of its tokens count."""

__all__ = ["Batch"]

from collections.abc import Sequence
from typing import Any

from refcalc import _check
from refcalc._check import Nested
from refcalc.evidence.shared import Evidence, rows_of
from refcalc.targets import IGNORE_INDEX, mask_document_starts, mask_padding, mask_prompt


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

    flat: bool  # whether a single sequence was given, without a batch around it
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
        ids = rows_of(name, "tokens", tokens, flat, _check.wholes)
        lengths = [len(row) for row in ids]

        def like(argument: str, nested: Nested, convert: Any) -> Any:
            if nested is None:
                return None
            rows = rows_of(name, argument, nested, flat, convert)
            _check.same_length(name, argument, rows, "tokens", len(ids))
            for b, row in enumerate(rows):
                at = "" if flat else f"[{b}]"
                _check.same_length(name, argument + at, row, "tokens" + at, lengths[b])
            return rows

        scores = like("logits", logits, _check.items)
        classes = _classes(name, scores, flat)
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
            flat=flat, logits=scores, tokens=ids, lengths=lengths, classes=real or classes, vocab_size=real, **specials,
            attention_mask=mask, document_ids=documents, prompt_lengths=prompts, given_labels=given_labels,
            labels=_labels(ids if given_labels is None else given_labels, mask, prompts, documents, ignored),
            weight=weight, label_smoothing=_check.fraction_of_one(name, "label_smoothing", label_smoothing),
            ignore_index=ignored,
        )  # fmt: skip
        stated = {"n_bytes": n_bytes, "n_chars": n_chars, "n_words": n_words}
        self._keep_shared(groups, text, pieces, stated, window=window, stride=stride, max_length=max_length, aux=aux)


# --- private ---------------------------------------------------------------------------------------------------------


def _classes(name: str, logits: list[Any], flat: bool) -> int:
    """Return V, the length of the first row; the others are measured where that needs no reading."""
    classes = 0
    for b, rows in enumerate(logits):
        for t, row in enumerate(rows if isinstance(rows, (list, tuple)) else rows[:1]):
            at = f"logits[{t}]" if flat else f"logits[{b}][{t}]"
            if not classes:
                classes = len(_check.row(name, at, row))
            elif isinstance(row, (list, tuple)) and len(row) != classes:
                _check.refuse(name, at, f"hold V = {classes} scores as the first row does", len(row))
    return classes


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
