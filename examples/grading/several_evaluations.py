"""Four mistakes: means are averaged, nats called bits, windows lose their tails, and greedy takes the last of ties.

They are in token_mean, bits_per_byte, windows and greedy.

The other functions are right: they are those of evaluation.py, and the grader asks for them here.
"""

from evaluation import bootstrap_range, document_report  # noqa: F401


def token_mean(batches):
    losses = []
    for nll_sum, n_targets in batches:
        if n_targets:
            losses.append(nll_sum / n_targets)
    return sum(losses) / len(losses)


def bits_per_byte(nll_sum, n_bytes):
    return nll_sum / n_bytes


def windows(tokens, length):
    found = []
    for k in range((len(tokens) - 1) // length):
        start = k * length
        found.append([tokens[start : start + length], tokens[start + 1 : start + length + 1]])
    return found


def greedy(next_logits, prompt, eos, max_new, banned):
    generated = []
    for _ in range(max_new):
        logits = next_logits(prompt + generated)
        ranked = sorted((score, i) for i, score in enumerate(logits) if i not in banned)
        generated.append(ranked[-1][1])
        if generated[-1] == eos:
            break
    return generated
