"""The exhibit of the strata of a survey side by side; what no test shows is not called different.

A figure in the strata is one strip each on a common axis, and below it are the differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deniably.exhibits import side_rows, tested
from deniably.exhibits.difference_exhibit import DIFFERENCE
from deniably.exhibits.exhibit import Exhibit, Picture, Printed, Records, stated
from deniably.exhibits.marks import Strips
from deniably.exhibits.paper import headed
from deniably.exhibits.side_rows import axis
from deniably.results.among_asked import OF_THOSE_ASKED, of_whom
from deniably.results.by_stratum import (
    COLUMNS,
    ApartResult,
    ByStratumResult,
    ComparedFigure,
    by_stratum_rows,
)
from deniably.results.drawing import axes, digits
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.row import Row
from deniably.results.narrative import level_text, quoted
from deniably.results.provenance import SAMPLE, Protection, ResultsSource, legend
from deniably.survey.survey import Survey

_MOST_OPEN = 12
"""Differences that a page shows at once; of more, those of each figure are folded."""


def exhibit(
    found: ByStratumResult, survey: Survey, state: str = "closed", closed: str = ""
) -> Exhibit:
    """A question of ``survey`` by a key of its strata; ``state`` and ``closed`` as in
    ``ResultsSource``."""
    question, by, tests = survey.question(found["question_name"]), found["by"], found["tests"]
    level, n = level_text(found["confidence"]), sum(one["n"] for one in found["subgroups"])
    title, before = headed(found["short"], found["question"])
    counts = ", ".join(f"{one['value']} {one['n']:,}" for one in found["subgroups"])
    several = (
        f" The adjusted p-value takes into account that {tests} differences were tested at once"
        " (Holm 1979)."
        if tests > 1
        else ""
    )
    return Exhibit(
        document=found,
        file="-".join(
            [found["survey"], *found["strata"].values(), found["question_name"], "by", by]
        ),
        heading=f"{found['short']} by {by}",
        about=f"“{found['question']}” by {by}",
        source=ResultsSource.of_survey(survey, state, n, closed, found["strata"]),
        protections=[Protection.of_question(question)],
        confidence=found["confidence"],
        finding=finding(found),
        family=adjusted(found),
        pictures=lambda: list(pictures(found)),
        records=Records(COLUMNS, lambda: by_stratum_rows(found)),
        numbers=lambda: list(_numbers(found)),
        method=lambda: [
            f"Shares in per cent, with the {level} interval. Each p-value is that of a score test"
            " of two independent groups, and each interval of a difference holds all that this test"
            " does not reject: it leaves out 0 exactly where “p alone” is below"
            f" {1 - found['confidence']:g}. Intervals are for each figure alone.{several}"
            " Differences that cannot be told apart need not be equal."
        ],
        estimator=DIFFERENCE,
        label=found["question"],
        whom=of_whom(question, asked=is_of_asked(found)),
        notes=lambda: [
            "Differences are the first less the second, of shares in percentage points; the dark"
            " line is “no difference”. Grey with an open dot: cannot be told apart. Each link names"
            f" its {by}. The {by} is not randomised."
        ],
        caption=f"{found['question']} By {by}",
        lines=lambda: Printed("", *_printed(found), texts=2),
        remarks=stated(
            f"Without results: {', '.join(found['hidden'])}." if found["hidden"] else ""
        ),
        title=title,
        lede=f"{before}By {by}: {counts} people.",
        figure=lambda: list(_figure(found)),
        rows="differences",
        opening=stated(
            finding(found),
            f"{OF_THOSE_ASKED}." if is_of_asked(found) else "",
            adjusted(found),
            side_rows.most(found["figures"], "over all strata"),
        ),
        legend=[
            legend(found["confidence"], "differences are grey and open if chance explains them"),
            "Intervals are for each figure alone.",
        ],
        effect=f" {SAMPLE}",
        asks=[found["question"]],
        words=f"; the link said the {by} of each. {finding(found)} With {level} intervals:",
    )


def finding(found: ByStratumResult) -> str:
    """One sentence on what differs; that nothing is shown to, if so."""
    every = [(figure, one) for figure in found["figures"] for one in figure["differences"]]
    apart = [(figure, one) for figure, one in every if tested.differs(one)]
    if not every:
        return "These reports allow no test of a difference."
    if not apart:
        return f"No difference by {found['by']} is shown."
    if len(apart) <= 2:
        return " ".join(_said(figure, one, found["tests"]) for figure, one in apart)
    figure, largest = max(apart, key=lambda pair: _size(*pair))
    return (
        f"{len(apart)} of {len(every)} differences are shown to be more than chance. The largest:"
        f" {_said(figure, largest, found['tests'])}"
    )


def is_of_asked(found: ByStratumResult) -> bool:
    """Whether the shares are those of people who were asked a question with ``show_if``."""
    return any("of" in figure for figure in found["figures"])


def adjusted(found: ByStratumResult, where: str = "comparison") -> str:
    """How the tests were adjusted for being several; empty for one alone."""
    if found["tests"] < 2:
        return ""
    return (
        f"All {found['tests']} tests of this {where} are adjusted together (Holm 1979): the risk"
        f" that any difference shown is chance is 5{digits.NARROW}% over all."
    )


def shares_axis(figures: Sequence[ComparedFigure]) -> Axis:
    """One axis for the shares of several choices."""
    return axes.of_shares(row for one in figures if one["name"] is not None for row in rows(one))


def rows(figure: ComparedFigure) -> list[Row]:
    """The figure in every stratum."""
    return [
        side_rows.row(figure, place, place["value"], figure["unit"]) for place in figure["places"]
    ]


def apart_rows(figure: ComparedFigure) -> list[Row]:
    """The differences of a figure, in points or in the unit of a mean."""
    return [_apart_row(figure, one) for one in figure["differences"]]


def apart_axis(figures: Sequence[ComparedFigure]) -> Axis:
    """One axis for the differences of figures in one unit, with nought on it."""
    drawn = [row for one in figures for row in apart_rows(one)]
    if figures and figures[0]["name"] is None:
        return axes.of_values(
            [0.0, *(end for row in drawn for end in row.interval)], figures[0]["unit"]
        )
    return axes.of_differences(drawn)


def numbers(found: ByStratumResult) -> list[list[str]]:
    """A line for each figure in each stratum, as ``side_rows.HEADS`` names them."""
    return [
        [f"{figure['label']}, {place['value']}", *side_rows.numbers(figure, place)]
        for figure in found["figures"]
        for place in figure["places"]
    ]


def differences(found: ByStratumResult) -> list[list[str]]:
    """A line for each difference, as ``tested`` names them."""
    return [
        [
            f"{figure['label']}, {_pair(one)}",
            *tested.numbers(one, *side_rows.scale(figure, one["interval"])),
        ]
        for figure in found["figures"]
        for one in figure["differences"]
    ]


# --- below ------------------------------------------------------------------------------------


def pictures(found: ByStratumResult) -> Iterator[Picture]:
    """Each figure in every stratum, and its differences; the shares are on one axis, and so are
    their differences."""
    figures, by = found["figures"], found["by"]
    level, shares = level_text(found["confidence"]), shares_axis(figures)
    of_shares = apart_axis([one for one in figures if one["name"] is not None])
    for figure in figures:
        is_mean, label = figure["name"] is None, figure["label"]
        places, differences_ = rows(figure), apart_rows(figure)
        strips = Strips(
            places, axis(figure, places) if is_mean else shares, about=f"{label}, by {by}",
            heads=("Estimate", f"{level} interval"), heading=by,
        )  # fmt: skip
        untested = "" if differences_ else "These reports allow no test of a difference."
        yield Picture(strips, label, notes=stated(untested))
        if differences_:
            forest = Strips(
                differences_, apart_axis([figure]) if is_mean else of_shares,
                about=f"{label}, differences by {by}",
                heads=("Difference" if is_mean else "Points", f"{level} interval"),
                heading="Two strata",
            )  # fmt: skip
            folded = found["tests"] > _MOST_OPEN
            yield Picture(forest, summary="Differences" if folded else "", unseen=f": {label}")


def _figure(found: ByStratumResult) -> Iterator[Strips]:
    """The same on paper: the figures that it has room for, with an axis for each one's
    differences."""

    def place(one: ComparedFigure) -> tuple[bool, float]:
        return one["name"] is not None, -sum(place["estimate"] or 0.0 for place in one["places"])

    drawn = side_rows.largest(found["figures"], place)
    shares = shares_axis(drawn)
    for figure in drawn:
        places, differences_ = rows(figure), apart_rows(figure)
        own = axis(figure, places) if figure["name"] is None else shares
        yield Strips(places, own, f"{figure['label']}, by {found['by']}")
        if differences_:
            points = "" if figure["name"] is None else ", in percentage points"
            title = f"{figure['label']}, differences{points}"
            yield Strips(differences_, apart_axis([figure]), title)


def _numbers(found: ByStratumResult) -> Iterator[Printed]:
    yield Printed(
        f"{found['short']}, by {found['by']}", ("Figure", *side_rows.HEADS), numbers(found)
    )
    if found["tests"]:
        heads = ("First less second", "Difference", *tested.HEADS)
        yield Printed(f"{found['short']}, differences", heads, differences(found))


def _printed(found: ByStratumResult) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The headings and the lines of a terminal's table."""
    heads = ("figure", "compared", *tested.printed_heads(found["confidence"]))
    return heads, [
        (
            figure["label"],
            f"{one['first']} less {one['second']}",
            *tested.printed(one, shares=figure["name"] is not None),
        )
        for figure in found["figures"]
        for one in figure["differences"]
    ]


