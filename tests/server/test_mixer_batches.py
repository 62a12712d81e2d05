"""A batch: everybody's envelopes and as many blanks as were promised, sorted, made once."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deniably.core.errors import BadSignature
from deniably.trust.batch import no_batch
from deniably.trust.sealed_report import make_blank
from deniably.trust.signing import new_key
from deniably_server.errors import Gone, NotFound
from deniably_server.mixing import batch_thread, batches
from deniably_server.mixing.batch_thread import finish_all
from deniably_server.mixing.batches import finish
from deniably_server.storage.mixer_store import MixerStore
from support.crowd import until
from support.material import contents
from support.mixing import FIVE, YES_NO, Parties, kept_batch, parties, questions, whole


@pytest.fixture
def store(mixer_address: str) -> Iterator[MixerStore]:
    with closing(MixerStore(mixer_address)) as store:
        yield store


def closed(store: MixerStore, mix: Parties, people: int = 5) -> list[bytes]:
    """A survey to which some people sent, and which is closed."""
    mix.accept(store)
    sealed = [mix.outer() for _ in range(people)]
    mix.send(store, *sealed)
    store.close_survey(mix.survey.digest)
    return sealed


@pytest.fixture
def mix(store: MixerStore) -> Parties:
    """A survey that is closed; five people sent."""
    some = parties()
    closed(store, some)
    return some


def finished(store: MixerStore, mix: Parties) -> bytes:
    finish(store, mix.survey.digest)
    return whole(store, mix.survey.digest)


# --- what is in it ----------------------------------------------------------------------------


def test_a_batch_has_every_envelope_of_everybody_and_so_many_blanks_of_each_question(
    store: MixerStore,
) -> None:
    mix = parties(blanks=7, questions=questions(3)).accept(store)
    people = [mix.inner(0) for _ in range(4)]
    mix.send(store, *map(mix.outer_of, people))
    store.close_survey(mix.survey.digest)

    body = finished(store, mix)

    envelopes = mix.envelopes(body)
    assert len(envelopes) == 3 * (4 + 7)
    assert {each for inner in people for each in inner} <= set(envelopes)
    assert {name: count.total() for name, count in mix.counts(body).items()} == {
        "q0": 11,
        "q1": 11,
        "q2": 11,
    }


def test_the_manifest_says_what_is_in_it_and_the_mixer_signed_it(
    store: MixerStore, mix: Parties
) -> None:
    finish(store, mix.survey.digest)

    batch = kept_batch(store, mix.survey.digest)

    assert json.loads(batch.manifest.canonical) == {
        "blanks": 10,
        "envelopes": 30,
        "senders": 5,
        "sha256": hashlib.sha256(batch.envelopes).hexdigest(),
        "survey": mix.survey.digest,
    }
    assert batch.manifest.message == b"deniably batch 1\n" + batch.manifest.canonical
    with pytest.raises(BadSignature):
        batch.check(new_key().author)


def test_it_ascends_so_nothing_shows_who_came_first(store: MixerStore) -> None:
    mix = parties(blanks=0).accept(store)
    people = [mix.inner() for _ in range(60)]
    for inner in people:
        mix.send(store, mix.outer_of(inner))
    store.close_survey(mix.survey.digest)

    envelopes = mix.envelopes(finished(store, mix))

    assert envelopes == sorted(set(envelopes))
    assert envelopes == sorted(each for inner in people for each in inner)


def test_no_two_reports_have_anything_in_common(store: MixerStore, mix: Parties) -> None:
    """Not those of one person, and not a blank and a person's."""
    reports = mix.reports(finished(store, mix))

    assert len({report["id"] for report in reports}) == len(reports) == 30
    assert {len(report["id"]) for report in reports} == {32}
    assert {report["survey"] for report in reports} == {mix.survey.digest}
    assert {tuple(sorted(report)) for report in reports} == {("id", "survey", "values")}
    assert {len(report["values"]) for report in reports} == {1}


def test_blanks_are_reports_of_uniformly_random_answers() -> None:
    """Of yes/no fair coins, and of five choices each a fifth: whatever the mechanism's odds."""
    mix = parties()
    yes_no, five = mix.survey.questions
    assert (yes_no.mechanism, five.mechanism) == (YES_NO, FIVE)

    body = b"".join(make_blank(mix.survey, one) for one in (yes_no, five) for _ in range(600))

    counts = mix.counts(body)
    assert 230 < counts["q0"][0] < 370
    assert sorted(counts["q1"]) == [0, 1, 2, 3, 4]
    assert all(70 < count < 175 for count in counts["q1"].values())


