"""A million results of the exact tier against MPFR: how many were judged, wrong, and left open by the judge.

    python -m tests.peers.million RESULTS [FIRST_SEED]

Half an hour for the million on one core; with glibc, MALLOC_TRIM_THRESHOLD_=500000000 in the environment saves some.
Progress goes to stderr, the outcome to stdout, also when it is interrupted; it is kept in tests/peers/million.txt.
The judge leaves open what is exactly half-way for a perplexity or a number of bits (powers of integers), and what is
half-way but for dust below MPFR's 2**-2**30; the unit tests have those by name.  "refused" are batches that 2**14 bits
did not decide, whose other results are missing.
"""

import platform
import sys
import time
from collections import Counter
from itertools import chain

import gmpy2

from tests.peers import divergence_cases, exact_cases
from tests.peers.mpfr import judged


def main() -> int:
    wanted, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    first, start, results = seed, time.monotonic(), 0
    counts: dict[str, Counter] = {}
    try:
        while results < wanted:
            for case in chain(exact_cases.cases(seed), divergence_cases.cases(seed)):
                verdict = judged(case.result, case.value)
                counts.setdefault(case.function, Counter())[verdict] += 1
                results += 1
                if verdict is not True:
                    print("wrong" if verdict is False else "open", seed, case.function, case.arguments, file=sys.stderr)
            seed += 1
            if not seed % 1000:
                print(f"{results:,} results, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"interrupted at seed {seed}", file=sys.stderr)
    print(f"Python {platform.python_version()}, MPFR {gmpy2.mpfr_version().split()[-1]}, seeds {first} to {seed - 1}")
    print(f"{'function':33}{'right':>12}{'wrong':>8}{'open':>8}")
    for name, found in sorted(counts.items()):
        print(f"{name:33}{found[True]:12,}{found[False]:8,}{found[None]:8,}")
    wrong = sum(found[False] for found in counts.values())
    print(f"{'in all':33}{sum(found[True] for found in counts.values()):12,}{wrong:8,}"
          f"{sum(found[None] for found in counts.values()):8,}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
