"""How much a number would move: with other documents, with other seeds, with other trials.

    bootstrap, pooled_ratio    a ratio of sums over documents, or over groups of them
    paired_bootstrap           the difference of two systems on the same documents
    seed_noise, materiality    runs that differ in their seed, and whether a difference is larger than that
    proportion                 a rate of successes, with Wilson's interval
"""

__all__ = ["bootstrap", "materiality", "paired_bootstrap", "pooled_ratio", "proportion", "seed_noise"]

from refcalc.resampling.documents import bootstrap, paired_bootstrap, pooled_ratio
from refcalc.resampling.rates import proportion
from refcalc.resampling.repeats import materiality, seed_noise