def test_a_blank_cannot_be_told_from_a_persons_envelope(store: MixerStore) -> None:
    """In length, in what is in it and in how it is spelt."""
    mix = parties(blanks=40).accept(store)
    people = {each for _ in range(40) for each in mix.inner()}
    mix.send(store, *[mix.outer_of(pair) for pair in _in_pairs(mix, people)])
    store.close_survey(mix.survey.digest)
    body = finished(store, mix)

    def looks(envelopes: list[bytes]) -> Counter[Any]:
        found: Counter[Any] = Counter()
        for each in envelopes:
            (report,) = mix.reports(each)
            value = str(next(iter(report["values"].values())))
            found[len(each), len(json.dumps(report)), len(value)] += 1
        return found

    all_of_them = mix.envelopes(body)
    blanks = [each for each in all_of_them if each not in people]
    assert len(blanks) == len(people) == 80
    assert looks(blanks) == looks(sorted(people))


def _in_pairs(mix: Parties, envelopes: set[bytes]) -> list[list[bytes]]:
    by_question: dict[str, list[bytes]] = {}
    for each in envelopes:
        ((name, _),) = mix.reports(each)[0]["values"].items()
        by_question.setdefault(name, []).append(each)
    return [list(pair) for pair in zip(*by_question.values(), strict=True)]


def test_who_agrees_on_an_envelope_spoils_nothing(store: MixerStore) -> None:
    """A server refuses a batch with one envelope twice."""
    mix = parties(blanks=1).accept(store)
    agreed, other, good = mix.inner(), mix.inner(), mix.inner()
    same = [agreed[0], other[1]]
    mix.send(store, *map(mix.outer_of, (agreed, same, good)))
    store.close_survey(mix.survey.digest)

    envelopes = mix.envelopes(finished(store, mix))

    manifest = kept_batch(store, mix.survey.digest).manifest
    assert (manifest.senders, manifest.envelopes) == (2, 6)
    assert len(set(envelopes)) == 6
    assert set(good) <= set(envelopes)
    assert {frozenset(agreed) <= set(envelopes), frozenset(same) <= set(envelopes)} == {True, False}


