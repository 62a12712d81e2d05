"""The form in every language: nothing left in English, every text marked with its language."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text
from deniably.survey.questions import OfChoices, offered
from deniably.survey.survey import Survey
from deniably.wording.words import LANGUAGES, Words
from deniably_server.storage.store import Store
from support.catalogues import CATALOGUES, ROOT, pattern, texts
from support.every_type import survey_of_everything
from support.material import signed

VOID = {"br", "hr", "img", "input", "link", "meta", "path"}
WORD = re.compile(r"[^\W\d_]{2,}")

Pages = Callable[..., str]


class Reader(HTMLParser):
    """What a page says, in pieces: (language, direction, text), attributes that are read included.

    The data blocks are left out: their texts are those of the catalogues.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[tuple[str, str, str]] = []
        self._open = [("", "ltr", "")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        language, way, _ = self._open[-1]
        here = (given.get("lang", language), given.get("dir", way), tag)
        for name in ("aria-label", "title", "alt", "placeholder"):
            if name in given:
                self.pieces.append((*here[:2], given[name]))
        if tag not in VOID:
            self._open.append(here)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop()[2] == tag

    def handle_data(self, data: str) -> None:
        language, way, tag = self._open[-1]
        if data.strip() and tag != "script":
            self.pieces.append((language, way, data.strip()))


def read(html: str) -> list[tuple[str, str, str]]:
    reader = Reader()
    reader.feed(html)
    return reader.pieces


def words_of(text: str) -> set[str]:
    return {word.casefold() for word in WORD.findall(text)}


def english_alone(language: str, survey: Survey) -> set[str]:
    """Words of English texts that neither this language nor the survey uses."""

    def among(texts: list[tuple[str, str]]) -> set[str]:
        return set[str]().union(*(words_of(text) for _, text in texts))

    own = among(texts(language)) | words_of(survey.canonical.decode())
    return among(texts("en")) - own


@pytest.fixture
def publish(app: Flask) -> Callable[[Survey], None]:
    store: Store = app.extensions["deniably"]
    return lambda survey: store.publish(survey, signed(survey))


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_nothing_on_the_form_is_left_in_english(
    client: FlaskClient, publish: Callable[[Survey], None], language: str
) -> None:
    survey = survey_of_everything(language="en")
    publish(survey)
    html = client.get(f"/s/everything?language={language}").text
    ours = [text for tag, _, text in read(html) if tag == language]

    assert len(ours) > 80
    left = words_of(" ".join(ours)) & english_alone(language, survey)
    assert left == set()
    theirs = {text for tag, _, text in read(html) if tag == "en"}
    assert {question.label for question in survey.questions} <= theirs
    assert survey.title in " ".join(theirs)


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_nothing_on_other_pages_of_the_form_is_left_in_english(
    app: Flask, publish: Callable[[Survey], None], language: str
) -> None:
    survey = survey_of_everything(name="closed")
    publish(survey)
    app.extensions["deniably"].close_survey("closed")
    client = app.test_client()
    for html in (
        client.get(f"/s/closed?language={language}").text,
        client.get("/s/none", headers={"Accept-Language": f"{language};q=0.9,en;q=0.1"}).text,
    ):
        ours = " ".join(text for tag, _, text in read(html) if tag == language)
        assert len(ours) > 20
        assert words_of(ours) & english_alone(language, survey) - {"deniably"} == set()


def test_english_that_is_left_would_be_found() -> None:
    survey = survey_of_everything()

    assert "answers" in words_of("Check your answers") & english_alone("de", survey)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_page_of_the_form_frightens(
    client: FlaskClient, publish: Callable[[Survey], None], language: str
) -> None:
    publish(survey_of_everything())
    html = client.get(f"/s/everything?language={language}").text

    assert [text for _, _, text in read(html) if pattern(language).search(text)] == []


@pytest.mark.parametrize(
    ("language", "asked", "shown"),
    [
        ("de", "", "de"),
        ("de-CH", "", "de"),
        ("de", "?language=fr", "fr"),
        ("de", "?language=xx", "de"),
        ("de", "?language=", "de"),
        ("en", "?language=zh", "zh"),
        ("fa", "", "en"),
        ("fa", "?language=it", "it"),
        ("ar", "", "ar"),
        ("pt-BR", "", "pt"),
    ],
)
def test_the_interface_speaks_the_language_chosen_else_the_surveys_else_english(
    client: FlaskClient,
    publish: Callable[[Survey], None],
    language: str,
    asked: str,
    shown: str,
) -> None:
    publish(survey_of_everything(language=language))
    html = client.get(f"/s/everything{asked}").text

    assert f'<html lang="{shown}"' in html
    assert Words(shown)("check.heading") in html
    current = re.findall(r'<a href="\?language=(\w+)"[^>]*aria-current="true"', html)
    assert current == [shown]


@pytest.mark.parametrize(("language", "way"), [("ar", "rtl"), ("he", "rtl"), ("fr", "ltr")])
def test_the_surveys_texts_are_marked_with_their_language_and_its_way_of_writing(
    client: FlaskClient, publish: Callable[[Survey], None], language: str, way: str
) -> None:
    survey = survey_of_everything(language=language)
    publish(survey)
    pieces = read(client.get("/s/everything?language=de").text)
    marked = {text: (tag, direction) for tag, direction, text in pieces}

    for question in survey.questions:
        assert marked[question.label] == (language, way)
        for choice in offered(question) if isinstance(question, OfChoices) else ():
            assert marked[choice.label] == (language, way)
    assert marked["Nichts davon"] == ("de", "ltr"), "ours among theirs"
    assert marked["Prüfen Sie Ihre Antworten"] == ("de", "ltr")
    assert marked[survey.title] == (language, way)


def test_a_survey_in_the_language_of_the_page_needs_no_marks(
    client: FlaskClient, publish: Callable[[Survey], None]
) -> None:
    publish(survey_of_everything())
    html = client.get("/s/everything").text
    below = html[html.index("</nav>") :]

    assert re.findall(r' lang="(\w+)"', below) == ["en"], "the one place for technical reasons"


@pytest.mark.parametrize("invited", [False, True])
def test_scripts_get_their_texts_and_no_others(
    client: FlaskClient, publish: Callable[[Survey], None], invited: bool
) -> None:
    survey = survey_of_everything()
    publish(msgspec.structs.replace(survey, invited=True) if invited else survey)
    html = client.get("/s/everything?language=zh").text
    block = re.search(r'<script type="application/json" id="words">(.*?)</script>', html)
    assert block
    brought = json.loads(block[1])

    assert brought == {
        key: text
        for key, text in CATALOGUES["zh"].items()
        if key.startswith(("script.", "number.", "fields.", *["invited."] * invited))
    }
    used = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "client/deniably_client/web").glob("*/*.js")
        if path.stem not in ("mixed", "arrived")  # they run on other pages
    )
    asked = set(re.findall(r'words\(\s*"([a-z_.]+)"', used))
    assert {key for key in asked if invited or not key.startswith("invited.")} <= set(brought)


