"""What is counted of a question's columns, so that its tally has the same integers as a server's.

Three shapes of columns hold all reports: one column with an index or a number; 0 or 1 for each
choice; and columns of which a report has some. Conditions are SQL, written for the few operators
that all engines share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from deniably.estimation.tally import Tally, from_cells
from deniably.mechanisms.law import Several, Supporting
from deniably.survey.questions import Question
from deniably.workbench.columns import FileColumn, FileColumns
from deniably.workbench.engines.engine import Groups
from deniably.workbench.packing import PackedField


class QuestionCounter(Protocol):
    """What is counted of one question."""

    @property
    def question(self) -> Question:
        """The question."""
        ...

    @property
    def fits(self) -> str:
        """The condition that a device could have made this part of a report."""
        ...

    @property
    def asked(self) -> str:
        """The condition that a report has this question."""
        ...

    @property
    def grouped(self) -> Sequence[int]:
        """The columns whose values are counted one by one."""
        ...

    @property
    def summed(self) -> Sequence[str]:
        """The expressions whose sum is needed."""
        ...

    @property
    def misfit(self) -> str | None:
        """The expression that is 1 where a row does not fit; None where the groups tell."""
        ...

    def unfit(self, groups: Mapping[int, Groups], counted: int) -> int:
        """How many rows do not fit: as the groups tell, else as ``misfit`` was ``counted``."""
        ...

    def tally(self, groups: Mapping[int, Groups], sums: Sequence[int]) -> Tally:
        """The tally of rows that fit."""
        ...


@dataclass(frozen=True)
class OneColumn:
    """A column with an index, an output or a number."""

    question: Question
    place: int
    low: int
    high: int
    optional: bool

    @property
    def fits(self) -> str:
        """As of ``QuestionCounter``."""
        return within(self.place, self.low, self.high, self.optional)

    @property
    def asked(self) -> str:
        """As of ``QuestionCounter``."""
        return f"c{self.place} is not null"

    @property
    def grouped(self) -> Sequence[int]:
        """As of ``QuestionCounter``."""
        return (self.place,)

    @property
    def summed(self) -> Sequence[str]:
        """As of ``QuestionCounter``."""
        return ()

    @property
    def misfit(self) -> None:
        """As of ``QuestionCounter``."""

    def unfit(self, groups: Mapping[int, Groups], counted: int) -> int:
        """As of ``QuestionCounter``."""
        return sum(count for (value,), count in groups[self.place].items() if not self._has(value))

    def tally(self, groups: Mapping[int, Groups], sums: Sequence[int]) -> Tally:
        """As of ``QuestionCounter``."""
        cells = {
            value: count for (value,), count in groups[self.place].items() if value is not None
        }
        cell_count = self.question.mechanism.law.cell_count
        return from_cells(sum(cells.values()), cells, cell_count)

    def _has(self, value: int | None) -> bool:
        return self.optional if value is None else self.low <= value <= self.high


@dataclass(frozen=True)
class EachChoice:
    """A column for each choice: 1 where the report names it. ``size`` of them, unless None."""

    question: Question
    places: range
    size: int | None
    optional: bool

    @property
    def fits(self) -> str:
        """As of ``QuestionCounter``."""
        here = [within(place, 0, 1) for place in self.places]
        if self.size is not None:
            total = joined(" + ", (f"coalesce(c{place}, 0)" for place in self.places))
            here.append(f"{total} = {self.size}")
        fits = joined(" and ", here)
        if not self.optional:
            return fits
        return f"({fits} or {joined(' and ', (f'c{place} is null' for place in self.places))})"

    @property
    def asked(self) -> str:
        """As of ``QuestionCounter``."""
        return f"c{self.places[0]} is not null"

    @property
    def grouped(self) -> Sequence[int]:
        """As of ``QuestionCounter``."""
        return ()

    @property
    def summed(self) -> Sequence[str]:
        """As of ``QuestionCounter``."""
        return (number(self.asked), *(f"c{place}" for place in self.places))

    @property
    def misfit(self) -> str:
        """As of ``QuestionCounter``."""
        return number(f"not {self.fits}")

    def unfit(self, groups: Mapping[int, Groups], counted: int) -> int:
        """As of ``QuestionCounter``."""
        return counted

    def tally(self, groups: Mapping[int, Groups], sums: Sequence[int]) -> Tally:
        """As of ``QuestionCounter``."""
        n, *counts = sums
        return from_cells(n, dict(enumerate(counts)), len(counts))


@dataclass(frozen=True)
class SomeColumns:
    """Columns of which a report has ``size``: options that it sampled, or parts of a vector.

    The cell of a value in the i-th column is ``stride * i + value`` where ``by_column``, else
    ``stride * value + i``.
    """

    question: Question
    places: range
    ends: tuple[tuple[int, int], ...]
    size: int
    by_column: bool
    optional: bool

    @property
    def fits(self) -> str:
        """As of ``QuestionCounter``."""
        here = [
            within(place, low, high, empty=True)
            for place, (low, high) in zip(self.places, self.ends, strict=True)
        ]
        sizes = f"({self.size}, 0)" if self.optional else f"({self.size})"
        return joined(" and ", [*here, f"{self._filled} in {sizes}"])

    @property
    def asked(self) -> str:
        """As of ``QuestionCounter``."""
        return f"{self._filled} > 0"

    @property
    def grouped(self) -> Sequence[int]:
        """As of ``QuestionCounter``."""
        return self.places

    @property
    def summed(self) -> Sequence[str]:
        """As of ``QuestionCounter``."""
        return (number(self.asked),)

    @property
    def misfit(self) -> str:
        """As of ``QuestionCounter``."""
        return number(f"not {self.fits}")

    def unfit(self, groups: Mapping[int, Groups], counted: int) -> int:
        """As of ``QuestionCounter``."""
        return counted

    def tally(self, groups: Mapping[int, Groups], sums: Sequence[int]) -> Tally:
        """As of ``QuestionCounter``."""
        width = len(self.places)
        cells = {
            2 * at + value if self.by_column else width * value + at: count
            for at, place in enumerate(self.places)
            for (value,), count in groups[place].items()
            if value is not None
        }
        return from_cells(sums[0], cells, self.question.mechanism.law.cell_count)

    @cached_property
    def _filled(self) -> str:
        return joined(" + ", (number(f"c{place} is not null") for place in self.places))


def counters(columns: FileColumns) -> list[QuestionCounter]:
    """What is counted of each question whose reports are in ``columns``."""
    names = columns.names
    found = list[QuestionCounter]()
    for field in columns.layout.fields.values():
        own = columns.of(field.question.name)
        start = names.index(own[0].name)
        found.append(_counter(field, own, range(start, start + len(own))))
    return found


def _counter(field: PackedField, own: Sequence[FileColumn], places: range) -> QuestionCounter:
    question, law = field.question, field.question.mechanism.law
    if isinstance(law, Several) or (isinstance(law, Supporting) and law.both):
        ends = tuple(column.reach for column in own)
        by_column = isinstance(law, Supporting)
        return SomeColumns(question, places, ends, field.count, by_column, field.optional)
    if field.kind == "bits":
        assert isinstance(law, Supporting)
        return EachChoice(question, places, law.size, field.optional)
    low, high = own[0].reach
    return OneColumn(question, places[0], low, high, field.optional)


def number(condition: str) -> str:
    """1 where a condition holds, else 0."""
    return f"case when {condition} then 1 else 0 end"


def joined(operator: str, terms: Iterable[str]) -> str:
    """Terms with an operator between them, in parentheses that are nested as little as can be.

    Engines bound how deep an expression is.

    >>> joined(" + ", ["a", "b", "c"])
    '((a) + ((b) + (c)))'
    """
    some = list(terms)
    if len(some) == 1:
        return f"({some[0]})"
    half = len(some) // 2
    return f"({joined(operator, some[:half])}{operator}{joined(operator, some[half:])})"


def within(place: int, low: int, high: int, empty: bool = False) -> str:
    """The condition that a column is between two numbers, or that it may be ``empty``."""
    return f"coalesce(c{place} between {low} and {high}, {'true' if empty else 'false'})"
