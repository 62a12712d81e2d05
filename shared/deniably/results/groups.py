"""The document of the groups of people on a map, and their places in its picture."""

from __future__ import annotations

from typing import TypedDict

from deniably.estimation.clusters import Clusters
from deniably.survey.questions import Point
from deniably.survey.readable import rounded
from deniably.survey.strata import Stratum

MOST_GROUPS = 12


class GroupResult(TypedDict):
    """One group on a map: its middle in the map's units, its share, and their standard errors."""

    centre: list[float]
    centre_error: float
    share: float
    share_error: float


class GroupsResult(TypedDict):
    """The groups of one map; ``strata`` has the values that the subgroup fixes, none for
    everybody."""

    survey: str
    strata: dict[str, str]
    question: str
    n: int
    spread: float
    resamples: int
    groups: list[GroupResult]


def groups_result(name: str, question: Point, clusters: Clusters, strata: Stratum) -> GroupsResult:
    """Puts the groups that were found into a document."""
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
    """The centre as fractions of the two ranges, from 0 to 1."""
    first, second = (
        (place - float(part.range.minimum))
        / (float(part.range.maximum) - float(part.range.minimum))
        for place, part in zip(group["centre"], question.parts, strict=True)
    )
    return first, second
