"""Icon arrays: ten by ten squares as an SVG path, which show a number of 100.

A square is a dash of a stroked line, so a row of squares is one step of the path. That is a tenth
of the size of a hundred elements. form.css sets the dashes.
"""

from __future__ import annotations

PITCH = 10
"""Distance from one square to the next; squares are 8 wide, and a row of ten is 98 wide."""


def squares(first: int, last: int) -> str:
    """The SVG path of the squares ``first`` to ``last - 1`` of 100, in reading order.

    >>> squares(9, 12)
    'M90 4h8M0 14h18'
    """
    steps: list[str] = []
    for row in range(10):
        start, end = max(first - 10 * row, 0), min(last - 10 * row, 10)
        if start < end:
            steps.append(f"M{PITCH * start} {PITCH * row + 4}h{PITCH * (end - start) - 2}")
    return "".join(steps)
