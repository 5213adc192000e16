"""What the readers of logs have in common: a document that was scored, and what is found out while it is read."""

__all__ = ["ALIASES", "COUNTS", "QUANTITIES", "Document", "Findings"]

from math import inf
from typing import Any, NamedTuple

from refcalc.evaluation.readers.records import Record
from refcalc.tally import Tally

QUANTITIES = (
    "mean_nll",
    "nll_sum",
    "perplexity",
    "bits_per_token",
    "bits_per_byte",
    "bits_per_char",
    "byte_perplexity",
    "word_perplexity",
)
COUNTS = ("n_targets", "n_bytes", "n_chars", "n_words", "n_documents")
ALIASES = {  # other names that logs use for the quantities and counts
    "loss": "mean_nll",
    "eval_loss": "mean_nll",
    "cross_entropy": "mean_nll",
    "ppl": "perplexity",
    "bpb": "bits_per_byte",
    "bpc": "bits_per_char",
    "bits_per_character": "bits_per_char",
    "n_tokens": "n_targets",
    "num_tokens": "n_targets",
    "num_bytes": "n_bytes",
    "num_chars": "n_chars",
    "num_words": "n_words",
    "num_documents": "n_documents",
}
FEW_DECIMALS = 4
ENOUGH = 20  # values with few decimals: fewer may have them by chance, or were made by hand
SHOWN = 20  # how many contradictions are kept in words
PLACEHOLDER = -9999.0


class Document(NamedTuple):
    """One scored text of a log."""

    record: Record
    nlls: list[float] | None  # in nats, of each scored token; None where only their sum was logged
    tally: Tally
    claims: dict[str, float]  # what the log says of it by quantity or count: to be computed again


class Findings:
    """What is found out while a log is read: contradictions, and signs of trouble in the log-probabilities."""

    def __init__(self) -> None:
        self.contradictions: list[str] = []  # the first of them
        self.n_contradictions = 0
        self.notes: dict[str, list[Any]] = {}  # by words: how often, and where first
        self.unverified: dict[str, str] = {}  # what was published and could not be computed again, and why
        self.published: list[tuple[Record, dict[str, Any]]] = []  # what the log says of all documents
        self.vocab_sizes: set[int] = set()  # that the log names
        self._named: set[str | int] = set()
        self.values = 0
        self.above_zero, self.largest = 0, 0.0
        self.placeholders = 0
        self.impossible = 0
        self.decimals: int | None = 0  # that hold all values read, or None where more than FEW_DECIMALS are needed

    def contradict(self, place: str, words: str) -> None:
        """Keep that two values of the log, which should be the same, differ."""
        self.n_contradictions += 1
        if len(self.contradictions) < SHOWN:
            self.contradictions.append(f"{place}: {words}")

    def same(self, record: Record, one: tuple[str, Any], other: tuple[str, Any]) -> None:
        """Hold two copies of a value against each other, each given with its name."""
        if one[1] != other[1]:
            self.contradict(record.place, f"{one[0]} says {_shown(one[1])}, {other[0]} says {_shown(other[1])}")

    def once(self, record: Record, key: str, name: str | int) -> None:
        """Keep that a document was named, each of which is there once."""
        if name in self._named:
            self.contradict(record.place, f"{key} names {name!r}, as a line before it does")
        self._named.add(name)

    def note(self, words: str, record: Record) -> None:
        """Keep something to be warned of, once for all records."""
        self.notes.setdefault(words, [0, record.place])[0] += 1

    def publish(self, record: Record, claims: dict[str, Any]) -> None:
        """Keep what the log says of all documents together."""
        self.published.append((record, claims))

    def see(self, nlls: list[float]) -> None:
        """Look at the nlls of some tokens."""
        self.values += len(nlls)
        if nlls and (least := min(nlls)) < 0.0:
            self.above_zero += sum(x < 0.0 for x in nlls)
            self.largest = max(self.largest, -least)
        self.placeholders += nlls.count(-PLACEHOLDER)
        self.impossible += nlls.count(inf)
        while self.decimals is not None and any(round(x, self.decimals) != x for x in nlls if x != inf):
            self.decimals = self.decimals + 1 if self.decimals < FEW_DECIMALS else None

    @property
    def rounded(self) -> int | None:
        """The decimals to which the log-probabilities were rounded, if they look like it and are not whole."""
        return self.decimals or None if self.values >= ENOUGH else None

    @property
    def uncertain(self) -> float:
        """How far that leaves each of them uncertain, in nats."""
        return 0.0 if self.rounded is None else 0.5 * float(f"1e-{self.rounded}")

    def warnings(self) -> list[str]:
        """Return what a person should look at."""
        lines = []
        if self.above_zero:
            lines.append(
                f"{self.above_zero} of {self.values} log-probabilities are positive, up to {self.largest:.3g}: they "
                "were rounded, or are not normalised"
            )
        if self.impossible:
            lines.append(f"{self.impossible} of {self.values} scored tokens have probability zero: every mean is inf")
        if self.placeholders:
            lines.append(
                f"{self.placeholders} of {self.values} log-probabilities are {PLACEHOLDER}, which servers write for "
                "'very unlikely': no sum over them means anything"
            )
        if self.rounded is not None:
            lines.append(
                f"the log-probabilities have {self.rounded} decimals: each is uncertain by "
                f"{self.uncertain:g} nats, and so is their mean"
            )
        lines += [f"{words} ({where}{f', and {n - 1} more' if n > 1 else ''})" for words, (n, where) in
                  self.notes.items()]  # fmt: skip
        return lines


# --- private ---------------------------------------------------------------------------------------------------------


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, (int, float)) else repr(value)
