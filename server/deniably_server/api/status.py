"""Serves the status of a survey for its author, too coarse to show when anybody answered.

Repeated looks at an exact count would give the time of every answer. The count of an open survey is
therefore rounded down to tens and renewed at most once in five minutes, like the server's metrics.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from flask import Blueprint, Response, render_template, request

from deniably.core.counting import counted, people
from deniably.results.subgroups import shown_subgroups
from deniably.results.unread_answers import unread_answers
from deniably.survey.mixer import Mixer
from deniably.survey.strata import members
from deniably.survey.survey import ResultsRule, Survey
from deniably_server.api.metrics import current_metrics
from deniably_server.api.surveys import final_count
from deniably_server.guard.app_state import current_store
from deniably_server.guard.auth import is_bearer, require
from deniably_server.guard.ownership import require_owner_or_scope
from deniably_server.storage.mixed import read_manifest
from deniably_server.storage.tables.mixed import StoredManifest
from deniably_server.storage.tables.surveys import State
from deniably_server.watching.coarse_counts import EVERY, STEP
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import PAGE, TOKEN, Operation

blueprint = Blueprint("status", __name__)


class SubgroupStatus(TypedDict):
    """A subgroup with its number of reports, and of invitations where people are invited."""

    strata: dict[str, str]
    reports: int
    invited: int | None


class StatusResult(TypedDict):
    """The status of a survey, in numbers, and in words as ``sentences``.

    While the survey is open, ``reports`` is rounded down to a multiple of ``step`` and renewed at
    most once in ``seconds``. Once the survey is closed, ``step`` and ``seconds`` are None, and
    ``reports`` is exact, or None if there are fewer than ``minimum``. ``subgroups`` has the
    subgroups of a closed survey that have results; it is None without strata, and wherever
    ``reports`` is rounded or None.

    ``mixed`` is None without a mixer. Else it says where the answers are: "awaited" at the mixer,
    "open" while they are passed on, "taken", or "refused", also where too few people sent.
    ``reports`` is then the number of people who sent, and None before the answers are taken.
    """

    survey: str
    title: str
    state: State
    reports: int | None
    step: int | None
    seconds: int | None
    minimum: int
    while_open: bool
    subgroups: list[SubgroupStatus] | None
    mixed: Literal["awaited", "open", "taken", "refused"] | None
    sentences: list[str]


@blueprint.get("/api/surveys/<name>/status")
@Operation({200: {JSON: StatusResult}}, ("not-found", *TOKEN), "author")
def as_json(name: str) -> Response:
    """Returns how many reports a survey has, rounded down to tens, and when its results are
    shown."""
    return json_answer(_status(name))


@blueprint.get("/surveys/<name>/status")
@Operation(PAGE, ("not-found", *TOKEN))
def page(name: str) -> str:
    """Returns the status of a survey as a page."""
    status = _status(name) if is_bearer(request.headers) else None
    return render_template("status.html", survey=current_store().survey(name), status=status)


def _status(name: str) -> StatusResult:
    """Returns the status. Raises NotFound, and Unauthorised or Forbidden unless its owner, a token
    for it or an operator asks."""
    token = require("author", name, or_role="operator")
    survey = current_store().survey(name)
    require_owner_or_scope(survey, token)
    return survey_status(survey)


def survey_status(survey: Survey) -> StatusResult:
    """Returns the status of a survey. The caller must have checked permission."""
    if isinstance(survey.mixer, Mixer):
        return _mixed_status(survey, survey.mixer)
    name, state = survey.name, current_store().state(survey.name)
    rules, coarse = survey.results, state == "open"
    reports = _coarse_count(name) if coarse else final_count(survey)
    closed = _closed(reports, rules)
    if reports is not None and survey.strata:
        closed.append(_HIDDEN)
    return {
        "survey": name,
        "title": survey.title,
        "state": state,
        "reports": reports,
        "step": STEP if coarse else None,
        "seconds": EVERY if coarse else None,
        "minimum": rules.minimum,
        "while_open": rules.while_open,
        "subgroups": None if coarse or reports is None else _subgroups(survey),
        "mixed": None,
        "sentences": _open(reports or 0, survey) if coarse else closed,
    }


def _mixed_status(survey: Survey, mixer: Mixer) -> StatusResult:
    """The status of a survey whose answers a mixer has, or had."""
    store = current_store()
    state, stored = store.state(survey.name), store.mixed.manifest(survey.name)
    reports = final_count(survey)
    sentences = _at_mixer(survey, mixer, state)
    if stored is not None and stored.state == "taken":
        sentences = _taken(mixer, stored)
    elif stored is not None and stored.state == "refused":
        what = "" if read_manifest(stored).too_few else ": the batch of its mixer was refused"
        sentences = [
            f"The survey is closed, and there are no results{what}.",
            f"The reason: {stored.why}.",
        ]
    return {
        "survey": survey.name,
        "title": survey.title,
        "state": state,
        "reports": reports,
        "step": None,
        "seconds": None,
        "minimum": survey.results.minimum,
        "while_open": False,
        "subgroups": None,
        "mixed": "awaited" if stored is None else stored.state,
        "sentences": sentences,
    }


def _at_mixer(survey: Survey, mixer: Mixer, state: State) -> list[str]:
    shown = f"The results are shown after that, from {people(survey.results.minimum)} on."
    if state == "open":
        return [
            f"The survey is open. Its answers wait at the mixer of {mixer.by}, which passes them on"
            " once the survey is closed.",
            "This server does not know how many people have sent. The mixer says so, in tens.",
            shown,
        ]
    return [
        f"The survey is closed. The mixer of {mixer.by} has not passed on the answers yet.",
        f"If fewer than {people(survey.results.minimum)} have sent, it deletes what came, and there"
        " are no results.",
    ]


def _taken(mixer: Mixer, stored: StoredManifest) -> list[str]:
    manifest = read_manifest(stored)
    return [
        f"The survey is closed, and the mixer of {mixer.by} has passed on the answers of"
        f" {people(manifest.senders)}.",
        f"It added {mixer.blanks:,} made-up answers to each question, which the results leave out.",
        *unread_answers(stored.refused, manifest.envelopes),
        "Its results are shown.",
    ]


def _coarse_count(name: str) -> int:
    return current_metrics().reports_of(name, lambda: current_store().reports(name))


_HIDDEN = (
    "Subgroups without results are not counted here either: the counts of all others would give"
    " theirs away."
)


def _subgroups(survey: Survey) -> list[SubgroupStatus] | None:
    """Returns the counts of the subgroups that have results. Counts of the others would show what
    results hide."""
    store, strata = current_store(), survey.strata
    if not strata:
        return None
    counts = store.counts_by_stratum(survey.name)
    subgroups: list[SubgroupStatus] = []
    for subgroup in shown_subgroups(strata, counts, survey.results.minimum):
        numbers = members(strata, subgroup)
        reports = store.reports(survey.name, numbers)
        invited = store.issued(survey.name, numbers) if survey.invited is True else None
        subgroups.append({"strata": subgroup, "reports": reports, "invited": invited})
    return subgroups


def _open(reports: int, survey: Survey) -> list[str]:
    rules = survey.results
    many = rules.minimum > 1
    least = f"from {rules.first_shown:,} reports on" if many else "from the first report on"
    shown = f"The results are shown once it is closed, {least}."
    if rules.while_open:
        more = f"every {rules.minimum:,} more" if many else "each one"
        held = f" The newest {rules.minimum:,} or more are held back until it is closed."
        shown = f"The results are shown {least}, and renewed with {more}.{held if many else ''}"
    return [
        f"The survey is open and has {_least(reports)}.",
        f"The count is in whole tens and is renewed every {EVERY // 60} minutes. A finer count"
        " would show when somebody answered.",
        shown,
        *([_BY_STRATUM] if survey.strata else []),
    ]


_BY_STRATUM = (
    "It is counted by stratum once it is closed: a stratum has fewer reports, so its count would"
    " show sooner when one of its people answered."
)


def _least(reports: int) -> str:
    if reports < STEP:
        return f"fewer than {STEP} reports so far"
    return f"at least {reports:,} reports so far"


def _closed(reports: int | None, rules: ResultsRule) -> list[str]:
    if reports is None:
        return [
            f"The survey is closed, with fewer than the {counted(rules.minimum, 'report')} that its"
            " results need: they stay hidden."
        ]
    return [f"The survey is closed, with {counted(reports, 'report')}. Its results are shown."]
