"""One battery for all public functions: the kinds of input that each takes, and those that each refuses.

Every argument that is a sequence or a number is listed once, with a call that puts a value there and good values
everywhere else.  The same list serves any module that has the same names: pass it as `tier`.
"""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

ROWS = [[0.0, 1.0], [2.0, 0.5], [0.0, 0.0]]  # (T, V)


@dataclass
class Argument:
    """One argument of one function.

    function, name: as a refusal names them.
    call: the function of this argument's value alone.
    holds: what its elements are, or itself is: "scores" (finite or -inf), "numbers" (not nan), "wholes" or "bits".
    good: a value that it takes; if it is a sequence, made of whole numbers in steps of 1, so that a range can stand in.
    """

    function: str
    name: str
    call: Callable[[Any], Any]
    holds: str
    good: Any

    @property
    def is_sequence(self) -> bool:
        return isinstance(self.good, list)

    def __str__(self) -> str:
        return f"{self.function}({self.name})"


def sequences(tier: Any) -> Iterator[Argument]:
    """Yield the arguments that take a sequence, for the functions that the tier has."""

    def one(
        name: str, argument: str, holds: str, good: list[int], call: Callable[[Any, Any], Any]
    ) -> Iterator[Argument]:
        function = getattr(tier, name, None)
        if function is not None:
            yield Argument(name, argument, lambda value: call(function, value), holds, good)

    for name in ("logsumexp", "softmax", "log_softmax", "entropy"):
        yield from one(name, "logits", "scores", [0, 1, 2], lambda f, v: f(v))
    yield from one("token_nll", "logits", "scores", [0, 1, 2], lambda f, v: f(v, 1))
    for name in ("kl_divergence", "kl_divergence_gradient"):
        yield from one(name, "p_logits", "scores", [0, 1, 2], lambda f, v: f(v, [0.0, 1.0, 0.5]))
        yield from one(name, "q_logits", "scores", [0, 1, 2], lambda f, v: f([0.0, 1.0, 0.5], v))
        yield from one(name, "p_logits[1]", "scores", [0, 1], lambda f, v: f([[0.0, 0.0], v], [[1.0, 2.0]] * 2))
    for name in ("z_loss", "z_loss_gradient"):
        yield from one(name, "logits", "scores", [0, 1, 2], lambda f, v: f(v))
        yield from one(name, "logits[1]", "scores", [0, 1], lambda f, v: f([[0.0, 0.0], v], [1, 1]))
        yield from one(name, "targets", "wholes", [0, 1], lambda f, v: f(ROWS[:2], v))
    yield from one("shift", "tokens", "wholes", [0, 1, 2], lambda f, v: f(ROWS, v))
    yield from one("shift_labels", "labels", "wholes", [0, 1, 2], lambda f, v: f(v))
    yield from one("mask_padding", "labels", "wholes", [0, 1], lambda f, v: f(v, [0, 1]))
    yield from one("mask_padding", "attention_mask", "bits", [0, 1], lambda f, v: f([7, 8], v))
    yield from one("mask_prompt", "labels", "wholes", [0, 1], lambda f, v: f(v, 1))
    yield from one("mask_document_starts", "labels", "wholes", [0, 1], lambda f, v: f(v, [0, 0]))
    yield from one("mask_document_starts", "document_ids", "wholes", [0, 1], lambda f, v: f([7, 8], v))
    yield from one("pad", "sequences[0]", "wholes", [0, 1, 2], lambda f, v: f([v, [5]], 0))
    yield from one("windows", "tokens", "wholes", [0, 1, 2], lambda f, v: list(f(v, 2)))
    yield from one("masked_mean", "values", "numbers", [0, 1], lambda f, v: f(v, [1, 1]))
    yield from one("masked_mean", "mask", "numbers", [0, 1], lambda f, v: f([7.0, 8.0], v))
    for name in ("cross_entropy", "cross_entropy_gradient", "batch_nll"):
        yield from one(name, "logits", "scores", [0, 1, 2], lambda f, v: f(v, 1))
        yield from one(name, "logits[1]", "scores", [0, 1], lambda f, v: f([[0.0, 0.0], v], [1, 1]))
        yield from one(name, "targets", "wholes", [0, 1], lambda f, v: f(ROWS[:2], v))
        yield from one(name, "weight", "numbers", [0, 1], lambda f, v: f(ROWS[:2], [0, 1], weight=v))
    yield from one("causal_lm_loss", "logits[1]", "scores", [0, 1], lambda f, v: f([ROWS[0], v, ROWS[0]], [0, 1, 1]))
    yield from one("causal_lm_loss", "labels", "wholes", [0, 1], lambda f, v: f(ROWS[:2], v))
    mask = [0, 1]
    yield from one(
        "causal_lm_loss",
        "attention_mask",
        "bits",
        mask,
        lambda f, v: f(ROWS[:2], [0, 1], attention_mask=v, num_items=3),
    )


