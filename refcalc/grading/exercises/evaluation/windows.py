"""A long text in windows of inputs and targets, such that every token but the first is a target exactly once."""

__all__ = ["FUNCTION"]

from collections.abc import Callable, Iterator
from random import Random

from refcalc import targets
from refcalc.grading.exercise import Arguments, Function
from refcalc.grading.exercises._shared import below, explained

Window = tuple[list[int], list[int]]  # inputs and targets, equally long


def windows(tokens: list[int], length: int) -> list[Window]:
    """Return windows of up to `length` inputs; the last target of one is the first input of the next."""
    return [(inputs, wanted) for _, inputs, wanted in targets.windows(tokens, length)]


# --- wrong answers ---------------------------------------------------------------------------------------------------


def cut(tokens: list[int], length: int, step: int, shift: int = 1) -> list[Window]:
    """Return windows of up to `length` inputs, one every `step` places; their targets lie `shift` places on."""
    wanted = [(i, tokens[i + shift : i + shift + length]) for i in range(0, len(tokens), step)]
    return [(tokens[i : i + len(found)], found) for i, found in wanted if found]


def padded(tokens: list[int], length: int) -> list[Window]:
    zeros = [0] * length
    return [((inputs + zeros)[:length], (wanted + zeros)[:length]) for inputs, wanted in windows(tokens, length)]


def uneven(tokens: list[int], length: int, starts: int) -> list[Window]:
    """Return windows that begin below starts, and hold the last token as an input too."""
    return [(tokens[i : i + length], tokens[i + 1 : i + 1 + length]) for i in range(0, starts, length)]


WRONG: dict[str, Callable[[list[int], int], list[Window]]] = {
    "window-start-unscored": lambda tokens, length: cut(tokens, length - 1, length),
    "windows-apart": explained(
        "A window begins behind the last target of the one before it, so that its first token is no target.",
        "Begin with that target: it is the first input of the next window.",
        lambda tokens, length: cut(tokens, length, length + 1),
    ),
    "last-input-without-target": explained(
        "The last token is an input, though nothing follows it: the last window has more inputs than targets.",
        "Cut the inputs of a window to as many as it has targets.",
        lambda tokens, length: uneven(tokens, length, len(tokens) - 1),
    ),
    "window-without-target": explained(
        "The last token is an input, though nothing follows it, even where it is alone in its window.",
        "Let windows begin before the last token, and cut their inputs to as many as there are targets.",
        lambda tokens, length: uneven(tokens, length, len(tokens)),
    ),
    "tail-dropped": lambda tokens, length: [pair for pair in windows(tokens, length) if len(pair[0]) == length],
    "silent-truncation": lambda tokens, length: windows(tokens, length)[:1],
    "overlap-scored-twice": lambda tokens, length: cut(tokens, length, max(1, length - 1)),
    "no-shift": lambda tokens, length: cut(tokens, length, length, 0),
    "double-shift": lambda tokens, length: cut(tokens, length, length, 2),
    "reversed-shift": lambda tokens, length: [(wanted, inputs) for inputs, wanted in windows(tokens, length)],
    "padding-scored": padded,
}

# --- the arguments ---------------------------------------------------------------------------------------------------


def texts(rng: Random) -> Iterator[Arguments]:
    """Yield texts and lengths: a short last window, whole windows; then one window, and none."""

    def text(length: int) -> list[int]:
        return [below(rng, 100) for _ in range(length)]

    for count, length in ((8, 3), (11, 4), (13, 5), (6, 2)):
        yield text(count), length
    yield text(9), 4
    yield text(5), 1
    yield text(4), 8
    yield text(2), 3
    yield text(1), 3
    yield [], 2


FUNCTION = Function(
    "windows(tokens, length)",
    "a list of (inputs, targets), each up to length long; neighbours share one token, token 0 is no target",
    windows,
    texts,
    WRONG,
)
