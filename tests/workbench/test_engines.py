"""Report sets in Parquet parts, counted by DuckDB: the same integers as a server's tally."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniably.authoring.compiling import compile_survey
from deniably.estimation.tally import Tally
from deniably.simulation.reports import randomise, randomise_again, simulate_people
from deniably.workbench.engines.duck import DuckDB, duckdb
from deniably.workbench.engines.question_counters import counters
from deniably.workbench.engines.tally_file import read_tally, tally_text
from deniably.workbench.engines.tallying import ASKED, TalliedSet, tally_set
from deniably.workbench.files.folder import write_folder
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.files.parquet_parts import (
    bare,
    open_parts,
    read_parts,
    together,
    write_parts,
)
from deniably.workbench.report_columns import columns_of
from deniably.workbench.report_set import ReportSet, of_rows, of_simulation, packed_simulation
from support.every_type import QUESTIONS, survey_of_everything
from support.material import source_of

PLAIN = [
    {"claim": {"epsilon": "2"}} | {key: one[key] for key in one if key != "show_if"}
    for one in QUESTIONS
]
SURVEYS = {
    "all asked": survey_of_everything(),
    "some asked": survey_of_everything(ask=4, questions=PLAIN),
    "with strata": survey_of_everything(strata={"site": ["north", "south"]}),
}
N = 250


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    with duckdb() as found:
        yield found


@pytest.fixture(scope="module", params=[*SURVEYS])
def reports(request: pytest.FixtureRequest) -> ReportSet:
    survey = SURVEYS[cast(str, request.param)]
    return of_simulation(randomise(simulate_people(survey, N)))


@pytest.fixture(scope="module")
def folder(reports: ReportSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(reports, tmp_path_factory.mktemp("set") / "parts")


@pytest.fixture(scope="module")
def counted(folder: Path, engine: DuckDB) -> TalliedSet:
    """The set of the folder, tallied."""
    return tally_set(open_parts(folder), engine, [("stolen", "what")])


def written(reports: ReportSet, to: Path) -> Path:
    write_parts(to, reports.layout, [reports.rows], rows=100)
    return to


def same(one: dict[str, Tally], other: dict[str, Tally]) -> bool:
    return list(one) == list(other) and all(one[name] == other[name] for name in one)


def test_a_set_in_parts_is_read_back_whole(reports: ReportSet, folder: Path) -> None:
    parts = open_parts(folder)

    assert [pq.read_metadata(file).num_rows for file in parts.files] == [100, 100, 50]
    assert read_parts(folder) == reports


def test_the_order_of_arrival_is_in_no_byte(reports: ReportSet, tmp_path: Path) -> None:
    mixed = np.random.default_rng(3).permutation(reports.rows)

    written(reports, tmp_path / "one")
    write_parts(tmp_path / "other", reports.layout, np.array_split(mixed, 7), rows=100)

    for file in sorted((tmp_path / "one").iterdir()):
        assert file.read_bytes() == (tmp_path / "other" / file.name).read_bytes(), file.name


def test_the_tally_is_that_of_a_server(reports: ReportSet, counted: TalliedSet) -> None:
    found = counted

    assert same(found.tallies, reports.tally())
    assert (found.n, found.left_out, found.unfit) == (N, 0, {})
    strata = reports.survey.every_stratum if reports.survey.strata else []
    for stratum, counts in zip(strata, found.strata, strict=False):
        assert same(counts.tallies, reports.among(stratum).tally())
        assert counts.n == len(reports.among(stratum))
    assert len(found.strata) == max(len(strata), 1)


def test_an_export_with_parquet_has_the_same_tally_file_as_parts(
    reports: ReportSet, folder: Path, engine: DuckDB, tmp_path: Path
) -> None:
    source = source_of(reports.survey)
    write_folder(tmp_path / "export", reports, source, ["parquet", "parts"])

    expected = tally_text(tally_set(open_parts(folder), engine))
    for export in (tmp_path / "export", tmp_path / "export" / "reports"):
        assert tally_text(tally_set(open_parts(export), engine)) == expected


def test_what_several_servers_took_is_counted_as_one_set(
    reports: ReportSet, folder: Path, engine: DuckDB, tmp_path: Path
) -> None:
    halves = [of_rows(reports.layout, [reports.rows[place::2]]) for place in (0, 1)]
    sets = [
        open_parts(written(half, tmp_path / name))
        for half, name in zip(halves, ("north", "south"), strict=True)
    ]

    both = tally_set(together(sets), engine)

    assert tally_text(both) == tally_text(tally_set(open_parts(folder), engine))
    with pytest.raises(NoExport, match="named twice"):
        together([*sets, sets[0]])


def test_sets_of_several_surveys_are_not_counted_as_one(tmp_path: Path) -> None:
    sets = [
        open_parts(written(of_simulation(randomise(simulate_people(survey, N))), tmp_path / name))
        for name, survey in SURVEYS.items()
    ]

    with pytest.raises(NoExport, match="another survey"):
        together(sets)


def test_a_tally_file_is_read_back_whole(counted: TalliedSet) -> None:
    text = tally_text(counted)

    back = read_tally(text)

    assert same(back.tallies, counted.tallies)
    assert back.survey == counted.survey
    assert tally_text(back) == text


def test_a_folder_whose_name_is_a_pattern_is_that_folder_alone(
    engine: DuckDB, tmp_path: Path
) -> None:
    reports = of_simulation(randomise(simulate_people(compile_survey(FEW), N)))
    for name in ("set[ab]", "seta", "set*"):
        written(reports, tmp_path / name)

    for name in ("set[ab]", "set*"):
        assert same(tally_set(open_parts(tmp_path / name), engine).tallies, reports.tally())


# --- pairs ---------------------------------------------------------------------------------------


def test_pairs_of_questions_are_counted_as_whole_reports_have_them(
    reports: ReportSet, counted: TalliedSet
) -> None:
    one, other = reports.answered("stolen"), reports.answered("what")
    asked = one.asked & other.asked
    pairs = zip(one.cells[asked, 0].tolist(), other.cells[asked, 0].tolist(), strict=True)

    counts = read_tally(tally_text(counted)).pairs["stolen", "what"]

    assert sum(counts.values()) == asked.sum()
    for pair in pairs:
        assert counts[pair] > 0


def test_pairs_need_questions_whose_reports_are_one_number(folder: Path, engine: DuckDB) -> None:
    with pytest.raises(NoExport, match="worries is no question whose reports are one number"):
        tally_set(open_parts(folder), engine, [("stolen", "worries")])


# --- what does not fit ---------------------------------------------------------------------------


def changed(folder: Path, column: str, row: int, value: int | None) -> None:
    """Writes another value into a column of the second part."""
    file = folder / "part-00002.parquet"
    table = pq.read_table(file)
    values = table.column(column).to_pylist()
    values[row] = value
    place = table.schema.get_field_index(column)
    kind = table.schema.field(place)
    other = table.set_column(place, kind, pa.array(values, kind.type))
    pq.write_table(other.replace_schema_metadata(table.schema.metadata), file)


def test_a_report_that_no_device_made_is_counted_named_and_left_out(
    reports: ReportSet, folder: Path, engine: DuckDB, tmp_path: Path
) -> None:
    columns = bare(columns_of(reports.layout))
    wrong = [(one.key, one.name, 0, 2) for one in columns.strata]
    for counter in {type(one): one for one in counters(columns)}.values():
        name = counter.question.name
        row = int(reports.answered(name).asked[100:200].argmax())
        column = columns.of(name)[0]
        wrong.append((name, column.name, row, column.reach[1] + 1))
    for number, (name, column_name, row, value) in enumerate(wrong):
        parts = copytree(folder, tmp_path / str(number))
        changed(parts, column_name, row, value)

        found = tally_set(open_parts(parts), engine, [("stolen", "what")])

        without = of_rows(reports.layout, [np.delete(reports.rows, 100 + row, axis=0)])
        assert found.unfit == {name: 1}
        assert (found.n, found.left_out) == (N - 1, 1)
        assert same(found.tallies, without.tally()), name


def test_a_report_to_more_questions_than_a_device_asks_is_left_out(
    engine: DuckDB, tmp_path: Path
) -> None:
    reports = of_simulation(randomise(simulate_people(SURVEYS["some asked"], N)))
    parts = written(reports, tmp_path / "parts")
    changed(parts, "stolen", int((~reports.answered("stolen").asked[100:200]).argmax()), 1)

    found = tally_set(open_parts(parts), engine)

    assert (found.n, found.left_out, found.unfit) == (N - 1, 1, {ASKED: 1})


def test_an_empty_cell_where_everybody_was_asked_is_left_out(
    engine: DuckDB, tmp_path: Path
) -> None:
    reports = of_simulation(randomise(simulate_people(SURVEYS["all asked"], N)))
    parts = written(reports, tmp_path / "parts")
    changed(parts, "stolen", 5, None)

    found = tally_set(open_parts(parts), engine)

    assert (found.n, found.left_out, found.unfit) == (N - 1, 1, {"stolen": 1})


# --- what is refused -----------------------------------------------------------------------------


def other_survey(folder: Path) -> None:
    survey = compile_survey({**FEW, "title": "Another title"})
    (folder / "survey.json").write_bytes(survey.canonical)


def cut(folder: Path) -> None:
    file = folder / "part-00002.parquet"
    file.write_bytes(file.read_bytes()[:-100])


def fewer(folder: Path) -> None:
    file = folder / "part-00002.parquet"
    pq.write_table(pq.read_table(file).slice(1), file)


def outside(folder: Path) -> None:
    design = folder / "design.json"
    design.write_text(design.read_text().replace("part-00002", "../parts/part-00002"))


def without_column(folder: Path) -> None:
    file = folder / "part-00002.parquet"
    table = pq.read_table(file)
    other = table.rename_columns(["other"]).replace_schema_metadata(table.schema.metadata)
    pq.write_table(other, file)


def as_text(folder: Path) -> None:
    with_type(folder, pa.string())


def as_larger(folder: Path) -> None:
    with_type(folder, pa.int64())


def with_type(folder: Path, kind: Any) -> None:
    file = folder / "part-00002.parquet"
    table = pq.read_table(file)
    texts = table.column("stolen").cast(kind)
    place = table.schema.get_field_index("stolen")
    pq.write_table(
        table.set_column(place, "stolen", texts).replace_schema_metadata(table.schema.metadata),
        file,
    )


FEW = {
    "name": "few",
    "title": "Few",
    "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
}


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report set with one question, in three parts."""
    reports = of_simulation(randomise(simulate_people(compile_survey(FEW), N)))
    return written(reports, tmp_path_factory.mktemp("few") / "parts")


