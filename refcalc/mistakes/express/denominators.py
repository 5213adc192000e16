"""Sums divided by the wrong count of text, or by none: bytes, characters, words and tokens taken for each other.

Each function gives the quantity from the mean, the sum and the count.
"""

__all__ = [
    "bytes_for_chars",
    "chars_for_bytes",
    "exponentiate_then_rescale",
    "macro_bits_per_byte",
    "rate_as_total",
    "replacement_char_bytes",
    "token_vs_word_unit",
    "total_as_rate",
    "transformed_text_bytes",
]

from refcalc.evidence import Records
from refcalc.mistakes.arithmetic import add, exponential
from refcalc.mistakes.kind import PERPLEXITIES, RATES, DoesNotApply, entered
from refcalc.mistakes.pipeline import COUNT_OF, Reduced, Run, restated, witness

_EXAMPLES = Records, witness  # the names that the examples use
PER_BYTE = ("bits_per_byte", "byte_perplexity")


@entered(
    "total-as-rate",
    "express",
    "A huge value that grows with the text.",
    hidden_if="the denominator is 1",
    remedy="Divide by the count that the name promises.",
    reports="pbloem/former#38",
    aliases=("sum-as-mean",),
    quantities=("mean_nll", "bits_per_token", "bits_per_byte", "bits_per_char"),
)
def total_as_rate(run: Run, reduced: Reduced) -> float:
    """The sum over all targets is reported under the name of a rate.

    >>> witness(total_as_rate, Records([24 * 0.6931471805599453], n_bytes=8), "bits_per_byte")
    'right 3, wrong 24'
    """
    return _over(run, reduced, 1.0)


@entered(
    "rate-as-total",
    "express",
    "The sum does not grow with the text.",
    hidden_if="there is one target",
    remedy="Add up the losses of all targets.",
    aliases=("mean-as-sum",),
    quantities=("nll_sum",),
)
def rate_as_total(run: Run, reduced: Reduced) -> float:
    """The mean is reported as the sum.

    >>> witness(rate_as_total, Records([1.0, 3.0]), "nll_sum")
    'right 4, wrong 2'
    """
    return reduced.mean


@entered(
    "chars-for-bytes",
    "express",
    "The value differs on text beyond ASCII only.",
    hidden_if="the text is ASCII",
    remedy="Count the bytes of the UTF-8 encoding: len(text.encode()), not len(text).",
    quantities=PER_BYTE,
)
def chars_for_bytes(run: Run, reduced: Reduced) -> float:
    """The characters of the text are counted as its bytes.

    >>> witness(chars_for_bytes, Records([6.0], text="caf\\u00e9"), "bits_per_byte")
    'right 1.731234049, wrong 2.164042561'
    """
    return _over_count(run, reduced, "n_chars")


@entered(
    "bytes-for-chars",
    "express",
    "The value differs on text beyond ASCII only.",
    hidden_if="the text is ASCII",
    remedy="Count code points: len(text), not len(text.encode()).",
    quantities=("bits_per_char",),
)
def bytes_for_chars(run: Run, reduced: Reduced) -> float:
    """The bytes of the text are counted as its characters.

    >>> witness(bytes_for_chars, Records([6.0], text="caf\\u00e9"), "bits_per_char")
    'right 2.164042561, wrong 1.731234049'
    """
    return _over_count(run, reduced, "n_bytes")


@entered(
    "token-vs-word-unit",
    "express",
    "The value is that of tokens, too high for bytes, too low for words.",
    hidden_if="there are as many tokens as units",
    remedy="Divide the sum by the unit's own count.",
    aliases=("tokens-for-bytes",),
    quantities=RATES,
)
def token_vs_word_unit(run: Run, reduced: Reduced) -> float:
    """The value per token is reported as one per byte, character or word.

    >>> witness(token_vs_word_unit, Records([3.0] * 8, n_words=6), "word_perplexity")
    'right 54.59815003, wrong 20.08553692'
    """
    return _over(run, reduced, reduced.n)


