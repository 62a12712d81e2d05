"""Strata, from the link to the results: the group is public, and what few people said is not."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from secrets import token_hex
from typing import Any
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text
from deniably.results.subgroups import every_subgroup, shown_subgroups
from deniably.survey.report import Report, randomise_answers
from deniably.survey.strata import RESERVED
from deniably.survey.survey import Survey
from deniably.trust.signing import new_key
from deniably_server.api.report_lines import NDJSON
from deniably_server.commands.invite import invite
from deniably_server.storage.maintenance.doctor import examine, repair
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite, Outcome
from deniably_server.web.operation import operation_of
from support.cases import for_each
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
        for table in ("tallies", "totals", "answered"):
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


def linked(page: str, where: str = "") -> list[str]:
    """The addresses that a page leads to, those with ``where`` in them."""
    return [one for one in map(unescape, re.findall(r'href="([^"]*)"', page)) if where in one]


def test_the_page_leads_to_every_subgroup_and_keeps_it_on_all_others(
    client: FlaskClient, kept: Store
) -> None:
    filled(kept, SITES, north=6, south=9)
    assert "once the survey is closed" in client.get("/surveys/s").text
    kept.close_survey("s")

    page = client.get("/surveys/s?confidence=0.9").text
    assert "Not shown" not in page, "there is none that is hidden"
    links = linked(page, "/surveys/s?confidence=0.9&site=")
    assert links == [f"/surveys/s?confidence=0.9&site={site}" for site in ("north", "south")]
    north = client.get(links[0]).text
    assert "<h1>T (site north)</h1>" in north
    assert "6 people" in north
    assert '<b aria-current="page">north</b>' in north

    seen, waiting = set[str](), {links[0]}
    while waiting:
        address = waiting.pop()
        seen.add(address)
        answer = client.get(address)
        assert answer.status_code == 200, address
        if address.startswith("/surveys"):
            nav = re.sub(r"(?s)<nav aria-label=\"Subgroups\".*?</nav>", "", answer.text)
            inner = {
                one for one in linked(nav) + re.findall(r'src="([^"]*)"', nav)
                if re.match("/surveys/s/|/api/surveys/s/", one)
                and not re.search("/lab|/strata|/checks|/waves|/status|/reports", one)
            }  # fmt: skip
            waiting |= {unescape(one) for one in inner} - seen
    assert len(seen) > 15
    assert all("site=north" in one and "confidence=0.9" in one for one in seen), seen


def test_a_subgroup_that_is_hidden_is_named_and_not_linked(
    client: FlaskClient, kept: Store
) -> None:
    filled(kept, SITES, north=50, south=4)
    kept.close_survey("s")

    for address in ("/surveys/s", "/surveys/s/crosstab?rows=a&columns=b", "/surveys/s/differences"):
        page = client.get(address).text
        assert "Not shown: site north; site south. A subgroup is hidden if" in page
        assert not linked(page, "site=")
    assert "<h1>This is not shown</h1>" in client.get("/surveys/s?site=north").text, "nor ever"


# --- every view that can be asked for a subgroup --------------------------------------------------

ASKED = {"question": "a", "rows": "a", "columns": "b", "by": "shift", "choice": "yes"}


def views(app: Flask) -> list[str]:
    """The addresses of all results of a survey that the keys of its strata are parameters of."""
    found: list[str] = []
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        if not (is_view(view) and operation_of(view).strata) or rule.rule == "/s/<name>":
            continue
        known = {key.rstrip("!") for key in operation_of(view).query or {}}
        query = {key: value for key, value in ASKED.items() if key in known}
        if rule.rule.endswith("/difference"):
            query = {"question": "a", "choice": "yes", "share": "0.5"}
        path = (
            re.sub("<question>", "a", rule.rule)
            .replace("<name>", "s")
            .replace("<file>", "METHODS.md")
        )
        found.append(f"{path}?{urlencode(query)}")
    return found


@pytest.mark.parametrize(
    ("people", "shown"),
    [((50, 4, 30, 30), 4), ((50, 2, 2, 0), 0)],
    ids=["one is small", "three are"],
)
def test_no_view_shows_what_another_one_hides(
    people: tuple[int, ...], shown: int, app: Flask, client: FlaskClient, kept: Store
) -> None:
    kept.publish(BOTH, signed(BOTH))
    batch = BatchWrite(BOTH)
    for stratum, count in zip(BOTH.every_stratum, people, strict=True):
        for _ in range(count):
            batch.add(report(BOTH, **stratum))
    kept.begin(batch)
    batch.wait()
    kept.close_survey("s")
    assert BOTH.strata
    parts = shown_subgroups(BOTH.strata, [[count] for count in people], 5)
    assert len(parts) == shown

    found = views(app)
    assert len(found) >= 18
    for address in found:
        for part in every_subgroup(BOTH.strata):
            inner = [{**part, "shift": shift} in parts for shift in ("day", "night")]
            by_shift = "by=shift" in address
            if by_shift and "shift" in part:
                continue  # it compares the shifts
            answer = client.get(f"{address}&{urlencode(part)}")
            said = (
                answer.get_json()["detail"] if answer.status_code >= 400 and answer.is_json else ""
            )
            said = said or prose(answer.text)
            hidden = "stay hidden" in said or "fewer than two values" in said.lower()
            assert hidden == (not all(inner) if by_shift else part not in parts), (address, part)
            if hidden:
                assert answer.status_code == 403 or address == "/surveys/s?"
                assert set(re.findall(r"\d+", said)) <= {"5"}, "no count but the minimum"


def test_strata_of_a_survey_for_analysts_are_for_analysts(
    app: Flask, client: FlaskClient, kept: Store
) -> None:
    survey = publish_text(TEXT.replace("minimum: 5", "minimum: 5, to: analysts"))
    kept.publish(survey, signed(survey))
    batch = BatchWrite(survey)
    for stratum in survey.every_stratum * 6:
        batch.add(report(survey, **stratum))
    kept.begin(batch)
    batch.wait()
    kept.close_survey("s")
    tokens = {role: new_token(kept, role) for role in ("author", "analyst")}  # type: ignore[arg-type]

    for address in views(app):
        where = f"{address}&site=north"
        refused = client.get(where)
        if address.startswith("/api"):
            assert_problem(refused, 401, "unauthorised")
        assert "north" not in re.sub(r"\?[^\"]*", "", prose(refused.text))
        for role, status in (("author", 403), ("analyst", 400 if "groups" in address else 200)):
            headers = {"Authorization": f"Bearer {tokens[role]}"}
            assert client.get(where, headers=headers).status_code == status, address


def prose(page: str) -> str:
    """What a reader of a page sees."""
    return re.sub(r"<[^>]*>", " ", page.partition("<main")[2].partition("</main>")[0])


def test_a_cross_table_of_a_subgroup_is_of_its_reports_alone(
    client: FlaskClient, kept: Store
) -> None:
    filled(kept, SITES, north=40, south=60)
    kept.close_survey("s")

    def table(query: str) -> dict[str, Any]:
        found = client.get(f"/api/surveys/s/crosstab?rows=a&columns=b{query}").get_json()
        assert isinstance(found, dict)
        return found

    every, north, south = table(""), table("&site=north"), table("&site=south")
    assert [one["n"] for one in (every, north, south)] == [100, 40, 60]
    assert north["strata"] == {"site": "north"}
    for row in range(2):
        for column in range(3):
            one, other, both = (
                each["cells"][row][column]["estimate"] for each in (north, south, every)
            )
            assert 0.4 * one + 0.6 * other == pytest.approx(both, abs=2e-6)
    rows = client.get("/api/surveys/s/crosstab.csv?rows=a&columns=b&site=north").text
    assert {row["strata"] for row in csv.DictReader(io.StringIO(rows))} == {"site north"}
    page = client.get("/surveys/s/crosstab?rows=a&columns=b&site=north").text
    assert "40 people of site north" in page


def test_a_cross_table_needs_enough_people_who_were_asked_both(
    client: FlaskClient, kept: Store
) -> None:
    """Each site has enough reports to each question, and few of both."""
    text = re.sub(", shift: .day, night.|, odds: [23]", "", TEXT)
    text = text.replace("T\n", "T\nbudget: {epsilon: 2, spend: sample, ask: 2}\n", 1)
    survey = publish_text(f"{text}  - {{name: c, type: yes_no, label: C}}\n")
    people = {"north": {"ab": 20, "ac": 9, "bc": 2}, "south": {"ab": 4, "ac": 9, "bc": 2}}
    kept.publish(survey, signed(survey))
    batch = BatchWrite(survey)
    for site, pairs in people.items():
        for pair in (pair for pair, count in pairs.items() for _ in range(count)):
            values = {name: [0] for name in pair}
            batch.add(Report(token_hex(16), survey.digest, values, {"site": site}))
    kept.begin(batch)
    assert set(batch.wait()) == {Outcome.STORED}
    kept.close_survey("s")

    assert client.get("/api/surveys/s/results?site=south").status_code == 200
    assert client.get("/api/surveys/s/crosstab?rows=a&columns=c&site=south").status_code == 200
    for site in ("north", "south"):
        answer = client.get(f"/api/surveys/s/crosstab?rows=a&columns=b&site={site}")
        assert "asked both" in assert_problem(answer, 403, "hidden")["detail"]
    assert client.get("/api/surveys/s/crosstab?rows=a&columns=b").get_json()["n"] == 24
    few = client.get("/api/surveys/s/crosstab?rows=b&columns=c")
    assert "ewer than 5" in assert_problem(few, 403, "hidden")["detail"], "of everybody, too"


def test_a_subgroup_is_compared_with_the_same_one_in_another_survey(
    client: FlaskClient, kept: Store
) -> None:
    filled(kept, SITES, north=40, south=60)
    others = {"t": (30, 20), "few": (50, 4)}
    for name, (north, south) in others.items():
        sites = TEXT.replace(", shift: [day, night]", "").replace("name: s", f"name: {name}")
        other = publish_text(sites)
        kept.publish(other, signed(other))
        batch = BatchWrite(other)
        for site, count in (("north", north), ("south", south)):
            for _ in range(count):
                batch.add(report(other, site=site))
        kept.begin(batch)
        batch.wait()
    plain = publish_text(re.sub("strata.*", "", TEXT).replace("name: s", "name: plain"))
    kept.publish(plain, signed(plain))
    for _ in range(6):
        kept.add(plain, randomise_answers(plain, {"a": "yes", "b": "x"}))
    for name in ("s", "t", "few", "plain"):
        kept.close_survey(name)

    path = "/api/surveys/s/difference?question=a&choice=yes&survey="
    found = client.get(f"{path}t&site=south").get_json()
    shares = [
        client.get(f"/api/surveys/{name}/results?site=south").get_json()["questions"][0]["choices"][
            0
        ]
        for name in ("s", "t")
    ]
    apart = shares[0]["estimate"] - shares[1]["estimate"]
    assert found["estimate"] == pytest.approx(apart, abs=2e-6)
    hidden = assert_problem(client.get(f"{path}few&site=south"), 403, "hidden")["detail"]
    assert "other survey, few" in hidden
    assert client.get(f"{path}few").status_code == 200, "everybody there is enough"
    assert_problem(client.get(f"{path}plain&site=south"), 400, "bad-parameter")
    page = client.get("/surveys/s/differences?question=a&survey=t&site=south").text
    assert "60 people of site south" in page


# --- one stratum against another ------------------------------------------------------------------


def test_strata_are_compared_as_data_figure_and_page(client: FlaskClient, kept: Store) -> None:
    filled(kept, SITES, north=40, south=60)
    assert client.get("/surveys/s/strata?question=a&by=site").status_code == 403, "while it is open"
    kept.close_survey("s")

    found = client.get("/api/surveys/s/strata?question=b&by=site").get_json()
    assert [(one["value"], one["n"]) for one in found["subgroups"]] == [
        ("north", 40),
        ("south", 60),
    ]
    assert found["tests"] == 3
    alone = client.get("/api/surveys/s/results?site=south").get_json()["questions"][1]
    assert [one["places"][1]["estimate"] for one in found["figures"]] == [
        one["estimate"] for one in alone["choices"]
    ]
    one = client.get("/api/surveys/s/difference?question=b&choice=y&by=site").get_json()
    shown = found["figures"][1]["differences"][0]
    assert (one["estimate"], one["p_value"]) == (shown["estimate"], shown["p_value"])
    assert one["note"] is None, "no two waves"
    rows = list(csv.DictReader(io.StringIO(
        client.get("/api/surveys/s/strata.csv?question=b&by=site").text)))  # fmt: skip
    assert [row["figure"] for row in rows] == 3 * ["share", "share", "difference"]

    page = client.get("/surveys/s").text
    (link,) = linked(page, "strata?question=a")
    assert link == "/surveys/s/strata?question=a&by=site"
    compared = client.get(link).text
    assert "north: 40 people · south: 60 people" in compared
    assert "north less south" in prose(compared)
    (figure,) = linked(compared, "/strata/figure")
    drawn = client.get(figure)
    assert 'src="/api/surveys/s/strata.svg?question=a&amp;by=site' in drawn.text
    assert "north less south" in client.get("/api/surveys/s/strata.svg?question=a&by=site").text


def test_only_strata_with_results_are_compared(client: FlaskClient, kept: Store) -> None:
    """South and west are few each, and enough together: the rest of all can be known."""
    sites = re.sub(r"\[north.*night\]", "[east, north, south, west]", TEXT)
    filled(kept, publish_text(sites), east=50, north=30, south=3, west=4)
    kept.close_survey("s")

    shown = client.get("/api/surveys/s/strata?question=a&by=site").get_json()
    assert [one["value"] for one in shown["subgroups"]] == ["east", "north"]
    assert (shown["tests"], shown["hidden"]) == (1, ["south", "west"])
    one = client.get("/api/surveys/s/difference?question=a&choice=yes&by=site").get_json()
    assert one["estimate"] == shown["figures"][0]["differences"][0]["estimate"]
    assert "Not compared: south, west." in client.get("/surveys/s/strata?question=a&by=site").text


def test_one_test_is_of_two_strata(client: FlaskClient, kept: Store) -> None:
    sites = re.sub(r"\[north.*night\]", "[east, north, south]", TEXT)
    filled(kept, publish_text(sites), east=50, north=30, south=20)
    kept.close_survey("s")

    found = client.get("/api/surveys/s/difference?question=a&choice=yes&by=site")
    assert "/strata?by=site" in assert_problem(found, 400, "bad-parameter")["detail"]
    assert client.get("/api/surveys/s/strata?question=a&by=site").get_json()["tests"] == 3


def test_of_strata_one_of_which_is_small_none_is_compared(client: FlaskClient, kept: Store) -> None:
    filled(kept, SITES, north=50, south=4)
    kept.close_survey("s")

    for end in ("strata?question=a", "strata.csv?question=a", "difference?question=a&choice=yes"):
        problem = assert_problem(client.get(f"/api/surveys/s/{end}&by=site"), 403, "hidden")
        assert set(re.findall(r"\d+", problem["detail"])) == {"5"}
    assert not linked(client.get("/surveys/s").text, "strata")
    assert "at least two subgroups need results" in client.get("/surveys/s/strata").text


@pytest.fixture
def two_sites(kept: Store) -> None:
    """A closed survey in which both sites have results."""
    filled(kept, SITES, north=6, south=9)
    kept.close_survey("s")


@for_each(
    "query",
    ["question=a", "by=site", "question=a&by=place", "question=a&by=", "question=q&by=site",
     "question=a&by=site&site=north", "question=a&by=site&by=site",
     *map("question=a&by={}".format, HOSTILE), *map("question={}&by=site".format, HOSTILE)],
)  # fmt: skip
@pytest.mark.usefixtures("two_sites")
def test_a_comparison_that_cannot_be_made_says_how_it_is_asked_for(
    query: str, client: FlaskClient
) -> None:
    assert_problem(client.get(f"/api/surveys/s/strata?{query}"), 400, "bad-parameter")
    page = client.get(f"/surveys/s/strata?{query}")
    assert page.status_code == (200 if query in ("question=a", "by=site") else 400)
    assert "script>alert" not in page.text


def test_within_a_shift_the_sites_of_that_shift_are_compared(
    client: FlaskClient, kept: Store
) -> None:
    kept.publish(BOTH, signed(BOTH))
    batch = BatchWrite(BOTH)
    for number, stratum in enumerate(BOTH.every_stratum):
        for _ in range(10 + number):
            batch.add(report(BOTH, **stratum))
    kept.begin(batch)
    batch.wait()
    kept.close_survey("s")

    found = client.get("/api/surveys/s/strata?question=a&by=site&shift=night").get_json()
    assert [one["n"] for one in found["subgroups"]] == [12, 13]
    assert found["strata"] == {"shift": "night"}
    page = client.get("/surveys/s/strata?question=a&by=site&shift=night").text
    assert "Within shift night alone" in page
    assert linked(client.get("/surveys/s/strata?shift=day").text, "/strata") == []
    beside = client.get("/surveys/s/strata?site=north&shift=day").text
    assert "/surveys/s/strata" in linked(beside), "out of a part where there is nothing to compare"
    every = client.get("/surveys/s/strata?question=a&by=site").text
    assert linked(every, "by=shift") == ["/surveys/s/strata?question=a&by=shift"]


def is_view(view: object) -> bool:
    return hasattr(view, "operation")


def test_no_key_of_strata_has_another_meaning_in_an_address(app: Flask) -> None:
    operations = [operation_of(view) for view in app.view_functions.values() if is_view(view)]
    taking = [one.query or {} for one in operations if one.strata]

    assert len(taking) >= 6
    used = {key.rstrip("!") for query in taking for key in query}
    assert used <= RESERVED


# --- counts, and the description of the interface -------------------------------------------------


@pytest.mark.parametrize(
    ("south", "counted"), [(60, {"north": 40, "south": 60}), (4, {}), (0, {"north": 40})]
)
def test_the_status_counts_by_stratum_what_results_show(
    south: int, counted: dict[str, int], client: FlaskClient, kept: Store
) -> None:
    filled(kept, SITES, north=40, south=south)
    operator = {"Authorization": f"Bearer {new_token(kept, 'operator')}"}

    def status() -> dict[str, Any]:
        found: dict[str, Any] = client.get("/api/surveys/s/status", headers=operator).get_json()
        return found

    during = status()
    assert during["subgroups"] is None
    assert "once it is closed" in during["sentences"][-1]
    assert "south" not in client.get("/surveys/s/status", headers=operator).text
    kept.close_survey("s")
    after = status()
    assert {one["strata"]["site"]: one["reports"] for one in after["subgroups"]} == counted
    page = client.get("/surveys/s/status", headers=operator).text
    assert all((f"site {site}" in page) == (site in counted) for site in ("north", "south"))


def test_the_interface_describes_the_keys_of_strata_as_parameters(
    app: Flask, client: FlaskClient, kept: Store
) -> None:
    filled(kept, SITES, north=6, south=9)
    kept.close_survey("s")
    paths = client.get("/api/openapi.json").get_json()["paths"]
    taking = {
        path: one
        for path, methods in paths.items()
        for one in methods.get("get", {}).get("parameters", ())
        if one["name"] == "strata"
    }

    assert len(taking) == len(views(app)) + 1, "and the form"
    found = taking["/api/surveys/{name}/results"]
    assert (found["in"], found["style"], found["explode"]) == ("query", "form", True)
    answer = client.get(f"/api/surveys/s/results?{urlencode(found['example'])}")
    assert answer.get_json()["n"] == 6
    assert_problem(client.get("/api/surveys/s/results?strata=site"), 400, "bad-parameter")


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
    assert "you need the link of your group" in page


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


def test_more_reports_of_a_stratum_than_invitations_for_it_are_flagged(
    client: FlaskClient, kept: Store
) -> None:
    survey = publish_text(TEXT.replace("title", "invited: true\ntitle", 1).replace(
        ", shift: [day, night]", ""))  # fmt: skip
    filled(kept, survey, north=8, south=6)
    kept.invite("s", 7, 0)
    kept.invite("s", 9, 1)
    kept.close_survey("s")

    def flagged(query: str) -> bool:
        return "used the link of another one" in client.get(f"/surveys/s{query}").text

    assert [flagged(query) for query in ("?site=north", "?site=south", "")] == [True, False, False]
    assert "its key was stolen" not in client.get("/surveys/s?site=north").text
    found = client.get("/api/surveys/s/results?site=north").get_json()
    assert (found["invited"], found["n"]) == (7, 8)
