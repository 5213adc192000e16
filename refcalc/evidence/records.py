"""The losses of tokens that somebody logged, where there are no logits."""

__all__ = ["Records"]

from collections.abc import Sequence

from refcalc import _check
from refcalc._check import Nested
from refcalc.evidence.shared import Evidence, rows_of


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
        rows = rows_of(name, "nll", nll, flat, _losses)
        masks = None if mask is None else rows_of(name, "mask", mask, flat, _check.bits)
        if masks is not None:
            _check.same_length(name, "mask", masks, "nll", len(rows))
            for d, row in enumerate(masks):
                at = "" if flat else f"[{d}]"
                _check.same_length(name, "mask" + at, row, "nll" + at, len(rows[d]))
        self._keep(nll=rows, mask=masks, lengths=[len(row) for row in rows])
        stated = {"n_bytes": n_bytes, "n_chars": n_chars, "n_words": n_words}
        self._keep_shared(groups, text, pieces, stated, window=window, stride=stride, max_length=max_length, aux=aux)


# --- private ---------------------------------------------------------------------------------------------------------


def _losses(name: str, argument: str, values: Nested) -> list[float]:
    sequence = enumerate(_check.items(name, argument, values))
    return [_check.not_negative(name, f"{argument}[{i}]", value) for i, value in sequence]
