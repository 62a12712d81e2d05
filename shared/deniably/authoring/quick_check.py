"""Computes the one view of a check: what a draft spends, shows and tells people, as one object.

``deniably check --json``, ``POST /api/check`` and pages for authors show this object. Its figures
are those of ``deniably check``, of ``deniably plan`` and of the form's first page. A draft with
mistakes has a view, too: its problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, cast

import msgspec
from msgspec.structs import replace

from deniably.authoring.checking import MARGIN_AT, notes_on, protection_texts, refusals
from deniably.authoring.compile_question import published
from deniably.authoring.compiling import compile_written
from deniably.authoring.incompatible_keys import problems_in
from deniably.authoring.mixers import has_key
from deniably.authoring.reading import document_problems, typed
from deniably.authoring.special_designs import SpecialDesign, special_designs
from deniably.authoring.ways import (
    Document,
    Mend,
    Together,
    Way,
    conspiring,
    mends,
    mixer_refusals,
    planned_groups,
    ways,
)
from deniably.authoring.written import Choosing, WrittenQuestion, WrittenSurvey
from deniably.core.errors import BadSurvey, Problem
from deniably.core.loss import Loss
from deniably.core.steering import one_line
from deniably.design.at_privacy import promised
from deniably.design.mixer_plan import answer_losses
from deniably.design.planning import Goal, estimable_groups, margin_for
from deniably.design.power import Needed, about_needed
from deniably.design.stand_ins import StandIns
from deniably.device.ledger import Limits
from deniably.estimation.figures import Group, SingleMean
from deniably.survey.guessing_rates import Guessing, Rate, guessing, rate_text
from deniably.survey.questions import Question
from deniably.survey.spending import FULL, privacy_spent
from deniably.survey.survey import MOST_QUESTIONS, Survey, Waves
from deniably.wording.first_page import first_page
from deniably.wording.mixer_page import mixer_rates

MOST_SHOWN = 50
"""The maximum of problems that a view lists; the others are counted."""
LARGEST_N = 1_000_000_000
"""The maximum of respondents that a check takes."""
DIFFERENCE = 0.1
"""The difference between two halves of the people, as a fraction of 1, for which the number of
respondents is stated."""
_FIVE_POINTS = 0.05
_MOST_READ = 5_000  # questions whose problems are counted
_MOST_COUNTED = 10_000  # problems


class ShownProblem(msgspec.Struct, frozen=True):
    """A mistake in a draft.

    ``path`` says where it is, ``code`` what kind of mistake it is (as in ``Problem``), and ``why``
    what to write instead.
    """

    path: str
    code: str
    why: str


class Used(msgspec.Struct, frozen=True):
    """How much privacy is spent, in hundredths of what devices allow; above ``limit`` (100) they
    refuse.

    ``total`` is for all questions that one device is asked. ``each`` has the value of each
    question, by name. ``waves`` is for all waves of a panel together; None for other surveys. With
    a mixer these are against the survey's server alone. ``together`` is then what is spent of the
    100 that devices allow for this, if server and mixer work together; None without a mixer.
    """

    total: int
    limit: int
    each: dict[str, int]
    waves: int | None
    together: int | None = None


class GuessingScale(msgspec.Struct, frozen=True):
    """The guessing scale of the form: how many of 100 guesses of an answer are right.

    The guesser sees the report. ``one`` has the lowest and the highest rate among single questions.
    ``all`` is the rate for all answers together, ``waves`` that for all waves (None without waves),
    and ``worst`` that with the luckiest reports. With a mixer these are the rates of the survey's
    server alone, and ``together`` has those of server and mixer (None without a mixer). ``often``
    is whether the form has to warn; ``promise`` is the text that the form shows.
    """

    one: tuple[Rate, Rate]
    all: Rate
    waves: Rate | None
    worst: Rate
    often: bool
    promise: str
    together: Together | None = None


class FigureMargin(msgspec.Struct, frozen=True):
    """The margin of one figure of the results: half of its 95 % interval, for the worst true value.

    ``unit`` says what the margin is a fraction of: 1 for a ``share``, the question's ``range`` for
    a mean.
    """

    figure: str
    margin: float
    unit: Literal["share", "range"]


class QuestionView(msgspec.Struct, frozen=True):
    """What one question gives away, and how accurate its results are.

    ``right`` is how many of 100 guesses of the answer are right, with a mixer those of both
    parties together. ``n_for_5`` is how many
    respondents bring the margin of every figure to five points, or to five per cent of the range.
    ``n_for_difference`` is about how many respondents are needed to detect, 8 times in 10, a
    difference of ten points between two halves of them. Both are None where no number of
    respondents is enough. ``also`` has the widest margin if the author offered a further choice,
    such as "Prefer not to say", by the name of this choice.
    """

    name: str
    right: Rate
    figures: list[FigureMargin]
    n_for_5: int | None
    n_for_difference: int | None
    also: dict[str, float]


class ExpertRow(msgspec.Struct, frozen=True):
    """The formal protection of one question.

    Where ``question`` is None, it is that of all questions that one device is asked. With a mixer
    it holds ``against`` the survey's server alone, or server and mixer together.
    """

    question: str | None
    mechanism: str
    epsilon: str
    odds: str
    delta: str
    against: Literal["", "server", "together"] = ""


class QuickCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What the studio shows of a check. If a draft has ``problems``, all other fields but ``more``
    are empty.

    ``more`` is how many problems there are besides those listed. ``digest`` is that of the
    definition as it would be published. It is None while ``about`` is true: figures are then only
    about right, because a window replaces the optimised mechanism of a mean that is still being
    computed. ``refused`` says why devices would refuse the survey, and ``mends`` what the author
    can do about it. ``ways`` are the ways to ask the survey, of which the author can choose one.
    ``no_mixer`` says why the answers cannot travel through the mixer whose offer was given.
    ``designs`` has the waves, strata and invitations of the survey. ``n_openly`` is how many people
    are needed to detect a difference of ten points if they are asked directly, without noise; None
    where no number is enough. ``experts`` has the formal protection of each question, and of all
    that one device is asked. ``languages`` has what each translation lacks; surveys have none yet.
    """

    digest: str | None = None
    problems: list[ShownProblem] = []
    more: int = 0
    used: Used | None = None
    refused: list[str] = []
    guessing: GuessingScale | None = None
    asked: int = 0
    questions: list[QuestionView] = []
    n_openly: int | None = None
    experts: list[ExpertRow] = []
    ways: list[Way] = []
    mends: list[Mend] = []
    no_mixer: list[str] = []
    designs: list[SpecialDesign] = []
    notes: list[str] = []
    first_page: list[str] = []
    languages: dict[str, dict[str, int]] = {}
    about: bool = False

    @property
    def json(self) -> bytes:
        """The view as JSON; decimals are numbers."""
        return _ENCODER.encode(self)


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def quick_check(
    source: Callable[[], object],
    n: int = MARGIN_AT,
    stand_ins: StandIns | None = None,
    *,
    compares: bool = True,
    offer: object = None,
) -> QuickCheck:
    """Checks the draft that ``source`` returns, with the margins of ``n`` respondents.

    ``source`` may raise BadSurvey, as ``documents.load`` does. The result then has the problems of
    this error, just as it has those of the draft itself. With ``stand_ins``, windows may replace
    mechanisms of means that are still being computed; figures are then only about right. Without
    ``compares``, the result has no other designs of the survey, which take half of the time. With a
    mixer's ``offer``, as parsed JSON, one of them is through this mixer. Raises ValueError unless n
    is from 1 to ``LARGEST_N``.
    """
    if not 1 <= n <= LARGEST_N:
        raise ValueError(f"n is {n:,} respondents; give 1 to {LARGEST_N:,}")
    try:
        document = source()
        if found := _problems(document):
            return found
        written, misplaced = typed(document)
        survey, notes = compile_written(written, misplaced)
    except BadSurvey as error:
        return _shown(error.problems)
    view = _view(cast(Document, document), written, survey, n, compares=compares, offer=offer)
    about = stand_ins is not None and bool(stand_ins.missing)
    return replace(
        view,
        digest=None if about or not has_key(survey) else survey.digest,
        notes=[one_line(note) for note in (*notes, *notes_on(survey))],
        about=about,
    )


