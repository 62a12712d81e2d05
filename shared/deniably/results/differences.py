"""Tests whether shares and means differ, within a survey or between two, and states the outcome in
a sentence.

The hypothesis tests are in ``estimation.difference`` and ``estimation.means``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Protocol, TypedDict, TypeVar

import numpy as np

from deniably.core.errors import Incomparable
from deniably.estimation import question_means, question_shares
from deniably.estimation.blank_laws import support_of_both
from deniably.estimation.difference import (
    Difference,
    Moments,
    SupportCount,
    against,
    between_choices,
    between_groups,
    between_means,
    holm,
)
from deniably.estimation.difference_among_asked import against_share, between_asked
from deniably.estimation.estimate import supports
from deniably.estimation.figures import SingleMean, groups
from deniably.estimation.intervals import IntervalEnds
from deniably.estimation.inversion import Mean
from deniably.estimation.means import against_value, between_ratios, ratio_and_value
from deniably.estimation.shares_among_asked import ShareAmong
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Supporting
from deniably.results.among_asked import FollowUpReports
from deniably.results.bands import band, bands
from deniably.results.drawing import rounding
from deniably.survey.questions import Number, OfChoices, Question, Scale, VectorOfNumbers
from deniably.survey.readable import number_text, rounded
from deniably.survey.strata import Stratum, stratum_text
from deniably.survey.survey import Survey, Waves

NOT_OF_MEANS = "the question has no mean"
RISK = 0.05
"""The p-value below which two figures are said to differ."""

Contrast = Mapping[str, float] | None
"""A figure of a question: {choice: factor}, with factors such as 1 and -1, or None for the mean."""

_T = TypeVar("_T")
_AMONG = "of those asked"
_MOST_AT_ONCE = 20
_NO_MEAN = "the reports to this question give no mean"


class DifferenceResult(TypedDict):
    """An unbiased estimate of a difference, in the unit of the compared figures (shares from 0 to
    1), with standard error, p-value and interval.

    ``interval`` has ``confidence`` and inverts the test of ``p_value``: it leaves out 0 exactly if
    the p-value is below 1 - confidence. ``interval_80`` and ``interval_50`` do the same at 80 and
    50 %; each is None unless its level is below the confidence. If no possible mean explains the
    reports, the test rejects every value of the mean, and the interval is that of the nearest
    possible mean.

    ``labels`` are those of the compared choices, and ``names`` their names in the definition; both
    are empty for means. ``note`` qualifies the test where the two surveys are waves of one panel,
    otherwise it is None.
    """

    compared: str
    names: list[str]
    labels: list[str]
    estimate: float
    standard_error: float
    confidence: float
    interval: list[float]
    interval_80: list[float] | None
    interval_50: list[float] | None
    p_value: float
    sentence: str
    note: str | None


class AdjustedResult(DifferenceResult):
    """One of many comparisons, with a p-value adjusted for all of them. If every comparison with an
    adjusted p-value below 0.05 is called a difference, the probability that any of these calls is
    false is at most 0.05. The interval is for this comparison alone, as ``p_value`` is."""

    adjusted_p_value: float


class DifferencesResult(TypedDict):
    """Several comparisons, with p-values that are adjusted for testing all of them; ``adjustment``
    names the method.

    ``n`` is the number of reports to the question in ``survey``; ``other`` is the name of the
    second survey, None if choices of one survey are compared. ``strata`` has the values that the
    subgroup of these reports fixes; it is empty for everybody.
    """

    survey: str
    question: str
    question_name: str
    strata: dict[str, str]
    other: str | None
    n: int
    confidence: float
    adjustment: str
    differences: list[AdjustedResult]


class Weighted(Protocol):
    """The reports to a question, with survey weights."""

    def tally(self, contrast: Contrast) -> Tally:
        """Returns the tally of a fictitious unweighted sample that gives the figure named by
        ``contrast`` the same estimate and variance as the weighted reports."""
        ...

    def error(self, contrast: Contrast) -> float:
        """Returns the linearised standard error of the weighted figure that ``contrast`` names; 0
        if all reports are the same."""
        ...


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison: a question of ``survey`` with the tally of its reports.

    ``part`` names the number whose mean is compared, in a question with several numbers.
    ``stratum`` has the values that the reports' subgroup fixes, None for everybody. ``weighted``
    has the weighted reports, if there are weights; figures are then weighted. ``followed`` has the
    reports to a question with ``show_if``; shares are then of those who were asked. It is None for
    other questions.
    """

    survey: Survey
    question: Question
    tally: Tally
    part: str | None = None
    stratum: Stratum | None = None
    weighted: Weighted | None = None
    followed: FollowUpReports | None = None

    def tally_for(self, contrast: Contrast) -> Tally:
        """Returns the tally from which the figure that ``contrast`` names is estimated: without
        weights ``tally``, with weights that of ``weighted``."""
        return self.tally if self.weighted is None else self.weighted.tally(contrast)

    @property
    def place(self) -> str:
        """A name that tells the reports of this side from those of the other side: the stratum in
        words, or the survey's name if there is no stratum."""
        return stratum_text(self.stratum) if self.stratum else self.survey.name

    def answers(self, choice: str, contrast: Contrast = None) -> SupportCount:
        """Returns, for ``choice``, the number of reports that support the choice and the number of
        all reports to the question, from the tally for ``contrast``. Raises Incomparable if the
        question has no choices whose reports can be counted, or no choice of this name."""
        question, law = self.question, self.question.mechanism.law
        if not isinstance(question, OfChoices) or not isinstance(law, Supporting):
            raise Incomparable("the question has no choices whose reports can be counted")
        if choice not in question.names:
            raise Incomparable("“choice” is one of " + ", ".join(question.names))
        seen = supports(self.tally_for(contrast or {choice: 1.0}), law)
        v = question.names.index(choice)
        return SupportCount(seen.counts[v].item(), seen.n[v].item(), seen.p, seen.q, seen.coins)

    def chosen(self, choice: str) -> tuple[str, str]:
        """Returns (name, label) of a choice of the question, given its name."""
        assert isinstance(self.question, OfChoices)
        return choice, self.question.choices[self.question.names.index(choice)].label

    @property
    def choices(self) -> list[str]:
        """The names of all choices that are compared; in a question with ``show_if``, without "not
        applicable". Raises Incomparable for a question without choices, or with more than 20."""
        question = self.question
        if not isinstance(question, OfChoices) or len(question.names) > _MOST_AT_ONCE:
            raise Incomparable(
                f"many comparisons are for questions of up to {_MOST_AT_ONCE} choices"
            )
        # Only for its errors: raises if reports to this question cannot be counted by choice.
        self.answers(question.names[0])
        if self.followed is not None:
            return [question.names[answer] for answer in self.followed.follow_up.answers]
        return question.names

    def among_asked(self, choice: str) -> ShareAmong:
        """Returns the share of a choice among those who were asked. Raises Incomparable if there is
        no such choice, or if the reports do not determine the shares."""
        if choice not in self._among_asked:
            raise Incomparable("“choice” is one of " + ", ".join(self._among_asked))
        return self._among_asked[choice]

    @cached_property
    def _among_asked(self) -> dict[str, ShareAmong]:
        assert self.followed is not None
        follow_up = self.followed.follow_up
        estimates = self.followed.estimate(self.tally, question_shares.CONFIDENCE)
        if estimates is None:
            raise Incomparable("these reports do not tell what those answered who were asked")
        names = [follow_up.question.names[answer] for answer in follow_up.answers]
        return dict(zip(names, estimates.shares, strict=True))

    @property
    def group(self) -> SingleMean:
        """The mean that is compared, with its estimator. Raises Incomparable if the question has no
        mean, or if ``part`` names none of its numbers."""
        return _mean_of(self.question, self.part)

    @property
    def unit(self) -> tuple[object, ...]:
        """The properties that two means must share to be comparable: type of question, unit, and
        the scores of a scale."""
        scores = self.question.values if isinstance(self.question, Scale) else ()
        return type(self.question), self.group.figure.unit, *scores

    @property
    def mean(self) -> Mean:
        """The estimated mean, from which margins at any confidence follow, as in the results.
        Raises Incomparable if the reports give no mean."""
        return _required(self.group.estimate(self.tally_for(None), question_shares.CONFIDENCE))

    @property
    def ratio(self) -> question_means.Ratio | None:
        """The mean among people who have a score (who did not answer "not applicable"), a ratio of
        two estimates; None if everybody has a score. Raises Incomparable if the estimated number of
        people with a score is not above 0."""
        if not question_means.is_ratio(self.question):
            return None
        mean = question_means.mean_of_scored(self.question, self.tally_for(None))
        return mean if mean.estimate is not None else _required(None)

    @property
    def moments(self) -> Moments:
        """The moments of reports that the score test of a mean needs. Raises Incomparable if the
        reports give no mean."""
        index = self.group.figure.index
        assert isinstance(self.question, Number | Scale | VectorOfNumbers)  # all that have a mean
        try:
            return _required(
                question_means.moments_of_mean(self.question, self.tally_for(None), index)
            )
        except ValueError:
            return _required(None)


