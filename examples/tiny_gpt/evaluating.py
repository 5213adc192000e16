"""Evaluation under a frozen protocol, every output of the model computed twice."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.nn import functional

import refcalc
from examples.tiny_gpt.model import CONTEXT, TinyGPT
from examples.tiny_gpt.text import BOS, EOS, UNK, Corpus
from refcalc.evaluation.criteria import read_criteria
from refcalc.evaluation.protocol import text_digest
from refcalc.evaluation.run import Document

CRITERIA = Path(__file__).with_name("criteria.toml")


def protocol(
    corpus: Corpus, split: str, checkpoint: str, *, dtype: str = "float32", looks: int = 0
) -> refcalc.Protocol:
    """The same for every model but for its checkpoint and dtype."""
    return refcalc.Protocol(
        vocab_size=corpus.vocab_size,
        tokenizer=text_digest(corpus.characters),
        corpus=corpus.digest,
        split=split,
        checkpoint=checkpoint,
        window=CONTEXT,
        bos="first",
        bos_id=BOS,
        eos_id=EOS,
        eos_scored=True,
        unk_id=UNK,
        dtype=dtype,
        looks=looks,
        criteria=read_criteria(CRITERIA.read_text("utf-8")) if split == "test" else (),
    )


def documents(corpus: Corpus, split: str) -> Iterator[Document]:
    for document in corpus.splits[split]:
        yield Document(document.id, [*corpus.encode(document.text), EOS], document.text, document.group)


@contextmanager
def evaluation_mode(model: TinyGPT) -> Iterator[None]:
    """No dropout and no gradients inside, and the mode that the model had afterwards: two switches, not one."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


def evaluate(model: TinyGPT, corpus: Corpus, rules: refcalc.Protocol, receipts: Path) -> refcalc.Report:
    """Score every document of the protocol's split, a receipt each."""
    receipts.parent.mkdir(parents=True, exist_ok=True)
    with evaluation_mode(model):
        return refcalc.evaluate(
            documents(corpus, rules.split),
            lambda tokens: model(torch.tensor([tokens]))[0].tolist(),
            rules,
            str(receipts),
        )


def check(model: TinyGPT, corpus: Corpus, report: refcalc.Report) -> str:
    """Compute every nll again, by PyTorch and by refcalc on the same logits, in float32 and in float64.

    PyTorch's has to be explained by the rounding of float32, and agree to 1e-12 in float64; refcalc's sum has to be
    that of the receipts, to the last bit.
    """
    ours, single, double = [], [], []
    with evaluation_mode(model):
        for logits, targets in outputs(model, corpus, report.protocol.split):
            ours += refcalc.cross_entropy(logits.tolist(), targets.tolist(), reduction="none")
            single += functional.cross_entropy(logits, targets, reduction="none").tolist()
            double += functional.cross_entropy(logits.double(), targets, reduction="none").tolist()
    assert refcalc.Tally.of(ours).nll_sum == report.total.nll_sum, (
        "the receipts are not what the model says now (are they of a run with other threads?)"
    )
    found = refcalc.compare(single, ours, dtype="float32", classes=corpus.vocab_size)
    assert found.explained, str(found)
    off = refcalc.compare(double, ours).worst_absolute
    assert off <= 1e-12, f"PyTorch's float64 is off by {off}"
    share = found.worst_share
    return f"{len(ours):,} nll twice: float32 off by {share:.2f} of what rounding may do, float64 by {off:.1e}"


def outputs(model: TinyGPT, corpus: Corpus, split: str) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The logits and targets of every window."""
    for document in documents(corpus, split):
        for _, inputs, targets in refcalc.windows(document.tokens, CONTEXT, bos=BOS):
            yield model(torch.tensor([inputs]))[0], torch.tensor(targets)
