"""The whole Python client answers a server: every byte of what it asks has to be as specified."""

from __future__ import annotations

import json
from itertools import islice
from random import Random
from typing import Any

import pytest

from deniably.audit.question_audit import audit
from deniably.audit.replay import replaying
from deniably.audit.replay.expected import Reference
from deniably.audit.replay.python_client import NoClient, PythonClient, fault_of_visit
from deniably.audit.replay.recording_server import Asked, Loopback, Reply
from deniably.audit.replay.replaying import Fault as Found
from deniably.audit.replay.replaying import Replays, replay, study_of
from deniably.audit.replay.scenarios import Schedule
from deniably.audit.replay.witness import again, read_witness, witness_of
from deniably.audit.survey_audit import audit_survey
from deniably.audit.verdict_levels import judge_whole
from deniably.audit.whole_reports import ReportAudit, whole_reports
from deniably.survey.survey import as_survey
from support.device_faults import STUDIES, Fault, planted
from support.every_type import survey_of_everything

_ANSWER = "deniably_client.device:Device.answer"
_SEND = "deniably_client.device:Device._send"
_UPDATED = "        self._memory.update(kept)  # no network request while it is locked\n"
_HEADERS = '        headers = {"Deniably-Ticket": ticket.ticket} if ticket else {}\n'
_FIRST = 'answers.get("first")'


def before_sending(code: str) -> tuple[str, str, str]:
    return _ANSWER, _UPDATED, f"{_UPDATED}        {code}\n"


FAULTS = [
    Fault("a header has the truth", "two questions",
          *before_sending(f'self.session.headers["X-Kind"] = str({_FIRST})')),
    Fault("a cookie has the truth", "two questions",
          *before_sending(f'self.session.headers["Cookie"] = "a=" + str({_FIRST})')),
    Fault("the program's name has one space more for one answer", "two questions",
          *before_sending(f'self.session.headers["User-Agent"] += " " * ({_FIRST} == "yes")')),
    Fault("headers come in another order for one answer", "two questions",
          *before_sending(f'if {_FIRST} == "yes": self.session.headers = '
                          'dict(reversed(self.session.headers.items()))')),
    Fault("a header is spelt otherwise for one answer", "two questions",
          *before_sending(f'if {_FIRST} == "yes": self.session.headers = '
                          '{k.upper(): v for k, v in self.session.headers.items()}')),
    Fault("the address has the truth", "two questions",
          *before_sending(f'self._api += "?first=" + str({_FIRST})')),
    Fault("a request of its own has the truth", "two questions",
          *before_sending(f'self.session.get(self._base + "/pixel?" + str({_FIRST}))')),
    Fault("another server is told", "two questions",
          *before_sending('import socket; line = socket.socket(2, 2); '
                          'line.sendto(b"yes", ("127.0.0.1", 9)); line.close()')),
    Fault("the body has a space more", "two questions", _SEND,
          "PROBLEM, sent, headers", 'PROBLEM, sent + b" ", headers'),
    Fault("a report that is sent again says so", "two questions", _SEND, _HEADERS,
          _HEADERS + '        headers |= {"X-Again": "1"} if again else {}\n'),
    Fault("the ticket is sent without invitations", "two questions", _SEND, _HEADERS,
          _HEADERS + '        headers |= {"Deniably-Ticket": "00"}\n'),
    Fault("a report is sent twice", "two questions", _ANSWER,
          "        return self._send(again=before == after)\n",
          "        self._send(again=False)\n        return self._send(again=before == after)\n"),
    Fault("the report is of other coins", "two questions", "survey.report:make_report",
          "    coins = coins or Coins()\n", "    coins = Coins()\n    coins.below(2)\n"),
    Fault("the trade names the answer", "by invitation", "deniably_client.device:Device._signed",
          '{"invitation": code, "blinded": blinded}',
          '{"invitation": code, "blinded": blinded, "more": "yes"}'),
]  # fmt: skip


