"""The lab on a server: pages and files of every experiment, for everybody, that store nothing and
cost no more than they may."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import compile_survey
from deniably.lab.catalogue import Case, entries
from deniably.lab.experiment import Experiment, fragment
from deniably.lab.inputs import OneOf
from deniably_server.api.cached_views import answerer, use_queue
from deniably_server.api.computation_queue import ComputationQueue, Job
from deniably_server.api.lab import INPUTS
from deniably_server.app import create_app
from deniably_server.web.lab_form import fields
from support.material import a_report, assert_problem, signed, survey_named

pytestmark = pytest.mark.usefixtures("drawn_once")

ENTRIES = entries()
PROGRAM = {"Accept": "application/problem+json"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
SURVEY = survey_named(results={"minimum": 1, "while_open": True})
WIRE, SCRIPT = 50_000, 30_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[Flask]:
    """One for all tests: the lab changes nothing."""
    app = create_app({"DATABASE": str(folder / "deniably.db"), "TESTING": True})
    store = app.extensions["deniably"]
    store.publish(SURVEY, signed(SURVEY))
    for n in range(120):
        store.add(SURVEY, a_report(SURVEY, stolen=[n % 2]))
    yield app
    store.close()


def answer_of(page: str) -> str:
    found = re.search(r'<p class="finding">(.*?)</p>', page)
    assert found
    return unescape(found[1])


def plain(page: str) -> str:
    """A page whose links to experiments read as their names."""
    return re.sub(r'See <a href="/lab/([^"]+)">[^<]*</a>', r"See \1", page)


def values_of(page: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in re.findall(
        r'<input id="[^"]*" name="([^"]*)" value="([^"]*)"', page)}  # fmt: skip


# --- pages --------------------------------------------------------------------------------------


def test_the_lab_lists_every_experiment_with_its_question(client: FlaskClient) -> None:
    page = unescape(client.get("/lab").text)

    for entry in ENTRIES.values():
        assert f'<a href="/lab/{entry.name}">{entry.title}</a></h2><p>{entry.question}</p>' in page


@pytest.mark.parametrize("path", ["/", "/handbook", "/how?language=de", "/register"])
def test_a_reader_gets_to_the_lab_from_every_page(client: FlaskClient, path: str) -> None:
    page = client.get(path, headers=BROWSER).text

    assert '<a href="/lab">' in page.partition("<footer>")[2]
    if path == "/":
        assert 'href="/lab"' in page.partition("<footer>")[0]


@pytest.mark.parametrize("name", ENTRIES)
def test_every_experiment_is_a_page_with_a_field_for_each_input(
    client: FlaskClient, name: str
) -> None:
    entry = ENTRIES[name]

    answer = client.get(f"/lab/{name}", headers={"Accept-Encoding": "gzip"})

    page = gzip.decompress(answer.data).decode()
    register = [(f"this server: {SURVEY.title}", float(SURVEY.total.epsilon_text()))]
    beside = Case("", {"register": register}) if name == "choosing-epsilon" else None
    made = entry.run(beside)
    assert plain(fragment(made).source) in plain(page)
    assert ('id="inputs"' in page) == bool(entry.inputs)
    for key, one in entry.inputs.items():
        assert f'<label for="i-{key}">{one.help.rstrip(".")}</label>' in unescape(page)
        tag = "select" if isinstance(one, OneOf) else "input"
        assert len(re.findall(rf'<{tag} id="i-{key}" name="{key}"', page)) == 1
    files = set(re.findall(r'(?:href|src)="(/web/[^"]+)"', page))
    wire = len(answer.data) + sum(
        len(client.get(path, headers={"Accept-Encoding": "gzip"}).data) for path in files
    )
    assert wire < WIRE
    assert not re.search(r"<script(?! type=\"module\" src)|<style| style=| on\w+=", page)
    assert answer.headers["Cache-Control"] == "public, max-age=60"


def test_statements_lead_to_the_experiments_that_settle_them(client: FlaskClient) -> None:
    page = client.get("/lab/true-or-false").text

    named = set(re.findall(r'See <a href="/lab/([^"]+)">', page))
    assert len(named) > 3
    assert named <= set(ENTRIES)


def test_the_list_and_the_script_are_light(client: FlaskClient) -> None:
    page = client.get("/lab").text
    (sheet,) = re.findall(r'rel="stylesheet" href="([^"]+)"', page)
    (script,) = re.findall(r'<script type="module" src="([^"]+)"', client.get("/lab/coins").text)

    assert len(page) + len(client.get(sheet).data) < WIRE
    assert len(client.get(script).data) < SCRIPT


def test_what_is_chosen_is_shown_and_goes_along_with_every_link(client: FlaskClient) -> None:
    page = client.get("/lab/coins?share=1/4&truth=0.8&seed=7").text

    assert values_of(page) == {"truth": "80 %", "yes": "50 %", "share": "25 %", "seed": "7"}
    assert answer_of(page) == ENTRIES["coins"].run(share="1/4", truth="0.8", seed=7).answer
    query = "truth=4%2F5&amp;share=1%2F4&amp;seed="
    assert f'<a data-seed="8" href="/lab/coins?{query}8">Draw again</a>' in page
    for end, more in (("", ""), (".csv", ""), (".svg", ""), (".svg", "&amp;picture=2")):
        assert f'href="/api/lab/coins{end}?{query}7{more}"' in page
    assert client.get(unescape(f"/api/lab/coins?{query}7")).status_code == 200


def test_a_field_shows_a_number_as_people_write_it(client: FlaskClient) -> None:
    page = client.get("/lab/adding-up?delta=1/100000").text

    assert values_of(page)["delta"] == "0.00001"
    assert "data-stops=" in page
    assert not re.search(r'[|"]\d[\d.]*(e-|/)\d+[|"]', page)
    assert values_of(client.get("/lab/coins?share=1/3").text)["share"] == "1/3"


def test_the_form_that_a_page_shows_asks_for_that_page(client: FlaskClient) -> None:
    """Also what a browser sends of it without a script: every field, as it is written there."""
    page = client.get("/lab/one-report?epsilon=ln+9&prior=1%25").text

    again = client.get("/lab/one-report", query_string=values_of(page)).text

    assert values_of(page)["epsilon"] == "ln 9"
    assert again == page


def test_programs_get_the_same_as_json_csv_and_svg(client: FlaskClient) -> None:
    made = ENTRIES["coins"].run(share="1/4")

    assert client.get("/api/lab/coins?share=25%25").text == made.to_json()
    table = client.get("/api/lab/coins.csv?share=0.25")
    assert table.text == made.to_csv()
    assert table.headers["Content-Disposition"] == 'attachment; filename="coins.csv"'
    for number, picture in enumerate(made.pictures, 1):
        drawn = client.get(f"/api/lab/coins.svg?share=.25&picture={number}")
        assert drawn.text == picture.svg()
        assert drawn.mimetype == "image/svg+xml"


@pytest.mark.parametrize("path", ["/lab", "/lab/one-report", "/api/lab/one-report.csv"])
def test_head_is_get_without_the_body(client: FlaskClient, path: str) -> None:
    whole, head = client.get(path), client.head(path)

    assert head.status_code == 200
    assert head.data == b""
    assert head.headers["Content-Length"] == str(len(whole.data))
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert client.open(path, method=method).status_code == 405


# --- sliders ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENTRIES)
def test_every_stop_of_a_slider_is_a_value_that_its_input_takes(name: str) -> None:
    entry = ENTRIES[name]
    usual = entry.read({})

    for field in fields(entry.inputs, usual):
        one = entry.inputs[field.name]
        assert one.read(field.name, field.value) == usual[field.name]
        assert all("|" not in stop for stop in field.stops)
        sizes = [float(getattr(one.read(field.name, stop), "ln", None)
                       or one.read(field.name, stop)) for stop in field.stops]  # fmt: skip
        if not sizes:
            continue
        assert sizes == sorted(set(sizes))
        ends = [float(one.minimum), float(one.maximum)]  # type: ignore[attr-defined]
        assert [sizes[0], sizes[-1]] == pytest.approx(ends)
        here = usual[field.name]
        size = float(getattr(here, "ln", None) or here)
        assert abs(sizes[field.at] - size) == min(abs(each - size) for each in sizes)


# --- a survey's own -----------------------------------------------------------------------------


def test_a_survey_has_the_experiments_that_apply_to_it(client: FlaskClient) -> None:
    page = unescape(client.get(f"/surveys/{SURVEY.name}/lab").text)

    for entry in ENTRIES.values():
        cases = list(entry.cases(SURVEY))
        assert (f'<h2 id="{entry.name}">{entry.title}</h2>' in page) == bool(cases)
    assert page.count("<option") >= 2 * len(SURVEY.questions)


def test_an_experiment_on_a_survey_has_its_whole_numbers_and_no_input_for_them(
    client: FlaskClient,
) -> None:
    entry = ENTRIES["one-report"]
    _, case = entry.cases(SURVEY)
    query = {"experiment": "one-report", "case": "2", "prior": "20 %"}

    answer = client.get(f"/surveys/{SURVEY.name}/lab", query_string=query)

    page = answer.text
    made = entry.run(case, prior="1/5")
    assert fragment(made).source in page
    assert made.about == SURVEY.questions[1].label
    assert set(values_of(page)) == {"prior", "seed"}
    assert '<option value="2" selected>' in page
    assert "Draw again" in page
    assert answer.headers["Cache-Control"] == "no-store"  # which survey it was stays on no device
    data = client.get(f"/api/surveys/{SURVEY.name}/lab", query_string=query)
    assert data.text == made.to_json()
    picture = client.get(f"/api/surveys/{SURVEY.name}/lab.svg", query_string=query)
    assert picture.text == made.pictures[0].svg()
    assert SURVEY.name in picture.headers["Content-Disposition"]
    table = client.get(f"/api/surveys/{SURVEY.name}/lab.csv", query_string=query)
    assert table.text == made.to_csv()


def test_another_survey_has_another_picture(app: Flask, client: FlaskClient) -> None:
    other = compile_survey({
        "name": "stronger", "title": "Stronger",
        "questions": [{"name": "stolen", "type": "yes_no", "odds": 2, "label": "Stolen?"}],
    })  # fmt: skip
    app.extensions["deniably"].publish(other, signed(other))

    first, second = (
        answer_of(client.get(f"/surveys/{name}/lab?experiment=one-report").text)
        for name in (SURVEY.name, "stronger")
    )

    assert first != second


def test_why_so_uncertain_opens_the_funnel_of_the_question_with_its_own_people(
    client: FlaskClient,
) -> None:
    results = client.get(f"/surveys/{SURVEY.name}").text
    (address,) = re.findall(r'<a href="([^"]*)">Why so uncertain\?</a>', results)

    page = client.get(unescape(address)).text

    assert values_of(page)["n"] == "30,120,480"
    assert "from 120 people" in answer_of(page)
    asked = re.search(r'<option value="\d" selected>(.*?)</option>', page)
    assert asked
    assert asked[1] in {question.label for question in SURVEY.questions}
    assert f'href="/surveys/{SURVEY.name}/lab"' in results


def test_where_results_are_hidden_the_lab_is_there(app: Flask, client: FlaskClient) -> None:
    """It has the definition alone, which everybody may read."""
    hidden = survey_named("hidden")
    app.extensions["deniably"].publish(hidden, signed(hidden))

    assert 'href="/surveys/hidden/lab"' in client.get("/surveys/hidden").text
    assert client.get("/surveys/hidden/lab?experiment=one-report").status_code == 200


# --- hostile requests ---------------------------------------------------------------------------


def refused(client: FlaskClient, path: str) -> dict[str, Any]:
    return assert_problem(client.get(path, headers=PROGRAM), 400, "bad-parameter")


HOSTILE = [
    "share=2", "share=-0.1", "share=nan", "share=1e999999999", "share=1/0", "share=", "share=%00",
    "share=%F0%9F%92%A3", "share=call+555+now", "share=<script>alert(1)</script>",
    f"share={'9' * 5000}", f"share={'1/' * 400}", "share=0.5&share=0.5", "seed=1.5",
    "seed=99999999999", "epsilon=1", "picture=1", "case=1", "nothing=1", "share[]=1",
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
def test_a_wrong_input_is_refused_in_words_and_not_repeated(
    client: FlaskClient, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is computed."""

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("deniably_server.api.lab.cached_experiment", never)
    for path in ("/lab/coins", "/api/lab/coins", "/api/lab/coins.csv"):
        problem = refused(client, f"{path}?{query}")
        assert query.partition("=")[2][:40] not in problem["detail"] or len(query) < 12
        assert client.head(f"{path}?{query}").status_code == 400
    page = client.get(f"/lab/coins?{query}", headers=BROWSER)
    assert page.status_code == 400
    assert page.mimetype == "text/html"
    assert "alert(1)" not in page.text
    assert "555" not in page.text
    assert '<a class="button quiet" href="/lab/coins">' in page.text
    assert page.headers["Cache-Control"] == "no-store"


