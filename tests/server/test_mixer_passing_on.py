"""A mixer and the server of its survey: when it closes, and how its batch gets there once."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deniably.core.errors import BadRegister
from deniably.survey.survey import Survey
from deniably.trust.register import read_register
from deniably_server.errors import Unavailable
from deniably_server.mixing import passing_on, server_thread
from deniably_server.mixing.batches import finish
from deniably_server.mixing.closing import close_if_over
from deniably_server.mixing.passing_on import pass_on, tell_too_few
from deniably_server.mixing.pauses import Pauses
from deniably_server.mixing.server_thread import attend
from deniably_server.mixing.survey_server import NoAnswer, ServerRefused
from deniably_server.storage.mixer_store import MixerStore
from deniably_server.storage.tables import pieces
from support.crowd import until
from support.material import contents, signed, survey_named
from support.mixing import MixerServer, Parties, whole
from support.nursery import Nursery
from support.survey_server import DAY, SurveyServer, accepted, survey_server

LATER = "2999-06-01"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SurveyServer]:
    with survey_server(tmp_path) as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MixerStore]:
    with closing(MixerStore(str(tmp_path / "mixer.db"))) as store:
        yield store


@pytest.fixture
def survey(store: MixerStore, server: SurveyServer) -> Survey:
    """A published survey that the mixer has accepted."""
    return accepted(store, server)


def sent(store: MixerStore, server: SurveyServer, survey: Survey, people: int = 5) -> Parties:
    """So many people have sent."""
    mixed = store.accepted(survey.digest).survey
    mix = Parties(mixed, store.keys(survey.digest), server.opening)
    assert set(mix.send(store, *(mix.outer() for _ in range(people)))) == {201}
    return mix


@pytest.fixture
def made(store: MixerStore, server: SurveyServer, survey: Survey) -> Survey:
    """The survey is closed at both, and its batch is made."""
    sent(store, server, survey)
    server.close_survey()
    store.close_survey(survey.digest)
    finish(store, survey.digest)
    return survey


# --- closing ----------------------------------------------------------------------------------


def test_a_survey_is_closed_at_the_mixer_once_its_server_has_closed_it(
    store: MixerStore, server: SurveyServer, survey: Survey
) -> None:
    close_if_over(store, survey.digest, DAY)
    assert store.state(survey.digest) == "open"

    server.close_survey()
    close_if_over(store, survey.digest, DAY)

    assert store.state(survey.digest) == "closed"


def test_after_the_last_day_it_is_closed_whatever_its_server_says(
    store: MixerStore, server: SurveyServer, survey: Survey
) -> None:
    server.stop()
    close_if_over(store, survey.digest, LATER)

    assert store.state(survey.digest) == "closed"


def test_a_server_cannot_close_a_survey_for_its_mixer_alone(
    store: MixerStore, server: SurveyServer, survey: Survey
) -> None:
    """What everybody sees, the register, has to say it."""
    register = server.passed_through("/register", {})[2]
    server.close_survey()
    server.changed = lambda path, body: register if path == "/register" else body

    with pytest.raises(BadRegister, match="and its register does not"):
        close_if_over(store, survey.digest, DAY)
    assert store.state(survey.digest) == "open"


def test_a_register_that_begins_anew_closes_nothing(
    store: MixerStore, server: SurveyServer, survey: Survey, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    with survey_server(tmp_path / "other") as other:
        another = survey_named("another")
        for each in (another, survey):
            other.store.publish(each, signed(each))
        other.close_survey()
        register = other.passed_through("/register", {})[2]
    read_register(register)
    server.close_survey()
    server.changed = lambda path, body: register if path == "/register" else body

    with pytest.raises(BadRegister, match="history was rewritten"):
        close_if_over(store, survey.digest, DAY)


def test_another_definition_is_no_state_of_this_survey(
    store: MixerStore, server: SurveyServer, survey: Survey
) -> None:
    server.close_survey()
    server.passed_through = _with(server, lambda status, headers, body: (200, headers, b"{}"))

    with pytest.raises(NoAnswer, match="another definition"):
        close_if_over(store, survey.digest, DAY)


def test_who_does_not_say_whether_it_is_open_is_no_server_of_surveys(
    store: MixerStore, server: SurveyServer, survey: Survey
) -> None:
    def without(status: int, headers: Any, body: bytes) -> Any:
        return status, {"ETag": headers["ETag"]}, body

    server.passed_through = _with(server, without)

    with pytest.raises(NoAnswer, match="does not say whether"):
        close_if_over(store, survey.digest, DAY)


def _with(server: SurveyServer, change: Callable[..., Any]) -> Any:
    real = server.passed_through
    return lambda path, headers: change(*real(path, headers))


# --- passing on -------------------------------------------------------------------------------


def test_a_batch_arrives_byte_by_byte_as_it_was_made(
    store: MixerStore, server: SurveyServer, made: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = whole(store, made.digest)

    pass_on(store, made.digest)

    assert bytes(server.taking.body) == body
    manifest = server.taking.manifest
    assert manifest is not None
    assert manifest["sha256"] == hashlib.sha256(body).hexdigest()
    assert manifest["senders"] == 5


def test_once_it_is_taken_the_mixer_deletes_all(
    store: MixerStore, server: SurveyServer, made: Survey
) -> None:
    pass_on(store, made.digest)
    store.erase_order()

    assert store.state(made.digest) == "passed"
    rows = contents(store.engine.address)
    assert rows["envelopes"] == rows["pieces"] == rows["mixer_keys"] == []
    assert server.taking.manifest is not None


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces are small, so that a batch has many."""
    monkeypatch.setattr(pieces, "PIECE", 5000)


