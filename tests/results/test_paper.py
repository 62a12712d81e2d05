"""Figures for papers: complete files, in which no text is cut off."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.results.figures import scale
from deniably.results.figures.digits import NARROW
from deniably.results.figures.letters import fit, width, wrap
from deniably.results.figures.paper import WIDTHS, Paper, Part, described, svg
from deniably.results.figures.row import Row, banded, mean_row, share_row

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
    return Paper(title, lede, [Part(rows, scale.of_shares(rows))], ["A note.", "Source: here."])


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


def size(file: str) -> tuple[float, float]:
    _, _, across, down = ElementTree.fromstring(file).get("viewBox", "").split()
    return float(across), float(down)


@settings(max_examples=60, deadline=None)
@given(LABELS, LABELS, LABELS, LABELS, SHARES, st.sampled_from(WIDTHS))
def test_no_text_is_cut_off_at_any_length_of_label(
    label: str, title: str, lede: str, unit: str, ends: list[float], millimetres: int
) -> None:
    mean = mean_row(label, 3.0, (2.0, 4.0), (0, 9), unit)
    parts = [
        Part([share(label, *ends)], scale.of_shares([share(label, *ends)]), title),
        Part([mean], scale.of_numbers(0, 9, unit), title),
    ]
    file = svg(Paper(title, lede, parts, [lede]), millimetres)

    across, down = size(file)
    for text, left, right, base in texts(file):
        assert left >= -0.1, text
        assert right <= across + 0.1, text
        assert base <= down - 1, text


@settings(max_examples=40, deadline=None)
@given(st.lists(LABELS, min_size=2, max_size=4), st.sampled_from(WIDTHS))
def test_no_text_lies_over_another(labels: list[str], millimetres: int) -> None:
    file = svg(paper(*map(share, labels)), millimetres)

    lines: dict[float, list[tuple[float, float]]] = {}
    for _, left, right, base in texts(file):
        lines.setdefault(base, []).append((left, right))
    for on_line in lines.values():
        ordered = sorted(on_line)
        for (_, end), (start, _) in itertools.pairwise(ordered):
            assert end <= start + 0.2


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

    assert described(figure).replace(NARROW, " ") == (
        "Once 27 % (17 to 38 %); Never below 9 % (0 to 9 %); Hard too few to say (5 to 95 %)."
    )
    assert described(figure).replace(NARROW, "\u00a0") in svg(figure)


def test_what_cannot_be_told_has_no_mark_and_the_rest_has_bands_line_and_dot() -> None:
    known, untold = share("Once"), share("Hard", 0.05, 0.5, 0.95)

    file = svg(paper(known, untold))

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
