"""Makes the mixer's signed statement about a survey, which devices read before they send."""

from __future__ import annotations

from deniably.trust.mixer_statement import MixerStatement
from deniably_server.errors import NobodyInvited
from deniably_server.mixing.envelopes import refuse_unless_open
from deniably_server.storage.mixer_store import MixerStore
from deniably_server.watching.coarse_counts import Seldom, tens


class Statements:
    """The statements of a mixer. Each is renewed at most once in five minutes, and counts people in
    whole tens, so that nobody sees when somebody sent."""

    def __init__(self, store: MixerStore) -> None:
        self._store = store
        self._seldom = Seldom()

    def statement(self, digest: str, now: float | None = None) -> bytes:
        """Returns the statement about a survey, as canonical JSON. ``now`` is in seconds, the
        current time by default.

        Raises NotFound for an unknown survey, Gone once no more envelopes are taken, and
        NobodyInvited before the first of the codes that people need is issued.
        """
        refuse_unless_open(self._store, digest)
        return self._seldom.look(digest, lambda: self._made(digest), now)

    def _made(self, digest: str) -> bytes:
        accepted = self._store.accepted(digest)
        issued = self._store.issued(digest) if accepted.survey.invited else 0
        # The number 0 says that nobody needs a code. What raises is not kept for five minutes.
        if accepted.survey.invited and not issued:
            raise NobodyInvited("the mixer has given out no invitations yet")
        statement = MixerStatement(
            by=accepted.survey.by,
            invitations=issued,
            senders=tens(self._store.senders(digest)),
            survey=digest,
            until=accepted.until,
        )
        return statement.signed(self._store.keys(digest).signing).canonical
