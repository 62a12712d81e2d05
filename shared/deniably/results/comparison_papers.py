"""Figures for papers of what is compared: cross-tables, differences, and the waves of a panel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deniably.core.counting import counted, people
from deniably.results import (
    combined,
    crosstab_drawing,
    difference_drawing,
    side_drawing,
    stratum_drawing,
    wave_drawing,
)
from deniably.results.among_asked import OF_THOSE_ASKED
from deniably.results.by_stratum import ByStratumResult, ComparedFigure
from deniably.results.comparison import DifferencesResult
from deniably.results.crosstab_drawing import ABOUT, Of
from deniably.results.crosstabs import CrosstabResult
from deniably.results.document import PointResult
from deniably.results.drawing import axes, digits
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.digits import NARROW
from deniably.results.drawing.paper import Paper, PaperPart
from deniably.results.drawing.paper_columns import PaperColumns
from deniably.results.drawing.paper_map import PaperMap
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.results.drawing.paper_trends import Panel, PaperTrends
from deniably.results.drawing.plot import group_letter
from deniably.results.groups import GroupsResult
from deniably.results.narrative import level_text
from deniably.results.papers import fewer, headed, left_out, table
from deniably.results.provenance import SAMPLE, Protection, ResultsSource, legend, privacy
from deniably.results.side_by_side import FigureHead
from deniably.results.waves import SeriesResult, WaveQuestion, WavesResult

_MOST_PANELS = 12


def crosstab(
    found: CrosstabResult,
    of: Of,
    titles: tuple[str, str],
    source: ResultsSource,
    protections: Sequence[Protection],
) -> Paper:
    """The figure of a cross-table; ``titles`` are short names of its questions."""
    level = level_text(found["confidence"])
    strips = crosstab_drawing.strips(found, of)
    cells = crosstab_drawing.pairs(found, of)
    title = "All combinations" if strips is not None else ""
    together = table(crosstab_drawing.together(found, of, titles), cells, title)
    parts: list[PaperPart] = [together]
    if strips is not None:
        rows = PaperStrips(strips.rows, axes.of_shares(strips.rows), strips.about)
        parts = [rows, together]
    first, second = found["questions"]
    shares = f"Percentages {ABOUT[of]}"
    return Paper(
        title=" × ".join(titles),
        lede=f"{shares}, {people(found['n'])}.",
        parts=[fewer(part) for part in parts],
        notes=[
            one
            for one in (
                found["sentence"],
                crosstab_drawing.silence(crosstab_drawing.silent(found, of)),
                f"{shares} with {level} intervals; the darker, the larger."
                f"{' “All” is of everybody.' if of != 'all' else ''} Hatched: cannot be told from"
                f" nobody{', or too few to say' if of != 'all' else ''}.",
                *(left_out(part, "pairs of answers") for part in parts),
                legend(found["confidence"]) if len(parts) > 1 else "",
                f"{privacy(source, protections)} {SAMPLE}",
                source.note,
            )
            if one
        ],
        words=(
            f"{people(found['n']).capitalize()} answered “{first}” and “{second}” under local"
            f" differential privacy ({_protected(protections)}; epsilon {source.epsilon} in total a"
            f" person{source.waves}). {found['sentence']} {shares} with {level} intervals:"
        ),
    )


def differences(
    found: DifferencesResult, short: str, source: ResultsSource, protection: Protection
) -> Paper:
    """The figure of a question's differences; ``short`` is the short name of the question."""
    title, before = headed(short, found["question"])
    rows = difference_drawing.rows(found)
    part = PaperStrips(rows, axes.of_differences(rows))
    other, level = found["other"], level_text(found["confidence"])
    what = f"Shares less those in survey {other}" if other else "Differences of shares"
    statement = difference_drawing.statement(found)
    return Paper(
        title=title,
        lede=f"{before}{what}, in percentage points, {people(found['n'])}.",
        parts=[fewer(part)],
        notes=[
            one
            for one in (
                statement,
                difference_drawing.family(found),
                left_out(part, "differences"),
                found["differences"][0]["note"],
                legend(found["confidence"], "grey and open where the two cannot be told apart"),
                "Intervals are for each comparison alone.",
                f"{privacy(source, [protection])} {SAMPLE}",
                source.note,
            )
            if one
        ],
        words=(
            f"{people(found['n']).capitalize()} answered “{found['question']}” under local"
            f" differential privacy ({protection.method}; {protection.words} for this question,"
            f" {source.epsilon} in total a person{source.waves}). {statement} {what} in percentage"
            f" points, with {level} intervals:"
        ),
    )


