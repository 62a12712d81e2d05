"""Strata, from the link to the results: the group is public, and what few people said is not."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text
from deniably.survey.report import Report, randomise_answers
from deniably.survey.strata import RESERVED
from deniably.survey.survey import Survey
from deniably.trust.signing import new_key
from deniably_server.api.lines import NDJSON
from deniably_server.commands.invite import invite
from deniably_server.storage.maintenance.doctor import examine, repair
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite, Outcome
from deniably_server.web.operation import operation_of
from support.material import assert_problem, new_token, signed

TEXT = """
name: s
title: T
results: {minimum: 5}
strata: {site: [north, south], shift: [day, night]}
questions:
  - {name: a, type: yes_no, label: A, odds: 2}
  - {name: b, type: select_one, label: B, odds: 3, choices: [x, y, z]}
"""
BOTH = publish_text(TEXT)
SITES = publish_text(TEXT.replace(", shift: [day, night]", ""))
SOME = publish_text(TEXT.replace("T\n", "T\nbudget: {epsilon: 1, spend: sample, ask: 1}\n", 1)
                    .replace(", odds: 2", "").replace(", odds: 3", ""))  # fmt: skip
HOSTILE = ("%3Cscript%3Ealert(1)%3C/script%3E", "%00", "north%0d%0aX-A:%201", "../x", "%ff", "")


def report(survey: Survey, **stratum: str) -> Report:
    return randomise_answers(survey, {"a": "yes", "b": "x"}, strata=stratum)


def filled(store: Store, survey: Survey, **people: int) -> None:
    """Of each site so many people, by day where there are shifts."""
    store.publish(survey, signed(survey))
    more = {"shift": "day"} if survey is BOTH else {}
    batch = BatchWrite(survey)
    for site, count in people.items():
        for _ in range(count):
            batch.add(report(survey, site=site, **more))
    store.begin(batch)
    assert set(batch.wait()) <= {Outcome.STORED}


@pytest.fixture
def kept(app: Flask) -> Store:
    found: Store = app.extensions["deniably"]
    return found


# --- what is stored ------------------------------------------------------------------------------


@pytest.fixture
def any_store(address: str) -> Iterator[Store]:
    with closing(Store(address)) as store:
        yield store


@pytest.mark.parametrize("survey", [SITES, BOTH, SOME], ids=["sites", "both", "some"])
def test_every_stratum_has_its_tally_and_they_add_up(any_store: Store, survey: Survey) -> None:
    any_store.publish(survey, signed(survey))
    people = [4 + 3 * number for number in range(len(survey.every_stratum))]
    batch = BatchWrite(survey)
    for stratum, count in zip(survey.every_stratum, people, strict=True):
        assert any_store.add(survey, report(survey, **stratum)) is Outcome.STORED
        for _ in range(count - 1):
            batch.add(report(survey, **stratum))
    any_store.begin(batch)
    batch.wait()

    counts = any_store.counts_by_stratum("s")
    assert [sum(one) // (1 if survey.ask else len(one)) for one in counts] == people
    whole = any_store.tally("s")
    parts = [any_store.shown_tally("s", [i]) for i in range(len(people))]
    for question in survey.questions:
        tallies = [part[question.name] for part in parts]
        assert sum(tallies[1:], tallies[0]) == whole[question.name]
    assert whole == any_store.recount("s") == any_store.shown_tally("s", range(len(people)))
    assert examine(any_store) == []
    any_store.close_survey("s")
    any_store.erase_order()
    assert any_store.revealing_order() == []
    assert any_store.tally("s") == whole


def test_a_tally_in_the_wrong_stratum_is_found_and_mended(any_store: Store) -> None:
    filled(any_store, SITES, north=6, south=7)
    before = any_store.shown_tally("s", [1])
    with closing(any_store.engine.connect()) as database:
        for table in ("tallies", "totals"):
            for before_, after in ((0, 2), (1, 0), (2, 1)):
                sql = f"UPDATE {table} SET stratum = ? WHERE stratum = ?"
                database.execute(sql, [after, before_])

    found = examine(any_store)

    assert any("s, a: the tally has 7 reports, and not 6" in one.what for one in found)
    repair(any_store, found)
    assert examine(any_store) == []
    assert any_store.shown_tally("s", [1]) == before


def test_the_same_report_from_another_stratum_is_a_conflict(kept: Store) -> None:
    filled(kept, SITES)
    first = report(SITES, site="north")

    assert kept.add(SITES, first) is Outcome.STORED
    assert kept.add(SITES, first) is Outcome.REPLAYED
    moved = Report(first.id, first.survey, first.values, {"site": "south"})
    assert kept.add(SITES, moved) is Outcome.CONFLICT


@pytest.mark.parametrize(
    "strata", [None, {}, {"site": "east"}, {"site": "north", "person": "ann"}, {"site": "<b>"}, []]
)
def test_a_report_without_a_stratum_of_the_survey_is_refused(
    strata: object, client: FlaskClient, kept: Store
) -> None:
    filled(kept, SITES)
    body = json.loads(report(SITES, site="north").canonical) | {"strata": strata}
    if strata is None:
        del body["strata"]
    line = json.dumps(body)
    author = {"Authorization": f"Bearer {new_token(kept, 'author')}"}

    answer = client.post("/api/surveys/s/reports", data=line, content_type="application/json")
    assert "<b>" not in assert_problem(answer, 422, "bad-report")["detail"]
    lines = client.post(
        "/api/surveys/s/batches", data=line, content_type=NDJSON, headers=author
    ).get_json()
    assert lines["refused"] == 1
    assert kept.reports("s") == 0


# --- results -------------------------------------------------------------------------------------


def shown(client: FlaskClient, query: str = "", end: str = "") -> int:
    return client.get(f"/api/surveys/s/results{end}{query}").status_code


def test_results_are_those_of_all_or_of_a_subgroup(client: FlaskClient, kept: Store) -> None:
    filled(kept, BOTH, north=6, south=9)
    assert shown(client, "?site=north") == 403, "while it is open"
    kept.close_survey("s")

    everybody = client.get("/api/surveys/s/results").get_json()
    assert everybody["n"] == 15
    assert everybody["subgroups"] == [
        {"site": "north"}, {"site": "south"}, {"shift": "day"},
        {"shift": "day", "site": "north"}, {"shift": "day", "site": "south"},
    ]  # fmt: skip
    north = client.get("/api/surveys/s/results?site=north").get_json()
    assert (north["n"], north["strata"]) == (6, {"site": "north"})
    assert north["title"] == "T (site north)"
    assert "subgroups" not in north
    rows = list(
        csv.DictReader(io.StringIO(client.get("/api/surveys/s/results.csv?site=north").text))
    )
    assert {row["strata"] for row in rows} == {"site north"}
    assert {row["n"] for row in rows} == {"6"}


def test_what_few_reports_say_cannot_be_worked_out(client: FlaskClient, kept: Store) -> None:
    filled(kept, SITES, north=50, south=4)
    kept.close_survey("s")

    assert shown(client) == 200, "all together are enough"
    for site in ("north", "south"):
        for end in ("", ".csv"):
            answer = client.get(f"/api/surveys/s/results{end}?site={site}")
            said = assert_problem(answer, 403, "hidden")["detail"]
            assert "5 reports" in said
            assert not re.search(r"\b(50|4|54)\b", said)
        assert client.get(f"/api/surveys/s/figures/a.svg?site={site}").status_code == 403
    assert client.get("/api/surveys/s/results").get_json()["subgroups"] == []


def test_a_subgroup_is_named_as_the_survey_names_it(client: FlaskClient, kept: Store) -> None:
    filled(kept, SITES, north=6, south=9)
    kept.close_survey("s")

    for query in ("?site=east", "?site=", "?site=north&site=south", "?place=north"):
        assert_problem(client.get(f"/api/surveys/s/results{query}"), 400, "bad-parameter")
    for value in HOSTILE:
        answer = client.get(f"/api/surveys/s/results?site={value}")
        assert answer.status_code == 400
        assert "script" not in answer.text


def test_the_page_leads_to_every_subgroup_and_says_which_it_is(
    client: FlaskClient, kept: Store
) -> None:
    filled(kept, SITES, north=6, south=9)
    kept.close_survey("s")

    page = client.get("/surveys/s").text
    links = re.findall(r'<a href="(/surveys/s\?site=\w+)">', page)
    assert links == ["/surveys/s?site=north", "/surveys/s?site=south"]
    north = client.get(links[0]).text
    assert "<h1>T (site north)</h1>" in north
    assert "6 people" in north
    assert '<strong aria-current="page">site north</strong>' in north
    (figure,) = set(re.findall(r'href="(/surveys/s/figures/a[^"]*)"', north))
    assert figure.endswith("?site=north")
    drawn = re.findall(r'(/api/surveys/s/figures/a\.svg[^"]*)"', client.get(figure).text)
    assert drawn
    assert all("site=north" in one for one in drawn)


def is_view(view: object) -> bool:
    return hasattr(view, "operation")


def test_no_key_of_strata_has_another_meaning_in_an_address(app: Flask) -> None:
    operations = [operation_of(view) for view in app.view_functions.values() if is_view(view)]
    taking = [one.query or {} for one in operations if one.strata]

    assert len(taking) >= 6
    used = {key.rstrip("!") for query in taking for key in query}
    assert used <= RESERVED


# --- the form ------------------------------------------------------------------------------------


def test_the_form_says_the_group_that_the_link_says(client: FlaskClient, kept: Store) -> None:
    filled(kept, BOTH)

    page = client.get("/s/s?site=north&shift=day").text

    assert "They know your group" in page
    told = re.sub(r"<[^>]*>", "", page.partition("They know your group")[2].partition("</p>")[0])
    assert " ".join(told.split()).endswith("shift day, site north")
    assert 'data-link="shift=day&amp;site=north"' in page
    assert 'href="?shift=day&amp;site=north&amp;language=de"' in page
    assert "page-strata.js" in page
    german = client.get("/s/s?site=north&shift=day&language=de&utm_source=letter")
    assert "Ihre Gruppe ist bekannt" in german.text


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?site=north",
        "?site=north&shift=noon",
        "?language=de",
        *map("?shift=day&site={}".format, HOSTILE),
    ],
)
def test_a_link_without_a_group_asks_for_the_right_one_and_repeats_nothing(
    query: str, client: FlaskClient, kept: Store
) -> None:
    filled(kept, BOTH)

    answer = client.get(f"/s/s{query}")

    assert answer.status_code == 400
    assert re.search("right link|richtigen Link", answer.text)
    assert 'id="definition"' not in answer.text
    assert not re.search("alert|X-A|noon", answer.text + str(answer.headers))
    assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_an_author_is_told_the_link_of_each_stratum(client: FlaskClient, kept: Store) -> None:
    key = new_key()
    found = key.sign(BOTH.digest)
    headers = {
        "Authorization": f"Bearer {new_token(kept, 'author')}",
        "Deniably-Author": found.author,
        "Deniably-Signature": found.value,
    }

    answer = client.post(
        "/api/surveys", data=TEXT, content_type="application/yaml", headers=headers
    ).get_json()

    forms = [link for name, link in answer["links"].items() if name.startswith("form, ")]
    assert forms[1] == "/s/s?shift=day&site=south"
    assert [client.get(link).status_code for link in forms] == [200] * 4


def test_the_list_of_surveys_has_no_link_that_leads_nowhere(
    client: FlaskClient, kept: Store
) -> None:
    filled(kept, SITES)

    page = client.get("/").text

    assert 'href="/s/s"' not in page
    assert "needs the link of their group" in page


# --- invitations ---------------------------------------------------------------------------------


def test_invitations_are_for_a_stratum_and_counted_by_it(any_store: Store) -> None:
    survey = publish_text(TEXT.replace("title", "invited: true\ntitle", 1))
    any_store.publish(survey, signed(survey))
    address = any_store.engine.address

    def run(*options: str) -> str:
        found = CliRunner().invoke(invite, ["s", "--database", address, *options])
        return found.output

    made = run("--count", "3", "--for", "site=north", "--for", "shift=day",
               "--server", "http://127.0.0.1:8000")  # fmt: skip
    links = re.findall(r"http\S+", made)
    assert len(links) == 3
    assert all("/s/s?shift=day&site=north#" in one for one in links)
    assert "shift day, site north: 3 issued" in made
    assert "say once for whom" in run("--count", "3", "--for", "site=north")
    assert "say once for whom" in run("--count", "3")
    assert "has the keys" in run("--count", "3", "--for", "place=x")

    taken = any_store.revoke_invitations("s", [re.sub(r".*#|-", "", links[0])])
    assert taken == 1
    assert [any_store.issued("s", [i]) for i in range(4)] == [2, 0, 0, 0]
    assert any_store.issued("s") == 2
