"""Reads the mixer's offer in a draft, and says why the draft's survey cannot use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from flask import current_app, request

from deniably.authoring.drafts import Document
from deniably.core.errors import BadSignature
from deniably.survey.mixer import Mixer
from deniably.trust.mixer_offer import MixerOffer
from deniably.trust.signing import fingerprint
from deniably_server.guard.app_state import current_store
from deniably_server.guard.own_address import is_own_host
from deniably_server.guard.session import Member

_NO_OFFER = "This is no offer of a mixer. Paste the whole text of the file that its owner gave you."
_CHANGED = (
    "Somebody changed this offer after the mixer signed it, or it is not whole. Ask the mixer’s"
    " owner for it again."
)
_OWN_HOST = (
    "This mixer is on the machine of this very server. It protects people only if somebody else"
    " runs it, on another machine."
)


@dataclass(frozen=True)
class ShownOffer:
    """An offer as pages show it: who runs the mixer (``by``), its ``address``, and the ``number``
    of its key. ``taken`` is whether the draft's answers go through the mixer. ``wrong`` is a
    sentence on why no survey of the group can use the offer; empty if one can."""

    by: str = ""
    address: str = ""
    number: str = ""
    taken: bool = False
    wrong: str = ""


def offer_of(draft: Document) -> object:
    """Returns the offer in a draft, as parsed JSON: that of its mixer, or one that waits to be
    taken; None where there is none."""
    mixer: object = draft.get("mixer")
    if isinstance(mixer, dict):
        return cast(Mapping[str, Any], mixer).get("offer")
    return draft.get("offer")


def shown_offer(member: Member, draft: Document) -> ShownOffer | None:
    """Returns the offer in a draft of the member's group; None where there is none."""
    value = offer_of(draft)
    if value is None:
        return None
    try:
        offer = msgspec.convert(value, MixerOffer, strict=True)
        offer.check()
    except msgspec.ValidationError:
        return ShownOffer(wrong=_NO_OFFER)
    except BadSignature:
        return ShownOffer(wrong=_CHANGED)
    number, taken = fingerprint(offer.signing), "mixer" in draft
    return ShownOffer(offer.by, offer.address, number, taken, _wrong(member, offer))


def _wrong(member: Member, offer: MixerOffer) -> str:
    hosts = cast(str, current_app.config["HOSTS"])
    if is_own_host(offer.address, request.environ, hosts):
        return _OWN_HOST
    store = current_store()
    for name in store.studio.surveys(member.team.id):
        survey = store.survey(name)
        if isinstance(survey.mixer, Mixer) and survey.mixer.key == offer.key:
            return (
                f"You published “{survey.title}” with this offer. Each survey needs an offer of its"
                " own: ask the mixer’s owner for another one."
            )
    return ""
