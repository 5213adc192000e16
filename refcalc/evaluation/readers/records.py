"""The JSON records of a file: its lines one by one, or the one value, or the array, that the whole file is."""

__all__ = ["LONGEST", "Printed", "Record", "read_records"]

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, NoReturn

from refcalc import _check, _json

GLANCE = 60  # bytes
WHOLE = "the file"
LONGEST = 2**28  # bytes of a line, or of a file that is one JSON value


class Printed(float):
    """A float that remembers how it was printed."""

    text: str

    def __new__(cls, text: str) -> "Printed":
        self = super().__new__(cls, text)
        self.text = text
        return self


class Record(NamedTuple):
    """One JSON value of a file, and where it stands there."""

    path: str
    at: str  # "line 3", "[2]", or WHOLE
    value: Any
    source: bytes | None  # the line itself, where it is one

    @property
    def place(self) -> str:
        return self.path if self.at == WHOLE else f"{self.path}: {self.at}"

    def printed(self) -> Any:
        """Return the value once more, its floats as `Printed`."""
        return self.value if self.source is None else _json.read(self.source, number=Printed)

    def refuse(self, argument: str, rule: str, value: object, kind: type[Exception] = ValueError) -> NoReturn:
        """Refuse something of this record by file, line and key."""
        within = argument if self.at == WHOLE else f"{self.at}: {argument}"
        _check.refuse(self.path, within if argument else self.at, rule, value, kind)


def read_records(path: str) -> Iterator[Record]:
    """Yield the records of a file, reading a line at a time where each line is one.

    Raises ValueError for what is no JSON, naming the line, and for a file without any; OSError as open does.
    """
    with open(_check.file("verify", "path", path), "rb") as file:
        number, line = _next_line(path, file, 0)
        if not line:
            _check.refuse(path, WHOLE, "hold at least one JSON record", "nothing")
        value, whole = _first(path, number, line, file)
        if whole:
            yield from _of_whole(path, value)
            return
        while line:
            yield Record(path, f"line {number}", value, line)
            number, line = _next_line(path, file, number)
            value = _json.read_line(path, number, line) if line else None


# --- private ---------------------------------------------------------------------------------------------------------


def _next_line(path: str, file: BinaryIO, number: int) -> tuple[int, bytes]:
    """Return the next line that is not blank and its number; b"" at the end."""
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            _check.refuse(path, f"line {number}", f"be at most {LONGEST:,} bytes long", "a longer one")
        if not line.isspace():
            return number, line
    return number, b""


def _first(path: str, number: int, line: bytes, file: BinaryIO) -> tuple[Any, bool]:
    """Return the value of the first line, or that of the whole file, and whether it is the latter.

    A first line that is an object begins a file of lines; anything else, an array or an object over many lines, is one
    value with what follows.
    """
    if not line.lstrip().startswith((b"{", b"[")):  # no log: let the search for its format say so
        return line[:GLANCE].decode("utf-8", "replace").strip(), True
    if line.lstrip().startswith(b"{"):
        try:
            return _json.read_line(path, number, line), False
        except ValueError as error:
            if not str(error).startswith(f"{path}: line {number} must be JSON"):  # it is an object with something wrong
                raise
    rest = file.read(LONGEST + 1 - len(line))
    if len(line) + len(rest) > LONGEST:
        _check.refuse(path, WHOLE, f"be at most {LONGEST:,} bytes long, or JSON lines", "a longer one")
    try:
        return _json.read(b"\n" * (number - 1) + line + rest, number=Printed), True
    except ValueError as error:
        raise ValueError(f"{path}: the file {error}") from None


def _of_whole(path: str, value: Any) -> Iterator[Record]:
    if isinstance(value, list):
        if not value:
            _check.refuse(path, WHOLE, "hold at least one JSON record", value)
        for i, each in enumerate(value):
            yield Record(path, f"[{i}]", each, None)
    else:
        yield Record(path, WHOLE, value, None)
