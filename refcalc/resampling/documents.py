"""A ratio of sums over documents, and how far it moves when other documents of the same kind might have been drawn.

    s, n   numerator and denominator of one document: its nll sum and its scored targets, or bytes, or characters
    R      sum of s / sum of n, the pooled ratio      K    documents, or groups of them, that are drawn as one

Documents are what is drawn, not tokens: the tokens of one document hang together.  Where documents hang together too
(one author, one template), whole groups are drawn.  An interval says how much a sample of this size moves, and nothing
of a bias: of a leak, or of documents that are not of the kind one asks about.
"""

__all__ = ["Bootstrap", "PairedBootstrap", "PooledRatio", "bootstrap", "paired_bootstrap", "pooled_ratio"]

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import combinations_with_replacement, islice
from math import factorial, prod
from typing import NamedTuple

from refcalc import _check
from refcalc.resampling._draws import Column, Resample, choices, resamples
from refcalc.resampling._exact import deviation, root
from refcalc.resampling._student import share_of, t_bound
from refcalc.resampling._table import Documents, Table, read, same_documents, table

Progress = Callable[[int, int], object]

METHODS = ("random", "choice", "exact")
INTERVALS = ("percentile", "basic")
MOST_ENUMERATED = 10  # 92,378 resamples


class Bootstrap(NamedTuple):
    """A pooled ratio, and the range in which it lies in a share `confidence` of the resamples."""

    observed: float
    low: float
    high: float
    standard_error: float  # the standard deviation over the resamples
    confidence: float
    method: str
    interval: str
    resampled: int  # K
    draws: int
    seed: int | None
    warnings: tuple[str, ...]


class PairedBootstrap(NamedTuple):
    """Two pooled ratios on the same documents, and the bootstrap of ours - theirs."""

    ours: float
    theirs: float
    difference: Bootstrap
    ours_lower: float  # the share of resamples in which ours is the lower


class PooledRatio(NamedTuple):
    """A pooled ratio, its standard error by the delta method, and the t interval that this gives."""

    ratio: float
    standard_error: float
    low: float
    high: float
    confidence: float
    resampled: int
    warnings: tuple[str, ...]


def bootstrap(
    documents: Documents,
    *,
    draws: int = 2000,
    seed: int = 0,
    method: str = "random",
    interval: str = "percentile",
    confidence: float = 0.95,
    groups: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
) -> Bootstrap:
    """Return R and its bootstrap interval: K documents are drawn with replacement, again and again, and R computed.

    documents: (s, n) of each, n > 0; or a mapping from ids to these.  At least two.
    draws, seed: how many resamples, and of which random.Random(seed).
    method: "random" uses random() alone, whose sequence Python keeps; "choice" draws as rng.choice(documents) for each
        document does; "exact" counts every resample with its probability, for K <= 10 (draws and seed are unused).
    interval: "percentile", from draw int(0.025 (draws - 1)) to draw int(0.975 (draws - 1)) in order of size at
        confidence 0.95; "basic", the same mirrored in R.
    groups: the group of each document, in their order; then groups are drawn as wholes, and K counts groups.
    progress: called with the draws done and all draws, now and then.

    >>> documents = [(2.0, 2), (18.0, 9), (8.0, 4)]
    >>> result = bootstrap(documents, seed=17, method="choice")
    >>> result.observed == 28 / 15, result.low, result.high
    (True, 1.0, 2.0)
    >>> result.warnings
    ('only 3 documents to draw from: below 8 the interval is not to be trusted, most often it is too narrow',)
    >>> bootstrap([(0, 1), (0, 1), (0, 1)], method="exact").warnings[1]
    'every document has the same ratio: that no draw differs from it does not make it certain'

    Raises ValueError for fewer than two documents or groups, a numerator that is not finite, a denominator that is not
    above 0, less than one draw, an unknown method or interval, a confidence outside (0, 1), and groups that are not as
    many as the documents.

    Accuracy: every draw is the true quotient of its sums, rounded once; the same bits on every Python and machine.
    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, 13.3; "basic" is Davison & Hinkley (1997), 5.2.
    """
    name = "bootstrap"
    rows = table(name, read(name, "documents", documents), groups)
    options = _Options(draws, seed, method, interval, confidence, progress)
    return _bootstrap(name, rows, options)[0]


def paired_bootstrap(
    ours: Documents,
    theirs: Documents,
    *,
    draws: int = 2000,
    seed: int = 0,
    method: str = "random",
    interval: str = "percentile",
    confidence: float = 0.95,
    groups: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
) -> PairedBootstrap:
    """Return the pooled ratios of two systems on the same documents, and the bootstrap of ours - theirs.

    Each resample takes the same documents for both, so that what is hard for both cancels.  Documents are the same if
    their ids are (where mappings are given) and their denominators: nats over other tokens are no common unit; take
    bytes or characters where tokenizers differ.  The other arguments are those of bootstrap.

    >>> ours, theirs = {"a": (2.0, 2), "b": (18.0, 9)}, {"b": (20.0, 9), "a": (3.0, 2)}
    >>> result = paired_bootstrap(ours, theirs, method="exact")
    >>> result.difference.observed == -3 / 11, result.ours_lower
    (True, 1.0)
    >>> paired_bootstrap([(2.0, 2), (18.0, 9)], [(3.0, 2), (20.0, 8)])
    Traceback (most recent call last):
    ValueError: paired_bootstrap: theirs[1][1] must be 9.0, the denominator of the same document in ours, got 8.0

    Raises ValueError for documents that are not the same, and what bootstrap refuses.

    Accuracy: that of bootstrap; the differences are exact.
    Source: Koehn (2004), Statistical significance tests for machine translation evaluation, section 4.
    """
    name = "paired_bootstrap"
    first = read(name, "ours", ours)
    second = same_documents(name, first, read(name, "theirs", theirs))
    rows = table(name, first, groups, second, argument="ours")
    options = _Options(draws, seed, method, interval, confidence, progress)
    result, lower = _bootstrap(name, rows, options)
    return PairedBootstrap(table(name, first, None).pooled(), table(name, second, None).pooled(), result, lower)


