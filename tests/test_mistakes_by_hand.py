"""Every mistake that counts or aligns wrongly, once more by a route of its own, on the probe and for each mean.

Nothing of the pipeline is used here: the batch is read from its JSON record, and each wrong number is a sum over a list
of (row, place, nll) divided by a count.
"""

import unittest
from math import exp, fsum, log
from typing import Any

from refcalc import MISTAKES, probe
from refcalc.mistakes.pipeline import Run
from refcalc.probes import record_of

RECORD = record_of(probe())
TOKENS, MASK, LABELS = RECORD["tokens"], RECORD["attention_mask"], RECORD["labels"]
DOCS, GROUPS, B, T = RECORD["document_ids"], RECORD["groups"], 5, 8
EOS, BOS, PAD, UNK = (RECORD[key] for key in ("eos_id", "bos_id", "pad_id", "unk_id"))
WINDOW, STRIDE, LIMIT = RECORD["window"], RECORD["stride"], RECORD["max_length"]
GRID = [(b, t) for b in range(B) for t in range(T)]


def nll(b: int, t: int, y: int, classes: int = 11) -> float:
    z = RECORD["logits"][b][t][:classes]
    return log(fsum(map(exp, z))) - z[y]


def edge(b: int, p: int) -> bool:
    """Return whether a document starts at a place other than the first."""
    return p > 0 and DOCS[b][p] != DOCS[b][p - 1]


def prompt(b: int, p: int) -> bool:
    real = [q for q in range(T) if MASK[b][q] and LABELS[b][q] != -100]
    return p in real[: RECORD["prompt_lengths"][b]]


def double_bos(b: int, p: int) -> bool:
    return (b, p) == (0, 1)  # the one place of the probe


def label(b: int, p: int) -> bool:
    return LABELS[b][p] != -100


def wanted(b: int, p: int) -> bool:
    return label(b, p) and not prompt(b, p) and not edge(b, p) and not double_bos(b, p)


def kept(b: int, p: int) -> bool:
    return bool(MASK[b][p]) and wanted(b, p)


def scored(shift: int = 1, keep: Any = kept, score: Any = nll) -> list[tuple[int, int, float]]:
    """Return (row, place, nll) of the places that are kept, each scored at the row `shift` places before."""
    return [
        (b, p, score(b, p - shift, TOKENS[b][p]))
        for b, p in GRID
        if 0 <= p - shift < T and MASK[b][p - shift] and keep(b, p)
    ]


def total(items: Any) -> float:
    return fsum(item[2] for item in items)


def mean(items: Any) -> float:
    return total(items) / len(items)


RIGHT = scored()
ROWS = [[item for item in RIGHT if item[0] == b] for b in range(B)]
PER_GROUP = [[item for item in RIGHT if item[0] in group] for group in GROUPS]