@dataclass(frozen=True)
class StatedDifference:
    """The outcome of a comparison: ``what`` was compared, in words, the ``difference``, (name,
    label) of each compared choice in ``chosen``, and a ``note`` that qualifies the test."""

    what: str
    difference: Difference
    chosen: tuple[tuple[str, str], ...] = ()
    note: str | None = None

    def result(self, confidence: float = question_shares.CONFIDENCE) -> DifferenceResult:
        """Returns the document of this comparison, for a comparison that is made alone: its
        p-value is not adjusted."""
        return self._result(
            confidence, self.difference.p_value, rounding.p_value(self.difference.p_value)
        )

    def adjusted(self, p_value: float, tests: int, confidence: float) -> AdjustedResult:
        """Returns the document of this comparison as one of ``tests`` comparisons. ``p_value`` is
        the adjusted p-value, which decides whether the figures are said to differ; the sentence
        states both p-values."""
        text = alone = rounding.p_value(self.difference.p_value)
        if tests > 1:
            adjusted = rounding.p_value(p_value)
            text = f"{adjusted}, adjusted for {tests} tests at once; alone, {alone}"
        shown = self._result(confidence, p_value, text)
        return {**shown, "adjusted_p_value": round(p_value, 9)}

    def _result(self, confidence: float, p_value: float, p_text: str) -> DifferenceResult:
        verdict = "differ" if p_value < RISK else "are not shown to differ"
        estimate = self.difference.estimate

        def interval(level: float) -> IntervalEnds:
            low, high = self.difference.interval(level)
            # ``bands`` also serves many intervals at once, so ends are arrays.
            return np.asarray(low), np.asarray(high)

        whole = interval(confidence)
        eighty, fifty = bands(whole, interval, confidence)
        return {
            "compared": self.what,
            "names": [name for name, _ in self.chosen],
            "labels": [label for _, label in self.chosen],
            "estimate": rounded(estimate),
            "standard_error": rounded(self.difference.standard_error),
            "confidence": confidence,
            "interval": [rounded(float(end)) for end in whole],
            "interval_80": band(eighty),
            "interval_50": band(fifty),
            "p_value": round(self.difference.p_value, 9),
            "sentence": (
                f"{self.what[:1].upper()}{self.what[1:]} {verdict}: the estimated difference is"
                f" {estimate:.4g} ({p_text})."
            ),
            "note": self.note,
        }


