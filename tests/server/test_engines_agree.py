"""SQLite, PostgreSQL, DuckDB and numpy end at identical integers on the same reports."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from deniably.simulation.reports import randomise, simulate_people
from deniably.workbench.engines.duck import duckdb
from deniably.workbench.engines.tallying import tally_set
from deniably.workbench.files.parts import open_parts, write_parts
from deniably.workbench.report_set import of_simulation
from support.every_type import survey_of_everything
from support.stored import stored

SURVEY = survey_of_everything(strata={"site": ["north", "south"]})


def test_every_store_and_engine_ends_at_the_same_integers(postgres: str, tmp_path: Path) -> None:
    reports = of_simulation(randomise(simulate_people(SURVEY, 1_000)))
    write_parts(tmp_path / "parts", reports.layout, [reports.rows], rows=300)

    with duckdb() as engine:
        counted = tally_set(open_parts(tmp_path / "parts"), engine)

    found, strata = counted.tallies, [one.tallies for one in counted.strata]
    assert found == reports.tally()
    assert strata == [reports.among(one).tally() for one in SURVEY.every_stratum]
    for address in (str(tmp_path / "deniably.db"), postgres):
        with closing(stored(address, reports)) as store:
            assert store.tally(SURVEY.name) == store.recount(SURVEY.name) == found
            assert [store.shown_tally(SURVEY.name, [place]) for place in (0, 1)] == strata
