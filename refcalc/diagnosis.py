"""Naming the mistake: which wrong computation reproduces a reported number, and which could not be seen here."""

__all__ = ["Candidate", "Diagnosis", "diagnose"]

from math import inf, isfinite, isnan
from typing import NamedTuple

from refcalc import _check, _rounding
from refcalc.evidence import Evidence
from refcalc.mistakes.kind import ALL, PERPLEXITIES
from refcalc.mistakes.ranking import RANKING
from refcalc.mistakes.trials import Nearness, Numbers, Trials
from refcalc.mistakes.verdict import sentences

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
    hidden: tuple[str, ...]  # kinds that give the right number here, as far as the reported one could tell
    nearest: tuple[Candidate, ...]  # where there are no candidates: the nearest misses
    untried: dict[str, str]  # kinds that cannot be made on this evidence, and what each would need
    relative: float  # how far the reported number is from the right one
    ulp: float
    refusal: str | None
    vague: dict[str, str]  # those of hidden that make a small difference, and what cannot tell it: see limit
    limit: str  # what lets it agree if not float64 itself: "its digits", "the tolerance" or the dtype
    tried: int  # kinds, and pairs of them, whose number was looked at

    def __bool__(self) -> bool:
        """Refuse: `assert diagnose(...)` would otherwise hold whatever was found."""
        raise TypeError("Diagnosis has no truth value: ask for .agrees")

    def __str__(self) -> str:
        return "\n".join(sentences(self))


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
      mean-of-means: 1.05 (relative difference 0)
        Each batch, micro-batch or rank is reduced to its own mean, and the means are averaged.
        Add up sums and counts, and divide once.
    140 kinds and pairs were tried; with so few digits a match may be chance.
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
    pairs = {} if agrees else trials.pairs()
    found: tuple[Candidate, ...] = ()
    nearest: tuple[Candidate, ...] = ()
    if not agrees:
        found, nearest = _sought(number, near, singles, pairs, trials.right)
        if trials.right is None and not found:
            raise ValueError(trials.refusal)
    right = trials.right
    limit, vague = ("", {}) if right is None else _limits(number if agrees else None, near, trials, singles)
    ulp, _, relative, _ = (inf,) * 4 if right is None else _rounding.sizes(number, right, dtype, near.limit(right))
    return Diagnosis(
        reported, quantity, dtype, right, agrees, found, tuple(vague), nearest, untried, relative, ulp, trials.refusal,
        {name: why for name, why in vague.items() if why}, limit, len(singles) + len(pairs),
    )  # fmt: skip


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
            if not isfinite(slack):  # "0e400" would stand for every number
                _check.refuse("diagnose", "reported", "have an exponent within the doubles", reported)
    else:
        number = _check.real("diagnose", "reported", reported)
    if quantity in PERPLEXITIES and number < 0.0:
        _check.refuse("diagnose", "reported", f"not be negative (no {quantity} is)", reported)
    return number, slack


def _limits(number: float | None, near: Nearness, trials: Trials, singles: Numbers) -> tuple[str, dict[str, str]]:
    """Return what lets a number (None: a wrong one) agree with the right one, and hidden kinds with what hides each.

    Where it is equal to the right one in float64, nothing is to blame but the evidence: "".
    """
    right = trials.right
    assert right is not None
    exact = Nearness(trials, 0.0, None, "float64")
    sharp = Nearness(trials, 0.0, near.tolerance)
    other = near.dtype if near.tolerance is None else "the tolerance"
    same, seen = (sharp, right) if number is None else (near, number)

    def hides(value: float) -> str:
        if exact.same(value, right) and exact.same(right, value):
            return ""
        if near.slack and not sharp.same(seen, value):
            return "its digits"
        return other

    vague = {
        names[0]: max(map(hides, values))
        for names, values in singles.items()
        if all(same.same(seen, value) for value in values)
    }
    if exact.same(seen, right):
        return "", vague
    return "its digits" if not sharp.same(seen, right) else other, vague


def _sought(
    number: float, near: Nearness, singles: Numbers, pairs: Numbers, right: float | None
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
        return tuple(sorted(found, key=_rank)), ()
    wrong = [names for names in values if right is None or not abs(values[names] - right) <= 1e-12 * abs(right)]
    misses = sorted(
        wrong, key=lambda names: (abs(values[names] - number), len(names)) if isfinite(values[names]) else (inf, 9)
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


def _rank(candidate: Candidate) -> tuple[int, int, tuple[str, ...]]:
    """Return what candidates are sorted by: single before pair, the most reported first, then by name."""
    return len(candidate.mistakes), sum(map(RANKING.index, candidate.mistakes)), candidate.mistakes


def _candidate(near: Nearness, names: tuple[str, ...], number: float, value: float) -> Candidate:
    if number == value or (isnan(number) and isnan(value)):
        return Candidate(names, value, 0.0, 0)
    ulp, _, relative, _ = _rounding.sizes(number, value, near.dtype, near.limit(value))
    return Candidate(names, value, relative, ulp)
