"""From what an author writes (YAML or JSON) to the published definition.

Needs the extra ``author`` (PyYAML, jsonschema). Every problem of a definition is reported at
once, each with its path, what is wrong and what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import msgspec

from deniably.documents import LONGEST_NUMBER
from deniably.documents import load as load
from deniably.errors import BadSurvey, Problem
from deniably.mechanism import (
    subset_selection,
    two_coin_odds,
    weights_for_epsilon,
    weights_for_odds,
)
from deniably.schema import schema as schema
from deniably.schema import schema_problems
from deniably.survey import FIELD_NAME, SPEC, YES_NO, Survey, as_survey, odds_allowed

_Question = Mapping[str, Any]

PRIVACY = ("epsilon", "odds", "coins")
_DEFAULTS: dict[str, object] = {"language": "en"}
_RESULTS: dict[str, object] = {"minimum": 100, "while_open": False}


def publish_text(text: str | bytes) -> Survey:
    """The published definition of an author's YAML or JSON text. Raises BadSurvey."""
    return compile_survey(load(text))


def compile_survey(document: object) -> Survey:
    """The published definition of an author's document (as ``load`` returns it).

    Raises BadSurvey with every problem found.
    """
    if problems := list(dict.fromkeys(schema_problems(document))):
        raise BadSurvey(problems)
    # The schema has vouched for the shape of every part.
    written = cast(dict[str, Any], document)
    questions = cast(list[_Question], written["questions"])
    problems = [
        problem
        for index, question in enumerate(questions)
        for problem in _question_problems(question, f"$.questions[{index}]")
    ]
    problems += _repeated(questions, "$.questions", "question")
    if problems:
        raise BadSurvey(problems)
    return as_survey(
        _DEFAULTS
        | written
        | {
            "spec": SPEC,
            "results": _RESULTS | written.get("results", {}),
            "questions": [_published(question) for question in questions],
        }
    )


# --- one question -------------------------------------------------------------------------


def _published(question: _Question) -> Mapping[str, object]:
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
    question: _Question, k: int
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


def _choices(question: _Question) -> list[dict[str, str]]:
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


def _question_problems(question: _Question, path: str) -> Iterator[Problem]:
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


def _privacy_problems(question: _Question, key: str, k: int, path: str) -> Iterator[Problem]:
    value = question["coins"]["truth"] if key == "coins" else question[key]
    place = f"{path}.coins.truth" if key == "coins" else f"{path}.{key}"
    if len(str(value)) > LONGEST_NUMBER:
        yield Problem(place, f"write the number with at most {LONGEST_NUMBER} characters")
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
        subset_selection(k, *weights)
    except (ValueError, ZeroDivisionError) as error:
        yield Problem(place, str(error))


def _repeated(items: Sequence[_Question], path: str, noun: str) -> Iterator[Problem]:
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
