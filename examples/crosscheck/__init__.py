"""Frameworks against the exact tier: how far off each function is, in each dtype, and what it does in edge cases.

    python examples/crosscheck                        all the frameworks that are installed
    python examples/crosscheck torch optax            these
    python examples/crosscheck torch mine.py          PyTorch, and a kernel of your own
    python examples/crosscheck --markdown             or --json, with the figures of every family of rows

A kernel of your own is a file like those in `adapters`.  This one is complete:

    import mylib
    from examples.crosscheck import Kernel

    VERSION = mylib.__version__
    DTYPES = ("float32", "bfloat16")

    def loss(rows, targets, dtype, reduction="none"):
        return mylib.fused_loss(mylib.array(rows, dtype), targets, reduction=reduction)

    KERNELS = [Kernel("loss", "mylib.fused_loss", loss, options=("reduction",))]

A kernel answers one question: "log_softmax", "softmax", "logsumexp" or "entropy" of rows; "loss" of rows and targets;
"kl_divergence" of two batches of rows.  It is handed lists of floats that the dtype holds exactly, and returns a list,
a number, or what has .tolist().  `options` are those of refcalc.cross_entropy that it takes, under the same names, and
"soft" if targets may be probabilities; what it does not take is not asked.

The answers come from another process, one for each framework: what aborts it is a result too.
"""

__all__ = ["DTYPES", "Kernel"]

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

DTYPES = ("float64", "float32", "float16", "bfloat16")
KINDS = ("log_softmax", "softmax", "logsumexp", "entropy", "kl_divergence", "loss")
OPTIONS = ("reduction", "weight", "label_smoothing", "ignore_index", "soft")


@dataclass(frozen=True)
class Kernel:
    """A function of a framework, and which question it answers.

    Raises ValueError for a question or an option that is never asked.
    """

    question: str
    label: str
    call: Callable[..., Any]
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.question not in KINDS:
            raise ValueError(f"Kernel: question must be one of {', '.join(KINDS)}, got {self.question!r}")
        for option in self.options:
            if option not in OPTIONS:
                raise ValueError(f"Kernel: options must be of {', '.join(OPTIONS)}, got {option!r}")
