"""Naming the mistake: which wrong computation reproduces a reported number, and which could not be seen here."""

__all__ = ["Candidate", "Diagnosis", "diagnose"]

from math import inf, isfinite, isnan
from typing import NamedTuple

from refcalc import _check, _rounding
from refcalc.evidence import Evidence
from refcalc.mistakes import MISTAKES
from refcalc.mistakes.kind import ALL, PERPLEXITIES
from refcalc.mistakes.ranking import RANKING
from refcalc.mistakes.trials import Nearness, Numbers, Trials

NEAREST = 3  # how many near misses are shown


class Candidate(NamedTuple):
    """One mistake, or two from different steps, and the number that they make of the evidence."""

    mistakes: tuple[str, ...]
    value: float
    relative: float  # |reported - value| / |value|
    ulp: float  # steps between the two along the numbers of the dtype


class Diagnosis(NamedTuple):
    """What `diagnose` found; as text, a verdict that starts with whether the number is right.

    right is None where the evidence has no right answer; refusal then says why, and candidates is not empty.

    >>> from refcalc import Records, diagnose
    >>> diagnose(1.5, Records([[2, 2, 2, 2], [1]], groups=[[0], [1]])).candidates[0].mistakes
    ('mean-of-means',)
    """

    reported: float | str
    quantity: str
    dtype: str
    right: float | None
    agrees: bool
    candidates: tuple[Candidate, ...]  # all that reproduce the number: single before pair, then by rank
    hidden: tuple[str, ...]  # kinds that make no difference on this evidence
    nearest: tuple[Candidate, ...]  # where there are no candidates: the nearest misses
    untried: dict[str, str]  # kinds that cannot be made on this evidence, and what each would need
    relative: float  # how far the reported number is from the right one
    ulp: float
    refusal: str | None = None

    def __bool__(self) -> bool:
        """Refuse: `assert diagnose(...)` would otherwise hold whatever was found."""
        raise TypeError("Diagnosis has no truth value: ask for .agrees")

    def __str__(self) -> str:
        return "\n".join(_told(self))


def diagnose(
    reported: float | str,
    evidence: Evidence,
    *,
    quantity: str = "mean_nll",
    dtype: str = "float64",
    tolerance: float | None = None,
) -> Diagnosis:
    """Return whether a reported number is right, and if not, which mistakes reproduce it.

    reported: a number, inf and nan among them; or its text ("1.05"), which stands for everything that is rounded to it.
    evidence: a Batch or Records.
    quantity: what the number claims to be: mean_nll, nll_sum, perplexity, bits_per_token, bits_per_byte, bits_per_char,
        byte_perplexity or word_perplexity.  mean_nll and nll_sum are the loss, of which class weights and label
        smoothing are part; the others measure the model by its plain nll.
    dtype: "float64", "float32", "float16" or "bfloat16", in which it was computed.
    tolerance: the relative difference that is allowed, instead of the one that rounding in dtype can cause.

    All single mistakes are tried, and all pairs from different steps; every match is reported, none is guessed.

    >>> from refcalc import Records
    >>> print(diagnose("1.05", Records([[0.1], [2.0] * 9], groups=[[0], [1]])))
    1.05 is not the right mean_nll, which is 1.81.
    It is what this gives:
      mean-of-means: 1.05
        Each batch, micro-batch or rank is reduced to its own mean, and the means are averaged.
        Add up sums and counts, and divide once.
    >>> diagnose(1.81, Records([[0.1], [2.0] * 9])).agrees
    True

    Raises ValueError for a number that the quantity cannot be (a negative perplexity), evidence too poor for the
    quantity (no n_bytes for bits_per_byte), nothing to average, an unknown quantity or dtype; TypeError for another
    kind.

    Accuracy: a difference is explained by rounding as `compare` defines it, from the number of classes, of targets and
    the size of the logits.
    """
    _check.choice("diagnose", "quantity", quantity, ALL)
    _check.choice("diagnose", "dtype", dtype, tuple(_rounding.FORMATS))
    if not isinstance(evidence, Evidence):
        _check.refuse("diagnose", "evidence", "be a Batch or Records", evidence, TypeError)
    number, slack = _reported(reported, quantity)
    if tolerance is not None:
        tolerance = _check.not_negative("diagnose", "tolerance", tolerance, finite=True)
    trials = Trials(evidence, quantity, dtype)
    near = Nearness(trials, slack, tolerance)
    agrees = trials.right is not None and near.same(number, trials.right)
    singles, untried = trials.singles()
    hidden = () if trials.right is None else tuple(
        names[0] for names, values in singles.items() if all(near.same(value, trials.right) for value in values)
    )  # fmt: skip
    found: tuple[Candidate, ...] = ()
    nearest: tuple[Candidate, ...] = ()
    if not agrees:
        found, nearest = _sought(number, near, singles, trials.pairs())
        if trials.right is None and not found:
            raise ValueError(trials.refusal)
    right = trials.right
    ulp, _, relative, _ = (inf,) * 4 if right is None else _rounding.sizes(number, right, dtype, near.limit(right))
    return Diagnosis(
        reported, quantity, dtype, right, agrees, found, hidden, nearest, untried, relative, ulp, trials.refusal
    )


