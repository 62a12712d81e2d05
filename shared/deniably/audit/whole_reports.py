"""Audits whole reports: their probabilities must be the products of the questions' (SPEC 5).

Each question can be right alone while two together, or the id, give away more. The same coins for
every question, for example, would show whether two answers agree. So this module walks the bytes
that a device sends, with every branch of all questions and every combination of answers.

An id has 2**128 values, too many to walk. ``Coins.draw_id`` draws it, and a few values stand for
all of them (``enumeration.IDS``), equally likely. What is sent must hold the id that was drawn, and
the probabilities of the reports must not depend on it. Code that only copies an id treats every
value alike. Code that looks at it is noticed as soon as it treats one of these values differently;
each digit stands at each place in one of them.

Through a mixer a device makes a report for each question, with an id of its own, before it seals
them (SPEC 5). All of these are walked together: nothing in one may tell of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, islice, product
from math import comb, prod
from typing import Any, Literal, cast

import msgspec
from msgspec.structs import replace

from deniably.audit.enumeration import IDS, Exploration, drawn_ids, explore
from deniably.audit.memoised_waves import joint_probability
from deniably.audit.walking import answers as inputs_of
from deniably.core.canonical import canonical
from deniably.core.coins import Coins
from deniably.core.errors import BadReport, DeniablyError
from deniably.mechanisms import Mechanism, Memoised
from deniably.mechanisms.law import Ticks
from deniably.survey.questions import NOT_APPLICABLE, MechanismInput, Question, SelectMultiple
from deniably.survey.report import Report, make_report, read_report, separate_reports
from deniably.survey.strata import Stratum
from deniably.survey.survey import Survey, Waves, show_if

AnswersByName = Mapping[str, object]
Send = Callable[[Sequence[Survey], AnswersByName, Coins], Sequence[bytes]]
"""Returns the bytes of all reports that a device sends for true answers to these surveys, one after
the other: the waves of a panel, else one survey. Reports that are sent again are in it again."""

Sent = tuple[tuple[bytes, ...], tuple[str, ...]]
"""What was sent, and the ids that were drawn for it."""

PATHS = 1 << 16
"""The maximum of paths of one walk, over all answers."""
_EACH = 1 << 12  # of one combination of answers
_FEW = 1 << 8  # the same where there is no hope of walking all
_PAIR = 1 << 12  # of two questions, at most
_LEAST = 1 << 4  # below which the walk of two questions would show nothing
_ANSWERS = 1 << 8  # combinations that are all walked; of more, the extremes
_BOTH = 3  # the first questions, whose combinations of extremes are all walked first


# --- what devices send ----------------------------------------------------------------------------


def reports(make: Callable[..., Any] = make_report) -> Send:
    """Returns a function that makes the reports to several surveys, and returns their bytes.

    Each report is made with ``make``. Memos (permanently randomised answers) of one wave are passed
    on to the next. Through a mixer the reports are those of ``separate_reports``, as they are
    sealed.
    """

    def send(surveys: Sequence[Survey], answers: AnswersByName, coins: Coins) -> list[bytes]:
        if surveys[0].mixer:
            return [each.canonical for each in separate_reports(surveys[0], answers, coins)]
        sent: list[bytes] = []
        memos: Mapping[str, Sequence[int]] | None = None
        for survey in surveys:
            made = make(survey, answers, coins, None, memos, **of_link(survey))
            memos = made.memos
            sent.append(made.report.canonical)
        return sent

    return send


def of_link(survey: Survey) -> dict[str, Stratum]:
    """Returns the stratum of a device's link as a keyword argument: {"strata": ...}.

    The result is empty where the survey has no strata.
    """
    return {"strata": survey.every_stratum[-1]} if survey.strata else {}


# --- the law --------------------------------------------------------------------------------------


def law(
    surveys: Sequence[Survey],
    encoded: Mapping[str, MechanismInput],
    sent: Sequence[bytes],
    drawn: Sequence[str],
    ids: int = len(IDS),
) -> Fraction:
    """Returns the probability that a correct device sends exactly ``sent`` and draws the ids
    ``drawn``, given the answers.

    ``encoded`` has the input of each question's mechanism, and ``ids`` is the number of equally
    likely ids. Raises BadReport where no correct device sends this.
    """
    received = _apart(surveys, sent)
    if surveys[0].mixer:
        return _law_of_sealed(surveys[0], encoded, received, drawn, ids)
    if [report.id for report in received] != list(drawn):
        raise BadReport("the id of a report is the one that was drawn, and one alone is", "$.id")
    # `of_link` opened the link of the last stratum, in every wave.
    links = [each.every_stratum[-1] for each in surveys]
    if [report.stratum for report in received] != links:
        raise BadReport("the stratum of a report is what the link said", "$.strata")
    survey, answered = surveys[0], received[0].values.keys()
    # The questions that are asked and the ids are uniform, and all is independent (SPEC 5).
    chance = Fraction(1, comb(len(survey.questions), survey.asked) * ids ** len(received))
    for question in survey.questions:
        if question.name in answered:
            values = tuple(tuple(report.values[question.name]) for report in received)
            chance *= _of_values(question.mechanism, encoded[question.name], values)
    return chance


def _law_of_sealed(
    survey: Survey,
    encoded: Mapping[str, MechanismInput],
    received: Sequence[Report],
    drawn: Sequence[str],
    ids: int,
) -> Fraction:
    """The probability of the reports that are sealed for a mixer, one for each question."""
    if [report.id for report in received] != list(drawn):
        raise BadReport("every report has an id of its own, in the order of the draws", "$.id")
    if [list(report.values) for report in received] != [[each.name] for each in survey.questions]:
        raise BadReport("there is a report for each question, in the survey's order", "$.values")
    chance = Fraction(1, ids ** len(received))
    for question, report in zip(survey.questions, received, strict=True):
        value = tuple(report.values[question.name])
        chance *= _of_values(question.mechanism, encoded[question.name], (value,))
    return chance


@lru_cache(maxsize=1 << 16)
def _of_values(
    mechanism: Mechanism | Memoised[Any], encoded: Any, values: tuple[tuple[int, ...], ...]
) -> Fraction:
    if isinstance(mechanism, Memoised):
        return joint_probability(mechanism, encoded, values)
    law = mechanism.law
    return prod((law.probability(encoded, value) for value in values), start=Fraction(1))


def _apart(surveys: Sequence[Survey], sent: Sequence[bytes]) -> list[Report]:
    """The report of each survey; with a mixer, all reports. Raises BadReport."""
    by_digest: dict[str, Report] = {}
    reports = list(map(_read, sent))
    if surveys[0].mixer:
        for report in reports:
            report.check(surveys[0])
        if any(report.survey != surveys[0].digest for report in reports):
            raise BadReport("the reports are not those of the survey", "$.survey")
        return reports
    for report in reports:
        if by_digest.setdefault(report.survey, report) != report:
            raise BadReport("what is sent again is another report")
    if list(by_digest) != [survey.digest for survey in surveys]:
        raise BadReport("the reports are not those of the survey", "$.survey")
    for survey, report in zip(surveys, by_digest.values(), strict=True):
        report.check(survey)
    return list(by_digest.values())


def _read(body: bytes) -> Report:
    report = read_report(body)
    if canonical(msgspec.to_builtins(report)) != body:
        raise BadReport("the report is not canonical JSON: what is free could carry an answer")
    return report


def inputs(survey: Survey, chosen: Sequence[MechanismInput]) -> dict[str, MechanismInput]:
    """Returns {question: input of its mechanism} for one respondent.

    ``chosen`` has the input that the respondent would give for each question. A question that an
    earlier answer hides gets "not applicable" instead (SPEC 4.2).
    """
    encoded: dict[str, MechanismInput] = {}
    answers: dict[str, object] = {}
    for question, meant in zip(survey.questions, chosen, strict=True):
        condition = show_if(question)
        hidden = condition is not None and answers[condition.question] not in condition.among
        several = isinstance(question, SelectMultiple)
        true = ([NOT_APPLICABLE] if several else NOT_APPLICABLE) if hidden else None
        answers[question.name] = question.decode(meant) if true is None else true
        encoded[question.name] = meant if true is None else question.encode(true)
    return encoded


# --- the walk -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReportWalk:
    """The outcome of walking the branches of code that makes whole reports.

    ``answers`` of all ``of`` combinations of answers to the ``questions`` were walked, on ``paths``
    paths. ``unexplored_mass`` is the largest probability that was left unwalked for one
    combination. ``fault`` says in words what is wrong, None if nothing is.
    """

    questions: tuple[str, ...]
    answers: int
    of: int
    paths: int
    unexplored_mass: float
    fault: str | None

    @property
    def complete(self) -> bool:
        """Whether every branch of all combinations of answers was walked, without a fault."""
        return self.answers == self.of and not self.unexplored_mass and not self.fault


def walk_reports(
    surveys: Sequence[Survey],
    send: Send,
    paths: int = PATHS,
    ids: Sequence[str] | None = None,
) -> ReportWalk:
    """Walks the branches by which ``send`` makes the bytes of reports, as far as ``paths`` allow.

    The combinations of answers that differ most come first. ``ids`` are the ids that may be drawn,
    in place of all possible ids; by default as many as there is room for.

    Where all paths of a combination were walked, and no report is likelier than it may be, every
    report has exactly the right probability: the probabilities sum to 1, so none can be less likely
    either.
    """
    survey = surveys[0]
    each, ids = _room(surveys, [ids] if ids else [IDS, IDS[-2:]], min(_EACH, paths))
    followed, walked, unexplored = 0, 0, Fraction(0)
    fault: str | None = None
    for chosen in combinations_of(survey, every=each > _FEW):
        if followed >= paths or fault:
            break
        answers = {
            question.name: question.decode(meant)
            for question, meant in zip(survey.questions, chosen, strict=True)
        }

        def run(coins: Coins, answers: AnswersByName = answers) -> Sent:
            return tuple(send(surveys, answers, coins)), drawn_ids(coins)

        try:
            explored = explore(run, each, ids)
        except (DeniablyError, ValueError) as error:
            fault = f"it makes no report for {_shown(answers)}: {error}"
            break
        followed, walked, unexplored = (
            followed + explored.paths,
            walked + 1,
            max(unexplored, explored.unexplored_mass),
        )
        fault = _fault(surveys, answers, inputs(survey, chosen), explored, len(ids))
    names = tuple(question.name for question in survey.questions)
    return ReportWalk(names, walked, _number(survey), followed, float(unexplored), fault)


def _fault(
    surveys: Sequence[Survey],
    answers: AnswersByName,
    encoded: Mapping[str, MechanismInput],
    explored: Exploration[Sent],
    ids: int,
) -> str | None:
    """The first fault in the explored paths of one combination of answers, in words."""
    for (sent, drawn), share in explored.law.items():
        shown = " and ".join(body.decode() for body in dict.fromkeys(sent))
        try:
            lawful = law(surveys, encoded, sent, drawn, ids)
        except BadReport as error:
            return f"for {_shown(answers)} it sends what no device may send, {shown}: {error}"
        # What was explored is a lower bound, so more than the law is a fault however little was
        # walked.
        if share > lawful:
            return (
                f"for {_shown(answers)} it sends {shown} with a probability of"
                f" {'at least ' if explored.unexplored_mass else ''}{float(share):.6g},"
                f" not {float(lawful):.6g}"
            )
    return None


def _shown(answers: AnswersByName) -> str:
    return ", ".join(f"{name}: {text}" for name, text in answers.items())


def _room(
    surveys: Sequence[Survey], choice: Sequence[Sequence[str]], limit: int
) -> tuple[int, Sequence[str]]:
    """How many paths of each answer to explore, and which ids stand for all.

    Every branch with as many ids as fit into ``limit`` paths, or else the likeliest branches.
    """
    survey = surveys[0]
    first = next(combinations_of(survey, every=False))
    number = comb(len(survey.questions), survey.asked)
    for question, meant in zip(survey.questions, first, strict=True):
        alone = _paths(question.mechanism, meant, len(surveys))
        number *= alone.paths if not alone.unexplored_mass else _EACH + 1
    reports = len(survey.questions) if survey.mixer else len(surveys)
    for ids in choice:
        if number * len(ids) ** reports <= limit:
            return limit, ids
    return min(_FEW, limit), choice[-1]


@lru_cache(maxsize=1 << 10)
def _paths(
    mechanism: Mechanism | Memoised[Any], meant: MechanismInput, waves: int
) -> Exploration[Any]:
    encoded: Any = meant
    if isinstance(mechanism, Memoised):
        return explore(
            lambda coins: tuple(mechanism.reports_over_waves(encoded, waves, coins)), _EACH
        )
    return explore(
        lambda coins: tuple(mechanism.randomise(encoded, coins) for _ in range(waves)), _EACH
    )


def combinations_of(survey: Survey, *, every: bool) -> Iterator[tuple[MechanismInput, ...]]:
    """Yields combinations of answers to all questions, as inputs of the mechanisms.

    Those that differ most come first. With ``every``, all others follow, where there are few.
    """
    some = [list(islice(_meant(question), 2)) for question in survey.questions]
    pairs = [(pair[0], pair[-1]) for pair in some]
    if len(survey.questions) <= _BOTH:
        first = list(product(*pairs))
    else:
        # All first, all last and one mixture: of many questions there are too many combinations of
        # extremes.
        ends = list(zip(*pairs, strict=True))
        first = [*ends, tuple(pair[i % 2] for i, pair in enumerate(zip(*ends, strict=True)))]
    if not every or _number(survey) > _ANSWERS:
        return iter(first)
    combined = product(*(_meant(question) for question in survey.questions))
    return chain(first, (chosen for chosen in combined if chosen not in first))


def _number(survey: Survey) -> int:
    return prod(map(_answers, survey.questions))


def _answers(question: Question) -> int:
    """How many inputs an answer to the question can be."""
    domain, hides = question.mechanism.law.domain, show_if(question) is not None
    if isinstance(domain, Ticks) and isinstance(question, SelectMultiple):
        return sum(comb(domain.k - hides, ticks) for ticks in range(question.most + 1))
    # Less "no tick", which is no answer to a single choice, and "not applicable", which is never
    # offered.
    return domain.count - isinstance(domain, Ticks) - hides


def _meant(question: Question) -> Iterator[MechanismInput]:
    """The inputs that an answer to the question can be; of one choice by ticks there is one."""
    ticks = isinstance(question.mechanism.law.domain, Ticks)
    minimum, maximum = (0, question.most) if isinstance(question, SelectMultiple) else (1, 1)
    # Who is shown a question is not offered this one; who is not, gives it whatever they mean.
    hidden: int | None = None
    if show_if(question) is not None:
        hidden = cast(Any, question).names.index(NOT_APPLICABLE)
    for encoded in inputs_of(question.mechanism.law):
        fits = not ticks or minimum <= len(encoded) <= maximum
        if fits and (hidden is None or not _gives(encoded, hidden)):
            yield encoded


def _gives(meant: MechanismInput, choice: int) -> bool:
    return choice in meant if isinstance(meant, tuple) else choice == meant


# --- whole surveys --------------------------------------------------------------------------------


def whole_reports(
    survey: Survey, send: Send | None = None, paths: int = PATHS
) -> Iterator[ReportWalk]:
    """Yields the walk of all questions together. If that is not complete, the walks of pairs of
    questions follow, neighbours first, as far as ``paths`` more paths allow. Questions that decide
    whether one of a pair is shown are walked with the pair.

    ``send`` is by default the shipped ``make_report``.
    """
    send = send or reports()
    together = walk_reports(waves_of(survey), send, paths)
    yield together
    # Of two questions the only pair is the whole survey.
    if together.complete or together.fault or len(survey.questions) < 3:
        return
    left = paths
    places = combinations(range(len(survey.questions)), 2)
    pairs = sorted(places, key=lambda pair: pair[1] - pair[0])
    for behind, pair in zip(range(len(pairs), 0, -1), pairs, strict=True):
        # What a small pair leaves over is shared out to those behind it.
        share = min(left // behind, _PAIR)
        # Pairs come in the order of their distance, so those that are left out are the furthest
        # apart.
        if share < _LEAST:
            return
        walk = walk_reports(waves_of(reduced(survey, pair)), send, share)
        left -= walk.paths
        yield walk


@dataclass(frozen=True)
class ReportAudit:
    """The outcome of ``whole_reports``: the walk of all questions ``together``, and the walks of
    ``pairs``."""

    together: ReportWalk
    pairs: tuple[ReportWalk, ...]

    @property
    def fault(self) -> str | None:
        """The first fault of any walk; None without one."""
        return next((walk.fault for walk in (self.together, *self.pairs) if walk.fault), None)

    @property
    def outcome(self) -> Literal["failed", "passed", "in part"]:
        """The outcome: "failed", "passed" or "in part".

        It is "passed" if every branch of all questions together was walked without a fault, "in
        part" if branches are left.
        """
        if self.fault:
            return "failed"
        return "passed" if self.together.complete else "in part"

    @property
    def complete_pairs(self) -> int:
        """How many pairs of questions were walked to the end."""
        return sum(pair.complete for pair in self.pairs)


def waves_of(survey: Survey) -> list[Survey]:
    """Returns the surveys that one person answers in the audit.

    They are the survey alone, or for a panel the survey and a second wave.
    """
    if not isinstance(survey.waves, Waves):
        return [survey]
    # Another name makes another digest, and the questions, and so the memos, stay the same.
    return [survey, replace(survey, name="wave-2" if survey.name != "wave-2" else "wave-3")]


def reduced(survey: Survey, places: Sequence[int]) -> Survey:
    """Returns the survey with only the questions at these places.

    Questions that decide whether one of these is shown are kept, too.
    """
    names = {survey.questions[place].name for place in places}
    # From the last one back, so that the condition of a condition is found, too.
    for question in reversed(survey.questions):
        condition = show_if(question)
        if condition and question.name in names:
            names.add(condition.question)
    questions = [question for question in survey.questions if question.name in names]
    ask = min(survey.asked, len(questions))
    return replace(survey, questions=questions, ask=ask if ask < len(questions) else msgspec.UNSET)
