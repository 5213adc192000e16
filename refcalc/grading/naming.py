"""Which known mistakes make of the same arguments what a function returned.

A mistake is named if it gives every wrong answer, and the right answer wherever the function gave that.  Where no
single one does, two of different steps are tried, if there are finite numbers to go by; where no two do, the few that
together give most of the wrong answers and contradict no right one; and where there are none, the same is done for each
value of a dict by itself.  An error of Python's arithmetic stands for the inf or nan that a mistake gives there; that
of a division by zero, nan and 0 may stand for the mean of nothing, where a mistake cannot be made.
"""

__all__ = ["explained", "named"]

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import isfinite, isnan
from typing import Any

from refcalc.grading.exercise import Function
from refcalc.grading.judge import Case, close, judged
from refcalc.grading.worker import Reply
from refcalc.mistakes import MISTAKES
from refcalc.mistakes.kind import STEPS, DoesNotApply, Mistake
from refcalc.mistakes.pipeline import Run
from refcalc.mistakes.ranking import RANKING

Names = tuple[str, ...]
Wrong = Callable[[int], Any]  # what a mistake makes of a case; it may raise
ARITHMETIC = ("OverflowError", "ValueError", "ZeroDivisionError")  # raised where others go on with inf or nan
FEW = 3
LARGE = 10_000  # characters of arguments; they take all the mistakes of the catalogue a second


def named(function: Function, cases: Sequence[Case]) -> list[Names]:
    """Return the mistakes that explain the wrong ones of the cases, each alone or with another, the likeliest first."""
    return explained(function, cases)[0]


def explained(function: Function, cases: Sequence[Case]) -> tuple[list[Names], bool]:
    """Return the mistakes that explain the wrong ones of the cases, and whether each of them gives them all."""
    whole, parts = _found(function, cases)
    return (whole, True) if whole else (parts or _by_key(function, cases), False)


def _found(function: Function, cases: Sequence[Case]) -> tuple[list[Names], list[Names]]:
    """Return the mistakes that each give all that is wrong, or else those that together give most of it."""
    ordered = sorted(cases, key=lambda case: (case.fault is None, len(repr(case.arguments))))
    catalogue = _Catalogue(function, ordered)
    singles = [*_own(function, ordered), *catalogue.singles()]
    whole = {names for names, wrong in singles if _explains(wrong, ordered)}
    if not whole and any(case.fault and case.reply.kind == "answer" and _finite(case.reply.value) for case in ordered):
        whole = {names for names, wrong in catalogue.pairs() if _explains(wrong, ordered)}
    return sorted(whole, key=_rank), [] if whole else _cover(singles, ordered)


def _by_key(function: Function, cases: Sequence[Case]) -> list[Names]:
    """Return what explains the values of a dict one by one, where the keys are always the same."""
    keys = {tuple(case.want) if isinstance(case.want, dict) else () for case in cases}
    found: dict[Names, None] = {}
    for key in keys.pop() if len(keys) == 1 else ():
        parts = [_part(case, key) for case in cases]
        if any(case.fault for case in parts):
            mistakes = {name: _value_of(wrong, key) for name, wrong in function.mistakes.items()}
            whole, some = _found(replace(function, mistakes=mistakes, evidence=None), parts)
            found |= dict.fromkeys(whole or some)
    return [*found]


def _part(case: Case, key: Any) -> Case:
    """Return the case of one value of a dict."""
    value = case.reply.value
    if case.reply.kind != "answer" or not isinstance(value, dict) or key not in value:
        return case._replace(want=case.want[key])
    reply = case.reply._replace(value=value[key])
    return case._replace(want=case.want[key], reply=reply, fault=judged(reply, case.want[key], None))


def _value_of(wrong: Callable[..., Any], key: Any) -> Callable[..., Any]:
    return lambda *arguments: wrong(*arguments)[key]


# --- candidates ------------------------------------------------------------------------------------------------------


def _own(function: Function, cases: Sequence[Case]) -> list[tuple[Names, Wrong]]:
    return [((name,), _applied(wrong, cases)) for name, wrong in function.mistakes.items()]


def _applied(wrong: Callable[..., Any], cases: Sequence[Case]) -> Wrong:
    return lambda i: wrong(*_copied(cases[i].arguments))


