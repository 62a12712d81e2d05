"""What a mixer keeps: every envelope once, under its own hash, and nothing about who sent it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from deniably.core.errors import BadEnvelope
from deniably.trust.envelope import new_opening_key, seal_outer
from deniably.trust.invitation_codes import new_code
from deniably.trust.signing import new_key
from deniably_server.errors import Closed, Conflict, Gone, NotFound, Uninvited, Used
from deniably_server.mixing import envelopes as taking
from deniably_server.mixing.batches import finish
from deniably_server.storage.mixer_store import MixerKeys, MixerStore
from deniably_server.storage.writing import envelopes
from deniably_server.storage.writing.commit import Outcome
from support.material import contents
from support.mixing import NOWHERE, Parties, parties


@pytest.fixture
def store(mixer_address: str) -> Iterator[MixerStore]:
    with closing(MixerStore(mixer_address)) as store:
        yield store


@pytest.fixture
def mix(store: MixerStore) -> Parties:
    """An accepted survey."""
    return parties().accept(store)


# --- accepting --------------------------------------------------------------------------------


def test_a_survey_is_accepted_once_and_its_terms_never_change(store: MixerStore) -> None:
    mix, other = parties(), parties()

    assert store.accept(mix.survey, mix.mixer, "2999-12-31", NOWHERE)
    assert not store.accept(mix.survey, mix.mixer, "2999-12-31", NOWHERE)
    with pytest.raises(Conflict, match="on other terms"):
        store.accept(mix.survey, mix.mixer, "2999-12-30", NOWHERE)
    with pytest.raises(Conflict, match="other keys"):
        store.accept(other.survey, mix.mixer, "2999-12-31", NOWHERE)
    assert store.in_state("open") == [mix.survey.digest]


def test_terms_and_keys_are_what_they_were_after_a_restart(
    mixer_address: str, store: MixerStore, mix: Parties
) -> None:
    with closing(MixerStore(mixer_address)) as again:
        assert again.accepted(mix.survey.digest).survey == mix.survey
        keys = again.keys(mix.survey.digest)

    assert keys.signing.author == mix.survey.signing
    assert keys.opening.public == mix.survey.key


def test_an_unknown_survey_is_not_found(store: MixerStore) -> None:
    for call in (store.accepted, store.keys, store.state, store.batch):
        with pytest.raises(NotFound):
            call("0" * 64)
    with pytest.raises(NotFound):
        store.state("no digest\0")


# --- taking -----------------------------------------------------------------------------------


def test_an_envelope_is_kept_as_it_came_under_its_hash(store: MixerStore, mix: Parties) -> None:
    sealed = mix.outer()

    assert mix.send(store, sealed) == [201]

    assert store.sealed(mix.survey.digest) == [sealed]
    rows = contents_of(store)["envelopes"]
    assert rows == [(hashlib.sha256(sealed).digest(), mix.survey.digest, sealed)]


def test_the_same_bytes_count_once_however_often_they_come(store: MixerStore, mix: Parties) -> None:
    one, two = mix.outer(), mix.outer()

    assert mix.send(store, one) == [201]
    assert mix.send(store, one, two, two, one) == [200, 201, 200, 200]
    assert store.senders(mix.survey.digest) == 2


def test_many_at_once_are_all_kept_in_few_transactions(
    store: MixerStore, mix: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = envelopes.commit_envelopes

    def counting(database: Any, writes: Any) -> Any:
        sizes.append(len(writes))
        return real(database, writes)

    monkeypatch.setattr(envelopes, "commit_envelopes", counting)
    sealed = [mix.outer() for _ in range(150)]
    with ThreadPoolExecutor(50) as threads:
        statuses = list(threads.map(lambda each: mix.send(store, each)[0], sealed))

    assert set(statuses) == {201}
    assert sorted(store.sealed(mix.survey.digest)) == sorted(sealed)
    assert sum(sizes) == 150
    assert len(sizes) < 120


def test_two_mixers_on_one_database_keep_an_envelope_once(
    mixer_address: str, store: MixerStore, mix: Parties
) -> None:
    with closing(MixerStore(mixer_address)) as other, ThreadPoolExecutor(8) as threads:
        sealed = [mix.outer() for _ in range(40)]
        calls = [(each, one) for each in sealed for one in (store, other)]
        statuses = list(threads.map(lambda call: mix.send(call[1], call[0])[0], calls))

    assert sorted(statuses) == [200] * 40 + [201] * 40
    assert sorted(store.sealed(mix.survey.digest)) == sorted(sealed)


def damaged(mix: Parties) -> dict[str, bytes]:
    """What is no envelope of this survey, by what is wrong."""
    good = mix.outer()
    longer = parties(length=193)
    inner = mix.inner()
    return {
        "nothing": b"",
        "a byte less": good[:-1],
        "a byte more": good + b"\0",
        "a bit is another": good[:-1] + bytes([good[-1] ^ 1]),
        "no point": b"\4" + bytes(64) + good[65:],
        "of another survey": seal_outer(mix.survey.key, "0" * 64, inner),
        "with another key": seal_outer(mix.survey.open, mix.survey.digest, inner),
        "of another length": seal_outer(mix.survey.key, mix.survey.digest, longer.inner()),
        "one inner envelope": mix.outer_of(inner[:1]),
        "the same inner envelope twice": mix.outer_of([inner[0], inner[0]]),
        "a code that nobody needs": mix.outer(code=new_code()),
    }


def test_whatever_is_no_envelope_is_refused_alike(store: MixerStore, mix: Parties) -> None:
    """It would spoil the batch, and different words would tell what is wrong."""
    words = set()
    for sealed in damaged(mix).values():
        with pytest.raises(BadEnvelope) as refused:
            taking.begin_envelope(store, mix.survey.digest, sealed)
        words.add(str(refused.value))

    assert words == {"this is no envelope to this survey"}
    assert store.senders(mix.survey.digest) == 0


def test_after_its_last_day_a_mixer_takes_what_it_holds_and_nothing_new(
    store: MixerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    mix = parties().accept(store, until="2026-12-24")
    held = mix.outer()
    monkeypatch.setattr(taking, "_today", lambda: "2026-12-24")
    assert mix.send(store, held) == [201]

    monkeypatch.setattr(taking, "_today", lambda: "2026-12-25")

    assert mix.send(store, held) == [200]
    with pytest.raises(Gone, match="no more envelopes"):
        mix.send(store, mix.outer())


def test_after_the_closing_what_is_held_is_acknowledged_and_nothing_new_is_taken(
    store: MixerStore, mix: Parties
) -> None:
    held = mix.outer()
    mix.send(store, held)

    store.close_survey(mix.survey.digest)

    assert mix.send(store, held) == [200]
    with pytest.raises(Gone, match="is closed"):
        mix.send(store, mix.outer())
    assert store.sealed(mix.survey.digest) == [held]


# --- invitations ------------------------------------------------------------------------------


@pytest.fixture
def invited(store: MixerStore) -> Parties:
    return parties(invited=True).accept(store)


def test_a_code_is_good_for_one_envelope(store: MixerStore, invited: Parties) -> None:
    one, two = store.invite(invited.survey.digest, 2)
    first = invited.outer(code=one)

    assert invited.send(store, first) == [201]
    assert invited.send(store, first) == [200], "the device got no answer, and sends again"
    with pytest.raises(Used):
        invited.send(store, invited.outer(code=one))
    assert invited.send(store, invited.outer(code=two)) == [201]
    counts = store.invitations(invited.survey.digest)
    assert (counts.issued, counts.used) == (2, 2)
    assert store.senders(invited.survey.digest) == 2


def test_of_two_envelopes_with_one_code_at_once_one_is_kept(
    store: MixerStore, invited: Parties
) -> None:
    """All pass the look before they are queued; the transaction decides."""
    digest = invited.survey.digest
    (code,) = store.invite(digest, 1)
    good = store.invitation(digest, code, b"")
    writes = [envelopes.EnvelopeWrite(digest, invited.outer(code=code), good) for _ in range(5)]
    unknown = envelopes.EnvelopeWrite(digest, invited.outer(), (good[0], new_code()))

    with closing(store.engine.connect()) as database:
        outcomes = envelopes.commit_envelopes(database, [*writes, unknown])

    assert Counter(outcomes) == {Outcome.STORED: 1, Outcome.CONFLICT: 4, Outcome.UNKNOWN: 1}
    assert outcomes[-1] is Outcome.UNKNOWN
    assert store.senders(digest) == 1
    with pytest.raises(Used, match=r"^this code brought another envelope before"):
        taking.BegunEnvelope(_settled(writes[0], Outcome.CONFLICT)).answer()
    with pytest.raises(Uninvited, match=r"^this is no code of an invitation to this survey$"):
        taking.BegunEnvelope(_settled(unknown, Outcome.UNKNOWN)).answer()


def _settled(write: envelopes.EnvelopeWrite, outcome: Outcome) -> envelopes.EnvelopeWrite:
    write.succeed([outcome])
    return write


def test_without_a_code_of_the_mixers_nobody_is_invited(
    store: MixerStore, invited: Parties
) -> None:
    with pytest.raises(Uninvited, match=r"^this survey is by invitation, and the envelope has no"):
        invited.send(store, invited.outer())
    with pytest.raises(Uninvited, match=r"^this is no invitation to this survey"):
        invited.send(store, invited.outer(code=new_code()))
    other = parties(invited=True).accept(store)
    (code,) = store.invite(other.survey.digest, 1)
    with pytest.raises(Uninvited):
        invited.send(store, invited.outer(code=code))


def test_codes_are_stored_as_hashes_that_only_this_mixer_can_make(
    store: MixerStore, invited: Parties
) -> None:
    (code,) = store.invite(invited.survey.digest, 1)
    everything = repr(contents_of(store))

    assert code not in everything
    assert hashlib.sha256(code.encode()).hexdigest() not in everything


def test_nobody_is_invited_where_nobody_needs_to_be_or_after_the_closing(
    store: MixerStore, mix: Parties, invited: Parties
) -> None:
    store.close_survey(invited.survey.digest)

    with pytest.raises(NotFound, match="anybody may answer"):
        store.invite(mix.survey.digest, 1)
    with pytest.raises(Closed):
        store.invite(invited.survey.digest, 1)


# --- the transaction --------------------------------------------------------------------------


def test_what_another_process_stored_just_now_is_stored_once(
    store: MixerStore, mix: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not there when this transaction looked."""
    sealed = mix.outer()
    mix.send(store, sealed)
    monkeypatch.setattr(envelopes, "holds", lambda *_: False)

    assert mix.send(store, sealed) == [200]
    assert store.senders(mix.survey.digest) == 1


