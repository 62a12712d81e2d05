"""Turns weighted reports into the tally of fewer unweighted ones, which every estimator can read.

For one figure, the tally has the weighted share of each cell, times the effective people of that
figure: the number of unweighted people whose estimate of the figure has the same variance (see
``estimation.weighted_tally``; Korn and Graubard 1998). So tests, fits and intervals are those of
unweighted reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.errors import NoFigure
from deniably.core.table import Table
from deniably.estimation.figures import FigureEstimate, Shares, SingleMean, groups
from deniably.estimation.inversion import Margin
from deniably.estimation.question_distributions import at_most_scores
from deniably.estimation.tally import Tally, support_rows
from deniably.estimation.weighted_tally import Weighing
from deniably.mechanisms.law import Supporting
from deniably.results.differences import Contrast
from deniably.survey.questions import OfChoices, Question, VectorOfNumbers
from deniably.workbench.models.of_reports import figures_of, randomised, some_of
from deniably.workbench.models.report_weights import AnyWeights, of_group, strata_of, weighing
from deniably.workbench.models.weighted_shares import (
    WeightedFigure,
    check_confidence,
    shares_of,
    weighted_table,
)
from deniably.workbench.report_rows import ReportRows

Key = tuple[str, str | None]
"""The kind of a figure and what it is of: "share" and a choice, or "mean" and a part (None if
there is one number)."""
AskedMask = npt.NDArray[np.bool_]
"""Marks (n,) the reports of people who were asked."""


@dataclass(frozen=True, eq=False)
class WeightedReports:
    """The reports to a ``question`` with weights. ``weighing`` has a weight for each row of the
    set.

    For a question about several numbers, ``part`` names the number that is meant. The methods take
    a ``contrast`` that names a figure: choices with their factors, such as {"yes": 1}, or None for
    the mean. They return tallies of unweighted people: so many that their estimate of the figure
    has the same variance as the weighted estimate.
    """

    reports: ReportRows
    question: Question
    weighing: Weighing
    part: str | None = None

    @cached_property
    def n(self) -> int:
        """Returns the number of people who were asked the question."""
        return int(self._answered[0].sum())

    def tally(self, contrast: Contrast) -> Tally:
        """Returns the tally of as many unweighted people as estimate the figure ``contrast`` with
        the same variance. Raises NoFigure where the reports give no weighted mean."""
        scores, there = self._scores(contrast)
        return self.tally_for([scores], there)

    def estimates(self, confidence: float) -> dict[Key, FigureEstimate]:
        """Returns the weighted estimate of each share and each mean of the question, as {(kind,
        choice or part): estimate}.

        Each is estimated from its own tally of unweighted people, so many that the variance is the
        same.
        """
        estimates = dict[Key, FigureEstimate]()
        for group in groups(self.question):
            if isinstance(group, SingleMean):
                part = group.part.name if group.part else None
                tally = replace(self, part=part).tally(None)
                (estimate,) = group.estimate_figures(tally, confidence)
                if estimate is not None:
                    estimates["mean", part] = estimate
            elif isinstance(group, Shares):
                for name, tally in self._of_choices():
                    estimate = group.estimate_figures(tally, confidence)[self._place(name)]
                    if estimate is not None:
                        estimates["share", name] = estimate
        return estimates

    def _of_choices(self) -> Iterator[tuple[str, Tally]]:
        """Yields the tally for the share of each choice that the reports determine."""
        assert isinstance(self.question, OfChoices)
        if isinstance(self.question.mechanism.law, Supporting):
            yield from ((name, self.tally({name: 1.0})) for name in self.question.names)
            return
        figures, there = figures_of(self.reports, self.question.name)
        weighted_figures = figures(self.weighing.among(there))
        scores = {
            figure.answer: figure.scores for figure in weighted_figures if figure.figure == "share"
        }
        for name, own in scores.items():
            yield name, self.tally_for([own], there)

    def _place(self, choice: str) -> int:
        assert isinstance(self.question, OfChoices)
        return self.question.names.index(choice)

    def every(self) -> Tally:
        """Returns one tally of unweighted people for all figures of the question. There are so few
        people that no figure has a smaller variance than with weights."""
        law = self.question.mechanism.law
        if not isinstance(self.question, OfChoices) or not isinstance(law, Supporting):
            return self.tally(None)
        by_choice = [self.tally({name: 1.0}) for name in self.question.names]
        least = min(by_choice, key=lambda tally: tally.n)
        if not law.both:
            return least
        # Every option has people of its own.
        counts: Any = np.concatenate(
            [tally.counts[2 * v : 2 * v + 2] for v, tally in enumerate(by_choice)]
        )
        return Tally(least.n, counts)

    def up_to(self) -> Tally:
        """Returns one tally of unweighted people for the distribution of a number. There are so
        few people that no share up to the end of a bucket has a smaller variance than with
        weights.

        Where the reports do not determine these shares, the number of people is Kish's effective
        sample size.
        """
        asked, cells = self._answered
        weighing, own = self.weighing.among(asked), cells[asked]
        totals, start = self._totals(own, weighing.weights)
        law = self.question.mechanism.law
        plain = self._as_tally(weighing, weighing.kish, totals, start)
        try:
            scores, first = at_most_scores(law, plain)
        except ValueError:  # too much noise: no unbiased scores up to a bucket exist
            return plain
        if own.dtype == np.bool_ or own.shape[1] > 1:  # a report names several buckets
            bits = own if own.dtype == np.bool_ else support_rows(own.tolist(), law.cell_count or 0)
            tallies = [weighing.scored(column) for column in (bits @ scores.T).T]
            people = [float(tally.effective(values)) for tally, values in tallies]
        else:
            tally = weighing.tally(own[:, 0] - first, scores.shape[1]).broadcast
            people = tally.effective(scores).tolist()
        return self._as_tally(weighing, min(people), totals, start)

    def error(self, contrast: Contrast) -> float:
        """Returns the linearised standard error of the figure ``contrast`` (Binder 1983); 0 where
        all reports are the same."""
        scores, there = self._scores(contrast)
        tally, values = self.weighing.among(there).scored(scores)
        return sqrt(max(float(tally.variance(values)), 0.0))

    def tally_for(self, figures: Sequence[Floats], there: AskedMask | None = None) -> Tally:
        """Returns one tally of unweighted people for several ``figures``. There are so few people
        that no figure has a smaller variance than with weights.

        Each of ``figures`` has the score of each person that the mask ``there`` marks. If that is
        None, the scores are of everybody who was asked.
        """
        asked, cells = self._answered
        if there is None:
            there = asked
        weighing = self.weighing.among(there)
        tallies = [weighing.scored(scores) for scores in figures]
        # The fewest: an interval of another figure may be too wide then, but never too narrow.
        people = min(float(tally.effective(values)) for tally, values in tallies)
        return self._as_tally(weighing, people, *self._totals(cells[there], weighing.weights))

    def _as_tally(self, weighing: Weighing, people: float, totals: Floats, start: int) -> Tally:
        counts: Any = people * (totals / weighing.weights.sum())
        endless = self.question.mechanism.law.cell_count is None
        # A tally's numbers are whole, and these are not; estimators take either.
        return Tally(cast(int, people), counts, start, endless=endless)

    def _totals(self, cells: npt.NDArray[Any], weights: Floats) -> tuple[Floats, int]:
        """Returns the weight in each cell, and the number of the first cell."""
        if cells.dtype == np.bool_:
            totals: Floats = weights @ cells
            return totals, 0
        cell_count = self.question.mechanism.law.cell_count
        # Noise without an end reports below 0, too.
        start = int(cells.min()) if cell_count is None and cells.size else 0
        each = np.repeat(weights, cells.shape[1])
        totals = np.bincount(cells.ravel() - start, each, cell_count or 0).astype(np.float64)
        return totals, start

    @cached_property
    def _answered(self) -> tuple[AskedMask, npt.NDArray[Any]]:
        answered = self.reports.answered(self.question.name)
        return answered.asked, answered.cells

    def _scores(self, contrast: Contrast) -> tuple[Floats, AskedMask]:
        """Returns what each report adds to a figure, and a mask of the reports that add to it."""
        if contrast is None:
            return self._scores_of_mean()
        question, law = self.question, self.question.mechanism.law
        assert isinstance(question, OfChoices)
        assert isinstance(law, Supporting)
        asked, cells = self._answered
        # The unbiased score of a choice is (named - q) / (p - q). The constant is left out, as
        # only the variance of scores matters here.
        slope = float(law.p - law.q)
        places = {self._place(name): factor for name, factor in contrast.items()}
        if law.both:  # a report has some options, and says yes or no to each
            (option,) = places
            there = asked & (cells // 2 == option).any(axis=1)
            says = (cells[there] == 2 * option + 1).any(axis=1)
            return says / slope, there
        own, scores = cells[asked], np.zeros(int(asked.sum()))
        for place, factor in places.items():
            named = own[:, place] if own.dtype == np.bool_ else (own == place).any(axis=1)
            scores += factor * named / slope
        return scores, asked

    def _scores_of_mean(self) -> tuple[Floats, AskedMask]:
        name = f"{self.question.name}__{self.part}" if self.part else self.question.name
        figures, there = figures_of(self.reports, name)
        weights = self.weighing.weights[there]
        means = [
            figure for figure in figures(self.weighing.among(there)) if figure.figure == "mean"
        ]
        if not means:
            raise NoFigure(f"{self.question.name}: its reports give no weighted mean")
        (mean,) = means
        if mean.among is None:
            return mean.scores, there
        # A mean among some is a ratio, whose score is the linearised one: (score - ratio * in) /
        # share in.
        ratio = float(weights @ mean.scores) / float(weights @ mean.among)
        having = float(weights @ mean.among) / float(weights.sum())
        scores: Floats = (mean.scores - ratio * mean.among) / having
        return scores, there


def shares_of_reports(
    reports: ReportRows,
    name: str,
    *,
    weights: AnyWeights | None = None,
    strata: str | Sequence[str] | None = None,
    by: str | None = None,
    confidence: float = 0.95,
) -> Table:
    """Returns the weighted shares of the true answers to the question ``name``, and their mean, as
    a table. The parameters are those of ``ReportSet.shares``.

    Raises BadModel for an unknown question or key, and for weights that do not fit.
    """
    check_confidence(confidence)
    all_weights = weighing(reports, np.ones(len(reports)) if weights is None else weights, strata)
    if by is None:
        return _shares(reports, name, all_weights, confidence)
    strata_of(reports, reports.strata, by)  # refuses an unknown key
    values, tables = np.array(reports.strata[by], object), list[tuple[str, Table]]()
    asked = figures_of(reports, name)[1]
    for value, part in reports.by(by).items():
        inside = values == value
        if (inside & asked).any():
            with of_group(by, value):
                tables.append((value, _shares(part, name, all_weights.among(inside), confidence)))
    return _stacked(by, tables)


def _shares(reports: ReportRows, name: str, all_weights: Weighing, confidence: float) -> Table:
    figures, there = figures_of(reports, name)
    own = all_weights.among(there)
    known = _known(reports, name, all_weights, confidence)
    if known is None:  # an option: a yes or no for each person
        return shares_of(some_of(randomised(reports, name)[0], there), own, confidence)
    margins = {
        (kind, choice): Margin(
            estimate.standard_error or 0.0, *estimate.population_margin, missed=False
        )
        for (kind, choice), estimate in known.items()
    }

    def margin(figure: WeightedFigure, _: float) -> Margin | None:
        return margins.get((figure.figure, figure.answer))

    return weighted_table(name, figures(own), own, margin, confidence)


def _known(
    reports: ReportRows, name: str, all_weights: Weighing, confidence: float
) -> dict[tuple[str, str], FigureEstimate] | None:
    """Returns the figures of a question, or of one of several numbers; the mean is under an empty
    name. None where ``name`` is an option of a question with several answers."""
    for question in reports.survey.questions:
        part = None
        if isinstance(question, VectorOfNumbers) and name.startswith(f"{question.name}__"):
            part = name.removeprefix(f"{question.name}__")
        if name == question.name or part is not None:
            estimates = WeightedReports(reports, question, all_weights).estimates(confidence)
            return {
                (kind, choice or "" if kind == "share" else ""): estimate
                for (kind, choice), estimate in estimates.items()
                if kind == "share" or choice == part
            }
    return None


def _stacked(by: str, tables: Sequence[tuple[str, Table]]) -> Table:
    """Returns the tables of several parts as one, with a column for the part."""
    first = tables[0][1]
    return Table(
        f"{first.caption.partition(',')[0]}, by {by}",
        [{by: value, **row} for value, table in tables for row in table.rows],
        [
            [by, *first.lines[0]],
            *([value, *line] for value, table in tables for line in table.lines[1:]),
        ],
        first.texts + 1,
        [] if len({*map(str, (table.notes for _, table in tables))}) > 1 else first.notes,
    )
