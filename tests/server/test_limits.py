"""Limits for one network address: how much, for how long, and that nobody's address is kept."""

from __future__ import annotations

import http.client
import json
import secrets
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from flask.testing import FlaskClient

from deniably.survey.report import LARGEST_BODY
from deniably.survey.survey import Survey
from deniably_server.app import create_app
from deniably_server.guard.client_network import network_of
from deniably_server.guard.rate_limits import Limit
from support.cases import for_each
from support.clock import Clock
from support.material import (
    Server,
    a_report,
    a_trade,
    assert_problem,
    lines_headers,
    new_token,
    signed,
    survey_named,
)

HOME, AWAY = "203.0.113.7", "198.51.100.9"
NOON = 1_800_000_000.0 // 86400 * 86400 + 43200  # seconds
SURVEY = survey_named()


# --- the bucket ---------------------------------------------------------------------------------


def test_so_many_at_once_and_then_evenly() -> None:
    clock = Clock()
    limit = Limit(60, clock)

    assert sum(limit.take(HOME) for _ in range(100)) == 60
    assert limit.wait(HOME) == 1
    for _ in range(10):
        clock.now += 1
        assert limit.wait(HOME) == 0
        assert sum(limit.take(HOME) for _ in range(100)) == 1
    clock.now += 3600
    assert sum(limit.take(HOME) for _ in range(100)) == 60, "never more than that at once"


def test_the_wait_that_a_refusal_names_is_enough_and_one_second_less_is_not() -> None:
    for rate in (1, 7, 59):
        clock = Clock()
        limit = Limit(rate, clock)
        limit.take(HOME, rate)
        wait = limit.wait(HOME)

        clock.now += wait - 1
        assert limit.take(HOME) == 0, rate
        clock.now += 1
        assert limit.take(HOME) == 1, rate


def test_of_many_that_are_wanted_those_that_may_come_are_counted() -> None:
    limit = Limit(10, Clock())

    assert [limit.take(HOME, wanted) for wanted in (4, 0, 4, 4, 1)] == [4, 0, 4, 2, 0]


def test_one_address_does_not_spend_what_another_has() -> None:
    """Two addresses share a place by chance, once in 65,536; never all of three others."""
    limit = Limit(5, Clock())
    limit.take(HOME, 5)

    assert max(limit.take(other, 5) for other in (AWAY, "192.0.2.1", "192.0.2.2")) == 5
    assert limit.take(HOME) == 0


def test_threads_together_get_no_more_than_one_would() -> None:
    limit = Limit(500, Clock())
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(lambda _: limit.take(HOME), range(2000))) == 500
    finally:
        sys.setswitchinterval(before)


def test_a_day_forgets_the_salt_and_all_that_was_counted() -> None:
    wall = Clock(NOON)
    limit = Limit(5, Clock(), wall)
    salt = limit._salt
    assert limit.take(HOME, 9) == 5
    wall.now += 43199  # until a second before midnight, in UTC
    assert limit.take(HOME) == 0
    assert limit._salt is salt

    wall.now += 1

    assert limit.take(HOME) == 1
    assert limit._salt != salt
    assert len(salt) == 32


def test_a_flood_from_many_addresses_does_not_fill_the_memory() -> None:
    limit = Limit(10)
    size = limit._full.itemsize * len(limit._full)
    for number in range(20_000):
        limit.take(f"2001:db8::{number:x}")

    assert limit._full.itemsize * len(limit._full) == size <= 1 << 20
    assert all(len(repr(value)) < 1 << 25 for value in vars(limit).values())


def test_nothing_holds_an_address_afterwards() -> None:
    limit, address = Limit(10), f"203.0.113.{secrets.token_hex(8)}"
    before = sys.getrefcount(address)

    limit.take(address)
    limit.wait(address)

    assert sys.getrefcount(address) == before


# --- whose address ------------------------------------------------------------------------------


