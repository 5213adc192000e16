"""What turns a row of logits into the next token, written down so that it can be read, kept and run again."""

__all__ = ["ORDER", "Policy"]

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from typing import Any

from refcalc import _check
from refcalc.decode.processors import positive, share

# The order of transformers (generation/utils.py, version 5.24), where sequence_bias comes first, bad words and minimum
# length follow the repetition penalty, and what belongs to sampling comes last.  It has no frequency and presence
# penalty.  These are OpenAI's, on logits before the temperature; vLLM subtracts them in this order right after the
# repetition penalty, which depends on a score's sign and so must see it before anything was subtracted.
ORDER = (
    "bias",
    "repetition_penalty",
    "frequency_penalty",
    "presence_penalty",
    "banned",
    "min_new",
    "temperature",
    "top_k",
    "top_p",
)
TIES = "lowest index"


@dataclass(frozen=True, init=False)
class Policy:
    """A decoding policy: everything besides the model, the prompt and a seed that decides what is generated.

    temperature: scores are divided by it; 0 means greedy, the largest score, and top_k and top_p then say nothing.
    top_k: only so many of the largest scores stay.  top_p: only the fewest of the largest whose probability together is
        at least top_p, in (0, 1].  None: all stay.
    repetition_penalty: above 0; tokens of the prompt and of what was generated have a score below 0 multiplied by it,
        another divided.
    frequency_penalty, presence_penalty: subtracted from the score of a token for each time it was generated, and once
        if it was; the prompt does not count.
    banned: ids that are never generated.  bias: {id: what is added to its score}.
    eos: the id, or ids, after which generation stops.  min_new: how many tokens come before eos is possible.
    max_new: how many tokens are generated at most; generation asks for it, scoring does not.
    context: C, how many ids the model sees at most: the last ones, whose positions start again at 0; None: all of them.
    order: the names of the processors, from the first to the last.  ORDER is that of transformers; llama.cpp, for one,
        has the temperature last.
    ties: of equal scores the one with the lowest index counts as the larger.  There is no other rule here.

    >>> policy = Policy(temperature=0.7, top_p=0.9, banned=[1], eos=2, max_new=24)
    >>> policy.eos, policy.greedy, Policy(temperature=0).greedy
    ((2,), False, True)
    >>> Policy.from_dict(policy.to_dict()) == policy
    True
    >>> Policy(top_p=0.0)
    Traceback (most recent call last):
    ValueError: Policy: top_p must lie in (0, 1], got 0.0

    Raises ValueError for values outside these ranges, and for a minimum length that is beside the point: without eos,
    above max_new, or with an eos that is banned; TypeError for what is of another kind.
    """

    temperature: float
    top_k: int | None
    top_p: float | None
    repetition_penalty: float
    frequency_penalty: float
    presence_penalty: float
    banned: tuple[int, ...]
    bias: tuple[tuple[int, float], ...]
    eos: tuple[int, ...]
    min_new: int
    max_new: int | None
    context: int | None
    order: tuple[str, ...]
    ties: str

    def __init__(
        self,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        repetition_penalty: float = 1.0,
        frequency_penalty: float = 0.0,
        presence_penalty: float = 0.0,
        banned: Collection[int] = (),
        bias: Mapping[int, float] | Sequence[tuple[int, float]] = (),
        eos: int | Collection[int] = (),
        min_new: int = 0,
        max_new: int | None = None,
        context: int | None = None,
        order: Sequence[str] = ORDER,
        ties: str = TIES,
    ) -> None:
        name = "Policy"
        self._keep(
            temperature=_check.not_negative(name, "temperature", temperature, finite=True) + 0.0,  # -0.0 becomes 0.0
            top_k=None if top_k is None else _check.count(name, "top_k", top_k, least=1),
            top_p=None if top_p is None else share(name, "top_p", top_p),
            repetition_penalty=positive(name, "repetition_penalty", repetition_penalty),
            frequency_penalty=_check.finite(name, "frequency_penalty", frequency_penalty),
            presence_penalty=_check.finite(name, "presence_penalty", presence_penalty),
            banned=_ids("banned", banned),
            bias=_bias(bias),
            eos=_ids("eos", eos if isinstance(eos, Set) or _check.is_sequence(eos) else [eos]),
            min_new=_check.count(name, "min_new", min_new),
            max_new=None if max_new is None else _check.count(name, "max_new", max_new, least=1),
            context=None if context is None else _check.count(name, "context", context, least=1),
            order=_order(order),
            ties=ties,
        )
        _check.choice(name, "ties", ties, (TIES,))
        self._refuse_idle_minimum()

    @property
    def greedy(self) -> bool:
        """Whether the temperature is 0: the largest score is taken, and no number is drawn."""
        return self.temperature == 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as JSON can hold it, bias as pairs."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        tuples = {name: list(values[name]) for name in ("banned", "eos", "order")}
        return {**values, **tuples, "bias": [list(pair) for pair in self.bias]}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "Policy":
        """Return the policy that to_dict described; what is left out has its default.

        Raises ValueError for other keys, and whatever Policy refuses.
        """
        if not isinstance(record, dict):
            _check.refuse("Policy.from_dict", "record", "be a dict", record, TypeError)
        known = [field.name for field in fields(cls)]
        for key in record:
            if key not in known:
                _check.refuse("Policy.from_dict", "record", f"have no keys but {', '.join(known)}", key)
        return cls(**record)

    def _keep(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _refuse_idle_minimum(self) -> None:
        if not self.min_new:
            return
        if not self.eos:
            _check.refuse("Policy", "min_new", "be 0 where there is no eos", self.min_new)
        if self.max_new is not None and self.min_new > self.max_new:
            _check.refuse("Policy", "min_new", f"be at most max_new ({self.max_new})", self.min_new)
        for i, token in enumerate(self.banned):
            if token in self.eos:
                _check.refuse("Policy", f"banned[{i}]", "be no eos where min_new says from when on it may come", token)


# --- private ---------------------------------------------------------------------------------------------------------


def _ids(argument: str, values: Any) -> tuple[int, ...]:
    """Return ids in ascending order, each once."""
    ids = list(values) if isinstance(values, Set) else _check.items("Policy", argument, values)
    return tuple(sorted({_check.count("Policy", f"{argument}[{i}]", token) for i, token in enumerate(ids)}))


def _bias(bias: Any) -> tuple[tuple[int, float], ...]:
    pairs = list(bias.items()) if isinstance(bias, Mapping) else list(_check.items("Policy", "bias", bias))
    result: dict[int, float] = {}
    for i, pair in enumerate(pairs):
        each = _check.items("Policy", f"bias[{i}]", pair)
        _check.same_length("Policy", f"bias[{i}]", each, "a pair of id and number", 2)
        token = _check.count("Policy", f"bias[{i}][0]", each[0])
        if token in result:
            _check.refuse("Policy", f"bias[{i}][0]", "be an id that was not given before", token)
        result[token] = _check.finite("Policy", f"bias[{i}][1]", each[1])
    return tuple(sorted(result.items()))


def _order(order: Any) -> tuple[str, ...]:
    names = tuple(_check.items("Policy", "order", order))
    if sorted(map(str, names)) != sorted(ORDER):
        _check.refuse("Policy", "order", f"name each of {', '.join(ORDER)} once", list(names))
    return names
