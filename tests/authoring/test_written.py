"""Each type of question has its keys in one place: what is accepted, what is told, the schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from deniably.authoring.compiling import compile_survey
from deniably.authoring.key_types import Numeral
from deniably.authoring.reading import read
from deniably.authoring.schema import schema
from deniably.authoring.written import EVERY_KEY, KINDS
from deniably.core.errors import BadSurvey
from support.cases import for_each

PARTS = [{"name": name, "label": name, "minimum": 0, "maximum": 9} for name in "ab"]
SMALL = [{"name": name, "label": name, "choices": ["x", "y"]} for name in "ab"]
VALID: dict[str, dict[str, Any]] = {
    "yes_no": {},
    "select_one": {"choices": ["a", "b", "c"]},
    "select_multiple": {"choices": ["a", "b", "c"]},
    "scale": {"choices": ["a", "b", "c"]},
    "number": {"minimum": 0, "maximum": 9},
    "vector": {"parts": PARTS},
    "point": {"parts": PARTS},
    "product": {"parts": SMALL},
}
VALUES: dict[str, Any] = {
    "hint": "H", "short": "S", "epsilon": 1, "odds": 3, "coins": {"truth": "1/2"},
    "mechanism": "subset_selection", "also": ["dont_know"],
    "show_if": {"question": "first", "is": "yes"}, "choices": ["p", "q"], "most": 2,
    "aim": "distribution", "scores": [1, 2, 3], "minimum": 0, "maximum": 9, "step": 1,
    "unit": "km", "buckets": 4, "beyond": "clamp", "delta": "0.00001", "parts": PARTS, "grid": 4,
    "outline": [[[1, 1], [2, 2]]],
}  # fmt: skip


def survey(kind: str, **more: Any) -> dict[str, Any]:
    first = {"name": "first", "type": "yes_no", "label": "F?", "epsilon": 1}
    asked = {"name": "q", "type": kind, "label": "Q?", "epsilon": 1} | VALID[kind] | more
    return {"name": "s", "title": "T", "questions": [first, asked]}


def problems(document: object) -> list[tuple[str, str]]:
    with pytest.raises(BadSurvey) as refused:
        compile_survey(document)
    return [(problem.path, problem.why) for problem in refused.value.problems]


def question_schema() -> dict[str, Any]:
    found: dict[str, Any] = schema()["properties"]["questions"]["items"]
    return found


def test_every_type_of_question_is_in_the_schema_with_all_its_keys() -> None:
    keys = {key for kind in KINDS.values() for key in kind.__struct_fields__}

    assert set(question_schema()["properties"]) == keys | {"type"}
    assert question_schema()["properties"]["type"]["enum"] == list(KINDS) == list(VALID)
    assert set(VALUES) == keys - {"name", "label"}


@for_each("kind", VALID)
@for_each("key", VALUES)
def test_a_key_of_another_type_is_refused_at_its_place(kind: str, key: str) -> None:
    value = 0.00001 if key == "delta" else VALUES[key]
    if key in KINDS[kind].__struct_fields__:
        read(survey(kind, **{key: value}))
        return
    found = problems(survey(kind, **{key: value}))

    assert [path for path, _ in found] == [f"$.questions[1].{key}"]
    (why,) = [why for _, why in found]
    if key in KINDS[kind].refused:
        assert why == KINDS[kind].refused[key]
    else:
        own = sorted(set(KINDS[kind].__struct_fields__) - EVERY_KEY)
        assert why == f"{kind} has no {key}; it may have {', '.join(own)}"


@pytest.mark.parametrize(("kind", "key"), [(k, key) for k, more in VALID.items() for key in more])
def test_where_a_key_is_missing_the_rest_is_looked_at_too(kind: str, key: str) -> None:
    document = survey(kind, odds=3)
    del document["questions"][1][key]

    found = problems(document)

    assert any(why.startswith(f"{kind} needs ") and key in why for _, why in found), found
    assert any("given are epsilon and odds" in why for _, why in found), found


def test_a_number_is_kept_as_it_was_written() -> None:
    written, _ = read(survey("number", step=0.1, maximum=10))

    asked = written.questions[1]
    assert asked.step == Numeral("0.1")  # type: ignore[union-attr]
    assert asked.step.exact * 10 == 1  # type: ignore[union-attr]


def _nodes(node: object) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for inner in node.values():
            yield from _nodes(inner)


def test_the_bounds_that_an_author_is_told_are_those_that_are_kept() -> None:
    """The words stand beside the bounds; where they say from what to what, the two agree."""
    compared = 0
    for node in _nodes(schema()):
        said = re.search(r"(?:^|(?<!about) )([\d.]+) to ([\d.]+)\b", str(node.get("description")))
        for noun in ("Length", "Items", "imum"):
            if said and f"max{noun}" in node:
                assert (node[f"min{noun}"], node[f"max{noun}"]) == (float(said[1]), float(said[2]))
                compared += 1
    assert compared >= 20
