"""What holds for every experiment of the catalogue, by itself and on a survey's own questions.

A new experiment is tested here as soon as it is in the catalogue.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest

from deniably import lab
from deniably.authoring.survey_files import load_survey
from deniably.lab import inputs
from deniably.lab.catalogue import Entry, entries, of_survey
from deniably.lab.experiment import Experiment, fragment, handout, plain
from deniably.lab.experiment_names import EXPERIMENTS
from deniably.lab.inputs import ExperimentInput
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.graph import LONGEST, Band, Bars, Crowd, Dots, Graph, Mosaic
from support.every_type import survey_of_everything
from support.experiments import as_it_comes
from support.kept import kept

ENTRIES = entries()
SIZES = ("n", "trials", "waves")
"""Inputs that say how many people, reports or waves are drawn."""
STANDARD_ERRORS = 4
"""How far a draw may be from the exact law; each has a fixed seed."""


@cache
@kept
def on_questions(name: str) -> tuple[Experiment, ...]:
    """As it is on those questions of every type that it applies to, with a hundredth of the people:
    as many draws as it takes are made where it runs as it comes."""
    entry = ENTRIES[name]
    fewer = {key: _hundredth(entry.inputs[key], entry.defaults[key]) for key in _sizes(entry)}
    return tuple(
        replace(entry.function(**fewer | case.given), about=case.about)
        for case in entry.cases(survey_of_everything())
    )


def _sizes(entry: Entry) -> list[str]:
    return [key for key in SIZES if key in entry.inputs]


def _hundredth(one: ExperimentInput, given: Any) -> Any:
    if isinstance(one, inputs.SeveralOf):
        return sorted({_hundredth(one.each, each) for each in given})
    assert isinstance(one, inputs.Whole)
    return max(one.minimum, given // 100)


@pytest.fixture(params=list(ENTRIES))
def every(request: pytest.FixtureRequest) -> list[Experiment]:
    """An experiment as it comes, and on those questions of every type that it applies to."""
    name = request.param
    return [as_it_comes(name), *on_questions(name)]


# --- what people read ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENTRIES)
def test_the_library_the_command_and_the_table_have_one_name(name: str) -> None:
    function = getattr(lab, name.replace("-", "_"))

    assert function.entry is ENTRIES[name]
    assert function.__doc__
    assert as_it_comes(name).name == name
    assert list(ENTRIES) == [one.replace("_", "-") for one in EXPERIMENTS]
    assert set(EXPERIMENTS) <= set(lab.__all__)


def test_it_asks_a_question_and_answers_in_a_sentence(every: list[Experiment]) -> None:
    for experiment in every:
        assert experiment.question.endswith("?")
        assert experiment.answer.endswith(".")
        assert len(experiment.answer) < 420
        assert not re.search(r"\d %", experiment.answer), "a per cent sign stays on its line"
        assert experiment.sources
        assert all(1900 < source.year < 2100 and source.author for source in experiment.sources)


def test_every_number_of_the_answer_is_in_the_table(every: list[Experiment]) -> None:
    for experiment in every:
        known = [100.0, 95.0, *_numbers_of(experiment)]

        for text in _numbers_in(experiment.answer):
            assert any(_reads_as(value, text) for value in known), f"{text}: {experiment.answer}"


def _numbers_of(experiment: Experiment) -> Iterator[float]:
    for row in experiment.rows:
        yield from (float(one) for one in row.values() if isinstance(one, int | float))
    for value in map(plain, experiment.inputs.values()):
        for one in value if isinstance(value, list) else [value]:
            yield from (float(number) for number in _plain_numbers(str(one)))
    for text in (experiment.about, *map(str, _texts(experiment))):
        yield from (float(one.replace(",", "")) for one in _numbers_in(text))


def _plain_numbers(text: str) -> Iterator[float]:
    for found in re.findall(r"\d+(?:\.\d+)?(?:/\d+)?", text):
        over, _, under = found.partition("/")
        yield float(over) / float(under or 1)


def _texts(experiment: Experiment) -> Iterator[str]:
    """Words of the table, such as labels of choices, whose numbers an answer may repeat."""
    for row in experiment.rows:
        yield from (one for one in row.values() if isinstance(one, str))


def _numbers_in(text: str) -> list[str]:
    return re.findall(r"\d[\d,]*(?:\.\d+)?", text.replace("\u202f", " "))


def _reads_as(value: float, text: str) -> bool:
    """Whether a value, or it as a per cent, is rounded to this text."""
    plain_text = text.rstrip(",").replace(",", "")
    decimals = len(plain_text.partition(".")[2])
    return any(
        math.isfinite(scaled) and abs(float(plain_text) - abs(scaled)) <= 0.5001 * 10.0**-decimals
        for scaled in (value, 100 * value)
    )


# --- the table ----------------------------------------------------------------------------------


def test_rows_are_plain_values_for_pandas_json_and_csv(every: list[Experiment]) -> None:
    for experiment in every:
        frame = experiment.to_frame()
        whole = json.loads(experiment.to_json())
        lines = list(csv.DictReader(io.StringIO(experiment.to_csv())))

        assert list(frame.columns) == experiment.columns
        assert len(frame) == len(experiment.rows) == len(whole["rows"]) == len(lines) > 0
        assert whole["rows"] == [dict(row) for row in experiment.rows]
        assert whole["answer"] == experiment.answer
        for row in experiment.rows:
            for value in row.values():
                assert value is None or type(value) in (str, int, float, bool)
                assert not isinstance(value, float) or math.isfinite(value)


def test_what_is_drawn_agrees_with_the_exact_law(every: list[Experiment]) -> None:
    for experiment in every:
        drawn = [row for row in experiment.rows if row.get("drawn") is not None]

        assert bool(drawn) == ("seed" in experiment.inputs) or experiment.about
        for row in drawn:
            exact, seen, error = (
                float(row[key] or 0) for key in ("exact", "drawn", "standard_error")
            )
            assert abs(seen - exact) <= STANDARD_ERRORS * error + 1e-12, row


@pytest.mark.parametrize("name", ENTRIES)
def test_the_same_seed_draws_the_same_and_another_one_others(name: str) -> None:
    entry, few = ENTRIES[name], _few(ENTRIES[name])
    first = entry.function(**few)

    assert entry.function(**few).to_json() == first.to_json()
    if "seed" in entry.inputs:
        other = entry.function(**few, seed=2)
        assert [row.get("drawn") for row in other.rows] != [row.get("drawn") for row in first.rows]
        assert [row.get("exact") for row in other.rows] == [row.get("exact") for row in first.rows]


def _few(entry: Entry) -> dict[str, Any]:
    """As few people, reports and waves as the experiment takes: it says the same sooner."""
    return {key: _end(entry.inputs[key], "minimum") for key in _sizes(entry)}


# --- the pictures -------------------------------------------------------------------------------


def test_a_picture_shows_what_the_table_says(every: list[Experiment]) -> None:
    for experiment in every:
        assert experiment.pictures
        for picture in experiment.pictures:
            for point in picture.points:
                columns = {name: value for name, value in point.items() if name != "mark"}
                assert any(
                    all(row.get(name) == pytest.approx(value) for name, value in columns.items())
                    for row in experiment.rows
                ), point


def test_the_drawing_read_back_is_the_picture(every: list[Experiment]) -> None:
    for experiment in every:
        for picture in experiment.pictures:
            for text in (picture.svg(), picture.html()):
                root = ElementTree.fromstring(
                    text.replace('xmlns="http://www.w3.org/2000/svg"', "")
                )
                drawing = picture.drawing
                if isinstance(drawing, Graph):
                    _read_graph(root, drawing)
                elif isinstance(drawing, Bars):
                    _read_bars(root, drawing)
                elif isinstance(drawing, Crowd):
                    _read_crowd(root, drawing)
                else:
                    _read_areas(root, drawing)


@dataclass(frozen=True)
class Ruler:
    """Places of a drawing as numbers, by the words that stand at the first and the last tick."""

    first: tuple[float, float]
    last: tuple[float, float]
    log: bool

    def near(self, place: float, value: float) -> bool:
        """Whether a place stands for the value, up to a thousandth of the axis."""
        (low, start), (high, end) = ((self._scaled(one), at) for one, at in (self.first, self.last))
        read = low + (high - low) * (place - start) / (end - start)
        return abs(read - self._scaled(value)) <= 1e-3 * abs(high - low)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.log else value


def _ruler(root: ElementTree.Element, axis: Axis, *, up: bool = False) -> Ruler:
    places: dict[str, float] = {}
    for text in root.iter("text"):
        middle = text.get("text-anchor") == "middle"
        if up and text.get("x") == "0":
            places[text.text or ""] = float(text.get("y", "")) + 4
        elif not up and (middle or text.get("x", "").endswith("%")):
            places.setdefault(text.text or "", float(text.get("x", "").rstrip("%")))
    ticks = [(value, places[words]) for value, words in axis.ticks]
    return Ruler(ticks[0], ticks[-1], axis.log)


def _read_graph(root: ElementTree.Element, drawing: Graph) -> None:
    across, up = _ruler(root, drawing.across), _ruler(root, drawing.up, up=True)
    lines = [*root.iter("polyline"), *root.iter("polygon")]
    boxes = [one for one in root.iter("svg") if one.get("preserveAspectRatio") == "none"]
    groups = [one for one in root.iter("g") if one.find("circle[@class='key']") is None]
    dots = iter([list(one.iter("circle")) for one in groups])
    stretched = iter(boxes)

    assert len(lines) == len(boxes)
    for layer in drawing.layers:
        if isinstance(layer, Dots):
            circles = next(dots)
            read = [(float(c.get("cx", "").rstrip("%")), float(c.get("cy", ""))) for c in circles]
            told = list(layer.points)
        else:
            box = next(stretched)
            read = _places(box)
            told = [(x, y[-1]) for x, *y in layer.points]
            if isinstance(layer, Band):
                told += [(x, low) for x, low, _ in reversed(layer.points)]
        assert len(read) == len(told)
        for (x, y), (value, height) in zip(read, told, strict=True):
            assert across.near(x, value), layer
            assert up.near(y, height), layer


def _places(box: ElementTree.Element) -> list[tuple[float, float]]:
    """Points of a stretched box, in per cent of the drawing's width and in its pixels."""
    left, width = (float(box.get(name, "").rstrip("%")) for name in ("x", "width"))
    top, height = (float(box.get(name, "")) for name in ("y", "height"))
    _, _, wide, high = map(float, box.get("viewBox", "").split())
    (shape,) = box
    points = (map(float, one.split(",")) for one in shape.get("points", "").split())
    return [(left + width * x / wide, top + height * y / high) for x, y in points]


