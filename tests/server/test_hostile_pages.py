"""No text of an author is code on a server's pages, in its pictures and files or in their headers.

One survey has a hostile text in every place, past the check that refuses some of them, as a server
may have it from an earlier version; two waves of a panel have others.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from deniably.authoring.compiling import compile_survey
from deniably.core.coins import Coins
from deniably.core.steering import one_line
from deniably.survey.report import Report, randomise_answers
from deniably.survey.survey import Survey
from deniably_server.api.document_cache import cache_documents
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from deniably_server.storage.tables.tokens import Role
from deniably_server.storage.writing.commit import BatchWrite
from support.every_type import QUESTIONS, somebody, survey_of_everything
from support.hostile_texts import PUBLISHED, TEXTS, made_hostile, plain_survey
from support.material import new_token, signed
from support.passing_on import passed_on, send
from workbench.test_hostile_texts import STEERING, Shape, formulas

PAGE, FILES = "/surveys/{}", "/api/surveys/{}"
CROSSED, APART = "rows=stolen&columns=happy", "question=happy"
SITES, GROUPS = "question=happy&by=site", "question=home&count=2"
LAB = "experiment=noise-averages-out&case=3&n=75,300"
PAPERS = ("METHODS.md", "CHECKLIST.md", "CITATION.cff", "references.bib", "references.ris")
ADDRESSES = (
    "/", "/register", "/s/{}?site=north", PAGE,
    *(f"{PAGE}/{one}" for one in (
        "checks", "class", "status", "crosstab", "crosstab?rows=stolen", f"crosstab?{CROSSED}",
        f"crosstab/figure?{CROSSED}", "differences", f"differences?{APART}",
        f"differences/figure?{APART}", "figures/one", f"groups?{GROUPS}", f"groups/figure?{GROUPS}",
        "lab", f"lab?{LAB}", "strata", f"strata?{SITES}", f"strata/figure?{SITES}",
    )),
    FILES,
    *(f"{FILES}/{one}" for one in (
        "checks", "status", "results", "results.csv", "reports.csv", "reports.ndjson",
        "reports.parquet", f"crosstab?{CROSSED}", f"crosstab.csv?{CROSSED}",
        f"crosstab.svg?{CROSSED}", f"difference?{APART}&choice=happy&other=unhappy",
        f"differences?{APART}", f"differences.csv?{APART}", f"differences.svg?{APART}",
        *(f"figures/{name}.svg" for name in ("one", "vote", "home", "income")),
        f"groups?{GROUPS}", f"groups.svg?{GROUPS}", f"groups.csv?{GROUPS}",
        f"lab?{LAB}", f"lab.csv?{LAB}", f"lab.svg?{LAB}",
        f"strata?{SITES}", f"strata.csv?{SITES}", f"strata.svg?{SITES}",
        *(f"paper/{name}" for name in PAPERS),
    )),
)  # fmt: skip
OF_WAVES = (
    f"{PAGE}/waves", f"{PAGE}/waves/figure?question=sleep", f"{PAGE}/class", f"{FILES}/waves",
    f"{FILES}/waves.csv", f"{FILES}/waves.svg?question=sleep",
)  # fmt: skip
OF_MIXERS = (
    "/s/{}", PAGE, f"{FILES}/results", f"{FILES}/tally", f"{FILES}/mixed",
    f"{FILES}/mixed/envelopes",
)  # fmt: skip
WAVE = {
    "title": "Home",
    "results": {"minimum": 1, "while_open": True},
    "waves": {"panel": "calm"},
    "questions": [
        {"name": "sleep", "type": "scale", "label": "Sleep", "odds": 3,
         "choices": ["Badly", "Not well", "Well", "Very well"]},
    ],
}  # fmt: skip


MADE = tuple(one_line(text[max(text.index("<") - 2, 0) :]) for text in TEXTS if "<" in text)
"""What a page would have of the texts if one had its markup."""


def plain_surveys() -> Iterator[tuple[Survey, str]]:
    """Surveys of harmless words, and what their hostile likes are called."""
    many = json.loads(msgspec.json.encode(plain_survey().questions[0]))
    questions = [*({"claim": {"epsilon": "2"}} | one for one in QUESTIONS), many]
    sites = {"site": ["north", "south"]}
    said = {"intro": "Intro", "contact": "Contact"}
    yield survey_of_everything(strata=sites, questions=questions, **said), "hostile"
    for number in (1, 2):
        yield compile_survey(WAVE | {"name": f"home-{number}"}), f"wild-{number}"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """A server with the hostile ones."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    app = create_app({"DATABASE": str(folder / "deniably.db"), "TESTING": True})
    cache_documents(app)
    store: Store = app.extensions["deniably"]
    random = Random(3)
    coins = Coins(random.randbytes)
    for plain, name in plain_surveys():
        survey = made_hostile(plain, name)
        store.publish(survey, signed(survey))
        batch, names = BatchWrite(survey), {one.name for one in plain.questions}
        for number in range(60):
            stratum = plain.every_stratum[number % 2] if plain.strata else None
            every = somebody(random) | {"one": f"c{random.randrange(93)}", "sleep": "well"}
            answers = {name: said for name, said in every.items() if name in names}
            made = randomise_answers(plain, answers, coins, strata=stratum)
            batch.add(Report(made.id, survey.digest, made.values, made.strata))
        store.begin(batch)
        batch.wait()
    store.close_survey("hostile")
    honest = passed_on()
    sealed = replace(honest, survey=made_hostile(honest.survey, "sealed")).publish(store)
    send(app.test_client(), sealed, sealed.batch())
    yield app
    store.close()


