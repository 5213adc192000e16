"""Running an evaluation: windows, masks, sums and receipts; the scores are the caller's."""

__all__ = ["Document", "evaluate"]

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import exp, inf
from typing import Any, NamedTuple, runtime_checkable
from typing import Protocol as Protocol_

from refcalc import _check
from refcalc._check import Nested
from refcalc.evaluation.log import ReceiptLog
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.reading import Receipts, Source
from refcalc.evaluation.receipt import Receipt
from refcalc.evaluation.report import Report
from refcalc.exact_sum import ExactSum
from refcalc.softmax import logsumexp, row_nll
from refcalc.tally import text_counts
from refcalc.targets import windows
from refcalc.units import LOG_2, LOG_10


@runtime_checkable
class Baseline(Protocol_):
    """What the models of refcalc.baselines have in common."""

    def nll(self, token: Any, context: Sequence[Any] = (), /) -> float:
        """Return -log p(token | context), in nats."""


Model = Callable[[list[int]], Nested] | Baseline
SCORES = ("logits", "log_probabilities")
NATS = {"e": 1.0, "2": LOG_2, "10": LOG_10}
SHOWN_EVERY = 0.1  # seconds


class Document(NamedTuple):
    """A text to be scored.

    id: text or a whole number, each once.  tokens: its canonical encoding, without a BOS that the protocol puts there,
    with the EOS if that is scored.  text: what the protocol counts bytes, characters and words of.  group: an author, a
    template, or whatever else makes documents resemble each other.
    """

    id: str | int
    tokens: Sequence[int]
    text: str | None = None
    group: str | int | None = None


def evaluate(
    documents: Iterable[Document | tuple[Any, ...]],
    model: Model,
    protocol: Protocol,
    receipts_path: str | os.PathLike[str] | None = None,
    *,
    scores: str = "logits",
    progress: Callable[[int], object] | None = None,
    baselines: Mapping[str, Source | Receipts] | None = None,
    splits: Mapping[str, Source | Receipts] | None = None,
    worst: int = 5,
) -> Report:
    """Return the report of scoring every target of every document once, having written its receipts.

    documents: Documents, or tuples (id, tokens, text), gone through once.
    model: takes the token ids of a window, at most protocol.window, and returns a row of V scores for each: row t has
        read the ids 0 to t.  Whether it is in evaluation mode, and computes no gradients, is the caller's affair.  Or a
        baseline: anything with a method nll(token, context), as the models of refcalc have it, which is asked for each
        target after the ids of its window.
    receipts_path: the file of receipts, see refcalc.evaluation.log.  Documents that have their receipt there are not
        scored again, so that a run which was killed goes on when it is started again, with the same documents in the
        same order; the file is then the same to the last byte as if it had not been killed.  None keeps the receipts in
        memory.
    scores: "logits", or "log_probabilities" in the protocol's log_base.
    progress: called with the number of documents done; by default a terminal's standard error shows it.
    baselines, splits, worst: what the report is to hold beside it, as Report.of takes them.

    >>> digests = {"tokenizer": "letters", "corpus": "v1", "checkpoint": "uniform"}
    >>> protocol = Protocol(vocab_size=4, split="test", window=8, bos="first", bos_id=0, **digests)
    >>> report = evaluate([("a", [1, 2, 3], "xyz")], lambda ids: [[0.0] * 4 for _ in ids], protocol)
    >>> report.total
    Tally(4.1588830833596715, 3, n_bytes=3, n_chars=3, n_words=1, n_documents=1)

    Raises ValueError for tokens outside the vocabulary, a BOS that would be there twice, an EOS that is scored and
    missing, text that is not there and is to be counted, two documents of one id, rows that are not as many as the
    tokens or not V long, log-probabilities that are above 0 or do not sum to 1 by more than the rounding of the
    protocol's dtype, whatever token_nll refuses, and a file of receipts under another protocol or of other documents.

    Accuracy: every nll within 5 ulp of that of the logits (token_nll), the sums exact.
    """
    _check.choice("evaluate", "scores", scores, SCORES)
    if not isinstance(protocol, Protocol):
        _check.refuse("evaluate", "protocol", "be a Protocol", protocol, TypeError)
    if not callable(model) and not isinstance(model, Baseline):
        _check.refuse("evaluate", "model", "be a function, or have a method nll", model, TypeError)
    if scores == "logits" and protocol.log_base != "e":
        _check.refuse("evaluate", "protocol.log_base", "be 'e' for logits", protocol.log_base)
    worst = _check.count("evaluate", "worst", worst)  # before the work, not after it
    if "words" in protocol.units:
        _check.choice("evaluate", "protocol.word_rule", protocol.word_rule, ("white space",))
    given: set[str | int] = set()
    show = progress or _Shown()
    with ReceiptLog(receipts_path, protocol) as log:
        missing = set(log.done)  # of an earlier run, and not given yet
        for each in _check.iterable("evaluate", "documents", documents):
            document = _document(each)
            if document.id in given:
                _check.refuse("evaluate", "documents", "have different ids", document.id)
            given.add(document.id)
            missing.discard(document.id)
            if document.id not in log.done:
                if missing:  # it would stand elsewhere in the file than in one go, or is none of these documents
                    rule = f"begin with those of which {log.path} has receipts, such as {min(missing, key=str)!r}"
                    _check.refuse("evaluate", "documents", rule, document.id)
                log.write(_score(document, model, protocol, scores))
            show(len(given))
        if isinstance(show, _Shown):
            show.clear()
        if missing:
            rule = f"hold {min(missing, key=str)!r}, of which {log.path} has a receipt"
            raise ValueError(f"evaluate: documents must {rule}, got {len(given)} others")
        if not given:
            _check.refuse("evaluate", "documents", "hold at least one document", 0)
        log.end()
        return Report.of(log.receipts(), baselines=baselines, splits=splits, worst=worst)


