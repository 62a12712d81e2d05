"""Compares the waves of a panel, and tests whether a figure changed.

Each figure has two tests: the last wave against the first, and a linear trend over all waves. The
p-values of a document are adjusted for all its tests (Holm 1979): the probability of any false
change in it is at most 5 %, if the waves are samples of different people.

If the same people answer, the test of the last wave against the first is cautious as long as people
rather keep their answers than swap them. The test of the trend is not by itself: where answers
change gradually, neighbouring waves are more alike than distant ones, which can look like a trend.
So that test assumes the worst correlation of the form r**d between waves d apart. Reports do not
show who is who, so the true correlation cannot be estimated; over many waves, the last wave against
the first is the more powerful test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import TypedDict

from deniably.core.errors import Incomparable
from deniably.estimation import question_means
from deniably.estimation.difference import holm, trend_of_means, trend_of_shares
from deniably.estimation.shares_among_asked import FollowUpCounts
from deniably.estimation.tally import Tally
from deniably.results.among_asked import followed
from deniably.results.differences import (
    RISK,
    DifferenceResult,
    Side,
)
from deniably.results.document import QuestionResult
from deniably.results.result import result
from deniably.results.rows import ResultRow
from deniably.results.side_by_side import (
    FigureHead,
    FigureOfSides,
    FigureResult,
    choices,
    figure_name,
    means,
    shown_figure,
)
from deniably.survey.questions import Number, OfChoices, Question, Scale
from deniably.survey.readable import short_label
from deniably.survey.survey import Survey, Waves

FEWEST = 2
"""The smallest number of waves that can be compared."""
_FEW = 3
"""With more waves than this, the test of a trend has to be cautious."""
_OF_TRENDS = (
    " The test of a trend allows for people who answer all waves and change their answers bit by"
    " bit: neighbouring waves are then alike by chance. Over more than three waves that makes it"
    " miss small trends."
)


@dataclass(frozen=True, eq=False)
class Wave:
    """One wave of a panel: its number, counted from 1, its definition, its state ("open" or
    "closed"), and the tally of every question by name. ``together`` has the joint counts of
    questions with ``show_if``, as in ``results.result.result``."""

    number: int
    survey: Survey
    state: str
    tallies: Mapping[str, Tally]
    together: Mapping[str, FollowUpCounts] = field(default_factory=dict[str, FollowUpCounts])


class OneWave(TypedDict):
    """One of the waves that the document is about. ``number`` is its position, from 1, among all
    waves of the panel, shown or not. ``n`` is the number of its reports."""

    number: int
    survey: str
    state: str
    n: int


class PlaceResult(FigureResult):
    """A figure in the wave with the number ``wave``, with the same numbers as in the wave's own
    results."""

    wave: int


class ChangeResult(TypedDict):
    """The change of a figure, its value in the last wave minus that in the first, with the
    p-values of two tests: whether the change is 0 (``p_value``), and whether there is no linear
    trend over all waves (``trend_p_value``).

    ``adjusted_p_value`` is the smaller of the two p-values after adjustment for all tests of the
    document. ``trend_p_value`` is None for two waves, whose trend is their difference, for a mean
    among people with a score, and for shares among those who were asked. ``direction`` is "rises"
    or "falls" where ``adjusted_p_value`` is below 0.05, "changes" where both tests are significant
    but point in different directions, otherwise None.
    """

    estimate: float
    standard_error: float
    interval: list[float]
    p_value: float
    trend_p_value: float | None
    adjusted_p_value: float
    direction: str | None


class SeriesResult(FigureHead):
    """One figure over the waves: ``places`` has its value in each wave. ``change`` has the tests,
    None where the reports allow no test."""

    places: list[PlaceResult]
    change: ChangeResult | None


class WaveQuestion(TypedDict):
    """One question that all waves ask in the same way, with its choices and its mean; ``mean`` is
    None for a question without one."""

    name: str
    label: str
    short: str
    type: str
    mean: SeriesResult | None
    choices: list[SeriesResult]


class WavesResult(TypedDict):
    """The waves of a panel that are shown, with every question that all of them ask in the same
    way.

    ``survey`` is the name of the survey that was asked for. ``hidden`` is the number of waves that
    are not shown, ``tests`` the number of tests that p-values are adjusted for. ``note`` states
    what the tests cannot take into account, None if there is nothing.
    """

    survey: str
    title: str
    panel: str
    waves: list[OneWave]
    hidden: int
    confidence: float
    adjustment: str
    tests: int
    note: str | None
    questions: list[WaveQuestion]


def waves_result(
    name: str, waves: Sequence[Wave], hidden: int, confidence: float, only: str | None = None
) -> WavesResult:
    """Returns the document of ``waves``, given in their order; ``name`` is the survey that was
    asked for, ``hidden`` the number of waves that are not shown.

    ``only`` is the name of a question to compare; None compares all. P-values are adjusted for all
    tests of the document. The trend is linear in the numbers of the waves, and a hidden wave keeps
    its number. Raises Incomparable for fewer than two waves.
    """
    if len(waves) < FEWEST:
        raise Incomparable("only one wave is shown; two are needed to put side by side")
    last, numbers = waves[-1].survey, [wave.number for wave in waves]
    panel = last.waves.panel if isinstance(last.waves, Waves) else ""
    documents = [
        result(
            wave.survey,
            wave.state,
            wave.tallies,
            confidence=confidence,
            only=only,
            together=wave.together,
        )
        for wave in waves
    ]
    questions = [
        _PanelQuestion(
            numbers, sides, [_of(document.questions, question.name) for document in documents]
        )
        for question in last.questions
        if only in (None, question.name) and (sides := _sides(question, waves))
    ]
    drafts = [draft for question in questions for draft in question.drafts(confidence)]
    tests = [p for draft in drafts for p in draft.p_values]
    # All p-values are adjusted together, then handed back in the order in which they were taken.
    adjusted = iter(holm(tests))
    for draft in drafts:
        draft.adjust([next(adjusted) for _ in draft.p_values])
    return {
        "survey": name,
        "title": last.title,
        "panel": panel,
        "waves": [
            {
                "number": wave.number,
                "survey": wave.survey.name,
                "state": wave.state,
                "n": document.n,
            }
            for wave, document in zip(waves, documents, strict=True)
        ],
        "hidden": hidden,
        "confidence": confidence,
        "adjustment": "Holm 1979",
        "tests": len(tests),
        "note": _note(drafts, len(waves)),
        "questions": [question.shown() for question in questions],
    }


COLUMNS = (
    "panel", "question", "question_label", "figure", "choice", "choice_label", "unit", "wave",
    "survey", "n", "estimate", "low", "high", "confidence", "standard_error", "change",
    "change_low", "change_high", "change_p_value", "trend_p_value", "adjusted_p_value",
)  # fmt: skip
"""The columns of the CSV of ``wave_rows``."""


def wave_rows(document: WavesResult) -> Iterator[ResultRow]:
    """Yields the rows of the CSV, one for each figure in each wave; the change is in the row of the
    last wave."""
    last = document["waves"][-1]["number"]
    for question in document["questions"]:
        series = [*([question["mean"]] if question["mean"] else []), *question["choices"]]
        for figure in series:
            for place, wave in zip(figure["places"], document["waves"], strict=True):
                row: ResultRow = {
                    "panel": document["panel"],
                    "question": question["name"],
                    "question_label": question["label"],
                    "figure": figure_name(figure),
                    "choice": figure["name"],
                    "choice_label": None if figure["name"] is None else figure["label"],
                    "unit": figure["unit"],
                    "wave": wave["number"],
                    "survey": wave["survey"],
                    "n": wave["n"],
                    "estimate": place["estimate"],
                    "low": place["interval"][0],
                    "high": place["interval"][1],
                    "confidence": document["confidence"],
                    "standard_error": place["standard_error"],
                }
                change = figure["change"] if wave["number"] == last else None
                yield row | (_change(change) if change else {})


def _change(change: ChangeResult) -> ResultRow:
    return {
        "change": change["estimate"],
        "change_low": change["interval"][0],
        "change_high": change["interval"][1],
        "change_p_value": change["p_value"],
        "trend_p_value": change["trend_p_value"],
        "adjusted_p_value": change["adjusted_p_value"],
    }


# --- below ------------------------------------------------------------------------------------


def _of(questions: Sequence[QuestionResult], name: str) -> QuestionResult:
    return next(question for question in questions if question.name == name)


def _sides(question: Question, waves: Sequence[Wave]) -> list[Side]:
    """The question in every wave; nothing unless all ask it alike, or if it has no figures here."""
    if not isinstance(question, OfChoices | Scale | Number):
        return []
    sides = [
        Side(
            wave.survey,
            wave_question,
            wave.tallies[wave_question.name],
            followed=followed(wave.survey, wave_question.name, wave.together),
        )
        for wave in waves
        for wave_question in wave.survey.questions
        if wave_question.name == question.name and _kind(wave_question) == _kind(question)
    ]
    return sides if len(sides) == len(waves) else []


def _kind(question: Question) -> tuple[object, ...]:
    """What makes two questions comparable."""
    if isinstance(question, OfChoices):
        return type(question), *question.names
    return type(question), question.range if isinstance(question, Number) else None


class _Draft:
    """A figure over the waves, before its p-values are adjusted."""

    def __init__(self, figure: FigureOfSides, numbers: Sequence[int], confidence: float) -> None:
        self._figure, self._numbers = figure, numbers
        # The last wave less the first.
        compared = figure.apart(-1, 0)
        self._change: DifferenceResult | None = compared.result(confidence) if compared else None
        # Over two waves the trend is the change, which would be tested twice.
        self._trend = _trend(figure, numbers) if compared and len(numbers) > FEWEST else None
        self._adjusted = 1.0
        self._seen: list[bool] = []

    @property
    def note(self) -> str | None:
        return self._change["note"] if self._change else None

    @property
    def p_values(self) -> list[float]:
        """The p-values of the change, and of the trend if there is one."""
        if self._change is None:
            return []
        return [self._change["p_value"], *([] if self._trend is None else [self._trend])]

    def adjust(self, adjusted: Sequence[float]) -> None:
        self._adjusted = min(adjusted, default=1.0)
        self._seen = [p < RISK for p in adjusted]

    def shown(self) -> SeriesResult:
        figure = self._figure
        return {
            **figure.head,
            "places": [
                {"wave": number, **shown_figure(place)}
                for number, place in zip(self._numbers, figure.places, strict=True)
            ],
            "change": self._changed(),
        }

    def _changed(self) -> ChangeResult | None:
        if self._change is None:
            return None
        return {
            "estimate": self._change["estimate"],
            "standard_error": self._change["standard_error"],
            "interval": self._change["interval"],
            "p_value": self._change["p_value"],
            "trend_p_value": None if self._trend is None else round(self._trend, 9),
            "adjusted_p_value": round(self._adjusted, 9),
            "direction": self._direction(),
        }

    def _direction(self) -> str | None:
        """What the tests that are below the risk show."""
        assert self._change is not None
        slopes = [self._change["estimate"], self._slope()]
        # Without a trend there is one p-value, and the change alone decides.
        signs = {slope > 0 for slope, seen in zip(slopes, self._seen, strict=False) if seen}
        if not signs:
            return None
        return "changes" if len(signs) > 1 else "rises" if signs.pop() else "falls"

    def _slope(self) -> float:
        """Which way the linear trend goes."""
        middle = mean(self._numbers)
        return sum(
            (number - middle) * (place.estimate or 0.0)
            for number, place in zip(self._numbers, self._figure.places, strict=True)
        )


def _trend(figure: FigureOfSides, numbers: Sequence[int]) -> float | None:
    """The p-value of a linear trend; None where the reports allow no test."""
    sides = figure.sides
    try:
        if figure.name is not None:
            if sides[-1].followed is not None:
                return None
            return trend_of_shares([side.answers(figure.name) for side in sides], numbers)
        if question_means.is_ratio(sides[-1].question):
            return None
        return trend_of_means([side.moments for side in sides], numbers)
    except Incomparable:  # some wave has too few with a score
        return None


def _note(drafts: Sequence[_Draft], waves: int) -> str | None:
    """What the tests do not know."""
    note = next((draft.note for draft in drafts if draft.note), None)
    trends = any(len(draft.p_values) > 1 for draft in drafts)
    return note + _OF_TRENDS if note and trends and waves > _FEW else note


class _PanelQuestion:
    """A question in all waves, with its results there."""

    def __init__(
        self, numbers: list[int], sides: list[Side], results: list[QuestionResult]
    ) -> None:
        self._numbers = numbers
        self._sides, self._results = sides, results
        self._means: list[_Draft] = []
        self._choices: list[_Draft] = []

    def drafts(self, confidence: float) -> list[_Draft]:
        """The drafts of its figures."""
        places = self._sides, self._results
        self._means = [_Draft(figure, self._numbers, confidence) for figure in means(*places)]
        self._choices = [_Draft(figure, self._numbers, confidence) for figure in choices(*places)]
        return [*self._means, *self._choices]

    def shown(self) -> WaveQuestion:
        question = self._sides[-1].question
        return {
            "name": question.name,
            "label": question.label,
            "short": short_label(question),
            "type": question.type,
            "mean": self._means[0].shown() if self._means else None,
            "choices": [draft.shown() for draft in self._choices],
        }