def _view(
    document: Document,
    written: WrittenSurvey,
    survey: Survey,
    n: int,
    *,
    compares: bool,
    offer: object,
) -> QuickCheck:
    alone = answer_losses(survey)
    rates, page = guessing(survey), first_page(survey, losses=alone)
    needed = _needed(survey)
    promise = f"{page.promise} {page.doubt}"
    compared = ways(document, survey, n, offer) if compares else []
    wanted = compares and offer is not None
    lacking = wanted and all(way.id != "mixer" for way in compared)
    refused = mixer_refusals(document, survey, offer) if lacking else []
    return QuickCheck(
        used=_used(survey, alone),
        refused=refusals(survey),
        guessing=_scale_of_two(survey, rates, alone, promise)
        if survey.mixer
        else _scale(rates, promise),
        asked=survey.asked,
        questions=list(_questions(written, survey, rates, needed, n)),
        n_openly=max((each.openly for each in needed), default=None),
        experts=list(_experts(survey)),
        ways=compared,
        no_mixer=[one_line(each.why) for each in refused],
        mends=mends(document, survey, n),
        designs=special_designs(survey, rates, n),
        first_page=page.paragraphs,
    )


def _used(survey: Survey, alone: Mapping[str, Loss]) -> Used:
    """What is spent of the limit; with a mixer, against the survey's server ``alone``."""
    losses = {each.name: each.mechanism.loss for each in survey.questions} | dict(alone)
    return Used(
        privacy_spent(survey.server_loss),
        FULL,
        {name: privacy_spent(loss) for name, loss in losses.items()},
        privacy_spent(survey.history) if isinstance(survey.waves, Waves) else None,
        privacy_spent(survey.total, Limits().of_scope("survey", "together"))
        if survey.mixer
        else None,
    )


