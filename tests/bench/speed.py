"""Time of refcalc beside the textbook formula and other libraries, on plain Python lists, and of starting it.

A list goes in, a number or a list comes out: what a library needs to take the list in and to give one back is part of
its time.  Run from the root:  python -m tests.bench.speed [--write]
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from random import Random
from timeit import Timer
from typing import Any

import refcalc
from refcalc.softmax import textbook_log_softmax
from tests.bench import report
from tests.bench.families import normal
from tests.bench.textbook import textbook_nll

SIZES = (4, 10, 100, 1_000, 50_257, 151_936)
ROUNDS = 15
ROUND_SECONDS = 0.02  # of one candidate in one round, at least one call
STARTS = 25

Nll = Callable[[list[float], int], float]
LogSoftmax = Callable[[list[float]], list[float]]


# --- the candidates --------------------------------------------------------------------------------------------------


def exact_tier() -> tuple[Nll, LogSoftmax]:
    exact = import_module("refcalc.exact")
    return exact.token_nll, exact.log_softmax


def scipy() -> tuple[Nll, LogSoftmax]:
    special = import_module("scipy.special")
    return (
        lambda row, y: float(-special.log_softmax(row)[y]),
        lambda row: special.log_softmax(row).tolist(),
    )


def torch() -> tuple[Nll, LogSoftmax]:
    module: Any = import_module("torch")
    module.set_num_threads(1)
    tensor, double, cross_entropy = module.tensor, module.float64, module.nn.functional.cross_entropy
    return (
        lambda row, y: cross_entropy(tensor(row, dtype=double), tensor(y)).item(),
        lambda row: module.log_softmax(tensor(row, dtype=double), 0).tolist(),
    )


def jax() -> tuple[Nll, LogSoftmax]:
    module: Any = import_module("jax")
    module.config.update("jax_enable_x64", True)
    array: Any = import_module("numpy").array  # faster on a list than jax.numpy.array
    compiled = module.jit(module.nn.log_softmax)
    one = module.jit(lambda x, y: -module.nn.log_softmax(x)[y])
    return lambda row, y: float(one(array(row), y)), lambda row: compiled(array(row)).tolist()


CANDIDATES: dict[str, Callable[[], tuple[Nll, LogSoftmax]]] = {
    "refcalc": lambda: (refcalc.token_nll, refcalc.log_softmax),
    "refcalc.exact": exact_tier,
    "textbook": lambda: (textbook_nll, textbook_log_softmax),
    "scipy": scipy,
    "torch": torch,
    "jax": jax,
}


# --- measuring -------------------------------------------------------------------------------------------------------

Times = dict[int, dict[str, list[float]]]  # V -> candidate -> seconds of one call, a round each


def timed(calls: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Return the seconds of one call of each, round by round; in a round every candidate has its turn."""
    timers = {name: Timer(call) for name, call in calls.items()}
    repeats = {}
    for name, timer in timers.items():
        timer.timeit(2)  # warm-up, and compilation
        repeats[name] = max(1, int(ROUND_SECONDS / timer.timeit(1)))
    found: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(ROUNDS):
        for name, timer in timers.items():
            found[name].append(timer.timeit(repeats[name]) / repeats[name])
    return found


def started(arguments: dict[str, list[str]]) -> dict[str, list[float]]:
    """Return the seconds that Python takes with each of the arguments, from start to end."""
    found: dict[str, list[float]] = {name: [] for name in arguments}
    for i in range(STARTS + 1):
        for name, argument in arguments.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *argument], check=True, stdout=subprocess.DEVNULL)
            if i:  # the first start writes and reads what is cached from then on
                found[name].append(time.perf_counter() - start)
    return found


def available() -> tuple[dict[str, tuple[Nll, LogSoftmax]], list[str]]:
    found, missing = {}, []
    for name, make in CANDIDATES.items():
        try:
            found[name] = make()
        except ImportError:
            missing.append(name)
    return found, missing


def drawn_row(size: int) -> tuple[list[float], int]:
    rng = Random(size)
    return [3.0 * normal(rng) for _ in range(size)], int(rng.random() * size)


# --- showing ---------------------------------------------------------------------------------------------------------


def per_element(times: Times) -> list[str]:
    def cell(size: int, seconds: list[float]) -> str:
        least, middle = (f"{t / size * 1e9:,.0f}" for t in (min(seconds), statistics.median(seconds)))
        return f"{least} ({middle})"

    head = ["V", *next(iter(times.values()))]
    return report.table([head, *[[f"{v:,}", *[cell(v, s) for s in row.values()]] for v, row in times.items()]])


def ratios(times: Times) -> list[str]:
    names = [name for name in next(iter(times.values())) if name != "refcalc"]
    lines = [["V", *[f"{name} / refcalc" for name in names]]]
    for v, row in times.items():
        lines.append([f"{v:,}", *[f"{min(row[name]) / min(row['refcalc']):.2f}" for name in names]])
    return report.table(lines)


def verdicts(nll: Times, starts: dict[str, list[float]]) -> list[str]:
    """Return the targets, one a line, each with the figure that reached or missed it."""
    lines = []

    def line(reached: bool, text: str) -> None:
        lines.append(f"{'reached' if reached else 'MISSED '}  {text}")

    if "torch" in nll[10]:
        for v, least in (10, 5.0), (100, 1.0), (50_257, 1 / 2.5):
            ratio = min(nll[v]["torch"]) / min(nll[v]["refcalc"])
            line(ratio >= least, f"V = {v:,}: torch cross_entropy / token_nll at least {least:g}, is {ratio:.2f}")
    bare = min(starts["bare python"])
    added, whole = (min(starts["import refcalc"]) - bare) * 1e3, min(starts["refcalc --help"]) * 1e3
    line(added <= 30.0, f"import refcalc adds at most 30 ms, adds {added:.1f}")
    line(whole <= 150.0, f"python -m refcalc --help takes at most 150 ms, takes {whole:.0f}")
    lines.append(f"         (bare python takes {bare * 1e3:.0f} ms; the least of {STARTS} starts each)")
    return lines


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--write", action="store_true", help="keep the text in tests/bench/speed.txt")
    chosen = options.parse_args()
    load = os.getloadavg()[0]
    candidates, missing = available()
    nll: Times = {}
    logs: Times = {}
    for size in SIZES:
        row, y = drawn_row(size)
        nll[size] = timed({name: partial(f, row, y) for name, (f, _) in candidates.items()})
        logs[size] = timed({name: partial(g, row) for name, (_, g) in candidates.items()})
    starts = started({
        "bare python": ["-c", "pass"],
        "import refcalc": ["-c", "import refcalc"],
        "refcalc --help": ["-m", "refcalc", "--help"],
    })
    text = "\n".join([
        report.machine(),
        report.versions(),
        f"Load average before: {load:.1f}; where it is not near 0, only the ratios mean something.",
        f"One thread, float64, {ROUNDS} interleaved rounds, seeded rows of deviation 3.",
        "Lists in, a number or a list out: taking the list in and giving one back is part of the time.",
        *[f"Not measured, because it can not be imported: {name}" for name in missing],
        "",
        "The nll of one target: ns per element, the least of all rounds (their median).",
        "torch: cross_entropy; scipy and jax (compiled): log_softmax; textbook: max, exp, fsum, log.",
        "",
        *per_element(nll),
        "",
        *ratios(nll),
        "",
        "log_softmax of the row: ns per element, the least of all rounds (their median).",
        "",
        *per_element(logs),
        "",
        *ratios(logs),
        "",
        *verdicts(nll, starts),
    ])
    print(text)
    if chosen.write:
        report.keep(__file__, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