def _pair(one: ApartResult) -> str:
    return f"{one['first']} less {one['second']}"


def _size(figure: ComparedFigure, one: ApartResult) -> float:
    """How large a difference is, as a part of the range of its figure."""
    low, high = figure["extent"]
    return abs(one["estimate"]) / (high - low)


def _said(figure: ComparedFigure, one: ApartResult, tests: int) -> str:
    """A sentence on two strata that differ."""
    what = quoted([figure["label"]])
    if figure["name"] is None:
        what = "The mean" if figure["label"] == "Mean" else f"The mean of {what}"
    larger, smaller = one["first"], one["second"]
    if one["estimate"] < 0:
        larger, smaller = smaller, larger
    kind = "higher" if figure["name"] is None else "more frequent"
    row = _apart_row(figure, one)
    apart = row.reading.value.lstrip(f"+{digits.MINUS}")
    if figure["name"] is not None:
        apart = digits.with_unit(apart, "points")
    return (
        f"{what} is {kind} in {larger} than in {smaller}, by {apart}"
        f" ({digits.p_value(one['adjusted_p_value'])}{', adjusted' if tests > 1 else ''})."
    )


def _apart_row(figure: ComparedFigure, test: ApartResult) -> Row:
    shares = figure["name"] is not None
    return tested.row(_pair(test), test, shares=shares, unit=figure["unit"])
