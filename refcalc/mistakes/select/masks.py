"""Masks ignored, lagging, inverted, or held against one of sum and count only.

Each function gives for every item (b, t, c, p) how often it counts in the sum, and how often in the denominator.
"""

__all__ = [
    "document_edge_scored",
    "ignored_labels_scored",
    "inverted_mask",
    "mask_not_shifted",
    "pad_row_predicts",
    "padded_denominator",
    "padding_scored",
    "prompt_in_denominator",
    "prompt_scored",
    "zero_times_inf_mask",
]

from collections.abc import Sequence
from math import isfinite

from refcalc.evidence import Batch, Records
from refcalc.mistakes.kind import MEANS, DoesNotApply, entered
from refcalc.mistakes.pipeline import Item, Run, witness
from refcalc.targets import mask_document_starts, mask_padding, mask_prompt

_EXAMPLES = Batch, Records, witness  # the names that the examples use
Counts = tuple[Sequence[float], Sequence[float]]


@entered(
    "padding-scored",
    "select",
    "The value changes with the padding, and so with the batch size.",
    hidden_if="there is no padding",
    remedy="Set labels at padding to the ignore index; an attention mask hides padding from attention only.",
    reports="axolotl-ai-cloud/axolotl#3988, ml-explore/mlx-lm#1855, huggingface/transformers#32832",
)
def padding_scored(run: Run, items: list[Item]) -> Counts:
    """Padding is predicted and scored like text.

    >>> witness(padding_scored, Records([[1, 1, 1], [2, 8, 8]], mask=[[1, 1, 1], [1, 0, 0]]))
    'right 1.25, wrong 3.5'
    """
    batch = run.batch
    if batch is None:
        if run.evidence.mask is None:  # type: ignore[attr-defined]
            raise DoesNotApply("mask")
        return _same([True] * len(items))
    if batch.attention_mask is None:
        raise DoesNotApply("attention_mask")
    return _same([run.kept[c][p] or run.padding(c, p) or not run.open(b, t) for b, t, c, p in items])


@entered(
    "ignored-labels-scored",
    "select",
    "The value does not change when labels are set to the ignore index.",
    hidden_if="no label is ignored",
    remedy="Hand over the labels, not the tokens; tell the loss the ignore index that the labels use.",
    needs=("given_labels",),
    aliases=("ignore-value-mismatch",),
)
def ignored_labels_scored(run: Run, items: list[Item]) -> Counts:
    """Places whose label is ignored are scored against their tokens.

    >>> rows = [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> witness(ignored_labels_scored, Batch(rows, [0, 0, 1], labels=[-100, 0, -100]))
    'right 0.126928011, wrong 0.4100375958'
    """
    return _same([run.open(b, t) and run.open(c, p) for b, t, c, p in items])


@entered(
    "prompt-scored",
    "select",
    "The value changes with the prompt although the answer is the same.",
    hidden_if="prompts are empty",
    remedy="Set the labels of the prompt to the ignore index.",
    needs=("prompt_lengths",),
)
def prompt_scored(run: Run, items: list[Item]) -> Counts:
    """The tokens of the prompt are scored like those of the answer.

    >>> rows = [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> witness(prompt_scored, Batch(rows, [0, 0, 1], prompt_lengths=2))
    'right 0.6931471806, wrong 0.4100375958'
    """
    return _same(_with_prompt(run, items))


@entered(
    "document-edge-scored",
    "select",
    "One target too many for each boundary between packed documents, and each of them is chance.",
    hidden_if="a row holds one document, or the loss at the edges equals the mean",
    remedy="Ignore the first label of each document.",
    reports="pytorch/torchtitan#4075, meta-pytorch/torchtune#1177, alex-hh/profam#504",
    needs=("document_ids",),
)
def document_edge_scored(run: Run, items: list[Item]) -> Counts:
    """The first token of a packed document is scored against the last row of the document before it.

    >>> rows = [[0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> witness(document_edge_scored, Batch(rows, [0, 0, 1, 1], document_ids=[0, 0, 1, 1]))
    'right 0.6931471806, wrong 1.171074124'
    """
    batch = run.logits()
    labels = batch.tokens if batch.given_labels is None else batch.given_labels
    if batch.prompt_lengths is not None:
        masked = labels if batch.attention_mask is None else mask_padding(labels, batch.attention_mask)
        labels = mask_prompt(masked, batch.prompt_lengths, batch.ignore_index)
    return _same(_by_labels(run, items, labels))


@entered(
    "mask-not-shifted",
    "select",
    "The last token of the prompt's neighbour is lost, or one padding place is scored for each sequence.",
    hidden_if="everything counts",
    remedy="Shift the mask together with the labels.",
    reports="OpenRLHF/OpenRLHF#465",
    needs=("logits",),
)
def mask_not_shifted(run: Run, items: list[Item]) -> Counts:
    """The mask of the row decides, not that of its target, so that the mask lags one token behind.

    >>> rows = [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> witness(mask_not_shifted, Batch(rows, [0, 0, 1], labels=[0, 0, -100]))
    'right 0.126928011, wrong 0.4100375958'
    """
    return _same([run.kept[b][t] for b, t, c, p in items])


