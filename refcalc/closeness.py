"""Hold numbers against the right ones: what differs, where, how badly, and whether rounding can explain it.

    a  an actual number        e  the expected one        ulp  a step from one number of the dtype to the next

All numbers are taken as doubles, which hold every number of the four dtypes exactly.
"""

__all__ = ["Comparison", "assert_close", "compare"]

from collections.abc import Iterator
from typing import Any, NamedTuple

from refcalc import _check, _rounding
from refcalc._check import Nested

Index = tuple[int, ...]


class Comparison(NamedTuple):
    """What `compare` found; as text, a verdict in three lines: what, where, how bad.

    An index is a tuple, (1, 3) for [1][3], and None where no number differs.  A nan is infinitely far from everything,
    from another nan too.  Each worst value is looked for on its own, so they may stand at different indexes.
    """

    dtype: str
    allowed: str  # in words, the rounding that may explain a difference
    shape_difference: str | None = None
    elements: int = 0  # pairs of numbers; none are compared where the shapes differ
    differing: int = 0
    first: Index | None = None  # the first pair that differs
    worst_ulp: float = 0  # steps along the numbers of dtype, an int between two of them
    worst_ulp_at: Index | None = None
    worst_absolute: float = 0.0  # |a - e|
    worst_absolute_at: Index | None = None
    worst_relative: float = 0.0  # |a - e| / |e|, inf where e is 0
    worst_relative_at: Index | None = None
    worst_share: float = 0.0  # |a - e| / (the error allowed)
    worst_share_at: Index | None = None
    worst_pair: tuple[float, float] | None = None  # (a, e) at worst_share_at

    @property
    def equal(self) -> bool:
        """Whether the shapes and all numbers are equal (0.0 and -0.0 are; nan and nan are not)."""
        return self.shape_difference is None and not self.differing

    @property
    def explained(self) -> bool:
        """Whether the shapes are equal and no difference is beyond the error allowed."""
        return self.shape_difference is None and self.worst_share <= 1.0

    def __bool__(self) -> bool:
        """Refuse: `assert compare(a, e)` would otherwise hold whatever was found."""
        raise TypeError("Comparison has no truth value: ask for .equal or .explained")

    def __str__(self) -> str:
        if self.shape_difference is not None:
            return self.shape_difference
        if self.worst_pair is None:
            return f"equal: {self.elements} of {self.elements} numbers"
        a, e = self.worst_pair
        return (
            f"{'' if self.explained else 'not '}explained by {self.allowed}: "
            f"{self.differing} of {self.elements} numbers differ{_at(', first', self.first)}\n"
            f"worst{_at('', self.worst_share_at)}: {a!r} ({a.hex()}) against {e!r} ({e.hex()}), "
            f"{self.worst_share:.3g} x the error allowed\n"
            f"off by up to {_brief(self.worst_ulp)} ulp of {self.dtype}{_at('', self.worst_ulp_at)}, "
            f"{self.worst_absolute:.3g}{_at('', self.worst_absolute_at)}, "
            f"relative {self.worst_relative:.3g}{_at('', self.worst_relative_at)}"
        )


