"""Figures for papers from a document of results: the parts of a question, and what has to be said
below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from msgspec import UNSET

from deniably.core.counting import people
from deniably.results import among_asked, combined, places, shown
from deniably.results.document import (
    AmongAskedResult,
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
from deniably.results.drawing import axes
from deniably.results.drawing.digits import NARROW
from deniably.results.drawing.heat import Heat
from deniably.results.drawing.paper import Paper, PaperPart
from deniably.results.drawing.paper_map import PaperMap
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.results.drawing.paper_table import PaperTable
from deniably.results.drawing.row import Row, ends
from deniably.results.narrative import level_text
from deniably.results.provenance import SAMPLE, Protection, ResultsSource, legend, privacy
from deniably.survey.readable import cut

MOST_ROWS = 40
"""The most rows of one part; a page of a journal has no room for more."""
_MOST_DOWN, _MOST_ACROSS = 20, 8
"""Rows and columns of a heat table; with more, its largest shares are listed."""


def paper(result: SurveyResult, name: str, closed: str = "") -> Paper:
    """The figure of the question ``name``; ``closed`` as in ``ResultsSource``.

    Raises KeyError if there is no such question.
    """
    question = _question(result, name)
    parts = list(_parts(question))
    title, before = headed(question.short, question.label)
    means = any(isinstance(part, PaperStrips) and part.axis.zero is None for part in parts)
    what = "Estimates" if means else "Estimated shares"
    source, protection = ResultsSource.of_result(result, closed), Protection.of_result(question)
    return Paper(
        title=title,
        lede=f"{before}{what}, {people(question.n)}.",
        parts=[fewer(part) for part in parts],
        notes=list(_notes(result, question, parts, source)),
        words=(
            f"{people(question.n).capitalize()} answered “{question.label}” under local"
            f" differential privacy ({protection.method}; {protection.words} for this question,"
            f" {source.epsilon} in total a person{source.waves}).{_effect(question)} Estimates with"
            f" {level_text(result.confidence)} intervals:"
        ),
    )


def headed(short: str, label: str) -> tuple[str, str]:
    """The title of a figure, and what comes first in its lede: empty, or the question and a space.

    A figure has room for the label: only what the author wrote shorter replaces it.
    """
    return (label, "") if short == cut(label) else (short, f"{label} ")


def fewer(part: PaperPart) -> PaperPart:
    """The part, cut to what a figure has room for: of many rows, those furthest from 0."""
    match part:
        case PaperStrips():
            return _fewer(part)
        case PaperMap(listed=PaperStrips() as listed):
            return replace(part, listed=_fewer(listed))
        case _:
            return part


def _fewer(part: PaperStrips) -> PaperStrips:
    if len(part.rows) <= MOST_ROWS:
        return part
    return replace(part, rows=sorted(part.rows, key=_nearest_last)[:MOST_ROWS])


def left_out(part: PaperPart, what: str = "answers") -> str:
    """What to say of the rows that ``fewer`` leaves out; empty if there are none."""
    rows = part.listed if isinstance(part, PaperMap) else part
    if not isinstance(rows, PaperStrips) or len(rows.rows) <= MOST_ROWS:
        return ""
    return f"Of {len(rows.rows)} {what}, the {MOST_ROWS} with the largest estimates."


def table(heat: Heat, cells: Sequence[Row], title: str = "") -> PaperPart:
    """A heat table; or its ``cells`` as rows, where it has no room."""
    if len(heat.rows.labels) <= _MOST_DOWN and len(heat.columns.labels) <= _MOST_ACROSS:
        return PaperTable(heat, title)
    return PaperStrips(cells, axes.of_shares(cells), title)


def _question(result: SurveyResult, name: str) -> QuestionResult:
    for one in result.questions:
        if one.name == name:
            return one
    raise KeyError(f"no question {name!r}; there are {', '.join(q.name for q in result.questions)}")


def _nearest_last(row: Row) -> float:
    """Sorts by size; rows without an estimate come last."""
    return -abs(row.estimate) if row.drawn else 1.0


# --- parts ------------------------------------------------------------------------------------


def _parts(question: QuestionResult) -> Iterator[PaperPart]:
    match question:
        case YesNoResult() | SelectOneResult() | SelectMultipleResult():
            if question.among_asked is not UNSET:
                yield from _of_those_asked(question.among_asked)
            else:
                by_size = isinstance(question, SelectMultipleResult)
                yield _of_choices(question.choices, by_size=by_size)
        case ScaleResult():
            yield from _of_scale(question)
        case NumberResult():
            yield _of_number(question)
        case VectorResult():
            known = [(part.label, part.mean) for part in question.parts if part.mean is not None]
            for _, some in groupby(known, key=lambda one: (one[1].extent, one[1].unit)):
                yield _of_means(list(some))
        case ProductResult():
            yield from _of_product(question)
        case PointResult():
            out = [
                shown.of_cell(places.place(question.sides, one), one)
                for one in question.cells
                if one.stands_out
            ]
            out.sort(key=_nearest_last)
            listed = PaperStrips(out, axes.of_shares(out)) if out else None
            yield PaperMap(combined.areas(question), listed)


def _of_choices(choices: Sequence[ChoiceResult], *, by_size: bool = False) -> PaperStrips:
    rows = [shown.of_choice(one) for one in shown.ordered(choices, by_size=by_size)]
    return PaperStrips(rows, axes.of_shares(rows))


def _of_those_asked(among: AmongAskedResult) -> Iterator[PaperStrips]:
    rows = [shown.of_choice_among(one) for one in among.choices]
    if among_asked.leader(among) is not None:
        yield PaperStrips(rows, axes.of_shares(rows), "Of those who were asked")
    asked = [shown.of_asked(among.asked)]
    yield PaperStrips(asked, axes.of_shares(asked), "Of everybody")


def _of_scale(question: ScaleResult) -> Iterator[PaperStrips]:
    labels: list[str] = []
    if question.among_asked is not UNSET:
        yield from _of_those_asked(question.among_asked)
    if question.choices is not UNSET:
        part = _of_choices(question.choices)
        labels = [row.label for row in part.rows if not row.aside]
        if question.among_asked is UNSET:
            yield part
    if question.mean is not UNSET:
        mean = question.mean
        first, last = (labels[0], labels[-1]) if labels else ("", "")
        axis = axes.of_numbers(*ends(mean.extent), first=first, last=last)
        yield PaperStrips([shown.of_mean("Mean score", mean)], axis)


def _of_number(question: NumberResult) -> PaperStrips:
    mean = _of_means([("Mean", question.mean)])
    if question.distribution is UNSET:
        return mean
    low, high = float(question.distribution[0].low), float(question.distribution[-1].high)
    axis = axes.of_numbers(low, high, question.mean.unit)
    return PaperStrips([*mean.rows, *shown.of_quantiles(question)], axis)


def _of_means(means: Sequence[tuple[str, MeanResult]]) -> PaperStrips:
    rows = [shown.of_mean(label, mean) for label, mean in means]
    _, mean = means[0]
    return PaperStrips(rows, axes.of_numbers(*ends(mean.extent), mean.unit))


def _of_product(question: ProductResult) -> Iterator[PaperPart]:
    cells = [shown.of_cell(", ".join(one.names), one) for one in question.cells]
    together = combined.table(question)
    if together is not None and isinstance(part := table(together, cells), PaperTable):
        yield part
        return
    for one in question.parts:
        yield replace(_of_choices(one.choices), title=one.label)
    yield PaperStrips(cells, axes.of_shares(cells), "All of these together")


# --- words ------------------------------------------------------------------------------------


def _notes(
    result: SurveyResult,
    question: QuestionResult,
    parts: Sequence[PaperPart],
    source: ResultsSource,
) -> Iterator[str]:
    yield from question.flags
    if getattr(question, "among_asked", UNSET) is not UNSET:
        yield question.sentence
    if any(isinstance(part, PaperTable) for part in parts):
        yield (
            f"Shares of everybody with {level_text(result.confidence)} intervals; the darker, the"
            f" larger. Hatched: cannot be told from nobody, with a risk of 5{NARROW}% over all of"
            " them."
        )
    if any(isinstance(part, PaperMap) for part in parts):
        yield (
            f"Shaded areas stand out from the noise, with a risk of 5{NARROW}% over all of them;"
            " the darker, the larger their share. Plain areas cannot be told from nobody."
        )
    if any(
        isinstance(part, PaperStrips) or (isinstance(part, PaperMap) and part.listed)
        for part in parts
    ):
        yield legend(result.confidence)
    if isinstance(question, NumberResult) and question.quantiles is not UNSET:
        yield (
            "Grey: quantiles of a distribution that is fitted to the reports, with intervals of"
            " their own."
        )
    if isinstance(question, PointResult):
        yield places.sentence(question.sides, question.cells)
    if isinstance(question, SelectMultipleResult) and question.most > 1:
        yield f"People could tick up to {question.most}, so the shares do not sum to 100{NARROW}%."
    yield from filter(None, map(left_out, parts))
    yield f"{privacy(source, [Protection.of_result(question)])}{_effect(question)} {SAMPLE}"
    yield source.note


def _effect(question: QuestionResult) -> str:
    effect = getattr(question, "design_effect", None)
    return f" The design effect is {effect:.1f}." if isinstance(effect, float) else ""
