"""How long the exact tier takes beside the plain formula, in one run, interleaved, the least of several rounds.

    python tests/bench/exact_speed.py [LOGITS.f32 V]

Without a file, rows of random numbers with the spread of a language model's logits stand in for a real model's.
"""

import math
import platform
import sys
import time
from array import array
from collections.abc import Callable
from importlib.util import find_spec
from random import Random

sys.path.insert(0, ".")
from refcalc import exact

ROUNDS = 20


def plain_nll(xs: list[float], y: int) -> float:
    m = max(xs)
    return m + math.log(math.fsum([math.exp(x - m) for x in xs])) - xs[y]


def plain_log_softmax(xs: list[float]) -> list[float]:
    m = max(xs)
    log_sum = m + math.log(math.fsum([math.exp(x - m) for x in xs]))
    return [x - log_sum for x in xs]


def random_rows(count: int, size: int) -> list[list[float]]:
    u = Random(1).random
    return [[4.0 * (u() + u() + u() + u() - 2.0) for _ in range(size)] for _ in range(count)]


def read_rows(path: str, size: int) -> list[list[float]]:
    numbers = array("f")
    with open(path, "rb") as file:
        numbers.frombytes(file.read())
    return [list(numbers[i : i + size]) for i in range(0, len(numbers), size)]


def to_bits(rows: list[list[float]], kept: int) -> list[list[float]]:
    """Return the rows rounded to so many significant bits: 8 as bfloat16 has them, 11 as float16."""

    def cut(x: float) -> float:
        m, e = math.frexp(x)
        return math.ldexp(round(math.ldexp(m, kept)), e - kept)

    return [[cut(x) for x in row] for row in rows]


def milliseconds(f: Callable[..., object], *arguments: object, repeat: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        f(*arguments)
    return (time.perf_counter() - start) / repeat * 1e3


def compare(title: str, rows: list[list[float]], ours: Callable, plain: Callable, *arguments: object) -> None:
    """Print the mean over the rows of the least time of each side."""
    ours(rows[0], *arguments)
    repeat = 1 + 200 // len(rows[0])
    best = [[math.inf, math.inf] for _ in rows]
    for _ in range(ROUNDS):
        for row, least in zip(rows, best, strict=True):
            for side, f in enumerate((ours, plain)):
                least[side] = min(least[side], milliseconds(f, row, *arguments, repeat=repeat))
    mine, theirs = (math.fsum(least[side] for least in best) / len(best) for side in (0, 1))
    print(f"{title:42}{mine:12.4f}{theirs:12.4f}{mine / theirs:9.2f}")


def main() -> None:
    rows = read_rows(sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else random_rows(8, 49_152)
    size = len(rows[0])
    version, libc = platform.python_version(), " ".join(platform.libc_ver())
    print(f"Python {version}, {platform.machine()}, {libc}: ms a row, least of {ROUNDS}, mean over the rows")
    print(f"{'':42}{'exact':>12}{'plain':>12}{'ratio':>9}")
    compare(f"token_nll, V = {size:,}", rows[:8], exact.token_nll, plain_nll, 1)
    compare("token_nll, 8 significant bits (bfloat16)", to_bits(rows[:4], 8), exact.token_nll, plain_nll, 1)
    compare("token_nll, 11 significant bits (float16)", to_bits(rows[:4], 11), exact.token_nll, plain_nll, 1)
    compare("log_softmax, whole row", rows[:3], exact.log_softmax, plain_log_softmax)
    for size, count in ((10, 100), (100, 50), (1000, 20)):
        compare(f"token_nll, V = {size:,}", random_rows(count, size), exact.token_nll, plain_nll, 1)
    if find_spec("mpmath"):
        compare_with_mpmath(rows[:3])


def compare_with_mpmath(rows: list[list[float]]) -> None:
    """Print how often the time of exact.token_nll goes into that of mpmath at 120 bits, taking turns."""
    import mpmath  # noqa: PLC0415 (not needed for the rest)

    mpmath.mp.prec = 120

    def mpmath_nll(xs: list[float], y: int) -> object:
        return mpmath.log(mpmath.fsum([mpmath.exp(mpmath.mpf(x)) for x in xs])) - xs[y]

    ratios = []
    for row in rows:
        ours = min(milliseconds(exact.token_nll, row, 1) for _ in range(5))
        ratios.append(milliseconds(mpmath_nll, row, 1) / ours)
    shown = ", ".join(f"{ratio:.0f}" for ratio in ratios)
    backend = f"mpmath {mpmath.__version__} ({mpmath.libmp.BACKEND})"
    print(f"{backend} at 120 bits takes {shown} times as long as exact.token_nll")


if __name__ == "__main__":
    main()
