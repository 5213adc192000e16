"""optax, on JAX with float64 switched on.  Its losses are one a row; the mean is JAX's."""

import jax
import numpy as np
import optax
from jax import numpy as jnp

from examples.crosscheck import Kernel

jax.config.update("jax_enable_x64", True)
VERSION = optax.__version__
DTYPES = ("float64", "float32", "float16", "bfloat16")
REDUCTIONS = {"none": lambda losses: losses, "mean": jnp.mean, "sum": jnp.sum}


def j(values, dtype):
    return jnp.asarray(np.asarray(values, dtype=np.float64), dtype=getattr(jnp, dtype))


def plain(losses, reduction="none"):
    return np.asarray(REDUCTIONS[reduction](losses)).astype(np.float64)


def integer_labels(rows, targets, dtype, reduction="none"):
    return plain(
        optax.softmax_cross_entropy_with_integer_labels(j(rows, dtype), np.asarray(targets, dtype=np.int32)), reduction
    )


def dense(function):
    """Return a kernel of a loss whose targets are distributions; classes are written as such."""

    def loss(rows, targets, dtype, reduction="none", label_smoothing=0.0):
        logits = j(rows, dtype)
        soft = targets and isinstance(targets[0], list)
        q = j(targets, dtype) if soft else jax.nn.one_hot(np.asarray(targets), logits.shape[-1], dtype=logits.dtype)
        if label_smoothing:
            q = optax.smooth_labels(q, label_smoothing)
        return plain(function(logits, q), reduction)

    return loss


def kl_divergence(p, q, dtype):
    return plain(optax.kl_divergence(jax.nn.log_softmax(j(q, dtype)), jax.nn.softmax(j(p, dtype))))


DENSE = ("reduction", "label_smoothing", "soft")
KERNELS = [
    Kernel("loss", "with_integer_labels", integer_labels, ("reduction",)),
    Kernel("loss", "softmax_cross_entropy", dense(optax.softmax_cross_entropy), DENSE),
    Kernel("loss", "safe_softmax_cross_entropy", dense(optax.safe_softmax_cross_entropy), DENSE),
    Kernel("kl_divergence", "kl_divergence", kl_divergence),
]
