"""The header of a .safetensors file.

    the header's length                   8 bytes, little-endian
    the header, JSON in UTF-8             {"logits": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
    the numbers, to the end of the file   little-endian; data_offsets count from the end of the header

The tensors lie one after another, without gap or overlap.  The key "__metadata__" maps text to text.

Source: Hugging Face, safetensors, README, "Format".
"""

__all__ = ["layout"]

from typing import Any, BinaryIO

from refcalc import _check, _json
from refcalc.arrays.layout import Layout, checked_axes, dtype_of, header

_MOST = 100_000_000  # bytes of header; the limit of the format
_NAMES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "BOOL": "bool",
}


def layout(file: BinaryIO, size: int, tensor: str | None) -> Layout:
    """Return the layout of one tensor of a .safetensors file of size bytes, read from its beginning."""
    length = int.from_bytes(file.read(8), "little")
    tensors = _tensors(header(file, length, _MOST, size))
    _check_offsets(tensors, size - file.tell())
    entry = tensors[_chosen(tensors, tensor)]
    begin, end = entry["data_offsets"]
    shape = checked_axes("path", "state", entry["shape"])
    return Layout(dtype_of(_NAMES, entry["dtype"]), shape, file.tell() + begin, end - begin)


def _tensors(text: bytes) -> dict[str, dict[str, Any]]:
    """Return what the header says of each tensor, by name."""
    tensors = _object(text)
    metadata = tensors.pop("__metadata__", {})
    if type(metadata) is not dict or not all(type(value) is str for value in metadata.values()):
        _check.refuse("open_array", "path", "have text by name for __metadata__", metadata)
    for name, entry in tensors.items():
        if type(entry) is not dict or entry.keys() != {"dtype", "shape", "data_offsets"}:
            _check.refuse("open_array", "path", "give dtype, shape and data_offsets of a tensor", {name: entry})
    return tensors


def _object(text: bytes) -> dict[str, Any]:
    try:
        fields = _json.read(text)
    except ValueError as error:
        raise ValueError(f"open_array: path's header {error}") from None
    if type(fields) is not dict:
        _check.refuse("open_array", "path's header", "be a JSON object", fields)
    return fields


def _check_offsets(tensors: dict[str, dict[str, Any]], size: int) -> None:
    """Refuse tensors that do not cover size bytes of data, each byte once."""
    for name, entry in tensors.items():
        pair = entry["data_offsets"]
        good = type(pair) is list and [type(offset) for offset in pair] == [int, int]
        if not good or not 0 <= pair[0] <= pair[1] <= size:
            rule = f"have a [begin, end] within its {size} bytes of data for data_offsets"
            _check.refuse("open_array", "path", rule, {name: pair})
    covered = 0
    for name, entry in sorted(tensors.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        if begin != covered:
            rule = f"hold tensors one after another, the next from byte {covered}"
            _check.refuse("open_array", "path", rule, {name: [begin, end]})
        covered = end
    if covered != size:
        _check.refuse("open_array", "path", f"hold exactly {covered} bytes of tensors", size)


def _chosen(tensors: dict[str, dict[str, Any]], tensor: str | None) -> str:
    if not tensors:
        _check.refuse("open_array", "path", "hold at least one tensor", 0)
    if tensor is None and len(tensors) == 1:
        return next(iter(tensors))
    if tensor not in tensors:
        names = sorted(tensors)
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        listed = ", ".join(repr(name[:100]) for name in names[:20])
        _check.refuse("open_array", "tensor", f"be one of {listed}{more}", tensor)
    return tensor
