"""Defines the result of an experiment: a question, its answer in a sentence, rows, pictures, and
sources.

A result is written as text, JSON, CSV and HTML; the handout, the pages of a server and notebooks
use the same HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, LiteralString

from deniably.core.languages.csv_text import csv_table
from deniably.core.languages.html import Html
from deniably.core.languages.json import json_text
from deniably.core.steering import one_line
from deniably.core.table import Cell, aligned, frame
from deniably.lab.inputs import privacy_text
from deniably.lab.picture import DrawnRow, Picture
from deniably.results.drawing.colours import CARD, INK, SOFT
from deniably.results.drawing.rounding import MINUS
from deniably.results.drawing.strip import plain_table
from deniably.survey.privacy import Privacy

if TYPE_CHECKING:
    import pandas as pd

_STYLE: Final = f"""
.deniably-lab {{ color: {INK}; background: {CARD}; padding: 8px 16px; max-width: 56rem; }}
.deniably-lab .q {{ font-size: 1em; font-weight: 400; color: {SOFT}; margin: 0 0 4px; }}
.deniably-lab p {{ margin: 0 0 8px; }}
.deniably-lab .finding {{ font-size: 1.2em; font-weight: 700; max-width: 44rem; }}
.deniably-lab figure {{ margin: 16px 0; }} .deniably-lab figcaption {{ font-weight: 650; }}
.deniably-lab .note, .deniably-lab .small {{ color: {SOFT}; }}
.deniably-lab .graph {{ display: block; width: 100%; overflow: visible; }}
.deniably-lab .scroll {{ overflow-x: auto; }}
.deniably-lab table, .deniably-lab th, .deniably-lab td {{ color: {INK}; background: {CARD}; }}
.deniably-lab .unseen {{ position: absolute; clip-path: inset(50%); width: 1px; height: 1px; }}
"""
"""The stylesheet of a notebook; drawings have their own colours."""


@dataclass(frozen=True)
class Reference:
    """A source: an author, a year, and ``where``, which has the title, journal, equation or
    address."""

    author: str
    year: int
    where: str

    def __str__(self) -> str:
        return f"{self.author} {self.year}, {self.where}"


@dataclass(frozen=True, eq=False)
class ExperimentFindings:
    """What the function of an experiment returns; the catalogue turns it into an ``Experiment``.

    ``answer`` is one sentence, whose numbers are in ``rows`` too. A row with a simulated value has
    the columns ``exact`` (the expected value), ``drawn`` (the simulated one), and
    ``standard_error`` (of ``drawn`` about ``exact``). ``notes`` are caveats. ``mechanism``
    describes the mechanism in words.
    """

    answer: str
    rows: Sequence[DrawnRow]
    pictures: Sequence[Picture]
    notes: Sequence[str] = ()
    mechanism: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """The result of an experiment: a question, its answer, a table, pictures and sources.

    ``name`` is the name of the experiment's command and page, ``title`` a few words. ``inputs``
    are the values that it was run with. ``rows`` are the lines of the table: an exact result is in
    the column ``exact``, with the result of a seeded simulation in ``drawn`` and its standard
    error in ``standard_error``. ``about`` is the label of the survey's question whose mechanism
    was used, empty without a survey.
    """

    name: str
    title: str
    question: str
    inputs: Mapping[str, Any]
    answer: str
    rows: Sequence[DrawnRow]
    pictures: Sequence[Picture]
    sources: Sequence[Reference]
    notes: Sequence[str] = ()
    mechanism: str = ""
    about: str = ""

    @property
    def columns(self) -> list[str]:
        """The columns of all rows, in the order in which they first appear."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def to_frame(self) -> pd.DataFrame:
        """Returns the rows as a pandas DataFrame. Raises ImportError if pandas is not installed."""
        return frame({name: [row.get(name) for row in self.rows] for name in self.columns})

    def to_json(self) -> str:
        """Returns the result as JSON, without the pictures."""
        return json_text(
            {
                "experiment": self.name,
                "about": self.about,
                "question": self.question,
                "inputs": {name: plain(value) for name, value in self.inputs.items()},
                "mechanism": self.mechanism,
                "answer": self.answer,
                "rows": [dict(row) for row in self.rows],
                "notes": list(self.notes),
                "sources": [asdict(source) for source in self.sources],
            },
            indent=1,
        )

    def to_csv(self) -> str:
        """Returns the rows as CSV, with a header line."""
        return csv_table(self.columns, self.rows, "\n")

    def __repr__(self) -> str:
        lines = [self.columns, *([_cell(row.get(name)) for name in self.columns]
                                 for row in self.rows)]  # fmt: skip
        texts = sum(any(isinstance(row.get(name), str) for row in self.rows)
                    for name in self.columns)  # fmt: skip
        parts = [one_line(self.about)] if self.about else []
        parts += [self.question, "", self.answer, "", *aligned(lines, texts)]
        return "\n".join([*parts, *(f"\n{note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return Html.filled(
            '<div class="deniably-lab"><style>{style}</style>{fragment}</div>',
            style=Html(_STYLE), fragment=fragment(self, 3),
        ).source  # fmt: skip

    def _repr_svg_(self) -> str:
        return self.pictures[0].svg()


_PLAIN: Mapping[type, Callable[[Any], Any]] = {
    Fraction: str,
    Privacy: privacy_text,
    tuple: lambda several: [plain(item) for item in several],
}


def plain(value: object) -> Any:
    """Returns the value of an input for JSON and readers: a fraction, odds or an epsilon as text,
    such as "1/2", several numbers as a list, and other values unchanged."""
    return _PLAIN.get(type(value), lambda same: same)(value)


def text_of(value: object) -> str:
    """Returns the value of an input as the text that a command takes; commas separate several
    numbers."""
    plain_value = plain(value)
    return ",".join(map(str, plain_value)) if type(value) is tuple else str(plain_value)


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


# --- as HTML --------------------------------------------------------------------------------------


def fragment(
    experiment: Experiment, heading: int = 2, note: Callable[[str], Html] = Html.text
) -> Html:
    """Returns the experiment as an HTML ``article``: question, answer, pictures, caveats, and in
    folded sections the table, the inputs and the sources. ``heading`` is the level of its heading;
    ``note`` turns the text of a caveat into HTML.

    Its CSS classes are those of the server's stylesheets ``results`` and ``lab``.
    """
    about = _each('<p class="small">{text}</p>', [experiment.about] if experiment.about else [])
    pictures = (
        Html.filled(
            "<figure><figcaption>{title}</figcaption>{picture}</figure>",
            title=Html.text(picture.title), picture=picture.inline(),
        )
        for picture in experiment.pictures
    )  # fmt: skip
    return Html.filled(
        '<article class="card lab">{about}<h{heading} class="q">{question}</h{heading}>'
        '<p class="finding">{answer}</p>{pictures}{notes}'
        "<details><summary>Numbers</summary>{table}</details>"
        "<details><summary>How it was made, and sources</summary>{made}"
        "<ul>{sources}</ul></details></article>",
        about=about, heading=heading, question=Html.text(experiment.question),
        answer=Html.text(experiment.answer), pictures=Html.joined("", pictures),
        notes=_each('<p class="note">{text}</p>', experiment.notes, note), table=_table(experiment),
        made=_made(experiment), sources=_each("<li>{text}</li>", map(str, experiment.sources)),
    )  # fmt: skip


def handout(title: str, experiments: Sequence[Experiment], style: str) -> Html:
    """Returns an HTML page with all experiments, which fetches nothing and has no script. ``style``
    is its stylesheet."""
    return Html.filled(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>{title}</title><style>{style}</style></head>"
        "<body><main><h1>{title}</h1>{articles}</main></body></html>\n",
        title=Html.text(title), style=Html.style(style),
        articles=Html.joined("", map(fragment, experiments)),
    )  # fmt: skip


def _each(
    template: LiteralString, texts: Iterable[str], writer: Callable[[str], Html] = Html.text
) -> Html:
    """The template with each of these texts."""
    return Html.joined("", (Html.filled(template, text=writer(text)) for text in texts))


def _table(experiment: Experiment) -> Html:
    heads = [name.replace("_", " ") for name in experiment.columns]
    lines = [[_in_page(row.get(name)) for name in experiment.columns] for row in experiment.rows]
    of = f"{experiment.title}, {experiment.about}" if experiment.about else experiment.title
    return plain_table(f"{of}: all numbers", heads, lines)


def _made(experiment: Experiment) -> Html:
    inputs = "; ".join(f"{name} {text_of(value)}" for name, value in experiment.inputs.items())
    command = f"deniably lab {'FILE' if experiment.about else experiment.name}"
    mechanism = [experiment.mechanism] if experiment.mechanism else []
    return Html.filled(
        "<p>Made by <code>{command}</code> with {inputs}.</p>{mechanism}",
        command=Html.text(command), inputs=Html.text(inputs),
        mechanism=_each("<p>Mechanism: {text}.</p>", mechanism),
    )  # fmt: skip


def _in_page(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.5g}".replace("-", MINUS) if abs(value) < 1e6 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value
