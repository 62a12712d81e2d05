"""Checks strata, numbers them and reads them from links and reports (SPEC 4.6, 5 and 7)."""

from __future__ import annotations

import math
import re
from typing import Any
from urllib.parse import unquote_plus

from deniably.reference.refusal import require
from deniably.reference.values import Definition, Json

SHORT = r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?"
"""The pattern of a survey's name, and of keys and values of strata."""


def check_strata(value: Json) -> None:
    """Raises Invalid unless ``value`` is the ``strata`` of a definition."""
    require(type(value) is dict and value, "strata are an object with one key at least")
    for key, values in value.items():
        require(re.fullmatch(SHORT, key), "a key is spelt as a survey's name")
        require(type(values) is list and 2 <= len(values) <= 8, "2 to 8 values")
        for text in values:
            require(type(text) is str and re.fullmatch(SHORT, text), "a value is spelt so, too")
        require(len(set(values)) == len(values), "no value is there twice")
    require(math.prod(len(values) for values in value.values()) <= 8, "8 strata at most")


def numbered(definition: Definition) -> list[dict[str, str]]:
    """Returns all strata of a survey in the order of their numbers.

    Keys are in alphabetical order, values in the order of the definition, and the last key changes
    first. Without strata the list has one empty stratum.
    """
    strata: list[dict[str, str]] = [{}]
    # In this order of loops the last key changes soonest.
    for key in sorted(definition.get("strata", {})):
        strata = [
            stratum | {key: value} for stratum in strata for value in definition["strata"][key]
        ]
    return strata


def of_link(definition: Definition, query: str) -> dict[str, str]:
    """Returns the stratum that the query of a link names. Raises Invalid unless each key is there
    exactly once, with one of its values."""
    pairs = [piece.partition("=") for piece in query.split("&")]
    decoded = [(unquote_plus(name), unquote_plus(value)) for name, _, value in pairs]
    stratum = {}
    for key, values in definition["strata"].items():
        chosen = [value for name, value in decoded if name == key]
        require(len(chosen) == 1 and chosen[0] in values, "each key once, with one of its values")
        stratum[key] = chosen[0]
    return stratum


def of_report(definition: Definition, report: dict[str, Any]) -> int:
    """Returns the number of a report's stratum, from 0. Raises Invalid if the survey has no such
    stratum."""
    require(("strata" in report) == ("strata" in definition), "with strata, and not without")
    all_of_them = numbered(definition)
    require(report.get("strata", {}) in all_of_them, "one of the survey's strata")
    return all_of_them.index(report.get("strata", {}))
