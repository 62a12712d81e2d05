"""The parts of the guard by themselves, where a request would show less."""

from __future__ import annotations

import io
from dataclasses import replace
from threading import BoundedSemaphore
from typing import Any

import pytest
from flask import Flask
from werkzeug.datastructures import Headers

from deniably.core.errors import BadSignature
from deniably.survey.report import LARGEST_BODY
from deniably_server.errors import Forbidden, TooMany, Unauthorised, Unavailable
from deniably_server.guard import admin_link
from deniably_server.guard.admin_link import first_link, use_link
from deniably_server.guard.app_state import current_asker, store_of
from deniably_server.guard.asker import Asker, asker_of
from deniably_server.guard.auth import is_bearer, require
from deniably_server.guard.client_network import network_of
from deniably_server.guard.headers import ResponseHeaders
from deniably_server.guard.host_names import HostCheck, without_port
from deniably_server.guard.own_address import is_refused_by_phones, named_address, own_address
from deniably_server.guard.ownership import request_signature, require_owner_or_scope
from deniably_server.guard.rate_limits import Limit, MeteredBody, ServerLimits, limits_of
from deniably_server.guard.read_limit import ReadLimit, let_others_read
from deniably_server.guard.recent_use import Turns
from deniably_server.storage.store import Store
from deniably_server.storage.tables.tokens import Token, day_in, make
from support.clock import Clock
from support.material import new_token, signed, survey_named

HOME = "203.0.113.7"


# --- the address for links ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "hosts", "address"),
    [
        ("192.168.1.7:8000", "", "http://192.168.1.7:8000"),
        ("laptop", "", "http://laptop"),
        ("laptop.local", "", "http://laptop.local"),
        ("laptop.lan:80", "", "http://laptop.lan:80"),
        ("nas.home.arpa", "", "http://nas.home.arpa"),
        ("db.internal", "", "http://db.internal"),
        ("[2001:db8::7]:8000", "", "http://[2001:db8::7]:8000"),
        ("LOCALHOST:8000", "", "http://localhost:8000"),
        ("a.example", "", None),
        ("a.example", "a.example", "http://a.example"),
        ("laptop", "a.example", None),
        ("a.example:0", "a.example", None),
        ("a.example:123456", "a.example", None),
        ("a.example:x", "a.example", None),
        ("a.example.:8443", "a.example", "http://a.example:8443"),
        ("[::::]", "", None),
        ("[::::]", "[::::]", "http://[::::]"),
        ("", "", None),
    ],
)
def test_a_name_becomes_an_address_where_nobody_else_can_claim_it(
    host: str, hosts: str, address: str | None
) -> None:
    assert own_address({"HTTP_HOST": host}, hosts) == address
    assert own_address({}, hosts) is None
    assert hosts or own_address({"HTTP_HOST": host}) == address


@pytest.mark.parametrize(
    "safe",
    [{"wsgi.url_scheme": "https"}, {"HTTP_X_FORWARDED_PROTO": "https"},
     {"HTTP_SEC_FETCH_SITE": "none"}],
)  # fmt: skip
def test_a_safe_connection_is_said_by_the_server_a_proxy_or_the_browser(
    safe: dict[str, str],
) -> None:
    names = "a.example, localhost"

    assert own_address({"HTTP_HOST": "a.example:443"} | safe, names) == "https://a.example"
    assert own_address({"HTTP_HOST": "a.example:4431"} | safe, names) == "https://a.example:4431"
    assert own_address({"HTTP_HOST": "localhost:443"} | safe, names) == "http://localhost:443"
    for key in safe:
        if key != "HTTP_SEC_FETCH_SITE":
            plain = {"HTTP_HOST": "a.example", key: "http"}
            assert own_address(plain, names) == "http://a.example"


@pytest.mark.parametrize(
    ("hosts", "address"),
    [
        ("survey.example.org", "https://survey.example.org"),
        (" , Survey.example.org, localhost", "https://survey.example.org"),
        ("survey.example.org,other.example.org", "https://survey.example.org"),
        ("localhost, survey.example.org", "http://localhost:8000"),
        ("192.168.1.7", "http://192.168.1.7:8000"),
        ("[2001:db8::7]", "http://[2001:db8::7]:8000"),
        ("laptop.local", "http://laptop.local:8000"),
        ("", None),
        (" , ", None),
    ],
)
def test_the_address_before_any_request_is_that_of_the_first_name(
    hosts: str, address: str | None
) -> None:
    assert named_address(hosts, 8000) == address


