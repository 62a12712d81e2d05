"""Decides which respondents a view of results may be about, as its address says, and makes the
links to others.

A survey with strata has results of everybody and of subgroups. Every view decides here which of
them may be shown, so that no view shows what another one hides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple
from urllib.parse import urlencode

from flask import request

from deniably.core.counting import counted
from deniably.estimation.shares_among_asked import FollowUpCounts, Pairs, joint_counts
from deniably.estimation.tally import Tally
from deniably.results.among_asked import FollowUpReports, followed
from deniably.results.by_stratum import FEWEST
from deniably.results.subgroups import every_subgroup, shown_subgroups
from deniably.survey.strata import Stratum, members, stratum_text
from deniably.survey.survey import Survey, require_whole_reports
from deniably_server.api.visibility import VisibleSurvey, visible_survey
from deniably_server.errors import BadParameter, Hidden
from deniably_server.guard.app_state import current_store

_MOST_NAMED = 8


@dataclass(frozen=True)
class Respondents:
    """The respondents whose reports a view may use, after disclosure control: all of a survey, or
    a subgroup.

    ``strata`` has the values that define the subgroup, and is empty for all respondents.
    ``numbers`` has the numbers of the strata in the subgroup, which are indices of
    ``Survey.every_stratum``, and is None for all respondents.
    """

    visible: VisibleSurvey
    strata: dict[str, str]
    numbers: list[int] | None

    @property
    def survey(self) -> Survey:
        """The survey that they answered."""
        return self.visible.survey

    def tallies(self) -> dict[str, Tally]:
        """Returns the tally of every question, by its name."""
        return current_store().shown_tally(self.survey.name, self.numbers)

    def reports(self) -> int:
        """Returns the number of reports behind ``tallies``, also of those that answer only some
        questions."""
        return current_store().shown_reports(self.survey.name, self.numbers)

    def together(self, only: str | None = None) -> dict[str, FollowUpCounts]:
        """Returns the joint counts of questions with ``show_if`` in a closed survey, by question
        name: how often each report to such a question came with each report to the question that
        decides whether it is asked.

        An open survey has none, because its results change by batches of all questions. ``only`` is
        the one question to count.
        """
        if self.visible.state == "open":
            return {}
        survey, store = self.survey, current_store()

        def reports_to(first: int, second: int) -> Pairs | None:
            names = survey.questions[first].name, survey.questions[second].name
            if not store.crosses(survey.name, *names):
                return None
            return store.values(survey.name, first, second, strata=self.numbers)

        return joint_counts(survey, reports_to, only)

    def followed(self, question: str) -> FollowUpReports | None:
        """Returns the reports to a question with ``show_if``, for shares among the people who were
        asked it; None for other questions."""
        return followed(self.survey, question, self.together(question))

    def closed(self) -> Respondents:
        """Returns these respondents if the survey is closed: whole reports may then be analysed.
        Raises Hidden while it is open, and TravelledApart where it has a mixer.

        An open survey shows its results by batches, and whole reports would show those that came
        since the last batch.
        """
        if self.visible.state == "open":
            raise Hidden("checks of whole reports are shown once the survey is closed")
        require_whole_reports(self.survey)
        return self


def respondents(name: str) -> Respondents:
    """Returns the respondents of the survey ``name`` that the query asks for: all, or a subgroup.

    Raises as ``visible_survey`` does, BadParameter for a value that a key of the strata does not
    have, and Hidden for a subgroup without results.
    """
    visible = visible_survey(name)
    return _within(visible, wanted_subgroup(visible.survey))


def everybody(visible: VisibleSurvey) -> Respondents:
    """Returns all respondents of a survey."""
    return _within(visible, {})


def respondents_beside(sample: Respondents, other: str) -> Respondents:
    """Returns the respondents of the survey ``other`` in the subgroup that the query asks for, to
    compare with ``sample``. Raises as ``respondents`` does, and BadParameter where ``other`` lacks
    a key of the strata of ``sample``."""
    visible = visible_survey(other)
    if missing := [key for key in sample.strata if key not in (visible.survey.strata or {})]:
        raise BadParameter(f"the survey {other} has no strata “{missing[0]}” to compare with")
    return _within(visible, wanted_subgroup(visible.survey))


def subgroups_by(name: str, by: str) -> dict[str, Respondents]:
    """Returns {value: subgroup} for those values of the key ``by`` whose subgroups have results.

    Every subgroup also has the values that the query gives for other keys. Raises as
    ``visible_survey`` does, BadParameter where ``by`` is no key of the strata or has a value in
    the query, Hidden where the survey is open or fewer than two subgroups have results, and
    TravelledApart where it has a mixer, and so no strata.
    """
    visible = visible_survey(name)
    require_whole_reports(visible.survey)
    keys = visible.survey.strata or {}
    if by not in keys:
        has = f"one of the keys of its strata: {', '.join(sorted(keys))}" if keys else ""
        raise BadParameter(f"“by” is {has}" if has else "this survey has no strata to compare by")
    fixed = wanted_subgroup(visible.survey)
    if by in fixed:
        raise BadParameter(f"all values of {by} are compared, so “{by}” is not given as well")
    if visible.state == "open":
        raise Hidden("subgroups are compared once the survey is closed")
    shown = [strata for strata in shown_parts(visible) or () if strata.keys() == {*fixed, by}]
    subgroups = {
        value: _within(visible, {**fixed, by: value})
        for value in keys[by]
        if {**fixed, by: value} in shown
    }
    if len(subgroups) < FEWEST:
        raise Hidden(
            f"fewer than two values of {by} have results here that could be compared; others have"
            f" fewer than {counted(visible.survey.results.minimum, 'report')}, or with them a part"
            " that has fewer could be worked out"
        )
    return subgroups


def wanted_subgroup(survey: Survey) -> dict[str, str]:
    """Returns the subgroup that the query asks for, as {key of the strata: value}; empty for all
    respondents. Raises BadParameter for a value that the key does not have."""
    subgroup: dict[str, str] = {}
    for key, values in sorted((survey.strata or {}).items()):
        if key in request.args:
            if request.args[key] not in values:
                raise BadParameter(f"“{key}” is one of {', '.join(values)}")
            subgroup[key] = request.args[key]
    return subgroup


def shown_parts(visible: VisibleSurvey) -> list[dict[str, str]] | None:
    """Returns the subgroups of a closed survey that have results; None if it is open or has no
    strata."""
    survey = visible.survey
    if not survey.strata or visible.state == "open":
        return None
    counts = current_store().counts_by_stratum(survey.name)
    return shown_subgroups(survey.strata, counts, survey.results.minimum)


def check_asked_together(sample: Respondents, chosen: Sequence[int]) -> None:
    """Raises Hidden where too few people were asked all of the questions with the indices
    ``chosen``.

    In a survey that asks each person only some questions, a subgroup may have enough reports to
    each question and still few people who were asked two of them. A subgroup is hidden as well if
    its results would let readers compute the counts of one with too few.
    """
    survey = sample.survey
    if survey.asked == 1 or survey.complete:  # nobody was asked two, or everybody all
        return
    counts = current_store().asked_together(survey.name, *chosen)
    least = survey.results.minimum
    if sum(counts) < least:
        raise Hidden(f"fewer than {counted(least, 'respondent')} were asked both questions")
    shown = shown_subgroups(survey.strata or {}, [[count] for count in counts], least)
    if sample.strata and sample.strata not in shown:
        few = counted(least, "respondent asked both", "respondents asked both")
        raise Hidden(_why(sample.strata, few))


def query_of_view(survey: Survey, *names: str) -> str:
    """Returns the request's values of these parameters and of the strata, as a query for links.

    It begins with ``?``, or is empty without parameters.
    """
    parameters = (*names, *sorted(survey.strata or ()))
    query = urlencode({name: request.args[name] for name in parameters if name in request.args})
    return f"?{query}" if query else ""


def same_in_form(survey: Survey) -> dict[str, str]:
    """Returns {name: value} of the request's confidence and strata, for hidden fields of a form."""
    parameters = ("confidence", *sorted(survey.strata or ()))
    return {name: request.args[name] for name in parameters if name in request.args}


