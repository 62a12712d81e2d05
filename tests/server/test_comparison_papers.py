"""Figures for papers of cross-tables, differences and waves: the file, its page, and the way
there."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import compile_survey
from deniably.results.drawing import rounding
from deniably.results.drawing.rounding import NARROW
from deniably.survey.survey import Survey
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from support.material import assert_problem, new_token, signed
from support.people import answer

KINDS = {
    "crosstab": "rows=often&columns=stolen",
    "differences": "question=often",
    "waves": "question=often",
}
"""What is compared in the same two questions, with its query."""


def survey(name: str, **rest: Any) -> Survey:
    questions = [
        {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 9},
        {
            "name": "often", "type": "select_one", "short": "How often", "odds": 9,
            "label": "How often have you stolen?", "choices": ["Never", "Once", "Daily"],
        },
    ]  # fmt: skip
    shown = {"minimum": 10, "while_open": True}
    return compile_survey(
        {"name": name, "title": "All & more", "results": shown, "questions": questions} | rest
    )


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Two closed waves of a panel, whose second has more thieves; and two, one for analysts."""
    database = tmp_path_factory.mktemp("compared") / "deniably.db"
    app = create_app({"DATABASE": str(database), "TESTING": True})
    store: Store = app.extensions["deniably"]
    random = Random(7)
    mine = {"to": "analysts"}
    for name, panel, share, rules in (
        ("one", "for-all", 0.2, {}),
        ("two", "for-all", 0.7, {}),
        ("theirs", "for-analysts", 0.2, {}),
        ("ours", "for-analysts", 0.7, mine),
    ):
        shown = {"minimum": 10, "while_open": True} | rules
        asked = survey(name, waves={"panel": panel}, results=shown)
        store.publish(asked, signed(asked))
        thieves = [random.random() < share for _ in range(400)]
        people = [
            {"stolen": "yes", "often": "once"} if one else {"stolen": "no", "often": "never"}
            for one in thieves
        ]
        answer(store, asked, people)
        store.close_survey(name)
    yield app
    store.close()


@pytest.fixture(scope="module")
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def drawn(client: FlaskClient, kind: str, query: str = "") -> ElementTree.Element:
    found = client.get(f"/api/surveys/two/{kind}.svg?{KINDS[kind]}{query}")
    assert found.status_code == 200, found.text
    assert found.mimetype == "image/svg+xml"
    assert not re.search(r"style|class=|script|href|url\(|@import|<!", found.text)
    return ElementTree.fromstring(found.text)


def words_of(picture: ElementTree.Element) -> str:
    return " ".join(picture.itertext()).replace("\u00a0", " ")


@pytest.mark.parametrize("kind", KINDS)
def test_each_says_where_it_is_from_and_how_answers_are_protected(
    app: Flask, client: FlaskClient, kind: str
) -> None:
    store: Store = app.extensions["deniably"]

    words = words_of(drawn(client, kind, "&width=180"))

    epsilon = survey("two").questions[1].mechanism.loss.epsilon_text()
    assert f"epsilon {epsilon}" in words
    assert "a random sample of" in words
    assert "All & more" in words
    if kind == "waves":
        assert "Source: panel for-all, All & more, surveys one, two; closed." in words
    else:
        digest = store.survey("two").digest[:12]
        day = store.closing_day("two")
        assert f"survey two ({digest}), 400 people, closed {day}. Made with" in words


def test_a_cross_table_has_the_numbers_of_the_page_in_each_of_its_ways(client: FlaskClient) -> None:
    found = client.get(f"/api/surveys/two/crosstab?{KINDS['crosstab']}").get_json()

    for of, key in (("rows", "of_row"), ("columns", "of_column"), ("all", None)):
        described = drawn(client, "crosstab", f"&of={of}")[1].text or ""
        for row, line in zip(found["rows"], found["cells"], strict=True):
            for column, cell in zip(found["columns"], line, strict=True):
                share = cell if key is None else cell[key]
                estimate, interval = share["estimate"], share["interval"]
                reading = rounding.share(0.5 if estimate is None else estimate, interval)
                value = rounding.UNKNOWN if estimate is None else reading.value
                said = f"{row}, {column} {value} ({reading.interval})"
                assert said.replace(NARROW, "\u00a0") in described
    words = words_of(drawn(client, "crosstab"))
    assert found["sentence"].replace("\u00a0", " ") in words
    assert "“All” is of everybody" in words
    assert len(drawn(client, "crosstab").findall(".//{*}circle")) > 0, "strips of a row's share"
    assert drawn(client, "crosstab", "&of=all").findall(".//{*}circle") == []


