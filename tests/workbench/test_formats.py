"""Every format of an export gives the same set back, and says that its columns are randomised."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniably.authoring.compiling import compile_survey
from deniably.simulation.reports import randomise, simulate_people
from deniably.survey.survey import Survey
from deniably.workbench.data_source import Provenance
from deniably.workbench.files.column_names import LIMITS, shortened
from deniably.workbench.files.folder import (
    FORMATS,
    Export,
    NoExport,
    read_export,
    write_folder,
)
from deniably.workbench.files.labelled import read_labelled
from deniably.workbench.files.report_lines import read_ndjson
from deniably.workbench.packing import layout
from deniably.workbench.report_columns import WARNING, note
from deniably.workbench.report_set import ReportSet, of_rows, of_simulation
from support.every_type import QUESTIONS, reports_by_seed, survey_of_everything
from support.keys import key_of
from support.material import AUTHOR, source_of

EVERYTHING = survey_of_everything(title='Odd "title" & <b> 你 \U0001f600')
PLAIN = [
    {"claim": {"epsilon": "2"}} | {key: one[key] for key in one if key != "show_if"}
    for one in QUESTIONS
]
STRATA = {"site": ["north", "south", "west"], "a-shift": ["day", "night"]}
SITES = survey_of_everything(strata=STRATA)


def simulated(survey: Survey, n: int = 200) -> ReportSet:
    return of_simulation(randomise(simulate_people(survey, n)))


def without_strata(reports: ReportSet) -> ReportSet:
    """As they leave where a stratum has too few of them."""
    return of_rows(layout(reports.survey), [reports.rows[:, 1:]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("export") / "out"
    write_folder(to, simulated(EVERYTHING), source_of(EVERYTHING), [*FORMATS])
    return to


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("few") / "out"
    write_folder(to, simulated(EVERYTHING, 20), source_of(EVERYTHING))
    return to


@pytest.fixture
def spoilt(few: Path, tmp_path: Path) -> Path:
    """A folder of twenty reports in csv, for somebody to change."""
    return Path(shutil.copytree(few, tmp_path / "out"))


@pytest.fixture(scope="module")
def source() -> Provenance:
    return source_of(SITES)


@pytest.fixture(scope="module")
def sites() -> ReportSet:
    return simulated(SITES, 100)


@pytest.fixture(scope="module")
def of_sites(
    sites: ReportSet, source: Provenance, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder in every format, with the strata of its reports."""
    to = tmp_path_factory.mktemp("sites") / "out"
    write_folder(to, sites, source, [*FORMATS])
    return to


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without strata."""
    to = tmp_path_factory.mktemp("bare") / "out"
    write_folder(to, without_strata(simulated(SITES, 100)), source_of(SITES), [*FORMATS])
    return to


def of_some(names: Sequence[str], ask: int, *, sites: bool, n: int, seed: int) -> ReportSet:
    """Reports to these questions of all types, asked all or some of them."""
    questions = [one for one in PLAIN if one["name"] in names]
    more: dict[str, Any] = {"ask": ask} if ask < len(questions) else {}
    more |= {"strata": STRATA} if sites else {}
    return reports_by_seed(survey_of_everything(questions=questions, **more), n, seed)


TYPES = [one["name"] for one in PLAIN]


@settings(max_examples=5, deadline=None)
@given(
    names=st.lists(st.sampled_from(TYPES), min_size=1, max_size=4, unique=True),
    ask=st.integers(1, 4),
    sites=st.booleans(),
    n=st.integers(1, 40),
    seed=st.integers(0, 2**32),
)
@example(names=TYPES, ask=99, sites=False, n=60, seed=1)
@example(names=TYPES, ask=4, sites=True, n=60, seed=1)
def test_every_format_gives_the_same_set_back(
    names: list[str], ask: int, sites: bool, n: int, seed: int
) -> None:
    reports = of_some(names, ask, sites=sites, n=n, seed=seed)

    with TemporaryDirectory() as beside:
        to = Path(beside) / "out"
        if not all(tally.n for tally in reports.tally().values()):
            with pytest.raises(NoExport, match="nobody was asked"):
                write_folder(to, reports, source_of(reports.survey))
            return
        to.mkdir()
        # Reports are read from no results, which take a second.
        none = cast(Any, SimpleNamespace(rows=[]))
        export = Export(reports, source_of(reports.survey), none, (*FORMATS,))
        for one in FORMATS.values():
            one.write(export, to / one.file)
            found = one.read(reports.survey, to / one.file)
            assert found == reports
            assert found.tally() == reports.tally()
            assert found.strata == reports.strata


def test_the_same_reports_make_the_same_bytes(
    of_sites: Path, sites: ReportSet, source: Provenance, tmp_path: Path
) -> None:
    """Whoever sent them and whenever, and in whichever order they came."""
    mixed = sites.rows[np.random.default_rng(1).permutation(len(sites))]
    sleep(1.1)  # a time of writing would show
    write_folder(tmp_path / "again", of_rows(sites.layout, [mixed]), source, [*FORMATS])

    for file in sorted(one for one in of_sites.rglob("*") if one.is_file()):
        again = tmp_path / "again" / file.relative_to(of_sites)
        assert file.read_bytes() == again.read_bytes(), file.name


def test_parquet_has_the_smallest_integers_and_the_warning(folder: Path) -> None:
    from pyarrow import parquet

    schema = parquet.read_schema(folder / "reports.parquet")
    kinds = dict(zip(schema.names, map(str, schema.types), strict=True))
    assert (kinds["row"], kinds["stolen"], kinds["home__0_0"]) == ("int64", "int8", "int8")
    assert kinds["fines"] == "int16"
    assert schema.metadata[b"note"].decode() == WARNING
    assert schema.field("stolen").metadata[b"label"].endswith(b"(randomised)")


def test_every_description_says_not_to_tabulate_the_columns(folder: Path) -> None:
    for file in TEXTS:
        text = (folder / file).read_text(encoding="utf-8")
        assert WARNING in " ".join(text.split()), file


TEXTS = ("design.json", "datapackage.json", "codebook.xml", "codebook.html", "METHODS.md",
         "CHECKLIST.md", "CITATION.cff", "references.bib", "references.ris", "analyse.R",
         "analyse.py", "analyse.do", "PACKAGES.md")  # fmt: skip


@pytest.mark.parametrize("stratified", [True, False])
def test_every_file_says_what_became_of_the_strata(
    sites: ReportSet, of_sites: Path, bare: Path, stratified: bool
) -> None:
    import openpyxl
    import pyreadstat
    from pyarrow import parquet

    reports = sites if stratified else without_strata(sites)
    said = note(reports.layout)
    to = of_sites if stratified else bare

    assert ("not randomised: a-shift, site" in said) is stratified
    assert ("no column for what the link said (a-shift, site)" in said) is not stratified
    for file in TEXTS:
        text = " ".join(re.sub(r"(?m)^(#|\*) ", "", (to / file).read_text("utf-8")).split())
        assert said in text, file
    assert said in " ".join(pyreadstat.read_sav(str(to / "reports.sav"))[1].notes)
    labels = pyreadstat.read_dta(str(to / "reports.dta"))[1].column_names_to_labels
    assert ("strata are left out" in labels["row"]) is not stratified
    assert said in parquet.read_schema(to / "reports.parquet").metadata[b"note"].decode()
    assert said in openpyxl.load_workbook(to / "reports.xlsx")["read this first"]["A1"].value
    if stratified:
        assert labels["site"] == "site: site (not randomised: known from the link)"
        assert labels["a_shift"].startswith("a-shift: ")
        assert json.loads((to / "design.json").read_text())["strata"][1] == {
            "name": "site", "key": "site", "kind": "stratum", "randomised": False,
            "label": "site (not randomised: known from the link)", "values": STRATA["site"],
        }  # fmt: skip


def test_a_file_that_lost_its_strata_is_refused(of_sites: Path, bare: Path, tmp_path: Path) -> None:
    to = Path(shutil.copytree(of_sites, tmp_path / "out"))
    shutil.copy(bare / "reports.csv", to / "reports.csv")

    with pytest.raises(NoExport, match="was changed: its note"):
        read_export(to)


def test_a_stratum_that_no_link_says_is_refused(of_sites: Path, tmp_path: Path) -> None:
    to = Path(shutil.copytree(of_sites, tmp_path / "out"))
    text = (to / "reports.csv").read_text()

    for wrong in ("1,,", "1,2,", "1,-1,"):
        (to / "reports.csv").write_text(text.replace("\n1,0,", f"\n{wrong}", 1))
        with pytest.raises(NoExport, match="a-shift is one of 0 to 1 in every row"):
            read_export(to)


def test_the_data_package_names_every_column_of_the_csv(folder: Path) -> None:
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    fields = package["resources"][0]["schema"]["fields"]
    lines = (folder / "reports.csv").read_text(encoding="utf-8").splitlines()

    assert [field["name"] for field in fields] == lines[0].split(",")
    for line in lines[1:]:
        for field, cell in zip(fields, line.split(","), strict=True):
            limits = field.get("constraints", {})
            assert cell or not limits.get("required")
            if cell and limits:
                assert limits["minimum"] <= int(cell) <= limits["maximum"]
            if cell and "categories" in field:
                assert int(cell) in [one["value"] for one in field["categories"]]


def test_the_codebook_counts_what_was_reported_and_estimates_beside_it(folder: Path) -> None:
    found = read_export(folder)[0]
    book = ElementTree.parse(folder / "codebook.xml").getroot()
    space = {"d": "ddi:codebook:2_5"}

    assert (book.tag, book.get("version")) == ("{ddi:codebook:2_5}codeBook", "2.5")
    assert [one.tag.partition("}")[2] for one in book] == ["stdyDscr", "fileDscr", "dataDscr"]
    assert book.findtext(".//d:titl", None, space) == EVERYTHING.title
    variables = {one.get("name"): one for one in book.iterfind(".//d:var", space)}
    assert [*variables] == ["row", *(one.name for one in found.columns)]
    yes = variables["stolen__yes"]
    counts = [int(one.text or "") for one in yes.iterfind(".//d:catStat", space)]
    named = int(found.tally()["stolen"].counts[0])
    assert counts == [200 - named, named]
    share, error = (float(one.text or "") for one in yes.iterfind("d:sumStat", space))
    p = 31735754293 / (31735754293 + 2**32)
    assert share == pytest.approx((named / 200 - (1 - p)) / (2 * p - 1))
    assert 0.03 < error < 0.06
    order = ["labl", "qstn", "TotlResp", "sumStat", "catgry", "codInstr", "varFormat"]
    for one in variables.values():
        places = [order.index(part.tag.partition("}")[2]) for part in one]
        assert places == sorted(places)


def test_the_page_of_the_codebook_escapes_what_authors_wrote(folder: Path) -> None:
    page = (folder / "codebook.html").read_text(encoding="utf-8")

    assert page.index(WARNING) < page.index("<h1>")
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "src=" not in page
    assert "0.880797" in page  # and not eleven digits over eleven


def test_the_methods_state_the_design(folder: Path) -> None:
    text = (folder / "METHODS.md").read_text(encoding="utf-8")

    assert "200 respondents" in text
    assert EVERYTHING.digest in text
    checklist = (folder / "CHECKLIST.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^\d+\. ", checklist, re.MULTILINE)) == 11
    assert all(f"| {question.name} |" in text for question in EVERYTHING.questions)


def test_spss_and_stata_have_labels_and_the_original_names(folder: Path) -> None:
    import pyreadstat

    _, sav = pyreadstat.read_sav(str(folder / "reports.sav"))
    _, dta = pyreadstat.read_dta(str(folder / "reports.dta"))
    for meta in (sav, dta):
        assert meta.variable_value_labels["stolen"] == {0: "Yes", 1: "No"}
        labels = meta.column_names_to_labels
        assert all("(randomised)" in label for name, label in labels.items() if name != "row")
        assert "stolen__yes" in labels["stolen__yes"]
    assert WARNING in " ".join(sav.notes)


def test_a_workbook_opens_at_the_warning_and_runs_no_formula(tmp_path: Path) -> None:
    import openpyxl
    import pandas as pd

    question = PLAIN[0] | {"label": '=HYPERLINK("http://example.org")'}
    reports = simulated(survey_of_everything(questions=[question]), 20)
    write_folder(tmp_path / "out", reports, source_of(reports.survey), ["xlsx"])

    book = openpyxl.load_workbook(tmp_path / "out" / "reports.xlsx")
    first = book["read this first"]
    assert book.active is first
    assert first["A1"].value == WARNING
    assert {cell.data_type for row in first.iter_rows() for cell in row} <= {"s", "n"}
    data = pd.read_excel(tmp_path / "out" / "reports.xlsx")  # takes the first sheet
    assert data["row"].tolist() == list(range(1, 21))


def test_what_stata_cannot_hold_is_refused_and_not_cut(tmp_path: Path) -> None:
    questions = [
        {"name": f"q{n}", "label": "Q", "type": "select_one", "odds": 3,
         "choices": [f"c{m}" for m in range(1024)]}
        for n in range(2)
    ]  # fmt: skip
    survey = compile_survey({"name": "wide", "title": "T", "questions": questions})

    with pytest.raises(NoExport, match="more than the 2,048 of Stata; take csv or parquet"):
        write_folder(tmp_path / "out", simulated(survey, 5), source_of(survey), ["dta"])
    assert [*tmp_path.iterdir()] == []


def test_a_set_of_nobody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoExport, match="no reports"):
        write_folder(tmp_path / "out", of_rows(layout(EVERYTHING), []), source_of(EVERYTHING))


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("reports.csv", "row,stolen\r\n1,0\r\n", "no column stolen__yes"),
        ("reports.csv", None, "has none of the files"),
        ("survey.json", "{}", "out: "),
        ("reports.csv", "cut", "has 19 reports, not 20"),
        ("design.json", '{"digest": "0", "n": 1}', "of another survey"),
        ("register.json", None, "register.json: No such file"),
        ("register.json", "{}", "is no part of a register"),
        ("register.json", '{"head": "0", "entries": []}', "does not list the survey everything"),
    ],
)
def test_a_folder_that_does_not_fit_its_definition_is_refused(
    spoilt: Path, file: str, text: str | None, why: str
) -> None:
    to = spoilt
    if text == "cut":
        text = "\n".join((to / file).read_text().splitlines()[:-1])
    (to / file).unlink() if text is None else (to / file).write_text(text)

    with pytest.raises(NoExport, match=why):
        read_export(to)


@pytest.mark.parametrize(
    ("file", "was", "now", "why"),
    [
        ("survey.json", "Have you", "Had you", "another version of this survey"),
        ("design.json", '"p": {', '"was": {', "design.json was changed: its questions"),
        ("design.json", '"title": "', '"title": "My ', "its title is not what survey.json makes"),
        ("register.json", '"signature": "', '"signature": "00', "a signature is 128"),
        ("register.json", '"epsilon": "2.00"', '"epsilon": "0.10"', "another mechanism or epsilon"),
    ],
)
def test_a_folder_that_was_changed_is_refused(
    spoilt: Path, file: str, was: str, now: str, why: str
) -> None:
    """Without the server: the author's signature is in the folder."""
    to = spoilt
    text = (to / file).read_text(encoding="utf-8")
    assert was in text
    (to / file).write_text(text.replace(was, now, 1), encoding="utf-8")

    with pytest.raises(NoExport, match=why):
        read_export(to)


