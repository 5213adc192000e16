"""JAX, with float64 switched on."""

import jax
import numpy as np
from jax import numpy as jnp

from examples.crosscheck import Kernel

jax.config.update("jax_enable_x64", True)
VERSION = jax.__version__
DTYPES = ("float64", "float32", "float16", "bfloat16")


def j(values, dtype):
    return jnp.asarray(np.asarray(values, dtype=np.float64), dtype=getattr(jnp, dtype))


def plain(array):
    return np.asarray(array).astype(np.float64)


def kl_div(p, q, dtype):
    masses = (jax.nn.softmax(j(rows, dtype), axis=-1) for rows in (p, q))
    return plain(jax.scipy.special.kl_div(*masses).sum(-1))


KERNELS = [
    Kernel("log_softmax", "nn.log_softmax", lambda rows, dtype: plain(jax.nn.log_softmax(j(rows, dtype), axis=-1))),
    Kernel("softmax", "nn.softmax", lambda rows, dtype: plain(jax.nn.softmax(j(rows, dtype), axis=-1))),
    Kernel("logsumexp", "nn.logsumexp", lambda rows, dtype: plain(jax.nn.logsumexp(j(rows, dtype), axis=-1))),
    Kernel("kl_divergence", "scipy.special.kl_div", kl_div),
]
