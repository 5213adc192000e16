"""PyTorch, on the CPU."""

import torch
from torch.distributions import Categorical
from torch.nn import functional

from examples.crosscheck import Kernel

VERSION = torch.__version__
DTYPES = ("float64", "float32", "float16", "bfloat16")


def t(values, dtype):
    return torch.tensor(values, dtype=getattr(torch, dtype))


def cross_entropy(rows, targets, dtype, reduction="none", weight=None, **options):
    soft = targets and isinstance(targets[0], list)
    targets = t(targets, dtype) if soft else torch.tensor(targets, dtype=torch.long)
    weight = None if weight is None else t(weight, dtype)
    return functional.cross_entropy(t(rows, dtype), targets, weight=weight, reduction=reduction, **options)


def nll_loss(rows, targets, dtype, reduction="none", weight=None):
    weight = None if weight is None else t(weight, dtype)
    log_p = torch.log_softmax(t(rows, dtype), -1)
    return functional.nll_loss(log_p, torch.tensor(targets, dtype=torch.long), weight=weight, reduction=reduction)


def kl_div(p, q, dtype):
    log_p, log_q = (torch.log_softmax(t(rows, dtype), -1) for rows in (p, q))
    return functional.kl_div(log_q, log_p, reduction="none", log_target=True).sum(-1)


KERNELS = [
    Kernel("log_softmax", "log_softmax", lambda rows, dtype: torch.log_softmax(t(rows, dtype), -1)),
    Kernel("softmax", "softmax", lambda rows, dtype: torch.softmax(t(rows, dtype), -1)),
    Kernel("logsumexp", "logsumexp", lambda rows, dtype: torch.logsumexp(t(rows, dtype), -1)),
    Kernel("entropy", "Categorical.entropy", lambda rows, dtype: Categorical(logits=t(rows, dtype)).entropy()),
    Kernel("kl_divergence", "F.kl_div", kl_div),
    Kernel(
        "loss", "F.cross_entropy", cross_entropy, ("reduction", "weight", "label_smoothing", "ignore_index", "soft")
    ),
    Kernel("loss", "F.nll_loss", nll_loss, ("reduction", "weight", "ignore_index")),
]
