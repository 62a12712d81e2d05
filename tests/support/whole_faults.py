"""Faults between the questions of a report, planted in the modules that devices run.

Every question is right by itself in all of them. Each is a text of a module and what is put in its
place, in the language or languages where it can exist, and ``survey`` is the one of
``whole_surveys`` that shows it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec.structs import replace

import deniably.device.memory
import deniably.survey.report
from deniably.audit.whole_reports import AnswersByName, Send, of_link, reports
from deniably.core.coins import Coins
from deniably.device.ledger import Limits
from deniably.device.memory import Memory, Ticket, answer
from deniably.survey.report import draw_questions
from deniably.survey.survey import Survey

Change = tuple[str, *tuple[tuple[str, str], ...]]
"""A module, and texts of it with what is put in their place."""


def device(respond: Callable[..., Memory] = answer) -> Send:
    """Each survey's report by a device with a memory; each report is sent twice."""
    everything = Limits(*[Fraction(64)] * 3)

    def send(surveys: Sequence[Survey], said: AnswersByName, coins: Coins) -> list[bytes]:
        sent: list[bytes] = []
        memory = Memory()
        for survey in surveys:
            if survey.invited:
                traded = {survey.digest: Ticket(coins.draw_id(), "00" * 288)}
                memory = replace(memory, tickets=traded)
            drawn = draw_questions(survey, coins)
            for _ in range(2):
                memory = respond(
                    memory, survey, said, day="2000-01-01", limits=everything, drawn=drawn,
                    coins=coins, **of_link(survey),
                )  # fmt: skip
                sent.append(memory.reports[survey.digest].text.encode())
        return sent

    return send


@dataclass(frozen=True)
class Planted:
    """A fault, the survey that shows it, and where it is put."""

    name: str
    survey: str
    python: Change | None = None
    javascript: Change | None = None


class Same(Coins):
    """Coins that fall the same way again from ``place`` 0 on."""

    def __init__(self, inner: Coins) -> None:
        super().__init__(lambda _: b"")
        self.inner, self.place = inner, 0
        self.fallen: list[Any] = []

    def _again(self, draw: Callable[[], Any]) -> Any:
        if self.place == len(self.fallen):
            self.fallen.append(draw())
        self.place += 1
        return self.fallen[self.place - 1]

    def below(self, n: int) -> int:
        return int(self._again(lambda: self.inner.below(n))) % n

    def choose(self, weights: Sequence[int]) -> int:
        fallen = int(self._again(lambda: self.inner.choose(weights))) % len(weights)
        return fallen if weights[fallen] else self.inner.choose(weights)

    def draw_id(self) -> str:
        return self.inner.draw_id()


SAME_JS = """
  const fallen = [];
  const same = () => {
    let place = 0;
    const again = (draw) => {
      if (place === fallen.length) fallen.push(draw());
      return fallen[place++];
    };
    const below = (n) => again(() => coins.below(n));
    return { below, choose: (weights) => again(() => coins.choose(weights)) };
  };
"""
AGAIN_PY = """        before, fresh = None, list(survey.questions)
    ticket"""
KEPT_PY = """
    earlier = [one.report.values for one in memory.reports.values()]
    report = msgspec.structs.replace(made.report, values=earlier[0] if earlier else values)
"""

REPORT_PY = (
    "    report = Report(id or coins.draw_id(), survey.digest, values, strata_of(survey, strata))\n"
)
TEXT_JS = "  const text = canonicalise({ ...strata, survey: digest, id, values: reports });\n"
SENT_JS = TEXT_JS.replace("const", "let")
DRAW_PY = "    questions = draw_questions(survey, coins) if questions is None else questions\n"
EACH_PY = "    for question, encoded in zip(questions, inputs, strict=True):\n"
EACH_JS = "  const values = questions.map("
RESPOND_JS = "    const { report, memo } = respond(mechanism, input, coins, memos?.get(name));\n"
OTHER_JSON_PY = """values = {"values": self.values, "survey": self.survey, "id": self.id}
        return msgspec.json.encode(values if self.values["first"] == [0] else self)"""
JSON_PY = 'return msgspec.json.encode(self, order="sorted")'


