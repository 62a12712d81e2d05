"""The reports to one question as counts tell them: each is one number, in a known stratum.

What reports say together is in no tally, and no estimate of one question needs it.
"""

from __future__ import annotations

import numpy as np
from msgspec import UNSET, structs

from deniably.core.errors import NoFigure
from deniably.survey.questions import Conditional, Question
from deniably.workbench.engines.tallying import TalliedSet
from deniably.workbench.models.weighing import StratumWeights, weights_by_stratum
from deniably.workbench.packing import layout
from deniably.workbench.report_set import ReportSet

MOST_REBUILT = 20_000_000
"""Reports that are put together again: each takes some bytes, and its score eight."""


def reports_of(found: TalliedSet, question: Question) -> ReportSet:
    """The set of reports to a question alone, sorted by stratum and content.

    Raises NoFigure where a report is more than one number, and for very many reports.
    """
    if (n := found.tallies[question.name].n) > MOST_REBUILT:
        raise NoFigure(
            f"weights of a tally file are for at most {MOST_REBUILT:,} reports, and not {n:,}"
        )
    alone = (
        structs.replace(question, show_if=UNSET) if isinstance(question, Conditional) else question
    )
    survey = structs.replace(found.survey, questions=[alone], ask=UNSET)
    places = layout(survey, stratified=found.stratified)
    field = places.fields[question.name]
    if field.kind != "numbers" or field.count != 1:
        raise NoFigure(
            f"{question.name}: a report says several things at once, and counts do not tell which:"
            " weights need the export"
        )
    tallies = [one.tallies[question.name] for one in found.strata]
    cells = [np.repeat(one.start + np.arange(len(one.counts)), one.counts) for one in tallies]
    strata = np.repeat(np.arange(len(tallies)), [one.n for one in tallies])
    packed = field.pack_some(np.ones(len(strata), np.bool_), np.concatenate(cells)[:, None])
    return ReportSet(places, places.beside(strata, [packed]))


def strata_of(found: TalliedSet) -> dict[str, list[str]]:
    """What the links said, by key: a value for each report, as a sorted report set has them."""
    if not found.stratified:
        return {}
    counts = [one.n for one in found.strata]
    every = found.survey.every_stratum
    return {
        key: np.repeat(np.array([one[key] for one in every], object), counts).tolist()
        for key in every[0]
    }


def weights_of(found: TalliedSet, question: Question, weights: StratumWeights) -> list[float]:
    """The weights of the reports to a question, one each, from those of the strata.

    Raises BadModel where they do not fit, and NoResults where counts are not by stratum.
    """
    for key, values in (found.survey.strata or {}).items():
        if not found.stratified:
            found.among({key: values[0]})  # raises, and says why
    by_stratum = weights_by_stratum(found.survey, weights, [one.n for one in found.strata])
    counts = [one.tallies[question.name].n for one in found.strata]
    return [float(weight) for weight in np.repeat(by_stratum, counts)]
