"""What all evidence has: rows of places, groups of rows, and counts of the text that was scored."""

__all__ = ["Evidence", "rows_of"]

from typing import Any

from refcalc import _check
from refcalc._check import Nested
from refcalc.tally import text_counts


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
            if len(texts) != (1 if isinstance(text, str) else rows) or not any(texts):
                _check.refuse(name, "text", "be the text of the scored targets, whole or of each row", text)
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


def rows_of(name: str, argument: str, nested: Nested, flat: bool, convert: Any) -> list[Any]:
    """Return a nest of places as a list of rows, each converted; a flat one as a list of one row."""
    if flat:
        return [convert(name, argument, nested)]
    return [convert(name, f"{argument}[{b}]", row) for b, row in enumerate(_check.items(name, argument, nested))]


# --- private ---------------------------------------------------------------------------------------------------------


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
