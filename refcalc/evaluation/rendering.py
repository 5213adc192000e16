"""A report as a table of 80 columns, and as what JSON can hold."""

__all__ = ["as_dict", "as_text"]

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from refcalc import _json
from refcalc.evaluation.content import Content, Verdict
from refcalc.evaluation.figures import figures
from refcalc.tally import Tally

WIDTH = 80
NAMES = {
    "mean_nll": "nats per target",
    "perplexity": "perplexity",
    "bits_per_token": "bits per target",
    "bits_per_byte": "bits per byte",
    "bits_per_char": "bits per character",
    "byte_perplexity": "byte perplexity",
    "word_perplexity": "word perplexity",
}
CANONICAL = (
    "only the canonical encoding of each text was scored: other sequences of tokens that spell it have probability "
    "too, and are not in these figures"
)


def as_dict(report: Content) -> dict[str, Any]:
    """Return the report as JSON can hold it."""
    known = None if report.known is None else _part(report.known, report.total)
    plain: dict[str, Any] = _json.plain(
        {
            "file": report.source,
            "protocol": report.protocol.to_dict(),
            "protocol_digest": report.protocol.digest,
            "total": report.total.to_dict(),
            "n_windows": report.n_windows,
            "figures": _figures(report.total),
            "known": known,
            "unknown": None if report.unknown is None else _part(report.unknown, report.total),
            "eos": None if report.eos is None else _part(report.eos, report.total),
            "baselines": {name: _figures(tally) for name, tally in report.baselines.items()},
            "splits": {name: _figures(tally) for name, tally in report.splits.items()},
            "macro_mean_nll": report.macro_mean_nll,
            "lengths": report.lengths._asdict(),
            "worst": [{"mean_nll": mean, "document": key, "n_targets": n} for mean, key, n in report.worst],
            "checks": [{**check._asdict(), "holds": check.holds} for check in report.checks],
            "criteria": [_verdict(each) for each in report.verdicts],
            "warnings": list(report.warnings),
            "note": CANONICAL,
        }
    )
    return plain


def as_text(report: Content) -> str:
    """Return the report as a table."""
    parts = (_head, _table, _parts, _baselines, _criteria, _spread, _worst, _ending)
    blocks = ["\n".join(part(report)) for part in parts]
    return "\n\n".join(block for block in blocks if block)


# --- JSON ------------------------------------------------------------------------------------------------------------


def _figures(tally: Tally) -> dict[str, Any]:
    return {name: figure._asdict() for name, figure in figures(tally).items()}


def _part(part: Tally, total: Tally) -> dict[str, Any]:
    nll, whole = float(part.nll_sum), float(total.nll_sum)
    return {
        "n_targets": part.n_targets,
        "share_of_targets": part.n_targets / total.n_targets,
        "nll_sum": nll,
        "share_of_nll": _share(nll, whole),
        "mean_nll": part.mean_nll if part.n_targets else None,
    }


def _share(nll: float, whole: float) -> float | None:
    """Return the share of an nll, None where there is none to share, or where the whole is infinite."""
    return nll / whole if 0.0 < whole < float("inf") else None


def _verdict(verdict: Verdict) -> dict[str, Any]:
    criterion, value, reference, holds = verdict
    return {"name": criterion.name, **criterion.to_dict(), "value": value, "reference": reference, "holds": holds}


# --- the table -------------------------------------------------------------------------------------------------------


def _head(report: Content) -> Iterator[str]:
    protocol, total = report.protocol, report.total
    looked = {0: "not looked at before", 1: "looked at once before"}
    words = looked.get(protocol.looks, f"looked at {protocol.looks:,} times before")
    yield report.source
    yield ""
    yield f"protocol    {protocol.digest[:23]}..."
    yield from _wrapped("split       ", f"{protocol.split}, {words}")
    carried = f", {protocol.carried_context:,} rows carried" if protocol.carried_context else ""
    windows = "" if report.n_windows is None else f"{report.n_windows:,} "
    size = f"{windows}of {protocol.window:,} rows{carried}"
    yield from _wrapped("windows     ", f"{size}; V = {protocol.vocab_size:,}, {protocol.dtype}")
    bos = {"none": "none", "first": "before the first window", "every": "before every window"}[protocol.bos]
    yield f"ends        BOS {bos}; EOS {'scored' if protocol.eos_scored else 'not scored'}"
    yield f"documents   {total.n_documents:,}"


