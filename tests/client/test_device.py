"""The device in Python: it verifies before it answers, and sends one report, the same each time."""

import json
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest
from requests.utils import get_environ_proxies
from urllib3 import HTTPResponse

from deniably.authoring.compiling import publish_text
from deniably.core.errors import BadAnswer, BudgetSpent, Refused
from deniably.device.ledger import Limits
from deniably.survey.survey import read_survey
from deniably.trust.heads import head_of
from deniably_client import Device
from deniably_client.device import session
from deniably_client.errors import AlreadyAnswered, Rejected, SurveyClosed, Unreachable
from deniably_client.response_body import BoundedRetry
from support.every_type import QUESTIONS, somebody, survey_of_everything
from support.intercepting_proxy import listing_text
from support.keys import key_of
from support.material import Server, register_of, signed

SURVEY = publish_text(
    """
name: w
title: At work
questions:
  - {name: stolen, type: yes_no, label: Ever, odds: 3}
  - {name: often, type: select_one, label: How often, choices: [never, once, often], epsilon: 1}
"""
)
ANSWERS = {"stolen": "yes", "often": "never"}
SERVER = key_of(b"server".ljust(32))

Request = tuple[str, str, dict[str, str], bytes]


class Wire:
    """A real HTTP server on loopback that answers as told and records every request.

    ``definition``, ``etag``, ``register`` (that of the definition, unless told otherwise) and
    ``statuses`` (for the POSTs, in turn; the last one repeats) are the test's to change. The
    promises of the real server are tested in tests/server.
    """

    def __init__(self) -> None:
        self.definition = SURVEY.canonical
        self.etag: str | None = None
        self.register: bytes | None = None
        self.statuses = [201]
        self.said: bytes | None = None
        self.problem: dict[str, object] = {}
        self.gone = False
        self.requests: list[Request] = []
        wire = self

        class Handler(BaseHTTPRequestHandler):
            def parse_request(self) -> bool:
                return not wire.gone and super().parse_request()

            def do_GET(self) -> None:
                self.record()
                if self.path.startswith("/register/"):
                    survey = read_survey(wire.definition)
                    entries = [*register_of(survey).entries]
                    told = wire.register or listing_text(entries, survey.name, SERVER)
                    self.reply(200, told, {})
                    return
                etag = wire.etag or json.dumps(publish_digest(wire.definition))
                self.reply(200, wire.definition, {"ETag": etag, "Set-Cookie": "who=me"})

            def do_POST(self) -> None:
                self.record()
                done = sum(method == "POST" for method, *_ in wire.requests)
                status = wire.statuses[min(done, len(wire.statuses)) - 1]
                said = json.dumps(wire.problem).encode()
                if wire.said is not None and status >= 400:
                    said = wire.said
                self.reply(status, said, {"Retry-After": "0"})

            def record(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                wire.requests.append((self.command, self.path, dict(self.headers), body))

            def reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(ConnectionError):  # a device need not read to the end
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/s/w"

    def posts(self) -> list[bytes]:
        return [body for method, _, _, body in self.requests if method == "POST"]


def publish_digest(definition: bytes) -> str:
    import hashlib

    return hashlib.sha256(definition).hexdigest()


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    thread = Thread(target=wire.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield wire
    wire.server.shutdown()
    wire.server.server_close()
    thread.join()


@pytest.fixture
def device(wire: Wire) -> Iterator[Device]:
    with session() as connections:
        yield Device(wire.url, session=connections)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "deniably.db")
    yield server
    server.kill()


def test_proxies_are_those_of_the_environment_and_looked_for_once_for_each_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "near.example")
    opened, looked = session(), list[str]()

    def counted(url: str, **named: Any) -> Any:
        looked.append(url)
        return get_environ_proxies(url, **named)

    monkeypatch.setattr("requests.sessions.get_environ_proxies", counted)

    def proxy(url: str) -> object:
        found = opened.merge_environment_settings(url, {}, None, None, None)
        return found["proxies"].get("https")

    for path in ("s/a", "s/b"):
        assert proxy(f"https://far.example/{path}") == "http://proxy.example:3128"
        assert proxy(f"https://near.example/{path}") is None
    assert looked == ["https://far.example", "https://near.example"]


