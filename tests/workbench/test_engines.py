"""Report sets as folders of Parquet parts, counted by engines: the integers of a server's tally."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniably.estimation.tally import Tally
from deniably.simulation.reports import randomise, simulate_people
from deniably.survey.survey import Survey
from deniably.workbench.columns import columns_of
from deniably.workbench.engines.counting import counters
from deniably.workbench.engines.duck import duckdb
from deniably.workbench.engines.tallying import tally_set
from deniably.workbench.files.parts import (
    bare,
    open_parts,
    read_blocks,
    write_parts,
)
from deniably.workbench.report_set import ReportSet, of_rows, of_simulation
from support.every_type import QUESTIONS, survey_of_everything

EVERYTHING = survey_of_everything()
PLAIN = [
    {"claim": {"epsilon": "2"}} | {key: one[key] for key in one if key != "show_if"}
    for one in QUESTIONS
]
SOME = survey_of_everything(ask=4, questions=PLAIN)
N = 250


def simulated(survey: Survey) -> ReportSet:
    return of_simulation(randomise(simulate_people(survey, N)))


@pytest.fixture(scope="module", params=[EVERYTHING, SOME], ids=["all asked", "some asked"])
def reports(request: pytest.FixtureRequest) -> ReportSet:
    return simulated(request.param)


@pytest.fixture(scope="module")
def folder(reports: ReportSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("set") / "parts"
    write_parts(to, reports.layout, [reports.rows], rows=100)
    return to


def same(one: dict[str, Tally], other: dict[str, Tally]) -> bool:
    return list(one) == list(other) and all(one[name] == other[name] for name in one)


def test_a_set_comes_in_parts_of_equal_size_and_is_read_back_whole(
    reports: ReportSet, folder: Path
) -> None:
    parts = open_parts(folder)

    assert [pq.read_metadata(file).num_rows for file in parts.files] == [100, 100, 50]
    assert of_rows(parts.columns.layout, read_blocks(parts)) == reports


def test_duckdb_ends_at_the_integers_of_numpy_for_every_type_of_question(
    reports: ReportSet, folder: Path
) -> None:
    found = tally_set(open_parts(folder), duckdb())

    assert same(found.tallies, reports.tally())
    assert (found.n, found.left_out, found.unfit) == (N, 0, {})


# --- what does not fit ---------------------------------------------------------------------------


def changed(folder: Path, column: str, row: int, value: int | None) -> None:
    """Writes another value into a column of the second part."""
    file = folder / "part-00002.parquet"
    table = pq.read_table(file)
    place = table.schema.get_field_index(column)
    values = table.column(place).to_pylist()
    values[row] = value
    table = table.set_column(place, column, pa.array(values, pa.int64()))
    pq.write_table(table.replace_schema_metadata(table.schema.metadata), file)


def own_copy(reports: ReportSet, to: Path) -> Path:
    write_parts(to, reports.layout, [reports.rows], rows=100)
    return to


def test_a_report_that_no_device_made_is_counted_named_and_left_out(
    reports: ReportSet, tmp_path: Path
) -> None:
    columns = bare(columns_of(reports.layout))
    rows = reports.rows
    for number, counter in enumerate(counters(columns)):
        name = counter.question.name
        column = columns.of(name)[0]
        asked = reports.answered(name).asked[100:200]
        row = int(asked.argmax())
        folder = own_copy(reports, tmp_path / str(number))
        changed(folder, column.name, row, column.reach[1] + 1)

        found = tally_set(open_parts(folder), duckdb())

        without = of_rows(reports.layout, [np.delete(rows, 100 + row, axis=0)])
        assert found.unfit == {name: 1}, name
        assert (found.n, found.left_out) == (N - 1, 1)
        assert same(found.tallies, without.tally())
