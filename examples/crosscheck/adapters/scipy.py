"""SciPy's special functions, and the entropies of scipy.stats on its softmax."""

import numpy as np
import scipy
from scipy import special, stats

from examples.crosscheck import Kernel

VERSION = scipy.__version__
DTYPES = ("float64", "float32")


def n(rows, dtype):
    return np.asarray(rows, dtype=dtype)


def softmax(rows, dtype):
    return special.softmax(n(rows, dtype), axis=-1)


def rel_entr(p, q, dtype):
    return special.rel_entr(softmax(p, dtype), softmax(q, dtype)).sum(axis=-1)


KERNELS = [
    Kernel("log_softmax", "special.log_softmax", lambda rows, dtype: special.log_softmax(n(rows, dtype), axis=-1)),
    Kernel("softmax", "special.softmax", softmax),
    Kernel("logsumexp", "special.logsumexp", lambda rows, dtype: special.logsumexp(n(rows, dtype), axis=-1)),
    Kernel("entropy", "stats.entropy of softmax", lambda rows, dtype: stats.entropy(softmax(rows, dtype), axis=-1)),
    Kernel("kl_divergence", "special.rel_entr", rel_entr),
]
