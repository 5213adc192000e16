"""Mistake: bits_per_byte divides nats by bytes, and forgets log 2.

The other functions are right: they are those of evaluation.py, and the grader asks for them here.
"""

from evaluation import bootstrap_range, document_report, greedy, token_mean, windows  # noqa: F401


def bits_per_byte(nll_sum, n_bytes):
    return nll_sum / n_bytes
