"""Recomputing a published result from its log, and holding the two against each other."""

__all__ = ["Verification", "verify"]

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from refcalc import _check, _rounding
from refcalc.evaluation.readers import Opened, open_log
from refcalc.evaluation.readers.check import Check, Examined
from refcalc.evaluation.readers.lm_eval import recognises_results, run
from refcalc.evaluation.readers.log import Findings
from refcalc.evaluation.token_logs import PUBLISHED, examine
from refcalc.evaluation.verified import metrics, sentences
from refcalc.tally import Tally

HARNESS = "lm-evaluation-harness"


class Verification(NamedTuple):
    """What `verify` found; as text, a table of the numbers and what a person has to look at.

    >>> Verification(("run.jsonl",), "JSON lines", (), 0, (), 0, (), {}, None).agrees
    True
    """

    files: tuple[str, ...]
    format: str
    checks: tuple[Check, ...]  # of totals, and of single documents where they do not agree
    n_documents_agree: int  # claims about single documents that agree
    contradictions: tuple[str, ...]  # copies of a value inside the files that differ: the first of them
    n_contradictions: int
    warnings: tuple[str, ...]
    unverified: dict[str, str]  # what was published and could not be computed again, and why
    tally: Tally | None  # of all documents; None for lm-evaluation-harness, whose tokens are not logged

    @property
    def agrees(self) -> bool:
        """Whether every published number agrees, and no copies differ."""
        return all(check.agrees for check in self.checks) and not self.n_contradictions

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as JSON can hold it; the metrics of all documents by name."""
        record = {"agrees": self.agrees, **self._asdict(), "checks": [check._asdict() for check in self.checks]}
        if self.tally is not None:
            record["tally"] = self.tally.to_dict()
            record["recomputed"] = metrics(self.tally)
        return record

    def __bool__(self) -> bool:
        """Refuse: `assert verify(...)` would otherwise hold whatever was found."""
        raise TypeError("Verification has no truth value: ask for .agrees")

    def __str__(self) -> str:
        return "\n".join(sentences(self))


def verify(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    vocab_size: int | None = None,
    reported: Mapping[str, float | str] | None = None,
    dtype: str = "float64",
) -> Verification:
    """Recompute what was published of an evaluation from its log, and hold the two against each other.

    paths: the log, in one file or several, and beside it what was published.  The format is recognised by content:
        receipts of `evaluate`; results and samples of lm-evaluation-harness (--log_samples); vLLM's prompt_logprobs;
        OpenAI-style completions and chat completions with logprobs; JSON lines with log-probabilities or nll sums.
        refcalc.evaluation.readers has a module for each, with what it reads.
    vocab_size: V, to compare with a uniform guess.
    reported: published numbers by quantity (mean_nll, perplexity, bits_per_byte, ..., counts such as n_targets; of the
        harness METRIC or TASK/METRIC); as text they stand for everything that is rounded to them.
    dtype: in which they were computed.  Those of the harness have to agree to the last digit in any case.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as log:
    ...     print('{"token_logprobs": [null, -2.0, -4.0]}', '{"nlls": [1.0]}', sep="\\n", file=log, flush=True)
    ...     found = verify(log.name, reported={"mean_nll": "2.0"})
    >>> [(check.quantity, check.published, check.recomputed, check.mistakes) for check in found.checks]
    [('mean_nll', '2.0', 2.3333333333333335, (('macro-vs-micro',), ('unshifted-token-count', 'bits-reported-as-nats')))]

    Raises ValueError and TypeError for files that cannot be read as one of these, naming file, line and value; OSError
    as open does.

    Accuracy: sums and counts are exact, each metric is that of Tally; of the harness in its own arithmetic.
    """
    files = [os.fsdecode(paths)] if isinstance(paths, (str, os.PathLike)) else [os.fsdecode(path) for path in paths]
    if not files:
        _check.refuse("verify", "paths", "name at least one file", files)
    if len({os.path.realpath(path) for path in files}) < len(files):
        _check.refuse("verify", "paths", "name each file once", files)
    if vocab_size is not None:
        vocab_size = _check.count("verify", "vocab_size", vocab_size, least=1)
    _check.choice("verify", "dtype", dtype, tuple(_rounding.FORMATS))
    opened = [open_log(path) for path in files]
    claims = _reported(reported or {})
    if any(each.format == HARNESS for each in opened):
        format_, examined = HARNESS, _of_harness(opened, claims, vocab_size)
    else:
        examined = examine(opened, claims, vocab_size, dtype)
        format_ = next(each.format for each in opened if each.format not in PUBLISHED)
    found = examined.found
    return Verification(
        tuple(files), format_, examined.checks, examined.agreeing, tuple(found.contradictions), found.n_contradictions,
        examined.warnings, found.unverified, examined.tally,
    )  # fmt: skip


# --- private ---------------------------------------------------------------------------------------------------------


def _reported(reported: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in reported.items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            _check.refuse("verify", f"reported[{name!r}]", "be a number", value)
        _check.not_nan("verify", f"reported[{name!r}]", number)
    return dict(reported)


def _of_harness(opened: list[Opened], reported: dict[str, Any], vocab_size: int | None) -> Examined:
    for each in opened:
        if each.format != HARNESS:
            _check.refuse(each.path, "the file", f"be of {HARNESS}, as another one is", each.format)
    results = [each for each in opened if recognises_results(each.first.value)]
    samples = [each.path for each in opened if not recognises_results(each.first.value)]
    if len(results) != 1:
        _check.refuse("verify", "paths", "hold one results file beside the samples of its tasks", len(results))
    found = Findings()
    checks = run.examine(results[0].only(), samples, reported, found)
    warnings = [*run.warnings(checks), *found.warnings()]
    if vocab_size is not None:
        warnings.append("no comparison with a uniform guess: the harness does not log how many tokens were scored")
    return Examined(tuple(checks), 0, found, tuple(warnings), None)
