"""Compiles an author's survey (YAML or JSON) into the definition that is published.

Needs the extra ``author`` (PyYAML, jsonschema). All problems are reported at once. Each has its
path, says what is wrong, and what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import sqrt
from statistics import fmean
from typing import NoReturn, cast

import msgspec
from msgspec.structs import replace

from deniably.authoring.compile_question import published, sizes_together, together_question
from deniably.authoring.distribution_warnings import distribution_warnings, width_notes
from deniably.authoring.documents import load as load
from deniably.authoring.incompatible_keys import (
    problems_between,
    problems_in,
    problems_of_strata,
)
from deniably.authoring.key_types import WrittenBudget, WrittenWaves
from deniably.authoring.mixers import local_privacy, mixer_for, mixer_problems
from deniably.authoring.panels import remembering, usual_history, wave_problems
from deniably.authoring.reading import read
from deniably.authoring.recognition_notes import (
    choice_note,
    drawn_afresh,
    recognition_note,
    recognition_problem,
)
from deniably.authoring.schema import schema as schema
from deniably.authoring.written import Choosing, WrittenQuestion, WrittenSurvey
from deniably.authoring.written import slug as slug
from deniably.core.errors import BadSurvey, Problem
from deniably.design import budgeting
from deniably.design.accuracy import accuracy, cost_of_waves
from deniably.design.reidentification import Recognition, recognition
from deniably.device.ledger import Limits
from deniably.mechanisms import Mechanism
from deniably.survey.privacy import Privacy
from deniably.survey.survey import SPEC, Survey, Waves, as_survey
from deniably.survey.unique_reports import MANY, fewest_lines, lone_share
from deniably.wording.words import LANGUAGES, Words

__all__ = ["compile_survey", "compile_with_notes", "load", "publish_text", "schema", "slug"]

# What waves cost in accuracy is mentioned from 5 % more people on.
_DEAR = 1.05  # times as many people


def publish_text(text: str | bytes) -> Survey:
    """Returns the survey that an author's YAML or JSON text compiles to. Raises BadSurvey with
    every problem found."""
    return compile_survey(load(text))


def compile_survey(document: object) -> Survey:
    """Returns the survey that an author's document compiles to (SPEC 4). ``document`` is what
    ``load`` returns.

    Raises BadSurvey with every problem found.
    """
    return compile_with_notes(document)[0]


def compile_with_notes(document: object) -> tuple[Survey, list[str]]:
    """Returns the survey that a document compiles to, and a sentence on each decision that was made
    for the author.

    Raises BadSurvey with every problem found.
    """
    return compile_written(*read(document))


def compile_written(
    written: WrittenSurvey, misplaced: Sequence[Sequence[Problem]]
) -> tuple[Survey, list[str]]:
    """Returns what ``compile_with_notes`` does, of a document that was read (``reading.read``): its
    typed values, and for each question its misplaced keys. Raises BadSurvey with every problem
    found."""
    _check(written, misplaced)
    if written.waves:
        survey, notes = _wave(written)
    else:
        plan = _plan(written)
        survey, notes = as_survey(_definition(written, plan, None)), plan.notes
    if written.mixer:
        mixer, mixer_notes = mixer_for(written.mixer, survey)
        survey = as_survey(msgspec.to_builtins(survey) | {"mixer": msgspec.to_builtins(mixer)})
        notes += mixer_notes
    _check_public_reports(written, survey)
    if survey.asked == 1 < len(survey.questions):
        notes.append(
            "a device answers one question, so there will be no cross-tables; to get them, write"
            " spend: split or a larger ask, or ask a product question"
        )
    of_numbers = [*distribution_warnings(survey), *width_notes(survey)]
    return survey, [*notes, *language_note(survey.language), *of_numbers]


def _check_public_reports(written: WrittenSurvey, survey: Survey) -> None:
    """Raise BadSurvey where a public list of reports would show more than the author asked for."""
    if survey.results.reports_to != "public":
        return
    if survey.part and not written.results.linkable:
        _refuse(
            "$.part",
            "the list of reports is public, and a shorter line would show that its sender had"
            " little budget left: leave out part, or write reports: analysts; or linkable: true,"
            " and the form tells respondents",
        )
    if written.waves:
        _refuse(
            "$.results.reports",
            "in waves everybody could join public lines from wave to wave: write reports: analysts",
        )
    lines = fewest_lines(survey)
    alone = lone_share(survey, lines)
    if alone > MANY and not written.results.linkable:
        _refuse(
            "$.results.reports",
            f"the list would have a line for each person, and about {lines * alone:.0f} of"
            f" {lines:,} lines would be alone of their kind: somebody who sees the copy on a device"
            " finds its line. Ask fewer questions, raise minimum, or write reports: analysts; or"
            " linkable: true, and the form tells respondents",
        )


def _check(written: WrittenSurvey, misplaced: Sequence[Sequence[Problem]]) -> None:
    """Raise BadSurvey with every problem found."""
    problems: list[Problem] = []
    for index, (question, wrong) in enumerate(zip(written.questions, misplaced, strict=True)):
        path, budgeted = f"$.questions[{index}]", written.budget is not None
        mixed = written.mixer is not None
        problems += [*wrong, *problems_in(question, path, budgeted=budgeted, mixed=mixed)]
    problems += [*problems_between(written.questions), *problems_of_strata(written)]
    problems += mixer_problems(written)
    if written.waves:
        problems += dict.fromkeys(wave_problems(written))
    if problems:
        raise BadSurvey(problems)


# --- what is asked, and with which promise ----------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """The ``questions`` as they are asked, each with its privacy.

    ``written`` are the same questions without the changes that waves need. A device answers ``ask``
    of them (None: all).
    """

    written: Sequence[WrittenQuestion]
    questions: Sequence[WrittenQuestion]
    privacies: Sequence[Privacy]
    ask: int | None
    notes: list[str]


def _plan(written: WrittenSurvey) -> _Plan:
    """Raises BadSurvey where the budget is not enough."""
    waves, questions = written.waves, written.questions
    # What is published differs from what was written, which costs are measured against.
    sent = [remembering(each, afresh=waves.afresh) for each in questions] if waves else questions
    if written.budget is None:
        privacies = [
            local_privacy(question) if written.mixer else question.privacy for question in sent
        ]
        return _Plan(questions, sent, privacies, None, [])
    spent = _spend(written.budget, sent, everybody=waves is not None)
    if spent.product:
        words = Words(written.language)
        questions, sent = ((together_question(each, words),) for each in (questions, sent))
    privacies = [question.within(spent.epsilon) for question in sent]
    return _Plan(questions, sent, privacies, spent.ask, [spent.note])


def _definition(written: WrittenSurvey, plan: _Plan, history: Fraction | None) -> dict[str, object]:
    """The published definition without the key ``waves``. Raises BadSurvey."""
    words = Words(written.language)
    questions: list[object] = []
    problems: list[Problem] = []
    for index, (question, privacy) in enumerate(zip(plan.questions, plan.privacies, strict=True)):
        try:
            questions.append(published(question, privacy, history, words))
        except ValueError as error:
            problems.append(Problem(f"$.questions[{index}]", str(error)))
    if problems:
        raise BadSurvey(problems)
    results = written.results
    shown = {
        "spec": SPEC,
        "name": written.name,
        "title": written.title,
        "intro": _intro(written, words),
        "contact": written.contact,
        "language": written.language,
        "results": {"minimum": results.minimum, "while_open": results.while_open}
        | ({"to": results.to} if results.to else {})
        | ({"reports": results.reports} if results.reports != "analysts" else {}),
        "questions": questions,
        "ask": plan.ask,
        "invited": written.invited or None,
        "part": _offers_part(written, plan) or None,
        "strata": written.strata,
    }
    return {key: value for key, value in shown.items() if value is not None}


STUDY_FACTS = ("controller", "legal_basis", "retention", "consent")
"""The keys that say who is responsible for the study and how. Respondents read them below the
intro, so they are published as a part of it, and the author's signature covers them."""


