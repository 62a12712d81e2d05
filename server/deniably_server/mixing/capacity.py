"""Bounds how many people may send to a survey, so that its server takes the batch.

A server takes batches of at most 512 MiB (SPEC 14.5). A mixer that took more envelopes would find
out after the closing, and all answers would be lost.
"""

from __future__ import annotations

from threading import Lock

from deniably.trust.mixed_survey import MixedSurvey
from deniably_server.errors import Gone
from deniably_server.storage.mixer_store import MixerStore

_FULL = "as many people have sent as the survey's server takes answers from; it takes no more"

MB = 1_000_000
"""The bytes of a MB in the setting of a network's daily room."""
_FEW_NETWORKS = 3
"""From how many networks one person easily sends: at home, at work and by telephone."""


def is_soon_full(survey: MixedSurvey, room: int) -> bool:
    """Returns whether one person could fill all places of a survey in a day, from a few networks
    that each store ``room`` MB, where 0 means no limit. Invitations prevent it."""
    if survey.invited:
        return False
    return not room or survey.most_senders < _FEW_NETWORKS * (room * MB // survey.outer_size)


def few_left(survey: MixedSurvey, senders: int) -> bool:
    """Returns whether fewer than a tenth of a survey's places are left after so many
    ``senders``."""
    return 10 * (survey.most_senders - senders) < survey.most_senders


class Capacity:
    """Counts the envelopes that may still come to each survey of a mixer.

    The envelopes on disk are counted once; a mixer is one process. One that was counted and not
    stored, because its transaction failed, makes the bound stricter until the next start.
    """

    def __init__(self, store: MixerStore) -> None:
        self._store = store
        self._left: dict[str, int] = {}
        self._lock = Lock()

    def refuse_if_full(self, digest: str) -> None:
        """Raises Gone where the batch of a survey has room for nobody else, and NotFound for an
        unknown survey."""
        with self._lock:
            self._require_room(digest)

    def take(self, digest: str) -> None:
        """Counts a new envelope. Raises as ``refuse_if_full`` does."""
        with self._lock:
            self._left[digest] = self._require_room(digest) - 1

    def _require_room(self, digest: str) -> int:
        left = self._left.get(digest)
        if left is None:
            most = self._store.accepted(digest).survey.most_senders
            left = self._left[digest] = most - self._store.senders(digest)
        if left <= 0:
            raise Gone(_FULL)
        return left
