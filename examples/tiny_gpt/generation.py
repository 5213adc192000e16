"""Generation: greedy, with its policy and every step on record, whatever comes out."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch

import refcalc
from examples.tiny_gpt.evaluating import evaluation_mode
from examples.tiny_gpt.model import CONTEXT, TinyGPT
from examples.tiny_gpt.text import BOS, EOS, Corpus

POLICY = refcalc.Policy(temperature=0, banned=[BOS], eos=EOS, context=CONTEXT, max_new=120)
PROMPT = 24  # characters of a document
N_PROMPTS = 3


def generate(model: TinyGPT, corpus: Corpus, folder: Path) -> None:
    """Let the model go on from the first words of test documents, from nothing, and from what it never saw."""

    def next_logits(ids: Sequence[int]) -> list[float]:
        return model(torch.tensor([list(ids)]))[0, -1].tolist()

    prompts = ["", *(document.text[:PROMPT] for document in corpus.splits["test"][:N_PROMPTS]), "猫 "]
    with evaluation_mode(model), open(folder / "generated.jsonl", "w", encoding="utf-8") as file:
        for prompt in prompts:
            receipt = refcalc.greedy(next_logits, [BOS, *corpus.encode(prompt)], POLICY, decode=corpus.decode)
            again = refcalc.repeatable(receipt, next_logits)
            file.write(json.dumps(receipt.to_dict()) + "\n")
            show(prompt, receipt, "repeats" if again is None else f"does not repeat: {again}")


def show(prompt: str, receipt: refcalc.GenerationReceipt, repeats: str) -> None:
    bad = receipt.first_bad_byte
    verdict = "UTF-8" if bad is None else f"no UTF-8 from byte {bad} on"
    raw = refcalc.ExactSum(-step.raw_logprob for step in receipt.steps)
    processed = refcalc.ExactSum(-step.processed_logprob for step in receipt.steps)
    print(f"{prompt!r} -> {receipt.text if bad is None else receipt.data!r}")
    print(
        f"  {len(receipt.ids)} tokens, stopped by {receipt.stop}, {verdict}, {repeats}; "
        f"nll {float(raw):.4f} raw, {float(processed):.4f} under the policy\n"
    )
