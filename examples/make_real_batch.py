"""Train a small language model of characters and write its logits as a batch for `python -m refcalc loss`.

    python -m examples.make_real_batch examples/real_batch.json

The text is the Zen of Python (PEP 20, public domain), in small letters; three of its lines are kept out of training and
become the batch.  The model adds up one table for each of the last three characters,

    z[v]  =  bias[v] + table1[c[t]][v] + table2[c[t - 1]][v] + table3[c[t - 2]][v],

and learns them by gradient descent.  Each line begins with the end of the line before, a newline: the first row needs
something to read, and the newline is no target, so the scored targets are the text.
"""

import codecs
import contextlib
import io
import json
import struct
import sys

import refcalc

with contextlib.redirect_stdout(io.StringIO()):  # it prints its text when it is imported
    import this

HELD_OUT = ["flat is better than nested.", "readability counts.", "now is better than never."]
ORDER, EPOCHS, STEP = 3, 12, 0.3

Tables = list[list[list[float]]]  # [ORDER][V][V]; the bias is part of the first


def float32(x: float) -> float:
    """Return the float32 next to x: what a framework would have handed over."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def rows_read(tables: Tables, tokens: list[int], t: int) -> list[list[float]]:
    """Return the row of each table that position t reads; before the start of a line stands its newline."""
    return [table[tokens[max(t - back, 0)]] for back, table in enumerate(tables)]


def logits_at(tables: Tables, tokens: list[int], t: int) -> list[float]:
    return [sum(column) for column in zip(*rows_read(tables, tokens, t), strict=True)]


def train(lines: list[list[int]], vocabulary: int) -> Tables:
    tables = [[[0.0] * vocabulary for _ in range(vocabulary)] for _ in range(ORDER)]
    for epoch in range(EPOCHS):
        step = STEP * (1.0 - epoch / EPOCHS)
        for tokens in lines:
            for t, target in enumerate(tokens[1:]):
                slope = refcalc.cross_entropy_gradient(logits_at(tables, tokens, t), target)
                for row in rows_read(tables, tokens, t):
                    row[:] = [z - step * g for z, g in zip(row, slope, strict=True)]
    return tables


def main(path: str) -> None:
    text = codecs.decode(this.s, "rot13").lower()
    characters = sorted(set(text))
    token_of = {c: i for i, c in enumerate(characters)}
    lines = ["\n" + line for line in text.splitlines() if line and line not in HELD_OUT]
    tables = train([[token_of[c] for c in line] for line in lines], len(characters))

    newline = token_of["\n"]
    tokens, mask = refcalc.pad([[token_of[c] for c in "\n" + line] for line in HELD_OUT], newline)
    logits = [[[float32(z) for z in logits_at(tables, ids, t)] for t in range(len(ids))] for ids in tokens]
    batch = {
        "comment": f"made by examples/make_real_batch.py; the classes are the characters {''.join(characters)!r}",
        "text": HELD_OUT,
        "tokens": tokens,
        "attention_mask": mask,
    }
    with open(path, "w", encoding="utf-8") as file:
        parts = [f'"{key}": {json.dumps(value)}' for key, value in batch.items()]
        rows = ",\n ".join(json.dumps(sequence).replace("], [", "],\n  [") for sequence in logits)
        file.write("{" + ",\n".join(parts) + ',\n"logits": [\n ' + rows + "]}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