def waves(
    found: WavesResult, question: WaveQuestion, source: ResultsSource, protection: Protection
) -> Paper:
    """The figure of a question over the waves of a panel; ``source`` is the last wave."""
    card = wave_drawing.card(question)
    title, before = headed(question["short"], question["label"])
    level = level_text(found["confidence"])
    counts = ", ".join(f"{wave['n']:,}" for wave in found["waves"])
    shown = "closed" if all(one["state"] == "closed" for one in found["waves"]) else "still open"
    return Paper(
        title=title,
        lede=f"{before}{len(found['waves'])} waves of {counts} people.",
        parts=list(_panels(question, [str(wave["number"]) for wave in found["waves"]])),
        notes=[
            one
            for one in (
                card.finding,
                f"{OF_THOSE_ASKED}." if wave_drawing.is_of_asked(question) else "",
                card.change,
                wave_drawing.adjusted(found, "panel"),
                _most(question["choices"], "in the last wave"),
                found["note"],
                legend(found["confidence"]),
                f"{privacy(source, [protection])} {SAMPLE}",
                f"Source: panel {found['panel']}, {source.title}, surveys"
                f" {', '.join(wave['survey'] for wave in found['waves'])}; {shown}."
                " Made with Deniably.",
            )
            if one
        ],
        words=(
            f"In {len(found['waves'])} waves, {counts} people answered “{question['label']}” under"
            f" local differential privacy ({protection.method}; {protection.words} for this"
            f" question, {source.epsilon} in total a person and wave{source.waves}). {card.finding}"
            f" Estimates with {level} intervals:"
        ),
    )


def by_stratum(found: ByStratumResult, source: ResultsSource, protection: Protection) -> Paper:
    """The figure of a question by a key of the strata."""
    title, before = headed(found["short"], found["question"])
    dots = "differences are grey and open if chance explains them"
    drawn = _compared(found)
    shares = stratum_drawing.shares_axis(drawn)
    parts = [part for figure in drawn for part in _of_strata(figure, found["by"], shares)]
    level, finding = level_text(found["confidence"]), stratum_drawing.finding(found)
    counts = ", ".join(f"{one['value']} {one['n']:,}" for one in found["subgroups"])
    return Paper(
        title=title,
        lede=f"{before}By {found['by']}: {counts} people.",
        parts=[fewer(part) for part in parts],
        notes=[
            one
            for one in (
                finding,
                f"{OF_THOSE_ASKED}." if stratum_drawing.is_of_asked(found) else "",
                stratum_drawing.adjusted(found, "comparison"),
                _most(found["figures"], "over all strata"),
                legend(found["confidence"], dots),
                "Intervals are for each figure alone.",
                f"{privacy(source, [protection])} {SAMPLE}",
                source.note,
            )
            if one
        ],
        words=(
            f"{people(source.n).capitalize()} answered “{found['question']}” under local"
            f" differential privacy ({protection.method}; {protection.words} for this question,"
            f" {source.epsilon} in total a person{source.waves}); the link said the"
            f" {found['by']} of each. {finding} With {level} intervals:"
        ),
    )