def test_the_refusal_says_what_the_input_may_be(client: FlaskClient) -> None:
    def told(query: str) -> str:
        return str(refused(client, f"/lab/coins?{query}")["detail"])

    assert told("share=2") == f"“share” is {ENTRIES['coins'].inputs['share'].allowed}."
    assert told("epsilon=1").startswith("“epsilon” is no input of this experiment; it has truth,")
    assert told("shar=1").endswith(
        "did you mean “share”? It has " + told("shar=1").split("has ")[1]
    )


@pytest.mark.parametrize(
    "query",
    [
        "case=1", "experiment=nothing", "experiment=one-report&case=0", "n=10",
        "experiment=one-report&case=99", "experiment=one-report&case=1e0",
        "experiment=one-report&case=%D9%A1", "experiment=one-report&epsilon=1",
        "experiment=one-report&prior=7", "experiment=one-report&experiment=coins",
        "experiment=true-or-false-or-none",
    ],
)  # fmt: skip
def test_what_a_survey_does_not_have_is_refused(client: FlaskClient, query: str) -> None:
    for path in (f"/surveys/{SURVEY.name}/lab", f"/api/surveys/{SURVEY.name}/lab"):
        refused(client, f"{path}?{query}")


@pytest.mark.parametrize(
    "path", ["/lab/none", "/lab/..%2f", "/api/lab/none.csv", "/lab/coins/", "/surveys/none/lab",
             "/api/surveys/none/lab?experiment=coins", "/lab/%00", "/lab/coins.json"],
)  # fmt: skip
def test_what_is_no_experiment_is_not_found(client: FlaskClient, path: str) -> None:
    assert_problem(client.get(path, headers=PROGRAM), 404, "not-found")