# --- one document ----------------------------------------------------------------------------------------------------


def _score(document: Document, model: Model, protocol: Protocol, scores: str) -> Receipt:
    """Return the receipt of a document."""
    at = f"document {document.id!r}"
    tokens, counts = _tokens(at, document, protocol), _counts(at, document, protocol)
    found: list[tuple[int, float]] = []  # target, nll
    n_windows = 0
    for inputs, targets in _windows(tokens, protocol):
        nll_of = _of_window(f"{at}: window {n_windows}", inputs, model, protocol, scores)
        found += [(y, nll_of(t, y)) for t, y in enumerate(targets) if y != protocol.ignore_index]
        n_windows += 1
    parts: dict[str, Any] = {}
    for part, token in (("eos", protocol.eos_id), ("unk", protocol.unk_id)):
        if token is not None:
            nlls = [nll for target, nll in found if target == token]
            parts |= {f"n_{part}": len(nlls), f"{part}_nll": ExactSum(nlls)}
    total = ExactSum(nll for _, nll in found)
    return Receipt(document.id, total, len(found), group=document.group, n_windows=n_windows, **counts, **parts)


def _document(given: Any) -> Document:
    if not (isinstance(given, (tuple, list)) and 2 <= len(given) <= len(Document._fields)):
        _check.refuse("evaluate", "documents", "hold Documents, or tuples (id, tokens, text)", given, TypeError)
    document = Document(*given)
    if isinstance(document.id, bool) or not isinstance(document.id, (str, int)):
        _check.refuse("evaluate", "documents", "have ids that are text or whole numbers", document.id, TypeError)
    return document


