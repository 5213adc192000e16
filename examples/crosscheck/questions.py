"""What is asked of every kernel, what the exact tier answers, and how far off rounding explains.

A question is of a kind (what the kernel computes) and has options (of refcalc.cross_entropy, for losses).
"""

__all__ = ["EDGE_CASES", "QUESTIONS", "Edge", "Judgement", "Question", "brief", "shown", "truth"]

from functools import cache
from math import inf, isfinite, nan
from typing import Any, NamedTuple

import refcalc
from examples.crosscheck.families import rows_of

SMOOTHING = 0.125  # exact in every dtype


class Question(NamedTuple):
    """A kind of kernel, with options where it is a loss."""

    name: str
    kind: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def needs(self) -> set[str]:
        """The options that a kernel must take to be asked this."""
        return {name for name, _ in self.options}

    def asked(self, family: str, dtype: str) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments and the options that a kernel is called with."""
        rows, targets = rows_of(family, dtype)
        options = dict(self.options)
        if "soft" in options:
            del options["soft"]
            return [rows, _soft_targets(rows, targets)], options
        if "weight" in options:
            options["weight"] = _weights(len(rows[0]))
        if self.kind == "loss":
            return [rows, targets], options
        return [rows, rows_of(family, dtype, 1)[0]] if self.kind == "kl_divergence" else [rows], options

    def judged(self, answer: Any, family: str, dtype: str) -> "Judgement":
        """Return how far the answer is from the exact tier's, and whether computing in dtype explains it."""
        rows, _ = rows_of(family, dtype)
        options: dict[str, Any] = {"dtype": dtype, "classes": len(rows[0])}
        if self.kind == "softmax":
            options["quantity"] = "probability"
        if dict(self.options).get("reduction") == "mean":
            options |= {"reduction": "mean", "targets": len(rows)}
        size = max(abs(x) for row in rows for x in row if isfinite(x))
        added = self.kind in ("logsumexp", "entropy", "kl_divergence")  # these add terms as large as the logits
        found = refcalc.compare(answer, truth(self, family, dtype), **options, scale=size if added else 0.0)
        if found.explained:
            return Judgement(found, "yes")
        again = refcalc.compare(answer, truth(self, family, dtype), **options, scale=size)
        return Judgement(found, "by logits" if again.explained else "no")


class Judgement(NamedTuple):
    """A comparison, and whether rounding explains what differs: "yes", "no", or "by logits".

    By logits: an error as large as rounding the logits makes is left where a logit is taken from a finished logsumexp.
    Taking the largest logit from all others first does better: it is within "yes".
    """

    comparison: refcalc.Comparison
    explained: str

    @property
    def answer(self) -> str:
        """The worst error in ulp of the dtype, or "nan" or "inf" where that came out in place of a number."""
        pair = self.comparison.worst_pair
        if self.comparison.shape_difference:
            return "shape"
        if pair and not isfinite(pair[0]) and isfinite(pair[1]):
            return f"{abs(pair[0])}"
        return brief(self.comparison.worst_ulp)


def brief(x: float) -> str:
    """Return a number in as few characters as say its size.

    >>> brief(0.5), brief(28), brief(152.4), brief(4.36e18)
    ('0.5', '28', '152', '4.4e18')
    """
    if x < 1000:
        return f"{x:.3g}" if x >= 100 else f"{x:.2g}"
    return f"{x:.1e}".replace("e+0", "e").replace("e+", "e")


@cache
def truth(question: Question, family: str, dtype: str) -> Any:
    """Return the exact tier's answer for the numbers of a family in a dtype."""
    arguments, options = question.asked(family, dtype)
    if question.kind == "loss":
        return refcalc.exact.cross_entropy(*arguments, **{"reduction": "none", **options})
    if question.kind == "kl_divergence":
        return refcalc.exact.kl_divergence(*arguments, reduction="none")
    return list(map(getattr(refcalc.exact, question.kind), arguments[0]))


def _weights(classes: int) -> list[float]:
    return [0.25 * (1 + i % 7) for i in range(classes)]


def _soft_targets(rows: list[list[float]], targets: list[int]) -> list[list[float]]:
    """Return three quarters for each target and a quarter for the class beside it, or for itself if that is masked."""
    soft = [[0.0] * len(row) for row in rows]
    for q, row, y in zip(soft, rows, targets, strict=True):
        q[y] += 0.75
        beside = (y + 1) % len(row)
        q[y if row[beside] == -inf else beside] += 0.25
    return soft


