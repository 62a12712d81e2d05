"""Charts of results as SVG, without a chart library.

Every chart repeats the figures of a table beneath it.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from deniably.results.document import AreaResult, BucketResult, ChoiceResult
from deniably.results.narrative import display_text

_WIDTH = 400
_LEFT, _RIGHT, _ROW, _TOP, _AXIS = 8, 16, 42, 6, 24
_LONGEST_LABEL = 46
_BARS = 120


def dot_plot(name: str, label: str, choices: Sequence[ChoiceResult]) -> Markup:
    """A dot plot of shares: for each choice a dot at the share for display, and its interval."""
    scale = _scale(max(choice.interval[1] for choice in choices))
    bottom = _TOP + _ROW * len(choices)
    shares = ", ".join(
        f"{choice.label} {display_text(choice.consistent, choice.interval)}" for choice in choices
    )
    parts = [*_start(name, f"Chart of {label} {shares}.", bottom + _AXIS), *_axis(scale, bottom)]
    for index, choice in enumerate(choices):
        y = _TOP + _ROW * index + 29
        low, high = (_x(end, scale) for end in choice.interval)
        parts += [
            f'<text class="label" x="{_LEFT}" y="{y - 13}">',
            f"{escape(_short(choice.label))}</text>",
            f'<line class="whisker" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>',
            *(
                f'<line class="whisker" x1="{x}" x2="{x}" y1="{y - 5}" y2="{y + 5}"/>'
                for x in (low, high)
            ),
            f'<circle class="dot" cx="{_x(choice.consistent, scale)}" cy="{y}" r="5"/>',
        ]
    parts.append("</svg>")
    return Markup("".join(parts))  # noqa: S704  # every text in it is escaped


def histogram(name: str, label: str, buckets: Sequence[BucketResult]) -> Markup:
    """A histogram: one bar for each bucket, as high as its share for display.

    A line marks the height of the highest bar.
    """
    most = max(bucket.consistent for bucket in buckets) or 1.0
    width = (_WIDTH - _LEFT - _RIGHT) / len(buckets)
    top = _TOP + 18
    bottom = top + _BARS
    about = f"Histogram of {label} from {buckets[0].low} to {buckets[-1].high}."
    parts = [
        *_start(name, about, bottom + _AXIS),
        _tick(_LEFT, top - 5, "start", f"{100 * most:.1f}\u202f% in the highest bar"),
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{top}" y2="{top}"/>',
    ]
    for index, bucket in enumerate(buckets):
        height = _BARS * bucket.consistent / most
        parts.append(
            f'<rect class="bar" x="{_LEFT + index * width:.1f}" y="{bottom - height:.1f}"'
            f' width="{max(width - 1, 0.5):.1f}" height="{height:.1f}"/>'
        )
    parts += [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}"/>',
        _tick(_LEFT, bottom + 16, "start", buckets[0].low),
        _tick(_WIDTH - _RIGHT, bottom + 16, "end", buckets[-1].high),
        "</svg>",
    ]
    return Markup("".join(parts))  # noqa: S704  # every text in it is escaped


def heat_map(
    name: str,
    label: str,
    axes: Sequence[str],
    cells: Sequence[AreaResult],
    centres: Sequence[tuple[float, float]] = (),
) -> Markup:
    """A heat map of a point question: the first number to the right, the second upwards.

    Darker areas have larger shares. Areas that stand out from the noise have a frame. ``centres``
    are drawn over the map, each as two fractions of the ranges.
    """
    grid = round(len(cells) ** 0.5)
    most = max(cell.consistent for cell in cells) or 1.0
    side, left = 300, 60
    size = side / grid
    about = f"Map of {label}: {axes[0]} to the right, {axes[1]} upwards."
    parts = _start(name, about, side + 62)
    for index, cell in sorted(enumerate(cells), key=lambda area: area[1].stands_out):
        column, row = divmod(index, grid)
        parts.append(
            f'<rect class="area{" seen" * cell.stands_out}" x="{left + column * size:.1f}"'
            f' y="{_TOP + side - (row + 1) * size:.1f}" width="{size:.1f}" height="{size:.1f}"'
            f' fill-opacity="{cell.consistent / most:.3f}"/>'
        )
    first, last = cells[0].names, cells[-1].names
    parts += [
        f'<rect class="frame" x="{left}" y="{_TOP}" width="{side}" height="{side}"/>',
        *(
            f'<circle class="centre" cx="{left + side * right:.1f}"'
            f' cy="{_TOP + side * (1 - up):.1f}" r="7"/>'
            for right, up in centres
        ),
        _tick(left, _TOP + side + 16, "start", first[0]),
        _tick(left + side, _TOP + side + 16, "end", last[0]),
        _tick(left + side / 2, _TOP + side + 32, "middle", _short(axes[0])),
        f'<rect class="area" x="{left}" y="{_TOP + side + 40}" width="12" height="12"/>',
        _tick(left + 18, _TOP + side + 50, "start", f"{100 * most:.1f}\u202f% in the darkest area"),
        _tick(left - 4, _TOP + side, "end", first[1]),
        _tick(left - 4, _TOP + 12, "end", last[1]),
        f'<text class="tick" text-anchor="middle" transform="translate(12 {_TOP + side / 2})'
        f' rotate(-90)">{escape(_short(axes[1]))}</text>',
        "</svg>",
    ]
    return Markup("".join(parts))  # noqa: S704  # every text in it is escaped


def _start(name: str, about: str, height: float) -> list[str]:
    return [
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height:g}" role="img"'
        f' aria-labelledby="chart-{name}">',
        f'<title id="chart-{name}">{escape(about)} The table beneath has the intervals.</title>',
    ]


def _axis(scale: float, bottom: float) -> list[str]:
    parts: list[str] = []
    for tick in range(5):
        share = scale * tick / 4
        x = _x(share, scale)
        anchor = "start" if tick == 0 else "end" if tick == 4 else "middle"
        parts += [
            f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>',
            _tick(x, bottom + 16, anchor, f"{100 * share:g}\u202f%"),
        ]
    return parts


def _tick(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text class="tick" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _scale(highest: float) -> float:
    """The right end of the axis: 25, 50 or 100 %."""
    return next(end for end in (0.25, 0.5, 1.0) if highest <= end)


def _x(share: float, scale: float) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * min(max(share / scale, 0.0), 1.0), 1)


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"