@entered(
    "pad-row-predicts",
    "select",
    "One target too many for each sequence that is padded on the left.",
    hidden_if="padding is on the right",
    remedy="Count a pair only if both of its places are unmasked.",
    needs=("attention_mask",),
)
def pad_row_predicts(run: Run, items: list[Item]) -> Counts:
    """The first token after padding on the left is scored against a row that has read nothing but padding.

    >>> rows = [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> witness(pad_row_predicts, Batch(rows, [0, 1, 1], attention_mask=[0, 1, 1]))
    'right 0.6931471806, wrong 1.410037596'
    """
    return _same([run.kept[c][p] for b, t, c, p in items])


@entered(
    "inverted-mask",
    "select",
    "The value is that of the prompt, or of the padding.",
    hidden_if="never, where the mask hides anything",
    remedy="Check which of 0 and 1 keeps a place.",
)
def inverted_mask(run: Run, items: list[Item]) -> Counts:
    """What should be left out is scored, and what should be scored is left out.

    >>> witness(inverted_mask, Records([[1, 1, 5]], mask=[[1, 1, 0]]))
    'right 1, wrong 5'
    """
    second = run.second_bos if not run.labels_alone else lambda c, p: False  # labels ignore it like the others
    return _same([not run.kept[c][p] and not second(c, p) for b, t, c, p in items])


@entered(
    "padded-denominator",
    "select",
    "The mean shrinks by the share of places that count.",
    hidden_if="everything counts",
    remedy="Divide by the sum of the mask, not by the size of the array.",
    reports="d2l-ai/d2l-en#2076, ufal/neuralmonkey#806, AI-Hypercomputer/maxtext#366, NovaSky-AI/SkyRL#462, "
    "huggingface/trl#6369, PaddlePaddle/PaddleFormers#4909, neubig/modlm#4, huggingface/lighteval#1290",
    aliases=("mask-numerator-only", "pad-in-token-length", "masked-mean-over-all"),
    quantities=MEANS,
)
def padded_denominator(run: Run, items: list[Item]) -> Counts:
    """Places that do not count add nothing to the sum, but are counted.

    >>> witness(padded_denominator, Records([[1, 1, 1, 0], [2, 0, 0, 0]], mask=[[1, 1, 1, 0], [1, 0, 0, 0]]))
    'right 1.25, wrong 0.625'
    """
    return [run.kept[c][p] and run.open(b, t) for b, t, c, p in items], [True] * len(items)


@entered(
    "prompt-in-denominator",
    "select",
    "Long prompts make the mean small; short answers win.",
    hidden_if="prompts are empty",
    remedy="Divide by the number of scored tokens, those of the answer.",
    needs=("prompt_lengths",),
    aliases=("prompt-in-length-norm",),
    quantities=MEANS,
)
def prompt_in_denominator(run: Run, items: list[Item]) -> Counts:
    """The tokens of the prompt add nothing to the sum, but are counted.

    >>> rows = [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> witness(prompt_in_denominator, Batch(rows, [0, 0, 1], prompt_lengths=2))
    'right 0.6931471806, wrong 0.3465735903'
    """
    return [run.kept[c][p] and run.open(b, t) for b, t, c, p in items], _with_prompt(run, items)


@entered(
    "zero-times-inf-mask",
    "select",
    "nan, although every place that counts is finite.",
    hidden_if="the loss is finite at the places that do not count",
    remedy="Select first, then sum.",
    reports="allenai/open-instruct#1685, google-deepmind/optax#896",
)
def zero_times_inf_mask(run: Run, items: list[Item]) -> Counts:
    """Losses are multiplied by the mask, so that 0 meets infinity at a place that does not count.

    >>> witness(zero_times_inf_mask, Records([1.0, float("inf")], mask=[1, 0]))
    'right 1, wrong nan'
    """
    kept = [run.kept[c][p] and run.open(b, t) for b, t, c, p in items]
    factors: list[float] = list(kept)
    for i, (b, t, c, p) in enumerate(items):
        if not kept[i] and not _finite(run, b, t, run.target(c, p)):
            factors[i] = float("nan")
    return factors, kept


# --- private ---------------------------------------------------------------------------------------------------------


def _finite(run: Run, b: int, t: int, y: int) -> bool:
    try:
        return isfinite(run.nll(b, t, y))
    except ValueError:  # a nan in a row of padding
        return False


def _same(counted: Sequence[float]) -> Counts:
    return counted, counted


def _by_labels(run: Run, items: list[Item], labels: list[list[int]]) -> list[bool]:
    ignored = run.logits().ignore_index

    def wanted(c: int, p: int) -> bool:
        return labels[c][p] != ignored and not (run.masked(c, p) or run.second_bos(c, p))

    return [run.open(b, t) and wanted(c, p) for b, t, c, p in items]


def _with_prompt(run: Run, items: list[Item]) -> list[bool]:
    batch = run.logits()
    labels = batch.tokens if batch.given_labels is None else batch.given_labels
    if batch.document_ids is not None:
        masked = mask_document_starts(labels, batch.document_ids, batch.ignore_index)
        labels = [[*before[:1], *after[1:]] for before, after in zip(labels, masked, strict=True)]
    return _by_labels(run, items, labels)
