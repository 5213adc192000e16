"""Find the wrong reduction in a gradient-accumulation loop, by the loss that it logs.

    python -m examples.accumulate_gradients

Needs torch.  Three micro-batches of sentences of different lengths make one step.  The loop divides each one's mean
loss by the number of micro-batches, as trainers have done (huggingface/transformers#34242): a token in a short
micro-batch weighs more than one in a long one, and the gradient is not that of the whole batch.  The loop runs without
a complaint; the loss that it logs has a name.
"""

import sys

import torch
from torch import nn
from torch.nn import functional

import refcalc

VOCABULARY, WIDTH, PAD, IGNORED = 17, 8, 0, -100
LENGTHS = [[12, 11], [3, 2], [7, 4]]  # of the sentences in each micro-batch
MICRO_BATCHES = [[0, 1], [2, 3], [4, 5]]


class Model(nn.Module):
    """A bigram model: the row at t depends on token t only."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.read = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.read(3.0 * self.embed(tokens))
        return logits


def loss_of(model: Model, tokens: torch.Tensor, labels: torch.Tensor, reduction: str) -> torch.Tensor:
    logits = model(tokens)[:, :-1].flatten(0, 1)
    return functional.cross_entropy(logits, labels[:, 1:].flatten(), ignore_index=IGNORED, reduction=reduction)


def step(model: Model, tokens: torch.Tensor, labels: torch.Tensor, *, right: bool) -> tuple[float, torch.Tensor]:
    """Return the loss that the loop logs and the gradient that it accumulates, with each micro-batch reduced so."""
    model.zero_grad()
    targets = int((labels[:, 1:] != IGNORED).sum())
    logged = 0.0
    for rows in MICRO_BATCHES:
        if right:
            loss = loss_of(model, tokens[rows], labels[rows], "sum") / targets
        else:
            loss = loss_of(model, tokens[rows], labels[rows], "mean") / len(MICRO_BATCHES)
        loss.backward()
        logged += loss.item()
    assert model.read.weight.grad is not None
    return logged, model.read.weight.grad.clone()


def main() -> int:
    torch.manual_seed(3)
    model = Model()
    sentences = [torch.randint(1, VOCABULARY, (n,)).tolist() for lengths in LENGTHS for n in lengths]
    padded, mask = refcalc.pad(sentences, PAD)
    tokens = torch.tensor(padded)
    labels = tokens.masked_fill(torch.tensor(mask) == 0, IGNORED)
    with torch.no_grad():
        logits = model(tokens)
    batch = refcalc.Batch(logits, tokens, attention_mask=mask, groups=MICRO_BATCHES)

    found = {}
    for right in (False, True):
        logged, gradient = step(model, tokens, labels, right=right)
        found[right] = refcalc.diagnose(logged, batch, dtype="float32"), gradient
        print(f"{'sums over all targets' if right else 'means over micro-batches'}: logged {logged:.6f}")
        print(f"{found[right][0]}\n")

    whole = loss_of(model, tokens, labels, "mean")
    model.zero_grad()
    whole.backward()
    assert model.read.weight.grad is not None
    for right, (_, gradient) in found.items():
        off = float((gradient - model.read.weight.grad).abs().max() / model.read.weight.grad.abs().max())
        print(
            f"{'right' if right else 'wrong'} gradient against that of the whole batch: off by {off:.1e} of its largest"
        )
    named = [candidate.mistakes for candidate in found[False][0].candidates]
    return 0 if named == [("mean-of-means",)] and found[True][0].agrees else 1


if __name__ == "__main__":
    sys.exit(main())
