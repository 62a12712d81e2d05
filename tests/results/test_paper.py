"""Figures for papers: complete files, in which no text is cut off."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.exhibits.paper import MOST_ROWS, fewer, left_out
from deniably.results.drawing import axes
from deniably.results.drawing.choropleth import Area, AreaMap, MapSide
from deniably.results.drawing.heat import Heat, HeatCell, HeatMargin
from deniably.results.drawing.letters import fit, width, wrap
from deniably.results.drawing.paper_columns import PaperColumns
from deniably.results.drawing.paper_figure import WIDTHS, Paper, svg
from deniably.results.drawing.paper_map import PaperMap
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.results.drawing.paper_table import PaperTable
from deniably.results.drawing.paper_trends import Panel, PaperTrends
from deniably.results.drawing.rounding import NARROW, Reading
from deniably.results.drawing.row import Row, banded, mean_row, share_row

LABELS = st.text(min_size=1, max_size=500) | st.sampled_from(
    [
        "W" * 500,
        "你" * 500,
        "😀" * 200,
        "Donaudampfschifffahrt " * 20,
        "ا" * 300,
        "x\n\ty",
        "<&\">'",
        "é",
    ]
)
SHARES = st.tuples(*[st.floats(0, 1)] * 3).map(sorted)


def share(label: str, low: float = 0.17, middle: float = 0.27, high: float = 0.38) -> Row:
    row = share_row(label, middle, (low, high))
    part = (middle - low) / 2, (high - middle) / 2
    return banded(row, (middle - part[0], middle + part[1]), (middle, middle + part[1] / 2))


def paper(*rows: Row, title: str = "Theft at work", lede: str = "Of 1,400 people") -> Paper:
    return Paper(
        title, lede, [PaperStrips(rows, axes.of_shares(rows))], ["A note.", "Source: here."]
    )


def texts(file: str) -> list[tuple[str, float, float, float]]:
    """Each text with its left and right end and its base line, in points."""
    found: list[tuple[str, float, float, float]] = []
    for one in ElementTree.fromstring(file).iter("{http://www.w3.org/2000/svg}text"):
        text = one.text or ""
        long = width(text, float(one.get("font-size", 0)), bold=one.get("font-weight") == "bold")
        start = {"start": 0.0, "middle": 0.5, "end": 1.0}[one.get("text-anchor", "start")]
        left = float(one.get("x", 0)) - start * long
        found.append((text, left, left + long, float(one.get("y", 0))))
    return found


def size_of(file: str) -> tuple[float, float]:
    _, _, across, down = ElementTree.fromstring(file).get("viewBox", "").split()
    return float(across), float(down)


def heat_of(labels: Sequence[str], title: str, reading: Reading) -> Heat:
    """A table with as many rows and columns as there are labels, with both margins."""
    line = [HeatCell(reading, place % 5, place % 3 == 1) for place in range(len(labels))]
    margin = HeatMargin(title, labels, [reading] * len(labels))
    return Heat(margin, margin, [line] * len(labels))


def trends_of(labels: Sequence[str], unit: str, rows: Sequence[Row]) -> PaperTrends:
    """A panel for each label, with these rows as its waves."""
    waves = [str(number) for number in range(1, len(rows) + 1)]
    return PaperTrends([Panel(label, rows) for label in labels], axes.of_numbers(0, 9, unit), waves)


def side_of(label: str, unit: str, low: float, high: float, cells: int) -> MapSide:
    """Of areas with two numbers each, the last with one."""
    step = (high - low) / (2 * cells - 2) if cells > 1 else high - low
    return MapSide(label, unit, [low + 2 * place * step for place in range(cells)], high, step)


def map_of(label: str, unit: str, reading: Reading, cells: int) -> PaperMap:
    sides = side_of(label, unit, -20.0, 1e6, cells), side_of(label, unit, 0.0, 0.3, cells)
    areas = [Area(place, place, 0.1 * (place + 1), reading) for place in range(cells)]
    rows = [share(label)]
    return PaperMap(AreaMap(sides, areas), PaperStrips(rows, axes.of_shares(rows)))


@settings(deadline=None)
@given(LABELS, LABELS, LABELS, LABELS, SHARES, st.sampled_from(WIDTHS), st.integers(1, 9))
def test_no_text_is_cut_off_at_any_length_of_label(
    label: str, title: str, lede: str, unit: str, ends: list[float], millimetres: int, size: int
) -> None:
    mean = mean_row(label, 3.0, (2.0, 4.0), (0, 9), unit)
    row = share(label, *ends)
    parts = [
        PaperStrips([row], axes.of_shares([row]), title),
        PaperStrips([mean], axes.of_numbers(0, 9, unit), title),
        PaperTable(heat_of([label] * size, title, row.reading)),
        map_of(label, unit, row.reading, size),
        trends_of([label] * size, unit, [mean] * size),
        replace(map_of(label, unit, row.reading, size), listed=None, centres=[(0.5, 0.5)] * 2),
        PaperColumns([label] * size, [[unit] * size, [label] * size], title),
    ]
    file = svg(Paper(title, lede, parts, [lede]), millimetres)

    across, down = size_of(file)
    for text, left, right, base in texts(file):
        assert left >= -0.1, text
        assert right <= across + 0.1, text
        assert base <= down - 1, text


@settings(max_examples=40, deadline=None)
@given(st.lists(LABELS, min_size=2, max_size=4), LABELS, st.sampled_from(WIDTHS))
def test_no_text_lies_over_another(labels: list[str], unit: str, millimetres: int) -> None:
    rows = [share(label) for label in labels]
    table = PaperTable(heat_of(labels, labels[0], rows[0].reading))
    parts = [PaperStrips(rows, axes.of_shares(rows)), table]
    means = [mean_row(label, 3.0, (2.0, 4.0), (0, 9), unit) for label in labels]
    trends = [trends_of(labels[:1], unit, means), trends_of(labels, unit, means * 9)]
    columns = PaperColumns(labels, [labels[::-1], labels])
    for part in [*parts, map_of(labels[0], unit, rows[0].reading, 5), *trends, columns]:
        file = svg(Paper("Title", "Lede", [part], []), millimetres)

        lines: dict[float, list[tuple[float, float]]] = {}
        for _, left, right, base in texts(file):
            lines.setdefault(base, []).append((left, right))
        for on_line in lines.values():
            for (_, end), (start, _) in itertools.pairwise(sorted(on_line)):
                assert end <= start + 0.2


@pytest.mark.parametrize("millimetres", WIDTHS)
def test_a_table_too_wide_for_the_figure_goes_on_below(millimetres: int) -> None:
    labels = [f"Answer {number}" for number in range(8)]
    reading = share_row("", 0.2712, (0.2634, 0.2791)).reading

    file = svg(Paper("T", "L", [PaperTable(heat_of(labels, "Q", reading))], []), millimetres)

    found = [text for text, *_ in texts(file)]
    blocks = found.count("Answer 0") - 1
    assert blocks == (3 if millimetres == 85 else 1), "rows are named in each block"
    assert found.count("All") == blocks + 1
    assert found.count("26.3 to 27.9") == 8 * 8 + 8 + 8


def test_a_table_shades_what_was_seen_and_hatches_the_rest() -> None:
    reading = share_row("", 0.27, (0.17, 0.38)).reading
    cells = [[HeatCell(reading, shade, hatched=False) for shade in range(5)]]
    heat = Heat(HeatMargin("Row", ["One"]), HeatMargin("Column", list("abcde")), cells)
    hatched = replace(heat, cells=[[replace(one, hatched=True) for one in cells[0]]])

    shaded, striped = (svg(Paper("T", "L", [PaperTable(one)], [])) for one in (heat, hatched))

    opacities = [float(one) for one in re.findall(r'fill-opacity="([0-9.]+)"', shaded)]
    assert opacities == [0.04, 0.12, 0.22, 0.34, 0.48]
    assert "<path" not in shaded
    assert "fill-opacity" not in striped
    assert striped.count("<path") == 5
    assert contrast("#18221f", over("#0b6158", 0.48)) > 4.5


def test_hatching_stays_within_its_cell() -> None:
    reading = share_row("", 0.27, (0.0, 0.38)).reading
    heat = Heat(
        HeatMargin("", ["One"]), HeatMargin("", ["a"]), [[HeatCell(reading, 0, hatched=True)]]
    )

    (path,) = re.findall(r'<path d="([^"]+)"', svg(Paper("T", "L", [PaperTable(heat)], [])))

    ends = [tuple(map(float, one.split())) for one in re.split("[ML]", path)[1:]]
    for (x, y), (to_x, to_y) in zip(ends[::2], ends[1::2], strict=True):
        assert abs((y - to_y) - (to_x - x)) < 0.25, "at 45 degrees"
    across, down = (max(one) - min(one) for one in zip(*ends, strict=True))
    assert across <= 72
    assert down <= 25


@pytest.mark.parametrize("waves", [2, 4, 26, 300])
def test_values_of_waves_touch_no_other_wave(waves: int) -> None:
    rows = [mean_row(f"wave {n}", 1234.5, (1000, 1500), (0, 9000)) for n in range(waves)]
    axis = axes.of_numbers(0, 9000)
    names = [f"wave {n + 1}" for n in range(waves)]

    file = svg(Paper("T", "L", [PaperTrends([Panel("All", rows)], axis, names)], []))

    dots = [float(one) for one in re.findall(r'<circle cx="(\S+)"', file)]
    assert len(dots) == waves
    assert dots == sorted(dots)
    values = [one for one in texts(file) if one[0].startswith("1,2")]
    for _, left, right, _ in values:
        inside = [one for one in dots if left - 2.9 < one < right + 2.9]
        assert len(inside) == 1, "its own"
    assert len(values) == (waves if waves <= 4 else 0)
    assert "All: wave 0 1,230 (1,000 to 1,500), wave 1" in file
    assert "wave 1" in [text for text, *_ in texts(file)]
    assert names[-1] in [text for text, *_ in texts(file)]


def test_of_many_rows_those_are_shown_that_say_most() -> None:
    untold = [share(f"untold {n}", 0.05, 0.5, 0.95) for n in range(MOST_ROWS)]
    known = [share(f"known {n}", 0.1, 0.1 + n / 1000, 0.3) for n in range(MOST_ROWS + 5)]
    part = PaperStrips([*untold, *known], axes.of_shares(known))

    shown = fewer(part)

    assert isinstance(shown, PaperStrips)
    labels = {row.label for row in shown.rows}
    assert labels == {f"known {n}" for n in range(5, MOST_ROWS + 5)}
    assert left_out(part) == f"Of {2 * MOST_ROWS + 5} answers, the 40 with the largest estimates."
    assert fewer(shown) is shown
    assert left_out(shown) == ""


def test_a_map_draws_an_area_where_it_is_and_lists_it() -> None:
    reading = share_row("", 0.27, (0.17, 0.38)).reading
    firsts = (-2.0, -1.0, 0.0, 1.0)
    sides = MapSide("East", "km", firsts, 1.9, 0.1), MapSide("North", "km", firsts, 1.9, 0.1)
    row = share("1 to 2 km east, 0 to 1 km south")
    shown = AreaMap(sides, [Area(3, 1, 0.27, reading)])
    listed = PaperStrips([row], axes.of_shares([row]))

    file = svg(Paper("T", "L", [PaperMap(shown, listed)], []))

    (ground,) = re.findall(r'<rect x="(\S+)" y="(\S+)" width="(\S+)" \S+ fill="#eceee9"', file)
    (area,) = re.findall(
        r'<rect x="(\S+)" y="(\S+)" width="(\S+)" \S+ fill="#0b6158" fill-opacity="0.48"', file
    )
    left, top, side = map(float, ground)
    x, y, each = map(float, area)
    assert abs((x - left) / side - 3 / 4) < 0.01
    assert abs((y - top) / side - 2 / 4) < 0.01, "rows are counted from below"
    assert abs(each / side - 1 / 4) < 0.01
    found = [text for text, *_ in texts(file)]
    assert found.count("27\u00a0%") == 2, "on the map and in the list"
    for word in ("North (upwards)", "East (to the right)", "\u22122.0", "1.9\u00a0km"):
        assert word in found
    assert "1 to 2 km east, 0 to 1 km south 27\u00a0% (17 to 38\u00a0%)." in file
    nowhere = Paper("T", "L", [PaperMap(replace(shown, areas=[]), None)], [])
    assert "No area stands out from the noise." in svg(nowhere)


def contrast(one: str, other: str) -> float:
    """Of two colours (WCAG 2)."""
    light, dark = sorted((luminance(colour) for colour in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def over(colour: str, opacity: float) -> str:
    """A colour of this opacity on white."""
    parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - opacity * (255 - part)):02x}" for part in parts)


@given(st.text(max_size=500), st.floats(5, 300))
def test_wrapped_lines_fit_and_lose_nothing(text: str, room: float) -> None:
    lines = wrap(text, 8, room)

    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    for line in lines:
        assert width(line, 8) <= room or len(wrap(line, 8, 1e9)[0].rstrip("\u0300")) >= 1
    assert all(width(one, 8) <= room for one in lines if len(one) > 8 and one.isascii())


@given(st.text(min_size=1, max_size=100).filter(str.strip), st.floats(40, 300))
def test_a_text_that_is_cut_says_so(text: str, room: float) -> None:
    found = fit(text, 6.5, room)

    assert found == text or found.endswith("…")


def test_the_file_holds_for_itself() -> None:
    """A server's policy takes every style away, and a journal's software knows no other file."""
    file = svg(paper(share("Once"), share("Never", 0, 0.01, 0.09)))

    assert not re.search(r"style|class=|script|href|url\(|@import|<!", file)
    assert file.startswith('<svg xmlns="http://www.w3.org/2000/svg" width="85mm" height="')
    assert "Helvetica, Arial" in file
    assert '<rect width="100%" height="100%" fill="#fff"/>' in file
    sizes = {float(one) for one in re.findall(r'font-size="([0-9.]+)"', file)}
    assert sizes == {9.5, 8.0, 7.5, 7.0, 6.5, 6.2}
    assert NARROW not in file  # many fonts lack it


def test_the_description_has_every_figure() -> None:
    figure = paper(share("Once"), share("Never", 0, 0.01, 0.09), share("Hard", 0.05, 0.5, 0.95))

    assert figure.described.replace(NARROW, " ") == (
        "Once 27 % (17 to 38 %); Never below 9 % (0 to 9 %); Hard too few to say (5 to 95 %)."
    )
    assert figure.described.replace(NARROW, "\u00a0") in svg(figure)


def test_what_is_undetermined_has_no_mark_and_the_rest_has_bands_line_and_dot() -> None:
    known, unknown = share("Once"), share("Hard", 0.05, 0.5, 0.95)

    file = svg(paper(known, unknown))

    assert file.count("<circle") == 1
    assert re.findall(r'fill-opacity="([0-9.]+)"', file) == ["0.14", "0.24", "0.45"]
    assert 'fill="#fff" stroke="#0b6158"' in svg(paper(share("Never", 0, 0.01, 0.09)))
    assert "#0b6158" not in svg(paper(replace(known, aside=True)))


def test_a_print_without_colour_tells_the_bands_apart() -> None:
    """The lightness of the three bands, one on the other, on white."""
    mark = 0.2126 * 0x0B + 0.7152 * 0x61 + 0.0722 * 0x58
    seen = [255.0]
    for opacity in map(float, re.findall(r'fill-opacity="([0-9.]+)"', svg(paper(share("Once"))))):
        seen.append(seen[-1] * (1 - opacity) + mark * opacity)

    assert all(before - after >= 20 for before, after in zip(seen, [*seen[1:], mark], strict=True))


@pytest.mark.parametrize("millimetres", [0, 84, 100, 10**9, -85])
def test_other_widths_are_refused(millimetres: int) -> None:
    with pytest.raises(ValueError, match="85 or 180 mm wide"):
        svg(paper(share("Once")), millimetres)
