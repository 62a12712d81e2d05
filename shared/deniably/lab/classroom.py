"""Prepares a class that surveys itself: how precise the result will be, and its estimate within the
funnel of the experiment ``noise_averages_out``.

A class may want to know only about its own people (Genest, Hanley and Bhatnagar 2024). Then the
noise of the reports is the only error. If the people stand for others, the error is wider.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

from deniably.core.table import Cell
from deniably.design.planning import Goal, margin_for, share_goal
from deniably.estimation.figures import Average, Buckets, Share, Shares, SingleMean, groups
from deniably.lab.catalogue import Case, entries
from deniably.results.document import QuestionResult
from deniably.results.drawing.rounding import half
from deniably.results.drawing.row import Row
from deniably.results.shown import of_choice, of_mean
from deniably.survey.odds import odds_text
from deniably.survey.questions import Point, Product, Question
from deniably.survey.survey import Survey
from deniably.wording.words import Words

FUNNEL, TREE = "noise-averages-out", "coins"
"""The names of the two experiments that a class looks at."""
_MOST_PEOPLE = 1_000_000
"""The largest number of people in a funnel."""
TELLING = 9
"""Odds that a class of 30 may prefer, because they protect less and show more."""


@dataclass(frozen=True)
class GuessTarget:
    """The figure that a class guesses before it sees the result: the first figure of a question,
    with a value from ``low`` to ``high``.

    ``label`` is the choice whose share the figure is, empty for a mean, which has a ``unit``.
    ``number`` is the position of the question, counted from 1, among the questions to which the
    experiment ``noise_averages_out`` (the funnel) applies.
    """

    label: str
    low: float
    high: float
    unit: str
    number: int

    def part(self, value: float) -> float:
        """Returns a value of the figure as a fraction of the range: 0 at ``low`` and 1 at
        ``high``."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class SeenEstimate:
    """The estimate of a ``GuessTarget`` in the survey's results, from ``n`` reports to the
    question."""

    n: int
    row: Row


def target(survey: Survey, question: Question) -> GuessTarget | None:
    """Returns the figure that a class guesses. Returns None if the funnel does not apply to the
    question, or if its first figure is about several things at once, such as a place on a map."""
    number, group = place(survey, question, FUNNEL), groups(question)[0]
    if number is None or group.part is not None or isinstance(question, Point | Product):
        return None
    match group:
        case Shares():
            return GuessTarget(group.figures[0].label, 0.0, 1.0, "", number)
        case SingleMean():
            low, high = group.figure.extent
            return GuessTarget("", float(low), float(high), group.figure.unit, number)
        case Buckets():
            return None


def place(survey: Survey, question: Question, experiment: str) -> int | None:
    """Returns the position of a question, counted from 1, among the survey's questions to which
    the experiment with this name applies; None if the experiment does not apply to the
    question."""
    cases = [case.about for case in entries()[experiment].cases(survey)]
    if question.label not in cases:
        return None
    return cases.index(question.label) + 1


def case(survey: Survey, target: GuessTarget) -> Case:
    """Returns the run of the funnel (the experiment ``noise_averages_out``) on the target's
    question."""
    return [*entries()[FUNNEL].cases(survey)][target.number - 1]


def margin(survey: Survey, question: Question, people: int) -> float:
    """Returns the half-width, as a share, of the 95 % interval that results from ``people``
    people, for the worst spread of answers.

    The interval is for the population that these people are a sample of, like the intervals of
    results.
    """
    figure = groups(question)[0].figures[0]
    assert isinstance(figure, Share | Average)
    variance = figure.variance(question.report_mechanism)
    reports = survey.asked / len(survey.questions)
    # 0.25 is the variance between people who give 0 or 1, half of them each: the largest there is.
    goal = Goal(lambda _: variance, 0.25, reports)
    return margin_for(goal, question.mechanism.loss.epsilon, people).margin


def more_telling(question: Question, people: int) -> float | None:
    """Returns the half-width of the interval that the question would have if its odds were
    ``TELLING``. Returns None if its odds are not lower than that, and for questions other than one
    choice out of several."""
    (first, *_) = groups(question)
    if question.type not in ("yes_no", "select_one"):
        return None
    if question.mechanism.loss.odds_bound >= TELLING:
        return None
    return margin_for(share_goal(len(first.figures)), log(TELLING), people).margin


def sizes(people: int, seen: SeenEstimate | None = None) -> list[int]:
    """Returns, ascending, the numbers of people at which a class's funnel is drawn. ``seen`` is
    the class's estimate, if it is to be drawn in the funnel."""
    sizes_shown = {people, 2 * people, *([seen.n] if seen and seen.n > 1 else [])}
    wider = {min(10, *sizes_shown), max(300, 5 * max(sizes_shown))}
    return sorted({min(size, _MOST_PEOPLE) for size in sizes_shown | wider})


def seen(target: GuessTarget, result: QuestionResult) -> SeenEstimate:
    """Returns the estimate of the target's figure from the results of its question."""
    document: Any = result
    if target.label:
        chosen = next(choice for choice in document.choices if choice.label == target.label)
        return SeenEstimate(result.n, of_choice(chosen))
    return SeenEstimate(result.n, of_mean("", document.mean))


def centre(target: GuessTarget, estimate: SeenEstimate | None) -> Fraction:
    """Returns the share that the funnel is drawn around: the class's estimate as a fraction of the
    range, rounded to hundredths, or 1/2 without an estimate."""
    if estimate is None or not estimate.row.drawn:
        return Fraction(1, 2)
    share = min(max(target.part(estimate.row.estimate), 0.0), 1.0)
    return Fraction(round(100 * share), 100)


def rows_of(target: GuessTarget, estimate: SeenEstimate) -> list[dict[str, Cell]]:
    """Returns three rows that add the estimate to the funnel's picture: one with the estimate, and
    two with the ends of its interval. Returns an empty list for an estimate that is too uncertain
    to be drawn."""
    if not estimate.row.drawn or estimate.n < 2:
        return []
    people: Cell = estimate.n
    at = target.part(estimate.row.estimate)
    ends: list[dict[str, Cell]] = [
        {"what": "seen", "n": people, "end": target.part(end)} for end in estimate.row.interval
    ]
    return [{"what": "seen", "n": people, "estimate": min(max(at, 0.0), 1.0)}, *ends]


def precision(
    survey: Survey, question: Question, target: GuessTarget, people: int, words: Words,
    alone: float | None = None,
) -> list[str]:  # fmt: skip
    """Returns sentences that state how far off the estimate from this number of people may be, and
    what would make it more precise. ``alone`` is the half-width, as a share, of the interval for
    exactly these people; None leaves out the sentence about it."""

    def points(of: float) -> str:
        return written(half(of), words)

    key = "class.share" if target.label else "class.mean"
    of_all, second = (points(margin(survey, question, n)) for n in (people, 2 * people))
    sentences = [words(key, people=people, label=target.label, margin=of_all)]
    if alone is not None:
        sentences.append(words("class.coins", margin=points(alone)))
    sentences.append(words("class.second", people=2 * people, margin=second))
    if (telling := more_telling(question, people)) is not None:
        own = written(odds_text(question.mechanism.loss.odds_bound), words)
        more = points(telling)
        sentences.append(words("class.telling", odds=TELLING, own=own, margin=more))
    return sentences


def written(number: str, words: Words) -> str:
    """Returns ``number``, a text in English style, with the digit separators and the decimal point
    of the language of ``words``."""
    return number.translate({ord(","): words("number.group"), ord("."): words("number.point")})
