"""Makes scenarios, which devices go through in a replay: a memory to begin with, and steps, as
JSON.

A scenario is the same for every language, and for the reference. It holds made-up answers only, so
it can be kept as a witness. The answers of each step are there as ``typed``, as the device gets
them, and as ``plain``, as SPEC 4.1 has them.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from deniably.audit.replay.input_classes import Input, any_input, inputs_of, place, places

Json = Any
Definition = dict[str, Any]
Scenario = dict[str, Any]

WAVES = 4
"""The maximum of waves that a replayed person answers."""
DAY = "2026-01-01"
"""Today by the device's clock, in all scenarios but visits, which have the real date."""
_PAIRS = 2000
_OTHERS = 25
_ANY = 1024
_SELDOM = 32

CHANGED = "a changed answer"
"""The state in which a person says that an answer has changed."""
SEALED = "a changed answer that was sealed"
"""The state in which that is said of an answer in an envelope for a mixer, and is refused."""
PART = "a part of the questions"
"""The state in which the limits leave enough for some of the questions alone."""
VISIT = "a visit of the whole client"
"""The state of scenarios for the whole Python client."""
_LITTLE = ("0.1", "0.5", "0.8", "1.2", "1.5", "2", "2.5", "3", "4", "5", "7", "10", "15", "20") * 2
"""Limits of epsilon, of which some leave enough for a part, whatever a survey costs."""


@dataclass(frozen=True)
class Study:
    """The surveys that one person answers: the waves of a panel, or one survey.

    ``waves`` has the surveys and ``digests`` their digests. ``limits`` are limits of epsilon that
    are large enough for all of them.
    """

    waves: Sequence[Definition]
    digests: Sequence[str]
    limits: Mapping[str, str]

    @property
    def survey(self) -> Definition:
        """The survey that is audited."""
        return self.waves[0]

    @property
    def questions(self) -> Sequence[Mapping[str, Json]]:
        """The questions of the audited survey."""
        questions: Sequence[Mapping[str, Json]] = self.survey["questions"]
        return questions

    @property
    def can_change(self) -> bool:
        """Whether devices take another answer to a question that was answered."""
        return "invited" not in self.survey and "mixer" not in self.survey

    @property
    def strata(self) -> list[Mapping[str, str] | None]:
        """The strata that a link of the survey can name; [None] in a survey without strata."""
        strata: list[dict[str, str]] = [{}]
        for key, values in self.survey.get("strata", {}).items():
            strata = [stratum | {key: value} for stratum in strata for value in values]
        return [stratum or None for stratum in strata]


def waves_of(survey: Definition) -> list[Definition]:
    """Returns the surveys that one person answers: the survey, or several waves of its panel.

    There are at most four waves. If the panel states a ``count`` of four or fewer, one wave more
    than that is added, which devices have to refuse.
    """
    if "waves" not in survey:
        return [survey]
    number = min(survey["waves"].get("count", WAVES), WAVES)
    number += "count" in survey["waves"] and survey["waves"]["count"] <= WAVES
    return [survey, *(survey | {"name": f"audit-wave-{i}"} for i in range(2, number + 1))]


