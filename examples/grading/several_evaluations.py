"""Four mistakes: means are averaged, nats called bits, windows lose their tails, and greedy takes the last of ties.

They are in token_mean, bits_per_byte, windows and greedy.  The other functions are right.
"""

import math
import random


def token_mean(batches):
    losses = []
    for nll_sum, n_targets in batches:
        if n_targets:
            losses.append(nll_sum / n_targets)
    return sum(losses) / len(losses)


def bits_per_byte(nll_sum, n_bytes):
    return nll_sum / n_bytes


def document_report(documents):
    nll_sum = n_targets = n_bytes = 0
    for s, n, b in documents:
        nll_sum += s
        n_targets += n
        n_bytes += b
    mean = nll_sum / n_targets
    return {
        "nats_per_target": mean,
        "perplexity": math.exp(mean),
        "bits_per_byte": nll_sum / n_bytes / math.log(2),
    }


def windows(tokens, length):
    found = []
    for k in range((len(tokens) - 1) // length):
        start = k * length
        found.append([tokens[start : start + length], tokens[start + 1 : start + length + 1]])
    return found


def bootstrap_range(documents, draws, seed):
    rng = random.Random(seed)
    means = []
    for _ in range(draws):
        nll_sum = n_targets = 0
        for _ in documents:
            s, n = rng.choice(documents)
            nll_sum += s
            n_targets += n
        means.append(nll_sum / n_targets)
    means.sort()
    return [means[int(0.025 * (len(means) - 1))], means[int(0.975 * (len(means) - 1))]]


def greedy(next_logits, prompt, eos, max_new, banned):
    generated = []
    for _ in range(max_new):
        logits = next_logits(prompt + generated)
        ranked = sorted((score, i) for i, score in enumerate(logits) if i not in banned)
        generated.append(ranked[-1][1])
        if generated[-1] == eos:
            break
    return generated
