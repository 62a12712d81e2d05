"""Says what to count of each question's columns, so that its tally has the same integers as a
server's.

Columns hold reports in one of three forms: one column with an index or a number; a column of 0 or
1 for each choice; or several columns, some of which a report fills. Conditions are SQL with the
few operators that all engines share.

A row "fits" if a device could have sent it. The SQL condition for that is long, and slower than
all counts together. So a few aggregates over all rows decide first whether every row fits: for
example, of 0/1 columns, that the smallest sum of a row equals the mean sum. Only if they fail is
the condition evaluated for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from deniably.estimation.tally import Tally, from_cells
from deniably.mechanisms.law import Several, Supporting
from deniably.survey.questions import Question
from deniably.workbench.engines.counting_engine import Groups
from deniably.workbench.engines.row_counts import Counted
from deniably.workbench.packing import PackedField
from deniably.workbench.report_columns import FileColumn, FileColumns


class QuestionCounter(Protocol):
    """The columns to count for one question, and the SQL to count and check them with."""

    @property
    def question(self) -> Question:
        """Returns the question that is counted."""
        ...

    @property
    def fits(self) -> str:
        """Returns an SQL condition: in this row, a device could have sent the cells of this
        question."""
        ...

    @property
    def asked(self) -> str:
        """Returns an SQL condition: this row has a report to this question."""
        ...

    @property
    def grouped(self) -> Sequence[int]:
        """Returns the numbers of the columns for which rows are counted by value: how many have 0,
        1 and so on."""
        ...

    @property
    def summed(self) -> Sequence[int]:
        """Returns the numbers of the columns whose values are summed."""
        ...

    @property
    def filled(self) -> Sequence[int]:
        """Returns the numbers of the columns whose non-empty cells are counted."""
        ...

    @property
    def checks(self) -> Sequence[str]:
        """Returns SQL aggregates over all rows. Their values, together with the counts and sums,
        decide whether all rows fit."""
        ...

    def all_fit(self, counted: Counted, checked: Sequence[int]) -> bool:
        """Returns whether ``fits`` is true in all rows. Decides that from the counts and sums
        ``counted`` and from ``checked``, the values of the aggregates ``checks``."""
        ...

    def tally(self, counted: Counted) -> Tally:
        """Returns the question's tally, given the counts and sums of rows that all fit."""
        ...


@dataclass(frozen=True)
class OneColumn:
    """Counts a question whose report is one integer in one column, from ``low`` to ``high``.

    ``place`` is the number of the column; cells may be empty if ``optional``.
    """

    question: Question
    place: int
    low: int
    high: int
    optional: bool

    @property
    def fits(self) -> str:
        """Returns an SQL condition: the cell has an integer in the range, or is empty where
        ``optional``."""
        return within(self.place, self.low, self.high, self.optional)

    @property
    def asked(self) -> str:
        """Returns an SQL condition: the cell is not empty, so the row has a report."""
        return f"c{self.place} is not null"

    @property
    def grouped(self) -> Sequence[int]:
        """Returns the number of the column: rows are counted by its value."""
        return (self.place,)

    @property
    def summed(self) -> Sequence[int]:
        """Returns no columns: nothing is summed."""
        return ()

    @property
    def filled(self) -> Sequence[int]:
        """Returns no columns: the counts by value include the empty cells."""
        return ()

    @property
    def checks(self) -> Sequence[str]:
        """Returns no aggregates: the counts by value already show every value."""
        return ()

    def all_fit(self, counted: Counted, checked: Sequence[int]) -> bool:
        """Returns whether all counted values are in the range; empty cells pass only if
        ``optional``."""
        return all_within(counted.groups[self.place,], self.low, self.high, self.optional)

    def tally(self, counted: Counted) -> Tally:
        """Returns the tally of the values that were counted."""
        cells = {
            value: count
            for (value,), count in counted.groups[self.place,].items()
            if value is not None
        }
        cell_count = self.question.mechanism.law.cell_count
        return from_cells(sum(cells.values()), cells, cell_count)


