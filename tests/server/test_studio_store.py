"""What the studio keeps: groups, sessions, and drafts that several people edit at once."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from deniably.authoring.drafts import Move, Put, Remove, drafted, from_json, to_json
from deniably.core.errors import BadSurvey
from deniably_server.errors import NotFound, Quota
from deniably_server.storage.store import Store
from deniably_server.storage.studio import Draft, DraftClash, StudioStore
from deniably_server.storage.tables import deeds, sessions, tokens, trial_links
from deniably_server.storage.tables import drafts as drafts_table
from deniably_server.storage.tables.deeds import Doer
from deniably_server.storage.tables.drafts import MOST_DRAFTS, MOST_VERSIONS
from deniably_server.storage.tables.teams import Team, new_team
from deniably_server.storage.tables.tokens import make
from support.material import contents

KEY = "ab" * 32
SETTING = ("admin_link", "secret")
PAY = drafted({"title": "Pay", "questions": [{"name": "fair", "label": "Fair?"}, {"name": "b"}]})


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    store = Store(address)
    store.set_setting(*SETTING, replace=True)
    yield store
    store.close()


@pytest.fixture
def studio(store: Store) -> StudioStore:
    return store.studio


@pytest.fixture
def union(studio: StudioStore) -> Team:
    """A group, and its member's token, whose id is the group's name."""
    team = new_team("Harbour Workers' Union", "ada@example.org", KEY)
    assert studio.found_team(team, make("author")[0], [], SETTING)
    return team


def begun(studio: StudioStore, team: Team) -> Draft:
    return studio.begin_draft(member_of(studio, team), PAY, "e0")


def member_of(studio: StudioStore, team: Team) -> Doer:
    """The group, and the member that signs."""
    token = studio.signer(team.key)
    assert token is not None
    return Doer(team.id, token.id)


def edited(studio: StudioStore, team: Team, draft: Draft, key: str, value: object) -> Draft:
    operation = Put("q1", key, value)
    result = studio.edit_draft(team.id, draft.id, draft.revision, f"{key}{value}", operation)
    assert isinstance(result, Draft)
    return result


def signed_in(studio: StudioStore, token: str) -> str:
    cookie = studio.sign_in(token, secrets.token_hex(32))
    assert cookie is not None
    return cookie


def days_later(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    def day_in(more: int) -> str:
        return date.fromordinal(today + days + more).isoformat()

    today = datetime.now(UTC).date().toordinal()
    for module in (sessions, deeds, drafts_table, tokens, trial_links):
        monkeypatch.setattr(module, "day_in", day_in)
    monkeypatch.setattr("deniably_server.storage.studio.day_in", day_in)


# --- groups and sessions ----------------------------------------------------------------------


def test_a_link_founds_one_group(studio: StudioStore, union: Team) -> None:
    other = new_team("Others", "b@example.org", KEY)

    assert not studio.found_team(other, make("author")[0], [], SETTING)


@pytest.mark.parametrize("text", ["", "x" * 201, "two\nlines", "\x1b[31m"])
def test_a_name_and_a_contact_are_one_line(text: str) -> None:
    with pytest.raises(ValueError, match="write one line"):
        new_team(text, "ada@example.org", KEY)
    with pytest.raises(ValueError, match="write one line"):
        new_team("Union", text, KEY)


def test_who_has_the_signature_signs_in_and_out(studio: StudioStore, union: Team) -> None:
    token = studio.signer(KEY)
    assert token is not None
    assert studio.team_of(token.id) == union
    cookie = signed_in(studio, token.id)

    assert studio.session(cookie) == token
    assert studio.session("another") is None
    studio.sign_out(cookie)
    assert studio.session(cookie) is None
    assert studio.signer("cd" * 32) is None


def test_what_was_signed_begins_one_session(studio: StudioStore, union: Team) -> None:
    token = studio.signer(KEY)
    assert token is not None
    word = secrets.token_hex(32)

    assert studio.sign_in(token.id, word) is not None
    assert studio.sign_in(token.id, word) is None


def test_a_revoked_token_ends_its_sessions_at_once(
    store: Store, studio: StudioStore, union: Team
) -> None:
    token = studio.signer(KEY)
    assert token is not None
    cookie = signed_in(studio, token.id)

    store.revoke_token(token.id)

    assert studio.session(cookie) is None
    assert studio.signer(KEY) is None


def test_a_groups_token_is_renewed_by_each_signing_in_even_once_it_is_over(
    studio: StudioStore, union: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = studio.signer(KEY)
    assert token is not None
    first = signed_in(studio, token.id)
    for days in (300, 700, 2000):  # the second time it is over
        days_later(monkeypatch, days)
        assert studio.session(first) is None
        again = studio.signer(KEY)
        assert again is not None
        assert again.expired == (days > 365)

        cookie = signed_in(studio, again.id)

        kept = studio.session(cookie)
        assert kept is not None
        assert kept.until == tokens.day_in(tokens.DAYS)


def test_a_revoked_token_is_not_renewed(store: Store, studio: StudioStore, union: Team) -> None:
    token = studio.signer(KEY)
    assert token is not None
    store.revoke_token(token.id)

    studio.sign_in(token.id, secrets.token_hex(32))

    assert store.token(token.id) == replace(token, revoked=True)


def test_a_session_ends_after_30_days_unused_and_180_in_all(
    studio: StudioStore, union: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = studio.signer(KEY)
    assert token is not None
    cookie, idle = signed_in(studio, token.id), signed_in(studio, token.id)

    for days in range(30, 181, 30):
        days_later(monkeypatch, days)
        assert studio.session(cookie) == token, days
    assert studio.session(idle) is None
    days_later(monkeypatch, 181)
    assert studio.session(cookie) is None


# --- deeds --------------------------------------------------------------------------------------


def test_a_deed_is_stored_once_a_day_and_never_changes(
    store: Store, studio: StudioStore, union: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = studio.signer(KEY)
    assert token is not None
    for _ in range(3):
        signed_in(studio, token.id)
    monkeypatch.setattr(deeds, "day_in", lambda _: "2030-01-02")
    signed_in(studio, token.id)

    assert [(deed.day, deed.what) for deed in studio.deeds(union.id, 9)] == [
        ("2030-01-02", "signed in"),
        (tokens.day_in(0), "signed in"),
        (tokens.day_in(0), "founded"),
    ]
    for sql in ("UPDATE deeds SET day = '2030-01-01'", "DELETE FROM deeds"):
        with closing(store.engine.connect()) as database:
            with pytest.raises(store.engine.errors, match="a deed never changes"):
                database.execute(sql)
            database.rollback()
    assert len(studio.deeds(union.id, 9)) == 3


def test_drafts_that_somebody_began_and_deleted_are_deeds_once_a_day(
    studio: StudioStore, union: Team
) -> None:
    ada = member_of(studio, union)
    first, _ = begun(studio, union), begun(studio, union)
    for gone in (True, True, False, False, True):
        studio.delete_draft(ada, first.id, gone=gone)

    assert [(deed.what, deed.object) for deed in studio.deeds(union.id, 9)] == [
        ("brought back", ""), ("deleted", ""), ("began", ""), ("founded", ""),
    ]  # fmt: skip


# --- drafts -------------------------------------------------------------------------------------


def test_a_draft_is_kept_as_it_was_written(studio: StudioStore, union: Team) -> None:
    draft = begun(studio, union)

    assert studio.draft(union.id, draft.id).document == PAY
    assert [each.id for each in studio.drafts(union.id)] == [draft.id]


def test_another_group_sees_nothing_of_it(studio: StudioStore, union: Team) -> None:
    draft = begun(studio, union)

    assert studio.drafts("others") == []
    for attempt in (
        lambda: studio.draft("others", draft.id),
        lambda: studio.edit_draft("others", draft.id, 1, "e", Remove("q1")),
        lambda: studio.delete_draft(Doer("others", "x"), draft.id),
        lambda: studio.draft(union.id, "unknown"),
    ):
        with pytest.raises(NotFound, match="no such draft"):
            attempt()


def test_two_people_edit_one_draft(studio: StudioStore, union: Team) -> None:
    draft = begun(studio, union)
    edited(studio, union, draft, "hint", "Last year")

    merged = edited(studio, union, draft, "label", "Fairly paid?")

    assert merged.revision == 3
    question = merged.document["questions"][0]
    assert (question["hint"], question["label"]) == ("Last year", "Fairly paid?")
    clash = studio.edit_draft(union.id, draft.id, 1, "late", Put("q1", "label", "Mine"))
    assert clash == DraftClash("Fairly paid?", 3)
    assert studio.draft(union.id, draft.id).revision == 3, "a clash makes no revision"


def test_an_edit_that_is_sent_twice_counts_once(studio: StudioStore, union: Team) -> None:
    draft = begun(studio, union)
    move = Move("q1", "q2")

    first = studio.edit_draft(union.id, draft.id, 1, "same", move)
    again = studio.edit_draft(union.id, draft.id, 1, "same", move)

    assert isinstance(first, Draft)
    assert isinstance(again, Draft)
    assert (again.revision, again.document) == (first.revision, first.document)


def test_the_last_edit_can_be_taken_back(studio: StudioStore, union: Team) -> None:
    draft = begun(studio, union)
    removed = studio.edit_draft(union.id, draft.id, 1, "e1", Remove("q1"))
    assert isinstance(removed, Draft)
    assert removed.undo is not None

    back = studio.edit_draft(union.id, draft.id, removed.revision, "e2", removed.undo)

    assert isinstance(back, Draft)
    assert back.document == PAY


def test_edits_at_once_are_all_kept(studio: StudioStore, union: Team) -> None:
    draft = begun(studio, union)

    def edit(number: int) -> object:
        operation = Put("q1", f"key{number}", number)
        return studio.edit_draft(union.id, draft.id, 1, f"edit {number}", operation)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(edit, range(24)))

    newest = studio.draft(union.id, draft.id)
    assert newest.revision == 25
    question = newest.document["questions"][0]
    assert [question[f"key{number}"] for number in range(24)] == list(range(24))


def test_fifty_revisions_are_kept_and_an_edit_from_an_older_one_overwrites_nothing(
    studio: StudioStore, union: Team
) -> None:
    draft = begun(studio, union)
    newest = draft
    for number in range(MOST_VERSIONS):
        newest = edited(studio, union, newest, "label", f"Version {number}")

    result = studio.edit_draft(union.id, draft.id, 1, "old", Put("q1", "label", "Mine"))

    assert result == DraftClash(f"Version {MOST_VERSIONS - 1}", MOST_VERSIONS + 1)
    kept = studio.edit_draft(union.id, draft.id, 2, "kept", Put("q1", "hint", "New"))
    assert isinstance(kept, Draft)


def test_what_goes_beyond_a_limit_leaves_the_draft_as_it_was(
    studio: StudioStore, union: Team
) -> None:
    draft = begun(studio, union)

    with pytest.raises(BadSurvey, match="at most 262,144 bytes"):
        edited(studio, union, draft, "label", "x" * 300_000)

    assert studio.draft(union.id, draft.id).document == from_json(to_json(PAY))


def test_a_group_has_so_many_drafts_and_no_more(
    studio: StudioStore, union: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_DRAFTS == 200
    monkeypatch.setattr("deniably_server.storage.studio.MOST_DRAFTS", 3)
    first = begun(studio, union)
    for _ in range(2):
        begun(studio, union)

    with pytest.raises(Quota, match="at most 3 drafts; delete one first"):
        begun(studio, union)
    studio.delete_draft(member_of(studio, union), first.id)
    begun(studio, union)
    with pytest.raises(Quota):
        studio.delete_draft(member_of(studio, union), first.id, gone=False)


def test_a_deleted_draft_comes_back_for_thirty_days(
    studio: StudioStore, union: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, other = begun(studio, union), begun(studio, union)
    studio.delete_draft(member_of(studio, union), draft.id)

    assert [each.id for each in studio.drafts(union.id)] == [other.id, draft.id]
    days_later(monkeypatch, 30)
    studio.delete_draft(member_of(studio, union), draft.id, gone=False)
    assert studio.draft(union.id, draft.id).document == PAY
    studio.delete_draft(member_of(studio, union), draft.id)
    days_later(monkeypatch, 61)
    begun(studio, union)
    with pytest.raises(NotFound):
        studio.draft(union.id, draft.id)


# --- links to try a draft out -------------------------------------------------------------------


def test_a_link_shows_the_newest_revision_of_its_draft(studio: StudioStore, union: Team) -> None:
    draft, other = begun(studio, union), begun(studio, union)
    secret, until = studio.begin_trial(union.id, draft.id)
    edited(studio, union, draft, "label", "Fairly paid?")

    tried = studio.tried(secret)

    assert (tried.id, tried.revision) == (draft.id, 2)
    assert tried.document["questions"][0]["label"] == "Fairly paid?"
    assert studio.trial_until(union.id, draft.id) == until == tokens.day_in(2)
    assert studio.trial_until(union.id, other.id) == ""


def test_the_secret_of_a_link_is_not_stored(address: str, studio: StudioStore, union: Team) -> None:
    secret, _ = studio.begin_trial(union.id, begun(studio, union).id)

    assert len(secret) == 43, "256 random bits"
    stored = contents(address)
    assert secret not in str(stored)
    assert [row[1] for row in stored["trials"]] == [tokens.hash_of(secret)]


def test_a_new_link_ends_the_one_before(studio: StudioStore, union: Team) -> None:
    draft = begun(studio, union)
    first, _ = studio.begin_trial(union.id, draft.id)

    second, _ = studio.begin_trial(union.id, draft.id)

    assert studio.tried(second).id == draft.id
    assert_no_trial(studio, first)


def test_a_link_is_good_for_two_more_days(
    studio: StudioStore, union: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = begun(studio, union)
    secret, _ = studio.begin_trial(union.id, draft.id)

    days_later(monkeypatch, 2)
    assert studio.tried(secret).id == draft.id
    days_later(monkeypatch, 3)
    assert_no_trial(studio, secret)
    assert studio.trial_until(union.id, draft.id) == ""


def test_a_link_goes_with_its_draft_and_comes_back_with_it(
    studio: StudioStore, union: Team
) -> None:
    draft = begun(studio, union)
    secret, _ = studio.begin_trial(union.id, draft.id)

    studio.delete_draft(member_of(studio, union), draft.id)
    assert_no_trial(studio, secret)
    with pytest.raises(NotFound):
        studio.begin_trial(union.id, draft.id)
    studio.delete_draft(member_of(studio, union), draft.id, gone=False)
    assert studio.tried(secret).id == draft.id


def test_a_draft_that_is_deleted_for_good_takes_its_link_along(
    address: str, studio: StudioStore, union: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = begun(studio, union)
    secret, _ = studio.begin_trial(union.id, draft.id)
    studio.delete_draft(member_of(studio, union), draft.id)

    days_later(monkeypatch, 31)
    begun(studio, union)

    assert_no_trial(studio, secret)
    assert contents(address)["trials"] == []
    with pytest.raises(NotFound):
        studio.draft(union.id, draft.id)


@pytest.mark.parametrize("secret", ["", "x", "\ud800", "\0", "é" * 5000])
def test_another_secret_opens_nothing(studio: StudioStore, union: Team, secret: str) -> None:
    studio.begin_trial(union.id, begun(studio, union).id)

    assert_no_trial(studio, secret)


def test_another_group_makes_no_link(studio: StudioStore, union: Team) -> None:
    draft = begun(studio, union)

    for attempt in (studio.begin_trial, studio.trial_until):
        with pytest.raises(NotFound, match="no such draft"):
            attempt("others", draft.id)


def assert_no_trial(studio: StudioStore, secret: str) -> None:
    with pytest.raises(NotFound):
        studio.tried(secret)
