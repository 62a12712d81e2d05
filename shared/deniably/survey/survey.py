"""The published definition of a survey, which devices verify and reports answer (SPEC 4)."""

from __future__ import annotations

import json
import re
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec

from deniably.core.canonical import canonical, parse
from deniably.core.errors import BadSurvey, Problem, TravelledApart
from deniably.core.loss import Loss
from deniably.core.steering import LONGEST_FOUND, refused_texts
from deniably.mechanisms import Memoised
from deniably.survey.free_text import WHY, is_free_text
from deniably.survey.mixer import APART, Mixer
from deniably.survey.parts import Label, Prose, ShowIf, SurveyName, Value, unique
from deniably.survey.questions import Conditional, OfOneChoice, Question
from deniably.survey.strata import Strata, Stratum, check_strata, every_stratum
from deniably.survey.total import OfQuestion, all_waves, whole_report, worst_answer

SPEC = 1

EPSILON_LIMIT = "5"
"""The largest epsilon of one survey that a device accepts, unless its owner raises it (SPEC 8)."""


MOST_QUESTIONS = 100
MOST_WAVES = 100
"""The most waves that a panel may state."""

MOST_PEOPLE = 1_000_000
"""The most people of a panel, for the risk of recognition; more would change little."""

ASSUMED_PEOPLE, ASSUMED_WAVES = 100, 5
"""The size of a panel that does not state its own, for the risk of recognition (SPEC 4.4)."""


class ResultsRule(Value, frozen=True):
    """The rule that says when results are shown, and to whom.

    Results need at least ``minimum`` reports. ``while_open`` says whether they are shown before
    the survey closes. ``to`` restricts them to analysts; without ``to`` everybody may see them.
    ``reports`` says who may have the reports themselves once the survey is closed; without
    ``reports`` analysts may.
    """

    minimum: Annotated[int, msgspec.Meta(ge=1, le=(1 << 53) - 1)]
    while_open: bool
    to: Literal["analysts"] | msgspec.UnsetType = msgspec.UNSET
    reports: Literal["public", "never"] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if self.reports == "public" and self.to == "analysts":
            raise ValueError(
                "the reports are public, so anybody can work out the results; leave out to"
            )

    @property
    def first_shown(self) -> int:
        """The smallest number of reports with which results can be shown.

        While a survey is open, the newest ``minimum`` reports are held back, so twice as many are
        needed, unless the minimum is 1.
        """
        return 2 * self.minimum if self.while_open and self.minimum > 1 else self.minimum

    @property
    def reports_to(self) -> Literal["analysts", "public", "never"]:
        """Who may have the reports of the closed survey: analysts, everybody or nobody."""
        return self.reports if isinstance(self.reports, str) else "analysts"


class Waves(Value, frozen=True):
    """The rule of a survey that is one wave of a ``panel``: the same people are asked again.

    Source: SPEC 4.4. Without ``count``, devices make all reports from memos (answers that are
    randomised once). With ``count``, they randomise afresh in each wave, in at most ``count``
    waves. ``people`` is how many take part in each wave (in the smallest stratum, where there are
    strata), and ``waves`` is how many waves are planned. ``recognised`` is how many of 1,000
    people can be linked from wave to wave; it is absent where the risk is small.
    """

    panel: SurveyName
    count: Annotated[int, msgspec.Meta(ge=2, le=MOST_WAVES)] | msgspec.UnsetType = msgspec.UNSET
    people: Annotated[int, msgspec.Meta(ge=2, le=MOST_PEOPLE)] | msgspec.UnsetType = msgspec.UNSET
    waves: Annotated[int, msgspec.Meta(ge=2, le=MOST_WAVES)] | msgspec.UnsetType = msgspec.UNSET
    recognised: Annotated[int, msgspec.Meta(ge=10, le=1000)] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if isinstance(self.count, int) and isinstance(self.waves, int):
            raise ValueError("count says how many waves there are; leave out waves")

    @property
    def number(self) -> int:
        """The number of waves: ``count``, else ``waves``, and 5 if both are absent."""
        stated = self.count if isinstance(self.count, int) else self.waves
        return stated if isinstance(stated, int) else ASSUMED_WAVES

    @property
    def smallest_group(self) -> int:
        """The number of people in a wave, or in its smallest stratum: ``people``, and 100 if that
        is absent."""
        return self.people if isinstance(self.people, int) else ASSUMED_PEOPLE