@dataclass
class Schedule:
    """Makes the scenarios of a study.

    ``classes`` yields those that reach every class of inputs and every state of a device; ``any``
    returns a random one.
    """

    study: Study
    random: Random
    anywhere: bool = False
    """Whether to leave out inputs that the Python device alone takes."""
    inputs: dict[str, list[Input]] = field(init=False)

    def __post_init__(self) -> None:
        self.inputs = {
            question["name"]: self._kinds_in_turn(inputs_of(question, self.random))
            for question in self.study.questions
        }
        self._valid = {
            n: [each for each in all_ if not each.refused] for n, all_ in self.inputs.items()
        }
        self._any: dict[str, list[Input]] = {}
        for question in self.study.questions:
            plain = [any_input(question, self.random) for _ in range(_ANY)]
            self._any[question["name"]] = [Input("any", answer, answer) for answer in plain]
        self._refusing = {
            n: [each for each in all_ if each.refused] for n, all_ in self.inputs.items()
        }

    def classes(self) -> Iterator[Scenario]:
        """Yields scenarios with each input of each question, each state of a device, and pairs of
        answers."""
        yield from self._states()
        yield from self._every_input()
        yield from self._refused()
        yield from self._pairs()

    def any(self) -> Scenario:
        """Returns a scenario with random answers, on a device in a random state."""
        odd = [self._odd_state()] if not self.random.randrange(4) else []
        if not self.random.randrange(12):
            name = self.random.choice(list(self._refusing)) if self._refusing else None
            wrong = {name: self.random.choice(self._refusing[name])} if name else {}
            return self._scenario(self._somebody() | wrong, "answers to refuse", odd)
        if not self.random.randrange(2):
            chosen = {name: self.random.choice(those) for name, those in self._valid.items()}
            return self._scenario(chosen, "any answers", odd)
        return self._scenario(self._somebody(), "any answers", odd)

    def visits(self) -> Iterator[Scenario]:
        """Yields scenarios of people who answer every wave once, without end.

        The first scenarios together contain every answer to every question.
        """
        questions = self.study.questions
        for at in range(max(map(places, questions))):
            plain = {question["name"]: place(question, at) for question in questions}
            yield self._visit({name: Input("any", a, a) for name, a in plain.items()})
        while True:
            yield self._visit(self._somebody())

    @property
    def _allowed_waves(self) -> int:
        waves = len(self.study.waves)
        count: int = self.study.survey.get("waves", {}).get("count", waves)
        return min(waves, count)

    def _visit(self, answers: Mapping[str, Input]) -> Scenario:
        steps: list[Json] = []
        stratum = self.random.choice(self.study.strata)
        for wave in range(self._allowed_waves):
            rest = {"code": _code(self.random), "again": not self.random.randrange(8)}
            common = {"do": "answer", "survey": wave, "stratum": stratum, "limits": None}
            steps.append({**common, **rest, **_said(answers)})
        return {
            "state": VISIT, "kinds": {}, "also": [], "document": None, "steps": steps
        }  # fmt: skip

    def _kinds_in_turn(self, inputs: Sequence[Input]) -> list[Input]:
        """First one of each kind, then the second of each, and so on."""
        seen: Counter[str] = Counter()
        order: list[tuple[int, Input]] = []
        for each in inputs:
            if each.anywhere or not self.anywhere:
                order.append((seen[each.kind], each))
                seen[each.kind] += 1
        return [each for _, each in sorted(order, key=lambda pair: pair[0])]

    # --- answers ---

    def _somebody(self) -> dict[str, Input]:
        return {name: self.random.choice(those) for name, those in self._any.items()}

    def _every_input(self) -> Iterator[Scenario]:
        """The inputs of all questions side by side, each as often as it takes."""
        valid = self._valid
        # Where a device asks some questions alone, once is not enough.
        least = _SELDOM if "ask" in self.study.survey else 1
        for index in range(max(least, *map(len, valid.values()))):
            chosen = {n: those[index % len(those)] for n, those in valid.items()}
            yield self._scenario(chosen, "every input")
        for question in self.study.questions:
            name = question["name"]
            for each in valid[name] if "show_if" in question else ():
                yield self._scenario(self._shown(question) | {name: each}, "every input")

    def _shown(self, question: Mapping[str, Json]) -> dict[str, Input]:
        """Answers of somebody who sees this question."""
        answers = self._somebody()
        by_name = {other["name"]: other for other in self.study.questions}
        while "show_if" in question:
            condition = question["show_if"]
            plain = self.random.choice(condition["is"])
            answers[condition["question"]] = Input("any", plain, plain)
            question = by_name[condition["question"]]
        return answers

    def _refused(self) -> Iterator[Scenario]:
        for name, those in self._refusing.items():
            question = next(each for each in self.study.questions if each["name"] == name)
            for refused in those * (3 if "ask" in self.study.survey else 1):
                yield self._scenario(self._shown(question) | {name: refused}, "answers to refuse")

    def _pairs(self) -> Iterator[Scenario]:
        """All questions at one place, for each place; then every two questions at any two places.

        With a prime number of places, ``start + shift * question`` meets every pair once.
        """
        questions = self.study.questions
        most_places = max(map(places, questions))
        for at in range(most_places):
            yield self._at([at] * len(questions), "all questions at one place")
        prime = _prime_from(max(most_places, len(questions)))
        if len(questions) > 1 and prime**2 <= _PAIRS:
            for shift in range(prime):
                for start in range(prime):
                    at_ = [(start + shift * i) % prime for i in range(len(questions))]
                    yield self._at(at_, "all pairs of answers")
        else:
            for _ in range(min(_PAIRS, 4 * most_places)):
                at_ = [self.random.randrange(places(question)) for question in questions]
                yield self._at(at_, "pairs of answers")

    def _at(self, at: Sequence[int], state: str) -> Scenario:
        answers: dict[str, Input] = {}
        for question, index in zip(self.study.questions, at, strict=True):
            plain = place(question, index)
            answers[question["name"]] = Input("any", plain, plain)
        return self._scenario(answers, state)

    # --- states ---

    @property
    def odd_states(self) -> list[str]:
        """The names of the unusual states that a device can be in, whatever the answers."""
        states = ["entries of others in the ledger", "a report that was sent"]
        if self.study.can_change:
            states.append(CHANGED)
        return states

    def _odd_state(self) -> str:
        return self.random.choice(self.odd_states)

    def _states(self) -> Iterator[Scenario]:
        for stratum in self.study.strata:
            yield self._scenario(self._somebody(), "an empty device", stratum=stratum)
        for state in self.odd_states:
            yield self._scenario(self._somebody(), state, [state])
        if "mixer" in self.study.survey:
            scenario = self._scenario(self._somebody(), SEALED)
            self._change(scenario, 0, self.study.questions[0]["name"])
            yield scenario
        elif "invited" not in self.study.survey:
            for question in self.study.questions:
                scenario = self._scenario(self._somebody(), CHANGED)
                self._change(scenario, 0, question["name"])
                yield scenario
                if len(self.study.waves) > 1:
                    scenario = self._scenario(self._somebody(), "a changed answer in a later wave")
                    second = next(step for step in scenario["steps"] if step["survey"] == 1)
                    second["changed"] = [question["name"]]
                    yield scenario
        else:
            for _ in range(2):
                yield self._scenario(self._somebody(), "the trade of an invitation", traded=True)
            scenario = self._scenario(self._somebody(), "no ticket")
            scenario["document"] = None
            yield scenario
        yield self._scenario(self._somebody(), "a limit that refuses", limits="0.001")
        for limits in _LITTLE if "part" in self.study.survey else ():
            yield self._divided(limits)
        yield self._missing()
        for wrong in self._wrong_strata():
            yield self._scenario(self._somebody(), "no stratum", stratum=wrong)
        for _ in range(4 * len(self.study.questions)):
            yield self._scenario(self._somebody(), "an empty device")

    def _divided(self, limits: str) -> Scenario:
        """A device with so much left, which draws an order and answers what fits of it."""
        scenario = self._scenario(self._somebody(), "little budget left", limits=limits)
        for number, step in enumerate(scenario["steps"]):
            step["part"] = number == 0  # what comes then sends the same again
        scenario["steps"].insert(0, scenario["steps"][0] | {"do": "order"})
        return scenario

    def _missing(self) -> Scenario:
        """No answer at all."""
        return self._scenario({}, "no answer")

    def _wrong_strata(self) -> list[Mapping[str, str] | None]:
        if "strata" not in self.study.survey:
            return []
        first = self.study.strata[0] or {}
        return [None, {**first, next(iter(first)): "nowhere"}, {**first, "other": "here"}]

    # --- scenarios ---

    def _scenario(
        self,
        answers: Mapping[str, Input],
        state: str,
        odd: Sequence[str] = (),
        *,
        stratum: Any = ...,
        limits: str | None = None,
        traded: bool = False,
    ) -> Scenario:
        stratum = self.random.choice(self.study.strata) if stratum is ... else stratum
        author = self.random.choice(["", "ab" * 32])
        common = {"author": author, "day": DAY, "stratum": stratum}
        common["limits"] = (
            dict.fromkeys(("survey", "author", "overall"), limits) if limits else None
        )
        steps: list[Json] = []
        for wave in range(len(self.study.waves)):
            if traded:
                steps.append({"do": "trade", "survey": wave, "code": _code(self.random)})
            steps.append({"do": "answer", "survey": wave, **_said(answers), **common})
            if "a report that was sent" in odd:
                steps.append({"do": "sent", "survey": wave})
            # A second answer to the same survey, which must send the first report again.
            if state != "any answers" or not self.random.randrange(4):
                again = _said(self._somebody())
                steps.append({"do": "answer", "survey": wave, **again, **common})
            # Other answers in a later wave, which must not change a memo.
            if wave and CHANGED not in odd and not self.random.randrange(3):
                answers = self._somebody()
        scenario: Scenario = {
            "state": state,
            "also": [*odd, f"{len(self.study.waves)} waves", f"stratum {json.dumps(stratum)}"],
            "kinds": {name: each.kind for name, each in answers.items() if each.kind != "any"},
            "document": self._document(odd, traded=traded),
            "steps": steps,
        }
        if CHANGED in odd:
            some = self.random.choice(self.study.questions)["name"]
            self._change(scenario, self.random.randrange(len(self.study.waves)), some)
        return scenario

    def _change(self, scenario: Scenario, wave: int, name: str) -> None:
        """Ask one question again behind the answer of a wave."""
        at = max(i for i, step in enumerate(scenario["steps"]) if step["survey"] == wave)
        step = copy.deepcopy(scenario["steps"][at])
        step |= _said(self._somebody()) | {"changed": [name]}
        scenario["steps"].insert(at + 1, step)

    def _document(self, odd: Sequence[str], *, traded: bool) -> Json:
        document: Json = {
            "spec": 1, "ledger": [], "reports": {}, "memos": {}, "authors": {}, "registers": {},
        }  # fmt: skip
        if "entries of others in the ledger" in odd:
            # Those of two years ago count no more, where the register has come to the day.
            old = [_entry(i) | {"day": "2023-12-31", "odds": "1000"} for i in range(_OTHERS)]
            seen = {"count": 3, "head": "cd" * 32, "day": DAY}
            document["ledger"] = [*old, *(_entry(i) for i in range(_OTHERS))]
            document["registers"] = {"https://example.org": seen}
            document["authors"] = {"https://example.org": ["ab" * 32]}
        if "invited" in self.study.survey and not traded:
            document["tickets"] = {
                # A device does not verify a ticket that it has, so any ticket will do.
                version: {"id": f"{self.random.getrandbits(128):032x}", "ticket": "00" * 288}
                for version in self.study.digests
            }
        return document


def _said(answers: Mapping[str, Input]) -> dict[str, Json]:
    return {
        "typed": {name: each.typed for name, each in answers.items()},
        "plain": {name: each.plain for name, each in answers.items()},
    }


def _entry(index: int) -> dict[str, str]:
    return {
        "day": "2025-12-31", "author": "", "survey": "another", "version": "ef" * 32,
        "question": f"q{index}", "odds": "101/100", "exponent": "0", "delta": "0",
    }  # fmt: skip


_CODES = "0123456789ABCDEFGHJKMNPQRSTVWXY"


def _code(random: Random) -> str:
    """The code of an invitation (SPEC 11.1)."""
    values = [random.randrange(31) for _ in range(17)]
    last = sum(place * value for place, value in enumerate(values, start=1)) % 31
    return "".join(_CODES[value] for value in [*values, last])


def _prime_from(least: int) -> int:
    number = max(2, least)
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number += 1
    return number
