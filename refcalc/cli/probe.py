"""`refcalc probe`: write a small batch that tells the mistakes apart, with the right answers."""

__all__ = ["add_to", "run"]

import argparse
import json
from typing import Any

from refcalc import _json

DESCRIPTION = """A small batch on which the mistakes give different numbers, in the JSON format
of the other commands.

Give your own loss logits[..., :vocab_size] (the rows have more columns than
there are classes) and the labels of the comment, and compare what it returns
with the answers; `refcalc diagnose` names what is wrong.  The comment holds

    answers           the right number for each quantity
    labels_to_score   the labels before the shift, -100 wherever nothing is
                      scored: at padding, prompts, ignored labels, starts of
                      documents, a second BOS, and first tokens after padding
    told apart by QUANTITY in float32
                      mistakes that no other one, and no two together, give the
                      number of
    hidden            mistakes that change nothing here, so that no number on
                      this batch shows them
    coincide          groups of mistakes, or of two together, that give the same
                      number
"""


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser(
        "probe",
        help="a small batch that tells the mistakes apart",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=0, help="a whole number; the same one gives the same batch")
    parser.add_argument("--quantity", default="mean_nll", help="the quantity whose mistakes must differ")
    parser.add_argument("--label-smoothing", type=float, default=0.0, metavar="E", help="smoothing of the loss")
    parser.add_argument("--weighted", action="store_true", help="with class weights")
    parser.add_argument("--json", action="store_true", help="accepted everywhere; the output is JSON in any case")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    from refcalc.probes import proven, record_of  # noqa: PLC0415 (other commands do not need it)

    batch, proof = proven(options.seed, options.quantity, options.label_smoothing, options.weighted)
    record = {"comment": _comment(batch, options.quantity, proof), **record_of(batch)}
    logits = ",\n ".join(json.dumps(sequence).replace("], [", "],\n  [") for sequence in record.pop("logits"))
    others = [f"{json.dumps(key)}: {json.dumps(_json.plain(value))}" for key, value in record.items()]
    return "{" + ",\n".join(others) + ',\n"logits": [\n ' + logits + "]}", 0


def _comment(batch: Any, quantity: str, proof: Any) -> dict[str, Any]:
    from refcalc.mistakes.kind import ALL  # noqa: PLC0415
    from refcalc.mistakes.pipeline import Run  # noqa: PLC0415

    return {
        "answers": {name: Run(batch, name).value() for name in ALL},
        "labels_to_score": Run(batch).labels_to_score(),
        f"told apart by {quantity} in float32": list(proof.alone),
        "hidden": list(proof.hidden),
        "coincide": [[" + ".join(names) for names in group] for group in proof.coincide],
    }
