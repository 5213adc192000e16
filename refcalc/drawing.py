"""Pictures of results as SVG text: the ladder of baselines.

A picture is one <svg> element, complete in itself: no script, no font, no file beside it.  It follows the light or dark
setting of whoever looks at it, carries its numbers as text and all of them again in <desc>, for those who listen.
"""

__all__ = ["ladder"]

from collections.abc import Sequence
from html import escape
from unicodedata import category, east_asian_width

from refcalc import _check

WIDTH = 720
LINE = 30  # from one row to the next
CHARACTER = 7.8  # the width of a digit at 13 px, at most

STYLE = """
.refcalc { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-variant-numeric: tabular-nums }
.refcalc .paper { fill: #ffffff } .refcalc text { fill: #1f2328 } .refcalc .title { font-size: 16px; font-weight: 600 }
.refcalc .quiet { fill: #59636e } .refcalc .bar { fill: #7aa7d9 } .refcalc .best { fill: #1a7f37 }
.refcalc .rule { stroke: #8c959f; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
.refcalc .paper { fill: #0d1117 } .refcalc text { fill: #e6edf3 } .refcalc .quiet { fill: #9aa4af }
.refcalc .bar { fill: #3d6ea5 } .refcalc .best { fill: #3fb950 } .refcalc .rule { stroke: #6e7681 }
}
"""


def ladder(rows: Sequence[tuple[str, float]], *, title: str, unit: str) -> str:
    """Return the picture of models as bars from zero, the worst on top: lower is better, and every value is printed.

    rows: the name of a model and its loss, finite and not negative; at least one.
    title, unit: what is compared, and in which unit ("bits per character").

    >>> svg = ladder([("uniform", 6.0224), ("gzip -9", 3.191)], title="Held-out text", unit="bits per character")
    >>> "<desc>bits per character, lower is better: uniform 6.022; gzip -9 3.191.</desc>" in svg
    True

    Raises ValueError for no rows, or a value that is negative, nan or infinite; TypeError for what is no number.
    """
    given = [(str(name), value) for name, value in _check.items("ladder", "rows", rows)]
    values = [_check.not_negative("ladder", f"rows[{i}][1]", value, finite=True) for i, (_, value) in enumerate(given)]
    if not values:
        raise ValueError("ladder: rows must hold at least one model, got 0")
    bars = sorted(zip([name for name, _ in given], values, strict=True), key=lambda bar: -bar[1])
    left = 24 + CHARACTER * max(_columns(_short(name)) for name, _ in bars)
    scale = (WIDTH - 90 - left) / (max(values) or 1.0)
    parts = [_line(24, 58, "quiet", f"{unit}, lower is better")]
    for i, (name, value) in enumerate(bars):
        y = 76 + LINE * i
        kind = "best" if i == len(bars) - 1 else "bar"
        parts += [
            _line(left - 10, y + 16, "name", _short(name), end=True),
            f'<rect class="{kind}" x="{left:.1f}" y="{y + 2}" width="{scale * value:.1f}" height="20" rx="2"/>',
            _line(left + scale * value + 8, y + 16, "value", f"{value:.3f}"),
        ]
    listed = "; ".join(f"{name} {value:.3f}" for name, value in bars)
    return _picture(84 + LINE * len(bars), title, f"{unit}, lower is better: {listed}.", parts)


# --- the sheet -------------------------------------------------------------------------------------------------------


def _picture(height: float, title: str, description: str, parts: list[str]) -> str:
    """Return the whole picture; <title> and <desc> come first, as screen readers want them."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="refcalc" role="img" viewBox="0 0 {WIDTH} {height:g}" '
            f'width="{WIDTH}" height="{height:g}">',
            f"<title>{_text(title)}</title>",
            f"<desc>{_text(description)}</desc>",
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{height:g}"/>',
            _line(24, 34, "title", title),
            *parts,
            "</svg>\n",
        ]
    )


def _line(x: float, y: float, kind: str, text: str, end: bool = False) -> str:
    anchor = ' text-anchor="end"' if end else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{anchor}>{_text(text)}</text>'


def _text(text: str) -> str:
    """Return text as XML may hold it: escaped, and what XML has no place for shown as U+FFFD."""
    lost = ("Cc", "Cs", "Cn")
    return escape("".join("\ufffd" if category(c) in lost else c for c in str(text)))


def _short(name: str, columns: int = 36) -> str:
    """Return a name cut where it would push the bars off the sheet."""
    if _columns(name) <= columns:
        return name
    while _columns(name) >= columns:
        name = name[:-1]
    return name + "…"


def _columns(text: str) -> int:
    """Return the width of a text in digits: Chinese characters and their like take two."""
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)