class Survey(Value, frozen=True, dict=True):
    """The published definition of a survey. Two definitions are equal exactly if their digests are
    equal."""

    spec: Literal[1]
    name: SurveyName
    title: Label
    language: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\Z")]
    results: ResultsRule
    questions: Annotated[list[Question], msgspec.Meta(min_length=1, max_length=MOST_QUESTIONS)]
    intro: Prose | msgspec.UnsetType = msgspec.UNSET
    contact: Prose | msgspec.UnsetType = msgspec.UNSET
    ask: int | msgspec.UnsetType = msgspec.UNSET
    waves: Waves | msgspec.UnsetType = msgspec.UNSET
    invited: bool | msgspec.UnsetType = msgspec.UNSET
    part: bool | msgspec.UnsetType = msgspec.UNSET
    strata: Strata | msgspec.UnsetType = msgspec.UNSET
    mixer: Mixer | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        unique((question.name for question in self.questions), "the question")
        hidden = [question for question in self.questions if show_if(question)]
        if isinstance(self.ask, int):
            if not 1 <= self.ask < len(self.questions):
                raise ValueError(
                    f"ask is {self.ask}; of {len(self.questions)} questions it must be from 1 to"
                    f" {len(self.questions) - 1}"
                )
            if hidden:
                raise ValueError(f"ask is {self.ask}; a survey with show_if cannot have it")
        for question in hidden:
            self._check_condition(question)
        self._check_waves(bool(hidden))
        if self.invited is False:
            raise ValueError("invited is false; leave it out")
        self._check_part(bool(hidden))
        if isinstance(self.strata, dict):
            check_strata(self.strata)
        if isinstance(self.mixer, Mixer):
            self._check_mixer(self.mixer)

    # SPEC 4.8: answers travel apart, all questions of all people in one batch after closing.
    def _check_mixer(self, mixer: Mixer) -> None:
        stated = {
            "waves": isinstance(self.waves, Waves),
            "strata": isinstance(self.strata, dict),
            "ask": isinstance(self.ask, int),
            "part": bool(self.part),
            "invited": bool(self.invited),
            "results.while_open": self.results.while_open,
            "results.reports": self.results.reports == "public",
        }
        for key, mend in APART.items():
            if stated[key]:
                raise ValueError(f"a survey with a mixer {mend}")
        mixer.check(self.questions)

    def _check_part(self, hides: bool) -> None:
        if self.part is msgspec.UNSET:
            return
        if self.part is False:
            raise ValueError("part is false; leave it out")
        if hides or isinstance(self.waves, Waves):
            raise ValueError("part is true; a survey with show_if or waves cannot have it")
        if self.asked < 2:
            raise ValueError("part is true; a device answers one question, which has no part")

    # SPEC 4.4: in waves without a count, devices answer from memos.
    def _check_waves(self, hides: bool) -> None:
        panel = isinstance(self.waves, Waves)
        keeps = panel and not self.count
        if any(isinstance(question.mechanism, Memoised) != keeps for question in self.questions):
            raise ValueError("every mechanism must be memoised in waves without a count, else none")
        if panel and (hides or isinstance(self.ask, int)):
            raise ValueError("with waves everybody answers everything: leave out ask and show_if")

    def _check_condition(self, question: Question) -> None:
        condition = show_if(question)
        assert condition is not None
        for earlier in self.questions[: self.questions.index(question)]:
            if earlier.name == condition.question and isinstance(earlier, OfOneChoice):
                if not set(condition.among) <= set(earlier.names):
                    wrong = next(name for name in condition.among if name not in earlier.names)
                    raise ValueError(
                        f"{question.name}: show_if names {wrong}, which is no choice of"
                        f" {earlier.name}; it has {', '.join(earlier.names)}"
                    )
                return
        raise ValueError(
            f"{question.name}: show_if names {condition.question}, which is no earlier yes_no,"
            " select_one or scale question"
        )

    @cached_property
    def canonical(self) -> bytes:
        """The canonical JSON of the definition, as bytes (SPEC 3)."""
        return canonical(msgspec.to_builtins(self))

    @cached_property
    def digest(self) -> str:
        """The survey's version: SHA-256 of the canonical JSON, 64 hexadecimal digits."""
        return sha256(self.canonical).hexdigest()

    @cached_property
    def question_of(self) -> dict[str, Question]:
        """The questions by name, in their order."""
        return {question.name: question for question in self.questions}

    def question(self, name: str) -> Question:
        """Returns the question of this name. Raises KeyError if there is none."""
        return self.question_of[name]

    @cached_property
    def asked(self) -> int:
        """The number of questions that a device asks; a report may have fewer only where ``part``
        is true."""
        return self.ask if isinstance(self.ask, int) else len(self.questions)

    @cached_property
    def least_asked(self) -> int:
        """The smallest number of questions that a report can answer."""
        return 1 if self.part else self.asked

    @cached_property
    def complete(self) -> bool:
        """Whether every report answers all questions, so that all questions have as many
        reports. Through a mixer each answers one."""
        return not self.mixer and self.least_asked == len(self.questions)

    @cached_property
    def every_stratum(self) -> list[dict[str, str]]:
        """All strata; the number of a stratum is its index here. A survey without strata has one,
        which is empty."""
        return every_stratum(self.strata or {})

    def stratum_number(self, stratum: Stratum) -> int:
        """Returns the number under which a stratum is stored, its index in ``every_stratum``.
        Raises ValueError if the survey has no such stratum."""
        return self.every_stratum.index(dict(stratum))

    @property
    def count(self) -> int | None:
        """The largest number of waves in which answers are randomised afresh; None in a survey
        without waves, and where devices keep memos."""
        count = self.waves.count if isinstance(self.waves, Waves) else None
        return count if isinstance(count, int) else None

    @property
    def recognised(self) -> int | None:
        """How many of 1,000 people can be linked from wave to wave; None where the survey does not
        state it."""
        people = self.waves.recognised if isinstance(self.waves, Waves) else None
        return people if isinstance(people, int) else None

    @property
    def recognised_of_100(self) -> int | None:
        """How many of 100 people can be linked from wave to wave: ``recognised`` in whole
        hundredths, at least 1; None where the survey does not state it."""
        return None if self.recognised is None else max(1, round(self.recognised / 10))

    @property
    def _mechanisms(self) -> list[OfQuestion]:
        return [question.mechanism for question in self.questions]

    @cached_property
    def worst(self) -> Loss:
        """The largest privacy loss of one answer to one question."""
        return worst_answer(self._mechanisms)

    @cached_property
    def total(self) -> Loss:
        """The privacy loss of one person's whole report, exactly: the sum over the questions.

        If a device draws some of the questions, this is the sum over those with the largest
        losses.
        """
        return whole_report(self._mechanisms, self.asked)

    @cached_property
    def server_loss(self) -> Loss:
        """The privacy loss of one person's answers against the survey's server alone: the claim of
        a mixer, and ``total`` in a survey without a mixer."""
        return self.mixer.claim.loss if isinstance(self.mixer, Mixer) else self.total

    @property
    def reports_to(self) -> Literal["analysts", "public", "never"]:
        """Who may have the reports of the closed survey. Never anybody where a mixer took them
        apart."""
        return "never" if self.mixer else self.results.reports_to

    @cached_property
    def history(self) -> Loss:
        """A bound of the privacy loss of one person over all waves of the panel; ``total`` in a
        survey without waves."""
        return all_waves(self._mechanisms, self.asked, self.count or 1)


