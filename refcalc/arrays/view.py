"""An array in a file, walked as if it were nested lists."""

__all__ = ["Array"]

from collections.abc import Iterator, Sequence
from typing import Any

from refcalc import _check
from refcalc.arrays.storage import Storage


class Array(Sequence[Any]):
    """A sequence whose elements lie in a file: Arrays of one axis less, or, where one axis is left, lists.

    shape is the length of each axis; dtype is one of DTYPES.  Nothing is kept of what was read.

        logits          shape (B, T, V)
        logits[b]       an Array of shape (T, V), in the same file
        logits[b][t]    a plain list of V numbers: floats, or for the integer dtypes ints, or bools
        logits[b][1:]   an Array without the first row

    An array of one axis is a sequence of numbers; iteration reads them all at once.

    It has no .tolist(): what has one is converted as a whole by the rest of the package, and this is to be read
    row by row.  `close`, or the end of a `with` block, closes the file for this array and all that came from it.
    """

    __slots__ = ("_first", "_storage", "_strides", "shape")

    def __init__(self, storage: Storage, shape: tuple[int, ...], strides: tuple[int, ...], first: int = 0) -> None:
        self.shape = shape
        self._storage = storage
        self._strides = strides  # in numbers, not in bytes
        self._first = first  # where its first number lies

    @property
    def dtype(self) -> str:
        return self._storage.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._part(index)
        i = _check.whole("Array", "index", index)
        length = self.shape[0]
        if not -length <= i < length:
            _check.refuse("Array", "index", f"lie in [-{length}, {length})", i, IndexError)
        first = self._first + i % length * self._strides[0]
        if len(self.shape) == 1:
            return self._storage.read(first, 1, 1)[0]
        if len(self.shape) == 2:
            return self._storage.read(first, self.shape[1], self._strides[1])
        return Array(self._storage, self.shape[1:], self._strides[1:], first)

    def __iter__(self) -> Iterator[Any]:
        if len(self.shape) == 1:
            return iter(self._storage.read(self._first, self.shape[0], self._strides[0]))
        return (self[i] for i in range(self.shape[0]))

    def __repr__(self) -> str:
        return f"<Array of {self.dtype}, shape {self.shape}>"

    def __enter__(self) -> "Array":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the lists that were read from it stay."""
        self._storage.close()

    def _part(self, index: slice) -> Any:
        if len(self.shape) == 1:
            return list(self)[index]
        kept = range(self.shape[0])[index]
        shape, strides = (len(kept), *self.shape[1:]), (kept.step * self._strides[0], *self._strides[1:])
        return Array(self._storage, shape, strides, self._first + kept.start * self._strides[0])
