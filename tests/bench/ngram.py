"""Time and memory of fitting and scoring n-gram models, beside nltk.lm's fit of the same text.

Run from the root:  python -m tests.bench.ngram [TEXT] [--write]

Without a TEXT it is Python's own manual of the language, as pydoc prints it.  Nine tenths of the text are fitted, the
rest is scored with the history running on.  nltk is given the first part of the text only: its time grows with the
text's length, as do refcalc's.
"""

import argparse
import gc
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import refcalc
from tests.bench import report

ORDERS = (4, 5, 6, 7)
NLTK_ORDERS = (4, 7)
NLTK_CHARACTERS = 200_000


def seconds(function: Callable[[], Any], rounds: int = 3) -> tuple[float, Any]:
    """Return the least processor time of some calls, and what the last one returned."""
    best = float("inf")
    for _ in range(rounds):
        result = None
        gc.collect()
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


def bytes_of(function: Callable[[], Any]) -> tuple[int, int]:
    """Return how many bytes stay allocated after a call, and how many were at its peak."""
    gc.collect()
    tracemalloc.start()
    kept = function()
    size, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return size, peak


def manual() -> str:
    from pydoc_data.topics import topics  # noqa: PLC0415

    return "\n".join(topics[name] for name in sorted(topics))


def models(text: str) -> list[list[str]]:
    cut = len(text) * 9 // 10
    train, rest, vocabulary = text[:cut], text[cut:], sorted(set(text))
    lines = [["model", "order", "bits/char", "n-grams", "bytes each", "peak MB", "fit s", "score us/char"]]
    for cls in (refcalc.KneserNey, refcalc.WittenBell, refcalc.Additive):
        for order in ORDERS if cls is refcalc.KneserNey else (5,):
            fit, model = seconds(lambda c=cls, n=order: c.fit(train, n, vocabulary))
            score, tally = seconds(lambda m=model: m.score(rest, train))
            size, peak = bytes_of(lambda c=cls, n=order: c.fit(train, n, vocabulary))
            numbers = [f"{tally.bits_per_token:.4f}", f"{model.n_grams:,}", f"{size / model.n_grams:.0f}"]
            times = [f"{peak / 1e6:.0f}", f"{fit:.2f}", f"{1e6 * score / len(rest):.1f}"]
            lines.append([cls.__name__, str(order), *numbers, *times])
    return lines


def beside_nltk(text: str) -> list[list[str]]:
    from nltk.lm import KneserNeyInterpolated  # noqa: PLC0415
    from nltk.lm.preprocessing import padded_everygram_pipeline  # noqa: PLC0415

    def theirs(order: int) -> None:
        grams, tokens = padded_everygram_pipeline(order, [list(text)])
        KneserNeyInterpolated(order).fit(grams, tokens)

    lines = [["order", "nltk fit s", "refcalc fit s", "ratio"]]
    for order in NLTK_ORDERS:
        slow, _ = seconds(lambda n=order: theirs(n), rounds=1)
        fast, _ = seconds(lambda n=order: refcalc.KneserNey.fit(text, n, sorted(set(text))))
        lines.append([str(order), f"{slow:.2f}", f"{fast:.3f}", f"{slow / fast:.0f}"])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?")
    parser.add_argument("--write", action="store_true", help="keep the result beside this script")
    options = parser.parse_args()
    text = Path(options.text).read_bytes().decode("utf-8") if options.text else manual()
    name = Path(options.text).name if options.text else "pydoc's topics"
    lines = [report.machine(), f"{name}: {len(text):,} characters, {len(set(text))} different", ""]
    lines += report.table(models(text))
    try:
        rows = beside_nltk(text[:NLTK_CHARACTERS])
        lines += ["", f"The first {NLTK_CHARACTERS:,} characters:", "", *report.table(rows)]
    except ImportError:
        lines += ["", "nltk is not installed"]
    print(result := "\n".join(lines))
    if options.write:
        report.keep(__file__, result)


if __name__ == "__main__":
    main()