@dataclass(frozen=True)
class EachChoice:
    """Counts a question with a column for each choice, which is 1 where the report names the
    choice and else 0.

    ``places`` are the numbers of the columns. A report names exactly ``size`` choices, or any
    number of choices if None. If ``optional``, all cells of a row are empty where the question was
    not asked.
    """

    question: Question
    places: range
    size: int | None
    optional: bool

    @property
    def fits(self) -> str:
        """Returns an SQL condition: the row has 0 or 1 for each choice, and 1 for as many choices
        as a report names; or, if ``optional``, only empty cells."""
        here = [within(place, 0, 1) for place in self.places]
        if self.size is not None:
            # What is no 0 or 1 can be too large to be summed.
            named = (number(f"coalesce(c{place} = 1, false)") for place in self.places)
            here.append(f"{joined(' + ', named)} = {self.size}")
        fits = joined(" and ", here)
        if not self.optional:
            return fits
        return f"({fits} or {joined(' and ', (f'c{place} is null' for place in self.places))})"

    @property
    def asked(self) -> str:
        """Returns an SQL condition: the first choice's cell is not empty, so the row has a
        report."""
        return f"c{self.places[0]} is not null"

    @property
    def grouped(self) -> Sequence[int]:
        """Returns no columns: for columns of 0 and 1 the sums suffice."""
        return ()

    @property
    def summed(self) -> Sequence[int]:
        """Returns the columns of all choices: a sum is the number of reports that name the
        choice."""
        return self.places

    @property
    def filled(self) -> Sequence[int]:
        """Returns the columns of all choices where cells may be empty, else none."""
        return self.places if self.optional else ()

    @property
    def checks(self) -> Sequence[str]:
        """Returns three aggregates: the number of rows without an empty cell, the bitwise OR of
        all values, and the smallest number of choices that a row names."""
        all_bits = joined(" | ", (f"c{place}" for place in self.places))
        return (f"count({all_bits})", f"bit_or({all_bits})", f"min({self._named})")

    def all_fit(self, counted: Counted, checked: Sequence[int]) -> bool:
        """Returns whether all rows fit, decided from totals without looking at each row.

        All values are 0 or 1 if their bitwise OR is. No row is partly empty if each column has as
        many filled cells as there are rows without an empty cell. Every row names ``size`` choices
        if that is both the smallest number and the mean.
        """
        whole, bits, least = checked
        there = [counted.filled[place] for place in self.filled] or [counted.rows]
        # The OR of all values is at most 1 only if every value is 0 or 1.
        if bits not in (0, 1) or any(count != whole for count in there):
            return False
        if self.size is None or not whole:
            return True
        return least == self.size and sum(self._sums(counted)) == self.size * whole

    def tally(self, counted: Counted) -> Tally:
        """Returns the tally: for each choice, the sum of its column."""
        n = counted.filled[self.places[0]] if self.optional else counted.rows
        return from_cells(n, dict(enumerate(self._sums(counted))), len(self.places))

    def _sums(self, counted: Counted) -> list[int]:
        return [counted.sums[place] for place in self.places]

    @property
    def _named(self) -> str:
        """How many choices a row names, where its values are 0 and 1.

        As floating point, which is exact for them: others cannot overflow, so that engines need
        not look at every addition, which takes them longer than all else.
        """
        return joined(" + ", (f"cast(c{place} as float)" for place in self.places))


