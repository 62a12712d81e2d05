"""The page of a class: it shows what the results show to the same caller, and nothing before."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from typing import Any

import numpy as np
import pytest
import zxingcpp
from flask import Flask
from flask.testing import FlaskClient

from deniably import lab
from deniably.authoring.compiling import compile_survey
from deniably.lab import classroom
from deniably.lab.catalogue import entries
from deniably.results.shown import of_choice
from deniably.survey.survey import Survey
from deniably.wording.words import LANGUAGES, Words
from deniably_server.api.cached_views import answerer, use_queue
from deniably_server.api.computation_queue import ComputationQueue
from deniably_server.api.results import shown_results
from deniably_server.guard.own_address import own_address
from deniably_server.storage.store import Store
from support.every_type import somebody, survey_of_everything
from support.material import a_report, assert_problem, new_token, signed

pytestmark = pytest.mark.usefixtures("drawn_once")

STEP = 10
HOST = "192.168.1.7:8000"
COINS = {"name": "copied", "type": "yes_no", "label": "Have you ever copied homework?",
         "coins": {"truth": 0.5}}  # fmt: skip


def in_class(name: str = "class", *questions: dict[str, Any], **rules: Any) -> Survey:
    results = {"minimum": STEP, "while_open": True} | rules
    return compile_survey({"name": name, "title": "A question to the class", "results": results,
                           "questions": list(questions) or [COINS]})  # fmt: skip


@pytest.fixture
def store(app: Flask) -> Store:
    found: Store = app.extensions["deniably"]
    return found


def published(store: Store, survey: Survey) -> Survey:
    store.publish(survey, signed(survey))
    return survey


def come(store: Store, survey: Survey, count: int) -> None:
    for n in range(count):
        store.add(survey, a_report(survey, copied=[n % 2]))


def page_of(client: FlaskClient, name: str = "class", **more: Any) -> str:
    headers = {"Host": HOST} | more.pop("headers", {})
    answer = client.get(f"/surveys/{name}/class", headers=headers, **more)
    assert answer.status_code == 200, answer.text
    return unescape(answer.text)


def said(page: str, kind: str) -> list[str]:
    return re.findall(rf'<p class="{kind}">(.*?)</p>', page)


# --- what it shows is what the results show -----------------------------------------------------


def test_number_and_estimate_are_those_of_the_results_at_every_moment(
    client: FlaskClient, store: Store
) -> None:
    survey = published(store, in_class())
    pages: list[str] = []
    for _ in range(37):
        come(store, survey, 1)
        pages.append(page_of(client))
        found = client.get("/api/surveys/class/results")
        if found.status_code == 403:
            assert said(pages[-1], "many") == []
            assert "There is nothing to reveal yet." in pages[-1]
            continue
        document = found.get_json()
        shown = document["questions"][0]["choices"][0]
        low, high = map(float, re.findall(r'id="hit" data-low="(.*?)" data-high="(.*?)"',
                                          pages[-1])[0])  # fmt: skip
        assert [low, high] == shown["interval"]
        many, interval = said(pages[-1], "many")
        assert many == f"{document['n']} reports"
        assert interval.startswith("95 % interval: ")

    assert len(set(pages[:19])) == len(set(pages[19:29])) == len(set(pages[29:])) == 1
    assert len(set(pages)) == 3
    store.close_survey("class")
    assert said(page_of(client), "many")[0] == "37 reports"


def test_the_estimate_reads_as_on_the_page_of_results(client: FlaskClient, store: Store) -> None:
    survey = published(store, in_class())
    come(store, survey, 400)
    with client.application.test_request_context():
        (question,) = shown_results("class").questions
    row = of_choice(question.choices[0])  # type: ignore[union-attr]

    page = page_of(client)

    assert row.reading.state == "known"
    assert said(page, "finding")[0] == f"“Yes”: about {row.reading.value}"
    assert said(page, "many")[1] == f"95 % interval: {row.reading.interval}"
    assert row.reading.value in client.get("/surveys/class").text


def test_too_few_reports_are_called_too_few(client: FlaskClient, store: Store) -> None:
    survey = published(store, in_class(minimum=2))
    come(store, survey, 4)

    page = page_of(client)

    assert "2 reports are too few to say anything." in said(page, "finding")
    assert "<polyline" in page
    assert "this survey" not in page, "no dot where nothing is known"


def test_the_funnel_is_the_experiment_with_the_surveys_own_numbers(
    client: FlaskClient, store: Store
) -> None:
    survey = published(store, in_class("class", COINS | {"coins": {"truth": 0.7}}))
    come(store, survey, 40)
    (question,) = survey.questions

    before = page_of(client, query_string={"people": 24})

    _legend, circles = re.findall(r'<g class="d t-second".*?</g>', before)
    found = classroom.target(survey, question)
    assert found
    result = client.get("/api/surveys/class/results").get_json()["questions"][0]
    share = round(100 * min(max(result["choices"][0]["estimate"], 0), 1)) / 100
    made = lab.noise_averages_out(question=question, n=[10, 24, 30, 48, 300], share=share)
    drawn = [row for row in made.rows if row["what"] == "survey"]
    assert circles.count("<circle") == len(drawn) > 20
    (words,) = re.findall(r"<desc>(.*?)</desc>", before)
    at = float(re.findall(r"this survey: 30, ([\d.]+)\.", words)[0])
    assert at == pytest.approx(min(max(result["choices"][0]["estimate"], 0), 1), abs=1e-4)


def test_the_picture_has_the_shares_that_there_are_and_says_which_one_it_assumes(
    client: FlaskClient, store: Store
) -> None:
    """Ten people may seem to be 150 % or fewer than none; no share is."""
    survey = published(store, in_class())

    before = page_of(client)
    come(store, survey, 40)
    after = page_of(client)

    for page in (before, after):
        (figure,) = re.findall(r'<figure data-low="(.*?)" data-high="(.*?)">', page)
        ticks = re.findall(r'<text x="0"[^>]*>(-?\d+)\u202f%</text>', page)
        assert ticks == ["0", "20", "40", "60", "80", "100"], page
        _legend, dots = re.findall(r'<g class="d t-second".*?</g>', page)
        heights = [float(y) for y in re.findall(r' cy="([\d.]+)"', dots)]
        low, high = map(float, figure)
        assert len(heights) == 20
        assert all(high - 0.1 <= y <= low + 0.1 for y in heights)
    assert "assumed truth: 50\u202f%" in before
    assert "assumed truth: our own estimate" in after
    assert "50\u202f%" not in re.findall(r"<svg class=.plot graph.*?</svg>", after)[0]


# --- what is hidden stays hidden ----------------------------------------------------------------


METHODS = ("POST", "PUT", "PATCH", "DELETE")


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"while_open": False}, "once the survey is closed, with at least 10 reports"),
        ({"minimum": 1000}, "from 2,000 reports on"),
        ({"to": "analysts"}, "are for analysts only"),
    ],
)
def test_hidden_results_leave_the_page_as_it_is_without_a_report(
    client: FlaskClient, store: Store, rules: dict[str, Any], why: str
) -> None:
    survey = published(store, in_class("class", **rules))
    asked: list[dict[str, Any]] = [{}, {"people": 40}, {"language": "fr"}, {"question": "copied"}]
    first = [page_of(client, query_string=query) for query in asked]
    assert why in first[0]

    for count in (1, 9, 1, 20):
        come(store, survey, count)
        assert [page_of(client, query_string=query) for query in asked] == first
        for tag in ('"x"', "*"):
            page = client.get("/surveys/class/class", headers={"If-None-Match": tag, "Host": HOST})
            assert page.status_code == 200
            assert unescape(page.text) == first[0]
            assert page.headers["Cache-Control"] == "no-store"
            assert not {"ETag", "Last-Modified"} & set(page.headers.keys())
        head = client.head("/surveys/class/class", headers={"Host": HOST})
        assert head.data == b""
        assert head.headers["Content-Length"] == page.headers["Content-Length"]
        for method in METHODS:
            assert client.open("/surveys/class/class", method=method).status_code == 405


def test_a_survey_that_was_closed_with_too_few_shows_nothing(
    client: FlaskClient, store: Store
) -> None:
    survey = published(store, in_class())
    come(store, survey, STEP - 1)
    store.close_survey("class")

    page = page_of(client)

    assert "closed with fewer than 10 reports" in page
    assert said(page, "many") == []
    assert "This survey is closed" in page
    assert 'class="qr"' not in page


def test_who_may_see_results_for_analysts_sees_them_here_and_nobody_else(
    client: FlaskClient, store: Store
) -> None:
    survey = published(store, in_class("class", to="analysts"))
    come(store, survey, 40)

    def ask(token: str) -> Any:
        return client.get("/surveys/class/class", headers={"Authorization": f"Bearer {token}"})

    assert_problem(ask("nothing"), 401, "unauthorised")
    for refused in (("author",), ("monitor",), ("analyst", "workplace")):
        assert_problem(ask(new_token(store, *refused)), 403, "forbidden")  # type: ignore[arg-type]
    shown = ask(new_token(store, "analyst"))
    assert "30 reports" in shown.text
    assert "30 reports" not in page_of(client)


# --- computed once, beside the requests ---------------------------------------------------------


class Counted:
    """A worker that counts what it is asked for."""

    def __init__(self, app: Flask) -> None:
        self.asked: list[bytes] = []
        self._answer = answerer(app)

    def __call__(self, question: bytes) -> bytes:
        self.asked.append(question)
        return self._answer(question)


@pytest.fixture
def counted(app: Flask, prepared: Any) -> Iterator[Counted]:
    from deniably_server.app import create_app

    other = create_app({"DATABASE": str(prepared), "TESTING": True})
    found = Counted(other)
    use_queue(app, ComputationQueue(found, 30, 10))
    yield found
    other.extensions["deniably"].close()


def test_a_step_is_computed_once_for_the_page_and_for_the_results(
    client: FlaskClient, store: Store, counted: Counted
) -> None:
    survey = published(store, in_class())
    come(store, survey, 25)

    pages = {page_of(client) for _ in range(3)}
    document = client.get("/api/surveys/class/results").get_json()
    packed = client.get("/surveys/class/class", headers={"Accept-Encoding": "gzip", "Host": HOST})

    assert len(pages) == 1
    assert unescape(gzip.decompress(packed.data).decode()) in pages
    assert document["n"] == 10
    assert len([one for one in counted.asked if b"/results" in one]) == 1
    assert len(counted.asked) <= 3


def test_no_cached_answer_is_shown_to_who_may_not_see_it(
    client: FlaskClient, store: Store, counted: Counted
) -> None:
    survey = published(store, in_class("class", to="analysts"))
    come(store, survey, 40)
    hidden = page_of(client)
    token = {"Authorization": f"Bearer {new_token(store, 'analyst')}"}

    assert "30 reports" in page_of(client, headers=token)
    assert page_of(client) == hidden
    assert len([one for one in counted.asked if b"/results" in one]) == 1


# --- the code -----------------------------------------------------------------------------------


def decoded(page: str) -> str:
    """What a phone reads from the code on a page."""
    (size, path) = re.findall(
        r'viewBox="0 0 (\d+) \d+" class="qr">.*?<path stroke="#000" d="(.*?)"', page
    )[0]
    picture = np.full((int(size), int(size)), 255, dtype=np.uint8)
    x = y = 0.0
    for kind, numbers in re.findall(r"([Mmh])(-?[\d. -]*)", path):
        values = [float(one) for one in re.findall(r"-?\d*\.?\d+", numbers)]
        if kind == "h":
            picture[int(y), int(x) : int(x + values[0])] = 0
            x += values[0]
        else:
            x, y = values if kind == "M" else (x + values[0], y + values[1])
    (found,) = zxingcpp.read_barcodes(np.kron(picture, np.ones((4, 4), dtype=np.uint8)))
    return str(found.text)


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        ({"Host": HOST}, f"http://{HOST}"),
        ({"Host": "[fd00::7]:8000"}, "http://[fd00::7]:8000"),
        ({"Host": "laptop.local"}, "http://laptop.local"),
        ({"Host": "laptop.local", "X-Forwarded-Proto": "https"}, "https://laptop.local"),
        ({"Host": "10.0.0.9", "Sec-Fetch-Site": "none"}, "https://10.0.0.9"),
    ],
)
def test_a_phone_reads_the_address_of_the_form_from_the_code(
    client: FlaskClient, store: Store, headers: dict[str, str], address: str
) -> None:
    published(store, in_class())

    page = page_of(client, headers=headers)

    assert decoded(page) == f"{address}/s/class"
    assert f'<a href="{address}/s/class">{address}<wbr>/s/class</a>' in page
    assert f'aria-label="QR code of {address}/s/class"' in page
    assert ("Phones refuse this address" in page) == address.startswith("http:")
    assert client.get("/s/class").status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"])
def test_an_address_that_no_phone_reaches_is_said_to_be_one(
    client: FlaskClient, store: Store, host: str
) -> None:
    published(store, in_class())

    page = page_of(client, headers={"Host": host, "Sec-Fetch-Site": "none"})

    assert decoded(page) == f"http://{host}/s/class"
    assert "Phones cannot reach this address" in page


HOSTILE = ["evil.example", "evil.example:80", "survey.example.org.evil.example", "evil.example.",
           "10.0.0.1:", "127.0.0.1.evil.example"]  # fmt: skip
NO_HOSTS = ['x"><script>', "javascript:alert(1)", "a@evil.example", "192.168.1.7:80/evil", "[::1]x",
            "[zz]", "10.0.0.1:0x50", "\u00e9", " ", ""]  # fmt: skip


@pytest.mark.parametrize("host", HOSTILE)
def test_a_name_that_anybody_may_send_becomes_no_link(
    client: FlaskClient, store: Store, host: str
) -> None:
    published(store, in_class())

    answer = client.get("/surveys/class/class", environ_overrides={"HTTP_HOST": host})

    assert answer.status_code == 200
    assert 'class="qr"' not in answer.text
    assert "because this server does not know its own name" in answer.text
    assert 'href="/s/class"' in answer.text
    assert "evil" not in answer.text
    assert "http:" not in answer.text
    assert "https:" not in answer.text


@pytest.mark.parametrize("host", NO_HOSTS)
def test_what_is_no_name_becomes_no_page(client: FlaskClient, store: Store, host: str) -> None:
    published(store, in_class())

    answer = client.get("/surveys/class/class", environ_overrides={"HTTP_HOST": host})

    assert_problem(answer, 400, "malformed")
    assert not host.strip() or host not in answer.text
    assert own_address({"HTTP_HOST": host}) is None


def test_a_name_that_the_operator_named_becomes_one_and_no_other() -> None:
    def own(host: str, **more: str) -> str | None:
        return own_address({"HTTP_HOST": host, **more}, "Survey.example.org, 10.0.0.9")

    assert own("survey.example.org") == "http://survey.example.org"
    assert (
        own("SURVEY.example.org.:443", HTTP_SEC_FETCH_SITE="none") == "https://survey.example.org"
    )
    assert own("survey.example.org:8443", HTTP_X_FORWARDED_PROTO="https") == (
        "https://survey.example.org:8443"
    )
    assert own("10.0.0.9") == "http://10.0.0.9"
    assert own_address({"HTTP_HOST": "[::::]"}) is None
    assert own("10.0.0.8") is own("laptop") is own("evil.example") is None
    assert own("survey.example.org", HTTP_X_FORWARDED_HOST="evil.example") == (
        "http://survey.example.org"
    )


def test_a_server_that_phones_reach_shows_their_address_on_the_wall(
    client: FlaskClient, app: Flask, store: Store
) -> None:
    """The wall itself may be opened at this machine's loopback address, which needs no TLS."""
    published(store, in_class())
    app.config.update(PUBLIC_URL="https://192.168.1.7:8000", OWN_CERTIFICATE=True)

    page = page_of(client, headers={"Host": "127.0.0.1:8000"})

    assert decoded(page) == "https://192.168.1.7:8000/s/class"
    assert "Phones cannot reach" not in page
    assert "Phones refuse" not in page
    (steps,) = re.findall(r'<ol class="steps">(.*?)</ol>', page)
    assert steps.count("<li>") == 2
    assert "Your phone warns you, once" in steps
    app.config.update(OWN_CERTIFICATE=False)
    assert '<ol class="steps">' not in page_of(client, headers={"Host": "127.0.0.1:8000"})