def _read_bars(root: ElementTree.Element, drawing: Bars) -> None:
    ruler = _ruler(root, drawing.across)
    lengths = [
        float(one.get("width", "").rstrip("%"))
        for one in root.iter("rect")
        if "b50" in one.get("class", "")
    ]
    dots = [float(one.get("cx", "").rstrip("%")) for one in root.iter("circle")]
    ends = [
        (float(one.get("x1", "").rstrip("%")), float(one.get("x2", "").rstrip("%")))
        for one in root.iter("line")
        if one.get("class", "").startswith("l ")
    ]

    for length, bar in zip(lengths, drawing.bars, strict=True):
        assert ruler.near(length, bar.value)
    for dot, bar in zip(dots, [one for one in drawing.bars if one.dot is not None], strict=True):
        assert ruler.near(dot, bar.dot or 0.0)
    for pair, bar in zip(ends, [one for one in drawing.bars if one.ends], strict=True):
        assert all(ruler.near(at, end) for at, end in zip(pair, bar.ends or (), strict=True))


def _read_crowd(root: ElementTree.Element, drawing: Crowd) -> None:
    groups = [one for one in root.iter("g") if one.find("circle[@class='key']") is None]

    assert [len(one) for one in groups] == [group.count for group in drawing.groups]


def _read_areas(root: ElementTree.Element, drawing: Mosaic) -> None:
    parts = [one for one in root.iter("rect") if "edge" in one.get("class", "")]
    sizes = [
        float(one.get("width", "").rstrip("%")) / 100 * float(one.get("height", "")) / 240
        for one in parts
    ]

    assert sum(sizes) == pytest.approx(1, abs=1e-3)
    for size, area in zip(sizes, drawing.areas, strict=True):
        assert size == pytest.approx(area.across * area.up, abs=1e-3)


