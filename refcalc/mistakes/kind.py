"""What the catalogue says of one mistake, and how a function that commits it is entered there."""

__all__ = [
    "ALL",
    "LOSSES",
    "MEANS",
    "PERPLEXITIES",
    "RATES",
    "STEPS",
    "DoesNotApply",
    "Mistake",
    "entered",
    "kinds_of",
]

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

STEPS = ("score", "align", "select", "reduce", "express")

# The quantities, by what they have in common.
LOSSES = ("mean_nll", "nll_sum")  # the loss: class weights and label smoothing are part of it
MEANS = ("mean_nll", "perplexity", "bits_per_token")  # divided by the number of targets
RATES = ("bits_per_byte", "bits_per_char", "byte_perplexity", "word_perplexity")  # divided by a count of text
PERPLEXITIES = ("perplexity", "byte_perplexity", "word_perplexity")
ALL = ("mean_nll", "nll_sum", "perplexity", "bits_per_token", *RATES)

Function = TypeVar("Function", bound=Callable[..., Any])


class DoesNotApply(Exception):
    """A mistake cannot be made on this evidence; the argument says what it would need."""


class Mistake(NamedTuple):
    """One kind of mistake, or ("convention") one of two customs that get compared as if they were one.

    step: the one of the five that it replaces; elsewhere "n-gram", "decoding", "resampling" or "arithmetic".
    symptom, hidden_if, remedy: what is seen, the input on which nothing is seen, and what to do instead.
    reports: public reports of it, as owner/repository#number.  aliases: other names of the same arithmetic.
    needs: attributes of the evidence without which it cannot be made.  quantities: those that it can change.
    function: it makes the mistake; its docstring says what is done and shows the smallest witness.

    >>> from refcalc import MISTAKES
    >>> MISTAKES["missing-world-size"].name, MISTAKES["double-scaled"].step
    ('double-scaled', 'reduce')
    """

    name: str
    step: str
    symptom: str
    hidden_if: str
    remedy: str
    reports: str
    aliases: tuple[str, ...]
    needs: tuple[str, ...]
    quantities: tuple[str, ...]
    sort: str
    function: Callable[..., Any]

    @property
    def done(self) -> str:
        """What is done wrong, in one sentence."""
        return " ".join(_paragraphs(self.function)[0].split())

    @property
    def witness(self) -> str:
        """An input that tells it from the right answer: a session of Python's prompt."""
        return next((part for part in _paragraphs(self.function) if part.startswith(">>>")), "")


def entered(
    name: str,
    step: str,
    symptom: str,
    *,
    hidden_if: str,
    remedy: str,
    reports: str = "",
    aliases: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
    quantities: tuple[str, ...] = ALL,
    sort: str = "mistake",
    whole_loss: bool = False,
    row: Callable[..., list[float]] | None = None,
) -> Callable[[Function], Function]:
    """Return a decorator that describes a function as a mistake; `kinds_of` finds it in its module.

    whole_loss: a scoring function gives the loss with weight and smoothing in it, not the plain nll.
    row: it gives the nll of all classes of a row at once, which label smoothing needs.
    """

    def described(function: Function) -> Function:
        kind = Mistake(name, step, symptom, hidden_if, remedy, reports, aliases, needs, quantities, sort, function)
        function.mistake = kind  # type: ignore[attr-defined]
        function.whole_loss = whole_loss  # type: ignore[attr-defined]
        function.row = row  # type: ignore[attr-defined]
        return function

    return described


def kinds_of(*modules: Any) -> list[Mistake]:
    """Return the mistakes of modules, in the order in which they stand there."""
    return [value.mistake for module in modules for value in vars(module).values() if hasattr(value, "mistake")]


def _paragraphs(function: Callable[..., Any]) -> list[str]:
    lines = [line.strip() for line in (function.__doc__ or "").splitlines()]
    return [part.strip() for part in "\n".join(lines).split("\n\n")]
