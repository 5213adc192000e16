"""Training: batches of windows drawn from a seed, and the weights before and after."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch.nn import functional

import refcalc
from examples.tiny_gpt.model import CONTEXT, TinyGPT
from examples.tiny_gpt.text import BOS, EOS, Corpus
from refcalc.evaluation.ablation import trajectory_digest

BATCH = 32
RATE = 3e-3
IGNORED = -100


class Run(NamedTuple):
    """What a training run did."""

    updates: int
    targets: int
    seconds: float
    trajectory: str  # digest of the numbers of the windows, in the order of their use


def new_model(corpus: Corpus, seed: int) -> TinyGPT:
    torch.manual_seed(seed)
    return TinyGPT(corpus.vocab_size)


def save(model: TinyGPT, corpus: Corpus, path: Path) -> None:
    """Keep the weights, and the characters that their rows stand for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"characters": corpus.characters, "weights": model.state_dict()}, path)


def load(corpus: Corpus, path: Path) -> TinyGPT:
    kept = torch.load(path, weights_only=True)
    if kept["characters"] != corpus.characters:
        raise ValueError(f"{path}: the model must know the characters of {corpus.name}, got one of another text")
    model = TinyGPT(corpus.vocab_size)
    model.load_state_dict(kept["weights"])
    return model


def train(model: TinyGPT, corpus: Corpus, updates: int, seed: int) -> Run:
    """Train in place, on the mean over the targets of each batch."""
    windows = training_windows(corpus)
    batches = list(draws(len(windows), updates, seed))
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=RATE)
    warm_up = max(0.1, 2 / (updates + 1))  # of the run, one update at least
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=updates + 1, pct_start=warm_up)
    targets_seen, started = 0, time.perf_counter()
    model.train()
    for batch in batches:
        inputs, _ = refcalc.pad([windows[k][0] for k in batch], EOS)
        targets, scored = refcalc.pad([windows[k][1] for k in batch], IGNORED)
        logits = model(torch.tensor(inputs))
        loss = functional.cross_entropy(logits.flatten(0, 1), torch.tensor(targets).flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        targets_seen += sum(map(sum, scored))
    return Run(updates, targets_seen, time.perf_counter() - started, trajectory_digest(batches))


def training_windows(corpus: Corpus) -> list[tuple[list[int], list[int]]]:
    """Inputs and targets of each window of each training document, every target once."""
    return [
        (inputs, targets)
        for document in corpus.splits["train"]
        for _, inputs, targets in refcalc.windows([*corpus.encode(document.text), EOS], CONTEXT, bos=BOS)
    ]


def draws(n_windows: int, updates: int, seed: int) -> Iterator[list[int]]:
    """The numbers of the windows in each batch."""
    uniform = random.Random(seed).random
    for _ in range(updates):
        yield [int(uniform() * n_windows) for _ in range(BATCH)]
