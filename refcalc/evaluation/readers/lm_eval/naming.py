"""Why a published metric may differ from the one that the samples give."""

__all__ = ["named"]

from math import isfinite
from typing import Any

from refcalc.diagnosis import Diagnosis, diagnose
from refcalc.evaluation.readers.check import Check
from refcalc.evaluation.readers.lm_eval.aggregates import mean
from refcalc.evaluation.readers.lm_eval.scores import COUNTED
from refcalc.evaluation.readers.lm_eval.task import Task
from refcalc.evidence import Records

MOST = 20_000  # documents that a diagnosis looks at


def named(check: Check, task: Task | None) -> Check:
    """Return a check with the mistake that gives its number, where one is found."""
    if task is None:
        return check
    if check.quantity in COUNTED:
        found = _diagnosed(check, task)
        if found is None:
            return check
        return check._replace(diagnosis=str(found), mistakes=tuple(each.mistakes for each in found.candidates))
    metric, _, filter_ = check.quantity.partition(",")
    others = {name: scores for (name, kind), scores in task.scores.items() if kind == (filter_ or "none")}
    number = float(check.published or "nan")
    same = [name for name, scores in others.items() if name != metric and number in mean(scores)]
    if not metric.startswith("acc") or not same:
        return check
    return check._replace(diagnosis=f"{check.published} is what {' or '.join(same)} of these samples is.")


def _diagnosed(check: Check, task: Task) -> Diagnosis | None:
    """Return what the catalogue of mistakes says, each document a row of its own with a single nll."""
    texts = task.texts
    if not texts or len(texts) > MOST or not all(isfinite(ll) for ll, _ in texts):
        return None
    counts: dict[str, Any] = {name: [each.get(unit, 0) for _, each in texts] for name, unit in
              (("n_bytes", "bytes"), ("n_words", "words"), ("n_chars", "characters"))}  # fmt: skip
    evidence = Records([[max(-ll, 0.0)] for ll, _ in texts], **{k: v for k, v in counts.items() if sum(v)})
    assert check.published is not None
    try:
        return diagnose(check.published, evidence, quantity=check.quantity)
    except ValueError:  # a number that the metric cannot be
        return None
