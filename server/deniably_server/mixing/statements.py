"""Makes the mixer's signed statement about a survey, which devices read before they send."""

from __future__ import annotations

from deniably.trust.mixer_statement import MixerStatement
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

        Raises NotFound for an unknown survey, and Gone once no more envelopes are taken.
        """
        refuse_unless_open(self._store, digest)
        return self._seldom.look(digest, lambda: self._made(digest), now)

    def _made(self, digest: str) -> bytes:
        accepted = self._store.accepted(digest)
        invited = accepted.survey.invited
        statement = MixerStatement(
            by=accepted.survey.by,
            invitations=self._store.issued(digest) if invited else 0,
            senders=tens(self._store.senders(digest)),
            survey=digest,
            until=accepted.until,
        )
        return statement.signed(self._store.keys(digest).signing).canonical