def test_a_phone_has_cryptography_over_https_and_on_itself() -> None:
    assert is_refused_by_phones("http://192.168.1.7:8000")
    assert not is_refused_by_phones("https://a.example")
    assert not is_refused_by_phones("http://127.0.0.1:8000")


# --- limits -------------------------------------------------------------------------------------


def left(limit: Limit) -> int:
    return limit.take(HOME, 10**6)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_lines_are_counted_once_in_whatever_pieces_they_come(size: int) -> None:
    lines = [b"%d\n" % number for number in range(20)]
    limit = Limit(8, Clock())
    body = MeteredBody(io.BytesIO(b"".join(lines)), limit, HOME)
    assert body.cut is False

    read = b"".join(iter(lambda: body.read(size), b""))

    assert b"".join(lines).startswith(read)
    assert read.count(b"\n") == 8
    assert body.cut is True
    assert left(limit) == 0


def test_of_a_line_without_end_every_mib_counts() -> None:
    limit = Limit(5, Clock())
    body = MeteredBody(io.BytesIO(b"x" * (2 * LARGEST_BODY + 1)), limit, HOME)

    for size in (LARGEST_BODY - 1, 1, LARGEST_BODY - 1, 2):
        assert len(body.read(size)) == size

    assert not body.cut
    assert left(limit) == 3


def test_a_body_from_this_machine_is_not_counted() -> None:
    limits = limits_of(2, 2, 0)
    body = limits.metered(io.BytesIO(b"\n" * 9), None)

    assert body.read(9) == b"\n" * 9
    assert not body.cut


def test_a_refusal_says_what_there_was_too_much_of() -> None:
    clock = Clock()
    limits = ServerLimits(*(Limit(1, clock) for _ in range(3)), proxies=1)
    environ: dict[str, Any] = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": f"x, {HOME}"}
    assert limits.admit(environ) == HOME
    limits.trade(environ)
    limits.check_failures(environ)
    limits.count_failure(environ)

    for refused, what in (
        (limits.admit, "too many reports come from your network"),
        (limits.trade, "too many invitations come from your network"),
        (limits.check_failures,
         "too many wrong tokens or invitation codes come from your network"),
    ):  # fmt: skip
        with pytest.raises(TooMany, match=f"^{what}") as error:
            refused(environ)
        assert error.value.wait == 60
    other = environ | {"HTTP_X_FORWARDED_FOR": f"{HOME}, 198.51.100.9"}
    limits.check_failures(other)
    assert limits_of(0, 0, 0) == ServerLimits(None, None, None, 0)


def test_an_address_in_brackets_ends_at_the_first() -> None:
    environ = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "[2001:db8:0:1::9]]:1"}

    assert network_of(environ, 1) == "20010db800000001"
    assert without_port("[2001:db8::7]:8]") == "[2001:db8::7]"


def test_addresses_are_found_by_a_key_that_each_table_draws() -> None:
    """Whoever knew the places of a table without a key could look every address up."""
    assert len({Limit(5)._place(HOME) for _ in range(9)}) > 1


def test_without_a_proxy_no_header_counts_and_with_one_the_last_entry() -> None:
    environ = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": f"1.1.1.1, 2.2.2.2, {HOME}"}

    assert network_of(environ) == "10.0.0.1"
    assert network_of(environ, 1) == HOME
    assert network_of(environ, 2) == "2.2.2.2"
    assert network_of({}) is None


def test_turns_are_forgotten_by_the_clock_and_with_the_day() -> None:
    clock, wall = Clock(), Clock(86400.0 * 20000)
    turns = Turns(clock, wall)
    token, network = Asker("a", True), Asker("a")
    turns.add(token, 0.5)

    assert (turns.used(token), turns.used(network)) == (300.0, 0.0)
    clock.now += 100
    assert turns.used(token) == 200.0
    wall.now += 86400
    assert turns.used(token) == 0.0


def test_a_promise_is_of_one_and_lasts_a_minute_though_others_come() -> None:
    clock = Clock()
    turns = Turns(clock, lambda: 0.0)
    first, second = Asker("a", True), Asker("a")

    assert turns.wait(first, 3, 2.0) == 8
    assert not turns.is_promised(first)
    clock.now += 8
    assert turns.wait(second, 0, 2.0) == 4, "after the one that was promised"
    assert turns.is_promised(first)
    assert not turns.is_promised(second)
    clock.now += 60
    assert turns.is_promised(first)
    clock.now += 0.5
    assert not turns.is_promised(first)


