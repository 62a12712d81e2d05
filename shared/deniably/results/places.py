"""Describes the areas of a map in words, such as "1 to 1.9 km west, 0 to 1 km north"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deniably.results.document import AreaResult, SideResult
from deniably.results.drawing import rounding
from deniably.results.drawing.rounding import exact, with_unit

_OPPOSITE = {"east": "west", "north": "south", "west": "east", "south": "north"}
_NUMBERS = re.compile(r"-?[0-9.]+( to -?[0-9.]+)?", re.ASCII)
# A label may name the direction of its side, such as "km north" or "eastwards".
_DIRECTION = re.compile(r"\b(north|south|east|west)(?:wards?)?\b", re.IGNORECASE)


def sentence(sides: Sequence[SideResult], cells: Sequence[AreaResult]) -> str:
    """Returns a sentence that states how many areas stand out from the noise, and which has the
    most people."""
    out = [cell for cell in cells if cell.stands_out]
    if not out:
        return f"None of the {len(cells)} areas stands out from the noise."
    largest = max(out, key=lambda cell: cell.estimate)
    reading = rounding.share(largest.estimate, largest.interval)
    number = rounding.in_100(reading)
    share = f"about {number} ({reading.bare})" if reading.state == "known" else reading.value
    if len(out) == 1:
        return f"One of the {len(cells)} areas stands out: {place(sides, largest)}, {share}."
    return (
        f"{len(out)} of the {len(cells)} areas stand out. The most frequent is"
        f" {place(sides, largest)}: {share}."
    )


def place(sides: Sequence[SideResult], cell: AreaResult) -> str:
    """Returns a text that says where an area of the map lies, such as "1 to 2 km west, 0 to 1 km
    north"."""
    return ", ".join(
        _along(side, *ends(name)) for side, name in zip(sides, cell.names, strict=True)
    )


def span(name: str) -> str:
    """Returns the name of an area along one side of the map with true minus signs: "−1.9 to −1".
    Returns a name that is not a range of numbers unchanged."""
    return _reach(*ends(name)) if _NUMBERS.fullmatch(name) else name


def _reach(low: str, high: str) -> str:
    return exact(low) if low == high else f"{exact(low)} to {exact(high)}"


def ends(name: str) -> tuple[str, str]:
    """Returns (first number, last number), as texts, of an area along one side of the map, from a
    name such as "-5 to -3"."""
    low, _, high = name.partition(" to ")
    return low, high or low


def _along(side: SideResult, low: str, high: str) -> str:
    direction = _DIRECTION.search(side.label)
    # "-2 to -1 km east" reads "1 to 2 km west", but an area on both sides of 0 has no one
    # direction.
    if direction is None or float(low) < 0 < float(high):
        return f"{side.label} {with_unit(_reach(low, high), side.unit)}"
    towards = direction[1].lower()
    if float(low) < 0:
        # West is minus east: the ends change places with their signs.
        low, high, towards = high.lstrip("-"), low.lstrip("-"), _OPPOSITE[towards]
    return f"{with_unit(_reach(low, high), side.unit)} {towards}"
