"""Holds a closed survey with what was collected, and answers what an analyst asks in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from deniably.core.errors import NoFigure
from deniably.core.table import Table
from deniably.exhibits import question_exhibit, stratum_exhibit
from deniably.exhibits.comparison import Comparison
from deniably.exhibits.paper import paper
from deniably.exhibits.results_table import Results, as_results
from deniably.exhibits.tabular import Findings
from deniably.results.drawing.paper_figure import WIDTHS, Svg, svg
from deniably.results.drawing.png import Png, png
from deniably.results.result import CONFIDENCE
from deniably.results.writing.publication import Publication
from deniably.survey.questions import Number
from deniably.survey.survey import Survey
from deniably.workbench import findings
from deniably.workbench.collected import Collected, check_confidence
from deniably.workbench.comparing import by_strata, compared, crosstab, difference, over_waves
from deniably.workbench.data_source import Provenance, publication
from deniably.workbench.distributions import distribution, grouped, quantile
from deniably.workbench.findings import Passage, Subgroups
from deniably.workbench.models.report_weights import StratumWeights, need_strata_weights
from deniably.workbench.report_set import ReportSet
from deniably.workbench.weighted_figures import (
    needs_weights,
    rake_to,
    weighing_of,
    weighted,
)

if TYPE_CHECKING:
    from deniably.design.power import Powered, TestOf
    from deniably.workbench.models.estimators import Law, Link
    from deniably.workbench.models.fit import StandardErrors
    from deniably.workbench.models.fitted_regression import Regression


@dataclass(frozen=True, eq=False, repr=False)
class Study(Table):
    """A closed survey and its reports, as ``deniably.open`` returns them.

    Printed, a study shows its title and a line for each question: type, reports, mechanism and
    epsilon. ``n`` is the number of respondents. ``source`` is what a server's register proves
    about the survey; None for reports that were not opened from a server or an export.

    A study of a tally file has counts and no reports: methods that need whole reports then raise
    NoResults.

    Methods that estimate return a frozen value with ``to_frame()`` and ``to_dict()``, which is
    printed as a table. All of them estimate from randomised reports, under the same assumptions:
    people answered as they were asked, devices kept to the design, and respondents are a random
    sample of the population that intervals are for.

    The class is long because its docstrings are the reference of the library: each method is a few
    lines that call ``collected``, ``distributions``, ``weighted_figures`` or ``comparing``.
    """

    source: Provenance | None
    _collected: Collected

    @property
    def survey(self) -> Survey:
        """Returns the definition of the survey, as its author signed it."""
        return self._collected.survey

    @property
    def state(self) -> str:
        """Returns "open" or "closed"."""
        return self._collected.state

    @property
    def n(self) -> int:
        """Returns the number of respondents."""
        return self._collected.n

    @property
    def reports(self) -> ReportSet:
        """Returns the randomised reports, sorted by content.

        Raises NoResults, with the reason, where there are only counts or a server's results.
        """
        return self._collected.reports

    @property
    def has_reports(self) -> bool:
        """Returns whether there are reports, and not only results or counts."""
        return self._collected.has_reports

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
        """Estimates all figures of a ``question``, or of all questions, as the server shows them.

        **Estimator.** Unbiased shares by the inverse of the channel (Warner 1965; Wang et al.
        2017); means of unbiased scores; distributions by expectation maximisation (Li et al.
        2020). With weights, weighted means of unbiased scores (Binder 1983). **Assumption.** Those
        of every ``Study`` method; weights depend on strata alone.

        ``confidence`` is from 0.5 to 0.999. ``smooth`` fits smooth distributions of numbers; use
        it only if you know them to be smooth. ``by`` is a key of the survey's strata, such as
        "site": each value of the key that has results is estimated by itself. The columns are
        those of ``results.csv``.

        With ``weights`` the shares and means of one question are weighted. ``weights`` has a
        weight for each stratum, such as ``{"north": 1.2, "south": 0.8}``, or is the result of
        ``study.rake(margins)``. A list with a weight for each person is refused, as reports are
        sorted by content. With several keys a stratum is the tuple of its values, in alphabetical
        order of the keys. ``strata`` are keys: the errors of weighted figures are then those
        within strata.

        Raises NoFigure for an unknown question or key, BadModel for weights that do not fit, and
        NoResults where a server refuses or a tally file has no counts by stratum.
        """
        if weights is not None:
            if question is None:
                raise NoFigure("weights are for one question at a time: name it")
            return weighted(self._collected, question, weights, by, strata, confidence)
        needs_weights(strata)
        if by is None:
            return as_results(self._collected.document(question, confidence, smooth=smooth))
        documents = self._collected.subgroups(question, by, confidence, smooth=smooth)
        return findings.of_subgroups(self.survey.title, documents)

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
        """Estimates the mean of a number or of a scale's scores. For a question about several
        numbers, ``part`` names one of them.

        **Estimator.** The mean of unbiased scores of the reports (Horvitz and Thompson 1952;
        Duchi, Jordan and Wainwright 2018). **Assumption.** Those of every ``Study`` method.

        ``estimate``, ``standard_error`` and ``interval`` are in the question's unit. ``by``,
        ``weights`` and ``strata`` are as in ``estimate``. Raises NoFigure where the question has
        no mean, and what ``estimate`` raises.
        """
        if weights is not None:
            table = weighted(self._collected, question, weights, by, strata, confidence)
            return findings.means_alone(table, part)
        needs_weights(strata)
        if by is None:
            return findings.of_mean(self._collected.document(question, confidence), part)
        documents = self._collected.subgroups(question, by, confidence)
        return findings.side_by_side(
            self._collected.question(question).label,
            {value: findings.of_mean(document, part) for value, document in documents.items()},
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
        """Estimates how the answers to a question are distributed: the share of each choice, or of
        each range of a number.

        **Estimator.** Shares of choices are unbiased (Warner 1965; Wang et al. 2017). Ranges of a
        number are fitted for display by expectation maximisation (Li et al. 2020), and the shares
        up to the end of each range are unbiased. With weights, ranges are fitted as to unweighted
        people, who are so few that no share up to an end is less uncertain than with weights (Korn
        and Graubard 1998). **Assumption.** Those of every ``Study`` method; ``smooth`` assumes one
        broad hump besides.

        ``by``, ``weights`` and ``strata`` are as in ``estimate``. Raises NoFigure where there is
        no distribution, and what ``estimate`` raises.
        """
        if weights is not None and not isinstance(self._collected.question(question), Number):
            table = weighted(self._collected, question, weights, by, strata, confidence)
            return findings.shares_alone(table)
        weighed = weighing_of(self._collected, weights, strata)
        return distribution(self._collected, question, confidence, by, weighed, smooth=smooth)

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
        """Estimates the number up to which a ``share`` of the answers lies; 0.5 gives the median.

        **Estimator.** The range in which the fitted distribution reaches the share. The interval
        holds all ranges that a likelihood-ratio test (Wilks 1938), or the margins of the shares up
        to the end of each range, leave possible. With weights, test and margins are those of an
        effective number of people (Korn and Graubard 1998). **Assumption.** Those of every
        ``Study`` method.

        ``by``, ``weights`` and ``strata`` are as in ``estimate``; groups whose reports do not
        determine the quantile are named below the table. Raises NoFigure unless the question is a
        number with ``aim: distribution`` whose reports determine the quantile, and what
        ``estimate`` raises.
        """
        weighed = weighing_of(self._collected, weights, strata)
        return quantile(self._collected, question, share, confidence, by, weighed)

    def groups(self, question: str, count: int = 3) -> Findings:
        """Finds ``count`` groups of people on the map of a question, such as two towns.

        **Estimator.** K-means of the areas of the map, weighted with their shares for display;
        errors are from repetitions of the survey in simulation. **Assumption.** Those of every
        ``Study`` method, and that people fall into ``count`` groups: k-means finds so many groups
        in any data.

        The columns are those of the server's ``groups.csv``. Raises NoFigure unless the question
        is for a place on a map and ``count`` is from 1 to 12, NoResults where there are neither
        reports nor counts, and ImportError without scikit-learn.
        """
        return grouped(self._collected, question, count)

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
        """Crosses two questions with choices: estimates the shares of all pairs of answers.

        **Estimator.** Joint shares are estimated by the inverses of both channels, from whole
        reports; shares within a row or a column are ratios of joint shares. Independence is tested
        by permutation (Fisher 1935; Phipson and Smyth 2010). With weights, joint shares are
        weighted means of unbiased joint scores (Binder 1983), and the test is that of Rao and
        Scott (1984). **Assumption.** Those of every ``Study`` method; weights depend on strata
        alone.

        The columns are those of the server's ``crosstab.csv``. ``by`` is a key of the strata: each
        of its values with reports to both questions has a cross-table of its own. ``weights`` and
        ``strata`` are as in ``estimate``. Raises NoFigure for questions that cannot be crossed,
        BadModel for weights that do not fit, and NoResults where there are neither reports nor
        counts of the pair.
        """
        check_confidence(confidence)
        weighed = weighing_of(self._collected, weights, strata)
        return crosstab(self._collected, rows, columns, confidence, by, weighed)

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
        """Tests differences: between the choices of a question, between strata, or between two
        studies.

        **Estimator.** The difference of unbiased estimates, with a score test; p-values of several
        tests at once are adjusted (Holm 1979). With weights, the difference of weighted means, and
        the test at the effective number of people (Korn and Graubard 1998). **Assumption.** Those
        of every ``Study`` method. Two studies are assumed to have different people; if the same
        people are in both, as in two waves, the test is cautious.

        By default every two choices are compared. ``by`` is a key of the strata: each choice, or
        the mean, is then compared between every two of its values. With an ``other`` study, each
        choice, or the mean, is compared between the two studies. For a question about several
        numbers, ``part`` names the number to compare. ``weights`` and ``strata`` are as in
        ``estimate``; ``other_weights`` are those of the other study. Raises NoFigure where the
        figures cannot be compared, BadModel for weights that do not fit, and NoResults where there
        are no reports or counts to test.
        """
        return difference(
            self._collected, question, by,
            None if other is None else other._collected, part, confidence,
            weighing_of(self._collected, weights, strata), other_weights,
        )  # fmt: skip

    def trend(
        self, question: str, earlier: Sequence[Study], *, confidence: float = CONFIDENCE
    ) -> Findings:
        """Tests what changed over waves: this study is the last, after the ``earlier`` ones.

        **Estimator.** The last wave less the first with a score test, and a linear trend over all
        waves; the p-values of all tests of the question are adjusted (Holm 1979). **Assumption.**
        Those of every ``Study`` method, and waves at equal distances. The same people in several
        waves make the first test cautious; the trend is tested for the worst correlation of their
        answers.

        The columns are those of the server's ``waves.csv``. To follow a subgroup, open each wave
        as ``(survey, reports.among(...))``. Raises NoFigure where the waves did not ask the
        question alike, and NoResults where a wave has neither reports nor counts.
        """
        waves = [study._collected for study in (*earlier, self)]
        return over_waves(waves, question, confidence)

    def compare(
        self,
        comparison: Comparison[Any],
        question: str,
        *,
        confidence: float = CONFIDENCE,
        **asked: str,
    ) -> Findings:
        """Compares figures of a question in the way that ``comparison`` describes.

        **Estimator** and **Assumption.** Those that the comparison states.

        ``asked`` are the parameters that the comparison needs, such as ``choice="yes"``. Raises
        NoFigure where a parameter is missing or the figures cannot be compared, and NoResults
        where there are neither reports nor counts.
        """
        return compared(self._collected, comparison, question, asked, confidence)

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
        """Fits a regression to the reports, such as ``"stolen ~ often + score(happy) + C(site)"``.

        **Estimator.** Maximum likelihood through the channel of the reports (Scheers and Dayton
        1988); if there are randomised covariates, the likelihood is summed over their true
        answers, by EM (Louis 1982). If the covariates include both questions and strata, the
        corrected score (Nakamura 1990). **Assumption.** Those of every ``Study`` method; lies that
        are correlated with a covariate bias its coefficient.

        Questions and stratum keys are named in the formula. ``weights`` has a weight for each
        stratum, as in ``estimate``; ``strata`` are keys, and the errors of a weighted model are
        then those within strata. The other parameters are as in ``deniably.regress``. Raises
        BadModel for a formula, question or weights that do not fit, NoEstimate where the reports
        do not determine the coefficients, and NoResults where there are no reports.
        """
        if weights is not None:
            need_strata_weights(self.survey, weights)
        return self.reports.regress(
            formula, weights=weights, strata=strata, link=link, law=law, se=se,
            confidence=confidence,
        )  # fmt: skip

    def rake(self, margins: Mapping[str, Mapping[str, float]]) -> StratumWeights:
        """Returns a weight for each stratum, so that weighted shares of strata are equal to known
        shares, the ``margins``, such as ``{"site": {"north": 0.4, "south": 0.6}}``.

        **Estimator.** Of all weights that meet the margins, those nearest to equal weights (Deming
        and Stephan 1940; Deville and Sarndal 1992). **Assumption.** Within strata respondents are
        a random sample.

        The result maps each stratum that has reports to its weight, with mean 1 over the reports,
        and cannot be changed; give it to any method as ``weights``. If the study is a tally file,
        only ``estimate`` and ``mean`` take weights, for questions whose reports are one number
        each. Raises BadModel for margins that are not of strata or do not sum to 1, NoEstimate
        where no weights meet them, and NoResults where there are neither reports nor counts by
        stratum.
        """
        return rake_to(self._collected, margins)

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
        """Plans a test: the number of respondents for a ``power``, or the power of ``n``
        respondents.

        **Estimator.** For shares, the exact distribution of the counts that the two-sided tests
        use; for slopes, a simulation of the fit; for means, the normal power of a score test
        (Fleiss, Levin and Paik 2003, 4.2). All include the variance that the randomisation adds.
        **Assumption.** Those of every ``Study`` method.

        Without ``power`` and ``n``, the power is that of as many respondents as this study has.
        The test is of a difference from a fixed value; or with ``by``, a key of the strata, of a
        difference between two groups. ``first`` is the share of respondents in the first group. By
        default it is their share in this study if the key has two values and the numbers of their
        respondents are known, else a half. The other parameters are as in
        ``deniably.workbench.plan_power``, which says when ValueError is raised. Raises NoFigure
        for an unknown question or key.
        """
        from deniably.design.power import plan_power

        if question is not None:
            self._collected.question(question)
        if by is not None:
            first = self._collected.first_part(by) if first is None else first
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
        """Draws the figure of a question for a paper.

        The figure is that of the results page; with ``by``, a key of the strata, that of the page
        that compares the values of the key. ``kind`` "svg" returns the text of an SVG file, and
        "png" a PNG file with 600 dots an inch. ``width`` is 85 or 180 mm: one column of a journal,
        or two. Raises NoFigure for an unknown question, key or kind, ValueError for other widths,
        NoResults where ``by`` needs reports or counts and there are none, and for a PNG
        ImportError without resvg and OSError without a font.
        """
        if kind not in ("svg", "png"):
            raise NoFigure(f"there is no kind of figure {kind!r}; there are svg and png")
        closed = self.source.closed if self.source else ""
        if by is None:
            document = self._collected.document(question, confidence)
            shown = question_exhibit.exhibit(document, question, closed)
        else:
            apart = by_strata(self._collected, question, by, confidence)
            shown = stratum_exhibit.exhibit(apart, self.survey, self.state, closed)
        drawing = svg(paper(shown), width)
        return drawing if kind == "svg" else png(drawing)

    # --- the paper --------------------------------------------------------------------------

    def sentence(self, question: str, *, confidence: float = CONFIDENCE) -> Passage:
        """Returns a sentence for a paper with the finding of a question, its interval, n and
        mechanism.

        Raises NoFigure for an unknown question, and NoResults where a server refuses.
        """
        return Passage(self._publication(question, confidence).sentence(question))

    def methods(self, style: str = "apa") -> Passage:
        """Returns the methods section of a paper, with its references.

        Raises NoFigure for another style than "apa", and NoResults where a server refuses.
        """
        try:
            return Passage(self._publication(None, CONFIDENCE).methods(style))
        except ValueError as error:
            raise NoFigure(str(error)) from None

    def cite(self, style: str = "bibtex") -> Passage:
        """Returns the citation of the study: as "apa", "bibtex", "ris" or "cff".

        Raises NoFigure for another style, and NoResults where a server refuses.
        """
        try:
            return Passage(self._publication(None, CONFIDENCE).cite(style))
        except ValueError as error:
            raise NoFigure(str(error)) from None

    # --- below ------------------------------------------------------------------------------

    def _publication(self, question: str | None, confidence: float) -> Publication:
        document = self._collected.document(question, confidence)
        if self.source is None:
            return Publication(document, self.survey)
        return publication(document, self.survey, self.source)
