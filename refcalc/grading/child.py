"""The process in which a graded module runs.  It is run by its path, imports nothing of refcalc, and is killed at last.

    python -I -B child.py          standard input, by lines: a token, (path of the module, seconds), then requests
                                   standard output: one line for each call, of the token and the answer

Requests are Python expressions, written by the grader; answers are JSON.  Before the module is read, the two ends move
to descriptors of their own and 0, 1 and 2 to the null device: what the module prints goes nowhere, and is no answer.
Nothing here is looked up where the module can change it: builtins are a copy, and all else was bound before.
"""

__all__ = ["Table"]

import builtins
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from importlib import machinery
from json.encoder import encode_basestring_ascii as quoted
from os import read, write
from types import CodeType, ModuleType
from typing import Any, NoReturn

globals()["__builtins__"] = dict(vars(builtins))  # functions take theirs from here: a patched `len` is not ours

MEMORY = 4 << 30  # bytes of address space
FILE_SIZE = 64 << 20  # bytes that can be written into one file
PARTS, DEPTH, TEXT = 200_000, 50, 1_000  # the largest answer, the deepest, and the characters kept of a text
LONGEST = 16 << 20  # characters of an answer as text
LONGEST_TIME = 1e9  # seconds; a timer of the system can bear no more
MODULE = "graded_module"  # its name, which is nobody else's


class Table:
    """A function as data, for an argument that is to be called: whole numbers in, a row of scores out.

    rows: the scores it can return.  Which one it is depends on the whole sequence, order included: over its tokens,
    k = (k * multiplier + token + 1) mod (2**31 - 1), from k = 0, and then rows[k mod len(rows)].  With multiplier 0 it
    depends on the last token alone: rows[(token + 1) mod len(rows)].

    >>> model = Table([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> model([]), model([1, 0]), model([0, 1]), Table(model.rows, 0)([0, 1])
    ([0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [4.0, 5.0])

    Raises ValueError for no rows.
    """

    def __init__(self, rows: Sequence[Sequence[float]], multiplier: int = 69_621) -> None:
        self.rows = tuple(tuple(row) for row in rows)
        self.multiplier = multiplier
        if not self.rows:
            raise ValueError("Table: rows must hold at least one row, got 0")

    def __call__(self, tokens: Iterable[int]) -> list[float]:
        k = 0
        for token in tokens:
            k = (k * self.multiplier + token + 1) % 2_147_483_647
        return list(self.rows[k % len(self.rows)])

    def __repr__(self) -> str:
        return f"Table({[list(row) for row in self.rows]!r}, {self.multiplier})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and (self.rows, self.multiplier) == (other.rows, other.multiplier)

    def __hash__(self) -> int:
        return hash((self.rows, self.multiplier))


NAMES = {"__builtins__": {}, "inf": float("inf"), "nan": float("nan"), "Table": Table}  # what requests may use


# --- answers as text -------------------------------------------------------------------------------------------------


class TooLarge(Exception):
    """An answer that no function of an exercise can mean."""


def encoded(value: Any) -> str:
    """Return an answer as JSON; a tuple, a dict, and what is of no kind of an answer, is an object of one key."""
    parts: list[str] = []
    try:
        encode(value, parts, 0)
        if sum(map(len, parts)) > LONGEST:
            raise TooLarge
    except TooLarge:
        return odd(type(value).__name__, "more than an answer can hold")
    return "".join(parts)


