"""Admits reports that come directly: none to a survey with a mixer, and to a survey by invitation
those with a ticket."""

from __future__ import annotations

from deniably.core.errors import BadReport
from deniably.device.tickets import is_ticket
from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably_server.errors import Uninvited
from deniably_server.storage.store import Store

HEADER = "Deniably-Ticket"


def require_no_mixer(survey: Survey) -> None:
    """Raises BadReport for a survey with a mixer: a report that comes directly shows its sender."""
    if survey.mixer:
        raise BadReport(
            "the answers to this survey come through its mixer, once the survey is closed; send the"
            " envelope to the mixer"
        )


def admit(store: Store, survey: Survey, report: Report, ticket: str) -> None:
    """Raises Uninvited if the survey is by invitation and ``ticket`` is not a signature of the
    report's id."""
    if survey.invited and not is_ticket(store.invitation_key(survey.name), report.id, ticket):
        raise Uninvited(
            "this survey is by invitation, and the report comes without the ticket that an"
            " invitation is traded for"
        )