def test_an_answer_is_randomised_sent_and_receipted(wire: Wire, device: Device) -> None:
    receipt = device.answer(ANSWERS)

    (body,) = wire.posts()
    assert receipt.digest == publish_digest(body)
    assert receipt.version == SURVEY.digest
    assert receipt.total == SURVEY.total
    assert receipt.author == signed(SURVEY).fingerprint
    assert receipt.register == head_of(register_of(SURVEY)).seal
    assert set(json.loads(body)) == {"id", "survey", "values"}


def test_nothing_about_the_answers_or_their_owner_is_sent(wire: Wire, device: Device) -> None:
    """Only the values vary with the answer, and they through the mechanism (tests/audit)."""
    device.answer(ANSWERS)

    for _, path, headers, body in wire.requests:
        assert headers.get("User-Agent") == "deniably"
        assert set(headers) <= {
            "Host", "User-Agent", "Accept", "Accept-Encoding", "Connection",
            "Content-Type", "Content-Length", "If-None-Match",
        }  # fmt: skip
        for secret in ("yes", "never"):
            assert secret not in path
            assert secret.encode() not in body
            assert secret not in str(headers.values())


def test_a_password_for_the_server_is_not_sent(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of ~/.netrc, which requests would send unasked, with the name of its owner."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login alice@example.org password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))

    with session() as connections:
        Device(wire.url, session=connections).answer(ANSWERS)

    assert wire.posts()
    assert all("Authorization" not in headers for _, _, headers, _ in wire.requests)


def test_a_cookie_is_not_taken(wire: Wire, device: Device) -> None:
    device.answer(ANSWERS)

    assert all("Cookie" not in headers for _, _, headers, _ in wire.requests)


@pytest.mark.parametrize("fault", [500, 502, 503, 504, 429])
def test_a_fault_is_retried_with_the_same_bytes(
    wire: Wire, device: Device, fault: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them after waits as long as a user's."""
    if fault != 503:
        monkeypatch.setattr(BoundedRetry, "get_backoff_time", lambda _: 0.01)
    wire.statuses = [fault, fault, 201]

    device.answer(ANSWERS)

    assert len(wire.posts()) == 3
    assert len(set(wire.posts())) == 1


def test_after_the_last_retry_the_report_is_kept_for_later(wire: Wire) -> None:
    wire.statuses = [503]
    with session(retries=1) as connections:
        device = Device(wire.url, session=connections)
        with pytest.raises(Unreachable, match="cannot answer now"):
            device.answer(ANSWERS)
        wire.statuses = [200]
        receipt = device.resend()

    assert len(set(wire.posts())) == 1, "the coins were thrown once"
    assert receipt.digest == publish_digest(wire.posts()[0])


def test_a_second_answer_is_refused_because_it_would_throw_the_coins_again(
    wire: Wire, device: Device
) -> None:
    device.answer(ANSWERS)

    with pytest.raises(AlreadyAnswered, match="resend"):
        device.answer(ANSWERS)
    assert len(wire.posts()) == 1


def test_a_refusal_is_not_retried_and_carries_the_servers_sentence(
    wire: Wire, device: Device
) -> None:
    wire.statuses = [422]
    wire.problem = {"type": "/problems/bad-report", "detail": "values.stolen has two values"}

    with pytest.raises(Rejected, match="stolen has two values") as refused:
        device.answer(ANSWERS)

    assert refused.value.status == 422
    assert len(wire.posts()) == 1


def test_a_closed_survey_says_so(wire: Wire, device: Device) -> None:
    wire.statuses = [409]
    wire.problem = {"type": "/problems/closed", "detail": "the survey is closed"}

    with pytest.raises(SurveyClosed, match="closed"):
        device.answer(ANSWERS)


def test_a_redirect_is_not_followed(wire: Wire, device: Device) -> None:
    wire.statuses = [307]

    with pytest.raises(Rejected):
        device.answer(ANSWERS)
    assert len(wire.posts()) == 1


@pytest.mark.parametrize("said", [b"[" * 100_000, b"9" * 5000, b" " * (70 << 10) + b"{}"])
def test_a_refusal_that_is_no_sentence_is_a_refusal_all_the_same(
    wire: Wire, device: Device, said: bytes
) -> None:
    wire.statuses, wire.said = [422], said

    with pytest.raises(Rejected, match="gave no reason"):
        device.answer(ANSWERS)


def test_a_definition_or_register_without_end_is_not_read_to_its_end(
    wire: Wire, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are smaller here; that they are used is what counts."""
    monkeypatch.setattr("deniably_client.meeting.LARGEST_LISTING", 1 << 20)
    wire.register = b" " * (2 << 20)
    with pytest.raises(Refused, match="more than 1 MiB"):
        device.answer(ANSWERS)

    monkeypatch.setattr("deniably_client.meeting.DEFINITION", 2 << 20)
    wire.definition = b" " * (3 << 20)
    with pytest.raises(Refused, match="more than 2 MiB"):
        device.answer(ANSWERS)
    assert wire.posts() == []


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("7", 7), ("100000", 300), ("9" * 5000, None), ("soon", None), ("-5", None),
     ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 01 Jan 2999 00:00:00 GMT", 300), (None, None)],
)  # fmt: skip
def test_a_server_may_ask_for_some_minutes_of_patience(
    said: str | None, seconds: float | None
) -> None:
    response = HTTPResponse(headers={} if said is None else {"Retry-After": said})

    assert BoundedRetry().get_retry_after(response) == seconds


def test_of_a_fault_without_end_nothing_is_read(wire: Wire) -> None:
    """Its body would be read before the next try, as requests does it."""
    wire.statuses, wire.said = [503, 201], b" " * (64 << 20)
    with session() as connections:
        tracemalloc.start()
        Device(wire.url, session=connections).answer(ANSWERS)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert len(wire.posts()) == 2
    assert most < 32 << 20


def changed(change: Callable[[Any], object]) -> bytes:
    value = json.loads(SURVEY.canonical)
    change(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d["questions"][0]["mechanism"].update(own=4), "larger odds than the claim"),
        (lambda d: d["questions"][1]["mechanism"].update(own=11674931555), "larger odds"),
        (lambda d: d["questions"][0]["mechanism"].update(name="plain"), "no such mechanism"),
        (lambda d: d["questions"][0].update(type="text"), "free text cannot be asked"),
        (lambda d: d["questions"][1].update(type="Long-Text"), "free text cannot be asked"),
        (lambda d: d["questions"][1].update(type="ranking"), "no such type"),
        (lambda d: d.update(name="other"), "another survey"),
        (lambda d: d.pop("results"), "results"),
    ],
)
def test_a_definition_that_cannot_be_trusted_is_refused(
    wire: Wire, device: Device, change: Callable[[Any], object], why: str
) -> None:
    wire.definition = changed(change)

    with pytest.raises(Refused, match=why):
        device.answer(ANSWERS)
    assert wire.posts() == []


def test_a_definition_under_another_digest_is_refused(wire: Wire, device: Device) -> None:
    wire.etag = f'"{"0" * 64}"'

    with pytest.raises(Refused, match="not the version"):
        device.answer(ANSWERS)


def test_a_pinned_version_is_kept_to(wire: Wire) -> None:
    with session() as connections, pytest.raises(Refused, match="was changed"):
        Device(wire.url, digest="0" * 64, session=connections).answer(ANSWERS)
    with session() as connections:
        Device(wire.url, digest=SURVEY.digest, session=connections).answer(ANSWERS)


def test_a_survey_above_the_respondents_limit_is_refused(wire: Wire) -> None:
    """ln 3 + 1 = 2.0986..., decided exactly on the integer weights."""
    with session() as connections, pytest.raises(BudgetSpent, match=r"add 2\.10: .* limit of 2$"):
        Device(wire.url, limits=Limits.of("2"), session=connections).answer(ANSWERS)
    assert wire.posts() == []
    with session() as connections:
        Device(wire.url, limits=Limits.of("2.1"), session=connections).answer(ANSWERS)


def test_an_incomplete_answer_sheet_sends_nothing_and_can_be_mended(
    wire: Wire, device: Device
) -> None:
    with pytest.raises(BadAnswer, match="often"):
        device.answer({"stolen": "yes"})
    assert wire.posts() == []

    device.answer(ANSWERS)


def test_a_survey_that_changed_since_it_was_loaded_is_not_answered(
    wire: Wire, device: Device
) -> None:
    assert device.survey == SURVEY
    wire.definition = changed(lambda d: d.update(title="At home"))

    with pytest.raises(Refused, match="was changed since this device loaded it; nothing was sent"):
        device.answer(ANSWERS)
    assert wire.posts() == []


def test_the_version_is_asked_for_again_without_being_sent_again(server: Server) -> None:
    """A real server answers 304; a change would be answered with another definition."""
    server.publish(SURVEY)

    with session() as connections:
        seen: list[int] = []
        connections.hooks["response"] = [lambda answer, **_: seen.append(answer.status_code)]
        Device(f"{server.url}/s/w", session=connections).answer(ANSWERS)

    assert seen == [200, 200, 304, 201]


def test_without_a_network_the_report_is_made_all_the_same(wire: Wire) -> None:
    """The definition cannot be asked for again; the report waits for the network."""
    with session(retries=0) as connections:
        device = Device(wire.url, session=connections)
        assert device.survey == SURVEY
        wire.gone = True
        with pytest.raises(Unreachable):
            device.answer(ANSWERS)
        wire.gone = False
        device.resend()

    assert len(wire.posts()) == 1


@pytest.mark.parametrize(
    "url",
    [
        "", "w", "ftp://h/s/w", "http://h/", "http://h/s/", "http:///s/w",
        "https://me:secret@h/s/w", "https://evil\\@h/s/w", "https://evil\\.h/s/w",
    ],
)  # fmt: skip
def test_an_address_that_is_no_surveys_is_explained(url: str) -> None:
    with pytest.raises(ValueError, match="a survey's address looks like"):
        Device(url)


@pytest.mark.parametrize("path", ["/s/w", "/surveys/w", "/api/surveys/w", "/s/w/"])
def test_every_address_of_a_survey_will_do(wire: Wire, path: str) -> None:
    with session() as connections:
        device = Device(wire.url.replace("/s/w", path), session=connections)
        assert device.survey == SURVEY


def test_nobody_at_home_is_explained() -> None:
    with session(retries=0) as connections, pytest.raises(Unreachable, match="gave no answer"):
        Device("http://127.0.0.1:9/s/w", session=connections).answer(ANSWERS)


def test_neither_device_nor_receipt_shows_an_answer(wire: Wire, device: Device) -> None:
    receipt = device.answer(ANSWERS)

    shown = repr(device) + repr(receipt) + str(receipt)
    assert "never" not in shown
    assert "yes" not in shown
    for value in vars(device).values():
        assert value is not ANSWERS
    assert b"never" not in pickle.dumps(device.kept)


# --- every type of question ---------------------------------------------------------------------


def test_a_device_answers_every_type(server: Server) -> None:
    survey = survey_of_everything()
    server.publish(survey)
    device = Device(f"{server.url}/s/everything", limits=Limits.of("64"))

    receipt = device.answer(somebody(Random(1)))

    assert set(receipt.losses) == {question.name for question in survey.questions}
    assert receipt.total == survey.total
    fines = next(line for line in str(receipt).splitlines() if "fines" in line)
    assert fines.endswith("at most 7.4 times, except with a chance of at most 1 in 100,000")
    assert "1 in 100,000 over all questions" in str(receipt)


def test_a_device_that_is_asked_some_questions_sends_those_it_drew(server: Server) -> None:
    questions = [q for q in QUESTIONS if "show_if" not in q]
    survey = survey_of_everything(
        name="some", ask=2, questions=[{"claim": {"epsilon": "2"}} | q for q in questions]
    )
    server.publish(survey)
    device = Device(f"{server.url}/s/some", limits=Limits.of("64"))
    drawn = [question.name for question in device.questions]

    receipt = device.answer({name: somebody(Random(1))[name] for name in drawn})

    assert len(drawn) == 2
    assert list(receipt.losses) == drawn


def test_answers_by_keyword_are_refused_with_the_call_that_is_right(device: Device) -> None:
    for wrong in ({"sick": 999}, {}):
        with pytest.raises(TypeError, match="answers are one mapping") as refused:
            device.answer(**wrong)  # type: ignore[arg-type]
        assert "999" not in str(refused.value)
        assert ('answer({"sick": ...})' in str(refused.value)) == bool(wrong)
