"""Readers of evaluation logs, one file a format; which format a file has is seen from what it holds."""

__all__ = ["Opened", "documents", "open_log"]

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from refcalc import _check
from refcalc.evaluation.readers import chat, completions, json_lines, lm_eval, published, receipts, report, vllm
from refcalc.evaluation.readers.log import Document, Findings
from refcalc.evaluation.readers.records import Record, read_records

# In the order of the search: what is more particular comes first.
FORMATS: dict[str, Any] = {
    "receipts": receipts,
    "lm-evaluation-harness": lm_eval,
    "vLLM prompt_logprobs": vllm,
    "completions": completions,
    "chat completions": chat,
    "report": report,
    "JSON lines": json_lines,
    "published quantities": published,
}
SHOWN = 8  # keys of an unknown object


class Opened(NamedTuple):
    """A file whose format has been recognised by its first record."""

    path: str
    format: str
    first: Record
    rest: Iterator[Record]

    def records(self) -> Iterator[Record]:
        """Yield all records, once."""
        return chain([self.first], self.rest)

    def only(self) -> Record:
        """Return the one record of a file that must have no more."""
        for record in self.rest:
            record.refuse("", f"not follow another record ({FORMATS[self.format].LOOKED_FOR})", _seen(record.value))
        return self.first


def open_log(path: str) -> Opened:
    """Return a file with its format; what is of no known format is refused with what was looked for."""
    rest = read_records(path)
    first = next(rest)
    for name, module in FORMATS.items():
        if module.recognises(first.value):
            return Opened(path, name, first, rest)
    if isinstance(first.value, dict) and isinstance(first.value.get("choices"), list):
        next(completions.choices(first), None)  # a response without logprobs is refused as such
    looked_for = "; ".join(module.LOOKED_FOR for module in FORMATS.values())
    _check.refuse(path, "the file", f"be of a known form ({looked_for})", _seen(first.value))


def documents(log: Opened, found: Findings) -> Iterator[Document]:
    """Yield the scored texts of a log, all of whose records must be of one format."""
    module = FORMATS[log.format]
    if module is receipts:
        yield from receipts.read(log.path, found)
        return
    for record in log.records():
        if not module.recognises(record.value):
            record.refuse("", f"be as the records before it are ({module.LOOKED_FOR})", _seen(record.value))
        yield from module.documents(record, found)


# --- private ---------------------------------------------------------------------------------------------------------


def _seen(value: Any) -> Any:
    """Return what a refusal shows of a record: the keys of an object."""
    if not isinstance(value, dict):
        return value
    return f"an object with {', '.join(list(value)[:SHOWN]) or 'no keys'}"
