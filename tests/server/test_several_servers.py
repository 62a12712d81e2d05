"""Several servers store into one PostgreSQL at the same time, side by side: each report counts
once, none is lost, and nobody learns more from results than where one server stores alone."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests

from deniably.estimation.tally import Tally
from deniably.trust.blind_rsa import new_key
from deniably_server.errors import Closed, Used
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.engines.postgres import SHARDS, Postgres, PostgresConnection
from deniably_server.storage.maintenance.doctor import examine, repair
from deniably_server.storage.maintenance.migrate_engine import move
from deniably_server.storage.store import Store
from deniably_server.storage.tables.invitations import spend
from deniably_server.storage.tables.surveys import find_state
from deniably_server.storage.writing.commit import Outcome, commit_reports, report_write
from support.crowd import until
from support.databases import new_database
from support.material import Server, a_report, new_token, signed, survey_named
from support.nursery import Forked, the_nursery

SURVEY = survey_named()
MINIMUM = 7
RULES = {"minimum": MINIMUM, "while_open": True}
RENEWED = survey_named(results=RULES)
CELLS = {name: 1 if name == "stolen" else 2 for name in ("stolen", "often")}
"""How many cells a report names in each question."""
KNOWN = 40
"""Ids that all servers are sent at the same time, every fourth with other values."""

SERVER = f"""
import random, secrets, sys, time
from pathlib import Path
from deniably.survey.report import Report
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite, Outcome, report_write

address, number, go = sys.argv[1:]
chance = random.Random(number)
store = Store(address)
survey = store.survey("workplace")
VALUES = ({{"stolen": [0], "often": [0, 1]}}, {{"stolen": [1], "often": [2, 4]}})

def send(group):
    reports = [Report(key, survey.digest, VALUES[kind]) for key, kind in group]
    if chance.random() < 0.3:
        works = [BatchWrite(survey)]
        for report in reports:
            works[0].add(report)
    else:
        works = [report_write(survey, report) for report in reports]
    for work in works:
        store.begin(work)
    found = [outcome for work in works for outcome in work.wait()]
    for (key, kind), outcome in zip(group, found):
        print(key, kind, outcome.value, flush=True)
    return found

known = [(f"{{key:032x}}", int(number) % 2 if key % 4 == 0 else 0) for key in range({KNOWN})]
chance.shuffle(known)
print(flush=True)
while not Path(go).exists():
    time.sleep(0.001)
while known:
    size = chance.randrange(1, 7)
    send(known[:size])
    known = known[size:]
while Outcome.CLOSED not in send(
    [(secrets.token_hex(16), chance.randrange(2)) for _ in range(chance.randrange(1, 7))]
):
    pass