def test_another_author_cannot_sign_a_definition_again_unnoticed(tmp_path: Path) -> None:
    """Whoever signs it shows another fingerprint, and a copied name does not verify."""
    to, forged = tmp_path / "out", source_of(EVERYTHING, author=key_of(bytes(32)))
    write_folder(to, simulated(EVERYTHING, 20), forged)
    assert read_export(to)[1].author == forged.author != source_of(EVERYTHING).author

    text = (to / "register.json").read_text().replace(forged.author, AUTHOR.author)
    (to / "register.json").write_text(text)
    with pytest.raises(NoExport, match="not this author's"):
        read_export(to)


def test_a_changed_value_that_no_device_reports_is_refused(spoilt: Path) -> None:
    to = spoilt
    lines = (to / "reports.csv").read_text().splitlines()
    cells: list[Any] = lines[1].split(",")
    cells[2] = 1 - int(cells[2])  # stolen__yes contradicts stolen
    (to / "reports.csv").write_text("\r\n".join([lines[0], ",".join(map(str, cells)), *lines[2:]]))

    with pytest.raises(NoExport, match="stolen__yes has a value that no report"):
        read_export(to)


NAMES = st.lists(st.text("aB_.-1", min_size=1, max_size=90), min_size=1, max_size=20, unique=True)


