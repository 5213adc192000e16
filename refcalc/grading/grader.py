"""Grading a module: its functions asked in a child process and judged, failing inputs made small, mistakes named."""

__all__ = ["exercise_named", "grade"]

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from time import monotonic
from typing import Any, Self

from refcalc import _check
from refcalc.grading.exercise import Arguments, Exercise, Function
from refcalc.grading.exercises import EXERCISES
from refcalc.grading.judge import Case, Fault, judged, told
from refcalc.grading.naming import explained
from refcalc.grading.shrinking import shrunk
from refcalc.grading.verdict import Graded, Verdict
from refcalc.grading.worker import Worker

TOTAL = 30  # how many times the limit of one call everything may take
LARGEST_SEED = 10**6


def grade(
    path: str | os.PathLike[str],
    exercise: str | Exercise = "loss",
    *,
    seed: int | None = None,
    aliases: Mapping[str, str] | None = None,
    timeout: float = 2.0,
    strict: bool = False,
    watch: Callable[[str], None] | None = None,
) -> Verdict:
    """Return for each function of an exercise whether a module's own is right, and if not, what is wrong with it.

    path: a file of Python, which is run in a child process.
    exercise: "loss", "evaluation", "baselines", or an `Exercise` of your own.
    seed: of the numbers that are asked; fresh ones without it.
    aliases: by name in the exercise, the name in the module.
    timeout: seconds for one call, and for ten times as long for the import; 30 times as long for everything.
    strict: ask for 4 ulp, where else 1e-9 max(1, |answer|) will do.
    watch: called with the name of each function before it is asked.

    >>> from refcalc import grade
    >>> verdict = grade("examples/grading/loss.py", seed=1)
    >>> verdict.right, verdict.functions["log_softmax"].status
    (True, 'right')

    The child has an empty folder to work in, 4 GiB of memory where the system can limit it, a process group that is
    killed at the end, and where the system shows them (Linux) so is every other process that carries the mark of the
    child's environment or works in its folder.  What it prints is dropped.  A function that fails behind others, in no
    known way, is asked again in a new child if there is time: what they changed is not put down to it.  This keeps
    accidents away.  It is no sandbox: a module can read and write what its user can, and one that means harm, or means
    to cheat, must be run elsewhere.

    Raises OSError for a file that cannot be found, ValueError for one that is not regular, an unknown exercise, aliases
    of unknown functions and a timeout that is not positive; TypeError for what is of another kind.
    """
    file = _readable(path)
    asked = exercise_named(exercise)
    names = _names(asked, aliases or {})
    number = secrets.randbelow(LARGEST_SEED) if seed is None else _check.whole("grade", "seed", seed)
    limit = _check.not_negative("grade", "timeout", timeout, finite=True)
    if not limit:
        _check.refuse("grade", "timeout", "be above 0", timeout)
    with _Session(file, limit, strict) as session:
        graded = {}
        for function in asked.functions:
            if watch is not None:
                watch(function.name)
            graded[function.name] = session.graded(function, names[function.name], number)
    return Verdict(os.fsdecode(path), asked.name, number, strict, graded)


def exercise_named(exercise: str | Exercise) -> Exercise:
    """Return the exercise that is built in under a name, or the one that is given."""
    if isinstance(exercise, Exercise):
        return exercise
    if not isinstance(exercise, str):
        _check.refuse("grade", "exercise", "be an Exercise, or the name of one", exercise, TypeError)
    _check.choice("grade", "exercise", exercise, tuple(EXERCISES))
    return EXERCISES[exercise]


# --- private ---------------------------------------------------------------------------------------------------------


def _readable(path: str | os.PathLike[str]) -> str:
    file = _check.file("grade", "path", path)
    with open(file, "rb"):
        return os.path.abspath(file)


def _names(exercise: Exercise, aliases: Mapping[str, str]) -> dict[str, str]:
    """Return the name in the module of each function."""
    names = {function.name: function.name for function in exercise.functions}
    for name, alias in aliases.items():
        _check.choice("grade", "a key of aliases", name, tuple(names))
        if not isinstance(alias, str) or not alias.isidentifier():
            _check.refuse("grade", f"aliases[{name!r}]", "be the name of a function", alias)
        names[name] = alias
    return names


