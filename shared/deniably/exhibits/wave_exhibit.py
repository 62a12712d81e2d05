"""Makes the exhibit of a question over the waves of a panel. A trend is only named if a test shows
one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from deniably.exhibits import side_rows
from deniably.exhibits.exhibit import Exhibit, Picture, Printed, Records, stated
from deniably.exhibits.marks import Trends
from deniably.exhibits.paper import headed
from deniably.exhibits.printing import apart
from deniably.exhibits.side_rows import axis
from deniably.results.among_asked import OF_THOSE_ASKED
from deniably.results.drawing import axes, rounding
from deniably.results.drawing.paper_trends import Panel
from deniably.results.drawing.row import Row
from deniably.results.narrative import level_text, quoted
from deniably.results.provenance import SAMPLE, Protection, ResultsSource, legend
from deniably.results.waves import (
    COLUMNS,
    ChangeResult,
    SeriesResult,
    WaveQuestion,
    WavesResult,
    wave_rows,
)
from deniably.survey.survey import Survey

CHANGE_HEADS = ("Change", "interval", "p alone", "p of the trend", "p adjusted (Holm)")
"""The headings of ``changes`` after the label."""
NO_CHANGE = "No change is shown."
TREND = (
    "The last wave less the first with a score test, and a linear trend over all waves, for the"
    " likeliest correlation of the same people's answers to show one; p-values adjusted by Holm"
    " (1979)."
)


def exhibit(
    document: WavesResult, question: WaveQuestion, survey: Survey, closed: str = ""
) -> Exhibit:
    """Returns the exhibit of a question over the waves of a panel: its words, pictures and
    numbers.

    ``survey`` is the last wave, and ``closed`` the day on which that wave was closed, empty if the
    day is not known.
    """
    last, waves = document["waves"][-1], len(document["waves"])
    main, level = main_series(question), level_text(document["confidence"])
    counts = ", ".join(f"{wave['n']:,}" for wave in document["waves"])
    title, before = headed(question["short"], question["label"])
    source = ResultsSource.of_survey(survey, last["state"], last["n"], closed)
    alone = f" “{main['label']}”" if main and main in question["choices"] else ""
    whom = f"{OF_THOSE_ASKED}." if is_of_asked(question) else ""
    return Exhibit(
        document=document,
        file=f"{document['survey']}-{question['name']}-waves",
        heading=question["short"],
        about=f"“{question['label']}” over the waves",
        source=source,
        protections=[Protection.of_question(survey.question(question["name"]))],
        confidence=document["confidence"],
        finding=finding(question),
        family=adjusted(document, "question"),
        pictures=lambda: list(pictures(question)),
        records=records(document),
        numbers=lambda: list(_numbers(document, question)),
        method=lambda: stated(
            f"Shares in per cent, with the {level} interval. Two tests for each figure: the last"
            " wave against the first, and a linear trend over all waves."
            f" {adjusted(document, 'page')} A change is only called one if the adjusted p-value is"
            " below 0.05.",
            document["note"],
        ),
        estimator=TREND,
        anchor=question["name"],
        label=f"{question['label']}{alone}",
        whom=whom,
        claim=finding(question),
        caption=f"{question['label']} Over {waves} waves",
        lines=lambda: Printed("", *_printed(document, question)),
        remarks=stated(document["note"]),
        title=title,
        lede=f"{before}{waves} waves of {counts} people.",
        figure=lambda: list(_panels(question, [str(wave["number"]) for wave in document["waves"]])),
        opening=stated(
            finding(question),
            whom,
            change_text(main) if main else "",
            adjusted(document, "panel"),
            side_rows.most(question["choices"], "in the last wave"),
            document["note"],
        ),
        legend=[legend(document["confidence"])],
        effect=f" {SAMPLE}",
        origin=_origin(document, source),
        asks=[question["label"]],
        who=f"In {waves} waves, {counts} people",
        per="a person and wave",
        words=f". {finding(question)} Estimates with {level} intervals:",
    )


def exhibits(document: WavesResult, survey: Survey, closed: str = "") -> list[Exhibit]:
    """Returns one exhibit for each question over the waves. ``survey`` is the last wave, and
    ``closed`` the day on which that wave was closed."""
    return [exhibit(document, question, survey, closed) for question in document["questions"]]


def records(document: WavesResult) -> Records:
    """Returns the exact numbers of all questions over the waves."""
    return Records(COLUMNS, lambda: wave_rows(document))


def main_series(question: WaveQuestion) -> SeriesResult | None:
    """Returns the figure that is drawn large: the mean, or the only answer. Returns None if there
    are several answers and no mean."""
    return question["mean"] or (question["choices"][0] if len(question["choices"]) == 1 else None)


def finding(question: WaveQuestion) -> str:
    """Returns sentences on what changed, or a sentence that the tests show no change."""
    all_series = _series(question)
    moved = [series for series in all_series if series["change"] and series["change"]["direction"]]
    if moved:
        return " ".join(_moved(series) for series in moved)
    if len(all_series) == len(question["choices"]) > 1:
        return "No change is shown in any answer."
    return _between(all_series[0]) if all_series else NO_CHANGE


def change_text(series: SeriesResult) -> str:
    """Returns a sentence with the change from the first to the last wave, its interval and both
    p-values."""
    change = series["change"]
    if change is None:
        return "These reports allow no test of a change."
    difference, interval = _apart(series, change)
    first, last = _ends(series)
    return (
        f"Wave {first} to wave {last}: {difference} ({interval}),"
        f" {rounding.p_value(change['p_value'])}; adjusted for all tests here,"
        f" {rounding.p_value(change['adjusted_p_value'])}."
    )


def visible_change(document: WavesResult) -> str:
    """Returns the smallest change of a share that the tests would typically show, as a text in
    percentage points: the median half-width of the intervals of changes. Empty if no share was
    tested."""
    # A smaller change than half the interval leaves 0 inside the interval.
    halves = [
        (change["interval"][1] - change["interval"][0]) / 2
        for question in document["questions"]
        for series in question["choices"]
        if (change := series["change"])
    ]
    return rounding.number(100 * median(halves), 0) if halves else ""


def is_of_asked(question: WaveQuestion) -> bool:
    """Returns whether the shares are those of the people who were asked a follow-up question
    (``show_if``)."""
    return any("of" in choice for choice in question["choices"])


def adjusted(document: WavesResult, where: str) -> str:
    """Returns a sentence on how the p-values of several tests were adjusted; empty for a single
    test. ``where`` is what the tests belong to."""
    if document["tests"] < 2:
        return ""
    return f"All {document['tests']} tests of this {where} are adjusted together (Holm 1979)."


def numbers(question: WaveQuestion) -> list[list[str]]:
    """Returns a line of texts for each figure in each wave: a label, then the figures under the
    headings ``side_rows.HEADS``."""
    return [
        [f"{series['label']}, wave {place['wave']}", *side_rows.numbers(series, place)]
        for series in _series(question)
        for place in series["places"]
    ]


def changes(question: WaveQuestion) -> list[list[str]]:
    """Returns a line of texts for each figure that was tested: its label, then the texts under the
    headings ``CHANGE_HEADS``."""
    return [
        [series["label"], *_apart(series, change), *_p_values(change)]
        for series in _series(question)
        if (change := series["change"])
    ]


def rows(series: SeriesResult, *, short: bool = False) -> list[Row]:
    """Returns the drawn rows of a figure, one per wave. With ``short`` the label is only the
    number of the wave."""
    return [
        side_rows.row(series, place, f"{'' if short else 'wave '}{place['wave']}")
        for place in series["places"]
    ]


# --- below ------------------------------------------------------------------------------------


def _series(question: WaveQuestion) -> list[SeriesResult]:
    return [*([question["mean"]] if question["mean"] else []), *question["choices"]]


def _ends(series: SeriesResult) -> tuple[int, int]:
    """Returns the numbers of the first and the last wave that are shown."""
    return series["places"][0]["wave"], series["places"][-1]["wave"]


def pictures(question: WaveQuestion) -> Iterator[Picture]:
    """Yields a large picture of the mean or the only answer, with the change in a note below, and
    then small pictures of all other answers, on a common axis."""
    main = main_series(question)
    if main:
        drawn = rows(main)
        yield Picture(
            Trends([Panel(main["label"], drawn)], axis(main, drawn, upright=True), []),
            notes=[f"{change_text(main)} The bands show what is compatible with the reports."],
        )
    small = [] if main in question["choices"] else question["choices"]
    if small:
        panels = [Panel(choice["label"], rows(choice, short=True)) for choice in small]
        shared = axes.of_shares([row for panel in panels for row in panel.rows])
        heading = "Each answer, share of people by wave"
        yield Picture(Trends(panels, shared, [], small=True), heading)


def _panels(question: WaveQuestion, numbers: Sequence[str]) -> Iterator[Trends]:
    """Yields the parts of the figure for a paper: the mean, then the answers that it has room for,
    all on one axis."""
    named = [f"wave {number}" for number in numbers]
    if question["mean"] is not None:
        drawn = rows(question["mean"])
        shared = axis(question["mean"], drawn, upright=True)
        yield Trends([Panel("Mean", drawn)], shared, named)
    shown = side_rows.largest(
        question["choices"], lambda choice: -(choice["places"][-1]["estimate"] or 0.0)
    )
    if shown:
        panels = [Panel(choice["label"], rows(choice)) for choice in shown]
        shared = axes.of_shares(row for panel in panels for row in panel.rows)
        yield Trends(panels, shared, named if len(panels) == 1 else numbers)


def _numbers(document: WavesResult, question: WaveQuestion) -> Iterator[Printed]:
    short, ends = question["short"], [document["waves"][place]["number"] for place in (0, -1)]
    yield Printed(f"{short}, by wave", ("Figure", *side_rows.HEADS), numbers(question))
    if changed := changes(question):
        yield Printed(f"{short}, changes", (f"Wave {ends[0]} to {ends[1]}", *CHANGE_HEADS), changed)


def _printed(
    document: WavesResult, question: WaveQuestion
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns the headings and the lines of a terminal's table."""
    change, interval, *tests = CHANGE_HEADS
    heads = (
        "figure", *(f"wave {wave['number']}" for wave in document["waves"]), change.lower(),
        f"{level_text(document['confidence'])} {interval}", *tests,
    )  # fmt: skip
    tested = {label: texts for label, *texts in changes(question)}
    untested = [rounding.UNKNOWN, "", *[""] * len(tests)]
    return heads, [
        (
            series["label"],
            *(row.reading.value for row in rows(series)),
            *tested.get(series["label"], untested),
        )
        for series in _series(question)
    ]


