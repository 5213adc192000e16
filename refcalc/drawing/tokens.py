"""A document with the nll of every token behind it."""

__all__ = ["token_text"]

from collections.abc import Iterator, Sequence
from math import fsum, inf

from refcalc import _check
from refcalc.drawing._sheet import CHARACTER, WIDTH, columns, line, number, picture, short, text

LEVELS = ((1.0, "below 1"), (2.0, "1 to 2"), (4.0, "2 to 4"), (8.0, "4 to 8"), (inf, "8 and more"))
ROW = 24
LONGEST = 80  # letters of a token where it is told, not drawn
PER_LINE = int((WIDTH - 48) / CHARACTER)
SHOWN_AS = str.maketrans({"\n": "\u23ce", "\r": "\u240d", "\t": "\u21e5"})


def token_text(tokens: Sequence[tuple[str, float]], *, title: str) -> str:
    """Return the picture of a document whose tokens are coloured the stronger, the more they surprised the model.

    tokens: the text of each token and its nll in nats, in [0, inf]; at least one.  A line ends where a token ends one.
    title: of the picture.  Each token shows its nll when pointed at; <desc> has the mean and the five largest.

    >>> svg = token_text([("The", 5.25), (" cat", 3.5), (" sat", 0.5)], title="One sentence")
    >>> "<desc>3 tokens, 3.083 nats each on average. Most surprising: The 5.250, cat 3.500, sat 0.500.</desc>" in svg
    True

    Raises ValueError for no tokens, or an nll that is nan or negative; TypeError for a token that is no text.
    """
    given = [_token(i, token) for i, token in enumerate(_check.items("token_text", "tokens", tokens))]
    if not given:
        raise ValueError("token_text: tokens must hold at least one token, got 0")
    parts = _legend()
    x = y = 0
    for word, nll in given:
        level = next(k for k, (below, _) in enumerate(LEVELS) if nll < below or below == inf)
        shown, told = word.translate(SHOWN_AS), f"{_told(word)} {number(nll)}"
        for piece in _pieces(shown):
            if x + columns(piece) > PER_LINE:
                x, y = 0, y + 1
            parts.append(_cell(24 + CHARACTER * x, 112 + ROW * y, piece, level, told))
            x += columns(piece)
        if word.endswith("\n"):
            x, y = 0, y + 1
    mean = 2.0 * fsum(0.5 * nll / len(given) for _, nll in given)  # halves: no sum leaves the doubles
    largest = sorted(given, key=lambda token: -token[1])[:5]
    words = ", ".join(f"{_told(word) or 'white space'} {number(nll)}" for word, nll in largest)
    tokens_are = f"{len(given)} token{'s' if len(given) > 1 else ''}, {number(mean)} nats each on average"
    return picture(124 + ROW * (y + 1), title, f"{tokens_are}. Most surprising: {words}.", parts)


def _token(i: int, token: Sequence[object]) -> tuple[str, float]:
    two = _check.items("token_text", f"tokens[{i}]", token)
    if len(two) != 2:
        _check.refuse("token_text", f"tokens[{i}]", "hold a text and an nll", token)
    if not isinstance(two[0], str):
        _check.refuse("token_text", f"tokens[{i}][0]", "be text", two[0], TypeError)
    return two[0], _check.not_negative("token_text", f"tokens[{i}][1]", two[1])


def _told(word: str) -> str:
    return short(word.translate(SHOWN_AS).strip(), LONGEST)


def _legend() -> list[str]:
    parts, x = [line(24, 58, "quiet", "nats per token")], 24.0
    for level, (_, words) in enumerate(LEVELS):
        parts.append(f'<rect class="n{level} edge" x="{x}" y="70" width="16" height="16"/>')
        parts.append(line(x + 22, 83, "quiet", words))
        x += 36 + 8 * len(words)
    return parts


def _pieces(word: str) -> Iterator[str]:
    """Yield a token in pieces that fit on a line."""
    piece = ""
    for character in word:
        if columns(piece + character) > PER_LINE:
            yield piece
            piece = ""
        piece += character
    if piece:
        yield piece


def _cell(x: float, y: float, piece: str, level: int, told: str) -> str:
    """Return one token on its colour; textLength makes it as wide as was reckoned, whatever the font."""
    at, width = f'x="{x:.1f}"', f"{CHARACTER * columns(piece):.1f}"
    fitted = f'textLength="{width}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<g><title>{text(told)}</title><rect class="n{level}" {at} y="{y - 15}" width="{width}" height="20"/>'
        f'<text class="mono" xml:space="preserve" {at} y="{y}" {fitted}>{text(piece)}</text></g>'
    )
