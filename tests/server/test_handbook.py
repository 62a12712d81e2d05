"""The handbook is served by every server: whole, safe, kept by browsers, and linked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.survey.survey import Survey
from deniably_server.api.handbook import texts
from deniably_server.app import create_app
from deniably_server.web.rendered_markdown import render
from support.cases import for_each

PAGES = sorted("/handbook" if name == "index" else f"/handbook/{name}" for name in texts())
BROWSER = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """Reads pages; one application for all of them."""
    app = create_app({"DATABASE": str(tmp_path_factory.mktemp("shelf") / "deniably.db")})
    yield app.test_client()
    app.extensions["deniably"].close()


class Outline(HTMLParser):
    """What a page has: its headings, anchors, links, attributes and elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.levels: list[int] = []
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.attributes: set[str] = set()
        self.elements: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.elements.append(tag)
        self.attributes |= set(found)
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if "id" in found:
            self.anchors.append(found["id"])
        if tag == "a":
            self.links.append(found["href"])
        elif "href" in found or "src" in found:
            self.loaded.append(found.get("href") or found["src"])


@for_each("path", PAGES)
def test_a_page_has_one_title_headings_in_order_and_anchors_of_its_own(
    shelf: FlaskClient, path: str
) -> None:
    answer = shelf.get(path)
    page = Outline(answer.text)

    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert '<html lang="en">' in answer.text
    assert page.levels[0] == 1
    assert page.levels.count(1) == 1
    assert all(
        next_ <= level + 1 for level, next_ in zip(page.levels, page.levels[1:], strict=False)
    )
    assert len(set(page.anchors)) == len(page.anchors)


@for_each("path", PAGES)
def test_a_page_keeps_to_the_policy_and_loads_from_this_server_alone(
    shelf: FlaskClient, path: str
) -> None:
    page = Outline(shelf.get(path).text)

    assert not {"style", "script", "iframe", "img", "form"} & set(page.elements)
    assert not {name for name in page.attributes if name == "style" or name.startswith("on")}
    assert all(address.startswith("/web/") for address in page.loaded)
    assert all(shelf.get(address).status_code == 200 for address in page.loaded)


def test_every_link_leads_to_a_place_that_is_there(shelf: FlaskClient) -> None:
    pages = {path: Outline(shelf.get(path).text) for path in PAGES}
    reached = {"/handbook"}

    for path, page in pages.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            target = target or path
            if not target.startswith("/handbook"):
                assert target in ("/", "/register", "/lab", "/how?language=en") or re.match(
                    r"https://", target
                ), (path, link)
                continue
            assert target in pages, (path, link)
            assert not anchor or anchor in pages[target].anchors, (path, link)
            reached.add(target)
    assert reached == set(pages), "a page that no other leads to"


@pytest.mark.parametrize("path", ["/handbook", "/handbook/respondents"])
def test_a_browser_keeps_a_page_and_asks_whether_it_is_still_right(
    shelf: FlaskClient, path: str
) -> None:
    first = shelf.get(path)
    again = shelf.get(path, headers={"If-None-Match": first.headers["ETag"]})
    head = shelf.head(path)

    assert first.headers["Cache-Control"] == "no-cache"
    assert (again.status_code, again.data) == (304, b"")
    assert (head.status_code, head.data) == (200, b"")
    assert head.headers["ETag"] == first.headers["ETag"]


@pytest.mark.parametrize(
    "path",
    ["/handbook/nothing", "/handbook/index", "/handbook/index.md", "/handbook/respondents.md",
     "/handbook/decisions", "/handbook/decisions/nothing", "/handbook/..%2fapp.py",
     "/handbook/../app.py", "/handbook/"],
)  # fmt: skip
def test_a_name_that_is_no_page_is_not_found(shelf: FlaskClient, path: str) -> None:
    answer = shelf.get(path, headers=BROWSER)

    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    assert shelf.get(path).status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_page_is_only_read(shelf: FlaskClient, method: str) -> None:
    assert shelf.open("/handbook/respondents", method=method).status_code == 405


def test_every_page_of_the_server_leads_to_the_handbook(
    app: Flask, client: FlaskClient, survey: Survey
) -> None:
    for path in ("/", "/s/workplace", "/surveys/workplace"):
        assert 'href="/handbook"' in client.get(path).text, path
    app.extensions["deniably"].close_survey("workplace")
    for path in ("/s/workplace", "/surveys/workplace"):
        assert 'href="/handbook"' in client.get(path, headers=BROWSER).text, path
    assert "handbook" not in client.get("/measures").text, "the way out says nothing of surveys"


# --- what a page may hold -----------------------------------------------------------------------


def page_of(text: str) -> str:
    return render(text, "book/page.md", {"book/other.md": "/handbook/other"}.get).html.source


def test_html_in_a_text_is_shown_and_not_obeyed() -> None:
    html = page_of("# T\n\n<script>alert(1)</script> <b onclick=x>b</b>\n\n<img src=x>\n")

    assert set(Outline(html).elements) == {"h1", "p"}
    assert "&lt;script&gt;" in html


def test_quotes_are_curled_in_prose_and_never_in_code() -> None:
    html = page_of('# T\n\nSay "yes", don\'t `"x"`\n\n```sh\ncurl "a"\n```\n')

    assert "Say “yes”, don’t <code>&quot;x&quot;</code>" in html
    assert "curl &quot;a&quot;" in html


def test_a_link_that_runs_code_is_no_link() -> None:
    assert Outline(page_of("# T\n\n[a](javascript:alert(1)) [b](data:text/html,x)")).links == []


@pytest.mark.parametrize(
    ("written", "served"),
    [
        ("[a](other.md)", '<a href="/handbook/other">a</a>'),
        ("[a](other.md#x)", '<a href="/handbook/other#x">a</a>'),
        ("[a](#x)", '<a href="#x">a</a>'),
        ("[a](https://example.org/x)", '<a href="https://example.org/x">a</a>'),
        ("[a *b*](../SPEC.md#x)", "a <em>b</em> (<code>SPEC.md</code> in the source)"),
    ],
)
def test_a_link_to_a_file_leads_to_its_page_or_names_the_file(written: str, served: str) -> None:
    assert served in page_of(f"# T\n\n{written}")


def test_headings_of_the_same_text_have_anchors_of_their_own() -> None:
    page = Outline(page_of("# T\n\n## What `x-y` does, in 2 steps\n\n## A\n\n## A\n"))

    assert page.anchors == ["t", "what-x-y-does-in-2-steps", "a", "a-1"]


def test_a_table_has_headings_for_its_columns_and_can_be_scrolled_with_the_keyboard() -> None:
    html = page_of("# T\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n")

    assert '<th scope="col">b</th>' in html
    assert 'tabindex="0" role="region" aria-label="Table 1: T"' in html
    assert "style" not in Outline(html).attributes