def _origin(document: WavesResult, source: ResultsSource) -> str:
    closed = all(wave["state"] == "closed" for wave in document["waves"])
    surveys = ", ".join(wave["survey"] for wave in document["waves"])
    return (
        f"Source: panel {document['panel']}, {source.title}, surveys {surveys};"
        f" {'closed' if closed else 'still open'}. Made with Deniably."
    )


def _between(series: SeriesResult) -> str:
    """Returns a sentence on the range of the estimates of all waves; without the range unless all
    estimates are known."""
    drawn = rows(series)
    if any(row.reading.state != "known" for row in drawn):
        return NO_CHANGE
    low, high = (pick(drawn, key=lambda row: row.estimate) for pick in (min, max))
    if low.reading.value == high.reading.value:
        return f"About {low.reading.value} in every wave: no change is shown."
    # "Between 20 and 29 %": the unit is written once.
    least = low.reading.value.removesuffix(f"{rounding.NARROW}%")
    return f"Between {least} and {high.reading.value} in every wave: no change is shown."


def _moved(series: SeriesResult) -> str:
    """Returns a sentence on how a figure changed; only for one where an adjusted test shows a
    trend or a change."""
    change, drawn = series["change"], rows(series)
    assert change
    assert change["direction"]
    what = "The mean" if series["name"] is None else quoted([series["label"]])
    significance = f"{rounding.p_value(change['adjusted_p_value'])}, adjusted"
    if change["direction"] == "changes":
        return f"{what} changes over the waves ({significance})."
    first, last = _ends(series)
    ends = (
        f"from {drawn[0].reading.value} in wave {first} to {drawn[-1].reading.value} in wave {last}"
    )
    return f"{what} {change['direction']} {ends} ({significance})."


def _apart(series: SeriesResult, change: ChangeResult) -> tuple[str, str]:
    """Returns a change and its interval as text, in percentage points or in the unit of a mean."""
    shares = series["name"] is not None
    return apart(change["estimate"], change["interval"], shares=shares, unit=series["unit"])


def _p_values(change: ChangeResult) -> list[str]:
    trend_p = change["trend_p_value"]
    return [
        rounding.p_cell(change["p_value"]),
        "" if trend_p is None else rounding.p_cell(trend_p),
        rounding.p_cell(change["adjusted_p_value"]),
    ]