def pairs(
    here: Side, there: Side | None = None, confidence: float = question_shares.CONFIDENCE
) -> DifferencesResult:
    """Compares all pairs of choices of a question or, with ``there``, each choice in two surveys,
    and returns all comparisons with p-values adjusted by Holm's method.

    Raises Incomparable if the choices cannot be compared: because of the question's type, its
    number of choices, or a different question on the other side.
    """
    if there is None:
        comparisons = [
            choices(here, choice, other) for choice, other in combinations(here.choices, 2)
        ]
    else:
        comparisons = [choice_apart(here, there, choice) for choice in here.choices]
    adjusted = holm([comparison.difference.p_value for comparison in comparisons])
    return {
        "survey": here.survey.name,
        "question": here.question.label,
        "question_name": here.question.name,
        "strata": dict(here.stratum or {}),
        "other": there.survey.name if there else None,
        "n": here.tally.n,
        "confidence": confidence,
        "adjustment": "Holm 1979",
        "differences": [
            comparison.adjusted(p_value, len(comparisons), confidence)
            for comparison, p_value in zip(comparisons, adjusted, strict=True)
        ],
    }


def has_pairs(question: Question) -> bool:
    """Returns whether ``pairs`` can compare the question's choices with each other."""
    return (
        isinstance(question, OfChoices)
        and 2 <= len(question.names) <= _MOST_AT_ONCE
        and _pair_law(question) is not None
    )