@dataclass(frozen=True)
class SomeColumns:
    """Counts a question with several columns, exactly ``size`` of which a report fills: one column
    for each option that can be sampled, or for each number of a vector.

    ``places`` are the numbers of the columns, and ``ends`` the smallest and largest value of each.
    In a tally, the value v of the i-th column counts in cell ``2 * i + v`` if ``by_column``, else
    in cell ``len(places) * v + i``. All cells of a row may be empty if ``optional``.
    """

    question: Question
    places: range
    ends: tuple[tuple[int, int], ...]
    size: int
    by_column: bool
    optional: bool

    @property
    def fits(self) -> str:
        """Returns an SQL condition: all filled cells are in their ranges, and as many cells are
        filled as a report fills."""
        here = [
            within(place, low, high, empty=True)
            for place, (low, high) in zip(self.places, self.ends, strict=True)
        ]
        return joined(" and ", [*here, self._whole])

    @property
    def asked(self) -> str:
        """Returns an SQL condition: some cell is filled, so the row has a report."""
        return f"{self._filled} > 0"

    @property
    def grouped(self) -> Sequence[int]:
        """Returns all columns: rows are counted by the value of each."""
        return self.places

    @property
    def summed(self) -> Sequence[int]:
        """Returns no columns: nothing is summed."""
        return ()

    @property
    def filled(self) -> Sequence[int]:
        """Returns no columns: the counts by value include the empty cells."""
        return ()

    @property
    def checks(self) -> Sequence[str]:
        """Returns one aggregate: the number of rows with an allowed number of filled cells."""
        return (f"sum({number(self._whole)})",)

    def all_fit(self, counted: Counted, checked: Sequence[int]) -> bool:
        """Returns whether every row has the right number of filled cells, and all values are in
        their ranges."""
        return checked[0] == counted.rows and all(
            all_within(counted.groups[place,], low, high, empty=True)
            for place, (low, high) in zip(self.places, self.ends, strict=True)
        )

    def tally(self, counted: Counted) -> Tally:
        """Returns the tally: the counts of values, in the cells that the class describes."""
        width = len(self.places)
        cells = {
            2 * at + value if self.by_column else width * value + at: count
            for at, place in enumerate(self.places)
            for (value,), count in counted.groups[place,].items()
            if value is not None
        }
        n = sum(cells.values()) // self.size  # each report fills as many columns
        return from_cells(n, cells, self.question.mechanism.law.cell_count)

    @property
    def _whole(self) -> str:
        sizes = f"({self.size}, 0)" if self.optional else f"({self.size})"
        return f"{self._filled} in {sizes}"

    @cached_property
    def _filled(self) -> str:
        return joined(" + ", (number(f"c{place} is not null") for place in self.places))


def counters(columns: FileColumns) -> list[QuestionCounter]:
    """Returns a counter for each question whose reports are in ``columns``."""
    names = columns.names
    made = list[QuestionCounter]()
    for field in columns.layout.fields.values():
        own = columns.of(field.question.name)
        start = names.index(own[0].name)
        made.append(_counter(field, own, range(start, start + len(own))))
    return made


def _counter(field: PackedField, own: Sequence[FileColumn], places: range) -> QuestionCounter:
    question, law = field.question, field.question.mechanism.law
    if isinstance(law, Several) or (isinstance(law, Supporting) and law.both):
        # Several numbers, or options that are each reported as yes or no: a report fills some
        # columns.
        ends = tuple(column.reach for column in own)
        by_column = isinstance(law, Supporting)
        return SomeColumns(question, places, ends, field.count, by_column, field.optional)
    if field.kind == "bits":
        assert isinstance(law, Supporting)
        return EachChoice(question, places, law.size, field.optional)
    low, high = own[0].reach
    return OneColumn(question, places[0], low, high, field.optional)


def number(condition: str) -> str:
    """Returns SQL that is 1 where ``condition`` is true and 0 where it is false. The condition
    must never be null."""
    return f"cast({condition} as int)"


def joined(operator: str, terms: Iterable[str]) -> str:
    """Joins terms with an operator, in parentheses that are nested as little as possible, because
    engines limit the depth of an expression.

    >>> joined(" + ", ["a", "b", "c"])
    '((a) + ((b) + (c)))'
    """
    some = list(terms)
    if len(some) == 1:
        return f"({some[0]})"
    half = len(some) // 2  # by halves: as deep as log2 of the terms, not as their number
    return f"({joined(operator, some[:half])}{operator}{joined(operator, some[half:])})"


def within(place: int, low: int, high: int, empty: bool = False) -> str:
    """Returns an SQL condition: the value in column number ``place`` is from ``low`` to ``high``.
    A null passes only if ``empty``."""
    # In SQL null is between nothing, and its negation is null, too: coalesce makes it false.
    return f"coalesce(c{place} between {low} and {high}, {'true' if empty else 'false'})"


def all_within(groups: Groups, low: int, high: int, empty: bool = False) -> bool:
    """Returns whether all counted values of a column are from ``low`` to ``high``; empty cells
    pass only if ``empty``."""
    return all(empty if value is None else low <= value <= high for (value,) in groups)
