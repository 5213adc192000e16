"""A small batch on which every mistake, and every two of different steps, give another number."""

__all__ = ["Proof", "probe", "prove", "proven", "record_of"]

from collections.abc import Iterable
from functools import lru_cache
from math import isfinite
from random import Random
from typing import Any, NamedTuple

from refcalc import _check
from refcalc.evidence import Batch
from refcalc.mistakes.kind import ALL
from refcalc.mistakes.trials import Nearness, Trials

CLASSES, COLUMNS = 11, 13  # the real vocabulary, and the one that it is padded to
EOS, BOS, PAD, UNK = 2, 1, 5, 7
FIRST = 11  # with seed 0 the first draw serves for every quantity
ATTEMPTS = 40

# Five sequences of eight places.  Lower-case letters stand for tokens that are drawn.
#   B, E, P, U, 0   BOS, EOS, the padding's id as a real token, UNK, id 0
#   .               padding         -  a place whose label is ignored
TOKENS = ["BBtt0t..", "BttEtttE", "..BtUtE-", "BEP0t0tE", "--------"]
DOCUMENTS = ["00000000", "00001111", "00000000", "00001112", "00000000"]
PROMPTS = [0, 2, 0, 0, 0]
GROUPS = [[0, 1], [2, 4], [3]]
TEXTS = ["na\u00efve no\u00ebl d", "a b \u2260 \u03b1\u03b2 z", "caf\u00e9s", "so \u2192 it is \u2026 an end", ""]
WINDOW, STRIDE, MAX_LENGTH, AUX = 5, 2, 5, 0.3125


class Proof(NamedTuple):
    """What a batch can and cannot tell apart, for one quantity computed in one dtype.

    alone: mistakes that no other single mistake and no pair gives the number of.
    hidden: mistakes that change nothing here.  coincide: groups of mistakes and pairs that give one number.
    """

    alone: tuple[str, ...]
    hidden: tuple[str, ...]
    coincide: tuple[tuple[tuple[str, ...], ...], ...]


def probe(seed: int = 0, *, quantity: str = "mean_nll", label_smoothing: float = 0.0, weighted: bool = False) -> Batch:
    """Return a batch that tells the mistakes apart that can change a quantity: five sequences of eight tokens.

    seed: a whole number; the same one gives the same batch on every platform.
    label_smoothing, weighted: options of the loss; with them the mistakes that they make possible can be told apart.

    The rows have more columns than there are classes: give a loss of your own logits[..., :vocab_size].
    `refcalc probe` writes the batch with a comment: answers, the right number for each quantity; labels_to_score, the
    labels with -100 wherever nothing is scored; and, as `prove` finds them, the mistakes that are hidden and the groups
    that coincide.

    The scores are multiples of 1/256, exact in float16 and wider.  Mistakes that show only as inf or nan are not asked
    for: on extreme scores they coincide with each other, and here they are hidden.

    >>> from refcalc import diagnose
    >>> batch = probe()
    >>> batch.tokens[1][3], len(batch.logits[0][0])
    (2, 13)

    Raises TypeError if the seed is no whole number, ValueError for an unknown quantity or a smoothing outside [0, 1].
    """
    return proven(seed, quantity, label_smoothing, weighted)[0]


def proven(seed: int, quantity: str, label_smoothing: float, weighted: bool) -> tuple[Batch, Proof]:
    """Return a probe with what it can tell apart in float32, by which it was chosen.

    >>> batch, proof = proven(0, "mean_nll", 0.0, False)
    >>> proof == prove(batch, "mean_nll", "float32")
    True
    """
    whole = _check.whole("probe", "seed", seed)
    _check.choice("probe", "quantity", quantity, ALL)
    smoothing = _check.fraction_of_one("probe", "label_smoothing", label_smoothing)
    return _best(whole, quantity, smoothing, bool(weighted))


def prove(batch: Batch, quantity: str = "mean_nll", dtype: str = "float64") -> Proof:
    """Return which mistakes a batch tells apart, by computing all of them and all pairs.

    >>> "no-shift" in prove(probe()).alone
    True
    """
    trials = Trials(batch, quantity, dtype)
    singles, _ = trials.singles()
    near = Nearness(trials, 0.0, None)
    right = trials.right
    known = () if right is None else (right,)

    def shown(values: Iterable[float], others: Iterable[float]) -> list[float]:
        return [value for value in values if not any(near.same(value, other) for other in others)]

    hidden = {names for names, values in singles.items() if not shown(values, known)}
    numbers = [(value, names) for names, values in singles.items() for value in shown(values, known)]
    for names, values in trials.pairs().items():
        members = [value for name in names for value in singles[name,]]
        numbers += [(value, names) for value in shown(values, (*known, *members))]
    groups = _grouped(numbers, near)
    coincide = tuple(group for group in groups if len(group) > 1)
    beside = {names for group in coincide for names in group}
    alone = {group[0][0] for group in groups if len(group[0]) == 1 and group[0] not in beside}
    return Proof(tuple(sorted(alone)), tuple(sorted(name for (name,) in hidden)), coincide)


