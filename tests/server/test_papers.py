"""Figures for papers over HTTP: the file, its page, and who may have them."""

from __future__ import annotations

import html
import json
import re
import shutil
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.exhibits.results_table import as_results
from deniably.results.drawing import rounding
from deniably.results.drawing.rounding import NARROW
from deniably_server.api.results import current_results
from deniably_server.storage.store import Store
from support.cases import for_each
from support.every_type import somebody, survey_of_everything
from support.material import a_report, assert_problem, new_token, signed, survey_named
from support.people import answer

SURVEY = survey_of_everything()
NAMES = [question.name for question in SURVEY.questions]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a survey that 300 people have answered."""
    path = tmp_path_factory.mktemp("figures") / "deniably.db"
    with closing(Store(str(path))) as store:
        store.publish(SURVEY, signed(SURVEY))
        random = Random(1)
        answer(store, SURVEY, [somebody(random) for _ in range(300)])
    return path


@pytest.fixture
def database(tmp_path: Path, filled: Path) -> Path:
    return Path(shutil.copy(filled, tmp_path))


@pytest.fixture
def answered(app: Flask) -> Store:
    store: Store = app.extensions["deniably"]
    return store


def address(question: str = "stolen", query: str = "") -> str:
    return f"/api/surveys/everything/figures/{question}.svg{query}"


def test_every_question_has_a_figure_that_says_where_it_is_from(
    answered: Store, client: FlaskClient
) -> None:
    answered.close_survey("everything")
    day = answered.closing_day("everything")

    for name in NAMES:
        found = client.get(address(name, "?width=180"))
        assert found.mimetype == "image/svg+xml"
        assert found.headers["Content-Disposition"].endswith(f'"everything-{name}-180mm.svg"')
        picture = ElementTree.fromstring(found.text)
        words = " ".join(picture.itertext())
        question = next(one for one in SURVEY.questions if one.name == name)
        assert question.label in words
        assert f"epsilon {question.mechanism.loss.epsilon_text()}" in words
        assert f"{SURVEY.total.epsilon_text()} a person" in words
        assert f"survey everything ({SURVEY.digest[:12]}), 300 people, closed {day}" in words
        assert "a random sample of" in words
        assert "style" not in found.text


def test_the_figure_has_the_numbers_of_the_results(answered: Store, client: FlaskClient) -> None:
    question = client.get("/api/surveys/everything/results").get_json()["questions"][1]

    described = ElementTree.fromstring(client.get(address("what")).text)[1].text or ""

    offered = question["among_asked"]["choices"]
    assert "Not applicable" not in described, "its shares are of those who were asked"
    for choice in offered:
        assert f"{choice['label']} " in described
    shown = re.findall(r"\((\d+) to (\d+)\u00a0%\)", described)
    assert len(shown) == len(offered) + 1, "and the share of those who were asked"
    for choice, ends in zip(offered, shown[:-1], strict=True):
        # Rounded outwards where one end alone is printed ("below 48 %").
        for end, exact in zip(ends, choice["interval"], strict=True):
            assert abs(int(end) - 100 * exact) < 1


def test_a_product_is_a_table_with_both_margins_and_a_place_is_a_map(
    answered: Store, client: FlaskClient
) -> None:
    results = client.get("/api/surveys/everything/results").get_json()["questions"]
    product, place = (next(one for one in results if one["name"] == n) for n in ("vote", "home"))

    files = [client.get(address(name)).text for name in ("vote", "home")]

    table, places = (ElementTree.fromstring(file) for file in files)
    described = table[1].text or ""
    for cell in product["cells"]:
        reading = rounding.share(cell["estimate"], cell["interval"])
        said = f"{', '.join(cell['names'])} {reading.value} ({reading.interval})"
        assert said.replace(NARROW, "\u00a0") in described
    one, other = product["parts"]
    for choice in one["choices"]:
        assert f"{choice['label']}, All " in described
    for choice in other["choices"]:
        assert f"All, {choice['label']} " in described
    assert "circle" not in files[0]
    assert "<text" in files[0]
    words = " ".join(places.itertext())
    for side in place["sides"]:
        assert side["label"] in words
    out = [cell for cell in place["cells"] if cell["stands_out"]]
    assert files[1].count("<circle") == len(out)
    assert 'fill="#eceee9"' in files[1], "its ground"


def test_it_follows_the_confidence_and_the_width(answered: Store, client: FlaskClient) -> None:
    narrow = client.get(address(query="?confidence=0.8")).text.replace("\u00a0", " ")

    assert "Lines: 80 % intervals; bands: 50 %." in narrow
    assert narrow.count("fill-opacity") == 2 * 2
    assert client.get(address()).text == client.get(address(query="?width=85")).text
    assert 'width="180mm"' in client.get(address(query="?width=180")).text
    assert "still open" in narrow


def test_a_notebook_has_the_same_figure(app: Flask, answered: Store, client: FlaskClient) -> None:
    answered.close_survey("everything")
    with app.test_request_context():
        found = as_results(current_results("everything"))

    drawn = found.figure("happy", width=180)

    day = f" {answered.closing_day('everything')}"
    assert client.get(address("happy", "?width=180")).text.replace(day, "") == drawn
    assert cast(Any, drawn)._repr_svg_() == drawn  # what a notebook asks for
    with pytest.raises(KeyError, match="no question 'sad'; there are stolen, what"):
        found.figure("sad")
    with pytest.raises(ValueError, match="85 or 180"):
        found.figure("happy", width=90)


def test_the_page_offers_both_widths_and_words_for_the_text(
    answered: Store, client: FlaskClient
) -> None:
    page = html.unescape(client.get("/surveys/everything/figures/happy?confidence=0.9").text)
    page = page.replace(NARROW, " ")

    for width in (85, 180):
        here = address("happy", f"?confidence=0.9&width={width}")
        assert f'<img src="{here}" alt="Unhappy ' in page
        assert f'download="everything-happy-{width}mm.svg"' in page
        assert f'data-figure="{here}" data-width="{width}"' in page
    assert "300 people answered “How happy are you at work?” under local differential" in page
    assert "90 % intervals: Unhappy " in page
    assert '<a href="/surveys/everything?confidence=0.9">' in page


def test_each_card_of_the_results_leads_to_its_figure(answered: Store, client: FlaskClient) -> None:
    page = client.get("/surveys/everything?confidence=0.9").text

    for name in NAMES:
        link = f"/surveys/everything/figures/{name}?confidence=0.9"
        assert page.count(f'href="{link}"') == 1
        assert client.get(link).status_code == 200


def test_a_quantile_has_its_interval_and_no_band(answered: Store, client: FlaskClient) -> None:
    picture = ElementTree.fromstring(client.get(address("income")).text)

    words = " ".join(picture.itertext())

    for quantile in ("A quarter at most", "Half at most", "Nine in ten at most"):
        assert quantile in words
    bands = [one for one in picture.iter() if one.get("fill-opacity") in ("0.24", "0.45")]
    assert len(bands) == 2  # of the mean


@for_each(
    ("question", "query", "status", "problem"),
    [
        ("nothing", "", 404, "not-found"),
        ("../../results", "", 404, "not-found"),
        ("%2e%2e", "", 404, "not-found"),
        ("stolen%00", "", 404, "not-found"),
        ("<script>", "", 404, "not-found"),
        ("x" * 4000, "", 404, "not-found"),
        ("stolen", "?width=84", 400, "bad-parameter"),
        ("stolen", "?width=-85", 400, "bad-parameter"),
        ("stolen", "?width=1e9", 400, "bad-parameter"),
        ("stolen", "?width=85&width=180", 400, "bad-parameter"),
        ("stolen", "?wide=85", 400, "bad-parameter"),
        ("stolen", "?confidence=2", 400, "bad-parameter"),
    ],
)
def test_what_is_asked_wrongly_is_refused(
    answered: Store, client: FlaskClient, question: str, query: str, status: int, problem: str
) -> None:
    found = assert_problem(client.get(address(question, query)), status, problem)

    assert "<script>" not in json.dumps(found)


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_a_figure_is_only_read(answered: Store, client: FlaskClient, method: str) -> None:
    assert_problem(getattr(client, method)(address()), 405, "method-not-allowed")


def test_what_is_hidden_has_no_figure(app: Flask, client: FlaskClient) -> None:
    store: Store = app.extensions["deniably"]
    hidden = survey_named()
    store.publish(hidden, signed(hidden))

    for path in ("/api/surveys/workplace/figures/stolen.svg", "/surveys/workplace/figures/stolen"):
        found = client.get(path)
        assert found.status_code == 403
        assert "<svg" not in found.text
    assert client.get("/api/surveys/workplace/figures/nothing.svg").status_code == 403


def test_a_page_for_analysts_has_the_figure_itself(app: Flask) -> None:
    client, store = app.test_client(), app.extensions["deniably"]
    rules = {"minimum": 1, "while_open": False, "to": "analysts"}
    survey = survey_named(results=rules)
    store.publish(survey, signed(survey))
    store.add(survey, a_report(survey))
    store.close_survey("workplace")
    token = new_token(store, "analyst", "workplace")
    shown = {"Authorization": f"Bearer {token}"}
    # An image of the page could not show the token; so the picture is in the page itself.
    found = client.get("/surveys/workplace/figures/stolen", headers=shown).text
    assert found.count("<svg xmlns") == 2
    assert "<img" not in found
