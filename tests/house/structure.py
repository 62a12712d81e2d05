"""Figures of how the house is built: who knows the classes of mechanisms, and how one walks.

``python tests/house/structure.py`` prints them, ``--list`` with the places they are made of.

- Modules that name one of the ten classes of mechanisms, outside the room ``mechanisms``, and how
  many pairs of a module and a class that makes.
- Switches: ``isinstance`` calls and ``case`` patterns on a class of mechanism, or on a union of
  such classes, there; each class that one names counts.
- Returns to a room: the results of a survey with every type of question are computed from its
  tallies. Where a chain of calls goes back to a room that it has left (results, estimation,
  wording, estimation), that is a return; each pair of modules between which that happens counts
  once.
- Returns to a file: the same at the grain of files, on three walks: from reports to the page of
  results, from opening reports in a notebook to a result, and from reports to a figure for papers.
  A generator belongs to the module that wrote it.
- Lines of Python of the package: the three folders that are shipped.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from inspect import CO_GENERATOR
from pathlib import Path
from random import Random
from types import FrameType
from typing import get_args

from deniably.mechanisms import Mechanism

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "deniably": ROOT / "shared/deniably",
    "deniably_client": ROOT / "client/deniably_client",
    "deniably_server": ROOT / "server/deniably_server",
}
CLASSES = frozenset(one.__name__ for one in get_args(Mechanism))


@dataclass(frozen=True)
class Structure:
    """``named`` has the classes that a module names, ``switches`` the classes of each switch by
    its place, ``returns`` the calls, from module to module, by which the way from tallies to
    results comes back to a room, ``lines`` those of the package."""

    named: Mapping[str, frozenset[str]]
    switches: Mapping[str, tuple[str, ...]]
    returns: tuple[str, ...]
    lines: int

    @property
    def pairs(self) -> int:
        """Pairs of a module and a class that it names."""
        return sum(map(len, self.named.values()))

    @property
    def switched(self) -> int:
        """Classes that switches name, one by one."""
        return sum(map(len, self.switches.values()))


def structure() -> Structure:
    """The figures of the house as it stands."""
    named: dict[str, frozenset[str]] = {}
    switched: dict[str, tuple[str, ...]] = {}
    lines = 0
    texts: dict[Path, str] = {}
    for path in sorted(path for folder in PACKAGES.values() for path in folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines += len(text.splitlines())
        if "mechanisms" not in path.parts:
            texts[path] = text
    known: Mapping[str, frozenset[str]] = dict.fromkeys(CLASSES, frozenset())
    trees: dict[Path, ast.Module] = {}
    for _ in range(3):  # a union can be one of unions
        # What a text does not have, its tree has not either: to parse all takes a second.
        for path, text in texts.items():
            if path not in trees and any(name in text for name in known):
                trees[path] = ast.parse(text)
        known = unions(trees.values())
    for path, tree in sorted(trees.items()):
        place = str(path.relative_to(ROOT))
        if classes := frozenset(_names(tree)) & CLASSES:
            named[place] = classes
        for line, found in switches(tree, known):
            key = f"{place}:{line}"
            switched[key] = (*switched.get(key, ()), *found)
    return Structure(named, switched, tuple(_returns()), lines)


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
            case _:
                pass


def unions(trees: Iterable[ast.Module]) -> Mapping[str, frozenset[str]]:
    """Names of unions of nothing but classes of mechanisms, with these."""
    found: dict[str, frozenset[str]] = {one: frozenset({one}) for one in CLASSES}
    trees = list(trees)
    for _ in range(3):  # a union can be one of unions
        for tree in trees:
            for node in tree.body:
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp | ast.Name):
                    parts = list(_names(node.value))
                    if all(part in found for part in parts):
                        target = node.targets[0]
                        assert isinstance(target, ast.Name)
                        found[target.id] = frozenset().union(*(found[part] for part in parts))
    return found


def switches(
    tree: ast.AST, unions: Mapping[str, frozenset[str]]
) -> Iterator[tuple[int, list[str]]]:
    """The line of every switch on classes of mechanisms or unions of them, with these."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
                names = list(_names(kinds))
            case ast.MatchClass(cls=kind):
                names = list(_names(kind))
            case _:
                continue
        classes = [one for name in names for one in sorted(unions.get(name, ()))]
        if classes:
            yield node.lineno, classes


