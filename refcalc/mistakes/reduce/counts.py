"""The right sum over a wrong count.

Each function gives the mean, the sum that somebody makes of it, and the denominator.
"""

__all__ = [
    "all_places_denominator",
    "boundary_subtracted_twice",
    "divided_by_rows",
    "divided_by_vocab",
    "one_row_denominator",
    "smoothing_counts_ignored",
    "unshifted_token_count",
    "weighted_mean_normaliser",
    "weights_left_out",
]

from refcalc.evidence import Batch, Records
from refcalc.mistakes.arithmetic import add, ratio
from refcalc.mistakes.kind import LOSSES, MEANS, DoesNotApply, entered
from refcalc.mistakes.pipeline import Run, Scored, witness

_EXAMPLES = Batch, Records, witness  # the names that the examples use
Three = tuple[float, float, float]


@entered(
    "unshifted-token-count",
    "reduce",
    "The mean is too small by n / (n + B).",
    hidden_if="the first label of each row is ignored",
    remedy="Count targets after the shift.",
    reports="huggingface/transformers#46204, Liquid4All/liquid-finetune#40",
    aliases=("none-first-token-as-zero", "start-token-counted"),
    quantities=MEANS,
)
def unshifted_token_count(run: Run, scored: Scored) -> Three:
    """The labels are counted before the shift, so that the first of each row is counted but never scored.

    >>> witness(unshifted_token_count, Records([[1.2, 0.6, 0.9]]))
    'right 0.9, wrong 0.675'
    """
    rows = set(scored.rows)
    if run.batch is not None:
        rows = {b for b in rows if _first_counts(run, b)}
    return _over(scored, add(scored.shares) + len(rows))


@entered(
    "boundary-subtracted-twice",
    "reduce",
    "The mean is too large by a few targets.",
    hidden_if="each row holds one document",
    remedy="Count the targets that the mask leaves; it has dropped the boundaries already.",
    reports="unslothai/unsloth-zoo#1066",
    needs=("document_ids",),
    quantities=MEANS,
)
def boundary_subtracted_twice(run: Run, scored: Scored) -> Three:
    """The boundaries of packed documents are masked, and subtracted from the count once more.

    >>> rows, documents = [[0.0, 0.0]] * 6, [0, 0, 0, 1, 1, 1]
    >>> witness(boundary_subtracted_twice, Batch(rows, [0, 1, 0, 1, 0, 1], document_ids=documents))
    'right 0.6931471806, wrong 0.9241962407'
    """
    ids = run.logits().document_ids or []
    edges = sum(sum(i != j for i, j in zip(ids[b], ids[b][1:], strict=False)) for b in set(scored.rows))
    return _over(scored, add(scored.shares) - edges)


@entered(
    "one-row-denominator",
    "reduce",
    "The mean grows with the batch size.",
    hidden_if="there is one row",
    remedy="Divide by the targets of all rows.",
    reports="EleutherAI/bergson#344",
    quantities=MEANS,
)
def one_row_denominator(run: Run, scored: Scored) -> Three:
    """The sum over the batch is divided by the number of targets of one row, the longest.

    >>> witness(one_row_denominator, Records([[1, 2, 3], [2, 2, 2]]))
    'right 2, wrong 4'
    """
    return _over(scored, max(run.evidence.lengths) - (1 if run.batch else 0))


@entered(
    "all-places-denominator",
    "reduce",
    "The mean is too small, and smaller still in a batch with much padding.",
    hidden_if="never: there are fewer targets than places",
    remedy="Divide by the number of scored targets, not by B T, the size of the labels before the shift.",
    aliases=("labels-numel",),
    needs=("logits",),
    quantities=MEANS,
)
def all_places_denominator(run: Run, scored: Scored) -> Three:
    """The sum over the targets is divided by the number of all places, B T, from before the shift and with padding.

    >>> witness(all_places_denominator, Batch([[0.0, 0.0], [0.0, 0.0]], [0, 1]))
    'right 0.6931471806, wrong 0.3465735903'
    """
    return _over(scored, sum(run.evidence.lengths))


@entered(
    "divided-by-rows",
    "reduce",
    "The loss grows with the length of the texts.",
    hidden_if="every row has one target",
    remedy="Divide by the number of targets, not by the number of sequences.",
    aliases=("sum-over-batch-size",),
    quantities=MEANS,
)
def divided_by_rows(run: Run, scored: Scored) -> Three:
    """The sum over all targets is divided by the number of sequences.

    >>> witness(divided_by_rows, Records([[1, 2, 3], [2, 2, 2]]))
    'right 2, wrong 6'
    """
    return _over(scored, len(set(scored.rows)))