# --- private ---------------------------------------------------------------------------------------------------------


def _reported(reported: float | str, quantity: str) -> tuple[float, float]:
    """Return a number, and half a unit of the last digit if it was given as text."""
    slack = 0.0
    if isinstance(reported, str):
        try:
            number = float(reported)
        except ValueError:
            _check.refuse("diagnose", "reported", "be a number", reported)
        mantissa, _, exponent = reported.strip().lower().replace("_", "").partition("e")
        if isfinite(number):
            digits = len(mantissa.partition(".")[2])
            slack = 0.5 * float(f"1e{int(exponent or 0) - digits}") * (1.0 + 2.0**-40)
    else:
        number = _check.real("diagnose", "reported", reported)
    if quantity in PERPLEXITIES and number < 0.0:
        _check.refuse("diagnose", "reported", f"not be negative (no {quantity} is)", reported)
    return number, slack


def _sought(
    number: float, near: Nearness, singles: Numbers, pairs: Numbers
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Return the candidates that match, best first, and where there are none the nearest misses.

    A pair of which one member alone gives the number says nothing more than that member, and is left out.
    """
    values = {names: _nearest(number, each) for names, each in (*singles.items(), *pairs.items())}
    matching = {names for names in singles if near.same(number, values[names])}
    matching |= {
        names for names in pairs if near.same(number, values[names]) and not any((name,) in matching for name in names)
    }
    if matching or not isfinite(number):
        found = [_candidate(near, names, number, values[names]) for names in matching]
        return tuple(sorted(found, key=lambda each: (len(each.mistakes), sum(map(RANKING.index, each.mistakes))))), ()
    misses = sorted(
        values, key=lambda names: (abs(values[names] - number), len(names)) if isfinite(values[names]) else (inf, 9)
    )
    different: list[tuple[str, ...]] = []
    for names in misses:
        if len(different) < NEAREST and not any(values[names] == values[other] for other in different):
            different.append(names)
    return (), tuple(_candidate(near, names, number, values[names]) for names in different)


def _nearest(number: float, values: tuple[float, ...]) -> float:
    """Return the value that is nearest to a number; an infinity, and nan, to itself."""
    if len(values) == 1:
        return values[0]
    same = [value for value in values if value == number or (isnan(value) and isnan(number))]
    finite = [value for value in values if isfinite(value)]
    return same[0] if same else min(finite or values, key=lambda value: abs(value - number))


def _candidate(near: Nearness, names: tuple[str, ...], number: float, value: float) -> Candidate:
    if number == value or (isnan(number) and isnan(value)):
        return Candidate(names, value, 0.0, 0)
    ulp, _, relative, _ = _rounding.sizes(number, value, near.dtype, near.limit(value))
    return Candidate(names, value, relative, ulp)


def _told(diagnosis: Diagnosis) -> list[str]:
    shown = diagnosis.reported if isinstance(diagnosis.reported, str) else f"{diagnosis.reported:.10g}"
    if diagnosis.agrees:
        lines = [f"{shown} is the right {diagnosis.quantity}: {diagnosis.right:.10g}."]
        if diagnosis.hidden:
            lines += ["On this evidence it would be the same with these mistakes:", *_listed(diagnosis.hidden)]
        return lines
    if diagnosis.right is None:
        lines = [f"There is no right {diagnosis.quantity}: {diagnosis.refusal}."]
    else:
        lines = [f"{shown} is not the right {diagnosis.quantity}, which is {diagnosis.right:.10g}."]
    if not diagnosis.candidates:
        lines.append("No mistake of the catalogue, and no two of different steps, give it.")
        if diagnosis.nearest:
            lines.append("The nearest misses:")
        lines += [_line(candidate) for candidate in diagnosis.nearest]
        least = min([diagnosis.relative, *(candidate.relative for candidate in diagnosis.nearest)])
        if diagnosis.dtype == "float64" and least < 1e-4:
            lines.append("So near a miss may be rounding: if the number was computed in float32, give that dtype.")
        return lines
    several = len(diagnosis.candidates) > 1
    lines.append("These give it, and this evidence cannot tell them apart:" if several else "It is what this gives:")
    for candidate in diagnosis.candidates:
        lines.append(_line(candidate))
        for name in candidate.mistakes:
            mistake = MISTAKES[name]
            custom = ["    No mistake by itself: two customs that get compared as if they were one."]
            lines += [f"    {mistake.done}", *(custom if mistake.sort == "convention" else [])]
            lines.append(f"    {mistake.remedy}")
    return lines


def _line(candidate: Candidate) -> str:
    return f"  {' + '.join(candidate.mistakes)}: {candidate.value:.10g}"


def _listed(names: tuple[str, ...]) -> list[str]:
    return [f"  {name}: {MISTAKES[name].hidden_if}" for name in names]
