"""Holds report sets, in Parquet and counted, to the vectors of section 12."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniably.survey.survey import Survey, read_survey
from deniably.workbench.engines.counted_files import digest_of, digests_file, write_tally
from deniably.workbench.engines.duck import duckdb
from deniably.workbench.engines.tally_file import read_tally, tally_text
from deniably.workbench.engines.tallying import Counts, TalliedSet, tally_set
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.files.parquet_parts import open_parts, read_parts, write_parts
from deniably.workbench.packing import Layout, Rows, WireBlock, layout
from deniably.workbench.report_set import ReportSet
from support.commands import call

Case = dict[str, Any]

PART_ROWS = 3
"""So few that most sets of the vectors have parts to be in order over."""


def check_report_set(group: Case, case: Case) -> None:
    """A case of report_sets.json, by its group's type."""
    checks = {"set": _a_set, "table": _a_table, "file": _a_file, "digest": _a_digest,
              "beside": _beside}  # fmt: skip
    checks[group["type"]](group, case)


def _a_set(group: Case, case: Case) -> None:
    survey = read_survey(group["definition"])
    with TemporaryDirectory() as held:
        folder = Path(held) / "set"
        write_parts(folder, *_packed(survey, case["reports"]), rows=PART_ROWS)
        assert _columns_and_rows(folder) == (group["columns"], case["rows"])
        if case["result"] == "invalid":
            with pytest.raises(NoExport, match="no question whose reports are one number"):
                _counted(folder, case)
            return
        found = _counted(folder, case)
        without_engine = TalliedSet(survey, _by_numpy(read_parts(folder), found))
    assert _texts(found) == {_expected(group, case)}
    assert _texts(without_engine) == {_expected(group, case)}


def _by_numpy(reports: ReportSet, found: TalliedSet) -> tuple[Counts, ...]:
    """The tallies of a set in memory, by its strata where they were ``found``."""
    parts = [reports]
    if found.stratified:
        parts = [reports.among(one) for one in reports.survey.every_stratum]
    return tuple(
        Counts(len(one), one.tally(), counted.pairs)
        for one, counted in zip(parts, found.strata, strict=True)
    )


def _a_table(group: Case, case: Case) -> None:
    with TemporaryDirectory() as held:
        folder = Path(held)
        _write_table(folder, read_survey(group["definition"]), group["columns"], case["rows"])
        found = _counted(folder, case)
        with pytest.raises(NoExport):
            read_parts(folder)
    assert _texts(found) == {_expected(group, case)}


def _a_file(_: Case, case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(NoExport):
            read_tally(case["text"].encode())
    else:
        assert tally_text(read_tally(case["text"].encode())).decode() == case["text"]


def _texts(found: TalliedSet) -> set[str]:
    """The tally file of a counted set, as it is written and as it is written again once read."""
    text = tally_text(found)
    return {text.decode(), tally_text(read_tally(text)).decode()}


def _expected(group: Case, case: Case) -> str:
    return str(case["tally"]).replace("<definition>", group["definition"])


def _packed(survey: Survey, reports: list[Case]) -> tuple[Layout, list[Rows]]:
    """The layout of reports, and the reports in one block."""
    stratified = "strata" in reports[0]
    values = [[one["values"].get(each.name) for each in survey.questions] for one in reports]
    strata = [survey.stratum_number(one["strata"]) for one in reports] if stratified else None
    places = layout(survey, stratified=stratified)
    return places, [places.pack(WireBlock(values, strata))]


def _columns_and_rows(folder: Path) -> tuple[list[Any], list[Any]]:
    """The names and widths of the columns, and the rows, of all parts."""
    design = json.loads((folder / "design.json").read_text("utf-8"))
    assert [one["rows"] for one in design["parts"][:-1]] == [PART_ROWS] * (len(design["parts"]) - 1)
    tables = [pq.read_table(folder / one["file"]) for one in design["parts"]]
    table = pa.concat_tables(tables)
    assert len(table) == design["n"]
    assert all(pa.types.is_signed_integer(field.type) for field in table.schema)
    columns = [[field.name, field.type.bit_width] for field in table.schema]
    return columns, [list(row.values()) for row in table.to_pylist()]


def _write_table(folder: Path, survey: Survey, columns: list[Any], rows: list[Any]) -> None:
    """A report set of one file, written by nothing of Deniably's."""
    fields = [pa.field(name, getattr(pa, f"int{bits}")()) for name, bits in columns]
    schema = pa.schema(fields, metadata={"digest": survey.digest})
    arrays = [
        pa.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), fields, strict=True)
    ]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), folder / "reports.parquet")
    (folder / "survey.json").write_bytes(survey.canonical)
    design = {"digest": survey.digest, "n": len(rows)}
    (folder / "design.json").write_text(json.dumps(design), "utf-8")


def _counted(folder: Path, case: Case) -> TalliedSet:
    pairs = [(rows, columns) for rows, columns in case["pairs"]]
    with duckdb() as engine:
        return tally_set(open_parts(folder), engine, pairs)


def _a_digest(_: Case, case: Case) -> None:
    with TemporaryDirectory() as held:
        file = Path(held) / "any.parquet"
        file.write_bytes(content(case["length"], case["changed"]))
        assert digest_of(case["design"].encode(), file) == case["digest"]


def content(length: int, changed: list[int]) -> bytes:
    """The bytes of a file, as the vectors describe them."""
    found = (np.arange(length) + 7 * (np.arange(length) // 256)).astype(np.uint8)
    found[changed] = 255 - found[changed]
    return found.tobytes()


def _beside(_: Case, case: Case) -> None:
    """By the command, which adds tally files up; or by what it writes for one."""
    with TemporaryDirectory() as held:
        files = [Path(held) / f"{number}.json" for number, _ in enumerate(case["tallies"])]
        for file, text, digests in zip(files, case["tallies"], case["digests"], strict=True):
            write_tally(file, text.encode(), sorted(digests))
        if len(files) == 1:
            to = files[0]
        else:
            to = Path(held) / "sum.json"
            done = call("tally", "--merge", *files, "--to", to)
            assert done.returncode == (0 if case["result"] == "valid" else 1), done.stderr
        if case["result"] == "invalid":
            assert not to.exists()
            return
        assert to.read_text("utf-8") == case["sum"]
        assert digests_file(to).read_text("utf-8") == case["files"]
