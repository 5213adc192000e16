"""Rows are scored against the token that they have just read: an easy question, and not the one that was asked."""

import refcalc
from examples.deceptions.page import show

TEXT = [3, 1, 4, 1, 5, 2, 6, 5, 3, 5]
COPYING = [[4.0 * (c == token) + 0.01 * t * c for c in range(8)] for t, token in enumerate(TEXT)]


def main() -> None:
    reported = refcalc.cross_entropy(COPYING, TEXT)  # the wrong way: not shifted
    right = refcalc.causal_lm_loss(COPYING, TEXT)
    uniform = refcalc.uniform_nll(8)
    found = refcalc.diagnose(reported, refcalc.Batch(COPYING, TEXT))
    show("shift", f"{reported:.4f} nats", f"{right:.4f} nats; a uniform guess gives {uniform:.4f}", found)


if __name__ == "__main__":
    main()
