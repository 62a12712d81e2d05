"""Drafts of surveys as authors write them, drawn at random from a seed, and devices that take them.

Numbers of one range and few odds: each further one costs a linear programme of a mean.
"""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

from deniably.core.errors import BudgetSpent
from deniably.core.loss import Loss
from deniably.device.ledger import Limits, check_limits
from deniably.device.memory import Memory, answer
from deniably.survey.questions import (
    Number,
    Point,
    Product,
    Question,
    SelectMultiple,
    VectorOfNumbers,
)
from deniably.survey.survey import Survey, read_survey

ODDS = tuple(map(Decimal, ("2", "3", "7", "20")))
OF_A_MEAN = Decimal(3)


def question(random: Random, name: str, *, own: bool) -> dict[str, Any]:
    """One question, with a privacy of its ``own`` or without."""
    kind = random.choice(
        ["yes_no"] * 4
        + ["select_one", "select_multiple", "scale", "scale_mean", "number", "product"]
    )
    made: dict[str, Any] = {"name": name, "type": kind, "label": f"What about {name}?"}
    odds = random.choice(ODDS)
    match kind:
        case "select_one" | "scale":
            made["choices"] = [f"Answer {i}" for i in range(random.randint(3, 6))]
            if random.random() < 0.3:
                made["also"] = ["dont_know"]
        case "select_multiple":
            made |= {"choices": ["One", "Two", "Three", "Four"], "most": random.randint(1, 4)}
        case "scale_mean":
            odds = OF_A_MEAN
            made |= {"type": "scale", "choices": ["Low", "Middle", "High"], "aim": "mean"}
        case "number":
            odds = OF_A_MEAN
            made |= {"minimum": 0, "maximum": 80}
            if random.random() < 0.5:
                made |= {"aim": "distribution", "buckets": 8}
        case "product":
            made["parts"] = [
                {"name": f"{name}_{part}", "label": part, "choices": ["Yes", "No"]}
                for part in ("here", "there")
            ]
        case _:
            pass
    if own and kind == "yes_no" and random.random() < 0.2:
        return made | {"coins": {"truth": Decimal("0.5")}}
    if own:
        made |= {"odds": odds} if random.random() < 0.7 else {"epsilon": _EPSILONS[odds]}
    return made


_EPSILONS = dict(zip(ODDS, map(Decimal, ("0.69", "1.09", "1.94", "2.99")), strict=True))


def draft(seed: int) -> dict[str, Any]:
    """A draft that is valid; some are above what devices accept."""
    random = Random(seed)
    count = random.randint(1, 6)
    budgeted = random.random() < 0.25
    made: dict[str, Any] = {
        "name": f"draft-{seed}",
        "title": "Made up",
        "language": random.choice(["en", "de"]),
        "questions": [question(random, f"q{i}", own=not budgeted) for i in range(count)],
    }
    if budgeted:
        made["budget"] = {"epsilon": random.choice([Decimal("1"), Decimal("3"), Decimal("6")])}
        if random.random() < 0.5 and count > 1:
            made["budget"]["spend"] = random.choice(["split", "sample"])
    elif random.random() < 0.15 and not any("parts" in one for one in made["questions"]):
        made["waves"] = {"panel": f"panel-{seed}", "count": 2}
    return made


def at_limit(index: int) -> dict[str, Any]:
    """One of 60 drafts below, at and above what devices accept: those of which ``index // 5 % 3``
    is 0, 1 or 2."""
    k, over = index % 5 + 2, (index // 5) % 3 - 1  # questions; -1 below, 0 at, 1 above
    step = Decimal("0.000001")
    each = (Decimal(5) / k).quantize(step, "ROUND_FLOOR")
    kind: dict[str, Any] = {"type": "yes_no"}
    if index // 15 % 2:
        kind = {"type": "scale", "choices": ["never", "at times", "often"]}
    epsilons = [each + over * step * (1 if over < 0 else k), *[each] * (k - 1)]
    questions = [
        {"name": f"q{i}", "label": f"q{i}?", **kind, "epsilon": epsilon}
        for i, epsilon in enumerate(epsilons)
    ]
    return {"name": "s", "title": "S", "questions": questions}


def accepts(survey: Survey) -> bool:
    """Whether a device in Python, as it comes, answers the survey as published."""
    read = read_survey(survey.canonical)
    limits = Limits()
    try:
        check_limits("survey", Loss(), read.total, limits)
        drawn = read.questions[: read.asked]
        answers = {each.name: _answer(each) for each in drawn}
        memory = answer(Memory(), read, answers, day="2026-03-01", limits=limits, drawn=drawn)
    except BudgetSpent:
        return False
    return memory.report(read.digest) is not None


def _answer(question: Question) -> object:
    match question:
        case Product():
            return {part.name: part.choices[0].name for part in question.parts}
        case VectorOfNumbers() | Point():
            return {part.name: part.range.minimum for part in question.parts}
        case Number():
            return 1
        case SelectMultiple():
            return [question.choices[0].name]
        case _:
            return question.choices[0].name
