"""Is the mathematics inside the model right?  Its attention, computed once more by refcalc, in every block and head."""

from math import fsum

import torch
from torch.nn import functional

import refcalc
from examples.tiny_gpt.evaluating import documents, evaluation_mode
from examples.tiny_gpt.model import CONTEXT, HEADS, LAYERS, TinyGPT
from examples.tiny_gpt.text import BOS, Corpus

ALLOWED = {torch.float32: 1e-5, torch.float64: 1e-13}  # of the largest value: more than rounding does to such heads


def check(model: TinyGPT, corpus: Corpus) -> str:
    """Hold PyTorch's attention against refcalc's, on the first window of the longest test document."""
    document = max(documents(corpus, "test"), key=lambda document: len(document.tokens))
    _, inputs, _ = next(iter(refcalc.windows(document.tokens, CONTEXT, bos=BOS)))
    off = dict.fromkeys(ALLOWED, 0.0)
    with evaluation_mode(model):
        x = model.embed(torch.tensor([inputs]))
        for block in model.blocks:
            heads = block.heads(x)[:, 0]
            right = refcalc.multi_head_attention(*heads.tolist(), causal=True)
            for dtype in ALLOWED:
                off[dtype] = max(off[dtype], error(heads.to(dtype), right))
            x = block(x)
    errors = ", ".join(f"{error:.1e} in {str(dtype).removeprefix('torch.')}" for dtype, error in off.items())
    return f"attention of {LAYERS} x {HEADS} heads, {len(inputs)} places: PyTorch is off by {errors}; none looks ahead"


def error(heads: torch.Tensor, right: list[list[list[float]]]) -> float:
    """Return how far PyTorch's attention is off at most, having refused what rounding is no reason for."""
    query, key, value = heads
    check_weights(query, key)
    theirs = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    found = refcalc.compare(theirs, right).worst_absolute
    assert found <= ALLOWED[heads.dtype] * value.abs().max(), f"attention in {heads.dtype} is off by {found}"
    return found


def check_weights(query: torch.Tensor, key: torch.Tensor) -> None:
    """Look at PyTorch's weights, which it gives where the values are unit vectors: 1 a row, 0 for what comes later."""
    length = key.shape[-2]
    unit = torch.eye(length, dtype=key.dtype).expand(HEADS, length, length)
    weights = functional.scaled_dot_product_attention(query, key, unit, is_causal=True)
    assert not weights.triu(1).any(), "a place reads what comes after it"
    sums = [fsum(row) for head in weights.tolist() for row in head]
    assert all(abs(one - 1.0) <= ALLOWED[key.dtype] for one in sums), "a row is not 1"
