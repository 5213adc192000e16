"""Public cases of wrong numbers as evidence: what was computed, the number it gave, and the mistake that gives it.

Each case is (name, mistake, evidence, quantity, wrong, right).  Numbers of the reports' own wording are not copied; the
values are small rationals and logarithms, so that they can be checked by hand.
"""

__all__ = ["CASES", "batch"]

from math import exp, expm1, inf, log, nan

from refcalc import Batch, Records

LN10 = log(10)


def row(nll: float, target: int = 0) -> list[float]:
    """Return a row of two scores that gives a target this nll."""
    other = log(expm1(nll)) if nll else -inf
    return [0.0, other] if target == 0 else [other, 0.0]


def batch(nlls: list[list[float]], tokens: list[list[int]] | None = None, last: float = 0.5, **options) -> Batch:
    """Return a batch in which target t + 1 of each sequence has the nll given; the last row predicts 0 with `last`."""
    ids = tokens or [[0] * (len(each) + 1) for each in nlls]
    logits = [
        [*(row(nll, y) for nll, y in zip(each, sequence[1:], strict=True)), row(last)]
        for each, sequence in zip(nlls, ids, strict=True)
    ]
    return Batch(logits, ids, **options)


SHIFTED = [[2.0, 0, 0], [0, 1.0, 0], [0, 0, 3.0], [1.0, 1.0, 1.0]]
SMOOTH = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
PAIR = [[0], [1]]
THREE = [[0], [1], [2]]
NINES = [[2.0] * 11]

