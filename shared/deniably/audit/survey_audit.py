"""Audits a whole survey, and shows the result as a table with a row for each question."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from deniably.audit.question_audit import TRIALS, Verdict, verdicts
from deniably.audit.replay.javascript_process import JavaScriptProcess
from deniably.audit.replay.replaying import SECONDS, VISITS, Replays, replay
from deniably.audit.replay.witness import Witness, witness_of
from deniably.audit.report_statistics import Counted, count_reports
from deniably.audit.verdict_levels import (
    EXIT,
    Judged,
    Rung,
    conclusion,
    judge_question,
    judge_whole,
    part_of,
    witness_said,
    worst,
)
from deniably.audit.walking import Walk
from deniably.audit.walking import answers as inputs_of
from deniably.audit.whole_reports import ReportAudit, ReportWalk, whole_reports
from deniably.core.table import Cell, Table
from deniably.design.blanks import HiddenPair, blanks_law, mixed_delta
from deniably.design.reidentification import recognition
from deniably.mechanisms import Memoised
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey, Waves

HEADING = ("question", "claimed", "exact", "certified", "")
"""The heading of an audit's table."""
_WORTHWHILE = 2.0
"""Seconds of replays for which a process beside is started."""
_NODE_PATHS = 20_000
"""Paths of a question up to which it is walked in JavaScript, too."""


@dataclass(frozen=True, eq=False, repr=False)
class Audited(Table):
    """The result of an audit, as a table with a row for each question.

    Each row has a question's epsilons: ``claimed``, ``exact`` (of the published integers) and
    ``certified`` (a lower bound from counted reports, which does not count towards a verdict). Its
    ``outcome`` is proved, replayed, in part, counted or failed; ``fault`` says in words what is
    wrong.

    ``verdicts`` has the walk and the counts of each question, ``whole`` has the walks of whole
    reports, and ``counted`` the test of sums over many whole reports. ``replays`` is what was
    replayed. ``judged`` has the verdicts, from proved to failed, on each question and on whole
    reports (see ``verdict_levels``). ``browser`` is the verdict on the form in a browser, None if
    the form was not audited. ``sentences`` explain columns of the table. ``recognition`` is what
    ``recognition_fault`` returned, and ``claim`` what ``claim_fault`` did.
    """

    verdicts: Sequence[Verdict]
    whole: ReportAudit
    judged: Sequence[Judged]
    replays: Replays
    sentences: Sequence[str] = ()
    recognition: str | None = None
    claim: str | None = None
    browser: Judged | None = None
    counted: Counted | None = None

    @property
    def outcome(self) -> Rung:
        """The worst verdict of all parts, in both languages."""
        counts = self.counted and self.counted.fault
        stated = (self.recognition, self.claim)
        faults = (self.whole.fault, *stated, self.replays.fault, counts)
        coins = (self.replays.python.coins, self.replays.javascript.coins)
        if any((*faults, *coins, *(verdict.fault for verdict in self.verdicts))):
            return "failed"
        return worst(j.rung for j in [*self.judged, *([self.browser] if self.browser else [])])

    @property
    def passed(self) -> bool:
        """Whether everything was proved or replayed, in Python and in JavaScript."""
        return EXIT[self.outcome] == 0

    @property
    def exit_code(self) -> int:
        """The exit code of ``deniably audit``: 0, 1, 3 or 4."""
        return EXIT[self.outcome]

    @property
    def witness(self) -> Witness | None:
        """The difference that a replay found, with what is needed to see it again; None without
        one."""
        fault = self.replays.fault
        return witness_of(self.replays.study, fault) if fault else None

    @property
    def conclusion(self) -> str:
        """The last sentences of the audit: the verdict, and what was not audited."""
        fault = self.replays.fault
        if self.outcome == "failed" and fault:
            return f"FAILED: {witness_said(fault)}."
        return conclusion(self.outcome, self.replays, self.browser)


def recognition_fault(survey: Survey) -> str | None:
    """Returns what is wrong with a wave's stated number of recognisable people, in words; None if
    nothing is.

    Devices show the number but cannot check it, because that takes a simulation. A number within a
    quarter of the number simulated here is no fault.
    """
    if not isinstance(survey.waves, Waves):
        return None
    risk, stated = recognition(survey), survey.recognised
    if risk.agrees(stated):
        return None
    says = f"that {stated} of 1,000 people" if stated else "of nobody that they"
    return f"the survey says {says} can be recognised from wave to wave; about {risk.of_1000} can"


