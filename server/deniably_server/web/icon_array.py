"""Draws probabilities in the form: as rows of dots, and as places on the guessing scale.

An icon array has five rows of twenty dots, which show a number of 100. A dot is a dash of length 0
with round ends, of a stroked line, so a row of dots is one step of the path. That is a tenth of the
size of a hundred elements. form.css sets the dashes.
"""

from __future__ import annotations

from fractions import Fraction

PITCH = 10
"""Distance from one dot to the next; a row of twenty is 200 wide."""
_ROW = 20
_LEFT = Fraction(3, 2)  # per cent of the scale left free at either end


def dots(first: int, last: int) -> str:
    """Returns the SVG path of the dots ``first`` to ``last - 1`` of 100, in reading order.

    >>> dots(18, 23)
    'M185 5h10.1M5 15h20.1'
    """
    steps: list[str] = []
    for row in range(100 // _ROW):
        start, end = max(first - _ROW * row, 0), min(last - _ROW * row, _ROW)
        if start < end:
            x, y = PITCH * start + PITCH // 2, PITCH * row + PITCH // 2
            # A little longer than to the last dot, or browsers leave it out.
            steps.append(f"M{x} {y}h{PITCH * (end - start - 1)}.1")
    return "".join(steps)


def place(rate: Fraction) -> float:
    """Returns where a guessing rate stands on the guessing scale, in per cent of the scale's width.

    The rate is the share of guesses about an answer that are right: from 1/2, a coin, to 1.

    >>> place(Fraction(1, 2)), place(Fraction(3, 4)), place(Fraction(1))
    (1.5, 50.0, 98.5)
    """
    return round(float(_LEFT + (2 * rate - 1) * (100 - 2 * _LEFT)), 1)