# --- for everybody ------------------------------------------------------------------------------


def test_it_says_beforehand_how_little_a_class_tells(client: FlaskClient, store: Store) -> None:
    published(store, in_class())
    published(store, in_class("telling", COINS | {"coins": {"truth": 0.8}}))

    page, telling = page_of(client), page_of(client, "telling")

    assert "With 30 people, the share of “Yes” is known to about ±36 points." in page
    assert "If you ask about these people alone, it is ±31" in page
    assert "With a second class, 60 people in all, it is ±25." in page
    assert "With odds of 9 in place of 3, which protect less, it is ±22." in page
    assert "is known to about ±22 points" in telling
    assert "With odds of" not in telling


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_speaks_the_languages_of_the_form(
    client: FlaskClient, store: Store, language: str
) -> None:
    survey = published(store, in_class())
    come(store, survey, 40)
    words = Words(language)

    page = page_of(client, query_string={"language": language})

    assert f'<html lang="{language}"' in page
    for key in ("class.join", "class.scan", "class.guess", "class.reveal", "class.funnel"):
        assert words(key) in page
    assert words("class.reports", count=30) in page
    assert words("class.share", people=30, label="Yes", margin="36") in page
    for other in {*LANGUAGES} - {language}:
        assert Words(other)("class.guess_kept") not in page