STRONG = "{name: s, title: T, questions: [{name: a, type: yes_no, label: A, odds: 20}]}"
WEAK = STRONG.replace("odds: 20", "odds: 21")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("text", "weak"), [(STRONG, False), (WEAK, True)])
def test_promises_are_as_strong_as_the_odds_of_the_whole_survey(
    client: FlaskClient,
    publish: Callable[[Survey], None],
    language: str,
    text: str,
    weak: bool,
) -> None:
    publish(publish_text(text))
    html = client.get(f"/s/s?language={language}").text
    said = " ".join(text for _, _, text in read(html))
    words = Words(language)

    assert (words("practice.meaning") in said) == (not weak)
    assert (words("practice.meaning_weak") in said) == weak
    assert words("receipt.text") in said


OFTEN = "{name: s, title: T, questions: [{name: a, type: yes_no, label: A, odds: 10}]}"
SELDOM = OFTEN.replace("odds: 10", "odds: 9")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("text", "often"), [(SELDOM, False), (OFTEN, True)])
def test_the_start_says_it_where_the_answers_can_often_be_guessed(
    client: FlaskClient,
    publish: Callable[[Survey], None],
    language: str,
    text: str,
    often: bool,
) -> None:
    """Above a guessing rate of 90 of 100: of odds 9 a guess between two answers is right 9 of 10
    times."""
    publish(publish_text(text))
    words = Words(language)
    html = client.get(f"/s/s?language={language}").text
    said = [text for _, _, text in read(html)]

    assert words("start.promise") in said
    assert any(words("start.doubt_weak") in one for one in said) == often
    assert any(words("start.doubt") in one for one in said) == (not often)
    asked = {weak: words(f"question.guess{weak}", rate="|").split("|")[0] for weak in ("", "_weak")}
    assert any(asked["_weak"] in one for one in said) == often
    assert any(asked[""] in one for one in said) == (not often)
    assert ("91" if often else "90") in said


def test_answers_that_are_added_by_name_are_in_the_language_of_the_survey() -> None:
    text = """
{name: s, title: T, language: de, questions: [
  {name: a, type: yes_no, label: A, odds: 2, also: [dont_know]},
  {name: b, type: yes_no, label: B, odds: 2},
  {name: c, type: select_one, label: C, choices: [x, y], odds: 2, also: [prefer_not_to_say],
   show_if: {question: b, is: "yes"}}]}
"""
    labels = [
        [choice["label"] for choice in question["choices"]]
        for question in json.loads(publish_text(text).canonical)["questions"]
    ]

    assert labels == [
        ["Ja", "Nein", "Weiß nicht"],
        ["Ja", "Nein"],
        ["x", "y", "Möchte ich nicht sagen", "Trifft nicht zu"],
    ]
