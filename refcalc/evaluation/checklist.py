"""What an audit looks at, one check after the other: pass, fail, or not known for want of what it would take.

The texts come first.  The checks of a run stand in the order in which a loss is to be doubted: is it the right data,
were the right targets counted, are the losses finite, does a uniform model cost log V, were the weights left alone?
Only where none of these failed does the gap between training and held-out text mean anything.
"""

__all__ = ["FAIL", "NOT_KNOWN", "PASS", "Check", "check_run", "check_texts"]

from collections.abc import Collection, Iterator, Sequence
from math import inf
from typing import NamedTuple

from refcalc import _check
from refcalc.evaluation.corpus import Corpus, Document
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.reading import Receipts, protocol_of
from refcalc.evaluation.scored import Faults, ScoredSplit, uniform_cost, uniform_faults

PASS, FAIL, NOT_KNOWN = "pass", "fail", "not known"
OF_TEXTS = ("UTF-8", "empty documents", "ids", "duplicates in a split", "duplicates across splits")
OF_RUN = ("digests", "documents", "targets", "EOS", "losses", "uniform baseline", "weights", "held-out gap")
DIGEST = "sha256:"  # how those of file_digest begin
TRAINING = ("train", "training")
FREE_OF_UNIFORM = {"checkpoint", "dtype", "looks", "criteria"}  # in which a uniform baseline's protocol may differ
FREE_OF_SPLIT = {"corpus", "split", "looks", "criteria"}  # in which those of two splits may


class Check(NamedTuple):
    """One line of the checklist: what was looked at, what came out, and why."""

    name: str
    verdict: str
    words: str


def check_texts(corpus: Corpus) -> Iterator[Check]:
    """Yield the checks of the documents alone."""
    if not len(corpus):
        yield from (Check(name, NOT_KNOWN, "no documents were given") for name in OF_TEXTS)
        return
    one_split, none = len(corpus.splits()) < 2, Faults()
    invalid = Faults(f"{document} is invalid from byte {offset} on" for document, offset in corpus.invalid)
    reused = Faults(f"{document} has an id that was used in {split}" for document, split in corpus.reused)
    within, across = _duplicates(corpus)
    yield _judged("UTF-8", invalid, none, "all texts are valid")
    yield _judged("empty documents", Faults(map(str, corpus.empty)), none, "none")
    yield _judged("ids", reused, none, "each is that of one document")
    yield _judged("duplicates in a split", within, none, "none by the rule below")
    other = Faults(["there is one split only"] * one_split)
    yield _judged("duplicates across splits", across, other, "none by the rule below")


def check_run(
    runs: Sequence[ScoredSplit],
    *,
    uniform: Receipts | None = None,
    corpus: Collection[str] = (),
    tokenizer: str | None = None,
    checkpoint: str | None = None,
) -> Iterator[Check]:
    """Yield the checks of a run, in their order.  corpus, tokenizer, checkpoint: digests of what is there now."""
    if not runs:
        yield from (Check(name, NOT_KNOWN, "no receipts were given") for name in OF_RUN)
        return
    checks = [
        _digests(runs, corpus, tokenizer),
        _documents(runs),
        _targets(runs),
        _eos(runs),
        _finite(runs),
        _uniform(runs, uniform),
        _weights(runs, checkpoint),
    ]
    yield from checks
    yield _gap(runs, checks)


# --- the checks ------------------------------------------------------------------------------------------------------


def _judged(name: str, faults: Faults, missing: Faults, words: str) -> Check:
    """Return the check that fails for its faults, and that what is missing leaves not known."""
    if len(faults):
        return Check(name, FAIL, str(faults))
    return Check(name, NOT_KNOWN, str(missing)) if len(missing) else Check(name, PASS, words)


def _duplicates(corpus: Corpus) -> tuple[Faults, Faults]:
    """Return the documents that repeat one of their own split, and those that stand in an earlier split too."""
    within, across = Faults(), Faults()
    for group in corpus.duplicates():
        first: dict[str, Document] = {}
        for document in group:
            if document.split in first:
                within.add(f"{document} repeats {first[document.split].id!r}")
            elif first:
                across.add(f"{document} is {group[0]}")
            first.setdefault(document.split, document)
    return within, across


def _hold(what: str, stated: str, there: Collection[str], faults: Faults, missing: Faults) -> None:
    """Hold what a protocol states against the digests of what is there now; a name is no digest, and cannot be held."""
    if not there:
        missing.add(f"no file was given of {what}")
    elif stated in there:
        return
    elif stated.startswith(DIGEST) or not any(digest.startswith(DIGEST) for digest in there):
        faults.add(f"{what} is {_short(stated)} in the protocol, and {_short(*there)} now")
    else:
        missing.add(f"{what} has the name {stated!r} in the protocol, and no digest")


def _digests(runs: Sequence[ScoredSplit], corpus: Collection[str], tokenizer: str | None) -> Check:
    faults, missing = Faults(), Faults()
    for run in runs:
        protocol, files = run.protocol, [tokenizer] if tokenizer else []
        _hold(f"the corpus of {protocol.split}", protocol.corpus, corpus, faults, missing)
        _hold(f"the tokenizer of {protocol.split}", protocol.tokenizer, files, faults, missing)
    tokenizers = sorted({run.protocol.tokenizer for run in runs})
    if len(tokenizers) > 1:
        faults.add(f"the splits have the tokenizers {_short(*tokenizers)}")
    return _judged("digests", faults, missing, "corpus and tokenizer are those of the protocol")


