"""Checks drafts, for the pages that show what they cost respondents and how precise results will
be."""

from __future__ import annotations

import msgspec

from deniably.authoring.drafts import to_json, written
from deniably.authoring.quick_check import QuickCheck
from deniably_server.api.quick_checks import checked_view
from deniably_server.guard.app_state import current_limits
from deniably_server.guard.session import Member
from deniably_server.storage.studio import Draft
from deniably_server.studio.balance import people_expected


def check_of(member: Member, draft: Draft, *, compares: bool, offer: object = None) -> QuickCheck:
    """Returns the check of a draft, computed in another process.

    If ``compares`` is true, the check has other ways to ask the survey, too; one of them is through
    the mixer that made an ``offer``. Raises TooMany where this browser has asked for too many
    checks, Busy where the process is busy with others, and TooSlow where the check takes longer
    than it may.
    """
    text = to_json(written(draft.document)).encode()
    current_limits().count_check(member.browser)  # a group's people share its token
    asker = f"{member.browser}/{draft.id}"
    offered = b"" if offer is None else to_json(offer).encode()
    people = people_expected(draft.document)
    view = checked_view(asker, text, people, compares=compares, offer=offered)
    return msgspec.json.decode(view, type=QuickCheck)
