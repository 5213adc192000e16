"""Write tests/exact/golden.json: inputs and correctly rounded results, every one of them proved by MPFR first.

    python -m tests.peers.make_golden > tests/exact/golden.json

The results are those of refcalc.exact as it stands; one that MPFR does not confirm stops the script, so that the file
holds true values whatever the package computes later.  Inputs are drawn with random.random() alone.  Numbers are hex
floats; a record is [function, arguments, result].
"""

import json
import sys
from typing import Any

from tests.peers.exact_cases import cases
from tests.peers.mpfr import judged

SEEDS = range(5_000_000, 5_000_090)
PER_FUNCTION = 40
LONGEST = 600  # characters of a record


def hexed(value: Any) -> Any:
    """Return value with every float as text: "0x1.8p+0", "inf"."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, (list, tuple)):
        return [hexed(v) for v in value]
    if isinstance(value, dict):
        return {key: hexed(v) for key, v in value.items()}
    return value


def main() -> None:
    records: dict[str, list[str]] = {}
    for seed in SEEDS:
        for case in cases(seed):
            if judged(case.result, case.value) is not True:
                sys.exit(f"make_golden: MPFR does not confirm {case[:3]} of seed {seed}")
            text = json.dumps([case.function, hexed(case.arguments), case.result.hex()], separators=(",", ":"))
            kept = records.setdefault(case.function, [])
            if len(kept) < PER_FUNCTION and len(text) <= LONGEST:
                kept.append(text)
    lines = [line for _, kept in sorted(records.items()) for line in kept]
    print("[\n" + ",\n".join(lines) + "\n]")


if __name__ == "__main__":
    main()