def before_the_end(python: str, javascript: str) -> tuple[Change, Change]:
    """What is done with the values and the id before the report is written."""
    return (
        ("report", (REPORT_PY, f"    id = id or coins.draw_id()\n{python}\n{REPORT_PY}")),
        ("report.js", (TEXT_JS, f"  {javascript}\n{TEXT_JS}")),
    )


PLANTED = [
    Planted(
        "the last digit of the id carries an answer",
        "two questions",
        *before_the_end(
            "    id = id[:-1] + f'{inputs[0]:x}'",
            "id = id.slice(0, -1) + Number(inputs[0]).toString(16);",
        ),
    ),
    Planted(
        "the last digit of the id is even where an answer is yes",
        "two questions",
        *before_the_end(
            "    if not inputs[0]: id = id[:-1] + f'{int(id[-1], 16) & 14:x}'",
            "if (!inputs[0]) id = id.slice(0, -1) + (parseInt(id.at(-1), 16) & 14).toString(16);",
        ),
    ),
    Planted(
        "the same coins for every question",
        "two questions",
        ("report", (EACH_PY, f"    coins = Same(coins)\n{EACH_PY}        coins.place = 0\n")),
        (
            "report.js",
            (EACH_JS, SAME_JS + EACH_JS),
            (RESPOND_JS, RESPOND_JS.replace("coins,", "same(),")),
        ),
    ),
    Planted(
        "one question copies another's report where the answers agree",
        "two questions",
        *before_the_end(
            "    if inputs[0] == inputs[1]:\n"
            "        values[questions[1].name] = values[questions[0].name]",
            "if (inputs[0] === inputs[1]) reports.second = reports.first;",
        ),
    ),
    Planted(
        "the first question's memo is used for all",
        "two waves",
        (
            "report",
            (
                "mechanism.report_from_memo(kept[question.name],",
                "mechanism.report_from_memo([*kept.values()][0],",
            ),
        ),
        ("report.js", ("memos?.get(name));", "[...(memos?.values() ?? [])][0]);")),
    ),
    Planted(
        "the first question's memo is kept for all",
        "two waves",
        ("memory", ("keys[name]: list(memo) for", "keys[name]: [*made.memos.values()][0] for")),
        ("memory.js", ("= [...memo];", "= [...[...made.memos.values()][0]];")),
    ),
    Planted(
        "which question is asked depends on an answer",
        "one of two",
        (
            "report",
            (
                DRAW_PY,
                f"{DRAW_PY}    if answers['first'] == 'yes' and not coins.below(8):\n"
                "        questions = survey.questions[: survey.asked]\n",
            ),
        ),
        (
            "report.js",
            (
                "  drawn ??= special",
                "  if (answers.get('first') === 'yes' && coins.below(8) === 0) {\n"
                "    drawn = survey.questions.slice(0, survey.ask);\n  }\n  drawn ??= special",
            ),
        ),
    ),
    Planted(
        "what does not apply is sent as it is",
        "a hidden question",
        *before_the_end(
            "    for name in hidden: values[name] = [2]",
            "for (const q of special.hiddenQuestions({ questions }, answers)) reports[q] = [2];",
        ),
    ),
    Planted(
        "what was said before a question was hidden is sent",
        "a hidden question",
        ("report", ("    return earlier in condition.among", "    return True")),
        ("conditions.js", ("choice === answer", "choice !== undefined")),
    ),
    Planted(
        "the order of the keys carries an answer",
        "two questions",
        ("report", (JSON_PY, OTHER_JSON_PY)),
        (
            "report.js",
            (
                TEXT_JS,
                f"{SENT_JS}  if (!inputs[0]) text = JSON.stringify({{ survey: digest, id, values:"
                " reports });\n",
            ),
        ),
    ),
    Planted(
        "the spelling of a number carries an answer",
        "two questions",
        ("report", (JSON_PY, f"{JSON_PY}.replace(b'[0]', b'[0.0]')")),
        (
            "report.js",
            (TEXT_JS, f"{SENT_JS}  if (!inputs[0]) text = text.replace('[1]', '[1.0]');\n"),
        ),
    ),
    Planted(
        "the id is a digest of the answers",
        "two questions",
        *before_the_end(
            "    id = hashlib.md5(repr(answers).encode()).hexdigest()",
            "id = (await sha256(JSON.stringify([...answers]))).slice(0, 32);",
        ),
    ),
    Planted(
        "the id is made of draws as the values are",
        "two questions",
        ("report", ("Report(id or coins.draw_id()", "Report(id or f'{coins.below(16):032x}'")),
        (
            "report.js",
            ("id ??= coins.drawId();", "id ??= coins.below(16).toString(16).padStart(32, '0');"),
        ),
    ),
    Planted(
        "one id in sixteen has the truth beside it",
        "two questions",
        *before_the_end(
            "    if id[5] == '7': values['first'] = [inputs[0]]",
            "if (id[5] === '7') reports.first = [inputs[0]];",
        ),
    ),
    Planted(
        "an answer moves its respondent into another stratum",
        "by site",
        *before_the_end(
            "    if not inputs[0]: strata = {'site': 'north'}",
            'if (!inputs[0]) strata.strata = { site: "north" };',
        ),
    ),
    Planted(
        "the stratum is randomised",
        "by site",
        *before_the_end(
            "    strata = survey.every_stratum[coins.below(3)]",
            "strata.strata = { site: survey.strata.site[coins.below(3)] };",
        ),
    ),
    Planted(
        "the stratum is left out",
        "by site",
        ("report", ("values, strata_of(survey, strata))", "values)")),
        ("report.js", ("canonicalise({ ...strata, survey", "canonicalise({ survey")),
    ),
    Planted(
        "everybody's stratum is the first one",
        "by site",
        (
            "memory",
            ("before.stratum if before else strata", "(survey.every_stratum or [None])[0]"),
        ),
        (
            "memory.js",
            ("before?.strata ?? stratum,", "stratum && { site: definition.strata.site[0] },"),
        ),
    ),
    Planted(
        "what is sent again is randomised again",
        "two questions",
        ("memory", ("        return memory\n    ticket", AGAIN_PY)),
        (
            "memory.js",
            (
                "const { fresh, ledger, waves } = await plan",
                "let { fresh, ledger, waves } = await plan",
            ),
            (
                "  const before = earlier(memory, version);\n  if (before &&",
                "  let before = earlier(memory, version);\n"
                "  if (before) [before, fresh] = [, definition.questions];\n  if (before &&",
            ),
        ),
    ),
    Planted(
        "the id of an invitation is not the one that was signed",
        "by invitation",
        ("memory", ("id_, stratum = ticket.id if ticket else None,", "id_, stratum = None,")),
        ("memory.js", ("kept, id, before", "kept, undefined, before")),
    ),
    Planted(
        "a second wave keeps the values of the first",
        "two waves",
        ("memory", ("    report = msgspec.structs.replace(made.report, values=values)\n", KEPT_PY)),
        (
            "memory.js",
            (
                "  const reports = { ...memory.reports,",
                "  for (const { text } of Object.values(memory.reports)) {\n"
                "    made.text = text.replace(JSON.parse(text).survey, version);\n  }\n"
                "  const reports = { ...memory.reports,",
            ),
        ),
    ),
]


def send_with(change: Change) -> list[Send]:
    """What a device sends that runs the shipped modules, one of them changed."""
    report = _changed(deniably.survey.report, change)
    memory = _changed(deniably.device.memory, change)
    if change[0] == "memory":
        return [device(memory.answer)]
    memory.make_report = report.make_report
    return [reports(report.make_report), device(memory.answer)]


def _changed(shipped: ModuleType, change: Change) -> Any:
    """A copy of a module, run from its source with the change in it."""
    source = Path(str(shipped.__file__)).read_text(encoding="utf-8")
    module, *texts = change
    for text, other in texts if shipped.__name__.endswith(f".{module}") else ():
        assert source.count(text) == 1, f"not exactly once in {module}: {text}"
        source = source.replace(text, other)
    copy = ModuleType(f"planted_{shipped.__name__.replace('.', '_')}")
    sys.modules[copy.__name__] = copy  # where msgspec looks for what types are named after
    copy.__dict__.update(Same=Same, hashlib=hashlib)
    exec(compile(source, copy.__name__, "exec"), copy.__dict__)
    return copy