@pytest.fixture(scope="module")
def tally_of_few(few: Path, engine: DuckDB) -> bytes:
    return tally_text(tally_set(open_parts(few), engine))


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (cut, "part-00002.parquet is cut short or damaged"),
        (lambda folder: (folder / "part-00002.parquet").unlink(), "part-00002.parquet is missing"),
        (fewer, "part-00002.parquet has 99 reports; design.json says 100"),
        (without_column, "part-00002.parquet has no column stolen"),
        (as_text, "stolen is string, not a whole number"),
        (as_larger, "stolen is int64, and int8 in the first file"),
        (other_survey, "design.json is of another survey than survey.json"),
        (lambda folder: (folder / "design.json").unlink(), "design.json: No such file"),
        (lambda folder: (folder / "design.json").write_text("{"), "parts: "),
        (outside, "which is no file of the folder"),
    ],
)
def test_a_set_that_is_not_whole_is_refused(
    spoil: object, why: str, few: Path, tmp_path: Path
) -> None:
    parts = copytree(few, tmp_path / "parts")
    spoil(parts)  # type: ignore[operator]

    with pytest.raises(NoExport, match=why):
        open_parts(parts)


@pytest.mark.parametrize("name", ["stolen", "worries"])
def test_files_that_change_while_they_are_counted_make_no_tally(
    name: str, engine: DuckDB, tmp_path: Path
) -> None:
    """Whether a question has one column or one for each choice."""
    [question] = [one for one in PLAIN if one["name"] == name]
    survey = survey_of_everything(questions=[question])
    parts = written(of_simulation(randomise(simulate_people(survey, N))), tmp_path / "parts")
    opened = open_parts(parts)
    fewer(parts)

    with pytest.raises(NoExport, match="249 reports were counted, and the files have 250"):
        tally_set(opened, engine)