def encode(value: Any, parts: list[str], depth: int) -> None:
    if len(parts) > PARTS or depth > DEPTH or (isinstance(value, (list, tuple)) and len(value) > PARTS):
        raise TooLarge
    if value is None or value is True or value is False:
        parts.append("null" if value is None else "true" if value else "false")
    elif isinstance(value, float):
        digits = float.__repr__(value)
        parts.append({"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(digits, digits))
    elif isinstance(value, int):
        parts.append(int.__repr__(value) if int.bit_length(value) <= 1_000 else odd("int", "beyond the doubles"))
    elif isinstance(value, str):
        parts.append(quoted(str.__getitem__(value, slice(TEXT))))
    elif isinstance(value, list):
        sequence(list.__iter__(value), parts, depth, "[", "]")
    elif isinstance(value, tuple):
        sequence(tuple.__iter__(value), parts, depth, '{"tuple": [', "]}")
    elif isinstance(value, dict):
        sequence(map(list, dict.items(value)), parts, depth, '{"dict": [', "]}")
    else:
        kind = type(value)
        home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        parts.append(odd(f"{home}{kind.__qualname__}", shown(value)))


def sequence(values: Iterable[Any], parts: list[str], depth: int, start: str, end: str) -> None:
    parts.append(start)
    for i, value in enumerate(values):
        if i:
            parts.append(", ")
        encode(value, parts, depth + 1)
    parts.append(end)


def shown(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # its own code, or a number too long to be written
        return f"whose repr raises {type(error).__name__}"


def odd(kind: str, text: str) -> str:
    return f'{{"odd": [{quoted(str(kind)[:TEXT])}, {quoted(str(text)[:TEXT])}]}}'


def raised(error: BaseException, path: str) -> str:
    """Return what was raised, and in which line of the module; a syntax error elsewhere names its file and line."""
    own = isinstance(error, SyntaxError) and error.filename == path
    line = (error.lineno or None) if own else None  # type: ignore[attr-defined]
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        message = str(error.msg if own else error)[:TEXT]  # type: ignore[attr-defined]
    except BaseException:
        message = ""
    return f'{{"raised": [{quoted(type(error).__name__)}, {quoted(message)}, {encoded(line)}]}}'


# --- the work --------------------------------------------------------------------------------------------------------


def limit_resources(seconds: float) -> None:
    """Limit memory, the size of files, and the time if nobody is left to end this process, where the system can."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, min(seconds, LONGEST_TIME))
    try:
        import resource  # noqa: PLC0415 (not on every system)
    except ImportError:
        return
    for kind, most in (("RLIMIT_AS", MEMORY), ("RLIMIT_FSIZE", FILE_SIZE), ("RLIMIT_CORE", 0)):
        try:
            which = getattr(resource, kind)
            hard = resource.getrlimit(which)[1]
            resource.setrlimit(which, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
        except (AttributeError, OSError, ValueError):
            continue


class FromSource(machinery.SourceFileLoader):
    """A loader that takes a module as its source stands there: a compiled file can be of what stood there before."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def read_from_source(folder: str) -> None:
    """Have what lies in a folder compiled anew; what is installed is left to Python, wherever that lies."""
    inside, installed = os.path.join(folder, ""), tuple(os.path.join(entry, "") for entry in sys.path)
    extension = machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES
    source, sourceless = (FromSource, machinery.SOURCE_SUFFIXES), (machinery.SourcelessFileLoader, [".pyc"])

    def finder(entry: str) -> machinery.FileFinder:
        at = os.path.join(entry, "")
        if not at.startswith(inside) or at.startswith(installed) or not os.path.isdir(entry):
            raise ImportError
        return machinery.FileFinder(entry, extension, source, sourceless)

    sys.path_hooks.insert(0, finder)


def imported(path: str) -> ModuleType:
    """Return the module of a source file, run as it stands there, and so is what lies beside it."""
    module = ModuleType(MODULE)
    module.__file__ = path
    module.__dict__["__builtins__"] = builtins
    sys.modules[MODULE] = module
    read_from_source(os.path.dirname(path))
    sys.path.append(os.path.dirname(path))  # the last: what lies beside the module can be imported, and hides nothing
    with open(path, "rb") as file:
        source = file.read()
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    return module


def called(function: Any, arguments: tuple[Any, ...], path: str) -> str:
    """Return the answer to one call, or what it raised."""
    before = repr(arguments)
    try:
        answer = encoded(function(*arguments))
        changed = repr(arguments) != before
    except BaseException as error:
        return raised(error, path)
    return f'{{"answer": {answer}, "changed": {encoded(changed)}}}'


def lines(descriptor: int) -> Iterable[str]:
    rest = b""
    while True:
        line, end, after = rest.partition(b"\n")
        if end:
            yield line.decode()
            rest = after
            continue
        more = [rest]
        while b"\n" not in more[-1]:
            more.append(read(descriptor, 1 << 16))
            if not more[-1]:
                return
        rest = b"".join(more)


def main() -> NoReturn:
    """Import the module, answer requests until there are no more of them, and leave without any ceremony."""
    leave, getpid, own = os._exit, os.getpid, os.getpid()
    channel, answers, null = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)
    requests = iter(lines(channel))
    token, (path, seconds) = next(requests), eval(next(requests), NAMES)

    def say(text: str) -> None:
        if getpid() != own:  # the module has forked, and this is the other process
            leave(0)
        left = f"\n{token} {text}\n".encode()  # on a line of its own, whatever was written before
        while left:
            left = left[write(answers, left) :]

    limit_resources(seconds)
    say('{"ready": true}')
    try:
        module = imported(path)
        names = [name for name, value in dict.items(vars(module)) if callable(value) and isinstance(name, str)]
        say(f'{{"names": {encoded(names)}}}')
    except BaseException as error:
        say(raised(error, path))
    for request in requests:
        name, calls = eval(request, NAMES)
        function = vars(module)[name]
        for arguments in calls:
            say(called(function, arguments, path))
    leave(0)


if __name__ == "__main__":
    main()
