"""Mistake: bootstrap_range draws tokens, as if those of one document were independent.

The other functions are right: they are those of evaluation.py, and the grader asks for them here.
"""

import random

from evaluation import bits_per_byte, document_report, greedy, token_mean, windows  # noqa: F401


def bootstrap_range(documents, draws, seed):
    rng = random.Random(seed)
    losses = [s / n for s, n in documents for _ in range(n)]
    means = sorted(sum(rng.choice(losses) for _ in losses) / len(losses) for _ in range(draws))
    return means[int(0.025 * (draws - 1))], means[int(0.975 * (draws - 1))]
