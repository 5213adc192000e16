"""Means of means, sums of means, means divided once more: micro-batches, ranks, rows and windows put together wrongly.

Each function gives the mean, the sum that somebody makes of it, and the denominator.
"""

__all__ = [
    "divide_inside_loop",
    "double_scaled",
    "empty_rows_averaged",
    "empty_rows_nan",
    "macro_vs_micro",
    "mean_of_means",
    "mean_of_windows",
    "sum_of_means",
    "window_weight_one_short",
]

from math import nan

from refcalc.evidence import Batch, Records
from refcalc.mistakes.arithmetic import add, ratio
from refcalc.mistakes.kind import DoesNotApply, entered
from refcalc.mistakes.pipeline import Part, Run, Scored, witness

_EXAMPLES = Batch, Records, witness  # the names that the examples use
Three = tuple[float, float, float]


@entered(
    "mean-of-means",
    "reduce",
    "The loss depends on the batch size, on the accumulation steps or on the number of ranks.",
    hidden_if="all batches have equally many targets, or equal means",
    remedy="Add up sums and counts, and divide once.",
    reports="huggingface/transformers#34242, unslothai/unsloth-zoo#6, huggingface/transformers#41898, "
    "huggingface/transformers#16716, huggingface/transformers#39241, huggingface/transformers#24839, "
    "huggingface/transformers#34138, axolotl-ai-cloud/axolotl#3988, pytorch/pytorch#72047",
    aliases=("short-last-batch", "batch-size-dependent-eval", "weights-not-additive"),
    needs=("groups",),
)
def mean_of_means(run: Run, scored: Scored) -> Three:
    """Each batch, micro-batch or rank is reduced to its own mean, and the means are averaged.

    >>> witness(mean_of_means, Records([[2, 2, 2, 2], [1]], groups=[[0], [1]]))
    'right 1.8, wrong 1.5'
    """
    return _averaged(scored, _groups(run, scored))


@entered(
    "macro-vs-micro",
    "reduce",
    "Two evaluations of the same losses differ; short texts weigh more in one of them.",
    hidden_if="all texts have equally many targets, or equal means",
    remedy="Say which is meant: a mean over tokens, or a mean over texts of their means.",
    reports="huggingface/transformers#34510, NVIDIA-NeMo/Speech#8343, NVIDIA/Megatron-LM#936, "
    "bigscience-workshop/Megatron-DeepSpeed#169, meta-pytorch/torcheval#154",
    aliases=("mean-of-sequence-means",),
    sort="convention",
)
def macro_vs_micro(run: Run, scored: Scored) -> Three:
    """Each text is reduced to its own mean, and the means are averaged; here the mean is over tokens.

    >>> witness(macro_vs_micro, Records([[1] * 9, [3]]))
    'right 1.2, wrong 2'
    """
    if run.evidence.groups is not None and all(len(group) == 1 for group in run.groups):
        raise DoesNotApply("groups of several rows: mean-of-means is the same number")
    return _averaged(scored, _rows(scored))


@entered(
    "mean-of-windows",
    "reduce",
    "The value drifts with the length of the window.",
    hidden_if="all windows have equally many targets, or equal means",
    remedy="Add up the sums and counts of the windows, and divide once.",
    reports="huggingface/transformers#34138, axolotl-ai-cloud/axolotl#3988",
    needs=("window",),
)
def mean_of_windows(run: Run, scored: Scored) -> Three:
    """Each window of a text is reduced to its own mean, and the means are averaged.

    >>> witness(mean_of_windows, Records([2, 2, 2, 2, 7], window=4), "perplexity")
    'right 20.08553692, wrong 90.0171313'
    """
    return _averaged(scored, _windows(run, scored, run.evidence.window or 1))


@entered(
    "sum-of-means",
    "reduce",
    "The loss grows with the number of chunks.",
    hidden_if="there is one chunk",
    remedy="Add up the sums of the chunks and divide by all targets.",
    reports="NVIDIA-NeMo/Automodel#3803",
    aliases=("chunk-means-added",),
    needs=("groups",),
)
def sum_of_means(run: Run, scored: Scored) -> Three:
    """Each chunk is reduced to its own mean, and the means are added.

    >>> witness(sum_of_means, Records([[1, 2], [3, 4], [5, 6]], groups=[[0], [1], [2]]))
    'right 3.5, wrong 10.5'
    """
    return _of_mean(scored, add(_means(_groups(run, scored))))


@entered(
    "double-scaled",
    "reduce",
    "The loss is too small by exactly the number of micro-batches, or of ranks.",
    hidden_if="there is one group",
    remedy="Divide once: by all targets, or by the steps, not by both.",
    reports="huggingface/transformers#35210, huggingface/transformers#40709, huggingface/accelerate#3533, "
    "huggingface/transformers#34373, ChenmienTan/RL2#11",
    aliases=("missing-world-size",),
    needs=("groups",),
)
def double_scaled(run: Run, scored: Scored) -> Three:
    """What was divided by all targets is divided by the number of micro-batches, or averaged over ranks, once more.

    >>> witness(double_scaled, Records([[2, 4], [1, 3]], groups=[[0], [1]]))
    'right 2.5, wrong 1.25'
    """
    return _of_mean(scored, ratio(scored.losses, scored.shares) / len(run.groups))


