"""Which mistake is named first where several give the same number: by reports found, by how silent it is, by its size.

The order is a judgement, not a count.
"""

__all__ = ["RANKING"]

RANKING = (
    *("mean-of-means", "double-shift", "no-shift", "no-shift-first-dropped", "no-shift-last-dropped", "padding-scored"),
    *("bos-added-twice",),
    *("padded-denominator", "prompt-scored", "ignored-labels-scored", "empty-rows-averaged", "empty-rows-nan"),
    *("sum-of-means", "double-scaled", "unshifted-token-count", "macro-vs-micro", "mean-of-perplexities"),
    *("window-start-unscored", "tail-dropped", "mean-of-windows", "window-weight-one-short", "overlap-scored-twice"),
    *("two-to-the-nats", "e-to-the-bits", "bits-without-ln2", "bits-reported-as-nats", "log10-as-natural"),
    *("chars-for-bytes", "bytes-for-chars", "replacement-char-bytes", "transformed-text-bytes"),
    *("exponentiate-then-rescale", "total-as-rate", "rate-as-total", "token-vs-word-unit", "macro-bits-per-byte"),
    *("eos-nll-without-bytes", "smoothed-perplexity", "objective-perplexity", "smoothing-left-out"),
    *("weighted-mean-normaliser", "weights-left-out", "smoothing-k-minus-one", "smoothing-counts-ignored"),
    *("weight-times-smoothing", "unit-mass-smoothing", "class-count-wrong-axis", "target-index-wraps"),
    *("eos-masked-as-pad", "pad-id-masked-by-value", "token-id-zero-dropped"),
    *("document-edge-scored", "cross-row-leak", "boundary-subtracted-twice", "mask-not-shifted", "pad-row-predicts"),
    *("divide-inside-loop",),
    *("double-softmax", "raw-logit-nll", "log-of-softmax-underflow", "epsilon-clipped-log", "epsilon-added-in-log"),
    *("naive-logsumexp", "naive-softmax-nan", "zero-log-zero-nan", "zero-times-inf-mask", "product-underflow"),
    *("bf16-loss", "low-precision-accumulator", "fp16-accumulator", "fp16-lse-width"),
    *("reshape-not-transpose", "softmax-wrong-axis", "softmax-over-batch", "reversed-shift"),
    *("oov-left-out", "oov-dropped", "end-token-miscounted", "prompt-in-denominator", "one-row-denominator"),
    *("all-places-denominator", "divided-by-rows", "divided-by-vocab", "silent-truncation", "duplicated-eval-rows"),
    *("inverted-mask",),
    *("padded-vocab-in-softmax", "ignored-class-in-normaliser", "mean-of-text-perplexities", "nll-as-perplexity"),
    *("perplexity-as-nll", "misnamed-transform", "perplexity-halved", "aux-scaled-by-world"),
)
