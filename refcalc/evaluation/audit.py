"""An audit: whether splits, receipts and weights are what a number about them takes for granted."""

__all__ = ["Audit", "audit"]

from collections.abc import Collection, Iterable, Iterator, Mapping
from os import PathLike
from textwrap import wrap
from typing import Any, NamedTuple

from refcalc import _check
from refcalc.evaluation.checklist import FAIL, Check, check_run, check_texts
from refcalc.evaluation.corpus import OUT_OF_REACH, RULE, Corpus, Document, Split
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.reading import Receipts, protocol_of, receipts_of
from refcalc.evaluation.scored import ScoredSplit

Documents = Iterable[Mapping[str, Any]]
Source = str | PathLike[str] | Receipts

WIDTH = 80


class Scored(NamedTuple):
    """What the receipts of a split add up to; None where they do not count it."""

    split: str
    documents: int
    n_targets: int
    n_eos: int | None
    n_unknown: int | None
    mean_nll: float | None


class Audit(NamedTuple):
    """What an audit found: the checklist, how much each split holds and cost, and the documents at fault.

    texts, run: the checklist, which names the first few faults.
    duplicates, empty, invalid, reused: all documents at fault, see Corpus.
    """

    texts: tuple[Check, ...]
    run: tuple[Check, ...]
    splits: tuple[Split, ...]
    scored: tuple[Scored, ...]
    duplicates: tuple[tuple[Document, ...], ...]
    empty: tuple[Document, ...]
    invalid: tuple[tuple[Document, int], ...]
    reused: tuple[tuple[Document, str], ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in (*self.texts, *self.run) if check.verdict == FAIL)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON can hold it."""
        return {
            "failed": [check.name for check in self.failed],
            "texts": [check._asdict() for check in self.texts],
            "run": [check._asdict() for check in self.run],
            "splits": [split._asdict() for split in self.splits],
            "scored": [each._asdict() for each in self.scored],
            "duplicates": [[document._asdict() for document in group] for group in self.duplicates],
            "empty": [document._asdict() for document in self.empty],
            "invalid": [{**document._asdict(), "from_byte": offset} for document, offset in self.invalid],
            "reused": [{**document._asdict(), "used_in": split} for document, split in self.reused],
            "rule": RULE,
            "out_of_reach": OUT_OF_REACH,
        }

    def __str__(self) -> str:
        return "\n".join(_table(self))


def audit(
    documents: "Corpus | Mapping[str, Documents] | Documents" = (),
    receipts: "Source | Iterable[Source]" = (),
    *,
    uniform: Source | None = None,
    corpus: Collection[str] = (),
    tokenizer: str | None = None,
    checkpoint: str | None = None,
    unk_id: int | None = None,
) -> Audit:
    """Return what can be said of splits, and of a run over them, before its numbers are believed.

    documents: the documents of each split, as {"train": [...], "test": [...]}, or one stream of documents that name
        their splits; a document is a mapping with "id", "text", and perhaps "tokens".  They are read once, as a stream.
        Or a Corpus that was filled already, with the protocols of the receipts.
    receipts: the file of receipts, or one for each split that was scored; uniform: that of a model of equal logits,
        scored by the same program on one of these splits.
    corpus, tokenizer, checkpoint: digests (file_digest) of what is there now: the files of the documents, the
        tokenizer, and the weights after the run.
    unk_id: the token that stands for what the vocabulary lacks, where no receipts say it.

    >>> train = [{"id": "a", "text": "the cat sat"}, {"id": "b", "text": "a dog barked"}]
    >>> result = audit({"train": train, "test": [{"id": "c", "text": " the cat\\nsat"}]})
    >>> [(check.name, check.words) for check in result.failed]
    [('duplicates across splits', "'c' of test is 'a' of train")]

    Raises ValueError for documents without id or text, two files of receipts of one split, and whatever Receipts
    refuses; TypeError for what is of another kind.

    Duplicates have the same sha256 of the text in NFC with runs of white space folded; near-duplicates are not found.
    Memory: some 300 bytes a document and 200 a receipt, whatever their length.
    """
    if isinstance(receipts, (str, PathLike, Receipts)):
        receipts = [receipts]
    files = [receipts_of(each) for each in _check.iterable("audit", "receipts", receipts)]
    protocols = _by_split(files)
    if uniform is not None and not files:
        _check.refuse("audit", "uniform", "come with receipts of a model", getattr(uniform, "path", uniform))
    baseline = None if uniform is None else receipts_of(uniform)
    if isinstance(documents, Corpus):
        found = documents
    else:
        found = Corpus(protocols, unk_id)
        for split, document, at in _placed(documents):
            found.add(split, document, at)
    runs = [ScoredSplit(file, found) for file in files]
    checks = check_run(runs, uniform=baseline, corpus=corpus, tokenizer=tokenizer, checkpoint=checkpoint)
    return Audit(
        texts=tuple(check_texts(found)),
        run=tuple(checks),
        splits=found.splits(),
        scored=tuple(map(_scored, runs)),
        duplicates=tuple(found.duplicates()),
        empty=tuple(found.empty),
        invalid=tuple(found.invalid),
        reused=tuple(found.reused),
    )


def _scored(run: ScoredSplit) -> Scored:
    return Scored(run.protocol.split, len(run.targets), run.n_targets, run.n_eos, run.n_unk, run.mean_nll)


# --- reading ---------------------------------------------------------------------------------------------------------


def _by_split(files: list[Receipts]) -> dict[str, Protocol]:
    """Return the protocol of each split, which one file has the receipts of."""
    protocols: dict[str, Protocol] = {}
    for file in files:
        protocol = protocol_of(file)
        if protocol.split in protocols:
            rule = "be one that no other file has the receipts of"
            _check.refuse(file.path, "the split", rule, protocol.split)
        protocols[protocol.split] = protocol
    return protocols


def _placed(documents: "Mapping[str, Documents] | Documents") -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Yield each document with its split and its place."""
    if isinstance(documents, Mapping):
        for split, each in documents.items():
            at = f"documents[{split!r}]"
            found = 0
            for found, document in enumerate(_check.iterable("audit", at, each), 1):
                yield split, document, f"{at}[{found - 1}]"
            if not found:
                _check.refuse("audit", at, "hold at least one document", 0)
        return
    for i, document in enumerate(_check.iterable("audit", "documents", documents)):
        at = f"documents[{i}]"
        split = document.get("split") if isinstance(document, Mapping) else None
        if not isinstance(split, str):
            _check.refuse("audit", at, "name its split, where documents are not given by split", document)
        yield split, document, at


