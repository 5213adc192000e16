"""How long a diagnosis takes, in times of computing the right number once.

Run from the root:  python -m tests.bench.diagnosis [--write]

Logits of 8 x 64 x 1,000; the least processor time of three runs each.  Status 1 if a diagnosis takes more than 20 times
the right number.
"""

import argparse
import sys
from collections.abc import Callable
from random import Random
from time import process_time
from typing import Any

import refcalc
from tests.bench import report

B, T, V = 8, 64, 1000
LIMIT = 20.0


def least(run: Callable[[], Any], times: int = 3) -> float:
    """Return the least processor time of some runs, in seconds."""
    spent = []
    for _ in range(times):
        start = process_time()
        run()
        spent.append(process_time() - start)
    return min(spent)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the result beside this script")
    options = parser.parse_args()
    draw = Random(1)
    logits = [[[12.0 * draw.random() - 6.0 for _ in range(V)] for _ in range(T)] for _ in range(B)]
    tokens = [[int(V * draw.random()) for _ in range(T)] for _ in range(B)]
    mask = [[int(t < T - 3 * b) for t in range(T)] for b in range(B)]
    everything: dict[str, Any] = {
        "attention_mask": mask,
        "groups": [[0, 1, 2], [3, 4], [5, 6, 7]],
        "prompt_lengths": list(range(B)),
        "document_ids": [[int(t > 30) for t in range(T)]] * B,
        "n_bytes": [60] * B,
        "n_chars": [50] * B,
        "window": 16,
        "stride": 8,
        "eos_id": 0,
        "bos_id": 1,
        "pad_id": 2,
        "unk_id": 3,
    }
    rows, targets = refcalc.shift(logits, tokens)

    def plain() -> float:
        return float(refcalc.causal_lm_loss(logits, tokens))

    def smoothed() -> float:
        return float(refcalc.cross_entropy(rows, targets, label_smoothing=0.1))

    lines = [["evidence", "quantity", "right once", "diagnosis", "ratio"]]
    worst = 0.0
    for name, keywords, quantity, right in (
        ("logits and tokens", {}, "mean_nll", plain),
        ("masks, groups, windows", everything, "mean_nll", plain),
        ("masks, groups, windows", everything, "bits_per_byte", plain),
        ("label smoothing", {"label_smoothing": 0.1}, "mean_nll", smoothed),
    ):
        batch = refcalc.Batch(logits, tokens, **keywords)
        once = least(right)
        whole = least(lambda batch=batch, quantity=quantity: refcalc.diagnose(5.0, batch, quantity=quantity))
        worst = max(worst, whole / once)
        lines.append([name, quantity, f"{once * 1e3:.0f} ms", f"{whole * 1e3:.0f} ms", f"{whole / once:.1f}"])
    print(result := "\n".join([report.machine(), f"logits of {B} x {T} x {V:,}", "", *report.table(lines)]))
    if options.write:
        report.keep(__file__, result)
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
