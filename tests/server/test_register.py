"""The register: every survey ever published, for all to see, and nothing is ever taken out."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.core.canonical import canonical, digest
from deniably.core.errors import BadSignature
from deniably.survey.survey import Survey
from deniably.trust.heads import head_of
from deniably.trust.listing import Listing, read_listing
from deniably.trust.register import NOTHING, check_entry, read_register
from deniably.trust.signing import Signature
from deniably_server.errors import Conflict, NotFound
from deniably_server.storage.store import Store
from support.keys import key_of
from support.material import AUTHOR, assert_problem, contents, signed, survey_named
from support.nursery import Forked, Nursery

SURVEY = survey_named()


def entries(store: Store, after: int = 0) -> list[dict[str, object]]:
    return [json.loads(text) for text in store.register(after)[0]]


# --- what is entered ----------------------------------------------------------------------------


def test_a_published_survey_is_entered_with_what_it_asks_and_who_asks(store: Store) -> None:
    before = datetime.now(UTC).date().isoformat()
    store.publish(SURVEY, signed(SURVEY))
    after = datetime.now(UTC).date().isoformat()

    (entry,) = entries(store)
    assert entry.pop("day") in (before, after)
    assert entry == {
        "number": 1,
        "previous": NOTHING,
        "event": "published",
        "survey": "workplace",
        "digest": SURVEY.digest,
        "author": AUTHOR.author,
        "signature": AUTHOR.sign(SURVEY.digest).value,
        "epsilon": "2.20",
        "delta": "0",
        "questions": [
            {"name": "stolen", "mechanism": "subset_selection", "epsilon": "1.10"},
            {"name": "often", "mechanism": "subset_selection", "epsilon": "1.10"},
        ],
    }


def test_closing_is_entered_once(store: Store) -> None:
    store.publish(SURVEY, signed(SURVEY))
    for _ in range(2):
        store.close_survey("workplace")

    published, closed = entries(store)
    assert closed.pop("day") >= published["day"]  # type: ignore[operator]
    assert closed == {
        "number": 2,
        "previous": digest(published),
        "event": "closed",
        "survey": "workplace",
        "digest": SURVEY.digest,
    }


def test_publishing_the_same_again_adds_nothing(store: Store, database: Path) -> None:
    store.publish(SURVEY, signed(SURVEY))
    before = contents(database)

    assert store.publish(SURVEY, signed(SURVEY)) is False
    assert contents(database) == before


@pytest.mark.parametrize(
    "signature",
    [
        Signature(AUTHOR.author, "0" * 128),
        Signature(key_of(bytes(32)).author, signed(SURVEY).value),
        signed(survey_named("other")),
    ],
)
def test_the_store_itself_refuses_what_the_author_did_not_sign(
    store: Store, database: Path, signature: Signature
) -> None:
    before = contents(database)

    with pytest.raises(BadSignature):
        store.publish(SURVEY, signature)
    assert contents(database) == before


def test_what_was_not_published_leaves_no_entry(store: Store) -> None:
    store.publish(SURVEY, signed(SURVEY))
    other = survey_named(title="Another title")

    with pytest.raises(Conflict):
        store.publish(other, signed(other))
    with pytest.raises(NotFound):
        store.close_survey("nobody")
    assert len(entries(store)) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE register SET entry = '{}'",
        "UPDATE register SET hash = replace(hash, 'a', 'b')",
        "DELETE FROM register",
        "DELETE FROM register WHERE number = 2",
        "INSERT OR REPLACE INTO register SELECT * FROM register WHERE number = 1",
        "INSERT INTO register SELECT 3, event, 'x', entry, hash FROM register WHERE number = 2",
        "INSERT INTO register SELECT 4, event, 'x', json_set(entry, '$.number', 4, '$.previous',"
        " (SELECT hash FROM register WHERE number = 2)), hash FROM register WHERE number = 2",
    ],
)
def test_the_database_itself_keeps_the_register(store: Store, database: Path, sql: str) -> None:
    store.publish(SURVEY, signed(SURVEY))
    store.close_survey("workplace")
    before = contents(database)

    with (
        closing(sqlite3.connect(database)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="entry"),
    ):
        connection.execute(sql)
    assert contents(database) == before


PUBLISHING = """
import json, sys, time
from pathlib import Path
from deniably.survey.survey import as_survey
from deniably.trust.signing import Signature
from deniably_server.storage.store import Store

