"""A log of tokens, or of sums over them, added up and held against what was published of it."""

__all__ = ["examine"]

from collections.abc import Iterator, Mapping
from itertools import chain
from math import expm1, inf, isfinite, log
from typing import Any

from refcalc import _check, _rounding, units
from refcalc.diagnosis import diagnose
from refcalc.evaluation.readers import Opened, documents, open_log, report
from refcalc.evaluation.readers.check import Check, Examined, judged
from refcalc.evaluation.readers.log import ALIASES, COUNTS, QUANTITIES, Document, Findings
from refcalc.evaluation.readers.published import claims_of
from refcalc.evidence import Records
from refcalc.tally import Tally

PUBLISHED = ("published quantities", "report")
DENOMINATORS = {
    "bits_per_byte": "n_bytes",
    "bits_per_char": "n_chars",
    "byte_perplexity": "n_bytes",
    "word_perplexity": "n_words",
}
REPORTED = "reported"
MOST_TARGETS = 200_000  # that a diagnosis looks at
NEAR = 1e-5
SHOWN = 20  # claims about single documents that do not agree


def examine(opened: list[Opened], reported: Mapping[str, Any], vocab_size: int | None, dtype: str) -> Examined:
    """Return the verdict on each number that was published, and the totals; the logs are read as streams."""
    logs = _logs(opened)
    found, total = Findings(), Tally()
    wrong: list[Check] = []
    agreeing = above = 0
    for document in chain.from_iterable(documents(each, found) for each in logs):
        found.see(document.nlls or [])
        total = _added(total, document)
        limit = _uniform(vocab_size, found)
        above += document.tally.n_targets > 0 and document.tally.mean_nll > limit
        for check in _checks(document.record.place, document.claims, document.tally, found, dtype):
            agreeing += check.agrees
            if not check.agrees and len(wrong) < SHOWN:
                wrong.append(check)
    if not total.n_targets:
        _check.refuse(logs[0].path, "the file", "hold a scored target", 0)
    _publish(opened, logs, found)
    claims = [*((record.place, claims) for record, claims in found.published), (REPORTED, _named_here(reported))]
    checks = [check for place, each in claims for check in _checks(place, each, total, found, dtype)]
    if not all(check.agrees for check in checks):
        checks = [*_diagnosed(checks, logs, total, dtype)]
    checks += wrong
    level = _of_level(total, _uniform(vocab_size, found), above)
    return Examined(tuple(checks), agreeing, found, (*_of_dtype(checks, dtype), *level, *found.warnings()), total)


# --- private ---------------------------------------------------------------------------------------------------------


def _logs(opened: list[Opened]) -> list[Opened]:
    """Return the logs among the files, refused where they are of several formats."""
    logs = [each for each in opened if each.format not in PUBLISHED]
    if not logs:
        rule = "come with a log, of which its numbers were published"
        _check.refuse(opened[0].path, "the file", rule, "no log")
    for each in logs[1:]:
        if each.format != logs[0].format:
            rule = f"be of the same format as {logs[0].path} ({logs[0].format})"
            _check.refuse(each.path, "the file", rule, each.format)
    return logs


def _publish(opened: list[Opened], logs: list[Opened], found: Findings) -> None:
    """Take in what was published beside the logs."""
    for each in opened:
        if each.format == "report":
            record = each.only()
            found.publish(record, report.claims(record))
            if len(logs) == 1 and logs[0].format == "receipts":
                report.hold(record, logs[0].path, found)
        elif each.format in PUBLISHED:
            record = each.only()
            found.publish(record, claims_of(record, record.printed()))


def _added(total: Tally, document: Document) -> Tally:
    try:
        return total + document.tally
    except ValueError as error:
        raise ValueError(f"{document.record.place}: {error}") from None


