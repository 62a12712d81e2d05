"""Explains to respondents why a device stops, in their language and worded as in the form.

Technical details follow in English on a line of their own. They are for the survey's operator.
"""

from __future__ import annotations

from typing import cast

from deniably.core.errors import (
    BadInvitation,
    BadLink,
    BudgetSpent,
    DeniablyError,
    Refused,
    SurveyChanged,
    WavesSent,
)
from deniably.core.steering import one_line, printable
from deniably.device.ledger import Scope, percent
from deniably.wording.words import Words
from deniably_client.errors import (
    InvitationUnknown,
    InvitationUsed,
    MemoryUnusable,
    NobodyInvited,
    Rejected,
    SurveyClosed,
    Unreachable,
)

_SPENT: dict[Scope, str] = {
    "survey": "script.survey_spent",
    "author": "script.author_spent",
    "overall": "script.overall_spent",
}


_SAID: dict[type[DeniablyError], str] = {
    WavesSent: "script.waves_sent",
    SurveyChanged: "terminal.changed",
    SurveyClosed: "script.closed",
    BadInvitation: "invited.wrong",
    InvitationUnknown: "invited.unknown",
    InvitationUsed: "invited.used",
    NobodyInvited: "sealed.early",
    BadLink: "strata.text",
}
"""The key of the text that says all about an error of this class."""


def refusal_text(error: DeniablyError, words: Words) -> str:
    """Returns what a respondent reads about an error, in the language of ``words``. Rare errors
    are not translated: for these it is the error's own English text."""
    for kind, key in _SAID.items():
        if isinstance(error, kind):
            return words(key)
    # The order matters: BudgetSpent is a Refused, and SurveyClosed and others were found above.
    match error:
        case BudgetSpent():
            return _spent(error, words)
        case MemoryUnusable():
            mend = words("terminal.forget", command="deniably forget")
            return f"{words('script.damaged')}\n{mend}\n{one_line(error.where_and_why)}"
        case Refused():
            return f"{words('script.untrusted')}\n{printable(str(error))}"
        case Rejected():
            return f"{words('script.rejected')}\n{error.sentence}"
        case Unreachable():
            return f"{words('terminal.unreachable')}\n{one_line(str(error))}"
        case _:
            return one_line(str(error))


def _spent(error: BudgetSpent, words: Words) -> str:
    """Says which limit was hit, how much of it is spent, and what this would add, in percent."""
    before, more = (
        percent(loss, error.limit, of_delta=error.of_delta) for loss in (error.spent, error.asked)
    )
    sentences = [words(_SPENT[cast(Scope, error.scope)], before=before, more=more)]
    if error.of_delta:
        sentences.append(words("script.chance_spent"))
    if error.together:
        sentences.append(words("terminal.together"))
    if error.until:
        sentences.append(words("script.back", day=words.day(error.until)))
    return " ".join(sentences)