def _copied(value: Any) -> Any:
    """Return lists, tuples and dicts anew: a wrong function may change what it is given."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_copied, value))
    return {key: _copied(each) for key, each in value.items()} if isinstance(value, dict) else value


class _Catalogue:
    """What the catalogue makes of the evidence that the cases are."""

    def __init__(self, function: Function, cases: Sequence[Case]) -> None:
        self._function, self._cases = function, cases
        self._runs: dict[int, list[Run]] = {}

    def singles(self) -> Iterator[tuple[Names, Wrong]]:
        return (((one.name,), wrong) for one in self._kinds() for wrong in self._wrongs(one))

    def pairs(self) -> Iterator[tuple[Names, Wrong]]:
        for one, other in combinations(self._kinds(), 2):
            if one.step != other.step:
                for wrong in self._wrongs(one, other):
                    yield (one.name, other.name), wrong

    def _kinds(self) -> list[Mistake]:
        if self._function.evidence is None:
            return []
        own, quantity = self._function.mistakes, self._function.quantity
        kinds = [kind for kind in MISTAKES.values() if kind.step in STEPS and quantity in kind.quantities]
        return [kind for kind in kinds if kind.name not in own]

    def _wrongs(self, *kinds: Mistake) -> Iterator[Wrong]:
        """Yield a wrong function for each evidence that the first case is."""
        for k in range(len(self._of(0))):
            yield lambda i, k=k: self._of(i)[k].value(*kinds)  # type: ignore[misc]

    def _of(self, i: int) -> list[Run]:
        if i not in self._runs:
            evidence = self._function.evidence
            assert evidence is not None
            self._runs[i] = [Run(each, self._function.quantity) for each in evidence(*self._cases[i].arguments)]
        return self._runs[i]


# --- whether one explains the cases ----------------------------------------------------------------------------------


def _explains(wrong: Wrong, cases: Sequence[Case]) -> bool:
    """Return whether a mistake gives all of the wrong answers, and contradicts no right one."""
    given = False
    for i, case in enumerate(cases):
        gives = _gives(wrong, i, case)
        if gives is False or (gives is None and case.fault and not _of_nothing(case.reply)):
            return False
        given |= gives is True and case.fault is not None
    return given


def _of_nothing(reply: Reply) -> bool:
    """Return whether this may be the mean of no numbers, which a mistake that leaves none does not give."""
    if reply.kind == "raised":
        return reply.error in ("ZeroDivisionError", "StatisticsError")
    return isinstance(reply.value, float) and (isnan(reply.value) or not reply.value)


def _gives(wrong: Wrong, i: int, case: Case) -> bool | None:
    """Return whether a mistake gives what came back; None if it cannot be made of these arguments."""
    try:
        value = wrong(i)
    except DoesNotApply:
        return None
    except Exception as error:  # the wrong computation fails, as the graded one may
        return case.fault is not None and case.reply.error == type(error).__name__
    if case.reply.kind == "raised":
        return case.reply.error in ARITHMETIC and not _finite(value)
    if case.fault is None or close(value, case.want):
        return case.fault is None and close(value, case.want)
    return case.reply.kind == "answer" and close(case.reply.value, value)


def _finite(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_finite, value))
    return not isinstance(value, float) or isfinite(value)


def _cover(singles: Sequence[tuple[Names, Wrong]], cases: Sequence[Case]) -> list[Names]:
    """Return the few single mistakes that together give most of the wrong answers and contradict no right one.

    Nothing is said for less than half of them.
    """
    failing = [i for i, case in enumerate(cases) if case.fault]
    failing = [i for i in failing if len(repr(cases[i].arguments)) < LARGE] or failing
    explains: dict[Names, set[int]] = {}
    for names, wrong in singles:
        found = {i for i in failing if _gives(wrong, i, cases[i])}
        if found and all(_gives(wrong, i, case) is not False for i, case in enumerate(cases) if not case.fault):
            explains[names] = explains.get(names, set()) | found
    chosen: list[Names] = []
    left = {*failing}
    while left and explains and len(chosen) < FEW:
        best = min(explains, key=lambda names: (-len(explains[names] & left), _rank(names)))
        if not explains[best] & left:
            break
        chosen.append(best)
        left -= explains.pop(best)
    return chosen if 2 * len(left) <= len(failing) else []


def _rank(names: Names) -> tuple[int, int, Names]:
    """Return what candidates are sorted by: single before pair, a function's own first, then the most reported."""
    place = [RANKING.index(name) if name in RANKING else -1 for name in names]
    return len(names), sum(place), names
