"""The figures of a question in several places, side by side: the waves of a panel, or strata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, cast

from msgspec import UNSET, structs

from deniably.core.errors import Incomparable
from deniably.estimation import analysis
from deniably.results.comparison import Comparison, Side, choice_apart, mean_apart
from deniably.results.document import ChoiceResult, MeanResult, QuestionResult, VectorResult
from deniably.survey.questions import Number, OfChoices, Question, Scale, VectorOfNumbers, YesNo


class FigureResult(TypedDict):
    """A figure in one place, as in that place's own results."""

    estimate: float | None
    standard_error: float | None
    interval: list[float]
    interval_80: list[float] | None
    interval_50: list[float] | None


class FigureHead(TypedDict):
    """What a figure is: the share of a choice, or a mean (``name`` is None).

    ``extent`` is the range of possible values, and ``ends`` are the labels of the choices at the
    ends of a scale, else empty.
    """

    name: str | None
    label: str
    unit: str
    extent: list[float]
    ends: list[str]


@dataclass(frozen=True, eq=False)
class FigureOfSides:
    """A figure in every place; ``sides`` has the reports there, else as ``FigureHead``."""

    name: str | None
    label: str
    unit: str
    extent: list[float]
    ends: list[str]
    places: Sequence[ChoiceResult | MeanResult]
    sides: Sequence[Side]

    @property
    def head(self) -> FigureHead:
        """What it is."""
        return {
            "name": self.name,
            "label": self.label,
            "unit": self.unit,
            "extent": self.extent,
            "ends": self.ends,
        }

    def apart(self, here: int, there: int) -> Comparison | None:
        """Tests whether two places differ; None where their reports allow no test."""
        first, second = self.sides[here], self.sides[there]
        try:
            if self.name is None:
                return mean_apart(first, second)
            return choice_apart(first, second, self.name)
        except Incomparable:  # the reports support no choices, or too few people have a score
            return None


def has_figures(question: Question) -> bool:
    """Whether a question has figures that can be put side by side."""
    return isinstance(question, OfChoices | Scale | Number | VectorOfNumbers)


def shown_figure(one: ChoiceResult | MeanResult) -> FigureResult:
    """A figure of a place's own results."""
    return {
        "estimate": one.estimate,
        "standard_error": one.standard_error,
        "interval": one.interval,
        "interval_80": one.interval_80,
        "interval_50": one.interval_50,
    }


def means(sides: Sequence[Side], results: Sequence[QuestionResult]) -> Iterator[FigureOfSides]:
    """The mean of a question, if it has one; of several numbers each."""
    if all(isinstance(one, VectorResult) for one in results):
        yield from _means_of_parts(sides, cast("Sequence[VectorResult]", results))
        return
    found = [structs.asdict(one).get("mean", UNSET) for one in results]
    if all(isinstance(mean, MeanResult) for mean in found):
        yield _of_mean("Mean", sides, cast("list[MeanResult]", found))


def choices(sides: Sequence[Side], results: Sequence[QuestionResult]) -> Iterator[FigureOfSides]:
    """The choices of a question; of yes and no the first alone, since the other follows."""
    columns = [structs.asdict(one).get("choices", UNSET) for one in results]
    if any(column is UNSET for column in columns):
        return
    several = list(zip(*cast("list[list[ChoiceResult]]", columns), strict=True))
    if isinstance(sides[0].question, YesNo):
        several = several[:1]
    for one in several:
        yield FigureOfSides(one[0].name, one[0].label, "", [0.0, 1.0], [], one, sides)


# --- below ------------------------------------------------------------------------------------


def _means_of_parts(
    sides: Sequence[Side], results: Sequence[VectorResult]
) -> Iterator[FigureOfSides]:
    for parts in zip(*(one.parts for one in results), strict=True):
        found = [part.mean for part in parts]
        if all(isinstance(mean, MeanResult) for mean in found):
            of_part = [replace(side, part=parts[0].name) for side in sides]
            yield _of_mean(parts[0].label, of_part, cast("list[MeanResult]", found))


def _of_mean(label: str, sides: Sequence[Side], places: Sequence[MeanResult]) -> FigureOfSides:
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
            question.values, question.choices, analysis.has_score(question), strict=True
        )
        if has
    ]
    return [min(scored)[1], max(scored)[1]]