def claim_fault(survey: Survey) -> str | None:
    """Returns what is wrong with the claim of a mixer, in words; None if nothing is, and without a
    mixer.

    Devices show the claim but cannot check it, because that takes the law of the blanks (SPEC 13).
    """
    if not isinstance(survey.mixer, Mixer):
        return None
    mixer, claim = survey.mixer, survey.mixer.claim
    laws = [
        blanks_law(mixer.blanks, HiddenPair.of(question.report_mechanism))
        for question in survey.questions
    ]
    delta = mixed_delta(laws, float(claim.epsilon))
    if delta <= float(claim.delta):
        return None
    return (
        f"the survey says that all answers together keep epsilon {claim.epsilon} against its server"
        f" alone, but for a chance of {claim.delta}; with {mixer.blanks:,} blanks for each question"
        f" the chance is up to {delta:.2g}"
    )


def audit_survey(
    survey: Survey,
    *,
    trials: int = TRIALS,
    seconds: float | None = None,
    scenarios: int | None = None,
    modules: Path | None = None,
    browser: Callable[[Survey], Judged] | None = None,
    progress: Callable[[str], object] = lambda text: None,
    walked: Callable[[Verdict], object] = lambda verdict: None,
) -> Audited:
    """Audits a survey by running the code of devices; returns the result as a table.

    Every branch of this code is walked where there are not too many. ``trials`` reports of each of
    two answers certify a lower bound of epsilon (Arcolezi and Gambs 2024, PoPETs). Devices are
    replayed for ``seconds`` in Python and, with Node, in JavaScript: up to twice as long where a
    verdict needs it, and by default as long as a verdict needs, at most 60 seconds. ``scenarios``
    is a number of replays instead of a time, and ``modules`` a folder of other modules than the
    shipped ones. The probability of a false alarm is at most one in a million for each question.
    ``browser`` is a function that audits the form in a browser and returns the verdict.
    ``progress`` is called with a few words before each step, and ``walked`` with each question's
    verdict as soon as its branches are walked.

    Raises ValueError for fewer than 10 trials.

    >>> from deniably import audit_survey, load_survey
    >>> survey = load_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> audited = audit_survey(survey, trials=100, seconds=0)  # a walk alone, and no replays
    >>> audited.outcome, audited.passed, round(audited.rows[0]["exact"], 4)
    ('in part', False, 1.0986)
    """
    done: list[Verdict] = []
    for verdict in _with_progress(survey, trials, progress):
        done.append(verdict)
        walked(verdict)
    definition, walks = json.loads(survey.canonical), list(_walks(survey, done))
    limit, until_enough = SECONDS if seconds is None else seconds, seconds is None
    with ExitStack() as stack:
        in_node = None
        # A short audit is over before another process has started; there Node takes turns with
        # Python.
        if scenarios is None and limit >= _WORTHWHILE:
            in_node = stack.enter_context(
                JavaScriptProcess(
                    definition, limit, until_enough=until_enough, modules=modules, walks=walks
                )
            )
        # Python's own work comes while the other process replays JavaScript.
        whole = _walk_together(survey, progress)
        progress("counting whole reports")
        counts = count_reports(survey)
        replays = replay(
            definition,
            limit,
            until_enough=until_enough,
            scenarios=scenarios,
            modules=modules,
            languages=["Python"] if in_node else ["Python", "JavaScript"],
            visits=VISITS,
            walked=_walked_questions(survey, done),
            walks=walks,
            progress=progress,
        )
        if in_node:
            progress("replaying, in JavaScript")
            replays = in_node.joined(replays)
    if browser:
        progress("filling in the form in a browser")
    in_browser = browser(survey) if browser else None
    progress("")
    questions = zip(survey.questions, done, strict=True)
    judged = [judge_question(question, verdict, replays) for question, verdict in questions]
    judged.append(judge_whole(whole, replays))
    recognition, claim = recognition_fault(survey), claim_fault(survey)
    sentences = (*explained(done, trials), *_of_mixer(survey))
    return Audited(
        caption=f"{survey.name}: {survey.title}",
        # `judged` ends with whole reports, which have no row.
        rows=[_cells(*pair) for pair in zip(done, judged, strict=False)],
        lines=[HEADING, *(line(*pair) for pair in zip(done, judged, strict=False))],
        texts=1,
        notes=[
            *(f"{each.name}: {each.text}" for each in judged),
            *([f"{in_browser.name}: {in_browser.text}"] if in_browser else []),
            *([f"recognition: FAILED: {recognition}"] if recognition else []),
            *([f"mixer: FAILED: {claim}"] if claim else []),
            *([f"counts: FAILED: {counts.fault}"] if counts.fault else []),
            *sentences,
        ],
        sentences=sentences,
        verdicts=done,
        whole=whole,
        judged=judged,
        replays=replays,
        recognition=recognition,
        claim=claim,
        browser=in_browser,
        counted=counts,
    )