# --- hosts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "host", "status"),
    [
        ("HTTP/1.0", None, "200"), ("HTTP/1.1", None, "400"), ("HTTP/1.0", "a/b", "400"),
        ("HTTP/1.0", "a.example", "200"), ("HTTP/1.1", "a.example", "200"),
    ],
)  # fmt: skip
def test_only_the_oldest_http_may_leave_the_host_out(
    version: str, host: str | None, status: str
) -> None:
    statuses: list[str] = []
    environ: dict[str, Any] = {
        "SERVER_PROTOCOL": version,
        "PATH_INFO": "/",
        "REQUEST_METHOD": "GET",
    }
    if host is not None:
        environ["HTTP_HOST"] = host

    def served(_: Any, start: Any) -> list[bytes]:
        start("200 OK", [])
        return []

    HostCheck(served, frozenset())(environ, lambda status, *_: statuses.append(status[:3]))  # type: ignore[arg-type,return-value,func-returns-value]

    assert statuses == [status]


def test_a_refused_host_is_told_what_is_missing() -> None:
    def asked(host: str) -> bytes:
        environ = {"SERVER_PROTOCOL": "HTTP/1.1", "PATH_INFO": "/", "REQUEST_METHOD": "GET"}
        check = HostCheck(lambda *_: [b"served"], frozenset({"a.example"}))
        found = check(environ | {"HTTP_HOST": host}, lambda *_: lambda _: None)  # type: ignore[arg-type]
        return b"".join(found)

    assert asked("a.example") == b"served"
    assert b'"A request has one Host header, with the name of this server."' in asked("a/b")
    wrong = b'"This server does not answer to this name; its operator sets the names."'
    assert wrong in asked("b.example")


# --- the headers of every response --------------------------------------------------------------


