"""The loss of a language model by hand, from one row of scores to the number on a chart, graded at the end.

    python -m examples.loss_lab

The functions are those of examples/grading/loss.py: plain Python, nothing but math.  Each step shows one place where a
number can go wrong without anything being said: when the logarithm is taken, which token a row is scored against, what
is done with padding, and in which unit the result is read.
"""

import sys
from pathlib import Path

import refcalc
from examples.four_numbers import MASK, TOKENS, VOCABULARY, logits_of_a_fair_model
from examples.grading import loss

DEEP = [0.0, -40.0, -800.0]  # exp(-800) is less than the smallest double


def step(number: int, title: str) -> None:
    print(f"\n{number}. {title}")


def when_to_take_the_logarithm() -> None:
    step(1, "when the logarithm is taken")
    naive, stable = loss.log_softmax_naive(DEEP), loss.log_softmax(DEEP)
    exact = refcalc.exact.log_softmax(DEEP)
    print(f"   {'score':>8}{'softmax, then log':>20}{'log-softmax':>14}{'to the last bit':>25}")
    for score, first, second, true in zip(DEEP, naive, stable, exact, strict=True):
        print(f"   {score:>8}{first:>20}{second:>14}{true:>25}")
    print("   a probability that underflows has no logarithm; one that was never formed keeps it")
    means = [refcalc.masked_mean([-x for x in logs], [1] * len(logs)) for logs in (naive, stable)]
    print(f"   the mean of these three as losses: {means[0]}, and {means[1]}")


def from_a_position_to_perplexity(rows: list[list[float]], tokens: list[int]) -> None:
    step(2, "from one position to the sentence to perplexity")
    for t, target in enumerate(tokens[1:]):
        print(f"   row {t} predicts token {target}: {loss.token_loss(rows[t], target):.6f} nats")
    mean = loss.shifted_loss(rows, tokens)
    print(f"   mean {mean:.6f} nats, perplexity {loss.perplexity(mean):.6f}")


def a_model_that_knows_nothing() -> None:
    step(3, "the scale: a model that knows nothing hesitates between all V tokens")
    mean = loss.sequence_loss([[0.0] * VOCABULARY] * 3, [0, 3, 5])
    print(f"   V = {VOCABULARY}: mean {mean:.6f} nats, perplexity {loss.perplexity(mean):.6f}")


def four_numbers(rows: list[list[float]], tokens: list[int], mask: list[int]) -> None:
    step(4, "shifted or not, masked or not: four numbers, one of them is the loss")
    everything = [1] * len(tokens)
    for shifted in (True, False):
        scored, targets, real = (rows[:-1], tokens[1:], mask[1:]) if shifted else (rows, tokens, mask)
        masked = loss.masked_loss(scored, targets, real)
        unmasked = loss.masked_loss(scored, targets, everything[: len(targets)])
        print(f"   {'shifted' if shifted else 'not shifted':<12} masked {masked:.6f}   padding scored {unmasked:.6f}")
    right = loss.masked_loss(rows[:-1], tokens[1:], mask[1:])
    halfway = right * sum(mask[1:]) / len(mask[1:])  # the wrong way
    print(f"   padding left out of the sum and not of the count: {halfway:.6f}, too good as well")


def bits(rows: list[list[float]], tokens: list[int]) -> None:
    step(5, "the same number in bits")
    mean = loss.shifted_loss(rows, tokens)
    in_bits = loss.bits_per_token(mean)
    print(f"   {mean:.6f} nats = {in_bits:.6f} bits")
    print(f"   exp(nats) = {loss.perplexity(mean):.6f} = 2 ** bits = {2**in_bits:.6f}")


def main() -> int:
    rows, tokens, mask = logits_of_a_fair_model(TOKENS, seed=4)[2], TOKENS[2], MASK[2]
    text = sum(mask)
    when_to_take_the_logarithm()
    from_a_position_to_perplexity(rows[:text], tokens[:text])
    a_model_that_knows_nothing()
    four_numbers(rows, tokens, mask)
    bits(rows[:text], tokens[:text])
    step(6, "the verdict on these functions")
    verdict = refcalc.grade(str(Path(loss.__file__)), seed=4)
    print(verdict)
    return 0 if verdict.right else 1


if __name__ == "__main__":
    sys.exit(main())
