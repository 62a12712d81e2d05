"""Invitations: one report each, and nobody can say which report came by which invitation."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
import requests
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient

from deniably.device.tickets import is_ticket
from deniably.trust.blind_rsa import EXPONENT, PrivateKey, new_key
from deniably.trust.invitation_codes import read_code
from deniably_server.commands import maintenance
from deniably_server.commands.invite import invite
from deniably_server.errors import Closed, NotFound, Uninvited, Used
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.store import Store
from support.material import (
    Server,
    a_report,
    a_ticketed_report,
    a_trade,
    assert_problem,
    contents,
    lines_headers,
    new_token,
    signed,
    survey_named,
)

SURVEY = survey_named("invited", invited=True)
OTHER = survey_named("other", invited=True)
OPEN = survey_named("open")
Send = Callable[..., Any]


@cache
def some_keys() -> list[PrivateKey]:
    return [new_key() for _ in range(4)]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """To make a key takes longer than most tests here; each survey of a test has another one."""
    monkeypatch.setattr("deniably_server.storage.store.new_key", cycle(some_keys()).__next__)


@pytest.fixture
def store(app: Flask) -> Store:
    store: Store = app.extensions["deniably"]
    for survey in (SURVEY, OTHER, OPEN):
        store.publish(survey, signed(survey))
    return store


@pytest.fixture
def send(client: FlaskClient) -> Send:
    """Sends a report as devices do."""

    def post(report: Any, ticket: str | None = None, name: str = "invited") -> Any:
        headers = {} if ticket is None else {"Deniably-Ticket": ticket}
        return client.post(
            f"/api/surveys/{name}/reports",
            data=report.canonical, content_type="application/json", headers=headers,
        )  # fmt: skip

    return post


# --- one report for an invitation ---------------------------------------------------------------


def test_an_invitation_is_good_for_one_report(store: Store, send: Send) -> None:
    (code,) = store.invite("invited", 1)
    report, ticket = a_ticketed_report(store, SURVEY, code)

    assert send(report, ticket).status_code == 201
    assert send(report, ticket).status_code == 200, "a retry"
    assert store.tally("invited")["stolen"].n == 1
    with pytest.raises(Used, match="used before"):
        a_ticketed_report(store, SURVEY, code)
    other = a_report(SURVEY)
    assert_problem(send(other, ticket), 403, "uninvited")


@pytest.mark.parametrize("name", ["no ticket", "nothing", "noise", "another's", "another survey's"])
def test_a_report_without_its_own_ticket_is_refused(store: Store, send: Send, name: str) -> None:
    report = a_report(SURVEY)
    _, others = a_ticketed_report(store, SURVEY, store.invite("invited", 1)[0])
    elsewhere, foreign = a_ticketed_report(store, OTHER, store.invite("other", 1)[0])
    if name == "another survey's":
        report = type(report)(id=elsewhere.id, survey=report.survey, values=report.values)
    tickets = {"no ticket": None, "nothing": "", "noise": "z" * 576, "another's": others}

    problem = assert_problem(send(report, tickets.get(name, foreign)), 403, "uninvited")

    assert "by invitation" in problem["detail"]
    assert store.tally("invited")["stolen"].n == 0


def test_an_open_survey_needs_no_ticket(store: Store, send: Send) -> None:
    assert send(a_report(OPEN), name="open").status_code == 201
    with pytest.raises(NotFound, match="anybody may answer"):
        store.invite("open", 1)


def test_lines_have_their_tickets_in_an_envelope(store: Store, client: FlaskClient) -> None:
    made = [a_ticketed_report(store, SURVEY, code) for code in store.invite("invited", 3)]
    lines = [
        b'{"report":%s,"ticket":"%s"}' % (report.canonical, ticket.encode())
        for report, ticket in made
    ]
    bare = made[0][0].canonical
    swapped = b'{"report":%s,"ticket":"%s"}' % (made[0][0].canonical, made[1][1].encode())

    answer = client.post(
        "/api/surveys/invited/batches",
        data=b"\n".join([*lines, bare, swapped, lines[0]]),
        headers=lines_headers(new_token(store, "author")),
    ).get_json()

    assert (answer["stored"], answer["refused"], answer["stored before"]) == (3, 2, 1)
    kinds = [refusal["type"] for refusal in answer["refusals"]]
    assert kinds == ["/problems/malformed", "/problems/uninvited"]
    assert store.tally("invited") == store.recount("invited")


# --- trading ------------------------------------------------------------------------------------


def test_a_lost_answer_is_given_again_and_only_to_the_same_device(
    store: Store, client: FlaskClient
) -> None:
    (code,) = store.invite("invited", 1)
    key = store.invitation_key("invited").text
    _, offer = a_trade(SURVEY, key, code)
    address = "/api/surveys/invited/tickets"

    first, again = (client.post(address, json=offer) for _ in range(2))
    other = client.post(address, json=a_trade(SURVEY, key, code)[1])

    assert first.status_code == again.status_code == 200
    assert first.get_json() == again.get_json()
    assert first.headers["Cache-Control"] == "no-store"
    assert_problem(other, 409, "used")
    assert store.invitations("invited").used == 1


@pytest.mark.parametrize(
    ("change", "status", "kind"),
    [
        ({"invitation": "000000-000000-000000"}, 403, "uninvited"),
        ({"invitation": "000000-000000-000001"}, 403, "uninvited"),
        ({"invitation": ""}, 403, "uninvited"),
        ({"invitation": 5}, 400, "malformed"),
        ({"blinded": ""}, 400, "malformed"),
        ({"blinded": "f" * 512}, 400, "malformed"),
        ({"blinded": "0" * 510}, 400, "malformed"),
        ({"blinded": "AB" * 256}, 400, "malformed"),
        ({"blinded": "x" * 512}, 400, "malformed"),
        ({"blinded": "0" * 512 + "\n"}, 400, "malformed"),
        ({"report": "0f" * 16}, 400, "malformed"),
    ],
)
def test_a_trade_that_cannot_be_one_spends_nothing(
    store: Store, client: FlaskClient, change: dict[str, object], status: int, kind: str
) -> None:
    (code,) = store.invite("invited", 1)
    _, offer = a_trade(SURVEY, store.invitation_key("invited").text, code)

    answer = client.post("/api/surveys/invited/tickets", json={**offer, **change})

    assert_problem(answer, status, kind)
    assert code not in answer.get_data(as_text=True)
    assert store.invitations("invited").used == 0


def test_an_invitation_is_to_one_survey(store: Store, client: FlaskClient) -> None:
    (code,) = store.invite("invited", 1)
    _, offer = a_trade(OTHER, store.invitation_key("other").text, code)

    assert_problem(client.post("/api/surveys/other/tickets", json=offer), 403, "uninvited")
    assert_problem(client.post("/api/surveys/open/tickets", json=offer), 404, "not-found")
    assert_problem(client.post("/api/surveys/nobody/tickets", json=offer), 404, "not-found")


def test_a_closed_survey_trades_nothing(store: Store, client: FlaskClient) -> None:
    (code,) = store.invite("invited", 1)
    _, offer = a_trade(SURVEY, store.invitation_key("invited").text, code)
    store.close_survey("invited")

    assert_problem(client.post("/api/surveys/invited/tickets", json=offer), 409, "closed")
    with pytest.raises(Closed):
        store.invite("invited", 1)


def test_of_twenty_who_trade_one_invitation_at_once_one_gets_a_ticket(address: str) -> None:
    with closing(Store(address)) as store, closing(Store(address)) as second:
        store.publish(SURVEY, signed(SURVEY))
        (code,) = store.invite("invited", 1)
        key = store.invitation_key("invited").text
        offers = [a_trade(SURVEY, key, code)[1]["blinded"] for _ in range(20)]

        def trade(index: int) -> bool:
            try:
                (store, second)[index % 2].trade("invited", code, bytes.fromhex(offers[index]))
            except Used:
                return False
            return True

        with ThreadPoolExecutor(10) as crowd:
            assert sum(crowd.map(trade, range(20))) == 1
        counts = store.invitations("invited")
        assert (counts.issued, counts.used) == (1, 1)


# --- what nobody can tell -----------------------------------------------------------------------


def test_a_server_that_keeps_all_it_ever_sees_cannot_link_a_report_to_an_invitation(
    store: Store, client: FlaskClient, send: Send
) -> None:
    """The adversary has its private key, every request, every answer and the database. For each
    pairing of a trade and a report there is exactly one blinding that explains it, and devices
    draw all blindings with the same probability: so every pairing is equally likely."""
    key = store.invitation_key("invited")
    trades: list[tuple[int, int]] = []
    reports: list[tuple[bytes, int]] = []
    for code in store.invite("invited", 3):
        memory, offer = a_trade(SURVEY, key.text, code)
        answer = client.post("/api/surveys/invited/tickets", json=offer).get_json()
        trades.append((int(offer["blinded"], 16), int(answer["signature"], 16)))
        report, ticket = _finished(memory, key.text, answer["signature"])
        assert send(report, ticket).status_code == 201
        prefix, signature = ticket[:64], int(ticket[64:], 16)
        assert is_ticket(key, report.id, ticket)
        reports.append((bytes.fromhex(prefix + report.id), signature))

    for (blinded, signed_blindly), (_, signature) in product(trades, reports):
        inverse = signature * pow(signed_blindly, -1, key.modulus) % key.modulus
        assert math.gcd(inverse, key.modulus) == 1, "one that a device could have drawn"
        encoded = pow(signature, EXPONENT, key.modulus)  # which the report's id and prefix fit
        factor = pow(pow(inverse, -1, key.modulus), EXPONENT, key.modulus)
        assert encoded * factor % key.modulus == blinded, "it sends what the server saw"
        assert signed_blindly * inverse % key.modulus == signature


def _finished(memory: Any, key: str, signature: str) -> tuple[Any, str]:
    from deniably.device.tickets import finish_trade

    trade = memory.trade(SURVEY.digest)
    ticket = finish_trade(memory, SURVEY.digest, key, trade, signature).ticket(SURVEY.digest)
    assert ticket
    report = a_report(SURVEY)
    return type(report)(id=ticket.id, survey=report.survey, values=report.values), ticket.ticket


def test_what_is_stored_of_an_invitation_is_nothing_of_a_report(address: str) -> None:
    with closing(Store(address)) as store:
        store.publish(SURVEY, signed(SURVEY))
        codes = store.invite("invited", 20)
        made = [a_ticketed_report(store, SURVEY, code) for code in codes[:10]]
        for report, _ in made:
            store.add(SURVEY, report)
        found = contents(address)

    invitations = found["invitations"]
    assert len(invitations) == 20
    hashes = {bytes(row[0]) for row in invitations}
    seen = {bytes(row[2]) for row in invitations} - {bytes(32)}
    assert (len(hashes), len(seen)) == (20, 10)
    ids = {bytes(row[0]) for row in found["reports"]}
    assert ids == {bytes.fromhex(report.id) for report, _ in made}
    everything = repr(found)
    for code in codes:
        assert code not in everything
    for _, ticket in made:
        assert ticket[:64] not in everything
        assert ticket[64:96] not in everything


def test_on_disk_the_order_of_trades_is_not_kept(database: Path) -> None:
    """Used invitations keep their length, so that the file holds them where they were."""
    with closing(Store(str(database))) as store:
        store.publish(SURVEY, signed(SURVEY))
        codes = store.invite("invited", 40)
        for code in codes[:20]:
            a_ticketed_report(store, SURVEY, code)
    with closing(engine_at(str(database)).connect()) as connection:
        plan = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'invitations'")
        assert "WITHOUT ROWID" in plan.fetchone()[0]
        rows = connection.execute("SELECT hash FROM invitations").fetchall()
    assert rows == sorted(rows)


def test_once_a_survey_is_closed_nothing_is_left_of_the_order_of_trades(address: str) -> None:
    with closing(Store(address)) as store:
        store.publish(SURVEY, signed(SURVEY))
        for code in store.invite("invited", 30)[:15]:
            a_ticketed_report(store, SURVEY, code)
        store.close_survey("invited")
        store.erase_order()
        counts = store.invitations("invited")
    with closing(engine_at(address).connect()) as connection:
        if address.startswith("postgresql:"):
            sql = "SELECT count(DISTINCT xmin::text) FROM invitations"
            assert connection.execute(sql).fetchone() == (1,), "all written at once, by their keys"
        else:
            rows = [bytes(row[0]) for row in connection.execute("SELECT hash FROM invitations")]
            assert rows == sorted(rows)

    assert (counts.issued, counts.used) == (30, 15)


def test_neither_codes_nor_tickets_are_logged(server: Server) -> None:
    server.publish(SURVEY)
    with closing(Store(str(server.database))) as store:
        codes = store.invite("invited", 2)
        report, ticket = a_ticketed_report(store, SURVEY, codes[0])
        _, offer = a_trade(SURVEY, store.invitation_key("invited").text, codes[1])
    address = f"{server.url}/api/surveys/invited/tickets"

    assert requests.post(address, json=offer, timeout=30).status_code == 200
    assert requests.post(address, data=json.dumps(offer)[:-1], timeout=30).status_code == 415
    answer = server.post(SURVEY, report, headers={"Deniably-Ticket": ticket})
    assert answer.status_code == 201
    server.stop()
    log = server.log
    for secret in (*codes, offer["blinded"][:40], ticket[:40], report.id):
        assert secret not in log


# --- the register -------------------------------------------------------------------------------


def test_everybody_is_shown_the_same_key_for_good(store: Store, client: FlaskClient) -> None:
    store.publish(SURVEY, signed(SURVEY))

    entries = client.get("/register").get_json()["entries"]

    shown = {entry["survey"]: entry.get("invitations") for entry in entries}
    assert shown["invited"] == store.invitation_key("invited").text
    assert shown["other"] not in (None, shown["invited"])
    assert shown["open"] is None


def test_the_key_of_a_survey_never_changes(store: Store, app: Flask) -> None:
    address = app.config["DATABASE"]
    with closing(engine_at(address).connect()) as connection:
        for sql in ("UPDATE keys SET secret = 'x'", "DELETE FROM keys"):
            with pytest.raises(engine_at(address).errors, match="never changes"):
                connection.execute(sql)
    assert store.invitation_key("invited")


# --- the operator -------------------------------------------------------------------------------


def run(*arguments: str | Path, given: str | None = None) -> Result:
    return CliRunner().invoke(invite, [str(each) for each in arguments], input=given)


@pytest.fixture
def filled(address: str) -> str:
    with closing(Store(address)) as store:
        store.publish(SURVEY, signed(SURVEY))
        store.publish(OPEN, signed(OPEN))
    return address


def test_codes_are_printed_once_and_counted(filled: str) -> None:
    made = run("invited", "--database", filled, "--count", "5")

    codes = made.stdout.split()
    assert len({read_code(code) for code in codes}) == 5
    assert all(re.fullmatch(r"(\w{6}-){2}\w{6}", code) for code in codes)
    assert made.stderr == "invited: 5 issued, 0 used\n"
    with closing(Store(filled)) as store:
        a_ticketed_report(store, SURVEY, read_code(codes[0]))
    assert run("invited", "--database", filled).stdout == "invited: 5 issued, 1 used\n"


def test_links_carry_the_code_where_no_server_sees_it(filled: str) -> None:
    made = run(
        "invited", "--database", filled, "--count", "2", "--csv",
        "--server", "https://example.org/",
    )  # fmt: skip

    heading, *rows = made.stdout.splitlines()
    assert heading == "code,link"
    for row in rows:
        code, link = row.split(",")
        assert link == f"https://example.org/s/invited#{code}"
        assert read_code(link) == read_code(code)


def test_invitations_are_taken_back_unless_they_are_used(filled: str) -> None:
    codes = run("invited", "--database", filled, "--count", "3").stdout.split()
    with closing(Store(filled)) as store:
        a_ticketed_report(store, SURVEY, read_code(codes[0]))

    made = run("invited", "--database", filled, "--revoke", "-", given="\n".join(codes[:2]))

    assert made.stdout.splitlines() == [
        "1 taken back; of those that are used none can be",
        "invited: 2 issued, 1 used",
    ]
    with closing(Store(filled)) as store, pytest.raises(Uninvited):
        a_ticketed_report(store, SURVEY, read_code(codes[1]))


def test_a_typing_error_among_those_to_be_taken_back_takes_nothing_back(filled: str) -> None:
    codes = run("invited", "--database", filled, "--count", "2").stdout.split()

    made = run("invited", "--database", filled, "--revoke", "-", given=f"{codes[0]}\nABC\n")

    assert made.exit_code == 1
    assert "line 2" in made.stderr
    assert "ABC" not in made.stderr
    assert run("invited", "--database", filled).stdout == "invited: 2 issued, 0 used\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nobody", "--count", "1"], "no survey of this name"),
        (["open", "--count", "1"], "anybody may answer"),
        (["open"], "anybody may answer"),
        (["invited", "--count", "0"], "0 is not in the range"),
    ],
)
def test_what_cannot_be_done_is_said(filled: str, arguments: list[str], why: str) -> None:
    made = run(*arguments, "--database", filled)

    assert made.exit_code != 0
    assert why in made.stderr


def test_of_a_closed_survey_none_is_taken_back(filled: str) -> None:
    codes = run("invited", "--database", filled, "--count", "2").stdout.split()
    with closing(Store(filled)) as store:
        store.close_survey("invited")

    made = run("invited", "--database", filled, "--revoke", "-", given=codes[0])

    assert made.exit_code == 1
    assert "the survey is closed" in made.stderr
    assert run("invited", "--database", filled).stdout == "invited: 2 issued, 0 used\n"


# --- the response rate --------------------------------------------------------------------------


def test_results_say_how_many_were_invited_and_what_share_answered(
    store: Store, client: FlaskClient
) -> None:
    survey = survey_named("rated", invited=True, results={"minimum": 2, "while_open": True})
    store.publish(survey, signed(survey))
    codes = store.invite("rated", 8)
    address = "/api/surveys/rated/results"

    def report() -> None:
        store.add(survey, a_ticketed_report(store, survey, codes.pop())[0])

    def rate() -> tuple[int, int, float]:
        found = client.get(address).get_json()
        return found["n"], found["invited"], found["response_rate"]

    report()
    assert "nvited" not in client.get(address).text, "hidden as the results are"
    assert "nvited" not in client.get("/surveys/rated").text
    for _ in range(3):
        report()
    assert rate() == (2, 8, 0.25), "the newest batch is held back"
    before = client.get(address).data
    a_ticketed_report(store, survey, codes.pop())
    assert client.get(address).data == before, "that one was traded is nobody's business"
    report()
    assert client.get(address).data == before, "and a report is seen when its batch is full"
    assert store.revoke_invitations("rated", [codes.pop()]) == 1
    store.close_survey("rated")
    assert rate() == (5, 7, 0.714286), "what was taken back invited nobody"
    (row, *_) = csv.DictReader(client.get(f"{address}.csv").text.splitlines())
    assert (row["invited"], row["response_rate"]) == ("7", "0.714286")
    assert "71.4&#8239;% of 7 invited" in client.get("/surveys/rated").text


def test_where_anybody_may_answer_nobody_was_invited(store: Store, client: FlaskClient) -> None:
    survey = survey_named("anybody", results={"minimum": 1, "while_open": True})
    store.publish(survey, signed(survey))
    store.add(survey, a_report(survey))

    found = client.get("/api/surveys/anybody/results").get_json()

    assert (found["invited"], found["response_rate"]) == (None, None)
    assert "invited" not in client.get("/surveys/anybody").text


def test_more_reports_than_invitations_are_reported(store: Store, client: FlaskClient) -> None:
    survey = survey_named("forged", invited=True, results={"minimum": 1, "while_open": True})
    store.publish(survey, signed(survey))
    (code,) = store.invite("forged", 1)
    store.add(survey, a_ticketed_report(store, survey, code)[0])
    assert "its key was stolen" not in client.get("/surveys/forged").text

    store.add(survey, a_report(survey))  # past the check of tickets, as whoever has the key

    assert "its key was stolen" in client.get("/surveys/forged").text


def test_how_many_stand_is_counted_as_they_come_and_go(address: str) -> None:
    with closing(Store(address)) as store:
        store.publish(SURVEY, signed(SURVEY))
        assert store.issued("invited") == 0
        codes = [*store.invite("invited", 4), *store.invite("invited", 3)]
        a_ticketed_report(store, SURVEY, codes[0])
        assert store.revoke_invitations("invited", [codes[0], codes[1], codes[1]]) == 1

        assert store.issued("invited") == store.invitations("invited").issued == 6


# --- moving and checking ------------------------------------------------------------------------


def test_invitations_and_keys_move_with_all_else(filled: str, tmp_path: Path) -> None:
    with closing(Store(filled)) as store:
        codes = store.invite("invited", 3)
        report, ticket = a_ticketed_report(store, SURVEY, codes[0])
        key = store.invitation_key("invited")
    copy = tmp_path / "copy.db"
    moved = CliRunner().invoke(maintenance.backup, ["--database", filled, str(copy)])
    assert moved.exit_code == 0, moved.output

    with closing(Store(str(copy))) as store:
        assert store.invitation_key("invited") == key
        assert store.issued("invited") == 3
        assert is_ticket(key, report.id, ticket)
        with pytest.raises(Used):
            a_ticketed_report(store, SURVEY, codes[0])
        a_ticketed_report(store, SURVEY, codes[1])


def test_the_doctor_finds_a_key_that_is_not_the_registers(filled: str) -> None:
    assert CliRunner().invoke(maintenance.doctor, ["--database", filled]).exit_code == 0
    with closing(Store(filled)) as store:
        store.publish(OTHER, signed(OTHER))
    with closing(engine_at(filled).connect()) as connection:
        on = " ON keys" if ":" in filled else ""
        connection.execute(f"DROP TRIGGER a_key_never_changes{on}")
        other = connection.execute("SELECT secret FROM keys WHERE survey = 'other'").fetchone()
        connection.execute("UPDATE keys SET secret = ? WHERE survey = 'invited'", list(other))

    found = CliRunner().invoke(maintenance.doctor, ["--database", filled])

    assert found.exit_code == 1
    assert "invited: the register shows another key of its invitations" in found.stdout
