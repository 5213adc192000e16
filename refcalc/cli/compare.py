"""`refcalc compare OURS THEIRS`: two evaluations side by side, or why there is nothing to compare."""

__all__ = ["add_to", "run"]

import argparse
import json
from typing import TYPE_CHECKING, Any

from refcalc import _json
from refcalc.cli import _files, _progress

if TYPE_CHECKING:
    from refcalc.evaluation.ablation import Arm

KINDS = ("intervention", "paired-retraining")

DESCRIPTION = """Compare two files of receipts, document by document, where their protocols allow
it.

    checkpoint, dtype, looks, criteria, unk_id, log_base, ignore_index
               may differ: every quantity is compared
    units      may differ: what both have counted is compared
    tokenizer, vocab_size
               differ: bits per byte and per character are what is left
    text       differs: nats per target are what is left
    word_rule  differs: nats per word are left out
    window, stride, BOS, EOS, corpus, split
               differ: nothing is compared

--despite FIELD compares nonetheless, and says so; --despite documents compares
those that both files have.

The difference is OURS minus THEIRS: below 0 ours is the better.  Its interval
is drawn over the documents, the same for both; it says nothing of what another
seed of training would change (`refcalc seeds`).

An ablation names its kind: an intervention on a frozen checkpoint, or a paired
retraining; and brings a record of each arm, OURS first, as JSON:

    {"name": "control", "kind": "paired-retraining",
     "base_digest": "sha256:...", "trajectory_digest": "sha256:...",
     "updates": 40, "targets": 4676, "parameters": 1000,
     "trainable_parameters": 1000, "seconds": 3.5}

    base_digest        the weights it starts from: the frozen checkpoint, or the
                       initial weights
    trajectory_digest  the windows it went through in their order
                       (refcalc.evaluation.ablation.trajectory_digest); arms of
                       other windows are not compared
"""

STATUSES = """Exit status: 0 if the two were compared, 1 if the comparison is refused, 2 for
bad input."""


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser(
        "compare",
        help="two evaluations side by side, with the interval of their difference, if they can be compared",
        description=DESCRIPTION,
        epilog=STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("ours", metavar="OURS", help="a file of receipts")
    parser.add_argument("theirs", metavar="THEIRS", help="another")
    parser.add_argument(
        "--despite", action="append", default=[], metavar="FIELD", help="compare although this field differs"
    )
    parser.add_argument("--per", choices=("target", "byte", "char", "word"), help="this quantity only")
    parser.add_argument("--ablation", choices=KINDS, help="what kind of ablation the two are")
    parser.add_argument("--arm", action="append", default=[], metavar="FILE", help="the record of an arm: give two")
    parser.add_argument("--draws", type=int, default=2000, metavar="N", help="resamples (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the draws (default: 0)")
    parser.add_argument("--confidence", type=float, default=0.95, metavar="C", help="of the interval (default: 0.95)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    from refcalc.evaluation.compare_reports import compare_reports  # noqa: PLC0415 (what only this command needs)

    result = compare_reports(
        options.ours,
        options.theirs,
        despite=options.despite,
        per=options.per,
        kind=options.ablation,
        arms=_arms(options),
        draws=options.draws,
        seed=options.seed,
        confidence=options.confidence,
        progress=_progress.of_draws(),
    )
    if options.json:
        return json.dumps(_json.plain(result.to_dict()), indent=1, allow_nan=False), 0
    return str(result), 0


def _arms(options: argparse.Namespace) -> "tuple[Arm, Arm] | None":
    if options.ablation is None and not options.arm:
        return None
    if options.ablation is None or len(options.arm) != 2:
        got = f"{options.ablation or 'no kind'} and {len(options.arm)}"
        raise ValueError(f"compare: an ablation must have its kind, --ablation, and two --arm, got {got}")
    ours, theirs = map(_arm, options.arm)
    return ours, theirs


def _arm(path: str) -> "Arm":
    from refcalc.evaluation.ablation import Arm  # noqa: PLC0415

    try:
        return Arm.from_dict(_json.read(_files.read_text(path, "the record of the arm")))
    except (TypeError, ValueError) as refusal:
        words = str(refusal)
        raise type(refusal)(words if words.startswith(path) else f"{path}: {words}") from None
