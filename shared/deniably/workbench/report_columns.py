"""Names the columns of exported reports, and says what their integers mean.

The columns are randomised: do not tabulate them as if they were answers, as estimates need p and
q. Only strata are not randomised: they were in the link of the survey. They have columns where
each stratum has enough reports to be shown; otherwise ``note`` says why they are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from deniably.core.counting import counted
from deniably.mechanisms.law import Noise, Several, Supporting
from deniably.survey.questions import Number, Point, Product, Question, VectorOfNumbers
from deniably.survey.survey import Survey
from deniably.workbench.packing import Answered, Layout, PackedField, Rows, layout

RANDOMISED = "(randomised)"
"""The end of the title of every randomised column."""
WARNING = (
    "Do not tabulate these columns as if they were answers: every value is randomised, and"
    " estimates need p and q, which design.json has."
)
NOT_RANDOMISED = "(not randomised: known from the link)"
"""The end of the title of every column of strata."""
ROW = "row"
"""The name of the first column: the number of the row, from 1 on."""

Kind = Literal["index", "named", "part", "number"]


@dataclass(frozen=True)
class FileColumn:
    """A column of small integers, which holds all or part of the randomised reports to one
    question.

    ========  ==============================================================================
    kind      what its integers are
    ========  ==============================================================================
    index     the number of the choice, combination or output that the report names
    named     1 where the report names the ``place``-th choice or combination, and else 0
    part      of an index, the number of the choice of the ``place``-th part
    number    the reported number, in steps of the range: that of the ``place``-th part
    ========  ==============================================================================

    ``label`` is a text on what the column is about. ``categories`` has a label for each integer,
    from 0 on; it is empty where the integers are numbers themselves. Cells of ``optional`` columns
    are empty where the question was not asked, or the part or option not sampled. ``choice`` and
    ``part`` are the names of the choice or part that the column is about, None if it is about the
    whole question. ``p`` and ``q`` are the probabilities of a 1 if the true answer is this choice,
    and if it is not; None unless the column is 0 or 1.
    """

    name: str
    kind: Kind
    question: Question
    place: int
    label: str
    categories: tuple[str, ...] = ()
    optional: bool = False
    choice: str | None = None
    part: str | None = None
    p: Fraction | None = None
    q: Fraction | None = None

    @property
    def title(self) -> str:
        """Returns the label, with the remark that the column is randomised."""
        return f"{self.label} {RANDOMISED}"

    @property
    def p_and_q(self) -> tuple[Fraction | None, Fraction | None]:
        """Returns the probabilities p and q of a 1; (None, None) where the column has none."""
        return self.p, self.q

    @property
    def reach(self) -> tuple[int, int]:
        """Returns the smallest and the largest integer that the column can have."""
        if self.categories:
            return 0, len(self.categories) - 1
        law = self.question.mechanism.law
        part = law.parts[self.place] if isinstance(law, Several) else law
        if isinstance(part, Noise):
            return -part.reach, part.k - 1 + part.reach
        assert not isinstance(part, Several)
        return 0, part.cell_count - 1


@dataclass(frozen=True)
class StratumColumn:
    """A column with the value of one stratum key in the respondent's link, as the number of the
    value, from 0 on.

    The column is not randomised. ``categories`` are the values, and ``place`` is the number of the
    key among all keys.
    """

    name: str
    key: str
    place: int
    categories: tuple[str, ...]

    @property
    def p_and_q(self) -> tuple[None, None]:
        """Returns (None, None), as nothing was randomised."""
        return None, None

    @property
    def title(self) -> str:
        """Returns the key, with the remark that the column is not randomised."""
        return f"{self.key} {NOT_RANDOMISED}"

    @property
    def reach(self) -> tuple[int, int]:
        """Returns the smallest and the largest integer that the column can have."""
        return 0, len(self.categories) - 1


@dataclass(frozen=True)
class Filled:
    """The cells of a column for n reports: the integers ``values`` (n,), and the mask ``there``
    (n,), False where a cell is empty. The value of an empty cell has no meaning."""

    values: npt.NDArray[np.int64]
    there: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FileColumns:
    """All columns of a survey's reports in their order, except the first column of a file, which
    numbers the rows.

    ``strata`` come first, if the set has strata, and then the randomised ``columns``.
    """

    layout: Layout
    strata: tuple[StratumColumn, ...]
    columns: tuple[FileColumn, ...]

    def __iter__(self) -> Iterator[StratumColumn | FileColumn]:
        return iter((*self.strata, *self.columns))

    def __len__(self) -> int:
        return len(self.strata) + len(self.columns)

    @property
    def names(self) -> list[str]:
        """Returns the names of all columns."""
        return [column.name for column in self]

    def of(self, question: str) -> list[FileColumn]:
        """Returns the columns of the question with this name."""
        return [column for column in self.columns if column.question.name == question]

    def filled(self, rows: Rows) -> list[Filled]:
        """Returns the cells of each column, in the order of the columns, for n packed reports."""
        filled = [self._values(column, rows) for column in self.strata]
        for name, field in self.layout.fields.items():
            answered = field.unpack(rows)
            filled += [_fill(column, field, answered) for column in self.of(name)]
        return filled

    def column_of(self, name: str, rows: Rows) -> Filled:
        """Returns the cells of the column ``name`` for n packed reports. Raises KeyError for an
        unknown column."""
        for column in self:
            if column.name == name:
                if isinstance(column, StratumColumn):
                    return self._values(column, rows)
                field = self.layout.fields[column.question.name]
                return _fill(column, field, field.unpack(rows))
        raise KeyError(name)

    def pack(self, filled: Mapping[str, Filled]) -> Rows:
        """Packs n reports. ``filled`` maps the name of each column to its cells; this is the
        inverse of the method ``filled``.

        Raises ValueError where a column is missing, or no device could have reported a row.
        """
        if lacks := [name for name in self.names if name not in filled]:
            raise ValueError(f"there is no column {lacks[0]}")
        packed = list[Rows]()
        for name, field in self.layout.fields.items():
            own = self.of(name)
            packed.append(_pack(field, own, [filled[column.name] for column in own]))
        # Redundant columns follow from others, so unpacking again finds every contradiction
        # between them.
        rows = self.layout.with_strata(self._numbers(filled), packed)
        for column, back in zip(self, self.filled(rows), strict=True):
            was = filled[column.name]
            same = np.array_equal(was.there, back.there) and np.array_equal(
                was.values[was.there], back.values[back.there]
            )
            if not same:
                raise ValueError(f"{column.name} has a value that no report of the survey makes")
        return rows

    def _values(self, column: StratumColumn, rows: Rows) -> Filled:
        """Returns the numbers of the values of one key."""
        shape = [len(key.categories) for key in self.strata]
        values = np.unravel_index(self.layout.strata(rows), shape)[column.place]
        return Filled(values.astype(np.int64), np.ones(len(rows), np.bool_))

    def _numbers(self, filled: Mapping[str, Filled]) -> npt.NDArray[np.int64]:
        """Returns the numbers (n,) of the strata. Raises ValueError for a value that a key does
        not have."""
        numbers = np.zeros(0, np.int64)
        for column in self.strata:
            values, there = filled[column.name].values, filled[column.name].there
            low, high = column.reach
            if not (there & (low <= values) & (values <= high)).all():
                raise ValueError(f"{column.name} is one of {low} to {high} in every row")
            # Strata are numbered with the last key running fastest (SPEC 4.6).
            numbers = numbers * len(column.categories) + values if len(numbers) else values
        return numbers


def columns_of(places: Layout) -> FileColumns:
    """Returns the columns of a file with reports in this layout.

    Randomised columns have the same names whether or not the file has columns for strata.
    """
    survey, taken = places.survey, {ROW}
    strata = tuple(_unique(column, taken) for column in _of_strata(survey))
    optional = not survey.complete
    columns = tuple(
        _unique(column, taken)
        for question in survey.questions
        for column in _of_question(question, optional)
    )
    return FileColumns(places, strata if places.stratified else (), columns)


def columns_in(survey: Survey, names: Collection[str]) -> FileColumns:
    """Returns the columns of reports to ``survey`` in a file whose columns have these ``names``.
    Strata are included if the file has a column for each stratum key."""
    columns = columns_of(layout(survey, stratified=bool(survey.strata)))
    if {key.name for key in columns.strata} <= set(names):
        return columns
    return columns_of(layout(survey))


def note(places: Layout) -> str:
    """Returns a sentence on strata for the documentation of a file: which columns are not
    randomised, or why there are no columns of strata. Empty for a survey without strata."""
    survey = places.survey
    keys = ", ".join(sorted(survey.strata or {}))
    if not keys:
        return ""
    if places.stratified:
        return f"Only what the link said is not randomised: {keys}."
    return (
        f"There is no column for what the link said ({keys}): each stratum needs"
        f" {counted(survey.results.minimum, 'report')} to every question, and one has fewer."
    )


def randomisation_note(places: Layout) -> str:
    """Returns the warning not to tabulate randomised columns, followed by a sentence on strata if
    the survey has any."""
    return " ".join(filter(None, (WARNING, note(places))))


def _of_strata(survey: Survey) -> Iterator[StratumColumn]:
    for place, (key, values) in enumerate(sorted((survey.strata or {}).items())):
        yield StratumColumn(key, key, place, tuple(values))


_Column = TypeVar("_Column", FileColumn, StratumColumn)


def _unique(column: _Column, taken: set[str]) -> _Column:
    """Returns the column under a name that no other has, even where capitals are not told apart."""
    name, number = column.name, 1
    while name.casefold() in taken:
        number += 1
        name = f"{column.name}_{number}"
    taken.add(name.casefold())
    return replace(column, name=name)


# --- which columns there are ------------------------------------------------------------------


def _of_question(question: Question, optional: bool) -> Iterator[FileColumn]:
    law, name = question.mechanism.law, question.name
    if isinstance(law, Several):
        assert isinstance(question, VectorOfNumbers)
        for place, part in enumerate(question.parts):
            yield FileColumn(
                f"{name}__{part.name}", "number", question, place,
                f"{question.label}: {part.label}, in steps of {part.range.step} from"
                f" {part.range.minimum} on",
                optional=optional or law.s < len(law.parts), part=part.name,
            )  # fmt: skip
        return
    if not isinstance(law, Supporting):
        yield _output(question, law.cell_count, optional)
        return
    choices = _choices(question, law)
    if law.size == 1 and not law.both:
        labels = tuple(label for _, label in choices)
        yield FileColumn(name, "index", question, 0, question.label, labels, optional)
        if isinstance(question, Product):
            for place, small in enumerate(question.parts):
                of_part = tuple(choice.label for choice in small.choices)
                yield FileColumn(
                    f"{name}__{small.name}", "part", question, place,
                    f"{question.label}: {small.label}", of_part, optional, part=small.name,
                )  # fmt: skip
    for place, (choice, label) in enumerate(choices):
        # Padding is a choice that nobody can give, so that p and q say nothing about it.
        padding = place >= law.k
        yield FileColumn(
            f"{name}__{choice}", "named", question, place, f"{question.label}: {label}",
            ("not reported", "reported"), optional or law.both, choice,
            p=None if padding else law.p, q=None if padding else law.q,
        )  # fmt: skip


def _output(question: Question, outputs: int | None, optional: bool) -> FileColumn:
    if outputs is None:
        assert isinstance(question, Number)
        label = (
            f"{question.label}, in steps of {question.range.step} from {question.range.minimum} on"
        )
        return FileColumn(question.name, "number", question, 0, label, optional=optional)
    labels = tuple(label for _, label in _named(question))
    if len(labels) != outputs:
        labels = tuple(f"output {number}" for number in range(outputs))
    return FileColumn(question.name, "index", question, 0, question.label, labels, optional)


def _choices(question: Question, law: Supporting) -> list[tuple[str, str]]:
    """The name and the label of each cell that a report can name, padding last."""
    named = _named(question)
    if not named:  # a number: ranges of equal length
        assert isinstance(question, Number)
        firsts = [question.range.first(cell, law.k) for cell in range(law.k)]
        named = [(f"{cell}", f"from {first} on") for cell, first in enumerate(firsts)]
    return named + [(f"{law.k + cell}", "padding") for cell in range(law.padding)]


def _named(question: Question) -> list[tuple[str, str]]:
    if isinstance(question, Product):
        return [
            ("_".join(choice.name for choice in each), "; ".join(choice.label for choice in each))
            for each in product(*(part.choices for part in question.parts))
        ]
    if isinstance(question, Point):
        cells = product(range(question.grid), repeat=2)
        first, second = question.parts
        return [
            (
                f"{row}_{other}",
                f"{first.label} from {first.range.first(row, question.grid)} on,"
                f" {second.label} from {second.range.first(other, question.grid)} on",
            )
            for row, other in cells
        ]
    return [(choice.name, choice.label) for choice in getattr(question, "choices", ())]


# --- their integers -----------------------------------------------------------------------------


def _fill(column: FileColumn, field: PackedField, answered: Answered) -> Filled:
    law, cells, asked = column.question.mechanism.law, answered.cells, answered.asked
    if field.kind == "bits":
        return Filled(cells[:, column.place].astype(np.int64), asked)
    numbers = cells.astype(np.int64)
    if isinstance(law, Several):
        # A number v of part i was sent as v * d + i; a sum over the row picks the one number of
        # this part.
        mine = (numbers % len(law.parts) == column.place) & asked[:, None]
        return Filled(np.where(mine, numbers // len(law.parts), 0).sum(axis=1), mine.any(axis=1))
    if isinstance(law, Supporting) and law.both:
        # An option v was sent as 2 * v + answer (SPEC 2.8).
        mine = (numbers // 2 == column.place) & asked[:, None]
        return Filled(np.where(mine, numbers % 2, 0).sum(axis=1), mine.any(axis=1))
    only = numbers[:, 0]
    if column.kind == "named":
        only = (only == column.place).astype(np.int64)
    elif column.kind == "part":
        assert isinstance(column.question, Product)
        shape = column.question.shape
        # The index of a combination has its last part running fastest.
        only = only // prod(shape[column.place + 1 :]) % shape[column.place]
    return Filled(np.where(asked, only, 0), asked)


def _pack(field: PackedField, columns: Sequence[FileColumn], filled: Sequence[Filled]) -> Rows:
    law = field.question.mechanism.law
    there = np.stack([column.there for column in filled], axis=1)
    values = np.where(there, np.stack([column.values for column in filled], axis=1), 0)
    asked = np.ones(len(there), np.bool_)
    if field.optional:
        asked &= there.any(axis=1)
    name = columns[0].name
    if field.kind == "bits":
        if not np.isin(values, (0, 1)).all():
            raise ValueError(f"{name}: a value is neither 0 nor 1")
        return field.pack_cells(asked, values.astype(np.bool_))
    if isinstance(law, Several):
        cells = values * len(law.parts) + np.arange(len(law.parts))
    elif isinstance(law, Supporting) and law.both:
        cells = values + 2 * np.arange(law.k)
    else:
        return field.pack_cells(asked, values[:, :1])
    if (there.sum(axis=1)[asked] != field.count).any():
        raise ValueError(f"{name}: a report has {field.count} of the {len(columns)} columns")
    sampled = np.zeros((len(values), field.count), np.int64)
    sampled[asked] = cells[there].reshape(-1, field.count)
    return field.pack_cells(asked, sampled)
