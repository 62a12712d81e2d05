"""The page of a figure for a paper, in a browser: the picture is whole, and saved as PNG."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deniably.authoring.compiling import publish_text
from deniably_server.storage.store import Store
from support.material import Server, a_report
from support.phone import SURVEY, Watched

pytestmark = pytest.mark.browser

LONG = "Donaudampfschifffahrtsgesellschaftskapitäne und alle die es noch werden wollen " * 5
BEYOND = """() => {
  const [, , across, down] = document.rootElement.getAttribute("viewBox").split(" ").map(Number);
  return [...document.querySelectorAll("text")].filter((text) => {
    const { x, y } = text.getStartPositionOfChar(0);
    return x < -0.1 || x + text.getComputedTextLength() > across + 0.1 || y > down - 1;
  }).map(({ textContent }) => textContent);
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for name, label in (("workplace", "Have you"), ("long", LONG + "Have you")):
        survey = publish_text(SURVEY.replace("workplace", name, 1).replace("Have you", label, 1))
        server.publish(survey)
        with closing(Store(str(server.database))) as store:
            for number in range(9):
                store.add(survey, a_report(survey, stolen=[number % 2]))
            store.close_survey(name)
    yield server
    server.kill()


@pytest.mark.thorough
def test_nothing_is_cut_off_and_no_policy_takes_a_colour(phone: Watched) -> None:
    """In the fonts of this computer, which may have neither Arial nor Helvetica."""
    for name in ("workplace", "long"):
        for width in (85, 180):
            phone.page.goto(f"{phone.url}/api/surveys/{name}/figures/stolen.svg?width={width}")
            assert phone.page.evaluate(BEYOND) == []
    fill = "getComputedStyle(document.querySelector('text[fill]')).fill"
    assert phone.page.evaluate(fill) == "rgb(82, 96, 91)"
    assert phone.console == []


def test_a_figure_is_saved_as_png_of_600_dots_an_inch(phone: Watched, tmp_path: Path) -> None:
    phone.open("/surveys/workplace/figures/stolen")
    width = "document.documentElement.scrollWidth <= innerWidth"
    assert phone.page.evaluate(width)
    assert phone.page.locator("img").evaluate_all("all => all.every((one) => one.naturalWidth)")

    for millimetres, across in ((85, 2008), (180, 4252)):
        with phone.page.expect_download() as saved:
            phone.page.click(f"button[data-width='{millimetres}']")
        assert saved.value.suggested_filename == f"workplace-stolen-{millimetres}mm-600dpi.png"
        saved.value.save_as(tmp_path / "figure.png")
        picture = (tmp_path / "figure.png").read_bytes()
        assert picture.startswith(b"\x89PNG")
        assert struct.unpack(">I", picture[16:20]) == (across,)
    assert phone.console == []