QUESTIONS = (
    Question("log_softmax", "log_softmax"),
    Question("softmax", "softmax"),
    Question("logsumexp", "logsumexp"),
    Question("entropy", "entropy"),
    Question("kl_divergence", "kl_divergence"),
    Question("loss", "loss"),
    Question("mean loss", "loss", (("reduction", "mean"),)),
    Question("smoothed loss", "loss", (("label_smoothing", SMOOTHING),)),
    Question("weighted loss", "loss", (("weight", True),)),
    Question("loss, soft targets", "loss", (("soft", True),)),
)


class Edge(NamedTuple):
    """An edge case: what is put in, and which function of refcalc answers it."""

    name: str
    kind: str
    arguments: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def needs(self) -> set[str]:
        """The options that a kernel must take to be asked this."""
        soft = self.kind == "loss" and self.arguments[1] and isinstance(self.arguments[1][0], list)
        ignored = self.kind == "loss" and IGNORED in self.arguments[1]
        given = {name for name, _ in self.options}
        return given | ({"soft"} if soft else set()) | ({"ignore_index"} if ignored else set())

    def answer(self) -> str:
        """Return what refcalc says: a number, or that it refuses."""
        try:
            if self.kind == "loss":
                return shown(refcalc.cross_entropy(*self.arguments, **{"reduction": "none", **dict(self.options)}))
            return shown(list(map(getattr(refcalc, self.kind), self.arguments[0])))
        except ValueError:
            return "refused"


def shown(value: Any) -> str:
    """Return an answer as a table shows it."""
    if isinstance(value, list):
        inner = ", ".join(map(shown, value))
        return inner if len(value) == 1 and not isinstance(value[0], list) else f"[{inner}]"
    return f"{value + 0.0:.6g}"


IGNORED = -100
ROWS, MEAN = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], (("reduction", "mean"),)
WEIGHTS = (("weight", [1.0, 2.0, 5.0]), *MEAN)

EDGE_CASES = (
    Edge("every target ignored, mean", "loss", (ROWS, [IGNORED, IGNORED]), MEAN),
    Edge("every target ignored, sum", "loss", (ROWS, [IGNORED, IGNORED]), (("reduction", "sum"),)),
    Edge("target -1", "loss", (ROWS[:1], [-1])),
    Edge("target V", "loss", (ROWS[:1], [3])),
    Edge("-inf, not the target", "loss", ([[-inf, 0.0, 1.0]], [2])),
    Edge("-inf where a soft target is 0", "loss", ([[-inf, 0.0, 1.0]], [[0.0, 0.0, 1.0]])),
    Edge("-inf at the target", "loss", ([[-inf, 0.0, 1.0]], [0])),
    Edge("a row of -inf", "loss", ([[-inf, -inf]], [0])),
    Edge("a row of -inf", "log_softmax", ([[-inf, -inf]],)),
    Edge("a row of -inf", "logsumexp", ([[-inf, -inf]],)),
    Edge("inf at the target", "loss", ([[inf, 0.0]], [0])),
    Edge("inf, not the target", "loss", ([[inf, 0.0]], [1])),
    Edge("inf", "log_softmax", ([[inf, 0.0]],)),
    Edge("inf", "logsumexp", ([[inf, 0.0]],)),
    Edge("nan", "loss", ([[nan, 0.0]], [1])),
    Edge("nan in an ignored row, mean", "loss", ([[nan, nan], [0.0, 0.0]], [IGNORED, 0]), MEAN),
    Edge("smoothing 0.3, one row ignored, mean", "loss", (ROWS, [2, IGNORED]), (("label_smoothing", 0.3), *MEAN)),
    Edge("smoothing 0.1 and a class at -inf", "loss", ([[-inf, 0.0, 1.0]], [2]), (("label_smoothing", 0.1),)),
    Edge("weights 1, 2, 5, mean", "loss", ([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], [2, 1]), WEIGHTS),
    Edge(
        "the same, soft targets",
        "loss",
        ([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        WEIGHTS,
    ),
    Edge("weights of all targets 0, mean", "loss", (ROWS[:1], [2]), (("weight", [1.0, 1.0, 0.0]), *MEAN)),
)
