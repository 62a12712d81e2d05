"""Compares a question between the values of one key of the strata, such as north and south of the
key site: as JSON, CSV, figure and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from flask import render_template, request

from deniably.core.counting import counted, people
from deniably.core.errors import Incomparable
from deniably.exhibits import stratum_exhibit
from deniably.exhibits.exhibit import stated
from deniably.results.by_stratum import (
    FEWEST,
    ByStratumResult,
    by_stratum,
)
from deniably.results.side_by_side import has_figures
from deniably.survey.readable import listed_label
from deniably.survey.strata import Stratum, query_of, stratum_text
from deniably.survey.survey import Survey, require_whole_reports
from deniably_server.api.comparisons import asked_question
from deniably_server.api.document_cache import cached_document
from deniably_server.api.exhibits import Kind, Lead, Shown, Ways, blueprint_of, descriptions
from deniably_server.api.fine_parameters import LEVEL, confidence
from deniably_server.api.paper_files import WIDTH
from deniably_server.api.subgroups import (
    same_in_form,
    shown_parts,
    subgroups_by,
    wanted_subgroup,
)
from deniably_server.api.visibility import VisibleSurvey, visible_survey
from deniably_server.errors import BadParameter
from deniably_server.guard.app_state import current_store
from deniably_server.web.operation import NAMED, QueryParameters
from deniably_server.web.problems import sentence

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

_BY = {**NAMED, "description": "The key of the strata whose values are compared, such as site."}
_ASKED: QueryParameters = {"question!": NAMED, "by!": _BY, **LEVEL}
_PAGE: QueryParameters = {"question": NAMED, "by": _BY, **LEVEL}


def comparable_keys(visible: VisibleSurvey, fixed: Stratum) -> dict[str, list[str]]:
    """Returns {key of the strata: those of its values that have results}, for the keys with at
    least two such values: by these keys the survey can be compared now.

    ``fixed`` are the strata that the view keeps fixed; their keys are left out.
    """
    shown_subgroups = shown_parts(visible) or []
    shown_values = {
        key: [value for value in values if {**fixed, key: value} in shown_subgroups]
        for key, values in sorted((visible.survey.strata or {}).items())
        if key not in fixed
    }
    return {key: values for key, values in shown_values.items() if len(values) >= FEWEST}


def strata_links(keys: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Returns (address, text) for each key: a link to the page that compares a question by this
    key. The address is relative to the dashboard."""
    return [
        (f"strata?by={key}", f"Compare by {key}: {', '.join(values)}")
        for key, values in keys.items()
    ]


def _choose(name: str) -> ResponseReturnValue | None:
    """Returns a page to choose a question and a key; None where the request has chosen both."""
    visible = visible_survey(name)
    require_whole_reports(visible.survey)
    if not request.args.keys() >= {"question", "by"}:
        return _chooser(visible)
    try:
        asked_question(visible.survey, has_figures)
        subgroups_by(name, request.args["by"])
    except BadParameter as error:
        return _chooser(visible, str(error)), 400
    return None


def _choose_again(name: str, why: str) -> ResponseReturnValue:
    return _chooser(visible_survey(name), why), 400


def _show(name: str, result: ByStratumResult) -> Shown:
    visible = visible_survey(name)
    survey, strata, by = visible.survey, result["strata"], result["by"]
    keys = _other_keys(comparable_keys(visible, wanted_subgroup(survey)), survey)
    exhibit = stratum_exhibit.exhibit(
        result, survey, closed=current_store().closing_day(survey.name)
    )
    hidden = (
        f"Not compared: {', '.join(result['hidden'])}. A subgroup is hidden if it has fewer than"
        f" {counted(survey.results.minimum, 'report')}, or if showing it would let readers work"
        " out a part with fewer."
    )
    ways = [(f"by {key}", address, key == by) for key, address in keys]
    return Shown(
        exhibits=[exhibit],
        heading=exhibit.heading,
        chip="closed",
        who=" · ".join(
            f"{subgroup['value']}: {people(subgroup['n'])}" for subgroup in result["subgroups"]
        ),
        home=result["title"],
        lede=f"Within {stratum_text(strata)} alone." if strata else "",
        small=hidden if result["hidden"] else "",
        ways=Ways("Compare by", ways) if len(ways) > 1 else None,
        lead=Lead(exhibit.finding, small=stated(stratum_exhibit.adjusted(result, "page"))),
        surveys=[name],
    )


def _other_keys(keys: Mapping[str, Sequence[str]], survey: Survey) -> list[tuple[str, str]]:
    """Returns the keys by which the question can be compared, as pairs of key and address."""
    kept_query = {"question": request.args["question"], **same_in_form(survey)}
    return [(key, f"{request.path}?{urlencode({**kept_query, 'by': key})}") for key in keys]


def _chooser(visible: VisibleSurvey, why: str = "") -> str:
    survey = visible.survey
    fixed, kept_query = wanted_subgroup(survey), same_in_form(survey)
    questions = [
        (question.name, listed_label(question))
        for question in survey.questions
        if has_figures(question)
    ]
    keys = comparable_keys(visible, fixed)
    return render_template(
        "strata_chooser.html",
        survey=survey,
        questions=questions,
        keys=keys,
        links=[
            (
                f"{request.path}?{urlencode({'question': name, 'by': key, **kept_query})}",
                f"{label} by {key}",
            )
            for key in keys
            if request.args.get("by", key) == key
            for name, label in questions
        ],
        given=request.args,
        fixed=fixed,
        same=kept_query,
        open=visible.state == "open",
        why=why and sentence(why),
    )


def _current(name: str) -> ByStratumResult:
    """Returns the document that the request asks for. Raises BadParameter, NotFound or Hidden."""
    level, by = confidence(), request.args.get("by", "")
    subgroups = subgroups_by(name, by)
    survey = current_store().survey(name)
    question = asked_question(survey, has_figures)
    fixed = wanted_subgroup(survey)

    def compute() -> ByStratumResult:
        tallies = {value: sample.tallies() for value, sample in subgroups.items()}
        joint = {value: sample.together(question.name) for value, sample in subgroups.items()}
        return by_stratum(
            survey, question, by, tallies, strata=fixed, confidence=level, together=joint
        )

    try:
        return cached_document(("strata", name, query_of(fixed), question.name, by, level), compute)
    except Incomparable as error:
        raise BadParameter(str(error)) from None


STRATA: Kind[ByStratumResult] = Kind(
    name="strata",
    about=descriptions(
        "The strata",
        "The figures of a question for each value of a key of the strata, with tests of every two."
        "\n\nValues of other keys as parameters fix these.",
        records="each figure and for each difference",
        chosen="without a question and a key, a page to choose them",
    ),
    document=ByStratumResult,
    query=_ASKED,
    svg={**_ASKED, **WIDTH},
    page=_PAGE,
    figure=_PAGE,
    read=_current,
    sheet=lambda _, found: (stratum_exhibit.file_name(found), stratum_exhibit.records(found)),
    show=_show,
    choose=_choose,
    choose_again=_choose_again,
    choices="Other questions",
    back="The comparison",
)
blueprint = blueprint_of(STRATA, "by_stratum")
