"""What stands in a committed measurement: the machine on the first lines, then tables that people and Markdown read."""

__all__ = ["keep", "machine", "table", "versions"]

import importlib.metadata
import os
import platform
import sys
from pathlib import Path

PEERS = ("numpy", "scipy", "torch", "jax", "gmpy2")


def machine() -> str:
    """Return one line: Python, libc, platform, processor, cores."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    libc = " ".join(platform.libc_ver()).strip() or "libc unknown"
    return f"{python}, {libc}, {sys.platform} {platform.machine()}, {_processor()}, {os.cpu_count()} cores"


def versions() -> str:
    """Return one line: the peers and their versions."""
    return ", ".join(f"{name} {_version(name)}" for name in PEERS)


def table(lines: list[list[str]]) -> list[str]:
    """Return the lines of a table, the first being its head, the first column set left and the others right.

    >>> print(*table([["V", "ns"], ["1,000", "80"]]), sep="\\n")
    | V     | ns |
    | ----- | -: |
    | 1,000 | 80 |
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * widths[0], *["-" * (width - 1) + ":" for width in widths[1:]]]
    head, *body = lines
    return [
        f"| {' | '.join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])} |"
        for line in (head, rule, *body)
    ]


def keep(script: str, text: str) -> None:
    """Write the text beside the script that made it."""
    Path(script).with_suffix(".txt").write_text(text + "\n", encoding="utf-8")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or "processor unknown"
