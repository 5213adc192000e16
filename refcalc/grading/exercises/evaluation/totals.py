"""Sums of nll over counts: the mean over batches, bits per byte, and the report on a set of documents.

    batch       (nll_sum, n_targets), in nats; it may have no targets
    document    (nll_sum, n_targets, n_bytes); an empty text has no bytes, but its EOS is a target
"""

__all__ = ["FUNCTIONS"]

from collections.abc import Callable, Iterator
from math import fsum, inf
from random import Random

from refcalc import exact
from refcalc.evidence import Records
from refcalc.grading.exercise import Arguments, Function
from refcalc.grading.exercises._shared import average, below, explained
from refcalc.mistakes.arithmetic import exponential
from refcalc.tally import Tally
from refcalc.units import LOG_2

Batch = tuple[float, int]
Document = tuple[float, int, int]
Report = dict[str, float]

# --- the right answers -----------------------------------------------------------------------------------------------


def token_mean(batches: list[Batch]) -> float:
    """Return the sum over all batches, divided by the number of all targets."""
    total = sum((Tally(s, n) for s, n in batches), Tally())
    return total.mean_nll


def document_report(documents: list[Document]) -> Report:
    """Return three numbers that one sum and its counts give."""
    total = sum((Tally(s, n, n_bytes=b) for s, n, b in documents), Tally())
    mean, rate = total.mean_nll, total.bits_per_byte
    return {"nats_per_target": mean, "perplexity": total.perplexity, "bits_per_byte": rate}


# --- what the catalogue is tried on ----------------------------------------------------------------------------------


def targets_of(batches: list[Batch]) -> list[Records]:
    """Return the targets of batches, each with the mean of its batch."""
    losses = [[s / n] * n if n else [] for s, n in batches]
    return [Records(losses, groups=[[k] for k in range(len(batches))])]


def text_of(nll_sum: float, n_bytes: int) -> list[Records]:
    """Return a text that is one target."""
    return [Records([nll_sum], n_bytes=n_bytes)]


# --- wrong answers ---------------------------------------------------------------------------------------------------

MEANS: dict[str, Callable[[list[Batch]], float]] = {
    "divided-by-rows": lambda batches: average(s for s, _ in batches),
    "tail-dropped": lambda batches: token_mean(batches[:-1]),
    "last-batch-only": explained(
        "Sum and count are those of the last batch: they are set in the loop, not added to.",
        "Begin with 0 before the loop, and add to it.",
        lambda batches: token_mean(batches[-1:]),
    ),
}

RATES: dict[str, Callable[[float, int], float]] = {
    "times-log-2": explained(
        "Nats are multiplied by log 2.",
        "A bit is log 2 = 0.69 nats, so that the number in bits is the larger one: divide by log 2.",
        lambda nll_sum, n_bytes: nll_sum * LOG_2 / n_bytes,
    ),
}


def reported(documents: list[Document], **wrong: float) -> Report:
    """Return the right report, but for what is given."""
    return {**document_report(documents), **wrong}


def with_mean(documents: list[Document], mean: float) -> Report:
    return reported(documents, nats_per_target=mean, perplexity=exponential(mean))


def mean_of(documents: list[Document]) -> float:
    return document_report(documents)["nats_per_target"]


REPORTS: dict[str, Callable[[list[Document]], Report]] = {
    "macro-vs-micro": lambda documents: with_mean(documents, average(s / n for s, n, _ in documents)),
    "total-as-rate": lambda documents: with_mean(documents, fsum(s for s, _, _ in documents)),
    "divided-by-rows": lambda documents: with_mean(documents, average(s for s, _, _ in documents)),
    "mean-of-perplexities": lambda documents: reported(
        documents, perplexity=average(exponential(s / n) for s, n, _ in documents)
    ),
    "two-to-the-nats": lambda documents: reported(documents, perplexity=exponential(mean_of(documents) * LOG_2)),
    "e-to-the-bits": lambda documents: reported(documents, perplexity=exponential(mean_of(documents) / LOG_2)),
    "nll-as-perplexity": lambda documents: reported(documents, perplexity=mean_of(documents)),
    "macro-bits-per-byte": lambda documents: reported(
        documents, bits_per_byte=average(exact.bits_per_byte(s, b) for s, _, b in documents if b)
    ),
    "bits-without-ln2": lambda documents: reported(
        documents, bits_per_byte=document_report(documents)["bits_per_byte"] * LOG_2
    ),
    "token-vs-word-unit": lambda documents: reported(documents, bits_per_byte=mean_of(documents) / LOG_2),
}

# --- the arguments ---------------------------------------------------------------------------------------------------


def batch(rng: Random, targets: int) -> Batch:
    return round(targets * (0.2 + 3.0 * rng.random()), 3), targets


def batches(rng: Random, count: int) -> list[Batch]:
    """Return batches of different sizes."""
    return [batch(rng, 1 + 2 * k + below(rng, 2)) for k in sorted(range(count), key=lambda _: rng.random())]


def sets_of_batches(rng: Random) -> Iterator[Arguments]:
    """Yield ordinary batches, a short last one, whole sums; then no targets, one batch, a sum that exp cannot bear."""
    for count in (2, 3, 5):
        yield (batches(rng, count),)
    yield ([batch(rng, 8), batch(rng, 8), batch(rng, 8), (9.0 + below(rng, 9), 1)],)
    yield ([(6 + below(rng, 9), 2), (9 + below(rng, 9), 4)],)
    yield ([*batches(rng, 2), (0.0, 0), *batches(rng, 2)],)
    yield ([batch(rng, 5)],)
    yield ([(800.0 + below(rng, 100), 90), batch(rng, 30)],)
    yield ([(0.0, 3), batch(rng, 2)],)
    yield ([batch(rng, 3), (inf, 4)],)


def sums_and_bytes(rng: Random) -> Iterator[Arguments]:
    """Yield sums and counts: ordinary, a whole number, one byte, a certain text, a large one, an impossible one."""
    for _ in range(4):
        yield round(300.0 * rng.random(), 3), 5 + below(rng, 300)
    yield 15 + below(rng, 9), 10
    yield 2.0 + below(rng, 9), 1
    yield 0.0, 63
    yield 4.0e6 + below(rng, 10**6), 10**6 + below(rng, 10**7)
    yield inf, 7


def sets_of_documents(rng: Random) -> Iterator[Arguments]:
    """Yield ordinary documents, two with whole sums; then an empty text, a single document, one of perplexity 1."""

    def documents(count: int) -> list[Document]:
        return [(s, n, 2 * n + below(rng, 7)) for s, n in batches(rng, count)]

    for count in (2, 3, 5, 4):
        yield (documents(count),)
    yield ([(6 + below(rng, 5), 2, 3), (9 + below(rng, 5), 4, 7)],)
    yield ([*documents(2), (2.0 + below(rng, 9), 1, 0)],)
    yield (documents(1),)
    yield ([(0.0, 4, 9)],)


# --- the functions ---------------------------------------------------------------------------------------------------

FUNCTIONS = (
    Function("token_mean(batches)", "the mean over all targets of (nll_sum, n_targets), in nats", token_mean,
             sets_of_batches, MEANS, evidence=targets_of),
    Function("bits_per_byte(nll_sum, n_bytes)", "bits per byte of a sum in nats", exact.bits_per_byte,
             sums_and_bytes, RATES, evidence=text_of, quantity="bits_per_byte"),
    Function("document_report(documents)", "a dict: nats_per_target, perplexity and bits_per_byte of all documents "
             "(nll_sum, n_targets, n_bytes) together", document_report, sets_of_documents, REPORTS),
)  # fmt: skip