def test_a_set_of_nobody_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    reports = of_simulation(randomise(simulate_people(compile_survey(FEW), 1)))

    with pytest.raises(NoExport, match="no reports"):
        write_parts(tmp_path / "parts", reports.layout, [reports.rows[:0]])

    assert not list(tmp_path.iterdir())


def test_reports_to_another_definition_are_refused_where_millions_do_not_fit(
    tmp_path: Path, engine: DuckDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniably.workbench.engines.tallying._MOST_WRONG", 2)
    reports = of_simulation(randomise(simulate_people(compile_survey(FEW), N)))
    parts = written(reports, tmp_path / "parts")
    for row in range(3):
        changed(parts, "stolen", row, 2)

    with pytest.raises(NoExport, match="these are no reports to few: stolen of 3 do not fit"):
        tally_set(open_parts(parts), engine)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "this is no tally file"),
        (b'{"tally":1}', "this is no tally file"),
        (b'{"tally":2,"survey":{},"left_out":0,"unfit":{},"strata":[]}', "version 2, not 1"),
        (b'{"tally":1,"survey":{},"left_out":0,"unfit":{},"strata":[]}',
         "the survey of this tally file"),
    ],
)  # fmt: skip
def test_what_is_no_tally_file_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(NoExport, match=why):
        read_tally(text)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"counts":[', b'"counts":[7,', "stolen has 2 cells, not 3"),
        (b'"counts":[', b'"counts":[-1', "are none of 250 reports"),
        (b'"tallies":{"stolen"', b'"tallies":{"x"', "has no counts of stolen"),
        (
            b'"pairs":[]',
            b'"pairs":[{"rows":"a","columns":"b","counts":[]}]',
            "which is no question",
        ),
        (b'"counts":[', b'"counts":[9', "the counts of stolen are none of its 250 reports"),
        (b'"counts":[', b'"counts":[1180591620717411303424', "no tally file: Expected `int` <="),
        (b'"left_out":0', b'"left_out":-1', "no tally file: Expected `int` >= 0"),
        (b'"unfit":{}', b'"unfit":{"stolen":-1}', "no tally file: Expected `int` >= 0"),
        (
            b'"tallies":{',
            b'"tallies":{"more":{"counts":[],"n":0,"start":0},',
            "has counts of more, which is no question",
        ),
    ],
)
def test_counts_that_do_not_fit_the_survey_are_refused(
    old: bytes, new: bytes, why: str, tally_of_few: bytes
) -> None:
    with pytest.raises(NoExport, match=why):
        read_tally(tally_of_few.replace(old, new, 1))


