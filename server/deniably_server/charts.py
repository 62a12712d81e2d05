"""Dot-and-whisker charts as SVG, made here so that no page needs a chart library."""

from __future__ import annotations

from markupsafe import Markup, escape

from deniably_server.result import QuestionResult

_WIDTH = 400
_LEFT, _RIGHT, _ROW, _TOP, _AXIS = 8, 16, 42, 6, 24
_LONGEST_LABEL = 46


def chart(question: QuestionResult) -> Markup:
    """One row a choice: a dot at the share for display, a whisker over the 95 % interval.

    Its figures stand in the table beneath; the picture repeats them for the eye.
    """
    choices = question["choices"]
    scale = _scale(max(choice["interval"][1] for choice in choices))
    bottom = _TOP + _ROW * len(choices)
    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {bottom + _AXIS}" role="img"'
        f' aria-labelledby="chart-{question["name"]}">',
        f'<title id="chart-{question["name"]}">{escape(_summary(question))}</title>',
    ]
    for tick in range(5):
        share = scale * tick / 4
        x = _x(share, scale)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>')
        anchor = "start" if tick == 0 else "end" if tick == 4 else "middle"
        parts.append(
            f'<text class="tick" x="{x}" y="{bottom + 16}" text-anchor="{anchor}">'
            f"{100 * share:g}\u202f%</text>"
        )
    for index, choice in enumerate(choices):
        y = _TOP + _ROW * index + 29
        low, high = (_x(end, scale) for end in choice["interval"])
        parts += [
            f'<text class="label" x="{_LEFT}" y="{y - 13}">',
            f"{escape(_short(choice['label']))}</text>",
            f'<line class="whisker" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>',
            *(
                f'<line class="whisker" x1="{x}" x2="{x}" y1="{y - 5}" y2="{y + 5}"/>'
                for x in (low, high)
            ),
            f'<circle class="dot" cx="{_x(choice["consistent"], scale)}" cy="{y}" r="5"/>',
        ]
    parts.append("</svg>")
    return Markup("".join(parts))  # noqa: S704  # every text in it is escaped


def _scale(highest: float) -> float:
    """The right end of the axis: a quarter, half or all of 100 %."""
    return next(end for end in (0.25, 0.5, 1.0) if highest <= end)


def _x(share: float, scale: float) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * min(max(share / scale, 0.0), 1.0), 1)


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"


def _summary(question: QuestionResult) -> str:
    shares = ", ".join(
        f"{choice['label']} {100 * choice['consistent']:.1f} %" for choice in question["choices"]
    )
    return f"Chart of {question['label']} {shares}. The table beneath has the intervals."
