"""Defines charts and tables that can be drawn both on a page and in a figure for a paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from deniably.core.languages.html import Html
from deniably.results.drawing import choropleth, heat, strip
from deniably.results.drawing.paper_columns import PaperColumns
from deniably.results.drawing.paper_figure import PaperPart
from deniably.results.drawing.paper_map import PaperMap
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.results.drawing.paper_table import PaperTable
from deniably.results.drawing.paper_trends import Panel, PaperTrends
from deniably.results.drawing.row import Row
from deniably.results.drawing.trend import trend

_SMALL = 170
"""The height in pixels of a picture that has others beside it."""


class Marks(PaperPart, Protocol):
    """A chart or table with two renderings: HTML for a page, and a part of a figure for a paper."""

    def html(self) -> Html:
        """Returns the chart or table for a page or a notebook."""
        ...


@dataclass(frozen=True)
class Strips(PaperStrips):
    """Estimates with intervals, one row each on a common axis.

    ``about`` is the caption and ``heading`` the heading of the labels, both for screen readers;
    with ``titled`` the caption is visible to everybody. ``heads`` are the headings of the
    estimates and of their intervals. ``above`` is drawn over the axis.
    """

    about: str = ""
    heads: tuple[str, str] = ("Estimate", strip.INTERVAL)
    heading: str = "Answer"
    titled: bool = False
    above: Html | None = None

    def html(self) -> Html:
        """Returns an HTML table that has the drawn strips in its second column."""
        return strip.table(
            self.about, self.rows, self.axis, heads=self.heads, heading=self.heading,
            titled=self.titled, above=self.above,
        )  # fmt: skip


@dataclass(frozen=True)
class HeatTable(PaperTable):
    """A heat table with the shares of pairs of answers. ``cells`` returns the same shares as rows,
    for a figure for a paper without room for the table."""

    about: str = ""
    cells: Callable[[], Sequence[Row]] = tuple

    def html(self) -> Html:
        """Returns an HTML table with shaded cells."""
        return heat.table(self.about, self.heat)


@dataclass(frozen=True)
class Trends(PaperTrends):
    """Line charts over the waves, with a panel for each figure. With ``small`` the panels are
    small and side by side."""

    small: bool = False

    def html(self) -> Html:
        """Returns the panels; each small panel has its label above."""
        if not self.small:
            panels = (trend(panel.label, panel.rows, self.axis) for panel in self.panels)
            return Html.joined("", panels)
        return Html.filled(
            '<div class="multi">\n{panels}</div>',
            panels=Html.joined("", map(self._small, self.panels)),
        )

    def _small(self, panel: Panel) -> Html:
        drawn = trend(panel.label, panel.rows, self.axis, height=_SMALL, values=False)
        return Html.filled(
            "<div><h4>{label}</h4>{drawn}</div>\n", label=Html.text(panel.label), drawn=drawn
        )


@dataclass(frozen=True)
class AreaMap(PaperMap):
    """A map whose areas are shaded where their share stands out from the noise.

    ``about`` describes the map in words for screen readers. ``beside`` is drawn next to the map on
    a wide page, None for nothing.
    """

    about: str = ""
    beside: Html | None = None

    def html(self) -> Html:
        """Returns the map, and next to it the content of ``beside``."""
        mapped = choropleth.area_map(self.about, self.map, self.centres)
        if self.beside is None:
            return mapped
        return Html.filled(
            '<div class="side">{mapped}{listed}</div>', mapped=mapped, listed=self.beside
        )


@dataclass(frozen=True)
class Columns(PaperColumns):
    """A table of texts; the first column has the label of each line."""

    about: str = ""

    def html(self) -> Html:
        """Returns an HTML table, which scrolls sideways where the screen is too narrow."""
        return strip.plain_table(self.about, self.heads, self.lines)
