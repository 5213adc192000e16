"""What a general compressor needs for a text: the baseline that everybody has installed.

A compressor is a language model whose nll is the length of its output.  Its bits per byte, or per character, compare
with those of any model of the same text.

    method       container and level                    headers: what is not the text's own
    "zlib -9"    RFC 1950, levels 0 to 9                6 bytes: header and checksum
    "gzip -9"    RFC 1952, levels 0 to 9                18 bytes: header without name or time, checksum and length
    "bzip2 -9"   levels 1 to 9                          14 bytes: header, end mark and checksum
    "xz -9"      levels 0 to 9, and 0e to 9e (extreme)  about 32 to 70 bytes: header, checksum, index and footer

A name without a level is its command's own default: "zlib" and "gzip" -6, "bzip2" -9, "xz" -6.

Lengths are those of the zlib, bzip2 and liblzma that Python is built with; another release may differ by a few bytes.
No time, name or machine is written, so one build gives the same length every time.
"""

__all__ = ["METHODS", "compressed_bits"]

import bz2
import lzma
import zlib
from collections.abc import Callable

from refcalc import _check

ZLIB_HEADERS, GZIP_HEADERS, BZIP2_HEADERS = 6, 18, 14  # bytes
ZLIB_CONTAINER, GZIP_CONTAINER = 15, 31  # what zlib calls wbits: a window of 2**15 bytes, and the container

METHODS = tuple(
    f"{program} -{level}{extreme}"
    for program, levels, extremes in (
        ("zlib", range(10), ("",)),
        ("gzip", range(10), ("",)),
        ("bzip2", range(1, 10), ("",)),
        ("xz", range(10), ("", "e")),
    )
    for extreme in extremes
    for level in levels
)
DEFAULTS = {"zlib": "zlib -6", "gzip": "gzip -6", "bzip2": "bzip2 -9", "xz": "xz -6"}


def compressed_bits(data: bytes, method: str, primer: bytes = b"", *, headers: bool = True) -> int:
    """Return the length of compressed data, in bits: divide by the bytes or characters of the text.

    data: the text, encoded.
    method: one of METHODS, "gzip -9" say, or a name without a level.
    primer: a text that the compressor has read before, the training text say.  zlib takes its last 32 kB as a
        dictionary; of the others it is the difference of two lengths, that of primer + data less that of primer, in
        which all headers cancel.  A difference can be lucky or unlucky by a few bytes, so for a few bytes of data it
        may be 0 or negative: it then measures nothing.
    headers: whether what the container adds is counted, as it is on disk; has no effect on a difference.

    >>> text = b"to be, or not to be: that is the question: " * 10
    >>> compressed_bits(text, "gzip -9") - compressed_bits(text, "gzip -9", headers=False)
    144
    >>> compressed_bits(text, "gzip -9", primer=text) < compressed_bits(text, "gzip -9")
    True
    >>> compressed_bits("text", "gzip -9")
    Traceback (most recent call last):
    TypeError: compressed_bits: data must be bytes (encode the text), got 'text'

    Raises ValueError for a method that is not in METHODS; TypeError for what is no bytes.

    Accuracy: exact, for the library at hand.
    """
    name = "compressed_bits"
    text, before = _bytes(name, "data", data), _bytes(name, "primer", primer)
    method = next((full for bare, full in DEFAULTS.items() if bare == method), method)
    _check.choice(name, "method", method, METHODS)
    program, level = method.split(" -")
    if program == "zlib":
        length = _deflated(text, int(level), ZLIB_CONTAINER, before)
        return 8 * (length if headers else length - ZLIB_HEADERS - 4 * bool(before))  # 4: the dictionary's checksum
    length_of = _LENGTH_OF[program]
    if before:
        return 8 * (length_of(before + text, level, True) - length_of(before, level, True))
    return 8 * length_of(text, level, headers)


def _bytes(function: str, argument: str, value: bytes) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        _check.refuse(function, argument, "be bytes (encode the text)", value, TypeError)
    return bytes(value)


# --- lengths in bytes ------------------------------------------------------------------------------------------------


def _deflated(data: bytes, level: int, container: int, dictionary: bytes = b"") -> int:
    compressor = zlib.compressobj(level, zlib.DEFLATED, container)
    if dictionary:
        compressor = zlib.compressobj(level, zlib.DEFLATED, container, zdict=dictionary)
    return len(compressor.compress(data)) + len(compressor.flush())


def _gzip(data: bytes, level: str, headers: bool) -> int:
    """Return the length of gzip's output; zlib writes its header with no time, as `gzip -n` does."""
    return _deflated(data, int(level), GZIP_CONTAINER) - (0 if headers else GZIP_HEADERS)


def _bzip2(data: bytes, level: str, headers: bool) -> int:
    return len(bz2.compress(data, int(level))) - (0 if headers else BZIP2_HEADERS)


def _xz(data: bytes, level: str, headers: bool) -> int:
    preset = int(level[0]) | (lzma.PRESET_EXTREME if level.endswith("e") else 0)
    if headers:
        return len(lzma.compress(data, preset=preset))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset}]
    return len(lzma.compress(data, lzma.FORMAT_RAW, filters=filters))


_LENGTH_OF: dict[str, Callable[[bytes, str, bool], int]] = {"gzip": _gzip, "bzip2": _bzip2, "xz": _xz}