def test_pictures_need_no_style_no_script_and_nothing_from_elsewhere(
    every: list[Experiment],
) -> None:
    for experiment in every:
        texts = [str(picture.svg()) for picture in experiment.pictures]
        texts.append(fragment(experiment).source)

        for text in texts:
            bare = text.replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"\sstyle=|<style|<script|\shref=|url\(|https?:", bare)
            ElementTree.fromstring(bare)


def test_a_picture_says_in_words_what_it_shows(every: list[Experiment]) -> None:
    for experiment in every:
        for picture in experiment.pictures:
            root = ElementTree.fromstring(picture.html())
            assert root.get("role") == "img"
            assert root.findtext("title") == picture.title
            words = root.findtext("desc") or ""
            for label in {str(point["mark"]) for point in picture.points}:
                assert label in words
                assert len(label) <= LONGEST, f"“{label}” is too long for a phone"
            assert len(_numbers_in(words)) >= 2


def test_a_handout_stands_alone() -> None:
    text = handout("The lab", [as_it_comes(name) for name in ENTRIES], "body{color:#000}").source

    assert text.count("<style>") == 1
    assert not re.search(r"<script|<link|\ssrc=|\shref=", text)
    for name in ENTRIES:
        assert as_it_comes(name).question in text


def test_in_a_notebook_it_shows_itself(every: list[Experiment]) -> None:
    for experiment in every:
        shown = experiment._repr_html_()

        assert experiment.question.split("“")[0][:40] in shown
        assert shown.count("<style>") == 1
        assert experiment._repr_svg_() == experiment.pictures[0].svg()
        assert experiment.question in repr(experiment)


