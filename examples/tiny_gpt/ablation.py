"""Positions switched off, in two ways that answer two questions.

intervention         how far does the trained model lean on them?
paired retraining    what does training under this budget reach without them?
"""

import copy
import json
import shutil
import time
from pathlib import Path

import torch

import refcalc
from examples.tiny_gpt.evaluating import documents, evaluate, protocol
from examples.tiny_gpt.model import CONTEXT, TinyGPT
from examples.tiny_gpt.text import BOS, Corpus
from examples.tiny_gpt.training import load, save, train
from refcalc.evaluation.ablation import Arm, trajectory_digest
from refcalc.evaluation.protocol import file_digest

SPLIT = "validation"
OFF = "positions zeroed"


def ablate(corpus: Corpus, seed_folder: Path, updates: int, seed: int) -> None:
    folder = seed_folder / "ablation"
    shutil.rmtree(folder, ignore_errors=True)  # run anew, not gone on with: each arm says how long it took
    folder.mkdir()
    kinds = {
        "intervention": intervene(corpus, seed_folder / "trained.pt", folder),
        "paired-retraining": retrain(corpus, seed_folder / "initial.pt", folder, updates, seed),
    }
    for kind, arms in kinds.items():
        print(refcalc.compare_reports(*files(folder, kind), kind=kind, arms=arms), end="\n\n")
    mixed = kinds["intervention"][0], kinds["paired-retraining"][1]
    control, treated = files(folder, "intervention")[0], files(folder, "paired-retraining")[1]
    try:
        refcalc.compare_reports(control, treated, kind="intervention", arms=mixed)
    except ValueError as refusal:
        print(f"the two are not mixed: {refusal}")


def intervene(corpus: Corpus, checkpoint: Path, folder: Path) -> tuple[Arm, Arm]:
    """Evaluate the trained model, and a copy of it whose positions are zeroed."""
    model, base = load(corpus, checkpoint), file_digest(str(checkpoint))
    without = copy.deepcopy(model)
    torch.nn.init.zeros_(without.positions.weight)
    places = trajectory_digest(
        [document.id, start]
        for document in documents(corpus, SPLIT)
        for start, _, _ in refcalc.windows(document.tokens, CONTEXT, bos=BOS)
    )
    arms = []
    for name, path, each in zip(("control", OFF), files(folder, "intervention"), (model, without), strict=True):
        started = time.perf_counter()
        report = evaluate(each, corpus, protocol(corpus, SPLIT, f"{base}, {name}"), Path(path))
        seconds = time.perf_counter() - started
        arms.append(Arm(name, "intervention", base, places, 0, report.total.n_targets, *sizes(each), seconds=seconds))
    unchanged = load(corpus, checkpoint).state_dict()
    assert all(torch.equal(weight, unchanged[key]) for key, weight in model.state_dict().items())
    return kept(arms, folder)


def retrain(corpus: Corpus, initial: Path, folder: Path, updates: int, seed: int) -> tuple[Arm, Arm]:
    """Train twice from the same weights over the same windows, once with the positions frozen at zero."""
    base, arms = file_digest(str(initial)), []
    paths = zip(files(folder, "before-retraining"), files(folder, "paired-retraining"), strict=True)
    for name, (started, ended) in zip(("control", OFF), paths, strict=True):
        model = load(corpus, initial)
        if name == OFF:  # frozen, for a table that begins at zero would be learned again
            torch.nn.init.zeros_(model.positions.weight)
            model.positions.weight.requires_grad_(False)
        before = evaluate(model, corpus, protocol(corpus, SPLIT, f"{base}, {name}"), Path(started))
        run = train(model, corpus, updates, seed)
        assert name != OFF or not model.positions.weight.any()
        checkpoint = folder / f"retrained-{name.replace(' ', '-')}.pt"
        save(model, corpus, checkpoint)
        after = evaluate(model, corpus, protocol(corpus, SPLIT, file_digest(str(checkpoint))), Path(ended))
        print(f"{name}: {before.total.mean_nll:.6f} nats per target before {updates} updates", end=", ")
        print(f"{after.total.mean_nll:.6f} after")
        counts = (run.updates, run.targets, *sizes(model))
        arms.append(Arm(name, "paired-retraining", base, run.trajectory, *counts, seconds=run.seconds))
    return kept(arms, folder)


def files(folder: Path, kind: str) -> list[str]:
    return [str(folder / f"{kind}-{name}.jsonl") for name in ("control", "zeroed")]


def sizes(model: TinyGPT) -> tuple[int, int]:
    """All parameters, and those that training may change."""
    weights = list(model.parameters())
    return sum(w.numel() for w in weights), sum(w.numel() for w in weights if w.requires_grad)


def kept(arms: list[Arm], folder: Path) -> tuple[Arm, Arm]:
    """Write the arms beside their receipts, for `refcalc compare --arm`."""
    for arm, name in zip(arms, ("control", "zeroed"), strict=True):
        (folder / f"{arm.kind}-{name}.json").write_text(json.dumps(arm.to_dict(), indent=1) + "\n", "utf-8")
    return arms[0], arms[1]