def scalars(tier: Any) -> Iterator[Argument]:
    """Yield the arguments that take one number, for the functions that the tier has."""

    def one(name: str, argument: str, holds: str, call: Callable[[Any, Any], Any]) -> Iterator[Argument]:
        function = getattr(tier, name, None)
        if function is not None:
            yield Argument(name, argument, lambda value: call(function, value), holds, 1)

    for name, argument in [
        ("perplexity", "mean_nll"), ("bits_per_token", "mean_nll"), ("nats_to_bits", "nats"), ("bits_to_nats", "bits"),
        ("nats_to_log10", "nats"), ("log10_to_nats", "log10"), ("perplexity_to_nll", "ppl"),
    ]:  # fmt: skip
        yield from one(name, argument, "numbers", lambda f, v: f(v))
    for name, argument in [
        ("bits_per_byte", "n_bytes"), ("byte_perplexity", "n_bytes"), ("bits_per_char", "n_chars"),
        ("word_perplexity", "n_words"),
    ]:  # fmt: skip
        yield from one(name, "nll_sum", "numbers", lambda f, v: f(v, 2))
        yield from one(name, argument, "wholes", lambda f, v: f(3.0, v))
    yield from one("uniform_nll", "vocab_size", "wholes", lambda f, v: f(v))
    yield from one("token_nll", "target", "wholes", lambda f, v: f([0.0, 1.0], v))
    yield from one("pad", "value", "wholes", lambda f, v: f([[1]], v))
    yield from one("mask_prompt", "prompt_lengths", "wholes", lambda f, v: f([5, 6], v))
    for argument in ("length", "stride", "bos", "ignore_index"):
        good = {"length": 2, "tokens": [5, 6, 7]}
        yield from one("windows", argument, "wholes", lambda f, v, a=argument: list(f(**{**good, a: v})))  # noqa: B023
    for name in ("cross_entropy", "cross_entropy_gradient", "batch_nll"):
        yield from one(name, "ignore_index", "wholes", lambda f, v: f(ROWS[:2], [0, 1], ignore_index=v))
        yield from one(name, "label_smoothing", "numbers", lambda f, v: f(ROWS[:2], [0, 1], label_smoothing=v))
        yield from one(name, "targets", "wholes", lambda f, v: f([0.0, 1.0], v))
    for name in ("z_loss", "z_loss_gradient"):
        yield from one(name, "coefficient", "numbers", lambda f, v: f([0.0, 1.0], coefficient=v))
        yield from one(name, "ignore_index", "wholes", lambda f, v: f(ROWS[:2], [0, 1], ignore_index=v))
    yield from one("causal_lm_loss", "num_items", "wholes", lambda f, v: f(ROWS[:2], [0, 1], num_items=v))
    for name, labels in [("shift_labels", ([5],)), ("mask_padding", ([5], [1])), ("mask_document_starts", ([5], [0]))]:
        yield from one(name, "ignore_index", "wholes", lambda f, v, labels=labels: f(*labels, v))


# --- values ----------------------------------------------------------------------------------------------------------


class ArrayLike:
    """As much of a NumPy array or a tensor as refcalc looks at."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.ndim = 1 if isinstance(values, list) else 0

    def tolist(self) -> Any:
        return self.values

    def __repr__(self) -> str:
        return f"ArrayLike({self.values!r})"


class Real:
    """A number that can be made a float, and nothing more: it does not even compare."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return f"Real({self.value!r})"


def equal_sequences(argument: Argument) -> dict[str, Any]:
    """Return other forms of the good sequence, each of which must give the same answer."""
    good = argument.good
    forms = {
        "tuple": tuple(good),
        "range": range(good[0], good[-1] + 1),
        "array of int": array("q", good),
        "memoryview": memoryview(array("q", good)),
        "memoryview of bytes": memoryview(bytes(good)),
        "array-like": ArrayLike(list(good)),
        "array-like elements": [ArrayLike(v) for v in good] if argument.holds in ("wholes", "bits") else list(good),
    }
    if argument.holds in ("scores", "numbers"):
        forms |= {
            "floats": list(map(float, good)),
            "array of double": array("d", good),
            "array of float": array("f", good),
            "fractions": list(map(Fraction, good)),
            "reals": list(map(Real, good)),
        }
    if argument.holds == "bits":
        forms["bools"] = list(map(bool, good))
        forms["array-like bools"] = [ArrayLike(bool(v)) for v in good]
    return forms


def no_sequences() -> list[Any]:
    """Return what no function takes for a sequence."""
    bare = SimpleNamespace()
    return ["12", b"12", bytearray(b"12"), {0: 1, 1: 2}, {0, 1}, (v for v in [0, 1]), 1.5, 1j, Fraction(1, 2), bare]


def no_elements(argument: Argument) -> list[tuple[Any, type[Exception], str]]:
    """Return what must not stand in the argument, with the kind and the rule of the refusal."""
    if argument.holds in ("wholes", "bits"):
        kinds = [1.0, "1", b"1", None, 1j, Fraction(1), {}, ArrayLike(1.0), Real(1)]
        kinds += [True, ArrayLike(True)] if argument.holds == "wholes" else []
        return [(v, TypeError, "be a whole number") for v in kinds]
    refused: list[tuple[Any, type[Exception], str]]
    refused = [(v, TypeError, "be a number") for v in ["1", b"1", None, 1j, {}, {1}, [1.0], object]]
    if argument.holds == "scores":
        rule = "be finite or -inf"
        return [*refused, (float("nan"), ValueError, rule), (float("inf"), ValueError, rule)]
    return refused
