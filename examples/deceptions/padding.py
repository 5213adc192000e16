"""Padding is scored as if it were text: it is easy to guess, so the more of it there is, the better the loss."""

import refcalc
from examples.deceptions.page import show
from examples.four_numbers import MASK, TOKENS, logits_of_a_fair_model


def main() -> None:
    logits = logits_of_a_fair_model(TOKENS, seed=4)
    for sequence, tokens in zip(logits, MASK, strict=True):
        for t, row in enumerate(sequence):
            row[0] += 6.0 * (1 - tokens[min(t + 1, len(tokens) - 1)])  # the model has learned where padding begins
    reported = refcalc.causal_lm_loss(logits, TOKENS)  # the wrong way: no mask
    batch = refcalc.Batch(logits, TOKENS, attention_mask=MASK)
    right = refcalc.causal_lm_loss(logits, TOKENS, attention_mask=MASK)
    show("padding", f"{reported:.4f} nats", f"{right:.4f} nats", refcalc.diagnose(reported, batch))


if __name__ == "__main__":
    main()