# --- the table -------------------------------------------------------------------------------------------------------


def _table(result: Audit) -> Iterator[str]:
    if result.splits:
        yield _row("split", "documents", "bytes", "characters", "tokens", "unknown")
        for split in result.splits:
            counts = (split.documents, split.n_bytes, split.n_chars, split.n_tokens)
            yield _row(split.name, *map(_count, counts), _share(split.n_unknown, split.n_tokens))
        yield ""
    if result.scored:
        yield _row("receipts of", "documents", "targets", "EOS", "nats/target", "unknown")
        for each in result.scored:
            mean = "-" if each.mean_nll is None else f"{each.mean_nll:.6g}"
            scored = (each.documents, each.n_targets, each.n_eos)
            yield _row(each.split, *map(_count, scored), mean, _share(each.n_unknown, each.n_targets))
        yield ""
    for head, checks in (("the texts", result.texts), ("the run, in the order to doubt it", result.run)):
        if len({check.words for check in checks}) == 1:  # nothing was given
            yield from (f"{head}: {checks[0].verdict}, for {checks[0].words}", "")
            continue
        yield head
        for check in checks:
            first, *more = wrap(check.words, WIDTH - 38, break_on_hyphens=False) or [""]
            yield f"  {check.verdict.upper() if check.verdict == FAIL else check.verdict:<10}{check.name:<26}{first}"
            yield from (f"{'':<38}{line}" for line in more)
        yield ""
    yield from wrap(f"Duplicates have the same {RULE}; {OUT_OF_REACH}.", WIDTH)


def _row(name: str, *cells: str) -> str:
    return f"{name:<15}" + "".join(f"{cell:>13}" for cell in cells)


def _count(n: int | None) -> str:
    return "-" if n is None else f"{n:,}"


def _share(part: int | None, whole: int | None) -> str:
    if part is None or not whole:
        return "-"
    return f"{100 * part / whole:.3g} %"
