"""Stores what the studio needs: groups, sessions, drafts that several people edit at once, and the
links to try these out."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from deniably.authoring.drafts import Clash, Document, Operation, edit, from_json, to_json
from deniably_server.errors import Conflict, NotFound, Quota
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.deeds import Deed, Doer, deeds_of, deeds_on, enter_deed
from deniably_server.storage.tables.drafts import (
    KEPT_DAYS,
    MOST_DRAFTS,
    StoredDraft,
    add_version,
    count_drafts,
    drafts_of,
    enter_draft,
    find_draft,
    find_version,
    mark_gone,
    purge_drafts,
    revision_of_edit,
    take_draft,
)
from deniably_server.storage.tables.owners import Quotas, check_quotas
from deniably_server.storage.tables.published_drafts import (
    enter_published_draft,
    find_published_draft,
    survey_of_draft,
)
from deniably_server.storage.tables.sessions import (
    begin_session,
    end_session,
    session_token,
    use_session,
)
from deniably_server.storage.tables.stored_settings import take_setting
from deniably_server.storage.tables.teams import (
    Team,
    enter_member,
    enter_team,
    signers_of,
    surveys_of,
    team_of,
)
from deniably_server.storage.tables.tokens import (
    Token,
    day_in,
    enter_token,
    find_token,
    renew_token,
)
from deniably_server.storage.tables.trial_links import draft_of_trial, enter_trial, trial_until

Opened = Callable[[], AbstractContextManager[Connection]]


@dataclass(frozen=True)
class Draft:
    """A revision of a draft. ``day`` is that of its last edit, and ``gone`` the day on which the
    draft was deleted, else empty. ``undo`` is the operation that takes the last edit back, if
    ``edit_draft`` has just made this revision, else None."""

    id: str
    revision: int
    day: str
    gone: str
    document: Document
    undo: Operation | None = None


@dataclass(frozen=True)
class DraftClash:
    """The answer to an edit that cannot be made, because somebody else changed the same place of
    the draft since. ``theirs`` is what the newest ``revision`` has at this place."""

    theirs: object
    revision: int


@dataclass(frozen=True)
class DraftSource:
    """The draft from which a survey is published: its id and the ``revision`` that was compiled.
    ``doer`` is who publishes it."""

    doer: Doer
    draft: str
    revision: int


_ENTRY = 1024
"""Bytes of the register that one more survey takes at most."""


class StudioStore:
    """The studio's tables in the store's database: groups (teams), sessions, drafts and their
    trials.

    ``reading`` opens a connection to read; ``writing`` and ``adding`` open one in a transaction.
    While a transaction of ``writing`` runs, no other transaction writes; several of ``adding`` may
    run at once. Every method raises Unavailable where the database does not answer.
    """

    def __init__(self, reading: Opened, writing: Opened, adding: Opened) -> None:
        self._reading, self._writing, self._adding = reading, writing, adding

    # --- teams and sessions -----------------------------------------------------------------

    def found_team(
        self, team: Team, member: Token, others: Sequence[Token], setting: tuple[str, str]
    ) -> bool:
        """Stores a new team with its first member, and the tokens ``others``, if ``setting``, a
        (key, value), is stored; removes the setting.

        Returns False and changes nothing where the setting is missing or has another value, so
        only one of several simultaneous calls succeeds.
        """
        with self._writing() as database:
            if not take_setting(database, *setting):
                return False
            for token in (member, *others):
                enter_token(database, token)
            enter_team(database, team)
            enter_member(database, member.id, team.id)
            enter_deed(database, Doer(team.id, member.id), "founded")
            return True

    def team_of(self, token: str) -> Team | None:
        """Returns the team that the token with this id is a member of; None if it is of none."""
        with self._reading() as database:
            return team_of(database, token)

    def signer(self, key: str) -> Token | None:
        """Returns an author's token of the team that signs with this public key; None if there is
        none.

        The token may have expired, because the signature is proof enough of who signs in;
        ``sign_in`` renews the token.
        """
        with self._reading() as database:
            members = [find_token(database, token) for token, _ in signers_of(database, key)]
        valid = (token for token in members if token and _may_sign(token))
        return next(valid, None)

    def surveys(self, team: str) -> list[str]:
        """Returns the names of the surveys that a team published, in alphabetical order."""
        with self._reading() as database:
            return surveys_of(database, team)

    def sign_in(self, token: str, word: str) -> str | None:
        """Begins a session of the token with this id, and renews the token; returns the session's
        cookie.

        ``word`` is the hash of the challenge that was signed; returns None where a session was
        begun with it already.
        """
        with self._writing() as database:
            cookie = begin_session(database, token, word)
            if cookie is not None:
                renew_token(database, token)
                if team := team_of(database, token):
                    enter_deed(database, Doer(team.id, token), "signed in")
            return cookie

    def session(self, cookie: str) -> Token | None:
        """Returns the token of the session with this cookie; None where the session or the token
        has ended."""
        with self._reading() as database:
            row = session_token(database, cookie)
            token = None if row is None else find_token(database, row[0])
        if row is None or token is None or token.revoked or token.expired:
            return None
        # At most one write a day: most requests only read.
        if row[1] < day_in(0):
            with self._adding() as database:
                use_session(database, cookie)
        return token

    def sign_out(self, cookie: str) -> None:
        """Ends the session with this cookie."""
        with self._writing() as database:
            end_session(database, cookie)

    # --- what a group did -------------------------------------------------------------------

    def deeds(self, team: str, count: int) -> list[Deed]:
        """Returns the last ``count`` actions of a team, the newest first."""
        with self._reading() as database:
            return deeds_of(database, team, count)

    def deeds_on(self, team: str, survey: str) -> list[Deed]:
        """Returns what a team did with one of its surveys, the newest first."""
        with self._reading() as database:
            return deeds_on(database, team, survey)

    # --- drafts -----------------------------------------------------------------------------

    def begin_draft(self, doer: Doer, document: Document, edit_id: str) -> Draft:
        """Stores a new draft of a team, as revision 1, and returns it. Raises Quota where the team
        has ``MOST_DRAFTS`` already."""
        draft, text = secrets.token_hex(8), to_json(document)
        with self._writing() as database:
            purge_drafts(database)
            if count_drafts(database, doer.team) >= MOST_DRAFTS:
                raise Quota(f"a group has at most {MOST_DRAFTS} drafts; delete one first")
            enter_draft(database, draft, doer.team, edit_id, text)
            enter_deed(database, doer, "began")
        return Draft(draft, 1, day_in(0), "", document)

    def draft(self, team: str, draft: str) -> Draft:
        """Returns the newest revision of a team's draft, even if the draft is deleted. Raises
        NotFound where the team has no such draft."""
        with self._reading() as database:
            return _draft(_own(find_draft(database, draft), team))

    def drafts(self, team: str) -> list[Draft]:
        """Returns a team's drafts, those that were edited last first; at the end those that were
        deleted and can still be brought back."""
        with self._reading() as database:
            stored = drafts_of(database, team)
        kept = [each for each in stored if not each.gone or each.gone >= day_in(-KEPT_DAYS)]
        return sorted(map(_draft, kept), key=lambda draft: draft.gone != "")

    def edit_draft(
        self, team: str, draft: str, revision: int, edit_id: str, operation: Operation
    ) -> Draft | DraftClash:
        """Applies an ``operation`` that was made from ``revision`` of a draft; returns the new
        revision.

        An ``edit_id`` that was applied before changes nothing, so a page may send an edit twice.
        Returns DraftClash where somebody changed the same thing since that revision. Raises
        NotFound where the team has no such draft or it is deleted, and BadSurvey where the draft
        would go beyond its limits or the operation makes no sense in it.
        """
        # Reports go on coming in beside it, and of two edits the second sees the first.
        with self._adding() as database:
            database.takes_turn(draft, wait=True)
            newest = _there(_own(find_draft(database, draft), team))
            if revision_of_edit(database, draft, edit_id) is not None:
                return _draft(newest)
            base = find_version(database, draft, revision)
            result = edit(
                from_json(newest.document), None if base is None else from_json(base), operation
            )
            if isinstance(result, Clash):
                return DraftClash(result.theirs, newest.revision)
            stored = add_version(database, newest, edit_id, to_json(result.document))
        return _draft(stored, result.undo)

    def check_quotas(self, token: str, quotas: Quotas) -> None:
        """Raises Quota where the token with this id may not publish one more survey now."""
        with self._reading() as database:
            check_quotas(database, token, _ENTRY, quotas)

    def survey_of(self, team: str, draft: str) -> str | None:
        """Returns the name of the survey that a team's draft became; None if it became none."""
        with self._reading() as database:
            return survey_of_draft(database, team, draft)

    def published_document(self, team: str, survey: str) -> Document | None:
        """Returns the author's document from which a team's survey was published; None if the
        survey came from no draft."""
        with self._reading() as database:
            text = find_published_draft(database, team, survey)
        return None if text is None else from_json(text)

    def delete_draft(self, doer: Doer, draft: str, *, gone: bool = True) -> None:
        """Deletes a draft if ``gone`` is true; it can be brought back for ``KEPT_DAYS`` days.
        Brings a deleted draft back if ``gone`` is false.

        Raises NotFound where the team has no such draft, and Quota where it has too many to bring
        one back.
        """
        with self._writing() as database:
            own = _own(find_draft(database, draft), doer.team)
            if bool(own.gone) == gone:
                return
            if not gone and count_drafts(database, doer.team) >= MOST_DRAFTS:
                raise Quota(f"a group has at most {MOST_DRAFTS} drafts; delete one first")
            mark_gone(database, draft, gone=gone)
            enter_deed(database, doer, "deleted" if gone else "brought back")

    # --- trials -----------------------------------------------------------------------------

    def begin_trial(self, team: str, draft: str) -> tuple[str, str]:
        """Makes a link with which others can try out a team's draft; returns (secret, last day).
        An earlier link to this draft no longer works.

        The secret is stored nowhere. Raises NotFound where the team has no such draft or it is
        deleted.
        """
        with self._writing() as database:
            _there(_own(find_draft(database, draft), team))
            return enter_trial(database, draft)

    def trial_until(self, team: str, draft: str) -> str:
        """Returns the last day on which the link to try out a team's draft works; empty if it has
        none. Raises NotFound where the team has no such draft."""
        with self._reading() as database:
            _own(find_draft(database, draft), team)
            return trial_until(database, draft)

    def tried(self, secret: str) -> Draft:
        """Returns the newest revision of the draft to which the trial link with this secret leads.

        Raises NotFound where the link has ended or never was, and where its draft is deleted or
        published.
        """
        with self._reading() as database:
            draft = draft_of_trial(database, secret)
            found = None if draft is None else find_draft(database, draft)
        if found is None:
            raise NotFound("this link is no longer good")
        return _draft(_there(found))