def _intro(written: WrittenSurvey, words: Words) -> str | None:
    """The intro with what the author says about the study, a paragraph each."""
    facts = [(key, getattr(written, key)) for key in STUDY_FACTS]
    facts_said = [words(f"study.{key}", text=text.strip()) for key, text in facts if text]
    if not facts_said:
        return written.intro
    return "\n\n".join([*([written.intro.rstrip()] if written.intro else []), *facts_said])


def _offers_part(written: WrittenSurvey, plan: _Plan) -> bool:
    """Whether devices with little budget left may answer a part: as written, or where they can."""
    if written.part is not None:
        return written.part
    several = (plan.ask or len(plan.questions)) > 1
    public = written.results.reports == "public"
    whole = _hides(plan.questions) or written.waves or written.mixer
    return several and not (whole or public)


def _hides(questions: Iterable[WrittenQuestion]) -> bool:
    return any(isinstance(question, Choosing) and question.show_if for question in questions)


def language_note(language: str) -> list[str]:
    """Returns a list with a note where the form has no texts in the survey's language; else an
    empty list."""
    if language.lower().split("-")[0] in LANGUAGES:
        return []
    near = [code for code in LANGUAGES if language.lower().startswith(code)]
    meant = f" (did you mean {near[0]}?)" if near else ""
    return [
        f"language {language}{meant}: the form does not speak it, so its buttons and explanations"
        f" will be in English around your questions; it speaks {', '.join(LANGUAGES)}"
    ]


