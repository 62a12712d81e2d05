"""Reads the lines of a GeoJSON file (RFC 7946): borders of areas, and lines.

What a file may hold besides, such as properties, single points and altitudes, is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

import msgspec

from deniably.authoring.outlines import Line, Position

_HALF_ROUND = 180  # degrees
_LISTS = {"LineString": 1, "MultiLineString": 2, "Polygon": 2, "MultiPolygon": 3}
"""How many lists are around the positions of a geometry with lines."""
_WITHOUT_LINES = ("Point", "MultiPoint")


def lines_of(data: bytes) -> list[Line]:
    """Returns the lines of a GeoJSON document, each as pairs of longitude and latitude.

    Raises ValueError where the document has no lines, is no GeoJSON or crosses the antimeridian;
    the message says how to mend it.
    """
    try:
        document: object = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise ValueError(
            f"this is no GeoJSON: {error}. JSON has no NaN, no Infinity and no comments"
        ) from None
    # msgspec raises this for lists within lists, and DecodeError for everything else.
    except RecursionError:
        raise ValueError("this is no GeoJSON: it has lists within lists without end") from None
    found = list(_lines(document))
    if not found:
        raise ValueError("this GeoJSON has no lines: it needs a Polygon or a LineString")
    for line in found:
        _check_round_trip(line)
    return found


def _lines(value: object, within: str = "") -> Iterator[Line]:
    if not isinstance(value, dict):
        raise ValueError(f"this is no GeoJSON: {_shown(value)} stands for an object")
    group = cast(dict[str, Any], value)
    match kind := group.get("type"):
        case "FeatureCollection" if not within:
            for one in _list(group, "features"):
                yield from _lines(one, "FeatureCollection")
        case "Feature" if within in ("", "FeatureCollection"):
            if group.get("geometry") is not None:
                yield from _lines(group["geometry"], "Feature")
        case "GeometryCollection" if within != "GeometryCollection":
            for one in _list(group, "geometries"):
                yield from _lines(one, "GeometryCollection")
        case str() if kind in _LISTS:
            yield from _unpacked(group.get("coordinates"), _LISTS[kind])
        case str() if kind in _WITHOUT_LINES:
            return
        case "FeatureCollection" | "Feature" | "GeometryCollection":
            raise ValueError(f"a {kind} stands within a {within}: take it out of that")
        case _:
            raise ValueError(
                f"its type is {_shown(kind)}, which GeoJSON does not have; export it as a"
                " FeatureCollection in longitude and latitude"
            )


def _list(group: dict[str, Any], key: str) -> Sequence[object]:
    if not isinstance(group.get(key), list):
        raise ValueError(f"a {group['type']} has no list of {key}")
    return cast(Sequence[object], group[key])


def _unpacked(value: object, lists: int) -> Iterator[Line]:
    if not isinstance(value, list):
        raise ValueError(f"{_shown(value)} stands for a list of coordinates")
    several = cast(list[object], value)
    if lists == 1:
        yield [_position(one) for one in several]
        return
    for one in several:
        yield from _unpacked(one, lists - 1)


def _position(value: object) -> Position:
    if not _is_position(value):
        raise ValueError(f"{_shown(value)} is no position: it needs a longitude and a latitude")
    numbers = cast(list[float], value)
    try:
        return float(numbers[0]), float(numbers[1])
    except OverflowError:
        raise ValueError("a position has a number of hundreds of digits") from None


def _is_position(value: object) -> bool:
    numbers = cast(list[object], value) if isinstance(value, list) else []
    return len(numbers) >= 2 and all(type(one) in (int, float) for one in numbers[:2])


def _check_round_trip(line: Line) -> None:
    """Refuse a line that is drawn once around the world where it crosses the antimeridian."""
    for (begin, _), (end, _) in pairwise(line):
        if abs(end - begin) > _HALF_ROUND:
            raise ValueError(
                f"a line goes from longitude {begin:g} straight to {end:g}: it crosses the"
                " antimeridian. Cut it there (RFC 7946, section 3.1.9); on a map beyond 180 degrees"
                " add 360 to the longitudes in the west"
            )


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode() if value is not None else "nothing"
    return text if len(text) <= 40 else f"{text[:40]}…"