def require_whole_reports(survey: Survey) -> None:
    """Raises TravelledApart for a survey with a mixer: nobody has the answers of one person
    together."""
    if survey.mixer:
        raise TravelledApart


def show_if(question: Question) -> ShowIf | None:
    """Returns the condition under which a question is shown; None where it is always shown."""
    condition = question.show_if if isinstance(question, Conditional) else None
    return condition if isinstance(condition, ShowIf) else None


# Built once, at import: msgspec completes a type at its first use, and two threads that do so at
# the same time crash the process.
msgspec.json.Decoder(Survey)


def read_survey(text: str | bytes) -> Survey:
    """Returns the survey that a published definition describes, a JSON text, after all checks of
    SPEC 4 and SPEC 2.2.

    Raises BadSurvey, with the path of what is wrong.
    """
    try:
        return as_survey(parse(text))
    except (ValueError, UnicodeDecodeError) as error:
        if isinstance(error, BadSurvey):
            raise
        raise BadSurvey([Problem("$", f"this is not a JSON definition: {error}")]) from None


def as_survey(value: Any) -> Survey:
    """Returns the survey that a parsed JSON definition describes, after all checks of SPEC 4 and
    SPEC 2.2. Raises BadSurvey where the definition is not valid."""
    if problems := list(refused_texts(value)):
        raise BadSurvey(problems)
    return stored_survey(value)


