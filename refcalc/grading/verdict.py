"""What a grade says: for each function whether it is right, and if not, on which input, how far off, and why."""

__all__ = ["Graded", "Verdict"]

import textwrap
from collections.abc import Callable, Iterator
from inspect import getdoc
from typing import Any, NamedTuple

from refcalc.grading.exercise import Arguments, Function, Table
from refcalc.grading.judge import LOST, ROUNDED
from refcalc.grading.worker import Stranger
from refcalc.mistakes import MISTAKES

WIDTH = 79
INDENT = " " * 10
LISTED = 3  # how many mistakes are explained


class Graded(NamedTuple):
    """What became of one function.

    status: "right", "wrong", "missing", "raises", "hangs" or "refused" (it returned what is no answer); that of the
        first case that failed, and the ordinary ones come first.
    reason: what is wrong, in words.
    cases, failed: how many were tried, and how many of them failed.
    arguments: the smallest failing input that was found, with the answer expected and the one got; None without one.
    ulp: how far these two numbers are apart, where they are numbers.
    mistakes: what explains the wrong answers, the likeliest first; each one mistake, or two made together.
    partly: whether each of the mistakes gives a part of the wrong answers only.
    """

    function: Function
    status: str
    reason: str = ""
    cases: int = 0
    failed: int = 0
    arguments: Arguments | None = None
    expected: Any = None
    got: Any = None
    ulp: float | None = None
    mistakes: tuple[tuple[str, ...], ...] = ()
    partly: bool = False

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.name

    def explanations(self) -> Iterator[tuple[str, str, str]]:
        """Yield for each mistake its name, what is done wrong, and what to do instead."""
        for name in dict.fromkeys(name for names in self.mistakes for name in names):
            if name in self.function.mistakes and name not in MISTAKES:
                done, _, remedy = (getdoc(self.function.mistakes[name]) or "").partition("\n\n")
                yield name, " ".join(done.split()), " ".join(remedy.split())
            else:
                yield name, MISTAKES[name].done, MISTAKES[name].remedy

    def record(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        call = self.arguments and dict(zip(self.function.parameters, map(_plain, self.arguments), strict=False))
        explained = {name: f"{done} {remedy}".strip() for name, done, remedy in self.explanations()}
        asked = {"signature": self.function.signature, "returns": self.function.returns}
        record = {"name": self.name, **asked, **self._asdict(), "arguments": call, "explanations": explained}
        record |= {"expected": _plain(self.expected), "got": _plain(self.got), "mistakes": [*map(list, self.mistakes)]}
        del record["function"]
        return record


class Verdict(NamedTuple):
    """What `grade` found in a module; as text, a table with what is wrong below each function.

    seed: with it, `grade` asks the same again.  functions: by name.

    >>> from refcalc import grade
    >>> grade("examples/grading/loss.py", seed=1).right
    True
    """

    path: str
    exercise: str
    seed: int
    strict: bool
    functions: dict[str, Graded]

    @property
    def right(self) -> bool:
        """Whether every function is right."""
        return all(each.status == "right" for each in self.functions.values())

    def __bool__(self) -> bool:
        """Refuse: `assert grade(...)` would otherwise hold whatever was found."""
        raise TypeError("Verdict has no truth value: ask for .right")

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def record(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        functions = [each.record() for each in self.functions.values()]
        return {**self._asdict(), "right": self.right, "functions": functions}

    def lines(self, paint: Callable[[str], str] = str) -> list[str]:
        """Return the text by lines; paint: adds colour to a status."""
        width = max(map(len, self.functions))
        lines, said = [], ""
        for each in self.functions.values():
            again = not each.cases and each.reason == said  # one import that failed is the reason for all of them
            summary, padding = "as above" if again else _summary(each), " " * (8 - len(each.status))
            lines.append(f"{paint(each.status)}{padding}  {each.name:<{width}}  {summary}".rstrip())
            lines += [] if again else [line for part in _details(each) for line in _wrapped(part)]
            said = each.reason
        right = sum(each.status == "right" for each in self.functions.values())
        strict = ", strict" if self.strict else ""
        return [*lines, f"{right} of {len(self.functions)} right: exercise {self.exercise}{strict}, seed {self.seed}"]


# --- private ---------------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """Return an argument or an answer as numbers, text, lists and dicts with texts as keys."""
    if isinstance(value, (Table, Stranger)):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return [*map(_plain, value)] if isinstance(value, (list, tuple)) else value


def _summary(each: Graded) -> str:
    if not each.cases:
        return ""
    cases = f"{each.cases} case{'' if each.cases == 1 else 's'}"
    return f"{each.failed} of {cases}" if each.failed else cases


def _details(each: Graded) -> Iterator[str]:
    if each.arguments is not None:
        yield f"{each.name}({', '.join(map(_shown, each.arguments))})"
        yield f"expected {_shown(each.expected)}"
        if each.status == "wrong":
            yield f"got      {_shown(each.got)}" + (f"  ({_apart(each.ulp)})" if each.ulp is not None else "")
    reason = each.reason.removesuffix(ROUNDED).removesuffix("; ") if each.mistakes else each.reason
    if reason:
        yield reason
    unexplained = each.status in ("wrong", "refused") and not each.mistakes and not each.reason.endswith(LOST)
    if each.status == "missing" or unexplained:
        yield str(each.function)
    listed = each.mistakes[:LISTED]
    names = [" + ".join(some) for some in listed]
    if each.partly:
        yield f"known mistakes, each of which gives a part of that: {', '.join(names)}"
    elif len(listed) > 1 or any(len(some) > 1 for some in listed):
        more = f" and {len(each.mistakes) - LISTED} more" if len(each.mistakes) > LISTED else ""
        yield f"known mistakes that give that: {', or '.join(names)}{more}"
    for name, done, remedy in each.explanations():
        if any(name in some for some in listed):
            yield f"{name}: {done} {remedy}".rstrip()


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT + "  ", break_on_hyphens=False)


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 300 else f"{shown[:200]} ... ({len(shown):,} characters)"


def _apart(ulp: float) -> str:
    return f"{ulp:.3g} ulp apart" if ulp >= 1e6 else f"{ulp:g} ulp apart"
