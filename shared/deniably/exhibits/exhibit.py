"""Defines the exhibit: all that is shown of one result, such as the differences of a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deniably.core.languages.html import Html
from deniably.exhibits.marks import Marks
from deniably.results.drawing import strip
from deniably.results.drawing.paper_figure import PaperPart
from deniably.results.provenance import Protection, ResultsSource
from deniably.results.rows import ResultRow


@dataclass(frozen=True)
class Records:
    """The exact numbers of a document, for CSV files and data frames: one row per figure, in the
    document's order.

    ``rows`` is a function that makes the rows each time it is called, so that a long table is
    never kept in memory.
    """

    columns: tuple[str, ...]
    rows: Callable[[], Iterable[ResultRow]]


@dataclass(frozen=True)
class Printed:
    """A table of texts for people: column headings ``heads``, and the cells of each line in
    ``lines``.

    The first ``texts`` columns hold words, the others figures. ``about`` names the table for
    screen readers, and ``note`` is a sentence below the table.
    """

    about: str
    heads: Sequence[str]
    lines: Sequence[Sequence[str]]
    texts: int = 1
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A chart or table (``marks``) and the texts around it on a page: ``heading`` and ``finding``
    above, ``notes`` below.

    If there is a ``summary``, the page folds the marks away below that text; ``unseen`` completes
    the summary for screen readers. If there is a ``region``, the marks scroll sideways, and screen
    readers use the text as their name; a ``wide`` table may be wider than the screen. If
    ``apart``, the picture starts a new card.
    """

    marks: Marks
    heading: str = ""
    finding: str = ""
    notes: Sequence[str] = ()
    summary: str = ""
    unseen: str = ""
    region: str = ""
    wide: bool = False
    apart: bool = False

    def html(self) -> Html:
        """Returns the marks for a page or a notebook, inside a scrolling region if ``region`` is
        given."""
        drawn = self.marks.html()
        return strip.scrolling(self.region, drawn, wide=self.wide) if self.region else drawn


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """One result ``document`` in all its presentations: words, pictures, tables and exact numbers.

    Fields that are slow to compute are functions without arguments, which a renderer calls only if
    it needs the value.
    """

    document: Any
    file: str
    """The name of the exhibit's files, without an ending."""
    heading: str
    """The heading of the exhibit's page."""
    about: str
    """What a sentence calls the exhibit, such as "the differences in “Stolen?”"."""
    source: ResultsSource
    protections: Sequence[Protection]
    """The protection of each question that the exhibit uses: method, epsilon and delta."""
    confidence: float

    finding: str
    """One sentence that claims no more than the statistical test supports."""
    precision: str = ""
    """How precise the finding is; a page shows it on the same line."""
    family: str = ""
    """How p-values were adjusted for several tests, or about whom nothing can be said."""
    # Lazy: drawn for every reader, they slowed a CSV of 900 cells from 26 to 43 ms to 75 to 91.
    pictures: Callable[[], Sequence[Picture]]
    records: Records
    numbers: Callable[[], Sequence[Printed]] = tuple
    """The tables that a page folds away, with one digit more than the pictures show."""
    method: Callable[[], Sequence[str]] = tuple
    """The paragraphs below the folded tables."""
    estimator: str
    """How the figures were estimated, with the source in the literature."""

    # A page.
    anchor: str = ""
    """The fragment of the page's address that leads to it, on a page of several exhibits."""
    label: str = ""
    """The question above the card; where it is empty, the pictures have headings instead."""
    whom: str = ""
    """Whose answers these are, unless they are everybody's."""
    claim: str = ""
    """A sentence above the pictures."""
    notes: Callable[[], Sequence[str]] = tuple
    """The sentences below the pictures."""

    # A notebook and a terminal.
    caption: str
    lines: Callable[[], Printed]
    remarks: Sequence[str] = ()
    """Notes below the table, besides the finding and ``family``."""

    # A figure for a paper.
    title: str
    lede: str
    """The subtitle: what the numbers are, and from how many people."""
    figure: Callable[[], Sequence[PaperPart]] | None = None
    """The parts of the figure; None if they are the page's pictures."""
    rows: str = "answers"
    """What the rows are, for the note that a figure shows only some of them."""
    opening: Sequence[str] = ()
    """Notes before the one on rows that are left out, such as the finding."""
    legend: Sequence[str] = ()
    """Notes after that one: what the marks mean, and what the intervals are for."""
    effect: str = ""
    """Sentences that follow the note on privacy; they begin with a space."""
    origin: str = ""
    """The note on the data source; where it is empty, that of ``source``."""
    asks: Sequence[str]
    """The wording of each question."""
    who: str = ""
    """Who answered, such as "In 3 waves, 10, 12 and 9 people"; where it is empty, the people of
    ``source``."""
    per: str = "a person"
    """The unit that the total epsilon is stated for."""
    words: str
    """How the paragraph for a paper's text goes on after what protects the answers."""

    @property
    def unfolded(self) -> list[Picture]:
        """Returns the pictures that a page shows unfolded."""
        return [picture for picture in self.pictures() if not picture.summary]

    @property
    def folded(self) -> list[Picture]:
        """Returns the pictures that a page folds away."""
        return [picture for picture in self.pictures() if picture.summary]

    @cached_property
    def parts(self) -> Sequence[PaperPart]:
        """Returns the parts of the figure for a paper."""
        if self.figure is not None:
            return self.figure()
        return [picture.marks for picture in self.pictures()]


def stated(*sentences: str | None) -> tuple[str, ...]:
    """Returns those sentences that are neither None nor empty."""
    return tuple(sentence for sentence in sentences if sentence)
