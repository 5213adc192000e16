"""Greedy generation: the largest score that is not banned, the lowest id at ties, until the EOS or max_new ids."""

__all__ = ["FUNCTION"]

from collections.abc import Callable, Collection, Iterator, Sequence
from math import inf
from random import Random

from refcalc import decode
from refcalc.grading.exercise import Arguments, Function, Table
from refcalc.grading.exercises._shared import below, explained
from refcalc.mistakes.elsewhere.decoding import banned_score_zero, prompt_counted_as_new

Logits = Callable[[list[int]], Sequence[float]]  # of the token after these
Choose = Callable[[Sequence[float], Collection[int]], int]
CLASSES, ROWS = 6, 11


def greedy(next_logits: Logits, prompt: list[int], eos: int, max_new: int, banned: Collection[int]) -> list[int]:
    """Return the ids that follow the prompt, up to the EOS and with it, at most max_new of them."""
    policy = decode.Policy(banned=list(banned), eos=eos, max_new=max_new)
    return list(decode.greedy(next_logits, prompt, policy).ids)


# --- wrong answers ---------------------------------------------------------------------------------------------------


def first_best(logits: Sequence[float], banned: Collection[int]) -> int:
    allowed = [i for i in range(len(logits)) if i not in banned]
    return max(allowed, key=lambda i: logits[i])


def last_best(logits: Sequence[float], banned: Collection[int]) -> int:
    allowed = [i for i in reversed(range(len(logits))) if i not in banned]
    return max(allowed, key=lambda i: logits[i])


def best_of_all(logits: Sequence[float], banned: Collection[int]) -> int:
    return first_best(logits, ())


def best_with_finite(logits: Sequence[float], banned: Collection[int]) -> int:
    return first_best([-100.0 if i in banned else z for i, z in enumerate(logits)], ())


def best_with_zeros(logits: Sequence[float], banned: Collection[int]) -> int:
    return first_best(banned_score_zero(logits, banned), ())


def generated(
    next_logits: Logits,
    prompt: list[int],
    eos: int | None,
    max_new: int,
    banned: Collection[int],
    *,
    choose: Choose = first_best,
) -> list[int]:
    """Return what is generated with another way to choose, or without an EOS."""
    new: list[int] = []
    while len(new) < max_new and eos not in new:
        new.append(choose(next_logits([*prompt, *new]), banned))
    return new


WRONG: dict[str, Callable[[Logits, list[int], int, int, Collection[int]], list[int]]] = {
    "top1-is-not-argmax": lambda *call: generated(*call, choose=last_best),
    "banned-score-zero": lambda *call: generated(*call, choose=best_with_zeros),
    "prompt-counted-as-new": lambda model, prompt, eos, max_new, banned: generated(
        model, prompt, eos, prompt_counted_as_new(prompt, max_new), banned
    ),
    "banned-score-finite": explained(
        "Banned ids get a low score, such as -100; all the others can be lower still.",
        "Leave them out of the comparison, or set their scores to -inf.",
        lambda *call: generated(*call, choose=best_with_finite),
    ),
    "ban-ignored": explained(
        "Banned ids are chosen like others.",
        "Leave them out of the comparison, or set their scores to -inf.",
        lambda *call: generated(*call, choose=best_of_all),
    ),
    "eos-ignored": explained(
        "Generation goes on behind the EOS, until there are max_new ids.",
        "Stop at the EOS.",
        lambda model, prompt, eos, max_new, banned: generated(model, prompt, None, max_new, banned),
    ),
    "eos-dropped": explained(
        "The EOS that ended the generation is not among the ids.",
        "Return it as the last one, so that whoever reads the ids knows why they end.",
        lambda model, prompt, eos, *rest: [i for i in greedy(model, prompt, eos, *rest) if i != eos],
    ),
    "prompt-returned": explained(
        "The ids of the prompt are returned before the new ones.",
        "Return what was generated.",
        lambda model, prompt, *rest: [*prompt, *greedy(model, prompt, *rest)],
    ),
    "context-frozen": explained(
        "The model is given the prompt at each step, not what it has generated itself.",
        "Append each new id to what the model reads.",
        lambda model, prompt, *rest: greedy(lambda ids: model(prompt), prompt, *rest),
    ),
    "newest-token-only": explained(
        "Once it has read the prompt, the model is given the newest id alone, as if it remembered the rest.",
        "Give it the prompt and all new ids at each step.",
        lambda model, prompt, *rest: greedy(
            lambda ids: model(ids if len(ids) == len(prompt) else ids[-1:]), prompt, *rest
        ),
    ),
    "last-token-only": explained(
        "The model is given the last token alone, so that it has no context.",
        "Give it the prompt and all new ids.",
        lambda model, *rest: greedy(lambda ids: model(ids[-1:]), *rest),
    ),
}

# --- the arguments ---------------------------------------------------------------------------------------------------


def model(rng: Random, *, levels: int = 1000, shift: float = 0.5) -> Table:
    """Return a model with scores in [-4 shift, 4 (1 - shift)), of which there are so many different ones."""

    def score() -> float:
        return round(4.0 * (below(rng, levels) / levels - shift), 3)

    return Table([[score() for _ in range(CLASSES)] for _ in range(ROWS)])


def prompt(rng: Random, length: int) -> list[int]:
    return [1 + below(rng, CLASSES - 1) for _ in range(length)]


def stopping(rng: Random) -> Arguments:
    """Return a call that ends with an EOS, after some ids and before max_new."""
    for _ in range(100):
        call = model(rng), prompt(rng, 2), 1, 8, [0]
        if 3 <= len(greedy(*call)) < 8:
            return call
    raise AssertionError("one call in three stops")


def calls(rng: Random) -> Iterator[Arguments]:
    """Yield calls with BOS = 0 and EOS = 1: ordinary, with ties, with negative scores; then extreme ones."""
    yield stopping(rng)
    yield model(rng), prompt(rng, 3), 1, 6, [0]
    yield stopping(rng)
    yield model(rng, levels=3), prompt(rng, 2), 1, 6, [0]
    yield model(rng, shift=1.25), prompt(rng, 2), 1, 6, [0, 4]
    yield model(rng), prompt(rng, 1), 1, 9, [0, 1]
    yield model(rng, levels=2), [0], 1, 6, []
    yield Table([[-inf, -inf, 2.0, -inf], [-inf, 1.0, -inf, 0.5]]), [2], 1, 5, [0]
    yield model(rng, shift=2_500.0), prompt(rng, 2), 1, 6, [0, 3]
    yield model(rng), prompt(rng, 4), 1, 1, [0]
    yield model(rng), prompt(rng, 2), 1, 40, [0, 1, 2]


FUNCTION = Function(
    "greedy(next_logits, prompt, eos, max_new, banned)",
    "the new ids, each the largest of next_logits(ids) but for banned, lowest at ties; EOS, if chosen, ends them",
    greedy,
    calls,
    WRONG,
)
