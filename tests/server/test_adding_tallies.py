"""Tallies of several days add up to that of all, and no file counts twice."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from deniably.authoring.compiling import compile_survey
from deniably.simulation.reports import randomise, simulate_people
from deniably.survey.survey import Survey
from deniably.workbench.files.parquet_parts import open_parts, write_parts
from deniably.workbench.report_set import ReportSet, of_rows, of_simulation
from deniably_server.commands.report_sets import tally

QUESTIONS = [
    {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3},
    {"name": "late", "type": "select_one", "label": "Late?", "choices": ["a", "b", "c"], "odds": 3},
    {"name": "sick", "type": "number", "label": "Days?", "minimum": 0, "maximum": 20, "epsilon": 1},
]


def survey(**more: object) -> Survey:
    return compile_survey(
        {"name": "theft", "title": "T", "results": {"minimum": 20}, "questions": QUESTIONS} | more
    )


PLAIN, SITES = survey(), survey(strata={"site": ["north", "south"]})


def written(to: Path, reports: ReportSet, rows: Sequence[int] | slice) -> Path:
    write_parts(to, reports.layout, [reports.rows[rows]], rows=100)
    return to


@pytest.fixture(scope="module", params=[PLAIN, SITES], ids=["plain", "strata"])
def days(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of two days, a and b, and of both, and their tally files."""
    to = tmp_path_factory.mktemp("days")
    reports = of_simulation(randomise(simulate_people(request.param, 600)))
    written(to / "a", reports, slice(0, None, 3))
    written(
        to / "b", of_rows(reports.layout, [reports.rows[1::3], reports.rows[2::3]]), slice(None)
    )
    written(to / "both", reports, slice(None))
    for name in ("a", "b", "both"):
        ok(to / name, "--to", to / f"{name}.json", "--pair", "stolen", "late")
    return to


def run(*arguments: object) -> Result:
    return CliRunner().invoke(tally, [*map(str, arguments)])