def test_a_question_of_any_type_has_its_page(
    client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose results are those of the survey; a server computes them once, too."""
    monkeypatch.setattr("deniably_server.api.classroom.shown_results", cache(shown_results))
    from random import Random

    from deniably.survey.report import randomise_answers

    survey = published(store, survey_of_everything(results={"minimum": 30, "while_open": True}))
    random = Random(1)
    for _ in range(60):
        store.add(survey, randomise_answers(survey, somebody(random)))
    guessed, two_coins = 0, [case.about for case in entries()["coins"].cases(survey)]
    for question in survey.questions:
        page = page_of(client, survey.name, query_string={"question": question.name})
        guessed += 'id="guess"' in page
        assert f"{question.label}</h1>" in page
        assert "30 reports" in page
        assert ('id="guess"' in page) == ("<details>" in page)
        assert ("experiment=coins" in page) == (question.label in two_coins)

    assert guessed > 3


@pytest.mark.parametrize(
    "query",
    ["people=1", "people=1001", "people=many", "people=30&people=31", "question=nothing",
     "guess=35", "n=10"],
)  # fmt: skip
def test_an_address_that_is_not_right_is_refused(
    client: FlaskClient, store: Store, query: str
) -> None:
    published(store, in_class())

    answer = client.get(
        f"/surveys/class/class?{query}", headers={"Accept": "application/problem+json"}
    )

    assert_problem(answer, 400, "bad-parameter")


def test_the_page_with_all_that_it_fetches_is_light_and_has_nothing_of_its_own(
    client: FlaskClient, store: Store
) -> None:
    survey = published(store, in_class())
    come(store, survey, 40)

    answer = client.get("/surveys/class/class", headers={"Accept-Encoding": "gzip", "Host": HOST})

    page = gzip.decompress(answer.data).decode()
    files = set(re.findall(r'(?:href|src)="(/web/[^"]+)"', page))
    script = next(path for path in files if path.endswith(".js"))
    files.add(script.replace("lab/class.js", "core/body.js"))
    packed = {"Accept-Encoding": "gzip"}
    wire = len(answer.data) + sum(len(client.get(path, headers=packed).data) for path in files)
    assert wire < 50_000
    assert not re.search(r"<script(?! type=\"module\" src)|<style| style=| on\w+=|<form", page)
    assert client.get("/surveys/nothing/class").status_code == 404


@pytest.mark.parametrize("path", ["/surveys/class/status", "/surveys/class/lab"])
def test_a_teacher_gets_there_from_the_status_and_from_the_lab(
    client: FlaskClient, store: Store, path: str
) -> None:
    published(store, in_class())
    token = {"Authorization": f"Bearer {new_token(store, 'author')}"}

    assert 'href="/surveys/class/class"' in client.get(path, headers=token).text
