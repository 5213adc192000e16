"""vLLM's `prompt_logprobs`: of a server's responses (completions or chat), or of outputs written as JSON by hand.

    prompt_logprobs       [null, {"TOKEN ID": {"logprob": x, "rank": r, "decoded_token": s}, ...}, ...]
                          in the response itself or in each of its choices; an entry may be the number alone
    prompt_token_ids      the ids of the prompt's tokens, where they were asked for

Each prompt is a document; its first token, of which the entry is null, is no target, and what was generated behind it
is left out.  An entry holds the token of the prompt first and then the most likely ones by rank, or them alone if it is
among them.  Where ids are given they decide; otherwise the order does, and one that a program has changed is refused.

Shape: the vLLM documentation, `vllm.logprobs.Logprob` and "OpenAI-Compatible Server".
"""

__all__ = ["LOOKED_FOR", "documents", "recognises"]

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from refcalc import _check
from refcalc.evaluation.readers.completions import joined, tally_of
from refcalc.evaluation.readers.log import Document, Findings
from refcalc.evaluation.readers.records import Record
from refcalc.evaluation.readers.values import log_probability

LOOKED_FOR = "vLLM's prompt_logprobs"


def recognises(value: Any) -> bool:
    """Return whether a record is of this format."""
    return isinstance(value, dict) and any(isinstance(each.get("prompt_logprobs"), list) for _, each in _holders(value))


def documents(record: Record, found: Findings) -> Iterator[Document]:
    """Yield a document for each prompt of a record."""
    for at, holder in _holders(record.value):
        entries = holder.get("prompt_logprobs")
        if not isinstance(entries, list):
            continue
        ids = holder.get("prompt_token_ids", record.value.get("prompt_token_ids"))
        if ids is not None:
            ids = _check.wholes(record.path, f"{record.at}: {at}prompt_token_ids", ids)
            _check.same_length(record.path, f"{record.at}: {at}prompt_logprobs", entries, "prompt_token_ids", len(ids))
        nlls, texts = [], []
        for t in range(int(bool(entries) and entries[0] is None), len(entries)):
            where = f"{at}prompt_logprobs[{t}]"
            entry = entries[t]
            if not isinstance(entry, dict) or not entry:
                record.refuse(where, "be an object of log-probabilities by token id", entry, TypeError)
            key = _token(record, where, entry, None if ids is None else str(ids[t]))
            chosen = entry[key]
            value = chosen.get("logprob") if isinstance(chosen, dict) else chosen
            nlls.append(log_probability(record, f"{where}[{key!r}]", value))
            texts.append(chosen.get("decoded_token") if isinstance(chosen, dict) else None)
            _check_rank(record, found, where, entry, key)
        yield Document(record, nlls, tally_of(nlls, joined(texts)), {})


# --- private ---------------------------------------------------------------------------------------------------------


def _holders(value: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects that may hold prompt_logprobs, and what to write before its name."""
    if isinstance(value.get("prompt_logprobs"), list):
        return [("", value)]
    choices = value.get("choices")
    choices = choices if isinstance(choices, list) else []
    return [(f"choices[{i}].", choice) for i, choice in enumerate(choices) if isinstance(choice, dict)]


def _token(record: Record, where: str, entry: dict[str, Any], known: str | None) -> str:
    """Return the key of the prompt's own token in an entry."""
    if known is not None:
        if known not in entry:
            record.refuse(where, f"hold the prompt's token {known}", list(entry))
        return known
    ranks = [each.get("rank") if isinstance(each, dict) else None for each in entry.values()]
    if None in ranks[1:]:
        return next(iter(entry))
    rest = _check.wholes(record.path, f"{record.at}: {where}: ranks", ranks[1:])
    if any(a >= b for a, b in pairwise(rest)) or (rest and rest[-1] > len(ranks)):
        rule = "keep the order of the server, the prompt's token first and then by rank, or come with prompt_token_ids"
        record.refuse(where, rule, ranks)
    return next(iter(entry))


def _check_rank(record: Record, found: Findings, where: str, entry: dict[str, Any], key: str) -> None:
    """Hold ranks against log-probabilities: a token of a later rank is not more likely."""
    pairs = [
        (each["rank"], each["logprob"])
        for each in entry.values()
        if isinstance(each, dict) and isinstance(each.get("rank"), int) and isinstance(each.get("logprob"), float)
    ]
    pairs.sort(key=lambda pair: pair[0])
    for (rank, one), (later, other) in pairwise(pairs):
        if rank < later and other > one:
            found.contradict(record.place, f"{where}: rank {rank} has {one}, rank {later} has {other}, which is more")
            return