class _Session:
    """The child processes of one grade: one for all functions, and a new one where it has ended or may be spoilt."""

    def __init__(self, path: str, timeout: float, strict: bool) -> None:
        self._path, self._timeout, self._strict = path, timeout, strict
        self._deadline = monotonic() + TOTAL * timeout
        self._worker: Worker | None = None
        self._unusable: tuple[str, str] | tuple[()] = ()  # status and reason, once there is no asking any more

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker is not None:
            self._worker.close()

    def graded(self, function: Function, name: str, seed: int) -> Graded:
        """Return what becomes of one function, called by its name in the module."""
        worker = self._ready()
        if worker is None:
            return Graded(function, *self._unusable)
        if name not in worker.names:
            return Graded(function, "missing", _missing(name, worker.names))
        used, asked = worker.used, function.cases(seed)
        cases, mistakes, whole = self._tried(worker, function, name, asked)
        if used and not whole and (fresh := self._fresh()) is not None:
            worker = fresh
            cases, mistakes, whole = self._tried(worker, function, name, asked)
        failing = [case for case in cases if case.fault]
        if not failing:
            return Graded(function, "right", cases=len(cases))
        least = self._least(worker, function, name, failing[0])
        status, reason, ulp = least.fault or Fault("right")
        return Graded(
            function, status, reason, len(cases), len(failing), least.arguments, least.want, least.reply.value, ulp,
            tuple(mistakes), bool(mistakes) and not whole,
        )  # fmt: skip

    # --- private -----------------------------------------------------------------------------------------------------

    def _ready(self) -> Worker | None:
        """Return a child that can be asked, a new one if need be; None if there is no asking any more."""
        if self._worker is not None and self._worker.failure is not None:
            self._worker.close()
            self._worker = None
        failure = None
        if not self._unusable and self._worker is None:
            self._worker = Worker(self._path, self._timeout, self._deadline)
            failure = self._worker.failure
        if not self._unusable and monotonic() >= self._deadline:
            self._unusable = "hangs", "not called: the time for all functions was up"
        elif failure is not None:
            self._unusable = "hangs" if failure.kind == "hung" else "raises", f"at import: {told(failure)}"
        return None if self._unusable else self._worker

    def _fresh(self) -> Worker | None:
        """Return a child in which nothing was called, for the other one may have been spoilt by a function before.

        None if a tenth of the time is gone, which the other functions need, or the module cannot be imported twice.
        """
        if monotonic() > self._deadline - 0.9 * TOTAL * self._timeout:
            return None
        worker = Worker(self._path, self._timeout, self._deadline)
        if worker.failure is not None or self._worker is None:
            worker.close()
            return None
        self._worker.close()
        self._worker = worker
        return worker

    def _tried(
        self, worker: Worker, function: Function, name: str, asked: Sequence[tuple[Arguments, Any]]
    ) -> tuple[list[Case], list[tuple[str, ...]], bool]:
        """Return what came of all calls, the mistakes that explain it, and whether there is nothing more to explain."""
        cases = list(self._cases(worker, function, name, asked))
        return (cases, *explained(function, cases)) if any(case.fault for case in cases) else (cases, [], True)

    def _cases(
        self, worker: Worker, function: Function, name: str, asked: Sequence[tuple[Arguments, Any]]
    ) -> Iterator[Case]:
        """Yield what came of each call, up to one that ends the child."""
        floor = function.floor if self._strict else None
        replies = worker.ask(name, [arguments for arguments, _ in asked])
        for (arguments, want), reply in zip(asked, replies, strict=False):
            yield Case(arguments, want, reply, judged(reply, want, floor))

    def _least(self, worker: Worker, function: Function, name: str, case: Case) -> Case:
        """Return the smallest case found that fails as this one does, in status and in what is raised."""

        def manner(case: Case) -> tuple[str, str]:
            return case.fault.status if case.fault else "right", case.reply.error

        def first_failing(inputs: Sequence[Arguments]) -> Case | None:
            asked = [pair for arguments in inputs for pair in _with_answer(function, arguments)]
            if worker.failure is not None or not asked:
                return None
            cases = list(self._cases(worker, function, name, asked))
            return next((each for each in cases if manner(each) == manner(case)), None)

        return case if worker.failure is not None else shrunk(case, first_failing)


def _with_answer(function: Function, arguments: Arguments) -> list[tuple[Arguments, Any]]:
    """Return arguments with the right answer, or nothing where the oracle has none."""
    try:
        return [(arguments, function.oracle(*arguments))]
    except Exception:  # a smaller input may have lost its shape altogether
        return []


def _missing(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f"the module has no function {name}" + (f"; did you mean {near[0]}?" if near else "")
