"""Exact totals of an evaluation: an nll sum, the counts of what it covers, and every metric they give."""

__all__ = ["Tally"]

from collections.abc import Iterable
from typing import Any, Protocol

from refcalc import _check, units
from refcalc.exact_sum import ExactSum

COUNTS = ("n_targets", "n_bytes", "n_chars", "n_words", "n_documents")


class Unrounded(Protocol):
    """What a tally needs of an nll that was not rounded, such as exact.Nll: exp gives e**value in a function's name."""

    def __add__(self, other: Any) -> Any: ...
    def __truediv__(self, divisor: Any) -> Any: ...
    def __float__(self) -> float: ...
    def exp(self, function: str) -> float: ...
    def over_log(self, function: str, base: int) -> float: ...


class Tally:
    """An nll sum and the counts of what it covers; `+` merges, and every metric is a property.

    nll_sum: nats, a number in [0, inf] or an ExactSum; or an nll that was not rounded, exact.batch_nll(...), of which
        every metric is correctly rounded.
    n_targets: the scored targets.
    n_bytes, n_chars, n_words: the text of those targets, or None where it was not counted.
    n_documents: how many documents are in it (1 by default; 0 for the empty Tally()).

    >>> two = Tally(6.0, 2, n_bytes=3) + Tally(9.0, 4, n_bytes=7)
    >>> two.mean_nll, two.bits_per_byte, two.n_documents
    (2.5, 2.1640425613334453, 2)

    The empty Tally() is the neutral element.  Two tallies merge only if both counted the same things: a sum over all
    with a byte count over some is a mistake that no number would show.

    >>> Tally(6.0, 2, n_bytes=3) + Tally(9.0, 4)
    Traceback (most recent call last):
    ValueError: Tally: n_bytes must be counted in both tallies or in neither, got 3 and None

    A sum that was rounded nowhere and a sum of rounded numbers do not merge: the total would be neither.

    Accuracy: sums and counts are exact, mean_nll is correctly rounded, the other metrics are those of refcalc.units; of
    an nll that was not rounded, all are correctly rounded.
    """

    __slots__ = ("n_bytes", "n_chars", "n_documents", "n_targets", "n_words", "nll_sum")

    nll_sum: ExactSum | Unrounded
    n_targets: int
    n_bytes: int | None
    n_chars: int | None
    n_words: int | None
    n_documents: int

    def __init__(
        self,
        nll_sum: ExactSum | Unrounded | float = 0.0,
        n_targets: int = 0,
        *,
        n_bytes: int | None = None,
        n_chars: int | None = None,
        n_words: int | None = None,
        n_documents: int | None = None,
    ) -> None:
        total = nll_sum if hasattr(nll_sum, "over_log") else _summed(nll_sum)
        n_targets = _check.count("Tally", "n_targets", n_targets)
        if not n_targets and float(total):
            _check.refuse("Tally", "n_targets", "be at least 1 where nll_sum is not 0", n_targets)
        counts = {"n_bytes": n_bytes, "n_chars": n_chars, "n_words": n_words}
        empty = not n_targets and all(count is None for count in counts.values())
        n_documents = int(not empty) if n_documents is None else _check.count("Tally", "n_documents", n_documents)
        for name, count in counts.items():
            counts[name] = None if count is None else _check.count("Tally", name, count)
        for name, value in {"nll_sum": total, "n_targets": n_targets, **counts, "n_documents": n_documents}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, nlls: Iterable[float], text: str | None = None) -> "Tally":
        """Return the tally of one document: the nll of each scored target, and the text that these cover.

        text gives the counts: its UTF-8 bytes, its characters, and its words (runs of what is no white space).

        >>> tally = Tally.of([2.0, 1.0], text="caf\\u00e9 noir")
        >>> tally.n_targets, tally.n_bytes, tally.n_chars, tally.n_words
        (2, 10, 9, 2)

        Raises ValueError for a negative nll or nan, naming its place, and for text with lone surrogates, which has no
        UTF-8 bytes; TypeError for what is no text.
        """
        values = list(nlls)
        for i, value in enumerate(values):
            _check.not_negative("Tally.of", f"nlls[{i}]", value)
        total = ExactSum(values)
        if text is None:
            return cls(total, len(values), n_documents=1)
        return cls(total, len(values), n_documents=1, **text_counts("Tally.of", "text", text))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Tally: {name} cannot be set, a tally does not change; merge with +")

    def __add__(self, other: "Tally") -> "Tally":
        if not isinstance(other, Tally):
            return NotImplemented
        if self == Tally():
            return other
        if other == Tally():
            return self
        ours, theirs = self.nll_sum, other.nll_sum
        if isinstance(ours, ExactSum) != isinstance(theirs, ExactSum):
            got = f"{type(ours).__name__} and {type(theirs).__name__}"
            raise ValueError(f"Tally: nll_sum must be rounded, with float(), in both tallies or in neither, got {got}")
        return Tally(
            ours + theirs,  # type: ignore[operator]
            self.n_targets + other.n_targets,
            n_bytes=_merged("n_bytes", self.n_bytes, other.n_bytes),
            n_chars=_merged("n_chars", self.n_chars, other.n_chars),
            n_words=_merged("n_words", self.n_words, other.n_words),
            n_documents=self.n_documents + other.n_documents,
        )

    def __radd__(self, other: object) -> "Tally":
        """Let the builtin sum(...) of tallies start at its 0."""
        return self if other == 0 and not isinstance(other, Tally) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if isinstance(other, Tally) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in ("n_bytes", "n_chars", "n_words", "n_documents")}
        counts = "".join(f", {name}={value}" for name, value in given.items() if value is not None)
        return f"Tally({float(self.nll_sum)!r}, {self.n_targets}{counts})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._parts()

    def to_dict(self) -> dict[str, str | int | None]:
        """Return the tally as JSON can hold it, without losing a bit: the sum as ExactSum.to_hex writes it.

        Raises ValueError for an nll that was not rounded: it needs all of its rows, and pickles.
        """
        if not isinstance(self.nll_sum, ExactSum):
            _check.refuse("Tally.to_dict", "nll_sum", "be rounded, with float() (or be pickled as it is)", self.nll_sum)
        counts: dict[str, Any] = {name: getattr(self, name) for name in COUNTS}
        return {"nll_sum": self.nll_sum.to_hex(), **counts}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "Tally":
        """Return the tally that to_dict described.

        >>> import json
        >>> tally = Tally(0.1, 3, n_bytes=7)
        >>> Tally.from_dict(json.loads(json.dumps(tally.to_dict()))) == tally
        True

        Raises ValueError for keys other than to_dict's, and whatever Tally refuses.
        """
        if not isinstance(record, dict):
            _check.refuse("Tally.from_dict", "record", "be a dict", record, TypeError)
        if set(record) != {"nll_sum", *COUNTS}:
            _check.refuse("Tally.from_dict", "record", f"have the keys nll_sum, {', '.join(COUNTS)}", list(record))
        counts = {name: record[name] for name in COUNTS if name != "n_targets"}
        return cls(ExactSum.from_hex(record["nll_sum"]), record["n_targets"], **counts)

    @property
    def mean_nll(self) -> float:
        """nll_sum / n_targets, in nats per target; correctly rounded."""
        return float(self.nll_sum / self._count("mean_nll", "n_targets"))

    @property
    def perplexity(self) -> float:
        """exp(mean_nll)."""
        return self._express("perplexity", "n_targets")

    @property
    def bits_per_token(self) -> float:
        """mean_nll / log 2."""
        return self._express("bits_per_token", "n_targets")

    @property
    def bits_per_byte(self) -> float:
        """nll_sum / (n_bytes log 2)."""
        return self._express("bits_per_byte", "n_bytes")

    @property
    def bits_per_char(self) -> float:
        """nll_sum / (n_chars log 2)."""
        return self._express("bits_per_char", "n_chars")

    @property
    def byte_perplexity(self) -> float:
        """exp(nll_sum / n_bytes)."""
        return self._express("byte_perplexity", "n_bytes")

    @property
    def word_perplexity(self) -> float:
        """exp(nll_sum / n_words)."""
        return self._express("word_perplexity", "n_words")

    def _express(self, metric: str, name: str) -> float:
        """Return a metric over one of the counts, as refcalc.units has it or else correctly rounded."""
        n = self._count("mean_nll" if name == "n_targets" else metric, name)
        if isinstance(self.nll_sum, ExactSum):
            of = getattr(units, metric)
            return float(of(self.mean_nll) if name == "n_targets" else of(float(self.nll_sum), n))
        mean: Unrounded = self.nll_sum / n
        function = f"Tally.{metric}"
        return mean.exp(function) if metric.endswith("perplexity") else mean.over_log(function, 2)

    def _parts(self) -> tuple[Any, ...]:
        return self.nll_sum, *(getattr(self, name) for name in COUNTS)

    def _count(self, metric: str, name: str) -> int:
        """Return the denominator of a metric, refused where it was not counted or is 0."""
        count: int | None = getattr(self, name)
        if not count:
            _check.refuse(f"Tally.{metric}", name, "be counted and at least 1", count)
        return count


