"""The home page of a server: what is open and how well it protects, and a finding of each survey
whose results everybody may see."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from random import Random
from threading import Event

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text
from deniably.exhibits.cards import cards
from deniably.results.drawing import axes, rounding, strip
from deniably.results.result import result
from deniably.survey.guessing_rates import guessing, rate_text
from deniably.survey.survey import Survey
from deniably_server.api import cached_views
from deniably_server.api.cached_views import use_queue
from deniably_server.api.computation_queue import ComputationQueue, Computed, Job
from deniably_server.storage.store import Store
from support.every_type import QUESTIONS, somebody, survey_of_everything
from support.material import a_report, new_token, signed, survey_named
from support.people import answer

SHOWN = {"minimum": 3, "while_open": True}
FINDING = re.compile(r'href="/surveys/([\w-]+)">[^<]*</a><span class="what">([^<]*)<')


def asked(store: Store, name: str, reports: int, **rules: object) -> Survey:
    """A published survey with some reports."""
    survey = survey_named(name, title=f"All about {name}", results=SHOWN | rules)
    store.publish(survey, signed(survey))
    for _ in range(reports):
        store.add(survey, a_report(survey))
    return survey


@pytest.fixture
def store(app: Flask) -> Store:
    found: Store = app.extensions["deniably"]
    return found


def found_on(page: str) -> Mapping[str, str]:
    """The notes of the findings by the names of their surveys."""
    return dict(FINDING.findall(page))


def test_a_finding_reads_as_the_results_have_it(client: FlaskClient, store: Store) -> None:
    asked(store, "seen", 40)
    choice = client.get("/api/surveys/seen/results").get_json()["questions"][0]["choices"][0]

    page = client.get("/").text

    assert found_on(page) == {"seen": "Have you ever stolen from work? · “Yes” · 36 people"}, (
        "up to its last batch but one"
    )
    reading = rounding.share(choice["estimate"], choice["interval"])
    assert f">{reading.value}</td>" in page
    assert f">{reading.interval}</td>" in page
    assert page.count('class="b b') == 3, "with all its bands"


def test_a_finding_is_that_of_the_first_card_of_the_results_whatever_its_type(
    client: FlaskClient, store: Store
) -> None:
    random, lines = Random(3), {}
    for index, question in enumerate(QUESTIONS):
        alone = {"claim": {"epsilon": "2"}} | question
        alone.pop("show_if", None)
        survey = survey_of_everything(
            name=f"type-{index}", questions=[alone], results=SHOWN | {"minimum": 1}
        )
        store.publish(survey, signed(survey))
        people = [{alone["name"]: somebody(random)[alone["name"]]} for _ in range(120)]
        answer(store, survey, people)
        (card,) = cards(result(survey, "open", store.shown_tally(survey.name)))
        lines[survey.name] = card

    page = client.get("/").text

    assert found_on(page).keys() == lines.keys()
    for name, card in lines.items():
        (row,) = re.findall(
            rf'<tr role="row"[^>]*><th[^>]*><a href="/surveys/{name}">.*?</tr>', page
        )
        words = html.unescape(re.sub("<[^>]+>", " ", row))
        for said in (card.question.short, card.line.note, "120 people",
                     card.line.reading.value, card.line.reading.interval):  # fmt: skip
            assert said in words
        drawn = strip.strip(card.line, card.own or axes.of_shares([card.line])).source
        assert row.count("<circle") == drawn.count("<circle")
    means = sum(card.own is not None for card in lines.values())
    assert 3 < means < len(lines)
    assert page.count("<table") == 2, "shares on one scale, means each on its own"


@pytest.mark.parametrize(
    ("reports", "rules", "closed", "offered"),
    [
        (40, {"while_open": False}, False, "Results once it is closed"),
        (5, {}, False, "Results from 6 reports on"),
        (2, {}, True, "results hidden: too few answered"),
        (40, {"to": "analysts"}, False, "Results for analysts"),
        (40, {"to": "analysts"}, True, "results for analysts"),
    ],
    ids=["not while it is open", "too few", "closed with too few", "for analysts", "closed, too"],
)
def test_results_that_are_hidden_are_hidden_here(
    client: FlaskClient,
    store: Store,
    reports: int,
    rules: dict[str, object],
    closed: bool,
    offered: str,
) -> None:
    """And what the page offers is true, whatever token a reader has."""
    survey = asked(store, "hidden", reports, **rules)
    if closed:
        store.close_survey("hidden")
    token = new_token(store, "analyst", survey.name)

    for headers in ({}, {"Authorization": f"Bearer {token}"}):
        page = client.get("/", headers=headers).text
        assert found_on(page) == {}
        assert "people<" not in page
        assert 'href="/surveys/hidden"' in page, "but it is listed"
        assert offered in page
        assert not re.search(r">Results<", page.replace('<h2 id="results">Results</h2>', ""))


def test_a_closed_survey_shows_its_finding_and_takes_no_part(
    client: FlaskClient, store: Store
) -> None:
    asked(store, "over", 40, while_open=False)
    store.close_survey("over")

    page = client.get("/").text

    assert set(found_on(page)) == {"over"}
    assert "/s/over" not in page
    assert "too few" not in page


def test_what_is_offered_says_nothing_of_how_many_answered(
    client: FlaskClient, store: Store
) -> None:
    """Below the least number, every number of reports makes the same page."""
    survey = asked(store, "few", 0)
    pages = [client.get("/").text]
    for _ in range(5):
        store.add(survey, a_report(survey))
        pages.append(client.get("/").text)

    assert len(set(pages)) == 1
    assert "Results from 6 reports on" in pages[0]
    store.add(survey, a_report(survey))
    assert client.get("/").text != pages[0]


def test_an_open_survey_says_how_often_a_guess_is_right(client: FlaskClient, store: Store) -> None:
    found = guessing(asked(store, "open", 0))

    page = client.get("/").text

    rates = [rate_text(one) for one in (found.highest, found.everything)]
    assert (
        f"right {rates[0]} of 100 times at most from one answer, {rates[1]} from all 2 answers"
        in page
    )
    assert " (tossing a coin: 50)." in page
    assert "can often be guessed" not in page


def test_what_all_waves_give_away_is_not_shown_as_that_of_one(
    client: FlaskClient, store: Store
) -> None:
    text = "title: W\nlanguage: en\nresults: {minimum: 1}\nwaves: {panel: w}\nquestions:\n"
    question = "  - {name: %s, type: yes_no, label: Stolen?, odds: 3}\n"
    for name, asked_for in (("one", "a"), ("two", "ab")):
        wave = publish_text(f"name: {name}\n{text}{''.join(question % each for each in asked_for)}")
        store.publish(wave, signed(wave))

    page = client.get("/").text

    assert (
        "right 75 of 100 times at most from one answer, 90 from all waves (tossing a coin: 50)."
        in page
    )
    assert " from all 2 answers of all waves (tossing a coin: 50)." in page


def test_an_open_survey_of_weak_protection_says_so(client: FlaskClient, store: Store) -> None:
    text = "name: weak\ntitle: Weak\nlanguage: en\nresults: {minimum: 1}\nquestions:\n"
    weak = publish_text(f"{text}  - {{name: stolen, type: yes_no, label: Stolen?, odds: 19}}\n")
    store.publish(weak, signed(weak))

    page = client.get("/").text

    assert guessing(weak).often
    assert "Weak protection: these answers can often be guessed." in page


def test_texts_of_authors_stay_texts(client: FlaskClient, store: Store) -> None:
    bad = "<script>alert(1)</script>"
    survey = survey_named("bad", title=bad, intro=f"{bad} " * 20, results=SHOWN)
    store.publish(survey, signed(survey))
    for _ in range(3):
        store.add(survey, a_report(survey))

    page = client.get("/").text

    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 2


class Process:
    """Stands for the process that computes."""

    def __init__(self) -> None:
        self.go, self.asked = Event(), 0

    def __call__(self, question: bytes) -> bytes:
        self.asked += 1
        assert msgspec.msgpack.decode(question, type=Job).authorization == ""
        assert self.go.wait(30)
        return msgspec.msgpack.encode(Computed([], b"all of it"))


def test_it_is_computed_once_whatever_comes_in_and_never_waited_for_long(
    app: Flask, client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So its age does not show when a report came; a new survey shows at once."""
    monkeypatch.setattr(cached_views, "_PATIENCE_SECONDS", 0.05)
    process = Process()
    use_queue(app, ComputationQueue(process, 30, 50))
    survey = asked(store, "one", 3)

    first = client.get("/", headers={"Authorization": "Bearer x"}).text
    assert "All about one" in first
    assert "Guessed right" not in first
    process.go.set()
    monkeypatch.setattr(cached_views, "_PATIENCE_SECONDS", 30)
    assert client.get("/").text == "all of it"
    store.add(survey, a_report(survey))
    assert client.get("/").text == "all of it"
    assert process.asked == 1

    asked(store, "two", 0)
    assert client.get("/").text == "all of it"
    assert process.asked == 2


def test_what_is_ten_minutes_old_is_shown_while_it_is_computed_again(
    app: Flask, client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process()
    process.go.set()
    use_queue(app, ComputationQueue(process, 30, 50))
    now = [1000.0]
    monkeypatch.setattr(cached_views, "monotonic", lambda: now[0])
    assert client.get("/").text == "all of it"

    process.go.clear()
    monkeypatch.setattr(cached_views, "_PATIENCE_SECONDS", 0.05)
    now[0] += 600
    assert client.get("/").text == "all of it"
    assert process.asked == 2
    process.go.set()
