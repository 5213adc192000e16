"""Mistake: greedy stops at the EOS, and does not return it.

The other functions are right: they are those of evaluation.py, and the grader asks for them here.
"""

from evaluation import bits_per_byte, bootstrap_range, document_report, token_mean, windows  # noqa: F401


def greedy(next_logits, prompt, eos, max_new, banned):
    ids = list(prompt)
    new = []
    while len(new) < max_new:
        logits = next_logits(ids)
        allowed = [i for i in range(len(logits)) if i not in banned]
        best = max(allowed, key=lambda i: logits[i])
        if best == eos:
            break
        ids.append(best)
        new.append(best)
    return new