def definition(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(as_survey(STUDIES[name]).canonical)
    return found


def visited(given: dict[str, Any], visits: int) -> Replays:
    return replay(given, 20, scenarios=0, languages=["Python"], visits=visits)


@pytest.fixture
def no_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole visits alone, without the replays before them."""
    monkeypatch.setattr(replaying, "_take_turns", lambda *_, **__: None)


# --- the shipped client ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", STUDIES)
def test_the_shipped_client_asks_what_the_specification_says(name: str) -> None:
    study = study_of(definition(name))
    reference, scenarios = Reference(study), Schedule(study, Random(3)).visits()

    with PythonClient(study) as client:
        found = [fault_of_visit(reference, client.visit(one)) for one in islice(scenarios, 4)]

    assert found == [None] * 4


def test_every_type_of_question_is_sent_as_specified() -> None:
    study = study_of(json.loads(survey_of_everything().canonical))
    reference, (scenario, *_) = Reference(study), islice(Schedule(study, Random(3)).visits(), 1)

    with PythonClient(study) as client:
        assert fault_of_visit(reference, client.visit(scenario)) is None


@pytest.mark.usefixtures("no_scenarios")
def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    found = visited(definition("two questions"), 2).python

    assert (found.visits, found.fault) == (2, None)


# --- planted faults -------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@pytest.mark.usefixtures("no_scenarios")
def test_a_fault_of_what_is_sent_is_seen(fault: Fault) -> None:
    with planted(fault):
        found = visited(definition(fault.study), 40).python

    assert found.fault


@pytest.mark.usefixtures("no_scenarios")
def test_the_witness_of_a_request_shows_it_again_and_nothing_once_it_is_mended() -> None:
    (fault,) = [one for one in FAULTS if one.name == "a header has the truth"]
    with planted(fault):
        replays = visited(definition(fault.study), 1)
        assert isinstance(replays.fault, Found)
        witness = witness_of(replays.study, replays.fault)
        assert witness
        read = read_witness(witness.text)
        repeated = again(read)

    assert repeated
    assert "a header is 'X-Kind: " in repeated.why
    assert "/reports" in repeated.why
    assert again(read) is None


# --- the verdict ----------------------------------------------------------------------------------


def test_whole_reports_say_how_often_whole_requests_were_compared() -> None:
    found = audit_survey(as_survey(STUDIES["two questions"]), trials=10, scenarios=1)

    assert found.replays.python.visits == replaying.VISITS
    said = found.judged[-1].text
    assert "Requests of the Python client compared whole" in said
    assert "for 138 people: a departure in 1 of 10 would have been seen." in said


@pytest.mark.usefixtures("no_scenarios")
def test_without_the_client_whole_reports_are_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> PythonClient:
        raise NoClient("the Python client is not installed here")

    monkeypatch.setattr(replaying, "PythonClient", missing)
    survey = as_survey(STUDIES["two questions"])
    together, *pairs = whole_reports(survey)

    found = judge_whole(
        ReportAudit(together, tuple(pairs)), visited(definition("two questions"), 2)
    )

    assert audit(survey, 10)
    assert found.rungs["Python"] == "in part"
    assert "The Python client is not installed here." in found.text


# --- the server -----------------------------------------------------------------------------------


def test_the_server_of_a_visit_keeps_every_byte_of_what_it_is_asked() -> None:
    import socket

    with Loopback(lambda _: Reply(200, b"yes")) as server:
        line = socket.create_connection(server.address)
        line.sendall(b"POST /a?b HTTP/1.1\r\nhost: x\r\nX:  two\r\nContent-Length: 3\r\n\r\nabc")
        answered = line.recv(1000)
        line.close()

    headers = (("host", "x"), ("X", " two"), ("Content-Length", "3"))
    assert server.asked == [Asked("POST", "/a?b", "HTTP/1.1", headers, b"abc")]
    assert answered == b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"
