"""What a reported number was computed from: a batch of logits, or the losses of tokens that somebody logged.

    B  sequences, called rows in groups     T  places of a sequence     V  classes

Both are read-only once made, and hold what was given: logits are neither copied nor read here.
"""

__all__ = ["Batch", "Evidence", "Records"]

from refcalc.evidence.batch import Batch
from refcalc.evidence.records import Records
from refcalc.evidence.shared import Evidence
