"""The pages of a survey with a mixer: its figures, and one sentence where there can be none."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from random import Random

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.core.coins import Coins
from deniably.results.remote import Remote
from deniably.survey.report import separate_reports
from deniably.survey.survey import Survey
from deniably.trust.envelope import new_opening_key
from deniably.trust.signing import new_key
from deniably.workbench.engines.tally_file import tally_text
from deniably.workbench.engines.tallying import Counts, TalliedSet
from deniably.workbench.fetching import fetch_reports
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from support.cases import for_each
from support.commands import call
from support.every_type import somebody
from support.material import assert_problem, new_token, signed
from support.mixed_results import through_mixer
from support.passing_on import PassedOn, send

PEOPLE = 120
SENTENCE = "These answers travelled apart, so that nobody can put them together again."
APART = [
    "crosstab",
    "crosstab?rows=stolen&columns=happy",
    "crosstab?rows=nonsense",
    "checks",
    "strata",
    "strata?question=happy&by=site",
    "waves",
]
"""Pages of what needs several answers of one person, or a label on the outside of envelopes."""


@pytest.fixture(scope="module")
def some() -> PassedOn:
    """A survey of every type of question, and the keys that its mixer and its server have."""
    opening, signing = new_opening_key(), new_key()
    survey = through_mixer({"open": opening.public, "signing": signing.author})
    return PassedOn(survey, signing, opening)


@pytest.fixture(scope="module")
def survey(some: PassedOn) -> Survey:
    return some.survey


@pytest.fixture(scope="module")
def app(some: PassedOn, tmp_path_factory: pytest.TempPathFactory) -> Flask:
    """A server that took the batch of 120 people from the mixer."""
    database = tmp_path_factory.mktemp("server") / "deniably.db"
    app = create_app({"DATABASE": str(database), "TESTING": True})
    some.publish(app.extensions["deniably"])
    random, names = Random(1), {question.name for question in some.survey.questions}
    sealed = list[bytes]()
    for _ in range(PEOPLE):
        answers = {name: each for name, each in somebody(random).items() if name in names}
        reports = separate_reports(some.survey, answers, Coins(random.randbytes))
        sealed += [some.seal(report.canonical) for report in reports]
    batch = some.batch([*sealed, *some.blanks()], people=PEOPLE)
    assert send(app.test_client(), some, batch, step=1 << 20)["state"] == "taken"
    return app


@pytest.fixture(scope="module")
def batch(app: Flask, survey: Survey) -> TalliedSet:
    """The counts that this server has."""
    tallies = app.extensions["deniably"].shown_tally(survey.name)
    return TalliedSet(survey, (Counts(PEOPLE, tallies),))


@pytest.fixture(scope="module")
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture(scope="module")
def page(client: FlaskClient) -> str:
    answer = client.get("/surveys/everything")
    assert answer.status_code == 200
    return answer.text


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_the_page_of_results_says_what_came_through_whose_mixer(page: str) -> None:
    text = text_of(page)

    assert f"{PEOPLE} people" in text
    assert "epsilon 1.10 a person against the server alone (odds 3.00; delta 0.000001)" in text
    assert "if the mixer works with it" in text
    assert "a mixer, which Works council of Example Ltd runs" in text
    assert "added 220 made-up answers to every question" in text
    assert "anonym" not in text.casefold()


def test_the_page_offers_nothing_that_cannot_be_and_says_why_once(page: str) -> None:
    links = re.findall(r'href="([^"]*)"', page)

    assert text_of(page).count(f"How answers go together {SENTENCE}") == 1
    for part in ("crosstab", "checks", "strata", "waves", "reports.", "/handbook/data"):
        assert not [link for link in links if part in link], part
    assert "Whole reports" not in page
    assert "/lab" not in "".join(link for link in links if "surveys" in link), "of local odds alone"
    assert "Why so uncertain?" not in page, "that page knows no blanks"
    assert "Somebody who sees only the counts" not in page, "the claim holds, whoever else answers"


@pytest.mark.thorough
def test_every_page_that_is_offered_is_there(client: FlaskClient, page: str) -> None:
    """Differences between the answers of one question, groups on a map, figures and files."""
    links = {html.unescape(link) for link in re.findall(r'href="(/(?:api/)?surveys/[^"#]*)"', page)}
    assert [link for link in links if "differences" in link]
    assert [link for link in links if "groups" in link]
    for link in links:
        assert client.get(link).status_code == 200, link
    test = client.get(
        "/api/surveys/everything/difference?question=happy&choice=happy&other=neither"
    )
    assert test.status_code == 200


@for_each("way", APART)
def test_what_cannot_be_is_one_problem_with_one_sentence(client: FlaskClient, way: str) -> None:
    if "/" not in way and way not in ("crosstab", "strata"):  # choosers, which are pages alone
        problem = assert_problem(
            client.get(f"/api/surveys/everything/{way}"), 404, "travelled-apart"
        )
        assert problem["detail"] == SENTENCE


@for_each("way", APART)
def test_its_page_has_the_sentence_and_leads_back(client: FlaskClient, way: str) -> None:
    answer = client.get(f"/surveys/everything/{way}", headers={"Accept": "text/html"})

    assert answer.status_code == 404
    assert SENTENCE in text_of(answer.text)
    assert "yet" not in text_of(answer.text).split(SENTENCE)[0].split(), "nor will it ever be shown"
    assert 'href="/surveys/everything"' in answer.text


@for_each("ending", ["csv", "ndjson", "parquet"])
def test_reports_are_given_to_nobody(client: FlaskClient, ending: str) -> None:
    answer = client.get(f"/api/surveys/everything/reports.{ending}")
    assert assert_problem(answer, 404, "travelled-apart")["detail"] == SENTENCE


def test_differences_between_groups_are_refused_too(client: FlaskClient) -> None:
    query = "question=happy&choice=happy&by=site"
    answer = client.get(f"/api/surveys/everything/difference?{query}")
    assert assert_problem(answer, 404, "travelled-apart")["detail"] == SENTENCE


def test_who_may_not_see_results_learns_no_more(survey: Survey, tmp_path: Path) -> None:
    """Permission comes first: a survey for analysts asks for a token before it says anything."""
    app = create_app({"DATABASE": str(tmp_path / "deniably.db"), "TESTING": True})
    store: Store = app.extensions["deniably"]
    results = {"minimum": 1, "while_open": False, "to": "analysts"}
    store.publish(hidden := through_mixer(name="hidden", results=results), signed(hidden))
    client = app.test_client()
    token = {"Authorization": f"Bearer {new_token(store, 'analyst', 'hidden')}"}
    for way in ("crosstab?rows=stolen&columns=happy", "tally"):
        path = f"/api/surveys/hidden/{way}"
        assert_problem(client.get(path), 401, "unauthorised")
        assert_problem(client.get(path, headers=token), 403, "hidden")


# --- the commands -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(batch: TalliedSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("mixed") / "tally.json"
    path.write_bytes(tally_text(batch))
    return path


def test_a_tally_file_gives_the_results_of_the_server(file: Path, client: FlaskClient) -> None:
    expected = client.get("/api/surveys/everything/results").get_json()
    assert json.loads(call("results", "--tally", file, "--json").stdout) == expected
    assert (expected["senders"], expected["blanks"]) == (PEOPLE, 220)


def test_pages_of_a_tally_file_offer_no_more_than_the_server_s(file: Path, tmp_path: Path) -> None:
    done = call("results", "--tally", file, "--to", tmp_path / "pages")

    assert "index.html" in done.stdout, done.stderr
    names = [path.name for path in (tmp_path / "pages").rglob("*")]
    for part in ("crosstab", "checks", "strata", "waves"):
        assert not [name for name in names if part in name]
    assert SENTENCE in text_of((tmp_path / "pages/index.html").read_text())


def test_an_export_says_the_sentence(app: Flask, tmp_path: Path, survey: Survey) -> None:
    database = app.config["DATABASE"]
    done = call("export", "everything", "--database", database, "--to", tmp_path / "data")
    assert SENTENCE in done.stderr
    assert not (tmp_path / "data").exists()
    with pytest.raises(Exception, match=SENTENCE):  # before a server is asked
        fetch_reports(Remote("http://127.0.0.1:1", "everything", None), survey)


def test_a_second_tally_file_of_the_survey_cannot_be_added(file: Path, tmp_path: Path) -> None:
    done = call("tally", "--merge", file, "--merge", file, "--to", tmp_path / "both.json")
    assert done.returncode
    assert not (tmp_path / "both.json").exists()
