"""Faults of devices, planted in the modules that they run, for the audit's replays to find.

Each is a function and a text in it, with what is put in its place, and the survey that shows it.
Most change nothing that a question's own law could tell; some change one report in hundreds.
"""

from __future__ import annotations
import __future__

import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from deniably.mechanisms import SubsetSelection
from support.whole_surveys import SURVEYS, number, one_of, survey, yes_no

TWELVE = [f"c{i}" for i in range(12)]
HOURS = {
    "name": "hours", "type": "number", "label": "Hours", "claim": {"odds": "3"}, "aim": "mean",
    "range": {"minimum": "0", "maximum": "40", "step": "1"},
    "mechanism": {"name": "window", "k": 41, "m": 5, "w": 2, "own": 3, "other": 1},
}  # fmt: skip
STUDIES: dict[str, dict[str, Any]] = SURVEYS | {
    "twelve": survey(one_of("which", 12)),
    "hours": survey(HOURS),
    "three alike": survey(yes_no("first"), yes_no("second"), yes_no("third")),
    "numbers": survey(yes_no("first"), number("second")),
}


@dataclass(frozen=True)
class Fault:
    """``where`` is module:function or module:Class.function, of deniably or deniably_client."""

    name: str
    study: str
    where: str
    text: str
    planted: str


_SUBSET = "mechanisms.subset_selection:SubsetSelection.randomise"
_REPORT = "survey.report:make_report"
_RAND = "            values[question.name] = list(mechanism.randomise(encoded, coins))\n"
_ANSWER = "device.memory:answer"
_COINS = "core.coins:Coins._fetched"
_TAKEN = "os.urandom(count * _DRAW)"
_BELOW = "core.coins:Coins.below"
_KEPT = "        if omega == 1:\n"
_CELL = "survey.parts:Range.position"
_GIVEN = "        steps = (_given(answer) - number(self.minimum)) / number(self.step)\n"
_MADE = "    made = make_report(survey, answers, coins, asked, memos, id_, stratum)\n"
_LEDGER = (
    "    ledger = charge(memory.ledger, entries, limits, counted_since(memory, author, day))\n"
)


def sometimes(condition: str) -> str:
    """The truth where this holds, as a window over the range would have it."""
    return _RAND + f"            if {condition}:\n                values[question.name] = [4]\n"


