"""Turns what a person says into the input of a mechanism (SPEC 4.1 and 4.2)."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from deniably.reference.definition import ONE_CHOICE, cell, size
from deniably.reference.refusal import Invalid, require
from deniably.reference.values import Definition, Json, Question


def decimal(text: Json) -> Fraction:
    """Returns the exact value of a decimal as people type one. Raises Invalid if the text is no
    decimal or longer than 40 characters."""
    require(type(text) is str and len(text) <= 40, "a number is a text")
    require(re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text.strip()), "a plain decimal")
    return Fraction(text.strip())


def index(choices: list[dict[str, Any]], name: Json) -> int:
    """Returns the position of the choice ``name``. Raises Invalid if there is no such choice."""
    names = [choice["name"] for choice in choices]
    require(name in names, "one of the choices")
    return names.index(name)


def encode(question: Question, answer: Json) -> int | list[int]:
    """Returns the input of the question's mechanism for an ``answer``: an integer, or a list of
    integers (SPEC 4.1, column "the answer"). Raises Invalid if the answer does not fit the
    question."""
    kind, m = question["type"], question["mechanism"]
    if kind in ONE_CHOICE:
        place = index(question["choices"], answer)
        return [place] if m["name"] == "unary" else place
    if kind == "select_multiple":
        require(type(answer) is list, "a list of choices")
        ticks = sorted({index(question["choices"], tick) for tick in answer})
        require(len(ticks) <= question["most"], "at most so many")
        return ticks
    if kind == "number":
        return cell(question["range"], decimal(answer), m["k"])
    require(type(answer) is dict, "an answer for each part")
    require(set(answer) == {part["name"] for part in question["parts"]}, "for each part")
    if kind == "product":
        place = 0
        for part in question["parts"]:
            place = place * len(part["choices"]) + index(part["choices"], answer[part["name"]])
        return place
    numbers = [decimal(answer[part["name"]]) for part in question["parts"]]
    ranges = [part["range"] for part in question["parts"]]
    if kind == "point":
        first, second = (
            cell(grid_range, x, question["grid"])
            for grid_range, x in zip(ranges, numbers, strict=True)
        )
        return question["grid"] * first + second
    return [
        cell(part_range, x, size(part_range)) for part_range, x in zip(ranges, numbers, strict=True)
    ]


def settle(definition: Definition, answers: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Returns (names of the hidden questions, {question: input of its mechanism}) for a survey.

    Hidden questions are answered with ``not_applicable`` (SPEC 4.2). Raises Invalid if an answer is
    missing or does not fit, or if a question that is shown is answered with ``not_applicable``.
    """
    hidden, true = [], dict(answers)
    # Conditions name earlier questions alone, so one pass decides all.
    for question in definition["questions"]:
        condition = question.get("show_if")
        if condition and true.get(condition["question"]) not in condition["is"]:
            hidden.append(question["name"])
            several = question["type"] == "select_multiple"
            true[question["name"]] = ["not_applicable"] if several else "not_applicable"
        elif condition:
            true_answer = true.get(question["name"])
            offered = "not_applicable" not in (
                true_answer if type(true_answer) is list else [true_answer]
            )
            require(offered, "not_applicable is for those who do not see the question")
    inputs = {}
    for question in definition["questions"]:
        if question["name"] not in true:
            raise Invalid("an answer is missing")
        inputs[question["name"]] = encode(question, true[question["name"]])
    return hidden, inputs
