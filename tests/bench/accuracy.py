"""The worst error of every float function, in ulp, on more than 100,000 adversarial rows, beside other libraries.

Run from the root:  python -m tests.bench.accuracy [--judge mpfr] [--share 0.01] [--alone] [--write]

Exit status 1 if a result breaks the bound that its docstring states.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import groupby
from math import log
from typing import Any

import refcalc
from tests.bench import report
from tests.bench.families import FAMILIES, Case, drawn
from tests.bench.judges import JUDGES, Judge, ulps
from tests.bench.textbook import textbook_nll

BOUNDS = {"token_nll": 5.0, "log_softmax": 5.0, "softmax": 5.0, "entropy": 13.0, "logsumexp": 4.0}
BATCH = 200_000  # logits handed to another library at once
SAMPLE = 8  # classes of a row that are judged, beside the target and the largest


# --- refcalc's functions on one row ----------------------------------------------------------------------------------


def errors(row: list[float], y: int, judge: Judge) -> dict[str, float]:
    """Return the error of each function in ulp; of vectors, the worst of SAMPLE classes, the target and the largest."""
    places = {y, row.index(max(row)), *range(0, len(row), -(-len(row) // SAMPLE))}
    logs, p = refcalc.log_softmax(row), refcalc.softmax(row)
    return {
        "token_nll": ulps(refcalc.token_nll(row, y), judge.nll(y)),
        "log_softmax": max(ulps(-logs[i], judge.nll(i)) for i in places),
        "softmax": max(ulps(p[i], judge.probability(i)) for i in places),
        "entropy": ulps(refcalc.entropy(row), judge.entropy()),
        "logsumexp": ulps(refcalc.logsumexp(row), judge.logsumexp(), scale=max(1.0, abs(max(row)), log(len(row)))),
    }


# --- the nll of other people, of many rows of one length -------------------------------------------------------------


Batch = Callable[[list[list[float]], list[int]], list[float]]


def textbook(rows: list[list[float]], targets: list[int]) -> list[float]:
    return [textbook_nll(row, y) for row, y in zip(rows, targets, strict=True)]


def with_numpy(rows: list[list[float]], targets: list[int]) -> Any:
    np: Any = import_module("numpy")
    x = np.array(rows)
    return (np.logaddexp.reduce(x, axis=-1) - x[np.arange(len(x)), targets]).tolist()


def with_scipy(rows: list[list[float]], targets: list[int]) -> Any:
    np: Any = import_module("numpy")
    special: Any = import_module("scipy.special")
    return (-special.log_softmax(rows, axis=-1)[np.arange(len(rows)), targets]).tolist()


def with_torch(rows: list[list[float]], targets: list[int]) -> Any:
    torch: Any = import_module("torch")
    x, y = torch.tensor(rows, dtype=torch.float64), torch.tensor(targets)
    return torch.nn.functional.cross_entropy(x, y, reduction="none").tolist()


def with_jax(rows: list[list[float]], targets: list[int]) -> Any:
    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    x = jax.numpy.array(rows)
    return (-jax.nn.log_softmax(x, axis=-1)[jax.numpy.arange(len(x)), jax.numpy.array(targets)]).tolist()


OTHERS: dict[str, tuple[str, Batch]] = {
    "textbook": ("math", textbook),
    "numpy logaddexp": ("numpy", with_numpy),
    "scipy log_softmax": ("scipy", with_scipy),
    "torch cross_entropy": ("torch", with_torch),
    "jax log_softmax": ("jax", with_jax),
}


def installed() -> dict[str, Batch]:
    found = {}
    for name, (module, function) in OTHERS.items():
        try:
            import_module(module)
        except ImportError:
            continue
        found[name] = function
    return found


# --- one family ------------------------------------------------------------------------------------------------------


def measured(cases: list[Case], judge_of: type[Judge], others: dict[str, Batch]) -> dict[str, list[float]]:
    """Return for every function the errors of the rows, in ulp."""
    found: dict[str, list[float]] = {name: [] for name in (*BOUNDS, *others)}
    for rows, targets in batches(cases):
        judges = [judge_of(row) for row in rows]
        for row, y, judge in zip(rows, targets, judges, strict=True):
            for name, error in errors(row, y, judge).items():
                found[name].append(error)
        truths = [judge.nll(y) for judge, y in zip(judges, targets, strict=True)]
        for name, function in others.items():
            found[name] += map(ulps, function(rows, targets), truths)
    return found


def batches(cases: list[Case]) -> Iterator[tuple[list[list[float]], list[int]]]:
    """Yield rows of one length, with their targets: few where they are long."""
    for length, group in groupby(sorted(cases, key=lambda case: len(case[0])), key=lambda case: len(case[0])):
        same = list(group)
        step = max(1, BATCH // length)
        for i in range(0, len(same), step):
            rows, targets = zip(*same[i : i + step], strict=True)
            yield list(rows), list(targets)


def shown(error: float) -> str:
    return f"{error:.2f}" if error < 100.0 else f"{error:.1e}"


def table(names: list[str], found: dict[str, dict[str, list[float]]], cell: Callable[[list[float]], str]) -> list[str]:
    head = ["family", "rows", *names]
    body = [
        [family, f"{len(columns['token_nll']):,}", *[cell(columns[name]) for name in names]]
        for family, columns in found.items()
    ]
    return report.table([head, *body])


def compared(found: dict[str, dict[str, list[float]]], others: list[str]) -> list[str]:
    if not others:
        return []
    return [
        "The nll of the target by others, in float64: worst error in ulp of the true value.",
        "From 4.5e+15 on no digit is left: 0.0 was returned.",
        "",
        *table(["token_nll", *others], found, worst),
        "",
    ]


def worst(errors: list[float]) -> str:
    return shown(max(errors))


def worst_and_share(errors: list[float]) -> str:
    return f"{worst(errors)} ({sum(error > 1.0 for error in errors) / len(errors):.1%})"


def broken(found: dict[str, dict[str, list[float]]]) -> list[str]:
    """Return a line for every function and family whose bound does not hold."""
    return [
        f"{family}: {name} is off by {max(columns[name]):.3f} ulp, its bound is {bound:g}"
        for family, columns in found.items()
        for name, bound in BOUNDS.items()
        if not max(columns[name]) <= bound
    ]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--judge", choices=JUDGES, default="exact")
    options.add_argument("--share", type=float, default=1.0, help="of the rows of every family")
    options.add_argument("--alone", action="store_true", help="leave the other libraries out")
    options.add_argument("--write", action="store_true", help="keep the text in tests/bench/accuracy.txt")
    chosen = options.parse_args()
    others, start, found = {} if chosen.alone else installed(), time.perf_counter(), {}
    for family in FAMILIES:
        found[family] = measured(list(drawn(family, chosen.share)), JUDGES[chosen.judge], others)
        figures = ", ".join(f"{name} {worst(found[family][name])}" for name in BOUNDS)
        print(f"{time.perf_counter() - start:6.1f} s  {family}: {figures}", file=sys.stderr)
    rows = sum(len(columns["token_nll"]) for columns in found.values())
    bounds = ", ".join(f"{name} {bound:g}" for name, bound in BOUNDS.items())
    text = "\n".join([
        report.machine(),
        report.versions(),
        f"{rows:,} rows drawn by tests/bench/families.py; the true values by judge `{chosen.judge}` of judges.py.",
        "",
        "Worst error in ulp of the true value, and the share of rows off by more than 1 ulp.",
        f"Of log_softmax and softmax the worst of {SAMPLE} classes, the target and the largest.",
        "logsumexp in ulp of max(1, |m|, log V), m being the largest logit.",
        "",
        *table(list(BOUNDS), found, worst_and_share),
        "",
        *compared(found, list(others)),
        *(broken(found) or [f"No result breaks its bound: {bounds}."]),
    ])
    print(text)
    if chosen.write:
        report.keep(__file__, text)
    return 1 if broken(found) else 0


if __name__ == "__main__":
    sys.exit(main())
