"""All that is asked of one framework, and what came out."""

__all__ = ["EdgeResult", "Result", "adapters", "edge_results", "results"]

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from examples.crosscheck.families import FAMILIES
from examples.crosscheck.questions import EDGE_CASES, QUESTIONS, Edge, Judgement, Question, shown
from examples.crosscheck.worker import ADAPTERS, Framework


class Result(NamedTuple):
    """One question, answered on one family in one dtype; error says what was raised instead of an answer."""

    framework: str
    function: str
    question: Question
    dtype: str
    family: str
    judgement: Judgement | None
    error: str


class EdgeResult(NamedTuple):
    """One edge case, and what came out: a number, "nan", or what was raised."""

    framework: str
    function: str
    edge: Edge
    answer: str


def adapters(names: list[str]) -> list[Path]:
    """Return the adapters of these names and paths, all there are for no names; raises ValueError for another name."""
    known = {path.stem: path for path in sorted(ADAPTERS.glob("*.py"))}
    for name in names:
        if name not in known and not (name.endswith(".py") and Path(name).is_file()):
            raise ValueError(f"{name}: no adapter of that name ({', '.join(known)}), and no file of Python")
    return [known.get(name, Path(name)) for name in names] or list(known.values())


def results(framework: Framework) -> Iterator[Result]:
    """Ask every question that a kernel answers, in every dtype, on every family."""
    for question in QUESTIONS:
        for i, kernel in enumerate(framework.kernels):
            if question.kind != kernel["question"] or not question.needs <= set(kernel["options"]):
                continue
            for dtype in framework.dtypes:
                for family in FAMILIES:
                    value, error = framework.ask(i, dtype, *question.asked(family, dtype))
                    judgement = None if error else question.judged(value, family, dtype)
                    yield Result(framework.name, kernel["label"], question, dtype, family, judgement, error)


def edge_results(framework: Framework) -> Iterator[EdgeResult]:
    """Put every edge case to every kernel that answers it, in the framework's first dtype."""
    for edge in EDGE_CASES:
        for i, kernel in enumerate(framework.kernels):
            if edge.kind == kernel["question"] and edge.needs <= set(kernel["options"]):
                value, error = framework.ask(i, framework.dtypes[0], edge.arguments, dict(edge.options))
                yield EdgeResult(framework.name, kernel["label"], edge, error or shown(value))
