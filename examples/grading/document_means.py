"""Mistake: document_report averages the means of the documents, so that a short one weighs as much as a long one.

The other functions are right: they are those of evaluation.py, and the grader asks for them here.
"""

import math

from evaluation import bits_per_byte, bootstrap_range, greedy, token_mean, windows  # noqa: F401


def document_report(documents):
    mean = sum(s / n for s, n, b in documents) / len(documents)
    return {
        "nats_per_target": mean,
        "perplexity": math.exp(mean),
        "bits_per_byte": bits_per_byte(sum(s for s, n, b in documents), sum(b for s, n, b in documents)),
    }
