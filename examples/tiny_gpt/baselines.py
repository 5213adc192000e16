"""The baselines, frozen on the training text: what a model has to beat before it has earned its complexity.

They score the same targets as the model, in the same windows, EOS included; a compressor has no targets and no EOS, and
codes the text alone.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import refcalc
from examples.tiny_gpt.evaluating import documents, protocol
from examples.tiny_gpt.text import BOS, Corpus
from refcalc.evaluation.protocol import text_digest

ORDER = 6


def fitted(corpus: Corpus) -> dict[str, Any]:
    targets = [token for document in documents(corpus, "train") for token in document.tokens]
    sequence = [token for document in documents(corpus, "train") for token in (BOS, *document.tokens)]
    vocabulary = range(corpus.vocab_size)
    return {
        "uniform": refcalc.UniformBaseline(vocabulary),
        "unigram": refcalc.SmoothedUnigram.fit(targets, vocabulary),
        "Kneser-Ney": refcalc.KneserNey.fit(sequence, ORDER, vocabulary, bos=BOS),
    }


def score(corpus: Corpus, folder: Path) -> None:
    """Write the receipts of each baseline on validation and test."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in fitted(corpus).items():
        for split in ("validation", "test"):
            rules = protocol(corpus, split, text_digest(f"{name} of the training text"), dtype="float64")
            report = refcalc.evaluate(documents(corpus, split), model, rules, str(receipts(folder, name, split)))
            print(f"{name:<12}{split:<12}{report.total.mean_nll:.6f} nats per target")
    for name, bits in of_the_text(corpus, "test"):
        print(f"{name:<24}{bits:.3f} bits per character of the test text")


def receipts(folder: Path, name: str, split: str) -> Path:
    return folder / f"{name.lower()}-{split}.jsonl"


def of_the_text(corpus: Corpus, split: str) -> Iterator[tuple[str, float]]:
    """Bits per character of models that see no tokens: all characters alike, and a compressor."""
    text = "".join(document.text for document in corpus.splits[split])
    known = len({character for part in corpus.splits.values() for document in part for character in document.text})
    yield f"uniform, {known} characters", refcalc.bits_per_token(refcalc.uniform_nll(known))
    yield "gzip -9", refcalc.compressed_bits(text.encode(), "gzip -9") / len(text)
