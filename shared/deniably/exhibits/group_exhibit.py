"""Makes the exhibit of the groups of people that k-means finds on a map."""

from __future__ import annotations

from collections.abc import Iterator

from deniably.core.counting import counted, people
from deniably.exhibits.exhibit import Exhibit, Picture, Printed, Records
from deniably.exhibits.marks import AreaMap, Columns
from deniably.exhibits.paper import headed
from deniably.exhibits.question_pictures import area_map
from deniably.results import combined
from deniably.results.document import PointResult
from deniably.results.drawing import rounding
from deniably.results.drawing.choropleth import group_letter
from deniably.results.drawing.rounding import NARROW
from deniably.results.groups import GroupsResult, on_square
from deniably.results.provenance import Protection, ResultsSource
from deniably.results.rows import ResultRow
from deniably.survey.questions import Point
from deniably.survey.strata import stratum_text
from deniably.survey.survey import Survey

COLUMNS = (
    "survey", "strata", "question", "n", "group", "first", "second", "centre_error", "share",
    "share_error",
)  # fmt: skip
"""The columns of the CSV of groups; ``first`` and ``second`` are the two coordinates of a group's
centre."""
K_MEANS = (
    "Groups of the areas of the map by k-means, weighted with their shares; errors by repetitions"
    " of the survey in simulation."
)


def exhibit(
    document: GroupsResult, shown: PointResult, survey: Survey, state: str, closed: str = ""
) -> Exhibit:
    """Returns the exhibit of the groups on the map of one question of ``survey``: its words,
    pictures and numbers.

    ``document`` has the groups, and ``shown`` the shares of the map's areas. ``state`` is "open"
    or "closed", and ``closed`` the day on which the survey was closed, empty if that is not known.
    """
    question, number = survey.question(document["question"]), len(document["groups"])
    assert isinstance(question, Point)
    centres = [on_square(question, group) for group in document["groups"]]
    title, before = headed(shown.short, shown.label)
    assumed = (
        f"That people fall into {counted(number, 'group')} is an assumption, not a finding: k-means"
        " of the areas of the map, weighted with their shares. How far the middles move, and the"
        f" errors of the shares, are from {document['resamples']} repetitions of the survey in"
        " simulation."
    )
    sides = [side.label for side in shown.sides]
    heads = ("Group", *(part.label for part in question.parts), "Moves by", "Share", "Std. error")
    return Exhibit(
        document=document,
        file=file_name(document),
        heading=question.label,
        about=f"the groups in “{question.label}”",
        source=ResultsSource.of_survey(survey, state, document["n"], closed, document["strata"]),
        protections=[Protection.of_question(question)],
        confidence=0.95,
        finding="",
        pictures=lambda: [
            Picture(area_map(shown, centres)),
            Picture(Columns(heads, list(_lines(document, "%")), about="Groups")),
        ],
        records=records(document),
        method=lambda: [
            "Groups of the areas of the map by k-means, weighted with their shares. How far the"
            f" centres move and how the shares vary comes from {document['resamples']} repetitions"
            " of the survey in simulation."
        ],
        estimator=K_MEANS,
        label=question.label,
        notes=lambda: [
            "Coloured areas stand out from the noise; rings are the middles of the groups. That"
            f" people fall into {number} groups is an assumption, not a finding."
        ],
        caption=f"Groups: {question.label}",
        lines=lambda: Printed("Groups", heads, list(_lines(document, "%"))),
        remarks=[assumed],
        title=title,
        lede=f"{before}{counted(number, 'group')} of places, {people(document['n'])}.",
        figure=lambda: [
            AreaMap(combined.areas(shown), None, "", centres),
            Columns(["group", *sides, "moves by", "share", "SE"], list(_lines(document))),
        ],
        opening=[
            "Rings: the middles of the groups. Shaded areas stand out from the noise, with a risk"
            f" of 5{NARROW}% over all of them; in plain ones there may be nobody.",
            assumed,
        ],
        asks=[shown.label],
        words=f". {assumed} The groups:",
    )


def file_name(document: GroupsResult) -> str:
    """Returns the name of the files of the groups, without an ending."""
    return f"{document['survey']}-{document['question']}-groups"


def records(document: GroupsResult) -> Records:
    """Returns the exact numbers of the groups, one row per group."""
    return Records(COLUMNS, lambda: _rows(document))


# --- below ------------------------------------------------------------------------------------


def _lines(document: GroupsResult, unit: str = "") -> Iterator[list[str]]:
    """Yields a line per group; ``unit`` follows the error of its share."""
    for index, group in enumerate(document["groups"]):
        error = group["centre_error"]
        # A centre has no interval: its standard error decides how many digits are printed.
        places = rounding.places((-error, error))
        yield [
            group_letter(index),
            *(rounding.number(place, places) for place in group["centre"]),
            rounding.number(error, places),
            rounding.with_unit(rounding.number(100 * group["share"], 1), "%"),
            rounding.with_unit(rounding.number(100 * group["share_error"], 1), unit),
        ]


def _rows(document: GroupsResult) -> Iterator[ResultRow]:
    for index, group in enumerate(document["groups"]):
        first, second = group["centre"]
        yield {
            "survey": document["survey"],
            "strata": stratum_text(document["strata"]),
            "question": document["question"],
            "n": document["n"],
            "group": group_letter(index),
            "first": first,
            "second": second,
            "centre_error": group["centre_error"],
            "share": group["share"],
            "share_error": group["share_error"],
        }
