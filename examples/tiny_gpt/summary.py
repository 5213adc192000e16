"""What the receipts of all seeds say together, recomputed from the files alone."""

import json
from collections.abc import Sequence
from pathlib import Path

import refcalc
from examples.tiny_gpt import baselines
from examples.tiny_gpt.evaluating import documents
from examples.tiny_gpt.text import Corpus
from refcalc.drawing import error_bars, ladder
from refcalc.evaluation.audit import Audit
from refcalc.evaluation.log import Receipts
from refcalc.evaluation.protocol import file_digest, text_digest
from refcalc.resampling.documents import Bootstrap

DIFFERENCE = 0.01  # nats per target: the improvement that somebody might claim


def report(corpus: Corpus, folder: Path, seeds: Sequence[int]) -> None:
    print(audit_of(corpus, folder, seeds[0]), end="\n\n")
    reports = [report_of(folder, seed) for seed in seeds]
    print(reports[0], end="\n\n")
    for seed, each in zip(seeds, reports, strict=True):
        verify(folder / f"seed-{seed}", each)
    resample(folder / f"seed-{seeds[0]}" / "trained-test.jsonl")
    over_seeds(reports)
    draw(corpus, folder, reports)


def audit_of(corpus: Corpus, folder: Path, seed: int) -> Audit:
    """Look for what makes a number worthless, before it is read."""
    runs = folder / f"seed-{seed}"
    return refcalc.audit(
        {split: [document._asdict() for document in documents(corpus, split)] for split in corpus.splits},
        [runs / f"trained-{split}.jsonl" for split in ("validation", "test")],
        uniform=baselines.receipts(folder / "baselines", "uniform", "test"),
        corpus=[corpus.digest],
        tokenizer=text_digest(corpus.characters),
        checkpoint=file_digest(str(runs / "trained.pt")),
    )


def report_of(folder: Path, seed: int) -> refcalc.Report:
    """The report of a trained model on the test split, beside the baselines and its validation split."""
    runs, others = folder / f"seed-{seed}", folder / "baselines"
    return refcalc.Report.of(
        str(runs / "trained-test.jsonl"),
        baselines={
            "untrained": str(runs / "initial-test.jsonl"),
            "unigram": str(baselines.receipts(others, "unigram", "test")),
            "Kneser-Ney": str(baselines.receipts(others, "Kneser-Ney", "test")),
        },
        splits={"validation": str(runs / "trained-validation.jsonl")},
    )


def verify(folder: Path, found: refcalc.Report) -> None:
    """Publish the report as JSON, and let every number of it be computed again from the receipts."""
    published = folder / "report.json"
    published.write_text(json.dumps(found.to_dict(), indent=1) + "\n", "utf-8")
    result = refcalc.verify([folder / "trained-test.jsonl", published])
    assert result.agrees, str(result)
    print(f"{published}: {len(result.checks)} numbers agree with the receipts")
    print(f"  python -m refcalc verify {folder / 'trained-test.jsonl'} {published}\n")


def resample(path: Path) -> None:
    """How far the mean would move with other documents, drawn one by one or as groups of those that hang together."""
    receipts = [receipt for _, receipt in Receipts(str(path))]
    pairs = [(float(receipt.nll_sum), receipt.n_targets) for receipt in receipts]
    groups = [receipt.group for receipt in receipts]
    show("documents", refcalc.bootstrap(pairs))
    if len({*groups}) > 1:
        show("groups", refcalc.bootstrap(pairs, groups=groups))
    else:
        print("bootstrap of groups: there is one, which says nothing of others")
    print()


def show(what: str, found: Bootstrap) -> None:
    interval = f"{found.observed:.4f} nats per target, 95 % from {found.low:.4f} to {found.high:.4f}"
    print(f"bootstrap of {found.resampled} {what}: {interval}", *found.warnings, sep="\n  ")


def over_seeds(reports: Sequence[refcalc.Report]) -> None:
    """The noise between runs that differ in nothing but the seed, and what it leaves of a small difference."""
    if len(reports) < 2:
        print("one seed says nothing of the noise between runs\n")
        return
    noise = refcalc.seed_noise([each.total.mean_nll for each in reports])
    print(f"{len(reports)} seeds: {noise.mean:.4f} +- {noise.standard_deviation:.4f} nats per target")
    print(f"a difference of {DIFFERENCE}: {refcalc.materiality(DIFFERENCE, noise)}\n")


def draw(corpus: Corpus, folder: Path, reports: Sequence[refcalc.Report]) -> None:
    """Print the ladder, the worst on top, and draw it; a model that loses to a baseline stands where it stands."""
    first = reports[0]
    steps = [
        *baselines.of_the_text(corpus, "test"),
        (f"uniform, V = {corpus.vocab_size}", first.baselines["uniform"].bits_per_char),
        *((name, first.baselines[name].bits_per_char) for name in ("untrained", "unigram", "Kneser-Ney")),
        ("tiny GPT", first.total.bits_per_char),
    ]
    steps.sort(key=lambda step: -step[1])
    for name, bits in steps:
        print(f"{name:<24}{bits:>8.3f} bits per character")
    write(folder / "ladder.svg", ladder(steps, title=f"Test split of {corpus.name}", unit="bits per character"))
    if len(reports) > 1:
        noise = refcalc.seed_noise([each.total.bits_per_char for each in reports])
        row = ("tiny GPT", noise.mean, noise.low, noise.high)
        bars = f"95 % t interval of {len(reports)} seeds"
        svg = error_bars([row], title="Noise of the seeds", unit="bits per character", bars=bars)
        write(folder / "seeds.svg", svg)


def write(path: Path, svg: str) -> None:
    path.write_text(svg, "utf-8")
    print(f"drawn: {path}")