def test_a_transaction_that_ran_into_another_one_begins_again_alone(
    store: MixerStore, mix: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Collided(Exception):
        pass

    begun: list[str] = []

    class Colliding:
        """A real connection, whose first transaction collides."""

        collisions = (Collided,)

        def __init__(self, database: Any) -> None:
            self._database = database

        def __getattr__(self, name: str) -> Any:
            if name in ("begin_adding", "begin_writing", "rollback"):
                begun.append(name)
            if name == "commit" and begun == ["begin_adding"]:
                raise Collided
            return getattr(self._database, name)

    writes = [envelopes.EnvelopeWrite(mix.survey.digest, mix.outer()) for _ in range(3)]
    with closing(store.engine.connect()) as database:
        outcomes = envelopes.commit_envelopes(Colliding(database), writes)  # type: ignore[arg-type]

    assert begun == ["begin_adding", "rollback", "begin_writing"]
    assert outcomes == [Outcome.STORED] * 3
    assert store.senders(mix.survey.digest) == 3


def test_an_envelope_to_an_unknown_survey_is_not_stored(store: MixerStore, mix: Parties) -> None:
    unknown = envelopes.EnvelopeWrite("0" * 64, mix.outer())

    with closing(store.engine.connect()) as database:
        assert envelopes.commit_envelopes(database, [unknown]) == [Outcome.UNKNOWN]

    assert contents_of(store)["envelopes"] == []


def test_the_last_day_is_one_of_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        @staticmethod
        def now(zone: object = None) -> datetime:
            return datetime(2026, 12, 24 if zone is UTC else 25, 0, 30)

    monkeypatch.setattr(taking, "datetime", Clock)

    assert taking._today() == "2026-12-24"


# --- what the database itself refuses ---------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE mixes SET state = 'open'",
        "UPDATE mixes SET state = 'closed'",
        "UPDATE mixes SET manifest = 'another'",
        "UPDATE mixes SET terms = 'others'",
        "DELETE FROM mixes",
        "UPDATE envelopes SET sealed = sealed",
        "UPDATE pieces SET bytes = bytes",
        "INSERT INTO pieces SELECT survey, 99, bytes FROM pieces",
        "UPDATE mixer_keys SET opening = ''",
    ],
)
def test_the_database_itself_refuses_a_second_batch_and_other_terms(
    statement: str, store: MixerStore, mix: Parties
) -> None:
    mix.send(store, mix.outer())
    if "envelopes" not in statement and "mixer_keys" not in statement:  # gone with the batch
        store.close_survey(mix.survey.digest)
        finish(store, mix.survey.digest)

    with closing(store.engine.connect()) as database, pytest.raises(store.engine.errors) as refused:
        database.execute(statement)

    assert "once" in str(refused.value) or "never change" in str(refused.value)


def test_the_schema_is_whole(store: MixerStore) -> None:
    assert store.problems() == []
    store.check()


def test_a_database_of_surveys_is_none_of_a_mixer(tmp_path: Path) -> None:
    """Nor the other way round: who mistakes one for the other is told."""
    from deniably_server.errors import OtherDatabase
    from deniably_server.storage.store import Store

    database = str(tmp_path / "deniably.db")
    Store(database).close()
    with pytest.raises(OtherDatabase, match="a database each"):
        MixerStore(database)
    other = str(tmp_path / "mixer.db")
    MixerStore(other).close()
    with pytest.raises(OtherDatabase, match="a database each"):
        Store(other)


def test_keys_do_not_show_themselves(store: MixerStore, mix: Parties) -> None:
    shown = repr(store.keys(mix.survey.digest))

    assert mix.mixer.signing.secret.hex() not in shown
    assert "PRIVATE" not in shown
    assert repr(MixerKeys(new_opening_key(), new_key())).count("public=") == 1


def contents_of(store: MixerStore) -> dict[str, list[Any]]:
    return contents(store.engine.address)
