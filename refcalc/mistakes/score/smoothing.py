"""Label smoothing and class weights done wrongly: which share each class has in the loss of one target.

Each function gives the whole loss, weights and smoothing included; e is label_smoothing, K the number of classes.
"""

__all__ = [
    "class_count_wrong_axis",
    "smoothed_perplexity",
    "smoothing_k_minus_one",
    "smoothing_left_out",
    "unit_mass_smoothing",
    "weight_times_smoothing",
]

from refcalc.evidence import Batch
from refcalc.mistakes.kind import ALL, LOSSES, DoesNotApply, entered
from refcalc.mistakes.pipeline import Run, witness

_EXAMPLES = Batch, witness  # the names that the examples use


@entered(
    "smoothing-k-minus-one",
    "score",
    "The loss equals the right one of a smoothing that is larger by K / (K - 1).",
    hidden_if="label_smoothing is 0; small where K is large",
    remedy="Say which is meant; PyTorch and ONNX spread e over all K classes.",
    reports="mindspore-ai/mindspore#73, fastai/fastai#1814, OpenNMT/OpenNMT#570, awslabs/sockeye#203",
    quantities=LOSSES,
    sort="convention",
    whole_loss=True,
)
def smoothing_k_minus_one(run: Run, b: int, t: int, y: int) -> float:
    """The smoothing is spread over the K - 1 other classes, not over all K.

    >>> witness(smoothing_k_minus_one, Batch([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [0, 2], label_smoothing=0.1))
    'right 0.5076059644, wrong 0.5576059644'
    """
    e, k = _smoothing(run), run.logits().classes
    if k == 1:
        raise DoesNotApply("two classes")
    own = run.share(y) * run.nll(b, t, y)
    return (1.0 - e) * own + e / (k - 1) * (run.uniform(b, t) - own)


@entered(
    "unit-mass-smoothing",
    "score",
    "The loss is far too high; the target probabilities of a row sum to 2 - e.",
    hidden_if="label_smoothing is 0 or 1",
    remedy="Add e / K to each class, so that the target probabilities sum to 1.",
    reports="TimDettmers/ConvE#55",
    quantities=LOSSES,
    whole_loss=True,
)
def unit_mass_smoothing(run: Run, b: int, t: int, y: int) -> float:
    """1 / K is added to each class where it should be e / K.

    >>> witness(unit_mass_smoothing, Batch([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [0, 2], label_smoothing=0.1))
    'right 0.5076059644, wrong 1.774451332'
    """
    e, k = _smoothing(run), run.logits().classes
    return (1.0 - e) * run.share(y) * run.nll(b, t, y) + run.uniform(b, t) / k


@entered(
    "class-count-wrong-axis",
    "score",
    "The smoothed loss depends on the length of the sequence.",
    hidden_if="T = K, or label_smoothing is 0",
    remedy="Read K from the class axis.",
    reports="tensorflow/tensorflow#39329, tensorflow/tensorflow#32231",
    quantities=LOSSES,
    whole_loss=True,
)
def class_count_wrong_axis(run: Run, b: int, t: int, y: int) -> float:
    """The K of e / K is read from the time axis: the number of rows that have a target.

    >>> rows = [[1.0, 2.0, 3.0]] * 8 + [[0.0, 0.0, 0.0]]
    >>> witness(class_count_wrong_axis, Batch(rows, [2] * 9, label_smoothing=0.1))
    'right 0.5076059644, wrong 0.4196305917'
    """
    e, k = _smoothing(run), max(run.evidence.lengths[b] - 1, 1)
    return (1.0 - e) * run.share(y) * run.nll(b, t, y) + e / k * run.uniform(b, t)


@entered(
    "weight-times-smoothing",
    "score",
    "A small difference that is there only where both options are.",
    hidden_if="all weights are equal, or label_smoothing is 0",
    remedy="Say which is meant; PyTorch weights each class of the smoothed target.",
    reports="pytorch/pytorch#104776, pytorch/pytorch#69339",
    needs=("weight",),
    quantities=LOSSES,
    sort="convention",
    whole_loss=True,
)
def weight_times_smoothing(run: Run, b: int, t: int, y: int) -> float:
    """The whole smoothed loss is multiplied by the target's weight, where each class's share has its own weight.

    >>> rows, options = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], {"label_smoothing": 0.3}
    >>> witness(weight_times_smoothing, Batch(rows, [1, 2, 0], weight=[1.0, 2.0, 4.0], **options))
    'right 0.6729356159, wrong 0.7858072293'
    """
    e, k = _smoothing(run), run.logits().classes
    return run.share(y) * ((1.0 - e) * run.nll(b, t, y) + e / k * run.plain_uniform(b, t))


@entered(
    "smoothing-left-out",
    "score",
    "The loss is below that of a smoothed objective, by about e log K.",
    hidden_if="label_smoothing is 0",
    remedy="Compare the smoothed loss with a smoothed loss, or the plain nll with a plain nll.",
    quantities=LOSSES,
    whole_loss=True,
)
def smoothing_left_out(run: Run, b: int, t: int, y: int) -> float:
    """The plain nll is reported as the loss of an objective with label smoothing.

    >>> witness(smoothing_left_out, Batch([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [0, 2], label_smoothing=0.1))
    'right 0.5076059644, wrong 0.4076059644'
    """
    _smoothing(run)
    return run.share(y) * run.nll(b, t, y)


@entered(
    "smoothed-perplexity",
    "score",
    "The perplexity of a perfect model is above 1.",
    hidden_if="label_smoothing is 0",
    remedy="Take the plain nll for every number that measures the model; the smoothed loss is for training.",
    reports="OpenNMT/OpenNMT-py#462, tensorflow/tensor2tensor#117, pytorch/pytorch#130342",
    quantities=tuple(quantity for quantity in ALL if quantity not in LOSSES),
    whole_loss=True,
)
def smoothed_perplexity(run: Run, b: int, t: int, y: int) -> float:
    """The label-smoothed objective is converted, where it should be the plain nll.

    >>> rows = [[2.8903717578961645, 0.0, 0.0], [0.0, 0.0, 0.0]]      # probabilities 0.9, 0.05, 0.05
    >>> witness(smoothed_perplexity, Batch(rows, [1, 0], label_smoothing=0.1), "perplexity")
    'right 1.111111111, wrong 1.347231797'
    """
    batch = run.logits()
    e = batch.label_smoothing
    if not e:
        raise DoesNotApply("label_smoothing")
    return (1.0 - e) * run.nll(b, t, y) + e / batch.classes * run.uniform(b, t)


# --- private ---------------------------------------------------------------------------------------------------------


def _smoothing(run: Run) -> float:
    run.logits()
    if not run.smoothing:
        raise DoesNotApply("label_smoothing")
    return run.smoothing
