"""The store's contract, on SQLite and on a real PostgreSQL: definitions for good, reports once,
tallies as a recount gives them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from deniably.authoring.compiling import compile_survey
from deniably.estimation.tally import tally
from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably_server.errors import Conflict, NotFound
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import Outcome
from support.keys import key_of
from support.material import a_report, contents, signed, survey_named
from support.nursery import Nursery

SURVEY = survey_named()


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    store = Store(address)
    yield store
    store.close()


@pytest.fixture
def published(store: Store) -> Iterator[Store]:
    store.publish(SURVEY, signed(SURVEY))
    return store


# --- surveys ------------------------------------------------------------------------------------


def test_a_survey_comes_back_as_it_was_published(store: Store) -> None:
    assert store.publish(SURVEY, signed(SURVEY)) is True
    assert store.survey("workplace") == SURVEY
    assert store.survey("workplace").digest == SURVEY.digest
    assert store.state("workplace") == "open"


def test_publishing_the_same_definition_again_changes_nothing(
    published: Store, address: str
) -> None:
    published.add(SURVEY, a_report(SURVEY))
    before = contents(address)

    assert published.publish(SURVEY, signed(SURVEY)) is False
    assert contents(address) == before


def test_another_definition_under_the_same_name_is_a_conflict(
    published: Store, address: str
) -> None:
    before = contents(address)
    other = survey_named(title="Another title")

    with pytest.raises(Conflict, match="never changes"):
        published.publish(other, signed(other))
    assert contents(address) == before


@pytest.mark.parametrize("call", ["survey", "state", "close_survey", "tally", "recount"])
def test_a_name_that_was_never_published_is_not_found(store: Store, call: str) -> None:
    for name in ("a\0", "\0", "x" * 3000, "\ufffd"):  # and what no name can be
        with pytest.raises(NotFound):
            getattr(store, call)(name)
    with pytest.raises(NotFound):
        getattr(store, call)("nobody")


def test_many_threads_may_be_the_first_to_read_a_survey(
    published: Store, address: str, nursery: Nursery, tmp_path: Path
) -> None:
    """msgspec 0.22 crashes the process where two threads are the first to use a type."""
    program = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from deniably_server.storage.store import Store

sys.setswitchinterval(1e-6)
together = Barrier(16)
stores = [Store(sys.argv[1]) for _ in range(16)]

def read(store):
    together.wait()
    store.survey("workplace")
    store.close()

with ThreadPoolExecutor(16) as threads:
    list(threads.map(read, stores))
"""
    log = tmp_path / "log"
    for _ in range(4):
        assert nursery.begin_program(program, [address], log).wait(60) == 0, log.read_text()


def test_names_are_in_alphabetical_order(store: Store) -> None:
    for name in ("b", "c", "a"):
        store.publish(survey_named(name), signed(survey_named(name)))

    assert store.names() == ["a", "b", "c"]


def test_a_closed_survey_stays_closed(published: Store) -> None:
    published.close_survey("workplace")
    published.close_survey("workplace")
    published.publish(SURVEY, signed(SURVEY))

    assert published.state("workplace") == "closed"


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE surveys SET definition = '{}'",
        "UPDATE surveys SET digest = 'x'",
        "UPDATE surveys SET name = 'x'",
        "DELETE FROM surveys",
        "UPDATE surveys SET state = 'open'",
        "UPDATE reports SET report = '[[0],[0,1]]'",
    ],
)
def test_what_was_published_cannot_change_even_through_sql(
    published: Store, address: str, sql: str
) -> None:
    published.add(SURVEY, a_report(SURVEY))
    published.close_survey("workplace")
    before = contents(address)

    engine = engine_at(address)
    with (
        closing(engine.connect()) as connection,
        pytest.raises(engine.errors, match=r"never changes|not opened again"),
    ):
        connection.execute(sql)
    assert contents(address) == before


def test_the_waves_of_a_panel_come_in_the_order_of_publication_and_from_one_author(
    store: Store,
) -> None:
    head = {"title": "T", "questions": [{"name": "q", "type": "yes_no", "label": "Q?", "odds": 3}]}

    def wave(name: str, panel: str) -> Survey:
        return compile_survey({"name": name, "waves": {"panel": panel}} | head)

    for name in ("second", "first"):
        store.publish(wave(name, "a-b"), signed(wave(name, "a-b")))
    store.publish(wave("longer", "a-b-c"), signed(wave("longer", "a-b-c")))
    foreign = wave("foreign", "a-b")
    store.publish(foreign, signed(foreign, key_of(bytes(32))))
    store.publish(SURVEY, signed(SURVEY))

    assert store.waves("first") == store.waves("second") == ["second", "first"]
    assert store.waves("foreign") == ["foreign"]
    assert store.waves("workplace") == []
    with pytest.raises(NotFound):
        store.waves("nobody")


# --- reports ------------------------------------------------------------------------------------


