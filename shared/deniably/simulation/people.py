"""Reads a table of true answers, and encodes the answers as the survey's mechanisms take them.

A million people give few distinct answers. So each distinct text in a column is encoded once, by
the question's own rules, and each person keeps only the index of a text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniably.core.counting import counted, people
from deniably.core.errors import BadAnswer
from deniably.core.table import frame
from deniably.mechanisms.law import Domain, Ticks
from deniably.simulation.people_table import Written, rows_of
from deniably.survey.questions import (
    NOT_APPLICABLE,
    InParts,
    MechanismInput,
    Question,
    SelectMultiple,
    VectorOfNumbers,
    by_name,
)
from deniably.survey.report import is_shown
from deniably.survey.strata import Stratum, members, stratum_text
from deniably.survey.survey import Survey, show_if

if TYPE_CHECKING:
    import pandas as pd

Encoded = npt.NDArray[Any]

BLOCK = 1 << 18
"""The number of people whose answers are encoded at once, so that memory stays bounded."""

_ROWS = 1 << 9  # of text at once: twice as fast as thousands, which leave the cache


@dataclass(frozen=True, eq=False)
class Column:
    """One column of the table: person i wrote ``texts[codes[i]]``."""

    texts: list[str]
    codes: npt.NDArray[np.int32]

    def counts(self) -> npt.NDArray[np.int64]:
        """Returns how many people wrote each of ``texts``, shape (len(texts),)."""
        return np.bincount(self.codes, minlength=len(self.texts)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class QuestionAnswers:
    """The answers of n people to one question; "not applicable" for people who do not see the
    question.

    ``columns`` has one column, or one for each part of the question. ``encoded[c][v]`` is the
    mechanism's input for text v of column c.
    """

    question: Question
    columns: list[Column]
    encoded: list[Encoded]

    @property
    def n(self) -> int:
        """The number of people."""
        return len(self.columns[0].codes)

    def inputs(self, people: slice) -> Encoded:
        """Returns the encoded answers of the people in a slice, in the shape that
        ``bulk.randomise_many`` takes."""
        parts = [
            encoded[column.codes[people]]
            for column, encoded in zip(self.columns, self.encoded, strict=True)
        ]
        match self.question:
            case VectorOfNumbers():
                return np.stack(parts, axis=1)
            case question if isinstance(question, InParts):
                # A combination of parts is one input.
                return np.ravel_multi_index(parts, question.shape)
            case _:
                return parts[0]

    def chosen(self, places: npt.NDArray[np.int64]) -> QuestionAnswers:
        """Returns the answers of the people at the indices ``places``; an index may occur several
        times."""
        columns = [Column(column.texts, column.codes[places]) for column in self.columns]
        return QuestionAnswers(self.question, columns, self.encoded)

    def blocks(self) -> Iterator[Encoded]:
        """Yields the encoded answers of all people, at most ``BLOCK`` people at a time."""
        return (self.inputs(people) for people in blocks(self.n))


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """The true answers of n people, question by question in the survey's order.

    ``strata`` (n,) holds the index of each person's stratum, 0 for all if the survey has none.
    """

    survey: Survey
    answers: list[QuestionAnswers]
    strata: npt.NDArray[np.uint8]

    @property
    def n(self) -> int:
        """The number of people."""
        return self.answers[0].n

    def to_frame(self) -> pd.DataFrame:
        """Returns the true answers as a pandas DataFrame that ``read_people`` reads: one row a
        person.

        Raises ImportError if pandas is not installed.
        """
        columns = {
            name: [column.texts[code] for code in map(int, column.codes)]
            for answers in self.answers
            for name, column in zip(column_names(answers.question), answers.columns, strict=True)
        }
        strata = self.survey.every_stratum
        numbers = list(map(int, self.strata))
        by_key = {key: [strata[number][key] for number in numbers] for key in strata[0]}
        return frame(by_key | columns)

    def among(self, stratum: Stratum) -> People:
        """Returns the people of a subgroup, such as ``{"site": "north"}``.

        Raises ValueError for a key or value that the survey does not have, and if nobody is in the
        subgroup.
        """
        inside = np.isin(self.strata, members(self.survey.strata or {}, stratum))
        if not inside.any():
            raise ValueError(f"there is nobody of {stratum_text(stratum)}")
        return self._chosen(np.flatnonzero(inside))

    def first(self, n: int) -> People:
        """Returns the first n people."""
        return self._chosen(np.arange(n))

    def repeated(self, times: int) -> People:
        """Returns all people ``times`` times, one copy after the other."""
        return self._chosen(np.tile(np.arange(self.n), times))

    def _chosen(self, places: npt.NDArray[np.int64]) -> People:
        answers = [answer.chosen(places) for answer in self.answers]
        return People(self.survey, answers, self.strata[places])

    def __repr__(self) -> str:
        return f"{people(self.n)} with answers to {counted(len(self.answers), 'question')}"


def blocks(n: int) -> Iterator[slice]:
    """Yields slices that cover n people, at most ``BLOCK`` at a time."""
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def read_people(survey: Survey, table: Written) -> People:
    """Reads people from a CSV file, a DataFrame, or rows whose first row has the column names.

    A column has the name of its question, or ``question.part`` if the question has parts. Write a
    choice by its name or its label, several ticks as ``a;b``. Cells of a question that the person
    does not see are ignored. A survey with strata needs a column for each stratum key, such as
    ``site``, with the key's values. Raises OSError if the file cannot be read. Raises BadAnswer,
    with the row and the reason but never with the answer, for a table that does not fit the
    survey.

    >>> from deniably import load_survey, read_people
    >>> survey = load_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> read_people(survey, [["stolen"], ["Yes"], ["no"]])
    2 people with answers to 1 question
    """
    names = {question.name: column_names(question) for question in survey.questions}
    keys = sorted(survey.strata or {})
    columns = _read(rows_of(table), [*keys, *(name for some in names.values() for name in some)])
    strata = _strata(survey, [columns[key] for key in keys])
    by_question: dict[str, QuestionAnswers] = {}
    for question in survey.questions:
        own = [columns[name] for name in names[question.name]]
        by_question[question.name] = _answers(question, _shown(question, own, by_question))
    answers = list(by_question.values())
    if not keys:
        strata = np.zeros(answers[0].n, np.uint8)
    return People(survey, answers, strata)


def column_names(question: Question) -> list[str]:
    """Returns the names of a question's columns in a table of people: ``question.part`` for each
    part if the question has parts, otherwise the name of the question."""
    if isinstance(question, InParts):
        return [f"{question.name}.{part.name}" for part in question.parts]
    return [question.name]


def _read(rows: Iterable[Sequence[str]], wanted: Sequence[str]) -> dict[str, Column]:
    lines = (list(row) for row in rows if row)  # a blank line is nobody
    header = next(lines, list[str]())
    for name in wanted:
        if name not in header:
            raise BadAnswer(f"the column {name} is missing; there are {', '.join(header)}")
    places = {name: place for place, name in enumerate(header)}
    # A new text gets the next number.
    numbers: dict[str, defaultdict[str, int]] = {
        name: defaultdict(count().__next__) for name in wanted
    }
    codes: dict[str, list[npt.NDArray[np.int32]]] = {name: [] for name in wanted}
    people = 0
    # Spreadsheets leave out empty cells at the end of a row.
    whole = (row + [""] * (len(header) - len(row)) for row in lines)
    while block := list(islice(whole, _ROWS)):
        people += len(block)
        for name in wanted:
            cells = map(itemgetter(places[name]), block)
            choice_numbers = map(numbers[name].__getitem__, cells)
            codes[name].append(np.fromiter(choice_numbers, np.int32, len(block)))
    if not people:
        raise BadAnswer("the table has no rows")
    return {
        name: Column([text.strip() for text in numbers[name]], np.concatenate(codes[name]))
        for name in wanted
    }


def _strata(survey: Survey, columns: Sequence[Column]) -> npt.NDArray[np.uint8]:
    """The numbers of strata from a column for each key, in alphabetical order."""
    numbers = np.zeros(0, np.int64)
    for key, column in zip(sorted(survey.strata or {}), columns, strict=True):
        values = (survey.strata or {})[key]
        for code, text in enumerate(column.texts):
            if text not in values:
                # The first such person; rows are numbered from the header, which is row 1.
                row = int(np.argmax(column.codes == code)) + 2
                raise BadAnswer(f"row {row}: {key} is one of {', '.join(values)}")
        places = np.array([values.index(text) for text in column.texts])[column.codes]
        # Strata are numbered like the digits of a number, the last key running fastest.
        numbers = numbers * len(values) + places if len(numbers) else places
    return numbers.astype(np.uint8)


def _shown(
    question: Question, columns: list[Column], earlier: Mapping[str, QuestionAnswers]
) -> list[Column]:
    """The columns, with "not applicable" for people who do not see the question."""
    condition = show_if(question)
    if condition is None:
        return columns
    (column,) = columns  # what can be hidden has no parts
    decides = earlier[condition.question]
    (column_of_it,) = decides.columns
    encoded = [by_name(decides.question, text) for text in column_of_it.texts]
    sees = [is_shown(question, {condition.question: decided}, ()) for decided in encoded]
    seen = np.array(sees)[column_of_it.codes]
    for code, text in enumerate(column.texts):
        # Nobody may say "not applicable" to a question that they see: no device offers it.
        if _is_not_applicable(question, text) and (given_it := seen & (column.codes == code)).any():
            row = int(np.argmax(given_it)) + 2
            raise BadAnswer(f"row {row}: {question.name} was shown, and needs an answer")
    codes = np.where(seen, column.codes, len(column.texts))
    # Texts that nobody is left with go: they may be no answers, as hidden cells are ignored.
    kept, codes = np.unique(codes, return_inverse=True)
    texts = [*column.texts, NOT_APPLICABLE]
    return [Column([texts[code] for code in kept], codes.astype(np.int32))]


def _is_not_applicable(question: Question, text: str) -> bool:
    if isinstance(question, SelectMultiple):
        return NOT_APPLICABLE in _answer(question, text)
    return by_name(question, text) == NOT_APPLICABLE


def _answers(question: Question, columns: list[Column]) -> QuestionAnswers:
    if isinstance(question, InParts):
        encoded = [
            np.array(_each(column, partial(question.encode_part, part)))
            for part, column in enumerate(columns)
        ]
    else:
        inputs = _each(columns[0], lambda text: question.encode(_answer(question, text)))
        encoded = [_laid_out(question.mechanism.law.domain, inputs)]
    return QuestionAnswers(question, columns, encoded)


def _each(column: Column, encode: Callable[[str], MechanismInput]) -> list[MechanismInput]:
    inputs: list[MechanismInput] = []
    for text in column.texts:
        try:
            # The row is named and not the answer: an error message may be logged.
            inputs.append(encode(text))
        except BadAnswer as error:
            row = int(np.argmax(column.codes == len(inputs))) + 2  # after the row of names
            raise BadAnswer(f"row {row}: {error}") from None
    return inputs


def _answer(question: Question, text: str) -> str | list[str]:
    if isinstance(question, SelectMultiple):
        return [part.strip() for part in text.split(";") if part.strip()]
    if not text:
        raise BadAnswer("needs an answer", question.name)
    return text


def _laid_out(domain: Domain, inputs: list[Any]) -> Encoded:
    """Encoded answers as an array; ticked options become a row of booleans."""
    if not isinstance(domain, Ticks):
        return np.array(inputs, dtype=np.int64)
    rows = np.zeros((len(inputs), domain.k), dtype=np.bool_)
    for row, ticks in zip(rows, inputs, strict=True):
        row[list(ticks)] = True
    return rows
