"""Attention against PyTorch's scaled_dot_product_attention: float64, float32, grouped queries, masks, both alignments.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_attention.py
"""

import unittest
from random import Random
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention as torch_attention

from refcalc import multi_head_attention, scaled_dot_product_attention

TOLERANCE = {torch.float64: 4e-15, torch.float32: 2e-6}  # of values below 1 in size: about 20 u


def tensor(rng: Random, *shape: int, spread: float = 1.0) -> Any:
    """Return a float32 tensor, so that every dtype here holds the same numbers."""
    if shape:
        return torch.stack([tensor(rng, *shape[1:], spread=spread) for _ in range(shape[0])])
    return torch.tensor(spread * (2.0 * rng.random() - 1.0), dtype=torch.float32)


class Against(unittest.TestCase):
    def assert_near(self, theirs: torch.Tensor, ours: Any, dtype: torch.dtype) -> None:
        self.assertEqual(theirs.dtype, dtype)
        off = (theirs.double() - torch.tensor(ours, dtype=torch.float64)).abs().max().item()
        self.assertLess(off, TOLERANCE[dtype])

    def test_one_head(self) -> None:
        for seed in range(60):
            rng = Random(seed)
            t_q, t_k, d, d_v = 1 + seed % 7, 1 + seed % 11, [1, 8, 64][seed % 3], 1 + seed % 5
            q, k, v = tensor(rng, t_q, d, spread=2.0), tensor(rng, t_k, d, spread=2.0), tensor(rng, t_k, d_v)
            scale = [None, 0.3, 2.0][seed // 3 % 3]
            for dtype in TOLERANCE:
                with self.subTest(seed=seed, dtype=dtype):
                    theirs = torch_attention(*(x.to(dtype)[None] for x in (q, k, v)), scale=scale)[0]
                    self.assert_near(theirs, scaled_dot_product_attention(q, k, v, scale=scale), dtype)

    def test_is_causal_takes_the_queries_for_the_first_of_the_sequence(self) -> None:
        for t_q, t_k in [(6, 6), (3, 6), (1, 6), (6, 3)]:
            rng = Random(t_q)
            q, k, v = tensor(rng, t_q, 4), tensor(rng, t_k, 4), tensor(rng, t_k, 3)
            for dtype in TOLERANCE:
                with self.subTest(t_q=t_q, t_k=t_k, dtype=dtype):
                    theirs = torch_attention(*(x.to(dtype)[None] for x in (q, k, v)), is_causal=True)[0]
                    ours = scaled_dot_product_attention(q, k, v, causal=True, offset=0)
                    self.assert_near(theirs, ours, dtype)

    def test_the_default_takes_them_for_the_last_as_a_cache_needs(self) -> None:
        rng = Random(9)
        q, k, v = (tensor(rng, 7, 4) for _ in range(3))
        for dtype in TOLERANCE:
            full = torch_attention(*(x.to(dtype)[None] for x in (q, k, v)), is_causal=True)[0]
            self.assert_near(full[4:], scaled_dot_product_attention(q[4:], k, v, causal=True), dtype)
            step = torch_attention(q[6:].to(dtype)[None], k.to(dtype)[None], v.to(dtype)[None], is_causal=True)[0]
            self.assertTrue(torch.equal(step[0], v[0].to(dtype)))  # one query under is_causal reads key 0 alone

    def test_masks(self) -> None:
        rng = Random(11)
        q, k, v = tensor(rng, 4, 8), tensor(rng, 5, 8), tensor(rng, 5, 3)
        padding = [1, 1, 0, 1, 0]
        rows = [[int(rng.random() < 0.6 or j == i) for j in range(5)] for i in range(4)]
        for mask in (padding, rows):
            theirs_mask = torch.tensor(mask).bool().expand(4, 5)
            for dtype in TOLERANCE:
                theirs = torch_attention(*(x.to(dtype)[None] for x in (q, k, v)), attn_mask=theirs_mask)[0]
                self.assert_near(theirs, scaled_dot_product_attention(q, k, v, mask=mask), dtype)

    def test_the_weights_are_what_torch_multiplies_the_values_with(self) -> None:
        rng = Random(12)
        q, k, eye = tensor(rng, 4, 8), tensor(rng, 6, 8), torch.eye(6)
        _, weights = scaled_dot_product_attention(q, k, eye, causal=True, offset=0, return_weights=True)
        for dtype in TOLERANCE:
            theirs = torch_attention(*(x.to(dtype)[None] for x in (q, k, eye)), is_causal=True)[0]
            self.assert_near(theirs, weights, dtype)
            self.assertTrue(((theirs == 0.0) == (torch.tensor(weights) == 0.0)).all())

    def test_heads_and_grouped_queries(self) -> None:
        for h_q, h_kv in [(4, 4), (4, 2), (6, 2), (5, 1)]:
            rng = Random(h_q)
            q, k, v = tensor(rng, h_q, 5, 8), tensor(rng, h_kv, 5, 8), tensor(rng, h_kv, 5, 8)
            for dtype in TOLERANCE:
                with self.subTest(h_q=h_q, h_kv=h_kv, dtype=dtype):
                    inputs = (x.to(dtype)[None] for x in (q, k, v))
                    theirs = torch_attention(*inputs, is_causal=True, enable_gqa=True)[0]
                    self.assert_near(theirs, multi_head_attention(q, k, v, causal=True), dtype)

    def test_a_fully_masked_row_is_refused_where_torch_makes_something_up(self) -> None:
        q, k = torch.ones(1, 1, 2), torch.ones(1, 2, 2)
        theirs = torch_attention(q, k, k, attn_mask=torch.zeros(1, 2, dtype=torch.bool))
        self.assertTrue(theirs.isnan().all() or (theirs == 0.0).all())
        with self.assertRaises(ValueError):
            scaled_dot_product_attention(q[0], k[0], k[0], mask=[0, 0])


if __name__ == "__main__":
    unittest.main()