def _pair_law(question: Question) -> tuple[Fraction, Fraction] | None:
    """P(a report supports two choices | the answer is one of them), and given another answer."""
    law = question.mechanism.law
    return law.joint.pairs if isinstance(law, Supporting) and law.single else None


def _pair_of_blank(question: Question) -> Fraction | None:
    """P(a blank supports two choices)."""
    law = question.mechanism.law
    return support_of_both(law) if isinstance(law, Supporting) else None


# --- choices ----------------------------------------------------------------------------------


def choice_and_share(side: Side, choice: str, share: float | str) -> StatedDifference:
    """Tests whether the share of a choice equals ``share``, a number from 0 to 1 or its text.
    Raises Incomparable if ``share`` is no such number, or if the question has no such choice."""
    first, wanted = side.answers(choice), _number(share)
    if not 0 <= wanted <= 1:
        raise Incomparable(f"“share” is {wanted:g}; use a number from 0 to 1, such as 0.5")
    chosen = side.chosen(choice)
    if side.followed is not None:
        difference = against_share(side.among_asked(choice), wanted)
        return StatedDifference(
            f"“{chosen[1]}” {_AMONG} and a share of {share}", difference, (chosen,)
        )
    return StatedDifference(
        f"“{chosen[1]}” and a share of {share}", against(first, wanted), (chosen,)
    )


def choices(side: Side, choice: str, other: str) -> StatedDifference:
    """Tests whether two choices of a question have the same share. Raises Incomparable if there is
    no such choice, or if a person may give several answers."""
    contrast = {choice: 1.0, other: -1.0}
    first, second = side.answers(choice, contrast), side.answers(other, contrast)
    pairs = _pair_law(side.question)
    if pairs is None:
        raise Incomparable(
            "two choices can be compared where a person has one answer out of several"
        )
    own, rest = map(float, pairs)
    # One report can name both choices, so their counts covary: the test needs P(both are named).
    difference = between_choices(
        first.count,
        second.count,
        first.n,
        first.p,
        first.q,
        pair_own=own,
        pair_other=rest,
        blanks=(first.coins, float(_pair_of_blank(side.question) or 0)),
    )
    chosen = side.chosen(choice), side.chosen(other)
    what = " and ".join(f"“{label}”" for _, label in chosen)
    return StatedDifference(what, _linearised(difference, contrast, side), chosen)


def choice_apart(here: Side, there: Side, choice: str) -> StatedDifference:
    """Tests whether a choice has the same share in two surveys or strata. Raises Incomparable if
    there is no such choice on a side, or if only one side asks the question under a condition."""
    if (here.followed is None) != (there.followed is None):
        raise Incomparable("one of the two asks this question only of some, and the other of all")
    if here.followed is not None:
        difference = between_asked(here.among_asked(choice), there.among_asked(choice))
        chosen = here.chosen(choice)
        return _apart(f"“{chosen[1]}” {_AMONG}", here, there, difference, (chosen,))
    difference = between_groups(here.answers(choice), there.answers(choice))
    chosen = here.chosen(choice)
    linearised = _linearised(difference, {choice: 1.0}, here, there)
    return _apart(f"“{chosen[1]}”", here, there, linearised, (chosen,))


# --- means ------------------------------------------------------------------------------------


def ends_of_mean(question: Question, part: str | None = None) -> tuple[float, float]:
    """Returns the (lowest, highest) value that a question's mean can have; ``part`` names the
    number in a question with several. Raises Incomparable if the question has no mean."""
    low, high = _mean_of(question, part).figure.ends
    return low, high


