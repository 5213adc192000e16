"""The catalogue of mistakes: what people really do wrong on the way to a loss, each a small working wrong computation.

A loss is five steps; `pipeline` runs them, and a mistake replaces one.  `score`, `align`, `select`, `reduce` and
`express` hold the mistakes of each step, `elsewhere` those in other computations: n-grams, decoding, resampling.
"""

__all__ = ["MISTAKES", "NO_COMPUTATION", "Catalogue"]

from refcalc.mistakes import align, kind
from refcalc.mistakes.elsewhere import decoding, ngrams, numbers, resampling
from refcalc.mistakes.express import aggregates, denominators, units
from refcalc.mistakes.reduce import accumulators, batches, counts
from refcalc.mistakes.score import axes, normaliser, precision, smoothing
from refcalc.mistakes.select import masks, tokens, windows

NO_COMPUTATION = {
    "window-recipe-unstated": "a model has another perplexity for each window and stride; what lacks is a sentence",
    "bos-first-window-only": "with and without a BOS a model gives other logits: its own answer to another input",
    "wrong-start-token": "the model's own answer to another input",
    "visible-token-mlm-ppl": "the model's own answer to another input: the target was among what it had read",
    "split-encode-slice": "two tokenizations of the same text; needs the tokenizer",
}


class Catalogue(dict[str, kind.Mistake]):
    """Mistakes by name; other names of the same arithmetic find them too.

    >>> MISTAKES["chunk-means-added"].name
    'sum-of-means'
    >>> MISTAKES["sum-of-meens"]
    Traceback (most recent call last):
    KeyError: "no mistake is called 'sum-of-meens'; did you mean sum-of-means?"
    """

    def __init__(self, kinds: list[kind.Mistake]) -> None:
        super().__init__({mistake.name: mistake for mistake in kinds})
        self.aliases = {alias: mistake.name for mistake in kinds for alias in mistake.aliases}

    def __missing__(self, name: str) -> kind.Mistake:
        if name in self.aliases:
            return self[self.aliases[name]]
        from difflib import get_close_matches  # noqa: PLC0415 (only where a name is misspelt)

        close = get_close_matches(str(name), [*self, *self.aliases], 1)
        raise KeyError(f"no mistake is called {name!r}" + (f"; did you mean {close[0]}?" if close else ""))


MISTAKES = Catalogue(
    kind.kinds_of(
        *(normaliser, axes, precision, smoothing),
        *(align, masks, tokens, windows),
        *(batches, counts, accumulators, units, aggregates, denominators),
        *(ngrams, decoding, resampling, numbers),
    )
)
