"""Tables of Delta and Iceberg: what their newest commit has counts, and no deleted row."""

from __future__ import annotations

import base64
import json
import shutil
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from deniably.authoring.compiling import compile_survey
from deniably.workbench.engines.tally_file import read_tally
from deniably.workbench.files import store_addresses
from deniably_server.commands.report_sets import tally
from support.s3 import Server, server

if TYPE_CHECKING:
    from pyiceberg.table import Table

SURVEY = compile_survey(
    {
        "name": "theft",
        "title": "T",
        "questions": [
            {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3},
            {"name": "late", "type": "select_one", "label": "Late?", "odds": 3,
             "choices": ["a", "b", "c"]},
        ],
    }
)  # fmt: skip
ROWS = pa.table(
    {
        "stolen": pa.array([0, 1] * 60, pa.int32()),
        "late": pa.array([0, 1, 2] * 40, pa.int32()),
        "day": pa.array(["2026-11-23"] * 60 + ["2026-11-24"] * 60),
    }
)
ODD = ROWS.set_column(2, "day", pa.array(["a b/c"] * 60 + ["100 %"] * 60))


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    (tmp_path / "survey.json").write_bytes(SURVEY.canonical)
    return tmp_path / "survey.json"


@pytest.fixture(scope="module")
def store() -> Iterator[Server]:
    with server() as found:
        yield found


def run(*arguments: object) -> Result:
    return CliRunner().invoke(tally, [*map(str, arguments)])


def counts(table: object, survey: Path) -> dict[str, list[int]]:
    """How many reports the tally of a table has in each cell."""
    to = survey.parent / "tally.json"
    to.unlink(missing_ok=True)
    to.with_name("tally.files.json").unlink(missing_ok=True)
    done = run(table, "--design", survey, "--to", to)
    assert done.exit_code == 0, done.output
    found = read_tally(to.read_bytes()).tallies
    return {name: one.counts.tolist() for name, one in found.items()}


def refused(table: object, survey: Path) -> str:
    done = run(table, "--design", survey, "--to", survey.parent / "no.json")
    assert done.exit_code == 1, done.output
    assert not (survey.parent / "no.json").exists()
    return " ".join(done.output.split())


def of_rows(rows: pa.Table) -> dict[str, list[int]]:
    return {
        name: [Counter(rows[name].to_pylist())[cell] for cell in range(cells)]
        for name, cells in (("stolen", 2), ("late", 3))
    }


def kept(rows: pa.Table) -> pa.Table:
    """The rows without those whose third choice was deleted."""
    return rows.filter(pa.compute.not_equal(rows["late"], 2))


def deltalake() -> Any:
    """The library; to import it takes a while, and every worker collects these tests."""
    import deltalake

    return deltalake


# --- Delta ---------------------------------------------------------------------------------------


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """A table that was written twice; the first rows were deleted, and their files still stand."""
    to = tmp_path / "a table"
    deltalake().write_deltalake(to, ODD, partition_by=["day"])
    deltalake().write_deltalake(to, ODD, mode="append", partition_by=["day"])
    return to


def commit(table: Path, *actions: dict[str, Any]) -> None:
    """Adds a commit to the log, as an engine with more features than delta-rs writes it."""
    number = len(list((table / "_delta_log").glob("*.json")))
    text = "\n".join(map(json.dumps, actions))
    (table / f"_delta_log/{number:020}.json").write_text(text)


def first_file(table: Path) -> dict[str, Any]:
    log = (table / "_delta_log/00000000000000000000.json").read_text()
    return next(one["add"] for one in map(json.loads, log.splitlines()) if "add" in one)


def test_files_that_delta_no_longer_has_do_not_count(delta: Path, survey: Path) -> None:
    assert counts(delta, survey) == of_rows(pa.concat_tables([ROWS, ROWS]))

    deltalake().DeltaTable(delta).delete("late = 2")
    assert len(list(delta.rglob("*.parquet"))) > len(deltalake().DeltaTable(delta).file_uris())
    assert counts(delta, survey) == of_rows(kept(pa.concat_tables([ROWS, ROWS])))

    deltalake().DeltaTable(delta).optimize.compact()
    deltalake().DeltaTable(delta).create_checkpoint()
    deltalake().write_deltalake(delta, ODD, mode="append", partition_by=["day"])
    assert counts(delta, survey) == of_rows(pa.concat_tables([kept(ROWS), kept(ROWS), ROWS]))


