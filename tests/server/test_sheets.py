"""Stylesheets joined and without their spaces: the same rules in fewer bytes."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from deniably_server.web.files import SHEETS
from deniably_server.web.sheets import join_sheets


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

    assert served.splitlines() == [join_sheets([text]).strip() for text in written]
    for text in written:
        bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        assert text.count("{") == bare.count("{"), "no comment holds a rule"
    assert served.count("{") == sum(text.count("{") for text in written)
