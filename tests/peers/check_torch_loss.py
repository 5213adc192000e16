"""Losses, gradients and rows against PyTorch, transformers, SciPy and JAX, on random input.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_torch_loss.py
"""

import unittest
from itertools import chain, product
from math import inf
from random import Random
from typing import Any

import jax
import scipy.special
import scipy.stats
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.nn import functional
from transformers.loss.loss_utils import ForCausalLMLoss

import refcalc

jax.config.update("jax_enable_x64", True)

EPSILON = torch.finfo(torch.float64).eps
SHAPES = [(5,), (1, 1), (7, 3), (3, 4, 11), (2, 2, 3, 6)]  # the last axis is V
OFFSETS = [0.0, 1e4]


def tensor(values: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def nest(shape: tuple[int, ...], draw: Any) -> Any:
    return [nest(shape[1:], draw) for _ in range(shape[0])] if shape else draw()


def probabilities(rng: Random, shape: tuple[int, ...]) -> Any:
    return torch.softmax(tensor(nest(shape, lambda: 6 * rng.random())), -1).tolist()


def hard_targets(rng: Random, shape: tuple[int, ...], classes: int, ignored: int) -> Any:
    """Return targets of which a third is ignored, though never all."""
    targets = torch.tensor(nest(shape, lambda: ignored if rng.random() < 0.3 else int(classes * rng.random())))
    if (targets == ignored).all():
        targets.view(-1)[0] = next(c for c in range(classes) if c != ignored)
    return targets.tolist()


def flat(logits: Any, targets: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows [N][V] and their targets, [N] or [N][V], as PyTorch wants them."""
    rows = tensor(logits)
    rows = rows.reshape(-1, rows.shape[-1])
    if torch.tensor(targets).is_floating_point():
        return rows, tensor(targets).reshape(rows.shape)
    return rows, torch.tensor(targets).reshape(-1)


class Grid(unittest.TestCase):
    """Every option with every other, on nested shapes."""

    def cases(self):
        grid = product(SHAPES, OFFSETS, ["hard", "hard, class ignored", "soft"], [0, 1], [0.0, 0.1, 1.0])
        for seed, (shape, offset, kind, weighted, smoothing) in enumerate(grid):
            rng, classes = Random(seed), shape[-1]
            if kind == "hard, class ignored" and classes == 1:
                continue  # nothing would be left to score
            ignored = classes // 2 if kind == "hard, class ignored" else -100
            logits = nest(shape, lambda rng=rng, offset=offset: offset + 12 * rng.random())
            targets = probabilities(rng, shape) if kind == "soft" else hard_targets(rng, shape[:-1], classes, ignored)
            options = {
                "ignore_index": ignored,
                "weight": [0.1 + rng.random() for _ in range(classes)] if weighted else None,
                "label_smoothing": smoothing,
            }
            yield {"seed": seed, "shape": shape, "offset": offset, "kind": kind}, logits, targets, options

    def test_losses(self):
        scored = 0
        for case, logits, targets, options in self.cases():
            rows, row_targets = flat(logits, targets)
            weight = None if options["weight"] is None else tensor(options["weight"])
            n = len(rows) if row_targets.is_floating_point() else int((row_targets != options["ignore_index"]).sum())
            known = {"classes": rows.shape[-1]}
            for reduction in ("mean", "sum", "none"):
                with self.subTest(**case, **options, reduction=reduction):
                    torch_options = {**options, "weight": weight, "reduction": reduction}
                    got = functional.cross_entropy(rows, row_targets, **torch_options)
                    want = refcalc.cross_entropy(logits, targets, reduction=reduction, **options)
                    if reduction == "none":
                        refcalc.assert_close(got.reshape(tensor(logits).shape[:-1]), want, **known)
                    else:
                        refcalc.assert_close(got, want, **known, reduction=reduction, targets=n)
                    scored += 1
        self.assertGreater(scored, 400)

    def test_gradients(self):
        scored = 0
        for case, logits, targets, options in self.cases():
            rows, row_targets = flat(logits, targets)
            rows.requires_grad_()
            weight = None if options["weight"] is None else tensor(options["weight"])
            for reduction in ("mean", "sum", "none"):
                with self.subTest(**case, **options, reduction=reduction):
                    torch_options = {**options, "weight": weight, "reduction": reduction}
                    loss = functional.cross_entropy(rows, row_targets, **torch_options)
                    (got,) = torch.autograd.grad(loss.sum(), rows)
                    want = refcalc.cross_entropy_gradient(logits, targets, reduction=reduction, **options)
                    off = (got - tensor(want).reshape(got.shape)).abs().max()
                    self.assertLess(float(off), 16 * EPSILON)  # of terms that are below 1.1
                    scored += 1
        self.assertGreater(scored, 400)

    def test_ragged_sequences_are_scored_as_one_flat_batch(self):
        for seed in range(50):
            rng = Random(seed)
            classes, lengths = 2 + int(9 * rng.random()), [int(6 * rng.random()) for _ in range(4)]
            lengths[0] += 1
            logits = [nest((t, classes), lambda rng=rng: 12 * rng.random()) for t in lengths]
            targets = [nest((t,), lambda rng=rng, v=classes: int(v * rng.random())) for t in lengths]
            rows, row_targets = list(chain(*logits)), list(chain(*targets))
            smoothing = 0.2 * (seed % 2)
            with self.subTest(seed=seed):
                for reduction in ("mean", "sum"):
                    options = {"reduction": reduction, "label_smoothing": smoothing}
                    got = functional.cross_entropy(tensor(rows), torch.tensor(row_targets), **options)
                    want = refcalc.cross_entropy(logits, targets, **options)
                    refcalc.assert_close(got, want, classes=classes, reduction=reduction, targets=len(rows))


class ProbabilityZero(unittest.TestCase):
    def test_classes_of_probability_zero_are_scored_alike(self):
        for seed in range(100):
            rng, classes = Random(seed), 8
            target = int(classes * rng.random())
            row = [-inf if rng.random() < 0.4 else 12 * rng.random() for _ in range(classes)]
            row[target] = 5.0
            with self.subTest(seed=seed):
                z = tensor(row).requires_grad_()
                loss = functional.cross_entropy(z, torch.tensor(target))
                refcalc.assert_close(loss, refcalc.cross_entropy(row, target), classes=classes)
                refcalc.assert_close(functional.log_softmax(z, -1), refcalc.log_softmax(row), classes=classes)
                (slope,) = torch.autograd.grad(loss, z)
                off = (slope - tensor(refcalc.cross_entropy_gradient(row, target))).abs().max()
                self.assertLess(float(off), 8 * EPSILON)

    def test_a_target_of_probability_zero_has_nll_inf(self):
        row = [0.0, -inf, 1.0]
        for options in ({}, {"label_smoothing": 0.1}, {"reduction": "sum"}):
            self.assertEqual(functional.cross_entropy(tensor([row]), torch.tensor([1]), **options).item(), inf)
            self.assertEqual(refcalc.cross_entropy([row], [1], **options), inf)


def pairs(mask: list[list[int]]) -> int:
    """Return the number of targets of sequences that are padded on the right: none is its sequence's first token."""
    return sum(map(sum, mask)) - len(mask)


class CausalLoss(unittest.TestCase):
    """transformers takes the loss in float32, whatever the dtype of the logits."""

    def batches(self):
        for seed in range(60):
            rng = Random(seed)
            b, t, v = 1 + seed % 3, 2 + int(8 * rng.random()), 2 + int(40 * rng.random())
            logits = torch.tensor(nest((b, t, v), lambda rng=rng: 12 * rng.random()))  # float32
            lengths = [2 + int((t - 1) * rng.random()) for _ in range(b)]
            tokens, mask = refcalc.pad([[int(v * rng.random()) for _ in range(n)] for n in lengths], 0)
            yield seed, logits[:, : len(tokens[0])].contiguous(), tokens, mask

    def test_the_mean_over_the_targets_of_padded_batches(self):
        for seed, logits, tokens, mask in self.batches():
            v, labels = logits.shape[-1], refcalc.mask_padding(tokens, mask)
            got = ForCausalLMLoss(logits, torch.tensor(labels), v)
            for want in (
                refcalc.causal_lm_loss(logits, labels),
                refcalc.causal_lm_loss(logits, tokens, attention_mask=mask),
                refcalc.cross_entropy(logits, refcalc.shift_labels(labels)),
                refcalc.cross_entropy(*refcalc.shift(logits, labels)),
            ):
                with self.subTest(seed=seed):
                    known = {"classes": v, "reduction": "mean", "targets": pairs(mask)}
                    refcalc.assert_close(got, want, dtype="float32", **known)

    def test_num_items_is_the_denominator(self):
        for seed, logits, tokens, mask in self.batches():
            v, labels = logits.shape[-1], refcalc.mask_padding(tokens, mask)
            for num_items in (1, 5, 1000):
                want = refcalc.causal_lm_loss(logits, labels, num_items=num_items)
                for given_as in (num_items, torch.tensor(num_items)):
                    got = ForCausalLMLoss(logits, torch.tensor(labels), v, num_items_in_batch=given_as)
                    with self.subTest(seed=seed, num_items=given_as):
                        known = {"classes": v, "reduction": "sum", "targets": pairs(mask)}
                        refcalc.assert_close(got, want, dtype="float32", **known)

    def test_micro_batches_divided_by_all_targets_add_up_to_the_whole_batch(self):
        for seed, logits, tokens, mask in self.batches():
            parts = [
                refcalc.causal_lm_loss([rows], [ids], attention_mask=[kept], num_items=pairs(mask))
                for rows, ids, kept in zip(logits, tokens, mask, strict=True)
            ]
            whole = refcalc.causal_lm_loss(logits, tokens, attention_mask=mask)
            with self.subTest(seed=seed):
                refcalc.assert_close(float(refcalc.ExactSum(parts)), whole, ulp=2)

    def test_another_ignore_index_and_labels_shifted_by_the_caller(self):
        for seed, logits, tokens, mask in self.batches():
            v = logits.shape[-1]
            labels = refcalc.mask_padding(tokens, mask, ignore_index=v)
            shifted = refcalc.shift_labels(labels, ignore_index=v)
            want = refcalc.causal_lm_loss(logits, labels, ignore_index=v)
            for given_shifted in (None, torch.tensor(shifted)):
                got = ForCausalLMLoss(logits, torch.tensor(labels), v, ignore_index=v, shift_labels=given_shifted)
                with self.subTest(seed=seed, shifted=given_shifted is not None):
                    known = {"classes": v, "reduction": "mean", "targets": pairs(mask)}
                    refcalc.assert_close(got, want, dtype="float32", **known)


class Rows(unittest.TestCase):
    def check(self, name: str, peers: list[Any], scaled: bool = False) -> None:
        """Compare a function of one row; scaled if a peer takes its result from a finished logsumexp, or is that."""
        for seed in range(200):
            rng = Random(seed)
            # few sizes, for JAX compiles each of them
            classes, offset = [1, 2, 3, 10, 60][seed % 5], [0.0, -3.0, 1e4, 1e7][seed % 4]
            row = [offset + 20 * rng.random() for _ in range(classes)]
            if seed % 3 == 0:
                row = [float(round(z)) for z in row]  # ties
            want = getattr(refcalc, name)(row)
            for k, peer in enumerate(peers):
                with self.subTest(seed=seed, peer=k):
                    scale = max(map(abs, row)) if scaled else 0.0
                    refcalc.assert_close(peer(row), want, classes=classes, scale=scale)

    def test_log_softmax_of_torch_scipy_and_jax(self):
        self.check(
            "log_softmax",
            [
                lambda row: torch.log_softmax(tensor(row), -1),
                scipy.special.log_softmax,
                lambda row: jax.nn.log_softmax(jax.numpy.asarray(row)),
            ],
        )

    def test_softmax_of_torch_scipy_and_jax(self):
        self.check(
            "softmax",
            [
                lambda row: torch.softmax(tensor(row), -1),
                scipy.special.softmax,
                lambda row: jax.nn.softmax(jax.numpy.asarray(row)),
            ],
        )

    def test_logsumexp_of_torch_scipy_and_jax(self):
        self.check(
            "logsumexp",
            [
                lambda row: torch.logsumexp(tensor(row), -1),
                scipy.special.logsumexp,
                lambda row: jax.nn.logsumexp(jax.numpy.asarray(row)),
            ],
            scaled=True,
        )

    def test_entropy_of_torch_and_scipy(self):
        self.check(
            "entropy",
            [
                lambda row: torch.distributions.Categorical(logits=tensor(row)).entropy(),
                lambda row: scipy.stats.entropy(scipy.special.softmax(row)),
            ],
            scaled=True,
        )


LOGITS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)


class Properties(unittest.TestCase):
    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(row=LOGITS, data=st.data())
    def test_an_nll_is_what_torch_has_but_for_rounding(self, row, data):
        target = data.draw(st.integers(0, len(row) - 1))
        got = functional.cross_entropy(tensor(row), torch.tensor(target))
        refcalc.assert_close(got, refcalc.token_nll(row, target), classes=len(row))

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(row=LOGITS)
    @example(row=[0.0, -40.0])  # 1 - p is below half an ulp of 1
    @example(row=[0.0, -800.0])  # p underflows
    @example(row=[1e6, -1e6, 1e6])
    def test_a_gradient_is_that_of_autograd_and_sums_to_zero(self, row):
        z = tensor(row).requires_grad_()
        (slope,) = torch.autograd.grad(functional.cross_entropy(z, torch.tensor(0)), z)
        got = refcalc.cross_entropy_gradient(row, 0)
        self.assertLess(float((slope - tensor(got)).abs().max()), 8 * EPSILON)
        self.assertLess(abs(float(refcalc.ExactSum(got))), 16 * abs(got[0]) * EPSILON + 1e-300)


if __name__ == "__main__":
    unittest.main()
