"""KL divergence and z-loss against PyTorch and its autograd, SciPy, optax and transformers.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_divergence.py
"""

import unittest
import warnings
from math import inf, isnan
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.special
import torch
from torch.distributions import Categorical
from torch.distributions import kl_divergence as torch_divergence
from torch.nn.functional import cross_entropy as torch_loss
from transformers.models.switch_transformers.modeling_switch_transformers import router_z_loss_func

import refcalc

jax.config.update("jax_enable_x64", True)


def logits(rng: Random, *shape: int) -> Any:
    if shape:
        return [logits(rng, *shape[1:]) for _ in range(shape[0])]
    return 6.0 * (rng.random() - 0.5)


def kl_div(*arguments: Any, **options: Any) -> torch.Tensor:
    """PyTorch's, without its warning that "mean" is no divergence."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "reduction: 'mean' divides")
        return torch.nn.functional.kl_div(*arguments, **options)


def t(values: Any, **options: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, **options)


class Case(unittest.TestCase):
    def assert_near(self, theirs: Any, ours: Any, delta: float = 1e-13) -> None:
        off = np.abs(np.asarray(theirs, dtype=np.float64) - np.asarray(ours, dtype=np.float64))
        self.assertEqual(np.shape(theirs), np.shape(ours))
        self.assertLess(off.max(), delta)


class Divergence(Case):
    def test_the_reductions_of_kl_div(self) -> None:
        for shape in [(1, 7), (4, 7), (2, 3, 5)]:
            rng = Random(sum(shape))
            p, q = logits(rng, *shape), logits(rng, *shape)
            log_p, log_q = torch.log_softmax(t(p), -1), torch.log_softmax(t(q), -1)
            for reduction in ("batchmean", "mean", "sum"):
                with self.subTest(shape=shape, reduction=reduction):
                    ours = refcalc.kl_divergence(p, q, reduction=reduction)
                    self.assert_near(kl_div(log_q, log_p.exp(), reduction=reduction), ours)  # the other way round
                    self.assert_near(kl_div(log_q, log_p, reduction=reduction, log_target=True), ours)
                    self.assert_near(refcalc.exact.kl_divergence(p, q, reduction=reduction), ours)
            a_row = kl_div(log_q, log_p, reduction="none", log_target=True).sum(-1)
            self.assert_near(a_row, refcalc.kl_divergence(p, q, reduction="none"))
            flat = kl_div(log_q.flatten(0, -2), log_p.flatten(0, -2), reduction="batchmean", log_target=True)
            self.assert_near(flat, refcalc.kl_divergence(p, q))

    def test_a_row_alone_is_divided_by_v_in_torch(self) -> None:
        p, q = logits(Random(1), 6), logits(Random(2), 6)
        theirs = kl_div(torch.log_softmax(t(q), -1), torch.softmax(t(p), -1), reduction="batchmean")
        self.assert_near(6.0 * theirs, refcalc.kl_divergence(p, q, reduction="batchmean"))

    def test_the_distributions_of_torch_have_our_order(self) -> None:
        p, q = logits(Random(3), 4, 6), logits(Random(4), 4, 6)
        theirs = torch_divergence(Categorical(logits=t(p)), Categorical(logits=t(q)))
        self.assert_near(theirs, refcalc.kl_divergence(p, q, reduction="none"))

    def test_scipy_and_optax(self) -> None:
        p, q = logits(Random(5), 4, 6), logits(Random(6), 4, 6)
        ours = refcalc.kl_divergence(p, q, reduction="none")
        masses = scipy.special.softmax(p, axis=-1), scipy.special.softmax(q, axis=-1)
        self.assert_near(scipy.special.rel_entr(*masses).sum(-1), ours)
        self.assert_near(optax.kl_divergence(jax.nn.log_softmax(jnp.asarray(q)), jnp.asarray(masses[0])), ours)
        log_p = jax.nn.log_softmax(jnp.asarray(p))
        self.assert_near(optax.losses.kl_divergence_with_log_targets(jax.nn.log_softmax(jnp.asarray(q)), log_p), ours)

    def test_zero_times_log_zero(self) -> None:
        p, q = [0.0, 1.0, -inf], [0.5, 0.0, -inf]
        ours = refcalc.kl_divergence(p, q)
        masses = scipy.special.softmax(p), scipy.special.softmax(q)
        self.assert_near(scipy.special.rel_entr(*masses).sum(), ours)
        # Both have no third class: 0 (log 0 - log 0) is nan in torch where the target is given as its logarithm.
        log_p, log_q = torch.log_softmax(t(p), -1), torch.log_softmax(t(q), -1)
        self.assertTrue(isnan(kl_div(log_q, log_p, reduction="sum", log_target=True)))
        self.assertEqual(refcalc.kl_divergence([0.0, 0.0], [0.0, -inf]), inf)
        self.assertEqual(kl_div(torch.log_softmax(t([0.0, -inf]), -1), t([0.5, 0.5]), reduction="sum"), inf)

    def test_gradients_by_autograd(self) -> None:
        for shape, reduction in [((5,), "sum"), ((4, 5), "batchmean"), ((4, 5), "mean"), ((2, 3, 5), "batchmean")]:
            rng = Random(len(shape))
            p, q = logits(rng, *shape), logits(rng, *shape)
            tp, tq = t(p, requires_grad=True), t(q, requires_grad=True)
            loss = kl_div(tq.log_softmax(-1), tp.log_softmax(-1), reduction=reduction, log_target=True)
            loss.backward()
            for tensor, of in [(tq, "q_logits"), (tp, "p_logits")]:
                with self.subTest(shape=shape, reduction=reduction, of=of):
                    ours = refcalc.kl_divergence_gradient(p, q, of=of, reduction=reduction)
                    self.assert_near(tensor.grad, ours)
                    self.assert_near(refcalc.exact.kl_divergence_gradient(p, q, of=of, reduction=reduction), ours)


class ZLoss(Case):
    def setUp(self) -> None:
        rng = Random(7)
        self.logits, self.targets = logits(rng, 5, 6), [1, -100, 5, 0, 2]
        self.kept = [y != -100 for y in self.targets]

    def test_added_to_a_cross_entropy_with_its_gradient_by_autograd(self) -> None:
        z = t(self.logits, requires_grad=True)
        targets, kept = torch.tensor(self.targets), torch.tensor(self.kept)
        loss = torch_loss(z, targets) + 1e-2 * (torch.logsumexp(z, -1)[kept] ** 2).mean()
        loss.backward()
        for tier in (refcalc, refcalc.exact):
            ours = tier.cross_entropy(self.logits, self.targets)
            ours += tier.z_loss(self.logits, self.targets, coefficient=1e-2)
            self.assert_near(loss.detach(), ours)
            slopes = np.add(
                tier.cross_entropy_gradient(self.logits, self.targets),
                tier.z_loss_gradient(self.logits, self.targets, coefficient=1e-2),
            )
            self.assert_near(z.grad, slopes)

    def test_added_to_the_cross_entropy_of_optax(self) -> None:
        kept, targets = jnp.asarray(self.kept), jnp.asarray([max(y, 0) for y in self.targets])

        def loss(z: jax.Array) -> jax.Array:
            each = optax.softmax_cross_entropy_with_integer_labels(z, targets)
            each += 1e-4 * jax.nn.logsumexp(z, axis=-1) ** 2
            return jnp.where(kept, each, 0.0).sum() / kept.sum()

        value, slope = jax.value_and_grad(loss)(jnp.asarray(self.logits))
        ours = refcalc.cross_entropy(self.logits, self.targets) + refcalc.z_loss(self.logits, self.targets)
        self.assert_near(value, ours)
        slopes = np.add(
            refcalc.cross_entropy_gradient(self.logits, self.targets),
            refcalc.z_loss_gradient(self.logits, self.targets),
        )
        self.assert_near(slope, slopes)

    def test_of_a_router(self) -> None:
        router = logits(Random(8), 2, 3, 4)
        theirs = router_z_loss_func(t(router))
        self.assert_near(theirs, refcalc.z_loss(router, coefficient=1.0))


if __name__ == "__main__":
    unittest.main()
