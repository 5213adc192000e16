"""A small transformer over characters: learned positions, causal attention, and nothing else that can be left out.

(B, T) token ids  ->  (B, T, V) logits; row t has read tokens 0..t and predicts token t + 1
"""

import torch
from torch import nn
from torch.nn import functional

CONTEXT = 64  # rows in a window
WIDTH = 96
HEADS = 4
LAYERS = 3


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.before_mlp = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        """Queries, keys and values: (3, B, heads, T, width of a head)."""
        batch, length, _ = x.shape
        together = self.query_key_value(self.before_attention(x))
        return together.view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        attended = functional.scaled_dot_product_attention(*self.heads(x), is_causal=True)
        x = x + self.mix(attended.transpose(1, 2).flatten(2))
        return x + self.mlp(self.before_mlp(x))


class TinyGPT(nn.Module):
    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocab_size, bias=False)
        self.apply(small_weights)

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.embed(tokens))))


def small_weights(module: nn.Module) -> None:
    """Begin near the uniform model, whose loss is log V."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
