"""Draws how many respondents a margin takes at each epsilon, as an SVG file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deniably.design.curve import Curve
from deniably.design.planning import Plan
from deniably.results.drawing import graph
from deniably.results.drawing.axes import of_ratios
from deniably.results.drawing.colours import Tone
from deniably.results.drawing.graph import LONGEST, Graph, Line
from deniably.results.drawing.paper_figure import Svg
from deniably.survey.readable import cut


def curve_svg(curve: Curve) -> Svg:
    """Returns the SVG of a curve of respondents over epsilon; both axes are logarithmic.

    If there are several questions, only two are drawn: those that need the most and the fewest
    respondents at the smallest epsilon. For the question that needs the most, there are also lines
    for a trusted curator (dashed) and for direct questions. Raises ValueError where no question can
    be estimated.
    """
    drawn = [(name, plans) for name, plans in curve.curves if plans]
    if not drawn:
        raise ValueError("no question of this survey can be estimated; there is nothing to draw")
    lines = list(_lines(sorted(drawn, key=lambda curve_plans: -curve_plans[1][0].n)))
    values = [point for line in lines for point in line.points]
    drawing = Graph(
        of_ratios(epsilon for epsilon, _ in values),
        "epsilon",
        of_ratios(people for _, people in values),
        "respondents",
        lines,
    )
    return graph.file(drawing, curve.caption, _about(lines))


def _lines(ranked: Sequence[tuple[str, Sequence[Plan]]]) -> Iterator[Line]:
    name, dearest = ranked[0]
    yield _line(name, [(plan.epsilon, plan.n) for plan in dearest], "mark")
    if len(ranked) > 1:
        other, fewest = ranked[-1]
        yield _line(other, [(plan.epsilon, plan.n) for plan in fewest], "second")
    curator = [(plan.epsilon, plan.curator) for plan in dearest]
    yield _line("a trusted curator", curator, "mute", dashed=True)
    direct = [(plan.epsilon, plan.direct) for plan in dearest]
    yield _line("asked directly", direct, "mute")


def _line(
    label: str, points: Sequence[tuple[float, int]], tone: Tone, *, dashed: bool = False
) -> Line:
    floats = tuple((epsilon, float(people)) for epsilon, people in points)
    return Line(cut(label, LONGEST), floats, ("epsilon", "n"), tone, dashed)


def _about(lines: Sequence[Line]) -> str:
    """All numbers of the drawing as text."""
    return " ".join(
        f"{line.label}: "
        + ", ".join(f"{people:,.0f} at epsilon {epsilon:g}" for epsilon, people in line.points)
        + "."
        for line in lines
    )