def _needed(survey: Survey) -> list[Needed]:
    if survey.mixer:  # answers travel apart, so nobody knows who is in which half
        return []
    try:
        return about_needed(survey, DIFFERENCE)
    except ValueError:  # no number of people is enough
        return []


def _experts(survey: Survey) -> Iterator[ExpertRow]:
    for question in survey.questions:
        mechanism = question.mechanism
        yield _expert(mechanism.loss, question.name, mechanism.described)
    if survey.mixer:
        yield replace(_expert(survey.server_loss), against="server")
        yield replace(_expert(survey.total), against="together")
    else:
        yield _expert(survey.total)


def _expert(loss: Loss, question: str | None = None, mechanism: str = "") -> ExpertRow:
    texts = protection_texts(loss)
    return ExpertRow(question, mechanism, texts["epsilon"], texts["odds"], texts["delta"])


def _scale(rates: Guessing, promise: str) -> GuessingScale:
    return GuessingScale(
        (rate_text(rates.lowest), rate_text(rates.highest)),
        rate_text(rates.together),
        None if rates.waves is None else rate_text(rates.waves),
        rate_text(rates.worst),
        rates.often,
        promise,
    )


def _scale_of_two(
    survey: Survey, rates: Guessing, alone: Mapping[str, Loss], promise: str
) -> GuessingScale:
    """The scale of a survey with a mixer: that of its server alone, then that of both together."""
    server = mixer_rates(survey, alone)
    every = rate_text(server.all)
    return GuessingScale(
        (rate_text(min(server.one)), rate_text(max(server.one))),
        every,
        None,
        every,
        rates.often,
        promise,
        conspiring(survey),
    )


