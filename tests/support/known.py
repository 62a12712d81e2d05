"""Surveys, and people whose true answers to them are known, as rows of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any

from deniably.authoring.compiling import compile_survey, load
from deniably.survey.survey import Survey
from support.every_type import somebody

HABITS = """
name: s
title: Habits
budget: {epsilon: 4, spend: split}
questions:
  - {name: stolen, type: yes_no, label: Stolen}
  - {name: drinks, type: number, label: Drinks, minimum: 0, maximum: 50}
"""


SAMPLED = """
name: s
title: Habits
budget: {epsilon: 2, spend: sample, ask: 2}
questions:
  - {name: a, type: yes_no, label: A}
  - {name: b, type: yes_no, label: B}
  - {name: c, type: yes_no, label: C}
  - {name: d, type: yes_no, label: D}
"""


Person = dict[str, Any]


def author(text: str) -> Survey:
    return compile_survey(load(text.encode()))


def table(everybody: Sequence[Person]) -> list[list[str]]:
    """People as the rows of a CSV file."""
    lines = [dict(cells(person)) for person in everybody]
    names = list(dict.fromkeys(name for line in lines for name in line))
    return [names, *([line.get(name, "") for name in names] for line in lines)]


def cells(person: Person) -> Iterator[tuple[str, str]]:
    for name, answer in person.items():
        if isinstance(answer, dict):
            yield from ((f"{name}.{part}", str(given)) for part, given in answer.items())
        else:
            yield name, "; ".join(answer) if isinstance(answer, list) else str(answer)


def several(n: int) -> list[Person]:
    random = Random(3)
    return [somebody(random) for _ in range(n)]


BOUNDED = """
name: s
title: Bounds
questions:
  - {name: income, type: number, label: I, minimum: 0, maximum: 20000, step: 100, odds: 9,
     aim: mean}
  - {name: spread, type: number, label: S, minimum: 0, maximum: 20000, step: 100, odds: 9,
     aim: distribution}
  - {name: hours, type: vector, label: H, odds: 9, parts: [
      {name: work, label: W, minimum: 0, maximum: 40},
      {name: home, label: H, minimum: 0, maximum: 40}]}
  - {name: place, type: point, label: P, odds: 9, grid: 2, parts: [
      {name: east, label: E, minimum: 0, maximum: 9},
      {name: north, label: N, minimum: 0, maximum: 9}]}
"""


COLUMNS = ["income", "spread", "hours.work", "hours.home", "place.east", "place.north"]


@cache
def bounds() -> Survey:
    return author(BOUNDED)