@pytest.fixture(scope="module")
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture(scope="module")
def tokens(app: Flask) -> dict[str, dict[str, str]]:
    """The headers of an author, who sees a survey's state, and of an analyst."""
    store: Store = app.extensions["deniably"]
    roles: tuple[Role, ...] = ("author", "analyst")
    return {role: {"Authorization": f"Bearer {new_token(store, role)}"} for role in roles}


def test_no_address_of_a_survey_is_left_out(app: Flask) -> None:
    """A view that is new has to be named above."""
    match = app.url_map.bind("").match
    named = {
        match(address.format("a").partition("?")[0], return_rule=True)[0].rule
        for address in ADDRESSES + OF_WAVES + OF_MIXERS
    }
    assert {
        rule.rule
        for rule in app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and re.match("/(api/surveys|surveys|s)/<name>", rule.rule)
    } <= named


@pytest.mark.parametrize(
    ("address", "name"),
    [
        *((one, "hostile") for one in ADDRESSES),
        *((one, "wild-2") for one in OF_WAVES),
        *((one, "sealed") for one in OF_MIXERS),
    ],
)
def test_a_page_and_a_file_hold_words(
    address: str, name: str, client: FlaskClient, tokens: Any
) -> None:
    who = tokens["author" if address.endswith("status") else "analyst"]
    found = client.get(address.format(name), headers=who, buffered=True)

    assert found.status_code == 200, found.text
    assert_headers(found)
    CHECKS[found.mimetype](found)


def assert_headers(found: TestResponse) -> None:
    """Nothing of what an author wrote is in one."""
    for _, value in found.headers:
        assert value.isascii()
        assert value.isprintable()
        assert "evil" not in value
        assert "Health" not in value


def assert_markup(text: str) -> None:
    """No tag, comment or attribute of a text became one."""
    found = [one for one in MADE if one in text]
    assert found == []
    assert "&lt;svg class=" not in text, "and none of ours became a text"
    page = Shape(text)
    assert not {one for one in page.shape if one[0] in ("comment", "instruction")}
    assert not {name for one in page.shape for name in one[1:] if name.startswith("on")}
    assert ("script",) not in page.shape


