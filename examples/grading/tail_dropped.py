"""Mistake: windows leaves out the last window where it is not full.

The other functions are right: they are those of evaluation.py, and the grader asks for them here.
"""

from evaluation import bits_per_byte, bootstrap_range, document_report, greedy, token_mean  # noqa: F401


def windows(tokens, length):
    pairs = []
    for start in range(0, len(tokens) - length, length):
        pairs.append((tokens[start : start + length], tokens[start + 1 : start + 1 + length]))
    return pairs
