"""Mistake: token_mean averages the means of the batches.

The other functions are right: they are those of evaluation.py, and the grader asks for them here.
"""

from evaluation import bits_per_byte, bootstrap_range, document_report, greedy, windows  # noqa: F401


def token_mean(batches):
    means = [s / n for s, n in batches if n > 0]
    return sum(means) / len(means)
