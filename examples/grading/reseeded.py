"""Mistake: bootstrap_range makes its generator inside the loop, so that all draws are the same.

The other functions are right: they are those of evaluation.py, and the grader asks for them here.
"""

import random

from evaluation import bits_per_byte, document_report, greedy, token_mean, windows  # noqa: F401


def bootstrap_range(documents, draws, seed):
    means = []
    for _ in range(draws):
        rng = random.Random(seed)
        means.append(token_mean([rng.choice(documents) for _ in documents]))
    means.sort()
    return means[int(0.025 * (draws - 1))], means[int(0.975 * (draws - 1))]
