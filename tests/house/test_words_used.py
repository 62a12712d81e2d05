"""Every text that the code asks for is in the catalogues, and none is there for nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("shared/deniably", "client/deniably_client", "server/deniably_server")
KEYS = set(
    json.loads((ROOT / "shared/deniably/wording/languages/en.json").read_text(encoding="utf-8"))
)
FILES = (".css", ".db", ".html", ".js", ".json", ".key", ".py")  # names, but not of texts
SECTIONS = {key.split(".")[0] for key in KEYS if "." in key}

# words("start.go"), words.graded("start.promise", ...), and keys that are kept in tables.
GRADED = re.compile(r"""\.graded\(\s*["']([a-z_.]+)["']""")
ASKED = re.compile(r"""\bwords\(\s*["']([a-z_.]+)["']""")
LITERAL = re.compile(rf"""["']((?:{"|".join(sorted(SECTIONS))})\.[a-z_]+)["']""")


def sources() -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".js", ".html"):
                yield path.name, path.read_text(encoding="utf-8")


def used(text: str) -> set[str]:
    """The keys that a source asks for."""
    graded = set(GRADED.findall(text))
    plain = set(ASKED.findall(text)) | set(LITERAL.findall(text))
    plain = {key for key in plain - graded if not key.endswith(FILES)}
    return plain | graded | {f"{key}_weak" for key in graded}


def test_every_key_that_the_code_uses_is_in_the_catalogues() -> None:
    missing = {(name, key) for name, text in sources() for key in used(text) - KEYS}

    assert missing == set()


def test_no_text_is_kept_that_nothing_says() -> None:
    said = {key for _, text in sources() for key in used(text)}

    assert sorted(KEYS - said) == []


def test_scripts_ask_only_for_what_the_page_brings() -> None:
    for name, text in sources():
        if name.endswith(".js"):
            assert {key.split(".")[0] for key in used(text)} <= {
                "arrived",
                "fields",
                "invited",
                "number",
                "script",
                "sealed",
            }, name


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        ('words("start.nothing")', {"start.nothing"}),
        ("words('explain.x', count=1)", {"explain.x"}),
        ('words.graded("receipt.text", weak=weak)', {"receipt.text", "receipt.text_weak"}),
        ('{Number: "explain.ranges"}', {"explain.ranges"}),
        ('words(\n    "script.sending")', {"script.sending"}),
        ('words("bare")', {"bare"}),
    ],
)
def test_the_scan_sees_every_way_of_asking(source: str, keys: set[str]) -> None:
    assert used(source) == keys
