"""Name the fault in echoed log-probabilities: a prompt whose tokens were scored at the rows that had read them.

    python -m examples.name_the_echo

A server that echoes a prompt with log-probabilities should give each token the one that the row *before* it assigned.
llama-cpp-python 0.3.36 gives the one of the row that has just read the token, so that the mean over a good text is
worse than a uniform guess.  Nothing in the response shows it; next to the logits it has a name.

examples/echo.json holds 24 rows of logits of SmolLM2-135M for a speech of Shakespeare and what the server echoed for
them, the classes that are no token of the text put together into one: every log-probability of the text is as it was.
Given a folder that holds llama_cpp_logits.f32 and smollm2_logits.json as well, the same is done with the whole rows of
49,152 classes; with --record the former is written from the latter.
"""

import json
import sys
from pathlib import Path
from typing import Any

import refcalc

RECORDED = Path(__file__).with_name("echo.json")
ECHO = "llama_cpp_echo_logprobs"


def read_folder(folder: Path) -> dict[str, Any]:
    """Return the whole rows of logits with the tokens and the echo."""
    facts = json.loads((folder / "smollm2_logits.json").read_text(encoding="utf-8"))
    logits = refcalc.open_array(folder / "llama_cpp_logits.f32", dtype="float32", shape=facts["shape"])
    return {"logits": logits, "tokens": facts["token_ids"], "echo": facts[ECHO]}


def condensed(case: dict[str, Any]) -> dict[str, Any]:
    """Return the case with all classes that are no token of the text in one: its score is the logsumexp of theirs."""
    kept = sorted(set(case["tokens"]))
    rows = []
    for row in case["logits"]:
        rest = [z for c, z in enumerate(row) if c not in set(kept)]
        rows.append([*(row[c] for c in kept), refcalc.logsumexp(rest)])
    return {"logits": rows, "tokens": [kept.index(y) for y in case["tokens"]], "echo": case["echo"]}


def main(arguments: list[str]) -> int:
    folder = next((Path(argument) for argument in arguments if argument != "--record"), None)
    case = read_folder(folder) if folder else json.loads(RECORDED.read_text(encoding="utf-8"))
    if "--record" in arguments:
        text = json.dumps(condensed(case)).replace("], [", "],\n [")
        RECORDED.write_text(text + "\n", encoding="utf-8")
        return 0

    batch = refcalc.Batch(case["logits"], case["tokens"])
    echoed = [-logprob for logprob in case["echo"] if logprob is not None]  # the first token has none
    tally = refcalc.Tally.of(echoed)
    print(f"echoed for {tally.n_targets} tokens: mean nll {tally.mean_nll:.6f}, ", end="")
    print(f"perplexity {tally.perplexity:.1f}; V = {batch.classes}\n")
    found = refcalc.diagnose(tally.mean_nll, batch, dtype="float32")
    print(found)
    # Each token is off in the same way: the echo is the row's own log-probability of the token it has just read.
    rows, tokens = case["logits"], case["tokens"]
    gaps = [abs(refcalc.token_nll(rows[t], tokens[t]) - nll) for t, nll in enumerate(echoed, start=1)]
    print(f"\nlargest difference between the echo and row t's nll of token t: {max(gaps):.1e}")
    return 0 if found.candidates and found.candidates[0].mistakes == ("no-shift-first-dropped",) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
