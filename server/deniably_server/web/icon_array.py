"""Ten by ten squares as the path of an SVG picture: so many of 100, seen at a glance.

A square is a dash of a stroked line, so that a row of them is one step of the path: a picture
weighs a tenth of what a hundred elements would. The dashes are in style.css.
"""

from __future__ import annotations

PITCH = 10
"""From one square to the next; a row of ten is 98 wide, with squares of 8."""


def squares(first: int, last: int) -> str:
    """The lines of the squares ``first`` to ``last - 1`` of 100, in reading order."""
    steps: list[str] = []
    for row in range(10):
        start, end = max(first - 10 * row, 0), min(last - 10 * row, 10)
        if start < end:
            steps.append(f"M{PITCH * start} {PITCH * row + 4}h{PITCH * (end - start) - 2}")
    return "".join(steps)