def _mean_of(question: Question, part: str | None) -> SingleMean:
    means = [group for group in groups(question) if isinstance(group, SingleMean)]
    if not means:
        raise Incomparable(_NO_MEAN if isinstance(question, Scale) else NOT_OF_MEANS)
    parts = {group.part.name: group for group in means if group.part}
    if not parts:
        return means[0]
    if part not in parts:
        raise Incomparable(
            f"“part” names one of the numbers of {question.name}: {', '.join(parts)}"
        )
    return parts[part]


def mean_and_value(side: Side, value: float | str) -> StatedDifference:
    """Tests whether the mean is ``value``, a number or its text. Raises Incomparable if the mean
    cannot have that value, or if the question or its reports have no mean."""
    (low, high), wanted = side.group.figure.ends, _number(value)
    if not low <= wanted <= high:
        raise Incomparable(f"“value” is a number from {number_text(low)} to {number_text(high)}")
    ratio = side.ratio
    difference = ratio_and_value(ratio, wanted) if ratio else against_value(side.mean, wanted)
    return StatedDifference(f"the mean and {value}", difference)


def mean_apart(here: Side, there: Side) -> StatedDifference:
    """Tests whether the mean is the same in two surveys or strata. Raises Incomparable if a side
    has no mean, if the two means have different units, or if no test of them is possible."""
    if here.unit != there.unit:
        raise Incomparable("means can be compared where both questions have one type and one unit")
    difference = _linearised(_between_means(here, there), None, here, there)
    return _apart("the mean", here, there, difference)


def _between_means(here: Side, there: Side) -> Difference:
    if (ratio := here.ratio) and (other := there.ratio):
        return between_ratios(ratio, other)
    first, second = here.moments, there.moments
    try:
        return between_means(first, second)
    except ValueError as error:
        # No possible mean explains the reports of one side, so the score test has no value.
        raise Incomparable(f"{error}: they differ for certain") from None


# --- below ------------------------------------------------------------------------------------


def _apart(
    what: str,
    here: Side,
    there: Side,
    difference: Difference,
    chosen: tuple[tuple[str, str], ...] = (),
) -> StatedDifference:
    # Equal definitions: two strata of one survey, not two surveys.
    of_one = here.survey.digest == there.survey.digest
    text = (
        f"{what} in {here.place} and in {there.place}"
        if of_one
        else f"{what} here and in {there.place}"
    )
    return StatedDifference(
        text, difference, chosen, None if of_one else _note([here.survey, there.survey])
    )


def _linearised(difference: Difference, contrast: Contrast, *sides: Side) -> Difference:
    """With the standard error of weighted figures, where there are weights and a spread."""
    errors = [side.weighted.error(contrast) for side in sides if side.weighted is not None]
    # Reports that are all the same have no spread to linearise; the test without weights holds.
    if not errors or min(errors) < _ALIKE:
        return difference
    return replace(difference, standard_error=sum(error**2 for error in errors) ** 0.5)


_ALIKE = 1e-12
"""A standard error below this is that of reports that are all alike."""


def _note(surveys: Sequence[Survey]) -> str | None:
    """What the test does not know: the same people may be in two waves of one panel.

    Reports from one memo go together, and so do answers that did not change. The estimated
    difference then varies less than between different people, and false alarms are rarer than the
    test says. They are more frequent only if people swap their answers.
    """
    panels = [survey.waves.panel if isinstance(survey.waves, Waves) else None for survey in surveys]
    if panels[0] is None or panels[0] != panels[1]:
        return None
    text = (
        f"Both are waves of the panel {panels[0]}. The test takes them as samples of different"
        " people; where the same people answer both and rather keep their answers than swap them,"
        " it is cautious and misses some differences."
    )
    if all(survey.count for survey in surveys):  # nothing is kept of an answer
        return text
    return (
        f"{text} People who do not report a changed answer are counted with the old one, so a"
        " change in the panel looks smaller than it is."
    )


def _number(value: float | str) -> float:
    """The number, or nan, which is within no bounds."""
    try:
        return float(value)
    except ValueError:
        return float("nan")


def _required(value: _T | None) -> _T:
    if value is None:
        raise Incomparable(_NO_MEAN)
    return value
