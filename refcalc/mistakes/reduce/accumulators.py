"""Sums that a narrow dtype cannot hold.

Each function gives the mean, the sum that somebody makes of it, and the denominator.
"""

__all__ = ["fp16_accumulator", "low_precision_accumulator"]

from refcalc.evidence import Records
from refcalc.mistakes.arithmetic import add, ratio, rounded
from refcalc.mistakes.kind import entered
from refcalc.mistakes.pipeline import Run, Scored, witness

_EXAMPLES = Records, witness  # the names that the examples use
Three = tuple[float, float, float]


@entered(
    "low-precision-accumulator",
    "reduce",
    "The mean falls as the evaluation gets longer.",
    hidden_if="sums are short, or their terms coarse",
    remedy="Hold running sums in float64, or use fsum.",
    reports="pytorch/executorch#20089, pytorch/pytorch#2391, google-ai-edge/LiteRT#9249",
    aliases=("bf16-accumulator",),
)
def low_precision_accumulator(run: Run, scored: Scored) -> Three:
    """The losses are added up one by one in bfloat16, which stands still at 256.

    >>> witness(low_precision_accumulator, Records([1.0] * 512))
    'right 1, wrong 0.5'
    """
    return _held_in("bfloat16", scored)


@entered(
    "fp16-accumulator",
    "reduce",
    "inf on long evaluations; a coarse mean on shorter ones.",
    hidden_if="sums are short, or their terms coarse",
    remedy="Hold running sums in float64, or use fsum.",
    reports="pytorch/pytorch#2391, google-ai-edge/LiteRT#9249",
)
def fp16_accumulator(run: Run, scored: Scored) -> Three:
    """The losses are added up one by one in float16, which ends at 65,504.

    >>> witness(fp16_accumulator, Records([2048.0] * 32))
    'right 2048, wrong inf'
    """
    return _held_in("float16", scored)


# --- private ---------------------------------------------------------------------------------------------------------


def _held_in(dtype: str, scored: Scored) -> Three:
    total = 0.0
    for loss in scored.losses:
        total = rounded(total + loss, dtype)
    n = add(scored.shares)
    ratio(scored.losses, scored.shares)
    return total / n, total, n