def test_a_retried_report_counts_once(published: Store) -> None:
    report = a_report(SURVEY)

    outcomes = [published.add(SURVEY, report) for _ in range(3)]

    assert outcomes == [Outcome.STORED, Outcome.REPLAYED, Outcome.REPLAYED]
    assert published.tally("workplace")["stolen"].n == 1


def test_an_id_with_other_values_is_a_conflict_and_changes_nothing(
    published: Store, address: str
) -> None:
    report = a_report(SURVEY, stolen=[0])
    published.add(SURVEY, report)
    before = contents(address)

    twin = Report(id=report.id, survey=report.survey, values=report.values | {"stolen": [1]})

    assert published.add(SURVEY, twin) is Outcome.CONFLICT
    assert contents(address) == before


def test_an_id_that_another_survey_has_is_a_conflict(published: Store) -> None:
    other = survey_named("other")
    published.publish(other, signed(other))
    report = a_report(SURVEY)
    published.add(SURVEY, report)

    twin = Report(id=report.id, survey=other.digest, values=report.values)

    assert published.add(other, twin) is Outcome.CONFLICT


def test_a_closed_survey_takes_no_new_report_but_knows_its_old_ones(published: Store) -> None:
    report = a_report(SURVEY)
    published.add(SURVEY, report)
    published.close_survey("workplace")

    assert published.add(SURVEY, report) is Outcome.REPLAYED
    assert published.add(SURVEY, a_report(SURVEY)) is Outcome.CLOSED
    assert published.tally("workplace")["stolen"].n == 1


def test_a_report_to_a_survey_that_is_not_there_is_refused_by_name(store: Store) -> None:
    assert store.add(SURVEY, a_report(SURVEY)) is Outcome.UNKNOWN


def test_tallies_of_many_threads_are_those_of_the_reports(published: Store) -> None:
    other = survey_named("other")
    published.publish(other, signed(other))
    reports = [
        a_report(survey, stolen=[n % 2], often=[n % 3, 3 + n % 2])
        for n in range(200)
        for survey in (SURVEY, other)
    ]

    def add(report: Report) -> Outcome:
        return published.add(SURVEY if report.survey == SURVEY.digest else other, report)

    with ThreadPoolExecutor(32) as threads:
        outcomes = list(threads.map(add, reports + reports))

    assert outcomes.count(Outcome.STORED) == outcomes.count(Outcome.REPLAYED) == 400
    for survey in (SURVEY, other):
        of_survey = [report for report in reports if report.survey == survey.digest]
        expected = {
            question.name: tally(
                [report.values[question.name] for report in of_survey], question.mechanism.k
            )
            for question in survey.questions
        }
        assert published.tally(survey.name) == expected
        assert published.recount(survey.name) == expected


def test_twins_at_the_same_moment_count_once(published: Store) -> None:
    for _ in range(20):
        report = a_report(SURVEY)
        with ThreadPoolExecutor(16) as threads:
            outcomes = list(threads.map(lambda _, r=report: published.add(SURVEY, r), range(16)))
        assert sorted(outcome.value for outcome in outcomes) == ["replayed"] * 15 + ["stored"]

    assert published.tally("workplace")["stolen"].n == 20
    assert published.tally("workplace") == published.recount("workplace")


def test_two_stores_on_one_database_agree(published: Store, address: str) -> None:
    """As two server processes do: each has its own writer."""
    with closing(Store(address)) as second:
        reports = [a_report(SURVEY) for _ in range(300)]
        with ThreadPoolExecutor(16) as threads:
            outcomes = list(
                threads.map(lambda each: each[0].add(SURVEY, each[1]),
                            [(store, r) for r in reports for store in (published, second)])
            )  # fmt: skip
        assert outcomes.count(Outcome.STORED) == 300
        assert outcomes.count(Outcome.REPLAYED) == 300

        second.close_survey("workplace")

    assert published.add(SURVEY, a_report(SURVEY)) is Outcome.CLOSED
    assert published.tally("workplace") == published.recount("workplace")


def test_publishing_gets_its_turn_while_reports_pour_in(published: Store) -> None:
    with ThreadPoolExecutor(16) as threads:
        adding = threads.map(lambda _: published.add(SURVEY, a_report(SURVEY)), range(1500))
        for number in range(5):
            more = survey_named(f"more-{number}")
            published.publish(more, signed(more))
        assert set(adding) == {Outcome.STORED}

    assert len(published.names()) == 6


def test_an_empty_survey_has_tallies_of_nothing(published: Store) -> None:
    found = published.tally("workplace")

    assert {name: each.n for name, each in found.items()} == {"stolen": 0, "often": 0}
    assert np.array_equal(found["often"].counts, np.zeros(5))
    assert found == published.recount("workplace")


def test_everything_is_there_after_opening_again(published: Store, address: str) -> None:
    for _ in range(5):
        published.add(SURVEY, a_report(SURVEY))
    before = published.tally("workplace")
    published.close()

    with closing(Store(address)) as again:
        assert again.survey("workplace") == SURVEY
        assert again.tally("workplace") == before == again.recount("workplace")
