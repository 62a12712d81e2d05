"""Strata: the public groups in which a survey's respondents come, as their links say (SPEC 4.6).

A definition maps each key, such as ``site``, to its values, such as north and south. A *stratum*
has one value for each key; a *subgroup* has one for some of the keys, or for none. A stratum is
sent as it is: nothing is randomised here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Annotated
from urllib.parse import parse_qsl, urlencode

from msgspec import Meta

from deniably.core.errors import BadLink
from deniably.survey.parts import SurveyName

MOST_STRATA = 8
"""The most strata of a survey: the smaller they are, the easier their people are to find."""
MOST_KEYS = 3
"""The most keys that so many strata can have: each key has at least two values."""
RESERVED = frozenset(
    ("after", "by", "choice", "columns", "confidence", "count", "format", "language", "of", "other",
     "page", "part", "question", "rows", "share", "smooth", "survey", "value", "weights", "width")
)  # fmt: skip
"""Parameters that addresses of a server have already, so that no key can be called so."""
APPENDED = ("fbclid", "gclid", "igshid", "mc_", "msclkid", "utm_")
"""Prefixes of parameters that social networks and newsletters append to links."""

Strata = Annotated[
    dict[
        SurveyName,
        Annotated[list[SurveyName], Meta(min_length=2, max_length=MOST_STRATA)],
    ],
    Meta(min_length=1, max_length=MOST_KEYS),
]
Stratum = Mapping[str, str]
"""A value for each key. That of a survey without strata is empty."""


def check_strata(strata: Mapping[str, Sequence[str]]) -> None:
    """Raises ValueError where a key has the same value twice, and for more than ``MOST_STRATA``
    strata."""
    for key, values in strata.items():
        if len(set(values)) < len(values):
            raise ValueError(f"strata: {key} has a value twice: {', '.join(values)}")
    if (count := prod(map(len, strata.values()))) > MOST_STRATA:
        raise ValueError(
            f"strata: the keys have {count} strata together; {MOST_STRATA} is the most: leave out"
            " a key, or put values together"
        )


def every_stratum(strata: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Returns all strata; the number of a stratum is its index in this list.

    Keys are in alphabetical order, and their values in the order of the definition; the value of
    the last key changes fastest.

    >>> every_stratum({"site": ["north", "south"]})
    [{'site': 'north'}, {'site': 'south'}]
    """
    keys = sorted(strata)
    return [dict(zip(keys, values, strict=True)) for values in product(*map(strata.get, keys))]  # type: ignore[arg-type]


def members(strata: Mapping[str, Sequence[str]], subgroup: Stratum) -> list[int]:
    """Returns the numbers (indices in ``every_stratum``) of the strata that belong to a subgroup,
    ascending.

    Raises ValueError for a key or a value that the strata do not have.

    >>> members({"site": ["north", "south"], "shift": ["day", "night"]}, {"site": "south"})
    [1, 3]
    """
    for key, value in subgroup.items():
        if key not in strata:
            there = f"there are {', '.join(sorted(strata))}" if strata else "the survey has none"
            raise ValueError(f"there is no stratum {key}; {there}")
        if value not in strata[key]:
            raise ValueError(f"{key} is one of {', '.join(strata[key])}, and not {value}")
    wanted = subgroup.items()
    return [i for i, member_of in enumerate(every_stratum(strata)) if wanted <= member_of.items()]


def stratum_in(query: str, strata: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Returns the stratum that a link states; ``query`` is the part of the link after the question
    mark.

    Other parameters are ignored. Raises BadLink unless each key of ``strata`` occurs once, with
    one of its values.
    """
    # A key without a value is in the link, too, and has to be refused.
    parameters = parse_qsl(query, keep_blank_values=True)
    stratum: dict[str, str] = {}
    for key, values in strata.items():
        named = [value for name, value in parameters if name == key]
        if len(named) != 1 or named[0] not in values:
            raise BadLink(key)
        stratum[key] = named[0]
    return stratum


def query_of(stratum: Stratum) -> str:
    """Returns the part of a link that states a stratum, from the question mark on; empty for an
    empty stratum.

    >>> query_of({"site": "north"})
    '?site=north'
    """
    return f"?{urlencode(sorted(stratum.items()))}" if stratum else ""


def stratum_text(stratum: Stratum, comma: str = ", ") -> str:
    """Returns a stratum as people read it.

    >>> stratum_text({"site": "north", "shift": "day"})
    'shift day, site north'
    """
    return comma.join(f"{key} {value}" for key, value in sorted(stratum.items()))


def titled(title: str, stratum: Stratum | None) -> str:
    """Returns the title of a survey, with a stratum or a subgroup in brackets if there is one.

    >>> titled("Honesty", {"site": "north"})
    'Honesty (site north)'
    """
    return f"{title} ({stratum_text(stratum)})" if stratum else title