def _summed(nll_sum: ExactSum | float) -> ExactSum:
    """Return an nll as an ExactSum, having refused what is no nll."""
    if not isinstance(nll_sum, ExactSum):
        _check.not_nan("Tally", "nll_sum", nll_sum)
    total = ExactSum((nll_sum,))
    if float(total) < 0.0:
        _check.refuse("Tally", "nll_sum", "not be negative (an nll is minus a log-probability)", float(total))
    return total


def _restored(nll_sum: ExactSum | Unrounded, *counts: Any) -> Tally:
    """Return the tally of the parts that were pickled."""
    return Tally(nll_sum, **dict(zip(COUNTS, counts, strict=True)))


def _merged(name: str, ours: int | None, theirs: int | None) -> int | None:
    if ours is None and theirs is None:
        return None
    if ours is None or theirs is None:
        raise ValueError(f"Tally: {name} must be counted in both tallies or in neither, got {ours} and {theirs}")
    return ours + theirs


def text_counts(function: str, argument: str, text: str) -> dict[str, int]:
    """Return n_bytes (UTF-8), n_chars (code points) and n_words (runs of what is no white space) of a text."""
    if not isinstance(text, str):
        _check.refuse(function, argument, "be text", text, TypeError)
    try:
        n_bytes = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        _check.refuse(function, argument, "be Unicode without lone surrogates", text)
    return {"n_bytes": n_bytes, "n_chars": len(text), "n_words": len(text.split())}
