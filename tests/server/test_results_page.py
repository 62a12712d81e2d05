"""The results page, read as HTML: the finding first, the table is the chart, no false zero."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from random import Random

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import compile_survey
from deniably.design.release_of_counts import counts_alone
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from support.every_type import somebody, survey_of_everything
from support.material import a_report, signed, survey_named
from support.people import answer
from support.seeded import seeded_coins
from support.studies import TOWN, WORKPLACE, townspeople, workers


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Two closed surveys whose respondents' coins are seeded, so that the pages stay the same."""
    database = tmp_path_factory.mktemp("page") / "deniably.db"
    app = create_app({"DATABASE": str(database), "TESTING": True})
    store: Store = app.extensions["deniably"]
    for document, people in ((WORKPLACE, workers(1400)), (TOWN, townspeople(600))):
        survey = compile_survey(document)
        store.publish(survey, signed(survey))
        answer(store, survey, people, seeded_coins(survey.name))
        store.close_survey(survey.name)
    yield app
    store.close()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


class Read(HTMLParser):
    """The elements of a page with their attributes and the text inside them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[int] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        if tag not in ("meta", "link", "input", "br"):
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        while self.elements[self._open.pop()][0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for index in self._open:
            self.elements[index][2].append(data)

    def texts(self, tag: str, kind: str = "") -> list[str]:
        """The texts of the elements with a tag and a class."""
        return [
            " ".join("".join(text).split())
            for name, attributes, text in self.elements
            if name == tag and (not kind or kind in (attributes.get("class") or "").split())
        ]


def test_method_notes_say_what_the_counts_alone_give_away(workplace: str) -> None:
    """Of 1,400 reports at odds of 3; the server itself is told to know more."""
    page = " ".join(workplace.split())

    survey = compile_survey(WORKPLACE)
    question = survey.questions[0]
    alone = counts_alone(survey, question, 1400)
    assert alone is not None
    assert alone.sentence in page
    assert "among 1,400 honest reports in hidden order they keep epsilon 0." in page
    assert f"against it epsilon {question.mechanism.loss.epsilon_text()} holds" in page


@pytest.fixture(scope="module")
def workplace(app: Flask) -> str:
    """The page of the one survey; to write one costs more than most that is read in it."""
    return page_of(app, "workplace-26")


@pytest.fixture(scope="module")
def town(app: Flask) -> str:
    """That of the other."""
    return page_of(app, "town-26")


@pytest.fixture(params=["workplace", "town"])
def page(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param)
    return found


def page_of(app: Flask, survey: str) -> str:
    found = app.test_client().get(f"/surveys/{survey}")
    assert found.status_code == 200
    return found.text


def test_a_page_is_small_and_has_no_style_of_its_own_and_one_script_that_copies(
    page: str, client: FlaskClient
) -> None:
    read = Read(page)
    sheets = [
        attributes["href"]
        for tag, attributes, _ in read.elements
        if tag == "link" and attributes.get("rel") == "stylesheet"
    ]
    css = b"".join(client.get(sheet or "").data for sheet in sheets)

    assert len(page.encode()) <= 120_000
    assert len(gzip.compress(page.encode() + css)) <= 20_000
    assert not re.search(r"<style|\son[a-z]+=", page)
    scripts = re.findall(r"<script[^>]*>[^<]*", page)
    assert [one for one in scripts if "admin/copy.js" not in one or one[-1] != ">"] == []
    assert len(scripts) == 1
    assert not any("style" in attributes for _, attributes, _ in read.elements)
    assert not any("viewbox" in attributes for _, attributes, _ in read.elements)


def test_every_question_has_its_finding_first_and_one_disclosure(
    page: str, client: FlaskClient
) -> None:
    name = re.findall(r"/api/surveys/([a-z0-9-]+)/results\.csv", page)[0]
    questions = client.get(f"/api/surveys/{name}/results").get_json()["questions"]
    read = Read(page)

    assert read.texts("h2", "q") == [one["label"] for one in questions]
    findings = read.texts("p", "finding")
    assert findings == [" ".join(one["sentence"].split()) for one in questions]
    assert read.texts("summary").count("Numbers and method") == len(questions)
    for one in questions:
        card = page.partition(f'id="{one["name"]}"')[2].partition("</section>")[0]
        picture = card.index("<svg") if "<svg" in card else card.index('<table class="heat"')
        assert card.index("finding") < picture < card.index("<summary>")
        of_everybody = (
            "Shares of everybody: “Not applicable”" in card
        )  # below those of the people who were asked
        assert card.count("<details>") == 1 + of_everybody
        assert f"#{one['name']}" in page.partition("At a glance")[2].partition("</section>")[0]


def test_the_adjusted_shares_come_last_and_say_what_they_are(workplace: str) -> None:
    heads = [
        re.findall(r'<th scope="col">([^<]+)</th>', head)
        for head in re.findall(r'<table class="t">\s*<thead>(.*?)</thead>', workplace, re.DOTALL)
    ]
    shares = [head for head in heads if "Adjusted" in head[-1]]

    assert len(shares) == 5
    assert [head[-1] for head in shares].count("Adjusted to sum to 100") == 4
    assert [head[-1] for head in shares].count("Adjusted, each by itself") == 1, "of ticks"
    assert all(head[1].startswith("Estimate") for head in heads)
    assert "For display" not in workplace


def test_no_share_is_printed_as_nobody_or_everybody(page: str) -> None:
    values = [*Read(page).texts("td", "v"), *Read(page).texts("b")]

    assert len(values) >= 15
    for value in values:
        assert not re.match(r"(0|0\.0|100|100\.0|-.*|−0.*) ?%", value), value
    assert any(value.startswith("below") for value in values)
    assert "-0" not in page.replace("workplace-26", "").replace("town-26", "")


def test_a_per_cent_sign_stays_on_the_line_of_its_number(
    client: FlaskClient, workplace: str, town: str
) -> None:
    for text in (
        workplace,
        town,
        client.get("/surveys/workplace-26/differences?question=who").text,
        client.get("/surveys/workplace-26/crosstab?rows=stolen&columns=who").text,
    ):
        assert not re.search(r"\d +%", re.sub(r"<[^>]+>", "", unescape(text)))


def test_one_calm_statement_of_precision_and_no_flag(page: str) -> None:
    (statement,) = re.findall(r'<div class="precision">(.*?)</div>', page, re.DOTALL)

    assert re.search(r"known to about <strong>±\d+ points</strong>", statement)
    people = int(re.findall(r"With ([\d,]+) people", statement)[0].replace(",", ""))
    assert f"To halve the margins you need {4 * people:,} people." in statement
    assert 'class="flag"' not in page
    assert "There are no signs of fake reports." in page


def test_a_sign_of_fake_reports_stands_at_the_top_with_a_link(app: Flask) -> None:
    store: Store = app.extensions["deniably"]
    survey = survey_named("faked", results={"minimum": 1, "while_open": True})
    store.publish(survey, signed(survey))
    for _ in range(300):
        store.add(survey, a_report(survey, stolen=[0], often=[1, 2]))

    page = app.test_client().get("/surveys/faked").text

    top, card = page.index("Check before you publish."), page.index('id="stolen"')
    assert top < page.index("At a glance") < card
    assert 'href="#stolen"' in page[top:card]
    assert "suspect a faulty device" in page[card:]
    assert "There are no signs of fake reports" not in page


def test_pictures_fit_the_type_of_the_question(client: FlaskClient, town: str) -> None:
    cards = {
        name: town.partition(f'id="{name}"')[2].partition("</section>")[0]
        for name in ("faith", "unsafe", "debt", "hours")
    }

    heat = Read(cards["faith"][1:])
    assert len(heat.texts("td", "m")) == 4 + 3, "both margins"
    assert all(heat.texts("span")), "each interval is visible"
    areas = cards["unsafe"]
    assert areas.count('class="cell on"') == len(
        [
            one
            for one in client.get("/api/surveys/town-26/results").get_json()["questions"][1][
                "cells"
            ]
            if one["stands_out"]
        ]
    )
    assert areas.count('class="cell o') == 36
    assert re.search(r"km\b.*\b(east|west).*km\b.*(north|south)", cards["unsafe"])
    assert cards["debt"].count('r="6.5"') in (0, 20), "twenty dots or none"
    assert "Half at most" in cards["debt"]
    assert cards["hours"].count('class="x"') == 1, "one axis for one range"
    assert "0</text>" in cards["hours"]
    assert "40\u202fhours</text>" in cards["hours"]


def test_the_document_has_no_matrices(client: FlaskClient) -> None:
    document = client.get("/api/surveys/town-26/results")

    assert "weights" not in document.text
    assert len(document.data) < 30_000
    assert "weights" in client.get("/api/surveys/town-26").text, "the definition has them"


@pytest.mark.parametrize("people", [1, 2, 30])
def test_few_respondents_get_a_page_that_claims_nothing(app: Flask, people: int) -> None:
    store: Store = app.extensions["deniably"]
    survey = survey_of_everything(name=f"few-{people}")
    store.publish(survey, signed(survey))
    random = Random(people)
    crowd = [somebody(random) for _ in range(people)]
    answer(store, survey, crowd, seeded_coins(survey.name))

    page = app.test_client().get(f"/surveys/{survey.name}").text

    assert "too few to say" in page
    assert 'class="plot"' not in page, "the shape is not known"
    for value in Read(page).texts("td", "v"):
        assert not re.match(r"(0|100)(\.0)? ?%", value), value
    assert page.count("<section") == 14 + 2


def test_many_choices_are_folded_but_those_that_stand_out(app: Flask) -> None:
    store: Store = app.extensions["deniably"]
    asked = {"name": "word", "type": "select_one", "label": "Which?", "epsilon": 2,
             "choices": [f"Word {v}" for v in range(300)]}  # fmt: skip
    survey = compile_survey(
        {"name": "words", "title": "W", "results": {"minimum": 1, "while_open": True},
         "questions": [asked]}
    )  # fmt: skip
    store.publish(survey, signed(survey))
    answer(store, survey, [{"word": "word_7"}] * 500, seeded_coins(1))

    page = app.test_client().get("/surveys/words").text

    lead, _, folded = page.partition("answers that maybe nobody gave")
    assert re.findall(r'<th role="rowheader" scope="row">([^<]+)', lead) == ["Word 7"]
    assert folded.count("Word ") > 290