@entered(
    "exponentiate-then-rescale",
    "express",
    "Word perplexities that are far too low and not comparable between tokenizers.",
    hidden_if="there are as many tokens as units",
    remedy="Rescale the loss, then take exp: exp(sum / words).",
    reports="openai/gpt-2#78, huggingface/transformers#483, facebookresearch/metaseq#325",
    quantities=tuple(quantity for quantity in PERPLEXITIES if quantity in RATES),
)
def exponentiate_then_rescale(run: Run, reduced: Reduced) -> float:
    """The perplexity per token is multiplied by the tokens per word, where the loss should be.

    >>> witness(exponentiate_then_rescale, Records([3.0] * 8, n_words=6), "word_perplexity")
    'right 54.59815003, wrong 26.7807159'
    """
    return exponential(reduced.mean) * reduced.n / _count(run, COUNT_OF[run.quantity])


@entered(
    "macro-bits-per-byte",
    "express",
    "Short documents dominate.",
    hidden_if="there is one document, or all have equal rates",
    remedy="Add up sums and bytes over the documents, and divide once.",
    reports="allenai/olmo-eval#280, EleutherAI/lm-evaluation-harness#2301",
    aliases=("mean-of-rates",),
    quantities=RATES,
)
def macro_bits_per_byte(run: Run, reduced: Reduced) -> float:
    """The rate of each document is computed, and the rates are averaged.

    >>> witness(macro_bits_per_byte, Records([[10.0], [6.0]], n_bytes=[10, 2]), "bits_per_byte")
    'right 1.923593388, wrong 2.885390082'
    """
    counts = run.evidence.counts[COUNT_OF[run.quantity]]
    if counts is None or len(counts) != len(run.evidence.lengths):
        raise DoesNotApply(f"{COUNT_OF[run.quantity]} for each row")
    rates = [_over(run, reduced.part([b]), count) for b, count in enumerate(counts) if count]
    return add(rates) / len(rates)


@entered(
    "replacement-char-bytes",
    "express",
    "The rate is too good; the bytes of the tokens do not sum to those of the text.",
    hidden_if="no token is a fragment of a character",
    remedy="Count the bytes of the text, or look the tokens' bytes up undecoded.",
    reports="karpathy/autoresearch#384, karpathy/nanochat#693",
    needs=("pieces",),
    quantities=PER_BYTE,
)
def replacement_char_bytes(run: Run, reduced: Reduced) -> float:
    """Tokens are decoded one by one to count their bytes, so that a fragment of a character counts as 3.

    >>> pieces = [b"caf", b"\\xc3", b"\\xa9"]
    >>> witness(replacement_char_bytes, Records([2.0, 2.0, 2.0], pieces=pieces, n_bytes=5), "bits_per_byte")
    'right 1.731234049, wrong 0.9617966939'
    """
    pieces = run.evidence.pieces or []
    return _over(run, reduced, sum(len(piece.decode("utf-8", "replace").encode()) for piece in pieces))


@entered(
    "transformed-text-bytes",
    "express",
    "The rate is too good, by the number of spaces.",
    hidden_if="the text has no spaces",
    remedy="Count the bytes of the original text.",
    reports="openai/parameter-golf#897, openai/parameter-golf#2138",
    needs=("text",),
    quantities=PER_BYTE,
)
def transformed_text_bytes(run: Run, reduced: Reduced) -> float:
    """The bytes of the tokenizer's own text are counted, in which a space is the three bytes of U+2581.

    >>> witness(transformed_text_bytes, Records([5.0], text=" a b"), "bits_per_byte")
    'right 1.803368801, wrong 0.9016844006'
    """
    texts = run.evidence.text or []
    return _over(run, reduced, sum(len(text.replace(" ", "\u2581").encode()) for text in texts))


# --- private ---------------------------------------------------------------------------------------------------------


def _count(run: Run, name: str) -> int:
    count = run.evidence.total(name)
    if not count:
        raise DoesNotApply(name)
    return count


def _over_count(run: Run, reduced: Reduced, name: str) -> float:
    return _over(run, reduced, _count(run, name))


def _over(run: Run, reduced: Reduced, count: float) -> float:
    """Return the quantity with another denominator."""
    if not count:
        raise DoesNotApply("a count above 0")
    wanted = reduced.total / count
    return restated(run, reduced, lambda nats: wanted)