@entered(
    "divided-by-vocab",
    "reduce",
    "The value is too small by exactly V.",
    hidden_if="V = 1",
    remedy="Sum over the classes, then average over the targets (kl_div: batchmean, not mean).",
    aliases=("kl-divided-by-vocab",),
    needs=("logits",),
    quantities=MEANS,
)
def divided_by_vocab(run: Run, scored: Scored) -> Three:
    """The mean is taken over the targets and the classes, where the classes should be summed.

    >>> witness(divided_by_vocab, Batch([[0.0, 0.0], [0.0, 0.0]], [0, 1]))
    'right 0.6931471806, wrong 0.3465735903'
    """
    return _over(scored, add(scored.shares) * run.logits().classes)


@entered(
    "weighted-mean-normaliser",
    "reduce",
    "Two frameworks differ by the factor of the mean weight.",
    hidden_if="the mean weight of the targets is 1",
    remedy="Say which is meant; PyTorch and ONNX divide by the sum of the targets' weights, Keras by their number.",
    reports="pytorch/pytorch#61309, pytorch/pytorch#25571, pytorch/pytorch#9882, iree-org/iree#24228, "
    "llvm/torch-mlir#3585",
    needs=("weight",),
    quantities=("mean_nll",),
    sort="convention",
)
def weighted_mean_normaliser(run: Run, scored: Scored) -> Three:
    """Weighted losses are divided by the number of targets, where it is the sum of their weights.

    >>> rows = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    >>> witness(weighted_mean_normaliser, Batch(rows, [1, 2, 0], weight=[1.0, 2.0, 4.0]))
    'right 0.5458072293, wrong 1.364518073'
    """
    return _over(scored, sum(1 for share in scored.shares if share))


@entered(
    "weights-left-out",
    "reduce",
    "Classes with small weights count too much.",
    hidden_if="all used weights are equal",
    remedy="Multiply each target's loss by its class weight, and divide by the sum of those weights.",
    needs=("weight",),
    quantities=LOSSES,
)
def weights_left_out(run: Run, scored: Scored) -> Three:
    """The plain mean is reported as that of a loss with class weights.

    >>> rows = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    >>> witness(weights_left_out, Batch(rows, [1, 2, 0], weight=[1.0, 2.0, 4.0]))
    'right 0.5458072293, wrong 0.7531091266'
    """
    if run.smoothing:
        raise DoesNotApply("a loss without label_smoothing")
    pairs = zip(scored.losses, scored.shares, strict=True)
    plain = [loss / share for loss, share in pairs if share]
    if not plain:
        raise DoesNotApply("a target that counts")
    return add(plain) / len(plain), add(plain), len(plain)


@entered(
    "smoothing-counts-ignored",
    "reduce",
    "The loss changes with the number of ignored places.",
    hidden_if="nothing is ignored, or label_smoothing is 0",
    remedy="Mask the whole smoothed loss, not its one-hot part only.",
    reports="pytorch/pytorch#73205, pytorch/pytorch#69339, awslabs/sockeye#203, tinygrad/tinygrad#3570",
    needs=("logits",),
    quantities=("mean_nll",),
)
def smoothing_counts_ignored(run: Run, scored: Scored) -> Three:
    """The uniform part of label smoothing is averaged over ignored places too.

    >>> rows = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    >>> witness(smoothing_counts_ignored, Batch(rows, [0, 2, 0], labels=[0, 2, -100], label_smoothing=0.3))
    'right 0.7076059644, wrong 0.6612569131'
    """
    if not run.smoothing or run.weight:
        raise DoesNotApply("label_smoothing without weights")
    spread = run.smoothing / run.logits().classes
    rows = set(scored.rows)
    counted = [spread * run.uniform(b, p - 1) for b, p in zip(scored.rows, scored.places, strict=True)]
    everywhere = [spread * run.uniform(b, t) for b in rows for t in range(run.evidence.lengths[b] - 1)]
    n = add(scored.shares)
    mean = (add(scored.losses) - add(counted)) / n + add(everywhere) / len(everywhere)
    return mean, mean * n, n


# --- private ---------------------------------------------------------------------------------------------------------


def _over(scored: Scored, n: float) -> Three:
    if n <= 0:
        raise DoesNotApply("more targets")
    ratio(scored.losses, scored.shares)  # declines where nothing counts
    total = add(scored.losses)
    return total / n, total, n


def _first_counts(run: Run, b: int) -> bool:
    """Return whether the first unmasked label of a row is no ignored one, so that it is counted before the shift."""
    places = [p for p in range(run.evidence.lengths[b]) if run.open(b, p)]
    batch = run.logits()
    labels = batch.tokens if batch.given_labels is None else batch.given_labels
    return bool(places) and run.kept[b][places[0]] and labels[b][places[0]] != batch.ignore_index