@for_each(
    ("own", "said", "proxies", "network"),
    [
        (HOME, "", 0, HOME),
        (HOME, AWAY, 0, HOME),  # anybody's invention
        ("127.0.0.1", AWAY, 0, None),
        ("127.1.2.3", "", 0, None),
        ("::1", "", 0, None),
        ("::ffff:127.0.0.1", "", 0, None),
        ("::ffff:203.0.113.7", "", 0, HOME),
        ("", "", 0, None),
        ("2001:db8:0:1:a:b:c:d", "", 0, "20010db800000001"),
        ("2001:db8:0:1::9", "", 0, "20010db800000001"),
        ("2001:db8:0:2::9", "", 0, "20010db800000002"),
        ("fe80::1%eth0", "", 0, "fe80000000000000"),
        ("10.0.0.1", AWAY, 1, AWAY),
        ("127.0.0.1", f"1.1.1.1, {AWAY}", 1, AWAY),
        ("127.0.0.1", f"1.1.1.1,{AWAY},10.0.0.2", 2, AWAY),
        ("10.0.0.1", AWAY, 2, "10.0.0.1"),  # it did not come by both
        ("10.0.0.1", "", 1, "10.0.0.1"),
        ("127.0.0.1", "", 1, None),
        ("10.0.0.1", "127.0.0.1", 1, "127.0.0.1"),  # what a header says is never this machine
        ("10.0.0.1", f"{AWAY}:4711", 1, AWAY),
        ("10.0.0.1", "[2001:db8:0:1::9]:4711", 1, "20010db800000001"),
        ("10.0.0.1", "2001:db8:0:1::9", 1, "20010db800000001"),
        ("10.0.0.1", "unknown", 1, "unknown"),
        ("10.0.0.1", "no:such:address", 1, "no:such:address"),
    ],
)
def test_a_request_counts_for_the_network_that_it_comes_from(
    own: str, said: str, proxies: int, network: str | None
) -> None:
    environ: dict[str, Any] = {"REMOTE_ADDR": own}
    if said:
        environ["HTTP_X_FORWARDED_FOR"] = said

    assert network_of(environ, proxies) == network


# --- over HTTP ----------------------------------------------------------------------------------


@pytest.fixture
def limited(tmp_path: Path) -> Callable[..., FlaskClient]:
    """A client of an application with these settings."""

    def make(**settings: int) -> FlaskClient:
        app = create_app({"DATABASE": str(tmp_path / "deniably.db"), **settings})
        app.extensions["deniably"].publish(SURVEY, signed(SURVEY))
        return app.test_client()

    return make


def post(client: FlaskClient, survey: Survey = SURVEY, **more: Any) -> Any:
    more = {"content_type": "application/json", "remote": HOME} | more
    return client.post(
        f"/api/surveys/{survey.name}/reports",
        data=more.get("data", a_report(survey).canonical),
        content_type=more["content_type"],
        headers=more.get("headers", {}),
        environ_overrides={"REMOTE_ADDR": more["remote"]},
    )


def send_lines(client: FlaskClient, lines: bytes, remote: str = HOME) -> Any:
    """Many reports, by who has a token."""
    token = new_token(client.application.extensions["deniably"], "author")
    return client.post(
        f"/api/surveys/{SURVEY.name}/batches",
        data=lines,
        headers=lines_headers(token),
        environ_overrides={"REMOTE_ADDR": remote},
    )


def count(client: FlaskClient) -> int:
    app = client.application
    return int(app.extensions["deniably"].tally(SURVEY.name)["stolen"].n)


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8"])
def test_above_the_limit_a_report_is_refused_and_others_are_taken(
    limited: Callable[..., FlaskClient], kind: str
) -> None:
    """Both by the short way in and by Flask's."""
    client = limited(RATE=3)
    taken = [post(client, content_type=kind).status_code for _ in range(3)]
    refused = post(client, content_type=kind)

    assert taken == [201] * 3
    problem = assert_problem(refused, 429, "too-many")
    assert 1 <= int(refused.headers["Retry-After"]) <= 20
    assert HOME not in json.dumps(problem)
    assert post(client, content_type=kind, remote="127.0.0.1").status_code == 201
    assert count(client) == 4


def test_what_is_refused_counts_as_well(limited: Callable[..., FlaskClient]) -> None:
    client = limited(RATE=2)

    statuses = [post(client, data=b"{}").status_code for _ in range(3)]

    assert statuses == [400, 400, 429] or statuses == [422, 422, 429]


def test_no_limit_is_no_limit(limited: Callable[..., FlaskClient]) -> None:
    client = limited(RATE=0)

    assert {post(client).status_code for _ in range(20)} == {201}


