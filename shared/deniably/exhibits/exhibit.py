"""The noun: what is shown of one thing that was asked of the reports."""

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
    """The exact numbers, a row a figure, in the order of the document, for CSV and frames.

    ``rows`` makes them anew for each reader, so that a long table is never held twice.
    """

    columns: tuple[str, ...]
    rows: Callable[[], Iterable[ResultRow]]


@dataclass(frozen=True)
class Printed:
    """A table of texts for people, whose first ``texts`` columns are words. ``about`` says what it
    is to a screen reader, and ``note`` is a sentence below it."""

    about: str
    heads: Sequence[str]
    lines: Sequence[Sequence[str]]
    texts: int = 1
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """Marks with what stands around them on a page: ``heading`` and ``finding`` above, ``notes``
    below.

    ``summary`` folds the marks away below these words, and ``unseen`` completes these for screen
    readers. ``region`` says to these what scrolls sideways. ``apart`` begins a new card.
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
        """The marks for a page or a notebook, in a region of their own if they scroll."""
        drawn = self.marks.html()
        return strip.scrolling(self.region, drawn, wide=self.wide) if self.region else drawn


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """What is shown of a ``document``, in words, pictures, tables and exact numbers.

    What takes long to make is a function without arguments, which is called where it is needed.
    """

    document: Any
    file: str
    """What its files are called, without an ending."""
    heading: str
    """That of its page."""
    about: str
    """What a sentence calls it, such as "the differences in “Stolen?”"."""
    source: ResultsSource
    protections: Sequence[Protection]
    """Of each question that was asked."""
    confidence: float

    finding: str
    """One sentence that says no more than its test."""
    precision: str = ""
    """How sure it is, on the same line of a page."""
    family: str = ""
    """How tests were adjusted for being several, or of whom nothing can be said."""
    # Made at once, they took a CSV of 900 cells from 26 to 43 ms to 75 to 91.
    pictures: Callable[[], Sequence[Picture]]
    records: Records
    numbers: Callable[[], Sequence[Printed]] = tuple
    """The tables that a page folds away, with a digit more than the pictures."""
    method: Callable[[], Sequence[str]] = tuple
    """The paragraphs below these tables."""
    estimator: str
    """How it was estimated, with its source."""

    # A page.
    anchor: str = ""
    """Its place on a page of several exhibits."""
    label: str = ""
    """The question of its card; without one, the pictures have headings of their own."""
    whom: str = ""
    """Whose answers these are, where not everybody's."""
    claim: str = ""
    """A sentence above the pictures."""
    notes: Callable[[], Sequence[str]] = tuple
    """Sentences below them."""

    # A notebook and a terminal.
    caption: str
    lines: Callable[[], Printed]
    remarks: Sequence[str] = ()
    """Notes of the table, besides the finding and the family of tests."""

    # A figure for a paper.
    title: str
    lede: str
    """What the numbers are, of how many people."""
    figure: Callable[[], Sequence[PaperPart]] | None = None
    """The parts, where they are not those of a page."""
    rows: str = "answers"
    """What its rows are, of which a figure leaves some out."""
    opening: Sequence[str] = ()
    """Notes before those about the rows that are left out, such as the finding."""
    legend: Sequence[str] = ()
    """Notes after them: what the marks mean, and what intervals are of."""
    effect: str = ""
    """What follows the note on privacy."""
    origin: str = ""
    """What is said of the source in place of its own note."""
    asks: Sequence[str]
    """The questions as they were asked."""
    who: str = ""
    """Who answered, where that is more than the people of the source."""
    per: str = "a person"
    """What the whole epsilon is of."""
    words: str
    """How the paragraph for the text of a paper goes on after what protects the answers."""

    @property
    def unfolded(self) -> list[Picture]:
        """The pictures that a page shows at once."""
        return [picture for picture in self.pictures() if not picture.summary]

    @property
    def folded(self) -> list[Picture]:
        """The pictures that a page folds away."""
        return [picture for picture in self.pictures() if picture.summary]

    @cached_property
    def parts(self) -> Sequence[PaperPart]:
        """The parts of its figure for a paper."""
        if self.figure is not None:
            return self.figure()
        return [picture.marks for picture in self.pictures()]


def stated(*sentences: str | None) -> tuple[str, ...]:
    """The sentences that are not empty."""
    return tuple(sentence for sentence in sentences if sentence)
