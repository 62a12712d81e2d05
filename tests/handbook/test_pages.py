"""What pages name exists: files, anchors, commands, options, addresses, keys."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any

import click
import pytest
from flask import Flask
from markdown_it import MarkdownIt
from markdown_it.token import Token
from werkzeug.exceptions import MethodNotAllowed, NotFound

from deniably.authoring.schema import schema
from deniably_client.cli import deniably
from deniably_server.app import create_app
from deniably_server.web.operation import operation_of
from deniably_server.web.rendered_markdown import headings
from support.blocks import Broken, blocks, command_at, commands
from support.cases import for_each
from support.pages import GENERATED, HANDBOOK, PAGES, ROOT

WRITTEN = {name: text for name, text in PAGES.items() if name not in GENERATED}
GUIDES = (
    "respondents.md", "authors.md", "analysts.md", "large.md", "operators.md", "devices.md",
    "lab.md",
)  # fmt: skip
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for folder in ("", "client", "server", "shared")
    for path in sorted((ROOT / folder).glob("*.md" if not folder else "**/*.md"))
    if "node_modules" not in path.parts
}
"""Every text of the source, by its path."""

# Files and folders of a machine, not addresses of a server.
_MACHINE = ("/etc/", "/opt/", "/var/", "/data", "/tmp")
_PLACE = re.compile(r"\{\w+\}|<\w+>|\b[A-Z]{2,}\b")


def pieces(text: str) -> list[Token]:
    """Every piece of the prose: words, code, links, pictures."""
    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(text)
    return [child for token in tokens for child in token.children or ()]


@cache
def inline(text: str) -> list[str]:
    """Every piece of code within the prose."""
    return [child.content for child in pieces(text) if child.type == "code_inline"]


def links(text: str) -> list[str]:
    """Every target of a link or a picture, as written."""
    found = (child.attrGet("href") or child.attrGet("src") for child in pieces(text))
    return [str(target) for target in found if target]


# --- links --------------------------------------------------------------------------------------


@for_each("name", sorted(TEXTS))
def test_every_link_and_anchor_leads_somewhere_on_a_code_host(name: str) -> None:
    folder = (ROOT / name).parent
    for link in links(TEXTS[name]):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        path = (folder / target).resolve() if target else ROOT / name
        assert path.exists(), link
        if anchor:
            anchors = {found.anchor for found in headings(path.read_text(encoding="utf-8"))}
            assert anchor in anchors, link


# --- commands and options -----------------------------------------------------------------------


def options(command: click.Command) -> set[str]:
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)}


def check_command(line: str) -> None:
    """Raise Broken where a command or an option of it does not exist."""
    found, rest = command_at(shlex.split(line)[1:])
    for word in rest:
        if word.startswith("--") and word not in ("--help", "--version"):
            name = word.partition("=")[0]
            if name not in options(found):
                raise Broken(f"{line}: there is no option {name}")


def every_command() -> Iterator[click.Command]:
    context = click.Context(deniably)
    for name in deniably.list_commands(context):
        found = deniably.get_command(context, name)
        assert found is not None
        yield found
        if isinstance(found, click.Group):
            yield from filter(None, (found.get_command(context, one)
                                     for one in found.list_commands(context)))  # fmt: skip


@cache
def every_option() -> set[str]:
    return {name for command in every_command() for name in options(command)} | {"--help"}


@for_each("name", sorted(WRITTEN))
def test_commands_and_options_that_a_text_names_exist(name: str) -> None:
    for code in inline(WRITTEN[name]):
        if code.startswith("deniably "):
            check_command(code)
        elif code.startswith("--"):
            assert code.split()[0].partition("=")[0] in every_option(), code


@for_each("name", sorted(WRITTEN))
def test_commands_that_are_not_run_exist_all_the_same(name: str) -> None:
    for block in blocks(name, WRITTEN[name]):
        if "not-run" in block.words and block.language == "sh":
            for line in commands(block.text):
                if found := re.match(r"(?:[A-Z_]+=\S+ )*(deniably .*)", line):
                    check_command(found[1])


@pytest.mark.parametrize(
    "line", ["deniably publisch x", "deniably token now", "deniably plan --m 1"]
)
def test_a_command_that_does_not_exist_is_found_out(line: str) -> None:
    with pytest.raises(Broken):
        check_command(line)


def test_every_command_is_named_in_a_guide() -> None:
    text = "\n".join(WRITTEN[name] for name in GUIDES)
    names = deniably.list_commands(click.Context(deniably))

    assert len(names) > 15
    assert {name for name in names if not re.search(rf"\bdeniably {name}\b", text)} == set()


# --- addresses ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    app = create_app({"DATABASE": str(tmp_path_factory.mktemp("app") / "deniably.db")})
    yield app
    app.extensions["deniably"].close()


def wrong_address(app: Flask, address: str) -> str | None:
    """What is wrong with an address; None where the server has it, and all its parameters."""
    path, _, query = address.partition("?")
    adapter = app.url_map.bind("localhost")
    endpoint = None
    for method in ("GET", "POST", "PATCH", "DELETE"):
        try:
            endpoint, _ = adapter.match(_PLACE.sub("x", path), method=method)
            break
        except MethodNotAllowed:
            continue
        except NotFound:
            return f"{path} is no address"
    assert endpoint is not None
    known = {key.rstrip("!") for key in operation_of(app.view_functions[endpoint]).query or {}}
    given = {part.partition("=")[0] for part in query.split("&") if part}
    return f"{given - known} of {path} are no parameters" if given - known else None


@for_each("name", sorted(WRITTEN))
def test_addresses_that_a_text_names_exist(app: Flask, name: str) -> None:
    for code in inline(WRITTEN[name]):
        if re.match(r"/[\w{<]", code) and not code.startswith(_MACHINE):
            address = code.rstrip("/") if code == "/problems/" else code
            if address == "/problems":
                continue
            assert wrong_address(app, address) is None, code


@pytest.mark.parametrize("address", ["/result/x", "/surveys/x/crosstab?row=a", "/handbok"])
def test_an_address_that_does_not_exist_is_found_out(app: Flask, address: str) -> None:
    assert wrong_address(app, address)


# --- keys of a survey ---------------------------------------------------------------------------


def keys_of(found: Any) -> Iterator[str]:
    """Every key of a JSON Schema, at every depth."""
    if isinstance(found, dict):
        for name, inner in found.get("properties", {}).items():
            yield name
            yield from keys_of(inner)
        yield from keys_of(found.get("items"))


KEYS = set(keys_of(schema()))


def test_every_key_of_a_survey_is_in_its_reference() -> None:
    listed = {code.rpartition(".")[2] for code in inline(PAGES["survey-keys.md"])}

    assert len(KEYS) > 30
    assert KEYS - listed == set()


@for_each("name", sorted(WRITTEN))
def test_keys_that_a_text_names_exist(name: str) -> None:
    for code in inline(WRITTEN[name]):
        if found := re.match(r"([a-z_]+): \S", code):
            assert found[1] in KEYS, code


def test_every_type_of_question_is_in_the_authors_guide() -> None:
    types = schema()["properties"]["questions"]["items"]["properties"]["type"]["enum"]

    assert set(types) <= set(inline(PAGES["authors.md"]))


# --- the texts ----------------------------------------------------------------------------------


@for_each("name", sorted(WRITTEN))
def test_a_page_begins_with_its_title_and_says_what_it_is_for(name: str) -> None:
    lines = WRITTEN[name].splitlines()

    assert lines[0].startswith("# ")
    assert re.match(r"[A-Z*]", lines[2]), "prose before anything else"


def test_the_respondents_guide_is_short() -> None:
    assert 400 <= len(PAGES["respondents.md"].split()) <= 700


def test_the_index_leads_to_every_page() -> None:
    linked = {link for link in links(PAGES["index.md"]) if not link.startswith("#")}

    assert linked == set(PAGES) - {"index.md"}


def test_the_folder_holds_pages_alone() -> None:
    assert {path.suffix for path in HANDBOOK.rglob("*") if path.is_file()} == {".md"}
    assert all(re.fullmatch(r"([a-z]+/)?[a-z0-9-]+\.md", name) for name in PAGES)
