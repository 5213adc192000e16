"""The loss of a vocabulary that lies in parts: on several devices, or in chunks that never meet in memory.

    python -m examples.merge_logsumexp

The normaliser merges, because it is a sum inside a logarithm:

    logsumexp(z)  =  logsumexp([logsumexp(part) for part in parts]).

A token mean does not merge: the sums of the parts are added, and divided once by all targets.
"""

from random import Random

import refcalc

VOCABULARY, PARTS = 50_257, 8
TARGET = 31_415


def split(row: list[float], parts: int) -> list[list[float]]:
    """Return the row in parts of nearly equal length, the last one shorter."""
    size = -(-len(row) // parts)
    return [row[start : start + size] for start in range(0, len(row), size)]


def vocabulary_in_parts() -> None:
    rng = Random(1)
    row = [20.0 * rng.random() for _ in range(VOCABULARY)]
    row[40_000:] = [float("-inf")] * (VOCABULARY - 40_000)  # classes that are masked out: whole parts without any mass
    parts = split(row, PARTS)
    lse_of_parts = [refcalc.logsumexp(part) for part in parts]
    merged, whole = refcalc.logsumexp(lse_of_parts), refcalc.logsumexp(row)

    print(f"V = {VOCABULARY} in {PARTS} parts")
    for i, (part, lse) in enumerate(zip(parts, lse_of_parts, strict=True)):
        print(f"  part {i}: {len(part):>5} classes   logsumexp {lse:>20.15f}")
    print(f"  logsumexp of these eight     {merged:>20.15f}")
    print(f"  logsumexp of the whole row   {whole:>20.15f}")
    print(f"  {refcalc.compare(merged, whole, classes=PARTS, scale=whole)}")
    print(f"  nll of token {TARGET}: merged {merged - row[TARGET]:.12f}, whole {refcalc.token_nll(row, TARGET):.12f}")


def a_confident_hit() -> None:
    """What the merge costs: the finished logsumexp has no room for the digits of a small nll."""
    parts = [[1000.0, 955.0], [960.0, 950.0]]  # token 0 leads by 40
    merged = refcalc.logsumexp([refcalc.logsumexp(part) for part in parts])
    print("\na confident hit")
    print(f"  merged logsumexp minus the target's logit   {merged - 1000.0!r}")
    print(f"  nll of the whole row                        {refcalc.token_nll(parts[0] + parts[1], 0)!r}")


def targets_in_chunks() -> None:
    rng = Random(2)
    rows = [[4.0 * rng.random() for _ in range(50)] for _ in range(10)]
    targets = [int(50 * rng.random()) for _ in rows]
    chunks = [slice(0, 4), slice(4, 8), slice(8, 10)]
    sums = [refcalc.cross_entropy(rows[c], targets[c], reduction="sum") for c in chunks]
    means = [refcalc.cross_entropy(rows[c], targets[c]) for c in chunks]
    print("\nten targets in chunks of 4, 4 and 2, nats per target")
    print(f"  sums added, divided by all targets   {refcalc.Tally(refcalc.ExactSum(sums), len(targets)).mean_nll:.12f}")
    print(f"  all at once                          {refcalc.cross_entropy(rows, targets):.12f}")
    print(f"  mean of the chunks' means (wrong)    {float(refcalc.ExactSum(means)) / len(chunks):.12f}")
    print(f"  sum of the chunks' means (wrong)     {float(refcalc.ExactSum(means)):.12f}")


if __name__ == "__main__":
    vocabulary_in_parts()
    a_confident_hit()
    targets_in_chunks()
