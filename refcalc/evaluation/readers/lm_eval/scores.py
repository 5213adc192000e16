"""Each metric of one sample, computed again from its responses as the harness does it."""

__all__ = ["delimiter", "own_scores", "rolling_counts"]

import ast
import re
from math import inf
from typing import Any

from refcalc.evaluation.readers.lm_eval.sample import Sample

COUNTED = {"word_perplexity": "words", "byte_perplexity": "bytes", "bits_per_byte": "bytes"}


def own_scores(sample: Sample, output_type: str, between: str | None) -> dict[str, Any]:
    """Return the metrics that the responses of a sample decide, by name."""
    responses = sample.responses
    if not responses:
        return {}
    if output_type == "loglikelihood":
        ll, greedy = responses[0]
        return {"perplexity": ll, **({} if greedy is None else {"acc": int(greedy)})}
    if output_type == "multiple_choice":
        return _choice_scores(sample, between)
    return dict.fromkeys(COUNTED, responses[0][0])


def rolling_counts(sample: Sample) -> dict[str, dict[str, int]]:
    """Return the words and bytes of each text that a rolling likelihood may be counted over, by the name of the text.

    That of the request comes first; tasks of their own making count a field of the document.
    """
    texts = {"the target": sample.requests[0][0] if sample.requests and sample.requests[0] else sample.target}
    doc = sample.record.value["doc"]
    fields = doc.items() if isinstance(doc, dict) else [("", doc)]
    texts |= {f"doc[{key!r}]" if key else "doc": value for key, value in fields}
    return {name: _counts(text) for name, text in texts.items() if isinstance(text, str)}


def delimiter(config: dict[str, Any], chat: bool) -> str:
    """Return what stands between a context and each choice, in the text of a request."""
    prefix = config.get("gen_prefix")
    if chat and not (prefix and not prefix[-1].isspace()):
        return ""
    given = config.get("target_delimiter", " ")
    return given if isinstance(given, str) else " "


# --- private ---------------------------------------------------------------------------------------------------------


def _counts(text: str) -> dict[str, int]:
    return {
        "words": len(re.split(r"\s+", text)),
        "bytes": len(text.encode("utf-8", "surrogatepass")),
        "characters": len(text),
    }


def _choice_scores(sample: Sample, between: str | None) -> dict[str, Any]:
    """Return acc and its kin; none of them where the log does not say which choice is right."""
    assert sample.responses is not None
    lls, greedy = [ll for ll, _ in sample.responses], [flag for _, flag in sample.responses]
    n = len(lls) // 2 if "acc_mutual_info" in sample.metrics else len(lls)
    requests = sample.requests[:n]
    if len(requests) < n or not all(len(each) > 1 and isinstance(each[1], str) for each in requests):
        return {}
    if any(each[0] != requests[0][0] for each in requests):  # the choices are the contexts: the target is no index
        return {}
    choices = [each[1].removeprefix(between or "") for each in requests]
    gold = _gold(sample.target, choices)
    if gold is None:
        return {}
    norms = {"acc": [1] * n, "acc_norm": [len(c) for c in choices], "acc_bytes": [len(c.encode()) for c in choices]}
    scores: dict[str, Any] = {}
    for name, lengths in norms.items():
        each = [ll / length if length else -inf for ll, length in zip(lls[:n], lengths, strict=True)]
        scores[name] = float(_best(each) in gold)
    if n < len(lls):
        scores["acc_mutual_info"] = float(_best([a - b for a, b in zip(lls[:n], lls[n:], strict=True)]) in gold)
    if None not in greedy:
        scores["exact_match"] = int(any(greedy[i] for i in gold if 0 <= i < n))
    return scores


def _best(values: list[float]) -> int:
    """Return the place of the largest value, the first of equals."""
    return values.index(max(values))


def _gold(target: Any, choices: list[str]) -> list[int] | None:
    """Return the places of the right choices; the target was logged as a place, a choice, or a list of them."""
    if isinstance(target, str) and target.startswith("[") and target not in choices:
        try:
            target = ast.literal_eval(target)
        except (SyntaxError, ValueError):
            return None
    if isinstance(target, list):
        each = [_place(one, choices) for one in target]
        return None if None in each else [place for place in each if place is not None]
    place = _place(target, choices)
    return None if place is None else [place]


def _place(target: Any, choices: list[str]) -> int | None:
    if isinstance(target, str):
        if re.fullmatch(r"-?\d+", target):
            return int(target)
        return choices.index(target) if target in choices else None
    return target if isinstance(target, int) and not isinstance(target, bool) else None
