"""Reports: what leaves a device, and how it is made from answers (SPEC 5)."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

import msgspec

from deniably.core.canonical import parse
from deniably.core.coins import Coins
from deniably.core.errors import BadAnswer, BadReport
from deniably.mechanisms import Memoised
from deniably.survey.parts import SurveyName
from deniably.survey.questions import (
    NOT_APPLICABLE,
    MechanismInput,
    OfOneChoice,
    Question,
    SelectMultiple,
    by_name,
    listed,
    offered,
)
from deniably.survey.strata import Stratum, stratum_text
from deniably.survey.survey import Survey, show_if, what_is_wrong

LARGEST_BODY = 1 << 20
"""The largest size of a report, in bytes."""

_Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Id = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")]


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One respondent's report: a random id, the survey's digest, and one randomised value for each
    question.

    In a survey with a mixer a respondent has a report for each question instead, with its value
    alone. In a survey with strata the report also has the respondent's stratum, which comes from
    the link and is not randomised. It has no field for a time, a device or a person.
    """

    id: _Id
    survey: _Digest
    values: dict[str, list[int]]
    strata: dict[SurveyName, SurveyName] | msgspec.UnsetType = msgspec.UNSET

    @property
    def stratum(self) -> Stratum:
        """The respondent's stratum, as {key: value}; empty in a survey without strata."""
        return self.strata or {}

    @property
    def canonical(self) -> bytes:
        """The bytes that are sent and stored: canonical JSON (RFC 8785).

        Sorted compact JSON is canonical here, since all keys and values are ASCII or integers.
        """
        return msgspec.json.encode(self, order="sorted")

    @property
    def receipt(self) -> str:
        """The SHA-256 of the report's canonical JSON in hexadecimal, which the respondent can
        keep."""
        return hashlib.sha256(self.canonical).hexdigest()

    def check(self, survey: Survey) -> None:
        """Raises BadReport unless a device could have made this report for ``survey``."""
        _check_strata(survey, self.strata)
        questions = survey.question_of
        for name, value in self.values.items():
            if name not in questions:
                raise BadReport("the survey has no question of this name", "$.values")
            questions[name].mechanism.check(value, f"$.values.{name}")
        if survey.mixer:
            if len(self.values) != 1:
                raise BadReport(
                    "a report to a survey with a mixer has the value of one question", "$.values"
                )
            return
        # All names are known here, and a dict has each once: the count says whether any is missing.
        if survey.least_asked <= len(self.values) <= survey.asked:
            return
        if survey.part:
            raise BadReport(
                f"a report has values of 1 to {survey.asked} of the {len(questions)} questions",
                "$.values",
            )
        if survey.asked < len(questions):
            raise BadReport(
                f"a report has values of {survey.asked} of the {len(questions)} questions",
                "$.values",
            )
        missing = next(name for name in questions if name not in self.values)
        raise BadReport(f"the question {missing} has no value", "$.values")


_DECODER = msgspec.json.Decoder(Report, strict=True)


def read_report(body: bytes) -> Report:
    """Returns the report in ``body``, checked as far as possible without the survey.

    Raises BadReport where it breaks SPEC 5, and MalformedReport where the bytes are not JSON.
    """
    try:
        report = _DECODER.decode(body)
    except msgspec.ValidationError as error:
        problem = what_is_wrong(error)
        raise BadReport(problem.why, problem.path) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MalformedReport("the body is not JSON") from None
    if report.canonical != body:  # other spacing or order is fine, a repeated key is not
        try:
            parse(body)
        except ValueError as error:
            raise MalformedReport(str(error)) from None
    return report


class MalformedReport(BadReport):
    """The bytes are not JSON, or have a repeated key."""


def draw_questions(survey: Survey, coins: Coins | None = None) -> list[Question]:
    """Returns the questions that this device asks, in the survey's order: all, or ``ask`` of them,
    drawn at random.

    Draw them once, before anything is answered. ``coins`` None stands for the operating system's
    random bytes.
    """
    if survey.asked == len(survey.questions):
        return list(survey.questions)
    drawn = (coins or Coins()).pick(len(survey.questions), survey.asked)
    return [survey.questions[index] for index in sorted(drawn)]