class SubgroupLink(NamedTuple):
    """A link to a subgroup's results: its text, its address, and whether the current page shows
    this subgroup (``now``)."""

    text: str
    address: str
    now: bool


@dataclass(frozen=True)
class SubgroupLinks:
    """The links from a page to the same page for everybody and for each subgroup that has results.

    ``lines`` has a pair for each set of keys that define subgroups, such as site and shift: (names
    of the keys, links). ``hidden`` names the subgroups without results, in words, and is empty if
    all have results. While the survey is open ``lines`` is empty.
    """

    everybody: SubgroupLink
    lines: list[tuple[str, list[SubgroupLink]]]
    hidden: str
    minimum: int
    open: bool


def subgroup_links(sample: Respondents, *names: str) -> SubgroupLinks | None:
    """Returns the links from the current page to the same page for each subgroup; None for a
    survey without strata. The links keep the parameters ``names`` of the request."""
    survey = sample.survey
    if not survey.strata:
        return None
    kept_query = {name: request.args[name] for name in names if name in request.args}

    def link(text: str, subgroup: Stratum) -> SubgroupLink:
        query = urlencode({**kept_query, **dict(sorted(subgroup.items()))})
        address = f"{request.path}?{query}" if query else request.path
        return SubgroupLink(text, address, subgroup == sample.strata)

    shown = shown_parts(sample.visible)
    return SubgroupLinks(
        link("everybody", {}),
        [
            (
                " and ".join(keys),
                [
                    link(", ".join(subgroup_[key] for key in keys), subgroup_)
                    for subgroup_ in subgroups
                ],
            )
            for keys, subgroups in _by_keys(shown or [])
        ],
        _named(
            [
                subgroup_
                for subgroup_ in every_subgroup(survey.strata)
                if subgroup_ not in (shown or [])
            ]
        ),
        survey.results.minimum,
        shown is None,
    )