def test_after_a_break_the_same_batch_goes_on_where_it_was(
    small: None, store: MixerStore, server: SurveyServer, made: Survey
) -> None:
    body = whole(store, made.digest)

    def breaks(method: str, start: int) -> Any:
        if start == 10_000:
            raise ConnectionError
        return None

    server.fault = breaks
    with pytest.raises(NoAnswer, match="gave no answer"):
        pass_on(store, made.digest)
    assert store.state(made.digest) == "made"
    server.fault = lambda *_: None
    pass_on(store, made.digest)

    assert bytes(server.taking.body) == body
    asked = server.taking.asked
    assert asked[asked.index(("PATCH", 10_000)) + 1 :][:2] == [("PUT", 0), ("PATCH", 10_000)]


def test_a_server_that_lost_some_bytes_gets_them_again(
    small: None, store: MixerStore, server: SurveyServer, made: Survey
) -> None:
    body, lost = whole(store, made.digest), [True]

    def loses(method: str, start: int) -> Any:
        if start == 10_000 and lost:
            lost.clear()
            del server.taking.body[5000:]
        return None

    server.fault = loses
    pass_on(store, made.digest)

    assert bytes(server.taking.body) == body


def test_a_server_that_keeps_nothing_is_left_for_later(
    small: None, store: MixerStore, server: SurveyServer, made: Survey
) -> None:
    server.fault = lambda method, start: (
        (200, {"bytes": 0, "of": 50_000, "state": "open"}) if method == "PATCH" else None
    )

    with pytest.raises(NoAnswer, match="does not keep what it gets"):
        pass_on(store, made.digest)
    assert store.state(made.digest) == "made"


@pytest.mark.parametrize("more", [-4999, 1], ids=["a byte of it", "more"])
def test_a_server_that_does_not_count_each_piece_whole_is_left_for_later(
    more: int, small: None, store: MixerStore, server: SurveyServer, made: Survey
) -> None:
    """One that took a byte of each piece would hold up all other surveys."""
    server.fault = lambda method, start: (
        (200, {"bytes": start + 5000 + more, "of": 10**9, "state": "open"})
        if method == "PATCH"
        else None
    )

    with pytest.raises(NoAnswer, match="miscounts what it gets"):
        pass_on(store, made.digest)
    assert server.taking.asked == [("PUT", 0), ("PATCH", 0)]
    assert store.state(made.digest) == "made"


