"""Audits a whole survey, and shows the result as a table with a row for each question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb

from deniably.audit.question_audit import TRIALS, Verdict, audit
from deniably.audit.walking import Walk
from deniably.audit.whole_reports import ReportAudit, whole_reports
from deniably.core.table import Cell, Table
from deniably.design.recognition import recognition
from deniably.survey.survey import Survey, Waves

HEADING = ("question", "claimed", "exact", "certified", "")


@dataclass(frozen=True, eq=False, repr=False)
class Audited(Table):
    """The table of an audit, with the ``verdicts`` on the questions and on ``whole`` reports.

    ``recognition`` is ``recognition_fault``'s sentence.

    Each row has a question's epsilons: ``claimed``, ``exact`` (of the published integers) and
    ``certified`` (a lower bound from its reports). ``outcome`` is passed, counted or failed;
    ``fault`` says in words what is wrong.
    """

    verdicts: Sequence[Verdict]
    whole: ReportAudit
    recognition: str | None = None

    @property
    def passed(self) -> bool:
        """Whether no fault was found."""
        faults = (self.whole.fault, self.recognition, *(one.fault for one in self.verdicts))
        return not any(faults)


def recognition_fault(survey: Survey) -> str | None:
    """What is wrong with the number of recognisable people that a wave states; None if nothing.

    Devices show that number and do not check it: it takes a simulation. So one within a quarter of
    this simulation's is no fault.
    """
    if not isinstance(survey.waves, Waves):
        return None
    risk, stated = recognition(survey), survey.recognised
    if risk.agrees(stated):
        return None
    says = f"that {stated} of 1,000 people" if stated else "of nobody that they"
    return f"the survey says {says} can be recognised from wave to wave; about {risk.of_1000} can"


def audit_survey(survey: Survey, *, trials: int = TRIALS) -> Audited:
    """Audit a survey by the code that devices run: see ``deniably audit --help``.

    Every branch is walked where there are not too many. ``trials`` reports of each of two answers
    certify a lower bound of epsilon (Arcolezi and Gambs 2024, PoPETs). The probability
    of a false alarm is at most one in a million for each question. Raises ValueError for fewer
    than 10 trials.

    >>> from deniably import audit_survey, load_survey
    >>> survey = load_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> audited = audit_survey(survey, trials=100)
    >>> audited.passed, audited.rows[0]["outcome"], round(audited.rows[0]["exact"], 4)
    (True, 'passed', 1.0986)
    """
    verdicts = audit(survey, trials)
    together, *pairs = whole_reports(survey)
    whole = ReportAudit(together, tuple(pairs))
    fault = recognition_fault(survey)
    return Audited(
        caption=f"{survey.name}: {survey.title}",
        rows=[_cells(one) for one in verdicts],
        lines=[HEADING, *map(line, verdicts)],
        texts=1,
        notes=[
            f"whole reports: {of_whole(whole)}",
            *([f"recognition: FAILED: {fault}"] if fault else []),
            *explained(verdicts, whole, trials),
        ],
        verdicts=verdicts,
        whole=whole,
        recognition=fault,
    )


def _cells(one: Verdict) -> dict[str, Cell]:
    return {
        "question": one.question,
        "claimed": one.claimed,
        "exact": one.exact.epsilon,
        "delta": float(one.exact.delta),
        "certified": one.certified.epsilon,
        "walked": one.walk.complete,
        "outcome": one.outcome,
        "fault": one.fault,
    }


def line(one: Verdict) -> tuple[str, ...]:
    """One verdict as texts for the columns of ``HEADING``."""
    claimed, exact = f"{one.claimed:.4f}", f"{one.exact.epsilon:.4f}"
    least = one.certified.epsilon
    return (one.question, claimed, exact, f">= {least:.4f}" if least else "nothing", _outcome(one))


def explained(done: Sequence[Verdict], whole: ReportAudit, trials: int) -> Iterator[str]:
    """Sentences that explain the words which occur in this table."""
    walked = [one for one in done if one.walk.complete and not one.fault]
    parts = [one for one in done if not one.walk.complete and not one.fault]
    proved = [one for one in done if one.certified.epsilon]
    each = f"{trials:,} reports of each of two answers"
    if walked:
        where = "" if len(walked) == len(done) else ", where every branch was walked,"
        yield (
            f"Walked: every report of the code{where} has exactly the probability that the"
            " published integers say."
        )
    if parts:
        yield (
            "Likeliest branches, or some answers: of what was walked, no report is likelier than"
            " the integers say. The rest was not walked: reports were counted, which shows large"
            " faults alone."
        )
    if proved:
        yield (
            f"Certified: {each} prove that the epsilon is at least that, but for one chance in a"
            " million."
        )
    if len(proved) < len(done):
        yield (
            f"Nothing certified: {each} are too few to prove any epsilon; more trials prove more."
        )
    if not whole.fault:
        yield _product_of_laws(whole)


def _product_of_laws(whole: ReportAudit) -> str:
    far, follows = ", as far as they were walked", " The rest was not walked."
    if whole.outcome == "passed":
        far = ""
        follows = (
            " So all questions together give away what they give away one by one, and no more."
        )
    return (
        f"Whole reports{far}: every byte that is sent has the product of the questions' laws,"
        f" with an id that nothing else is made of.{follows}"
    )


def of_whole(whole: ReportAudit) -> str:
    """The outcome for whole reports, as a sentence."""
    together, pairs = whole.together, whole.pairs
    if whole.fault:
        return f"FAILED: {whole.fault}"
    number = len(together.questions)
    if whole.outcome == "passed":
        asked = "question" if number == 1 else f"{number} questions together"
        return f"passed, every branch of all {together.of:,} answers to the {asked} walked"
    said = (
        f"in part, likeliest branches ({_part(1 - together.unexplored_mass)}) of"
        f" {together.answers:,} of {together.of:,} answers to all {number} questions walked"
    )
    if not pairs:
        return said
    every, whole_pairs = comb(number, 2), whole.complete_pairs
    some = f", {len(pairs) - whole_pairs:,} in part" if len(pairs) > whole_pairs else ""
    none = f", {every - len(pairs):,} not at all" if every > len(pairs) else ""
    return f"{said}; of {every:,} pairs of questions {whole_pairs:,} to the end{some}{none}"


def _outcome(one: Verdict) -> str:
    delta = f", delta {float(one.exact.delta):g}" if one.exact.delta else ""
    if one.fault:
        return f"FAILED: {one.fault}{delta}"
    how = _walked(one.walk)
    if one.history:
        how += f"; waves from one memo, in all {one.history.epsilon:.4f}"
    said = "passed" if one.outcome == "passed" else "counted, nothing certified"
    return f"{said}, {how}{delta}"


def _walked(walk: Walk) -> str:
    if walk.complete:
        return "every branch walked"
    some = f"{walk.answers:,} of {walk.of:,} answers"
    if not walk.unexplored_mass:
        return f"every branch of {some} walked, reports counted"
    return (
        f"likeliest branches ({_part(1 - walk.unexplored_mass)}) of {some} walked, reports counted"
    )


def _part(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else "below 0.1%"
