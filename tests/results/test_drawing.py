"""Figures: what is printed is rounded once, and what is drawn is what is printed."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.results.drawing import axes, choropleth, dotplot, graph, heat, rounding, strip
from deniably.results.drawing.row import Row, banded, difference_row, mean_row, share_row
from deniably.results.drawing.trend import trend

CENTS = st.integers(0, 1_000_000).map(lambda one: one / 1_000_000)
INTERVALS = st.tuples(CENTS, CENTS).map(lambda ends: (min(ends), max(ends)))
ESTIMATES = st.floats(-0.5, 1.5).map(lambda one: round(one, 6))


def plain(text: str) -> str:
    return text.replace("\u202f", " ").replace("\u2212", "-")


def numbers(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", plain(text).replace(",", ""))]


# --- graphs -----------------------------------------------------------------------------------

_PHONE = 44
"""Characters of the whole width of a phone."""


@pytest.mark.parametrize("most", [100.0, 1e4, 1e6, 1e7])
def test_words_of_the_upward_axis_stand_beside_what_is_drawn(most: float) -> None:
    """On a phone, where they are a larger part of the width."""
    points = ((0.0, most / 10), (1.0, most))
    up = axes.of_ratios([most / 10, most])
    layers = [
        graph.Line("a line", points, ("x", "y")),
        graph.Dots("dots", points, ("x", "y")),
    ]
    drawn = graph.inline(
        graph.Graph(axes.of_values([0, 1]), "across", up, "up", layers), "title", "about"
    )
    longest = max(len(words) for _, words in up.ticks)
    root = ElementTree.fromstring(drawn.source)

    (box,) = root.iter("svg") if root.tag != "svg" else root.findall("svg")
    begins = float(box.get("x", "").rstrip("%"))
    width = float(box.get("width", "").rstrip("%"))
    dots = [float(one.get("cx", "").rstrip("%")) for one in root.iter("circle")
            if one.get("class") != "key"]  # fmt: skip
    assert begins >= max(15, 100 * longest / _PHONE)
    assert dots == pytest.approx([begins, begins + width], abs=0.01)
    assert begins + width == pytest.approx(96)


# --- digits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimate", "interval", "value", "text"),
    [
        (0.294, (0.210, 0.381), "29 %", "21 to 38 %"),
        (0.3217, (0.3114, 0.3319), "32.2 %", "31.1 to 33.2 %"),
        (-0.02, (0.0, 0.0812), "below 9 %", "0 to 9 %"),
        (0.06, (0.0, 0.07), "below 7 %", "0 to 7 %"),
        (0.0, (0.0, 0.0001), "below 0.1 %", "0.0 to 0.1 %"),
        (0.8, (0.538, 1.0), "above 53 %", "53 to 100 %"),
        (1.0, (0.9999, 1.0), "above 99.9 %", "99.9 to 100.0 %"),
        (0.4, (0.05, 0.86), "too few to say", "5 to 86 %"),
        (0.3, (0.0, 1.0), "too few to say", "0 to 99 %"),
    ],
)
def test_a_share_reads_as_its_interval_allows(
    estimate: float, interval: tuple[float, float], value: str, text: str
) -> None:
    found = rounding.share(estimate, interval)

    assert plain(found.value) == value
    if value != "too few to say":
        assert plain(found.interval) == text


@pytest.mark.parametrize(
    ("estimate", "interval", "extent", "unit", "value", "bare"),
    [
        (2.48, (0.49, 4.52), (0, 30), "days", "2.5 days", "0.5 to 4.5"),
        (3694, (2940, 4456), (0, 20_000), "Euro", "3,700 Euro", "2,900 to 4,500"),
        (-0.15, (0.0, 2.57), (0, 40), "hours", "below 2.6 hours", "0.0 to 2.6"),
        (-3.04, (-3.5, -2.5), (-10, 10), "", "-3.0", "-3.5 to -2.5"),
        (4.9, (4.7, 5.0), (1, 5), "", "above 4.70", "4.70 to 5.00"),
        (3.0, (1.0, 4.6), (1, 5), "", "too few to say", "1.0 to 4.6"),
        (40, (18, 82), (18, 99), "", "below 90", "18 to 90"),
        (92, (35, 99), (0, 99), "", "above 30", "30 to 99"),
        (330, (4.3, 428), (1, 1000), "", "330", "1 to 430"),
    ],
)
def test_a_mean_ends_at_a_tenth_of_its_margin(
    estimate: float,
    interval: tuple[float, float],
    extent: tuple[float, float],
    unit: str,
    value: str,
    bare: str,
) -> None:
    found = rounding.mean(estimate, interval, extent, unit)

    assert (plain(found.value), plain(found.bare)) == (value, bare)


@given(estimate=ESTIMATES, interval=INTERVALS)
def test_no_share_is_called_zero_and_every_bound_holds(
    estimate: float, interval: tuple[float, float]
) -> None:
    found = rounding.share(estimate, interval)
    low, high = interval

    assert not re.search(r"-0(\.0)? ", plain(found.value) + plain(found.interval))
    assert not re.fullmatch(r"(0|0\.0|100|100\.0) %", plain(found.value))
    printed = numbers(found.value)
    if found.state == "below":
        assert printed[0] >= 100 * high - 1e-6
    elif found.state == "above":
        assert printed[0] <= 100 * low + 1e-6
    elif found.state == "known":
        assert low > 0
        assert high < 1
        least, most = numbers(found.bare)
        assert least <= printed[0] <= most
    else:
        assert high - low > 0.8 or (low <= 0.001 and high >= 0.99)


@given(
    estimate=st.floats(-2e5, 2e5),
    half=st.floats(1e-4, 1e5),
    extent=st.sampled_from(
        [(0.0, 30.0), (1.0, 5.0), (-3.0, 3.0), (0.0, 1e5), (18.0, 99.0), (0.5, 93.5), (1.0, 1001.0)]
    ),
)
def test_the_printed_mean_is_within_a_step_of_the_estimate(
    estimate: float, half: float, extent: tuple[float, float]
) -> None:
    ends = sorted(rounding.inside(one, extent) for one in (estimate - half, estimate + half))
    if ends[0] == ends[1]:
        return
    found = rounding.mean(estimate, ends, extent)

    assert not re.search(r"-0(\.0+)?$", plain(found.value))
    assert all(extent[0] <= one <= extent[1] for one in numbers(found.bare + " " + found.value))
    step = 10.0 ** -rounding.places(ends)
    if found.state == "known":
        middle = rounding.inside(estimate, ends)
        assert numbers(found.value)[0] == pytest.approx(middle, abs=step * 0.51)
    elif found.state == "below":
        assert numbers(found.value)[0] >= ends[1] - step * 1e-5


@pytest.mark.parametrize(
    ("difference", "interval", "value", "text"),
    [
        (0.127, (0.04, 0.21), "+13 points", "+4 to +21"),
        (-0.004, (-0.02, 0.012), "0 points", "-2 to +1"),
        (-0.051, (-0.06, -0.042), "-5.1 points", "-6.0 to -4.2"),
    ],
)
def test_a_difference_has_a_sign(
    difference: float, interval: tuple[float, float], value: str, text: str
) -> None:
    found = rounding.points(difference, interval)

    assert (plain(found.value), plain(found.interval)) == (value, text)


# --- scales -----------------------------------------------------------------------------------


@given(st.lists(st.tuples(ESTIMATES, INTERVALS), min_size=1, max_size=6))
def test_the_scale_of_a_card_has_room_for_all_its_intervals(
    shares: list[tuple[float, tuple[float, float]]],
) -> None:
    rows = [share_row("x", *one) for one in shares]
    found = axes.of_shares(rows)

    assert all(row.interval[1] <= found.high + 1e-9 for row in rows if row.drawn)
    assert found.ticks[0] == (0.0, "0\u202f%")
    assert found.ticks[-1][0] == pytest.approx(found.high)


@pytest.mark.parametrize(
    ("ends", "unit", "ticks"),
    [
        ((0, 30), "days", ["0", "10", "20", "30 days"]),
        ((0, 16), "", ["0", "4", "8", "12", "16"]),
        ((0, 7), "", ["0", "1", "2", "3", "4", "5", "6", "7"]),
        ((0, 20_000), "", ["0", "5,000", "10,000", "20,000"]),
        ((18, 67), "", ["10", "20", "30", "40", "50", "60", "70"]),
        ((-3, 3), "km", ["-3", "-2", "-1", "0", "1", "2", "3 km"]),
        ((0.5, 2.0), "", ["0.5", "0.75", "1", "1.25", "1.5", "1.75", "2"]),
    ],
)
def test_both_ends_of_the_scale_of_a_mean_are_labelled(
    ends: tuple[float, float], unit: str, ticks: list[str]
) -> None:
    found = axes.of_numbers(*ends, unit)

    assert [plain(text) for _, text in found.ticks if text] == ticks


@given(st.floats(-1e4, 1e4), st.floats(1e-2, 1e6))
def test_ticks_have_equal_steps_and_are_few_whatever_the_range(low: float, length: float) -> None:
    found = axes.of_numbers(low, low + length)
    values = [value for value, _ in found.ticks]
    steps = [b - a for a, b in pairwise(values)]

    assert 2 <= len(values) <= 8
    assert steps == pytest.approx([(found.high - found.low) / len(steps)] * len(steps))
    assert (values[0], values[-1]) == (found.low, found.high)
    slack = 1e-6 * steps[0]
    assert low - steps[0] <= found.low <= low + slack
    assert low + length - slack <= found.high <= low + length + steps[0]


@pytest.mark.parametrize("last", range(2, 30))
def test_a_scale_of_opinions_has_equal_steps_from_end_to_end(last: int) -> None:
    values = [value for value, _ in axes.of_numbers(1, last, first="disagree", last="agree").ticks]

    assert (values[0], values[-1]) == (1, last)
    assert len({b - a for a, b in pairwise(values)}) == 1
    assert len(values) <= 6


@pytest.mark.parametrize(
    ("ends", "unit", "ticks"),
    [
        ((18, 95), "", ["0", "20", "40", "60", "80", "100"]),
        ((0, 12_500), "", ["0", "2,500", "5,000", "7,500", "10,000", "12,500"]),
        ((0, 50), "h", ["0", "10", "20", "30", "40", "50 h"]),
        ((-3, 4), "", ["-4", "-2", "0", "2", "4"]),
    ],
)
def test_an_axis_that_runs_upwards_has_round_numbers_with_equal_steps(
    ends: tuple[float, float], unit: str, ticks: list[str]
) -> None:
    found = axes.upright(*ends, unit)

    assert [plain(text) for _, text in found.ticks] == ticks
    assert found.low <= ends[0] < ends[1] <= found.high


@pytest.mark.parametrize("last", range(2, 30))
def test_an_upright_scale_of_opinions_has_equal_steps_from_end_to_end(last: int) -> None:
    found = axes.upright(1, last, first="disagree", last="agree")
    values = [value for value, _ in found.ticks]

    assert (values[0], values[-1]) == (found.low, found.high) == (1, last)
    assert len({one - other for one, other in zip(values[1:], values, strict=False)}) == 1
    assert len(values) <= 6
    assert (found.ticks[0][1], found.ticks[-1][1]) == ("1 disagree", f"{last} agree")
    assert all(text for _, text in found.ticks)


def test_words_stand_at_the_ends_of_a_scale_of_opinions() -> None:
    found = axes.of_numbers(1, 5, first="disagree", last="agree")

    assert [text for _, text in found.ticks] == ["1 disagree", "", "3", "4", "5 agree"]


def test_nought_is_on_every_scale_of_differences() -> None:
    for low, high in [(0.02, 0.3), (-0.3, -0.02), (-0.1, 0.2), (0.001, 0.004)]:
        row = difference_row("x", (low + high) / 2, (low, high), shown=True)
        found = axes.of_differences([row])

        assert found.low <= min(low, 0) <= max(high, 0) <= found.high
        assert "0" in [plain(text).removesuffix(".0") for _, text in found.ticks]


# --- strips -----------------------------------------------------------------------------------


def marks(row: Row, on: axes.Axis) -> dict[str, list[float]]:
    """The places of the marks of a strip, back on the scale: the dot, and the ends of bands."""
    found: dict[str, list[float]] = {}
    for one in ElementTree.fromstring(strip.strip(row, on).source):
        kind = one.get("class", "")
        if one.tag == "circle":
            found[kind] = [float(one.attrib["cx"].rstrip("%"))]
        if one.tag == "rect":
            left, width = (float(one.attrib[key].rstrip("%")) for key in ("x", "width"))
            found[kind] = [left, left + width]
    width = on.high - on.low
    return {kind: [on.low + width * x / 100 for x in places] for kind, places in found.items()}


@given(estimate=ESTIMATES, interval=INTERVALS)
def test_a_strip_draws_what_the_table_prints(
    estimate: float, interval: tuple[float, float]
) -> None:
    row = share_row("Yes", estimate, interval)
    on = axes.of_shares([row])
    found = marks(row, on)

    if row.reading.state == "unknown":
        assert found == {}
        return
    line = found["w"]
    assert line[0] == pytest.approx(interval[0], abs=2e-4)
    assert line[1] == pytest.approx(interval[1], abs=4e-3)
    assert found["d o" if row.open else "d"][0] == pytest.approx(
        rounding.inside(estimate, interval), abs=2e-4
    )
    assert row.open == (row.reading.state in ("below", "above"))


def test_bands_are_nested_and_drawn_only_where_they_are_known() -> None:
    row = share_row("Yes", 0.3, (0.2, 0.4))
    on = axes.of_shares([row])

    assert set(marks(row, on)) == {"b b95", "w", "d"}
    found = marks(banded(row, [0.235, 0.365], [0.266, 0.334]), on)
    assert set(found) == {"b b95", "w", "b b80", "b b50", "d"}
    assert found["b b95"][0] < found["b b80"][0] < found["b b50"][0] < found["d"][0]
    assert found["b b95"][1] > found["b b80"][1] > found["b b50"][1] > found["d"][0]


def test_a_table_is_the_chart_and_its_own_description() -> None:
    rows = [
        share_row("Yes & no", 0.3, (0.2, 0.4)),
        replace(share_row("Prefer <not> to say", 0.0, (0.0, 0.1)), aside=True),
        replace(share_row("Don’t know", 0.0, (0.0, 0.1)), aside=True, note="not asked"),
    ]
    drawn = strip.table("Q", rows, axes.of_shares(rows)).source
    tree = ElementTree.fromstring(drawn)

    assert "style=" not in drawn
    assert "viewBox" not in drawn
    body = tree.findall("tbody/tr")
    assert [plain(row.findall("td")[1].text or "") for row in body] == [
        "30 %", "below 10 %", "below 10 %"
    ]  # fmt: skip
    assert [row.get("class") for row in body] == [None, "aside gap", "aside"]
    assert body[0].findtext("th") == "Yes & no"
    assert all(svg.get("aria-hidden") == "true" for svg in tree.iter("svg"))
    roles = {"table": "table", "tr": "row", "tbody": "rowgroup", "thead": "rowgroup"}
    for element in tree.iter():
        if element.tag in ("table", "thead", "tbody", "tr", "th", "td"):
            assert element.get("role"), element.tag
            assert element.get("role") == roles.get(element.tag, element.get("role"))


def test_nothing_is_drawn_of_what_too_few_said() -> None:
    unknown = mean_row("Mean", None, (1.0, 5.0), (1, 5))
    drawn = strip.table("Q", [unknown], axes.of_numbers(1, 5)).source

    assert "<circle" not in drawn
    assert "<rect" not in drawn
    assert "too few to say" in drawn


# --- plots ------------------------------------------------------------------------------------


def test_twenty_dots_stand_where_their_numbers_are_and_open_where_these_are_not_known() -> None:
    on = axes.of_numbers(0, 100)
    picture = ElementTree.fromstring(dotplot.dots([0.0] * 10 + [52.0] * 9 + [100.0], 15, on).source)
    circles = picture.findall("circle")

    assert [one.get("class") for one in circles] == ["d"] * 15 + ["d o"] * 5
    assert [one.get("cx") for one in circles] == ["2.50%"] * 10 + ["52.50%"] * 9 + ["97.50%"]
    heights = [float(one.get("cy", "")) for one in circles]
    assert heights[:10] == sorted(heights[:10], reverse=True), "they are stacked"
    assert min(heights) > 6.5
    assert max(heights) < float(picture.get("height", ""))


def test_a_map_colours_only_areas_that_stand_out() -> None:
    firsts = (-3, -2, -1, 0, 1, 2)  # of six areas with ten numbers each
    sides = (
        choropleth.MapSide("East", "km", firsts, 2.9, 0.1),
        choropleth.MapSide("North", "", firsts, 2.9, 0.1),
    )
    out = choropleth.Area(1, 3, 0.18, rounding.share(0.18, (0.15, 0.22)))
    faint = choropleth.Area(0, 0, 0.05, rounding.share(0.05, (0.02, 0.08)))
    picture = choropleth.area_map(
        "Seven areas & more", choropleth.AreaMap(sides, [out, faint]), [(0.5, 0.25)]
    )
    tree = ElementTree.fromstring(picture.source)
    drawn = tree.findall(".//rect")

    assert tree.get("role") == "img"
    assert tree.get("aria-label") == "Seven areas & more"
    assert len(drawn) == 36
    on = [one for one in drawn if one.get("class") == "cell on"]
    assert [(one.get("x"), one.get("y")) for one in on] == [
        ("0.00%", "83.33%"),
        ("16.67%", "33.33%"),
    ]
    texts = [plain(one.text or "") for one in tree.iter("text")]
    assert texts[:7] == ["-3.0", "-2.0", "-1.0", "0.0", "1.0", "2.0", "2.9"]
    assert texts[-7:] == ["-3.0", "-2.0", "-1.0", "0.0", "1.0", "2.0", "2.9 km"]
    assert {"18 %", "5 %", "A"} <= set(texts)
    ring = tree.find(".//circle")
    assert ring is not None
    assert (ring.get("cx"), ring.get("cy")) == ("50.00%", "74.58%"), "in the middle of a number"


def test_areas_are_where_and_as_wide_as_their_numbers() -> None:
    """The whole numbers from -5 to 5 in four areas: three with three of them, one with two."""
    side = choropleth.MapSide("East", "km", (-5, -2, 1, 4), 5, 1)
    out = [choropleth.Area(place, place, 0.2, rounding.share(0.2, (0.1, 0.3))) for place in (0, 3)]

    picture = choropleth.area_map("", choropleth.AreaMap((side, side), out), [(0.0, 1.0)])

    tree = ElementTree.fromstring(picture.source)
    drawn = [one for one in tree.iter("rect") if one.get("class") == "cell on"]
    assert [[one.get(key) for key in ("x", "y", "width", "height")] for one in drawn] == [
        ["0.00%", "72.73%", "27.27%", "27.27%"], ["81.82%", "0.00%", "18.18%", "18.18%"],
    ]  # fmt: skip
    across = tree.findall("svg")[2].findall("text")
    assert [(one.get("x"), plain(one.text or "")) for one in across] == [
        ("0.00%", "-5"), ("27.27%", "-2"), ("54.55%", "1"), ("81.82%", "4"), ("100.00%", "5 km"),
    ]  # fmt: skip
    ring = tree.find(".//circle")
    assert ring is not None
    assert (ring.get("cx"), ring.get("cy")) == ("4.55%", "4.55%")


@given(st.floats(-1e4, 1e4), st.floats(0.5, 1e5), st.integers(2, 32))
def test_the_ends_of_a_map_are_labelled_whatever_its_range(
    low: float, length: float, cells: int
) -> None:
    firsts = [low + length * place / cells for place in range(cells)]
    side = choropleth.MapSide("x", "", firsts, low + length, length / cells / 2)
    tree = ElementTree.fromstring(
        choropleth.area_map("", choropleth.AreaMap((side, side), [])).source
    )
    texts = tree.findall("svg")[2].findall("text")

    assert (texts[0].get("x"), texts[-1].get("x")) == ("0.00%", "100.00%")
    assert 2 <= len(texts) <= 7
    assert len(tree.findall(".//rect")) == cells**2


def test_a_heat_table_shows_every_interval_and_hatches_what_may_be_nobody() -> None:
    seen = heat.heat_cell(0.3, (0.25, 0.35), 0.3, seen=True)
    unseen = heat.heat_cell(0.01, (0.0, 0.054), 0.3, seen=False)
    rows = heat.HeatMargin("Faith", ["None", "Other <>"], [rounding.share(0.4, (0.35, 0.46))] * 2)
    columns = heat.HeatMargin("Vote", ["Yes", "No"], [rounding.share(0.67, (0.61, 0.72))] * 2)
    tree = ElementTree.fromstring(
        heat.table("All", heat.Heat(rows, columns, [[seen, unseen]] * 2)).source
    )
    cells = tree.findall("tbody/tr/td")

    assert [one.get("class") for one in cells] == ["q4", "no", "m"] * 2 + ["m", "m", None]
    assert [plain(one.findtext("b") or "") for one in cells[:3]] == ["30 %", "below 6 %", "40 %"]
    assert [one.findtext("span") for one in cells[:3]] == ["25 to 35", "0 to 6", "35 to 46"]
    assert [one.text for one in tree.findall("tbody/tr/th")] == ["None", "Other <>", "All"]
    assert all(one.get("scope") for one in tree.iter("th"))


@pytest.mark.parametrize(
    ("shares", "under"), [((0.2, 0.5), [True, False]), ((0.5, 0.2), [False, False])]
)
def test_no_line_to_the_next_wave_strikes_a_value(
    shares: tuple[float, ...], under: list[bool]
) -> None:
    """The value stands under a line that goes up, and above one that goes down."""
    rows = [share_row(f"wave {share}", share, (share - 0.1, share + 0.1)) for share in shares]
    source = trend("Yes", rows, axes.of_shares(rows)).source

    dots = [float(y) for y in re.findall(r'<circle [^>]*cy="([\d.]+)"', source)]
    values = [float(y) for y in re.findall(r'<text class="val"[^>]* y="([\d.]+)"', source)]
    assert [value > dot for value, dot in zip(values, dots, strict=True)] == under
