"""What a header says of the numbers behind it, and the rules that every header obeys."""

__all__ = ["DTYPES", "Layout", "checked_axes", "checked_length", "dtype_of", "header"]

from collections.abc import Mapping
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any, BinaryIO, NamedTuple

from refcalc import _check

DTYPES = {  # name: bytes of one number
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "bool": 1,
}


class Layout(NamedTuple):
    """Where the numbers of one array lie in a file."""

    dtype: str
    shape: tuple[int, ...]
    start: int  # of the data in the file, in bytes
    length: int  # of the data, in bytes
    order: str = "<"  # of the bytes of one number: "<" little-endian, ">" big-endian
    fortran: bool = False  # whether the first axis is the fastest, and not the last

    @property
    def strides(self) -> tuple[int, ...]:
        """How many numbers lie from one element of an axis to the next: (3, 1) for shape (2, 3) in C order."""
        if self.fortran:
            return tuple(accumulate(self.shape[:-1], mul, initial=1))
        return tuple(accumulate(self.shape[:0:-1], mul, initial=1))[::-1]


def header(file: BinaryIO, length: int, most: int, size: int) -> bytes:
    """Return the next length bytes of a file of size bytes, or refuse a length that lies."""
    if length > min(most, size - file.tell()):
        _check.refuse("open_array", "path", f"have a header of at most {most} bytes, all of them in the file", length)
    return file.read(length)


def dtype_of(names: Mapping[str, str], stated: Any) -> str:
    """Return the dtype that a file calls stated, given what the format calls each."""
    if type(stated) is not str or stated not in names:
        _check.refuse("open_array", "path", f"hold numbers of a dtype in {', '.join(DTYPES)}", stated)
    return names[stated]


def checked_axes(argument: str, verb: str, shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple, or refuse it.

    The bounds keep the product of all axes small enough to be formed and printed, whatever a header claims.
    """
    good = type(shape) in (list, tuple) and 1 <= len(shape) <= 64  # 64 is NumPy's limit too
    if not good or not all(type(n) is int and 1 <= n < 1 << 63 for n in shape):
        _check.refuse("open_array", argument, f"{verb} 1 to 64 axes, each a whole number in [1, 2**63)", shape)
    return tuple(shape)


def checked_length(layout: Layout) -> None:
    """Refuse data that is shorter or longer than its shape and dtype take."""
    taken = prod(layout.shape) * DTYPES[layout.dtype]
    if layout.length != taken:
        rule = f"hold exactly {taken} bytes for {layout.dtype} of shape {_check.shown(layout.shape)}"
        _check.refuse("open_array", "path", rule, layout.length)
