"""Small models to generate from: functions from ids to logits that depend on all of the ids."""

from collections.abc import Callable
from random import Random

Model = Callable[[list[int]], list[float]]


def table_model(classes: int, seed: int = 0, spread: float = 3.0) -> Model:
    """Return a model whose row is drawn anew for each sequence of ids, and is the same for the same sequence."""

    def next_logits(ids: list[int]) -> list[float]:
        u = Random(f"{seed} {ids}").random
        return [spread * (u() - 0.5) for _ in range(classes)]

    return next_logits