def test_an_attempt_ends_after_some_minutes_and_the_next_one_goes_on(
    small: None, store: MixerStore, server: SurveyServer, made: Survey,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """A server that is slow with each piece must not hold up all other surveys."""
    body, now = whole(store, made.digest), [0.0]
    monkeypatch.setattr(passing_on, "monotonic", lambda: now[0])

    def slow(method: str, start: int) -> Any:
        now[0] += passing_on.LONGEST_SECONDS / 2 if method == "PATCH" else 0
        return None

    server.fault = slow
    pauses = Pauses(lambda: now[0])
    attend(store, pauses)
    assert server.taking.asked == [("PUT", 0), ("PATCH", 0), ("PATCH", 5000)]
    assert store.state(made.digest) == "made"

    attend(store, pauses)
    assert server.taking.asked[3:5] == [("PUT", 0), ("PATCH", 10_000)]
    assert bytes(server.taking.body) == body[: len(server.taking.body)]
    while store.state(made.digest) == "made":
        attend(store, pauses)
    assert store.state(made.digest) == "passed"
    assert bytes(server.taking.body) == body
    assert caplog.messages == []


@pytest.mark.parametrize(
    "answer",
    [
        {"bytes": 0, "of": 10**9, "state": "open"},
        {"bytes": 10**9, "of": 2 * 10**9, "state": "open"},
        {"bytes": 9, "of": 9, "state": "open"},
        {"bytes": "9", "of": 9, "state": "taken"},
        {},
        [],
    ],
)
def test_nothing_is_deleted_for_an_answer_that_does_not_say_taken(
    answer: Any, store: MixerStore, server: SurveyServer, made: Survey
) -> None:
    server.fault = lambda *_: (200, answer)

    with pytest.raises(NoAnswer):
        pass_on(store, made.digest)
    assert store.state(made.digest) == "made"


def test_while_the_survey_is_open_the_server_takes_none(
    store: MixerStore, server: SurveyServer, survey: Survey
) -> None:
    """The mixer's last day is over, and the survey goes on."""
    sent(store, server, survey)
    close_if_over(store, survey.digest, LATER)
    finish(store, survey.digest)

    with pytest.raises(ServerRefused, match="is open"):
        pass_on(store, survey.digest)
    assert store.state(survey.digest) == "made"


@pytest.mark.parametrize(
    ("status", "kind"), [(404, "not-found"), (429, "too-many"), (503, "internal"), (302, "")]
)
def test_what_may_pass_is_tried_again(
    status: int, kind: str, store: MixerStore, server: SurveyServer, made: Survey
) -> None:
    problem = {"type": f"/problems/{kind}", "detail": "Later."}
    server.fault = lambda *_: (status, problem)

    with pytest.raises((NoAnswer, ServerRefused)):
        pass_on(store, made.digest)
    assert store.state(made.digest) == "made"


def test_a_batch_that_is_refused_for_good_is_kept_with_the_reason(
    store: MixerStore, server: SurveyServer, made: Survey
) -> None:
    problem = {"type": "/problems/conflict", "detail": "Another batch of this survey is known."}
    server.fault = lambda *_: (409, problem)
    body = whole(store, made.digest)

    pass_on(store, made.digest)

    assert store.state(made.digest) == "refused"
    assert store.reason(made.digest) == problem["detail"]
    assert whole(store, made.digest) == body
    store.give_up(made.digest)
    assert store.state(made.digest) == "given up"
    assert contents(store.engine.address)["mixer_keys"] == []


def test_a_batch_that_was_looked_at_and_refused_is_kept_with_the_reason(
    store: MixerStore, server: SurveyServer, made: Survey
) -> None:
    """Some respondents have sealed what is no report: more than 1 in 100."""
    server.fault = lambda *_: (200, {"bytes": 9, "of": 9, "state": "refused"})
    real = server.passed_through

    def answers(path: str, headers: Any) -> Any:
        if path.endswith("/mixed"):
            return 404, {}, b'{"type":"/problems/not-found","detail":"It was refused: too many."}'
        return real(path, headers)

    server.passed_through = answers  # type: ignore[method-assign]
    pass_on(store, made.digest)

    assert store.state(made.digest) == "refused"
    assert store.reason(made.digest) == "It was refused: too many."


# --- too few people ---------------------------------------------------------------------------


@pytest.fixture
def few(store: MixerStore, server: SurveyServer) -> Survey:
    """Two sent, and the results need three; the mixer has deleted all."""
    survey = accepted(store, server, results={"minimum": 3})
    sent(store, server, survey, people=2)
    server.close_survey()
    store.close_survey(survey.digest)
    finish(store, survey.digest)
    assert store.state(survey.digest) == "too few"
    return survey


def test_the_server_is_told_once_that_too_few_sent(
    store: MixerStore, server: SurveyServer, few: Survey
) -> None:
    assert store.needs_server.is_set()
    for _ in range(3):
        attend(store, Pauses())

    assert server.taking.asked == [("PUT", 0)]
    assert server.taking.manifest is not None
    assert (server.taking.manifest["senders"], server.taking.manifest["envelopes"]) == (0, 0)
    assert store.state(few.digest) == "told"
    assert contents(store.engine.address)["mixer_keys"] == []


def test_a_server_that_cannot_be_told_yet_is_told_later(
    store: MixerStore, server: SurveyServer, few: Survey
) -> None:
    """The survey may be open still, after the mixer's last day."""
    server.fault = lambda *_: (409, {"type": "/problems/not-closed", "detail": "It is open."})
    with pytest.raises(ServerRefused):
        tell_too_few(store, few.digest)
    server.fault = lambda *_: (200, {"bytes": 0, "of": 0, "state": "open"})
    with pytest.raises(NoAnswer):
        tell_too_few(store, few.digest)
    assert store.state(few.digest) == "too few"

    server.fault = lambda *_: None
    tell_too_few(store, few.digest)
    assert store.state(few.digest) == "told"


@pytest.mark.parametrize("kind", ["conflict", "bad-batch", "unsigned"])
def test_a_server_that_will_never_believe_it_is_asked_no_more(
    kind: str, store: MixerStore, server: SurveyServer, few: Survey
) -> None:
    server.fault = lambda *_: (409, {"type": f"/problems/{kind}", "detail": "No."})

    tell_too_few(store, few.digest)

    assert store.state(few.digest) == "told"


# --- the thread -------------------------------------------------------------------------------


def test_pauses_grow_to_an_hour_and_end(store: MixerStore) -> None:
    now = [0.0]
    pauses = Pauses(lambda: now[0])

    assert pauses.is_over("a")
    assert [pauses.grow("a") for _ in range(8)] == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert not pauses.is_over("a")
    assert pauses.is_over("b")
    now[0] += 3600
    assert pauses.is_over("a")
    pauses.end("a")
    assert pauses.grow("a") == 60


def test_a_server_that_does_not_answer_holds_up_no_other_and_is_asked_more_seldom(
    store: MixerStore, server: SurveyServer, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    one, two = accepted(store, server, "one"), accepted(store, server, "two")
    asked: list[str] = []

    def change(path: str, headers: Any) -> Any:
        asked.append(path)
        return (500, {}, b"") if path.endswith("one") else real(path, headers)

    real, server.passed_through = server.passed_through, change  # type: ignore[method-assign]
    server.close_survey("one")
    server.close_survey("two")
    pauses = Pauses()

    with caplog.at_level(logging.ERROR, "deniably"):
        attend(store, pauses)
        attend(store, pauses)

    assert (store.state(one.digest), store.state(two.digest)) == ("open", "closed")
    assert asked.count("/api/surveys/one") == 1, "the second time its pause lasts"
    assert caplog.messages == [
        "one: the survey's server cannot answer now (status 500); tried again in 1 min"
    ]


def test_a_database_that_refuses_is_asked_again(
    store: MixerStore, server: SurveyServer, survey: Survey, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """Wherever it refuses, the thread goes on."""
    server.close_survey()

    def refuses(*_: object) -> Any:
        raise Unavailable("the database refuses: a secret")

    for name in ("in_state", "accepted", "close_survey"):
        with monkeypatch.context() as patch, caplog.at_level(logging.ERROR, "deniably"):
            patch.setattr(MixerStore, name, refuses)
            attend(store, Pauses())
        assert store.state(survey.digest) == "open"
    attend(store, Pauses())

    assert store.state(survey.digest) == "closed"
    assert len(caplog.messages) == 3


def test_a_refusal_is_logged_once(
    store: MixerStore, server: SurveyServer, made: Survey, caplog: pytest.LogCaptureFixture
) -> None:
    server.fault = lambda *_: (409, {"type": "/problems/conflict", "detail": "Another\nis known."})

    with caplog.at_level(logging.ERROR, "deniably"):
        for _ in range(2):
            attend(store, Pauses())

    assert caplog.messages == ["workplace: its server refused the batch: Another is known."]


def test_a_running_mixer_does_all_by_itself(
    server: SurveyServer, nursery: Nursery, tmp_path: Path
) -> None:
    """From an accepted survey to one whose envelopes are deleted."""
    quick = {"batch_thread_AGAIN_SECONDS": 0.05, "server_thread_AGAIN_SECONDS": 0.05}
    database = tmp_path / "mixer.db"
    mixer = MixerServer(database, begin=partial(nursery.begin, **quick))
    with closing(MixerStore(str(database))) as store:
        survey = accepted(store, server)
        mix = sent(store, server, survey, people=7)
        server.close_survey()
        until(lambda: store.state(survey.digest) == "passed")
        until(lambda: store.revealing_order() == [])
    assert mixer.stop() == 0

    counts = mix.counts(bytes(server.taking.body))
    blanks = mix.survey.blanks
    assert {name: sum(each.values()) for name, each in counts.items()} == {
        "q0": 7 + blanks,
        "q1": 7 + blanks,
    }
    left = b"".join(each.read_bytes() for each in tmp_path.glob("mixer.db*"))
    assert b"PRIVATE KEY" not in left
    assert server.url not in mixer.log.partition("\n")[2]


def test_the_day_is_one_of_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        @staticmethod
        def now(zone: object = None) -> datetime:
            return datetime(2026, 12, 24 if zone is UTC else 25, 0, 30)

    monkeypatch.setattr(server_thread, "datetime", Clock)

    assert server_thread._today() == "2026-12-24"
