"""How far distributions are from each other, and how far a normaliser is from 1: KL divergence and z-loss.

    kl            KL(p || q) of rows of logits, and its gradient
    normaliser    the z-loss that is added to a cross-entropy, and its gradient
    _pairs        the walk over two nests of rows, and what their divergences are divided by, for both tiers
"""

__all__ = ["kl_divergence", "kl_divergence_gradient", "z_loss", "z_loss_gradient"]

from refcalc.divergence.kl import kl_divergence, kl_divergence_gradient
from refcalc.divergence.normaliser import z_loss, z_loss_gradient