# --- questions --------------------------------------------------------------------------------


def _questions(
    written: WrittenSurvey,
    survey: Survey,
    rates: Guessing,
    needed: Sequence[Needed],
    n: int,
) -> Iterator[QuestionView]:
    margins = planned_groups(survey, n=n)
    enough = planned_groups(survey, margin=_FIVE_POINTS)
    by_name = {each.name: each for each in written.questions}
    for question, rate in zip(survey.questions, rates.one, strict=True):
        of_it = by_name.get(question.name)
        yield QuestionView(
            question.name,
            rate_text(rate),
            [
                FigureMargin(
                    row.figure,
                    row.plan.margin,
                    "range" if isinstance(group, SingleMean) else "share",
                )
                for group, row in margins
                if row.question == question.name
            ],
            max((row.plan.n for _, row in enough if row.question == question.name), default=None),
            max((each.people for each in needed if each.question == question.name), default=None),
            {} if of_it is None else _also(of_it, question, survey, n),
        )


def _also(written: WrittenQuestion, question: Question, survey: Survey, n: int) -> dict[str, float]:
    """The widest margin with a further answer that people may give; of those that fit."""
    if not isinstance(written, Choosing) or isinstance(survey.waves, Waves) or survey.mixer:
        return {}  # one more answer needs other blanks
    offered = {choice.name for choice in written.offered()}
    name = "prefer_not_to_say"
    if name in offered:
        return {}
    asked = replace(written, also=(*(written.also or ()), name))
    if any(problems_in(asked, "$", budgeted=not asked.promised)):  # it has no place on a scale
        return {}
    try:
        privacy = asked.privacy if asked.promised else promised(question.claim)
        more = msgspec.convert(published(asked, privacy), Question)
    except ValueError:  # no mechanism of that name takes one more
        return {}
    reports = survey.asked / len(survey.questions)
    margins = [_margin(group, more, reports, n) for group in estimable_groups(more)]
    return {name: max(margins)} if margins else {}


def _margin(group: Group, question: Question, reports: float, n: int) -> float:
    """The margin of ``n`` respondents, of whom the fraction ``reports`` answers the question."""
    goal = Goal(lambda _: group.variance(question.report_mechanism), group.spread(), reports)
    return margin_for(goal, question.mechanism.loss.epsilon, n).margin


# --- problems ---------------------------------------------------------------------------------


def _problems(document: object) -> QuickCheck | None:
    """The view of a document that breaks the schema; None if it does not.

    Each problem is counted, also of questions that are too many, which are read a hundred at a
    time.
    """
    found = dict.fromkeys(islice(_every_problem(document), _MOST_COUNTED))
    return _shown(list(found)) if found else None


def _every_problem(document: object) -> Iterator[Problem]:
    yield from document_problems(document)
    questions: object = cast(Any, document).get("questions") if isinstance(document, Mapping) else 0
    if not isinstance(questions, list) or len(cast(list[object], questions)) <= MOST_QUESTIONS:
        return
    some = cast(list[object], questions)[:_MOST_READ]
    for first in range(0, len(some), MOST_QUESTIONS):
        part = {"name": "a", "title": "A", "questions": some[first : first + MOST_QUESTIONS]}
        for problem in document_problems(part):
            yield Problem(_moved(problem.path, first), problem.why, problem.code)


def _moved(path: str, by: int) -> str:
    """The path of a problem in the whole list of questions."""
    head, bracket, rest = path.partition("$.questions[")
    number, end, rest = rest.partition("]")
    return f"{head}{bracket}{int(number) + by}{end}{rest}" if bracket else path


def _shown(problems: Sequence[Problem]) -> QuickCheck:
    listed = [
        ShownProblem(one_line(each.path), each.code, one_line(each.why))
        for each in problems[:MOST_SHOWN]
    ]
    return QuickCheck(problems=listed, more=max(0, len(problems) - MOST_SHOWN))
