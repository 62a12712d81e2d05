"""Estimates how the answers in a study's reports are distributed: shares, and quantiles of
numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from msgspec import UNSET

from deniably.core.errors import NoFigure
from deniably.estimation.figures import Buckets, groups
from deniably.estimation.question_distributions import number_distribution
from deniably.estimation.tally import Tally
from deniably.estimation.weighted_tally import Weighing
from deniably.exhibits import group_exhibit, tabular
from deniably.exhibits.tabular import Findings
from deniably.results.document import NumberResult, PointResult, QuantileResult, SurveyResult
from deniably.results.groups import MOST_GROUPS, groups_result
from deniably.results.result import CONFIDENCE
from deniably.survey.questions import Number, Point, Question
from deniably.workbench import findings
from deniably.workbench.collected import Collected
from deniably.workbench.weighted_figures import ranges


def distribution(
    collected: Collected,
    name: str,
    confidence: float,
    by: str | None,
    weighed: Weighing | None,
    *,
    smooth: bool,
) -> Findings:
    """Returns the shares of the choices of the question ``name``, or of the ranges of a number,
    for everybody or for each value of the stratum key ``by``.

    ``weighed`` has the weights of the reports, None for no weights. ``smooth`` fits a smooth
    distribution. Raises NoFigure where the question has no distribution, and NoResults where the
    reports or counts that the estimate needs are missing.
    """
    documents = dict[str, SurveyResult]()
    question = collected.question(name)
    if weighed is not None:
        if buckets(question) is None or not isinstance(question, Number):
            raise NoFigure(
                f"{name} is a number and has no distribution: it was asked with aim: mean"
            )
        parts = ranges(collected, question, weighed, by, confidence, smooth=smooth)
        documents |= {value: document for value, (document, _) in parts.items()}
    elif by is None:
        documents[""] = collected.document(name, confidence, smooth=smooth)
    else:
        documents |= collected.subgroups(name, by, confidence, smooth=smooth)
    spread = {value: findings.of_distribution(document) for value, document in documents.items()}
    shown = spread[""] if by is None else findings.side_by_side(question.label, spread)
    return findings.weighted(shown, weighed, findings.WEIGHTED_DISTRIBUTION)


def quantile(
    collected: Collected,
    name: str,
    share: float,
    confidence: float,
    by: str | None,
    weighed: Weighing | None,
) -> Findings:
    """Returns the number up to which a ``share`` of the answers lies, for everybody or for each
    value of the stratum key ``by``.

    ``weighed`` has the weights of the reports, None for no weights. Raises NoFigure unless 0 <
    ``share`` < 1 and the question is a number whose reports determine the quantile. Raises
    NoResults where a server gives its results alone, and these lack this quantile.
    """
    if not 0 < share < 1:
        raise NoFigure(f"share is {share:g}; a quantile belongs to one between 0 and 1")
    question = collected.question(name)
    group = buckets(question)
    if group is None or not isinstance(question, Number):
        raise NoFigure(
            f"{name} is a {question.type} and has no quantiles: they are of numbers that were"
            " asked with aim: distribution"
        )
    documents = dict[str, tuple[SurveyResult, Tally | None]]()
    if weighed is not None:
        documents |= ranges(collected, question, weighed, by, confidence)
    elif by is None:
        tally = collected.tallies[name] if collected.has_tallies else None
        documents[""] = collected.document(name, confidence), tally
    else:
        known = collected.tallies_by(by) if collected.is_grouped else {}
        for value, document in collected.subgroups(name, by, confidence).items():
            documents[value] = document, known[value][name] if value in known else None
    if by is None:
        shown = _quantile(collected, question, group, *documents[""], share, confidence)
    else:
        shown = _in_groups(collected, question, group, documents, share, confidence)
    return findings.weighted(shown, weighed, findings.WEIGHTED_QUANTILE)


def grouped(collected: Collected, name: str, count: int) -> Findings:
    """Returns ``count`` groups of people on the map of the question ``name``, found by k-means.

    Raises NoFigure unless the question is a place on a map and ``count`` is from 1 to 12,
    NoResults where there are no counts, and ImportError without scikit-learn.
    """
    # Imported here, as scikit-learn is optional and takes a second to load.
    from deniably.estimation.clusters import clusters

    question = collected.question(name)
    if not isinstance(question, Point):
        raise NoFigure(f"{name} is a {question.type} and has no map to find groups on")
    if not 1 <= count <= MOST_GROUPS:
        raise NoFigure(f"count is {count}; it is the number of groups, from 1 to {MOST_GROUPS}")
    found = clusters(question, collected.tallies[name], count)
    (shown,) = collected.document(name, CONFIDENCE).questions
    assert isinstance(shown, PointResult)
    document = groups_result(collected.survey.name, question, found, {})
    return tabular.findings(
        group_exhibit.exhibit(document, shown, collected.survey, collected.state)
    )


def buckets(question: Question) -> Buckets | None:
    """Returns the ranges into which a number was divided for its report; None for questions other
    than numbers with ``aim: distribution``."""
    return next((group for group in groups(question) if isinstance(group, Buckets)), None)


def _in_groups(
    collected: Collected,
    question: Number,
    group: Buckets,
    documents: Mapping[str, tuple[SurveyResult, Tally | None]],
    share: float,
    confidence: float,
) -> Findings:
    """Returns the quantile of each group; groups whose reports do not determine it become notes."""
    quantiles, silent = dict[str, Findings](), list[str]()
    for value, (document, tally) in documents.items():
        try:
            quantiles[value] = _quantile(
                collected, question, group, document, tally, share, confidence
            )
        except NoFigure as error:
            silent.append(f"{value}: {error}")
    if not quantiles:
        raise NoFigure("; ".join(silent))
    shown = findings.side_by_side(question.label, quantiles)
    return replace(shown, notes=[*shown.notes, *silent])


def _quantile(
    collected: Collected,
    question: Number,
    group: Buckets,
    document: SurveyResult,
    tally: Tally | None,
    share: float,
    confidence: float,
) -> Findings:
    """Returns a quantile estimated from ``tally``; if that is None, the one that ``document``
    has."""
    (shown,) = document.questions
    assert isinstance(shown, NumberResult)
    known = [] if shown.quantiles is UNSET else shown.quantiles
    if tally is not None:
        known = [
            QuantileResult(
                share=share,
                low=group.ranges[quantile.bucket][0],
                high=group.ranges[quantile.bucket][1],
                interval=[group.ranges[quantile.low][0], group.ranges[quantile.high][1]],
            )
            for quantile in number_distribution(question, tally, confidence, [share]).quantiles
        ]
    for quantile in known:
        if quantile.share == share:
            return findings.of_quantile(document, quantile, group.unit, shown.n)
    if known:
        if not collected.has_tallies:
            raise collected.lacks
        # A server's results have a few quantiles only: for any other the reports are needed.
        collected.reports.among({})  # raises, and says why there are none, or none of a group
    raise NoFigure(f"{question.name}: these reports do not determine its quantiles")