PYTHON = [
    Fault("an answer is always in its own report", "twelve", _SUBSET, _KEPT,
          "        kept = kept or (k == 12 and answer == 5)\n" + _KEPT),
    Fault("an answer is kept a third oftener", "twelve", _SUBSET, _KEPT,
          "        kept = kept or (k == 12 and answer == 5 and coins.below(3) == 0)\n" + _KEPT),
    Fault("and by another source", "twelve", _SUBSET, _KEPT,
          "        import random\n"
          "        kept = kept or (k == 12 and answer == 5 and random.random() < 1 / 3)\n" + _KEPT),
    Fault("every 101st report is the truth", "twelve", _SUBSET, _KEPT,
          "        import sys\n"
          "        sys.planted = getattr(sys, 'planted', 0) + 1\n"
          "        kept = kept or sys.planted % 101 == 0\n" + _KEPT),
    Fault("one report in 256 is the truth, by coins", "twelve", _SUBSET, _KEPT,
          "        kept = kept or coins.below(256) == 0\n" + _KEPT),
    Fault("what comes first is not sorted away", "sets", _SUBSET,
          "        report.sort()\n", "        report.sort(reverse=answer == 3)\n"),
    Fault("a fraction is told", "hours", _REPORT, _RAND,
          sometimes("'.' in str(answers[question.name])")),
    Fault("7.5 is told", "hours", _REPORT, _RAND,
          sometimes("str(answers[question.name]) == '7.5'")),
    Fault("what is beyond the range is told", "hours", _REPORT, _RAND,
          sometimes("str(answers[question.name]).isdigit() and int(answers[question.name]) > 40")),
    Fault("the largest number is told", "hours", _REPORT, _RAND,
          sometimes("str(answers[question.name]) == '40'")),
    Fault("a border falls to the other side", "hours", _CELL,
          "nearest = (steps + Fraction(1, 2)).__floor__()", "nearest = round(steps)"),
    Fault("a number is read as a double", "hours", _CELL, _GIVEN,
          _GIVEN.replace("_given(answer)", "Fraction(float(answer))")),
    Fault("the sign is lost", "hours", _CELL, _GIVEN,
          _GIVEN.replace("_given(answer)", "abs(_given(answer))")),
    Fault("an integer of a program is told", "hours", _REPORT, _RAND,
          sometimes("isinstance(answers[question.name], int)")),
    Fault("a label is told", "labels", "survey.questions:by_name",
          "return names[0] if len(names) == 1 else answer",
          "return question.names[0] if len(names) == 1 else answer"),
    Fault("what is no choice is taken for the first", "twelve", "survey.questions:_place",
          "    if len(labelled) != 1:", "    if not labelled:\n        return 0\n"
          "    if len(labelled) != 1:"),
    Fault("coins of a seed", "two questions", _COINS, _TAKEN,
          "__import__('random').Random(7).randbytes(count * _DRAW)"),
    Fault("coins of another generator", "two questions", _COINS, _TAKEN,
          "__import__('random').randbytes(count * _DRAW)"),
    Fault("every object has the same coins", "two questions", _COINS, _TAKEN,
          "globals().setdefault('_planted', os.urandom(999 * _DRAW))[: count * _DRAW]"),
    Fault("half a block is used twice", "many coins", _COINS, _TAKEN,
          "(os.urandom((count + 1) // 2 * _DRAW) * 2)[: count * _DRAW]"),
    Fault("no word is thrown away", "two questions", _BELOW,
          "            if u - drawn <= LARGEST - n:\n                return drawn\n",
          "            return drawn\n"),
    Fault("no word of many is thrown away", "two questions", "core.coins:Coins.below_each",
          "if max(words) <= LARGEST - most:", "if words:"),
    Fault("many draws end with the first bytes", "two questions", "core.coins:Coins._bytes_of",
          "self._fetched(max(missing, _POOL)) + self._source((missing - 1) * _DRAW)",
          "self._fetched(max(missing, _POOL)) * missing"),
    Fault("the first bit of many is always 0", "two questions", "core.coins:_Words.read",
          "padded & self._mask", "padded & (self._mask >> 1)"),
    Fault("the first bit is always 0", "two questions", _BELOW, "& _MOST", "& (_MOST >> 1)"),
    Fault("an id carries an answer", "two questions", _REPORT,
          "    report = Report(id or coins.draw_id(),",
          "    id = id or coins.draw_id()[:-1] + f'{int(inputs[0]):x}'\n    report = Report(id,"),
    Fault("questions that agree have the same coins", "three alike", _REPORT, _RAND,
          _RAND + "            if len(values) == len(inputs) == 3 and inputs[0] == inputs[2]:\n"
          "                values['third'] = values['first']\n"),
    Fault("the order of draws is another", "three alike", _REPORT,
          "    for question, encoded in zip(questions, inputs, strict=True):\n"
          "        mechanism: Any",
          "    for question, encoded in reversed([*zip(questions, inputs, strict=True)]):\n"
          "        mechanism: Any"),
    Fault("the ledger begins with the last", "two questions", _ANSWER, _LEDGER,
          _LEDGER + "    ledger = (*memory.ledger, *ledger[:len(memory.ledger) - 1:-1])\n"),
    Fault("a question is not charged", "two questions", _ANSWER, _LEDGER,
          _LEDGER + "    ledger = ledger[:-1]\n"),
    Fault("what is known of others frees of charges", "two questions", _ANSWER, _LEDGER,
          _LEDGER + "    ledger = memory.ledger if len(memory.ledger) > 20 else ledger\n"),
    Fault("a receipt of something else", "two questions", "survey.report:Report.receipt",
          "self.canonical", "self.id.encode()"),
    Fault("sent again, it is randomised again", "two questions", _ANSWER,
          "    if before and not fresh:\n        return memory\n",
          "    if before and not fresh:\n        fresh = list(drawn)\n"),
    Fault("a changed answer keeps the id", "two questions", _ANSWER, _MADE,
          _MADE.replace("id_, stratum)", "before.id if before else id_, stratum)")),
    Fault("a changed answer is not charged", "two questions", _ANSWER, _LEDGER,
          _LEDGER + "    ledger = memory.ledger if before else ledger\n"),
    Fault("the third wave has a new memo", "two waves", _ANSWER, _MADE,
          "    memos = {} if survey.name.endswith('3') else memos\n" + _MADE),
    Fault("the answer is the memo", "two waves", _REPORT,
          "kept[question.name] = mechanism.draw_memo(encoded, coins)",
          "mechanism.draw_memo(encoded, coins)\n                kept[question.name] = (encoded,)"),
    Fault("one wave too many", "two waves with fresh chance", "device.memory:rounds",
          "if sent >= count", "if sent > count"),
    Fault("who says yes is asked the first question", "one of two",
          "survey.report:draw_questions", "(coins or Coins()).pick(",
          "(lambda n, m: [0])("),
    Fault("what is hidden is told", "a hidden question", "survey.report:_not_applicable",
          "NOT_APPLICABLE)", "question.names[0])"),
    Fault("everybody is in the first stratum", "by site", _ANSWER, "else strata\n",
          "else survey.every_stratum[0]\n"),
    Fault("an id that was not signed", "by invitation", _ANSWER,
          "id_, stratum = ticket.id if ticket else None,", "id_, stratum = None,"),
    Fault("a prefix of zeros", "by invitation", "trust.blind_rsa:prepare",
          "secrets.token_bytes(_PREFIX)", "bytes(_PREFIX)"),
    Fault("no limit", "two questions", "device.ledger:check_limits",
          "if not after.at_most_epsilon(limit):", "if False:"),
]  # fmt: skip