# --- the inputs ---------------------------------------------------------------------------------

NONSENSE: list[object] = [
    "", " ", "x", "nan", "inf", "-inf", "1e999", "1e-999", "9" * 400, "1/0", "1_0", "½", "0x1",
    None, True, [], {}, object(), float("nan"), float("inf"), "<b>", "ln 0", "ln x", "ln 1",
]  # fmt: skip


def _beyond(one: ExperimentInput) -> list[object]:
    match one:
        case inputs.Real() | inputs.Whole() | inputs.Level():
            return [
                float(one.minimum) - 1,
                float(one.maximum) * 1.5 + 1,
                f"{float(one.maximum):f}e4",
            ]
        case inputs.SeveralOf():
            return [list(range(10_000)), [_beyond(one.each)[0]], "1,,x", [[1]]]
        case _:
            return ["no such name"]


@pytest.mark.parametrize(
    ("entry", "name"), [(entry, name) for entry in ENTRIES.values() for name in entry.inputs]
)
def test_what_is_out_of_range_is_refused_by_name(entry: Entry, name: str) -> None:
    one = entry.inputs[name]
    function = getattr(lab, entry.name.replace("-", "_"))

    for value in [*NONSENSE, *_beyond(one)]:
        with pytest.raises(ValueError, match=f"^{name} is ") as refused:
            one.read(name, value)
        assert any(range_ in str(refused.value) for range_ in (one.allowed, _each(one)))
        assert len(str(refused.value)) < 300
    with pytest.raises(ValueError, match=f"^{name} is "):
        function(**{name: "nonsense"})
    with pytest.raises(ValueError, match="has no input"):
        entry.run(nothing=1)


def _each(one: ExperimentInput) -> str:
    return one.each.allowed if isinstance(one, inputs.SeveralOf) else one.allowed


def _end(one: ExperimentInput, end: str) -> Any:
    match one:
        case inputs.Real() | inputs.Whole():
            return getattr(one, end)
        case inputs.Level():
            return getattr(one, end)
        case inputs.SeveralOf():
            return [_end(one.each, end)]
        case inputs.OneOf():
            return one.names[0 if end == "minimum" else -1]
    raise AssertionError


TOGETHER = {
    "coins", "one-report", "laplace-or-gauss", "picking-the-winner", "propose-test-release",
    "groups-on-a-map", "asked-again", "bounds", "choosing-epsilon", "catastrophe",
    "slices-and-households",
}  # fmt: skip
"""Experiments that take the same branches with all inputs at one end as with one after the other
there; of any other each end is tried by itself."""


@pytest.mark.parametrize("end", ["minimum", "maximum"])
@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.thorough
def test_it_answers_at_the_ends_of_its_ranges(name: str, end: str) -> None:
    entry = ENTRIES[name]
    ends = {key: _end(one, end) for key, one in entry.inputs.items() if key != "seed"}
    each = [ends] if name in TOGETHER else [{key: value} for key, value in ends.items()]
    tried = [_few(entry) | given for given in each]
    for given in (one for place, one in enumerate(tried) if one not in tried[:place]):
        found = entry.run(**given)
        assert found.answer
        assert all(picture.svg() for picture in found.pictures)


# --- on a survey --------------------------------------------------------------------------------


def test_a_survey_lends_its_own_mechanisms(every: list[Experiment]) -> None:
    labels = {question.label: question for question in survey_of_everything().questions}

    for experiment in every:
        if experiment.about in labels:
            own = labels[experiment.about].report_mechanism
            assert experiment.mechanism == own.described


def test_every_type_of_question_is_shown_by_some_experiment() -> None:
    survey = survey_of_everything()
    shown = {case.about for entry in ENTRIES.values() for case in entry.cases(survey)}
    exact = [one for one in survey.questions if not one.mechanism.loss.delta]

    assert {one.label for one in exact} <= shown


def test_the_library_makes_all_that_apply_to_a_survey() -> None:
    asked = [{"name": "a", "type": "yes_no", "label": "Have you?", "odds": 5}]
    survey = load_survey({"name": "s", "title": "T", "questions": asked})
    found = of_survey(survey, seed=4)

    assert [one.name for one in found] == [
        entry.name for entry in ENTRIES.values() for _ in entry.cases(survey)
    ]
    assert len(found) >= 3
    assert all(one.inputs.get("seed", 4) == 4 for one in found)