def test_a_table_of_delta_with_deleted_rows_in_its_files_is_refused(
    delta: Path, survey: Path
) -> None:
    """A deletion vector, which names the first and the fourth row of a file."""
    from pyroaring import BitMap

    file = first_file(delta)
    rows = BitMap([0, 3]).serialize()
    vector = struct.pack("<IQI", 1681511377, 1, 0) + rows
    inline = base64.b85encode(vector + bytes(-len(vector) % 4)).decode().translate(Z85)
    deleted = {"storageType": "i", "pathOrInlineDv": inline, "sizeInBytes": len(vector),
               "cardinality": 2}  # fmt: skip
    features = ["deletionVectors"]
    commit(
        delta,
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features,
                      "writerFeatures": features}},
        {"remove": {"path": file["path"], "dataChange": True, "deletionTimestamp": 1}},
        {"add": file | {"deletionVector": deleted}},
    )  # fmt: skip

    assert "has rows that were deleted and still stand in its files" in refused(delta, survey)


_FROM = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
Z85 = str.maketrans(_FROM, _TO)
"""Delta writes bytes in Z85, which has the digits of base 85 in another order than Python."""


def test_a_table_of_delta_that_renames_its_columns_is_refused(delta: Path, survey: Path) -> None:
    fields = [
        {"name": name, "type": "string" if name == "day" else "integer", "nullable": True,
         "metadata": {"delta.columnMapping.id": at,
                      "delta.columnMapping.physicalName": physical}}
        for at, (name, physical) in enumerate(
            (("stolen", "late"), ("late", "stolen"), ("day", "day")), 1
        )
    ]  # fmt: skip
    commit(
        delta,
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {"metaData": {"id": "x", "format": {"provider": "parquet", "options": {}},
                      "schemaString": json.dumps({"type": "struct", "fields": fields}),
                      "partitionColumns": ["day"],
                      "configuration": {"delta.columnMapping.mode": "name"}}},
    )  # fmt: skip

    assert "gives its columns other names than its files do" in refused(delta, survey)


@pytest.mark.parametrize(
    "spoil", [shutil.rmtree, lambda log: (log / f"{0:020}.json").write_text("{")]
)
def test_a_log_of_delta_that_cannot_be_read_is_named(
    spoil: Callable[[Path], object], delta: Path, survey: Path
) -> None:
    spoil(delta / "_delta_log")
    (delta / "_delta_log").mkdir(exist_ok=True)

    assert "this table of Delta cannot be read" in refused(delta, survey)


# --- Iceberg -------------------------------------------------------------------------------------


@pytest.fixture
def iceberg(tmp_path: Path) -> Table:
    """A table with a partition a day."""
    table = iceberg_at((tmp_path / "warehouse").as_uri())
    table.append(ROWS)
    table.append(ROWS)
    return table


def iceberg_at(warehouse: str, **properties: str) -> Table:
    from pyiceberg.catalog.memory import InMemoryCatalog

    catalog = InMemoryCatalog("memory", warehouse=warehouse, **properties)
    catalog.create_namespace("reports")
    table = catalog.create_table("reports.theft", schema=ROWS.schema)
    with table.update_spec() as spec:
        spec.add_identity("day")
    return table


def folder_of(table: Table) -> Path:
    return Path(table.location().removeprefix("file://"))


def test_files_that_iceberg_no_longer_has_do_not_count(iceberg: Table, survey: Path) -> None:
    folder = folder_of(iceberg)
    assert counts(folder, survey) == of_rows(pa.concat_tables([ROWS, ROWS]))

    iceberg.delete("late = 2")

    assert len(list(folder.rglob("*.parquet"))) > len(list(iceberg.scan().plan_files()))
    assert counts(folder, survey) == of_rows(kept(pa.concat_tables([ROWS, ROWS])))


def test_the_metadata_that_a_hint_names_counts(iceberg: Table, survey: Path) -> None:
    metadata = folder_of(iceberg) / "metadata"
    newest = Path(iceberg.metadata_location).name
    iceberg.delete("late = 2")
    (metadata / "version-hint.text").write_text(newest)

    assert counts(folder_of(iceberg), survey) == of_rows(pa.concat_tables([ROWS, ROWS]))


