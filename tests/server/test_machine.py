"""Whatever order reports come in, however often, alone, together or in batches, and whatever the
server goes through meanwhile: each counts once, and results are those of a simple model."""

from __future__ import annotations

import json
import secrets
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably_server.app import create_app
from deniably_server.storage.maintenance.doctor import examine
from deniably_server.storage.store import Store
from support.material import lines_headers, new_token, signed, survey_named
from support.soak import soak

VALUES = st.fixed_dictionaries(
    {
        "stolen": st.integers(0, 1).map(lambda cell: [cell]),
        "often": st.lists(st.integers(0, 4), min_size=2, max_size=2, unique=True).map(sorted),
    }
)
Kept = dict[str, Report]


class Machine(RuleBasedStateMachine):
    """Two surveys; ``kept`` is what each has to hold, by id."""

    surveys = Bundle("surveys")
    reports = Bundle("reports")

    def __init__(self, servers: list[Flask], names: Iterator[str]) -> None:
        super().__init__()
        self.servers, self.names = deque(servers), names
        self.token = new_token(self.store, "author")
        self.kept: dict[str, Kept] = {}
        self.closed: set[str] = set()

    @property
    def store(self) -> Store:
        store: Store = self.servers[0].extensions["deniably"]
        return store

    def teardown(self) -> None:
        self.recount()

    # --- what happens -------------------------------------------------------------------------

    @initialize(target=surveys)
    def publish(self) -> Survey:
        return self.publish_another()

    @rule(target=surveys)
    def publish_another(self) -> Survey:
        results = {"minimum": 1, "while_open": True}
        survey = survey_named(next(self.names), results=results)
        self.store.publish(survey, signed(survey))
        self.kept[survey.name] = {}
        return survey

    @rule(survey=surveys)
    def publish_again(self, survey: Survey) -> None:
        assert self.store.publish(survey, signed(survey)) is False

    @rule(target=reports, survey=surveys, values=VALUES)
    def make(self, survey: Survey, values: dict[str, list[int]]) -> tuple[Survey, Report]:
        """A report waits on a device. It may be sent at any time, or never."""
        return survey, Report(secrets.token_hex(16), survey.digest, values)

    @rule(made=reports)
    def send(self, made: tuple[Survey, Report]) -> None:
        survey, report = made
        word = self.becomes(survey, report)
        assert self.post(survey, report) == self.status(word)

    @rule(made=reports, values=VALUES)
    def send_another_under_its_id(
        self, made: tuple[Survey, Report], values: dict[str, list[int]]
    ) -> None:
        survey, report = made
        other = Report(report.id, report.survey, values)
        word = self.becomes(survey, other)
        assert self.post(survey, other) == self.status(word)

    @rule(made=reports, survey=surveys)
    def send_to_another_survey(self, made: tuple[Survey, Report], survey: Survey) -> None:
        if made[0] != survey:
            assert self.post(survey, made[1]) == 422

    @rule(made=reports)
    def send_twins(self, made: tuple[Survey, Report]) -> None:
        """At the same moment, to both servers."""
        survey, report = made
        words = [self.becomes(survey, report) for _ in range(4)]
        with ThreadPoolExecutor(4) as threads:
            servers = [*self.servers, *self.servers]
            answers = threads.map(lambda server: self.post(survey, report, server), servers)
            assert sorted(answers) == sorted(map(self.status, words))

    @rule(survey=surveys, some=st.lists(reports, max_size=8), values=VALUES)
    def send_a_batch(
        self, survey: Survey, some: list[tuple[Survey, Report]], values: dict[str, list[int]]
    ) -> None:
        """Of reports that were sent or not, some of them twice, some of them of others."""
        batch = [report for _, report in some]
        batch += [Report(secrets.token_hex(16), survey.digest, values), *batch[:2]]
        expected = [self.becomes(survey, report) for report in batch]
        answer = self.client.post(
            f"/api/surveys/{survey.name}/batches",
            data=b"\n".join(report.canonical for report in batch),
            headers=lines_headers(self.token),
        )
        lines = answer.get_json()["lines"]
        assert [word for first, last, word in lines for _ in range(first, last + 1)] == expected

    @rule(survey=surveys)
    def close(self, survey: Survey) -> None:
        self.store.close_survey(survey.name)
        self.closed.add(survey.name)

    @rule()
    def erase_order(self) -> None:
        """As a server does after a closing, sooner or later."""
        self.store.erase_order()

    @rule()
    def restart(self) -> None:
        """The writer ends, and every connection."""
        self.store.close()

    @rule()
    def ask_the_other_server(self) -> None:
        """On the same database."""
        self.servers.rotate()

    # --- what has to hold -----------------------------------------------------------------------

    @invariant()
    def every_report_counts_once(self) -> None:
        for name, kept in self.kept.items():
            tallies = self.store.tally(name)
            for question in ("stolen", "often"):
                cells = Counter(cell for each in kept.values() for cell in each.values[question])
                found = tallies[question].counts.tolist()
                assert found == [cells[cell] for cell in range(len(found))]
                assert tallies[question].n == len(kept)

    @rule(survey=surveys)
    def look_at_the_results(self, survey: Survey) -> None:
        answer = self.client.get(f"/api/surveys/{survey.name}/results")
        kept = self.kept[survey.name]
        assert answer.status_code == (200 if kept else 403)
        if kept:
            assert {each["n"] for each in answer.get_json()["questions"]} == {len(kept)}

    @rule()
    def recount(self) -> None:
        for name in self.kept:
            assert self.store.tally(name) == self.store.recount(name)

    # --- the model ------------------------------------------------------------------------------

    def becomes(self, survey: Survey, report: Report) -> str:
        """What has to become of a report that is sent to a survey."""
        if report.survey != survey.digest:
            return "refused"
        kept = self.kept[survey.name]
        if report.id in kept:
            return "stored before" if kept[report.id] == report else "conflict"
        if survey.name in self.closed:
            return "closed"
        kept[report.id] = report
        return "stored"

    @staticmethod
    def status(word: str) -> int:
        known = {"stored": 201, "stored before": 200, "conflict": 409, "closed": 409}
        return known[word]

    @property
    def client(self) -> FlaskClient:
        return self.servers[0].test_client()

    def post(self, survey: Survey, report: Report, server: Flask | None = None) -> int:
        path = f"/api/surveys/{survey.name}/reports"
        client = (server or self.servers[0]).test_client()
        answer = client.post(path, data=report.canonical, content_type="application/json")
        if answer.status_code in (409, 422):
            assert json.loads(answer.data)["status"] == answer.status_code
        return int(answer.status_code)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("examples", [6, soak(100)])
def test_whatever_happens_a_report_counts_once(address: str, examples: int) -> None:
    servers = [create_app({"DATABASE": address, "TESTING": True}) for _ in range(2)]
    names = (f"survey-{number}" for number in count())
    run_state_machine_as_test(
        lambda: Machine(servers, names),
        settings=settings(max_examples=examples, stateful_step_count=25, deadline=None),
    )
    for server in servers:
        store: Store = server.extensions["deniably"]
        store.erase_order()
        assert examine(store) == []
        store.close()