def test_counts_of_a_report_more_are_refused_for_every_question(counted: TalliedSet) -> None:
    file = json.loads(tally_text(counted))
    tallies = file["strata"][0]["tallies"]
    assert {*tallies} == {one["name"] for one in QUESTIONS}
    for question, own in tallies.items():
        more = own | {"counts": [own["n"] + 1, *own["counts"][1:]]}
        spoilt = file | {"strata": [{**file["strata"][0], "tallies": tallies | {question: more}}]}

        with pytest.raises(NoExport, match=f"the counts of {question} are none of its"):
            read_tally(json.dumps(spoilt).encode())


def test_counts_of_numbers_that_no_noise_makes_are_refused(counted: TalliedSet) -> None:
    file = json.loads(tally_text(counted))
    tallies = file["strata"][0]["tallies"]
    endless = next(own for own in tallies.values() if own["start"])
    endless["start"] = 10**12

    with pytest.raises(NoExport, match=r"has cells from -\d+ to \d+, and counts of others"):
        read_tally(json.dumps(file).encode())


def test_pairs_that_are_there_twice_are_refused(counted: TalliedSet) -> None:
    file = json.loads(tally_text(counted))
    stratum = file["strata"][0]
    [pair] = stratum["pairs"]

    for pairs in (
        [pair, pair],
        [pair | {"counts": [*pair["counts"], [*pair["counts"][0][:2], 0]]}],
    ):
        stratum["pairs"] = pairs
        with pytest.raises(NoExport, match="twice"):
            read_tally(json.dumps(file).encode())


def test_people_answer_again_as_often_as_there_are_reports(tmp_path: Path) -> None:
    people = simulate_people(compile_survey(FEW), 100)

    batches = list(randomise_again(people, 1_000_000))
    places = of_simulation(batches[0]).layout

    assert sum(one.n for one in batches) == 1_000_000
    assert all(one.n % 100 == 0 for one in batches)
    assert sum(len(rows) for one in batches for rows in packed_simulation(places, one)) == 1_000_000


def test_without_duckdb_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)

    with (
        pytest.raises(NoExport, match=r"this needs duckdb; get it with: .*deniably\[bulk\]"),
        duckdb(),
    ):
        pass