def test_differences_are_open_and_grey_where_they_are_none(client: FlaskClient) -> None:
    found = client.get(f"/api/surveys/two/differences?{KINDS['differences']}").get_json()

    picture = drawn(client, "differences")

    dots = [one.get("fill") for one in picture.findall(".//{*}circle")]
    apart = [one for one in found["differences"] if one["adjusted_p_value"] < 0.05]
    assert dots.count("#0b6158") == len(apart) > 0
    assert len(dots) == len(found["differences"]) == 3
    words = words_of(picture)
    for one in found["differences"]:
        assert set(re.findall(r"\w+ over \w+", words)) & {
            " over ".join(one["labels"]), " over ".join(one["labels"][::-1])
        }  # fmt: skip
    assert "Holm 1979" in words
    other = client.get("/api/surveys/two/differences.svg?question=often&survey=one")
    assert "Shares less those in survey one" in other.text


def test_waves_have_a_picture_of_each_answer_with_every_number(client: FlaskClient) -> None:
    found = client.get("/api/surveys/two/waves").get_json()
    (often,) = (one for one in found["questions"] if one["name"] == "often")

    picture = drawn(client, "waves")

    described = picture[1].text or ""
    for series in often["choices"]:
        assert f"{series['label']}: wave 1 " in described
        for place in series["places"]:
            reading = rounding.share(place["estimate"], place["interval"])
            said = f"wave {place['wave']} {reading.value} ({reading.interval})"
            assert said.replace(NARROW, "\u00a0") in described
    assert len(picture.findall(".//{*}circle")) == 2 * len(often["choices"])
    words = words_of(picture)
    assert "“Never” falls from" in words, "a test shows it"
    assert "“Once” rises from" in words
    assert f"All {found['tests']} tests of this panel" in words


@pytest.mark.parametrize("kind", KINDS)
def test_each_page_leads_to_its_figure_in_both_widths(client: FlaskClient, kind: str) -> None:
    page = client.get(f"/surveys/two/{kind}?{KINDS[kind]}&confidence=0.9"
                      if kind != "waves" else "/surveys/two/waves?confidence=0.9").text  # fmt: skip
    links = re.findall(r'href="([^"]+)">Figure for a paper', page)
    (link,) = (html.unescape(one) for one in links if "question=stolen" not in one)

    figure = html.unescape(client.get(link).text)

    assert "confidence=0.9" in link
    for width in (85, 180):
        (address,) = re.findall(f'<img src="([^"]+width={width})" alt="[^"]{{20,}}"', figure)
        assert f'data-figure="{address}" data-width="{width}"' in figure
        assert "90\u00a0% intervals" in client.get(address).text
    csv, back = re.findall(r'<p class="small"><a href="([^"]+)">[^<]*</a> · <a href="([^"]+)"',
                           figure)[0]  # fmt: skip
    for path in (csv, back):
        assert client.get(path).status_code == 200
    assert "400 people answered" in figure or "In 2 waves, 400, 400 people answered" in figure


def test_without_questions_a_page_asks_for_them_and_a_file_says_what_is_missing(
    client: FlaskClient,
) -> None:
    assert "<select" in client.get("/surveys/two/crosstab/figure?rows=often").text
    assert "<select" in client.get("/surveys/two/differences/figure").text
    assert client.get("/surveys/two/waves/figure").status_code == 400
    for path in ("crosstab.svg?rows=often", "crosstab.svg?rows=often&columns=often",
                 "differences.svg?question=none", "waves.svg", "waves.svg?question=none",
                 *(f"{kind}.svg?{KINDS[kind]}&width=84" for kind in KINDS),
                 f"crosstab.svg?{KINDS['crosstab']}&of=none"):  # fmt: skip
        assert_problem(client.get(f"/api/surveys/two/{path}"), 400, "bad-parameter")


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_for_analysts_asks_for_a_token_and_holds_the_picture_itself(
    app: Flask, client: FlaskClient, kind: str
) -> None:
    paths = (
        f"/api/surveys/ours/{kind}.svg?{KINDS[kind]}",
        f"/surveys/ours/{kind}/figure?{KINDS[kind]}",
    )
    assert_problem(client.get(paths[0]), 401, "unauthorised")
    assert "<svg xmlns" not in client.get(paths[1]).text
    token = new_token(app.extensions["deniably"], "analyst", "ours")

    page = client.get(paths[1], headers={"Authorization": f"Bearer {token}"}).text

    assert page.count("<svg xmlns") == 2
    assert "<img" not in page


@pytest.mark.parametrize(
    "path",
    ["theirs/waves/figure?question=often", "two/differences/figure?question=often&survey=ours"],
)
def test_so_does_one_of_a_survey_for_everybody_beside_one_for_analysts(
    app: Flask, client: FlaskClient, path: str
) -> None:
    token = new_token(app.extensions["deniably"], "analyst")

    page = client.get(f"/surveys/{path}", headers={"Authorization": f"Bearer {token}"}).text

    assert page.count("<svg xmlns") == 2
    assert "<img" not in page
