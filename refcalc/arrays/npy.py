r"""The header of a .npy file.

    b"\x93NUMPY", two bytes of version        1.0, 2.0 or 3.0
    the header's length, little-endian        2 bytes in version 1.0, else 4
    the header, a Python literal              {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}
    the numbers, to the end of the file

Source: NumPy, numpy.lib.format, "NPY format".  Version 3.0 differs from 2.0 only in the names of fields, which no array
of plain numbers has.
"""

__all__ = ["layout"]

import ast
from typing import Any, BinaryIO

from refcalc import _check
from refcalc.arrays.layout import Layout, checked_axes, dtype_of, header

_MAGIC = b"\x93NUMPY"
_WIDTHS = {(1, 0): 2, (2, 0): 4, (3, 0): 4}  # version: bytes of the header's length
_MOST = 10_000  # bytes of header; NumPy's own limit, below which parsing a literal is safe however it nests
_WIDE = {
    "f8": "float64",
    "f4": "float32",
    "f2": "float16",
    "i8": "int64",
    "i4": "int32",
    "i2": "int16",
    "u8": "uint64",
    "u4": "uint32",
    "u2": "uint16",
}
_NAMES = {  # |V2, as which bfloat16 is saved, could be anything of two bytes and is not here
    "|i1": "int8",
    "|u1": "uint8",
    "|b1": "bool",
    **{order + code: dtype for order in "<>" for code, dtype in _WIDE.items()},
}


def layout(file: BinaryIO, size: int) -> Layout:
    """Return the layout of a .npy file of size bytes, read from its beginning."""
    magic = file.read(len(_MAGIC))
    if magic != _MAGIC:
        _check.refuse("open_array", "path", f"begin with {_MAGIC!r}, as every .npy file does", magic)
    version = tuple(file.read(2))
    if version not in _WIDTHS:
        _check.refuse("open_array", "path", "be of .npy version (1, 0), (2, 0) or (3, 0)", version)
    length = int.from_bytes(file.read(_WIDTHS[version]), "little")
    fields = _fields(header(file, length, _MOST, size))
    descr, fortran, start = fields["descr"], fields["fortran_order"], file.tell()
    dtype = dtype_of(_NAMES, descr)
    if type(fortran) is not bool:
        _check.refuse("open_array", "path", "have True or False for fortran_order", fortran)
    shape = checked_axes("path", "state", fields["shape"])
    return Layout(dtype, shape, start, size - start, ">" if descr[0] == ">" else "<", fortran)


def _fields(text: bytes) -> dict[str, Any]:
    try:
        fields = ast.literal_eval(text.decode("ascii"))  # reads literals, runs nothing
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        fields = None
    if type(fields) is not dict or fields.keys() != {"descr", "fortran_order", "shape"}:
        _check.refuse("open_array", "path's header", "give descr, fortran_order and shape", text)
    return fields
