"""What was published: a JSON object of quantities, such as {"perplexity": 12.18, "bits_per_byte": 2.164}.

The names are those of refcalc, or of what is customary (loss, ppl, bpb, bpc); other keys are passed over.
"""

__all__ = ["LOOKED_FOR", "claims_of", "recognises"]

from typing import Any

from refcalc.evaluation.readers.log import ALIASES, COUNTS, QUANTITIES

LOOKED_FOR = "beside a log, an object of published quantities (perplexity, bits_per_byte, ...)"


def recognises(value: Any) -> bool:
    """Return whether a record is an object of published quantities."""
    return isinstance(value, dict) and bool(claims_of(value))


def claims_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return the quantities and counts that an object gives as numbers, by their names here."""
    claims: dict[str, Any] = {}
    for key, each in value.items():
        name = ALIASES.get(key, key)
        number = isinstance(each, (int, float)) and not isinstance(each, bool)
        if name in (*QUANTITIES, *COUNTS) and (number or each in ("inf", "-inf")):
            claims.setdefault(name, each)
    return claims