@given(names=NAMES, limits=st.sampled_from([*LIMITS.values()]))
def test_shortened_names_are_told_apart_and_allowed(names: Sequence[str], limits: Any) -> None:
    found = shortened(names, limits)

    assert len({name.casefold() for name in found}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) for name in found)
    assert all(len(name) <= limits.name for name in found)
    assert found == shortened(names, limits)


def test_names_as_long_as_a_survey_allows_fit_every_program(tmp_path: Path) -> None:
    survey = compile_survey({"name": "long", "title": "T", "questions": [
        {"name": "q" * 62 + end, "type": "yes_no", "label": "?", "odds": 3} for end in ("_a", "_b")
    ]})  # fmt: skip
    reports, to = simulated(survey, 5), tmp_path / "out"
    write_folder(to, reports, source_of(survey), ["csv", "sav", "dta"])

    for name in ("reports.sav", "reports.dta"):
        assert read_labelled(survey, to / name) == reports


def test_an_option_that_no_device_drew_is_left_out_of_the_scripts(tmp_path: Path) -> None:
    worries = next(one for one in PLAIN if one["name"] == "worries")
    survey = survey_of_everything(questions=[worries])
    reports = read_ndjson(survey, [b'{"values": {"worries": [%d]}}' % (n % 2) for n in range(6)])

    write_folder(tmp_path / "out", reports, source_of(reports.survey))
    assert read_export(tmp_path / "out")[0] == reports
    script = (tmp_path / "out" / "analyse.R").read_text()
    assert "worries__money" in script
    assert "worries__health" not in script


def test_writing_parquet_loads_no_pandas() -> None:
    """It takes 40 MB, and a server writes a million reports in less than 200 MB."""
    script = """
import sys
from deniably.simulation.reports import randomise, simulate_people
from deniably.workbench.files.arrow import parquet_of
from deniably.workbench.report_set import of_simulation
from support.every_type import survey_of_everything
reports = of_simulation(randomise(simulate_people(survey_of_everything(), 20)))
assert b"".join(parquet_of(reports.columns, [reports.rows])).startswith(b"PAR1")
sys.exit("pandas" in sys.modules)
"""
    tests = Path(__file__).parents[1]
    assert subprocess.run([sys.executable, "-c", script], cwd=tests).returncode == 0
