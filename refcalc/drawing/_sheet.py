"""The sheet that every picture is drawn on: its size, its colours in light and dark, and its text."""

__all__ = ["CHARACTER", "WIDTH", "columns", "line", "number", "picture", "short", "text"]

from html import escape
from unicodedata import category, east_asian_width

WIDTH = 720
CHARACTER = 7.8  # the width of a letter at 13 px, in a monospaced font
TURNS_TEXT = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # Unicode's Bidi_Control

FONT = '13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif'
MONO = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace'

COLOURS = {  # what, the property, light, dark
    ".paper": ("fill", "#ffffff", "#0d1117"),
    "text": ("fill", "#1f2328", "#e6edf3"),
    ".quiet": ("fill", "#59636e", "#9aa4af"),
    ".bar": ("fill", "#7aa7d9", "#3d6ea5"),
    ".best": ("fill", "#1a7f37", "#3fb950"),
    ".mean": ("fill", "#1f4e80", "#a8cdf2"),
    ".reach": ("stroke", "#2f6fb0", "#6ba6e0"),
    ".grid": ("stroke", "#d8dee4", "#2b323b"),
    ".edge": ("stroke", "#8c959f", "#6e7681"),
    ".n0": ("fill", "#ffffff", "#0d1117"),
    ".n1": ("fill", "#fdebc8", "#3a2f12"),
    ".n2": ("fill", "#fbc98e", "#5e3a10"),
    ".n3": ("fill", "#f6a07a", "#853617"),
    ".n4": ("fill", "#ee7f85", "#a52a35"),
}


def _rules(scheme: int) -> str:
    return "".join(f".refcalc {what} {{ {values[0]}: {values[scheme]} }}\n" for what, values in COLOURS.items())


STYLE = f"""
.refcalc {{ font: {FONT}; font-variant-numeric: tabular-nums }}
.refcalc .title {{ font-size: 16px; font-weight: 600 }}
.refcalc .mono {{ font-family: {MONO} }}
.refcalc .reach {{ stroke-width: 2 }}
{_rules(1)}@media (prefers-color-scheme: dark) {{
{_rules(2)}}}
"""


def picture(height: float, title: str, description: str, parts: list[str]) -> str:
    """Return the whole picture; <title> and <desc> come first, as screen readers want them."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="refcalc" role="img" viewBox="0 0 {WIDTH} {height:g}" '
            f'width="{WIDTH}" height="{height:g}">',
            f"<title>{text(title)}</title>",
            f"<desc>{text(description)}</desc>",
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{height:g}"/>',
            line(24, 34, "title", title),
            *parts,
            "</svg>\n",
        ]
    )


def line(x: float, y: float, kind: str, words: str, anchor: str = "start") -> str:
    """Return one line of text, its start, middle or end at x."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>'


def text(words: str) -> str:
    """Return text as XML may hold it: escaped, and U+FFFD for what XML has no place for or what turns text around."""
    lost = ("Cc", "Cs", "Cn")
    return escape("".join("\ufffd" if category(c) in lost or c in TURNS_TEXT else c for c in str(words)))


def number(value: float) -> str:
    """Return a number with three decimals, or with an exponent where that would push it off the sheet."""
    return f"{value:.3f}" if abs(value) < 1e6 else f"{value:.4g}"


def short(name: str, most: int = 36) -> str:
    """Return a name cut where it would push the bars off the sheet."""
    if len(name) <= most and columns(name) <= most:
        return name
    name = name[:most]
    while columns(name) >= most:
        name = name[:-1]
    return name + "…"


def columns(words: str) -> int:
    """Return the width of a text in letters: Chinese characters and their like take two."""
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in words)
