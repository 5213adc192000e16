"""The z-loss and its gradient, correctly rounded: the names and the formulas of refcalc.divergence.normaliser.

    L  =  m + log1p(tail)        z-loss of a row  =  c L**2        its gradient  =  2 c L p[i]

L is m where one logit alone is finite, and transcendental in every other row (see `value`); so is its square.  That a
sum of such squares is no half-way point rests on Schanuel's conjecture, and so does the gradient of a row that is not
tied: no linear form in logarithms.
"""

__all__ = ["z_loss", "z_loss_gradient"]

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

from refcalc import _check
from refcalc._check import Nested
from refcalc.divergence.normaliser import begin
from refcalc.exact._enclosures import log_size, product, square, total
from refcalc.exact._read import exact_row
from refcalc.exact._rounding import Enclosure, affine, nearest, rounded
from refcalc.exact._row import Row
from refcalc.exact._scored import ExactRows
from refcalc.exact.softmax import probability
from refcalc.exact.value import ONE, ZERO, Nll
from refcalc.targets import IGNORE_INDEX


def z_loss(
    logits: Nested,
    targets: Nested = None,
    *,
    coefficient: float = 1e-4,
    ignore_index: int = IGNORE_INDEX,
    reduction: str = "mean",
) -> Any:
    """Return the double nearest to coefficient * logsumexp(row)**2, over the rows of a batch; or a nest of them.

    The arguments are those of refcalc.z_loss; the coefficient is the double given, exactly.

    >>> z_loss([0.0, 0.0], coefficient=1.0)
    0.48045301391820144
    >>> z_loss([-0.6931471805599453, -0.6931471805599453], coefficient=1.0)   # log 2 less the double nearest to it
    5.377978124810674e-34

    Raises what refcalc.z_loss raises, and ValueError for a number that is not exactly a double.

    Accuracy: correctly rounded; of one row proved, of several by Schanuel's conjecture.  ArithmeticError where 2**14
    bits do not decide.
    """
    rows = ExactRows("z_loss", ("logits", "targets"), ignore_index, hard=True)
    _, given = begin(rows, logits, targets, coefficient, reduction)
    c = Fraction(_check.double(rows.name, "coefficient", coefficient))

    def scored(names: tuple[str, str], row: Sequence[Any], *_: Any) -> Any:
        exact = exact_row(rows.name, names[0], row)
        return _squares(rows.name, [exact], c) if reduction == "none" else exact

    nested, found, shares = rows.walk(scored, lambda classes: 0.0, logits, given)
    if reduction == "none":
        return nested
    return _squares(rows.name, found, c / rows.denominator(shares, given) if reduction == "mean" else c)


def z_loss_gradient(
    logits: Nested,
    targets: Nested = None,
    *,
    coefficient: float = 1e-4,
    ignore_index: int = IGNORE_INDEX,
    reduction: str = "mean",
) -> Any:
    """Return d z_loss / d logits, each number the nearest double, nested like the logits.

    The arguments are those of refcalc.z_loss_gradient.  No 0.0 has a sign.

    >>> z_loss_gradient([1.5, -1e6], coefficient=1.0 + 2**-52)     # 3 (1 + 2**-52) is half-way, and 0.5 e**-1e6 less
    [3.0000000000000004, 0.0]

    Raises as z_loss does.

    Accuracy: correctly rounded; of tied rows proved, of others by Schanuel's conjecture.
    """
    rows = ExactRows("z_loss_gradient", ("logits", "targets"), ignore_index, hard=True)
    _, given = begin(rows, logits, targets, coefficient, reduction)
    c = Fraction(_check.double(rows.name, "coefficient", coefficient))
    found: list[tuple[Row, list[float]]] = []

    def scored(names: tuple[str, str], row: Sequence[Any], *_: Any) -> list[float]:
        found.append((exact_row(rows.name, names[0], row), []))
        return found[-1][1]

    nested, _, shares = rows.walk(scored, lambda classes: [0.0] * classes, logits, given)
    factor = 2 * c / (rows.denominator(shares, given) if reduction == "mean" else ONE)
    for row, slope in found:
        slope[:] = _slope(rows.name, row, factor)
    return nested


def _logsumexp(row: Row, level: int) -> Enclosure:
    return affine(Fraction(row.m), ONE, log_size(row, level))


def _squares(name: str, rows: list[Row], factor: Fraction) -> float:
    """Return factor times the sum of L**2."""
    known = sum((Fraction(row.m) ** 2 for row in rows if row.ties == 1), ZERO) * factor
    others = [row for row in rows if row.ties != 1]
    if not others or not factor:
        return nearest(known.numerator, known.denominator)
    return rounded(
        name, lambda level: affine(known, factor, total(*(square(_logsumexp(row, level)) for row in others)))
    )


def _slope(name: str, row: Row, factor: Fraction) -> list[float]:
    """Return factor L p[i] for each class."""
    if not factor:
        return [0.0] * len(row.xs)
    if row.ties:
        share = factor / row.ties
        slope = Nll(Fraction(row.m) * share, {row.ties: share}).nats(name)
        return [slope if x > -inf else 0.0 for x in row.xs]

    def class_slope(x: float) -> float:
        def enclose(level: int) -> Enclosure:
            if x == row.m and not row.tail(level)[0]:
                return affine(factor * Fraction(row.m), factor, _dust(row, level))
            return affine(ZERO, factor, product(_logsumexp(row, level), probability(row, x, level)))

        return rounded(name, enclose, start=2)

    found = {x: class_slope(x) if x > -inf else 0.0 for x in set(row.xs)}
    return [found[x] for x in row.xs]


def _dust(row: Row, level: int) -> Enclosure:
    """Return an enclosure of L / (1 + t) - m for a tail t that is all but 0; its sign is certain."""
    # It is (log1p(t) - m t) / (1 + t), and t - t**2 / 2 < log1p(t) < t:
    #
    #     1 <= m:   - m t  <  it  <  0                    m < 1:   0  <  it  <  (1 - m) t,   if t < 2 (1 - m).
    _, hi, d = row.tail(level)
    m, t = Fraction(row.m), Fraction(hi, d)
    if m >= 1:
        low, high = -m * t, ZERO
    else:
        low, high = (ZERO if t < 2 * (1 - m) else -t * t), (1 - m) * t
    unit = low.denominator * high.denominator
    return low.numerator * high.denominator, high.numerator * low.denominator, unit
