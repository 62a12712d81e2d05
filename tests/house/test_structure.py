"""The goals of how the house is built: see ``structure``, which prints the figures."""

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import structure as house


@pytest.fixture(scope="module")
def found() -> house.Structure:
    return house.structure()


def test_few_modules_know_a_class_of_mechanism(found: house.Structure) -> None:
    """Those that draw, choose and publish: unions of a definition, names of authors, samplers."""
    assert len(found.named) <= 11, found.named
    assert found.pairs <= 37, found.named


def test_hardly_anything_switches_on_a_class(found: house.Structure) -> None:
    assert found.switched <= 7, found.switches


def test_the_way_from_a_tally_to_results_comes_back_to_no_room(
    found: house.Structure,
) -> None:
    assert found.returns == ()


def test_a_walk_through_the_files_comes_back_to_few_of_them() -> None:
    """What is left are callbacks: a writer of a language, a test at a point, a header."""
    returns = house.walks()

    assert len(returns["reports to page"]) <= 14, returns
    assert returns["open to result"] == []
    assert len(returns["reports to paper"]) <= 4, returns


def test_a_long_class_says_why_it_is_long() -> None:
    """Of more than 400 lines: most are two classes."""
    long = {
        node.name: ast.get_docstring(node) or ""
        for folder in house.PACKAGES.values()
        for path in folder.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and (node.end_lineno or 0) - node.lineno >= 400
    }

    assert long.keys() <= {"Store", "Study"}
    assert [name for name, text in long.items() if "is long because" not in text] == []


@pytest.mark.parametrize(
    ("text", "switches"),
    [
        ("isinstance(one, Window)", 1),
        ("isinstance(one, Both | Laplace)", 1),
        (
            "match one:\n case Window():\n  pass\n case Gaussian() | Unary():\n  pass",
            3,
        ),
        ("isinstance(one, int)", 0),
    ],
)
def test_switches_are_seen(text: str, switches: int) -> None:
    unions = house.unions([ast.parse("Both = Window | Channel")])

    assert unions["Both"] == {"Window", "Channel"}
    assert len(list(house.switches(ast.parse(text), unions))) == switches


def test_a_return_to_a_room_is_seen() -> None:
    calls = ["a.x.one", "a.y.two", "a.y.three", "a.x.four"]

    assert house.returned(calls[:-1], calls[-1]) == "a.y.three -> a.x.four"
    assert house.returned(calls[:2], calls[2]) is None
    assert house.returned(["a.x.one"], "a.z.five") is None
