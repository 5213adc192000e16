"""Mistake: document_report averages the perplexities of the documents.

The other functions are right: they are those of evaluation.py, and the grader asks for them here.
"""

import math

from evaluation import bits_per_byte, bootstrap_range, greedy, token_mean, windows  # noqa: F401


def document_report(documents):
    nll_sum = sum(s for s, n, b in documents)
    return {
        "nats_per_target": nll_sum / sum(n for s, n, b in documents),
        "perplexity": sum(math.exp(s / n) for s, n, b in documents) / len(documents),
        "bits_per_byte": bits_per_byte(nll_sum, sum(b for s, n, b in documents)),
    }