def windows(first: int, later: int) -> list[list[tuple[int, int, float]]]:
    """Return the items by window: the first has `first` targets, the others `later`."""
    found: dict[tuple[int, int], list[Any]] = {}
    for b, p, x in RIGHT:
        i = p - 1
        found.setdefault((b, 0 if i < first else 1 + (i - first) // later), []).append((b, p, x))
    return [found[key] for key in sorted(found)]


def leak() -> float:
    inner = total(RIGHT)
    outer = [nll(b, T - 1, TOKENS[b + 1][0]) for b in range(B - 1) if MASK[b][T - 1] and kept(b + 1, 0)]
    return (inner + fsum(outer)) / (len(RIGHT) + len(outer))


def all_pairs(keep: Any) -> list[tuple[int, int, float]]:
    return [(b, p, nll(b, p - 1, TOKENS[b][p])) for b, p in GRID if p and keep(b, p)]


def times(p: int) -> int:
    """Return in how many windows of rows a target stands."""
    starts = [s for s in range(0, T - 1, STRIDE) if s == 0 or s - STRIDE + WINDOW < T - 1]
    return sum(s <= p - 1 < s + WINDOW for s in starts)


def one_short() -> float:
    parts = windows(WINDOW, STRIDE)
    sizes = [len(part) - (k > 0) for k, part in enumerate(parts)]
    return fsum(mean(part) * n for part, n in zip(parts, sizes, strict=True)) / sum(sizes)


def without(token: int) -> list[tuple[int, int, float]]:
    return [item for item in RIGHT if TOKENS[item[0]][item[1]] != token]


def prompts_counted() -> int:
    return len(scored(keep=lambda b, p: kept(b, p) or (prompt(b, p) and not edge(b, p))))


BY_HAND = {
    "no-shift": lambda: mean(scored(0)),
    "no-shift-first-dropped": lambda: mean([item for item in scored(0) if item[1] > 0]),
    "no-shift-last-dropped": lambda: mean([item for item in scored(0) if item[1] < T - 1]),
    "double-shift": lambda: mean(scored(2)),
    "reversed-shift": lambda: mean(scored(-1)),
    "cross-row-leak": leak,
    "padding-scored": lambda: mean(all_pairs(lambda b, p: not (MASK[b][p] and MASK[b][p - 1]) or wanted(b, p))),
    "ignored-labels-scored": lambda: mean(all_pairs(lambda b, p: MASK[b][p] and MASK[b][p - 1])),
    "prompt-scored": lambda: mean(scored(keep=lambda b, p: kept(b, p) or (prompt(b, p) and not edge(b, p)))),
    "document-edge-scored": lambda: mean(scored(keep=lambda b, p: kept(b, p) or (edge(b, p) and not prompt(b, p)))),
    "mask-not-shifted": lambda: mean(all_pairs(lambda b, p: kept(b, p - 1))),
    "pad-row-predicts": lambda: mean(all_pairs(kept)),
    "inverted-mask": lambda: mean(all_pairs(lambda b, p: not kept(b, p) and not double_bos(b, p))),
    "padded-denominator": lambda: total(RIGHT) / (B * (T - 1)),
    "prompt-in-denominator": lambda: total(RIGHT) / prompts_counted(),
    "eos-masked-as-pad": lambda: mean(without(EOS)),
    "end-token-miscounted": lambda: total(RIGHT) / len(without(EOS)),
    "token-id-zero-dropped": lambda: mean(without(0)),
    "pad-id-masked-by-value": lambda: mean(without(PAD)),
    "oov-dropped": lambda: mean(without(UNK)),
    "oov-left-out": lambda: total(without(UNK)) / len(RIGHT),
    "bos-added-twice": lambda: (total(RIGHT) + nll(0, 0, BOS)) / (len(RIGHT) + 1),
    "window-start-unscored": lambda: mean([item for item in RIGHT if item[1] % WINDOW]),
    "tail-dropped": lambda: mean([item for item in RIGHT if item[1] <= (T - 1) // WINDOW * WINDOW]),
    "silent-truncation": lambda: mean([item for item in RIGHT if item[1] < LIMIT]),
    "overlap-scored-twice": lambda: mean([item for item in RIGHT for _ in range(times(item[1]))]),
    "duplicated-eval-rows": lambda: mean([*RIGHT, *ROWS[0]]),  # 5 rows for 3 ranks: one is repeated
    "mean-of-means": lambda: fsum(map(mean, PER_GROUP)) / 3,
    "macro-vs-micro": lambda: fsum(mean(row) for row in ROWS if row) / 4,
    "mean-of-windows": lambda: fsum(map(mean, windows(WINDOW, WINDOW))) / len(windows(WINDOW, WINDOW)),
    "window-weight-one-short": one_short,
    "sum-of-means": lambda: fsum(map(mean, PER_GROUP)),
    "double-scaled": lambda: mean(RIGHT) / 3,
    "divide-inside-loop": lambda: ((mean(PER_GROUP[0]) / 3 + mean(PER_GROUP[1])) / 3 + mean(PER_GROUP[2])) / 3,
    "empty-rows-averaged": lambda: fsum(mean(row) for row in ROWS if row) / 5,
    "unshifted-token-count": lambda: total(RIGHT) / (len(RIGHT) + 3),  # the first label of rows 0, 2 and 3
    "boundary-subtracted-twice": lambda: total(RIGHT) / (len(RIGHT) - 3),  # in rows 1 (one) and 3 (two)
    "all-places-denominator": lambda: total(RIGHT) / (B * T),
    "one-row-denominator": lambda: total(RIGHT) / (T - 1),
    "divided-by-rows": lambda: total(RIGHT) / 4,
    "divided-by-vocab": lambda: mean(RIGHT) / 11,
    "padded-vocab-in-softmax": lambda: mean(scored(score=lambda b, t, y: nll(b, t, y, 13))),
    "raw-logit-nll": lambda: mean(scored(score=lambda b, t, y: -RECORD["logits"][b][t][y])),
    "epsilon-clipped-log": lambda: mean(scored(score=lambda b, t, y: -log(max(exp(-nll(b, t, y)), 1e-7)))),
    "epsilon-added-in-log": lambda: mean(scored(score=lambda b, t, y: -log(exp(-nll(b, t, y)) + 1e-8))),
    "double-softmax": lambda: mean(
        scored(score=lambda b, t, y: log(fsum(exp(exp(-nll(b, t, c))) for c in range(11))) - exp(-nll(b, t, y)))
    ),
    "softmax-wrong-axis": lambda: mean(
        scored(score=lambda b, t, y: log(fsum(exp(row[y]) for row in RECORD["logits"][b])) - RECORD["logits"][b][t][y])
    ),
    "softmax-over-batch": lambda: mean(
        scored(
            score=lambda b, t, y: log(fsum(exp(rows[t][y]) for rows in RECORD["logits"])) - RECORD["logits"][b][t][y]
        )
    ),
}


class ByHand(unittest.TestCase):
    def test_the_right_number_is_the_same(self):
        self.assertAlmostEqual(Run(probe()).value(), mean(RIGHT), delta=1e-13)

    def test_every_wrong_mean_is_the_same(self):
        run = Run(probe())
        for name, value in BY_HAND.items():
            with self.subTest(name):
                self.assertAlmostEqual(run.value(MISTAKES[name]), value(), delta=1e-13)

    def test_pairs_of_alignment_and_reduction_are_the_same(self):
        run = Run(probe())
        groups = [[item for item in scored(2) if item[0] in group] for group in GROUPS]
        means = fsum(map(mean, filter(None, groups))) / sum(1 for group in groups if group)
        self.assertAlmostEqual(run.value(MISTAKES["double-shift"], MISTAKES["mean-of-means"]), means, delta=1e-13)
        halves = total(scored(2)) / (T - 1)
        self.assertAlmostEqual(
            run.value(MISTAKES["double-shift"], MISTAKES["one-row-denominator"]), halves, delta=1e-13
        )

    def test_rates_of_documents_are_averaged_over_their_own_bytes(self):
        sizes = [len(text.encode()) for text in RECORD["text"]]
        rates = [total(row) / size / log(2) for row, size in zip(ROWS, sizes, strict=True) if size]
        run = Run(probe(), "bits_per_byte")
        self.assertAlmostEqual(run.value(MISTAKES["macro-bits-per-byte"]), fsum(rates) / 4, delta=1e-13)

    def test_perplexities_are_averaged_over_groups_and_over_texts(self):
        run = Run(probe(), "perplexity")
        over_groups = fsum(exp(mean(group)) for group in PER_GROUP) / 3
        over_texts = fsum(exp(mean(row)) for row in ROWS if row) / 4
        for name, want in (("mean-of-perplexities", over_groups), ("mean-of-text-perplexities", over_texts)):
            self.assertAlmostEqual(run.value(MISTAKES[name]) / want, 1.0, delta=1e-13)


if __name__ == "__main__":
    unittest.main()
