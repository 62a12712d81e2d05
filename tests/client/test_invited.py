"""A survey by invitation, from Python and in a terminal: one report each, and none that is lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner

from client.test_terminal import answer as in_terminal
from deniably.authoring.compiling import publish_text
from deniably.core.errors import BadAnswer, BadInvitation, BudgetSpent, Refused, Uninvited
from deniably.device.ledger import Limits
from deniably.trust.blind_rsa import new_key
from deniably.trust.invitation_codes import code_in_groups, read_code
from deniably_client import Device, terminal
from deniably_client.device import session
from deniably_client.errors import AskedToWait, InvitationUnknown, InvitationUsed
from deniably_client.response_body import seconds_in
from deniably_client.storage import Storage
from deniably_server.storage.store import Store
from support.intercepting_proxy import Entries, intercepting_proxy
from support.material import Server, contents

SURVEY = publish_text(
    """
name: w
title: At work
invited: true
results: {minimum: 1, while_open: true}
questions:
  - {name: stolen, type: yes_no, label: Ever stolen, odds: 3}
"""
)
ANSWERS = {"stolen": "yes"}
Invite = Callable[[], str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    # Nobody but who says so comes by a proxy; from this machine itself nothing is limited.
    limits = ("--failures", "1", "--proxies", "1")
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db", *limits)
    server.publish(SURVEY)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def invite(server: Server) -> Iterator[Invite]:
    with closing(Store(str(server.database))) as store:
        yield lambda: code_in_groups(store.invite("w", 1)[0])


@pytest.fixture
def url(server: Server) -> str:
    return f"{server.url}/s/w"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DENIABLY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def reports(server: Server) -> set[str]:
    return {bytes(row[0]).hex() for row in contents(server.database)["reports"]}


def test_an_invitation_gives_one_report(url: str, server: Server, invite: Invite) -> None:
    before, code = reports(server), invite()
    device = Device(url, memory=Storage(), invitation=code)
    assert device.needs_invitation

    receipt = device.answer(ANSWERS)

    assert not device.needs_invitation
    assert device.kept
    assert reports(server) - before == {device.kept.report.id}
    assert device.resend() == replace(receipt, again=True)
    assert len(reports(server)) == len(before) + 1
    assert code.replace("-", "") not in Storage().read().canonical.decode()
    with pytest.raises(InvitationUsed):
        Device(url, invitation=code).answer(ANSWERS)
    with pytest.raises(BadAnswer, match="one invitation gives one report"):
        device.answer(ANSWERS, changed=["stolen"])


def test_a_link_carries_the_invitation(url: str, invite: Invite) -> None:
    code = invite()
    device = Device(f"{url}#{code}")

    assert code not in repr(device)
    device.answer(ANSWERS)


def test_an_invitation_is_not_traded_for_what_the_device_would_not_answer(
    url: str, invite: Invite
) -> None:
    code = invite()
    with pytest.raises(BudgetSpent):
        Device(url, invitation=code, limits=Limits(survey=Fraction("0.5"))).answer(ANSWERS)

    Device(url, invitation=code).answer(ANSWERS)


@pytest.mark.parametrize(
    ("invitation", "error"),
    [(None, Uninvited), ("ABC", BadInvitation), ("000000-000000-000000", InvitationUnknown)],
)
def test_without_a_good_invitation_nothing_is_drawn_or_charged(
    url: str, invite: Invite, invitation: str | None, error: type[Exception]
) -> None:
    device = Device(url, memory=Storage(), invitation=invitation)

    with pytest.raises(error):
        device.answer(ANSWERS)

    memory = Storage().read()
    assert (memory.ledger, memory.reports) == ((), {})
    device.trade(invite())
    device.answer(ANSWERS)


def test_the_trade_and_the_report_come_by_different_connections(
    url: str, invite: Invite, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, str]] = []
    with session() as one:
        send = one.send

        def watch(request: requests.PreparedRequest, **more: object) -> requests.Response:
            if request.method == "POST":
                seen.append(dict(request.headers))
            return send(request, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(one, "send", watch)
        Device(url, invitation=invite(), session=one).answer(ANSWERS)

    trade, report = seen
    assert trade["Connection"] == "close"
    assert "Deniably-Ticket" in report
    shared = (trade.items() & report.items()) - {("Content-Type", "application/json")}
    assert {name for name, _ in shared} <= {"User-Agent", "Accept", "Accept-Encoding"}


class Crash(BaseException):
    """The power is cut."""


def test_a_crash_between_the_request_and_its_answer_loses_no_invitation(
    url: str, invite: Invite, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = invite()
    signed = Device._signed

    def crash(device: Device, *arguments: str) -> str:
        signed(device, *arguments)
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(Device, "_signed", crash)
        with pytest.raises(Crash):
            Device(url, memory=Storage(), invitation=code).trade()

    # The next start needs no code, and a code that comes by then is not spent.
    with monkeypatch.context() as patch:
        patch.setattr(Device, "_signed", crash)
        with pytest.raises(Crash):
            Device(url, memory=Storage()).trade()
    other = invite()
    Device(url, memory=Storage(), invitation=other).answer(ANSWERS)
    Device(url, invitation=other).answer(ANSWERS)


def test_a_trade_of_no_use_makes_room_for_another_invitation(url: str, invite: Invite) -> None:
    code = invite()
    Device(url, invitation=code).trade()
    device = Device(url, memory=Storage(), invitation=code)
    with pytest.raises(InvitationUsed):
        device.trade()
    assert not Storage().read().trades

    device.trade(invite())
    device.answer(ANSWERS)


def test_a_server_that_signs_with_another_key_is_found_out(
    url: str, server: Server, invite: Invite
) -> None:
    other = new_key()
    with intercepting_proxy(server.url) as proxy:

        def marked(body: bytes) -> bytes:
            number = int(json.loads(body)["signature"], 16) % other.public.modulus
            return json.dumps({"signature": f"{number ^ 1:0512x}"}).encode()

        proxy.changes["/api/surveys/w/tickets"] = marked
        device = Device(f"{proxy.url}/s/w", memory=Storage(), invitation=invite())
        with pytest.raises(Refused, match="the key that the register shows"):
            device.answer(ANSWERS)

    assert Storage().read().reports == {}


def test_a_register_that_shows_somebody_another_key_is_another_register(
    url: str, server: Server
) -> None:
    """Who saw the true one refuses; who did not has another seal to compare."""

    def other_key(entries: Entries) -> None:
        entries[0]["invitations"] = new_key().public.text

    honest = Device(url)
    with intercepting_proxy(server.url) as proxy:
        proxy.register(other_key)
        marked = Device(f"{proxy.url}/s/w")
        assert marked.survey == honest.survey
        assert marked._verified[1].seal != honest._verified[1].seal
        memory = Storage()
        proxy.honest()
        assert Device(f"{proxy.url}/s/w", memory=memory).survey
        proxy.register(other_key)
        with pytest.raises(Refused, match="rewritten"):
            _ = Device(f"{proxy.url}/s/w", memory=memory).survey


@pytest.fixture
def crowded(url: str) -> Iterator[requests.Session]:
    """Comes from a network from which somebody guesses codes."""
    with session(retries=0) as made:
        made.headers["X-Forwarded-For"] = "203.0.113.7"
        with suppress(InvitationUnknown, AskedToWait):
            Device(url, session=made, invitation="000000-000000-000000").trade()
        yield made


def test_where_codes_are_guessed_others_are_asked_to_wait_and_lose_nothing(
    url: str, invite: Invite, crowded: requests.Session
) -> None:
    with pytest.raises(AskedToWait, match="asks this network to wait for") as waiting:
        Device(url, memory=Storage(), invitation=invite(), session=crowded).answer(ANSWERS)

    assert 1 <= waiting.value.seconds <= 60
    memory = Storage().read()
    assert (memory.ledger, memory.reports) == ((), {})
    Device(url, memory=Storage()).answer(ANSWERS)  # the code is kept, and good


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("0", 1), (None, 60), ("", 60), ("Sat, 21 Nov 2026 07:28:00 GMT", 60), ("-1", 60),
     ("9" * 99, 60), ("\u0663", 60)],
)  # fmt: skip
def test_how_long_to_wait_is_read_from_whatever_a_server_says(
    header: str | None, seconds: int
) -> None:
    assert seconds_in(header) == seconds


# --- in a terminal ------------------------------------------------------------------------------


def test_in_a_terminal_the_code_is_typed_until_it_is_one(
    url: str, server: Server, invite: Invite
) -> None:
    before, code = reports(server), invite()
    done = in_terminal(url, f"ABC\n000000-000000-000000\n{code.lower()}\n1\ny\n")

    assert done.returncode == 0, done.stderr
    assert "one is missing or misspelt" in done.stderr
    assert "has no such invitation" in done.stderr
    assert "Sent." in done.stdout
    assert len(reports(server) - before) == 1
    again = in_terminal(url, "")
    assert again.returncode == 0, again.stderr
    assert "One invitation gives one report" in again.stdout
    assert len(reports(server) - before) == 1


def test_in_a_terminal_it_is_said_when_to_try_again(
    url: str, invite: Invite, crowded: requests.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_that_network = partial(Device, session=crowded)
    monkeypatch.setattr(terminal, "Device", by_that_network)

    done = CliRunner().invoke(terminal.answer, [f"{url}#{invite()}"])

    assert done.exit_code == 1
    assert "not lost. Please try again in a minute." in done.output
    Device(url, memory=Storage()).answer(ANSWERS)


def test_in_a_terminal_a_link_is_enough(url: str, invite: Invite) -> None:
    code = invite()
    done = in_terminal(f"{url}#{code}", "1\ny\n")

    assert done.returncode == 0, done.stderr
    assert "Sent." in done.stdout
    assert code not in done.stdout
    assert read_code(code) not in done.stdout


def test_in_a_terminal_an_answer_that_cannot_be_read_costs_no_invitation(
    url: str, server: Server, invite: Invite
) -> None:
    link = invite()
    with intercepting_proxy(server.url) as broken:
        broken.changes["/api/surveys/w/tickets"] = lambda _: b"{"
        done = in_terminal(f"{broken.url}/s/w#{link}", "")
        assert (done.returncode, "cannot be read" in done.stderr) == (1, True)
        broken.changes.clear()
        assert Device(f"{broken.url}/s/w", memory=Storage()).needs_invitation
        Device(f"{broken.url}/s/w", memory=Storage(), invitation=link).trade()
