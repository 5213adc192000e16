"""The numbers of one file, mapped into memory, of which any run is read as a list."""

__all__ = ["Storage"]

import struct
import sys
from array import array
from mmap import ACCESS_READ, mmap
from typing import Any, BinaryIO, Literal

from refcalc import _check
from refcalc.arrays.layout import DTYPES, Layout

_WORDS: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}  # by size; bits moved as they are
_CODES = {  # dtype: the code of array.array; float16 is none of its kinds, bfloat16 becomes float32 first
    "float64": "d",
    "float32": "f",
    "bfloat16": "f",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "bool": "B",
}
_NATIVE = "<" if sys.byteorder == "little" else ">"


class Storage:
    """The mapped numbers of one array, in the order of the file."""

    __slots__ = ("_map", "_order", "_words", "dtype")

    def __init__(self, file: BinaryIO, layout: Layout) -> None:
        end = layout.start + layout.length
        self.dtype = layout.dtype
        self._order = layout.order
        self._map = mmap(file.fileno(), end, access=ACCESS_READ)
        self._words = memoryview(self._map)[layout.start : end].cast(_WORDS[DTYPES[layout.dtype]])

    def read(self, first: int, count: int, stride: int) -> list[Any]:
        """Return count >= 1 numbers, the first and each stride-th after it."""
        if self._map.closed:
            raise ValueError("Array: file must be open, got a closed one")
        raw = self._words[first : first + (count - 1) * stride + 1 : stride].tobytes()
        if self.dtype == "float16":
            return list(struct.unpack(f"{self._order}{count}e", raw))
        numbers = array(_CODES[self.dtype], _widened(raw) if self.dtype == "bfloat16" else raw)
        if self._order != _NATIVE:
            numbers.byteswap()
        return _bools(numbers) if self.dtype == "bool" else numbers.tolist()

    def close(self) -> None:
        """Release the file; what was read stays."""
        self._words.release()
        self._map.close()


def _widened(raw: bytes) -> bytes:
    """Return little-endian bfloat16 as the float32 of the same values.

    A bfloat16 is the upper half of a float32, so each gets two zero bytes below it: 80 3f becomes 00 00 80 3f.
    """
    wide = bytearray(2 * len(raw))
    wide[2::4] = raw[0::2]
    wide[3::4] = raw[1::2]
    return bytes(wide)


def _bools(numbers: "array[int]") -> list[bool]:
    worst = max(numbers)
    if worst > 1:
        _check.refuse("Array", "bool", "be stored as 0 or 1", worst)
    return [number == 1 for number in numbers]
