"""What a paper says of results: on their page, and as files over HTTP."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path
from random import Random

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.results.writing.publication import Publication
from deniably.trust.signing import fingerprint
from deniably_server.api.document_cache import cache_documents
from deniably_server.api.paper_texts import FILES
from deniably_server.api.results import current_results
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from support.every_type import somebody, survey_of_everything
from support.material import a_report, assert_problem, new_token, signed, survey_named
from support.people import answer

SURVEY = survey_of_everything()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed survey that 300 people have answered."""
    path = tmp_path_factory.mktemp("texts") / "deniably.db"
    with closing(Store(str(path))) as store:
        store.publish(SURVEY, signed(SURVEY))
        random = Random(1)
        answer(store, SURVEY, [somebody(random) for _ in range(300)])
        store.close_survey("everything")
    return path


@pytest.fixture
def database(tmp_path: Path, filled: Path) -> Path:
    return Path(shutil.copy(filled, tmp_path))


@pytest.fixture(scope="module")
def reading(filled: Path) -> Iterator[Flask]:
    """For those who only read: the results are worked out once."""
    app = create_app({"DATABASE": str(filled), "TESTING": True})
    cache_documents(app)
    yield app
    app.extensions["deniably"].close()


def publication(app: Flask, confidence: float = 0.95) -> Publication:
    store: Store = app.extensions["deniably"]
    with app.test_request_context("/"):
        found = current_results("everything", confidence=confidence)
    day = store.closing_day("everything")
    key = fingerprint(signed(SURVEY).author)
    return Publication(found, SURVEY, published=day, closed=day, signed=key)


def plain(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", page)).replace("\u00a0", " ").split())


def test_the_page_has_every_sentence_and_a_button_for_each(reading: Flask) -> None:
    page, paper = reading.test_client().get("/surveys/everything").text, publication(reading)

    for question in SURVEY.questions:
        (said,) = re.findall(rf'id="say-{question.name}">([^<]*)</p>', page)
        assert unescape(said) == paper.sentence(question.name)
        card = page.partition(f'id="{question.name}"')[2].partition("</section>")[0]
        assert f'data-copies="say-{question.name}"' in card
    copied = set(re.findall(r'data-copies="([^"]+)"', page))
    assert {f'id="{one}"' for one in copied} <= set(re.findall(r'id="[^"]+"', page))


def test_methods_references_and_checklist_are_folded_on_the_page(reading: Flask) -> None:
    page, paper = reading.test_client().get("/surveys/everything").text, publication(reading)
    _, _, rest = page.partition('<details id="for-a-paper">')
    text = plain(rest)

    for said in (*paper.section.paragraphs, *(one.apa for one in paper.references)):
        assert plain(said.replace("<", "&lt;")) in text
    for one in paper.checklist:
        assert plain(f"{one.item}. {one.text}") in text
    for file in FILES:
        assert f'href="/api/surveys/everything/paper/{file}"' in rest


@pytest.mark.parametrize("file", FILES)
def test_each_text_is_a_file_of_its_own(reading: Flask, file: str) -> None:
    found = reading.test_client().get(f"/api/surveys/everything/paper/{file}")

    assert found.status_code == 200
    assert found.headers["Content-Disposition"] == f'attachment; filename="everything-{file}"'
    assert found.headers["Content-Type"].startswith("text/plain")
    assert found.text == FILES[file](publication(reading))
    assert SURVEY.digest in found.text


def test_the_level_of_the_intervals_goes_along(app: Flask, client: FlaskClient) -> None:
    page = client.get("/surveys/everything?confidence=0.9").text
    assert "paper/METHODS.md?confidence=0.9" in page
    found = client.get("/api/surveys/everything/paper/METHODS.md?confidence=0.9").text

    assert found == publication(app, 0.9).methods_file()
    assert "90\u00a0% CI" in found


def test_a_citation_has_an_address_only_where_the_operator_named_the_server(
    database: Path, client: FlaskClient
) -> None:
    path = "/api/surveys/everything/paper/references.bib"
    assert "url" not in client.get(path, headers={"Host": "evil.example"}).text.split("@")[1]
    for hosts, expected in (("a.example", True), ("a.example,b.example", False)):
        app = create_app({"DATABASE": str(database), "HOSTS": hosts, "TESTING": True})
        own = app.test_client().get(path, headers={"Host": "a.example"}).text.split("@")[1]
        assert ("url = {https://a.example/surveys/everything}" in own) is expected
        app.extensions["deniably"].close()


def test_other_files_are_refused_by_name(client: FlaskClient) -> None:
    found = assert_problem(
        client.get("/api/surveys/everything/paper/secrets.txt"), 404, "not-found"
    )
    assert "METHODS.md, CHECKLIST.md, CITATION.cff, references.bib, references.ris" in str(found)
    assert_problem(client.get("/api/surveys/none/paper/METHODS.md"), 404, "not-found")
    found = assert_problem(
        client.get("/api/surveys/everything/paper/METHODS.md?level=0.9"), 400, "bad-parameter"
    )
    assert "confidence" in str(found)


def test_texts_of_results_for_analysts_need_the_token(app: Flask) -> None:
    client, store = app.test_client(), app.extensions["deniably"]
    survey = survey_named(results={"minimum": 1, "while_open": False, "to": "analysts"})
    store.publish(survey, signed(survey))
    store.add(survey, a_report(survey))
    path = "/api/surveys/workplace/paper/METHODS.md"
    assert client.get(path).status_code == 401
    shown = {"Authorization": f"Bearer {new_token(store, 'analyst', 'workplace')}"}
    assert client.get(path, headers=shown).status_code == 403  # it is still open
    store.close_survey("workplace")

    assert "1 respondent answered" in client.get(path, headers=shown).text
    page = client.get("/surveys/workplace", headers=shown).text
    assert 'id="say-stolen"' in page


def test_an_open_survey_says_that_its_figures_will_change(app: Flask) -> None:
    client, store = app.test_client(), app.extensions["deniably"]
    survey = survey_named(results={"minimum": 1, "while_open": True})
    store.publish(survey, signed(survey))
    store.add(survey, a_report(survey))
    page = plain(client.get("/surveys/workplace").text)

    assert "This survey is still open, so these figures will change." in page
    assert "survey still open" in page
