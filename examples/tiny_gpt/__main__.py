"""A small character transformer, from its training to a number that anybody can compute again.

    python -m examples.tiny_gpt all                     all of the following, on the standard library's documentation
    python -m examples.tiny_gpt train                   three seeds, half a minute each on two cores
    python -m examples.tiny_gpt evaluate                a receipt a document, before and after training; computed twice
    python -m examples.tiny_gpt baseline                uniform, unigram and Kneser-Ney on the same targets
    python -m examples.tiny_gpt ablate                  positions switched off: an intervention, and a paired retraining
    python -m examples.tiny_gpt generate                greedy receipts, failures kept
    python -m examples.tiny_gpt report                  an audit; everything again from the receipts; two pictures

Needs torch.  --text FILE takes another text, whose last tenth is the test; --folder says where the run is kept.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.tiny_gpt import ablation, attention, baselines, evaluating, generation, summary, text, training
from refcalc.evaluation.protocol import file_digest

COMMANDS = ("train", "evaluate", "baseline", "ablate", "generate", "report")
SEEDS = (1337, 42, 7)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    corpus = text.load(options.text)
    sizes = ", ".join(f"{split} {len(part)} documents" for split, part in corpus.splits.items())
    print(f"{corpus.name}: {sizes}; V = {corpus.vocab_size}")
    folder, seeds = options.folder, SEEDS[: options.seeds]
    for command in COMMANDS if options.command == "all" else [options.command]:
        print(f"\n--- {command} ---")
        if command == "baseline":
            baselines.score(corpus, folder / "baselines")
        elif command == "report":
            summary.report(corpus, folder, seeds)
        elif command == "ablate":
            ablation.ablate(corpus, folder / f"seed-{seeds[0]}", options.retrain, seeds[0])
        elif command == "generate":
            model = training.load(corpus, folder / f"seed-{seeds[0]}" / "trained.pt")
            generation.generate(model, corpus, folder / f"seed-{seeds[0]}")
        else:
            for seed in seeds:
                run = train if command == "train" else evaluate
                run(corpus, folder / f"seed-{seed}", seed, options)


def train(corpus: text.Corpus, folder: Path, seed: int, options: argparse.Namespace) -> None:
    if (folder / "trained.pt").exists():  # its receipts would be left without the model that they are of
        raise ValueError(f"{folder}: a model was trained here; go on with the other commands, or take another --folder")
    model = training.new_model(corpus, seed)
    training.save(model, corpus, folder / "initial.pt")
    run = training.train(model, corpus, options.updates, seed)
    training.save(model, corpus, folder / "trained.pt")
    (folder / "training.json").write_text(json.dumps(run._asdict(), indent=1) + "\n", "utf-8")
    print(f"seed {seed}: {run.updates} updates, {run.targets:,} targets, {run.seconds:.0f} s, windows {run.trajectory}")


def evaluate(corpus: text.Corpus, folder: Path, seed: int, options: argparse.Namespace) -> None:
    for state in ("initial", "trained"):
        checkpoint = folder / f"{state}.pt"
        model, digest = training.load(corpus, checkpoint), file_digest(str(checkpoint))
        for split in ("validation", "test"):
            rules = evaluating.protocol(corpus, split, digest, looks=options.looks)
            report = evaluating.evaluate(model, corpus, rules, folder / f"{state}-{split}.jsonl")
            print(f"seed {seed} {state:<8}{split:<11}{report.total.mean_nll:>10.6f} nats per target", end="; ")
            print(evaluating.check(model, corpus, report))
    print(f"seed {seed} {attention.check(model, corpus)}")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m examples.tiny_gpt", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=(*COMMANDS, "all"))
    parser.add_argument("--text", type=Path, help="a text file (default: the standard library's documentation)")
    parser.add_argument("--folder", type=Path, default=Path("tiny_gpt_run"), help="of the run (default: %(default)s)")
    parser.add_argument("--seeds", type=int, choices=(1, 2, 3), default=3, help="how many (default: %(default)s)")
    parser.add_argument("--updates", type=positive, default=600, help="of training (default: %(default)s)")
    parser.add_argument("--retrain", type=positive, default=150, help="updates of either arm (default: %(default)s)")
    parser.add_argument("--looks", type=int, default=0, help="how often this test split was looked at before")
    return parser.parse_args(arguments)


def positive(written: str) -> int:
    """A whole number of at least 1."""
    number = int(written)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {written}")
    return number


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        print(f"tiny_gpt: {error.filename}: {error.strerror} (were the commands before this one run?)", file=sys.stderr)
        sys.exit(2)
    except ValueError as refusal:  # a text, a checkpoint or receipts of something else
        print(f"tiny_gpt: {refusal}", file=sys.stderr)
        sys.exit(2)