def stored_survey(value: Any) -> Survey:
    """Returns the survey that a parsed definition describes, without the check for characters that
    change how texts are displayed. That check was made when the survey was published.

    So a server goes on showing a survey whose texts a later release would refuse. Raises BadSurvey
    for every other fault.
    """
    try:
        survey = msgspec.convert(value, Survey, strict=True)
        # Also refuses lone surrogates, and missing keys that have defaults.
        if canonical(value) != survey.canonical:
            raise ValueError("a key of the definition or of a mechanism is missing")
    except msgspec.ValidationError as error:
        problem = what_is_wrong(error)
        # msgspec says only that a tag is invalid.
        why = _unknown(value, problem.path) or problem.why
        raise BadSurvey([Problem(problem.path, why + _found(value, problem))]) from None
    except ValueError as error:
        raise BadSurvey([Problem("$", str(error))]) from None
    return survey


def what_is_wrong(error: msgspec.ValidationError) -> Problem:
    """Returns an error of msgspec as a problem: what is wrong, and the path where."""
    why, _, path = str(error).partition(" - at `")
    path = path.rpartition("` in `")[2]  # where a key is wrong
    return Problem(path.rstrip("`") or "$", why)


_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def _found(value: Any, problem: Problem) -> str:
    """What stands at a problem's path; nothing where the problem says it already.

    It is ASCII and has at most 64 characters, so it neither steers nor floods a terminal.
    """
    if not problem.why.startswith(("Expected ", "Invalid ")):
        return ""
    named = problem.path.partition("[...]")[0]  # msgspec leaves out the keys of a dict
    for key, index in _STEP.findall(named):
        value = value[key] if key else value[int(index)]
    return f"; found {json.dumps(value, default=str)[:LONGEST_FOUND]}"


def _unknown(value: Any, path: str) -> str | None:
    """The reason where a question's type or mechanism is unknown; None for other faults."""
    place = re.fullmatch(r"\$\.questions\[(\d+)\](?:\.(type)|\.mechanism(?:\..+)?\.name)", path)
    if not place:
        return None
    if not place[2]:
        return "there is no such mechanism for a question of this type"
    free = is_free_text(value["questions"][int(place[1])]["type"])
    return WHY if free else "there is no such type of question"