class Pieces(list[bytes]):
    """A body that notes whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("name", ["Content-Length", "content-length"])
def test_a_body_with_a_length_is_joined_into_one_list_and_closed(name: str) -> None:
    body = Pieces([b"a", b"b"])

    def served(_: Any, start: Any) -> Pieces:
        start("200 OK", [("Content-Type", "text/plain"), (name, "2")])
        return body

    found = ResponseHeaders(served)({}, lambda *_: lambda _: None)  # type: ignore[arg-type]

    assert found == [b"a", b"b"]
    assert found is not body
    assert body.closed


@pytest.mark.parametrize("starts", [True, False])
def test_a_body_without_a_length_stays_as_it_is(starts: bool) -> None:
    body = Pieces([b"a", b"b"])

    def served(_: Any, start: Any) -> Pieces:
        if starts:
            start("200 OK", [("Content-Type", "text/plain")])
        return body

    found = ResponseHeaders(served)({}, lambda *_: lambda _: None)  # type: ignore[arg-type]

    assert found is body
    assert not body.closed


# --- whose request, whose survey ----------------------------------------------------------------


def test_the_asker_is_the_token_or_the_network_behind_the_proxies(app: Flask) -> None:
    store = app.extensions["deniably"]
    text = new_token(store, "author")
    name = text.split("_")[1]
    app.extensions["deniably_limits"] = limits_of(1, 1, 1)

    assert store_of(app) is store
    with app.test_request_context(headers={"Authorization": f"Bearer {text}"}):
        assert current_asker() == Asker(name, True)
    with app.test_request_context(
        headers={"X-Forwarded-For": HOME}, environ_overrides={"REMOTE_ADDR": "127.0.0.1"}
    ):
        assert current_asker() == Asker(HOME)


def test_only_a_token_that_is_good_makes_its_holder_the_asker(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(authorization: str | None) -> Asker:
        environ: dict[str, Any] = {"REMOTE_ADDR": HOME}
        if authorization is not None:
            environ["HTTP_AUTHORIZATION"] = authorization
        return asker_of(environ, store, 0)

    good, text = make("author")
    revoked, revoked_text = make("author")
    expired, expired_text = make("author")
    for token in (good, revoked, replace(expired, until=day_in(-1))):
        store.add_token(token)
    assert store.revoke_token(revoked.id)

    assert ask(f"Bearer {text}") == ask(f"bearer {text}") == Asker(good.id, True)
    assert ask(None) == ask("") == ask("Bearer") == ask(text) == Asker(HOME)
    wrong = [
        f"Basic {text}", f"Bearer  {text}", f"Bearer x {text}", f"Bearer {text}x",
        f"Bearer {make('author')[1]}", f"Bearer {revoked_text}", f"Bearer {expired_text}",
    ]  # fmt: skip
    assert {ask(each) for each in wrong} == {Asker(HOME)}

    def unavailable(_: str) -> Token:
        raise Unavailable("the disk is gone")

    monkeypatch.setattr(store, "token", unavailable)
    assert ask(f"Bearer {text}") == Asker(HOME)


def test_the_asker_is_looked_up_once_for_a_request(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, text = make("author")
    store.add_token(good)
    environ: dict[str, Any] = {"HTTP_AUTHORIZATION": f"Bearer {text}"}
    first = asker_of(environ, store, 0)
    monkeypatch.setattr(store, "token", None)  # whoever calls it fails

    assert asker_of(environ, store, 0) == first == Asker(good.id, True)
    assert environ["deniably.asker"] == first
    assert asker_of({"REMOTE_ADDR": "127.0.0.1"}, store, 0) == Asker()
    behind = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": HOME}
    assert asker_of(behind, store, 1) == Asker(HOME)


def test_a_token_is_all_that_follows_the_scheme(app: Flask) -> None:
    store = app.extensions["deniably"]
    text = new_token(store, "operator")
    revoked, revoked_text = make("operator")
    store.add_token(revoked)
    store.revoke_token(revoked.id)

    def ask(authorization: str) -> Token:
        with app.test_request_context(headers={"Authorization": authorization}):
            return require("operator")

    assert ask(f"Bearer {text}") == ask(f"bearer {text}") == store.token(text.split("_")[1])
    why = "^this needs an operator's token, as the header Authorization: Bearer <token>$"
    for wrong in (f"Bearer x {text}", f"Basic {text}", text, "Bearer", f"Bearer {text}x"):
        with pytest.raises(Unauthorised, match=why):
            ask(wrong)
    why = "^this token was revoked; ask the operator for another$"
    with pytest.raises(Unauthorised, match=why):
        ask(f"Bearer {revoked_text}")
    assert is_bearer(Headers({"Authorization": "Bearer a b"}))
    assert not is_bearer(Headers())


def test_readers_have_room_by_network_and_holders_a_room_of_their_own() -> None:
    """Each request comes while the one before it is read: two in all, half of them of one network,
    and one of holders."""
    askers = {"a": Asker("a"), "b": Asker("b"), "c": Asker("c"), "t": Asker("t", True)}

    def ask(*names: str) -> list[bytes]:
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "names": names}
        return list(reads(environ, lambda *_: lambda _: None))  # type: ignore[arg-type]

    def served(environ: Any, _: Any) -> list[bytes]:
        rest = environ["names"][1:]
        return [b"served", *(ask(*rest) if rest else [])]

    reads = ReadLimit(served, 2, lambda environ: askers[environ["names"][0]])
    busy = b"/problems/busy"

    assert ask("a", "b") == ask("a", "t") == [b"served"] * 2
    assert ask("a", "b", "t") == [b"served"] * 3
    for full in (("a", "a"), ("t", "t")):
        first, second = ask(*full)
        assert first == b"served"
        assert busy in second
    assert busy in ask("a", "b", "c")[2]
    assert ask("a") == [b"served"], "whoever is gone takes no room"


@pytest.mark.parametrize(("most", "holders"), [(1, 1), (2, 1), (5, 1), (8, 2), (40, 10)])
def test_holders_have_a_quarter_of_the_room_and_are_read_for_one_at_a_time(
    most: int, holders: int
) -> None:
    alone: list[bool] = []

    def served(environ: Any, _: Any) -> list[bytes]:
        place: BoundedSemaphore = environ["deniably.read_limit"]
        alone.append(not place.acquire(blocking=False))
        with let_others_read(environ):
            return [b"served", *(ask(environ["rest"]) if environ["rest"] else [])]

    def ask(rest: int) -> list[bytes]:
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "rest": rest - 1}
        return list(reads(environ, lambda *_: lambda _: None))  # type: ignore[arg-type]

    names = iter(range(99))
    reads = ReadLimit(served, most, lambda _: Asker(f"token {next(names)}", True))

    assert ask(holders) == [b"served"] * holders
    assert alone == [True] * holders
    *enough, refusal = ask(holders + 1)
    assert enough == [b"served"] * holders
    assert b"/problems/busy" in refusal


def test_whoever_waits_only_gives_the_place_to_others() -> None:
    place = BoundedSemaphore(1)
    place.acquire()

    with let_others_read({"deniably.read_limit": place}):
        assert place.acquire(blocking=False)
        place.release()

    assert not place.acquire(blocking=False)
    with let_others_read({}):
        pass


@pytest.mark.parametrize(
    ("method", "path", "accept", "limited"),
    [
        ("GET", "/", "", True), ("HEAD", "/surveys/a", "", True), ("POST", "/", "", False),
        ("GET", "/s/a", "", False), ("GET", "/api/surveys/a", "", False),
        ("GET", "/api/surveys/a/results", "", True), ("GET", "/lab/draws", "", True),
        ("GET", "/register", "application/json, text/html", True),
        ("GET", "/register", "application/json", False), ("GET", "/register", "", False),
        ("GET", "/x/", "", False),
    ],
)  # fmt: skip
def test_only_those_who_look_take_room(method: str, path: str, accept: str, limited: bool) -> None:
    asked: list[str] = []

    def asker(environ: Any) -> Asker:
        asked.append(environ["PATH_INFO"])
        return Asker("a")

    environ = {"REQUEST_METHOD": method, "PATH_INFO": path}
    environ |= {"HTTP_ACCEPT": accept} if accept else {}
    reads = ReadLimit(lambda *_: [b"served"], 1, asker)  # type: ignore[arg-type]

    assert list(reads(environ, lambda *_: lambda _: None)) == [b"served"]  # type: ignore[arg-type]
    assert asked == ([path] if limited else [])
    plain = ReadLimit(lambda *_: [b"served"], 1)  # type: ignore[arg-type]
    assert list(plain(environ, lambda *_: lambda _: None)) == [b"served"]  # type: ignore[arg-type]


def test_a_survey_is_closed_by_its_owner_its_own_token_or_an_operator(app: Flask) -> None:
    store, survey = app.extensions["deniably"], survey_named()
    owner, _ = make("author")
    store.add_token(owner)
    store.publish(survey, signed(survey), owner.id)
    fine = [owner, make("operator")[0], make("author", survey=survey.name)[0]]
    others = [make("author")[0], make("author", survey="another")[0]]

    with app.test_request_context():
        for token in fine:
            require_owner_or_scope(survey, token)
        for token in others:
            with pytest.raises(Forbidden) as refused:
                require_owner_or_scope(survey, token)
            assert str(refused.value) == (
                "workplace was published with another token; use that one, or ask the operator for"
                " one of this survey (deniably token new --role author --survey workplace)"
            )


@pytest.mark.parametrize("only", ["Deniably-Author", "Deniably-Signature", "Other"])
def test_a_signature_needs_both_headers(app: Flask, only: str) -> None:
    why = "^the headers Deniably-Author and Deniably-Signature are needed$"
    with app.test_request_context(headers={only: "x"}), pytest.raises(BadSignature, match=why):
        request_signature()


# --- the admin link -----------------------------------------------------------------------------


def test_a_link_is_good_for_its_last_day_and_no_longer(store: Store) -> None:
    store.set_setting("admin_link", f"{'0' * 64} {day_in(0)}", replace=True)
    assert first_link(store) is None

    store.set_setting("admin_link", f"{'0' * 64} {day_in(-1)}", replace=True)
    secret = first_link(store)

    assert secret is not None
    assert len(secret) == 43, "256 bits"
    assert [token.note for token, _ in use_link(store, secret)] == ["first start"] * 2


def test_of_two_first_starts_one_shows_a_link(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "set_setting", lambda *_, **__: False)

    assert first_link(store) is None


def test_a_link_that_is_not_right_says_what_to_do(store: Store) -> None:
    why = (
        "^this link was used already, is too old or is not right; on the server's machine,"
        " deniably token new --role operator makes a token$"
    )
    for kept in (None, f"{'0' * 64} {day_in(1)}", f"{admin_link.hash_of('x')} {day_in(-1)}"):
        if kept is not None:
            store.set_setting("admin_link", kept, replace=True)
        with pytest.raises(Unauthorised, match=why):
            use_link(store, "x")
    store.set_setting("admin_link", f"{admin_link.hash_of('x')} {day_in(0)}", replace=True)
    assert len(use_link(store, "x")) == 2