def test_inputs_that_do_not_go_together_are_refused_as_the_experiment_says(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(**_: object) -> Experiment:
        raise ValueError("truth and yes do not go together")

    coins = replace(ENTRIES["coins"], function=never)
    monkeypatch.setattr("deniably_server.api.lab.entries", lambda: {"coins": coins})

    problem = refused(client, "/lab/coins?truth=0.5")

    assert problem["detail"] == "Truth and yes do not go together."


# --- nothing is stored, and it costs no more than it may ----------------------------------------


def test_an_epsilon_is_shown_beside_those_of_this_server_s_surveys(folder: Path) -> None:
    """The last twenty, all forms of the answer; titles of authors stay texts, and no formulas."""
    app = create_app({"DATABASE": str(folder / "register.db"), "TESTING": True})
    client, store = app.test_client(), app.extensions["deniably"]
    assert "this server:" not in client.get("/lab/choosing-epsilon").text
    bad = "=1+1 <script>alert(1)</script> \"'& See bounds. "
    titles = [f"Title {n}" for n in range(21)] + [bad + "x" * 80]
    for n, title in enumerate(titles):
        survey = survey_named(f"s-{n}", title=title)
        store.publish(survey, signed(survey))

    page = client.get("/lab/choosing-epsilon").text
    rows = [one for one in client.get("/api/lab/choosing-epsilon").get_json()["rows"]
            if str(one.get("who", "")).startswith("this server: ")]  # fmt: skip

    assert len(rows) == 20
    assert {row["who"] for row in rows} == {
        *(f"this server: {title}" for title in titles[2:-1]),
        "this server: =1+1 <script>alert(1)</script> \"'& See bounds…",
    }
    epsilon = float(store.newest_surveys(1)[0].epsilon)
    assert {(row["epsilon"], row["unit"], row["model"], row["source"]) for row in rows} == {
        (epsilon, "person", "yours", "its definition")
    }
    assert "this server: Title 20" in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert not re.search(r"^[=+@-]", client.get("/api/lab/choosing-epsilon.csv").text, re.M)
    assert "this server: Title 20" in client.get("/api/lab/choosing-epsilon.svg?picture=4").text
    store.close()


def test_nothing_is_stored_and_no_cookie_set(
    client: FlaskClient, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def stored() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    before = stored()
    for path in ("/lab", "/lab/coins?share=0.123", "/api/lab/coins?share=0.123",
                 f"/surveys/{SURVEY.name}/lab?experiment=one-report&prior=0.123"):  # fmt: skip
        answer = client.get(path)
        assert answer.status_code == 200
        assert "Set-Cookie" not in answer.headers
    client.get("/lab/coins?share=7.123")

    assert stored() == before
    assert "0.123" not in caplog.text


def test_equal_inputs_are_computed_once_however_they_are_written(folder: Path) -> None:
    config = {"DATABASE": str(folder / "deniably.db"), "TESTING": True}
    app, apart = create_app(config), create_app(config)
    asked: list[str] = []
    compute = answerer(apart)

    def ask(question: bytes) -> bytes:
        asked.append(msgspec.msgpack.decode(question, type=Job).target)
        return compute(question)

    use_queue(app, ComputationQueue(ask, 30, 50))
    client = app.test_client()

    pages = [client.get(f"/lab/one-report?{urlencode({'prior': text})}").text
             for text in ("1/5", "0.2", "20 %", ".20")]  # fmt: skip
    for _ in range(3):
        assert client.get("/lab/one-report?prior=3").status_code == 400

    assert len(set(pages)) == 1
    assert len(asked) == 1
    for each in (app, apart):
        each.extensions["deniably"].close()


def test_no_input_has_a_name_that_a_survey_s_page_needs() -> None:
    assert not {"experiment", "case", "picture"} & set(INPUTS)