def test_a_batch_of_many_pieces_is_read_from_anywhere(
    store: MixerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deniably_server.storage.tables import pieces

    monkeypatch.setattr(pieces, "PIECE", 1000)
    mix = parties()
    closed(store, mix)

    body = finished(store, mix)

    assert len(body) == 30 * 273 == kept_batch(store, mix.survey.digest).manifest.envelopes * 273
    for start in (0, 1, 999, 1000, 1001, 5000, len(body) - 1):
        piece = store.batch_from(mix.survey.digest, start)
        assert piece
        assert body[start:].startswith(piece)
    assert store.batch_from(mix.survey.digest, len(body)) == b""
    assert store.batch_from(mix.survey.digest, 10 * len(body)) == b""


# --- once -------------------------------------------------------------------------------------


def test_a_batch_is_made_once(store: MixerStore, mix: Parties) -> None:
    """Of two with the same people the blanks would average out."""
    first = finished(store, mix)
    manifest = store.batch(mix.survey.digest)

    again = finished(store, mix)
    finish_all(store)

    assert again == first == whole(store, mix.survey.digest)
    assert store.batch(mix.survey.digest) == manifest
    assert store.state(mix.survey.digest) == "made"


def test_of_two_that_make_it_at_once_one_is_kept(
    mixer_address: str, store: MixerStore, mix: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is never seen by anybody."""
    made: list[Any] = []
    real = batches.make_batch

    def meanwhile(*given: Any) -> Any:
        batch = real(*given)
        made.append(batch)
        if len(made) == 1:
            with closing(MixerStore(mixer_address)) as other:
                finish(other, mix.survey.digest)
        return batch

    monkeypatch.setattr(batches, "make_batch", meanwhile)

    body = finished(store, mix)

    slow, quick = made
    assert slow.envelopes != quick.envelopes == body
    assert kept_batch(store, mix.survey.digest).manifest == quick.manifest


def test_no_batch_is_made_while_a_survey_is_open(store: MixerStore) -> None:
    mix = parties().accept(store)
    mix.send(store, mix.outer())

    finish_all(store)

    assert store.state(mix.survey.digest) == "open"
    with pytest.raises(NotFound, match="not made"):
        store.batch(mix.survey.digest)
    assert store.batch_from(mix.survey.digest, 0) == b""


def test_each_time_other_blanks_are_drawn(mix: Parties) -> None:
    """Nothing seeds them, and nothing keeps them."""
    people = [tuple(mix.inner())]
    one, two = (batches.make_batch(mix.survey, mix.mixer, people) for _ in range(2))

    common = set(mix.envelopes(one.envelopes)) & set(mix.envelopes(two.envelopes))
    assert common == set(people[0])


# --- few people, and what is deleted ----------------------------------------------------------


def test_where_too_few_sent_everything_is_deleted(store: MixerStore) -> None:
    mix = parties(minimum=6)
    sealed = closed(store, mix, people=5)

    finish(store, mix.survey.digest)
    store.erase_order()

    assert store.state(mix.survey.digest) == "too few"
    assert_nothing_is_left(store, mix, sealed)
    with pytest.raises(Gone, match="fewer people sent than it needs"):
        mix.send(store, mix.outer())
    batch = kept_batch(store, mix.survey.digest)
    assert msgspec.to_builtins(batch.manifest) == {
        "blanks": 10,
        "envelopes": 0,
        "senders": 0,
        "sha256": hashlib.sha256(b"").hexdigest(),
        "survey": mix.survey.digest,
    }


def kind_of_connection(store: MixerStore) -> Any:
    with closing(store.engine.connect()) as connection:
        return type(connection)


def test_a_deletion_beside_a_rewrite_leaves_nothing(
    store: MixerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The closing wakes both, the thread that deletes and the one that stores the rows anew."""
    mix = parties(minimum=6)
    sealed = closed(store, mix, people=5)
    deletes = threading.Thread(target=finish, args=(store, mix.survey.digest))
    kind = kind_of_connection(store)
    rewrite = kind.rewrite

    def slow(database: Any, survey: str) -> None:
        rewrite(database, survey)
        deletes.start()
        deletes.join(0.3)  # the deletion has to wait, so this is over first

    monkeypatch.setattr(kind, "rewrite", slow)
    store.erase_order()
    deletes.join()
    monkeypatch.undo()
    store.erase_order()

    assert store.state(mix.survey.digest) == "too few"
    assert_nothing_is_left(store, mix, sealed)


def test_a_deletion_beside_a_cleaning_is_cleaned_as_well(
    store: MixerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    mix = parties(minimum=6)
    sealed = closed(store, mix, people=5)
    kind = kind_of_connection(store)
    clean = kind.clean

    def before(database: Any, surveys: Any) -> None:
        clean(database, surveys)
        finish(store, mix.survey.digest)

    monkeypatch.setattr(kind, "clean", before)
    store.erase_order()
    monkeypatch.undo()
    assert store.revealing_order() == [mix.survey.digest], "the mark is there again"
    store.erase_order()

    assert_nothing_is_left(store, mix, sealed)


def test_keys_that_another_process_deleted_are_used_no_more(store: MixerStore) -> None:
    mix = parties(minimum=6, invited=True).accept(store)
    (code,) = store.invite(mix.survey.digest, 1)
    envelope = mix.outer(code=code)
    mix.send(store, envelope)
    with closing(MixerStore(store.engine.address)) as other:
        other.close_survey(mix.survey.digest)
        finish(other, mix.survey.digest)

    with pytest.raises(Gone, match="fewer people sent than it needs"):
        mix.send(store, envelope)
    with pytest.raises(Gone):
        store.keys(mix.survey.digest)


def test_enough_people_are_enough(store: MixerStore) -> None:
    mix = parties(minimum=5)
    closed(store, mix, people=5)

    finish(store, mix.survey.digest)

    assert store.state(mix.survey.digest) == "made"


def test_after_it_was_taken_envelopes_codes_and_keys_are_gone_and_the_manifest_stays(
    store: MixerStore,
) -> None:
    mix = parties(invited=True).accept(store)
    codes = store.invite(mix.survey.digest, 3)
    sealed = [mix.outer(code=code) for code in codes]
    mix.send(store, *sealed)
    store.close_survey(mix.survey.digest)
    finish(store, mix.survey.digest)
    manifest = store.batch(mix.survey.digest)

    store.passed_on(mix.survey.digest)
    store.passed_on(mix.survey.digest)
    store.erase_order()

    assert store.state(mix.survey.digest) == "passed"
    assert_nothing_is_left(store, mix, sealed)
    assert contents(store.engine.address)["invitations"] == []
    assert store.batch(mix.survey.digest) == manifest
    with pytest.raises(Gone, match="passed all envelopes on and deleted them"):
        mix.send(store, sealed[0])


def test_no_batch_is_deleted_before_it_was_taken(store: MixerStore, mix: Parties) -> None:
    store.passed_on(mix.survey.digest)
    assert store.senders(mix.survey.digest) == 5

    body = finished(store, mix)
    store.too_few(no_batch(mix.survey.digest, blanks=mix.survey.blanks, key=mix.mixer.signing))

    assert whole(store, mix.survey.digest) == body


def test_once_the_batch_is_made_nothing_tells_who_sent_which_of_it(
    store: MixerStore, mix: Parties
) -> None:
    """Also where its server never takes it: what people sent, and what opens it, are gone."""
    sealed = store.sealed(mix.survey.digest)
    body = finished(store, mix)
    store.erase_order()

    rows = contents(store.engine.address)
    assert rows["envelopes"] == rows["mixer_keys"] == []
    assert whole(store, mix.survey.digest) == body
    if not store.engine.address.startswith("postgresql"):
        file = Path(store.engine.address)
        left = b"".join(each.read_bytes() for each in file.parent.glob(f"{file.name}*"))
        assert sealed
        assert all(each[:65] not in left for each in sealed)
        assert b"PRIVATE KEY" not in left


def assert_nothing_is_left(store: MixerStore, mix: Parties, sealed: list[bytes]) -> None:
    """Neither in a table nor, of SQLite, in any byte of its files."""
    rows = contents(store.engine.address)
    assert rows["envelopes"] == rows["pieces"] == rows["mixer_keys"] == []
    assert store.revealing_order() == []
    if not store.engine.address.startswith("postgresql"):
        file = Path(store.engine.address)
        left = b"".join(each.read_bytes() for each in file.parent.glob(f"{file.name}*"))
        assert mix.survey.digest.encode() in left, "the survey itself stays"
        assert all(each[:65] not in left for each in sealed)
        assert b"PRIVATE KEY" not in left


# --- the order of arrival ---------------------------------------------------------------------


def test_after_the_closing_the_disk_does_not_tell_who_came_first(store: MixerStore) -> None:
    mix = parties().accept(store)
    for _ in range(80):
        mix.send(store, mix.outer())
    store.close_survey(mix.survey.digest)
    assert store.revealing_order() == [mix.survey.digest]

    store.erase_order()

    assert store.revealing_order() == []
    assert store.senders(mix.survey.digest) == 80


def test_long_envelopes_lie_in_the_order_of_their_hashes_too(tmp_path: Path) -> None:
    """Of six questions an envelope is longer than what SQLite keeps within a page of the table."""
    with closing(MixerStore(str(tmp_path / "mixer.db"))) as store:
        mix = parties(questions=questions(6)).accept(store)
        sealed = [mix.outer() for _ in range(60)]
        for each in sealed:
            mix.send(store, each)
        store.close_survey(mix.survey.digest)
        store.erase_order()
        file = (tmp_path / "mixer.db").read_bytes()

    by_hash = sorted(sealed, key=lambda each: hashlib.sha256(each).digest())
    assert rising(file, by_hash) > 0.8
    assert 0.3 < rising(file, sealed) < 0.7, "as by chance"


def rising(file: bytes, sealed: list[bytes]) -> float:
    """In what share of neighbours the end of the second lies behind that of the first."""
    places = [file.find(each[-64:]) for each in sealed]
    assert min(places) >= 0
    return sum(one < two for one, two in pairwise(places)) / (len(places) - 1)


def test_no_column_holds_a_time_an_address_or_a_number_that_counts_up(store: MixerStore) -> None:
    with closing(store.engine.connect()) as database:
        columns = {(table, column) for table, column, _ in database.columns()}

    assert {column for table, column in columns if table == "envelopes"} == {
        "hash",
        "survey",
        "sealed",
    }
    assert {column for table, column in columns if table == "invitations"} == {
        "hash",
        "survey",
        "blinded",
        "stratum",
    }


# --- the thread -------------------------------------------------------------------------------


def test_a_running_mixer_makes_the_batch_after_the_closing(store: MixerStore) -> None:
    mix = parties().accept(store)
    mix.send(store, mix.outer())
    batch_thread.make_batches_after_closings(store)

    store.close_survey(mix.survey.digest)

    until(lambda: store.state(mix.survey.digest) == "made")


def test_what_another_process_left_is_made_at_the_start(store: MixerStore, mix: Parties) -> None:
    batch_thread.make_batches_after_closings(store)

    until(lambda: store.state(mix.survey.digest) == "made")


def test_a_survey_that_fails_holds_up_no_other(
    store: MixerStore, mix: Parties, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    other = parties()
    closed(store, other)
    first = min(mix.survey.digest, other.survey.digest)
    real = batch_thread.finish

    def failing(store: MixerStore, digest: str) -> None:
        if digest == first:
            raise ValueError("an answer could stand here")
        real(store, digest)

    monkeypatch.setattr(batch_thread, "finish", failing)
    with caplog.at_level(logging.ERROR, "deniably"):
        finish_all(store)

    assert sorted(map(store.state, (mix.survey.digest, other.survey.digest))) == ["closed", "made"]
    assert "a batch is not made; tried again in a minute: ValueError" in caplog.text
    assert "answer" not in caplog.text
