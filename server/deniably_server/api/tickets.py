"""Exchanges an invitation for a ticket, which a report needs in a survey by invitation.

The server signs a blinded message, and the report carries the unblinded ticket. Nobody can link the
two (blind RSA signatures, RFC 9474). Neither is ever logged. Wrong codes are rate-limited for each
network address.
"""

from __future__ import annotations

import re
from typing import TypedDict

import msgspec
from flask import Blueprint, Response, request

from deniably.core.errors import BadInvitation, BadSignature
from deniably.trust.invitation_codes import read_code
from deniably_server.errors import Malformed, Uninvited
from deniably_server.guard.app_state import current_limits, current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, Operation

tickets = Blueprint("tickets", __name__)

_HEXADECIMAL = re.compile(r"([0-9a-f]{2})*\Z")


class Offer(msgspec.Struct, forbid_unknown_fields=True):
    """An invitation, and the blinded message to sign for it, as hexadecimal digits."""

    invitation: str
    blinded: str


class SignatureAnswer(TypedDict):
    """The blind signature from which a device makes its ticket (RFC 9474)."""

    signature: str


_OFFER = msgspec.json.Decoder(Offer)


@tickets.post("/api/surveys/<name>/tickets")
@Operation(
    {200: {JSON: SignatureAnswer}},
    (*BODY, "not-found", "closed", "uninvited", "used", "too-many"),
    body={JSON: Offer},
)
def trade(name: str) -> Response:
    """Signs a device's blinded message, once for each invitation."""
    offer, limits = _offer(read_body(JSON)), current_limits()
    # Before the code is looked at: above the limit a right guess is refused like a wrong one.
    limits.check_failures(request.environ)
    limits.trade(request.environ)
    try:
        signed = current_store().trade(
            name, read_code(offer.invitation), bytes.fromhex(offer.blinded)
        )
    except (BadInvitation, Uninvited):
        # A used code is not counted, because its sender did not guess it. Devices find typing
        # errors by themselves, so a lecture hall on one connection stays far below the limit.
        limits.count_failure(request.environ)
        raise
    except BadSignature as error:
        raise Malformed(str(error)) from None
    response = json_answer({"signature": signed.hex()})
    response.headers["Cache-Control"] = "no-store"
    return response


def _offer(body: bytes) -> Offer:
    form = 'the body is {"invitation": "<code>", "blinded": "<small hexadecimal digits>"}'
    offer = decoded(_OFFER, body, form)
    if not _HEXADECIMAL.match(offer.blinded):
        raise Malformed(form)
    return offer
