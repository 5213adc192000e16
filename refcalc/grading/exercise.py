"""Exercises as data: which functions somebody is to write, what they are asked, and what the right answers are."""

__all__ = ["Arguments", "Exercise", "Function", "Table"]

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from refcalc import _check
from refcalc.evidence import Evidence

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

    Arguments and answers are numbers, text, None, and lists, tuples and dicts of these; an argument that is to be
    called is a `Table`.  A function that changes its arguments is wrong.

    >>> def doubled(x: float) -> float:
    ...     return 2.0 * x
    >>> def squared(x: float) -> float:
    ...     "The number is squared."
    ...     return x * x
    >>> cases = lambda rng: [(3.0,), (rng.random(),)]
    >>> function = Function("doubled(x)", "twice x", doubled, cases, {"squared": squared})
    >>> function.name, function.parameters
    ('doubled', ('x',))

    Raises ValueError for a signature that is not of the form name(argument, ...), and an unknown quantity.
    """

    signature: str
    returns: str
    oracle: Callable[..., Any]
    draw: Callable[[Random], Iterable[Arguments]]
    mistakes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    evidence: Callable[..., Sequence[Evidence]] | None = None
    quantity: str = "mean_nll"

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or not self.signature.endswith(")") or not all(self.parameters):
            _check.refuse("Function", "signature", "be of the form name(argument, ...)", self.signature)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.signature.partition("(")[0].strip()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its arguments."""
        inner = self.signature.partition("(")[2].rstrip(")").strip()
        return tuple(name.strip() for name in inner.split(",")) if inner else ()


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


class Table:
    """A function as data, for an argument that is to be called: whole numbers in, a row of scores out.

    rows: the scores it can return.  Which one it is depends on the whole sequence, order included: over its tokens,
    k = (k * multiplier + token + 1) mod (2**31 - 1), from k = 0, and then rows[k mod len(rows)].  With multiplier 0 it
    depends on the last token alone: rows[(token + 1) mod len(rows)].

    >>> model = Table([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> model([]), model([1, 0]), model([0, 1]), Table(model.rows, 0)([0, 1])
    ([0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [4.0, 5.0])

    Raises ValueError for no rows.
    """

    def __init__(self, rows: Sequence[Sequence[float]], multiplier: int = 69_621) -> None:
        self.rows = tuple(tuple(row) for row in _check.items("Table", "rows", rows))
        self.multiplier = multiplier
        if not self.rows:
            _check.refuse("Table", "rows", "hold at least one row", rows)

    def __call__(self, tokens: Iterable[int]) -> list[float]:
        k = 0
        for token in tokens:
            k = (k * self.multiplier + token + 1) % 2_147_483_647
        return list(self.rows[k % len(self.rows)])

    def __repr__(self) -> str:
        return f"Table({[list(row) for row in self.rows]!r}, {self.multiplier})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and (self.rows, self.multiplier) == (other.rows, other.multiplier)

    def __hash__(self) -> int:
        return hash((self.rows, self.multiplier))
