"""The model is tested on what it was trained on, under other ids: it has learned these texts by heart."""

import refcalc
from examples.deceptions.page import show

TRAIN = [
    {"id": "train-1", "text": "to be, or not to be: that is the question"},
    {"id": "train-2", "text": "all the world's a stage, and all the men and women merely players"},
]
TEST = [
    {"id": "test-1", "text": "all the world's a stage,\nand all the men and women merely players"},
    {"id": "test-2", "text": "the lady doth protest too much, methinks"},
]


def main() -> None:
    letters = sorted({letter for document in TRAIN + TEST for letter in " ".join(document["text"].split())})
    model = refcalc.KneserNey.fit(" ".join(document["text"] for document in TRAIN), 4, letters)
    learned, unseen = (model.score(" ".join(document["text"].split())) for document in TEST)
    audit = refcalc.audit({"train": TRAIN, "test": TEST})
    found = "\n".join(f"{check.name}: {check.words}" for check in audit.failed)
    show(
        "train as test",
        f"{(learned + unseen).mean_nll:.4f} nats",
        f"{unseen.mean_nll:.4f} nats on what it never saw",
        found,
    )


if __name__ == "__main__":
    main()
