"""What a diagnosis says to a person: the verdict first, then what explains the number, then what was not looked at."""

__all__ = ["sentences"]

from typing import Any

from refcalc.mistakes import MISTAKES
from refcalc.mistakes.ranking import RANKING

EXPLAINED = 3  # how many candidates are explained
LISTED = 3  # how many kinds are named of those that want the same thing
LACKS = 3  # how many such things have a line of their own
FEW = 4  # significant digits that many numbers have in common


def sentences(diagnosis: Any) -> list[str]:
    """Return the lines of a `diagnosis.Diagnosis`."""
    shown = diagnosis.reported if isinstance(diagnosis.reported, str) else f"{diagnosis.reported:.10g}"
    name = diagnosis.quantity
    if diagnosis.agrees:
        return _agreement(diagnosis, shown)
    if diagnosis.right is None:
        lines = [f"There is no right {name}: {diagnosis.refusal}."]
    else:
        lines = [f"{shown} is not the right {name}, which is {diagnosis.right:.10g}."]
    return lines + (_explanations(diagnosis) if diagnosis.candidates else _misses(diagnosis))


# --- private ---------------------------------------------------------------------------------------------------------


def _agreement(diagnosis: Any, shown: str) -> list[str]:
    name, right, limit = diagnosis.quantity, f"{diagnosis.right:.10g}", diagnosis.limit
    if limit == "its digits":
        lines = [f"{shown} agrees with the right {name}, {right}, as far as its digits go."]
    elif limit:
        lines = [f"{shown} is the right {name}: {right}, within {_what(limit)}."]
    else:
        lines = [f"{shown} is the right {name}: {right}."]
    if diagnosis.hidden:
        lines.append("On this evidence it would be the same with these mistakes:")
    for kind in diagnosis.hidden:
        vague = diagnosis.vague.get(kind)
        if vague is None:
            lines.append(f"  {kind}: {MISTAKES[kind].hidden_if}")
        else:
            lines.append(f"  {kind}: not told apart by {'these digits' if vague == 'its digits' else vague}")
    return lines


def _what(limit: str) -> str:
    return limit if limit.startswith("the ") else f"the rounding of {limit}"


def _explanations(diagnosis: Any) -> list[str]:
    several = len(diagnosis.candidates) > 1
    lines = ["These give it, and this evidence cannot tell them apart:" if several else "It is what this gives:"]
    for i, candidate in enumerate(diagnosis.candidates):
        lines.append(_line(candidate))
        for name in candidate.mistakes if i < EXPLAINED else ():
            mistake = MISTAKES[name]
            label = f"{name}: " if len(candidate.mistakes) > 1 else ""
            lines.append(f"    {label}{mistake.done}")
            if mistake.sort == "convention":
                lines.append("    No mistake by itself: two customs that get compared as if they were one.")
            lines.append(f"    {mistake.remedy}")
    if 0 < _significant(diagnosis.reported) <= FEW:
        lines.append(f"{diagnosis.tried} kinds and pairs were tried; with so few digits a match may be chance.")
    return lines


def _misses(diagnosis: Any) -> list[str]:
    lines = ["No mistake of the catalogue, and no two of different steps, give it."]
    if diagnosis.nearest:
        lines.append("The nearest misses:")
    lines += [_line(candidate) for candidate in diagnosis.nearest]
    least = min([diagnosis.relative, *(candidate.relative for candidate in diagnosis.nearest)])
    if diagnosis.dtype == "float64" and least < 1e-4:
        lines.append("So near a miss may be rounding: if the number was computed in float32, give that dtype.")
    return lines + _untried(diagnosis.untried)


def _line(candidate: Any) -> str:
    names = " + ".join(candidate.mistakes)
    return f"  {names}: {candidate.value:.10g} (relative difference {candidate.relative:.2g})"


def _untried(untried: dict[str, str]) -> list[str]:
    """Return which kinds were not tried for want of an argument of the evidence, the likeliest kinds first."""
    kinds: dict[str, list[str]] = {}
    for name in sorted(untried, key=RANKING.index):
        if untried[name].isidentifier():
            kinds.setdefault(untried[name].removeprefix("given_"), []).append(name)
    lines = []
    for lack, names in [*kinds.items()][:LACKS]:
        more = len(names) - LISTED
        rest = f" and {more} more" if more > 0 else ""
        lines.append(f"Not tried without {lack}: {', '.join(names[:LISTED])}{rest}.")
    others = [*kinds][LACKS:]
    if others:
        lines.append(f"Nor {sum(len(kinds[lack]) for lack in others)} more without {', '.join(others)}.")
    return lines


def _significant(reported: float | str) -> int:
    """Return how many digits of a text are significant, zeros at the end among them; 0 for a number."""
    if not isinstance(reported, str):
        return 0
    mantissa = reported.lower().partition("e")[0]
    return len("".join(c for c in mantissa if c.isdigit()).lstrip("0"))
