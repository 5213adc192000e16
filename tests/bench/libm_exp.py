"""How far this machine's exp is off, which refcalc.exact trusts to 16 ulp, against decimal at 40 digits.

    python tests/bench/libm_exp.py [POINTS]

Half of the points spread over the binades of |x|, with both signs; half lie next to odd multiples of log 2 / 256, where
the table-driven exps of C libraries switch from one entry to the next and their polynomials end.  Exit status 1 if a
point is off by more than 4 ulp, a quarter of the trust.
"""

import platform
import sys
from collections.abc import Iterator
from decimal import Context, Decimal
from math import exp, ldexp, ulp
from random import Random

POINTS, WIDE, ALLOWED = 100_000, Context(prec=40), 4.0
LEAST, MOST = -708.0, 709.0  # the results are normal doubles; below, refcalc.exact's ledger has them absolutely


def binades(u: Random, count: int) -> Iterator[float]:
    """Yield points of either sign in each binade of |x| from 2**-60 to 2**9, as many in each."""
    for i in range(count):
        x = ldexp(1.0 + u.random(), i % 70 - 60)
        yield x if u.random() < 0.5 else -x


def table_ends(u: Random, count: int) -> Iterator[float]:
    """Yield points within a few parts in 10**9 of (n + 1/2) log 2 / 128."""
    for _ in range(count):
        n = int((u.random() - 0.5) * 2.0 * 130_000.0)
        yield (n + 0.5) * 0.0054152123481245727 * (1.0 + (u.random() - 0.5) * 1e-9)


def off_by(x: float) -> float:
    """Return the error of exp(x) in ulp of the truth."""
    truth = WIDE.exp(Decimal(x))
    return float(WIDE.divide(WIDE.subtract(Decimal(exp(x)), truth).copy_abs(), Decimal(ulp(float(truth)))))


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else POINTS
    print(f"Python {platform.python_version()}, {' '.join(platform.libc_ver())}, {platform.machine()}")
    print(f"{'points':>10}  {'worst':>10}  {'at':24}family")
    worst = 0.0
    for name, points in (("binades", binades), ("ends of a table", table_ends)):
        seen = [(off_by(x), x) for x in points(Random(1), count // 2) if LEAST < x < MOST]
        off, x = max(seen)
        print(f"{len(seen):10,}  {off:6.4f} ulp  {x.hex():24}{name}")
        worst = max(worst, off)
    return 1 if worst > ALLOWED else 0


if __name__ == "__main__":
    sys.exit(main())
