"""Time of 2,000 bootstrap draws of 10,000 documents, beside NumPy's vectorised forms of the same.

NumPy is timed in each form that one would write, with its arrays made beforehand; the best of them is the measure.  The
forms take turns, so that a busy machine is busy for all.  Run from the root:  python -m tests.bench.bootstrap [--write]
"""

import argparse
import sys
import time
from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any

from refcalc import bootstrap
from tests.bench import report

SIZES = (100, 1_000, 10_000)
DRAWS = 2000
ROUNDS = 5


def documents(size: int) -> list[tuple[float, int]]:
    rng = Random(size)
    return [(100.0 * rng.random(), 1 + int(100 * rng.random())) for _ in range(size)]


def numpy_forms(pairs: list[tuple[float, int]]) -> dict[str, Callable[[], Any]]:
    np: Any = import_module("numpy")
    s, n = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    both, size, rng = np.stack([s, n], axis=1), len(pairs), np.random.default_rng(0)

    def chunks(rows: int) -> Callable[[], Any]:
        def draw() -> Any:
            found = []
            for _ in range(DRAWS // rows):
                index = rng.integers(0, size, size=(rows, size), dtype=np.int32)
                found.append(s[index].sum(axis=1) / n[index].sum(axis=1))
            return np.quantile(np.concatenate(found), [0.025, 0.975])

        return draw

    def counts() -> Any:
        found = np.empty((DRAWS, 2))
        for row in found:
            row[:] = np.bincount(rng.integers(0, size, size=size, dtype=np.int32), minlength=size) @ both
        return np.quantile(found[:, 0] / found[:, 1], [0.025, 0.975])

    def multinomial() -> Any:
        found = rng.multinomial(size, np.full(size, 1 / size), size=DRAWS) @ both
        return np.quantile(found[:, 0] / found[:, 1], [0.025, 0.975])

    return {
        "index, all draws at once": chunks(DRAWS),
        "index, 10 draws at once": chunks(10),
        "index, a draw at a time": chunks(1),
        "bincount and matmul": counts,
        "multinomial and matmul": multinomial,
    }


def seconds(forms: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the least processor time of each, over rounds in which they take turns."""
    best = dict.fromkeys(forms, float("inf"))
    for _ in range(rounds):
        for name, form in forms.items():
            start = time.process_time()
            form()
            best[name] = min(best[name], time.process_time() - start)
    return best


def measure(size: int) -> list[list[str]]:
    pairs = documents(size)
    ours = {f"refcalc, {method}": lambda m=method: bootstrap(pairs, draws=DRAWS, method=m) for method in METHODS[size]}
    best = seconds({**ours, **numpy_forms(pairs)}, ROUNDS)
    numpy = min(time for name, time in best.items() if not name.startswith("refcalc"))
    return [[f"{size:,} documents: {name}", f"{time:.3f}", f"{time / numpy:.1f}"] for name, time in best.items()]


METHODS = {100: ("random", "choice"), 1_000: ("random", "choice"), 10_000: ("random",)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the result beside this script")
    options = parser.parse_args()
    lines = [["2,000 draws", "seconds", "times the best of NumPy"]]
    for size in SIZES:
        lines += measure(size)
    text = "\n".join([report.machine(), report.versions(), "", *report.table(lines)])
    print(text)
    if options.write:
        report.keep(__file__, text)


if __name__ == "__main__":
    sys.exit(main())
