"""A closed survey with what it collected: what an analyst's notebook asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, structs

from deniably.core.binomial import Floats
from deniably.core.errors import Incomparable, NoFigure, NoResults
from deniably.core.table import Table
from deniably.estimation.analysis import number_distribution
from deniably.estimation.figures import Buckets, groups
from deniably.estimation.follow_up import FollowUpCounts, among_asked, follow_ups, joint_counts
from deniably.estimation.tally import Tally
from deniably.estimation.weighted import Weighing
from deniably.exhibits import (
    crosstab_exhibit,
    difference_exhibit,
    question_exhibit,
    stratum_exhibit,
    table,
    wave_exhibit,
)
from deniably.exhibits.paper import paper
from deniably.exhibits.results_table import Results, as_results
from deniably.exhibits.table import Findings
from deniably.mechanisms.law import Supporting
from deniably.results.among_asked import FollowUpReports, followed
from deniably.results.by_stratum import ByStratumResult, by_stratum
from deniably.results.comparison import Side, has_pairs, mean_apart, pairs
from deniably.results.crosstabs import Blocks, cell_count, crosstab_result, is_crossable, own_filter
from deniably.results.document import NumberResult, QuantileResult, SurveyResult
from deniably.results.drawing.paper import WIDTHS, Svg, svg
from deniably.results.drawing.png import Png, png
from deniably.results.remote import Remote, fetch_results
from deniably.results.result import CONFIDENCE, result
from deniably.results.waves import Wave, waves_result
from deniably.results.writing.publication import Publication
from deniably.survey.questions import (
    Number,
    OfChoices,
    Question,
    SelectMultiple,
    VectorOfNumbers,
)
from deniably.survey.strata import Stratum
from deniably.survey.survey import Survey
from deniably.workbench import findings
from deniably.workbench.engines import rebuilt
from deniably.workbench.engines.pairs import MOST_PAIRS, pair_blocks, pairs_of
from deniably.workbench.findings import Passage, Subgroups
from deniably.workbench.models.asked import counts_of, values_of
from deniably.workbench.models.columns import nearest
from deniably.workbench.models.effective import WeightedReports
from deniably.workbench.models.raking import rake
from deniably.workbench.models.weighing import (
    AnyWeights,
    StratumWeights,
    need_strata_weights,
    of_group,
    weighing,
)
from deniably.workbench.provenance import Provenance, publication
from deniably.workbench.report_rows import ReportRows
from deniably.workbench.report_set import ReportSet

if TYPE_CHECKING:
    from deniably.design.power import Powered, TestOf
    from deniably.workbench.engines.engine import Groups
    from deniably.workbench.engines.tallying import Counts, TalliedSet
    from deniably.workbench.models.estimators import Law, Link
    from deniably.workbench.models.fit import StandardErrors
    from deniably.workbench.models.regression import Regression

LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.999
_MOST_CELLS = 10_000


@dataclass(frozen=True)
class _Wanted:
    """Results that are asked for: those of a ``question``, or of all; ``strata`` is a key and its
    value."""

    question: str | None
    confidence: float
    smooth: bool
    strata: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Study(Table):
    """A survey and what it collected, as ``deniably.open`` found it.

    It shows its title and a line for each question: type, reports, mechanism and epsilon. ``n`` is
    the number of respondents. ``source`` is what the register says of it, verified; None for
    reports that were not opened from a server or an export.

    A tally file has counts and no reports: what needs whole reports then says so.

    Every method returns a frozen value with ``to_frame()``, ``to_dict()`` and a table as its text.
    All read randomised reports. They rest on the same assumptions: people answered as they were
    asked, devices kept to the design, and respondents are a random sample of the population that
    intervals are for.
    """

    survey: Survey
    state: str
    n: int
    source: Provenance | None
    _reports: ReportSet | None = field(default=None)
    _without: str = ""
    _remote: Remote | None = None
    _served: SurveyResult | None = None
    _tallied: TalliedSet | None = None
    _kept: dict[_Wanted, SurveyResult] = field(
        init=False, default_factory=dict[_Wanted, SurveyResult]
    )

    @property
    def reports(self) -> ReportSet:
        """The randomised reports, sorted by content.

        Raises NoResults where a server gives out results alone, with its reason, and where there
        are counts alone.
        """
        if self._reports is None:
            there = "results" if self._tallied is None else "counts"
            raise NoResults(
                f"{self.survey.name}: this needs its reports, and there are only {there}:"
                f" {self._without}"
            )
        return self._reports

    @property
    def has_reports(self) -> bool:
        """Whether there are reports, and not only results or counts."""
        return self._reports is not None

    # --- estimates --------------------------------------------------------------------------

    @overload
    def estimate(
        self,
        question: str | None = None,
        *,
        confidence: float = CONFIDENCE,
        smooth: bool = False,
        by: None = None,
        weights: None = None,
    ) -> Results: ...

    @overload
    def estimate(
        self,
        question: str | None = None,
        *,
        confidence: float = CONFIDENCE,
        smooth: bool = False,
        by: str,
        weights: None = None,
    ) -> Subgroups: ...

    @overload
    def estimate(
        self,
        question: str,
        *,
        confidence: float = CONFIDENCE,
        by: str | None = None,
        weights: StratumWeights,
        strata: str | Sequence[str] | None = None,
    ) -> Findings: ...

    def estimate(
        self,
        question: str | None = None,
        *,
        confidence: float = CONFIDENCE,
        smooth: bool = False,
        by: str | None = None,
        weights: StratumWeights | None = None,
        strata: str | Sequence[str] | None = None,
    ) -> Results | Subgroups | Findings:
        """Estimate all figures of a ``question``, or of all questions, as the server shows them.

        **Estimator.** Unbiased shares by the inverse of the channel (Warner 1965; Wang et al.
        2017); means of unbiased scores; distributions by expectation maximisation (Li et al. 2020).
        With weights, weighted means of unbiased scores (Binder 1983). **Assumption.** Those of the
        study; weights depend on strata alone.

        ``confidence`` is from 0.5 to 0.999. ``smooth`` fits smooth distributions of numbers: only
        if you know them to be smooth. ``by`` is a key of the survey's strata: each of its values
        that has results is estimated by itself. ``weights`` are one a stratum, such as
        ``{"north": 1.2, "south": 0.8}`` or ``study.rake(margins)``, for the shares and means of a
        question: reports are sorted by content, so no list is in their order. With several keys
        a stratum is the tuple of its values, the keys in alphabetical order. ``strata`` are then
        the keys within which errors are taken. The columns are those of ``results.csv``. Raises
        NoFigure for an unknown question or key, BadModel for weights that do not fit, and
        NoResults.
        """
        if weights is not None:
            if question is None:
                raise NoFigure("weights are for one question at a time: name it")
            return self._weighted(question, weights, by, strata, confidence)
        _needs_weights(strata)
        if by is None:
            return as_results(self._document(question, confidence, smooth=smooth))
        found = self._subgroups(question, by, confidence, smooth=smooth)
        return findings.of_subgroups(self.survey.title, found)

    def mean(
        self,
        question: str,
        *,
        part: str | None = None,
        confidence: float = CONFIDENCE,
        by: str | None = None,
        weights: StratumWeights | None = None,
        strata: str | Sequence[str] | None = None,
    ) -> Findings:
        """Estimate the mean of a number or of a scale's scores; of several numbers one ``part``.

        **Estimator.** The mean of unbiased scores of the reports (Horvitz and Thompson 1952; Duchi,
        Jordan and Wainwright 2018). **Assumption.** Those of the study.

        ``estimate``, ``standard_error`` and ``interval`` are in the question's unit. ``by``,
        ``weights`` and ``strata`` are as in ``estimate``. Raises NoFigure where the question has no
        mean, and as ``estimate``.
        """
        if weights is not None:
            found = self._weighted(question, weights, by, strata, confidence)
            return findings.means_alone(found, part)
        _needs_weights(strata)
        if by is None:
            return findings.of_mean(self._document(question, confidence), part)
        every = self._subgroups(question, by, confidence)
        return findings.side_by_side(
            self._question(question).label,
            {value: findings.of_mean(one, part) for value, one in every.items()},
        )

    def distribution(
        self,
        question: str,
        *,
        confidence: float = CONFIDENCE,
        smooth: bool = False,
        by: str | None = None,
        weights: StratumWeights | None = None,
        strata: str | Sequence[str] | None = None,
    ) -> Findings:
        """Estimate how the answers to a question are spread: shares of choices, or of ranges.

        **Estimator.** Shares of choices are unbiased (Warner 1965; Wang et al. 2017). Ranges of a
        number are fitted for display by expectation maximisation (Li et al. 2020), and the shares
        up to the end of each are unbiased. **Assumption.** Those of the study; ``smooth`` assumes
        one broad hump besides.

        With weights, ranges are fitted to as many people as would know every share up to an end
        without them (Korn and Graubard 1998).

        ``by``, ``weights`` and ``strata`` are as in ``estimate``. Raises NoFigure where there is no
        distribution, and as ``estimate``.
        """
        weighed = self._weighing(weights, strata)
        if weighed is not None and weights is not None:
            asked = self._question(question)
            if not isinstance(asked, Number):
                return findings.shares_alone(
                    self._weighted(question, weights, by, strata, confidence)
                )
            if _buckets(asked) is None:
                raise NoFigure(
                    f"{question} is a number and has no distribution: it was asked with aim: mean"
                )
            ranges = self._ranges(asked, weighed, by, confidence, smooth=smooth)
            spread = {
                value: findings.of_distribution(document) for value, (document, _) in ranges.items()
            }
            return findings.of_weights(
                spread[""] if by is None else findings.side_by_side(asked.label, spread),
                weighed, findings.WEIGHTED_DISTRIBUTION,
            )  # fmt: skip
        if by is None:
            return findings.of_distribution(self._document(question, confidence, smooth=smooth))
        every = self._subgroups(question, by, confidence, smooth=smooth)
        return findings.side_by_side(
            self._question(question).label,
            {value: findings.of_distribution(one) for value, one in every.items()},
        )

    def quantile(
        self,
        question: str,
        share: float = 0.5,
        *,
        confidence: float = CONFIDENCE,
        by: str | None = None,
        weights: StratumWeights | None = None,
        strata: str | Sequence[str] | None = None,
    ) -> Findings:
        """Estimate where a ``share`` of the numbers is first reached: 0.5 for the median.

        **Estimator.** The range in which the fitted distribution reaches the share; its interval
        holds all ranges that a likelihood-ratio test (Wilks 1938) or the margins of the shares up
        to their ends leave possible. With weights, those of as many people as would know every
        share without them (Korn and Graubard 1998). **Assumption.** Those of the study.

        ``by``, ``weights`` and ``strata`` are as in ``estimate``; groups whose reports do not
        determine it are named below the table. Raises NoFigure unless the question is a number with
        ``aim: distribution`` whose reports determine it, and as ``estimate``.
        """
        weighed = self._weighing(weights, strata)
        if not 0 < share < 1:
            raise NoFigure(f"share is {share:g}; a quantile belongs to one between 0 and 1")
        asked = self._question(question)
        group = _buckets(asked)
        if group is None or not isinstance(asked, Number):
            raise NoFigure(
                f"{question} is a {asked.type} and has no quantiles: they are of numbers that were"
                " asked with aim: distribution"
            )
        if weighed is not None:
            ranges = self._ranges(asked, weighed, by, confidence)
            found = (
                self._quantile(asked, group, *ranges[""], share, confidence)
                if by is None
                else self._quantiles(asked, group, ranges, share, confidence)
            )
            return findings.of_weights(found, weighed, findings.WEIGHTED_QUANTILE)
        if by is None:
            tally = self._tallies[question] if self._has_tallies else None
            return self._quantile(
                asked, group, self._document(question, confidence), tally, share, confidence
            )
        grouped = self._tallied is not None or (
            self._reports is not None and self._reports.layout.stratified
        )
        known = self._tallies_by(by) if grouped else {}
        every = {
            value: (document, known[value][question] if value in known else None)
            for value, document in self._subgroups(question, by, confidence).items()
        }
        return self._quantiles(asked, group, every, share, confidence)

    # --- what goes together -----------------------------------------------------------------

    def crosstab(
        self,
        rows: str,
        columns: str,
        *,
        confidence: float = CONFIDENCE,
        by: str | None = None,
        weights: StratumWeights | None = None,
        strata: str | Sequence[str] | None = None,
    ) -> Findings:
        """Cross two questions with choices: the shares of all pairs of answers.

        **Estimator.** Joint shares by the inverses of both channels, from whole reports; shares
        within a row or a column as their ratio. Independence by a permutation test (Fisher 1935;
        Phipson and Smyth 2010). With weights, weighted means of unbiased joint scores (Binder
        1983), and a test by Rao and Scott (1984). **Assumption.** Those of the study; weights
        depend on strata alone.

        The columns are those of the server's ``crosstab.csv``. ``by`` is a key of the strata: each
        of its values with reports to both has a cross-table of its own. ``weights`` and ``strata``
        are as in ``estimate``. Raises NoFigure for questions that cannot be crossed, BadModel for
        weights that do not fit, and NoResults without reports.
        """
        _check(confidence)
        weighed = self._weighing(weights, strata)
        chosen = [self._index(name) for name in (rows, columns)]
        both = [self.survey.questions[index] for index in chosen]
        if rows == columns:
            raise NoFigure(f"{rows} cannot be crossed with itself: name two questions")
        for one in both:
            if not is_crossable(one):
                raise NoFigure(
                    f"{one.name} cannot be crossed: cross-tables are of questions with choices that"
                    " each report is about"
                )
        if why := own_filter(*both):
            raise NoFigure(f"{rows} and {columns} are not crossed: {why}")
        if (cells := cell_count(*both)) > _MOST_CELLS:
            raise NoFigure(f"a cross-table has at most {_MOST_CELLS:,} cells, and not {cells:,}")
        if by is None:
            own = self._of(weighed, rows, columns)
            return self._crossed(self._pairs(*sorted(chosen)), chosen, confidence, weighed=own)
        every = dict[str, Findings]()
        for value, blocks in self._pairs_by(by, *sorted(chosen)):
            own = self._of(weighed, rows, columns, among={by: value})
            with of_group(by, value):
                every[value] = self._crossed(blocks, chosen, confidence, {by: value}, own)
        if not every:
            raise NoFigure(f"nobody whose {by} is known was asked both {rows} and {columns}")
        return findings.side_by_side(" by ".join(one.label for one in both), every)

    def difference(
        self,
        question: str,
        *,
        by: str | None = None,
        other: Study | None = None,
        part: str | None = None,
        confidence: float = CONFIDENCE,
        weights: StratumWeights | None = None,
        strata: str | Sequence[str] | None = None,
        other_weights: StratumWeights | None = None,
    ) -> Findings:
        """Test which choices of a question differ, or what differs by strata or between studies.

        **Estimator.** The difference of unbiased estimates, with a score test; several at once are
        adjusted (Holm 1979). With weights, that of weighted means, and the test of as many people
        as would know it without weights (Korn and Graubard 1998). **Assumption.** Those of the
        study; two studies are of different people, and the same people in two waves make the test
        cautious.

        Alone, every pair of choices is tested. ``by`` is a key of the strata: every choice, or the
        mean, is tested between every two of its values. With an ``other`` study each choice, or the
        mean, is tested here against there; ``part`` names one of several numbers. ``weights`` and
        ``strata`` are as in ``estimate``; ``other_weights`` are those of the other study. Raises
        NoFigure where they cannot be compared, BadModel for weights that do not fit, and NoResults
        without reports.
        """
        _check(confidence)
        weighed = self._weighing(weights, strata)
        if other is None and other_weights is not None:
            raise NoFigure("other_weights= are those of another study: give other=, too")
        if by is not None:
            if other is not None:
                raise NoFigure("give by= or other=, and not both")
            apart = self._apart(question, by, confidence, weighed)
            return findings.of_exhibit(
                stratum_exhibit.exhibit(apart, self.survey), weighed, findings.WEIGHTED_DIFFERENCE
            )
        if weighed is None and other_weights is not None:
            weighed = weighing(self.reports, np.ones(self.n), None)
        here = self._side(question, part, weighed)
        if other is None and not has_pairs(here.question):
            raise NoFigure(
                f"{question} has no choices to compare in pairs: give by=, a key of the strata, or"
                " other=, another study"
            )
        there = None
        if other is not None:
            own = other._weighing(other_weights, None)
            if weighed is not None and own is None:  # a sample in which all weigh the same
                own = weighing(other.reports, np.ones(other.n), None)
            there = other._side(question, part, own)
        try:
            if there is not None and not _is_counted(here.question):
                return findings.of_mean_difference(here, there, mean_apart(here, there), confidence)
            shown = difference_exhibit.exhibit(pairs(here, there, confidence), self.survey)
            return findings.of_exhibit(shown, weighed, findings.WEIGHTED_DIFFERENCE)
        except Incomparable as error:
            raise NoFigure(f"{question}: {error}") from None

    def trend(
        self, question: str, earlier: Sequence[Study], *, confidence: float = CONFIDENCE
    ) -> Findings:
        """Test what changed over waves: this study is the last, after the ``earlier`` ones.

        **Estimator.** The last wave less the first with a score test, and a linear trend over all
        waves; all tests of the question are adjusted (Holm 1979). **Assumption.** Those of the
        study, and waves at equal distances. The same people in several waves make the first test
        cautious; the trend is tested for the worst correlation of their answers.

        The columns are those of the server's ``waves.csv``. Of subgroups, give studies of
        ``reports.among(...)``. Raises NoFigure where the waves did not ask the question alike, and
        NoResults without reports.
        """
        _check(confidence)
        self._question(question)
        waves = [
            Wave(number, one.survey, one.state, one._tallies, one._together(question))
            for number, one in enumerate((*earlier, self), 1)
        ]
        try:
            found = waves_result(self.survey.name, waves, 0, confidence, question)
        except Incomparable as error:
            raise NoFigure(f"{question}: {error}") from None
        if not found["questions"]:
            raise NoFigure(
                f"{question} has no figures to put side by side, or was not asked alike in all"
                f" {len(waves)} waves"
            )
        return table.findings(wave_exhibit.exhibit(found, found["questions"][0], self.survey))

    def regress(
        self,
        formula: str,
        *,
        weights: StratumWeights | None = None,
        strata: str | Sequence[str] | None = None,
        link: Link = "logit",
        law: Law | None = None,
        se: StandardErrors | None = None,
        confidence: float = CONFIDENCE,
    ) -> Regression:
        """Fit a regression to the reports, such as ``"stolen ~ often + score(happy) + C(site)"``.

        **Estimator.** Maximum likelihood through the channel of the reports (Scheers and Dayton
        1988); true answers to randomised covariates are summed over, by EM (Louis 1982). With
        strata beside these, the corrected score (Nakamura 1990). **Assumption.** Those of the
        study; lies that go with a covariate bias its coefficient.

        Questions and strata stand under their names. ``weights`` are one a stratum, as in
        ``estimate``; ``strata`` are the keys within which a weighted model's errors are taken. The
        rest is as in ``deniably.regress``. Raises BadModel, NoEstimate, and NoResults without
        reports.
        """
        if weights is not None:
            need_strata_weights(self.survey, weights)
        return self.reports.regress(
            formula, weights=weights, strata=strata, link=link, law=law, se=se,
            confidence=confidence,
        )  # fmt: skip

    def rake(self, margins: Mapping[str, Mapping[str, float]]) -> StratumWeights:
        """Weigh the reports to known shares of strata: ``{"site": {"north": 0.4, "south": 0.6}}``.

        **Estimator.** Of all weights that meet the margins those nearest to equal ones (Deming and
        Stephan 1940; Deville and Sarndal 1992). **Assumption.** Within strata respondents are a
        random sample.

        Of a tally file, the weights are for ``estimate`` and ``mean`` of questions whose reports
        are one number each.

        Returns the weight of each stratum that has reports, with mean 1 over these, for every
        method with ``weights``; it cannot be changed. Raises BadModel for margins that are none or
        not of strata, NoEstimate where no weights meet them, and NoResults without reports.
        """
        if self._tallied is None:
            strata, weights = self.reports.strata, self.reports.rake(margins)
        else:
            strata = rebuilt.strata_of(self._tallied)
            weights = self._raked(self._tallied, margins)
        keys = sorted(self.survey.strata or {})
        rows = zip(zip(*(strata[key] for key in keys), strict=True), weights.tolist(), strict=True)
        found = dict(rows)
        if len(keys) == 1:
            return MappingProxyType({value: weight for (value,), weight in found.items()})
        return MappingProxyType(found)

    # --- what comes next --------------------------------------------------------------------

    def plan(
        self,
        question: str | None = None,
        *,
        difference: float,
        power: float | None = None,
        n: int | None = None,
        by: str | None = None,
        test: TestOf | None = None,
        share: float | None = None,
        first: float | None = None,
        level: float = 0.05,
    ) -> Powered:
        """Plan a test: the respondents for a ``power``, or the power of ``n`` respondents.

        **Estimator.** Of shares the law of the counts that the two-sided tests read, of slopes a
        simulation of the fit, of means the normal power of a score test (Fleiss, Levin and Paik
        2003, 4.2), all with the variance that the randomisation adds. **Assumption.** Those of the
        study.

        Without ``power`` and ``n`` it is the power of as many respondents as here. The test is of a
        difference from a value, or with ``by``, a key of the strata, between two groups. The
        ``first`` is that part of the respondents: of a key with two values as large as here where
        that is known, else a half. The rest is as in ``deniably.workbench.plan_power``. Raises
        ValueError as that does, and NoFigure.
        """
        from deniably.design.power import plan_power

        if question is not None:
            self._question(question)
        if by is not None:
            first = self._first_part(by) if first is None else first
            test = test or "groups"
        if power is None and n is None:
            n = self.n
        return plan_power(
            self.survey, difference=difference, power=power, n=n, question=question,
            test=test or "value", share=share, first=0.5 if first is None else first, level=level,
        )  # fmt: skip

    @overload
    def figure(
        self,
        question: str,
        kind: Literal["svg"] = "svg",
        *,
        width: int = WIDTHS[0],
        by: str | None = None,
        confidence: float = CONFIDENCE,
    ) -> Svg: ...

    @overload
    def figure(
        self,
        question: str,
        kind: Literal["png"],
        *,
        width: int = WIDTHS[0],
        by: str | None = None,
        confidence: float = CONFIDENCE,
    ) -> Png: ...

    def figure(
        self,
        question: str,
        kind: Literal["svg", "png"] = "svg",
        *,
        width: int = WIDTHS[0],
        by: str | None = None,
        confidence: float = CONFIDENCE,
    ) -> Svg | Png:
        """Draw the figure of a question for a paper: the text of an SVG file, or a PNG file.

        It is that of the results page; with ``by``, a key of the strata, that of the page which
        compares its values. ``width`` is 85 or 180 mm, one column of a journal or two. A PNG has
        600 dots an inch. Raises NoFigure for an unknown question, key or kind, ValueError for other
        widths, NoResults where ``by`` needs reports and there are none, and for a PNG ImportError
        without resvg and OSError without a font.
        """
        if kind not in ("svg", "png"):
            raise NoFigure(f"there is no kind of figure {kind!r}; there are svg and png")
        closed = self.source.closed if self.source else ""
        if by is None:
            shown = question_exhibit.exhibit(self._document(question, confidence), question, closed)
        else:
            apart = self._apart(question, by, confidence)
            shown = stratum_exhibit.exhibit(apart, self.survey, self.state, closed)
        found = svg(paper(shown), width)
        return found if kind == "svg" else png(found)

    # --- the paper --------------------------------------------------------------------------

    def sentence(self, question: str, *, confidence: float = CONFIDENCE) -> Passage:
        """Say the finding of a question as a paper prints it, with interval, n and mechanism.

        Raises NoFigure for an unknown question, and NoResults.
        """
        return Passage(self._publication(question, confidence).sentence(question))

    def methods(self, style: str = "apa") -> Passage:
        """Write the methods section of a paper with its references.

        Raises NoFigure for another style than "apa", and NoResults.
        """
        try:
            return Passage(self._publication(None, CONFIDENCE).methods(style))
        except ValueError as error:
            raise NoFigure(str(error)) from None

    def cite(self, style: str = "bibtex") -> Passage:
        """Say how to cite the study: as "apa", "bibtex", "ris" or "cff".

        Raises NoFigure for another style, and NoResults.
        """
        try:
            return Passage(self._publication(None, CONFIDENCE).cite(style))
        except ValueError as error:
            raise NoFigure(str(error)) from None

    # --- below ------------------------------------------------------------------------------

    def _publication(self, question: str | None, confidence: float) -> Publication:
        found = self._document(question, confidence)
        if self.source is None:
            return Publication(found, self.survey)
        return publication(found, self.survey, self.source)

    def _first_part(self, by: str) -> float:
        """The part of the respondents who are of the first of two values of a key; or a half."""
        values = self._values(by)
        if len(values) != 2 or not self._has_tallies:
            return 0.5
        try:
            sizes = [
                max(tally.n for tally in tallies.values())
                for tallies in self._tallies_by(by).values()
            ]
        except NoResults:
            return 0.5
        return sizes[0] / sum(sizes) if len(sizes) == 2 else 0.5

    @property
    def _has_tallies(self) -> bool:
        return self._reports is not None or self._tallied is not None

    @cached_property
    def _tallies(self) -> dict[str, Tally]:
        return self.reports.tally() if self._tallied is None else self._tallied.tallies

    def _document(
        self, question: str | None, confidence: float, *, smooth: bool = False
    ) -> SurveyResult:
        """The results of one question or of all, from reports or counts where there are any."""
        _check(confidence)
        if question is not None:
            self._question(question)
        served = self._served
        if self._has_tallies:
            found = self._estimated(_Wanted(question, confidence, smooth), self._tallies)
            return found if served is None else structs.replace(found, subgroups=served.subgroups)
        assert served is not None
        assert self._remote is not None
        if (confidence, smooth) != (served.confidence, False):
            served = fetch_results(self._remote, confidence=confidence, smooth=smooth)
        return _only(question, served)

    def _estimated(self, wanted: _Wanted, tallies: Mapping[str, Tally]) -> SurveyResult:
        """What is wanted from these tallies, which takes long and is worked out once."""
        every = self._kept.get(replace(wanted, question=None))
        if every is not None:
            return _only(wanted.question, every)
        if wanted not in self._kept:
            strata = wanted.strata and dict([wanted.strata])
            invited = self._served.invited if self._served and not strata else None
            self._kept[wanted] = result(
                self.survey, self.state, tallies, smooth=wanted.smooth,
                confidence=wanted.confidence, invited=invited, only=wanted.question, strata=strata,
                reports=self._people(strata),
                together=self._together(wanted.question, strata),
            )  # fmt: skip
        return self._kept[wanted]

    def _together(
        self, question: str | None, strata: Stratum | None = None
    ) -> dict[str, FollowUpCounts]:
        """The joint counts of questions with ``show_if``, of a subgroup."""
        return joint_counts(self.survey, partial(self._reports_to, strata), question)

    def _people(self, strata: Stratum | None) -> int:
        """The number of reports of a subgroup."""
        if self._tallied is not None:
            return self._tallied.among(strata or {}).n
        if not strata:
            return self.n
        ((key, value),) = strata.items()
        return len(self.reports.by(key)[value])

    def _reports_to(self, strata: Stratum | None, one: int, other: int) -> Blocks | None:
        """What each respondent of a subgroup reported to two questions, where it is known."""
        if self._tallied is not None:
            return pairs_of(self.survey, self._tallied.among(strata or {}), one, other)
        reports = self.reports
        for key, value in (strata or {}).items():
            reports = reports.by(key)[value]
        return values_of(reports, self._names(one, other))

    def _values(self, key: str) -> Sequence[str]:
        """The values of a key of the strata."""
        keys = self.survey.strata or {}
        if key not in keys:
            why = nearest(key, keys) if keys else ": it has no strata, so no groups to compare"
            raise NoFigure(f"{self.survey.name} has no key {key}{why}")
        return keys[key]

    def _subgroups(
        self, question: str | None, by: str, confidence: float, *, smooth: bool = False
    ) -> dict[str, SurveyResult]:
        """The results by the values of a key of the strata that may be shown."""
        _check(confidence)
        values = self._values(by)
        if question is not None:
            self._question(question)
        if self._served is None or self._remote is None:
            return {
                value: self._estimated(_Wanted(question, confidence, smooth, (by, value)), tallies)
                for value, tallies in self._tallies_by(by).items()
            }
        shown = [value for value in values if {by: value} in (self._served.subgroups or [])]
        if not shown:
            raise NoResults(f"{self.survey.name}: no value of {by} has results of its own")
        options: dict[str, Any] = {"confidence": confidence, "smooth": smooth}
        return {
            value: _only(question, fetch_results(self._remote, strata={by: value}, **options))
            for value in shown
        }

    def _tallies_by(self, by: str) -> dict[str, dict[str, Tally]]:
        """The tallies of each value of a key that has reports to every question."""
        if self._tallied is None:
            tallies = {value: part.tally() for value, part in self.reports.by(by).items()}
        else:
            tallies = {value: counts.tallies for value, counts in self._counts_by(by)}
        return {
            value: found
            for value, found in tallies.items()
            if all(tally.n for tally in found.values())
        }

    def _weighted(
        self,
        question: str,
        weights: StratumWeights,
        by: str | None,
        strata: str | Sequence[str] | None,
        confidence: float,
    ) -> Findings:
        need_strata_weights(self.survey, weights)
        document, asked = self._document(question, confidence), self._question(question)
        if by is not None:
            self._values(by)
        if not isinstance(asked, OfChoices | Number | VectorOfNumbers):
            raise NoFigure(
                f"{question} is a {asked.type}: weights are for questions with choices and for"
                " numbers; by= estimates each group by itself"
            )
        names = [""]
        if isinstance(asked, SelectMultiple):
            names = asked.names
        elif isinstance(asked, VectorOfNumbers):
            names = [part.name for part in asked.parts]
        reports: ReportSet = (
            self.reports if self._tallied is None else (rebuilt.reports_of(self._tallied, asked))
        )
        each: AnyWeights = weights
        if self._tallied is not None:
            each = rebuilt.weights_of(self._tallied, asked, weights)
        found = {
            name: reports.shares(
                f"{question}__{name}" if name else question,
                weights=each, strata=strata, by=by, confidence=confidence,
            )
            for name in names
        }  # fmt: skip
        among = self._among_asked(
            question, reports, weighing(reports, each, strata), by, confidence
        )
        shown = findings.of_weighted(document, asked, found, by, among)
        return shown if among else findings.of_whom(shown, asked, asked=False)

    def _among_asked(
        self,
        question: str,
        reports: ReportSet,
        weighed: Weighing,
        by: str | None,
        confidence: float,
    ) -> dict[str, findings.WeightedAmong]:
        """The weighted shares of those who were asked, by the values of a key; without one under no
        name. Empty for questions that are asked of all, and where reports do not tell."""
        one = follow_ups(self.survey).get(question)
        if one is None:
            return {}
        parts = {"": (reports, weighed)}
        if by is not None:
            parts = {
                value: (part, weighed.among(_inside(reports, by, value)))
                for value, part in reports.by(by).items()
                if part.answered(question).asked.any()
            }
        found = dict[str, findings.WeightedAmong]()
        for value, (part, own) in parts.items():
            with of_group(by, value):
                counts = counts_of(one, part, own, alone=self._tallied is not None)
            estimates = among_asked(one, counts, confidence)
            if estimates is not None:
                shown = FollowUpReports(one, counts).shown(estimates, confidence)
                found[value] = findings.WeightedAmong(counts.people, shown)
        return found

    def _raked(self, tallied: TalliedSet, margins: Mapping[str, Mapping[str, float]]) -> Floats:
        """The weights of a tally file's reports, in the order of their strata."""
        for key in margins:
            self._values(key)
            if not tallied.stratified:
                tallied.among({key: self._values(key)[0]})  # raises, and says why
        return rake(rebuilt.strata_of(tallied), margins)

    def _ranges(
        self,
        question: Number,
        weighed: Weighing,
        by: str | None,
        confidence: float,
        *,
        smooth: bool = False,
    ) -> dict[str, tuple[SurveyResult, Tally]]:
        """The weighted results of a number's ranges, and what they are estimated from, by the
        values of a key; without one under no name."""
        _check(confidence)
        parts = {"": (self.reports, self._tallies, weighed)}
        if by is not None:
            self._values(by)
            tallies, own = self._tallies_by(by), self.reports.by(by)
            parts = {
                value: (own[value], tallies[value], weighed.among(_inside(self.reports, by, value)))
                for value in tallies
            }
        found = dict[str, tuple[SurveyResult, Tally]]()
        for value, (reports, plain, some) in parts.items():
            weighted = WeightedReports(reports, question, some)
            with of_group(by, value):
                tally = weighted.up_to()
            document = result(
                self.survey, self.state, {**plain, question.name: tally}, smooth=smooth,
                confidence=confidence, only=question.name,
                strata=None if by is None else {by: value},
            )  # fmt: skip
            (shown,) = document.questions
            people = structs.replace(shown, n=weighted.n)
            found[value] = structs.replace(document, questions=[people]), tally
        return found

    def _apart(
        self, question: str, by: str, confidence: float, weighed: Weighing | None = None
    ) -> ByStratumResult:
        _check(confidence)
        asked = self._question(question)
        self._values(by)
        tallies, weighted = self._tallies_by(by), None
        if weighed is not None:
            parts = self.reports.by(by)
            weighted = {
                value: WeightedReports(
                    parts[value], asked, weighed.among(_inside(self.reports, by, value))
                )
                for value in tallies
            }
        together = {value: self._followed(question, {by: value}, weighed) for value in tallies}
        try:
            return by_stratum(
                self.survey, asked, by, tallies, confidence=confidence, weighted=weighted,
                together=together,
            )  # fmt: skip
        except Incomparable as error:
            raise NoFigure(f"{question}: {error}") from None

    def _crossed(
        self,
        blocks: Blocks,
        chosen: Sequence[int],
        confidence: float,
        strata: Stratum | None = None,
        weighed: Weighing | None = None,
    ) -> Findings:
        try:
            found = crosstab_result(self.survey, chosen, blocks, confidence, strata, weighed)
        except Incomparable as error:
            raise NoFigure(str(error)) from None
        shown = crosstab_exhibit.exhibit(found, self.survey)
        return findings.of_exhibit(shown, weighed, findings.WEIGHTED_CROSSTAB)

    def _weighing(
        self,
        weights: StratumWeights | None,
        strata: str | Sequence[str] | None,
    ) -> Weighing | None:
        """The weights of the reports, if there are any."""
        if weights is not None:
            need_strata_weights(self.survey, weights)
            return weighing(self.reports, weights, strata)
        _needs_weights(strata)
        return None

    def _of(
        self, weighed: Weighing | None, *questions: str, among: Stratum | None = None
    ) -> Weighing | None:
        """The weights of people of a subgroup who were asked all these questions."""
        if weighed is None:
            return None
        there = _asked(self.reports, *questions)
        for key, value in (among or {}).items():
            there &= _inside(self.reports, key, value)
        return weighed.among(there)

    def _pairs(self, first: int, second: int) -> Blocks:
        """What each respondent reported to two questions, by their indices."""
        if self._tallied is None:
            return values_of(self.reports, self._names(first, second))
        names = [self.survey.questions[index].name for index in (first, second)]
        return pair_blocks(self._both(self._tallied.whole, names))

    def _pairs_by(self, by: str, first: int, second: int) -> Iterator[tuple[str, Blocks]]:
        """The same for each value of a key of which somebody was asked both."""
        self._values(by)
        names = [self.survey.questions[index].name for index in (first, second)]
        if self._tallied is None:
            for value, part in self.reports.by(by).items():
                if _asked(part, *names).any():
                    yield value, values_of(part, names)
            return
        for value, counts in self._counts_by(by):
            found = self._both(counts, names)
            if any(found.values()):
                yield value, pair_blocks(found)

    def _counts_by(self, by: str) -> Iterator[tuple[str, Counts]]:
        """The counts of each value of a key in a tally file. Raises NoResults."""
        assert self._tallied is not None
        for value in self._values(by):
            yield value, self._tallied.among({by: value})

    def _both(self, counts: Counts, names: Sequence[str]) -> Groups:
        """What a tally file has of two questions. Raises NoResults, and NoFigure for very many."""
        one, other = names
        found = counts.both(one, other)
        if found is None:
            raise NoResults(
                f"{self.survey.name}: this tally file has no pairs of {one} and {other}; count them"
                f" with deniably tally ... --pair {one} {other}"
            )
        if (n := sum(found.values())) > MOST_PAIRS:
            raise NoFigure(
                f"a cross-table is of at most {MOST_PAIRS:,} pairs of reports, and not"
                f" {n:,}; the tally file has their counts, under pairs"
            )
        return found

    def _quantiles(
        self,
        question: Number,
        group: Buckets,
        every: Mapping[str, tuple[SurveyResult, Tally | None]],
        share: float,
        confidence: float,
    ) -> Findings:
        """The quantile of each group that has one."""
        found, silent = dict[str, Findings](), list[str]()
        for value, (document, tally) in every.items():
            try:
                found[value] = self._quantile(question, group, document, tally, share, confidence)
            except NoFigure as error:
                silent.append(f"{value}: {error}")
        if not found:
            raise NoFigure("; ".join(silent))
        shown = findings.side_by_side(question.label, found)
        return replace(shown, notes=[*shown.notes, *silent])

    def _quantile(
        self,
        question: Number,
        group: Buckets,
        document: SurveyResult,
        tally: Tally | None,
        share: float,
        confidence: float,
    ) -> Findings:
        """A quantile from a tally, or without one as the document has it."""
        (shown,) = document.questions
        assert isinstance(shown, NumberResult)
        known = [] if shown.quantiles is UNSET else shown.quantiles
        if tally is not None:
            known = [
                QuantileResult(
                    share=share,
                    low=group.ranges[one.bucket][0],
                    high=group.ranges[one.bucket][1],
                    interval=[group.ranges[one.low][0], group.ranges[one.high][1]],
                )
                for one in number_distribution(question, tally, confidence, [share]).quantiles
            ]
        for one in known:
            if one.share == share:
                return findings.of_quantile(document, one, group.unit, shown.n)
        if known:
            self.reports.among({})  # raises, and says why there are none, or none of a group
        raise NoFigure(f"{question.name}: these reports do not determine its quantiles")

    def _names(self, *chosen: int) -> list[str]:
        """The names of questions, by their indices."""
        return [self.survey.questions[index].name for index in chosen]

    def _question(self, name: str) -> Question:
        return self.survey.questions[self._index(name)]

    def _index(self, name: str) -> int:
        names = [question.name for question in self.survey.questions]
        if name not in names:
            raise NoFigure(f"{self.survey.name} has no question {name}{nearest(name, names)}")
        return names.index(name)

    def _side(self, question: str, part: str | None, weighed: Weighing | None = None) -> Side:
        found, weighted = self._question(question), None
        if weighed is not None:
            weighted = WeightedReports(self.reports, found, weighed, part)
        asked = followed(self.survey, question, self._followed(question, {}, weighed))
        return Side(
            self.survey, found, self._tallies[question], part, weighted=weighted, followed=asked
        )

    def _followed(
        self, question: str, strata: Stratum, weighed: Weighing | None
    ) -> dict[str, FollowUpCounts]:
        """The joint counts of a question with ``show_if``, of a subgroup, with weights if any."""
        if weighed is None:
            return self._together(question, strata)
        one = follow_ups(self.survey).get(question)
        if one is None:
            return {}
        reports: ReportRows = self.reports
        for key, value in strata.items():
            weighed = weighed.among(_inside(self.reports, key, value))
            reports = self.reports.by(key)[value]
        return {question: counts_of(one, reports, weighed)}


