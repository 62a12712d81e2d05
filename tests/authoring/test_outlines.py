"""What an author draws on a map: from a GeoJSON file or a list of lines to the definition."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from deniably import check_survey
from deniably.authoring.compiling import compile_survey, publish_text
from deniably.authoring.outlines import MOST_POINTS, Side, outline
from deniably.authoring.survey_files import load_survey, with_outlines
from deniably.core.errors import BadSurvey
from deniably.survey.questions import Point
from deniably.survey.survey import Survey

EAST = {"name": "east", "label": "East", "minimum": 0, "maximum": 99}
NORTH = {"name": "north", "label": "North", "minimum": 0, "maximum": 99}
SIDES = (Side("East", 0, 99, 1), Side("North", 0, 99, 1))
SQUARE = [[10, 10], [60, 10], [60, 60], [10, 60], [10, 10]]


def written(outline: object = None) -> dict[str, Any]:
    question = {
        "name": "home", "type": "point", "label": "Where do you live?", "epsilon": 1, "grid": 4,
        "parts": [EAST, NORTH],
    }  # fmt: skip
    drawn = {} if outline is None else {"outline": outline}
    return {"name": "town", "title": "A town", "questions": [question | drawn]}


def drawn(survey: Survey) -> str:
    (question,) = survey.questions
    assert isinstance(question, Point)
    assert isinstance(question.outline, str)
    return question.outline


def points(text: str) -> int:
    return sum(len(line.split()) // 2 for line in text.split("M"))


def from_file(folder: Path, geojson: object, name: str = "town.geojson") -> Survey:
    text = geojson if isinstance(geojson, str) else json.dumps(geojson)
    (folder / name).write_text(text, encoding="utf-8")
    (folder / "town.json").write_text(json.dumps(written(name)), encoding="utf-8")
    return load_survey(folder / "town.json")


def polygon(*rings: Sequence[Sequence[float]]) -> dict[str, object]:
    return {"type": "Polygon", "coordinates": list(rings)}


def why(folder: Path, geojson: object, name: str = "town.geojson") -> str:
    with pytest.raises(BadSurvey) as refused:
        from_file(folder, geojson, name)
    (problem,) = refused.value.problems
    assert problem.path == "$.questions[0].outline"
    return problem.why


# --- what is published ------------------------------------------------------------------------


def test_a_line_is_published_in_thousandths_of_the_maps_sides_from_above() -> None:
    """Each of the 100 numbers of a side has 10 thousandths: number 10 is in the middle of its."""
    assert drawn(compile_survey(written([SQUARE]))) == ("M105 895 605 895 605 395 105 395 105 895")


def test_a_file_and_the_same_lines_in_the_survey_give_one_definition(tmp_path: Path) -> None:
    assert from_file(tmp_path, polygon(SQUARE)) == compile_survey(written([SQUARE]))


def test_the_outline_is_part_of_what_is_signed() -> None:
    assert compile_survey(written([SQUARE])).digest != compile_survey(written()).digest


@pytest.mark.parametrize(
    "geojson",
    [
        {"type": "Feature", "properties": {"a": [1]}, "geometry": polygon(SQUARE)},
        {"type": "FeatureCollection", "features": [
            {"type": "Feature", "geometry": None},
            {"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}},
            {"type": "Feature", "geometry": {"type": "LineString", "coordinates": SQUARE}},
        ]},
        {"type": "GeometryCollection", "geometries": [polygon(SQUARE)]},
        {"type": "MultiPolygon", "coordinates": [[SQUARE]]},
        {"type": "MultiLineString", "coordinates": [SQUARE]},
        polygon([[*point, 123.4] for point in SQUARE]),  # with altitudes
    ],
)  # fmt: skip
def test_every_kind_of_geojson_with_lines_is_drawn(tmp_path: Path, geojson: object) -> None:
    assert drawn(from_file(tmp_path, geojson)) == drawn(compile_survey(written([SQUARE])))


def test_lines_are_cut_where_they_leave_the_map() -> None:
    assert outline([[(50, 50), (150, 50), (150, 200), (50, 70)]], SIDES).count("M") == 2
    assert outline([[(-100, 49.5), (200, 49.5)]], SIDES) == "M0 500 1000 500"


def test_a_fine_coast_keeps_its_shape_in_500_points() -> None:
    """No point of the coast is further than half a per cent of the map from what is drawn."""
    turns = [2 * math.pi * index / 5000 for index in range(5001)]
    coast = [
        (50 + (30 + 8 * math.sin(5 * turn)) * math.cos(turn),
         50 + (30 + 8 * math.sin(5 * turn)) * math.sin(turn))
        for turn in turns
    ]  # fmt: skip
    text = outline([coast], SIDES)
    numbers = list(map(int, text[1:].split()))
    kept = list(zip(numbers[::2], numbers[1::2], strict=True))

    assert 100 < points(text) <= MOST_POINTS
    for x, y in coast[::50]:
        place = (10 * (x + 0.5), 1000 - 10 * (y + 0.5))
        assert min(math.dist(place, each) for each in kept) < 20


def test_islands_too_small_to_see_go_first() -> None:
    random = Random(1)
    islands = [
        [(x, y), (x + 0.2, y), (x, y + 0.2), (x, y)]
        for x, y in ((random.uniform(0, 98), random.uniform(0, 98)) for _ in range(2000))
    ]
    text = outline([*islands, [(5, 5), (90, 5), (90, 90), (5, 5)]], SIDES)
    assert points(text) <= MOST_POINTS
    assert "M55 945 905 945 905 95 55 945" in text


def test_an_outline_says_in_the_check_what_it_costs() -> None:
    notes = check_survey(written([SQUARE])).notes
    assert any(
        "home: its outline has 5 points and costs each device about 110 bytes" in one
        for one in notes
    )


def test_what_is_sent_to_a_server_has_the_file_drawn_in_and_nothing_else_changed(
    tmp_path: Path,
) -> None:
    (tmp_path / "town.geojson").write_text(json.dumps(polygon(SQUARE)), encoding="utf-8")
    text = (
        b"# a note: Stra\xc3\x9fe\nname: town\ntitle: T\nquestions:\n"
        b"  - name: home\n    type: point\n    label: Where?\n    epsilon: 1\n    grid: 4\n"
        b"    outline: town.geojson  # the borders\n    parts:\n"
        b"      - {name: e, label: East, minimum: 0, maximum: 99}\n"
        b"      - {name: n, label: North, minimum: 0, maximum: 99}\n"
    )
    sent = with_outlines(text, tmp_path)
    assert sent == text.replace(b"town.geojson", b'"M105 895 605 895 605 395 105 395 105 895"')
    assert drawn(publish_text(sent)) == drawn(compile_survey(written([SQUARE])))


# --- hostile input ----------------------------------------------------------------------------


def test_a_server_reads_no_file_that_a_survey_names() -> None:
    with pytest.raises(BadSurvey, match=r"names the file “town\.geojson”, which is not read here"):
        compile_survey(written("town.geojson"))


@pytest.mark.parametrize(
    "name", ["/etc/passwd.json", "../town.geojson", "a/../../town.geojson", "town.svg", "passwd"]
)
def test_a_survey_names_files_beside_it_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s/town.json").write_text(json.dumps(written(name)), encoding="utf-8")
    with pytest.raises(BadSurvey, match="in the folder of the survey"):
        load_survey(tmp_path / "s/town.json")


def test_a_file_of_50_mb_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "large.geojson").touch()
    with (tmp_path / "large.geojson").open("r+b") as file:
        file.truncate(50_000_000)
    (tmp_path / "town.json").write_text(json.dumps(written("large.geojson")), encoding="utf-8")
    with pytest.raises(BadSurvey, match="more than 16 MiB"):
        load_survey(tmp_path / "town.json")


def test_more_points_than_are_read_are_refused(tmp_path: Path) -> None:
    line = "[1,2],[2,1]," * 125_000
    assert "simplify it first" in why(
        tmp_path, f'{{"type": "LineString", "coordinates": [{line}[3,3]]}}'
    )


def test_a_tangle_of_points_is_thinned() -> None:
    random = Random(2)
    text = outline([[(random.uniform(0, 99), random.uniform(0, 99)) for _ in range(20_000)]], SIDES)
    assert points(text) <= MOST_POINTS
    assert len(text) <= 5000


@pytest.mark.parametrize(
    ("geojson", "sentence"),
    [
        ('{"type": "LineString", "coordinates": [[NaN, 1], [2, 3]]}', "JSON has no NaN"),
        ('{"type": "LineString", "coordinates": [[1, Infinity], [2, 3]]}', "JSON has no NaN"),
        ('{"type": "LineString", "coordinates": [[1e999, 1], [2, 3]]}', "out of range"),
        ('{"type": "LineString", "coordinates": [[1, 1e300], [2, 3]]}', "up to 1000000000000"),
        ("[" * 100_000, "no GeoJSON"),
        ("a: 1", "no GeoJSON"),
        ("[1]", "stands for an object"),
        ("null", "stands for an object"),
        ({"type": "Topology", "arcs": []}, "which GeoJSON does not have"),
        ({"coordinates": [[1, 2], [3, 4]]}, "its type is nothing"),
        ({"type": ["Polygon"]}, "which GeoJSON does not have"),
        ({"type": "FeatureCollection"}, "has no list of features"),
        ({"type": "FeatureCollection", "features": [{"type": "FeatureCollection"}]},
         "a FeatureCollection stands within a FeatureCollection"),
        ({"type": "GeometryCollection", "geometries": [{"type": "GeometryCollection"}]},
         "a GeometryCollection stands within a GeometryCollection"),
        ({"type": "Point", "coordinates": [1, 2]}, "has no lines"),
        ({"type": "Polygon"}, "stands for a list of coordinates"),
        ({"type": "Polygon", "coordinates": [[1, 2], [3, 4]]}, "1 is no position"),
        ({"type": "LineString", "coordinates": [[1], [3, 4]]}, "is no position"),
        ({"type": "LineString", "coordinates": [["1", "2"], [3, 4]]}, "is no position"),
        ({"type": "LineString", "coordinates": [[True, 2], [3, 4]]}, "is no position"),
        (polygon([[510, 510], [560, 510], [560, 560], [510, 510]]), "no line of the outline lies"),
        ({"type": "LineString", "coordinates": [[170, 1], [-170, 2]]}, "crosses the antimeridian"),
        ({"type": "MultiLineString", "coordinates": [
            [[x % 100, x // 5], [x % 100, x // 5 + 1]] for x in range(300)]}, "leave some out"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said_in_a_sentence(
    tmp_path: Path, geojson: object, sentence: str
) -> None:
    said = why(tmp_path, geojson)
    assert said.startswith("town.geojson: ")
    assert sentence in said
    assert len(said) < 400


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "town.json").write_text(json.dumps(written("none.geojson")), encoding="utf-8")
    with pytest.raises(BadSurvey, match=r"none\.geojson: No such file"):
        load_survey(tmp_path / "town.json")


@pytest.mark.parametrize(
    "given",
    [
        [], [[]], [[[1, 2]]], [[[1, 2], [3]]], [[[1, 2, 3], [4, 5, 6]]], [["a", "b"]], 5, {},
        [[[1, True], [2, 3]]], [[[1, 10**13], [2, 3]]], [[1, 2], [3, 4]], "", "M1 2", "M1 2 3 1001",
    ],
)  # fmt: skip
def test_an_outline_that_is_none_is_refused_at_its_question(given: object) -> None:
    with pytest.raises(BadSurvey) as refused:
        compile_survey(written(given))
    assert all(one.path.startswith("$.questions[0]") for one in refused.value.problems)


def test_another_question_has_no_outline() -> None:
    survey = written()
    survey["questions"][0] = {
        "name": "q", "type": "yes_no", "label": "Q?", "odds": 3, "outline": [SQUARE]
    }  # fmt: skip
    with pytest.raises(BadSurvey, match="yes_no has no outline"):
        compile_survey(survey)