def _with_progress(
    survey: Survey, trials: int, progress: Callable[[str], object]
) -> Iterator[Verdict]:
    running = verdicts(survey, trials)
    for number, question in enumerate(survey.questions, start=1):
        progress(f"walking {question.name}, {number} of {len(survey.questions)} questions")
        yield next(running)


def _walk_together(survey: Survey, progress: Callable[[str], object]) -> ReportAudit:
    progress("walking whole reports")
    walks: list[ReportWalk] = []
    for each in whole_reports(survey):
        walks.append(each)
        progress(f"walking whole reports, {len(walks)} times")
    together, *pairs = walks
    return ReportAudit(together, tuple(pairs))


def _walked_questions(survey: Survey, done: Sequence[Verdict]) -> set[str]:
    """The questions whose every branch was walked in Python; of several waves none is."""
    questions = zip(survey.questions, done, strict=True)
    return {
        question.name
        for question, verdict in questions
        if verdict.walk.complete and not isinstance(question.mechanism, Memoised)
    }


def _walks(survey: Survey, done: Sequence[Verdict]) -> Iterator[tuple[str, list[Any]]]:
    """The questions whose every branch is walked in JavaScript as well, and their inputs."""
    walked = _walked_questions(survey, done)
    for question, verdict in zip(survey.questions, done, strict=True):
        if question.name in walked and verdict.walk.paths <= _NODE_PATHS:
            inputs = inputs_of(question.mechanism.law)
            yield question.name, [_as_json(each) for each in inputs]


def _as_json(value: Any) -> Any:
    return list(cast(tuple[int, ...], value)) if isinstance(value, tuple) else value


def _cells(verdict: Verdict, judged: Judged) -> dict[str, Cell]:
    return {
        "question": verdict.question,
        "claimed": verdict.claimed,
        "exact": verdict.exact.epsilon,
        "delta": float(verdict.exact.delta),
        "certified": verdict.certified.epsilon,
        "walked": verdict.walk.complete,
        "outcome": judged.rung,
        "fault": verdict.fault,
    }


def line(verdict: Verdict, judged: Judged | None = None) -> tuple[str, ...]:
    """Returns a verdict as texts for the columns of ``HEADING``.

    The last text is ``judged``, or without that how many branches were walked.
    """
    claimed, exact = f"{verdict.claimed:.4f}", f"{verdict.exact.epsilon:.4f}"
    least = verdict.certified.epsilon
    outcome: str = judged.rung if judged else _walked(verdict.walk)
    if verdict.fault or outcome == "failed":
        outcome = f"FAILED: {verdict.fault}" if verdict.fault and not judged else "FAILED"
    if verdict.history:
        outcome += f"; waves from one memo, in all {verdict.history.epsilon:.4f}"
    if verdict.exact.delta:
        outcome += f", delta {float(verdict.exact.delta):g}"
    return (verdict.question, claimed, exact, f">= {least:.4f}" if least else "nothing", outcome)


def _of_mixer(survey: Survey) -> Iterator[str]:
    """What an audit says of a mixer, and what it cannot see."""
    if isinstance(survey.mixer, Mixer):
        by, blanks, claim = survey.mixer.by, survey.mixer.blanks, survey.mixer.claim
        yield (
            "These epsilons hold if the mixer works together with the survey's server. Against the"
            f" server alone all answers together keep epsilon {claim.epsilon} (delta {claim.delta})"
            f" if {by} does not conspire, and adds its {blanks:,} blanks to each question. That was"
            " worked out again here. No audit of a device can see what the mixer does."
        )


def _walked(walk: Walk) -> str:
    if walk.complete:
        return "every branch walked"
    some = f"{walk.answers:,} of {walk.of:,} answers"
    if not walk.unexplored_mass:
        return f"every branch of {some} walked"
    return f"likeliest branches ({part_of(1 - walk.unexplored_mass)}) of {some} walked"


def explained(done: Sequence[Verdict], trials: int) -> Iterator[str]:
    """Yields sentences that explain the column of certified epsilons."""
    proved = [verdict for verdict in done if verdict.certified.epsilon]
    each = f"{trials:,} reports of each of two answers"
    if proved:
        yield (
            f"Certified: {each} show that the epsilon is at least that, but for one chance in a"
            " million. It is a lower bound, which speaks for no claim."
        )
    if len(proved) < len(done):
        yield (f"Nothing certified: {each} are too few to show any epsilon; more trials show more.")
