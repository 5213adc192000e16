"""Progress on a terminal, and nowhere else: one line that leaves nothing behind."""

__all__ = ["of_draws"]

import sys
from collections.abc import Callable


def of_draws() -> Callable[[int, int], object] | None:
    """Return what shows the draws done, as the functions of refcalc.resampling call it; None without a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, draws: int) -> None:
        end = "\r\x1b[K" if done == draws else ""
        print(f"\r{done:,} of {draws:,} draws{end}", end="", file=sys.stderr, flush=True)

    return show