store.close()
"""
"""Sends what all send, and then new reports, until the survey is closed."""


class Told(NamedTuple):
    """What a server told of a report: its id, which values it had, and the outcome."""

    key: str
    kind: int
    outcome: str


@dataclass
class Account:
    """What five servers did, one of which was killed and one of which came later."""

    told: list[list[Told]]
    statuses: list[int]
    shards: list[int]
    after_kill: list[int]
    at_closing: dict[str, Tally]
    tally: dict[str, Tally]
    recount: dict[str, Tally]
    kept: dict[str, int]
    shown: list[dict[str, Any]]
    left: list[int]
    findings: list[str]

    def outcomes(self, key: str) -> Counter[str]:
        return Counter(one.outcome for server in self.told for one in server if one.key == key)


def claimed(database: Connection) -> list[int]:
    """The shards that somebody has."""
    rows = database.execute(
        "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2"
        " AND mode = 'ExclusiveLock' AND database ="
        " (SELECT oid FROM pg_database WHERE datname = current_database()) AND objid < ?",
        [SHARDS],
    )
    return sorted(number for (number,) in rows)


def shards(database: Connection) -> list[int]:
    """The shards that have counts."""
    return sorted(
        number
        for (number,) in database.execute("SELECT DISTINCT shard FROM tallies WHERE count > 0")
    )


def rows_of(out: Path) -> list[Told]:
    """Only whole lines: who is killed may have written the half of one."""
    lines = out.read_text().split("\n")[:-1]
    found = [line.split(" ", 2) for line in lines if line]
    return [Told(key, int(kind), outcome) for key, kind, outcome in found]


@pytest.fixture(scope="module")
def account(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """Four servers get the same reports at once and go on with their own. One is killed, another
    takes its place, and then the survey is closed while all are at work."""
    folder = tmp_path_factory.mktemp("servers")
    with (
        new_database(postgres_server) as address,
        closing(Store(address)) as store,
        closing(engine_at(address).connect()) as database,
    ):
        store.publish(RENEWED, signed(RENEWED))
        for statement in RECORDED:
            database.execute(statement)

        outs, servers = list[Path](), list[Forked]()

        def start() -> None:
            outs.append(folder / str(len(outs)))
            outs[-1].touch()
            arguments = [address, str(len(servers)), str(folder / "go")]
            servers.append(the_nursery().begin_program(SERVER, arguments, outs[-1]))

        def told() -> list[list[Told]]:
            return [rows_of(out) for out in outs]

        for _ in range(4):
            start()
        until(lambda: all(out.read_text() for out in outs))
        (folder / "go").touch()
        until(lambda: all(len(found) > KNOWN for found in told()))
        before = claimed(database)
        os.kill(servers[0].pid, signal.SIGKILL)
        until(lambda: len(claimed(database)) == 3)
        start()
        until(lambda: len(told()[4]) > KNOWN)
        after_kill = claimed(database)

        store.close_survey("workplace")
        at_closing = store.tally("workplace")
        statuses = [server.wait(60) for server in servers]
        rows = database.execute("SELECT id, report FROM reports").fetchall()
        shown = database.execute("SELECT reports, tallies FROM shown ORDER BY number").fetchall()
        store.erase_order()
        yield Account(
            told(),
            statuses,
            before,
            after_kill,
            at_closing,
            store.tally("workplace"),
            store.recount("workplace"),
            {key.hex(): json.loads(text)[0][0] for key, text in rows},
            [{"total": total} | json.loads(tallies)["held"] for total, tallies in shown],
            shards(database),
            [each.what for each in examine(store)],
        )


RECORDED = (
    "CREATE TABLE shown (number BIGSERIAL PRIMARY KEY, reports BIGINT, tallies TEXT)",
    "CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " INSERT INTO shown (reports, tallies) VALUES (NEW.reports, NEW.tallies); RETURN NEW; END $$",
    "CREATE TRIGGER every_snapshot_is_recorded AFTER INSERT OR UPDATE ON snapshots"
    " FOR EACH ROW EXECUTE FUNCTION record()",
)
"""Keeps every snapshot that there ever was, in their order."""


def test_a_report_that_all_are_sent_at_once_counts_once(account: Account) -> None:
    for number in range(KNOWN):
        key = f"{number:032x}"
        found = account.outcomes(key)
        # Who was killed may have stored it and told nobody.
        assert found["stored"] <= 1
        assert found["stored"] + found["replayed"] + found["conflict"] >= 4
        for server in account.told:
            for one in server:
                if one.key == key:
                    assert (one.outcome == "conflict") == (one.kind != account.kept[key])
    assert sum(account.outcomes(f"{number:032x}")["stored"] for number in range(KNOWN)) > KNOWN / 2


def test_what_was_acknowledged_is_there_and_the_tallies_are_a_recount(account: Account) -> None:
    acknowledged = {
        one.key: one.kind
        for server in account.told
        for one in server
        if one.outcome in ("stored", "replayed")
    }

    assert len(acknowledged) > 5 * KNOWN / 2
    assert acknowledged.items() <= account.kept.items()
    assert account.tally == account.recount
    assert account.tally["stolen"].n == len(account.kept)
    assert account.findings == []


def test_no_report_follows_the_closing_and_none_before_it_is_lost(account: Account) -> None:
    assert account.statuses == [-signal.SIGKILL, 0, 0, 0, 0]
    assert account.at_closing == account.recount
    for server in account.told[1:]:
        assert server[-1].outcome == "closed"


def test_each_server_has_a_shard_of_its_own_and_a_killed_ones_is_free_again(
    account: Account,
) -> None:
    assert account.shards == account.after_kill == [0, 1, 2, 3]


def test_after_the_closing_nothing_tells_which_server_took_what(account: Account) -> None:
    assert account.left == [0]


def test_every_snapshot_is_whole_and_has_a_batch_more_than_the_one_before(
    account: Account,
) -> None:
    """So the difference of two has at least as many people in it as the author's minimum."""
    assert len(account.shown) > 10
    for found in account.shown:
        assert found["reports"] == [[None, found["total"]]]
        for question, each in CELLS.items():
            cells = sum(count for name, _, count in found["cells"] if name == question)
            assert cells == each * found["total"]
    for before, after in pairwise(account.shown):
        assert after["total"] - before["total"] >= MINIMUM
        for question, each in CELLS.items():
            more = Counter({cell: n for name, cell, n in after["cells"] if name == question})
            more.subtract({cell: n for name, cell, n in before["cells"] if name == question})
            assert min(more.values()) >= 0, "a report of the one before is not in this one"
            assert more.total() == each * (after["total"] - before["total"])