# --- waves ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Panel:
    """A wave's ``survey`` without the number of recognisable people, and how it came about.

    ``history`` is all waves' epsilon as a multiple of one wave's; None where nothing is kept.
    """

    survey: Survey
    plan: _Plan
    history: Fraction | None
    risk: Recognition
    notes: list[str]


def _wave(written: WrittenSurvey) -> tuple[Survey, list[str]]:
    """The definition of one wave, with the number of recognisable people, and notes on it.

    Raises BadSurvey where that number is large and the author did not write ``recognisable``.
    """
    assert written.waves is not None
    panel = _panel(written, written.waves)
    if written.waves.open_choice:
        panel = _kept_or_fresh(written, written.waves, panel)
    survey, risk = panel.survey, panel.risk
    if risk.grave and not written.waves.recognisable:
        raise BadSurvey([recognition_problem(risk)])
    notes = [*panel.notes, recognition_note(risk, survey)]
    if risk.stated:
        survey = replace(survey, waves=replace(cast(Waves, survey.waves), recognised=risk.of_1000))
    return survey, notes


def _panel(written: WrittenSurvey, waves: WrittenWaves) -> _Panel:
    """Compile with memos, or with fresh chance in each wave, as ``waves`` says."""
    written = replace(written, waves=waves)
    plan = _plan(written)
    history, history_notes = (None, []) if waves.afresh else _history(waves, plan)
    stated = {
        "panel": waves.panel,
        "count": waves.count if waves.afresh else None,
        "waves": waves.waves if waves.count is None else None if waves.afresh else waves.count,
        "people": waves.people,
    }
    definition = _definition(written, plan, history)
    definition["waves"] = {key: value for key, value in stated.items() if value is not None}
    survey = as_survey(definition)
    notes = [*plan.notes, *history_notes, *_costs(plan, survey)]
    return _Panel(survey, plan, history, recognition(survey), notes)


def _kept_or_fresh(written: WrittenSurvey, waves: WrittenWaves, kept: _Panel) -> _Panel:
    """Of a stated number of waves: memos, or fresh chance in each, with a note on both.

    The memos where fresh chance is not to be had, as where it would cost more than is allowed.
    """
    assert kept.history is not None
    try:
        fresh = _panel(written, replace(waves, count=waves.waves, waves=None))
    except BadSurvey:
        return kept
    # Fresh waves are charged one by one, so all must fit an author's limit on devices.
    limit = max(float(Limits().author), kept.survey.history.epsilon)
    allowed = fresh.survey.history.epsilon <= limit
    afresh = allowed and drawn_afresh(kept.risk.waves, kept.risk)
    chosen = fresh if afresh else kept
    note = choice_note(
        kept.risk,
        fresh.risk,
        totals=(kept.survey.history.epsilon, fresh.survey.history.epsilon),
        error=_error_within(kept),
        chosen="fresh chance" if afresh else "kept answers",
    )
    chosen.notes.append(note)
    return chosen


def _error_within(kept: _Panel) -> float:
    """The standard error of waves drawn afresh within the memos' total, over that with memos: the
    root of the mean ratio of variances."""
    assert kept.history is not None
    ratios: list[float] = []
    for written, question, privacy in zip(
        kept.plan.written, kept.survey.questions, kept.plan.privacies, strict=True
    ):
        # Each of the fresh waves gets an equal part of the memos' total.
        within = Fraction(round(privacy.ln * 10**9), 10**9) * kept.history / kept.risk.waves
        fresh = measure(written, Privacy(epsilon=within))
        ratios.append(fresh / accuracy(question.mechanism, question.type))
    return sqrt(fmean(ratios))