def _table(report: Content) -> Iterator[str]:
    yield f"{'':<18}{'value':>14}   = numerator / denominator"
    for name, figure in report.figures.items():
        fraction = f"{figure.numerator:.10g} {figure.unit} / {figure.denominator} {figure.counted.removeprefix('n_')}"
        yield f"{NAMES[name]:<18}{figure.value:>14.8g}   {f'exp({fraction})' if 'perplexity' in name else fraction}"


def _parts(report: Content) -> Iterator[str]:
    """The known and the unknown targets and the ends of the text, beside all."""
    parts = {"all targets": report.total, "known": report.known, "unknown": report.unknown, "end of text": report.eos}
    yield f"{'':<12}{'targets':>20}{'share':>9}{'nats':>16}{'share':>9}{'per target':>14}"
    for name, part in parts.items():
        if part is None:
            continue
        nll, share = float(part.nll_sum), _share(float(part.nll_sum), float(report.total.nll_sum))
        counts = f"{part.n_targets:>20,}{part.n_targets / report.total.n_targets:>9.2%}"
        sums = f"{nll:>16.10g}{'' if share is None else f'{share:.2%}':>9}"
        yield f"{name:<12}{counts}{sums}" + (f"{part.mean_nll:>14.7g}" if part.n_targets else "")


def _baselines(report: Content) -> Iterator[str]:
    columns = ("mean_nll", "perplexity", "bits_per_byte", "bits_per_char")
    yield f"{'':<20}" + "".join(f"{_short(name):>15}" for name in columns)
    rows = {"this model": report.total, **report.baselines, **{f"split {k}": v for k, v in report.splits.items()}}
    for name, tally in rows.items():
        found = figures(tally)
        cells = [f"{found[column].value:>15.7g}" if column in found else f"{'':>15}" for column in columns]
        yield f"{_cut(name, 20):<20}{''.join(cells)}".rstrip()


def _criteria(report: Content) -> Iterator[str]:
    words = {True: "holds", False: "DOES NOT HOLD", None: "NOT KNOWN"}
    if report.verdicts:
        yield "criteria, written down before the run"
    for criterion, value, reference, holds in report.verdicts:
        name = f"{criterion.reference} " if isinstance(criterion.reference, str) else ""
        other = f"{name}{'(no receipts of that name)' if reference is None else f'{reference:.7g}'}"
        if criterion.kind == "below":
            bound = f"below {other}" + (f" by at least {criterion.margin:g}" if criterion.margin else "")
        else:
            bound = f"within {criterion.margin:g} of {other}"
        shown = "not counted" if value is None else f"{value:.7g}"
        yield from _wrapped(f"{words[holds]:<15}", f"{criterion.name}: {NAMES[criterion.metric]} {shown}, {bound}")


def _spread(report: Content) -> Iterator[str]:
    least, quarter, median, three_quarters, most = (f"{length:,}" for length in report.lengths)
    words = f"{least} to {most}; quarter {quarter}, half {median}, three quarters {three_quarters}"
    yield from _wrapped("targets a document: ", words)
    yield f"mean of the documents' own means, each weighing the same: {report.macro_mean_nll:.7g}"
    yield "(a macro average: another quantity than nats per target above)"


def _worst(report: Content) -> Iterator[str]:
    if report.worst:
        yield f"{'worst documents':<40}{'nats per target':>18}{'targets':>20}"
    for mean, document, n in report.worst:
        yield f"{_cut(str(document), 40):<40}{mean:>18.7g}{n:>20,}"


def _ending(report: Content) -> Iterator[str]:
    failed = [check for check in report.checks if not check.holds]
    yield f"multiplied back: {len(report.checks) - len(failed)} of {len(report.checks)} figures give the nll sum again"
    for check in failed:
        yield from _wrapped("NOT SO: ", f"{check.name} is {check.back!r}, not {check.expected!r}")
    for warning in report.warnings:
        yield from _wrapped("warning: ", warning)
    yield from _wrapped("note: ", CANONICAL)


def _short(metric: str) -> str:
    return {"mean_nll": "nats/target", "bits_per_byte": "bits/byte", "bits_per_char": "bits/char"}.get(metric, metric)


def _cut(text: str, width: int) -> str:
    """Return a text in one line, at most so wide."""
    line = " ".join(text.split())
    return line if len(line) < width else f"{line[: width - 4]}..."


def _wrapped(label: str, words: str) -> list[str]:
    indent = " " * len(label)
    return wrap(" ".join(words.split()), WIDTH, initial_indent=label, subsequent_indent=indent)
