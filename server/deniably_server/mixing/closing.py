"""Closes a survey at the mixer once its server's register says that it is closed, or after the
mixer's last day."""

from __future__ import annotations

from deniably.core.errors import BadRegister
from deniably.trust.register import read_register
from deniably_server.mixing.survey_server import SurveyServer
from deniably_server.storage.mixer_store import AcceptedSurvey, MixerStore


def close_if_over(store: MixerStore, digest: str, today: str) -> None:
    """Closes an open survey where ``today`` (UTC) is behind its last day, or where its server has
    closed it.

    Raises BadRegister where the server's answers contradict each other, and what
    ``SurveyServer`` raises.
    """
    accepted = store.accepted(digest)
    if today > accepted.until or _closed(accepted):
        store.close_survey(digest)


def _closed(accepted: AcceptedSurvey) -> bool:
    """Whether the survey is closed, for everybody to see.

    The register has to say so, too, and to continue the one that was there at the acceptance. So a
    server cannot close a survey for its mixer alone.
    """
    source, digest = accepted.source, accepted.survey.digest
    server = SurveyServer(source)
    if server.state(digest) == "open":
        return False
    register = read_register(server.register(), source.register)
    closing = {"event": "closed", "survey": source.name, "digest": digest}
    if not any(closing.items() <= entry.items() for entry in register.entries):
        raise BadRegister("the survey's server says that it is closed, and its register does not")
    return True
