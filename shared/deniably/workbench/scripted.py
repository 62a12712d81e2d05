"""Says how a script can estimate figures again from the exported columns, and from which ones.

A share follows from p and q. Any other estimate is the mean of scores, one per report: the score
of an integer is the estimate from a single report of it. Scores therefore come from the code of
the results, and only figures that agree with the results are handed to a script.

The standard error of such a mean follows from the variance of the scores. Results use more: the
variance that the mechanism allows at this mean. Where that makes a difference, a script gets the
bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, isclose, nan
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from deniably.estimation.figures import (
    Average,
    Buckets,
    FigureEstimate,
    Group,
    Quantile,
    Share,
    SingleMean,
    groups,
)
from deniably.estimation.question_shares import CONFIDENCE
from deniably.estimation.tally import Tally, from_cells
from deniably.mechanisms.law import Finite, Law, Noise, Several, Supporting
from deniably.results.rows import OF_THOSE_ASKED
from deniably.survey.questions import NOT_APPLICABLE, Conditional, Question
from deniably.survey.survey import show_if
from deniably.workbench.report_columns import FileColumn
from deniably.workbench.report_rows import ReportRows

_LARGEST = 4_096
"""Outputs of a column whose scores are written one by one."""
_NEAR = 1e-9  # relative difference at which two estimates agree
_CLOSE = 1e-8  # the same of two variances


@dataclass(frozen=True)
class Scripted:
    """A figure of a question, with the recipe by which a script estimates it from one column of
    the export.

    ========  =================================================================================
    method    the estimate from the integers y of the column
    ========  =================================================================================
    share     (m - q) / (p - q), where m is the share of y equal to ``value``; ``numbers``: p, q
    scores    the mean of the y-th of ``numbers``, counted from 0
    line      start + step * mean(y); ``numbers`` are start, step and the least variance
    among     the share of 1, divided by the share of everybody without a 1 in the column
              ``hidden``: the share among those who were asked a follow-up (``show_if``);
              ``numbers``: p, q
    ========  =================================================================================

    The standard error of a share is that of ``estimate.standard_error``. The standard error of a
    mean of n scores is the square root of their variance over n, and this variance is kept between
    ``least`` and ``most``. A share may also be estimated as the mean of two scores ``low`` and
    ``high``. Then one report with the score ``added`` is added, as for other shares, and the
    variance at the resulting mean m is (high - m) (m - low). The standard error of a ratio is by
    the delta method.
    """

    question: str
    part: str
    figure: str
    label: str
    column: str
    method: Literal["share", "scores", "line", "among"]
    numbers: tuple[float, ...]
    value: int = 1
    hidden: str = ""
    added: float | None = None
    least: float = 0.0
    most: float = inf


@dataclass(frozen=True)
class Script:
    """``figures`` has the figures that scripts estimate again, and ``left_out`` a text for each of
    those that they cannot estimate."""

    figures: list[Scripted]
    left_out: list[str]


def script_of(reports: ReportRows) -> Script:
    """Returns the figures of a report set that a script can estimate again, with a list of the
    others."""
    tallies, worked, left = reports.tally(), list[Scripted](), list[str]()
    for question in reports.survey.questions:
        own = reports.columns.of(question.name)
        if show_if(question):
            among = _among(question, own)
            worked += among
            left.append(f"{question.name}: {_ALONE if among else _LEFT_OUT}")
        for group in groups(question):
            if isinstance(group, Buckets):
                left.append(f"{question.name}: the shares up to a number, and the quantiles")
                continue
            wanted = group.estimate_figures(tallies[question.name])
            for scripted, expected in zip(_of_group(question, group, own), wanted, strict=True):
                if isinstance(scripted, str):
                    left.append(scripted)
                elif expected and (agreeing := _agreeing(scripted, reports, expected)):
                    worked.append(agreeing)
                else:
                    left.append(": ".join((question.name, scripted.label)))
    return Script(worked, left)


_ALONE = (
    "the shares of those who were asked from the reports to both questions, with the intervals of a"
    " test; here they are from the reports to this question alone, with the error of a ratio (delta"
    " method), which is too small where few were asked"
)
_LEFT_OUT = (
    "the shares of those who were asked (figure share of those asked); here are shares of"
    " everybody, with those who were not asked"
)


def _among(question: Question, own: list[FileColumn]) -> list[Scripted]:
    """Returns the shares among those who were asked; none where reports do not name single
    choices."""
    law = question.mechanism.law
    if not isinstance(question, Conditional) or not isinstance(law, Supporting) or law.both:
        return []
    columns = {column.place: column.name for column in own if column.kind == "named"}
    hidden = question.names.index(NOT_APPLICABLE)
    return [
        Scripted(
            question.name, "", OF_THOSE_ASKED, f"{choice.label}, of those asked", columns[place],
            "among", (float(law.p), float(law.q)), hidden=columns[hidden],
        )
        for place, choice in enumerate(question.choices)
        if place != hidden
    ]  # fmt: skip


def _of_group(question: Question, group: Group, own: list[FileColumn]) -> Iterator[Scripted | str]:
    """Yields how each figure of a group is estimated, or its name where a script does not estimate
    it."""
    part = group.part.name if group.part else ""
    scores = scores_of(question, group, own)
    for index, figure in enumerate(group.figures):
        assert not isinstance(figure, Quantile)
        label = "mean" if isinstance(figure, Average) else figure.label
        labels = question.name, part, figure.kind, label
        if isinstance(figure, Share) and (share_script := _share(labels, figure, question, own)):
            yield share_script
        elif scores and not (isinstance(figure, Average) and figure.scored is not None):
            column, method, numbers = scores
            share_script = Scripted(*labels, column.name, method, numbers[index])
            share = isinstance(figure, Share) and method == "scores"
            yield (
                replace(share_script, added=_added(question, share_script))
                if share
                else share_script
            )
        else:
            yield ": ".join((question.name, label))


def _share(
    labels: tuple[str, str, str, str], figure: Share, question: Question, own: list[FileColumn]
) -> Scripted | None:
    """Returns the recipe for the share of a choice or of a combination; None where p and q do not
    give it."""
    law, answers = question.mechanism.law, list(figure.answers)
    if isinstance(law, Finite) and (law.k, law.cell_count) == (2, 2):
        (own_answer,) = answers
        p = law.cell_probability(own_answer, own_answer)
        q = law.cell_probability(1 - own_answer, own_answer)
        return Scripted(*labels, own[0].name, "share", (float(p), float(q)), own_answer)
    if not isinstance(law, Supporting):
        return None
    if len(answers) == 1:
        column = next(
            column for column in own if column.kind == "named" and column.place == answers[0]
        )
        return Scripted(*labels, column.name, "share", (float(law.p), float(law.q)))
    return None


def _added(question: Question, scripted: Scripted) -> float | None:
    """Returns the score of one more report, half of it on either side; None for more than two
    scores. The standard error of a share adds it, too."""
    low, high = min(scripted.numbers), max(scripted.numbers)
    if not all(isclose(score, low) or isclose(score, high) for score in scripted.numbers):
        return None
    law = question.mechanism.law
    if isinstance(law, Supporting):
        return (0.5 - float(law.q)) / float(law.p - law.q)
    return (low + high) / 2


_Numbers = list[tuple[float, ...]]
Scored = tuple[FileColumn, Literal["scores", "line"], _Numbers]
"""A column, how its integers are scored, and the ``numbers`` of each figure, all as in
``Scripted``."""


def scores_of(question: Question, group: Group, own: list[FileColumn]) -> Scored | None:
    """Returns the column from which a group of figures is estimated, and for each figure the
    scores of the column's integers.

    ``own`` are the columns of the question. Returns None where a report is not a single integer,
    or has too many possible values to list their scores.
    """
    law: Law = question.mechanism.law
    cell_count, place, parts = law.cell_count, 0, 1
    if isinstance(law, Several):
        own = [column for column in own if group.part and column.part == group.part.name]
        place, parts = own[0].place, len(law.parts)
        law = law.parts[place]
    if isinstance(law, Several) or (isinstance(law, Supporting) and (law.size != 1 or law.both)):
        return None
    # Noise is added, so the estimate is a line in the report: two points give it.
    outputs = 2 if isinstance(law, Noise) else law.cell_count
    if outputs > _LARGEST or (isinstance(law, Supporting) and law.padding):
        return None
    singles = [
        # An unbiased estimate is linear in the counts: that from one report is the report's score.
        _estimates(group, from_cells(1, {output * parts + place: 1}, cell_count))
        for output in range(outputs)
    ]
    by_figure: _Numbers = []
    for index in range(len(group.figures)):
        scores = [value for single in singles if (value := single[index]) is not None]
        if len(scores) < outputs:
            return None
        by_figure.append(tuple(scores))
    if isinstance(law, Noise):
        lines = [(first, second - first) for first, second in by_figure]
        return own[0], "line", [(*line, law.variance * line[1] ** 2) for line in lines]
    return own[0], "scores", by_figure


def _estimates(group: Group, tally: Tally) -> list[float | None]:
    """Returns the estimates of a group's figures. That of a mean is computed without intervals,
    which are slow."""
    if isinstance(group, SingleMean):
        mean = group.estimate(tally, CONFIDENCE)
        return [None if mean is None else mean.estimate]
    return [
        None if estimate is None else estimate.estimate
        for estimate in group.estimate_figures(tally)
    ]


def _agreeing(scripted: Scripted, reports: ReportRows, expected: FigureEstimate) -> Scripted | None:
    """Returns the recipe with the bounds of its variance; None unless it gives the estimate of the
    results."""
    estimate = worked_out(scripted, reports)
    if expected.estimate is None or expected.standard_error is None or not estimate.n:
        return None
    if not isclose(estimate.estimate, expected.estimate, rel_tol=_NEAR, abs_tol=_NEAR):
        return None
    wanted = expected.standard_error**2 * estimate.n
    if isclose(wanted, estimate.variance, rel_tol=_CLOSE):
        return scripted
    if scripted.method == "line":
        return replace(scripted, numbers=(*scripted.numbers[:2], wanted))
    if scripted.method == "share":
        return None
    if wanted > estimate.variance:
        return replace(scripted, least=wanted)
    return replace(scripted, most=wanted)


class WorkedOut(NamedTuple):
    """An estimate from ``n`` reports; its standard error is sqrt(``variance`` / n)."""

    n: int
    estimate: float
    variance: float


def worked_out(scripted: Scripted, reports: ReportRows) -> WorkedOut:
    """Estimates a figure from its column, in the same steps as the script does. The estimate is
    nan if nobody was asked."""
    if scripted.method == "among":
        return _worked_out_among(scripted, reports)
    column = reports.column(scripted.column)
    values: npt.NDArray[np.int64] = column.values[column.there]
    n = len(values)
    if not n:
        return WorkedOut(0, nan, nan)
    if scripted.method == "share":
        p, q = scripted.numbers
        count = int((values == scripted.value).sum())
        # Half a report more on either side, so that reports that are all alike have an error, too.
        support = min(max((count + 0.5) / (n + 1), min(p, q)), max(p, q))
        return WorkedOut(n, (count / n - q) / (p - q), support * (1 - support) / (p - q) ** 2)
    if scripted.method == "line":
        start, step, least = scripted.numbers
        estimates = start + step * values
        return WorkedOut(n, float(estimates.mean()), max(float(estimates.var()), least))
    score = np.array(scripted.numbers)[values]
    mean, variance = float(score.mean()), float(score.var())
    if scripted.added is not None:
        m = min(max((n * mean + scripted.added) / (n + 1), 0.0), 1.0)
        variance = (max(scripted.numbers) - m) * (m - min(scripted.numbers))
    return WorkedOut(n, mean, min(max(variance, scripted.least), scripted.most))


def _worked_out_among(scripted: Scripted, reports: ReportRows) -> WorkedOut:
    """Returns the ratio of a share to that of those who were asked, with its linearised
    variance."""
    p, q = scripted.numbers
    gave, hidden = (reports.column(name) for name in (scripted.column, scripted.hidden))
    of_all = (gave.values[gave.there] - q) / (p - q)
    asked_scores = 1 - (hidden.values[hidden.there] - q) / (p - q)
    if not len(asked_scores) or asked_scores.mean() <= 0:
        return WorkedOut(len(asked_scores), nan, nan)
    ratio = float(of_all.mean() / asked_scores.mean())
    return WorkedOut(
        len(asked_scores),
        ratio,
        float((of_all - ratio * asked_scores).var() / asked_scores.mean() ** 2),
    )
