"""Whether the caller may see a survey's results. It is decided without computing them, and a
refusal gives no hint of them."""

from __future__ import annotations

from dataclasses import dataclass

from deniably.core.counting import counted
from deniably.results.subgroups import all_shown, shown_subgroups
from deniably.survey.strata import Stratum, members, stratum_text
from deniably.survey.survey import Survey
from deniably.workbench.packing import Layout, layout
from deniably_server.errors import Hidden
from deniably_server.guard.app_state import current_store
from deniably_server.guard.auth import require
from deniably_server.storage.store import Store
from deniably_server.storage.tables.surveys import State
from deniably_server.web.operation import TOKEN

RESULTS = ("hidden", "not-found", "too-much", "busy", *TOKEN)
"""The problems of a view of results, which may be for analysts only."""


@dataclass(frozen=True)
class VisibleSurvey:
    """A survey whose results the caller may see now.

    ``invited`` is the number of invitations issued; None without invitations. Equal ``version``
    means equal results for equal queries.
    """

    survey: Survey
    state: State
    invited: int | None
    version: tuple[object, ...]


def visible_survey(name: str) -> VisibleSurvey:
    """The survey ``name``, if the caller may see its results.

    Raises NotFound, Hidden while the survey's rules hide the results, and Unauthorised or Forbidden
    if they are for analysts and the caller is none. No refusal says how many reports there are.
    """
    store = current_store()
    survey = store.survey(name)
    state = store.state(name)  # before the tally: a closed survey's tally is final
    rules = survey.results
    if rules.to == "analysts":
        require("analyst", name)  # the rules below hold for analysts, too
    if state == "open" and not rules.while_open:
        raise Hidden(
            "the results are shown once the survey is closed, and from"
            f" {counted(rules.minimum, 'report')} on",
            "once it is closed",
        )
    counts = store.shown_counts(name)
    if counts.fewest < rules.minimum:
        closed = state == "closed"
        raise Hidden(
            f"the results are shown from {counted(rules.minimum, 'report')} on"
            + (", and the survey was closed with fewer" if closed else ""),
            "hidden: too few answered" if closed else f"from {counted(rules.minimum, 'report')} on",
        )
    # After the tally, so that every respondent counted there is among the invited.
    invited = store.issued(name) if survey.invited is True else None
    return VisibleSurvey(survey, state, invited, (survey.digest, state, *counts, invited))


def withheld(survey: Survey) -> str:
    """Whom or what the results wait for, in a few words after "results", for lists that everybody
    sees whatever token they have; empty if everybody may see the results now."""
    if survey.results.to == "analysts":
        return "for analysts"
    try:
        visible_survey(survey.name)
    except Hidden as hidden:
        return hidden.briefly
    return ""


def shown_parts(found: VisibleSurvey) -> list[dict[str, str]] | None:
    """The subgroups of a closed survey that have results; None if it is open or has no strata."""
    survey = found.survey
    if not survey.strata or found.state == "open":
        return None
    counts = current_store().counts_by_stratum(survey.name)
    return shown_subgroups(survey.strata, counts, survey.results.minimum)


def visible_subgroup(found: VisibleSurvey, subgroup: Stratum) -> list[int]:
    """The numbers of the strata in a subgroup whose results may be shown. Raises Hidden.

    The results of an open survey change by batches of all. Of a subgroup, a batch has fewer.
    """
    if found.state == "open":
        raise Hidden("the results of a subgroup are shown once the survey is closed")
    if subgroup not in (shown_parts(found) or ()):
        least = found.survey.results.minimum
        raise Hidden(
            f"the results of {stratum_text(subgroup)} stay hidden: it has fewer than"
            f" {counted(least, 'report')}, or with it a part that has fewer could be worked out"
        )
    return members(found.survey.strata or {}, subgroup)


def closed_survey(name: str) -> Survey:
    """A closed survey whose results the caller may see, for analyses of whole reports.

    An open survey shows its results by batches, and whole reports would show those that came since
    the last batch. Raises as ``visible_survey`` does.
    """
    found = visible_survey(name)
    if found.state == "open":
        raise Hidden("what goes together in whole reports is shown once the survey is closed")
    return found.survey


def given_out_survey(name: str) -> Survey:
    """A closed survey whose reports the caller may have (``ResultsRule.reports``).

    Raises Unauthorised or Forbidden where analysts may and the caller is none, and as
    ``check_given_out`` does.
    """
    store = current_store()
    survey = store.survey(name)
    if survey.results.reports_to == "analysts":
        require("analyst", name)
    check_given_out(store, survey)
    return survey


def layout_given_out(store: Store, survey: Survey) -> Layout:
    """How the reports of a closed survey leave: with their strata where each may be seen."""
    counts = store.counts_by_stratum(survey.name)
    return layout(
        survey,
        stratified=bool(survey.strata)
        and all_shown(survey.strata or {}, counts, survey.results.minimum),
    )


def check_given_out(store: Store, survey: Survey) -> None:
    """Raise Hidden where a survey gives its reports to nobody, is open, or has too few of them."""
    if survey.results.reports_to == "never":
        raise Hidden("the reports are never given out: that is what the respondents were told")
    if store.state(survey.name) == "open":
        raise Hidden("the reports are given out once the survey is closed")
    if store.shown_counts(survey.name).fewest < survey.results.minimum:
        raise Hidden(
            f"the reports are given out from {survey.results.minimum:,} on, and the survey was"
            " closed with fewer"
        )