database, go, *surveys = sys.argv[1:]
store = Store(database)
surveys = [(as_survey(survey), Signature(*signature)) for survey, signature in map(json.loads, surveys)]
while not Path(go).exists():
    time.sleep(0.001)
for survey, signature in surveys:
    store.publish(survey, signature)
    if survey.name.startswith("same"):
        store.close_survey(survey.name)
"""  # noqa: E501


def test_processes_that_publish_at_once_keep_the_chain(tmp_path: Path, nursery: Nursery) -> None:
    """Each publishes surveys of its own and one that is the same for all."""
    database, go, log = str(tmp_path / "deniably.db"), tmp_path / "go", tmp_path / "log"
    Store(database).close()

    def given(name: str) -> str:
        survey = survey_named(name)
        signature = [signed(survey).author, signed(survey).value]
        return json.dumps([json.loads(survey.canonical), signature])

    running: list[Forked] = []
    for each in range(3):
        names = [name for number in range(8) for name in (f"own-{each}-{number}", f"same-{number}")]
        arguments = [database, str(go), *map(given, names)]
        running.append(nursery.begin_program(PUBLISHING, arguments, log))
    go.touch()
    assert [process.wait(60) for process in running] == [0] * 3, log.read_text()

    with closing(Store(database)) as store:
        texts, head = store.register()
    register = read_register(f'{{"entries":[{",".join(texts)}],"head":"{head}"}}')
    told = [(entry["event"], entry["survey"]) for entry in register.entries]
    assert len(told) == len(set(told)) == 3 * 8 + 8 + 8


# --- as JSON ------------------------------------------------------------------------------------


def test_the_register_is_public_and_its_chain_holds(
    app: Flask, client: FlaskClient, survey: Survey
) -> None:
    other = survey_named("other")
    app.extensions["deniably"].publish(other, signed(other))
    app.extensions["deniably"].close_survey("other")

    answer = client.get("/register")

    assert answer.mimetype == "application/json"
    register = read_register(answer.data)
    assert [entry["event"] for entry in register.entries] == ["published", "published", "closed"]
    assert register.find(survey)["survey"] == "workplace"
    assert register.find(other)["number"] == 2
    assert answer.data == canonical(answer.json)


def test_an_empty_register_has_a_head_of_zeros(client: FlaskClient) -> None:
    assert client.get("/register").json == {"entries": [], "head": NOTHING}


def test_only_later_entries_can_be_asked_for(
    app: Flask, client: FlaskClient, survey: Survey
) -> None:
    app.extensions["deniably"].close_survey("workplace")
    whole = client.get("/register").json
    assert whole is not None

    for after in (0, 1, 2, 3, 10**9):
        answer = client.get(f"/register?after={after}")
        assert answer.json == whole | {"entries": whole["entries"][after:]}


@pytest.mark.parametrize("after", ["", "-1", "x", "1.0", "%C2%B2", "9" * 5000])
def test_a_number_that_is_none_is_refused(client: FlaskClient, after: str) -> None:
    answer = client.get(f"/register?after={after}")

    assert "number of an entry" in assert_problem(answer, 400, "bad-parameter")["detail"]


@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_who_has_this_register_gets_304_until_it_grows(
    app: Flask, client: FlaskClient, survey: Survey, accept: str
) -> None:
    first = client.get("/register", headers={"Accept": accept})
    known = {"If-None-Match": first.headers["ETag"], "Accept": accept}

    again = client.get("/register", headers=known)
    app.extensions["deniably"].close_survey("workplace")
    grown = client.get("/register", headers=known)

    assert (again.status_code, again.data) == (304, b"")
    assert grown.status_code == 200
    assert first.headers["Cache-Control"] == "no-store"
    assert "Accept" in first.headers["Vary"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_nobody_writes_into_the_register(
    client: FlaskClient, author: dict[str, str], method: str
) -> None:
    assert_problem(
        client.open("/register", method=method, headers=author), 405, "method-not-allowed"
    )


# --- for devices --------------------------------------------------------------------------------


def checked(client: FlaskClient, name: str) -> Listing:
    """The listing of a survey, as a device verifies it."""
    answer = client.get(f"/register/{name}")
    assert (answer.status_code, answer.mimetype) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    listing = read_listing(answer.data)
    assert listing.text == answer.data, "canonical, and what a device reads"
    listing.check(name)
    return listing


def filled(store: Store, count: int) -> list[Survey]:
    """So many more surveys are published."""
    surveys = [survey_named(f"filling-{number}") for number in range(count)]
    for one in surveys:
        store.publish(one, signed(one))
    return surveys


def test_a_device_gets_its_surveys_entry_proved_however_long_the_register(
    app: Flask, client: FlaskClient, survey: Survey
) -> None:
    store: Store = app.extensions["deniably"]
    seen = checked(client, "workplace").head
    filled(store, 131)
    store.close_survey("workplace")
    texts, head = store.register()
    whole = read_register(f'{{"entries":[{",".join(texts)}],"head":"{head}"}}')

    for name in ("workplace", "filling-0", "filling-70", "filling-130"):
        listing = checked(client, name)
        check_entry(listing.entry, store.survey(name))
        assert listing.head == head_of(whole) == store.register_head()
    assert (seen.count, listing.head.count) == (1, 133)
    assert len(listing.blocks) == 2
    assert len(client.get("/register/workplace").data) < 10_000


def test_every_process_signs_with_the_same_key_and_sees_what_others_enter(
    store: Store, database: Path
) -> None:
    filled(store, 3)
    with closing(Store(str(database))) as other:
        assert other.listing("filling-0").text == store.listing("filling-0").text
        other.close_survey("filling-0")
        late = survey_named("late")
        store.publish(late, signed(late))
        assert other.listing("late").text == store.listing("late").text
        assert other.listing("late").head.count == 5


def test_hashes_of_old_entries_come_by_the_thousand(
    app: Flask, client: FlaskClient, survey: Survey
) -> None:
    store: Store = app.extensions["deniably"]
    filled(store, 5)
    hashes = [digest(entry) for entry in entries(store)]

    assert client.get("/register/hashes/0").json == {"hashes": hashes}
    for volume in ("1", "999999999999", "9" * 5000, "-1", "x", "0x", "%C2%B2"):
        assert_problem(client.get(f"/register/hashes/{volume}"), 404, "not-found")


@pytest.mark.parametrize("name", ["none", "WORKPLACE", "a%00b", "hashes", "x" * 300])
def test_a_survey_that_is_not_there_has_no_listing(
    client: FlaskClient, survey: Survey, name: str
) -> None:
    assert_problem(client.get(f"/register/{name}"), 404, "not-found")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/register/workplace", "/register/hashes/0"])
def test_nobody_writes_a_listing(
    client: FlaskClient, survey: Survey, author: dict[str, str], path: str, method: str
) -> None:
    answer = client.open(path, method=method, headers=author)
    assert_problem(answer, 405, "method-not-allowed")


def test_a_listing_has_no_parameters_so_that_it_is_the_same_for_all(
    client: FlaskClient, survey: Survey
) -> None:
    assert_problem(client.get("/register/workplace?after=1"), 400, "bad-parameter")


# --- as a page ----------------------------------------------------------------------------------

PAGE = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def test_the_page_lists_every_survey_for_people(
    app: Flask, client: FlaskClient, survey: Survey
) -> None:
    other = survey_named("other", title="<b>Other</b>")
    app.extensions["deniably"].publish(other, signed(other))
    app.extensions["deniably"].close_survey("other")

    page = client.get("/register", headers=PAGE)

    assert page.mimetype == "text/html"
    for text in (
        "Honesty at work",
        "&lt;b&gt;Other&lt;/b&gt;",
        survey.digest,
        other.digest,
        signed(survey).fingerprint,
        "2.20",
        "subset selection, 2 of 5, epsilon 1.10",
        datetime.now(UTC).date().isoformat(),
        app.extensions["deniably"].register_head().seal,
        "3 entries",
    ):
        assert text in page.text, text
    assert page.text.index("Other") < page.text.index("Honesty at work")  # the latest first


def test_the_page_says_what_the_register_cannot_do(client: FlaskClient) -> None:
    assert "could show different lists" in client.get("/register", headers=PAGE).text


@pytest.mark.parametrize("path", ["/", "/s/workplace", "/surveys/workplace"])
def test_every_page_leads_to_the_register(client: FlaskClient, survey: Survey, path: str) -> None:
    assert 'href="/register"' in client.get(path).text
