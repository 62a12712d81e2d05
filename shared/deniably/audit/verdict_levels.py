"""Decides the verdicts of an audit, from proved to failed, and puts them into words.

======== =========================================================================================
proved   every branch of every answer was walked and has the probability of the published integers,
         and replays of every class of inputs showed no difference
replayed each answer at least 276 times, in all 13,800 (in JavaScript 2,760), byte for byte as SPEC
         says: a departure of probability d escapes n replays with (1 - d)^n
in part  no fault, and an answer, a class of inputs or a language was not reached, or too seldom
counted  reports were only compared with a law, as of code that has no reference
failed   a witness, or a count that a right device makes once in a million audits
======== =========================================================================================

A survey has the worst verdict of its parts. Only the first two are called "passed".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, Literal

from deniably.audit.question_audit import Verdict
from deniably.audit.replay.replaying import (
    ALL,
    EACH,
    VISITS,
    Fault,
    Replays,
    Tally,
    needed,
)
from deniably.audit.whole_reports import ReportAudit
from deniably.survey.questions import Question

Rung = Literal["proved", "replayed", "in part", "counted", "failed"]
"""A verdict."""
RUNGS: Sequence[Rung] = ("proved", "replayed", "in part", "counted", "failed")
"""All verdicts, from the best to the worst."""
EXIT: Mapping[Rung, int] = {"proved": 0, "replayed": 0, "in part": 3, "counted": 4, "failed": 1}
"""The exit code of ``deniably audit`` for each verdict; 2 is a wrong call."""

SURE = 13.8
"""-ln of one in a million: n replays miss a departure of probability SURE / n that seldom."""


def worst(rungs: Iterable[Rung]) -> Rung:
    """Returns the worst of some verdicts; "proved" if there are none."""
    lowest: Rung = "proved"
    for rung in rungs:
        if RUNGS.index(rung) > RUNGS.index(lowest):
            lowest = rung
    return lowest


def one_in(replays: int) -> int:
    """Returns the largest m for which a fault in 1 of m reports would have been seen.

    ``replays`` is the number of reports that were replayed. The fault would have been missed with a
    probability of one in a million.
    """
    # Rounded down, so that no more is said to be seen than would be.
    return max(1, int(replays / SURE))


@dataclass(frozen=True)
class Judged:
    """The verdict on one part of a survey: a question, or whole reports.

    ``rungs`` has the verdict by language ("Python" and "JavaScript"). ``text`` is a sentence about
    the verdict, and ``missing`` says what is missing for a better one.
    """

    name: str
    rungs: Mapping[str, Rung]
    text: str
    missing: Sequence[str] = ()

    @property
    def rung(self) -> Rung:
        """The worst verdict of all languages."""
        return worst(self.rungs.values())


# --- questions ------------------------------------------------------------------------------------


def judge_question(question: Question, walked: Verdict, replays: Replays) -> Judged:
    """Returns the verdict on one question.

    ``walked`` is the outcome of walking its branches and of counting its reports.
    """
    definition = next(each for each in replays.study.questions if each["name"] == question.name)
    if walked.fault:
        return Judged(question.name, {"Python": "failed"}, f"FAILED: {walked.fault}")
    rungs: dict[str, Rung] = {}
    missing: list[str] = []
    for tally in (replays.python, replays.javascript):
        proved = question.name in tally.walked
        rung, why = _of_question(definition, proved, replays, tally)
        rungs[tally.language] = rung
        missing += why
    sentence = _question_said(definition, walked, rungs, replays, missing)
    return Judged(question.name, rungs, sentence, missing)


def _of_question(
    question: Mapping[str, Any], proved: bool, replays: Replays, tally: Tally
) -> tuple[Rung, list[str]]:
    """The verdict in one language, and what is missing."""
    name, language = question["name"], tally.language
    if tally.fault:
        # A fault of no single question speaks against all.
        mine = tally.fault.question in (None, name)
        return ("failed" if mine else "in part"), ([] if mine else ["a fault ended the replays"])
    # A survey that the reference refuses cannot be replayed, so counts are all there is.
    if tally.not_run:
        return ("counted" if replays.foreign else "in part"), [_not_run(tally)]
    missing: list[str] = []
    if kinds := replays.missing_kinds(tally, name):
        missing.append(f"not reached in {language}: {', '.join(kinds)}")
    elif not tally.classes_done:
        missing.append(f"some of its inputs were not reached in {language}")
    # A proof needs no number of replays, only that the code around the randomiser was reached.
    if proved:
        return ("in part" if missing else "proved"), missing
    least, count = tally.least(question), tally.questions[name]
    if least < EACH or count < needed(tally):
        missing.append(
            f"replayed too seldom in {language}: {count:,} times of {needed(tally):,}, the rarest"
            f" answer {least:,} of {EACH}"
        )
    return ("in part" if missing else "replayed"), missing


def _not_run(tally: Tally) -> str:
    return f"{tally.language} was not run ({tally.not_run})"


def _question_said(
    question: Mapping[str, Any],
    walked: Verdict,
    rungs: Mapping[str, Rung],
    replays: Replays,
    missing: Sequence[str],
) -> str:
    rung = worst(rungs.values())
    if rung == "failed":
        fault = replays.fault
        return f"FAILED: {fault.why}" if fault else "FAILED"
    of = walked.walk.of
    answers = "answer" if of == 1 else "answers"
    if rung == "proved":
        return (
            f"proved in Python and JavaScript: each of {of:,} {answers} gives every report with"
            " exactly the probability of the published integers."
        )
    parts = list[str]()
    if rungs.get("Python") == "proved" or walked.walk.complete:
        parts.append(f"every branch of its {of:,} {answers} walked in Python")
    elif walked.walk.finished:
        parts.append(f"every branch of {walked.walk.finished:,} of {of:,} {answers} walked")
    leasts: list[int] = []
    for tally in (replays.python, replays.javascript):
        if least := tally.least(question):
            leasts.append(least)
            parts.append(f"each answer replayed {least:,} times or more in {tally.language}")
    sentence = f"{rung}: {'; '.join(parts)}." if parts else f"{rung}."
    if leasts and rung == "replayed":
        sentence += (
            f" A departure in 1 of {one_in(min(leasts)):,} reports of one answer would have been"
            " seen."
        )
    return " ".join([sentence, *(f"{_capital(reason)}." for reason in missing)])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- whole reports --------------------------------------------------------------------------------

WHOLE = "whole reports"
"""The name of the part that is not a question."""


def judge_whole(whole: ReportAudit, replays: Replays) -> Judged:
    """Returns the verdict on whole reports and on what devices store."""
    if whole.fault:
        return Judged(WHOLE, {"Python": "failed"}, f"FAILED: {whole.fault}")
    rungs: dict[str, Rung] = {}
    missing: list[str] = []
    for tally in (replays.python, replays.javascript):
        rungs[tally.language] = _of_whole(replays, tally, missing)
    counts = " and ".join(
        f"{tally.reports:,} times in {tally.language}"
        for tally in (replays.python, replays.javascript)
        if not tally.not_run
    )
    rung = worst(rungs.values())
    if rung == "failed":
        fault = replays.fault
        coins = replays.python.coins or replays.javascript.coins
        return Judged(WHOLE, rungs, f"FAILED: {fault.why if fault else coins}")
    sentence = f"{rung}: replayed {counts}: {_what(replays)}." if counts else f"{rung}."
    if visits := replays.python.visits:
        sentence += f" {_visits(visits)}"
    sentence = f"{sentence} {_walked_together(whole)}"
    return Judged(
        WHOLE, rungs, " ".join([sentence, *(f"{_capital(reason)}." for reason in missing)]), missing
    )


def _visits(visits: int) -> str:
    """How often whole requests were compared, in a sentence."""
    return (
        f"Requests of the Python client compared whole (method, address, every header, body) for"
        f" {visits:,} people: a departure in 1 of {one_in(visits):,} would have been seen."
    )


def _walked_together(whole: ReportAudit) -> str:
    """How far whole reports were walked, in a sentence."""
    together, pairs = whole.together, whole.pairs
    number = len(together.questions)
    if together.complete:
        what = "question" if number == 1 else f"{number} questions together"
        return f"Every branch of all {together.of:,} answers to the {what} walked in Python."
    sentence = (
        f"Walked in Python: likeliest branches ({part_of(1 - together.unexplored_mass)}) of"
        f" {together.answers:,} of {together.of:,} answers to all {number} questions"
    )
    if not pairs:
        return f"{sentence}."
    all_pairs, to_the_end = comb(number, 2), whole.complete_pairs
    some = f", {len(pairs) - to_the_end:,} in part" if len(pairs) > to_the_end else ""
    none = f", {all_pairs - len(pairs):,} not at all" if all_pairs > len(pairs) else ""
    return f"{sentence}; of {all_pairs:,} pairs of questions {to_the_end:,} to the end{some}{none}."


def part_of(share: float) -> str:
    """Returns a share as a percentage in words; a small one is "below 0.1%", not "0.0%"."""
    return f"{share:.1%}" if share >= 0.001 else "below 0.1%"


def _of_whole(replays: Replays, tally: Tally, missing: list[str]) -> Rung:
    if tally.fault or tally.coins:
        return "failed"
    if tally.not_run:
        missing.append(_not_run(tally))
        return "counted" if replays.foreign else "in part"
    before = len(missing)
    if states := replays.missing_states(tally):
        missing.append(f"not reached in {tally.language}: {', '.join(states)}")
    if tally.reports < needed(tally):
        missing.append(
            f"replayed too seldom in {tally.language}: {tally.reports:,} times of"
            f" {needed(tally):,}; --seconds gives more time"
        )
    if tally.language == "Python" and tally.visits < VISITS:
        missing.append(
            tally.no_visits
            or "whole requests of the Python client were compared too seldom:"
            f" {tally.visits:,} visits of {VISITS:,}"
        )
    return "replayed" if len(missing) == before else "in part"


def _what(replays: Replays) -> str:
    """What a replay compares, for this survey."""
    parts = ["id", "order of draws", "receipt", "ledger"]
    survey, waves = replays.study.survey, len(replays.study.waves)
    if "ask" in survey:
        parts.append("which questions are asked")
    if "invited" in survey:
        parts.append("ticket and trade of an invitation")
    if "strata" in survey:
        parts.append("strata")
    if "mixer" in survey:
        parts.append("a report for each question, as it is sealed for the mixer")
    if waves > 1:
        parts.append(f"{waves} waves" if "count" in survey["waves"] else f"memos of {waves} waves")
    return ", ".join([*parts, "a second sending"])


# --- the whole survey -----------------------------------------------------------------------------


def conclusion(rung: Rung, replays: Replays, browser: Judged | None = None) -> str:
    """Returns the last sentences of an audit: the verdict ``rung``, and what was not audited.

    ``browser`` is the verdict on the form in a browser, None if the form was not audited.
    """
    if rung == "failed":
        return "FAILED: a fault was found."
    if rung == "counted":
        return (
            "Counted: reports were compared with a law, and nothing contradicts it. That proves"
            " nothing."
        )
    if rung == "in part":
        if browser and browser.rung == rung and not replays.javascript.not_run:
            return "In part: no fault was found, and not everything was reached. See the browser."
        return _in_part(replays)
    python, node = replays.python, replays.javascript
    rarer = f"1 in {one_in(min(python.reports, ALL)):,}"
    if one_in(node.reports) < one_in(ALL):
        rarer += f" (in JavaScript 1 in {one_in(node.reports):,})"
    also, around = (", and the form in a browser", "") if browser else ("", "the browser and ")
    version = node.version.partition(".")[0]
    return (
        f"Passed: Python here, JavaScript in Node {version}{also}. Not looked at:"
        f" how long an answer takes, {around}the terminal around the code, the system's"
        f" generator, departures rarer than {rarer}."
    )


def _in_part(replays: Replays) -> str:
    node = replays.javascript
    if node.not_run:
        phones = ", and phones run JavaScript" if not replays.python.not_run else ""
        both = "nothing was replayed" if phones == "" else "JavaScript was not run"
        return f"In part: {both} ({node.not_run}){phones}."
    return (
        "In part: no fault was found, and not everything was reached. More time reaches more:"
        " --seconds."
    )


def witness_said(fault: Fault) -> str:
    """Returns a fault in words: what the device sent or stored, and what was right."""
    steps: Sequence[Mapping[str, Any]] = fault.scenario["steps"]
    typed: Any = steps[fault.difference.step].get("typed", {}) if steps else {}
    where = f"{fault.question}, {fault.language}" if fault.question else fault.language
    kept, right = fault.difference.kept, fault.difference.right
    if not right:
        return f"{where}: {fault.why}"
    answers: object = typed.get(fault.question, typed) if fault.question else typed
    verb = "keeps" if fault.difference.why else "sends"
    return (
        f"{where}: for {answers!r} it {verb} {_short(kept, right)}; the specification makes"
        f" {_short(right, kept)} of the same coins"
    )


def _short(text: str, other: str) -> str:
    """A text around the first place where it differs from another."""
    if len(text) <= 160:
        return text
    at = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), 0)
    start = max(0, at - 60)
    return f"{'...' if start else ''}{text[start : start + 140]}..."
