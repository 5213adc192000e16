"""A framework in a process of its own: asked by lines of JSON, it answers by lines of JSON.

A kernel may abort its process (a target out of range does, on some devices), or never come back: that is its answer,
and the next question goes to a new process.  Run with the path of an adapter, this file is the other side.
"""

__all__ = ["ADAPTERS", "Framework"]

import importlib.util
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from threading import Timer
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = Path(__file__).resolve().parent / "adapters"
SECONDS = 120.0  # after which a process that has not answered is ended


class Framework:
    """The kernels of one adapter."""

    def __init__(self, adapter: Path) -> None:
        """Start it; `absent` says what is not installed, or is empty."""
        self.name = adapter.stem
        self._adapter = adapter
        self._process: subprocess.Popen[str] | None = None
        said = self._start()
        self.absent = said.get("absent", "")
        self.version = said.get("version", "")
        self.dtypes = said.get("dtypes", [])
        self.kernels = said.get("kernels", [])  # dictionaries: question, label, options

    def ask(self, kernel: int, dtype: str, arguments: Any, options: dict[str, Any]) -> tuple[Any, str]:
        """Return what the kernel returned, and ""; or None, and the exception's name or how the process ended."""
        if self._process is None:
            self._start()
        answer = self._exchange({"kernel": kernel, "dtype": dtype, "arguments": arguments, "options": options})
        return answer.get("value"), answer.get("error", "")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def _start(self) -> dict[str, Any]:
        command = [sys.executable, str(Path(__file__).resolve()), str(self._adapter)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        return self._exchange({})

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process is not None and self._process.stdin and self._process.stdout
        end = Timer(SECONDS, self._process.kill)
        end.start()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            end.cancel()
        if line:
            return json.loads(line)
        self._process.communicate()
        status, self._process = self._process.returncode, None
        ended = f"the process ended, {f'signal {-status}' if status < 0 else f'status {status}'}"
        return {"error": ended, "absent": ended}


def load(adapter: Path) -> ModuleType:
    """Import an adapter by its path."""
    spec = importlib.util.spec_from_file_location(f"adapter_of_{adapter.stem}", adapter)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def serve(adapter: Path) -> None:
    """Answer until there are no more questions."""
    sys.path[0] = str(ROOT)  # not this folder
    if adapter.parent != ADAPTERS:
        sys.path.append(str(adapter.resolve().parent))
    warnings.simplefilter("ignore")
    questions, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what a framework reads is no question
    os.dup2(2, 1)  # what it prints is no answer
    module = None
    for line in questions:
        request = json.loads(line)
        if module is None:
            try:
                module = load(adapter)
                answer = _introduced(module)
            except Exception as error:
                answer = {"absent": f"{type(error).__name__}: {error}"}
        else:
            answer = _answered(module, request)
        print(json.dumps(answer), file=answers, flush=True)


def _introduced(module: ModuleType) -> dict[str, Any]:
    from examples.crosscheck import DTYPES  # noqa: PLC0415, the root is on the path by now

    for dtype in module.DTYPES:
        if dtype not in DTYPES:
            raise ValueError(f"DTYPES must be of {', '.join(DTYPES)}, got {dtype!r}")
    if not module.DTYPES or not module.KERNELS:
        raise ValueError("DTYPES and KERNELS must not be empty")
    kernels = [{"question": k.question, "label": k.label, "options": k.options} for k in module.KERNELS]
    return {"version": module.VERSION, "dtypes": module.DTYPES, "kernels": kernels}


def _answered(module: ModuleType, request: dict[str, Any]) -> dict[str, Any]:
    kernel = module.KERNELS[request["kernel"]]
    try:
        return {"value": _plain(kernel.call(*request["arguments"], dtype=request["dtype"], **request["options"]))}
    except Exception as error:
        return {"error": type(error).__name__}


def _plain(value: Any) -> Any:
    """Return an answer as a float or lists of floats."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        raise TypeError("a kernel must return numbers")
    return float(value)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