def test_behind_a_proxy_its_clients_count_one_by_one(limited: Callable[..., FlaskClient]) -> None:
    client = limited(RATE=2, PROXIES=1)

    def from_(address: str) -> int:
        headers = {"X-Forwarded-For": f"10.9.8.7, {address}"}
        return int(post(client, remote="127.0.0.1", headers=headers).status_code)

    assert [from_(HOME) for _ in range(3)] == [201, 201, 429]
    others = [[from_(f"192.0.2.{each}") for _ in range(3)] for each in range(3)]
    assert [201, 201, 429] in others


def test_of_lines_those_above_the_limit_stay_unread_and_can_be_sent_later(
    limited: Callable[..., FlaskClient],
) -> None:
    client = limited(RATE=8)
    lines = [a_report(SURVEY).canonical + b"\n" for _ in range(20)]

    def send(lines: list[bytes], **more: Any) -> Any:
        return send_lines(client, b"".join(lines), **more)

    first = send(lines)

    assert (first.json["read"], first.json["ended"], first.json["stored"]) == (7, True, 7)
    assert count(client) == 7
    assert_problem(send(lines[7:]), 429, "too-many")
    here = send(lines[7:], remote="127.0.0.1")
    assert (here.json["read"], here.json["ended"], count(client)) == (13, False, 20)


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (b"\n" * 100_000, 7),
        (b" \r\n" * 50, 7),
        (b"\n" * 5 + a_report(SURVEY).canonical + b"\n" + b"\n" * 9, 7),
        (b"x" * (9 * LARGEST_BODY), 1),
        (b"\n" * 4 + b" " * (9 * LARGEST_BODY), 5),
    ],
    ids=["empty", "blank", "around a report", "a line without end", "both"],
)
def test_lines_without_a_report_cost_as_much_as_those_with_one(
    limited: Callable[..., FlaskClient], body: bytes, read: int
) -> None:
    client = limited(RATE=8)

    found = send_lines(client, body).json

    assert (found["read"], found["ended"]) == (read, True)
    assert_problem(post(client), 429, "too-many")


def test_too_many_wrong_tokens_make_even_right_ones_wait(
    limited: Callable[..., FlaskClient],
) -> None:
    client = limited(FAILURES=3)
    right = new_token(client.application.extensions["deniably"], "operator")

    def ask(token: str, remote: str = HOME) -> Any:
        return client.get(
            "/api/tokens",
            headers={"Authorization": f"Bearer {token}"} if token else {},
            environ_overrides={"REMOTE_ADDR": remote},
        )

    assert [ask("").status_code for _ in range(9)] == [401] * 9, "nothing was guessed"
    assert [ask(right).status_code for _ in range(9)] == [200] * 9
    assert [ask("wrong").status_code for _ in range(5)] == [401, 401, 401, 429, 429]
    refused = ask(right)
    assert_problem(refused, 429, "too-many")
    assert 1 <= int(refused.headers["Retry-After"]) <= 20
    assert ask(right, "127.0.0.1").status_code == 200


def test_a_wrong_token_is_one_failure_however_many_surveys_its_request_asks_for(
    limited: Callable[..., FlaskClient],
) -> None:
    """The page of the waves asks for all of them."""
    client = limited(FAILURES=3)
    store = client.application.extensions["deniably"]
    for number in range(6):
        survey = survey_named(
            f"home-{number}",
            waves={"panel": "home", "count": 9},
            results={"minimum": 1, "while_open": True} | ({"to": "analysts"} if number > 1 else {}),
        )
        store.publish(survey, signed(survey))
        store.add(survey, a_report(survey))

    def ask(token: str) -> int:
        return client.get(
            "/api/surveys/home-0/waves",
            headers={"Authorization": f"Bearer {token}"},
            environ_overrides={"REMOTE_ADDR": HOME},
        ).status_code

    assert [ask("wrong") for _ in range(4)] == [200, 200, 200, 429]


