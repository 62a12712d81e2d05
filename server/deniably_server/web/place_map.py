"""Draws the map that a form offers beside the two fields of a question for a place (``Point``).

The map shows the areas (cells of the grid) that answers are randomised among. People who cannot see
or tap it fill in the two fields, which say the same.
"""

from __future__ import annotations

from math import ceil

from deniably.core.languages.html import Html
from deniably.results.drawing.choropleth import outline_on_map
from deniably.survey.parts import Range
from deniably.survey.questions import Point

SIDE = 100
"""Units of a side of the picture; the first part runs to the right, the second upwards."""


def borders(question: Point) -> Html:
    """Returns the commands of an SVG path that draws the lines between the areas of the map, in a
    square of side ``SIDE``."""
    across, up = (_between(part.range, question.grid) for part in question.parts)
    lines = [Html.filled("M{x:.4g} 0v{side}", x=x, side=SIDE) for x in across]
    # SVG counts y from above, the question from below.
    lines += [Html.filled("M0 {y:.4g}h{side}", y=SIDE - y, side=SIDE) for y in up]
    return Html.joined("", lines)


def outline(question: Point) -> Html:
    """Returns the author's outline (such as a coast) as path commands in a square of side
    ``SIDE``; empty where the question has none."""
    return outline_on_map(question.outline, SIDE) if isinstance(question.outline, str) else Html()


def _between(side: Range, cells: int) -> list[float]:
    """Returns where areas meet along a side, in units of the picture: an area is as wide as it has
    numbers."""
    # Cell c begins at the first position i with floor(i cells / count) = c (SPEC 4.1).
    count = side.positions
    return [SIDE * ceil(cell * count / cells) / count for cell in range(1, cells)]
