"""The grader's side of a child process: starting it, asking it, and ending it with all that it started.

Whatever the child does, each wait here ends.  A thread writes to it and another reads from it, so that a child that
neither reads nor writes blocks nobody; the child is never waited for, it is killed.
"""

__all__ = ["Reply", "Worker"]

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, NamedTuple, Self

from refcalc.grading.exercise import Arguments

CHILD = Path(__file__).with_name("child.py")
START = 60.0  # seconds for Python itself to start, on a machine that is very busy
GRACE = 5.0  # seconds after the deadline at which the child ends by itself, if the grader has been killed
LOOK = 0.1  # seconds between looks whether the child still lives
LONGEST = 64 << 20  # bytes of a line
MARK = "REFCALC_GRADING"  # the environment variable by which processes that a module started are found


class Reply(NamedTuple):
    """What came of one call: "answer", "raised", "hung" (no end within the limit) or "died" (the process ended).

    value: the answer; a `Stranger` where it is of no kind that an answer can be.
    error, line: what was raised, or how the process ended, in words; where in the module.
    """

    kind: str
    value: Any = None
    changed: bool = False
    error: str = ""
    message: str = ""
    line: int | None = None


class Stranger(NamedTuple):
    """Something returned that is no answer: its type, and how it shows itself."""

    kind: str
    shown: str

    def __str__(self) -> str:
        return self.shown if self.kind in self.shown else f"{self.kind} {self.shown}".rstrip()


class Worker:
    """One child process with a module imported; `failure` says why it is of no use, if so.

    timeout: seconds for one call; ten times as long for the import.  deadline: of everything, by the monotonic clock.
    """

    def __init__(self, path: str, timeout: float, deadline: float) -> None:
        self._timeout, self._deadline = timeout, deadline
        self._token, self._mark = secrets.token_hex(16), secrets.token_hex(16)
        self._folder = tempfile.TemporaryDirectory(prefix="refcalc-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
            env={**os.environ, MARK: self._mark},
            start_new_session=True,
            bufsize=0,
        )
        self._incoming: SimpleQueue[bytes | None] = SimpleQueue()
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        for work in (self._read, self._write):
            Thread(target=work, daemon=True).start()
        self.names: list[str] = []
        self.failure: Reply | None = None
        try:
            self._import(path)
        except BaseException:  # Ctrl-C: nobody else knows of the child yet
            self.close()
            raise

    def ask(self, name: str, calls: Sequence[Arguments]) -> Iterator[Reply]:
        """Yield what comes of each call, in order; after one that hung or died there are no more."""
        self._send(f"({name!r}, {_expression(list(calls))})")
        for _ in calls:
            reply = self._reply(self._timeout)
            yield reply
            if reply.kind in ("hung", "died"):
                self.failure = reply
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child, its process group, and what left the group but still has the mark in its environment."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL) if os.name == "posix" else self._process.kill()
        self._outgoing.put(None)
        self._process.wait()
        _kill_marked(f"{MARK}={self._mark}".encode())
        self._folder.cleanup()

    # --- private -----------------------------------------------------------------------------------------------------

    def _import(self, path: str) -> None:
        self._send(self._token)
        self._send(repr((path, max(0.0, self._deadline - monotonic()) + GRACE)))
        started = self._reply(START)
        if started.kind == "answer":
            started = self._reply(10.0 * self._timeout)
        if started.kind == "answer":
            self.names = started.value
        else:
            self.failure = started

    def _send(self, text: str) -> None:
        self._outgoing.put(text.encode() + b"\n")

    def _reply(self, limit: float) -> Reply:
        """Return the next line that carries the token; others were never an answer."""
        end = min(monotonic() + limit, self._deadline)
        while True:
            ended = self._process.poll() is not None  # seen here too, for what it forked may hold the pipe open
            try:
                line = self._incoming.get(timeout=min(max(0.0, end - monotonic()), LOOK))
            except Empty:
                if ended:
                    return Reply("died", error=self._end())
                if monotonic() >= end:
                    late = monotonic() >= self._deadline
                    return Reply("hung", error="no time was left" if late else f"no end within {limit:g} s")
                continue
            if line is None:
                return Reply("died", error=self._end())
            token, _, text = line.partition(b" ")
            if token == self._token.encode():
                return _understood(text)

    def _end(self) -> str:
        """Return in words how the child ended."""
        try:
            status = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            return "closed its connection to the grader"
        if status >= 0:
            return f"ended the process with exit status {status}"
        with suppress(ValueError):
            return f"ended the process by signal {signal.Signals(-status).name}"
        return f"ended the process by signal {-status}"

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        with suppress(OSError, ValueError), pipe:
            rest = b""
            while more := pipe.read(1 << 16):
                *whole, rest = (rest + more).split(b"\n")
                for line in whole:
                    self._incoming.put(line)
                if len(rest) > LONGEST:
                    break
        self._incoming.put(None)

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(OSError, ValueError), pipe:
            while (text := self._outgoing.get()) is not None:
                left = memoryview(text)
                while left:
                    left = left[pipe.write(left) :]


# --- private ---------------------------------------------------------------------------------------------------------


def _expression(value: Any) -> str:
    """Return Python text for arguments, short for a list of many equal numbers."""
    if isinstance(value, list) and len(value) > 100 and isinstance(value[0], float) and value == value[:1] * len(value):
        return f"[{value[0]!r}] * {len(value)}"
    if isinstance(value, (list, tuple)) and any(isinstance(each, (list, tuple)) for each in value):
        inner = ", ".join(map(_expression, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    return repr(value)


def _understood(text: bytes) -> Reply:
    try:
        record = json.loads(text, object_hook=_object)
        match record:
            case {"answer": value, "changed": changed}:
                return Reply("answer", value, bool(changed))
            case {"raised": [error, message, line]}:
                return Reply("raised", error=str(error), message=str(message), line=line)
            case {"names": list(names)}:
                return Reply("answer", names)
            case {"ready": True}:
                return Reply("answer")
    except (ValueError, RecursionError, TypeError):
        pass
    return Reply("died", error="wrote what is no answer into its connection to the grader")


def _object(record: dict[str, Any]) -> Any:
    """Return what an object of one key stands for."""
    match record:
        case {"tuple": items}:
            return tuple(items)
        case {"dict": pairs}:
            return {_key(key): value for key, value in pairs}
        case {"odd": [kind, shown]}:
            return Stranger(kind, shown)
    return record


def _key(key: Any) -> Any:
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key


def _kill_marked(mark: bytes) -> None:
    """Kill every process whose environment holds the mark, where the system shows environments (Linux)."""
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in entry.read_bytes().split(b"\0"):
                os.kill(int(entry.parent.name), signal.SIGKILL)