def check_names(survey: Survey, answers: Iterable[str]) -> None:
    """Raises BadAnswer where one of the names in ``answers`` is not the name of a question."""
    names = [question.name for question in survey.questions]
    for name in answers:
        if name not in names:
            raise BadAnswer(f"the survey has no such question; it has {', '.join(names)}", name)


def is_shown(question: Question, answers: Mapping[str, object], hidden: Container[str]) -> bool:
    """Returns whether ``question`` is shown to a respondent, given the answers to earlier
    questions by the name of the question.

    ``hidden`` has the names of earlier questions that were not shown; their answer is "not
    applicable".
    """
    condition = show_if(question)
    if condition is None:
        return True
    earlier = NOT_APPLICABLE if condition.question in hidden else answers.get(condition.question)
    return earlier in condition.among


@dataclass(frozen=True)
class ReportAndMemos:
    """A ``report`` with the memos that it was made from, by the name of the question.

    A memo is the randomised answer from which a device makes its reports in all waves of a panel.
    The device keeps memos for the next wave and must not send them.
    """

    report: Report
    memos: Mapping[str, tuple[int, ...]] = field(repr=False)


def randomise_answers(
    survey: Survey,
    answers: Mapping[str, object],
    coins: Coins | None = None,
    questions: Sequence[Question] | None = None,
    strata: Stratum | None = None,
) -> Report:
    """Randomises one person's true ``answers`` into a report, as a device does that keeps no
    memos.

    ``answers`` has, by the name of the question: the name or label of a choice, a list of names or
    labels (select_multiple), a number, or a mapping by part (vector, point, product).
    ``questions`` are those that are asked, by default drawn as the survey prescribes; ``strata``
    is the stratum in the person's link. Raises BadAnswer, which names the question and its choices
    but never the answer, and BadReport for a stratum that the survey does not have.

    >>> from deniably import load_survey, randomise_answers
    >>> survey = load_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> report = randomise_answers(survey, {"stolen": "yes"})
    >>> report.values["stolen"] in ([0], [1])  # 0 names "yes"; by chance, so it proves nothing
    True
    """
    return make_report(survey, answers, coins, questions, strata=strata).report


def separate_reports(
    survey: Survey, answers: Mapping[str, object], coins: Coins | None = None
) -> tuple[Report, ...]:
    """Randomise a respondent's true ``answers`` into a report for each question, in their order.

    That is what a device seals in a survey with a mixer. The reports have ids of their own, so
    nothing shows that they are one person's. Raises BadAnswer as ``make_report`` does, and
    ValueError for a survey without a mixer.
    """
    if not survey.mixer:
        raise ValueError("the survey has no mixer; make one report with make_report")
    coins = coins or Coins()
    whole = make_report(survey, answers, coins).report
    # The first report keeps the id of the whole one, which was drawn after all values.
    ids = [whole.id, *(coins.draw_id() for _ in survey.questions[1:])]
    return tuple(
        Report(id_, survey.digest, {question.name: whole.values[question.name]})
        for id_, question in zip(ids, survey.questions, strict=True)
    )


