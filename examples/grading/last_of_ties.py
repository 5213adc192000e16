"""Mistake: greedy takes the last of equal scores, for it compares with >=.

The other functions are right.
"""

import math
import random


def token_mean(batches):
    return sum(s for s, n in batches) / sum(n for s, n in batches)


def bits_per_byte(nll_sum, n_bytes):
    return nll_sum / (n_bytes * math.log(2))


def document_report(documents):
    nll_sum = sum(s for s, n, b in documents)
    n_targets = sum(n for s, n, b in documents)
    n_bytes = sum(b for s, n, b in documents)
    mean = nll_sum / n_targets
    return {
        "nats_per_target": mean,
        "perplexity": math.exp(mean),
        "bits_per_byte": bits_per_byte(nll_sum, n_bytes),
    }


def windows(tokens, length):
    """The last target of a window is the first input of the next one."""
    pairs = []
    for start in range(0, len(tokens) - 1, length):
        targets = tokens[start + 1 : start + 1 + length]
        inputs = tokens[start : start + len(targets)]
        pairs.append((inputs, targets))
    return pairs


def bootstrap_range(documents, draws, seed):
    rng = random.Random(seed)
    means = sorted(token_mean([rng.choice(documents) for _ in documents]) for _ in range(draws))
    return means[int(0.025 * (draws - 1))], means[int(0.975 * (draws - 1))]


def greedy(next_logits, prompt, eos, max_new, banned):
    ids = list(prompt)
    new = []
    while len(new) < max_new:
        logits = next_logits(ids)
        best = None
        for i in range(len(logits)):
            if i not in banned and (best is None or logits[i] >= logits[best]):
                best = i
        ids.append(best)
        new.append(best)
        if best == eos:
            break
    return new
