"""Decides whether the caller may see a survey's results, without computing them. A refusal gives no
hint of them."""

from __future__ import annotations

from dataclasses import dataclass

from deniably.core.counting import counted
from deniably.results.subgroups import all_shown
from deniably.survey.survey import Survey, require_whole_reports
from deniably.workbench.packing import Layout, layout
from deniably_server.errors import Forbidden, Hidden
from deniably_server.guard.app_state import current_store
from deniably_server.guard.auth import require
from deniably_server.storage.mixed import read_manifest
from deniably_server.storage.store import Store
from deniably_server.storage.tables.surveys import State
from deniably_server.web.operation import TOKEN

RESULTS = ("hidden", "not-found", "travelled-apart", "too-much", "busy", *TOKEN)
"""The names of the problems that a view of results may answer; the results may be for analysts
only."""


@dataclass(frozen=True)
class VisibleSurvey:
    """A survey whose results the caller may see now.

    ``invited`` is the number of invitations issued; None without invitations. While ``version``
    stays equal, equal queries have equal results.
    """

    survey: Survey
    state: State
    invited: int | None
    version: tuple[object, ...]


def visible_survey(name: str) -> VisibleSurvey:
    """Returns the survey ``name``, if the caller may see its results.

    Raises NotFound, Hidden while the survey's rules hide the results, and Unauthorised or
    Forbidden if the results are for analysts and the caller is not an analyst. No refusal says how
    many reports there are.
    """
    store = current_store()
    survey = store.survey(name)
    state = store.state(name)  # before the tally: a closed survey's tally is final
    rules = survey.results
    if rules.to == "analysts":
        _require_reader(store, survey)  # the rules below hold for analysts, too
    if state == "open" and not rules.while_open:
        also = " and its mixer passed on the answers" if survey.mixer else ""
        raise Hidden(
            f"the results are shown once the survey is closed{also}, and from"
            f" {counted(rules.minimum, 'report')} on",
            "once it is closed",
        )
    if survey.mixer:
        _require_batch(store, name)
    counts = store.shown_counts(name)
    if counts.fewest < rules.minimum:
        if state == "closed":
            raise Hidden(
                f"the results are shown from {counted(rules.minimum, 'report')} on, and the survey"
                " was closed with fewer",
                "hidden: too few answered",
            )
        first = f"from {counted(rules.first_shown, 'report')} on"
        held = f": the newest {rules.minimum:,} are held back while the survey is open"
        raise Hidden(f"the results are shown {first}{held if rules.minimum > 1 else ''}", first)
    # After the tally, so that every respondent counted there is among the invited.
    invited = store.issued(name) if survey.invited is True else None
    return VisibleSurvey(survey, state, invited, (survey.digest, state, *counts, invited))


def _require_batch(store: Store, name: str) -> None:
    """Raise Hidden before the batch of a closed survey's mixer is taken."""
    if store.mixed.is_awaited(name):
        raise Hidden("the mixer has not passed on the answers yet", "once the mixer passed them on")
    stored = store.mixed.manifest(name)
    if stored is not None and stored.state == "refused":
        if read_manifest(stored).too_few:
            raise Hidden(f"there are no results: {stored.why}", "hidden: too few answered")
        raise Hidden(
            "there are no results, because the batch of the survey's mixer was refused:"
            f" {stored.why}",
            "hidden: the mixer's batch was refused",
        )


def _require_reader(store: Store, survey: Survey) -> None:
    """Raise Unauthorised or Forbidden unless the token is an analyst's, or that of the author who
    published the survey, which is closed."""
    token = require("analyst", survey.name, or_role="author")
    if token.role == "analyst":
        return
    if store.owner(survey.name) != token.id:
        raise Forbidden(
            "this needs an analyst's token: an author's token reads only surveys that were"
            " published with it"
        )
    if store.state(survey.name) == "open":
        raise Forbidden(
            "this needs an analyst's token: an author's token reads surveys that are closed"
        )


def withheld(survey: Survey) -> str:
    """Returns why the results of a survey are not shown to everybody yet, in a few words that
    follow "results", such as "for analysts"; empty if everybody may see them now.

    The text is for lists of surveys, which are the same with every token and without one.
    """
    if survey.results.to == "analysts":
        return "for analysts"
    try:
        visible_survey(survey.name)
    except Hidden as hidden:
        return hidden.briefly
    return ""


def given_out_survey(name: str) -> Survey:
    """Returns a closed survey whose reports the caller may have (``ResultsRule.reports``).

    Raises NotFound where there is no such survey, Unauthorised or Forbidden where reports are for
    analysts and the caller is not an analyst, and Hidden and TravelledApart as ``check_given_out``
    does.
    """
    store = current_store()
    survey = store.survey(name)
    if survey.reports_to == "analysts":
        _require_reader(store, survey)
    check_given_out(store, survey)
    return survey


def layout_given_out(store: Store, survey: Survey) -> Layout:
    """Returns the layout in which the reports of a closed survey are given out: with a column for
    their strata only if the results of each stratum may be seen."""
    counts = store.counts_by_stratum(survey.name)
    return layout(
        survey,
        stratified=bool(survey.strata)
        and all_shown(survey.strata or {}, counts, survey.results.minimum),
    )


def check_given_out(store: Store, survey: Survey) -> None:
    """Raises TravelledApart for a survey with a mixer, and Hidden where a survey gives its reports
    to nobody, is open, or has too few reports."""
    require_whole_reports(survey)
    if survey.results.reports_to == "never":
        raise Hidden("the reports are never given out: that is what the respondents were told")
    if store.state(survey.name) == "open":
        raise Hidden("the reports are given out once the survey is closed")
    if store.shown_counts(survey.name).fewest < survey.results.minimum:
        raise Hidden(
            f"the reports are given out from {survey.results.minimum:,} on, and the survey was"
            " closed with fewer"
        )
