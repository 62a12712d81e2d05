"""What DuckDB counts where some reports do not fit, held to every row by itself in Python."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.mechanisms.law import Several, Supporting
from deniably.workbench.engines.duck import DuckDB, duckdb
from deniably.workbench.engines.tallying import ASKED, TalliedSet, tally_set
from deniably.workbench.files.parquet_parts import bare, open_parts
from deniably.workbench.packing import PackedField, layout
from deniably.workbench.report_columns import FileColumns, Filled, columns_of
from deniably.workbench.report_set import of_rows
from support.every_type import SHAPES, survey_of_everything

Row = tuple[int | None, ...]
Change = tuple[int, int, int | None]
"""A row, a column, and the value that it gets."""

SURVEYS = {
    f"{one['name']} {who}": survey_of_everything(questions=[one, SHAPES[0]], **more)
    for one in SHAPES[1:]
    for who, more in (("of all", {"strata": {"site": ["north", "south"]}}), ("of some", {"ask": 1}))
}
_ = None
TABLES: dict[str, list[Row]] = {
    # site, set (five columns), stolen
    "set of all": [
        (0, 0, 0, 1, 1, 0, 0), (0, 0, 1, 0, 0, 1, 0), (0, 0, 1, 0, 0, 1, 0), (0, 0, 1, 1, 0, 0, 1),
        (1, 0, 0, 1, 1, 0, 1), (1, 1, 0, 0, 0, 1, 0),
    ],
    "set of some": [
        (_, _, _, _, _, 0), (_, _, _, _, _, 1), (_, _, _, _, _, 1),
        (0, 0, 0, 1, 1, _), (0, 1, 1, 0, 0, _), (1, 0, 0, 0, 1, _),
    ],
    # site, any (four columns), stolen
    "any of all": [
        (0, 0, 0, 0, 0, 0), (0, 0, 0, 1, 0, 0), (0, 0, 1, 1, 0, 1),
        (1, 0, 1, 1, 1, 0), (1, 1, 0, 0, 0, 0), (1, 1, 1, 1, 1, 1),
    ],
    "any of some": [
        (_, _, _, _, 0), (_, _, _, _, 1), (0, 0, 0, 0, _), (0, 1, 0, 1, _), (0, 1, 0, 1, _),
        (1, 0, 1, 0, _),
    ],
    # site, two (four columns), stolen
    "two of all": [
        (0, 0, 0, _, _, 0), (0, 0, _, 1, _, 0), (0, _, 1, _, 0, 1),
        (1, _, 0, 1, _, 0), (1, _, _, 1, 1, 1), (1, _, _, 1, 1, 1),
    ],
    "two of some": [
        (_, _, _, _, 0), (_, _, _, _, 1), (0, _, _, 1, _), (_, 0, 0, _, _), (_, 0, 0, _, _),
        (_, _, 1, 0, _),
    ],
    # site, hours (two columns), stolen
    "hours of all": [
        (0, 1, _, 0), (0, 2, _, 0), (0, _, 0, 1), (1, _, 0, 0), (1, 0, _, 0), (1, _, 2, 1),
    ],
    "hours of some": [(_, _, 0), (_, _, 1), (_, 0, _), (1, _, _), (1, _, _), (2, _, _)],
}  # fmt: skip


values = st.sampled_from([None, 0, 1, 2, -1, 127, -128])
changes = st.lists(
    st.tuples(st.sampled_from([0, 1, 5]), st.integers(0, 20), values), min_size=1, max_size=3
)


def written(columns: FileColumns, rows: Sequence[Row], to: Path) -> Path:
    """A report set of one file, written by nothing of Deniably's."""
    survey = columns.layout.survey
    fields = [pa.field(one.name, pa.int8()) for one in columns]
    schema = pa.schema(fields, metadata={"digest": survey.digest})
    arrays = [pa.array(column, pa.int8()) for column in zip(*rows, strict=True)]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), to / "reports.parquet")
    (to / "survey.json").write_bytes(survey.canonical)
    (to / "design.json").write_text(json.dumps({"digest": survey.digest, "n": len(rows)}))
    return to


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    with duckdb() as found:
        yield found


# --- by row --------------------------------------------------------------------------------------


