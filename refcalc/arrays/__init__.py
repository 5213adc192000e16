"""Array files read one row at a time, with the standard library alone.

A batch of logits that a framework has saved is larger than anything wanted in memory as Python floats.  Here the
file is mapped, and only the row asked for becomes a list:

    open_array  ->  Array of shape (B, T, V)  ->  its element, an Array of shape (T, V)  ->  its element, a list of V

Three kinds of file are read, told apart by the end of their name:

    .npy            NumPy's format, versions 1.0, 2.0 and 3.0, either byte order, C or Fortran order
    .safetensors    one tensor of the file
    anything else   bare numbers, little-endian, the last axis fastest (C order)

Every number is exact: float16, bfloat16 and float32 are subsets of Python's float, and integers stay integers.
"""

__all__ = ["DTYPES", "Array", "open_array"]

import os
from collections.abc import Sequence

from refcalc import _check
from refcalc.arrays import npy, safetensors
from refcalc.arrays.layout import DTYPES, Layout, checked_axes, checked_length
from refcalc.arrays.storage import Storage
from refcalc.arrays.view import Array


def open_array(
    path: str | os.PathLike[str],
    *,
    dtype: str | None = None,
    shape: Sequence[int] | None = None,
    tensor: str | None = None,
) -> Array:
    """Return the array in a file, its numbers read only when a row of them is asked for.

    path: a regular file, or a link to one; .npy, .safetensors, or any other name for bare numbers.
    dtype: one of DTYPES.  Bare numbers need it; elsewhere it may be given and must then agree with the file.
    shape: the length of each axis, at least 1.  Bare numbers need it; elsewhere it must agree, as above.
    tensor: which tensor of a .safetensors file; may be left out where the file holds just one.

    >>> import os, struct, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "logits.bin")
    >>> with open(path, "wb") as file:
    ...     file.write(struct.pack("<6f", 0.5, 1.5, 2.5, 3.5, 4.5, 5.5))
    24
    >>> with open_array(path, dtype="float32", shape=(2, 3)) as logits:
    ...     logits
    ...     logits[-1]
    <Array of float32, shape (2, 3)>
    [3.5, 4.5, 5.5]
    >>> open_array(path, dtype="float32", shape=(2, 4))
    Traceback (most recent call last):
    ValueError: open_array: path must hold exactly 32 bytes for float32 of shape (2, 4), got 24
    >>> folder.cleanup()

    Raises ValueError if the file is torn, has bytes left over, or has a header that does not describe it;
    TypeError if an argument is of the wrong kind; FileNotFoundError and the like as `open` does.
    Nothing in a header is ever executed, and no header makes it read or reserve more than the file holds.

    The file must not shrink while the array is open: the operating system ends a process that reads past its end.

    Accuracy: exact.

    Source: NumPy, numpy.lib.format ("NPY format"); Hugging Face, safetensors, README, "Format".
    """
    name = _check.file("open_array", "path", path)
    ending = os.path.splitext(name)[1].lower()
    wanted = None if dtype is None else _dtype(dtype)
    axes = None if shape is None else checked_axes("shape", "hold", _check.wholes("open_array", "shape", shape))
    if tensor is not None and ending != ".safetensors":
        _check.refuse("open_array", "tensor", "be left out where path is not a .safetensors file", tensor)
    with open(name, "rb") as file:  # the map outlives it
        size = os.fstat(file.fileno()).st_size
        if ending == ".safetensors":
            layout = safetensors.layout(file, size, tensor)
        elif ending == ".npy":
            layout = npy.layout(file, size)
        else:
            layout = _bare(size, wanted, axes)
        _agree("dtype", wanted, layout.dtype)
        _agree("shape", axes, layout.shape)
        checked_length(layout)
        return Array(Storage(file, layout), layout.shape, layout.strides)


def _bare(size: int, dtype: str | None, shape: tuple[int, ...] | None) -> Layout:
    """Return the layout of a file without a header, which only the caller knows."""
    rule = "be given where path is neither .npy nor .safetensors"
    if dtype is None:
        _check.refuse("open_array", "dtype", rule, dtype)
    if shape is None:
        _check.refuse("open_array", "shape", rule, shape)
    return Layout(dtype, shape, start=0, length=size)


def _dtype(dtype: str) -> str:
    _check.choice("open_array", "dtype", dtype, tuple(DTYPES))
    return str(dtype)


def _agree(argument: str, given: object, stated: object) -> None:
    if given is not None and given != stated:
        _check.refuse("open_array", argument, f"agree with the file ({_check.shown(stated)})", given)
