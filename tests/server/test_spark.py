"""Spark, on a real cluster and as a service, ends at the integers of all other engines and stores.

``make test-spark`` installs Spark and runs these.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from deniably.authoring.compiling import compile_survey
from deniably.simulation.reports import randomise, randomise_again, simulate_people
from deniably.workbench.engines.duck import duckdb
from deniably.workbench.engines.spark import LOCAL, Spark, spark
from deniably.workbench.engines.spark_stores import data_source
from deniably.workbench.engines.tally_file import tally_text
from deniably.workbench.engines.tallying import tally_set
from deniably.workbench.files.file_places import version
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.files.parquet_parts import open_parts, write_parts
from deniably.workbench.files.store_addresses import address_of, forget_stores
from deniably.workbench.packing import layout
from deniably.workbench.report_set import ReportSet, of_rows, of_simulation, packed_simulation
from support.commands import call
from support.every_type import SHAPES, survey_of_everything
from support.s3 import server
from support.spark_cluster import Cluster, cluster, service
from support.stored import stored

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1_200)]

SURVEY = compile_survey(
    {
        "name": "theft",
        "title": "Honesty at work",
        "strata": {"site": ["north", "south"]},
        "questions": [
            {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3},
            {"name": "often", "type": "select_one", "label": "How often?", "odds": 4,
             "choices": ["never", "monthly", "weekly", "daily"]},
            {"name": "what", "type": "select_multiple", "label": "What?", "most": 2, "odds": 9,
             "choices": ["money", "goods", "time", "data", "tools"]},
        ],
    }
)  # fmt: skip
MILLION = 1_000_000
PARTS = 100


@pytest.fixture(scope="module")
def reports() -> ReportSet:
    people = simulate_people(SURVEY, 2_000)
    places = layout(SURVEY, stratified=True)
    batches = randomise_again(people, MILLION)
    return of_rows(places, (rows for one in batches for rows in packed_simulation(places, one)))


@pytest.fixture(scope="module")
def folder(reports: ReportSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("set") / "parts"
    write_parts(to, reports.layout, [reports.rows], rows=MILLION // PARTS)
    return to


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    with cluster(tmp_path) as found:
        yield found


# The first test of Spark: its Java keeps the environment that it began with, and the keys to the
# store are there.
def test_workers_read_a_store_with_the_columns_that_are_asked_for(
    reports: ReportSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some parts are in a store and some here; a broken one is named in a sentence."""
    with server() as store:
        for name, value in store.environment().items():
            monkeypatch.setenv(name, value)
        forget_stores()
        folder = tmp_path / "parts"
        write_parts(folder, reports.layout, [reports.rows], rows=MILLION // 4)
        parts = open_parts(folder)
        with duckdb() as duck:
            expected = tally_set(parts, duck, [("stolen", "often")])
        away = address_of(store.upload(folder, store.bucket("spark") + "/set"))
        there = open_parts(away)
        files = (*parts.files[:1], *there.files[1:])
        mixed = replace(there, files=files, versions=tuple(map(version, files)))

        with spark(LOCAL) as engine:
            for some in (there, mixed):
                found = tally_set(some, engine, [("stolen", "often")])
                assert tally_text(found) == tally_text(expected)
            broken = away.path + "/part-00002.parquet"
            store.write(f"s3://spark/{broken}", b"PAR1 and nothing more")
            with pytest.raises(NoExport, match="on a worker of Spark"):
                tally_set(there, engine)


def test_a_million_reports_have_one_tally_wherever_they_are(
    reports: ReportSet, folder: Path, machines: Cluster, postgres: str, tmp_path: Path
) -> None:
    """A worker is killed while it counts, and no report is counted twice or not at all."""
    parts = open_parts(folder)
    with duckdb() as engine:
        expected = tally_set(parts, engine, [("stolen", "often")])

    with spark(machines.master) as engine:
        killer = Killer(engine, machines)
        killer.start()
        found = tally_set(parts, engine, [("stolen", "often")])
        killer.join()

    assert killer.killed_at_work
    assert tally_text(found) == tally_text(expected)
    assert found.tallies == reports.tally()
    for address in (str(tmp_path / "deniably.db"), postgres):
        with closing(stored(address, reports)) as store:
            assert store.tally(SURVEY.name) == store.recount(SURVEY.name) == found.tallies


class Killer(threading.Thread):
    """Kills a worker as soon as both count and some work is done."""

    def __init__(self, engine: Spark, machines: Cluster) -> None:
        super().__init__(daemon=True)
        self._context = engine.session.sparkContext
        self._machines = machines
        self.killed_at_work = False

    def run(self) -> None:
        tracker = self._context.statusTracker()
        while not self.killed_at_work:
            for stage in map(tracker.getStageInfo, tracker.getActiveStageIds()):
                # Some tasks are done, and more than both workers have in their hands are not.
                if (
                    stage
                    and stage.numCompletedTasks
                    and stage.numTasks - stage.numCompletedTasks > 4
                ):
                    self._machines.kill(0)
                    self.killed_at_work = True
                    break
            time.sleep(0.005)


def test_a_service_counts_every_shape_of_reports_as_duckdb_does(tmp_path: Path) -> None:
    """With reports that do not fit, in a folder whose name would be a pattern."""
    survey = survey_of_everything(questions=SHAPES, strata={"site": ["north", "south"]})
    some = of_simulation(randomise(simulate_people(survey, 300)))
    folder = tmp_path / "a set* of [all], 100 % {or} none?"
    write_parts(folder, some.layout, [some.rows], rows=100)
    spoil(folder / "part-00002.parquet")
    parts = open_parts(folder)
    with duckdb() as duck:
        expected = tally_set(parts, duck)

    with service(tmp_path) as address:
        to = ("--to", tmp_path / "tally.json")
        done = call("tally", folder, *to, "--engine", "spark", "--master", address)

    assert not done.stderr
    assert (tmp_path / "tally.json").read_bytes() == tally_text(expected)
    assert expected.left_out == 4


def test_workers_need_no_deniably() -> None:
    """What Spark sends them is taken apart in a Python that has none."""
    from pyspark import cloudpickle

    program = (
        "import sys, pickle; sys.modules['deniably'] = None;"
        "found = pickle.loads(sys.stdin.buffer.read());"
        "print(found({'files': '[]', 'names': '[1, 2]'}).schema())"
    )
    done = subprocess.run([sys.executable, "-c", program], input=cloudpickle.dumps(data_source()),
                          capture_output=True, check=True)  # fmt: skip

    assert done.stdout.decode().strip() == "c0 bigint, c1 bigint"


def spoil(file: Path) -> None:
    """Four reports of a part that no device made."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    for row, name in enumerate(("site", "stolen", "set__lsd", "two__money")):
        values = table.column(name).to_pylist()
        values[row] = 127
        place = table.schema.get_field_index(name)
        kind = table.schema.field(place)
        table = table.set_column(place, kind, pa.array(values, kind.type))
    pq.write_table(table.replace_schema_metadata(pq.read_schema(file).metadata), file)


def test_a_master_that_does_not_answer_is_named() -> None:
    with pytest.raises(NoExport, match="Spark"), spark("nonsense"):
        pass


def test_a_service_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniably.workbench.engines.spark._TRIES", 1)

    with pytest.raises(NoExport, match="failed to connect"), spark("sc://127.0.0.1:1"):
        pass


def test_what_spark_connect_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)

    with (
        pytest.raises(NoExport, match=r"this needs grpc; get it with: .*deniably\[spark\]"),
        spark("sc://127.0.0.1:1"),
    ):
        pass
