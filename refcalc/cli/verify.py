"""`refcalc verify FILE...`: recompute a published result from its log, and hold the two against each other."""

__all__ = ["add_to", "run"]

import argparse
import json
from typing import Any

from refcalc import _json
from refcalc.cli._pairs import pair
from refcalc.cli.diagnose import DTYPES, SHORT

DESCRIPTION = """Recompute a published result from its log, and hold the two against each other.

The log may be one file or several, with what was published beside it.  Its
format is recognised by content:

  receipts of refcalc.evaluate, and beside them a report in JSON
  results and samples of lm-evaluation-harness (--log_samples)
  responses with vLLM's prompt_logprobs
  OpenAI-style completions with logprobs (echo included), and chat completions
  JSON lines with token_logprobs or nlls (lists), or with nll_sum and n_targets;
    a line {"summary": {"perplexity": ...}} holds what was published of them
  beside a log, a JSON object of published quantities: {"perplexity": 12.18}

A published number has to be what is rounded to its last printed digit.  Where
it is not, the catalogue of mistakes is asked which of them gives it.  Copies of
a value inside the files are held against each other.
"""
EPILOG = """Exit status: 0 if everything published agrees, or nothing was published; 1 if a
number or two copies disagree; 2 for files that cannot be read as a log."""


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser(
        "verify",
        help="recompute a published result from its log",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="the log, and what was published of it")
    parser.add_argument("--vocab-size", type=int, metavar="V", help="to compare with a uniform guess over V tokens")
    parser.add_argument(
        "--reported",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a published number, such as perplexity=12.18 or, of a task, hellaswag/acc_norm=0.43; as often as needed",
    )
    parser.add_argument(
        "--dtype",
        default="float64",
        type=lambda name: SHORT.get(name, name),
        choices=DTYPES.split(),
        help="in which the published numbers were computed (fp64, fp32, fp16 and bf16 are understood)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    from refcalc.evaluation.verify import verify  # noqa: PLC0415 (other commands do not need it)

    pairs = [*map(_pair, options.reported)]
    reported = dict(pairs)
    if len(reported) < len(pairs):
        raise ValueError(f"verify: --reported must name each number once, got {', '.join(name for name, _ in pairs)}")
    found = verify(options.files, vocab_size=options.vocab_size, reported=reported, dtype=options.dtype)
    status = 0 if found.agrees else 1
    if not options.json:
        return str(found), status
    return json.dumps(_json.plain(found.to_dict()), indent=1, allow_nan=False), status


def _pair(text: str) -> tuple[str, str]:
    name, value = pair("verify: --reported", "NAME=VALUE", text)
    return name.strip(), value.strip()
