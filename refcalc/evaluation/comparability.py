"""Which quantities two protocols leave comparable.

    fields that differ                          what cannot be compared
    window, stride, bos, bos_scored,            anything: other targets were scored, or from other contexts
      eos_scored, corpus, split
    bos_id, eos_id, with one tokenizer          anything
    tokenizer, vocab_size                       targets and words; bytes and characters are what is left
    text                                        bytes, characters and words: they are counts of other text
    word_rule                                   words
    checkpoint, dtype, looks and the others     nothing: that is what one compares, or it moves no number
"""

__all__ = ["DOCUMENTS", "Terms", "check_despite", "terms_of"]

from collections.abc import Collection, Iterable
from dataclasses import fields
from typing import Any, NamedTuple, NoReturn

from refcalc import _check
from refcalc._refusal import NoComparison, shown
from refcalc.evaluation.comparison import PER
from refcalc.evaluation.protocol import Protocol

NAME = "compare_reports"
DOCUMENTS = "documents"  # what `despite` takes besides fields of a protocol
TOKENS = ("tokenizer", "vocab_size")
IDS = ("bos_id", "eos_id")  # in another vocabulary they differ as a matter of course
FORBIDS = {
    **dict.fromkeys(("window", "stride", "bos", "bos_scored", "eos_scored", "corpus", "split", *IDS), tuple(PER)),
    **dict.fromkeys(TOKENS, ("target", "word")),
    "text": ("byte", "char", "word"),
    "word_rule": ("word",),
}
FOLLOWS = {"stride": "window", "bos_id": "bos", "eos_id": "eos_scored"}  # what may differ because another field does


class Terms(NamedTuple):
    """What two protocols allow: the quantities offered, and those withheld with the fields that forbid them.

    differences: the fields that differ, with both values; overruled: those that would forbid something.
    """

    offered: tuple[str, ...]
    withheld: dict[str, tuple[str, ...]]
    differences: dict[str, tuple[Any, Any]]
    overruled: tuple[str, ...]
    cautions: tuple[str, ...]


def check_despite(despite: Iterable[str]) -> tuple[str, ...]:
    """Return the fields to overrule, having refused what is none."""
    if isinstance(despite, str):
        despite = (despite,)
    names = (*(each.name for each in fields(Protocol)), DOCUMENTS)
    result = tuple(_check.iterable(NAME, "despite", despite))
    for i, name in enumerate(result):
        _check.choice(NAME, f"despite[{i}]", name, names)
    return result


def terms_of(ours: Protocol, theirs: Protocol, despite: Collection[str], per: str | None = None) -> Terms:
    """Return what the two protocols allow, despite some fields; per: the one quantity that is asked for.

    Raises NoComparison where nothing is left, naming the fields and their values.
    """
    differences = ours.differences(theirs)
    despite = [*despite, *_following(ours, theirs, differences, despite)]
    one_tokenizer = not any(name in differences for name in TOKENS)
    forbids = {name: FORBIDS[name] for name in differences if name in FORBIDS and (one_tokenizer or name not in IDS)}
    asked = [each for each in PER if per in (None, each)]
    counted = [each for each in asked if each == "target" or all(f"{each}s" in one.units for one in (ours, theirs))]
    withheld = {}
    for each in counted:
        names = tuple(name for name, what in forbids.items() if each in what and name not in despite)
        if names:
            withheld[each] = names
    offered = tuple(each for each in counted if each not in withheld)
    if not counted:
        units = " and ".join(", ".join(one.units) or "none" for one in (ours, theirs))
        raise NoComparison(f"{NAME}: both must count {per}s, got protocols whose units are {units}")
    if not offered:
        _refuse(withheld, differences)
    overruled = tuple(name for name in forbids if name in despite)
    return Terms(offered, withheld, differences, overruled, tuple(_cautions(ours, theirs, one_tokenizer)))


def _following(
    ours: Protocol, theirs: Protocol, differences: Collection[str], despite: Collection[str]
) -> Iterable[str]:
    """Yield what may differ because its leader may: a stride with its window, an id with the rule for its use."""
    for name, leader in FOLLOWS.items():
        same_carry = name != "stride" or ours.carried_context == theirs.carried_context
        if leader in despite and leader in differences and same_carry:
            yield name


def _refuse(withheld: dict[str, tuple[str, ...]], differences: dict[str, tuple[Any, Any]]) -> NoReturn:
    """Refuse protocols that leave nothing to compare, with the fields in which they differ."""
    names = dict.fromkeys(name for each in withheld.values() for name in each)
    values = ", ".join(f"{name} {shown(differences[name][0])} and {shown(differences[name][1])}" for name in names)
    rule = f"have the same {', '.join(names)} (unless despite names what may differ)"
    raise NoComparison(f"{NAME}: both must {rule}, got {values}")


def _cautions(ours: Protocol, theirs: Protocol, one_tokenizer: bool) -> Iterable[str]:
    """Yield what is to be known of a comparison that is allowed."""
    for whose, protocol in (("ours", ours), ("theirs", theirs)):
        if protocol.looks:
            times = "once" if protocol.looks == 1 else f"{protocol.looks:,} times"
            chosen = f"if anything was chosen by it, {protocol.split!r} has become a validation set"
            yield f"{protocol.split!r} had been looked at {times} before {whose}: {chosen}"
    if ours.dtype != theirs.dtype:
        yield f"scored in {ours.dtype} and {theirs.dtype}: a difference as small as their rounding means nothing"
    if not one_tokenizer:
        yield "a window of as many tokens holds another length of text under another tokenizer"
        if "none" in (ours.bos, theirs.bos):
            yield "without BOS the first token is not scored, which is another text under another tokenizer"
