"""The pages of a tally file: those of a server, in a folder that needs none."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from flask.testing import FlaskClient

from deniably.authoring.compiling import compile_survey
from deniably.simulation.reports import randomise, simulate_people
from deniably.workbench.engines.duck import duckdb
from deniably.workbench.engines.tally_file import tally_text
from deniably.workbench.engines.tallying import TalliedSet, tally_set
from deniably.workbench.files.parquet_parts import open_parts, write_parts
from deniably.workbench.report_set import ReportSet, of_simulation
from deniably_server.app import create_app
from deniably_server.offline.exported_pages import write_pages
from deniably_server.offline.tally_store import TakenBatch, TallyStore
from deniably_server.storage.mixed import MixedStore
from deniably_server.storage.store import Store
from support.cases import for_each
from support.commands import call
from support.stored import stored

SURVEY = compile_survey(
    {
        "name": "theft",
        "title": "Honesty at work",
        "results": {"minimum": 20},
        "strata": {"site": ["north", "south"]},
        "questions": [
            {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3},
            {"name": "late", "type": "select_one", "label": "Late?", "odds": 3,
             "choices": ["never", "monthly", "weekly"]},
            {"name": "ways", "type": "select_multiple", "label": "What?", "odds": 3, "most": 1,
             "choices": ["cash", "goods", "time"]},
        ],
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def reports() -> ReportSet:
    return of_simulation(randomise(simulate_people(SURVEY, 300)))


@pytest.fixture(scope="module")
def found(reports: ReportSet, tmp_path_factory: pytest.TempPathFactory) -> TalliedSet:
    parts = tmp_path_factory.mktemp("set") / "parts"
    write_parts(parts, reports.layout, [reports.rows])
    with duckdb() as engine:
        return tally_set(open_parts(parts), engine, [("late", "stolen")])


@pytest.fixture(scope="module")
def file(found: TalliedSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("tally") / "theft.json"
    to.write_bytes(tally_text(found))
    return to


@pytest.fixture(scope="module")
def folder(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("pages") / "pages"
    done = call("results", "--tally", file, "--to", to)
    count = sum(one.is_file() for one in to.rglob("*"))
    assert done.stdout == f"{count:,} files in {to}: open {to / 'index.html'}\n", done.stderr
    return to


@pytest.fixture(scope="module")
def server(reports: ReportSet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A server that stored the same reports."""
    with closing(stored(str(tmp_path_factory.mktemp("db") / "deniably.db"), reports)) as store:
        store.close_survey(SURVEY.name)
        yield create_app({"TESTING": True}, store=store).test_client()


class Page(HTMLParser):
    """The links, ids and scripts of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.modules: list[str] = []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for key, value in attrs:
            if key in ("href", "src", "action", "data-figure", "data-page"):
                self.links.append(str(value))
            if key == "id":
                self.ids.add(str(value))
            if key == "type" and value == "module":
                self.modules.append(tag)


def test_every_link_leads_to_a_file_and_every_file_is_linked(folder: Path) -> None:
    pages = {file: Page(file) for file in folder.rglob("*.html")}
    linked = {folder / "index.html"}
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            assert not parts.scheme, (file, link)
            assert not link.startswith("/"), (file, link)
            there = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert there.is_file(), (file, link)
            assert not parts.fragment or parts.fragment in pages[there].ids, (file, link)
            linked.add(there)

    assert linked == {file for file in folder.rglob("*") if file.is_file()}


def test_no_page_has_a_form_or_a_script_that_needs_a_server(folder: Path) -> None:
    for file in folder.rglob("*.html"):
        page = Page(file)

        assert not page.tags & {"form", "iframe"}, file
        assert not page.modules, file
    [script] = folder.rglob("*.js")
    text = script.read_text()
    assert not re.search(r"^(?:import|export)\b|\bfetch\(|XMLHttpRequest|import\(", text, re.M)
    sheets = [sheet.read_text() for sheet in folder.rglob("*.css")]
    assert not any("url(" in sheet or "@import" in sheet for sheet in sheets)


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("data/results.json", "/api/surveys/theft/results"),
        ("data/results-site-north.json", "/api/surveys/theft/results?site=north"),
        ("data/results.csv", "/api/surveys/theft/results.csv"),
        ("data/survey.json", "/api/surveys/theft"),
        ("data/crosstab-stolen-late.json", "/api/surveys/theft/crosstab?rows=stolen&columns=late"),
        (
            "data/crosstab-stolen-late-site-south.csv",
            "/api/surveys/theft/crosstab.csv?rows=stolen&columns=late&site=south",
        ),
        ("data/differences-late.json", "/api/surveys/theft/differences?question=late"),
        ("data/strata-late-by-site.json", "/api/surveys/theft/strata?question=late&by=site"),
    ],
)
def test_the_documents_are_those_of_a_server(
    folder: Path, server: FlaskClient, name: str, address: str
) -> None:
    answer = server.get(address)

    assert answer.status_code == 200
    assert (folder / name).read_bytes() == answer.get_data()


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("index.html", ""),
        ("pages/results-site-north.html", "?site=north"),
        ("pages/crosstab-stolen-late.html", "/crosstab?rows=stolen&columns=late"),
        ("pages/differences-late-site-south.html", "/differences?question=late&site=south"),
        ("pages/strata-late-by-site.html", "/strata?question=late&by=site"),
        ("pages/figures-ways.html", "/figures/ways"),
    ],
)
def test_the_pages_are_those_of_a_server(
    folder: Path, server: FlaskClient, name: str, address: str
) -> None:
    """All that a server's page says until its links to what only a server has; links differ."""

    def said(text: str) -> str:
        body = text[text.index("<main>") : text.index("</main>")]
        body = body.partition("<h2>How answers go together")[0]
        body = re.sub(r' <a href="[^"]*">Why so uncertain.</a>', "", body)
        body = re.sub(r"Source: .*?(?=</p>|</text></svg>)", "", body)  # the day of the closing
        body = re.sub(r' <button type="button" class="button quiet" data-fig.*?</button>', "", body)
        return re.sub(r' (?:href|src)="[^"#]*', "", body)

    answer = server.get(f"/surveys/theft{address}")

    assert answer.status_code == 200
    assert said((folder / name).read_text("utf-8")) == said(answer.get_data(as_text=True))


