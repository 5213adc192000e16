"""`refcalc diagnose FILE.json NUMBER`: is the number right, and if not, which mistake gives it?"""

__all__ = ["add_to", "run"]

import argparse
import json
from typing import Any

from refcalc import _json
from refcalc.cli import batch_file
from refcalc.cli._numbers import allow_negative

QUANTITIES = "mean_nll nll_sum perplexity bits_per_token bits_per_byte bits_per_char byte_perplexity word_perplexity"
DTYPES = "float64 float32 float16 bfloat16"
SHORT = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
QUANTITY = f"what it claims to be: {', '.join(QUANTITIES.split())} (default: mean_nll)"
DESCRIPTION = """Compute what each known mistake, and each two of different steps, would have
made of a batch, and name those that give the reported number.
"""
STATUSES = "Exit status: 0 if the number is right, 1 if it is not, 2 for bad input."


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser(
        "diagnose",
        help="name the mistake that gives a wrong number",
        description=f"{DESCRIPTION}\n{batch_file.FORMAT}",
        epilog=STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", help="a batch, or records, in JSON")
    parser.add_argument("number", help="the reported number; it stands for everything that is rounded to it")
    parser.add_argument("--quantity", default="mean_nll", metavar="NAME", choices=QUANTITIES.split(), help=QUANTITY)
    parser.add_argument(
        "--dtype",
        default="float64",
        type=lambda name: SHORT.get(name, name),
        choices=DTYPES.split(),
        help="in which it was computed (fp64, fp32, fp16 and bf16 are understood)",
    )
    parser.add_argument("--tolerance", type=float, help="relative difference allowed, instead of the dtype's rounding")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of sentences")
    allow_negative(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status: 0 if the number is right, 1 if not."""
    from refcalc.diagnosis import diagnose  # noqa: PLC0415 (other commands do not need it)

    evidence = batch_file.read_evidence(options.file)
    try:
        found = diagnose(
            options.number, evidence, quantity=options.quantity, dtype=options.dtype, tolerance=options.tolerance
        )
    except (TypeError, ValueError) as refusal:
        raise type(refusal)(f"{options.file}: {refusal}") from None
    status = 0 if found.agrees else 1
    if not options.json:
        return str(found), status
    record = found._asdict()
    for key in ("candidates", "nearest"):
        record[key] = [candidate._asdict() for candidate in record[key]]
    return json.dumps(_json.plain({"file": options.file, **record}), indent=1, allow_nan=False), status