def ok(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.output


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 1, done.output
    return " ".join(done.output.split())


def test_a_day_that_is_added_makes_the_file_of_all(days: Path, tmp_path: Path) -> None:
    said = ok("--add", days / "a.json", days / "b", "--to", tmp_path / "sum.json")

    assert "With those of" in said
    assert "600 reports" in said
    assert (tmp_path / "sum.json").read_bytes() == (days / "both.json").read_bytes()


def test_tallies_that_are_merged_make_the_file_of_all(days: Path, tmp_path: Path) -> None:
    ok("--merge", days / "b.json", days / "a.json", "--to", tmp_path / "sum.json")

    assert (tmp_path / "sum.json").read_bytes() == (days / "both.json").read_bytes()


def test_a_file_is_not_counted_twice_whatever_its_name(days: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(days / "a", tmp_path / "copy")
    ok("--add", days / "a.json", days / "b", "--to", tmp_path / "sum.json")
    shutil.copy(tmp_path / "sum.json", tmp_path / "moved.json")
    shutil.copy(tmp_path / "sum.files.json", tmp_path / "moved.files.json")

    for again in (
        ["--add", days / "a.json", copy],
        ["--add", tmp_path / "sum.json", days / "b"],
        ["--merge", tmp_path / "moved.json", days / "a.json"],
        ["--merge", days / "a.json", days / "a.json"],
        [days / "a", copy],
    ):
        assert "would count twice" in refused(*again, "--to", tmp_path / "twice.json")
        assert not [*tmp_path.glob("twice*")]


def test_parts_of_two_days_that_are_equal_by_chance_are_two(tmp_path: Path) -> None:
    """As sorted parts are, where so many reports say the same."""
    reports = of_simulation(randomise(simulate_people(PLAIN, 300)))
    same = reports.rows[:1].repeat(100, axis=0)
    for name, more in (("a", 50), ("b", 60)):
        rows = of_rows(reports.layout, [same, reports.rows[-more:]])
        written(tmp_path / name, rows, slice(None))
    parts = [open_parts(tmp_path / name).files[0] for name in ("a", "b")]
    assert parts[0].read_bytes() == parts[1].read_bytes()

    ok(tmp_path / "a", "--to", tmp_path / "a.json")
    ok("--add", tmp_path / "a.json", tmp_path / "b", "--to", tmp_path / "sum.json")


def test_equal_parts_of_one_set_are_counted(tmp_path: Path) -> None:
    reports = of_simulation(randomise(simulate_people(PLAIN, 3)))
    rows = of_rows(reports.layout, [reports.rows[:1].repeat(200, axis=0)])

    assert "200 reports" in ok(
        written(tmp_path / "a", rows, slice(None)), "--to", tmp_path / "a.json"
    )


def test_digests_stand_beside_the_tally_file_for_its_owner_alone(days: Path) -> None:
    """That of a file with few reports gives them away, and a tally file is passed on."""
    beside = days / "a.files.json"
    found = json.loads(beside.read_bytes())
    design = (days / "a/design.json").read_bytes()

    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert found == {
        "counted": 1,
        "tally": sha256((days / "a.json").read_bytes()).hexdigest(),
        "files": sorted(
            sha256(design + file.read_bytes()).hexdigest()
            for file in (days / "a").glob("*.parquet")
        ),
    }
    assert not any(one.encode() in (days / "a.json").read_bytes() for one in found["files"])


def test_what_cannot_be_added_is_said(days: Path, tmp_path: Path) -> None:
    for name in ("bare", "other"):
        shutil.copy(days / "a.json", tmp_path / f"{name}.json")
    shutil.copy(days / "b.files.json", tmp_path / "other.files.json")
    to = ("--to", tmp_path / "sum.json")

    assert "bare.files.json is missing" in refused("--add", tmp_path / "bare.json", days / "b", *to)
    assert "of another tally file" in refused("--merge", tmp_path / "other.json", *to)
    assert "stolen and sick are a pair" in refused(
        "--add", days / "a.json", days / "b", "--pair", "stolen", "sick", *to
    ).replace("late and stolen", "stolen and sick").replace("stolen and late", "stolen and sick")
    assert "is there already" in refused(days / "a", "--to", days / "a.json")
    assert (
        "--merge adds tally files up"
        in run("--merge", days / "a.json", "--add", days / "b.json", *to).output
    )
    assert not [*tmp_path.glob("sum*")]


def test_another_version_of_a_survey_is_not_added(tmp_path: Path) -> None:
    for name, one in (("a", PLAIN), ("b", survey(title="Other"))):
        reports = of_simulation(randomise(simulate_people(one, 50)))
        ok(written(tmp_path / name, reports, slice(None)), "--to", tmp_path / f"{name}.json")

    said = refused("--merge", tmp_path / "a.json", tmp_path / "b.json", "--to", tmp_path / "sum")
    assert "several surveys" in said


def test_a_day_with_few_reports_of_a_stratum_is_not_told_by_a_difference(tmp_path: Path) -> None:
    reports = of_simulation(randomise(simulate_people(SITES, 400)))
    ok(written(tmp_path / "a", reports, slice(None)), "--to", tmp_path / "a.json")
    few = written(tmp_path / "few", reports, [0, 1, -2, -1])

    said = refused("--add", tmp_path / "a.json", few, "--to", tmp_path / "sum.json")

    assert "one has counts by site" in said
    assert "Count more reports at once" in said


# --- Parquet that an engine wrote ----------------------------------------------------------------


@pytest.fixture
def table(days: Path, tmp_path: Path) -> Path:
    """The reports of two days as DuckDB writes them, in a folder for each."""
    to = tmp_path / "table"
    for name, day in (("a", "2026-11-23"), ("b", "2026-11-24")):
        (to / f"day={day}").mkdir(parents=True)
        duckdb.execute(
            f"copy (select * replace (stolen::bigint as stolen) from '{days}/{name}/*.parquet'"
            f" order by random()) to '{to}/day={day}/data_0.parquet'"
        )
    (to / "_temporary").mkdir()
    (to / "_temporary/half.parquet").write_bytes(b"PAR1")
    return to


def test_partitions_that_an_engine_wrote_are_counted(days: Path, table: Path) -> None:
    design, pair = ("--design", days / "a/survey.json"), ("--pair", "stolen", "late")
    monday, tuesday = sorted(table.glob("day=*"))

    ok(table, *design, *pair, "--to", table / "all.json")
    ok(monday, *design, *pair, "--to", table / "monday.json")
    ok("--add", table / "monday.json", tuesday, *design, "--to", table / "sum.json")

    for name in ("all", "sum"):
        assert (table / f"{name}.json").read_bytes() == (days / "both.json").read_bytes()
    again = ("--add", table / "monday.json", table, *design, "--to", table / "twice.json")
    assert "would count twice" in refused(*again)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("select *, 'x' as person", "has a column person, and no report to theft has"),
        ("select * exclude (late)", "has no column late"),
        ("select * replace (late::double as late)", "late is double, not a whole number"),
    ],
)
def test_columns_that_are_none_of_reports_are_named(
    change: str, why: str, days: Path, table: Path
) -> None:
    file = table / "day=2026-11-24/data_0.parquet"
    rows = f"read_parquet('{file}', hive_partitioning = false)"
    duckdb.execute(f"copy ({change} from {rows}) to '{table}/new' (format parquet)")
    (table / "new").replace(file)

    assert why in refused(table, "--design", days / "a/survey.json", "--to", table / "no.json")


def test_rows_that_are_no_reports_are_counted_by_their_question(days: Path, table: Path) -> None:
    file = table / "day=2026-11-24/data_0.parquet"
    rows = f"read_parquet('{file}', hive_partitioning = false)"
    wrong = "* replace (7::tinyint as late)"
    duckdb.execute(f"copy (select {wrong} from {rows} limit 3) to '{file}.parquet'")

    said = ok(table, "--design", days / "a/survey.json", "--to", table / "some.json")

    assert "3 reports left out, which no device can have made: late in 3" in said
