"""``deniably mix doctor``, ``backup``, ``restore``, ``migrate`` and ``delete``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from deniably.trust.batch import LARGEST_BATCH
from deniably.trust.envelope import inner_size
from deniably_server.mixing.batches import finish
from deniably_server.mixing.offering import new_offer
from deniably_server.storage.maintenance.migrate_mixer import MIXES, TABLES, move_mixer
from deniably_server.storage.mixer_store import MixerStore
from support.commands import Done, call
from support.material import contents
from support.mixing import MixerServer, Parties, parties, whole
from support.nursery import Nursery
from support.survey_server import accepted, survey_server


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "mixer.db"


@pytest.fixture
def store(database: Path) -> Iterator[MixerStore]:
    with closing(MixerStore(str(database))) as store:
        yield store


def mix(command: str, *arguments: object, database: Path | str, keys: str = "") -> Done:
    return call("mix", command, *map(str, arguments), "--database", str(database), keys=keys)


def in_every_state(store: MixerStore) -> dict[str, Parties]:
    """A survey in each state, with its envelopes as far as they are kept."""
    found: dict[str, Parties] = {}
    for state in ("open", "closed", "made", "passed", "too few", "told", "refused", "given up"):
        each = parties(minimum=6 if state in ("too few", "told") else 1, invited=state == "open")
        each.accept(store)
        digest = each.survey.digest
        codes = store.invite(digest, 5) if each.survey.invited else [""] * 5
        each.send(store, *(each.outer(code=code) for code in codes))
        if state != "open":
            store.close_survey(digest)
        if state not in ("open", "closed"):
            finish(store, digest)
        if state == "passed":
            store.passed_on(digest)
        if state == "told":
            store.told(digest)
        if state in ("refused", "given up"):
            store.refused(digest, "One in 100 does not open.")
        if state == "given up":
            store.give_up(digest)
        found[state] = each
        assert store.state(digest) == state
    return found


# --- the doctor -------------------------------------------------------------------------------


def test_the_doctor_says_how_far_each_survey_is_and_what_is_wrong(
    store: MixerStore, database: Path
) -> None:
    in_every_state(store)
    store.erase_order()
    database.chmod(0o644)

    done = mix("doctor", database=database)

    assert done.returncode == 1
    for told in (
        "workplace: open until 2999-12-31; 0 people or a few more have sent",
        "workplace: closed; its batch is made by the running mixer within a minute",
        "workplace: a batch of 30 envelopes, of 5 people, not passed on yet",
        "workplace: a batch of 30 envelopes, of 5 people; its server took it, and all is deleted",
        "workplace: fewer people sent than it needs; all is deleted, and its server does not know",
        "workplace: fewer people sent than it needs; all is deleted, and its server knows",
        "workplace: a batch of 30 envelopes, of 5 people; deleted here, its server did not take it",
        "offers that no survey uses yet: 0",
    ):
        assert told in done.stdout.splitlines()
    for wrong in (
        "workplace: the survey's server gave no answer (ConnectionError)",
        "workplace: its server refused the batch: One in 100 does not open. All is still here; to"
        " delete it: deniably mix delete workplace",
        "other users of this machine may read mixer.db: chmod 600 mixer.db",
    ):
        assert wrong in done.stderr.splitlines()
    assert "5 found" in done.stderr


def test_the_doctor_finds_an_order_on_the_disk(store: MixerStore, database: Path) -> None:
    mix_ = parties().accept(store)
    for _ in range(30):
        mix_.send(store, mix_.outer())
    store.close_survey(mix_.survey.digest)

    assert "in which order envelopes came" in mix("doctor", database=database).stderr
    store.erase_order()
    assert "in which order" not in mix("doctor", database=database).stderr


def test_the_doctor_says_where_few_places_are_left(store: MixerStore, database: Path) -> None:
    blanks = LARGEST_BATCH // (2 * inner_size(192)) - 11
    mix_ = parties(blanks=blanks).accept(store)
    few = "fewer than a tenth of its places are left"

    mix_.send(store, *(mix_.outer() for _ in range(9)))
    assert few not in mix("doctor", database=database).stdout
    mix_.send(store, mix_.outer())
    assert few in mix("doctor", database=database).stdout


def test_where_nothing_is_wrong_the_doctor_says_so(database: Path, tmp_path: Path) -> None:
    with survey_server(tmp_path) as server, closing(MixerStore(str(database))) as store:
        accepted(store, server)
        store.keep_offer(new_offer("https://mixer.example.net", "Works council"))
        done = mix("doctor", database=database)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == ["offers that no survey uses yet: 1", "all is well"]


# --- moving -----------------------------------------------------------------------------------


def test_every_table_is_moved(store: MixerStore) -> None:
    with closing(store.engine.connect()) as database:
        tables: dict[str, set[str]] = {}
        for table, column, _ in database.columns():
            tables.setdefault(table, set()).add(column)

    assert {name: set(columns) for name, columns in (TABLES | {"mixes": MIXES}).items()} == {
        name: columns for name, columns in tables.items() if name != "steps"
    }


def test_a_move_keeps_everything_in_every_state(store: MixerStore, mixer_address: str) -> None:
    found = in_every_state(store)
    store.keep_offer(new_offer("https://mixer.example.net", "Works council"))
    before = contents(store.engine.address)
    if mixer_address == store.engine.address:
        mixer_address += "-moved"

    with closing(MixerStore(mixer_address)) as other:
        assert move_mixer(store.engine, other.engine) == sum(
            len(store.sealed(each.survey.digest)) for each in found.values()
        )
        after = contents(mixer_address)
        for table in before.keys() - {"settings", "steps"}:
            assert _plain(after[table]) == _plain(before[table]), table
        for state, each in found.items():
            assert other.state(each.survey.digest) == state
        made = found["made"].survey.digest
        assert whole(other, made) == whole(store, made)
        assert other.problems() == []


def _plain(rows: list[object]) -> list[list[object]]:
    return sorted(
        ([bytes(each) if isinstance(each, memoryview) else each for each in row] for row in rows),  # type: ignore[attr-defined]
        key=repr,
    )


def test_a_backup_brings_back_what_was_there(
    store: MixerStore, database: Path, tmp_path: Path
) -> None:
    mix_ = parties().accept(store)
    sealed = mix_.outer()
    mix_.send(store, sealed)
    file, other = tmp_path / "backup.db", tmp_path / "other.db"

    made = mix("backup", file, database=database)
    twice = mix("backup", file, database=database)
    no = mix("restore", file, database=other, keys="n\n")
    back = mix("restore", file, database=other, keys="y\n")
    full = mix("restore", file, "--yes", database=other)

    assert made.stdout == f"1 envelope copied into {file}\n"
    assert file.stat().st_mode & 0o077 == 0, "it has private keys"
    assert "replaces nothing" in twice.stderr
    assert "no batch of workplace" in no.stdout
    assert (no.returncode, back.returncode, full.returncode) == (1, 0, 1)
    assert "in use already" in full.stderr
    with closing(MixerStore(str(other))) as restored:
        assert mix_.send(restored, sealed) == [200]
        assert mix_.send(restored, mix_.outer()) == [201]


def test_a_mixer_is_not_moved_while_it_runs(
    database: Path, tmp_path: Path, nursery: Nursery
) -> None:
    server = MixerServer(database, begin=partial(nursery.begin))
    server.accept(parties())

    running = call("mix", "migrate", str(database), str(tmp_path / "new.db"))
    assert server.stop() == 0
    stopped = call("mix", "migrate", str(database), str(tmp_path / "new.db"))

    assert running.returncode == 1
    assert "Stop it first" in running.stderr
    assert stopped.returncode == 0
    assert "delete the old one" in stopped.stdout
    with closing(MixerStore(str(tmp_path / "new.db"))) as moved:
        assert len(moved.in_state("open")) == 1


# --- deleting ---------------------------------------------------------------------------------


def test_what_no_server_takes_is_deleted_when_its_owner_says_so(
    store: MixerStore, database: Path
) -> None:
    refused = in_every_state(store)["refused"].survey.digest

    no = mix("delete", refused, database=database, keys="n\n")
    yes = mix("delete", refused, database=database, keys="y\n")

    assert (no.returncode, yes.returncode) == (1, 0)
    assert store.state(refused) == "given up"
    assert store.sealed(refused) == []


@pytest.mark.parametrize("state", ["open", "closed", "passed", "too few", "told", "given up"])
def test_nothing_else_is_deleted_by_hand(store: MixerStore, database: Path, state: str) -> None:
    digest = in_every_state(store)[state].survey.digest
    before = store.sealed(digest)

    done = mix("delete", digest, "--yes", database=database)

    assert done.returncode == 1
    assert "only a batch that its server does not take" in done.stderr
    assert store.sealed(digest) == before


def test_of_two_surveys_with_one_name_the_digest_says_which(
    store: MixerStore, database: Path
) -> None:
    in_every_state(store)

    done = mix("delete", "workplace", "--yes", database=database)

    assert "8 surveys have this name; write the digest instead" in done.stderr
