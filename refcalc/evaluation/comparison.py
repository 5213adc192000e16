"""What a comparison of two reports says: in numbers, as JSON, and as a table."""

__all__ = ["PER", "Quantity", "ReportComparison"]

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any, NamedTuple

from refcalc.evaluation.ablation import Arm
from refcalc.units import nats_to_bits

WIDTH = 80
COLUMNS = (10, 10, 12, 12, 11, 7)


class Per(NamedTuple):
    """What an nll sum can be divided by: a field of a receipt, and how the quotient is called."""

    field: str
    name: str
    in_bits: bool


PER = {
    "target": Per("n_targets", "nats per target", in_bits=False),
    "byte": Per("n_bytes", "bits per byte", in_bits=True),
    "char": Per("n_chars", "bits per character", in_bits=True),
    "word": Per("n_words", "nats per word", in_bits=False),
}


class Quantity(NamedTuple):
    """One quantity of both reports, and the interval of ours - theirs; None where there can be none, and why.

    In nats; `expressed` gives the unit of its name.
    """

    per: str
    ours: float
    theirs: float
    difference: float | None
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    ours_lower: float | None = None  # the share of the resamples in which ours is the lower
    no_interval: str = ""

    @property
    def name(self) -> str:
        return PER[self.per].name

    def expressed(self) -> dict[str, float | None]:
        """Return the numbers in the unit of the name: bits for bytes and characters."""
        names = ("ours", "theirs", "difference", "low", "high", "standard_error")
        numbers = {name: getattr(self, name) for name in names}
        if not PER[self.per].in_bits:
            return numbers
        return {name: None if x is None else nats_to_bits(x) for name, x in numbers.items()}


class ReportComparison(NamedTuple):
    """Two reports side by side, over the documents of both.

    differences: the fields of the protocols that differ, with both values; despite: those of them, and "documents",
        that speak against the comparison and were overruled.
    withheld: the quantities that are not offered, and the fields that forbid them.
    only_ours, only_theirs: how many documents one of the two alone has.
    looks: how often the split had been looked at before each run.
    """

    ours: str
    theirs: str
    documents: int
    only_ours: int
    only_theirs: int
    differences: Mapping[str, tuple[Any, Any]]
    despite: tuple[str, ...]
    withheld: Mapping[str, tuple[str, ...]]
    quantities: tuple[Quantity, ...]
    looks: tuple[int, int]
    draws: int
    seed: int
    confidence: float
    kind: str | None
    arms: tuple[Arm, Arm] | None
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON can hold it; its quantities are in the units of their names."""
        fields: dict[str, Any] = self._asdict()
        quantities = []
        for each in self.quantities:
            more = {"ours_lower": each.ours_lower, "no_interval": each.no_interval}
            quantities.append({"per": each.per, "name": each.name, **each.expressed(), **more})
        arms = None if self.arms is None else [arm.to_dict() for arm in self.arms]
        return {**fields, "quantities": quantities, "arms": arms}

    def __str__(self) -> str:
        return "\n".join(_table(self))


# --- the table -------------------------------------------------------------------------------------------------------


def _table(result: ReportComparison) -> Iterator[str]:
    yield from _wrapped("ours", result.ours)
    yield from _wrapped("theirs", result.theirs)
    yield from _wrapped("documents", _documents(result))
    yield from _wrapped("looked at", f"before ours {_times(result.looks[0])}, before theirs {_times(result.looks[1])}")
    shown = {name: values for name, values in result.differences.items() if name != "looks"}
    for name, (ours, theirs) in shown.items():
        yield from _wrapped("DESPITE" if name in result.despite else "differ in", f"{name}: {ours!r} and {theirs!r}")
    if "documents" in result.despite:
        yield from _wrapped("DESPITE", "documents: only those that both have are compared")
    yield from _ablation(result)
    yield ""
    share = f"{100 * result.confidence:g} % from"
    yield _row("", "ours", "theirs", "difference", share, "to", "lower")
    for each in result.quantities:
        numbers = each.expressed()
        named = zip(("ours", "theirs", "difference", "low", "high"), COLUMNS, strict=False)
        cells = [_number(numbers[name], width) for name, width in named]
        yield _row(each.name, *cells, "-" if each.ours_lower is None else f"{100 * each.ours_lower:.3g} %")
    yield ""
    yield "difference: ours minus theirs, below 0 ours is the better; lower: the share of"
    yield "the resamples in which ours is the lower"
    verdicts: dict[str, list[str]] = {}
    for each in result.quantities:
        verdicts.setdefault(_verdict(each), []).append(each.name)
    for verdict, quantities in verdicts.items():
        yield from wrap(f"{', '.join(quantities)}: {verdict}", WIDTH, subsequent_indent="  ")
    for per, names in result.withheld.items():
        yield from wrap(f"{PER[per].name}: not comparable, for the two differ in {', '.join(names)}", WIDTH)
    for words in result.warnings:
        yield from wrap(f"warning: {words}", WIDTH, subsequent_indent="  ")


def _ablation(result: ReportComparison) -> Iterator[str]:
    if result.arms is None:
        return
    yield ""
    ours, theirs = result.arms
    yield f"{result.kind!s:<26}{'ours':>27}{'theirs':>27}"
    for name in ("name", "updates", "targets", "parameters", "trainable_parameters", "seconds"):
        cells = (_cell(getattr(arm, name)) for arm in (ours, theirs))
        yield f"  {name.replace('_', ' '):<24}" + "".join(f"{cell:>27}" for cell in cells)
    yield from _wrapped("  both", f"from the weights {_cell(ours.base_digest)},")
    yield from _wrapped("", f"over the windows {_cell(ours.trajectory_digest)}")


def _documents(result: ReportComparison) -> str:
    words = f"{result.documents:,}"
    for count, what in (
        (result.only_ours, "in ours only, left out"),
        (result.only_theirs, "in theirs only, left out"),
    ):
        words += f"; {count:,} {what}" if count else ""
    return words


def _verdict(quantity: Quantity) -> str:
    if quantity.low is None or quantity.high is None:
        return f"no interval, for {quantity.no_interval}"
    if quantity.low <= 0.0 <= quantity.high:
        return "the interval holds 0: these documents do not tell the two apart"
    return "the interval does not hold 0"


def _wrapped(head: str, words: str) -> list[str]:
    return wrap(f"{head:<12}{words}", WIDTH, subsequent_indent=" " * 12, break_on_hyphens=False)


def _row(name: str, *cells: str) -> str:
    return f"{name:<18}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, COLUMNS, strict=True))


def _cell(value: str | float) -> str:
    text = value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return text if len(text) < 27 else f"{text[:23]}..."


def _number(x: float | None, width: int) -> str:
    """Return a number in up to 5 digits, and in fewer where a column has no room for them and a space."""
    if x is None:
        return "-"
    return next(text for digits in (5, 4, 3, 2, 1) if len(text := f"{x:.{digits}g}") < width or digits == 1)


def _times(n: int) -> str:
    return "never" if n == 0 else "once" if n == 1 else f"{n:,} times"
