"""One logged sample: its copies held against each other, and each metric of it computed again from its responses."""

__all__ = ["Responses", "Sample", "hashes", "read_sample"]

import hashlib
import json
import re
from math import isnan
from typing import Any, NamedTuple

from refcalc.evaluation.readers.log import Findings
from refcalc.evaluation.readers.records import Record
from refcalc.evaluation.readers.values import items, log_probability, texts

NUMBER = re.compile(r"-?\d+(\.\d*)?(e[+-]?\d+)?|-?inf|-?nan", re.IGNORECASE)
LIKELIHOODS = ("loglikelihood", "loglikelihood_rolling", "multiple_choice")
HASHES = ("doc_hash", "prompt_hash", "target_hash")
KEYS = ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", *HASHES)

Responses = list[tuple[float, bool | None]]  # the log-likelihood of each request, and whether greedy decoding gives it


class Sample(NamedTuple):
    """What one line says."""

    record: Record
    filter: str
    metrics: dict[str, Any]  # as they were logged
    responses: Responses | None  # None where they are no likelihoods
    requests: list[list[Any]]  # the arguments of each
    target: Any


def read_sample(record: Record, output_type: str, found: Findings) -> Sample:
    """Return a sample, its copies of the log-likelihoods held against each other."""
    value = record.value
    names = texts(record, "metrics", value.get("metrics", [key for key in value if key not in KEYS]))
    for name in names:
        if name not in value:
            record.refuse("", f"have the key {name}, which metrics lists", sorted(value))
    (filter_,) = texts(record, "filter", [value.get("filter", "none")])
    responses = None
    if output_type in LIKELIHOODS:
        responses = _responses(record, "filtered_resps", value["filtered_resps"])
        raw = [each[0] if isinstance(each, list) and each else each for each in items(record, "resps", value["resps"])]
        for i, (one, other) in enumerate(zip(_responses(record, "resps", raw), responses, strict=False)):
            found.same(record, (f"resps[{i}]", one[0]), (f"filtered_resps[{i}]", other[0]))
            found.same(record, (f"resps[{i}] (greedy)", one[1]), (f"filtered_resps[{i}] (greedy)", other[1]))
        if len(raw) != len(responses):
            found.contradict(record.place, f"resps has {len(raw)} responses, filtered_resps {len(responses)}")
    metrics = {name: value[name] for name in names}
    return Sample(record, filter_, metrics, responses, _requests(record), value.get("target"))


def hashes(sample: Sample, found: Findings) -> str:
    """Return the hashes of a sample put together, having held them against its document, prompt and target."""
    value = sample.record.value
    if not all(isinstance(value.get(name), str) for name in HASHES):
        return ""
    document = json.dumps(value["doc"], indent=2, ensure_ascii=False)
    prompt = sample.requests[0][0] if sample.requests and sample.requests[0] else None
    for name, text in zip(HASHES, (document, prompt, str(sample.target)), strict=True):
        if isinstance(text, str) and value[name] != _sha256(text):
            what = name.removesuffix("_hash")
            found.contradict(sample.record.place, f"{name} is not the hash of the {what}: one of them was changed")
    return "".join(value[name] for name in HASHES)


# --- private ---------------------------------------------------------------------------------------------------------


def _responses(record: Record, argument: str, values: Any) -> Responses:
    result: Responses = []
    for i, each in enumerate(items(record, argument, values)):
        at = f"{argument}[{i}]"
        pair = each if isinstance(each, list) else [each]
        if len(pair) not in (1, 2):
            record.refuse(at, "be a log-likelihood, or one and whether it is greedy", each)
        greedy = None if len(pair) == 1 else str(pair[1])
        if greedy not in (None, "True", "False"):
            record.refuse(at, "say True or False for greedy", pair[1])
        ll = -log_probability(record, at, _number(record, at, pair[0]))
        result.append((ll, None if greedy is None else greedy == "True"))
    return result


def _number(record: Record, argument: str, value: Any) -> Any:
    """Return a number that may be written as text, as the harness writes responses."""
    if not isinstance(value, str):
        return value
    if not NUMBER.fullmatch(value):
        record.refuse(argument, "be a number", value)
    number = float(value)
    if isnan(number):
        record.refuse(argument, "be a number", value)
    return "-inf" if number == -float("inf") else number


def _requests(record: Record) -> list[list[Any]]:
    """Return the arguments of each request, written as {"gen_args_0": {"arg_0": ...}} or as lists."""
    given = record.value.get("arguments")
    requests = list(given.values()) if isinstance(given, dict) else items(record, "arguments", given)
    return [list(each.values()) if isinstance(each, dict) else list(_listed(each)) for each in requests]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
