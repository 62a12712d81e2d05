"""Makes the columns of models from a survey's reports: how likely each report is for each
answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import log, log1p
from typing import TYPE_CHECKING, Any

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel
from deniably.estimation.channels import matrix
from deniably.estimation.figures import Shares, SingleMean, groups
from deniably.estimation.question_means import has_score
from deniably.estimation.weighted_tally import Weighing
from deniably.mechanisms.law import CoinEach, Supporting, TwoLevel
from deniably.survey.questions import (
    Number,
    OfChoices,
    Question,
    Scale,
    SelectMultiple,
    VectorOfNumbers,
    YesNo,
)
from deniably.workbench.models.estimators import Law, Link
from deniably.workbench.models.fit import Ints, StandardErrors
from deniably.workbench.models.fitted_regression import Regression
from deniably.workbench.models.formulas import parsed
from deniably.workbench.models.model_columns import nearest, read_columns
from deniably.workbench.models.randomised import Design, Randomised
from deniably.workbench.models.regress import fitted
from deniably.workbench.models.report_weights import AnyWeights, checked_weights, strata_of
from deniably.workbench.models.weighted_shares import WeightedFigure, share_figures
from deniably.workbench.report_columns import note
from deniably.workbench.report_rows import ReportRows
from deniably.workbench.scripted import Scored, scores_of

if TYPE_CHECKING:
    import pandas as pd

AskedMask = np.typing.NDArray[np.bool_]
"""Marks (n,) the reports of people who were asked."""
_MOST_BITS = 1 << 27
_SMALLEST = -600.0
"""The logarithm of a probability that is still well within the range of floats."""


def regress_reports(
    reports: ReportRows,
    formula: str,
    *,
    public: Mapping[str, Sequence[object]] | None = None,
    weights: AnyWeights | None = None,
    strata: str | Sequence[str] | None = None,
    link: Link = "logit",
    law: Law | None = None,
    se: StandardErrors | None = None,
    confidence: float = 0.95,
) -> Regression:
    """Fits a regression to the reports of a survey, such as ``"stolen ~ often + score(happy)"``.

    The names in the formula are those of questions, of stratum keys and of ``public`` columns: any
    other columns that are not randomised, in the order of the reports. A question with a single
    choice is a category, and a scale is also a number, as ``score(happy)``. Each option of a
    question with several choices is a yes or no of its own, such as ``often__cash``. ``strata``
    are stratum keys, or names of public columns: the errors of a weighted model are then those
    within strata. People who were not asked all questions of the formula are left out. ``weights``
    are by stratum, or one for each report; ``link``, ``law``, ``se`` and ``confidence`` are as in
    ``deniably.regress``.

    Raises BadModel for a question that cannot be in a model, where nobody was asked all questions
    and where strata were left out, and NoEstimate where the reports do not determine the
    coefficients.
    """
    parsed_formula = parsed(formula)
    known_columns = {**reports.strata, **(public or {})}
    names = [
        name
        for name in (parsed_formula.outcome, *parsed_formula.variables)
        if name not in known_columns
    ]
    known = {name: randomised(reports, name) for name in names}
    there = np.ones(len(reports), np.bool_)
    for _, answered in known.values():
        there &= answered
    if not there.any():
        raise BadModel("nobody was asked all questions of the formula")
    used = [
        name
        for name in (parsed_formula.outcome, *parsed_formula.variables)
        if name in known_columns
    ]
    table = _rows(known_columns, used, len(reports)).loc[there].reset_index(drop=True)
    return fitted(
        parsed_formula,
        table,
        {name: some_of(reported, there) for name, (reported, _) in known.items()},
        weights=None if weights is None else checked_weights(reports, weights)[there],
        strata=None if strata is None else strata_of(reports, known_columns, strata)[there],
        link=link,
        law=law,
        se=se,
        confidence=confidence,
    )


Figures = Callable[[Weighing], list[WeightedFigure]]
"""A function that returns the weighted figures of the people who were asked, given their
weights."""


def figures_of(reports: ReportRows, name: str) -> tuple[Figures, AskedMask]:
    """Returns a function that computes the weighted figures of the question or option ``name``
    from given weights, and a mask of who was asked, shape (number of reports,). Raises BadModel
    for an unknown name, and for a question whose reports have no known unbiased scores."""
    for question in reports.survey.questions:
        figures = groups(question)
        shares = any(isinstance(group, Shares) for group in figures)
        for group in () if shares else figures:
            if isinstance(group, SingleMean) and name == _mean_name(question, group):
                scored = scores_of(question, group, reports.columns.of(question.name))
                if scored is not None:
                    return _figures_of_mean(reports, scored)
                if not isinstance(question, OfChoices):
                    raise BadModel(f"{name}: no score of its reports is known, so none is weighed")
    reported, there = randomised(reports, name)
    some, scores = some_of(reported, there), _support_scores(reports, name, there)

    return lambda weighing: share_figures(some, weighing, scores), there


def _mean_name(question: Question, group: SingleMean) -> str:
    """Returns the name of a question that only has a mean; for one of several numbers, that of its
    column."""
    return f"{question.name}__{group.part.name}" if group.part else question.name


def _figures_of_mean(reports: ReportRows, scored: Scored) -> tuple[Figures, AskedMask]:
    column, method, (numbers,) = scored
    filled = reports.column(column.name)
    values = filled.values[filled.there]
    line = numbers[0] + numbers[1] * values.astype(np.float64)
    scores: Floats = np.array(numbers)[values] if method == "scores" else line

    return lambda _: [WeightedFigure("mean", "", scores, np.zeros(0))], filled.there


def _support_scores(reports: ReportRows, name: str, there: AskedMask) -> Floats | None:
    """Returns the unbiased scores (n, k) of the choices if a report names several or padding; else
    None."""
    question = next((each for each in reports.survey.questions if each.name == name), None)
    law = question.report_mechanism.law if question is not None else None
    if not isinstance(law, Supporting) or (law.size == 1 and not law.padding) or law.both:
        return None
    cells = reports.answered(name).cells[there]
    if cells.dtype != np.bool_:
        bits = np.zeros((len(cells), law.cell_count), np.bool_)
        # Set responses list choices; scores need a bit for each.
        np.put_along_axis(bits, cells.astype(np.int64), values=True, axis=1)
        cells = bits
    p, q = float(law.p), float(law.q)
    scores = (cells[:, : law.k].astype(np.float64) - q) / (p - q)
    return scores[:, ::-1] if isinstance(question, YesNo) else scores


def randomised(reports: ReportRows, name: str) -> tuple[Randomised, AskedMask]:
    """Returns the randomised column of a question, or of an option of a question with several
    choices, and a mask of who was asked, shape (number of reports,).

    Raises BadModel for an unknown name, and for questions that cannot be in a model, such as
    numbers.
    """
    for question in reports.survey.questions:
        if question.name == name:
            return _of_question(reports, question)
        if isinstance(question, SelectMultiple) and name.startswith(f"{question.name}__"):
            return _of_option(reports, question, name)
    if name in (reports.survey.strata or {}):
        raise BadModel(
            note(reports.layout) if name not in reports.strata else f"{name} is a stratum"
        )
    known = [*reports.strata, *(question.name for question in reports.survey.questions)]
    raise BadModel(f"there is no question {name}{nearest(name, known)}")


def _of_question(reports: ReportRows, question: Question) -> tuple[Randomised, AskedMask]:
    if isinstance(question, SelectMultiple):
        options = ", ".join(f"{question.name}__{name}" for name in question.names)
        raise BadModel(f"{question.name} has several answers a person: take one of {options}")
    if not isinstance(question, OfChoices):
        means = f"; difference({question.name!r}, by=...) compares the means of strata"
        more = means if isinstance(question, Number | VectorOfNumbers) else ""
        raise BadModel(
            f"{question.name} is a {question.type}: models take questions with choices{more}"
        )
    law, answered = question.report_mechanism.law, reports.answered(question.name)
    unbiased: Floats | None = None
    if isinstance(law, Supporting) and (law.size != 1 or law.padding):
        codes, chances, unbiased = _whole(question, law, answered.cells)
    else:
        codes, chances = answered.cells[:, 0].astype(np.int64), matrix(question.report_mechanism).T
    choices, values = list(question.names), np.arange(len(question.names), dtype=np.float64)
    if isinstance(question, Scale):
        values = np.array(question.values, np.float64)
        # No answer such as "prefer not to say" has a place on the scale.
        values[~np.array(has_score(question))] = np.nan
    if isinstance(question, YesNo):  # so that models are about yes
        choices, chances = choices[::-1], chances[:, ::-1]
        if unbiased is not None:
            unbiased = unbiased[:, ::-1]
        elif len(chances) == 2:
            # Reports are turned round, too, so that 1 is yes in both.
            codes, chances = 1 - codes, chances[::-1]
    randomised = Randomised(
        question.name, codes, np.array(chances), tuple(choices), values, unbiased
    )
    return randomised, answered.asked


def _whole(question: OfChoices, law: Supporting, cells: Any) -> tuple[Ints, Floats, Floats]:
    """Returns the code of each report as a whole, how likely each code is for each answer, and its
    unbiased scores.

    A report that names nothing, or everything, is one like others: unary encoding sends such.
    """
    kinds, codes = np.unique(cells, axis=0, return_inverse=True)
    if kinds.size > _MOST_BITS:
        raise BadModel(f"{question.name}: {len(kinds):,} different reports are too many")
    if kinds.dtype != np.bool_:
        bits = np.zeros((len(kinds), law.cell_count), np.bool_)
        np.put_along_axis(bits, kinds.astype(np.int64), values=True, axis=1)
        kinds = bits
    kinds = kinds[:, : law.k]
    p, q = float(law.p), float(law.q)
    scores: Floats = ((kinds - q) / (p - q)).astype(np.float64)
    return codes.ravel().astype(np.int64), _chances(law, kinds), scores


def _chances(law: Supporting, kinds: AskedMask) -> Floats:
    """Returns P(report | answer) of reports that name these choices, shape (reports, k).

    For very many coins the probability is below the smallest float: then all but the answer's own
    coin is left out, a factor that is the same for every answer.
    """
    if isinstance(law.joint, CoinEach):
        p, q = float(law.p), float(law.q)
        # The answer's own coin relative to any other; all others have the law of q.
        own = np.where(kinds, p / q, (1 - p) / (1 - q))
        others = kinds.sum(axis=1) * log(q) + (~kinds).sum(axis=1) * log1p(-q)
        chances: Floats = own * np.exp(others if others.min() > _SMALLEST else 0 * others)[:, None]
        return chances
    # Subset selection: every set with the answer has the weight ``own``, every other ``other``.
    if isinstance(law.joint, TwoLevel) and law.joint.held == 1:
        weights: Floats = np.where(kinds, float(law.joint.own), float(law.joint.other))
        return weights / law.joint.total
    answers = range(law.k) if law.single else [(a,) for a in range(law.k)]
    named = [tuple(np.flatnonzero(kind).tolist()) for kind in kinds]
    return np.array([[float(law.probability(a, report)) for a in answers] for report in named])


def _of_option(
    reports: ReportRows, question: SelectMultiple, name: str
) -> tuple[Randomised, AskedMask]:
    for column in reports.columns.of(question.name):
        if column.name == name and column.p is not None and column.q is not None:
            filled = reports.column(name)
            return Design.pair(column.p, column.q).of(name, filled.values), filled.there
    raise BadModel(f"{question.name} has no option {name.removeprefix(question.name + '__')}")


def _rows(public: Mapping[str, Sequence[object]], used: Sequence[str], n: int) -> pd.DataFrame:
    import pandas as pd

    table = read_columns(public, used)
    if used and len(table) != n:
        raise BadModel(f"{len(table)} rows of public columns for {n} reports")
    return table if used else pd.DataFrame(index=range(n))


def some_of(reported: Randomised, there: AskedMask) -> Randomised:
    """Returns the randomised column with the reports of only those people whom the mask ``there``
    marks."""
    return replace(reported, codes=reported.codes[there])
