"""What came out, as tables that people and Markdown read, and as JSON."""

__all__ = ["LEGEND", "as_json", "as_markdown", "as_text"]

from collections.abc import Iterable
from math import isfinite
from typing import Any

from examples.crosscheck import DTYPES
from examples.crosscheck.asking import EdgeResult, Result
from examples.crosscheck.families import FAMILIES, ORDINARY
from examples.crosscheck.questions import EDGE_CASES, QUESTIONS, brief

MARKS = {"yes": "", "by logits": "*", "no": "!"}
LEGEND = f"""\
Worst error against the exact tier, in steps from one number of the dtype to the
next: on ordinary rows / on all families ({", ".join(list(FAMILIES)[1:3])},
{", ".join(list(FAMILIES)[3:])}).
No mark: rounding in the dtype explains it.  *: only rounding of the logits'
own size does (a logit taken from a finished logsumexp).  !: no rounding does."""


def worst(found: list[Result]) -> str:
    """Return the worst of some answers, with its mark."""
    for result in found:
        if result.error:
            return "died" if result.error.startswith("the process") else "raises"
    judged = [result.judgement for result in found if result.judgement is not None]
    if not judged:
        return "-"
    for word in ("nan", "inf", "shape"):
        if any(each.answer == word for each in judged):
            return f"{word}!"
    mark = max((each.explained for each in judged), key=list(MARKS).index)
    return brief(max(each.comparison.worst_ulp for each in judged)) + MARKS[mark]


def cell(found: list[Result]) -> str:
    """Return the worst of the ordinary rows and the worst of all."""
    both = worst([result for result in found if result.family == ORDINARY]), worst(found)
    return both[0] if both[0] == both[1] else "/".join(both)


def tables(results: list[Result]) -> dict[str, list[list[str]]]:
    """Return for each question its lines: a function, and a cell for each dtype."""
    cells: dict[str, dict[str, dict[str, list[Result]]]] = {}
    for r in sorted(results, key=lambda r: QUESTIONS.index(r.question)):
        by_dtype = cells.setdefault(r.question.name, {}).setdefault(f"{r.framework} {r.function}", {})
        by_dtype.setdefault(r.dtype, []).append(r)
    return {
        question: [[name, *(cell(found[d]) if d in found else "" for d in DTYPES)] for name, found in functions.items()]
        for question, functions in cells.items()
    }


def edges(results: Iterable[EdgeResult]) -> list[tuple[str, str, dict[str, list[str]]]]:
    """Return for each edge case its name, what refcalc says, and the functions by what they gave."""
    cases: dict[Any, tuple[str, str, dict[str, list[str]]]] = {}
    for r in sorted(results, key=lambda r: EDGE_CASES.index(r.edge)):
        name = r.edge.name if r.edge.kind == "loss" else f"{r.edge.kind}: {r.edge.name}"
        _, _, answers = cases.setdefault((r.edge.kind, r.edge.name), (name, r.edge.answer(), {}))
        answers.setdefault(r.answer, []).append(f"{r.framework} {r.function}")
    return list(cases.values())


def as_text(results: list[Result], edge_results: list[EdgeResult]) -> str:
    """Return both tables, 80 columns wide."""
    lines = [LEGEND, ""]
    for question, rows in tables(results).items():
        lines += [*map(_columns, [[question, *DTYPES], *rows]), ""]
    lines += ["What comes out where there is no plain answer; losses, unless a name says else", ""]
    for name, own, answers in edges(edge_results):
        lines.append(f"{name}: refcalc {own}")
        for answer, functions in answers.items():
            lines += _wrapped(answer, functions)
    return "\n".join(lines).rstrip()


def as_markdown(results: list[Result], edge_results: list[EdgeResult]) -> str:
    """Return a table for each question, and one of the edge cases."""
    lines = [LEGEND, ""]
    for question, rows in tables(results).items():
        lines += [*_table([[question, *DTYPES], *rows], "l" + "r" * len(DTYPES)), ""]
    cases = [
        [name, own, "; ".join(f"{answer}: {', '.join(functions)}" for answer, functions in answers.items())]
        for name, own, answers in edges(edge_results)
    ]
    return "\n".join([*lines, *_table([["loss of", "refcalc", "others"], *cases], "lll")])


def as_json(versions: dict[str, str], results: list[Result], edge_results: list[EdgeResult]) -> dict[str, Any]:
    """Return everything, the figures of every family too."""
    return {
        "versions": versions,
        "accuracy": [
            {
                "framework": r.framework,
                "function": r.function,
                "question": r.question.name,
                "dtype": r.dtype,
                "family": r.family,
                **({"error": r.error} if r.judgement is None else _figures(r.judgement)),
            }
            for r in results
        ],
        "edge_cases": [
            {
                "case": r.edge.name,
                "of": r.edge.kind,
                "refcalc": r.edge.answer(),
                "framework": r.framework,
                "function": r.function,
                "answer": r.answer,
            }
            for r in edge_results
        ],
    }


def _figures(judgement: Any) -> dict[str, Any]:
    c = judgement.comparison
    pair = None if c.worst_pair is None else [_number(x) for x in c.worst_pair]
    return {
        "worst_ulp": _number(c.worst_ulp),
        "explained_by_rounding": judgement.explained,
        "share_of_error_allowed": _number(c.worst_share),
        "worst_pair": pair,
    }


def _number(x: float) -> float | str:
    return x if isfinite(x) else str(float(x))


def _columns(row: list[str]) -> str:
    """Return a line of 80 columns, or two where long cells leave no room for the name."""
    cells = "".join(f" {each:>11}" for each in row[1:])
    line = f"{row[0]:32}{cells}".rstrip()
    return line if len(line) <= 80 else f"{row[0]}\n{cells:>80}"


def _wrapped(answer: str, functions: list[str]) -> list[str]:
    """Return an answer and the functions that gave it, in lines of 80 columns."""
    lines = [f"  {answer:<14}"]
    for i, function in enumerate(functions):
        if len(lines[-1]) + len(function) + 3 > 80:
            lines.append(" " * 16)
        lines[-1] += f" {function}{',' if i + 1 < len(functions) else ''}"
    return lines


def _table(rows: list[list[str]], align: str) -> list[str]:
    """Return a table of Markdown, its first row the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * (w - 1) + (":" if a == "r" else "-") for w, a in zip(widths, align, strict=True)]
    set_to = {"l": str.ljust, "r": str.rjust}
    body = [[set_to[a](each, w) for each, w, a in zip(row, widths, align, strict=True)] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (body[0], rule, *body[1:])]
