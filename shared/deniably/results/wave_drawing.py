"""Draws and words what the waves of a panel show; it speaks of a trend only if a test shows one."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from deniably.core.languages.html import Html
from deniably.results import side_drawing
from deniably.results.drawing import axes, digits
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.row import Row
from deniably.results.drawing.trend import trend
from deniably.results.narrative import quoted
from deniably.results.side_drawing import axis
from deniably.results.waves import (
    ChangeResult,
    SeriesResult,
    WaveQuestion,
    WavesResult,
)

CHANGE_HEADS = ("Change", "interval", "p alone", "p of the trend", "p adjusted (Holm)")
_SMALL = 170
NO_CHANGE = "No change is shown."


@dataclass(frozen=True)
class WaveCard:
    """A question over the waves: a finding, its main picture with the change below it, and small
    pictures of the other answers, all on one axis."""

    question: WaveQuestion
    finding: str
    picture: Html | None
    change: str
    answers: list[tuple[str, Html]]


def card(question: WaveQuestion) -> WaveCard:
    """What the page shows of a question."""
    main = question["mean"] or (question["choices"][0] if len(question["choices"]) == 1 else None)
    small = [] if main in question["choices"] else question["choices"]
    shared = axes.of_shares([row for one in small for row in rows(one, short=True)])
    return WaveCard(
        question,
        finding(question),
        _picture(main, axis(main, rows(main), upright=True), short=False) if main else None,
        change_text(main) if main else "",
        [(one["label"], _picture(one, shared, short=True)) for one in small],
    )


def finding(question: WaveQuestion) -> str:
    """One sentence on what changed; that nothing is shown to have changed, if so."""
    every = _series(question)
    moved = [one for one in every if one["change"] and one["change"]["direction"]]
    if moved:
        return " ".join(_moved(one) for one in moved)
    if len(every) == len(question["choices"]) > 1:
        return "No change is shown in any answer."
    return _between(every[0]) if every else NO_CHANGE


def change_text(series: SeriesResult) -> str:
    """The last wave that is shown less the first, with its p-values."""
    change = series["change"]
    if change is None:
        return "These reports allow no test of a change."
    apart, bare = _apart(series, change)
    first, last = _ends(series)
    return (
        f"Wave {first} to wave {last}: {apart} ({bare}), {digits.p_value(change['p_value'])};"
        f" adjusted for all tests here, {digits.p_value(change['adjusted_p_value'])}."
    )


def visible_change(found: WavesResult) -> str:
    """The change of a share, in points, below which a test does not see it; empty without any."""
    halves = [
        (change["interval"][1] - change["interval"][0]) / 2
        for question in found["questions"]
        for one in question["choices"]
        if (change := one["change"])
    ]
    return digits.number(100 * median(halves), 0) if halves else ""


def is_of_asked(question: WaveQuestion) -> bool:
    """Whether the shares are those of people who were asked a question with ``show_if``."""
    return any("of" in one for one in question["choices"])


def adjusted(found: WavesResult, where: str) -> str:
    """How the tests were adjusted for being several, in a sentence; empty for one alone."""
    if found["tests"] < 2:
        return ""
    return f"All {found['tests']} tests of this {where} are adjusted together (Holm 1979)."


def numbers(question: WaveQuestion) -> list[list[str]]:
    """A line for each figure in each wave, as ``HEADS`` names them."""
    return [
        [f"{one['label']}, wave {place['wave']}", *side_drawing.numbers(one, place)]
        for one in _series(question)
        for place in one["places"]
    ]


def changes(question: WaveQuestion) -> list[list[str]]:
    """A line for each figure that was tested, as ``CHANGE_HEADS`` names them."""
    return [
        [one["label"], *_apart(one, change), *_p_values(change)]
        for one in _series(question)
        if (change := one["change"])
    ]


def rows(series: SeriesResult, *, short: bool = False) -> list[Row]:
    """The figure in each wave; ``short`` labels are the numbers of the waves alone."""
    return [
        side_drawing.row(series, place, f"{'' if short else 'wave '}{place['wave']}")
        for place in series["places"]
    ]


# --- below ------------------------------------------------------------------------------------


def _series(question: WaveQuestion) -> list[SeriesResult]:
    return [*([question["mean"]] if question["mean"] else []), *question["choices"]]


def _ends(series: SeriesResult) -> tuple[int, int]:
    """The numbers of the first and the last wave that are shown."""
    return series["places"][0]["wave"], series["places"][-1]["wave"]


def _picture(series: SeriesResult, shared_axis: Axis, *, short: bool) -> Html:
    drawn = rows(series, short=short)
    if short:
        return trend(series["label"], drawn, shared_axis, height=_SMALL, values=False)
    return trend(series["label"], drawn, shared_axis)


def _between(series: SeriesResult) -> str:
    """How far the estimates of the waves lie apart, where all are known."""
    found = rows(series)
    if any(row.reading.state != "known" for row in found):
        return NO_CHANGE
    low, high = (pick(found, key=lambda row: row.estimate) for pick in (min, max))
    if low.reading.value == high.reading.value:
        return f"About {low.reading.value} in every wave: no change is shown."
    least = low.reading.value.removesuffix(f"{digits.NARROW}%")
    return f"Between {least} and {high.reading.value} in every wave: no change is shown."


def _moved(series: SeriesResult) -> str:
    """A sentence with a word of a trend: only where an adjusted test shows one."""
    change, found = series["change"], rows(series)
    assert change
    assert change["direction"]
    what = "The mean" if series["name"] is None else quoted([series["label"]])
    said = f"{digits.p_value(change['adjusted_p_value'])}, adjusted"
    if change["direction"] == "changes":
        return f"{what} changes over the waves ({said})."
    first, last = _ends(series)
    ends = (
        f"from {found[0].reading.value} in wave {first} to {found[-1].reading.value} in wave {last}"
    )
    return f"{what} {change['direction']} {ends} ({said})."


def _apart(series: SeriesResult, change: ChangeResult) -> tuple[str, str]:
    """A change and its interval as text, in points or in the unit of a mean."""
    if series["name"] is None:
        places = digits.places(change["interval"])
        ends = " to ".join(digits.signed(end, places) for end in change["interval"])
        return digits.with_unit(digits.signed(change["estimate"], places), series["unit"]), ends
    reading = digits.points(change["estimate"], change["interval"])
    return reading.value, reading.bare


def _p_values(change: ChangeResult) -> list[str]:
    trend_p = change["trend_p_value"]
    return [
        digits.p_cell(change["p_value"]),
        "" if trend_p is None else digits.p_cell(trend_p),
        digits.p_cell(change["adjusted_p_value"]),
    ]
