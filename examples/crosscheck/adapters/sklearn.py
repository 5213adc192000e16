"""scikit-learn: log_loss takes probabilities, so softmax comes first and the logarithm second."""

import numpy as np
import sklearn
from sklearn.metrics import log_loss
from sklearn.utils.extmath import softmax

from examples.crosscheck import Kernel

VERSION = sklearn.__version__
DTYPES = ("float64", "float32")


def n(rows, dtype):
    return np.asarray(rows, dtype=dtype)


def loss(rows, targets, dtype, reduction="none"):
    p = softmax(n(rows, dtype))
    classes = range(len(rows[0]))
    if reduction == "none":
        return [float(log_loss([y], p[i : i + 1], labels=classes)) for i, y in enumerate(targets)]
    return float(log_loss(targets, p, labels=classes, normalize=reduction == "mean"))


KERNELS = [
    Kernel("softmax", "extmath.softmax", lambda rows, dtype: softmax(n(rows, dtype))),
    Kernel("loss", "log_loss of softmax", loss, ("reduction",)),
]
