"""Makes the exhibit of a question in the strata of a survey, side by side.

Each figure has one strip per stratum on a common axis, and its differences below. Strata are
called different only where a test shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deniably.exhibits import side_rows, tested_difference
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
from deniably.results.drawing import axes, rounding
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.row import Row
from deniably.results.narrative import level_text, quoted
from deniably.results.provenance import SAMPLE, Protection, ResultsSource, legend
from deniably.survey.survey import Survey

_MOST_OPEN = 12
"""The most differences that a page shows at once; if there are more, those of each figure are
folded away."""


def exhibit(
    document: ByStratumResult, survey: Survey, state: str = "closed", closed: str = ""
) -> Exhibit:
    """Returns the exhibit of a question of ``survey`` by one key of the survey's strata, such as
    "site": its words, pictures and numbers.

    ``state`` is "open" or "closed", and ``closed`` the day on which the survey was closed, empty
    if that is not known.
    """
    question, by, tests = (
        survey.question(document["question_name"]),
        document["by"],
        document["tests"],
    )
    level, n = (
        level_text(document["confidence"]),
        sum(subgroup["n"] for subgroup in document["subgroups"]),
    )
    title, before = headed(document["short"], document["question"])
    counts = ", ".join(
        f"{subgroup['value']} {subgroup['n']:,}" for subgroup in document["subgroups"]
    )
    several = (
        f" The adjusted p-value takes into account that {tests} differences were tested at once"
        " (Holm 1979)."
        if tests > 1
        else ""
    )
    return Exhibit(
        document=document,
        file=file_name(document),
        heading=f"{document['short']} by {by}",
        about=f"“{document['question']}” by {by}",
        source=ResultsSource.of_survey(survey, state, n, closed, document["strata"]),
        protections=[Protection.of_question(question)],
        confidence=document["confidence"],
        finding=finding(document),
        family=adjusted(document),
        pictures=lambda: list(pictures(document)),
        records=records(document),
        numbers=lambda: list(_numbers(document)),
        method=lambda: [
            f"Shares in per cent, with the {level} interval. Each p-value is that of a score test"
            " of two independent groups, and each interval of a difference holds all that this test"
            " does not reject: it leaves out 0 exactly where “p alone” is below"
            f" {1 - document['confidence']:g}. Intervals are for each figure alone.{several}"
            " Differences that cannot be told apart need not be equal."
        ],
        estimator=DIFFERENCE,
        label=document["question"],
        whom=of_whom(question, asked=is_of_asked(document)),
        notes=lambda: [
            "Differences are the first less the second, of shares in percentage points; the dark"
            " line is “no difference”. Grey with an open dot: cannot be told apart. Each link names"
            f" its {by}. The {by} is not randomised."
        ],
        caption=f"{document['question']} By {by}",
        lines=lambda: Printed("", *_printed(document), texts=2),
        remarks=stated(
            f"Without results: {', '.join(document['hidden'])}." if document["hidden"] else ""
        ),
        title=title,
        lede=f"{before}By {by}: {counts} people.",
        figure=lambda: list(_figure(document)),
        rows="differences",
        opening=stated(
            finding(document),
            f"{OF_THOSE_ASKED}." if is_of_asked(document) else "",
            adjusted(document),
            side_rows.most(document["figures"], "over all strata"),
        ),
        legend=[
            legend(document["confidence"], "differences are grey and open if chance explains them"),
            "Intervals are for each figure alone.",
        ],
        effect=f" {SAMPLE}",
        asks=[document["question"]],
        words=f"; the link said the {by} of each. {finding(document)} With {level} intervals:",
    )


def file_name(document: ByStratumResult) -> str:
    """Returns the name of the files of the strata, without an ending."""
    subgroup, by = document["strata"].values(), document["by"]
    return "-".join([document["survey"], *subgroup, document["question_name"], "by", by])


def records(document: ByStratumResult) -> Records:
    """Returns the exact numbers of the strata: first one row for each figure in each stratum, then
    one for each difference."""
    return Records(COLUMNS, lambda: by_stratum_rows(document))


def finding(document: ByStratumResult) -> str:
    """Returns sentences on which strata differ, or that the tests show no difference."""
    tests = [(figure, test) for figure in document["figures"] for test in figure["differences"]]
    apart = [(figure, test) for figure, test in tests if tested_difference.differs(test)]
    if not tests:
        return "These reports allow no test of a difference."
    if not apart:
        return f"No difference by {document['by']} is shown."
    if len(apart) <= 2:
        return " ".join(_sentence(figure, test, document["tests"]) for figure, test in apart)
    figure, largest = max(apart, key=lambda pair: _size(*pair))
    return (
        f"{len(apart)} of {len(tests)} differences are shown to be more than chance. The largest:"
        f" {_sentence(figure, largest, document['tests'])}"
    )


def is_of_asked(document: ByStratumResult) -> bool:
    """Returns whether the shares are those of the people who were asked a follow-up question
    (``show_if``)."""
    return any("of" in figure for figure in document["figures"])


def adjusted(document: ByStratumResult, where: str = "comparison") -> str:
    """Returns a sentence on how the p-values of several tests were adjusted; empty for a single
    test. ``where`` is what the tests belong to, such as "comparison"."""
    if document["tests"] < 2:
        return ""
    return (
        f"All {document['tests']} tests of this {where} are adjusted together (Holm 1979): the risk"
        f" that any difference shown is chance is 5{rounding.NARROW}% over all."
    )


def shares_axis(figures: Sequence[ComparedFigure]) -> Axis:
    """Returns the common axis for the shares of several choices."""
    return axes.of_shares(
        row for figure in figures if figure["name"] is not None for row in rows(figure)
    )


def rows(figure: ComparedFigure) -> list[Row]:
    """Returns the drawn rows of a figure, one per stratum."""
    return [
        side_rows.row(figure, place, place["value"], figure["unit"]) for place in figure["places"]
    ]


def apart_rows(figure: ComparedFigure) -> list[Row]:
    """Returns the drawn rows of a figure's differences: in percentage points, or for a mean in its
    unit."""
    return [_apart_row(figure, test) for test in figure["differences"]]


def apart_axis(figures: Sequence[ComparedFigure]) -> Axis:
    """Returns the common axis for the differences of several figures, all shares or all means of
    the same unit. The axis includes 0."""
    drawn = [row for figure in figures for row in apart_rows(figure)]
    if figures and figures[0]["name"] is None:
        return axes.of_values(
            [0.0, *(end for row in drawn for end in row.interval)], figures[0]["unit"]
        )
    return axes.of_differences(drawn)


def numbers(document: ByStratumResult) -> list[list[str]]:
    """Returns a line of texts for each figure in each stratum: a label, then the figures under the
    headings ``side_rows.HEADS``."""
    return [
        [f"{figure['label']}, {place['value']}", *side_rows.numbers(figure, place)]
        for figure in document["figures"]
        for place in figure["places"]
    ]


def differences(document: ByStratumResult) -> list[list[str]]:
    """Returns a line of texts for each difference: a label, the estimate, then the figures under
    the headings ``tested_difference.HEADS``."""
    return [
        [
            f"{figure['label']}, {_pair(test)}",
            *tested_difference.numbers(test, *side_rows.scale(figure, test["interval"])),
        ]
        for figure in document["figures"]
        for test in figure["differences"]
    ]


# --- below ------------------------------------------------------------------------------------


def pictures(document: ByStratumResult) -> Iterator[Picture]:
    """Yields two pictures for each figure: of its values in the strata, and of the differences
    between strata. All shares have a common axis, and so have all differences of shares."""
    figures, by = document["figures"], document["by"]
    level, shares = level_text(document["confidence"]), shares_axis(figures)
    # The page alone: paper leaves figures out, and then gives each one an axis of its own.
    of_shares = apart_axis([figure for figure in figures if figure["name"] is not None])
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
            folded = document["tests"] > _MOST_OPEN
            yield Picture(forest, summary="Differences" if folded else "", unseen=f": {label}")


def _figure(document: ByStratumResult) -> Iterator[Strips]:
    """Yields the parts of the figure for a paper: the figures that it has room for, each with its
    own axis for differences."""

    def place(figure: ComparedFigure) -> tuple[bool, float]:
        return figure["name"] is not None, -sum(
            place["estimate"] or 0.0 for place in figure["places"]
        )

    drawn = side_rows.largest(document["figures"], place)
    shares = shares_axis(drawn)
    for figure in drawn:
        places, differences_ = rows(figure), apart_rows(figure)
        own = axis(figure, places) if figure["name"] is None else shares
        yield Strips(places, own, f"{figure['label']}, by {document['by']}")
        if differences_:
            points = "" if figure["name"] is None else ", in percentage points"
            title = f"{figure['label']}, differences{points}"
            yield Strips(differences_, apart_axis([figure]), title)


def _numbers(document: ByStratumResult) -> Iterator[Printed]:
    yield Printed(
        f"{document['short']}, by {document['by']}", ("Figure", *side_rows.HEADS), numbers(document)
    )
    if document["tests"]:
        heads = ("First less second", "Difference", *tested_difference.HEADS)
        yield Printed(f"{document['short']}, differences", heads, differences(document))


def _printed(document: ByStratumResult) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns the headings and the lines of a terminal's table."""
    heads = ("figure", "compared", *tested_difference.printed_heads(document["confidence"]))
    return heads, [
        (
            figure["label"],
            f"{test['first']} less {test['second']}",
            *tested_difference.printed(test, shares=figure["name"] is not None),
        )
        for figure in document["figures"]
        for test in figure["differences"]
    ]