def make_report(
    survey: Survey,
    answers: Mapping[str, object],
    coins: Coins | None = None,
    questions: Sequence[Question] | None = None,
    memos: Mapping[str, Sequence[int]] | None = None,
    id: str | None = None,  # noqa: A002  # as the report has it
    strata: Stratum | None = None,
) -> ReportAndMemos:
    """Randomises a respondent's true ``answers`` to ``questions``, by default drawn as the survey
    prescribes.

    ``answers`` has, by the name of the question: the name or label of a choice, a list of names or
    labels (select_multiple), a number, or a mapping by part (vector, point, product). Every
    question that is shown needs an answer, because a missing value would be an exact one. Answers
    to hidden questions are ignored. ``memos`` has, by the name of the question, the memos
    (randomised answers) that the device keeps for a panel; a question with a memo needs no answer.
    Missing memos are drawn. ``id`` is the id of the report if it was drawn before, as for an
    invitation. ``strata`` is the respondent's stratum, in a survey with strata.

    Raises BadAnswer, which names the question and its choices but never the answer, and BadReport
    where a memo does not fit its question, or the stratum the survey.
    """
    # All refusals come before the first draw: an error after it would tell something of the answer.
    strata_of(survey, strata)
    check_names(survey, answers)
    coins = coins or Coins()
    questions = draw_questions(survey, coins) if questions is None else questions
    answers = {
        each.name: by_name(each, answers[each.name]) for each in questions if each.name in answers
    }
    kept = _checked_memos(questions, memos or {})
    inputs: list[MechanismInput | None] = []
    hidden: set[str] = set()
    for question in questions:
        if question.name in kept:
            inputs.append(None)
        elif is_shown(question, answers, hidden):
            if question.name not in answers:
                raise BadAnswer(f"needs an answer{_among(question)}", question.name)
            inputs.append(_offered(survey, question, question.encode(answers[question.name])))
        else:
            hidden.add(question.name)
            inputs.append(_not_applicable(question))
    # From here on nothing can be refused: every input was made, and every memo checked.
    values: dict[str, list[int]] = {}
    for question, encoded in zip(questions, inputs, strict=True):
        mechanism: Any = question.mechanism
        if isinstance(mechanism, Memoised):
            if question.name not in kept:
                kept[question.name] = mechanism.draw_memo(encoded, coins)
            values[question.name] = list(mechanism.report_from_memo(kept[question.name], coins))
        else:
            values[question.name] = list(mechanism.randomise(encoded, coins))
    report = Report(id or coins.draw_id(), survey.digest, values, strata_of(survey, strata))
    return ReportAndMemos(report, kept)


def strata_of(survey: Survey, stratum: Stratum | None) -> dict[str, str] | msgspec.UnsetType:
    """Returns ``stratum`` as the field ``strata`` of a report: a dict, or UNSET where ``stratum``
    is None or empty.

    Raises BadReport unless the stratum is one of the survey's.
    """
    strata = dict(stratum) if stratum else msgspec.UNSET
    _check_strata(survey, strata)
    return strata


def _check_strata(survey: Survey, strata: Stratum | msgspec.UnsetType) -> None:
    if not survey.strata:
        if strata is not msgspec.UNSET:
            raise BadReport("the survey has no strata, so a report has none", "$.strata")
    elif strata not in survey.every_stratum:
        known = "; ".join(map(stratum_text, survey.every_stratum))
        raise BadReport(f"a report has one of the survey's strata: {known}", "$.strata")


def _checked_memos(
    questions: Sequence[Question], memos: Mapping[str, Sequence[int]]
) -> dict[str, tuple[int, ...]]:
    """The memos of these questions. Raises BadReport where one does not fit its question."""
    kept: dict[str, tuple[int, ...]] = {}
    for question in questions:
        if question.name in memos and isinstance(question.mechanism, Memoised):
            question.mechanism.memo.check(memos[question.name], f"$.memos.{question.name}")
            kept[question.name] = tuple(memos[question.name])
    return kept


def _not_applicable(question: Question) -> MechanismInput:
    several = isinstance(question, SelectMultiple)
    return question.encode([NOT_APPLICABLE] if several else NOT_APPLICABLE)


def _offered(survey: Survey, question: Question, encoded: MechanismInput) -> MechanismInput:
    """An input of somebody who saw the question. Raises BadAnswer for "not applicable", which is
    for those who did not."""
    conditional = any(show_if(each) for each in survey.questions if each.name == question.name)
    if conditional:
        hidden = _not_applicable(question)
        if encoded == hidden or (isinstance(encoded, tuple) and {*cast(Any, hidden)} & {*encoded}):
            raise BadAnswer(f"was shown, and needs an answer{_among(question)}", question.name)
    return encoded


def _among(question: Question) -> str:
    return f": one of {listed(offered(question))}" if isinstance(question, OfOneChoice) else ""
