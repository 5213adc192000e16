"""Perplexities averaged, and more than the nll put into the number that measures the model.

Each function gives the quantity from the mean, the sum and the count.
"""

__all__ = ["aux_scaled_by_world", "mean_of_perplexities", "mean_of_text_perplexities", "objective_perplexity"]

from collections.abc import Iterable

from refcalc.evidence import Records
from refcalc.mistakes.arithmetic import add, exponential
from refcalc.mistakes.kind import DoesNotApply, entered
from refcalc.mistakes.pipeline import Reduced, Run, restated, witness

_EXAMPLES = Records, witness  # the names that the examples use


@entered(
    "mean-of-perplexities",
    "express",
    "The perplexity is above the pooled one, far above where one batch is bad.",
    hidden_if="all batches have equal means",
    remedy="Average the losses over all targets, then take exp once.",
    reports="magenta/magenta#239, facebookresearch/ParlAI#623, alexiglad/EBT#3",
    quantities=("perplexity",),
)
def mean_of_perplexities(run: Run, reduced: Reduced) -> float:
    """The perplexities of the batches, or of the texts where there are no batches, are averaged.

    >>> witness(mean_of_perplexities, Records([[1.0], [3.0]]), "perplexity")
    'right 7.389056099, wrong 11.40190938'
    """
    return _average_perplexity(reduced, run.groups)


@entered(
    "mean-of-text-perplexities",
    "express",
    "The perplexity is above the pooled one, far above where one text is bad.",
    hidden_if="all texts have equal means",
    remedy="Average the losses over all targets, then take exp once.",
    reports="huggingface/evaluate perplexity metric",
    needs=("groups",),
    quantities=("perplexity",),
)
def mean_of_text_perplexities(run: Run, reduced: Reduced) -> float:
    """The perplexities of the single texts are averaged.

    >>> witness(mean_of_text_perplexities, Records([[1.0], [3.0], [2.0]], groups=[[0, 1], [2]]), "perplexity")
    'right 7.389056099, wrong 10.06429162'
    """
    if all(len(group) == 1 for group in run.groups):
        raise DoesNotApply("groups of several rows: mean-of-perplexities is the same number")
    return _average_perplexity(reduced, [[b] for b in range(len(run.evidence.lengths))])


@entered(
    "objective-perplexity",
    "express",
    "The value of a perfect model is not 0 nats, its perplexity above 1.",
    hidden_if="aux is 0",
    remedy="Take the plain nll for every number that measures the model.",
    reports="ysmiao/nvdm#8",
    aliases=("objective-as-nll",),
)
def objective_perplexity(run: Run, reduced: Reduced) -> float:
    """The full objective is reported: the nll with what a z-loss, a KL or another term adds to it.

    >>> witness(objective_perplexity, Records([2.0] * 10, aux=0.5), "perplexity")
    'right 7.389056099, wrong 12.18249396'
    """
    return _with_aux(run, reduced, 1.0)


@entered(
    "aux-scaled-by-world",
    "express",
    "The auxiliary term grows with the number of ranks.",
    hidden_if="aux is 0, or there is one rank",
    remedy="Scale back only what was divided by the global count.",
    reports="huggingface/transformers#48706",
    needs=("groups",),
)
def aux_scaled_by_world(run: Run, reduced: Reduced) -> float:
    """The whole objective is multiplied by the number of ranks, the auxiliary term, a mean already, too.

    >>> witness(aux_scaled_by_world, Records([[2.0], [2.0], [2.0], [2.0]], aux=0.05, groups=[[0], [1], [2], [3]]))
    'right 2, wrong 2.2'
    """
    return _with_aux(run, reduced, float(len(run.groups)))


# --- private ---------------------------------------------------------------------------------------------------------


def _average_perplexity(reduced: Reduced, groups: Iterable[Iterable[int]]) -> float:
    values = []
    for rows in groups:
        try:
            values.append(exponential(reduced.part(rows).mean))
        except DoesNotApply:  # a group without targets
            continue
    return add(values) / len(values)


def _with_aux(run: Run, reduced: Reduced, factor: float) -> float:
    if not run.evidence.aux:
        raise DoesNotApply("aux")
    more = factor * run.evidence.aux
    n = reduced.n
    return restated(run, reduced._replace(mean=reduced.mean + more, total=reduced.total + more * n), lambda nats: nats)