# One by one -------------------------------------------------------------------------------------


@pytest.fixture
def address(postgres_server: str, empty_postgres: str) -> Iterator[str]:
    with new_database(postgres_server, empty_postgres) as found:
        yield found


@pytest.fixture
def two(address: str) -> Iterator[tuple[Store, Store]]:
    """Two servers' stores, which share a survey."""
    with closing(Store(address)) as first, closing(Store(address)) as second:
        for survey in (SURVEY, survey_named("renewed", results=RULES)):
            first.publish(survey, signed(survey))
        yield first, second


@pytest.fixture
def database(address: str) -> Iterator[PostgresConnection]:
    """A third server's connection."""
    with closing(Postgres(address).connect()) as found:
        yield found


@pytest.fixture
def watch(address: str) -> Iterator[Connection]:
    with closing(engine_at(address).connect()) as found:
        yield found


def somebody_waits(database: Connection) -> bool:
    found = database.execute(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event_type = 'Lock'"
    )
    return found.fetchone() is not None


def both_add(two: Sequence[Store]) -> None:
    for store in two:
        for _ in range(3):
            store.add(SURVEY, a_report(SURVEY))


def test_servers_that_add_do_not_wait_for_each_other(
    two: tuple[Store, Store], database: PostgresConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.claim_shard()
    monkeypatch.setattr(database, "commit", lambda: None)
    commit_reports(database, [report_write(SURVEY, a_report(SURVEY))])

    both_add(two)  # while it has added and not committed

    monkeypatch.undo()
    database.commit()
    assert two[0].tally("workplace")["stolen"].n == 7


def test_a_closing_waits_for_the_reports_that_are_being_added(
    two: tuple[Store, Store], database: PostgresConnection, watch: Connection
) -> None:
    database.begin_adding()
    assert find_state(database, "workplace") == "open"

    with ThreadPoolExecutor(1) as thread:
        closed = thread.submit(two[0].close_survey, "workplace")
        until(lambda: somebody_waits(watch) or closed.done())
        assert not closed.done()
        assert find_state(database, "workplace") == "open"
        database.rollback()
        closed.result()

    assert two[1].add(SURVEY, a_report(SURVEY)) is Outcome.CLOSED


def test_a_shard_is_merged_by_closing_repairing_and_moving(
    two: tuple[Store, Store], watch: Connection, tmp_path: Path
) -> None:
    both_add(two)
    assert shards(watch) == [0, 1]
    watch.execute("UPDATE totals SET reports = reports + 1 WHERE shard = 1")

    (found, *_) = examine(two[0])
    assert found.what == "workplace, stolen: the tally has 7 reports, and not 6"
    repair(two[0], [found])
    assert shards(watch) == [0]
    assert examine(two[0]) == []

    both_add(two)
    assert shards(watch) == [0, 1]
    target = engine_at(str(tmp_path / "moved.db"))
    assert move(two[0].engine, target) == 12
    with closing(Store(target.address)) as moved, closing(target.connect()) as there:
        assert shards(there) == [0]
        assert moved.tally("workplace") == two[0].tally("workplace") == moved.recount("workplace")

    two[1].close_survey("workplace")
    assert shards(watch) == [0]
    assert two[0].tally("workplace") == two[0].recount("workplace")


def test_more_servers_than_shards_share_them_and_count_right(
    address: str, two: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniably_server.storage.engines.postgres.SHARDS", 1)

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(both_add, [store] * 5) for store in two]:
            done.result()

    assert two[0].tally("workplace")["stolen"].n == 30
    assert two[0].tally("workplace") == two[0].recount("workplace")


def test_a_deadlock_is_nobodys_failure(two: tuple[Store, Store], watch: Connection) -> None:
    """Servers make none among themselves; somebody else's program may."""
    watch.execute("CREATE SEQUENCE attempts")  # which counts on where a transaction is undone
    watch.execute(
        "CREATE FUNCTION fails_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF nextval('attempts') = 1 THEN"
        " RAISE EXCEPTION USING ERRCODE = 'deadlock_detected'; END IF; RETURN NULL; END $$"
    )
    watch.execute("CREATE TRIGGER fails_once AFTER INSERT ON totals EXECUTE FUNCTION fails_once()")

    assert two[0].add(SURVEY, a_report(SURVEY)) is Outcome.STORED

    assert watch.execute("SELECT last_value FROM attempts").fetchone() == (2,)
    assert two[1].tally("workplace")["stolen"].n == 1
    assert two[1].tally("workplace") == two[1].recount("workplace")


def test_an_invitation_that_two_servers_get_at_once_is_used_once(
    two: tuple[Store, Store],
    database: PostgresConnection,
    watch: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deniably_server.storage.store.new_key", cycle([new_key()]).__next__)
    first, second = two
    survey = survey_named("invited", invited=True)
    first.publish(survey, signed(survey))
    code, unused = first.invite("invited", 2)
    secret = bytes.fromhex(first.setting("invitations_hmac_sha256") or "")
    ours, theirs = (number.to_bytes(256, "big") for number in (2, 3))

    database.begin_adding()
    spend(database, "invited", secret, code, ours)
    with ThreadPoolExecutor(2) as threads:
        same = threads.submit(first.trade, "invited", code, ours)
        another = threads.submit(second.trade, "invited", code, theirs)
        until(lambda: somebody_waits(watch) or another.done())
        database.commit()
        with pytest.raises(Used):
            another.result()
        assert same.result() == first.trade("invited", code, ours)

    assert first.invitations("invited").used == 1
    second.close_survey("invited")
    with pytest.raises(Closed):
        first.trade("invited", unused, theirs)


def held(store: Store) -> int:
    """The reports in the newest snapshot, which is held back."""
    with closing(store.engine.connect()) as database:
        row = database.execute("SELECT reports FROM snapshots").fetchone()
    return 0 if row is None else int(row[0])


def test_a_batch_that_two_servers_fill_together_is_held_a_moment_later(
    two: tuple[Store, Store], database: PostgresConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither sees it full. Until one looks again, nothing is held back or shown: not what is there
    now, which would change with the next report."""
    survey = two[0].survey("renewed")
    database.claim_shard()
    monkeypatch.setattr(database, "commit", lambda: None)
    commit_reports(database, [report_write(survey, a_report(survey)) for _ in range(MINIMUM - 1)])
    last = a_report(survey)
    two[0].add(survey, last)
    two[0].close()
    monkeypatch.undo()
    database.commit()

    assert two[0].reports("renewed") == MINIMUM
    assert two[1].shown_counts("renewed").reports == 0
    assert two[1].shown_tally("renewed")["stolen"].n == 0
    assert held(two[1]) == 0

    assert two[1].add(survey, last) is Outcome.REPLAYED
    until(lambda: held(two[1]) == MINIMUM)
    assert two[1].shown_counts("renewed").reports == 0
    for _ in range(MINIMUM):
        two[1].add(survey, a_report(survey))
    until(lambda: two[1].shown_counts("renewed").reports == MINIMUM)
    assert two[1].shown_tally("renewed")["stolen"].n == MINIMUM


@pytest.mark.slow
@pytest.mark.thorough
def test_a_closed_surveys_files_are_the_same_at_every_server(
    address: str, two: tuple[Store, Store], watch: Connection, serve_at: Callable[..., Server]
) -> None:
    """So a download that one server began goes on at another. Each makes its own files, from
    reports that lie in another order by then."""
    survey = survey_named("files", results=RULES)
    two[0].publish(survey, signed(survey))
    for number, store in enumerate(two * MINIMUM):
        store.add(survey, a_report(survey, stolen=[number % 2], often=[number % 3, 4]))
    two[0].close_survey("files")
    headers = {"Authorization": f"Bearer {new_token(two[0], 'analyst')}"}

    def files(server: Server, **more: str) -> list[requests.Response]:
        path = f"{server.url}/api/surveys/files/reports"
        return [
            requests.get(f"{path}.{ending}", headers=headers | more, timeout=60)
            for ending in ("csv", "ndjson", "parquet")
        ]

    here = files(serve_at(address))
    watch.execute("CREATE TABLE kept AS SELECT * FROM reports")
    watch.execute("DELETE FROM reports")
    watch.execute("UPDATE kept SET id = decode(md5(id::text), 'hex')")
    watch.execute("INSERT INTO reports SELECT * FROM kept")
    other = serve_at(address)
    there = files(other)

    assert [one.status_code for one in (*here, *there)] == [200] * 6
    assert [one.content for one in here] == [one.content for one in there]
    assert [one.headers["ETag"] for one in here] == [one.headers["ETag"] for one in there]
    assert len({one.headers["ETag"] for one in here}) == 3
    for number, one in enumerate(here):
        rest = files(other, **{"Range": "bytes=40-", "If-Range": one.headers["ETag"]})[number]
        assert (rest.status_code, one.content[:40] + rest.content) == (206, one.content)
