"""The second run reads longer windows: the better number is that of more context, not of a better model."""

import tempfile
from pathlib import Path

import refcalc
from examples.deceptions.page import show
from refcalc.evaluation.run import Document

TEXT = "she sells sea shells by the sea shore; the shells she sells are sea shells, I am sure. "
LETTERS = sorted(set(TEXT))
TOKENS = [LETTERS.index(letter) for letter in TEXT]


def score(window: int, folder: str) -> tuple[str, float]:
    """Score the same model in windows of so many letters."""
    model = refcalc.KneserNey.fit(TOKENS, 6, range(len(LETTERS)))
    protocol = refcalc.Protocol(
        vocab_size=len(LETTERS),
        tokenizer="letters",
        corpus="sea shells",
        split="test",
        checkpoint="Kneser-Ney 6",
        window=window,
    )
    path = str(Path(folder) / f"windows-of-{window}.jsonl")
    documents = [Document(k, TOKENS[k : k + 40], TEXT[k : k + 40]) for k in range(0, len(TOKENS), 40)]
    return path, refcalc.evaluate(documents, model, protocol, path).total.mean_nll


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (short, before), (long, after) = score(3, folder), score(12, folder)
        try:
            found = str(refcalc.compare_reports(long, short))
        except ValueError as refusal:
            found = str(refusal)
    show("windows changed", f"better by {before - after:.4f} nats", "the same model twice", found)


if __name__ == "__main__":
    main()
