"""CONTRIBUTING.md is true: what it names is there, and its lists are whole."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from inspect import getfile
from pathlib import Path
from typing import Any, get_args

import pytest

from deniably.mechanisms import Mechanism
from deniably.survey.questions import Question
from support.planted_question import EDITS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGES = ("shared/deniably", "client/deniably_client", "server/deniably_server")
NAMED = re.compile(r"`([\w./-]+)`")


def named(text: str) -> set[str]:
    """The files and folders that a text names; one without a folder lies beside the one before."""
    found, folder = set[str](), Path()
    for name in NAMED.findall(text):
        if "/" in name:
            path = Path(name)
            folder = path if name.endswith("/") else path.parent
        elif Path(name).suffix in (".py", ".js", ".ts"):
            path = folder / name
        else:
            continue
        found.add(path.as_posix())
    return found


def section(title: str) -> str:
    return TEXT.partition(f"## To add {title}\n")[2].partition("\n## ")[0]


def that_name(classes: Iterable[type]) -> set[str]:
    """The modules of the packages that name one of the classes."""
    wanted = {each.__name__ for each in classes}
    return {
        path
        for path, text in texts().items()
        if any(name in text for name in wanted) and names_used(text) & wanted
    }


@cache
def texts() -> Mapping[str, str]:
    """Of every module of the packages."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }


@cache
def names_used(text: str) -> frozenset[str]:
    """Every name that a module uses."""
    return frozenset(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


def test_what_it_names_is_there() -> None:
    sections = [
        part for part in TEXT.split("\n## ") if not part.startswith(("The rooms", "To work"))
    ]
    paths = {path for part in sections for path in named(part)}

    assert len(paths) > 50
    assert {path for path in paths if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize(
    ("title", "classes", "indirect"),
    [
        (
            "a mechanism",
            get_args(Mechanism),
            {
                "shared/deniably/design/named_mechanisms.py",
                "shared/deniably/results/writing/randomisers.py",
            },
        ),
        (
            "a type of question",
            get_args(Question),
            {
                "shared/deniably/audit/replay/input_classes.py",
                "shared/deniably/results/document.py",
                "shared/deniably/exhibits/question_pictures.py",
                "shared/deniably/authoring/key_types.py",
                "shared/deniably/authoring/written.py",
                "server/deniably_server/api/pages.py",
                "server/deniably_server/commands/audit_browser.py",
                "server/deniably_server/studio/fields.py",
            },
        ),
    ],
)
def test_its_lists_are_whole(title: str, classes: tuple[type, ...], indirect: set[str]) -> None:
    """Whatever names one of them would name a new one, and is in the list. Nothing else is but the
    modules that have a word of their own for it. An experiment of the lab names what it shows."""
    assert len(classes) > 5
    homes = {Path(str(getfile(each))).relative_to(ROOT).as_posix() for each in classes}
    inside = {path for path in that_name(classes) if path in homes and "/mechanisms/" in path}
    listed = {path for path in named(section(title)) if path.endswith(".py")}
    listed = {path for path in listed if path.startswith(PACKAGES)}
    listed = {path for path in listed if "/reference/" not in path}  # which knows no class

    found = that_name(classes) - inside - {"shared/deniably/mechanisms/__init__.py"}
    found = {path for path in found if not path.startswith("shared/deniably/lab/")}

    assert found - listed == set(), "name one of them, and are not in the list"
    assert listed - found == indirect | (listed & {"shared/deniably/mechanisms/__init__.py"})


@pytest.mark.parametrize(
    ("title", "classes"),
    [("a mechanism", get_args(Mechanism)), ("a type of question", get_args(Question))],
)
def test_its_lists_have_what_tells_them_apart_by_name(title: str, classes: tuple[Any, ...]) -> None:
    """Whatever has the names of four of them, in any language, is in the list, or its folder is."""
    names = [f"[\"']{one.__struct_config__.tag}[\"']" for one in classes]
    listed = named(section(title))
    found = set[str]()
    for folder in (*PACKAGES, "tests/spec"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".js", ".html") and "/lab/" not in path.as_posix():
                text = path.read_text(encoding="utf-8")
                if sum(bool(re.search(name, text)) for name in names) >= 4:
                    found.add(path.relative_to(ROOT).as_posix())

    assert len(found) > 10
    assert {one for one in found if not {one, Path(one).parent.as_posix()} & listed} == set()


def test_a_type_of_question_has_few_places() -> None:
    """At most 20, and among them those that take the one that ``test_new_question`` plants."""
    places = named(section("a type of question").partition("\nWhere it can do more")[0])
    places -= {"tests/house/test_new_question.py"}
    planted = {path for path in EDITS if {path, str(Path(path).parent)} & places}

    assert planted == set(EDITS)
    assert len(places) <= 20


def test_it_shows_every_room_and_every_command_of_make() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = [
        room.strip()
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract.get("containers") in (["deniably"], ["deniably_server"])
        for layer in contract["layers"]
        for room in layer.split("|")
    ]
    picture = TEXT.partition("## The rooms")[2].partition("## To work")[0]
    made = re.findall(r"`make (\w+)`", TEXT)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert len(layers) > 20
    assert {room for room in layers if not re.search(rf"\b{room}\b", picture)} == set()
    assert {"test", "quick", "soak", "lint"} <= set(made)
    assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in made)
