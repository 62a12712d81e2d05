"""Two surveys as people make them, and what their respondents truly answer."""

from __future__ import annotations

from random import Random
from typing import Any

RULES = {"minimum": 50}

WORKPLACE: dict[str, Any] = {
    "name": "workplace-26",
    "title": "Life at the workplace",
    "intro": "Institute for Work Research, University of Example. How common are theft and"
    " harassment at work, and can people speak about it?",
    "results": RULES,
    "questions": [
        {
            "name": "stolen",
            "short": "Took something from the employer",
            "type": "yes_no",
            "label": "In the last 12 months, have you taken money, goods or materials from your"
            " employer without permission?",
            "epsilon": 0.79,
            "also": ["prefer_not_to_say"],
        },
        {
            "name": "harassed",
            "short": "Harassed at work",
            "type": "select_one",
            "label": "In the last 12 months, how often has somebody at work made sexual remarks,"
            " gestures or advances to you that you did not want?",
            "choices": ["Never", "Once", "A few times", "Monthly or more often"],
            "epsilon": 0.79,
        },
        {
            "name": "who",
            "short": "Harassed by",
            "type": "select_multiple",
            "label": "Who did this?",
            "choices": [
                "A supervisor",
                "A colleague",
                "Somebody who reports to me",
                "A customer or client",
                "Somebody else",
            ],
            "most": 3,
            "epsilon": 0.79,
        },
        {
            "name": "reported",
            "short": "Told the organisation about it",
            "type": "yes_no",
            "label": "Have you told anybody at the organisation about it?",
            "show_if": {"question": "harassed", "is": ["once", "a_few_times"]},
            "epsilon": 0.79,
        },
        {
            "name": "climate",
            "short": "The organisation would act",
            "type": "scale",
            "label": "My organisation would act if I reported something wrong.",
            "choices": [
                "Strongly disagree",
                "Disagree",
                "Neither agree nor disagree",
                "Agree",
                "Strongly agree",
            ],
            "aim": "distribution",
            "epsilon": 0.79,
        },
        {
            "name": "sick",
            "short": "Sick days without being ill",
            "type": "number",
            "label": "On how many days in the last 12 months did you call in sick without being"
            " ill?",
            "minimum": 0,
            "maximum": 30,
            "unit": "days",
            "epsilon": 0.79,
        },
    ],
}

TOWN: dict[str, Any] = {
    "name": "town-26",
    "title": "Living in Example Town",
    "results": RULES,
    "questions": [
        {
            "name": "faith",
            "type": "product",
            "label": "What is your faith, and did you vote in the last election?",
            "epsilon": 1.6,
            "parts": [
                {
                    "name": "faith",
                    "label": "Faith",
                    "choices": ["None", "Christian", "Muslim", "Other"],
                },
                {
                    "name": "vote",
                    "label": "Voted in the last election",
                    "choices": ["Yes, voted", "No", "Not allowed to"],
                },
            ],
        },
        {
            "name": "unsafe",
            "type": "point",
            "label": "Where in town were you when you last felt unsafe at night?",
            "grid": 6,
            "epsilon": 1.6,
            "parts": [
                {"name": "east", "label": "Kilometres east of the station", "minimum": -3,
                 "maximum": 3, "step": 0.1, "unit": "km"},
                {"name": "north", "label": "Kilometres north of it", "minimum": -3, "maximum": 3,
                 "step": 0.1, "unit": "km"},
            ],
        },
        {
            "name": "debt",
            "type": "number",
            "label": "How much money do you owe in total, without a mortgage?",
            "aim": "distribution",
            "minimum": 0,
            "maximum": 20000,
            "step": 100,
            "unit": "Euro",
            "epsilon": 1,
        },
        {
            "name": "hours",
            "type": "vector",
            "label": "How many hours a week do you spend on each of these?",
            "epsilon": 0.8,
            "parts": [
                {"name": "gambling", "label": "Gambling online", "minimum": 0, "maximum": 40,
                 "unit": "hours"},
                {"name": "caring", "label": "Caring for a relative", "minimum": 0, "maximum": 40,
                 "unit": "hours"},
                {"name": "overtime", "label": "Unpaid overtime", "minimum": 0, "maximum": 40,
                 "unit": "hours"},
            ],
        },
    ],
}  # fmt: skip


def workers(n: int, seed: int = 1) -> list[dict[str, Any]]:
    """True answers to WORKPLACE."""
    random = Random(seed)
    return [_worker(random) for _ in range(n)]


def _worker(random: Random) -> dict[str, Any]:
    often = random.choices(
        ["never", "once", "a_few_times", "monthly_or_more_often"], [60, 25, 13, 2]
    )[0]
    who = random.choices(
        [["a_colleague"], ["a_supervisor"], ["a_colleague", "a_customer_or_client"]], [5, 2, 3]
    )[0]
    return {
        "stolen": "yes" if random.random() < 0.3 else "no",
        "harassed": often,
        "who": [] if often == "never" else who,
        "reported": "yes" if random.random() < 0.3 else "no",
        "climate": random.choices(
            ["strongly_disagree", "disagree", "neither_agree_nor_disagree", "agree",
             "strongly_agree"], [12, 20, 24, 24, 20],
        )[0],
        "sick": min(30, int(random.expovariate(0.4))),
    }  # fmt: skip


def townspeople(n: int, seed: int = 2) -> list[dict[str, Any]]:
    """True answers to TOWN."""
    random = Random(seed)
    return [_neighbour(random) for _ in range(n)]


def _neighbour(random: Random) -> dict[str, Any]:
    faith, vote = random.choices(
        [("none", "yes_voted"), ("christian", "yes_voted"), ("none", "no"), ("christian", "no"),
         ("muslim", "not_allowed_to"), ("muslim", "yes_voted"), ("other", "no")],
        [30, 30, 10, 8, 8, 6, 8],
    )[0]  # fmt: skip
    east, north = random.choice([(-1.4, 0.6), (1.2, -1.4)])
    return {
        "faith": {"faith": faith, "vote": vote},
        "unsafe": {
            "east": round(min(3, max(-3, random.gauss(east, 0.7))), 1),
            "north": round(min(3, max(-3, random.gauss(north, 0.7))), 1),
        },
        "debt": min(20_000, round(random.expovariate(1 / 3500) / 100) * 100),
        "hours": {
            "gambling": 0 if random.random() < 0.95 else 10,
            "caring": min(40, int(random.expovariate(1 / 4))),
            "overtime": min(40, int(random.expovariate(1 / 5))),
        },
    }
