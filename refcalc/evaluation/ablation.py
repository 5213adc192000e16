"""The arms of an ablation: what each was given, and whether the two can stand side by side.

    intervention         a trained model, frozen, with one part switched off: how far does this model lean on the part?
    paired-retraining    two trainings from the same weights over the same windows, one without the part: what does
                         training under this budget reach without it?

The two answer different questions and may well differ in sign, so no comparison mixes them.
"""

__all__ = ["KINDS", "RETRAINING", "Arm", "check_arms", "trajectory_digest"]

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any

from refcalc import _check
from refcalc._refusal import NoComparison

RETRAINING = "paired-retraining"
KINDS = ("intervention", RETRAINING)


@dataclass(frozen=True)
class Arm:
    """One arm of an ablation.

    name: what was done in it, "control" or "positions zeroed", say.
    kind: "intervention" or "paired-retraining".
    base_digest: of the weights that it started from: the frozen checkpoint, or the initial weights.
    trajectory_digest: of the windows it went through, in their order, as trajectory_digest writes it: those it was
        trained on, or, in an intervention, evaluated on.
    updates: optimizer steps; none in an intervention.
    targets: the targets in these windows that count, each as often as it was processed.
    parameters, trainable_parameters: all of them, and those that an update may change.
    seconds: of the run, by the clock.

    >>> arm = Arm("control", "paired-retraining", "sha256:6e1f", "sha256:07ab", 40, 4676, 1000, 1000, 3.5)
    >>> Arm.from_dict(arm.to_dict()) == arm
    True
    >>> Arm("positions zeroed", "intervention", "sha256:6e1f", "sha256:07ab", 1, 4676, 1000, 0, 3.5)
    Traceback (most recent call last):
    ValueError: Arm: updates must be 0 in an intervention (after updates it is a retraining), got 1

    Raises ValueError for empty text, another kind, counts below 0, and more trainable parameters than parameters;
    TypeError for what is of another kind.
    """

    name: str
    kind: str
    base_digest: str
    trajectory_digest: str
    updates: int
    targets: int
    parameters: int
    trainable_parameters: int
    seconds: float

    def __post_init__(self) -> None:
        for name in ("name", "base_digest", "trajectory_digest"):
            _check_text(name, getattr(self, name))
        _check.choice("Arm", "kind", self.kind, KINDS)
        for name in ("updates", "targets", "parameters", "trainable_parameters"):
            object.__setattr__(self, name, _check.count("Arm", name, getattr(self, name)))
        object.__setattr__(self, "seconds", _check.not_negative("Arm", "seconds", self.seconds, finite=True))
        if self.trainable_parameters > self.parameters:
            rule = f"be at most parameters ({self.parameters})"
            _check.refuse("Arm", "trainable_parameters", rule, self.trainable_parameters)
        if self.kind == "intervention" and self.updates:
            rule = "be 0 in an intervention (after updates it is a retraining)"
            _check.refuse("Arm", "updates", rule, self.updates)

    def to_dict(self) -> dict[str, Any]:
        """Return the arm as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "Arm":
        """Return the arm that to_dict described; keys that are missing or unknown are refused."""
        if not isinstance(record, dict):
            _check.refuse("Arm.from_dict", "record", "be a dict", record, TypeError)
        names = [field.name for field in fields(cls)]
        if set(record) != set(names):
            _check.refuse("Arm.from_dict", "record", f"have the keys {', '.join(names)}", list(record))
        return cls(**record)


def check_arms(kind: str, arms: tuple[Arm, Arm]) -> tuple[str, ...]:
    """Return what is to be known when these arms are compared, having refused those that cannot be.

    Raises NoComparison for arms of another kind, from other weights, over other windows or with other targets.
    """
    ours, theirs = arms
    for i, arm in enumerate(arms):
        if arm.kind != kind:
            rule = f"be {kind!r}, the kind of this ablation"
            _check.refuse("compare_reports", f"arms[{i}].kind", rule, arm.kind, NoComparison)
    for name, what in SHARED.items():
        if getattr(ours, name) != getattr(theirs, name):
            rule = f"be {getattr(ours, name)!r}, as in arms[0]: {what}"
            _check.refuse("compare_reports", f"arms[1].{name}", rule, getattr(theirs, name), NoComparison)
    return tuple(_remarks(kind, ours, theirs))


def trajectory_digest(windows: Iterable[Any]) -> str:
    """Return a digest of the windows that a run goes through, in their order.

    windows: what names each, such as [document, start] or its token ids: whatever JSON holds.

    >>> trajectory_digest([["a", 0], ["a", 8]]) == trajectory_digest([["a", 8], ["a", 0]])
    False
    """
    digest = sha256()
    for i, window in enumerate(_check.iterable("trajectory_digest", "windows", windows)):
        try:
            line = json.dumps(window, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError):
            _check.refuse("trajectory_digest", f"windows[{i}]", "be what JSON holds", window, TypeError)
        digest.update(line.encode() + b"\n")
    return f"sha256:{digest.hexdigest()}"


# --- private ---------------------------------------------------------------------------------------------------------

SHARED = {
    "base_digest": "both arms start from the same weights",
    "trajectory_digest": "arms on different windows are not compared",
    "targets": "the same windows hold the same targets",
}


def _remarks(kind: str, ours: Arm, theirs: Arm) -> Iterable[str]:
    if kind == "intervention":
        yield "an intervention shows what this checkpoint leans on, not what training without the part would reach"
    else:
        yield "one training an arm: what another seed would change is not known (refcalc seeds)"
    for name in ("updates", "parameters", "trainable_parameters"):
        a, b = getattr(ours, name), getattr(theirs, name)
        if a != b:
            yield f"the arms differ in {name.replace('_', ' ')}: {a:,} and {b:,}"


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        _check.refuse("Arm", name, "be text", value, TypeError)
    if not value.strip():
        _check.refuse("Arm", name, "not be empty", value)