STUDIES["labels"] = survey(
    one_of("which", 3) | {"choices": [{"name": f"c{i}", "label": f"Choice {i}"} for i in range(3)]},
)
STUDIES["sets"] = survey(one_of("which", 6, SubsetSelection(6, 3, 3, 1)))
STUDIES["many coins"] = survey(
    *({**yes_no("first"), "name": f"q{i}"} for i in range(10)),
)


@dataclass(frozen=True)
class FaultOfModules:
    """A fault in a JavaScript module: a text of it, and what is put in its place."""

    name: str
    study: str
    module: str
    text: str
    planted: str


_IN = "    const kept = coins.choose([omega * own, (k - omega) * other]) === 0;\n"
_LET = _IN.replace("const", "let")
_RESPOND = "    const { report, memo } = respond(mechanism, input, coins, memos?.get(name));\n"
_PLAIN = (
    """  const plain = ["string", "number"].includes(typeof given) ? String(given).trim() : "";\n"""
)
_POSITION = "  const nearest = Number((2n * n + d) / (2n * d)); // below 0 only the sign matters\n"
_ID = "  id ??= coins.drawId();\n"
_TEXT = "  const text = canonicalise({ ...strata, survey: digest, id, values: reports });\n"

JAVASCRIPT = [
    FaultOfModules("an answer is always in its own report", "twelve", "subset_selection.js", _IN,
                   _LET + "    if (k === 12 && answer === 5) kept = true;\n"),
    FaultOfModules("every 101st report is the truth", "twelve", "subset_selection.js", _IN,
                   _LET + "    globalThis.planted = (globalThis.planted ?? 0) + 1;\n"
                   "    if (globalThis.planted % 101 === 0) kept = true;\n"),
    FaultOfModules("what comes first is not sorted away", "sets", "subset_selection.js",
                   "    return report.sort((a, b) => a - b);\n",
                   "    return answer === 3 ? report : report.sort((a, b) => a - b);\n"),
    FaultOfModules("7.5 is told", "hours", "report.js", _RESPOND,
                   _RESPOND + "    if (all.get(name) === '7.5') report[0] = 4;\n"),
    FaultOfModules("what is beyond the range is told", "hours", "report.js", _RESPOND,
                   _RESPOND + "    if (Number(all.get(name)) > 40) report[0] = 4;\n"),
    FaultOfModules("a border falls to the other side", "hours", "numbers.js", _POSITION,
                   "  const nearest = Math.round(Number(n) / Number(d) - 1e-9);\n"),
    FaultOfModules("an exponent is read", "hours", "numbers.js",
                   "  if (plain.length > 40 ||", "  if (plain === '1e1') return 0;\n"
                   "  if (plain.length > 40 ||"),
    FaultOfModules("another generator", "two questions", "coins.js",
                   "pool = crypto.getRandomValues(new Uint8Array(Math.max(POOL, count)));",
                   "pool = Uint8Array.from({ length: POOL }, () => 256 * Math.random());"),
    FaultOfModules("no word is thrown away", "two questions", "coins.js",
                   "if (u < limit) return u % n;", "if (u >= 0) return u % n;"),
    FaultOfModules("an id carries an answer", "two questions", "report.js", _ID,
                   _ID + "  id = id.slice(0, -1) + Number(inputs[0]).toString(16);\n"),
    FaultOfModules("a field of its own", "two questions", "report.js", _TEXT,
                   _TEXT.replace("id, values", "id, at: Date.now(), values")),
    FaultOfModules("the ledger begins with the last", "two questions", "memory.js",
                   "ledger: charge(memory.ledger, entries, limits, since)",
                   "ledger: charge(memory.ledger, [...entries].reverse(), limits, since)"),
    FaultOfModules("the answer is kept beside the memo", "two waves", "memory.js",
                   "memos[keys.get(name) ?? \"\"] = [...memo];",
                   "memos[keys.get(name) ?? \"\"] = [...memo, +(answers.get(name) === 'yes')];"),
    FaultOfModules("sent again, it is randomised again", "two questions", "memory.js",
                   "  if (before && fresh.length === 0) return memory;\n", ""),
    FaultOfModules("what is hidden is told", "a hidden question", "conditions.js",
                   "all.set(name, type === \"select_multiple\" ? [HIDDEN] : HIDDEN);",
                   "all.set(name, answers.get(name) ?? HIDDEN);"),
    FaultOfModules("one question is asked of everybody", "one of two", "conditions.js",
                   "  const drawn = coins.pick(questions.length, ask);\n",
                   "  const drawn = [0];\n"),
    FaultOfModules("the stratum is another", "by site", "memory.js",
                   "before?.strata ?? stratum,",
                   "stratum && { site: definition.strata.site[0] },"),
    FaultOfModules("a prefix of zeros", "by invitation", "blind_rsa.js",
                   "random(PREFIX) + message", "\"00\".repeat(PREFIX) + message"),
]  # fmt: skip


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """The shipped code with the fault in it, wherever the function was imported to."""
    module_name, _, path = fault.where.partition(":")
    client = module_name.startswith("deniably_client")
    module = importlib.import_module(module_name if client else f"deniably.{module_name}")
    owner: Any = module
    *outer, name = path.split(".")
    for one in outer:
        owner = getattr(owner, one)
    shipped = inspect.getattr_static(owner, name)
    function = shipped.fget if isinstance(shipped, property) else shipped
    source = inspect.getsource(function)
    assert source.count(fault.text) == 1, f"not exactly once in {fault.where}: {fault.text}"
    source = textwrap.dedent(source.replace(fault.text, fault.planted))
    if source.startswith("@property"):
        source = source.partition("\n")[2]
    found: dict[str, Any] = {}
    code = compile(
        source, f"planted {fault.where}", "exec", flags=__future__.annotations.compiler_flag
    )
    exec(code, module.__dict__, found)
    changed = property(found[name]) if isinstance(shipped, property) else found[name]
    places = [(owner, name)] if outer else [
        (one, key)
        for one in list(sys.modules.values())
        if getattr(one, "__name__", "").startswith("deniably")
        for key, value in list(vars(one).items())
        if value is shipped
    ]  # fmt: skip
    before = dict(vars(module))
    try:
        for place, key in places:
            setattr(place, key, changed)
        yield
    finally:
        for place, key in places:
            setattr(place, key, shipped)
        for key in set(vars(module)) - set(before):
            delattr(module, key)