def assert_page(found: TestResponse) -> None:
    assert_markup(found.text)
    links = re.findall(r'(?:href|src|action)="([^"]*)', found.text)
    assert {one for one in links if not re.fullmatch("([/#?]|https?://|mailto:).*|", one)} == set()
    shown = re.sub("<script[^>]*json.*?</script>", "", found.text, flags=re.DOTALL)
    # A template's text may have lines, and HTML has no line's end but these.
    assert not STEERING.search(re.sub("\r\n|[\u2028\u2029]", "", shown))


def assert_picture(found: TestResponse) -> None:
    ElementTree.fromstring(found.text)
    assert_markup(found.text)
    assert not STEERING.search(re.sub("[\u2028\u2029]", "", found.text))


def assert_table(found: TestResponse) -> None:
    rows = list(csv.reader(io.StringIO(found.text)))
    assert len({len(row) for row in rows}) == 1
    assert len(found.text.splitlines()) == len(rows)
    assert formulas(found.text) == []
    assert not STEERING.search(found.text.replace("\r\n", ""))


def assert_lines(found: TestResponse) -> None:
    assert len(found.text.splitlines()) == found.text.count("\n")
    assert not STEERING.search(found.text)


CHECKS = {
    "text/html": assert_page,
    "image/svg+xml": assert_picture,
    "text/csv": assert_table,
    "text/plain": assert_lines,
    "application/x-ndjson": assert_lines,
    "application/json": lambda found: json.loads(found.text),
    "application/octet-stream": lambda found: len(found.data) == 32 * 30,
    "application/vnd.apache.parquet": lambda found: found.data.index(b"PAR1"),
}


def test_the_page_of_results_shows_every_text_as_it_is(client: FlaskClient, tokens: Any) -> None:
    page = client.get(PAGE.format("hostile"), headers=tokens["analyst"])

    words = " ".join(" ".join(Shape(page.text).words).split())
    assert [one for one in PUBLISHED if " ".join(one.split()) not in words] == []


# --- what a request brings ------------------------------------------------------------------------


ASKED = (
    "/s/{part}", "/surveys/{part}", "/lab/{part}", "/problems/{part}", "/handbook/{part}",
    "/surveys/hostile?{part}=1", "/surveys/hostile?site={part}",
    "/surveys/hostile/crosstab?rows={part}&columns={part}", "/surveys/hostile?language={part}",
    "/surveys/hostile/lab?experiment={part}", "/api/surveys/hostile/results?confidence={part}",
    "/web/{part}/{part}", "/lab/coins?seed={part}",
)  # fmt: skip
NAMES = ("Accept-Language", "Authorization", "If-None-Match", "Range", "Accept", "Host")


def asked(
    client: FlaskClient, author: dict[str, str], number: int, text: str
) -> Iterator[TestResponse]:
    """Answers to requests that have the text in some of the places that a request has."""
    part = quote(text.encode(errors="replace"), safe="")
    for address in (ASKED[(number + step) % len(ASKED)] for step in (0, 5)):
        yield client.get(address.format(part=part))
        yield client.get(address.format(part=part), headers={"Accept": "text/html"})
    header = one_line(text).encode("latin-1", "replace").decode("latin-1")
    yield client.get("/s/none", headers={NAMES[number % len(NAMES)]: header})
    body: Any = {text: text, "title": text}
    address = ("/api/surveys", "/api/admin", "/api/surveys/wild-1/reports")
    yield client.post(address[number % 3], json=body, headers=author)


def test_no_refusal_is_made_of_what_was_asked(client: FlaskClient, tokens: Any) -> None:
    """As problem details, or as the page that browsers are shown."""
    for number, text in enumerate(TEXTS):
        for found in asked(client, tokens["author"], number, text):
            assert found.status_code < 500
            assert all(value.isascii() and value.isprintable() for _, value in found.headers)
            if found.mimetype == "text/html":
                assert_page(found)
            elif found.is_json:
                said = found.get_json()
                wrong = [text for one in said.get("errors", ()) for text in one.values()]
                for text in (said["detail"], said.get("path", "$"), *wrong):
                    assert one_line(text) == text
