"""Mistake: greedy sets the scores of banned ids to 0, which is more than any negative score.

The other functions are right: they are those of evaluation.py, and the grader asks for them here.
"""

from evaluation import bits_per_byte, bootstrap_range, document_report, token_mean, windows  # noqa: F401


def greedy(next_logits, prompt, eos, max_new, banned):
    ids = list(prompt)
    new = []
    while len(new) < max_new:
        logits = next_logits(ids)
        for i in banned:
            logits[i] = 0.0
        best = logits.index(max(logits))
        ids.append(best)
        new.append(best)
        if best == eos:
            break
    return new
