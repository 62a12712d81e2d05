"""SQLite, PostgreSQL, DuckDB and numpy end at identical integers on the same reports."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from deniably.simulation.reports import randomise, simulate_people
from deniably.workbench.engines.duck import duckdb
from deniably.workbench.engines.tallying import tally_set
from deniably.workbench.files.parquet_parts import open_parts, write_parts
from deniably.workbench.report_set import of_simulation
from deniably_server.storage import store as module
from support.every_type import SHAPES, survey_of_everything
from support.stored import stored

SITES = {"strata": {"site": ["north", "south"]}}
SURVEY = survey_of_everything(**SITES)
SHORT = survey_of_everything(questions=SHAPES[:4], ask=2, **SITES)


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


@pytest.mark.parametrize("ask", [len(SURVEY.questions), 2], ids=["all asked", "some asked"])
@pytest.mark.parametrize("held", [1 << 26, 500], ids=["at once", "in parts"])
def test_distinct_values_add_up_to_the_reports(
    address: str, ask: int, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where not all of them are held at once, and of some strata."""
    monkeypatch.setattr(module, "_MOST_HELD", held)
    survey = SHORT if ask == 2 else SURVEY
    reports = of_simulation(randomise(simulate_people(survey, 300)))
    groups = ([2, 0], [1], [*range(len(survey.questions))])
    with closing(stored(address, reports)) as store:
        for strata in (None, [1]):
            found = [Counter[str](), Counter[str](), Counter[str]()]
            for place, (rows, counts) in store.distinct_values(survey.name, *groups, strata=strata):
                for row, count in zip(rows, counts, strict=True):
                    found[place][repr(list(row))] += count
            wanted = [
                Counter(
                    repr(list(row))
                    for block in store.values(survey.name, *group, strata=strata)
                    for row in block
                )
                for group in groups
            ]
            assert found == wanted
            assert ("None" in "".join(found[0])) is (ask == 2)