def compare(
    actual: Nested,
    expected: Nested,
    *,
    dtype: str = "float64",
    quantity: str = "loss",
    classes: int | None = None,
    scale: float = 0.0,
    reduction: str = "none",
    targets: int | None = None,
) -> Comparison:
    """Return how actual differs from expected, and whether computing it in dtype can be why.

    What rounding can cause is a worst case, sized by dtype and V: a number within it can still be wrong.

    actual, expected: a number, or any nesting of numbers, arrays and tensors.  Shapes that differ are a result, not an
        error.  A number that is no double (a large int, a Fraction) is rounded to one first.
    dtype: "float64", "float32", "float16" or "bfloat16", in which actual was computed.
    quantity: "loss" for losses and log-probabilities, "probability", or "gradient" and "soft_gradient" for that of a
        cross-entropy by its logits; soft where targets are distributions or smoothed.  Class weights of 1 are assumed.
    classes: V, of the softmax.  Without it a difference is explained only if one rounding to dtype can be its cause.
    scale: the largest |logit|, where the logits were rounded to dtype on their way, or where the target's logit is
        taken from a finished logsumexp (never x - max(x)); else 0.
    reduction, targets: "mean" or "sum" of a loss over that many targets, where the running sum was held in dtype too.
        For a loss whose mean was taken in a wider dtype, leave them out; for the gradient of a mean, never.

    >>> print(compare([[0.1, 0.2], [0.3, 0.4]], [[0.1, 0.2], [0.1 + 0.2, 0.25]]))
    not explained by one rounding to float64: 2 of 4 numbers differ, first at [1][0]
    worst at [1][1]: 0.4 (0x1.999999999999ap-2) against 0.25 (0x1.0000000000000p-2), 4.5e+14 x the error allowed
    off by up to 2702159776422298 ulp of float64 at [1][1], 0.15 at [1][1], relative 0.6 at [1][1]
    >>> print(compare([1.0, 2.0], [1.0]))
    shape differs: 2 against 1
    >>> compare(4.5, 4.5078125, dtype="bfloat16").worst_ulp     # 4.5 and 4.53125 are neighbours in bfloat16
    0.25
    >>> [compare(loss, 4.5078125, dtype="bfloat16", classes=50257).explained for loss in (4.53125, 11.0625)]
    [True, False]
    >>> [compare(p, 2e-5, dtype="bfloat16", quantity="probability", classes=50257).explained for p in (2.1e-5, 0.0)]
    [True, False]

    ulp: the numbers of dtype are numbered in their order, subnormals included, and inf follows the largest finite one;
    the numbering runs evenly between neighbours and ends at inf.  The distance is the difference of two such numbers:
    rounding to the nearest moves by 0.5 at most, neighbours are 1 apart, 0.0 and -0.0 are 0 apart.

    Raises ValueError for an unknown dtype, quantity or reduction, for classes or targets below 1, a reduction without
    targets or of probabilities, a quantity that needs classes and has none, a negative scale; TypeError for no number.

    Accuracy: counts of ulp are exact between numbers of dtype, elsewhere correctly rounded; absolute differences are
    correctly rounded, relative ones within 1 ulp, both inf beyond the doubles.  The error allowed is derived in
    `_rounding`, to first order in u; for weighted and smoothed losses it is measured only.  For a loss it is about
    u (4 loss + log V + 6), u = 2**-8 in bfloat16: 0.23 where the loss is log V = 10.8.  For a probability it is
    u (2 |log p| + log V + 6) p: 0.15 p there.  For a gradient it is that share of p.  So zero and the double are
    not explained, except for "soft_gradient" where |p - q| is below u (log V + 11) everywhere.  Torch and jax use
    0.75 of it at most, V = 10 to 151,936 for losses and to 50,257 else: tests/peers/check_closeness.py.

    Source: Blanchard, Higham & Higham (2021), doi:10.1093/imanum/draa038, for the rounding of log-softmax.
    """
    allowed = _rounding.limit(
        "compare", dtype=dtype, quantity=quantity, classes=classes, scale=scale, reduction=reduction, targets=targets
    )
    return _compare("compare", actual, expected, dtype, allowed)


def assert_close(
    actual: Nested,
    expected: Nested,
    *,
    dtype: str = "float64",
    ulp: float | None = None,
    quantity: str = "loss",
    classes: int | None = None,
    scale: float = 0.0,
    reduction: str = "none",
    targets: int | None = None,
) -> None:
    """Raise AssertionError, with the verdict of `compare` as its message, unless actual is close to expected.

    ulp: if given, the largest distance allowed, in ulp of dtype; else every difference must be explained by rounding,
        as `compare` defines it from the other arguments.

    >>> assert_close([1.0, 2.0], [1.0, 2.0000000000000004], ulp=1)
    >>> assert_close([1.0, 2.0], [1.0, 2.000000000000001], ulp=1)
    Traceback (most recent call last):
    AssertionError: not explained by a tolerance of 1 ulp: 1 of 2 numbers differ, first at [1]
    worst at [1]: 2.0 (0x1.0000000000000p+1) against 2.000000000000001 (0x1.0000000000002p+1), 2 x the error allowed
    off by up to 2 ulp of float64 at [1], 8.88e-16 at [1], relative 4.44e-16 at [1]

    Raises ValueError and TypeError as `compare` does, and ValueError for an ulp that is negative or not finite.

    Accuracy: see `compare`.
    """
    allowed = _rounding.limit(
        "assert_close",
        dtype=dtype,
        quantity=quantity,
        classes=classes,
        scale=scale,
        reduction=reduction,
        targets=targets,
    )
    if ulp is not None:
        steps = _check.not_negative("assert_close", "ulp", ulp, finite=True)
        allowed = _rounding.Limit(f"a tolerance of {steps:g} ulp", steps=steps)
    found = _compare("assert_close", actual, expected, dtype, allowed)
    if not found.explained:
        raise AssertionError(str(found))