def record_of(batch: Batch) -> dict[str, Any]:
    """Return a probe as the JSON object that the command line reads."""
    record: dict[str, Any] = {
        "tokens": batch.tokens,
        "labels": batch.given_labels,
        "attention_mask": [[int(kept) for kept in row] for row in batch.attention_mask or []],
        "pieces": [list(piece) for piece in batch.pieces or []],
    }
    for key in (
        "document_ids",
        "prompt_lengths",
        "groups",
        "text",
        "vocab_size",
        "eos_id",
        "bos_id",
        "pad_id",
        "unk_id",
    ):
        record[key] = getattr(batch, key)
    for key in ("window", "stride", "max_length", "aux", "weight", "label_smoothing"):
        if getattr(batch, key):
            record[key] = getattr(batch, key)
    return {**record, "logits": batch.logits}


# --- private ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _best(seed: int, quantity: str, smoothing: float, weighted: bool) -> tuple[Batch, Proof]:
    """Return the first batch drawn that tells everything apart, or the one of many with the fewest faults."""
    best, fewest = None, 10**9
    for attempt in range(ATTEMPTS):
        batch = _drawn(Random(seed * 1000 + FIRST + attempt), smoothing, weighted)
        proof = prove(batch, quantity, "float32")
        faults = _faults(proof)
        if faults < fewest:
            best, fewest = (batch, proof), faults
        if not faults:
            break
    assert best is not None
    return best


def _faults(proof: Proof) -> int:
    """Return how many groups hold a single mistake beside another, or more than three pairs."""
    return sum(len(group[0]) == 1 or len(group) > 3 for group in proof.coincide)


def _grouped(numbers: Iterable[tuple[float, tuple[str, ...]]], near: Nearness) -> list[tuple[tuple[str, ...], ...]]:
    """Return the names in groups of one finite number; in order of size, each is compared with the one before."""
    ordered = sorted((pair for pair in numbers if isfinite(pair[0])), key=lambda pair: (pair[0], pair[1]))
    groups: list[list[tuple[str, ...]]] = []
    last = None
    for value, names in ordered:
        if last is not None and abs(value - last) <= near.allowed(value) + near.allowed(last):
            if names not in groups[-1]:
                groups[-1].append(names)
        else:
            groups.append([names])
        last = value
    return [tuple(sorted(group, key=lambda names: (len(names), names))) for group in groups]


def _drawn(rng: Random, smoothing: float, weighted: bool) -> Batch:
    random = rng.random  # the one method whose sequence Python guarantees

    def below(n: int) -> int:
        return int(random() * n)

    fixed = {"B": BOS, "E": EOS, "P": PAD, "U": UNK, "0": 0, ".": PAD}
    drawn = [3, 4, 6, 8, 9, 10]
    tokens = [[fixed[c] if c in fixed else drawn[below(len(drawn))] for c in row] for row in TOKENS]
    labels = [
        [-100 if c == "-" else y for c, y in zip(row, ids, strict=True)]
        for row, ids in zip(TOKENS, tokens, strict=True)
    ]
    logits = [[[(below(1792) - 896) / 256.0 for _ in range(COLUMNS)] for _ in row] for row in TOKENS]
    surprised = logits[3][5]  # one target is nearly impossible: below 1e-7
    surprised[tokens[3][6]] = -8.5 - below(64) / 128.0
    surprised[(tokens[3][6] + 1) % CLASSES] = 8.5 + below(64) / 128.0
    weight = [0.5 + below(256) / 128.0 for _ in range(CLASSES)] if weighted else None
    return Batch(
        logits, tokens, labels=labels, groups=GROUPS, prompt_lengths=PROMPTS, text=TEXTS, aux=AUX,
        attention_mask=[[int(c != ".") for c in row] for row in TOKENS],
        document_ids=[[int(c) for c in row] for row in DOCUMENTS],
        pieces=_pieces(), weight=weight, label_smoothing=smoothing, vocab_size=CLASSES,
        eos_id=EOS, bos_id=BOS, pad_id=PAD, unk_id=UNK, window=WINDOW, stride=STRIDE, max_length=MAX_LENGTH,
    )  # fmt: skip


def _pieces() -> list[bytes]:
    """Return the texts in pieces of two bytes, which cut characters in two."""
    data = "".join(TEXTS).encode()
    return [data[i : i + 2] for i in range(0, len(data), 2)]
