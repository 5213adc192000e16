"""Progress on a terminal, and nowhere else: one line that leaves nothing behind."""

__all__ = ["of_draws", "on_terminal", "say"]

import sys
from collections.abc import Callable


def of_draws() -> Callable[[int, int], object] | None:
    """Return what shows the draws done, as the functions of refcalc.resampling call it; None without a terminal."""
    if not on_terminal():
        return None

    def show(done: int, draws: int) -> None:
        end = "\r\x1b[K" if done == draws else ""
        print(f"\r{done:,} of {draws:,} draws{end}", end="", file=sys.stderr, flush=True)

    return show


def on_terminal() -> bool:
    """Return whether the standard error is a terminal; whoever started the command may have closed it."""
    return sys.stderr is not None and sys.stderr.isatty()


def say(words: str = "") -> None:
    """Show what is being done, in place of what was shown before."""
    if on_terminal():
        print(f"\r\x1b[K{words}", end="", file=sys.stderr, flush=True)
