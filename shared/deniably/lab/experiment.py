"""What an experiment finds: its question, its answer in a sentence, rows, pictures, sources."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniably.core.steering import one_line
from deniably.core.table import Cell, aligned, frame
from deniably.lab.inputs import privacy_text
from deniably.lab.picture import DrawnRow, Picture
from deniably.survey.privacy import Privacy

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Reference:
    """Where something is proved, shown or said: ``where`` is title, journal, equation, address."""

    author: str
    year: int
    where: str

    def __str__(self) -> str:
        return f"{self.author} {self.year}, {self.where}"


@dataclass(frozen=True, eq=False)
class ExperimentFindings:
    """What the function of an experiment returns; the catalogue makes an ``Experiment`` of it.

    ``answer`` is one sentence whose numbers are those of ``rows``. A row that has a seeded draw has
    the columns ``exact``, ``drawn`` and ``standard_error``, which is that of the draw about the
    exact number. ``notes`` are caveats. ``mechanism`` says in words what randomised.
    """

    answer: str
    rows: Sequence[DrawnRow]
    pictures: Sequence[Picture]
    notes: Sequence[str] = ()
    mechanism: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """An experiment that was made, for people, notebooks and programs.

    ``name`` is that of the command and the page, ``title`` a few words. ``inputs`` are what it was
    made with. ``rows`` have plain values: an exact law in the column ``exact``, what was drawn with
    a seed beside it in ``drawn``, and ``standard_error`` of the draw. ``about`` names the survey's
    question whose mechanism it is, and is empty without a survey.
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
        """The rows as a pandas DataFrame. Raises ImportError where pandas is not installed."""
        return frame({name: [row.get(name) for row in self.rows] for name in self.columns})

    def to_json(self) -> str:
        """Everything but the drawings as JSON."""
        return json.dumps(
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
            ensure_ascii=False,
            indent=1,
        )

    def to_csv(self) -> str:
        """The rows as CSV, with a line of names."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()

    def __repr__(self) -> str:
        lines = [self.columns, *([_cell(row.get(name)) for name in self.columns]
                                 for row in self.rows)]  # fmt: skip
        texts = sum(any(isinstance(row.get(name), str) for row in self.rows)
                    for name in self.columns)  # fmt: skip
        parts = [one_line(self.about)] if self.about else []
        parts += [self.question, "", self.answer, "", *aligned(lines, texts)]
        return "\n".join([*parts, *(f"\n{note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        from deniably.lab.page import notebook

        return notebook(self)

    def _repr_svg_(self) -> str:
        return self.pictures[0].svg()


_PLAIN: Mapping[type, Callable[[Any], Any]] = {
    Fraction: str,
    Privacy: privacy_text,
    tuple: lambda several: [plain(one) for one in several],
}


def plain(value: object) -> Any:
    """A value as JSON and people have it: fractions and odds as text, as ``1/2``."""
    return _PLAIN.get(type(value), lambda same: same)(value)


def text_of(value: object) -> str:
    """An input as a command takes it: several numbers with commas between."""
    found = plain(value)
    return ",".join(map(str, found)) if type(value) is tuple else str(found)


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
