"""Makes a mixer's offer: new keys for one survey, signed for its author (SPEC 9.4)."""

from __future__ import annotations

import json

import msgspec

from deniably.core.steering import one_line
from deniably.survey.mixer import LONGEST_BY, is_address
from deniably.trust.envelope import new_opening_key
from deniably.trust.mixer_offer import MixerOffer, make_offer
from deniably.trust.signing import new_key
from deniably_server.errors import Malformed
from deniably_server.storage.mixer_store import MixerKeys, Offered


def new_offer(address: str, by: str) -> Offered:
    """Returns an offer of a mixer at ``address`` that is run ``by`` somebody, with new keys.

    Raises Malformed for an address that is no origin, or has no TLS though it is on another
    machine, and for a name that is empty, too long or more than one line.
    """
    if not is_address(address):
        raise Malformed("an address looks like https://mixer.example.org, without a path")
    if not (0 < len(by.strip()) <= len(by) <= LONGEST_BY) or one_line(by) != by:
        raise Malformed(
            f"who runs the mixer is a text on one line, of 1 to {LONGEST_BY} characters"
        )
    keys = MixerKeys(new_opening_key(), new_key())
    return Offered(make_offer(keys.signing, address, by, keys.opening.public), keys)


def offer_text(offer: MixerOffer) -> str:
    """Returns the offer as a JSON document for its author."""
    return json.dumps(msgspec.to_builtins(offer), ensure_ascii=False, indent=2) + "\n"
