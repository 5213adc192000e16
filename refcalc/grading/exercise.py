"""Exercises as data: which functions somebody is to write, what they are asked, and what the right answers are."""

__all__ = ["Arguments", "Exercise", "Function", "Table"]

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from refcalc import _check
from refcalc.evidence import Evidence
from refcalc.grading.child import Table

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Function:
    """One function of an exercise.

    signature: how it is called, "token_loss(logits, target)"; the name before the parenthesis is the one looked for.
    returns: what comes back and in which unit, in a few words.
    oracle: the right function.  Arguments that have no right answer it refuses by ValueError; the search for a
        smaller failing input keeps away from those, and from nothing else.
    draw: gives the arguments of each call from a generator of random numbers: ordinary cases first, then those that
        tell mistakes apart, then extreme ones.  A correct function by the textbook formula has to pass them all.
    mistakes: by name, wrong functions of the same arguments; what they raise is part of the answer.  A name of
        `MISTAKES` is explained by the catalogue, any other by the docstring of the wrong function: what is done wrong,
        and in a second paragraph what to do instead.
    evidence: what the arguments are evidence of, each a `Batch` or `Records`: everything that the catalogue can do
        wrong with it is tried too, one mistake at a time and two of different steps.
    quantity: what the answer is of that evidence, in the words of `diagnose`.
    floor: a strict grade asks for 4 ulp of max(floor, |answer|); above 0 where the function cannot have more digits.

    Arguments and answers are numbers, text, None, and lists, tuples and dicts of these; an argument that is to be
    called is a `Table`.  A function that changes its arguments is wrong.

    >>> def doubled(x: float) -> float:
    ...     return 2.0 * x
    >>> def squared(x: float) -> float:
    ...     "The number is squared."
    ...     return x * x
    >>> cases = lambda rng: [(3.0,), (rng.random(),)]
    >>> function = Function("doubled(x)", "twice x", doubled, cases, {"squared": squared})
    >>> function.name, function.parameters, str(function)
    ('doubled', ('x',), 'doubled(x) returns twice x')

    Raises ValueError for a signature that is not of the form name(argument, ...), and an unknown quantity.
    """

    signature: str
    returns: str
    oracle: Callable[..., Any]
    draw: Callable[[Random], Iterable[Arguments]]
    mistakes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    evidence: Callable[..., Sequence[Evidence]] | None = None
    quantity: str = "mean_nll"
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or not self.signature.endswith(")") or not all(self.parameters):
            _check.refuse("Function", "signature", "be of the form name(argument, ...)", self.signature)

    def __str__(self) -> str:
        return f"{self.signature} returns {self.returns}"

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.signature.partition("(")[0].strip()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its arguments."""
        inner = self.signature.partition("(")[2].rstrip(")").strip()
        return tuple(name.strip() for name in inner.split(",")) if inner else ()

    def cases(self, seed: int) -> list[tuple[Arguments, Any]]:
        """Return the arguments of each call, with the right answer.

        >>> Function("doubled(x)", "twice x", lambda x: 2.0 * x, lambda rng: [(3.0,), (0.5,)]).cases(seed=1)
        [((3.0,), 6.0), ((0.5,), 1.0)]

        Raises ValueError where draw or the oracle fails, or gives nothing; TypeError for what no child can be asked.
        """
        try:
            cases = [(arguments, self.oracle(*arguments)) for arguments in self.draw(Random(seed))]
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
            raise ValueError(f"{self.name}: draw and oracle must give arguments and answers, got {got}") from error
        if not cases:
            _check.refuse(self.name, "draw", "give at least one tuple of arguments", 0)
        for case in cases:
            if not _is_plain(case):
                rule = "be numbers, text, None, Tables, and lists, tuples and dicts of these"
                _check.refuse(self.name, "arguments and answers", rule, case, TypeError)
        return cases


@dataclass(frozen=True)
class Exercise:
    """Functions that belong together, to be written into one file.

    >>> from refcalc.grading.exercises import EXERCISES
    >>> [function.name for function in EXERCISES["loss"].functions][:3]
    ['log_softmax', 'log_softmax_naive', 'token_loss']

    Raises ValueError for no function, or two of one name.
    """

    name: str
    functions: tuple[Function, ...]

    def __post_init__(self) -> None:
        names = [function.name for function in self.functions]
        if not names or len({*names}) < len(names):
            _check.refuse("Exercise", "functions", "be at least one, each of another name", names)


# --- private ---------------------------------------------------------------------------------------------------------


def _is_plain(value: Any) -> bool:
    """Return whether a value can cross to a child as text."""
    if isinstance(value, dict):
        return all(map(_is_plain, value.items()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (int, float, str, Table))
