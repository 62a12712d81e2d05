"""What is drawn, without a canvas: each kind of marks draws itself on a page and on paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from deniably.core.languages.html import Html
from deniably.results.drawing import heat, plot, strip
from deniably.results.drawing.paper_columns import PaperColumns
from deniably.results.drawing.paper_figure import PaperPart
from deniably.results.drawing.paper_map import PaperMap
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.results.drawing.paper_table import PaperTable
from deniably.results.drawing.paper_trends import Panel, PaperTrends
from deniably.results.drawing.row import Row
from deniably.results.drawing.trend import trend

_SMALL = 170
"""The height in pixels of a picture that stands beside others."""


class Marks(PaperPart, Protocol):
    """Marks that both canvases draw."""

    def html(self) -> Html:
        """The picture for a page or a notebook."""
        ...


@dataclass(frozen=True)
class Strips(PaperStrips):
    """Rows on one axis. ``about`` and ``heading``, that of the labels, are for screen readers;
    ``titled`` shows ``about`` to all. ``heads`` stand above the two columns of figures, and
    ``above`` is drawn over the axis."""

    about: str = ""
    heads: tuple[str, str] = ("Estimate", strip.INTERVAL)
    heading: str = "Answer"
    titled: bool = False
    above: Html | None = None

    def html(self) -> Html:
        """The table whose second column is the picture."""
        return strip.table(
            self.about, self.rows, self.axis, heads=self.heads, heading=self.heading,
            titled=self.titled, above=self.above,
        )  # fmt: skip


@dataclass(frozen=True)
class HeatTable(PaperTable):
    """Shares of pairs of answers. ``cells`` are its rows where paper has no room for a table."""

    about: str = ""
    cells: Callable[[], Sequence[Row]] = tuple

    def html(self) -> Html:
        """The table of shaded cells."""
        return heat.table(self.about, self.heat)


@dataclass(frozen=True)
class Trends(PaperTrends):
    """Figures over waves, each a panel. A page draws one alone large, and several ``small``."""

    small: bool = False

    def html(self) -> Html:
        """The panels, which have their labels above them where they are small."""
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
    """Areas of a map, of which those that stand out are shaded; ``about`` says all in words."""

    about: str = ""
    beside: Html | None = None

    def html(self) -> Html:
        """The map, with what stands ``beside`` it on a wide page."""
        mapped = plot.area_map(self.about, self.map, self.centres)
        if self.beside is None:
            return mapped
        return Html.filled(
            '<div class="side">{mapped}{listed}</div>', mapped=mapped, listed=self.beside
        )


@dataclass(frozen=True)
class Columns(PaperColumns):
    """A table of texts whose first column holds the words of each line."""

    about: str = ""

    def html(self) -> Html:
        """The table, which scrolls sideways by itself."""
        return strip.plain_table(self.about, self.heads, self.lines)
