"""Rebuilds the reports to one question from counts: the same reports, each in a known stratum.

What people reported to two questions together is lost in a tally, but no estimate of one question
needs it.
"""

from __future__ import annotations

import numpy as np
from msgspec import UNSET, structs

from deniably.core.errors import NoFigure
from deniably.survey.questions import Conditional, Question
from deniably.workbench.engines.tallying import TalliedSet
from deniably.workbench.models.report_weights import StratumWeights, weights_by_stratum
from deniably.workbench.packing import layout
from deniably.workbench.report_set import ReportSet

MOST_REBUILT = 20_000_000
"""The most reports that are rebuilt: each takes some bytes, and its score eight more."""


def reports_of(tallied: TalliedSet, question: Question) -> ReportSet:
    """Returns a report set of this question alone, sorted by stratum and content, made from its
    counts.

    Raises NoFigure where a report has more than one number, as counts do not tell which numbers
    came together, where some are blanks, and for more than ``MOST_REBUILT`` reports.
    """
    if (n := tallied.tallies[question.name].n) > MOST_REBUILT:
        raise NoFigure(
            f"weights of a tally file are for at most {MOST_REBUILT:,} reports, and not {n:,}"
        )
    if tallied.tallies[question.name].blanks:
        raise NoFigure(
            f"{question.name}: counts do not tell a mixer's blanks from people's reports"
        )
    # On its own, the question depends on no other and is asked of everybody whose report is here.
    alone = (
        structs.replace(question, show_if=UNSET) if isinstance(question, Conditional) else question
    )
    survey = structs.replace(tallied.survey, questions=[alone], ask=UNSET)
    places = layout(survey, stratified=tallied.stratified)
    field = places.fields[question.name]
    if field.kind != "numbers" or field.count != 1:
        raise NoFigure(
            f"{question.name}: a report says several things at once, and counts do not tell which:"
            " weights need the export"
        )
    tallies = [stratum.tallies[question.name] for stratum in tallied.strata]
    cells = [
        np.repeat(tally.start + np.arange(len(tally.counts)), tally.counts) for tally in tallies
    ]
    strata = np.repeat(np.arange(len(tallies)), [tally.n for tally in tallies])
    packed = field.pack_some(np.ones(len(strata), np.bool_), np.concatenate(cells)[:, None])
    return ReportSet(places, places.with_strata(strata, [packed]))


def strata_of(tallied: TalliedSet) -> dict[str, list[str]]:
    """Returns {stratum key: list with the value of each report}, for the reports sorted by
    stratum. Returns {} where the counts are not by stratum."""
    if not tallied.stratified:
        return {}
    counts = [stratum.n for stratum in tallied.strata]
    strata = tallied.survey.every_stratum
    return {
        key: np.repeat(np.array([stratum[key] for stratum in strata], object), counts).tolist()
        for key in strata[0]
    }


def weights_of(tallied: TalliedSet, question: Question, weights: StratumWeights) -> list[float]:
    """Returns a weight for each report to a question, from a weight for each stratum.

    Raises BadModel for weights that do not fit the strata, and NoResults where counts are not by
    stratum.
    """
    for key, values in (tallied.survey.strata or {}).items():
        if not tallied.stratified:
            tallied.among({key: values[0]})  # raises, and says why
    by_stratum = weights_by_stratum(
        tallied.survey, weights, [stratum.n for stratum in tallied.strata]
    )
    counts = [stratum.tallies[question.name].n for stratum in tallied.strata]
    return [float(weight) for weight in np.repeat(by_stratum, counts)]
