"""A survey with every type of question, and people who answer it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from deniably.core.coins import Coins
from deniably.simulation.reports import randomise, simulate_people
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey, as_survey
from deniably.workbench.files.report_lines import ndjson_of, read_ndjson
from deniably.workbench.report_set import ReportSet, of_simulation

OWN, OTHER = 31735754293, 1 << 32  # epsilon 2
MILD = 5514847171  # epsilon 0.25

_WINDOW = {"name": "window", "m": 3, "w": 1, "own": OWN, "other": OTHER}
_NUMBER = {"minimum": "0", "step": "1"}


def _choices(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "label": name.replace("_", " ").capitalize()} for name in names]


def _subset(k: int, omega: int = 1) -> dict[str, object]:
    return {"name": "subset_selection", "k": k, "omega": omega, "own": OWN, "other": OTHER}


def _part(name: str, label: str, **grid: str) -> dict[str, object]:
    return {"name": name, "label": label, "range": _NUMBER | grid}


def _km(name: str, label: str) -> dict[str, object]:
    return _part(name, label, minimum="-20", maximum="20", unit="km")


QUESTIONS: list[dict[str, Any]] = [
    {
        "name": "stolen",
        "type": "yes_no",
        "label": "Have you ever stolen from work?",
        "choices": [{"name": "yes", "label": "Yes"}, {"name": "no", "label": "No"}],
        "mechanism": _subset(2),
    },
    {
        "name": "what",
        "type": "select_one",
        "label": "What was it?",
        "choices": _choices("money", "goods", "time", "not_applicable"),
        "mechanism": _subset(4),
        "show_if": {"question": "stolen", "is": ["yes"]},
    },
    {
        "name": "caught",
        "type": "select_one",
        "label": "Could your answer be guessed?",
        "choices": _choices("yes", "no"),
        "mechanism": {"name": "channel", "k": 2, "weights": [[5, 1], [2, 4]]},
    },
    {
        "name": "drugs",
        "type": "select_multiple",
        "label": "Which of these have you taken in the last year?",
        "choices": _choices("cannabis", "cocaine", "ecstasy", "lsd", "heroin"),
        "most": 3,
        "mechanism": {
            "name": "set_response", "k": 5, "most": 3, "size": 1, "own": OWN, "other": OTHER,
        },
    },
    {
        "name": "worries",
        "type": "select_multiple",
        "label": "What worries you?",
        "choices": _choices("money", "health", "love", "work"),
        "most": 4,
        "mechanism": {"name": "sampled_ticks", "k": 4, "s": 1, "own": OWN, "other": OTHER},
    },
    {
        "name": "happy",
        "type": "scale",
        "aim": "distribution",
        "label": "How happy are you at work?",
        "choices": _choices("unhappy", "neither", "happy", "very_happy", "dont_know"),
        "mechanism": _subset(5),
    },
    {
        "name": "trust",
        "type": "scale",
        "aim": "mean",
        "label": "How much do you trust your employer?",
        "choices": _choices("not_at_all", "a_little", "somewhat", "much", "fully"),
        "mechanism": _WINDOW | {"k": 5},
    },
    {
        "name": "drinks",
        "type": "number",
        "aim": "mean",
        "label": "How many alcoholic drinks did you have last week?",
        "range": _NUMBER | {"maximum": "50", "unit": "drinks"},
        "mechanism": _WINDOW | {"k": 51},
    },
    {
        "name": "income",
        "type": "number",
        "aim": "distribution",
        "label": "What do you earn in a month?",
        "range": {"minimum": "0", "maximum": "8000", "step": "100", "unit": "EUR"},
        "mechanism": {"name": "window", "k": 16, "m": 18, "w": 3, "own": OWN, "other": OTHER},
    },
    {
        "name": "sick",
        "type": "number",
        "aim": "mean",
        "label": "How many days were you off sick without being ill?",
        "range": _NUMBER | {"maximum": "20", "unit": "days"},
        "mechanism": {"name": "laplace", "k": 21, "scale": "10"},
    },
    {
        "name": "fines",
        "type": "number",
        "aim": "mean",
        "label": "How many fines have you had?",
        "range": _NUMBER | {"maximum": "10"},
        "mechanism": {
            "name": "gaussian", "k": 11, "d": 1, "sigma2": "600", "epsilon": "2",
            "delta": "0.00001",
        },
        "claim": {"epsilon": "2", "delta": "0.00001"},
    },
    {
        "name": "hours",
        "type": "vector",
        "label": "Hours a week",
        "parts": [
            _part("work", "Paid work", maximum="80", unit="hours"),
            _part("care", "Unpaid care", maximum="80", unit="hours"),
        ],
        "mechanism": {"name": "vector", "s": 1, "parts": [_WINDOW | {"k": 81}] * 2},
    },
    {
        "name": "home",
        "type": "point",
        "label": "Where do you live, roughly?",
        "grid": 8,
        "parts": [_km("east", "East of the town hall"), _km("north", "North of it")],
        "mechanism": _subset(64, 8),
    },
    {
        "name": "vote",
        "type": "product",
        "label": "Your vote and your union",
        "parts": [
            {"name": "party", "label": "Party", "choices": _choices("red", "blue", "green")},
            {"name": "union", "label": "Union member", "choices": _choices("yes", "no")},
        ],
        "mechanism": _subset(6),
    },
]  # fmt: skip


_CLAIM = {"claim": {"epsilon": "2"}}
_TICKS = _CLAIM | {"type": "select_multiple", "choices": QUESTIONS[4]["choices"], "most": 4}
SHAPES: list[dict[str, Any]] = [
    _CLAIM | QUESTIONS[0],
    _CLAIM | {"name": "set", "type": "select_one", "label": "A set",
     "choices": QUESTIONS[3]["choices"],
     "mechanism": {"name": "subset_selection", "k": 5, "omega": 2, "own": OWN, "other": OTHER}},
    _TICKS | {"name": "any", "label": "Any number", "most": 1,
     "mechanism": {"name": "unary", "k": 4, "most": 1, "own": 9, "other": 4, "total": 12}},
    _TICKS | {"name": "two", "label": "Two of four",
     "mechanism": {"name": "sampled_ticks", "k": 4, "s": 2, "own": 2, "other": 1}},
    _CLAIM | QUESTIONS[11],
]  # fmt: skip
"""A question for each shape of columns: a number, a set, some of the options or numbers."""
LISTED = [*SHAPES[:3], _CLAIM | QUESTIONS[2], _CLAIM | QUESTIONS[8]]
"""Questions with few enough reports to list them all."""


def survey_of_everything(**changes: Any) -> Survey:
    """The survey; ``changes`` replace keys of the definition."""
    questions = [{"claim": {"epsilon": "2"}} | question for question in QUESTIONS]
    return as_survey(
        {
            "spec": 1,
            "name": "everything",
            "title": "Every kind of answer",
            "language": "en",
            "results": {"minimum": 1, "while_open": True},
            "questions": questions,
        }
        | changes
    )


def survey_within_limits(**changes: Any) -> Survey:
    """Every type of question at epsilon 0.25, so that a device answers all within its limits."""
    text = json.dumps(QUESTIONS).replace(f'"own": {OWN}', f'"own": {MILD}')
    questions = [{"claim": {"epsilon": "0.25"}} | each for each in json.loads(text)]
    by_name = {question["name"]: question for question in questions}
    by_name["caught"]["mechanism"]["weights"] = [[5, 4], [4, 5]]
    by_name["sick"]["mechanism"]["scale"] = "80"
    by_name["fines"]["mechanism"] |= {"sigma2": "22000", "epsilon": "0.25"}
    by_name["fines"]["claim"]["epsilon"] = "0.25"
    return survey_of_everything(**{"questions": questions} | changes)


def somebody(random: Random) -> dict[str, Any]:
    """The true answers of one made-up person."""
    east, north = random.choice([(-8, 5), (10, -3)])
    return {
        "stolen": "yes" if random.random() < 0.3 else "no",
        "what": random.choice(["money", "goods", "time"]),
        "caught": random.choice(["yes", "no"]),
        "drugs": [drug for drug in ("cannabis", "cocaine") if random.random() < 0.3],
        "worries": [worry for worry in ("money", "health", "love") if random.random() < 0.5],
        "happy": random.choice(["unhappy", "neither", "happy", "dont_know"]),
        "trust": random.choice(["a_little", "somewhat", "much"]),
        "drinks": int(random.expovariate(0.15)),
        "income": int(random.gauss(2500, 800)),
        "sick": random.choice([0, 0, 0, 1, 2, 5]),
        "fines": random.choice([0, 0, 1, 3]),
        "hours": {"work": int(random.gauss(35, 8)), "care": int(random.expovariate(0.1))},
        "home": {"east": random.gauss(east, 3), "north": f"{random.gauss(north, 3):.2f}"},
        "vote": {
            "party": random.choice(["red", "red", "blue", "green"]),
            "union": "yes" if random.random() < 0.25 else "no",
        },
    }


def reports_by_seed(survey: Survey, n: int, seed: int) -> ReportSet:
    """The reports of made-up people, always the same: of every stratum, and not equally many."""
    random, names = Random(seed), [one.name for one in survey.questions]
    coins, strata = Coins(random.randbytes), survey.every_stratum

    def lines() -> Iterator[bytes]:
        for _ in range(n):
            answers = {name: one for name, one in somebody(random).items() if name in names}
            said = random.choices(strata, range(4, 4 + len(strata)))[0] if survey.strata else None
            yield randomise_answers(survey, answers, coins, strata=said).canonical

    return read_ndjson(survey, lines())


def sent_lines(survey: Survey, n: int) -> list[bytes]:
    """Reports as devices send them; of a survey that takes parts, some have one question."""
    reports = of_simulation(randomise(simulate_people(survey, n)))
    lines = b"".join(ndjson_of(reports.layout, [reports.rows])).splitlines()
    found = list[bytes]()
    for number, line in enumerate(map(json.loads, lines)):
        values = line["randomised"]
        if survey.part and number % 3 == 0:
            values = dict([*values.items()][number % len(values) :][:1])
        report = {"survey": survey.digest, "id": f"{number:032x}", "values": values}
        if survey.strata:
            report |= {"strata": line["strata"]}
        found.append(json.dumps(report, sort_keys=True, separators=(",", ":")).encode())
    return found