def _pair(test: ApartResult) -> str:
    return f"{test['first']} less {test['second']}"


def _size(figure: ComparedFigure, test: ApartResult) -> float:
    """How large a difference is, as a part of the range of its figure."""
    # So that shares and means can be compared when the largest difference is looked for.
    low, high = figure["extent"]
    return abs(test["estimate"]) / (high - low)


def _sentence(figure: ComparedFigure, test: ApartResult, tests: int) -> str:
    """Returns a sentence on two strata that differ."""
    what = quoted([figure["label"]])
    if figure["name"] is None:
        what = "The mean" if figure["label"] == "Mean" else f"The mean of {what}"
    larger, smaller = test["first"], test["second"]
    if test["estimate"] < 0:
        larger, smaller = smaller, larger
    kind = "higher" if figure["name"] is None else "more frequent"
    row = _apart_row(figure, test)
    # "by" names the direction already, so the sign goes.
    apart = row.reading.value.lstrip(f"+{rounding.MINUS}")
    if figure["name"] is not None:
        apart = rounding.with_unit(apart, "points")
    return (
        f"{what} is {kind} in {larger} than in {smaller}, by {apart}"
        f" ({rounding.p_value(test['adjusted_p_value'])}{', adjusted' if tests > 1 else ''})."
    )


def _apart_row(figure: ComparedFigure, test: ApartResult) -> Row:
    shares = figure["name"] is not None
    return tested_difference.row(_pair(test), test, shares=shares, unit=figure["unit"])
