"""What was to count as success, written down before the run: named bounds on the figures of a report.

A file of criteria is TOML, a table for each, the table's name being the criterion's:

    ["it learns"]
    metric = "mean_nll"            # any figure of a report, by its name in Tally
    below = "uniform"              # the name of a baseline, or a number
    by = 1.0                       # at least so much below it

    ["it generalises"]
    metric = "mean_nll"
    within = 0.05                  # at most so far, up or down,
    of = "validation"              # from the same figure of another split, or of a baseline, or from a number

    ["context helps"]
    metric = "bits_per_char"
    below = 9.70                   # the entropy of characters without context
"""

__all__ = ["Criterion", "criteria_of", "read_criteria"]

import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from refcalc import _check
from refcalc.evaluation.figures import METRICS

KEYS = {"below": ("metric", "below", "by"), "within": ("metric", "within", "of")}


class Criterion(NamedTuple):
    """One bound: the metric lies at least `margin` below the reference, or at most `margin` from it.

    reference: a number, or the name of a baseline or split whose figure of the same metric it is.

    >>> Criterion("it learns", "mean_nll", "below", "uniform", 1.0).holds(3.67, 9.56)
    True
    >>> Criterion("it generalises", "mean_nll", "within", "validation", 0.05).holds(3.695, 3.677)
    True
    """

    name: str
    metric: str
    kind: str  # "below" or "within"
    reference: str | float
    margin: float

    def holds(self, value: float, reference: float) -> bool:
        """Return whether a figure meets the bound; below means less, even where the margin is 0."""
        if self.kind == "within":
            return value == reference or abs(value - reference) <= self.margin
        return value < reference and reference - value >= self.margin

    def to_dict(self) -> dict[str, Any]:
        """Return the criterion with the keys of a TOML file."""
        first, second = (self.reference, self.margin) if self.kind == "below" else (self.margin, self.reference)
        return dict(zip(KEYS[self.kind], (self.metric, first, second), strict=True))


def read_criteria(text: str) -> tuple[Criterion, ...]:
    """Return the criteria of a TOML text, in its order.

    >>> read_criteria('["it learns"]\\nmetric = "mean_nll"\\nbelow = "uniform"\\nby = 1.0')
    (Criterion(name='it learns', metric='mean_nll', kind='below', reference='uniform', margin=1.0),)

    Raises ValueError for what is no TOML, a table without a name or with other keys, an unknown metric and a bound that
    is negative or not finite; TypeError for a value of another kind.
    """
    if not isinstance(text, str):
        _check.refuse("read_criteria", "text", "be text", text, TypeError)
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"read_criteria: text must be TOML, got {error}") from None
    except ValueError:  # Python's own limit on the digits of an int
        raise ValueError("read_criteria: text must hold numbers of at most 4,300 digits, got a longer one") from None
    except RecursionError:
        raise ValueError("read_criteria: text must not nest so deeply, got too many levels of [ or {") from None
    return criteria_of("read_criteria", "text", tables)


def criteria_of(function: str, argument: str, tables: Any) -> tuple[Criterion, ...]:
    """Return the criteria of a dict of dicts, or of criteria: as to_dict writes them, named by their keys."""
    if not isinstance(tables, Mapping):
        _check.refuse(function, argument, "hold a table for each criterion", tables, TypeError)
    return tuple(_criterion(function, f"{argument}[{name!r}]", name, table) for name, table in tables.items())


def _criterion(function: str, argument: str, name: str, table: Any) -> Criterion:
    if not isinstance(table, Mapping):
        _check.refuse(function, argument, "be a table", table, TypeError)
    kind = "within" if "within" in table else "below"
    required = KEYS[kind] if kind == "within" else KEYS[kind][:2]
    if not name or not set(required) <= set(table) <= set(KEYS[kind]):
        _check.refuse(function, argument, "have a name and the keys metric, below, by or metric, within, of", [*table])
    _check.choice(function, f"{argument}.metric", table["metric"], tuple(METRICS))
    size, other = ("within", "of") if kind == "within" else ("by", "below")
    margin, reference = table.get(size, 0.0), table[other]
    for key, value in ((size, margin), (other, reference)):
        if isinstance(value, bool) or value == "":
            rule = "be a number" if key == size else "be a number or a name"
            _check.refuse(function, f"{argument}.{key}", rule, value)
    margin = _check.not_negative(function, f"{argument}.{size}", margin, finite=True) + 0.0  # -0.0 is 0.0
    if not isinstance(reference, str):
        reference = _check.finite(function, f"{argument}.{other}", reference) + 0.0
    return Criterion(name, table["metric"], kind, reference, margin)
