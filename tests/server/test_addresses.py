"""Report sets in a store are counted by their address, on a real S3 server of this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import duckdb as bare
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from deniably.authoring.compiling import compile_survey
from deniably.simulation.reports import randomise, simulate_people
from deniably.workbench.engines.duck import duckdb
from deniably.workbench.engines.tallying import tally_set
from deniably.workbench.files import store_addresses
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.files.parquet_parts import open_parts, read_parts, write_parts
from deniably.workbench.files.store_addresses import address_of, in_words, why
from deniably.workbench.report_set import of_simulation
from deniably_server.commands.report_sets import tally
from support.s3 import Server, server
from support.soak import soak

SURVEY = compile_survey(
    {
        "name": "theft",
        "title": "T",
        "results": {"minimum": 20},
        "strata": {"site": ["north", "south"]},
        "questions": [
            {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3},
            {"name": "late", "type": "select_one", "label": "Late?", "odds": 3,
             "choices": ["a", "b", "c"]},
            {"name": "what", "type": "select_multiple", "label": "What?", "most": 2, "odds": 9,
             "choices": ["money", "goods", "time", "data", "tools"]},
        ],
    }
)  # fmt: skip
PAIR = ("--pair", "stolen", "late")


@pytest.fixture(scope="module")
def store() -> Iterator[Server]:
    with server() as found:
        yield found


@pytest.fixture(autouse=True)
def keys(store: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in store.environment().items():
        monkeypatch.setenv(name, value)
    store_addresses.forget_stores()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set in three parts on this machine, and its tally."""
    folder = tmp_path_factory.mktemp("here")
    reports = of_simulation(randomise(simulate_people(SURVEY, 500)))
    write_parts(folder / "set", reports.layout, [reports.rows], rows=200)
    ok(folder / "set", *PAIR, "--to", folder / "tally.json")
    return folder


@pytest.fixture
def bucket(store: Server, request: pytest.FixtureRequest) -> str:
    """The address of an empty bucket."""
    return store.bucket(f"b{sha256(request.node.nodeid.encode()).hexdigest()[:40]}")


@pytest.fixture
def away(store: Server, bucket: str, here: Path) -> str:
    """The address of the same set."""
    return store.upload(here / "set", f"{bucket}/some/reports")


@pytest.fixture
def lake(store: Server, bucket: str, here: Path, tmp_path: Path) -> str:
    """The address of two days, as DuckDB wrote their reports."""
    numbered = f"select *, row_number() over () % 2 as n from '{here}/set/*.parquet'"
    for number, day in enumerate(("2026-11-23", "2026-11-24")):
        (tmp_path / f"lake/day={day}").mkdir(parents=True)
        bare.execute(
            f"copy (select * exclude (n) from ({numbered}) where n = {number} order by random())"
            f" to '{tmp_path}/lake/day={day}/data_0.parquet'"
        )
    return store.upload(tmp_path / "lake", f"{bucket}/lake")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(tally, [*map(str, arguments)])


