"""`refcalc audit DOCUMENTS...`: whether splits, receipts and weights are what a number about them takes for granted."""

__all__ = ["add_to", "run"]

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refcalc import _json
from refcalc.cli import _progress
from refcalc.cli._pairs import pair

if TYPE_CHECKING:
    from refcalc.evaluation.corpus import Corpus

SHOWN_EVERY = 10_000  # documents

DESCRIPTION = """Look at texts, and at a run over them, before its numbers are believed: pass,
fail, or not known.

Documents are JSON lines, read as a stream:

    {"id": "a", "text": "the cat sat", "split": "train", "tokens": [5, 7, 2]}

    id         text or a whole number, each once in all splits
    text       the original text
    split      its split; where lines do not say it, the name of the file
               without what follows the dot
    tokens     its token ids: with them unknown tokens are counted, and with
               receipts every target is looked for

The texts: invalid UTF-8 and where, empty documents, ids used twice, duplicates
in a split and across splits.

The run, from files of receipts (one for each split), in the order in which a
loss is to be doubted: digests of corpus and tokenizer (the protocol's against
those of the files given here, refcalc.evaluation.protocol.file_digest), a
receipt for each document, targets that no window scored, EOS, losses that are
not finite, the uniform baseline at log V, the weights before and after; and
only where none of these fails, the gap between train and held-out text.
"""

STATUSES = "Exit status: 0 if nothing fails, 1 if a check fails, 2 for bad input."


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser(
        "audit",
        help="duplicates and leaks in the splits, and a run's checklist, before its numbers are believed",
        description=DESCRIPTION,
        epilog=STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("documents", nargs="*", metavar="DOCUMENTS", help="documents in JSON lines")
    parser.add_argument(
        "--split", action="append", default=[], metavar="NAME=DOCUMENTS", help="documents that are all of this split"
    )
    parser.add_argument(
        "--receipts", nargs="+", action="extend", default=[], metavar="FILE", help="receipts of the run, a file a split"
    )
    parser.add_argument("--uniform", metavar="FILE", help="receipts of a model of equal logits, on one of these splits")
    parser.add_argument("--tokenizer", metavar="FILE", help="the tokenizer: is it the protocol's?")
    parser.add_argument("--checkpoint", metavar="FILE", help="the weights after the run: are they the protocol's?")
    parser.add_argument("--unk-id", type=int, metavar="N", help="the token for what is unknown, if no receipts say it")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    from refcalc.evaluation.audit import audit  # noqa: PLC0415 (what only this command needs)
    from refcalc.evaluation.corpus import Corpus  # noqa: PLC0415
    from refcalc.evaluation.log import Receipts  # noqa: PLC0415
    from refcalc.evaluation.protocol import file_digest  # noqa: PLC0415

    if not (options.documents or options.split or options.receipts):
        raise ValueError("audit: documents or --receipts must be given, got none")
    named = (pair("audit: --split", "NAME=DOCUMENTS", each) for each in options.split)
    files = [*((None, path) for path in options.documents), *named]
    receipts = [Receipts(path) for path in options.receipts]
    uniform = options.uniform and Receipts(options.uniform)
    tokenizer, checkpoint = (path and file_digest(path) for path in (options.tokenizer, options.checkpoint))
    digests = [file_digest(path) for _, path in files] if receipts else ()  # documents alone may come from a pipe
    corpus = Corpus({file.protocol.split: file.protocol for file in receipts if file.protocol}, options.unk_id)
    for split, path in files:
        _read(split, path, corpus)
    result = audit(corpus, receipts, uniform=uniform, corpus=digests, tokenizer=tokenizer, checkpoint=checkpoint)
    status = 1 if result.failed else 0
    if options.json:
        return json.dumps(_json.plain(result.to_dict()), indent=1, allow_nan=False), status
    return str(result), status


# --- reading ---------------------------------------------------------------------------------------------------------


def _read(split: str | None, path: str, corpus: "Corpus") -> None:
    """Add the documents of a file to the corpus; without a split, each is of the one that it names."""
    from refcalc.evaluation.documents import read_documents  # noqa: PLC0415

    own = Path(path).name.partition(".")[0]
    for at, document in _shown(path, read_documents(path)):
        corpus.add(split or _split_of(at, document, own), document, at)


def _split_of(at: str, document: dict[str, Any], otherwise: str) -> str:
    split = document.get("split")
    if split is not None and not (isinstance(split, str) and split):
        raise ValueError(f"{at}: split must be text that is not empty, got {split!r}")
    return split or otherwise


def _shown(path: str, documents: Iterator[Any]) -> Iterator[Any]:
    """Yield what is read, and show how much it is on a terminal."""
    for number, each in enumerate(documents, 1):
        if number % SHOWN_EVERY == 0:
            _progress.say(f"{path}: {number:,} documents")
        yield each
    _progress.say()
