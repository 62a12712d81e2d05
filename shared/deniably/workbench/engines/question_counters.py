"""What is counted of a question's columns, so that its tally has the same integers as a server's.

Three shapes of columns hold all reports: one column with an index or a number; 0 or 1 for each
choice; and columns of which a report has some. Conditions are SQL, written for the few operators
that all engines share.

Whether a report fits is a long condition, which takes longer than all counts. So first a few
aggregates of all rows tell whether every report fits: such as, of 0 and 1 for each choice, that the
least sum of a row is also the mean. Only where they do not is the condition asked of each row.
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
    def summed(self) -> Sequence[int]:
        """The columns whose values are summed."""
        ...

    @property
    def filled(self) -> Sequence[int]:
        """The columns whose values are counted, whatever they are."""
        ...

    @property
    def checks(self) -> Sequence[str]:
        """The aggregates of all rows that tell, beside groups and sums, whether all fit."""
        ...

    def all_fit(self, counted: Counted, checked: Sequence[int]) -> bool:
        """Returns whether ``fits`` holds of all rows, by what was counted and by the ``checks``."""
        ...

    def tally(self, counted: Counted) -> Tally:
        """Returns the tally of rows that fit."""
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
        """See ``QuestionCounter.fits``."""
        return within(self.place, self.low, self.high, self.optional)

    @property
    def asked(self) -> str:
        """See ``QuestionCounter.asked``."""
        return f"c{self.place} is not null"

    @property
    def grouped(self) -> Sequence[int]:
        """See ``QuestionCounter.grouped``."""
        return (self.place,)

    @property
    def summed(self) -> Sequence[int]:
        """See ``QuestionCounter.summed``."""
        return ()

    @property
    def filled(self) -> Sequence[int]:
        """See ``QuestionCounter.filled``."""
        return ()

    @property
    def checks(self) -> Sequence[str]:
        """See ``QuestionCounter.checks``."""
        return ()

    def all_fit(self, counted: Counted, checked: Sequence[int]) -> bool:
        """Implements ``QuestionCounter.all_fit``."""
        return all_within(counted.groups[self.place,], self.low, self.high, self.optional)

    def tally(self, counted: Counted) -> Tally:
        """Implements ``QuestionCounter.tally``."""
        cells = {
            value: count
            for (value,), count in counted.groups[self.place,].items()
            if value is not None
        }
        cell_count = self.question.mechanism.law.cell_count
        return from_cells(sum(cells.values()), cells, cell_count)


@dataclass(frozen=True)
class EachChoice:
    """A column for each choice: 1 where the report names it. ``size`` of them, unless None."""

    question: Question
    places: range
    size: int | None
    optional: bool

    @property
    def fits(self) -> str:
        """See ``QuestionCounter.fits``."""
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
        """See ``QuestionCounter.asked``."""
        return f"c{self.places[0]} is not null"

    @property
    def grouped(self) -> Sequence[int]:
        """See ``QuestionCounter.grouped``."""
        return ()

    @property
    def summed(self) -> Sequence[int]:
        """See ``QuestionCounter.summed``."""
        return self.places

    @property
    def filled(self) -> Sequence[int]:
        """See ``QuestionCounter.filled``."""
        return self.places if self.optional else ()

    @property
    def checks(self) -> Sequence[str]:
        """See ``QuestionCounter.checks``: rows with all columns, the bits of any, and the least
        sum."""
        all_bits = joined(" | ", (f"c{place}" for place in self.places))
        return (f"count({all_bits})", f"bit_or({all_bits})", f"min({self._named})")

    def all_fit(self, counted: Counted, checked: Sequence[int]) -> bool:
        """Implements ``QuestionCounter.all_fit``.

        Without a null, all rows are whole. A column that has a value where another has none has
        more values than there are whole rows. Where the least sum of a row is the mean of all,
        every row has this sum.
        """
        whole, bits, least = checked
        there = [counted.filled[place] for place in self.filled] or [counted.rows]
        if bits not in (0, 1) or any(count != whole for count in there):
            return False
        if self.size is None or not whole:
            return True
        return least == self.size and sum(self._sums(counted)) == self.size * whole

    def tally(self, counted: Counted) -> Tally:
        """Implements ``QuestionCounter.tally``."""
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
    """Columns of which a report has ``size``: options that it sampled, or parts of a vector.

    The cell of a value in the i-th column is ``2 * i + value`` where ``by_column``, else
    ``stride * value + i``, where there are ``stride`` columns.
    """

    question: Question
    places: range
    ends: tuple[tuple[int, int], ...]
    size: int
    by_column: bool
    optional: bool

    @property
    def fits(self) -> str:
        """See ``QuestionCounter.fits``."""
        here = [
            within(place, low, high, empty=True)
            for place, (low, high) in zip(self.places, self.ends, strict=True)
        ]
        return joined(" and ", [*here, self._whole])

    @property
    def asked(self) -> str:
        """See ``QuestionCounter.asked``."""
        return f"{self._filled} > 0"

    @property
    def grouped(self) -> Sequence[int]:
        """See ``QuestionCounter.grouped``."""
        return self.places

    @property
    def summed(self) -> Sequence[int]:
        """See ``QuestionCounter.summed``."""
        return ()

    @property
    def filled(self) -> Sequence[int]:
        """See ``QuestionCounter.filled``."""
        return ()

    @property
    def checks(self) -> Sequence[str]:
        """See ``QuestionCounter.checks``: the rows with as many columns as a report has."""
        return (f"sum({number(self._whole)})",)

    def all_fit(self, counted: Counted, checked: Sequence[int]) -> bool:
        """Implements ``QuestionCounter.all_fit``."""
        return checked[0] == counted.rows and all(
            all_within(counted.groups[place,], low, high, empty=True)
            for place, (low, high) in zip(self.places, self.ends, strict=True)
        )

    def tally(self, counted: Counted) -> Tally:
        """Implements ``QuestionCounter.tally``."""
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
        ends = tuple(column.reach for column in own)
        by_column = isinstance(law, Supporting)
        return SomeColumns(question, places, ends, field.count, by_column, field.optional)
    if field.kind == "bits":
        assert isinstance(law, Supporting)
        return EachChoice(question, places, law.size, field.optional)
    low, high = own[0].reach
    return OneColumn(question, places[0], low, high, field.optional)


def number(condition: str) -> str:
    """Returns SQL for a condition as 1 or 0. The condition must never be null."""
    return f"cast({condition} as int)"


def joined(operator: str, terms: Iterable[str]) -> str:
    """Joins terms with an operator, in parentheses that are nested as little as possible.

    Engines bound how deep an expression is.

    >>> joined(" + ", ["a", "b", "c"])
    '((a) + ((b) + (c)))'
    """
    some = list(terms)
    if len(some) == 1:
        return f"({some[0]})"
    half = len(some) // 2  # by halves: as deep as log2 of the terms, not as their number
    return f"({joined(operator, some[:half])}{operator}{joined(operator, some[half:])})"


def within(place: int, low: int, high: int, empty: bool = False) -> str:
    """Returns SQL for the condition that a column is between two numbers, or null where it may be
    ``empty``."""
    # In SQL null is between nothing, and its negation is null, too: coalesce makes it false.
    return f"coalesce(c{place} between {low} and {high}, {'true' if empty else 'false'})"


def all_within(groups: Groups, low: int, high: int, empty: bool = False) -> bool:
    """Returns whether all values of a column are between two numbers, or it may be ``empty``."""
    return all(empty if value is None else low <= value <= high for (value,) in groups)