def misfits(columns: FileColumns, row: Row) -> set[str]:
    """The names of what does not fit in one report."""
    given = dict(zip(columns.names, row, strict=True))
    asked, found = 0, set[str]()
    for one in columns.strata:
        if given[one.name] not in range(len(one.categories)):
            found.add(one.key)
    for name, field in columns.layout.fields.items():
        own = columns.of(name)
        part = [given[one.name] for one in own]
        there = any(value is not None for value in part)
        asked += there if of_some(field) else part[0] is not None
        reaches = [one.reach for one in own]
        if not (is_part(field, part, reaches) or (field.optional and not there)):
            found.add(name)
    survey = columns.layout.survey
    if survey.asked < len(survey.questions) and asked != survey.asked:
        found.add(ASKED)
    return found


def is_part(
    field: PackedField, part: Sequence[int | None], reaches: Sequence[tuple[int, int]]
) -> bool:
    """Whether a question's part of a report is one that a device could have made."""
    law = field.question.mechanism.law
    there = [value for value in part if value is not None]
    for value, (low, high) in zip(part, reaches, strict=True):
        if value is not None and not low <= value <= high:
            return False
    if of_some(field):
        return len(there) == field.count
    size = law.size if field.kind == "bits" and isinstance(law, Supporting) else None
    return len(there) == len(part) and (size is None or sum(there) == size)


def of_some(field: PackedField) -> bool:
    law = field.question.mechanism.law
    return isinstance(law, Several) or (isinstance(law, Supporting) and law.both)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        pytest.param("set of all", [(0, 1, 1)], id="a choice too many"),
        pytest.param("set of all", [(0, 1, 1), (1, 2, 0)], id="one too many and one too few"),
        pytest.param("set of all", [(0, 3, 2), (0, 4, 0)], id="the right sum, of other numbers"),
        pytest.param("set of all", [(0, 1, 127), (0, 2, 127)], id="more than a small integer"),
        pytest.param("set of all", [(1, 6, 2), (2, 6, 2)], id="two equal reports"),
        pytest.param("set of all", [(0, 0, None)], id="no stratum"),
        pytest.param("any of all", [(0, one, None) for one in (1, 2, 3, 4)], id="not asked"),
        pytest.param("any of some", [(5, 1, None)], id="partly asked"),
        pytest.param("any of some", [(5, 4, 1)], id="asked too much"),
        pytest.param("two of all", [(0, 3, 1)], id="an option too many"),
        pytest.param("hours of some", [(0, 0, 3)], id="a number too large"),
    ],
)
def test_a_report_that_is_wrong_in_one_way(
    engine: DuckDB, name: str, changes: list[Change]
) -> None:
    columns, rows = changed(name, changes)

    assert check(engine, columns, rows).unfit


@settings(deadline=None, max_examples=25)
@given(name=st.sampled_from([*SURVEYS]), changes=changes)
def test_whatever_does_not_fit_is_counted_by_its_name_and_left_out(
    engine: DuckDB, name: str, changes: list[Change]
) -> None:
    check(engine, *changed(name, changes))


def changed(name: str, changes: Sequence[Change]) -> tuple[FileColumns, list[Row]]:
    """The reports of a table with some other values; after the last column comes the first."""
    survey = SURVEYS[name]
    columns = bare(columns_of(layout(survey, stratified=bool(survey.strata))))
    found = [list(row) for row in TABLES[name]]
    for row, place, value in changes:
        found[row][place % len(columns)] = value
    return columns, [tuple(row) for row in found]


def tallied(engine: DuckDB, columns: FileColumns, rows: Sequence[Row]) -> TalliedSet:
    with TemporaryDirectory() as folder:
        return tally_set(open_parts(written(columns, rows, Path(folder))), engine)


def check(engine: DuckDB, columns: FileColumns, rows: Sequence[Row]) -> TalliedSet:
    """Holds the tally of reports to what every row by itself gives."""
    found = tallied(engine, columns, rows)
    wrong = [misfits(columns, row) for row in rows]
    fitting = [row for row, names in zip(rows, wrong, strict=True) if not names]
    given = {
        one.name: Filled(
            np.array([value or 0 for value in column], np.int64),
            np.array([value is not None for value in column], np.bool_),
        )
        for one, column in zip(columns, zip(*fitting, strict=True), strict=True)
    }
    expected = of_rows(columns.layout, [columns.pack(given)])
    assert found.unfit == Counter(one for names in wrong for one in names)
    assert (found.n, found.left_out) == (len(fitting), len(rows) - len(fitting))
    assert found.tallies == expected.tally()
    return found
