"""Targets that are lost, cut off or scored twice where a text is read in windows, shards or batches.

Each function gives for every item (b, t, c, p) how often it counts in the sum, and how often in the denominator.
"""

__all__ = [
    "duplicated_eval_rows",
    "overlap_scored_twice",
    "silent_truncation",
    "tail_dropped",
    "window_start_unscored",
]

from collections.abc import Callable, Sequence

from refcalc.evidence import Batch, Records
from refcalc.mistakes.kind import DoesNotApply, entered
from refcalc.mistakes.pipeline import Item, Run, witness

_EXAMPLES = Batch, Records, witness  # the names that the examples use
Counts = tuple[Sequence[float], Sequence[float]]


@entered(
    "window-start-unscored",
    "select",
    "Fewer targets than tokens less one.",
    hidden_if="there is one window, or one shard",
    remedy="Let neighbouring windows share one token; shift before sharding.",
    reports="huggingface/transformers#30975, huggingface/transformers#36607, huggingface/transformers#48493",
    aliases=("shard-edge-target-lost",),
    needs=("window",),
)
def window_start_unscored(run: Run, items: list[Item]) -> Counts:
    """Each window of tokens is shifted on its own, so that its first token is no target; shards do the same.

    >>> witness(window_start_unscored, Records([1, 1, 1, 5, 1, 1, 1], window=4), "perplexity")
    'right 4.813519741, wrong 2.718281828'
    """
    window = run.evidence.window or 1
    return _kept(run, items, lambda row, i: (i + 1) % window != 0)


@entered(
    "tail-dropped",
    "select",
    "The count of targets is a multiple of the window.",
    hidden_if="the text is a whole number of windows",
    remedy="Score the last window too, however short.",
    reports="IST-DASLab/gptq, openai/parameter-golf#124",
    needs=("window",),
)
def tail_dropped(run: Run, items: list[Item]) -> Counts:
    """The last window of a text is left out if it is not full.

    >>> witness(tail_dropped, Records([1, 1, 1, 1, 1, 1, 9], window=3), "perplexity")
    'right 8.523756461, wrong 2.718281828'
    """
    window, step = run.evidence.window or 1, 1 if run.batch else 0
    full = [(n - step) // window * window for n in run.evidence.lengths]
    return _kept(run, items, lambda row, i: i < full[row])


@entered(
    "silent-truncation",
    "select",
    "Long texts are no worse than their first part.",
    hidden_if="no text is longer than the limit",
    remedy="Read long texts in windows, and report how many tokens were scored.",
    reports="huggingface/evaluate#332, asahi417/lmppl#4",
    needs=("max_length",),
)
def silent_truncation(run: Run, items: list[Item]) -> Counts:
    """What lies beyond a default length is cut off before scoring.

    >>> witness(silent_truncation, Records([1] * 20 + [2] * 20, max_length=20), "perplexity")
    'right 4.48168907, wrong 2.718281828'
    """
    limit, step = run.evidence.max_length or 0, 1 if run.batch else 0
    return _kept(run, items, lambda row, i: i + step < limit)


@entered(
    "overlap-scored-twice",
    "select",
    "More targets than tokens less one.",
    hidden_if="the stride is the window",
    remedy="Score only the new targets of each window; the others are context.",
    needs=("window", "stride"),
)
def overlap_scored_twice(run: Run, items: list[Item]) -> Counts:
    """Targets that a window carries as context are scored again in it.

    >>> witness(overlap_scored_twice, Records([1, 1, 4, 1], window=3, stride=1))
    'right 1.75, wrong 2'
    """
    window, stride, step = run.evidence.window or 1, run.evidence.stride or 1, 1 if run.batch else 0
    times: list[list[int]] = []
    for n in (length - step for length in run.evidence.lengths):
        starts = [start for start in range(0, max(n, 1), stride) if start == 0 or start - stride + window < n]
        times.append([sum(start <= i < start + window for start in starts) for i in range(n)])
    counts = []
    for b, t, c, p in items:
        i = run.ordinal(p)
        again = times[c][i] if 0 <= i < len(times[c]) else 1
        counts.append(again if run.kept[c][p] and run.open(b, t) else 0)
    return counts, counts


@entered(
    "duplicated-eval-rows",
    "select",
    "The value depends on the number of ranks.",
    hidden_if="the rows divide evenly among the ranks",
    remedy="Drop the rows that a sampler repeats to fill the last round.",
    needs=("groups",),
)
def duplicated_eval_rows(run: Run, items: list[Item]) -> Counts:
    """The first rows are scored twice, so that every rank gets as many.

    >>> witness(duplicated_eval_rows, Records([[1], [1], [4]], groups=[[0, 1], [2]]))
    'right 2, wrong 1.75'
    """
    rows, ranks = len(run.evidence.lengths), len(run.groups)
    if not rows % ranks:
        raise DoesNotApply("rows that do not divide evenly among the groups")
    again = ranks - rows % ranks
    counts = [int(run.kept[c][p] and run.open(b, t)) * (2 if b < again else 1) for b, t, c, p in items]
    return counts, counts


# --- private ---------------------------------------------------------------------------------------------------------


def _kept(run: Run, items: list[Item], wanted: Callable[[int, int], bool]) -> Counts:
    """Return the right selection, less the items whose (row, number of the target in it) is not wanted."""
    kept = [run.kept[c][p] and run.open(b, t) and wanted(c, run.ordinal(p)) for b, t, c, p in items]
    return kept, kept
