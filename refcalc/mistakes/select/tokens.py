"""Special tokens that are left out, or counted, by mistake: the end of a text, its start, padding ids, unknown words.

Each function gives for every item (b, t, c, p) how often it counts in the sum, and how often in the denominator.
"""

__all__ = [
    "bos_added_twice",
    "end_token_miscounted",
    "eos_masked_as_pad",
    "eos_nll_without_bytes",
    "oov_dropped",
    "oov_left_out",
    "pad_id_masked_by_value",
    "token_id_zero_dropped",
]

from collections.abc import Sequence

from refcalc.evidence import Batch
from refcalc.mistakes.kind import MEANS, RATES, DoesNotApply, entered
from refcalc.mistakes.pipeline import Item, Run, witness

_EXAMPLES = Batch, witness  # the names that the examples use
Counts = tuple[Sequence[float], Sequence[float]]


@entered(
    "eos-masked-as-pad",
    "select",
    "The end of a text is never scored, and the model never learns to stop.",
    hidden_if="no end token is a target",
    remedy="Mask padding by length or by the attention mask, not by the value of the token.",
    needs=("eos_id",),
    quantities=(*MEANS, "nll_sum"),
)
def eos_masked_as_pad(run: Run, items: list[Item]) -> Counts:
    """Targets that are the end token are left out, because padding has the same id.

    >>> witness(eos_masked_as_pad, Batch([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]], [1, 0, 1], eos_id=1))
    'right 1.410037596, wrong 0.6931471806'
    """
    kept = _without(run, items, run.logits().eos_id)
    return kept, kept


@entered(
    "eos-nll-without-bytes",
    "select",
    "A constant shift for each document.",
    hidden_if="no end token is a target",
    remedy="Say whether the end token's nll, which owns no bytes, is in the sum; compare like with like.",
    reports="marin-community/marin#8975, thinking-machines-lab/tinker-cookbook#823",
    needs=("eos_id",),
    quantities=RATES,
    sort="convention",
)
def eos_nll_without_bytes(run: Run, items: list[Item]) -> Counts:
    """The end token is left out of a rate per byte, because it owns no bytes; here it counts, for it is predicted too.

    >>> batch = Batch([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]], [1, 0, 1], eos_id=1, n_bytes=1)
    >>> witness(eos_nll_without_bytes, batch, "bits_per_byte")
    'right 4.068508494, wrong 1'
    """
    return eos_masked_as_pad(run, items)


@entered(
    "end-token-miscounted",
    "select",
    "Two tools differ by n against n + 1 for each sentence.",
    hidden_if="no end token is a target; small where sentences are long",
    remedy="Count the end token in both sum and denominator, or in neither.",
    reports="kpu/kenlm#181, vsiivola/variKN#12",
    needs=("eos_id",),
    quantities=MEANS,
    aliases=("ppl1",),
)
def end_token_miscounted(run: Run, items: list[Item]) -> Counts:
    """The end token's nll is in the sum, but the token is not counted.

    >>> witness(end_token_miscounted, Batch([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]], [1, 0, 1], eos_id=1))
    'right 1.410037596, wrong 2.820075192'
    """
    return _right(run, items), _without(run, items, run.logits().eos_id)


@entered(
    "token-id-zero-dropped",
    "select",
    "The token with id 0 is never scored.",
    hidden_if="no target has id 0",
    remedy="Compare with None or with the ignore index; do not test whether an id is true.",
    needs=("logits",),
)
def token_id_zero_dropped(run: Run, items: list[Item]) -> Counts:
    """Targets with id 0 are left out, because 0 counts as false, or as padding.

    >>> witness(token_id_zero_dropped, Batch([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]], [1, 0, 1]))
    'right 1.410037596, wrong 2.126928011'
    """
    kept = _without(run, items, 0)
    return kept, kept


@entered(
    "pad-id-masked-by-value",
    "select",
    "A real token that has the padding's id is never scored.",
    hidden_if="no target has the padding's id",
    remedy="Mask padding by length or by the attention mask, not by the value of the token.",
    needs=("pad_id",),
)
def pad_id_masked_by_value(run: Run, items: list[Item]) -> Counts:
    """Targets with the id of the padding are left out wherever they stand.

    >>> witness(pad_id_masked_by_value, Batch([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]], [1, 0, 1], pad_id=1))
    'right 1.410037596, wrong 0.6931471806'
    """
    kept = _without(run, items, run.logits().pad_id)
    return kept, kept


@entered(
    "bos-added-twice",
    "select",
    "The value is diluted, or spoiled, by one target for each text that no text has.",
    hidden_if="sequences begin with one BOS, or none",
    remedy="Look at the first ids: add a BOS only where the tokenizer has not.",
    reports="EleutherAI/lm-evaluation-harness#3333",
    aliases=("bos-scored",),
    needs=("bos_id",),
)
def bos_added_twice(run: Run, items: list[Item]) -> Counts:
    """A BOS that follows a BOS at the head of a text is scored like text.

    >>> rows = [[100.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> witness(bos_added_twice, Batch(rows, [0, 0, 1], bos_id=0))
    'right 0.6931471806, wrong 0.3465735903'
    """
    second = [run.second_bos(c, p) for b, t, c, p in items]
    if not any(second):
        raise DoesNotApply("a BOS after a BOS")
    kept = [keep or bos for keep, bos in zip(_right(run, items), second, strict=True)]
    return kept, kept


@entered(
    "oov-left-out",
    "select",
    "The value falls as the share of unknown words rises.",
    hidden_if="no target is the unknown token",
    remedy="Leave unknown words out of sum and count, or of neither, and say which.",
    reports="neubig/modlm#4, kpu/kenlm#67",
    needs=("unk_id",),
    quantities=MEANS,
)
def oov_left_out(run: Run, items: list[Item]) -> Counts:
    """Unknown words are left out of the sum, but are counted.

    >>> witness(oov_left_out, Batch([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]], [1, 0, 1], unk_id=1))
    'right 1.410037596, wrong 0.3465735903'
    """
    return _without(run, items, run.logits().unk_id), _right(run, items)


@entered(
    "oov-dropped",
    "select",
    "A model with a small vocabulary looks better.",
    hidden_if="no target is the unknown token",
    remedy="Say whether unknown words are scored, and compare models over one vocabulary.",
    reports="kpu/kenlm#67",
    needs=("unk_id",),
    sort="convention",
)
def oov_dropped(run: Run, items: list[Item]) -> Counts:
    """Unknown words are left out of sum and count alike; here they are scored.

    >>> witness(oov_dropped, Batch([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]], [1, 0, 1], unk_id=1))
    'right 1.410037596, wrong 0.6931471806'
    """
    kept = _without(run, items, run.logits().unk_id)
    return kept, kept


# --- private ---------------------------------------------------------------------------------------------------------


def _right(run: Run, items: list[Item]) -> list[bool]:
    return [run.kept[c][p] and run.open(b, t) for b, t, c, p in items]


def _without(run: Run, items: list[Item], token: int | None) -> list[bool]:
    kept = zip(_right(run, items), items, strict=True)
    return [keep and run.target(c, p) != token for keep, (b, t, c, p) in kept]
