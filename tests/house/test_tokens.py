"""The design tokens: every pair of colours that a page sets side by side can be told apart, by WCAG
2.2, light and dark; and no stylesheet makes words smaller than 13 px or colours of its own."""

from __future__ import annotations

import re

import pytest

from conftest import WEB
from deniably.results.drawing import colours
from support.cases import for_each

STYLE = WEB / "style"
TEXT = (STYLE / "tokens.css").read_text(encoding="utf-8")
SHEETS = {
    path.name: re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for path in sorted(STYLE.glob("*.css"))
}
TOKEN = re.compile(r"(--[\w-]+):\s*([^;]+);")
LIGHT_TEXT, _rest = TEXT.split("@media screen and (prefers-color-scheme: dark)", 1)
LIGHT = dict(TOKEN.findall(LIGHT_TEXT))
DARK_TEXT, FORCED_TEXT = _rest.split("@media (forced-colors: active)", 1)
DARK = LIGHT | dict(TOKEN.findall(DARK_TEXT))
FORCED = dict(TOKEN.findall(FORCED_TEXT.split("@media print", 1)[0]))
SCHEMES = {"light": LIGHT, "dark": DARK}
COLOURS = [name for name, value in LIGHT.items() if value.startswith("#")]

READ = 4.5
"""Words: success criterion 1.4.3."""
SEEN = 3.0
"""Lines and marks that mean something: 1.4.11."""
PAIRS = [
    *((READ, "--ink", ground) for ground in ("--ground", "--card", "--tint", "--q0", "--q1")),
    *((READ, "--ink", ground) for ground in ("--q2", "--q3", "--q4", "--flag-tint", "--warn-tint")),
    *((READ, "--soft", ground) for ground in ("--ground", "--card", "--tint", "--q0", "--q1")),
    *((READ, "--accent", ground) for ground in ("--ground", "--card", "--tint")),
    *((READ, word, "--card") for word in ("--mute", "--second", "--mark", "--warn")),
    (READ, "--on-accent", "--accent"),
    (READ, "--flag", "--flag-tint"),
    (READ, "--warn", "--warn-tint"),
    *((SEEN, mark, "--card") for mark in ("--mark", "--second", "--mute", "--flag", "--warn")),
    *((SEEN, mark, "--tint") for mark in ("--second", "--mute")),
]
HEAT = (0.04, 0.12, 0.22, 0.34, 0.48)
"""How much of the mark is in the five tones of a heat table."""


def channels(colour: str) -> list[int]:
    digits = colour.removeprefix("#")
    digits = "".join(2 * one for one in digits) if len(digits) == 3 else digits
    return [int(digits[at : at + 2], 16) for at in (0, 2, 4)]


def luminance(colour: str) -> float:
    parts = [part / 255 for part in channels(colour)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, "contrast ratio"."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_what_wcag_says() -> None:
    assert contrast("#000", "#fff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@for_each("scheme", SCHEMES)
@for_each(("least", "one", "other"), PAIRS)
def test_what_stands_side_by_side_can_be_told_apart(
    scheme: str, least: float, one: str, other: str
) -> None:
    tokens = SCHEMES[scheme]

    assert contrast(tokens[one], tokens[other]) >= least


@pytest.mark.parametrize("scheme", SCHEMES)
def test_words_and_what_is_drawn_are_clearer_than_they_must_be(scheme: str) -> None:
    """The contrasts that the design promises on a card."""
    tokens = SCHEMES[scheme]
    found = {name: contrast(tokens[f"--{name}"], tokens["--card"]) for name in
             ("ink", "soft", "accent", "mark", "mute", "second")}  # fmt: skip

    promised = {"ink": 14.4, "soft": 6.6, "accent": 7.3, "mark": 7.3, "mute": 4.9, "second": 5.8}
    assert {name for name, least in promised.items() if found[name] < least - 0.05} == set()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_tones_of_heat_are_the_mark_mixed_into_the_card(scheme: str) -> None:
    tokens = SCHEMES[scheme]
    mark, card = channels(tokens["--mark"]), channels(tokens["--card"])

    for tone, share in enumerate(HEAT):
        mixed = [share * one + (1 - share) * other for one, other in zip(mark, card, strict=True)]
        found = channels(tokens[f"--q{tone}"])
        assert max(abs(one - other) for one, other in zip(found, mixed, strict=True)) <= 1


def test_every_colour_has_one_for_the_dark_and_one_for_forced_colours() -> None:
    dark = dict(TOKEN.findall(DARK_TEXT))

    assert set(dark) == set(FORCED) == set(COLOURS)
    assert all(re.fullmatch("[A-Z][A-Za-z]+", value) for value in FORCED.values()), "system colours"


def test_drawings_that_stand_alone_have_the_colours_of_the_pages() -> None:
    names = ("INK", "SOFT", "LINE", "GRID", "CARD", "MARK", "SECOND", "MUTE", "WARN")
    drawn = {name.lower(): getattr(colours, name) for name in names}

    for name, colour in (drawn | dict(colours.TONES)).items():
        assert colour == LIGHT[f"--{name}"], name


@pytest.mark.parametrize("sheet", [name for name in SHEETS if name != "tokens.css"])
def test_no_other_sheet_has_colours_of_its_own(sheet: str) -> None:
    """Shadows apart, which are black on any ground."""
    opaque = re.findall(r"#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b", SHEETS[sheet])

    assert opaque == []
    assert set(re.findall(r"var\((--[\w-]+)", SHEETS[sheet])) <= set(LIGHT) | set(
        re.findall(r"(--[\w-]+):", SHEETS[sheet])
    ), "a token that is not there"


@pytest.mark.parametrize("sheet", SHEETS)
def test_no_sheet_sets_words_below_13_px_or_needs_new_browsers_for_colours(sheet: str) -> None:
    for size, unit in re.findall(r"font(?:-size)?:[^;{}]*?([\d.]+)(px|rem)\b", SHEETS[sheet]):
        assert float(size) * (16 if unit == "rem" else 1) >= 13
    assert "color-mix" not in SHEETS[sheet]
    assert not re.search(r"@font-face|@import|url\((?!\"?data:)", SHEETS[sheet]), "from elsewhere"


def test_sizes_and_spaces_are_named_by_their_pixels() -> None:
    named = re.findall(r"--[fsr](\d+): ([\d.]+)rem;", LIGHT_TEXT)

    assert len(named) >= 15
    assert all(float(rem) * 16 == int(pixels) for pixels, rem in named)
