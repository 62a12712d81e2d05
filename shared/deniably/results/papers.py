"""Figures for papers from a document of results: the rows of a question, and what has to be said
below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from msgspec import UNSET

from deniably.results import places, shown
from deniably.results.document import (
    ChoiceResult,
    MeanResult,
    NumberResult,
    PointResult,
    ProductResult,
    QuestionResult,
    ScaleResult,
    SelectMultipleResult,
    SelectOneResult,
    SurveyResult,
    VectorResult,
    YesNoResult,
)
from deniably.results.figures import paper, scale
from deniably.results.figures.paper import WIDTHS, Paper, Part, Svg
from deniably.results.figures.row import Row, ends
from deniably.results.narrative import level_text
from deniably.survey.readable import cut

MOST_ROWS = 40
"""Of one part; a page of a journal has no room for more."""


def figure(result: SurveyResult, name: str, *, width: int = WIDTHS[0], closed: str = "") -> Svg:
    """The figure of the question ``name``, 85 or 180 mm wide.

    ``closed`` is the day on which the survey was closed, such as 2026-11-22, where it is known.
    Raises KeyError if there is no such question, and ValueError for other widths.
    """
    return paper.svg(_paper(result, _question(result, name), closed), width)


def described(result: SurveyResult, name: str) -> str:
    """All numbers of the figure as text. Raises KeyError if there is no such question."""
    return paper.described(_paper(result, _question(result, name), ""))


def in_words(result: SurveyResult, name: str) -> str:
    """A paragraph for the text of a paper. Raises KeyError if there is no such question."""
    question = _question(result, name)
    waves = f", {result.total['history']} over all waves" if "history" in result.total else ""
    return (
        f"{_people(question.n).capitalize()} answered “{question.label}” under local differential"
        f" privacy ({question.method}; epsilon {question.epsilon}{_delta(question)} for this"
        f" question, {result.total['epsilon']} in total a person{waves}). Estimates with"
        f" {level_text(result.confidence)} intervals: {described(result, name)}{_effect(question)}"
    )


def _question(result: SurveyResult, name: str) -> QuestionResult:
    for one in result.questions:
        if one.name == name:
            return one
    raise KeyError(f"no question {name!r}; there are {', '.join(q.name for q in result.questions)}")


def _paper(result: SurveyResult, question: QuestionResult, closed: str) -> Paper:
    parts = list(_parts(question))
    # A figure has room for the label: only what the author wrote shorter replaces it.
    own = question.short != cut(question.label)
    shares = all(part.scale.zero == 0 for part in parts)
    told = "Estimated shares" if shares else "Estimates"
    return Paper(
        title=question.short if own else question.label,
        lede=f"{f'{question.label} ' if own else ''}{told}, {_people(question.n)}.",
        parts=[_largest(part) for part in parts],
        notes=list(_notes(result, question, parts, closed)),
    )


def _largest(part: Part) -> Part:
    if len(part.rows) <= MOST_ROWS:
        return part
    return replace(part, rows=sorted(part.rows, key=_least_last)[:MOST_ROWS])


def _least_last(row: Row) -> float:
    return -row.estimate


# --- rows -------------------------------------------------------------------------------------


def _parts(question: QuestionResult) -> Iterator[Part]:
    match question:
        case YesNoResult() | SelectOneResult():
            yield _of_choices(question.choices)
        case SelectMultipleResult():
            yield _of_choices(question.choices, by_size=True)
        case ScaleResult():
            yield from _of_scale(question)
        case NumberResult():
            yield _of_number(question)
        case VectorResult():
            known = [(part.label, part.mean) for part in question.parts if part.mean is not None]
            for _, some in groupby(known, key=lambda one: (one[1].extent, one[1].unit)):
                yield _of_means(list(some))
        case ProductResult():
            for part in question.parts:
                yield replace(_of_choices(part.choices), title=part.label)
            cells = [shown.of_cell(", ".join(one.names), one) for one in question.cells]
            yield Part(cells, scale.of_shares(cells), "All of these together")
        case PointResult():
            out = [
                shown.of_cell(places.place(question.sides, one), one)
                for one in question.cells
                if one.stands_out
            ]
            if out:
                yield Part(sorted(out, key=_least_last), scale.of_shares(out))


def _of_choices(choices: Sequence[ChoiceResult], *, by_size: bool = False) -> Part:
    rows = [shown.of_choice(one) for one in shown.ordered(choices, by_size=by_size)]
    return Part(rows, scale.of_shares(rows))


def _of_scale(question: ScaleResult) -> Iterator[Part]:
    labels: list[str] = []
    if question.choices is not UNSET:
        part = _of_choices(question.choices)
        labels = [row.label for row in part.rows if not row.aside]
        yield part
    if question.mean is not UNSET:
        mean = question.mean
        first, last = (labels[0], labels[-1]) if labels else ("", "")
        axis = scale.of_numbers(*ends(mean.extent), first=first, last=last)
        yield Part([shown.of_mean("Mean score", mean)], axis)


def _of_number(question: NumberResult) -> Part:
    mean = _of_means([("Mean", question.mean)])
    if question.distribution is UNSET:
        return mean
    low, high = float(question.distribution[0].low), float(question.distribution[-1].high)
    axis = scale.of_numbers(low, high, question.mean.unit)
    return Part([*mean.rows, *shown.of_quantiles(question)], axis)


def _of_means(means: Sequence[tuple[str, MeanResult]]) -> Part:
    rows = [shown.of_mean(label, mean) for label, mean in means]
    _, mean = means[0]
    return Part(rows, scale.of_numbers(*ends(mean.extent), mean.unit))


# --- words ------------------------------------------------------------------------------------


def _notes(
    result: SurveyResult, question: QuestionResult, parts: Sequence[Part], closed: str
) -> Iterator[str]:
    yield from question.flags
    yield _legend(result.confidence)
    if isinstance(question, NumberResult) and question.quantiles is not UNSET:
        yield (
            "Grey: quantiles of a distribution that is fitted to the reports, with intervals of"
            " their own."
        )
    if isinstance(question, PointResult):
        yield places.sentence(question.sides, question.cells)
    if isinstance(question, SelectMultipleResult) and question.most > 1:
        yield f"People could tick up to {question.most}, so the shares do not sum to 100 %."
    for part in parts:
        if len(part.rows) > MOST_ROWS:
            yield f"Of {len(part.rows)} answers, the {MOST_ROWS} with the largest estimates."
    yield _privacy(result, question)
    state = f"closed {closed}".strip() if result.state == "closed" else "still open"
    yield (
        f"Source: {result.title}, survey {result.survey} ({result.digest[:12]}),"
        f" {_people(result.n)}, {state}. Made with Deniably."
    )


def _legend(confidence: float) -> str:
    levels = [level_text(level) for level in (0.8, 0.5) if level < confidence]
    bands = f"; bands: {' and '.join(levels)}" if levels else ""
    return (
        "Dots: unbiased estimates; open where the interval reaches an end of the scale. Lines:"
        f" {level_text(confidence)} intervals{bands}."
    )


def _privacy(result: SurveyResult, question: QuestionResult) -> str:
    waves = f", {result.total['history']} over all waves" if "history" in result.total else ""
    return (
        f"Local differential privacy: {question.method}, epsilon {question.epsilon}"
        f"{_delta(question)} for this question and {result.total['epsilon']} a person{waves}."
        f"{_effect(question)} Intervals are for a population that the respondents are a random"
        " sample of."
    )


def _delta(question: QuestionResult) -> str:
    return f", delta {question.delta}" if question.delta is not UNSET else ""


def _effect(question: QuestionResult) -> str:
    effect = getattr(question, "design_effect", None)
    return f" The design effect is {effect:.1f}." if isinstance(effect, float) else ""


def _people(n: int) -> str:
    return "1 person" if n == 1 else f"{n:,} people"