def _compare(function: str, actual: Nested, expected: Nested, dtype: str, allowed: _rounding.Limit) -> Comparison:
    left, right = _plain(function, "actual", actual), _plain(function, "expected", expected)
    shape_difference = _shape_difference(left, right, ())
    if shape_difference is not None:
        return Comparison(dtype, allowed.words, shape_difference)
    differing, first, elements = 0, None, _count(left)
    worst: list[tuple[float, Index]] = [(-1.0, ())] * 4  # ulp, absolute, relative, share: each with its index
    worst_pair = (0.0, 0.0)
    for index, a, e in _unequal(left, right, ()):
        first = index if first is None else first
        differing += 1
        for k, size in enumerate(_rounding.sizes(a, e, dtype, allowed, worst[0][0])):
            if size > worst[k][0]:
                worst[k] = size, index
                worst_pair = (a, e) if k == 3 else worst_pair
    if first is None:
        return Comparison(dtype, allowed.words, elements=elements)
    ulp, absolute, relative, share = worst
    return Comparison(
        dtype, allowed.words, None, elements, differing, first, *ulp, *absolute, *relative, *share, worst_pair
    )


def _plain(function: str, argument: str, values: Nested) -> Any:
    """Return a nesting as lists of floats, a number as a float."""
    if hasattr(values, "tolist"):  # tensors of one number too: float(loss) warns where the loss has a gradient
        values = values.tolist()
    if not _check.is_sequence(values):
        return _check.real(function, argument, values)
    return [
        value if type(value) is float else _plain(function, f"{argument}[{i}]", value)
        for i, value in enumerate(_check.items(function, argument, values))
    ]


def _shape_difference(left: Any, right: Any, index: Index) -> str | None:
    if not isinstance(left, list) and not isinstance(right, list):
        return None
    sizes = [str(len(side)) if isinstance(side, list) else "a number" for side in (left, right)]
    if sizes[0] != sizes[1]:
        return f"shape differs{_at('', index)}: {sizes[0]} against {sizes[1]}"
    pairs = enumerate(zip(left, right, strict=True))
    deeper = ((i, a, e) for i, (a, e) in pairs if isinstance(a, list) or isinstance(e, list))
    below = (_shape_difference(a, e, (*index, i)) for i, a, e in deeper)
    return next((difference for difference in below if difference is not None), None)


def _count(values: Any) -> int:
    return sum(_count(value) if isinstance(value, list) else 1 for value in values) if isinstance(values, list) else 1


def _unequal(left: Any, right: Any, index: Index) -> Iterator[tuple[Index, float, float]]:
    """Yield the index and the numbers of each pair that is not equal; the shapes are."""
    if not isinstance(left, list):
        if left != right:
            yield index, left, right
        return
    for i, (a, e) in enumerate(zip(left, right, strict=True)):
        if isinstance(a, list):
            yield from _unequal(a, e, (*index, i))
        elif a != e:
            yield (*index, i), a, e


def _at(lead: str, index: Index | None) -> str:
    return f"{lead} at {''.join(f'[{i}]' for i in index)}" if index else ""


def _brief(steps: float) -> str:
    return str(steps) if isinstance(steps, int) else f"{steps:.3g}"
