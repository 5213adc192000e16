"""Charts: models one under the other, by how good they are, or with how far they may be off."""

__all__ = ["error_bars", "ladder"]

from collections.abc import Sequence
from math import ceil, floor, log10

from refcalc import _check
from refcalc.drawing._sheet import CHARACTER, WIDTH, columns, line, number, picture, short

LINE = 30  # from one row to the next
LARGEST, FINEST = 1e12, 1e-12  # what an axis can hold, and the least part of it that it can show


def ladder(rows: Sequence[tuple[str, float]], *, title: str, unit: str) -> str:
    """Return the picture of models as bars from zero, the worst on top: lower is better, and every value is printed.

    rows: the name of a model and its loss, finite and not negative; at least one.
    title, unit: what is compared, and in which unit ("bits per character").

    >>> svg = ladder([("uniform", 6.0224), ("gzip -9", 3.191)], title="Held-out text", unit="bits per character")
    >>> "<desc>bits per character, lower is better: uniform 6.022; gzip -9 3.191.</desc>" in svg
    True

    Raises ValueError for no rows, or a value that is negative, nan or infinite; TypeError for what is no number.
    """
    bars = [_bar(i, row) for i, row in enumerate(_check.items("ladder", "rows", rows))]
    if not bars:
        raise ValueError("ladder: rows must hold at least one model, got 0")
    bars.sort(key=lambda bar: -bar[1])
    left = 24 + CHARACTER * max(columns(short(name)) for name, _ in bars)
    room, largest = WIDTH - 90 - left, bars[0][1] or 1.0
    parts = [line(24, 58, "quiet", f"{unit}, lower is better")]
    for i, (name, value) in enumerate(bars):
        y = 76 + LINE * i
        kind = "best" if i == len(bars) - 1 else "bar"
        width = room * (value / largest)
        parts += [
            line(left - 10, y + 16, "name", short(name), "end"),
            f'<rect class="{kind}" x="{left:.1f}" y="{y + 2}" width="{width:.1f}" height="20" rx="2"/>',
            line(left + width + 8, y + 16, "value", number(value)),
        ]
    listed = "; ".join(f"{name} {number(value)}" for name, value in bars)
    return picture(84 + LINE * len(bars), title, f"{unit}, lower is better: {listed}.", parts)


def error_bars(rows: Sequence[tuple[str, float, float, float]], *, title: str, unit: str, bars: str) -> str:
    """Return the picture of means, each with a bar from low to high; the axis does not begin at zero.

    rows: a name, and mean, low and high, low <= mean <= high, within 1e12 of 0; at least one.
    title, unit: what is compared, and in which unit.
    bars: what the bars are ("95 % t interval of 3 seeds").

    >>> rows = [("classic", 1.787, 1.780, 1.794), ("SwiGLU", 1.678, 1.668, 1.688)]
    >>> svg = error_bars(rows, title="Three seeds", unit="nats per character", bars="standard deviation")
    >>> "<desc>nats per character, bars: standard deviation. classic 1.787 (1.780 to 1.794); SwiGLU" in svg
    True

    Raises ValueError for no rows, or numbers out of this range or order; TypeError for what is no number.
    """
    given = [_mean_row(i, row) for i, row in enumerate(_check.items("error_bars", "rows", rows))]
    if not given:
        raise ValueError("error_bars: rows must hold at least one mean, got 0")
    left = 24 + CHARACTER * max(columns(short(name)) for name, *_ in given)
    ticks, digits = _ticks(min(low for _, _, low, _ in given), max(high for *_, high in given))
    scale = (WIDTH - 96 - left) / (ticks[-1] - ticks[0])
    height = 84 + LINE * len(given)
    parts = [line(24, 58, "quiet", f"{unit}; bars: {bars}")]
    for tick in ticks:
        x = left + scale * (tick - ticks[0])
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="72" x2="{x:.1f}" y2="{height}"/>')
        parts.append(line(x, height + 18, "quiet", f"{tick:.{digits}f}", "middle"))
    for i, (name, *numbers) in enumerate(given):
        y = 92 + LINE * i
        mean, low, high = (left + scale * (x - ticks[0]) for x in numbers)
        ends = "".join(f"M{x:.1f} {y - 6}v12" for x in (low, high))
        parts += [
            line(left - 10, y + 5, "name", short(name), "end"),
            f'<path class="reach" d="M{low:.1f} {y}H{high:.1f}{ends}"/>',
            f'<circle class="mean" cx="{mean:.1f}" cy="{y}" r="5"/>',
            line(WIDTH - 24, y + 5, "value", f"{numbers[0]:.{digits + 1}f}", "end"),
        ]
    shown = (f"{n} {m:.{digits + 1}f} ({a:.{digits + 1}f} to {b:.{digits + 1}f})" for n, m, a, b in given)
    return picture(height + 34, title, f"{unit}, bars: {bars}. {'; '.join(shown)}.", parts)


def _bar(i: int, row: Sequence[object]) -> tuple[str, float]:
    values = _check.items("ladder", f"rows[{i}]", row)
    if len(values) != 2:
        _check.refuse("ladder", f"rows[{i}]", "hold a name and a loss", row)
    return str(values[0]), _check.not_negative("ladder", f"rows[{i}][1]", values[1], finite=True)


def _mean_row(i: int, row: Sequence[object]) -> tuple[str, float, float, float]:
    at = f"rows[{i}]"
    values = _check.items("error_bars", at, row)
    if len(values) != 4:
        _check.refuse("error_bars", at, "hold a name, mean, low and high", row)
    mean, low, high = (_check.finite("error_bars", f"{at}[{k}]", x) for k, x in enumerate(values[1:], 1))
    for k, x in enumerate((mean, low, high), 1):
        if abs(x) > LARGEST:
            _check.refuse("error_bars", f"{at}[{k}]", "lie within 1e12 of 0 (take another unit)", x)
    if not low <= mean <= high:
        _check.refuse("error_bars", at, "have low <= mean <= high", row)
    return str(values[0]), mean, low, high


def _ticks(low: float, high: float) -> tuple[list[float], int]:
    """Return ticks at 1, 2 or 5 times a power of ten, one to six steps around [low, high], and the digits they need."""
    span = max((high - low) or abs(high) or 1.0, FINEST * max(1.0, abs(low), abs(high)))
    power = floor(log10(span / 5))
    unit = float(f"1e{power}")
    size = next(k * unit for k in (1, 2, 5, 10, 20) if k * unit >= span / 5)
    first, last = floor(low / size), ceil(high / size)
    return [size * k for k in range(first, max(last, first + 1) + 1)], max(0, -power)