def _named_here(reported: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was reported by the names that the quantities have here."""
    claims = {}
    for name, value in reported.items():
        claims[ALIASES.get(name, name)] = value
        if ALIASES.get(name, name) not in (*QUANTITIES, *COUNTS):
            rule = f"name a quantity or a count ({', '.join((*QUANTITIES, *COUNTS))})"
            _check.refuse("verify", f"reported[{name!r}]", rule, name)
    return claims


# --- published numbers -----------------------------------------------------------------------------------------------


def _checks(place: str, claims: Mapping[str, Any], tally: Tally, found: Findings, dtype: str) -> Iterator[Check]:
    """Yield the verdict on each claim about a tally."""
    for quantity, claim in claims.items():
        if quantity in COUNTS:
            if (count := getattr(tally, quantity)) is not None:
                yield judged(place, quantity, claim, (count,), exact=True)
                continue
        elif quantity == "nll_sum" or getattr(tally, DENOMINATORS.get(quantity, "n_targets")):
            yield _judged((place, quantity, claim), tally, found, dtype)
            continue
        why = f"the log does not count {DENOMINATORS.get(quantity, quantity)}"
        if place == REPORTED:
            _check.refuse("verify", f"reported[{quantity!r}]", f"be what the log can give ({why})", claim)
        found.unverified[f"{place}: {quantity}"] = why


def _judged(claim: tuple[str, str, Any], tally: Tally, found: Findings, dtype: str) -> Check:
    """Return the verdict on what a place says a quantity is, in which rounding in dtype and in the log is forgiven."""
    place, quantity, published = claim
    value = float(getattr(tally, quantity))
    error, why = _allowed(quantity, value, tally, dtype, found.uncertain), f"the rounding of {dtype}"
    if found.rounded is not None:
        why = f"the log's {found.rounded} decimals"
    return judged(place, quantity, published, (value,), error=error, why=why)


def _allowed(quantity: str, value: float, tally: Tally, dtype: str, uncertain: float) -> float:
    """Return how far off a published value may be by rounding: of its own computation in dtype, and of the log.

    A mean nll in dtype is off by at most r |mean| (`_rounding`), and by u if each nll of the log is; in bits by that
    over log 2, per byte by that times targets / bytes.  A perplexity exp(x) is off by |v| expm1(that of x), and the
    conversions round by less than 4 units.
    """
    if not isfinite(value):
        return 0.0
    totals = quantity == "nll_sum" or quantity in DENOMINATORS
    limit = _rounding.limit("verify", dtype=dtype, reduction="sum" if totals else "mean", targets=tally.n_targets)
    conversion = 4.0 * 2.0 ** -_rounding.FORMATS[dtype][0] * abs(value)
    denominator = 1 if quantity == "nll_sum" else getattr(tally, DENOMINATORS.get(quantity, "n_targets"))
    spread = uncertain * tally.n_targets / denominator
    if quantity.endswith("perplexity"):
        moved = limit.relative * log(value) + spread if value else 0.0
        return value * expm1(moved) + conversion if moved < 700.0 else inf
    return limit.relative * abs(value) + spread / (units.LOG_2 if quantity.startswith("bits") else 1.0) + conversion


# --- diagnosis -------------------------------------------------------------------------------------------------------


def _diagnosed(checks: list[Check], logs: list[Opened], total: Tally, dtype: str) -> Iterator[Check]:
    """Yield the checks, those of totals that do not agree with the mistakes that give their numbers."""
    evidence = _evidence(logs) if total.n_targets <= MOST_TARGETS else None
    for check in checks:
        if check.agrees or check.quantity not in QUANTITIES or evidence is None:
            yield check
            continue
        try:
            found = diagnose(check.published or "", evidence, quantity=check.quantity, dtype=dtype)
        except ValueError:  # a number that the quantity cannot be
            yield check
            continue
        if found.agrees:  # as far as its few digits go, which were taken to be all of them
            yield check._replace(verdict=f"{check.verdict}; if it was rounded, it agrees")
            continue
        mistakes = tuple(candidate.mistakes for candidate in found.candidates)
        yield check._replace(diagnosis=str(found), mistakes=mistakes)


def _evidence(logs: list[Opened]) -> Records:
    """Return the losses by document, read once more; where only a sum was logged, its targets share it equally."""
    rows, tallies = [], []
    for document in chain.from_iterable(documents(open_log(each.path), Findings()) for each in logs):
        n = document.tally.n_targets
        if n:
            rows.append([max(x, 0.0) for x in document.nlls or [float(document.tally.nll_sum) / n] * n])
            tallies.append(document.tally)
    counts: dict[str, Any] = {}
    for name in ("n_bytes", "n_chars", "n_words"):
        each = [getattr(tally, name) for tally in tallies]
        if None not in each and sum(each):
            counts[name] = each
    return Records(rows, **counts)


# --- warnings --------------------------------------------------------------------------------------------------------


def _uniform(vocab_size: int | None, found: Findings) -> float:
    """Return ln V, the loss of a uniform guess, of the size given or that of the log; inf where none is known."""
    sizes = {vocab_size} if vocab_size is not None else found.vocab_sizes
    return log(min(sizes)) if sizes else inf


def _of_dtype(checks: list[Check], dtype: str) -> Iterator[str]:
    """Yield a warning of numbers that are as near as rounding in float32 leaves them."""
    near = [check for check in checks if not check.agrees and _off_by(check) < NEAR]
    if near and dtype == "float64":
        yield f"{near[0].quantity} is so near that it may have been computed in float32: if so, give that dtype"


def _off_by(check: Check) -> float:
    """Return the relative difference of a published number; inf where there is none."""
    off = abs(float(check.published or "nan") - check.recomputed)
    return off / abs(check.recomputed) if check.recomputed and isfinite(off) else inf


def _of_level(total: Tally, uniform: float, above: int) -> Iterator[str]:
    """Yield warnings of a loss that is worse than knowing nothing; above: how many documents have such a one."""
    if total.mean_nll > uniform:
        yield (
            f"the mean nll {total.mean_nll:.6g} is above ln V = {uniform:.6g}, that of a uniform guess "
            "(were the labels shifted, so that row t is scored against token t + 1?)"
        )
    elif above:
        yield f"{above} of {total.n_documents} documents have a mean nll above ln V = {uniform:.6g}"
    if total.n_bytes and total.bits_per_byte > 8.0:
        yield f"{total.bits_per_byte:.6g} bits per byte are more than the 8 that a byte has"