def _windows(tokens: list[int], protocol: Protocol) -> Iterator[tuple[list[int], list[int]]]:
    """Yield inputs and targets, a BOS or EOS that is not scored ignored."""
    unscored = protocol.unscored
    for _, inputs, targets in windows(
        tokens,
        protocol.window,
        protocol.stride,
        bos=None if protocol.bos == "none" else protocol.bos_id,
        bos_in="every" if protocol.bos == "every" else "first",
        ignore_index=protocol.ignore_index,
    ):
        yield inputs, [protocol.ignore_index if y in unscored else y for y in targets]


def _tokens(at: str, document: Document, protocol: Protocol) -> list[int]:
    given = _check.items("evaluate", f"{at}: tokens", document.tokens)
    ids = [_check.target("evaluate", f"{at}: tokens[{i}]", y, protocol.vocab_size) for i, y in enumerate(given)]
    if protocol.ignore_index in ids:
        at_index = f"{at}: tokens[{ids.index(protocol.ignore_index)}]"
        _check.refuse("evaluate", at_index, "not be the protocol's ignore index", protocol.ignore_index)
    if protocol.bos != "none" and ids and ids[0] == protocol.bos_id:
        _check.refuse("evaluate", f"{at}: tokens[0]", "not be the BOS, which the protocol puts there", ids[0])
    if protocol.eos_scored and (not ids or ids[-1] != protocol.eos_id):
        rule = f"end with the EOS {protocol.eos_id}, which the protocol scores"
        _check.refuse("evaluate", f"{at}: tokens", rule, ids[-1:])
    return ids


def _counts(at: str, document: Document, protocol: Protocol) -> dict[str, Any]:
    if not protocol.units:
        return {}
    counted = text_counts("evaluate", f"{at}: text", document.text)  # type: ignore[arg-type]  # None is refused there
    return {f"n_{unit}": counted[f"n_{unit}"] for unit in protocol.units}


def _of_window(
    at: str, inputs: list[int], model: Model, protocol: Protocol, scores: str
) -> Callable[[int, int], float]:
    """Return the function from a row's number t and its target to the nll."""
    if isinstance(model, Baseline):
        ask = model.nll
        return lambda t, y: _check.not_negative("evaluate", f"{at}: nll of row {t}", ask(y, inputs[: t + 1]))
    rows = model(inputs)
    _check_length(f"{at}: rows", rows, "its tokens", len(inputs))
    nll_of = _of_logits if scores == "logits" else _of_log_probabilities
    return lambda t, y: nll_of(f"{at}: row {t}", rows[t], y, protocol)


def _check_length(at: str, values: Any, other: str, length: int) -> None:
    """Refuse what is not so long; rows are not converted, for a tensor of them holds many that are not scored."""
    if not hasattr(values, "__len__"):
        _check.refuse("evaluate", at, "be a sequence", values, TypeError)
    _check.same_length("evaluate", at, values, other, length)


def _of_logits(at: str, row: Any, target: int, protocol: Protocol) -> float:
    _check_length(at, row, "the vocabulary", protocol.vocab_size)
    return row_nll("evaluate", at, row, at, target)


def _of_log_probabilities(at: str, row: Any, target: int, protocol: Protocol) -> float:
    """Return minus the log-probability in nats, which may be below 0 by the rounding of the dtype and no more."""
    _check_length(at, row, "the vocabulary", protocol.vocab_size)
    scale = NATS[protocol.log_base]
    values = [scale * x for x in _check.floats("evaluate", at, _check.row("evaluate", at, row))]
    total = logsumexp(values) if max(values) > -inf else -inf
    if not abs(total) <= -protocol.least_nll:
        _check.refuse("evaluate", at, "hold log-probabilities, whose probabilities sum to 1", exp(total))
    return 0.0 - values[target]


# --- progress --------------------------------------------------------------------------------------------------------


class _Shown:
    """Shows the documents done, on a terminal only."""

    def __init__(self) -> None:
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._last = 0.0

    def __call__(self, done: int) -> None:
        if self._on_terminal and time.monotonic() - self._last > SHOWN_EVERY:
            self._last = time.monotonic()
            print(f"\rdocuments scored: {done:,}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._on_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
