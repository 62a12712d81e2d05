"""Whether results may be seen, and what they depend on: known without computing any. Before they
may be, nothing gives a hint of them."""

from __future__ import annotations

from dataclasses import dataclass

from deniably.survey.survey import Survey
from deniably_server.errors import Hidden
from deniably_server.guard.app_state import current_store
from deniably_server.guard.auth import require
from deniably_server.storage.tables.surveys import State
from deniably_server.web.operation import TOKEN

RESULTS = ("hidden", "not-found", "too-much", "busy", *TOKEN)
"""What a view of results refuses. (A survey may keep them to analysts.)"""


@dataclass(frozen=True)
class VisibleSurvey:
    """A survey whose results whoever asks may see, as of now. ``version`` is all that they depend
    on beside what is asked for."""

    survey: Survey
    state: State
    invited: int | None
    version: tuple[object, ...]


def visible_survey(name: str) -> VisibleSurvey:
    """What is known of a survey's results without computing any.

    Raises NotFound; Hidden while the survey's own rules hide them; Unauthorised or Forbidden where
    they are for analysts, and who asks is none. Neither the sentence nor
    anything else says how many reports there are until they may be seen.
    """
    store = current_store()
    survey = store.survey(name)
    state = store.state(name)  # before the tally: a closed survey's tally is final
    rules = survey.results
    if rules.to == "analysts":
        require("analyst", name)  # who sees, and below, for them as well, whether it is time
    if state == "open" and not rules.while_open:
        raise Hidden(
            "the results are shown once the survey is closed, and from"
            f" {rules.minimum:,} reports on"
        )
    counts = store.shown_counts(name)
    if counts.fewest < rules.minimum:
        raise Hidden(
            f"the results are shown from {rules.minimum:,} reports on"
            + (", and the survey was closed with fewer" if state == "closed" else "")
        )
    # After the tally, so that whoever answered is among those who were invited.
    invited = store.issued(name) if survey.invited is True else None
    return VisibleSurvey(survey, state, invited, (survey.digest, state, *counts, invited))


def closed_survey(name: str) -> Survey:
    """A survey whose results may be seen, and which is closed, so that its whole reports may be
    looked at: of an open one results are shown by batches, and whole reports would show what came
    since. Raises as ``visible_survey`` does.
    """
    found = visible_survey(name)
    if found.state == "open":
        raise Hidden("what goes together in whole reports is shown once the survey is closed")
    return found.survey
