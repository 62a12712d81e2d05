"""Reads and sorts lines of reports with DuckDB, which uses all cores and spills to disk.

Every possible report to a question is listed first as the text that a line would have for it, in
the order of a report set, and each is checked as single reports are. DuckDB then only looks texts
up. Lengths rule out anything else: a line whose object is exactly as long as its known names and
values has no other member and none twice. So DuckDB accepts the lines that the reader of single
lines accepts, except that it also accepts a comma before a closing bracket, and very long lines.
Where it rejects some line, that reader decides: it takes more forms and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from glob import escape
from itertools import combinations
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from deniably.core.bounded_files import check_file, file_lines
from deniably.core.canonical import canonical
from deniably.mechanisms.law import Law, Several, Supporting
from deniably.survey.survey import Survey
from deniably.workbench.files.optional_libraries import library
from deniably.workbench.files.usual_lines import RANDOMISED, STRATA, VALUES
from deniably.workbench.packing import Layout, PackedField, Rows, layout, reach

_MOST = 10_000
"""The most possible reports to one question that are listed."""
_MEMORY = "400MB"
_AROUND, _BRACES = len('"":,'), len("{}") - len(",")
"""Bytes of an object beside names and values: for each, and once, as no comma follows the last."""


@dataclass(frozen=True, eq=False)
class Listed:
    """All possible reports to a question, in the order of a report set: as JSON ``texts``, and as
    packed ``rows``.

    ``rows`` has one row more than there are texts: the first row stands for people who were not
    asked the question. So row i + 1 belongs to text i.
    """

    texts: list[str]
    rows: Rows


def listed(field: PackedField) -> Listed | None:
    """Returns all possible reports to the question of a ``field``; None where there are too many
    to list."""
    reports = [list(report) for report in _reports(field.question.mechanism.law)]
    if not reports:
        return None
    for report in reports:
        field.question.mechanism.check(report)
    packed = field.pack(reports)
    # lexsort takes the last key first; the first byte has to count most.
    order = np.lexsort(packed.T[::-1])
    texts = [msgspec.json.encode(reports[place]).decode() for place in order]
    return Listed(texts, np.vstack([np.zeros((1, field.width), np.uint8), packed[order]]))


def _reports(law: Law) -> Iterable[tuple[int, ...]]:
    """Yields all reports of a law, in any order; none where there are too many to list."""
    if isinstance(law, Several) or (isinstance(law, Supporting) and law.both):
        return
    if not isinstance(law, Supporting):
        # Noise and channels: one number of a range.
        low, high = reach(law)
        if high - low < _MOST:
            yield from ((number,) for number in range(low, high + 1))
        return
    sizes = range(law.cell_count + 1) if law.size is None else [law.size]
    if sum(comb(law.cell_count, size) for size in sizes) <= _MOST:
        for size in sizes:
            yield from combinations(range(law.cell_count), size)


@contextmanager
def sorted_lines(
    survey: Survey, files: Sequence[Path]
) -> Generator[tuple[Layout, Iterator[Rows]] | None]:
    """Reads files with one report a line. Yields a pair: the layout of packed rows, and blocks of
    the packed reports sorted by content.

    Yields None where some line does not have a usual form, or a question has too many possible
    reports to list; then it is not decided whether the lines are reports. Raises what
    ``file_lines`` raises for a file that cannot be read.
    """
    for file in files:
        check_file(file)
    first = next((line for file in files for line in file_lines(file) if line.strip()), b"")
    form = _form(survey, first)
    if form is None:
        yield None
        return
    with TemporaryDirectory() as folder, closing(_connected(folder)) as connection:
        yield _gathered(connection, form, files)


@dataclass(frozen=True, eq=False)
class _Form:
    """The form of the lines: the key that holds the values, and whether there are strata."""

    places: Layout
    key: str
    questions: dict[str, Listed]

    @property
    def strata(self) -> list[str]:
        """Returns the JSON texts of all strata, in the order of their numbers."""
        return [canonical(stratum).decode() for stratum in self.places.survey.every_stratum]


def _form(survey: Survey, line: bytes) -> _Form | None:
    try:
        members = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return None
    places = layout(survey, stratified=STRATA in members)
    questions = {name: listed(field) for name, field in places.fields.items()}
    known = {name: texts for name, texts in questions.items() if texts is not None}
    if len(known) < len(questions):
        return None
    return _Form(places, RANDOMISED if RANDOMISED in members else VALUES, known)


def _connected(folder: str) -> Any:
    module = library("duckdb", "bulk")
    settings = {"memory_limit": _MEMORY, "temp_directory": folder}
    return module.connect(":memory:", config=settings)


def _gathered(
    connection: Any, form: _Form, files: Sequence[Path]
) -> tuple[Layout, Iterator[Rows]] | None:
    error: type[Exception] = library("duckdb", "bulk").Error
    try:
        connection.execute("set enable_progress_bar = false")
        for name, texts in _lists(form).items():
            connection.execute(f"create type {name} as enum ({', '.join(map(_text, texts))})")
        connection.execute(_read(form), [[escape(str(file)) for file in files]])
        [values] = connection.execute(_CHECK).fetchall()
    except error:
        return None
    if values != (True,):  # a null would be neither
        return None
    return form.places, _rows(connection, form)


def _lists(form: _Form) -> dict[str, list[str]]:
    """Returns the texts of each column of codes, by its name, in the order of the columns."""
    # An enum: DuckDB looks texts up in it, stores small codes, and sorts by the order of the list.
    by_column = {"s": form.strata} if form.places.stratified else {}
    return by_column | {
        f"c{place}": listed_question.texts
        for place, listed_question in enumerate(form.questions.values())
    }


def _read(form: _Form) -> str:
    """Returns the SQL that reads the lines as codes, with a column that says whether a line has
    nothing else. A text that no device can report makes DuckDB fail."""
    survey, names = form.places.survey, list(form.questions)
    other = VALUES if form.key == RANDOMISED else RANDOMISED
    paths = ", ".join(_text(f'$."{name}"') for name in names)
    kinds = ", ".join(f"'{name}': 'JSON'" for name in (VALUES, RANDOMISED, STRATA))
    columns = [f"x[{place + 1}]::varchar::c{place} as c{place}" for place in range(len(names))]
    if form.places.stratified:
        columns.insert(0, f"{STRATA}::varchar::s as s")
    # Bytes of the members that are known: more of them in the line are an unknown or a second
    # member.
    lengths = " + ".join(
        f"coalesce(strlen(x[{place}]) + {len(name) + _AROUND}, 0)"
        for place, name in enumerate(names, 1)
    )
    question_count = " + ".join(
        f"(x[{place + 1}] is not null)::integer" for place in range(len(names))
    )
    fine = (
        f"(survey is null or survey = {_text(survey.digest)}) and {other} is null"
        f" and {STRATA} is {'not' if form.places.stratified else ''} null"
        f" and size = {lengths} + {_BRACES}"
        f" and {question_count} between {survey.least_asked} and {survey.asked}"
    )
    lines = (
        f"read_json(?, format = 'newline_delimited', compression = 'none',"
        f" columns = {{{kinds}, 'survey': 'VARCHAR'}})"
    )
    return (
        f"create temp table reports as select {', '.join(columns)}, {fine} as fine from (select"  # noqa: S608  # our own SQL
        f' json_extract("{form.key}", [{paths}]) as x, strlen("{form.key}") as size, survey,'
        f" {other}, {STRATA} from {lines})"
    )


# ``fine is not true`` counts nulls as wrong, too.
_CHECK = "select count(*) > 0 and count(*) filter (fine is not true) = 0 from reports"


def _rows(connection: Any, form: _Form) -> Iterator[Rows]:
    """Yields the packed rows that the codes stand for, sorted; code 0 stands for nobody asked."""
    names = list(_lists(form))
    # DuckDB numbers the texts of an enum from 0 on, which is kept for nobody asked.
    codes = ", ".join(f"coalesce(enum_code({name})::integer + 1, 0)::usmallint" for name in names)
    order = ", ".join(f"{name} nulls first" for name in names)
    relation = connection.sql(f"select {codes} from reports order by {order}")  # noqa: S608  # our own
    for batch in library("pyarrow").RecordBatchReader.from_stream(relation):
        columns = [_codes(column) for column in batch.columns]
        strata = columns.pop(0) - 1 if form.places.stratified else columns[0]
        packed = [
            question.rows[codes]
            for question, codes in zip(form.questions.values(), columns, strict=True)
        ]
        yield form.places.with_strata(strata.astype(np.int64), packed)


def _codes(column: Any) -> npt.NDArray[np.uint16]:
    """Returns a column of codes without a copy: ``to_numpy`` would import pandas."""
    codes = np.frombuffer(column.buffers()[1], np.uint16)
    # A batch may be a slice of a longer buffer.
    return codes[column.offset : column.offset + len(column)]


def _text(text: str) -> str:
    """Returns a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