def test_two_newest_commits_of_iceberg_are_refused(iceberg: Table, survey: Path) -> None:
    newest = Path(iceberg.metadata_location.removeprefix("file://"))
    shutil.copy(newest, newest.with_name(f"{newest.name[:6]}of-another-writer.metadata.json"))

    assert "has 2 newest files *.metadata.json" in refused(folder_of(iceberg), survey)


@pytest.mark.parametrize("content", [1, 2], ids=["positions", "values"])
def test_a_table_of_iceberg_with_deleted_rows_in_its_files_is_refused(
    content: int, iceberg: Table, survey: Path
) -> None:
    with_deletes(iceberg, content)

    assert "has rows that were deleted and still stand in" in refused(folder_of(iceberg), survey)


def with_deletes(table: Table, content: int) -> None:
    """Adds a delete file to the newest snapshot, as engines write it that merge on read."""
    from pyiceberg.manifest import (
        DataFile,
        DataFileContent,
        FileFormat,
        ManifestContent,
        ManifestEntry,
        ManifestEntryStatus,
        ManifestWriterV2,
        write_manifest_list,
    )
    from pyiceberg.typedef import Record

    class Deletes(ManifestWriterV2):
        def content(self) -> ManifestContent:
            return ManifestContent.DELETES

    snapshot = table.current_snapshot()
    assert snapshot is not None
    data = next(iter(table.scan().plan_files())).file
    folder = folder_of(table)
    positions = pa.table({"file_path": [data.file_path], "pos": pa.array([0], pa.int64())})
    pq.write_table(positions, folder / "data/deletes.parquet")
    file = DataFile.from_args(
        content=DataFileContent(content), file_path=f"{folder.as_uri()}/data/deletes.parquet",
        file_format=FileFormat.PARQUET, partition=Record(*data.partition), record_count=1,
        file_size_in_bytes=1, equality_ids=[1] if content == 2 else None,
    )  # fmt: skip
    file.spec_id = table.spec().spec_id
    output = table.io.new_output(f"{folder.as_uri()}/metadata/deletes-m0.avro")
    with Deletes(table.spec(), table.schema(), output, snapshot.snapshot_id, "null") as writer:
        writer.add_entry(
            ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED, snapshot_id=snapshot.snapshot_id, data_file=file
            )
        )
    manifests = [*snapshot.manifests(table.io), writer.to_manifest_file()]
    listed = table.io.new_output(f"{folder.as_uri()}/metadata/all.avro")
    with write_manifest_list(
        2, listed, snapshot.snapshot_id, snapshot.parent_snapshot_id, snapshot.sequence_number,
        "null",
    ) as lists:  # fmt: skip
        lists.add_manifests(manifests)
    metadata = Path(table.metadata_location.removeprefix("file://"))
    text = metadata.read_text().replace(snapshot.manifest_list, listed.location)
    metadata.write_text(text)


def test_a_column_of_iceberg_that_had_another_name_is_refused(iceberg: Table, survey: Path) -> None:
    with iceberg.update_schema() as schema:
        schema.rename_column("stolen", "before")
    with iceberg.update_schema() as schema:
        schema.rename_column("late", "stolen")
    with iceberg.update_schema() as schema:
        schema.rename_column("before", "late")

    assert "is the name of another column of this table by now" in refused(
        folder_of(iceberg), survey
    )


# --- in a store ----------------------------------------------------------------------------------


@pytest.fixture
def keys(store: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in store.environment().items():
        monkeypatch.setenv(name, value)
    store_addresses.forget_stores()


@pytest.mark.usefixtures("keys")
def test_a_table_of_delta_is_counted_by_its_address(
    delta: Path, survey: Path, store: Server
) -> None:
    deltalake().DeltaTable(delta).delete("late = 2")
    table = store.upload(delta, f"{store.bucket('delta')}/some/table")

    assert counts(table, survey) == of_rows(kept(pa.concat_tables([ROWS, ROWS])))


@pytest.mark.usefixtures("keys")
def test_a_table_of_iceberg_is_counted_by_its_address(survey: Path, store: Server) -> None:
    key, secret = store.owner
    properties = {"s3.endpoint": store.address, "s3.region": store.region,
                  "s3.access-key-id": key, "s3.secret-access-key": secret}  # fmt: skip
    table = iceberg_at(store.bucket("iceberg"), **properties)
    table.append(ROWS)
    table.delete("late = 2")

    assert counts(table.location(), survey) == of_rows(kept(ROWS))
