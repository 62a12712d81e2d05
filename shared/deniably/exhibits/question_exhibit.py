"""Makes the exhibit of one question: its pictures on a page and on paper, and the texts around
them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET, structs

from deniably.core.counting import people
from deniably.exhibits.exhibit import Exhibit, Printed, Records, stated
from deniably.exhibits.marks import HeatTable
from deniably.exhibits.paper import headed
from deniably.exhibits.printing import TEXTS, table_lines
from deniably.exhibits.question_numbers import method, number_tables
from deniably.exhibits.question_pictures import RISK, Drawn, draw, heads_at
from deniably.results import places
from deniably.results.document import (
    NumberResult,
    PointResult,
    QuestionResult,
    SelectMultipleResult,
    SurveyResult,
)
from deniably.results.drawing.paper_figure import PaperPart
from deniably.results.drawing.paper_map import PaperMap
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.results.drawing.rounding import NARROW
from deniably.results.narrative import level_text
from deniably.results.provenance import SAMPLE, Protection, ResultsSource, legend
from deniably.results.rows import COLUMNS, ResultRow, rows


def exhibit(result: SurveyResult, name: str, closed: str = "") -> Exhibit:
    """Returns the exhibit of the question ``name`` in a document of results: its words, pictures
    and numbers. ``closed`` is the day on which the survey was closed, empty if that is not known.

    Raises KeyError if there is no such question.
    """
    question = result.question(name)
    return exhibit_of(result, question, draw(question, heads_at(result.confidence)), closed)


def exhibits(result: SurveyResult) -> list[Exhibit]:
    """Returns one exhibit for each question of a document of results."""
    return [exhibit(result, question.name) for question in result.questions]


def exhibit_of(
    result: SurveyResult, question: QuestionResult, drawn: Drawn, closed: str = ""
) -> Exhibit:
    """Returns the exhibit of a question in a document of results, given its pictures ``drawn``.
    ``closed`` is the day on which the survey was closed, empty if that is not known."""
    source, protection = ResultsSource.of_result(result, closed), Protection.of_result(question)
    level = level_text(result.confidence)
    interval = f"{level} interval"
    parts = drawn.figure()
    title, before = headed(question.short, question.label)
    # Only an axis of means has no dark gridline at 0.
    means = any(isinstance(part, PaperStrips) and part.axis.zero is None for part in parts)
    effect = _effect(question)

    def own() -> list[ResultRow]:
        return list(rows(structs.replace(result, questions=[question])))

    return Exhibit(
        document=question,
        file=f"{result.survey}-{question.name}",
        heading=question.short,
        about=f"“{question.label}”",
        source=source,
        protections=[protection],
        confidence=result.confidence,
        finding=question.sentence,
        pictures=lambda: drawn.pictures,
        records=Records(COLUMNS, own),
        numbers=lambda: list(number_tables(question, interval)),
        method=lambda: list(method(question, interval)),
        estimator="",
        anchor=question.name,
        label=question.label,
        notes=lambda: [*drawn.notes, *question.notes],
        caption=f"{result.title}: {question.label}",
        lines=lambda: _printed(own(), result.confidence),
        remarks=stated(*question.notes, *question.flags),
        title=title,
        lede=f"{before}{'Estimates' if means else 'Estimated shares'}, {people(question.n)}.",
        figure=lambda: parts,
        opening=stated(*_notes(result, question, parts)),
        effect=f"{effect} {SAMPLE}",
        asks=[question.label],
        words=f".{effect} Estimates with {level} intervals:",
    )


# --- words ------------------------------------------------------------------------------------


def _notes(
    result: SurveyResult, question: QuestionResult, parts: Sequence[PaperPart]
) -> Iterator[str]:
    """Yields the notes of a figure for a paper that come before the one on rows that are left
    out."""
    yield from question.flags
    if getattr(question, "among_asked", UNSET) is not UNSET:
        # A figure shows everybody's shares; the sentence has those of the people who were asked.
        yield question.sentence
    if any(isinstance(part, HeatTable) for part in parts):
        yield (
            f"Shares of everybody with {level_text(result.confidence)} intervals; the darker, the"
            f" larger. Hatched: maybe nobody, {RISK}."
        )
    if any(isinstance(part, PaperMap) for part in parts):
        yield (
            f"Shaded areas stand out from the noise, {RISK}; the darker, the larger their share."
            " In plain areas there may be nobody."
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


def _effect(question: QuestionResult) -> str:
    effect = getattr(question, "design_effect", None)
    return f" The design effect is {effect:.1f}." if isinstance(effect, float) else ""


# --- below ------------------------------------------------------------------------------------


def _printed(own: Sequence[ResultRow], confidence: float) -> Printed:
    heads, *lines = table_lines(own, confidence)
    return Printed("", heads, lines, TEXTS)
