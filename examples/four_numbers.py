"""Four numbers from one batch: labels shifted or not, padding masked or not.  All look like losses; one is right.

    python -m examples.four_numbers

Row t of the logits has read tokens 0..t and predicts token t + 1, and a place filled up with padding is no target.
Forgetting either gives a number that nothing marks as wrong: no nan, no crash, only another loss.
"""

from random import Random

import refcalc

VOCABULARY = 8
PADDING = 0
TOKENS, MASK = refcalc.pad([[3, 1, 4, 1, 5, 2, 6], [2, 7, 1], [6, 2, 6, 4, 3]], PADDING)


def logits_of_a_fair_model(tokens: list[list[int]], seed: int) -> list[list[list[float]]]:
    """Return [B][T][V] logits: noise, with the token that comes next, and a little the present one, raised."""
    rng = Random(seed)
    batch = []
    for sequence in tokens:
        rows = [[2.0 * rng.random() for _ in range(VOCABULARY)] for _ in sequence]
        for t, row in enumerate(rows):
            row[sequence[t]] += 1.0
            if t + 1 < len(sequence):
                row[sequence[t + 1]] += 2.0
        batch.append(rows)
    return batch


def main() -> None:
    logits = logits_of_a_fair_model(TOKENS, seed=4)
    in_place = refcalc.mask_padding(TOKENS, MASK)  # not shifted: row t against token t
    numbers = {
        "shifted, masked": refcalc.causal_lm_loss(logits, TOKENS, attention_mask=MASK),
        "shifted, padding scored": refcalc.causal_lm_loss(logits, TOKENS),
        "not shifted, masked": refcalc.cross_entropy(logits, in_place),
        "not shifted, padding scored": refcalc.cross_entropy(logits, TOKENS),
    }
    places, tokens, sequences = sum(map(len, TOKENS)), sum(map(sum, MASK)), len(TOKENS)
    targets = [tokens - sequences, places - sequences, tokens, places]  # shifted, a sequence's first token is none

    print(f"{'':<28}{'targets':>8}{'nats/target':>14}{'perplexity':>14}{'bits/token':>14}")
    for (name, nll), n in zip(numbers.items(), targets, strict=True):
        mark = "  <- the loss" if name == "shifted, masked" else ""
        units = f"{refcalc.perplexity(nll):>14.6f}{refcalc.bits_per_token(nll):>14.6f}"
        print(f"{name:<28}{n:>8}{nll:>14.6f}{units}{mark}")
    print(f"{'a model that knows nothing':<28}{'':>8}{refcalc.uniform_nll(VOCABULARY):>14.6f}{VOCABULARY:>14.6f}")


if __name__ == "__main__":
    main()