def test_only_pairs_that_were_counted_are_crossed(folder: Path) -> None:
    chooser = (folder / "pages/crosstab.html").read_text("utf-8")

    assert re.findall(r'<li><a href="([^"]*)"', chooser) == ["crosstab-stolen-late.html"]
    assert not [file for file in folder.rglob("*crosstab*") if "ways" in file.name]


def test_no_page_offers_what_needs_whole_reports(folder: Path) -> None:
    page = (folder / "index.html").read_text("utf-8")

    assert "Whole reports can be checked" not in page
    assert "a row for each report" not in page


def test_the_paper_section_is_there_with_its_files(folder: Path) -> None:
    page = (folder / "index.html").read_text("utf-8")

    assert 'id="say-methods"' in page
    assert "<strong>" in page[page.index('id="say-checklist"') :]
    for name in ("METHODS.md", "CHECKLIST.md", "CITATION.cff", "references.bib", "references.ris"):
        assert (folder / f"data/{name}").read_text("utf-8")
        assert (folder / f"data/{name.replace('.', '-site-north.')}").read_text("utf-8")


def test_counts_of_all_strata_have_pages_of_everybody_alone(
    found: TalliedSet, tmp_path: Path
) -> None:
    whole = TalliedSet(SURVEY, (found.whole,))

    write_pages(tmp_path / "pages", whole, 0.9)

    page = (tmp_path / "pages/index.html").read_text("utf-8")
    assert "Not shown: site north; site south" in page
    assert "90\u202f% interval" in page or "90 % interval" in page.replace("\u202f", " ")
    assert not [file for file in tmp_path.rglob("*") if "north" in file.name]
    assert json.loads((tmp_path / "pages/data/results.json").read_text())["confidence"] == 0.9


def test_too_few_reports_have_no_pages_as_on_a_server(tmp_path: Path) -> None:
    few = of_simulation(randomise(simulate_people(SURVEY, 12)))
    write_parts(tmp_path / "parts", few.layout, [few.rows])

    counted = call("tally", tmp_path / "parts", "--to", tmp_path / "few.json")
    done = call("results", "--tally", tmp_path / "few.json", "--to", tmp_path / "pages")

    assert "Only all together, and not by site: each stratum needs 20 reports" in counted.stdout
    assert "theft: The results are shown from 20 reports on" in done.stderr
    assert not (tmp_path / "pages").exists()


@for_each(("stand_in", "of"), [(TallyStore, Store), (TakenBatch, MixedStore)])
def test_the_store_of_a_tally_has_the_methods_of_a_store(stand_in: type, of: type) -> None:
    own = {name: one for name, one in vars(stand_in).items() if inspect.isfunction(one)}

    for name, one in own.items():
        if not name.startswith("_"):
            theirs = getattr(of, name, None) or Store._survey  # `survey` is a cached method
            assert [*inspect.signature(one).parameters] == [*inspect.signature(theirs).parameters]


# --- the command --------------------------------------------------------------------------------


def test_a_subgroup_and_every_subgroup_are_shown_as_a_server_has_them(
    file: Path, server: FlaskClient
) -> None:
    north = call("results", "--tally", file, "--for", "site=north", "--json")
    each = call("results", "--tally", file, "--by", "site", "--json")
    rows = call("results", "--tally", file, "--by", "site", "--csv").stdout.splitlines()
    table = call("results", "--tally", file, "--by", "site").stdout

    expected = server.get("/api/surveys/theft/results?site=north").get_json()
    assert json.loads(north.stdout) == expected == json.loads(each.stdout)["north"]
    of_one = call("results", "--tally", file, "--for", "site=south", "--csv").stdout.splitlines()
    assert len(rows) == 2 * len(of_one) - 1
    assert {*of_one} <= {*rows}
    assert table.index("north") < table.index("south")
    everybody = json.loads(call("results", "--tally", file, "--json").stdout)
    assert everybody == server.get("/api/surveys/theft/results").get_json()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--for", "site=east"], "site is one of north, south, and not east"),
        (["--for", "place=north"], "there is no stratum place; there are site"),
        (["--by", "place"], "there is no stratum place; there are site"),
        (["--for", "site=north", "--by", "site"], "give --for or --by, and not both"),
        (["--by", "site", "--to", "pages"], "--to has all subgroups: leave out --for and --by"),
        ([], "give the address of a survey, or --tally FILE"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(
    file: Path, options: list[str], why: str
) -> None:
    done = call("results", *(["--tally", file] if options else []), *options)

    assert done.returncode != 0
    assert why in done.stderr


def test_pages_replace_no_folder(file: Path, folder: Path) -> None:
    done = call("results", "--tally", file, "--to", folder)

    assert "is there already; an export replaces nothing" in done.stderr