def _costs(plan: _Plan, survey: Survey) -> list[str]:
    """A note on the questions that waves make less accurate."""
    if survey.count:
        return []
    dear: list[str] = []
    for written, question, privacy in zip(
        plan.written, survey.questions, plan.privacies, strict=True
    ):
        times = cost_of_waves(written.mechanism_for(privacy), question)
        if times >= _DEAR:
            dear.append(f"{question.name} {times:.2f} times")
    if not dear:
        return []
    return [
        "For the same accuracy one wave takes more people than a survey without waves:"
        f" {', '.join(dear)}. The reason: with a kept answer, only some mechanisms can be used."
        " A longer history may win some of the accuracy back, and a count of waves all of it."
    ]


def _history(waves: WrittenWaves, plan: _Plan) -> tuple[Fraction, list[str]]:
    """All waves' epsilon as a multiple of one wave's; with a note where the author gave none."""
    if waves.history is not None:
        return waves.history.exact, []
    promises: list[tuple[Mechanism, Privacy]] = []
    for question, privacy in zip(plan.questions, plan.privacies, strict=True):
        with suppress(ValueError):  # is refused, with its path, when the question is published
            promises.append((question.mechanism_for(privacy), privacy))
    history, note = usual_history(promises)
    return history, [note]


# --- the budget -------------------------------------------------------------------------------


def _spend(
    budget: WrittenBudget, questions: Sequence[WrittenQuestion], *, everybody: bool
) -> budgeting.Spending:
    """Choose how to spend the survey's epsilon; ``everybody`` rules out sampling questions.

    Raises BadSurvey.
    """
    can_sample = not everybody and _can_sample(questions)
    how = budget.spend or ("auto" if budget.ask is None else "sample")
    _check_spending(budget, how, len(questions), can_sample=can_sample)
    ways = _ways(budget, how, questions, can_sample=can_sample)
    plans: list[budgeting.Spending] = []
    refused: list[ValueError] = []
    for way in ways:
        try:
            plans.append(way())
        except ValueError as error:
            refused.append(error)
    sizes = sizes_together(questions) if how == "auto" else []
    if sizes and (joint := budgeting.in_one_report(budget.epsilon.exact, sizes)):
        plans.append(joint)
    if not plans:
        last = refused[-1]
        raise last if isinstance(last, BadSurvey) else BadSurvey([Problem("$.budget", str(last))])
    return budgeting.best(plans) if how == "auto" else plans[0]


def _ways(
    budget: WrittenBudget, how: str, questions: Sequence[WrittenQuestion], *, can_sample: bool
) -> list[Callable[[], budgeting.Spending]]:
    """The ways to spend a budget on these questions, one by one."""
    epsilon, count = budget.epsilon.exact, len(questions)

    def variance(privacy: Privacy) -> float:
        return (
            sum(
                _measured(question, f"$.questions[{index}]", privacy)
                for index, question in enumerate(questions)
            )
            / count
        )

    ways: list[Callable[[], budgeting.Spending]] = []
    if how in ("split", "auto"):
        ways.append(partial(budgeting.split, epsilon, count, variance))
    if how == "sample" or (how == "auto" and can_sample):
        ways.append(partial(budgeting.sample, epsilon, count, variance, budget.ask))
    return ways


def _can_sample(questions: Sequence[WrittenQuestion]) -> bool:
    return len(questions) > 1 and not _hides(questions)


def _check_spending(budget: WrittenBudget, how: str, count: int, *, can_sample: bool) -> None:
    """Raise BadSurvey where keys of a budget contradict each other or the questions."""
    if budget.ask is not None and how != "sample":
        _refuse("$.budget.ask", f"ask goes with spend: sample, and here it is {how}")
    if how == "sample" and not can_sample:
        why = "sampling needs two or more questions and no show_if: write spend: split"
        _refuse("$.budget", why)
    if budget.ask is not None and budget.ask >= count:
        _refuse("$.budget.ask", "ask is less than the number of questions, or write spend: split")


def measure(question: WrittenQuestion, privacy: Privacy) -> float:
    """Returns n times the variance that an estimate from n reports has at this privacy.

    The estimate is that of a share of 30 %, or of a mean on 0 to 1. Raises ValueError where no
    mechanism fits.
    """
    return accuracy(question.mechanism_for(privacy), question.type)


def _measured(question: WrittenQuestion, path: str, privacy: Privacy) -> float:
    """``measure`` within a budget. Raises BadSurvey where the question cannot be asked so."""
    assert privacy.epsilon is not None
    try:
        return measure(question, question.within(privacy.epsilon))
    except ValueError as error:
        raise BadSurvey([Problem(path, str(error))]) from None


def _refuse(path: str, why: str) -> NoReturn:
    raise BadSurvey([Problem(path, why)])
