"""From what an author writes (YAML or JSON) to the published definition.

Needs the extra ``author`` (PyYAML, jsonschema). Every problem of a definition is reported at
once, each with its path, what is wrong and what is allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema
import msgspec
import yaml

from deniably.canonical import parse
from deniably.errors import BadSurvey, Problem
from deniably.mechanism import (
    SubsetSelection,
    subset_selection,
    two_coin_odds,
    weights_for_epsilon,
    weights_for_odds,
)
from deniably.survey import (
    FIELD_NAME,
    SPEC,
    YES_NO,
    Survey,
    as_survey,
    odds_allowed,
)

PRIVACY = ("epsilon", "odds", "coins")
_DEFAULTS: dict[str, object] = {"language": "en"}
_RESULTS: dict[str, object] = {"minimum": 100, "while_open": False}
_LONGEST_NUMBER = 20


def publish_text(text: str | bytes) -> Survey:
    """The published definition of an author's YAML or JSON text. Raises BadSurvey."""
    return compile_survey(load(text))


@cache
def schema() -> dict[str, Any]:
    """The published JSON Schema (draft 2020-12) of what an author writes."""
    text = (files("deniably") / "survey.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def load(text: str | bytes) -> object:
    """The value of a YAML or JSON text; numbers with a point come as exact Decimals.

    YAML is read as YAML 1.2 has it: a bare Yes or No is a text, only true and false are
    booleans, dates and octal numbers are texts. Raises BadSurvey where the text is neither
    YAML nor JSON, repeats a key, or uses anchors and tags (they hide what is published).
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        if text.lstrip().startswith("{"):
            try:
                return parse(text)
            except json.JSONDecodeError:
                pass  # YAML in flow style also starts with a brace
        return yaml.load(text, Loader=_Loader)  # noqa: S506  # a restricted SafeLoader
    except UnicodeDecodeError:
        raise BadSurvey([Problem("$", "the text is not UTF-8")]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise BadSurvey([Problem("$", f"{where}{error.problem}")]) from None
    except RecursionError:
        raise BadSurvey([Problem("$", "the text is nested too deeply")]) from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadSurvey([Problem("$", f"this is neither YAML nor JSON: {error}")]) from None


def compile_survey(document: object) -> Survey:
    """The published definition of an author's document (as ``load`` returns it).

    Raises BadSurvey with every problem found.
    """
    if problems := list(dict.fromkeys(_schema_problems(document))):
        raise BadSurvey(problems)
    assert isinstance(document, dict)
    problems = [
        problem
        for index, question in enumerate(document["questions"])
        for problem in _question_problems(question, f"$.questions[{index}]")
    ]
    problems += _repeated(document["questions"], "$.questions", "question")
    if problems:
        raise BadSurvey(problems)
    definition = _DEFAULTS | document
    definition["spec"] = SPEC
    definition["results"] = _RESULTS | document.get("results", {})
    definition["questions"] = [_published(question) for question in document["questions"]]
    return as_survey(definition)


# --- one question -------------------------------------------------------------------------


def _published(question: Mapping[str, Any]) -> dict[str, object]:
    """The question as SPEC 4 has it: full choices, one claim, exact weights."""
    choices = _choices(question)
    odds, claim, weights = _privacy(question, len(choices))
    mechanism = subset_selection(len(choices), *weights)
    assert odds is None or mechanism.odds == odds
    rest = {key: value for key, value in question.items() if key not in PRIVACY}
    return rest | {
        "choices": choices,
        "claim": claim,
        "mechanism": msgspec.to_builtins(mechanism),
    }


def _privacy(
    question: Mapping[str, Any], k: int
) -> tuple[Fraction | None, dict[str, str], tuple[int, int]]:
    """The exact odds (None for an epsilon, which has no rational odds), the claim, the weights."""
    if "epsilon" in question:
        epsilon = _fraction(question["epsilon"])
        return None, {"epsilon": _plain(question["epsilon"])}, weights_for_epsilon(epsilon)
    if "odds" in question:
        odds = _fraction(question["odds"])
    else:
        odds = two_coin_odds(_fraction(question["coins"]["truth"]), k)
    return odds, {"odds": str(odds)}, weights_for_odds(odds)


def _choices(question: Mapping[str, Any]) -> list[dict[str, str]]:
    if question["type"] == "yes_no":
        return [{"name": name, "label": name.capitalize()} for name in YES_NO]
    return [
        {"name": slug(choice), "label": choice} if isinstance(choice, str) else choice
        for choice in question.get("choices", ())
    ]


def slug(label: str) -> str:
    """The name of a choice that is given as a text alone: 'Very happy' becomes very_happy."""
    name = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")[:64]
    return f"_{name}" if name[:1].isdigit() else name


def _question_problems(question: Mapping[str, Any], path: str) -> Iterator[Problem]:
    given = [key for key in PRIVACY if key in question]
    if len(given) != 1:
        found = "none is given" if not given else "given are " + " and ".join(given)
        yield Problem(path, f"state the privacy once, as epsilon, odds or coins; {found}")
    if question["type"] == "yes_no" and "choices" in question:
        yield Problem(f"{path}.choices", "yes_no has the choices Yes and No; leave choices out")
    if question["type"] == "select_one" and "choices" not in question:
        yield Problem(path, "select_one needs choices, a list of 2 to 1024")
    choices = _choices(question)
    for index, choice in enumerate(choices):
        if not re.fullmatch(FIELD_NAME, choice["name"]):
            yield Problem(
                f"{path}.choices[{index}]",
                "no name can be made of this text; write {name: ..., label: ...}",
            )
    yield from _repeated(choices, f"{path}.choices", "choice")
    if len(given) == 1 and len(choices) >= 2:
        yield from _privacy_problems(question, given[0], len(choices), path)


def _privacy_problems(
    question: Mapping[str, Any], key: str, k: int, path: str
) -> Iterator[Problem]:
    value = question["coins"]["truth"] if key == "coins" else question[key]
    place = f"{path}.coins.truth" if key == "coins" else f"{path}.{key}"
    if len(str(value)) > _LONGEST_NUMBER:
        yield Problem(place, f"write the number with at most {_LONGEST_NUMBER} characters")
        return
    try:
        odds, _, weights = _privacy(question, k)
        if odds is not None and not odds_allowed(odds):
            # Their float would be rounded; the exact value can be huge, so name the bounds only.
            yield Problem(
                place,
                "this gives odds outside what surveys can use: from about 1.0101 (epsilon 0.01) "
                "to about 22026 (epsilon 10)",
            )
            return
        SubsetSelection(k, 1, *weights)
        subset_selection(k, *weights)
    except (ValueError, ZeroDivisionError) as error:
        yield Problem(place, str(error))


def _repeated(items: list[Any], path: str, noun: str) -> Iterator[Problem]:
    for key in ("name", "label"):
        first: dict[str, int] = {}
        for index, item in enumerate(items):
            earlier = first.setdefault(item[key], index)
            if earlier != index and not (key == "label" and noun == "question"):
                yield Problem(
                    f"{path}[{index}].{key}",
                    f"the same {key} as {path}[{earlier}]; every {noun} needs its own",
                )


def _fraction(value: object) -> Fraction:
    """An exact number: of 0.1 one tenth, not the nearest double. Raises ValueError."""
    return Fraction(str(value))


def _plain(value: object) -> str:
    """A number in the one spelling of SPEC 2.2: no exponent, no trailing zeros."""
    text = f"{Decimal(str(value)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# --- the schema's verdicts as sentences ---------------------------------------------------


def _schema_problems(document: object) -> Iterator[Problem]:
    for error in _Validator(schema()).iter_errors(document):
        yield Problem(_path(error.absolute_path), _sentence(error))


def _path(parts: Any) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def _sentence(error: jsonschema.ValidationError) -> str:
    subschema: Mapping[str, Any] = error.schema if isinstance(error.schema, Mapping) else {}
    match error.validator:
        case "additionalProperties":
            allowed = subschema["properties"]
            unknown = [str(key) for key in error.instance if key not in allowed]  # type: ignore[union-attr]
            return f"unknown key {', '.join(unknown)}; allowed are {', '.join(allowed)}"
        case "required":
            missing = [key for key in error.validator_value if key not in error.instance]  # type: ignore[union-attr,operator]
            return f"the key {missing[0]} is missing"
        case _:
            return f"{_shown(error.instance)}; allowed is {_allowed(error)}"


def _allowed(error: jsonschema.ValidationError) -> str:
    """The nearest description on the way down the schema: it says what is allowed there."""
    node: Any = schema()
    described = ""
    for part in error.absolute_schema_path:
        if isinstance(node, dict):
            described = str(node.get("description", described))
            if part not in node:
                node = schema()["$defs"][node["$ref"].rsplit("/", 1)[1]]
                described = str(node.get("description", described))
        node = node[part]
    return described


def _shown(value: object) -> str:
    match value:
        case bool():
            word = "true" if value else "false"
            return f'the boolean {word} (write "{word}" in quotes for a text)'
        case None:
            return "nothing is given"
        case str():
            return f"the text {_cut(value)!r}"
        case int() | Decimal():
            return f"the number {_cut(str(value))}"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "a group of keys"


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


_Validator = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator,
    # 1.0 is no integer here: the canonical definition knows no fractions.
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


# --- YAML, restricted ---------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """YAML 1.2's core values only, exact numbers, no repeated keys, no anchors, no tags."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # as its base

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.MarkedYAMLError(
                problem="anchors and aliases are not allowed; write the text out",
                problem_mark=event.start_mark,
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != _STR:
                raise yaml.MarkedYAMLError(
                    problem="a key is a plain word", problem_mark=key.start_mark
                )
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key.value} is given twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_TAG = "tag:yaml.org,2002:"
_STR = _TAG + "str"
_RESOLVED: tuple[tuple[str, str, list[str]], ...] = (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", list("-+0123456789")),
    (
        "float",
        r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?$",
        list("-+.0123456789"),
    ),
)
for _kind, _pattern, _first in _RESOLVED:
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(_pattern, re.ASCII), _first)


def _number(make: Callable[[str], object]) -> Callable[[yaml.SafeLoader, yaml.ScalarNode], object]:
    def construct(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> object:
        text = str(loader.construct_scalar(node))
        if len(text) > _LONGEST_NUMBER:
            raise yaml.MarkedYAMLError(
                problem=f"the number has more than {_LONGEST_NUMBER} characters",
                problem_mark=node.start_mark,
            )
        return make(text)

    return construct


def _unknown_tag(_: yaml.SafeLoader, node: yaml.Node) -> object:
    raise yaml.MarkedYAMLError(
        problem=f"the tag {node.tag} is not allowed", problem_mark=node.start_mark
    )


_Loader.add_constructor(_TAG + "int", _number(int))
_Loader.add_constructor(_TAG + "float", _number(Decimal))
for _kind in ("binary", "timestamp", "omap", "pairs", "set"):
    _Loader.add_constructor(_TAG + _kind, _unknown_tag)
_Loader.add_constructor(None, _unknown_tag)