def test_too_many_wrong_invitations_make_even_right_ones_wait_and_spend_none(
    limited: Callable[..., FlaskClient],
) -> None:
    client, invited = limited(FAILURES=3), survey_named("invited", invited=True)
    store = client.application.extensions["deniably"]
    store.publish(invited, signed(invited))
    key, (used, good) = store.invitation_key("invited").text, store.invite("invited", 2)

    def trade(code: str, remote: str = HOME) -> Any:
        _, offer = a_trade(invited, key, good)
        return client.post(
            "/api/surveys/invited/tickets",
            json=offer | {"invitation": code},
            environ_overrides={"REMOTE_ADDR": remote},
        )

    assert trade(used).status_code == 200
    assert [trade(used).status_code for _ in range(9)] == [409] * 9, "nothing was guessed"
    wrong = ["0" * 18, "ABC", "1" + "0" * 17]
    assert [trade(code).status_code for code in wrong] == [403] * 3
    refused = trade(good)
    problem = assert_problem(refused, 429, "too-many")
    assert "wrong tokens or invitation codes" in problem["detail"]
    assert HOME not in json.dumps(problem)
    assert 1 <= int(refused.headers["Retry-After"]) <= 20
    assert store.invitations("invited").used == 1
    assert trade(good, "127.0.0.1").status_code == 200


def test_one_invitation_keeps_no_server_busy_with_signing(
    limited: Callable[..., FlaskClient],
) -> None:
    client, invited = limited(RATE=2), survey_named("invited", invited=True)
    store = client.application.extensions["deniably"]
    store.publish(invited, signed(invited))
    key, (code,) = store.invitation_key("invited").text, store.invite("invited", 1)
    _, offer = a_trade(invited, key, code)

    def trade(remote: str) -> Any:
        address = "/api/surveys/invited/tickets"
        return client.post(address, json=offer, environ_overrides={"REMOTE_ADDR": remote})

    assert [trade(HOME).status_code for _ in range(2)] == [200, 200]
    problem = assert_problem(trade(HOME), 429, "too-many")
    assert "too many invitations come from your network" in problem["detail"].lower()
    assert trade("127.0.0.1").status_code == 200
    assert [post(client).status_code for _ in range(3)] == [201, 201, 429], "counted by themselves"


def test_too_many_wrong_links_are_refused(limited: Callable[..., FlaskClient]) -> None:
    client = limited(FAILURES=2)

    statuses = [
        client.post(
            "/api/admin", json={"secret": "x"}, environ_overrides={"REMOTE_ADDR": HOME}
        ).status_code
        for _ in range(3)
    ]

    assert statuses == [401, 401, 429]


def test_a_real_server_believes_its_proxy_and_writes_no_address(
    serve: Callable[..., Server], database: Path
) -> None:
    server = serve("--rate", "2", "--proxies", "1")
    server.publish(SURVEY)
    with requests.Session() as session:
        statuses = [
            session.post(
                f"{server.url}/api/surveys/{SURVEY.name}/reports",
                a_report(SURVEY).canonical,
                headers={"Content-Type": "application/json", "X-Forwarded-For": HOME},
                timeout=30,
            ).status_code
            for _ in range(3)
        ]
    server.stop()

    assert statuses == [201, 201, 429]
    assert HOME not in server.log
    assert all(HOME.encode() not in file.read_bytes() for file in database.parent.iterdir())


def test_a_header_with_an_underscore_is_none(serve: Callable[..., Server]) -> None:
    """WSGI would take it for the one with a dash, which the proxy in front answers for."""
    server = serve("--rate", "2", "--proxies", "1")
    server.publish(SURVEY)

    def from_(*headers: tuple[str, str]) -> int:
        body = a_report(SURVEY).canonical
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.putrequest("POST", f"/api/surveys/{SURVEY.name}/reports")
        kind, length = ("Content-Type", "application/json"), ("Content-Length", str(len(body)))
        for header in (kind, length, *headers):
            connection.putheader(*header)
        connection.endheaders(body)
        try:
            return connection.getresponse().status
        finally:
            connection.close()

    others = [("X-Forwarded_For", AWAY), ("x_forwarded_for", AWAY), ("X_Forwarded-For", AWAY)]
    own = ("X-Forwarded-For", HOME)
    assert [from_(other) for other in others] == [201] * 3, "comes from this machine"
    assert [from_(other, own) for other in others] == [201, 201, 429]
    assert [from_(own, other) for other in others] == [429] * 3
    assert from_(("X-Forwarded-For", AWAY)) == 201, "and nobody else is named"
