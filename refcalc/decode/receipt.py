"""What was generated, how, and how probable each token was: kept so that it can be looked into and run again."""

__all__ = ["GenerationReceipt", "Step"]

from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from refcalc import _check, _json
from refcalc.decode.pipeline import check_policy, some_prompt
from refcalc.decode.policy import Policy


class Step(NamedTuple):
    """A generated token, and its log-probability in nats before and after the policy changed the row."""

    token: int
    raw_logprob: float  # log_softmax(logits of the model)[token]
    processed_logprob: float  # log_softmax(process(logits, policy, ...))[token]


@dataclass(frozen=True)
class GenerationReceipt:
    """What `greedy` and `sample` return.

    prompt, policy, seed: what they were given; seed is None for greedy.
    steps: the tokens in order, an eos included, each with raw_logprob and processed_logprob.
    data: what the caller's decode made of the ids without an eos, or None.

    Everything else follows from these: ids, stop ("eos" or "max_new"), and of data the text, or where it ends.

    >>> policy = Policy(temperature=0, eos=0, max_new=2)
    >>> receipt = GenerationReceipt((5,), policy, None, (Step(7, -0.5, -0.25), Step(0, -1.0, -1.0)), b"caf\\xc3")
    >>> receipt.ids, receipt.stop
    ((7, 0), 'eos')
    >>> receipt.text, receipt.first_bad_byte            # strict UTF-8: no text with replacement characters
    (None, 3)
    >>> GenerationReceipt.from_dict(receipt.to_dict()) == receipt
    True

    Raises ValueError for steps that the policy cannot have generated: none, too many or too few, tokens after an eos,
    an eos within min_new, or a banned token; for a log-probability above 0 or nan; and where tokens were drawn and
    there is no seed.  TypeError for what is of another kind.
    """

    prompt: tuple[int, ...]
    policy: Policy
    seed: int | None
    steps: tuple[Step, ...]
    data: bytes | None = None

    def __post_init__(self) -> None:
        name = "GenerationReceipt"
        check_policy(name, self.policy)
        object.__setattr__(self, "prompt", some_prompt(name, self.prompt))
        steps = enumerate(_check.items(name, "steps", self.steps))
        object.__setattr__(self, "steps", tuple(_checked(f"steps[{i}]", step) for i, step in steps))
        if self.seed is not None:
            object.__setattr__(self, "seed", _check.count(name, "seed", self.seed))
        elif not self.policy.greedy:
            _check.refuse(name, "seed", "be given where the policy is not greedy", None)
        if not isinstance(self.data, (bytes, type(None))):
            _check.refuse(name, "data", "be bytes or None", self.data, TypeError)
        self._refuse_another_end()

    def _refuse_another_end(self) -> None:
        name, most = "GenerationReceipt", self.policy.max_new or 0
        ended = [token in self.policy.eos for token in self.ids]
        if any(ended[:-1]):
            _check.refuse(name, f"steps[{ended.index(True)}].token", "be the last, it is an eos", self.ids)
        if not ended or len(ended) > most or (len(ended) < most and not ended[-1]):
            _check.refuse(name, "steps", "end with an eos or at max_new", self.ids)
        if ended[-1] and len(ended) <= self.policy.min_new:
            _check.refuse(name, "steps", f"be more than min_new ({self.policy.min_new}), an eos included", self.ids)
        for i, token in enumerate(self.ids):
            if token in self.policy.banned:
                _check.refuse(name, f"steps[{i}].token", "be none of policy.banned", token)

    @property
    def ids(self) -> tuple[int, ...]:
        """The generated tokens, an eos at the end included."""
        return tuple(step.token for step in self.steps)

    @property
    def stop(self) -> str:
        """Why it ended: "eos", or "max_new"."""
        return "eos" if self.steps[-1].token in self.policy.eos else "max_new"

    @property
    def text(self) -> str | None:
        """The data as text if all of it is UTF-8, strictly; else None."""
        return None if self.data is None or self.first_bad_byte is not None else self.data.decode("utf-8")

    @property
    def first_bad_byte(self) -> int | None:
        """Where in data the first byte stands that is not UTF-8, or that begins a character that does not end; or None.

        A text that max_new cuts within a character ends so.
        """
        try:
            (self.data or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            return error.start
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON can hold it, what follows from the rest included; data in hexadecimal."""
        data = None if self.data is None else self.data.hex()
        record = {
            "prompt": self.prompt,
            "ids": self.ids,
            "stop": self.stop,
            "text": self.text,
            "valid_utf8": None if self.data is None else self.first_bad_byte is None,
            "first_bad_byte": self.first_bad_byte,
            "data": data,
            "policy": self.policy.to_dict(),
            "seed": self.seed,
            "steps": [step._asdict() for step in self.steps],
        }
        return dict(_json.plain(record))

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "GenerationReceipt":
        """Return the receipt that to_dict described, to the bit.

        Raises ValueError for other keys, whatever GenerationReceipt refuses, and a record in which ids, stop or text do
        not follow from the rest; TypeError for what is of another kind.
        """
        name = "GenerationReceipt.from_dict"
        if not isinstance(record, dict):
            _check.refuse(name, "record", "be a dict", record, TypeError)
        steps = [_step(f"record['steps'][{i}]", each) for i, each in enumerate(_field(record, "steps", list))]
        data = _field(record, "data", str, type(None))
        try:
            data = None if data is None else bytes.fromhex(data)
        except ValueError:
            _check.refuse(name, "record['data']", "be hexadecimal", data)
        seed = _field(record, "seed", int, type(None))
        policy = Policy.from_dict(_field(record, "policy", dict))
        receipt = cls(tuple(_field(record, "prompt", list)), policy, seed, tuple(steps), data)
        right = receipt.to_dict()
        if set(record) != set(right):
            _check.refuse(name, "record", f"have the keys {', '.join(right)}", list(record))
        for key in ("ids", "stop", "text", "valid_utf8", "first_bad_byte"):
            if record[key] != right[key]:
                _check.refuse(name, f"record[{key!r}]", f"be {_check.shown(right[key])}, by the rest", record[key])
        return receipt


# --- private ---------------------------------------------------------------------------------------------------------


def _checked(argument: str, step: Any) -> Step:
    values = _check.items("GenerationReceipt", argument, step)
    _check.same_length("GenerationReceipt", argument, values, "a Step", 3)
    logprobs = []
    for field, value in zip(Step._fields[1:], values[1:], strict=True):
        logprobs.append(_check.real("GenerationReceipt", f"{argument}.{field}", value))
        if not logprobs[-1] <= 0.0:  # true of nan as well
            rule = "be the logarithm of a probability, at most 0"
            _check.refuse("GenerationReceipt", f"{argument}.{field}", rule, value)
    return Step(_check.count("GenerationReceipt", f"{argument}.token", values[0]), *logprobs)


def _field(record: dict[str, Any], key: str, *kinds: type) -> Any:
    if not isinstance(record.get(key), kinds):
        kind = " or ".join("null" if each is type(None) else each.__name__ for each in kinds)
        _check.refuse("GenerationReceipt.from_dict", f"record[{key!r}]", f"be {kind}", record.get(key), TypeError)
    return record[key]


def _step(argument: str, record: Any) -> Step:
    if not isinstance(record, dict) or set(record) != set(Step._fields):
        rule = f"have the keys {', '.join(Step._fields)}"
        _check.refuse("GenerationReceipt.from_dict", argument, rule, record)
    raw, processed = (-inf if record[field] == "-inf" else record[field] for field in Step._fields[1:])
    return Step(record["token"], raw, processed)
