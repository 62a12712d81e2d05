"""Turns the groups of people that were found on a map into a document, and gives their places in a
picture."""

from __future__ import annotations

from typing import TypedDict

from deniably.estimation.clusters import Clusters
from deniably.survey.questions import Point
from deniably.survey.readable import rounded
from deniably.survey.strata import Stratum

MOST_GROUPS = 12


class GroupResult(TypedDict):
    """One group of people on a map: its centre (two numbers in the units of the map's sides) and
    its share, each with a standard error by simulation. ``centre_error`` is the root mean square
    distance that the centre moved in the simulations."""

    centre: list[float]
    centre_error: float
    share: float
    share_error: float


class GroupsResult(TypedDict):
    """The groups of people on one map. ``strata`` has the values that the subgroup of these
    reports fixes; it is empty for everybody. ``spread`` is the mean squared distance of people
    from the nearest centre, where each side of the map has length 1. ``resamples`` is the number
    of simulated samples that the standard errors are computed from."""

    survey: str
    strata: dict[str, str]
    question: str
    n: int
    spread: float
    resamples: int
    groups: list[GroupResult]


def groups_result(name: str, question: Point, clusters: Clusters, strata: Stratum) -> GroupsResult:
    """Returns ``clusters`` as the document of the groups on the map of ``question``; ``name`` is
    the survey's name."""
    return {
        "survey": name,
        "strata": dict(strata),
        "question": question.name,
        "n": clusters.n,
        "spread": rounded(clusters.spread),
        "resamples": clusters.resamples,
        "groups": [
            {
                "centre": [rounded(place) for place in group.centre],
                "centre_error": rounded(group.centre_error),
                "share": rounded(group.share),
                "share_error": rounded(group.share_error),
            }
            for group in clusters.groups
        ],
    }


def on_square(question: Point, group: GroupResult) -> tuple[float, float]:
    """Returns the centre of a group as two fractions from 0 to 1, each of the range of one side of
    the map."""
    first, second = (
        (place - float(part.range.minimum))
        / (float(part.range.maximum) - float(part.range.minimum))
        for place, part in zip(group["centre"], question.parts, strict=True)
    )
    return first, second
