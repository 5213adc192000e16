"""The baseline has counted the test text as well, and what nobody had seen is no surprise to it any more."""

import refcalc
from examples.deceptions.page import show

TRAIN, TEST, VOCABULARY = ["a", "a", "b", "EOS"], ["c", "EOS"], ["a", "b", "c", "EOS"]


def main() -> None:
    counted = [TRAIN, TEST]  # the wrong way
    cheating = refcalc.SmoothedUnigram.fit([token for text in counted for token in text], VOCABULARY)
    frozen = refcalc.SmoothedUnigram.fit(TRAIN, VOCABULARY)
    reported, right = cheating.score(TEST).mean_nll, frozen.score(TEST).mean_nll
    texts = {"counted": counted, "test": [TEST]}
    audit = refcalc.audit(
        {
            split: [{"id": f"{split} {k}", "text": " ".join(text)} for k, text in enumerate(part)]
            for split, part in texts.items()
        }
    )
    found = "\n".join(f"{check.name}: {check.words}" for check in audit.failed)
    show("fitting the test", f"{reported:.4f} nats", f"{right:.4f} nats, counts frozen before the test", found)


if __name__ == "__main__":
    main()