@entered(
    "divide-inside-loop",
    "reduce",
    "The value is little more than that of the last batch, divided by their number.",
    hidden_if="there is one batch",
    remedy="Divide after the loop.",
    needs=("groups",),
)
def divide_inside_loop(run: Run, scored: Scored) -> Three:
    """The running sum of the batches' means is divided by their number on each pass of the loop.

    >>> witness(divide_inside_loop, Records([[2], [4]], groups=[[0], [1]]))
    'right 3, wrong 2.5'
    """
    parts, running = _groups(run, scored), 0.0
    for mean in _means(parts):
        running = (running + mean) / len(parts)
    return _of_mean(scored, running)


@entered(
    "empty-rows-averaged",
    "reduce",
    "The mean is dragged towards 0 by rows that have nothing to score.",
    hidden_if="every row has a target",
    remedy="Leave rows without a target out of the count.",
    reports="pytorch/pytorch#70348, pytorch/pytorch#116349, OpenRLHF/OpenRLHF#583, huggingface/trl#6668, "
    "allenai/open-instruct#1685",
)
def empty_rows_averaged(run: Run, scored: Scored) -> Three:
    """A row without a target has the mean 0, and takes part in the mean of the rows' means.

    >>> witness(empty_rows_averaged, Records([[1, 3], []]))
    'right 2, wrong 1'
    """
    means, empty = _with_empty(run, scored)
    return _of_mean(scored, add(means) / (len(means) + empty))


@entered(
    "empty-rows-nan",
    "reduce",
    "nan, as soon as one row has nothing to score.",
    hidden_if="every row has a target",
    remedy="Leave rows without a target out of sum and count.",
    reports="pytorch/pytorch#70348, huggingface/trl#6668",
)
def empty_rows_nan(run: Run, scored: Scored) -> Three:
    """A row without a target has the mean 0 / 0, which is nan in every mean that it takes part in.

    >>> witness(empty_rows_nan, Records([[1, 3], []]))
    'right 2, wrong nan'
    """
    _with_empty(run, scored)
    return nan, nan, add(scored.shares)


@entered(
    "window-weight-one-short",
    "reduce",
    "A small drift against the direct sum.",
    hidden_if="there is one window, or all windows have equal means",
    remedy="Weigh each window with the number of targets that were scored in it.",
    reports="huggingface/transformers docs/source/en/perplexity.md",
    needs=("window",),
    aliases=("wrong-window-weight",),
)
def window_weight_one_short(run: Run, scored: Scored) -> Three:
    """Every window after the first is weighed with one target less than it scores.

    >>> witness(window_weight_one_short, Records([1, 1, 1, 4, 4], window=3, stride=2))
    'right 2.2, wrong 1.75'
    """
    windows = _windows(run, scored, run.evidence.stride or run.evidence.window or 1)
    sizes = [add(part.shares) - (k > 0) for k, part in enumerate(windows)]
    if not add(sizes):
        raise DoesNotApply("windows of several targets")
    parts = zip(windows, sizes, strict=True)
    return _of_mean(scored, add([ratio(part.losses, part.shares) * n for part, n in parts if n]) / add(sizes))


# --- private ---------------------------------------------------------------------------------------------------------


def _groups(run: Run, scored: Scored) -> list[Part]:
    number = {row: k for k, group in enumerate(run.groups) for row in group}
    return scored.split("group", lambda row, place: number[row])


def _rows(scored: Scored) -> list[Part]:
    return scored.split("row", lambda row, place: row)


def _windows(run: Run, scored: Scored, stride: int) -> list[Part]:
    """Return the parts of the windows: the first has `window` targets, each later one `stride` new ones."""
    first = run.evidence.window or 1

    def number(place: int) -> int:
        i = run.ordinal(place)
        return 0 if i < first else 1 + (i - first) // stride

    return scored.split(f"window {stride}", lambda row, place: (row, number(place)))


def _means(parts: list[Part]) -> list[float]:
    return [ratio(part.losses, part.shares) for part in parts]


def _averaged(scored: Scored, parts: list[Part]) -> Three:
    if not parts:
        raise DoesNotApply("a target that counts")
    return _of_mean(scored, add(_means(parts)) / len(parts))


def _of_mean(scored: Scored, mean: float) -> Three:
    """Return a mean with the sum that it stands for: mean times the number of targets."""
    n = add(scored.shares)
    return mean, mean * n, n


def _with_empty(run: Run, scored: Scored) -> tuple[list[float], int]:
    """Return the means of the groups, and how many are empty; of the rows, where there are no empty groups."""
    means = _means(_groups(run, scored))
    everything = len(run.groups)
    if len(means) == everything:
        means, everything = _means(_rows(scored)), len(run.evidence.lengths)
    if len(means) == everything:
        raise DoesNotApply("a row without a target")
    return means, everything - len(means)
