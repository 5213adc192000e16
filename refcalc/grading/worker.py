"""The grader's side of a child process: starting it, asking it, and ending it with all that it started.

Whatever the child does, each wait here ends.  A thread writes to it and another reads from it, so that a child that
neither reads nor writes blocks nobody.  What is no answer is dropped as it comes, so that no flood of it keeps the
grader busy or fills its memory.  The child is never waited for, it is killed.
"""

__all__ = ["Reply", "Worker"]

import json
import os
import secrets
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BufferedReader, FileIO
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, sleep
from typing import Any, NamedTuple, Self

from refcalc.grading.exercise import Arguments

CHILD = Path(__file__).with_name("child.py")
START = 60.0  # seconds for Python itself to start, on a machine that is very busy
GRACE = 5.0  # seconds after the deadline at which the child ends by itself, if the grader has been killed
LOOK = 0.1  # seconds between looks whether the child still lives
LOOKS, PAUSE = 5, 0.005  # for processes that it has left behind, and seconds between them
LONGEST = 32 << 20  # bytes of a line
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

    used: whether a function has been called in it.
    timeout: seconds for one call; ten times as long for the import.  deadline: of everything, by the monotonic clock.
    """

    def __init__(self, path: str, timeout: float, deadline: float) -> None:
        self._timeout, self._deadline = timeout, deadline
        self._token, self._mark = secrets.token_hex(16), secrets.token_hex(16)
        self._folder = os.path.realpath(tempfile.mkdtemp(prefix="refcalc-"))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
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
        self.used = False
        try:
            self._import(path)
        except BaseException:  # Ctrl-C: nobody else knows of the child yet
            self.close()
            raise

    def ask(self, name: str, calls: Sequence[Arguments]) -> Iterator[Reply]:
        """Yield what comes of each call, in order; after one that hung or died there are no more."""
        self.used = True
        self._send(f"({name!r}, {_expression(list(calls))})")
        for _ in calls:
            reply = self._reply(self._timeout)
            if reply.kind in ("hung", "died"):
                self.failure = reply
            yield reply
            if self.failure is not None:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child, its process group, and what left the group but has its mark or its folder."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL) if os.name == "posix" else self._process.kill()
        self._outgoing.put(None)
        self._process.wait()
        _kill_marked(f"{MARK}={self._mark}".encode(), self._folder)
        _removed(self._folder)

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
        """Return the next answer, or that there is none."""
        end = min(monotonic() + limit, self._deadline)
        while True:
            ended = self._process.poll() is not None  # seen here too, for what it forked may hold the pipe open
            try:
                text = self._incoming.get(timeout=min(max(0.0, end - monotonic()), LOOK))
            except Empty:
                if ended:
                    return Reply("died", error=self._end())
                if monotonic() >= end:
                    late = monotonic() >= self._deadline
                    return Reply("hung", error="no time was left" if late else f"no end within {limit:g} s")
                continue
            return Reply("died", error=self._end()) if text is None else _understood(text)

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
        """Pass on what follows the token in a line, and None at the end; other lines were never an answer."""
        pipe, token = self._process.stdout, self._token.encode()
        assert isinstance(pipe, FileIO)
        with suppress(OSError, ValueError), BufferedReader(pipe, 1 << 16) as lines:
            while line := lines.readline(LONGEST):
                start, _, text = line.partition(b" ")
                if start == token:
                    self._incoming.put(text)
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


def _kill_marked(mark: bytes, folder: str) -> None:
    """Kill every process whose environment holds the mark, or which works in the folder, where the system shows that.

    Linux does.  What starts another process while this looks is most often found the next time; one that does nothing
    but fork, so as never to be there when it is killed, escapes.
    """
    for _ in range(LOOKS):
        found = [pid for pid in map(int, filter(str.isdigit, _listed("/proc"))) if _is_marked(pid, mark, folder)]
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        sleep(PAUSE)


def _is_marked(pid: int, mark: bytes, folder: str) -> bool:
    with suppress(OSError):
        if (os.readlink(f"/proc/{pid}/cwd") + "/").startswith(folder + "/"):
            return True
    with suppress(OSError):
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _removed(folder: str) -> None:
    """Remove a folder with all that it holds, folders in folders to any depth: each comes to the top before its own."""
    if os.path.islink(folder):  # by the module
        os.unlink(folder)
        return
    folders, made = [folder], count()
    for each in folders:
        with suppress(OSError):
            os.chmod(each, stat.S_IRWXU)
        for name in _listed(each):
            path, top = os.path.join(each, name), os.path.join(folder, f"{MARK}-{next(made)}")
            with suppress(OSError):
                if os.path.isdir(path) and not os.path.islink(path):
                    os.rename(path, top)
                    folders.append(top)
                else:
                    os.unlink(path)
    for each in reversed(folders):
        with suppress(OSError):
            os.rmdir(each)