# --- below ------------------------------------------------------------------------------------


def _within(visible: VisibleSurvey, strata: dict[str, str]) -> Respondents:
    """Returns the respondents of a subgroup whose results may be shown. Raises Hidden.

    The results of an open survey change by batches of all. A batch of a subgroup would have fewer
    reports.
    """
    if not strata:
        return Respondents(visible, {}, None)
    if visible.state == "open":
        raise Hidden("the results of a subgroup are shown once the survey is closed")
    if strata not in (shown_parts(visible) or ()):
        raise Hidden(_why(strata, counted(visible.survey.results.minimum, "report")))
    return Respondents(visible, strata, members(visible.survey.strata or {}, strata))


def _why(strata: Stratum, few: str) -> str:
    """Says why a subgroup is hidden, without saying which of the two reasons it is: that would give
    its size away."""
    return (
        f"the results of {stratum_text(strata)} stay hidden: it has fewer than {few}, or"
        " with it a part that has fewer could be worked out"
    )


def _by_keys(
    subgroups: Sequence[dict[str, str]],
) -> Iterator[tuple[list[str], list[dict[str, str]]]]:
    def keys(subgroup: Mapping[str, str]) -> list[str]:
        return sorted(subgroup)

    for own_keys, alike in groupby(
        sorted(subgroups, key=lambda subgroup: (len(subgroup), keys(subgroup))), keys
    ):
        yield own_keys, list(alike)


def _named(hidden: Sequence[Stratum]) -> str:
    if len(hidden) > _MOST_NAMED:
        return f"{len(hidden)} subgroups"
    return "; ".join(map(stratum_text, hidden))