def pooled_ratio(
    documents: Documents, *, confidence: float = 0.95, groups: Sequence[Hashable] | None = None
) -> PooledRatio:
    """Return R with its standard error by the delta method, clustered by groups if given, and its t interval.

        standard_error  =  sqrt(K / (K - 1) sum of (s - R n)**2) / sum of n,   one s and n for each document or group

    documents, groups, confidence: as in bootstrap.  The interval is R +- t standard_error, of K - 1 degrees of freedom.

    >>> result = pooled_ratio([(4.0, 4), (12.0, 4)])
    >>> result.ratio, result.standard_error
    (2.0, 1.0)

    Raises ValueError for what bootstrap refuses.

    Accuracy: ratio and standard_error are correctly rounded; the interval is R +- the rounded t times the latter.
    Source: Cochran (1977), Sampling Techniques, 2.11 and 6.4, for the whole K; clusters as Liang & Zeger (1986).
    """
    name = "pooled_ratio"
    share, rows = share_of(name, confidence), table(name, read(name, "documents", documents), groups)
    size, s, n = len(rows.above), sum(rows.above), sum(rows.below)
    squares = sum([(a * n - s * b) * (a * n - s * b) for a, b in zip(rows.above, rows.below, strict=True)])
    error = root(size * squares << 2 * max(0, -rows.p), (size - 1) * n * n * n * n << 2 * max(0, rows.p))
    ratio, reach = rows.pooled(), t_bound(share, size - 1) * error
    return PooledRatio(ratio, error, ratio - reach, ratio + reach, float(share), size, rows.warnings())


# --- the resamples ---------------------------------------------------------------------------------------------------


class _Options(NamedTuple):
    draws: int
    seed: int
    method: str
    interval: str
    confidence: float
    progress: Progress | None


def _bootstrap(function: str, rows: Table, options: _Options) -> tuple[Bootstrap, float]:
    """Return the bootstrap of a table, and the share of resamples whose ratio is negative."""
    draws, seed, method, interval, confidence, progress = options
    _check.choice(function, "method", method, METHODS)
    _check.choice(function, "interval", interval, INTERVALS)
    share, size = share_of(function, confidence), len(rows.above)
    tails = float((1 - share) / 2), float((1 + share) / 2)
    observed = rows.pooled()
    if method == "exact":
        if size > MOST_ENUMERATED:
            rule = f"be 'random' or 'choice' for more than {MOST_ENUMERATED} {rows.what}"
            _check.refuse(function, "method", rule, method)
        ratios, weights = _enumerated(rows)
        error = deviation(ratios, weights)
        low, high = (_weighted_quantile(ratios, weights, tail) for tail in tails)
        lower = sum([w for r, w in zip(ratios, weights, strict=True) if r < 0.0]) / sum(weights)
        drawn = None
    else:
        count = _check.count(function, "draws", draws, least=2)
        drawn = _check.whole(function, "seed", seed)
        drawing = (choices if method == "choice" else resamples)(size, drawn)
        ratios = sorted(_drawn(rows, islice(drawing, count), count, progress))
        error = deviation(ratios)
        low, high = (ratios[int(tail * (count - 1))] for tail in tails)
        lower = sum([r < 0.0 for r in ratios]) / count
    if interval == "basic":
        low, high = 2.0 * observed - high, 2.0 * observed - low
    warnings = rows.warnings()
    fields = (float(share), method, interval, size, len(ratios), drawn, warnings)
    return Bootstrap(observed, low, high, error, *fields), lower


def _drawn(rows: Table, drawing: Iterable[Resample], count: int, progress: Progress | None) -> list[float]:
    """Return the ratio of each resample, in the order of drawing."""
    above, below, ratios = Column(rows.above), Column(rows.below), []
    step = max(1, count // 100)
    for done, resample in enumerate(drawing, 1):
        ratios.append(rows.ratio(above.total(resample), below.total(resample)))
        if progress is not None and (done % step == 0 or done == count):
            progress(done, count)
    return ratios


def _enumerated(rows: Table) -> tuple[list[float], list[int]]:
    """Return the ratios of all resamples by size, and in how many of the K**K equally likely drawings each comes up."""
    size = len(rows.above)
    found = []
    for items in combinations_with_replacement(range(size), size):
        orders = factorial(size) // prod([factorial(items.count(item)) for item in {*items}])
        found.append((rows.ratio(sum([rows.above[i] for i in items]), sum([rows.below[i] for i in items])), orders))
    found.sort()
    return [ratio for ratio, _ in found], [orders for _, orders in found]


def _weighted_quantile(values: list[float], weights: list[int], share: float) -> float:
    """Return the least value that is not exceeded with a probability of at least share."""
    wanted, base = share.as_integer_ratio()
    need, reached = sum(weights) * wanted, 0
    for value, weight in zip(values, weights, strict=True):
        reached += weight * base
        if reached >= need:
            return value
    return values[-1]