def _documents(runs: Sequence[ScoredSplit]) -> Check:
    faults, missing = Faults(), Faults()
    for run in runs:
        split = run.protocol.split
        if not run.has_documents:
            missing.add(f"no documents of {split} were given")
        if len(run.strangers):
            faults.add(f"receipts of {split} without a document: {run.strangers}")
        if len(run.missing):
            faults.add(f"documents of {split} without a receipt: {run.missing}")
    return _judged("documents", faults, missing, "each has its receipt")


def _targets(runs: Sequence[ScoredSplit]) -> Check:
    faults, missing = Faults(), Faults()
    for run in runs:
        split = run.protocol.split
        if len(run.wrong_targets):
            faults.add(f"targets of {split} that no window scored, or that are none: {run.wrong_targets}")
        if len(run.wrong_bytes):
            faults.add(f"bytes of {split} that are not its text's: {run.wrong_bytes}")
        if run.held < len(run.targets):
            missing.add(f"the tokens of {split} were not given")
    n_targets = sum(run.n_targets for run in runs)
    return _judged("targets", faults, missing, f"{n_targets:,}, as the tokens have it: each in a window, once")


def _eos(runs: Sequence[ScoredSplit]) -> Check:
    faults, missing = Faults(), Faults()
    for run in runs:
        if len(run.wrong_eos):
            faults.add(f"EOS of {run.protocol.split}: {run.wrong_eos}")
        if run.n_eos is None and run.protocol.eos_id is not None:
            missing.add(f"the receipts of {run.protocol.split} do not count EOS")
    n_eos = sum(run.n_eos or 0 for run in runs)
    return _judged("EOS", faults, missing, f"{n_eos:,} scored, as the protocol has it")


def _finite(runs: Sequence[ScoredSplit]) -> Check:
    faults, missing = Faults(), Faults()
    for run in runs:
        if len(run.infinite):
            faults.add(f"documents of {run.protocol.split} cost inf: {run.infinite}")
        if not run.n_targets:
            missing.add(f"{run.protocol.split} has no targets")
    return _judged("losses", faults, missing, "every document's is finite")


def _uniform(runs: Sequence[ScoredSplit], uniform: Receipts | None) -> Check:
    faults, missing = Faults(), Faults()
    for run in runs:
        cost, allowed = uniform_cost(run.protocol)
        if run.mean_nll is not None and cost + allowed < run.mean_nll < inf:
            means = f"{run.mean_nll:.6g} nats per target, more than log V = {cost:.6g}"
            faults.add(f"{run.protocol.split} costs {means}: are the labels shifted, or is the model untrained?")
    if uniform is None:
        missing.add("no receipts of a uniform model were given; the costs lie below log V")
    else:
        _hold_uniform(runs, uniform, faults)
    return _judged("uniform baseline", faults, missing, "it costs log V on every target that the model was scored on")


def _hold_uniform(runs: Sequence[ScoredSplit], uniform: Receipts, faults: Faults) -> None:
    protocol = protocol_of(uniform)
    run = next((run for run in runs if run.protocol.split == protocol.split), None)
    if run is None:
        _check.refuse(uniform.path, "the split of the uniform model", "be one of the run's", protocol.split)
    differing = _differences(protocol, run.protocol, FREE_OF_UNIFORM)
    if differing:
        faults.add(f"its protocol differs from the model's in {differing}")
    found = uniform_faults(uniform, run)
    if len(found):
        faults.add(str(found))


def _weights(runs: Sequence[ScoredSplit], checkpoint: str | None) -> Check:
    faults, missing = Faults(), Faults()
    before = sorted({run.protocol.checkpoint for run in runs})
    if len(before) > 1:
        faults.add(f"the splits were scored by {_short(*before)}")
    else:
        _hold("the checkpoint", before[0], [checkpoint] if checkpoint else [], faults, missing)
    return _judged("weights", faults, missing, "the same checkpoint before and after")


def _gap(runs: Sequence[ScoredSplit], before: Sequence[Check]) -> Check:
    name, failed = "held-out gap", [check.name for check in before if check.verdict == FAIL]
    if failed:
        return Check(name, NOT_KNOWN, f"it means nothing while these fail: {', '.join(failed)}")
    means = {run.protocol: run.mean_nll for run in runs if run.mean_nll is not None}
    train = next((protocol for protocol in means if protocol.split in TRAINING), None)
    if train is None or len(means) < 2:
        return Check(name, NOT_KNOWN, "it takes receipts of train and of a held-out split")
    faults, gaps, base = Faults(), [], means.pop(train)
    for held_out, mean in means.items():
        differing = _differences(train, held_out, FREE_OF_SPLIT)
        if differing:
            faults.add(f"the protocols of {train.split} and {held_out.split} differ in {differing}")
        gaps.append(f"{held_out.split} {mean:.6g} - {train.split} {base:.6g} = {mean - base:.6g}")
    unknown = [check.name for check in before if check.verdict == NOT_KNOWN]
    caution = f"; not known before it: {', '.join(unknown)}" if unknown else ""
    return _judged(name, faults, Faults(), f"{', '.join(gaps)} nats per target{caution}")


def _differences(ours: Protocol, theirs: Protocol, free: set[str]) -> str:
    return ", ".join(name for name in ours.differences(theirs) if name not in free)


def _short(*digests: str) -> str:
    """Return digests as a line has room for them."""
    return " and ".join(digest if len(digest) < 24 else f"{digest[:19]}..." for digest in digests)
