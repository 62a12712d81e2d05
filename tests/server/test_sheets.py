"""Stylesheets joined and without their spaces: the same rules in fewer bytes."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jinja2 import nodes

from deniably_server.web.sheets import join_sheets, without_unused_tokens
from deniably_server.web.static_files import LEAN, SHEETS


@pytest.mark.parametrize(
    ("written", "served"),
    [
        ("/* A\n note. */\na { color: red; }\n", "a{color:red}"),
        ("a :hover, b > c { margin: 0 auto; }", "a :hover,b>c{margin:0 auto}"),
        ("@media screen and (width: 1px) { a { b: c; } }", "@media screen and (width:1px){a{b:c}}"),
        ("a { width: calc((1rem - 2%) * 9); }", "a{width:calc((1rem - 2%) * 9)}"),
        ('a { font-family: "Some; Font", b; }', 'a{font-family:"Some; Font",b}'),
        ("a { --one: 1px;\n  --two: 2px }", "a{--one:1px;--two:2px}"),
    ],
)
def test_only_what_means_nothing_is_left_out(written: str, served: str) -> None:
    assert join_sheets([written]) == served + "\n"


def test_sheets_follow_each_other_in_their_order() -> None:
    assert join_sheets(["a { b: c; }", "a { b: d; }"]) == "a{b:c}\na{b:d}\n"


@pytest.mark.parametrize(("page", "parts"), SHEETS.items())
def test_a_page_has_all_its_rules_in_one_file(
    client: FlaskClient, page: str, parts: tuple[str, ...]
) -> None:
    written = [client.get(f"/web/style/{part}.css").text for part in parts]

    served = client.get(f"/web/{page}").text

    joined = join_sheets(written)
    assert served == (without_unused_tokens(joined) if page in LEAN else joined)
    for text in written:
        bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        assert text.count("{") == bare.count("{"), "no comment holds a rule"
    assert served.count("{") == sum(text.count("{") for text in written)


def test_tokens_that_no_rule_uses_are_left_out_and_no_other() -> None:
    sheet = (
        ":root{--a:1px;--b:clamp(1px,2vw,3px);--c:#fff;d:e}a{b:var(--b)}@media x{:root{--c:#000}}"
    )

    assert without_unused_tokens(sheet) == (
        ":root{--b:clamp(1px,2vw,3px);d:e}a{b:var(--b)}@media x{:root{}}"
    )


@pytest.mark.parametrize("sheet", LEAN)
def test_a_lean_sheet_has_every_token_that_it_uses_and_no_page_of_it_has_another(
    client: FlaskClient, sheet: str
) -> None:
    served = client.get(f"/web/{sheet}").text

    assert set(re.findall(r"var\((--[\w-]+)\)", served)) == set(re.findall(r"(--[\w-]+):", served))
    assert "--q0" not in served
    templates = Path(str(files("deniably_server") / "templates"))
    pages = [file.read_text(encoding="utf-8") for file in templates.rglob("*.html")]
    linked = [re.findall(r'rel="stylesheet" href="(.*?)"', text) for text in pages if sheet in text]
    assert linked
    assert all(sheet in link for links in linked for link in links)


def test_every_filter_and_test_that_a_page_names_is_there(app: Flask) -> None:
    """Jinja looks for them only where it comes by."""
    environment = app.jinja_env
    assert environment.loader is not None
    unknown = set[tuple[str, str]]()
    for page in environment.list_templates(extensions=["html"]):
        tree = environment.parse(environment.loader.get_source(environment, page)[0])
        named = [(each.name, environment.filters) for each in tree.find_all(nodes.Filter)]
        named += [(each.name, environment.tests) for each in tree.find_all(nodes.Test)]
        unknown |= {(page, name) for name, known in named if name not in known}

    assert unknown == set()
