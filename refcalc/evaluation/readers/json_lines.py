"""JSON lines of any make with the log-probabilities of tokens, or with nll sums: one document a line.

    token_logprobs, logprobs, log_probs     a list of log-probabilities in nats; a first null is no target
    nlls, token_nlls, losses, nll           a list of nlls in nats
    mask, loss_mask                         0/1 for each, where not all count
    logprob, token_logprob                  a log-probability, of a line that is one token and no document
    nll_sum, sum_nll, total_nll, nll        their sum: a number, or text as a Tally writes it
    logprob_sum, sum_logprobs, loglikelihood
    n_targets (n_tokens, num_tokens), n_bytes, n_chars, n_words
    text                                    the text of the scored tokens
    document, doc_id, id                    what the document is called, each once
    mean_nll (loss), perplexity (ppl), bits_per_byte (bpb), ...
                                            what the log says of the document, to be computed again

A line {"summary": {...}} holds what it says of all documents.  Where a list is there, a sum and n_targets are copies of
what it gives.
"""

__all__ = ["LOOKED_FOR", "documents", "recognises"]

from collections.abc import Iterator
from typing import Any

from refcalc import _check
from refcalc.evaluation.readers.log import ALIASES, COUNTS, QUANTITIES, Document, Findings
from refcalc.evaluation.readers.published import claims_of
from refcalc.evaluation.readers.records import Record
from refcalc.evaluation.readers.values import count, log_probability, nll, read_all
from refcalc.exact_sum import ExactSum
from refcalc.tally import Tally, text_counts

LISTS = {
    **dict.fromkeys(("token_logprobs", "logprobs", "log_probs"), log_probability),
    **dict.fromkeys(("nlls", "token_nlls", "losses", "nll"), nll),
}
SUMS = {
    **dict.fromkeys(("nll_sum", "sum_nll", "total_nll", "nll"), nll),
    **dict.fromkeys(("logprob_sum", "sum_logprobs", "loglikelihood"), log_probability),
}
TOKENS = dict.fromkeys(("logprob", "token_logprob"), log_probability)
IDS = ("document", "doc_id", "id")
LOOKED_FOR = "JSON lines with token_logprobs or nlls (lists), or with nll_sum and n_targets"


def recognises(value: Any) -> bool:
    """Return whether a record is of this format."""
    if not isinstance(value, dict):
        return False
    if set(value) == {"summary"}:
        return isinstance(value["summary"], dict)
    if _key(value, LISTS, list) is not None or _key(value, TOKENS, object) is not None:
        return True
    return _key(value, SUMS, object) is not None and _targets(value) is not None


def documents(record: Record, found: Findings) -> Iterator[Document]:
    """Yield the document of a record; a summary goes to the findings."""
    value = record.value
    if set(value) == {"summary"}:
        found.publish(record, claims_of(record, record.printed()["summary"]))
        return
    if (token := _key(value, TOKENS, object)) is not None:
        nlls = [log_probability(record, token, value[token])]
        yield Document(record, nlls, Tally(max(nlls[0], 0.0), 1, n_documents=0), {})
        return
    if (key := next((key for key in IDS if isinstance(value.get(key), (str, int))), None)) is not None:
        found.once(record, key, value[key])
    claims = _claims(record)
    counts = {name: _counted(record, name) for name in COUNTS if name not in ("n_targets", "n_documents")}
    listed = _key(value, LISTS, list)
    total = _sum(record)
    stated = None if (name := _targets(value)) is None else count(record, name, value[name])
    if listed is None:
        _of_text(record, found, counts, whole=True)
        tally = _tally(record, total, stated, counts)
        yield Document(record, None, tally, claims)
        return
    nlls = _scored(record, listed)
    _of_text(record, found, counts, whole=len(nlls) == len(value[listed]))
    if stated is not None:
        claims["n_targets"] = stated
    if total is not None:
        claims["nll_sum"] = float(total)
    yield Document(record, nlls, _tally(record, ExactSum(nlls), len(nlls), counts), claims)


# --- private ---------------------------------------------------------------------------------------------------------


def _claims(record: Record) -> dict[str, Any]:
    """Return what the record says of its document, but for its sum."""
    keys = [key for key in record.value if key not in SUMS and ALIASES.get(key, key) in QUANTITIES]
    if all(record.value[key] is None for key in keys):
        return {}
    printed = record.printed()
    return claims_of(record, {key: printed[key] for key in keys})


def _key(value: dict[str, Any], names: dict[str, Any], kind: type) -> str | None:
    """Return the first of the names that the record has, with a value of this kind (any but a list, for object)."""
    for name in names:
        each = value.get(name)
        if each is not None and isinstance(each, kind) and (kind is list or not isinstance(each, list)):
            return name
    return None


def _targets(value: dict[str, Any]) -> str | None:
    """Return the name under which the record gives the number of its targets."""
    names = ("n_targets", *(name for name, meant in ALIASES.items() if meant == "n_targets"))
    return next((name for name in names if value.get(name) is not None), None)


def _counted(record: Record, name: str) -> int | None:
    for alias in (name, *(other for other, meant in ALIASES.items() if meant == name)):
        if record.value.get(alias) is not None:
            return count(record, alias, record.value[alias])
    return None


def _sum(record: Record) -> ExactSum | None:
    """Return the nll sum that the record gives."""
    key = _key(record.value, SUMS, object)
    if key is None:
        return None
    value = record.value[key]
    if key == "nll_sum" and isinstance(value, str) and value != "inf":
        try:
            total = ExactSum.from_hex(value)
        except ValueError:
            record.refuse(key, 'be a number, "inf" or an exact sum in hexadecimal', value)
        nll(record, key, float(total))
        return total
    return ExactSum((SUMS[key](record, key, value),))


def _scored(record: Record, key: str) -> list[float]:
    """Return the nlls of the tokens that count."""
    values = record.value[key]
    nlls = read_all(record, key, values, LISTS[key])
    for name in ("mask", "loss_mask"):
        if (mask := record.value.get(name)) is not None:
            bits = _check.bits(record.path, f"{record.at}: {name}", mask)
            _check.same_length(record.path, f"{record.at}: {name}", bits, key, len(values))
            nlls = [x for x, kept in zip(nlls, bits[len(values) - len(nlls) :], strict=True) if kept]
    return nlls


def _of_text(record: Record, found: Findings, counts: dict[str, int | None], whole: bool) -> None:
    """Hold the counts against the text; where all of it was scored and they were not given, take them from there."""
    text = record.value.get("text")
    if text is None:
        return
    has = text_counts(record.path, f"{record.at}: text", text)
    for name in ("n_bytes", "n_chars"):
        given = counts[name]
        if given is None:
            counts[name] = has[name] if whole else None
        elif given > has[name] or (whole and given != has[name]):
            found.contradict(record.place, f"{name} says {given}, the text has {has[name]}")
        elif name == "n_bytes" and given == has["n_chars"] < has["n_bytes"]:
            found.contradict(
                record.place, f"n_bytes says {given}, which are the characters of the text; it has {has[name]} bytes"
            )


def _tally(record: Record, total: ExactSum | None, n: int | None, counts: dict[str, int | None]) -> Tally:
    if total is None or float(total) < 0.0:  # of sure tokens, rounded
        total = ExactSum()
    try:
        return Tally(total, n or 0, n_documents=1, **counts)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{record.place}: {error}") from None
