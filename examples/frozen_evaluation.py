"""An evaluation that anybody can do again: a frozen protocol, a receipt for each document, and a report from these.

    python -m examples.frozen_evaluation

A character model (Kneser-Ney, order 4) is fitted to docstrings of this package and scored on others.  What counts as
success is written down first; it is part of the protocol, whose digest stands in every file of receipts.  A run that
was killed would go on where it stopped: here the second run finds all receipts there, and asks the model nothing.
"""

import tempfile
from inspect import cleandoc
from pathlib import Path

import refcalc
from refcalc.evaluation.criteria import read_criteria
from refcalc.evaluation.protocol import text_digest
from refcalc.evaluation.run import Document

CRITERIA = """
["it learns"]
metric = "mean_nll"
below = "uniform"
by = 1.0

["it needs more than the frequency of characters"]
metric = "bits_per_byte"
below = "unigram"
by = 0.5

["it generalises"]
metric = "mean_nll"
within = 0.5
of = "validation"
"""

BOS, EOS, UNK = 0, 1, 2
SPLITS = {
    "train": ["cross_entropy", "token_nll", "windows", "shift", "mask_padding", "perplexity", "Tally", "softmax"],
    "validation": ["log_softmax", "mask_prompt", "bits_per_byte"],
    "test": ["logsumexp", "shift_labels", "bits_per_char", "ExactSum"],
}
TEXTS = {split: {name: cleandoc(getattr(refcalc, name).__doc__) for name in names} for split, names in SPLITS.items()}
CHARACTERS = sorted(set("".join(TEXTS["train"].values())))
IDS = {character: i for i, character in enumerate(CHARACTERS, start=3)}
VOCABULARY = range(3 + len(CHARACTERS))


def encode(text: str) -> list[int]:
    """Return the only encoding there is: an id for each character, and the end."""
    return [*(IDS.get(character, UNK) for character in text), EOS]


def documents(split: str) -> list[Document]:
    return [Document(name, encode(text), text) for name, text in TEXTS[split].items()]


def protocol(split: str, checkpoint: str) -> refcalc.Protocol:
    """Return how a model is scored on a split; of the three models' only the checkpoint differs."""
    return refcalc.Protocol(
        vocab_size=len(VOCABULARY),
        tokenizer=text_digest("".join(CHARACTERS)),
        corpus=text_digest("\f".join(TEXTS[split].values())),
        split=split,
        checkpoint=checkpoint,
        window=256,
        stride=128,
        bos="first",
        bos_id=BOS,
        eos_id=EOS,
        eos_scored=True,
        unk_id=UNK,
        dtype="float64",
        criteria=read_criteria(CRITERIA),
    )


def main() -> None:
    # With BOS named, both models forget what came before it and never predict it.
    sequences = [token for text in TEXTS["train"].values() for token in (BOS, *encode(text))]
    kneser_ney = refcalc.KneserNey.fit(sequences, 4, VOCABULARY, bos=BOS)
    unigram = refcalc.SmoothedUnigram.fit([token for token in sequences if token != BOS], VOCABULARY)

    with tempfile.TemporaryDirectory() as folder:
        ours, baseline, validation = (str(Path(folder) / name) for name in ("test", "test-unigram", "validation"))
        refcalc.evaluate(documents("validation"), kneser_ney, protocol("validation", "kneser-ney-4"), validation)
        refcalc.evaluate(documents("test"), unigram, protocol("test", "add-one unigram"), baseline)
        refcalc.evaluate(documents("test"), kneser_ney, protocol("test", "kneser-ney-4"), ours)

        asked: list[int] = []  # nothing: every document has its receipt
        refcalc.evaluate(documents("test"), asked.append, protocol("test", "kneser-ney-4"), ours)
        print(f"windows scored by a second run: {len(asked)}\n\nthe receipt of one document:")
        print(Path(ours).read_text(encoding="utf-8").splitlines()[2], end="\n\n")
        print(refcalc.Report.of(ours, baselines={"unigram": baseline}, splits={"validation": validation}, worst=2))


if __name__ == "__main__":
    main()