def _there(draft: StoredDraft) -> StoredDraft:
    """Returns a draft that is not deleted. Raises NotFound."""
    if draft.gone:
        raise NotFound("this draft was deleted; bring it back among your surveys")
    return draft


def publish_draft(database: Connection, source: DraftSource, survey: str) -> None:
    """Turns a draft into the source of the published ``survey``, and removes it from the drafts.

    Raises NotFound where the group that publishes has no such draft or it is deleted, and Conflict
    where somebody edited it since it was compiled.
    """
    draft = _there(_own(find_draft(database, source.draft), source.doer.team))
    if draft.revision != source.revision:
        raise Conflict("the draft was changed while you looked at it; look at it again")
    enter_published_draft(database, survey, draft.id, draft.team, draft.document)
    take_draft(database, draft.id)
    enter_deed(database, source.doer, "published", survey)


def _own(draft: StoredDraft | None, team: str) -> StoredDraft:
    """Returns a draft of this team. A draft of another team is not told from none."""
    if draft is None or draft.team != team:
        raise NotFound("there is no such draft")
    return draft


def _draft(stored: StoredDraft, undo: Operation | None = None) -> Draft:
    document = from_json(stored.document)
    return Draft(stored.id, stored.revision, stored.day, stored.gone, document, undo)


def _may_sign(token: Token) -> bool:
    return token.role == "author" and not token.revoked