def ok(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.output


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code in (1, 2), done.output
    return " ".join(done.output.split())


def test_a_set_has_the_same_tally_and_digests_as_on_this_machine(
    here: Path, away: str, tmp_path: Path
) -> None:
    said = ok(away, *PAIR, "--to", tmp_path / "tally.json")

    assert "500 reports in 3 files counted" in said
    for name in ("tally.json", "tally.files.json"):
        assert (tmp_path / name).read_bytes() == (here / name).read_bytes()


def test_a_set_is_read_whole_in_python(here: Path, away: str) -> None:
    assert read_parts(address_of(away)) == read_parts(here / "set")


def test_days_that_an_engine_wrote_are_counted_one_after_the_other(
    here: Path, lake: str, tmp_path: Path
) -> None:
    design = ("--design", here / "set/survey.json")
    monday, tuesday = (f"{lake}/day=2026-11-{day}/" for day in (23, 24))

    ok(lake, *design, *PAIR, "--to", tmp_path / "all.json")
    ok(monday, *design, *PAIR, "--to", tmp_path / "monday.json")
    ok("--add", tmp_path / "monday.json", tuesday, *design, "--to", tmp_path / "sum.json")

    for name in ("all", "sum"):
        assert (tmp_path / f"{name}.json").read_bytes() == (here / "tally.json").read_bytes()
    again = ("--add", tmp_path / "monday.json", lake, *design, "--to", tmp_path / "twice.json")
    assert f"{lake} has a file that" in refused(*again)
    assert not (tmp_path / "twice.json").exists()


def test_a_file_counts_once_here_and_in_a_store_together(
    here: Path, away: str, store: Server, bucket: str, tmp_path: Path
) -> None:
    to = ("--to", tmp_path / "no.json")
    copied = store.upload(here / "set", f"{bucket}/copy")

    assert "would count twice" in refused("--add", here / "tally.json", away, *to)
    assert "would count twice" in refused(here / "set", away, *to)
    assert "would count twice" in refused(away, copied, *to)
    assert "named twice" in refused(away, away.replace("s3://", "s3a://"), *to)


def test_sets_here_and_in_a_store_are_counted_together(
    here: Path, store: Server, bucket: str, tmp_path: Path
) -> None:
    parts = sorted((here / "set").glob("*.parquet"))
    for name, some in (("one", parts[:1]), ("two", parts[1:])):
        (tmp_path / name).mkdir()
        for file in some:
            shutil.copy(file, tmp_path / name)
    two = store.upload(tmp_path / "two", f"{bucket}/two")

    ok(tmp_path / "one", two, "--design", here / "set/survey.json", *PAIR,
       "--to", tmp_path / "both.json")  # fmt: skip

    assert (tmp_path / "both.json").read_bytes() == (here / "tally.json").read_bytes()


def test_nothing_but_the_columns_of_reports_is_fetched(
    here: Path, store: Server, bucket: str, tmp_path: Path
) -> None:
    """A column that nobody asks for is 8 MB of chance, as the numbers of rows may be."""
    (tmp_path / "wide").mkdir()
    bare.execute(
        "copy (select (random() * 1e18)::bigint as row, s.* from range(5000) cross join"
        f" '{here}/set/part-00001.parquet' s limit 1000000) to '{tmp_path}/wide/data.parquet'"
        " (compression zstd)"
    )
    size = (tmp_path / "wide/data.parquet").stat().st_size
    wide = store.upload(tmp_path / "wide", f"{bucket}/wide")
    store.sent()

    ok(wide, "--design", here / "set/survey.json", "--to", tmp_path / "wide.json")

    assert size > 6_000_000
    assert sum(store.sent().values()) < size / 3


# --- what goes wrong -----------------------------------------------------------------------------


def as_stranger(store: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", store.stranger[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", store.stranger[1])


def unknown_key(store: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAUNKNOWNUNKNOWN00")


def wrong_secret(store: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret-of-the-owner")


def other_region(store: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")


def nobody_there(store: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")


REFUSED = [
    (as_stranger, "the key that this environment has may not list or read it"),
    (unknown_key, "the store does not take the key that this environment has"),
    (wrong_secret, "the store does not take the key that this environment has"),
    (other_region, "the bucket is in another region than the one asked: set AWS_REGION"),
]
NO_ANSWER = (nobody_there, "no store answers there: look at the network, and at AWS_ENDPOINT_URL")


@pytest.mark.parametrize(
    ("change", "reason", "how"),
    [
        *((*one, how) for one in REFUSED for how in ("set", "table")),
        (*NO_ANSWER, "set"),
        soak(*NO_ANSWER, "table"),  # the client asks again for six seconds
    ],
)
def test_a_store_that_refuses_is_told_in_a_sentence_without_a_key(
    change: object, reason: str, how: str, store: Server, here: Path, away: str,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    change(store, monkeypatch)  # type: ignore[operator]
    design = ("--design", here / "set/survey.json") if how == "table" else ()

    said = refused(away, *design, "--to", tmp_path / "no.json")

    assert said.startswith(f"Error: {away}")
    assert reason in said
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        assert os.environ[name] not in said
    assert not list(tmp_path.glob("no*"))


def test_a_bucket_or_folder_that_is_missing_is_named(
    here: Path, bucket: str, tmp_path: Path
) -> None:
    design, to = ("--design", here / "set/survey.json"), ("--to", tmp_path / "no.json")

    for more in ((), design):
        assert "there is no such bucket" in refused("s3://not-there-at-all/x", *more, *to)
    assert f"{bucket}/x/survey.json: it is missing" in refused(f"{bucket}/x", *to)
    assert f"{bucket}/x has no Parquet files" in refused(f"{bucket}/x", *design, *to)


@pytest.mark.parametrize("left", [0, 3, 100, -100])
def test_an_object_that_is_cut_short_is_named(
    left: int, here: Path, away: str, store: Server, tmp_path: Path
) -> None:
    content = (here / "set/part-00002.parquet").read_bytes()
    store.write(f"{away}/part-00002.parquet", content[:left])

    for more in ((), ("--design", here / "set/survey.json")):
        said = refused(away, *more, "--to", tmp_path / "no.json")
        assert f"{away}/part-00002.parquet is cut short or damaged" in said


def test_an_upload_that_never_ended_is_a_missing_file(
    here: Path, away: str, store: Server, tmp_path: Path
) -> None:
    content = (here / "set/part-00002.parquet").read_bytes()
    store.files.delete_file(f"{away}/part-00002.parquet".removeprefix("s3://"))
    store.abandon(f"{away}/part-00002.parquet", content)

    said = refused(away, "--to", tmp_path / "no.json")

    assert f"{away}/part-00002.parquet: it is missing" in said
    assert "whether its upload ended" in said


@pytest.mark.parametrize("rows", [200, 199])
def test_an_object_that_is_written_again_while_it_is_counted_makes_no_tally(
    rows: int, here: Path, away: str, store: Server, tmp_path: Path
) -> None:
    parts = open_parts(address_of(away))
    other = pq.read_table(here / "set/part-00002.parquet").slice(0, rows)
    pq.write_table(other, tmp_path / "other.parquet")
    store.write(f"{away}/part-00002.parquet", (tmp_path / "other.parquet").read_bytes())

    with pytest.raises(NoExport, match=r"written again|have 500|cut short"), duckdb() as engine:
        tally_set(parts, engine)


def test_an_object_that_vanishes_while_it_is_counted_is_named(away: str, store: Server) -> None:
    parts = open_parts(address_of(away))
    store.files.delete_file(f"{away}/part-00002.parquet".removeprefix("s3://"))

    with pytest.raises(NoExport, match=f"{away}.*: it is missing"), duckdb() as engine:
        tally_set(parts, engine)


def test_strata_in_the_names_of_folders_are_no_columns(
    here: Path, store: Server, bucket: str, tmp_path: Path
) -> None:
    (tmp_path / "lake").mkdir()
    bare.execute(
        f"copy (from '{here}/set/*.parquet') to '{tmp_path}/lake' (format parquet,"
        " partition_by site, overwrite)"
    )
    lake = store.upload(tmp_path / "lake", f"{bucket}/lake")

    said = refused(lake, "--design", here / "set/survey.json", "--to", tmp_path / "no.json")

    assert "site is in the name of a folder, and reports need it as a column" in said


# --- addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ftp://host/x", "ftp:// is no address that is read: they begin with s3://"),
        ("https://bucket.s3.amazonaws.com/x", "is no survey's address"),
        ("s3://", "needs the name of a bucket"),
        ("s3://AKIA123:hush@bucket/x", "has no key, ? or # in it"),
        ("s3://AKIA123@bucket/x", "has no key, ? or # in it"),
        ("s3://bucket/x?secret_key=hush", "has no key, ? or # in it"),
        ("abfss://hush:hush@a.dfs.core.windows.net/x", "has no key, ? or # in it"),
        ("abfss://c@a.dfs.core.windows.net/x?sig=hush", "has no key, ? or # in it"),
    ],
)
def test_what_is_no_address_is_refused_and_a_key_in_it_not_shown(
    text: str, reason: str, tmp_path: Path
) -> None:
    said = refused(text, "--to", tmp_path / "no.json")

    assert reason in said
    assert "hush" not in said
    assert "AKIA123" not in said


def test_tally_files_are_merged_on_this_machine_alone(tmp_path: Path) -> None:
    assert "copy them here first" in refused("--merge", "s3://b/a.json", "--to", tmp_path / "x")


def test_hadoop_without_its_client_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("JAVA_HOME", "HADOOP_HOME", "CLASSPATH"):
        monkeypatch.setenv(name, str(tmp_path))

    said = refused("hdfs://127.0.0.1:1/x", "--to", tmp_path / "no.json")

    assert "reading hdfs needs Hadoop's client on this machine" in said


@pytest.mark.parametrize(
    ("root", "said", "source"),
    [
        ("gs://b", "google: OAuth2", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("abfs://c@a.dfs.core.windows.net", "DefaultAzureCredential", "AZURE_CLIENT_ID"),
        ("abfss://c@a.dfs.core.windows.net", "AuthenticationFailed", "`az login`"),
        ("s3://b", "AWS Error INVALID_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID"),
    ],
)
def test_a_key_that_is_not_taken_is_named_by_where_it_comes_from(
    root: str, said: str, source: str
) -> None:
    with pytest.raises(NoExport, match=source), in_words(f"{root}/x"):
        raise OSError(said)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Failed to get token from DefaultAzureCredential.", "does not take the key"),
        ("google::cloud::Status(UNAVAILABLE: Could not create a OAuth2 access token ...",
         "does not take the key"),
        ("google::cloud::Status(PERMISSION_DENIED: key ...", "may not list or read"),
        ("google::cloud::Status(UNAVAILABLE: CURL error", "no store answers"),
        ("AWS Error SLOW_DOWN during GetObject: AKIA123", "the store refused it (SLOW_DOWN)"),
        ("something else: AKIA123", "the store refused it"),
    ],
)  # fmt: skip
def test_of_what_a_store_says_nothing_but_a_code_is_passed_on(text: str, reason: str) -> None:
    assert reason in why(text)
    assert "AKIA123" not in why(text)