def groups(
    found: GroupsResult,
    shown: PointResult,
    centres: Sequence[tuple[float, float]],
    source: ResultsSource,
    protection: Protection,
) -> Paper:
    """The figure of the groups of people on a map; ``shown`` is the map's own result.

    ``centres`` are the middles of the groups, as fractions of the map's sides.
    """
    title, before = headed(shown.short, shown.label)
    number = len(centres)
    assumed = (
        f"That people fall into {counted(number, 'group')} is an assumption, not a finding: k-means"
        " of the areas of the map, weighted with their shares. How far the middles move, and the"
        f" errors of the shares, are from {found['resamples']} repetitions of the survey in"
        " simulation."
    )
    table = PaperColumns(
        ["group", *(side.label for side in shown.sides), "moves by", "share", "SE"],
        list(_group_lines(found)),
    )
    return Paper(
        title=title,
        lede=f"{before}{counted(number, 'group')} of places, {people(found['n'])}.",
        parts=[PaperMap(combined.areas(shown), None, "", centres), table],
        notes=[
            "Rings: the middles of the groups. Shaded areas stand out from the noise, with a risk"
            f" of 5{NARROW}% over all of them; plain ones cannot be told from nobody.",
            assumed,
            privacy(source, [protection]),
            source.note,
        ],
        words=(
            f"{people(found['n']).capitalize()} answered “{shown.label}” under local differential"
            f" privacy ({protection.method}; {protection.words} for this question,"
            f" {source.epsilon} in total a person{source.waves}). {assumed} The groups:"
        ),
    )


def _group_lines(found: GroupsResult) -> Iterator[list[str]]:
    for index, group in enumerate(found["groups"]):
        error = group["centre_error"]
        places = digits.places((-error, error))
        yield [
            group_letter(index),
            *(digits.number(place, places) for place in group["centre"]),
            digits.number(error, places),
            digits.with_unit(digits.number(100 * group["share"], 1), "%"),
            digits.number(100 * group["share_error"], 1),
        ]


# --- below ------------------------------------------------------------------------------------


def _compared(found: ByStratumResult) -> list[ComparedFigure]:
    """The means, and the answers that a figure has room for."""

    def place(one: ComparedFigure) -> tuple[bool, float]:
        return one["name"] is not None, -sum(place["estimate"] or 0.0 for place in one["places"])

    largest = sorted(found["figures"], key=place)[:_MOST_PANELS]
    return [one for one in found["figures"] if one in largest]


def _of_strata(figure: ComparedFigure, by: str, shares: Axis) -> Iterator[PaperPart]:
    """A figure in every stratum, and its differences."""
    rows = stratum_drawing.rows(figure)
    axis = side_drawing.axis(figure, rows) if figure["name"] is None else shares
    yield PaperStrips(rows, axis, f"{figure['label']}, by {by}")
    apart = stratum_drawing.apart_rows(figure)
    if apart:
        axis = stratum_drawing.apart_axis([figure])
        points = "" if figure["name"] is None else ", in percentage points"
        yield PaperStrips(apart, axis, f"{figure['label']}, differences{points}")


def _protected(protections: Sequence[Protection]) -> str:
    return "; ".join(f"{one.method}, {one.words}" for one in dict.fromkeys(protections))


def _panels(question: WaveQuestion, numbers: Sequence[str]) -> Iterator[PaperTrends]:
    """The mean, then the answers that a figure has room for, all on one axis."""
    if question["mean"] is not None:
        mean = question["mean"]
        rows = wave_drawing.rows(mean)
        shared = side_drawing.axis(mean, rows, upright=True)
        yield PaperTrends([Panel("Mean", rows)], shared, _named(numbers))
    drawn = [Panel(one["label"], wave_drawing.rows(one)) for one in _answers(question)]
    if drawn:
        axis = axes.of_shares(row for panel in drawn for row in panel.rows)
        alone = len(drawn) == 1
        yield PaperTrends(drawn, axis, _named(numbers) if alone else numbers)


def _named(numbers: Sequence[str]) -> list[str]:
    return [f"wave {number}" for number in numbers]


def _answers(question: WaveQuestion) -> list[SeriesResult]:
    """The answers that are drawn: of many, those with the largest estimates in the last wave."""
    every = question["choices"]
    largest = sorted(every, key=lambda one: -(one["places"][-1]["estimate"] or 0.0))[:_MOST_PANELS]
    return [one for one in every if one in largest]


def _most(every: Sequence[FigureHead], where: str) -> str:
    if len(every) <= _MOST_PANELS:
        return ""
    return f"Of {len(every)} answers, the {_MOST_PANELS} with the largest estimates {where}."