def _buckets(question: Question) -> Buckets | None:
    """The ranges of a number that was asked with aim: distribution."""
    return next((one for one in groups(question) if isinstance(one, Buckets)), None)


def _is_counted(question: Question) -> bool:
    """Whether its reports can be counted by choice; else its mean is compared."""
    return isinstance(question, OfChoices) and isinstance(question.mechanism.law, Supporting)


def _inside(reports: ReportSet, by: str, value: str) -> npt.NDArray[np.bool_]:
    """Which reports are of this value of a key."""
    found: npt.NDArray[np.bool_] = np.array(reports.strata[by], object) == value
    return found


def _needs_weights(strata: str | Sequence[str] | None) -> None:
    if strata is not None:
        raise NoFigure("strata= is for the errors of weighted figures: give weights=, too")


def _asked(reports: ReportSet, *questions: str) -> npt.NDArray[np.bool_]:
    """Whose reports are about all of these."""
    there = [reports.answered(question).asked for question in questions]
    found: npt.NDArray[np.bool_] = np.logical_and.reduce(there)
    return found


def _only(question: str | None, found: SurveyResult) -> SurveyResult:
    """The results of one question, or of all."""
    chosen = [one for one in found.questions if question in (None, one.name)]
    return structs.replace(found, questions=chosen)


def _check(confidence: float) -> None:
    if not LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE:
        raise NoFigure(
            f"the confidence is {confidence:g}; it is from {LEAST_CONFIDENCE} to {MOST_CONFIDENCE},"
            " such as 0.95"
        )
