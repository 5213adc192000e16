"""Mistake: windows cuts the text into chunks and shifts each alone, so that its first token is never a target.

The other functions are right: they are those of evaluation.py, and the grader asks for them here.
"""

from evaluation import bits_per_byte, bootstrap_range, document_report, greedy, token_mean  # noqa: F401


def windows(tokens, length):
    pairs = []
    for start in range(0, len(tokens), length):
        chunk = tokens[start : start + length]
        if len(chunk) > 1:
            pairs.append((chunk[:-1], chunk[1:]))
    return pairs
