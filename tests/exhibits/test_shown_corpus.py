"""Everything that readers are shown of made-up surveys: nothing fails, links keep the subgroup, and
the comparer of two states of the code sees what a reader would."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest

from support.same_marks import differences_of
from support.shown_corpus import Shown, shown_of

_LINK = re.compile(r'<a [^>]*href="(/(?:api/)?surveys/[^"]+)"')
_ELSEWHERE = ("everybody", "Compare over everybody")
KEYS = ("site", "shift")


def check(shown: Shown) -> None:
    """What holds of whatever is shown."""
    assert not [name for name, text in shown.items() if text.startswith("500 ")]
    for name, text in shown.items():
        if text.startswith("200 text/html") and name.startswith("analyst /surveys/"):
            check_links(urlsplit(name.removeprefix("analyst ")).query, text)


def check_links(query: str, page: str) -> None:
    """Data and figures that a page leads to are those of its own subgroup."""
    mine = {key: value for key, value in parse_qsl(query) if key in KEYS}
    for link in map(unescape, _LINK.findall(page)):
        path, asked = urlsplit(link).path, dict(parse_qsl(urlsplit(link).query))
        if path.endswith((".csv", ".svg", "/figure")) and "/reports" not in path:
            assert {key: asked[key] for key in KEYS if key in asked} == mine, link


@pytest.mark.parametrize("number", [59, 3])
def test_nothing_fails_and_links_keep_the_subgroup(number: int) -> None:
    check(shown_of(number))


@pytest.mark.soak
@pytest.mark.parametrize("number", range(300))
def test_nothing_fails_in_many_surveys(number: int) -> None:
    check(shown_of(number))


def test_a_link_that_loses_the_subgroup_is_seen() -> None:
    page = '<a class="x" href="/api/surveys/s/strata.csv?question=a&amp;site=north">CSV</a>'

    check_links("question=a&site=north", page)
    for broken in (page.replace("&amp;site=north", ""), page.replace("north", "south")):
        with pytest.raises(AssertionError):
            check_links("question=a&site=north", broken)


PAGE = "200 text/html \n<p>About 3 of <a href='/a?b=1&c=2'>4</a></p><svg><rect x='1'/><line/></svg>"
FIGURE = "200 image/svg+xml \n<svg><rect x='1'/><line y='2'/><text>Yes</text></svg>"


@pytest.mark.parametrize(
    ("text", "old", "new", "kind"),
    [
        (PAGE, "x='1'", "x='2'", "marks"),
        (PAGE, "3 of", "4 of", "texts"),
        (PAGE, "c=2", "c=3", "links"),
        (PAGE, "<p>", "<p class='small'>", "elements"),
        (FIGURE, "<line y='2'/>", "", "marks"),
        (FIGURE, "Yes", "No", "texts"),
        ("200 text/csv \na,0.1\n", "0.1", "0.10", "-a"),
        ('200 application/json \n{"a":1}', "1", "2", "-{"),
        (PAGE, "200", "403", "head"),
    ],
)
def test_the_comparer_sees(text: str, old: str, new: str, kind: str) -> None:
    assert differences_of("/surveys/s", text, text)[1] == ""
    assert differences_of("/surveys/s", text, text.replace(old, new))[1].startswith(kind)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (FIGURE, "<rect x='1'/><line y='2'/>", "<line y='2'/><rect x='1'/>"),
        (PAGE, "b=1&c=2", "c=2&b=1"),
        ('404 application/problem+json \n{"instance":"/requests/ab"}', "/ab", "/cd"),
    ],
)
def test_the_comparer_passes_over_what_no_reader_sees(text: str, old: str, new: str) -> None:
    assert differences_of("/surveys/s", text, text.replace(old, new))[1] == ""
