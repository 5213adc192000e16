"""What was published: a JSON object of quantities, such as {"perplexity": 12.18, "bits_per_byte": 2.164}.

The names are those of refcalc, or of what is customary (loss, ppl, bpb, bpc); other keys are passed over.
"""

__all__ = ["LOOKED_FOR", "claims_of", "recognises"]

from typing import Any

from refcalc.evaluation.readers.log import ALIASES, COUNTS, QUANTITIES
from refcalc.evaluation.readers.records import Record

LOOKED_FOR = "beside a log, an object of published quantities (perplexity, bits_per_byte, ...)"

NAMES = (*QUANTITIES, *COUNTS)


def recognises(value: Any) -> bool:
    """Return whether a record is an object of published quantities."""
    return isinstance(value, dict) and any(ALIASES.get(key, key) in NAMES for key in value)


def claims_of(record: Record, value: dict[str, Any]) -> dict[str, Any]:
    """Return the quantities and counts that an object of a record gives, by their names here.

    Null, and a list (the losses of tokens), is passed over; anything else has to be a number, or "inf".
    """
    claims: dict[str, Any] = {}
    for key, each in value.items():
        name = ALIASES.get(key, key)
        if name not in NAMES or each is None or isinstance(each, list):
            continue
        if each != "inf" and (isinstance(each, bool) or not isinstance(each, (int, float))):
            record.refuse(key, 'be a number, or "inf"', each, TypeError)
        if name in claims and claims[name] != each:
            record.refuse(key, f"be the {name} that the record gives under another name ({claims[name]})", each)
        claims[name] = each
    return claims