def _import_all() -> None:
    for package in ("deniably", "deniably_server"):
        folder = importlib.import_module(package).__path__
        for module in pkgutil.walk_packages(folder, f"{package}."):
            importlib.import_module(module.name)


def _returns() -> list[str]:
    """The calls by which a chain of calls comes back to a room that it has left."""
    _import_all()
    from deniably.core.coins import Coins
    from deniably.estimation.tally import tally
    from deniably.results.result import result
    from deniably.survey.report import randomise_answers

    sys.path.insert(0, str(ROOT / "tests"))
    every_type = importlib.import_module("support.every_type")
    survey, random = every_type.survey_of_everything(), Random(14)
    coins = Coins(random.randbytes)
    people = [randomise_answers(survey, every_type.somebody(random), coins) for _ in range(200)]
    tallies = {
        one.name: tally([made.values[one.name] for made in people], one.mechanism.law.cell_count)
        for one in survey.questions
    }
    return _followed(lambda: result(survey, "closed", tallies), _room)


def walks() -> Mapping[str, list[str]]:
    """The returns to a file of each of the three walks, over a survey with every type of
    question."""
    _import_all()
    import deniably as dn
    from deniably_server.app import create_app

    sys.path.insert(0, str(ROOT / "tests"))
    every_type = importlib.import_module("support.every_type")
    stored = importlib.import_module("support.stored").stored
    survey = every_type.survey_of_everything()
    reports = every_type.reports_by_seed(survey, 200, 14)
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / "deniably.db")
        with closing(stored(address, reports)) as store:
            store.close_survey(survey.name)
        app = create_app({"DATABASE": address, "TESTING": True})
        with closing(app.extensions["deniably"]):
            page, name = app.test_client(), survey.name
            question = survey.questions[0].name
            figure = f"/api/surveys/{name}/figures/{question}.svg?width=85"
            return {
                "reports to page": _followed(lambda: page.get(f"/surveys/{name}"), str),
                "open to result": _followed(
                    lambda: str(dn.open((survey, reports)).estimate(question)), str
                ),
                "reports to paper": _followed(lambda: page.get(figure), str),
            }


def _followed(walk: Callable[[], object], grain: Callable[[str], str]) -> list[str]:
    """The calls by which what is called comes back to a place that it has left."""
    seen: dict[str, None] = {}
    chain: list[str] = []

    def followed(frame: FrameType, event: str, _: object) -> None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in PACKAGES or frame.f_code.co_flags & CO_GENERATOR:
            return
        if event == "return" and chain:
            chain.pop()
        if event == "call":
            if back := returned(chain, module, grain):
                seen.setdefault(back)
            chain.append(module)

    sys.setprofile(followed)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return list(seen)


def returned(
    chain: Sequence[str], module: str, grain: Callable[[str], str] | None = None
) -> str | None:
    """The call from the last of a chain of modules, where it goes back to a place that was left: to
    a room, or at another ``grain``."""
    grain = grain or _room
    place = grain(module)
    if not chain or place == grain(chain[-1]) or place not in map(grain, chain):
        return None
    return f"{chain[-1]} -> {module}"


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


if __name__ == "__main__":
    house = structure()
    print(f"{len(house.named):6,} modules outside mechanisms name a class of mechanism")
    print(f"{house.pairs:6,} pairs of a module and such a class")
    print(f"{house.switched:6,} classes are switched on, in {len(house.switches)} places")
    print(f"{len(house.returns):6,} times the walk from a tally to results returns to a room")
    ways = walks()
    for way, back in ways.items():
        print(f"{len(back):6,} times the walk from {way} returns to a file")
    print(f"{house.lines:6,} lines in the package")
    if "--list" in sys.argv:
        for place, classes in house.named.items():
            print(place, *sorted(classes))
        for place, found in house.switches.items():
            print(place, *found)
        print(*house.returns, *(call for back in ways.values() for call in back), sep="\n")
