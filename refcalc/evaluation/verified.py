"""What a verification says to a person: its verdict, the numbers side by side, and what has to be looked at."""

__all__ = ["metrics", "sentences"]

from textwrap import wrap
from typing import Any

from refcalc.evaluation.readers.check import Check
from refcalc.tally import Tally

WIDTH = 80
HEADS = ("quantity", "published", "recomputed", "verdict")


def sentences(verification: Any) -> list[str]:
    """Return the lines of a `verify.Verification`."""
    lines = [f"{verification.format}: {', '.join(verification.files)}"]
    if verification.tally is not None:
        lines += ["", *_totals(verification.tally)]
    lines += _table(verification.checks)
    if verification.n_documents_agree:
        lines.append(f"{verification.n_documents_agree} numbers about single documents agree.")
    for check in verification.checks:
        if check.diagnosis:
            lines += ["", *_fitting(check.diagnosis)]
    n = verification.n_contradictions
    if n:
        shown = len(verification.contradictions)
        lines += ["", f"The files contradict themselves in {n} {'places' if n > 1 else 'place'}:"]
        lines += _wrapped(verification.contradictions)
        lines += [f"  ... and {n - shown} more"] if n > shown else []
    if verification.unverified:
        lines += ["", "Not computed again:"]
        lines += _wrapped(f"{name}: {why}" for name, why in verification.unverified.items())
    if verification.warnings:
        lines += ["", *(line for warning in verification.warnings for line in wrap(f"warning: {warning}", WIDTH))]
    return [*lines, "", _verdict(verification)]


def metrics(tally: Tally) -> dict[str, float]:
    """Return every metric that the counts of a tally allow, by name."""
    names = ["mean_nll", "perplexity", "bits_per_token"]
    names += ["bits_per_byte", "byte_perplexity"] if tally.n_bytes else []
    names += ["bits_per_char"] if tally.n_chars else []
    names += ["word_perplexity"] if tally.n_words else []
    return {name: getattr(tally, name) for name in names}


# --- private ---------------------------------------------------------------------------------------------------------


def _verdict(verification: Any) -> str:
    wrong = sum(not check.agrees for check in verification.checks)
    if wrong:
        return f"Disagrees: {wrong} of {len(verification.checks)} numbers are not what the log gives."
    if verification.n_contradictions:
        return "Disagrees: the files contradict themselves."
    if verification.checks or verification.n_documents_agree:
        return "Agrees, as far as it was computed again." if verification.unverified else "Agrees."
    return "Complete: nothing was published to be compared."


def _totals(tally: Any) -> list[str]:
    """Return the sum, the counts and the metrics of all documents."""
    counts = {name: getattr(tally, f"n_{name}") for name in ("documents", "targets", "bytes", "chars", "words")}
    known = {name: n for name, n in counts.items() if n or (n == 0 and name != "documents")}
    given = ", ".join(f"{n:,} {name[:-1] if n == 1 else name}" for name, n in known.items())
    lines = wrap(f"{given}; nll sum {float(tally.nll_sum)!r} nats", WIDTH)
    return lines + [f"  {name:<16}{value!r}" for name, value in metrics(tally).items()]


def _table(checks: tuple[Check, ...]) -> list[str]:
    """Return the numbers side by side, under the place where each was published."""
    lines: list[str] = []
    width = max([len(HEADS[0]), *(len(check.quantity) for check in checks)])
    numbers = [max([len(head), *(len(text) for text in column)]) for head, column in zip(
        HEADS[1:3], ([check.published or "" for check in checks], [repr(check.recomputed) for check in checks]),
        strict=True)]  # fmt: skip
    place = None
    for check in checks:
        if check.place != place:
            place = check.place
            lines += ["", place]
            lines.append(_row(HEADS, width, numbers))
        cells = (check.quantity, check.published or "", repr(check.recomputed), check.verdict)
        lines.append(_row(cells, width, numbers))
    return lines


def _row(cells: tuple[str, ...], width: int, numbers: list[int]) -> str:
    line = f"{cells[0]:<{width}} {cells[1]:>{numbers[0]}} {cells[2]:>{numbers[1]}}"
    return f"{line}  {cells[3]}" if len(line) + 2 + len(cells[3]) <= WIDTH else f"{line}\n{'':<{width}} {cells[3]}"


def _fitting(text: str) -> list[str]:
    """Return the lines of a text, those that are too long broken and indented as they were."""
    indented = [(line, line[: len(line) - len(line.lstrip())]) for line in text.splitlines()]
    return [part for line, indent in indented for part in wrap(line, WIDTH, subsequent_indent=indent) or [""]]


def _wrapped(texts: Any) -> list[str]:
    return [line for text in texts for line in wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")]