CASES = [
    ("A1", "mean-of-means", Records([[2, 2, 2, 2], [1]], groups=PAIR), "mean_nll", 1.5, 1.8),
    ("A3", "double-scaled", Records([[2, 4], [1, 3]], groups=PAIR), "mean_nll", 1.25, 2.5),
    ("A6", "missing-world-size", Records([[3], [1, 1, 1]], groups=PAIR), "mean_nll", 0.75, 1.5),
    ("A7", "aux-scaled-by-world", Records([[2.0]] * 4, aux=0.05, groups=[[0], [1], [2], [3]]), "mean_nll", 2.2, 2.0),
    ("A7, the objective", "objective-perplexity", Records([[2.0]] * 4, aux=0.05), "mean_nll", 2.05, 2.0),
    ("A8", "unshifted-token-count", Records([[1.2, 0.6, 0.9]]), "mean_nll", 0.675, 0.9),
    ("A8, logits", "unshifted-token-count", batch([[1.2, 0.6, 0.9]]), "mean_nll", 0.675, 0.9),
    ("A9", "boundary-subtracted-twice", batch(NINES, document_ids=[[i // 4 for i in range(12)]]),
     "mean_nll", 18 / 7, 2),
    ("A10", "padded-denominator", Records([[1, 1, 1, 7], [2, 7, 7, 7]], mask=[[1, 1, 1, 0], [1, 0, 0, 0]]),
     "mean_nll", 0.625, 1.25),
    ("all places", "all-places-denominator", batch([[1, 1, 1], [2, 8, 8]], attention_mask=[[1] * 4, [1, 1, 0, 0]]),
     "mean_nll", 0.625, 1.25),
    ("A12", "short-last-batch", Records([[1] * 4, [1] * 4, [5]], groups=THREE), "mean_nll", 7 / 3, 13 / 9),
    ("A13", "batch-size-dependent-eval", Records([[4], [1, 1, 1], [2, 2]], groups=[[0, 1], [2]]),
     "mean_nll", 1.875, 11 / 6),
    ("A13, batches of one", "batch-size-dependent-eval", Records([[4], [1, 1, 1], [2, 2]], groups=THREE),
     "mean_nll", 7 / 3, 11 / 6),
    ("A15", "chunk-means-added", Records([[1, 2], [3, 4], [5, 6]], groups=THREE), "mean_nll", 10.5, 3.5),
    ("A16", "mask-numerator-only", Records([1, 1, 2, 2, 9], mask=[1, 1, 1, 1, 0]), "mean_nll", 1.2, 1.5),
    ("A18", "one-row-denominator", Records([[1, 2, 3], [2, 2, 2]]), "mean_nll", 4, 2),
    ("A19", "macro-vs-micro", Records([[1] * 9, [3]]), "mean_nll", 2, 1.2),
    ("B1", "double-shift", Batch(SHIFTED, [0, 0, 1, 2]), "mean_nll", 1.895494740076968, 0.2953041455249656),
    ("B2", "no-shift", Batch(SHIFTED, [0, 0, 1, 2]), "mean_nll", 1.4961311813107516, 0.2953041455249656),
    ("B4", "shard-edge-target-lost", Records([1, 1, 1, 7, 1, 1, 1], window=4), "mean_nll", 1, 13 / 7),
    ("B5", "cross-row-leak", batch([[0.5], [0.7]], last=4.0), "mean_nll", 5.2 / 3, 0.6),
    ("B6", "reshape-not-transpose", Batch([[0, 5.0, 0], [0, 0, 5.0], [0, 0, 0]], [0, 1, 2]),
     "mean_nll", 0.8975613902250944, 0.013385901721449045),
    ("B9", "mask-not-shifted", batch([[3.0, 0.2, 0.4]], [[0, 0, 1, 0]], labels=[[-100, -100, 1, 0]]),
     "mean_nll", 0.4, 0.3),
    ("C1", "padding-scored", Records([[1, 1, 1], [2, 8, 8]], mask=[[1, 1, 1], [1, 0, 0]]), "mean_nll", 3.5, 1.25),
    ("C1, logits", "padding-scored", batch([[1, 1, 1], [2, 8, 8]], attention_mask=[[1] * 4, [1, 1, 0, 0]]),
     "mean_nll", 3.5, 1.25),
    ("C4", "empty-rows-averaged", Records([[1, 3], []]), "mean_nll", 1, 2),
    ("C4, 0/0 kept", "empty-rows-nan", Records([[1, 3], []]), "mean_nll", nan, 2),
    # A convention: what torch gives is the right number here, and the other custom is what is named.
    ("C5", "ignored-class-in-normaliser", Batch([[0, 1.0, 1.0], [0, 0, 0]], [2, 1], ignore_index=0),
     "mean_nll", log(2), 0.8619948040582512),
    ("C6", "smoothing-counts-ignored",
     Batch([*SMOOTH, [0, 0, 0]], [0, 2, 0], labels=[0, 2, -100], label_smoothing=0.3),
     "mean_nll", 0.6612569130779399, 0.7076059644443805),
    ("C7", "document-edge-scored", batch([[0.5, 6.0, 0.7]], document_ids=[[0, 0, 1, 1]]), "mean_nll", 2.4, 0.6),
    ("C9", "bos-added-twice", batch([[0.0, 2.0, 1.0]], [[1, 1, 0, 0]], bos_id=1), "perplexity", exp(1), exp(1.5)),
    ("C10", "padded-vocab-in-softmax", Batch([[2.0, 1.0, 0, 0], [0, 0, 0, 0]], [0, 0], vocab_size=3),
     "mean_nll", 0.4938117090722387, 0.4076059644443806),
    ("C12", "zero-times-inf-mask", Records([1.0, inf], mask=[1, 0]), "mean_nll", nan, 1),
    ("D1", "mean-of-perplexities", Records([[1.0], [3.0]]), "perplexity", (exp(1) + exp(3)) / 2, exp(2)),
    ("D4", "smoothed-perplexity", Batch([[log(0.9), log(0.05), log(0.05)], [0, 0, 0]], [0, 0], label_smoothing=0.1),
     "perplexity", 1.3472317965562466, 1 / 0.9),
    ("D5", "objective-perplexity", Records([2.0] * 10, aux=0.5), "perplexity", exp(2.5), exp(2)),
    ("D6", "misnamed-transform", Records([4.0]), "perplexity", 2, exp(4)),
    ("D6, halved", "perplexity-halved", Records([4.0]), "perplexity", exp(4) / 2, exp(4)),
    ("D8", "product-underflow", Records([log(2)] * 2000), "perplexity", inf, 2),
    ("E1", "two-to-the-nats", Records([3.0]), "perplexity", 8, exp(3)),
    ("E3", "bits-without-ln2", Records([6.0], n_bytes=4), "bits_per_byte", 1.5, 6 / (4 * log(2))),
    ("E4", "log10-as-natural", Records([LN10] * 3), "perplexity", exp(1), 10),
    ("E5", "total-as-rate", Records([24 * log(2)], n_bytes=8), "bits_per_byte", 24, 3),
    ("E7", "replacement-char-bytes", Records([2.0] * 3, pieces=[b"caf", b"\xc3", b"\xa9"], n_bytes=5),
     "bits_per_byte", 6 / (9 * log(2)), 6 / (5 * log(2))),
    ("E8", "transformed-text-bytes", Records([5.0], text=" a b"), "bits_per_byte", 5 / (8 * log(2)), 5 / (4 * log(2))),
    # A convention: here the end token counts, and the other custom is what is named.
    ("E9", "eos-nll-without-bytes", batch([[2.0, 2.0, 2.0, 3.0]], [[0, 0, 0, 0, 1]], eos_id=1, n_bytes=6),
     "bits_per_byte", 1 / log(2), 1.5 / log(2)),
    ("E10", "exponentiate-then-rescale", Records([3.0] * 8, n_words=6), "word_perplexity", exp(3) * 8 / 6, exp(4)),
    ("E12", "macro-bits-per-byte", Records([[10.0], [6.0]], n_bytes=[10, 2]),
     "bits_per_byte", 2 / log(2), 4 / 3 / log(2)),
    ("F1", "tail-dropped", Records([1] * 6 + [9], window=3), "perplexity", exp(1), exp(15 / 7)),
    ("F2", "window-start-unscored", Records([1, 1, 1, 5, 1, 1, 1], window=4), "perplexity", exp(1), exp(11 / 7)),
    ("F4", "mean-of-means", Records([[2.0] * 4, [7.0]], groups=PAIR), "perplexity", exp(4.5), exp(3)),
    ("F4, windows", "mean-of-windows", Records([2.0] * 4 + [7.0], window=4), "perplexity", exp(4.5), exp(3)),
    ("F7", "silent-truncation", Records([1.0] * 20 + [2.0] * 20, max_length=20), "perplexity", exp(1), exp(1.5)),
    ("F9", "window-weight-one-short", Records([1, 1, 1, 4, 4], window=3, stride=2), "mean_nll", 1.75, 2.2),
    ("G4", "zero-log-zero-nan", Batch([[-inf, 0], [0, 0]], [0, 1]), "mean_nll", nan, 0),
    ("G5", "log-of-softmax-underflow", Batch([[0, 800.0], [0, 0]], [1, 0]), "mean_nll", inf, 800),
    ("G6", "epsilon-clipped-log", Batch([[0, 30.0], [0, 0]], [1, 0]),
     "mean_nll", 16.11809565095832, 30.000000000000092),
    ("G8", "low-precision-accumulator", Records([1.0] * 512), "mean_nll", 0.5, 1),
    ("G10", "fp16-lse-width", Batch([[0.0] * 65536] * 2, [0, 0]), "mean_nll", inf, 11.090354888959125),
    ("G11", "double-softmax", Batch([[0, -inf, -inf], [0, 0, 0]], [0, 0]), "mean_nll", 0.5514447139320511, 0),
    ("H1", "weighted-mean-normaliser", Batch([*SMOOTH, [0, 0, 0]], [1, 2, 0], weight=[1, 2, 4]),
     "mean_nll", 1.3645180732228162, 0.5458072292891265),
    ("H2", "weights-not-additive", batch([[1.0], [3.0]], [[0, 0], [0, 1]], weight=[4, 1], groups=PAIR),
     "mean_nll", 2, 1.4),
    ("H5", "weight-times-smoothing", Batch([*SMOOTH, [0, 0, 0]], [1, 2, 0], weight=[1, 2, 4], label_smoothing=0.3),
     "mean_nll", 0.7858072292891263, 0.6729356159381371),
    ("H6", "smoothing-k-minus-one", Batch(SMOOTH, [0, 2], label_smoothing=0.1),
     "mean_nll", 0.5576059644443806, 0.5076059644443806),
    ("H7", "unit-mass-smoothing", Batch(SMOOTH, [0, 2], label_smoothing=0.1),
     "mean_nll", 1.7744513324443232, 0.5076059644443806),
    ("H8", "class-count-wrong-axis", Batch([[1.0, 2.0, 3.0]] * 8 + [[0, 0, 0]], [2] * 9, label_smoothing=0.1),
     "mean_nll", 0.41963059166660677, 0.5076059644443806),
    ("H9", "target-index-wraps", Batch(SMOOTH, [0, 0], labels=[0, -1]), "mean_nll", 0.4076059644443806, None),
    ("I9", "end-token-miscounted", batch([[5 / 3 * LN10] * 3 + [LN10]], [[0, 0, 0, 0, 1]], eos_id=1),
     "perplexity", 100, 10**1.5),
    ("I9, left out of both", "eos-masked-as-pad", batch([[5 / 3 * LN10] * 3 + [LN10]], [[0, 0, 0, 0, 1]], eos_id=1),
     "perplexity", 10 ** (5 / 3), 10**1.5),
    ("I10", "oov-left-out", batch([[2.0, 2.0, 10.0]], [[0, 0, 0, 1]], unk_id=1), "perplexity", exp(4 / 3), exp(14 / 3)),
    ("I10, dropped from both", "oov-dropped", batch([[2.0, 2.0, 10.0]], [[0, 0, 0, 1]], unk_id=1),
     "perplexity", exp(2), exp(14 / 3)),
    ("J7", "pad-in-token-length", Records([1.5, 1.5, 9], mask=[1, 1, 0]), "mean_nll", 1, 1.5),
]  # fmt: skip
