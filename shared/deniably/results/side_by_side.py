"""Pairs the figures of one question in several places: the waves of a panel, or strata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NotRequired, TypedDict, cast

from msgspec import UNSET, structs

from deniably.core.errors import Incomparable
from deniably.estimation import question_means
from deniably.results import narrative
from deniably.results.differences import Side, StatedDifference, choice_apart, mean_apart
from deniably.results.document import (
    AmongAskedResult,
    AmongChoiceResult,
    ChoiceResult,
    MeanResult,
    QuestionResult,
    VectorResult,
)
from deniably.results.rows import OF_THOSE_ASKED
from deniably.survey.questions import Number, OfChoices, Question, Scale, VectorOfNumbers, YesNo


class FigureResult(TypedDict):
    """A figure (a share or a mean) in one place, that is in one wave or one subgroup, with the
    same numbers as in the results of that place."""

    estimate: float | None
    standard_error: float | None
    interval: list[float]
    interval_80: list[float] | None
    interval_50: list[float] | None


class FigureHead(TypedDict):
    """The identity of a figure: the share of the choice ``name``, or a mean (``name`` is None).

    ``extent`` is [lowest, highest] possible value. ``ends`` are the labels of the choices at the
    ends of a scale, otherwise empty. ``of`` is present for a question with ``show_if``: the share
    is then that of the people who were asked.
    """

    name: str | None
    label: str
    unit: str
    extent: list[float]
    ends: list[str]
    of: NotRequired[Literal["those asked"]]


@dataclass(frozen=True, eq=False)
class FigureOfSides:
    """A figure (a share or a mean) in every place, that is in every wave or every subgroup.
    ``places`` has the estimates, and ``sides`` the reports that they come from, one of each for
    every place. The other fields are as in ``FigureHead``."""

    name: str | None
    label: str
    unit: str
    extent: list[float]
    ends: list[str]
    places: Sequence[ChoiceResult | AmongChoiceResult | MeanResult]
    sides: Sequence[Side]

    @property
    def head(self) -> FigureHead:
        """The identity of the figure, without its estimates."""
        head: FigureHead = {
            "name": self.name,
            "label": self.label,
            "unit": self.unit,
            "extent": self.extent,
            "ends": self.ends,
        }
        if isinstance(self.places[0], AmongChoiceResult):
            head["of"] = "those asked"
        return head

    def apart(self, here: int, there: int) -> StatedDifference | None:
        """Tests whether the figure differs between two places, given by their indices ``here`` and
        ``there``. Returns None where the reports allow no test."""
        first, second = self.sides[here], self.sides[there]
        try:
            if self.name is None:
                return mean_apart(first, second)
            return choice_apart(first, second, self.name)
        except Incomparable:  # the reports support no choices, or too few people have a score
            return None


def has_figures(question: Question) -> bool:
    """Returns whether a question has shares of choices or means, which can be compared between
    waves or subgroups."""
    return isinstance(question, OfChoices | Scale | Number | VectorOfNumbers)


def figure_name(head: FigureHead) -> str:
    """Returns what a spreadsheet has for a figure in the column ``figure``: "mean", "share", or
    the name for shares of those who were asked."""
    if head["name"] is None:
        return "mean"
    return OF_THOSE_ASKED if "of" in head else "share"


def shown_figure(result: ChoiceResult | AmongChoiceResult | MeanResult) -> FigureResult:
    """Returns the estimate, standard error and intervals of a share or mean in ``result``,
    unchanged."""
    return {
        "estimate": result.estimate,
        "standard_error": result.standard_error,
        "interval": result.interval,
        "interval_80": result.interval_80,
        "interval_50": result.interval_50,
    }


def means(sides: Sequence[Side], results: Sequence[QuestionResult]) -> Iterator[FigureOfSides]:
    """Yields the mean of a question, with its estimates in all places (waves or subgroups). Yields
    one mean for each number of a question about several numbers, and nothing for a question
    without a mean."""
    if all(isinstance(result, VectorResult) for result in results):
        yield from _means_of_parts(sides, cast("Sequence[VectorResult]", results))
        return
    # Not every type of question has a mean.
    mean_results = [structs.asdict(result).get("mean", UNSET) for result in results]
    if all(isinstance(mean, MeanResult) for mean in mean_results):
        yield _of_mean("Mean", sides, cast("list[MeanResult]", mean_results))


def choices(sides: Sequence[Side], results: Sequence[QuestionResult]) -> Iterator[FigureOfSides]:
    """Yields the share of each choice of a question, with its estimates in all places (waves or
    subgroups). For yes and no only the first is yielded, since the other follows from it.

    For a question with ``show_if``, the shares are those of the people who were asked, if they are
    known in every place; otherwise those of everybody.
    """
    fields = [structs.asdict(result) for result in results]
    among = [fields_of_place.get("among_asked", UNSET) for fields_of_place in fields]
    all_among = all(isinstance(among_result, AmongAskedResult) for among_result in among)
    columns: list[Any]
    if all_among:
        columns = [among_result.choices for among_result in cast("list[AmongAskedResult]", among)]
    else:
        columns = [fields_of_place.get("choices", UNSET) for fields_of_place in fields]
        sides = [replace(side, followed=None) for side in sides]
    if any(column is UNSET for column in columns):
        return
    several = list(zip(*columns, strict=True))
    names = [shares[0].name for shares in several]
    if isinstance(sides[0].question, YesNo) or (all_among and narrative.asks_yes_or_no(names)):
        several = several[:1]
    for shares in several:
        yield FigureOfSides(shares[0].name, shares[0].label, "", [0.0, 1.0], [], shares, sides)


# --- below ------------------------------------------------------------------------------------


def _means_of_parts(
    sides: Sequence[Side], results: Sequence[VectorResult]
) -> Iterator[FigureOfSides]:
    for parts in zip(*(result.parts for result in results), strict=True):
        part_means = [part.mean for part in parts]
        if all(isinstance(mean, MeanResult) for mean in part_means):
            of_part = [replace(side, part=parts[0].name) for side in sides]
            yield _of_mean(parts[0].label, of_part, cast("list[MeanResult]", part_means))


def _of_mean(label: str, sides: Sequence[Side], places: Sequence[MeanResult]) -> FigureOfSides:
    # All sides ask alike; the last, the newest wave, gives the words.
    side = sides[-1]
    extent = [float(end) for end in side.group.figure.ends]
    return FigureOfSides(None, label, places[0].unit, extent, _ends(side.question), places, sides)


def _ends(question: Question) -> list[str]:
    """The labels of the lowest and the highest choice that has a score."""
    if not isinstance(question, Scale):
        return []
    scored = [
        (value, choice.label)
        for value, choice, has in zip(
            question.values, question.choices, question_means.has_score(question), strict=True
        )
        if has
    ]
    return [min(scored)[1], max(scored)[1]]
