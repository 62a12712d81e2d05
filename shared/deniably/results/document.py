"""The document of a survey's results, with the keys of each type of question.

A key is absent if the type, aim or mechanism of the question does not have it. None says that these
reports do not determine the value.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from deniably.survey.parts import FieldName, SurveyName

FitMethod = Literal["em", "ems", "projection"]
"""How shares for display were made: EM on whole reports, EM with smoothing, or the nearest
distribution to the unbiased estimates."""


class _Shown(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the document."""


class PoisoningResult(_Shown, frozen=True, kw_only=True):
    """The most that fake reports could do to a question's figures.

    ``exchange`` is how many honest people one fake report weighs as much as. ``shift`` is how
    far 1 % and 5 % of all reports could move a share (0 to 1) or a mean (in the question's unit).
    ``flip`` is the share of all reports that could put the second choice in the lead, None if
    nothing leads.
    """

    exchange: float
    shift: list[float]
    flip: float | None


class ChoiceResult(_Shown, frozen=True, kw_only=True):
    """One choice: how many reports support it, and what share of people that means.

    ``interval`` and ``joint_interval`` are for the population that the respondents are a random
    sample of. ``interval_80`` and ``interval_50`` are as ``interval``, at 80 and 50 % confidence;
    None unless that is below the ``confidence`` of the document. ``respondents_interval`` is for
    these respondents alone. ``stands_out`` says whether the choice stands out from the noise of
    choices that nobody has. ``count`` and ``stands_out`` are None where reports do not support
    choices.
    """

    name: FieldName
    label: str
    count: int | None
    estimate: float
    standard_error: float
    interval: list[float]
    interval_80: list[float] | None
    interval_50: list[float] | None
    joint_interval: list[float]
    respondents_interval: list[float]
    consistent: float
    stands_out: bool | None


class ShareAskedResult(_Shown, frozen=True, kw_only=True):
    """The share of everybody who was asked a question with ``show_if``, for the population.

    Intervals are as in ``ChoiceResult``.
    """

    estimate: float
    standard_error: float
    interval: list[float]
    interval_80: list[float] | None
    interval_50: list[float] | None


class AmongChoiceResult(_Shown, frozen=True, kw_only=True):
    """One choice: its share among those who were asked.

    It has no estimate and no standard error where the ``interval`` is wider than 0.8: too few were
    asked to say anything. ``joint_interval`` holds for all choices at once; the other intervals are
    as in ``ChoiceResult``.
    """

    name: FieldName
    label: str
    estimate: float | None
    standard_error: float | None
    interval: list[float]
    interval_80: list[float] | None
    interval_50: list[float] | None
    joint_interval: list[float]


class AmongAskedResult(_Shown, frozen=True, kw_only=True):
    """What those answered who were asked a question with ``show_if``; "Not applicable" is none of
    the ``choices``.

    Who gave one of ``answers`` to the earlier ``question`` was asked. ``reports`` says which
    reports were counted: those to both questions, which tell more, or those to this one alone.
    """

    question: FieldName
    answers: list[FieldName]
    reports: Literal["both questions", "this question"]
    asked: ShareAskedResult
    choices: list[AmongChoiceResult]


class MeanResult(_Shown, frozen=True, kw_only=True):
    """A mean in the question's unit, with its margins for the population and for these people.

    ``extent`` is the least and the largest number that an answer counts as.
    ``interval_80`` and ``interval_50`` are as in ``ChoiceResult``. If the reports do not determine
    a mean score, it has no estimate, no standard error and neither of these, and its interval is
    the whole scale.
    """

    n: int
    unit: str
    extent: list[float]
    estimate: float | None
    standard_error: float | None
    interval: list[float]
    interval_80: list[float] | None
    interval_50: list[float] | None
    respondents_standard_error: float | None
    respondents_interval: list[float]


class BucketResult(_Shown, frozen=True, kw_only=True):
    """Numbers from ``low`` to ``high``: their share for display, and the share up to ``high``.

    ``at_most`` never falls from bucket to bucket and lies in its interval: read and draw this one.
    ``at_most_unbiased`` is the unbiased estimate, for further calculation, which may fall. These
    are None for the last bucket, and where the reports do not determine them.
    """

    low: str
    high: str
    consistent: float
    at_most: float | None
    at_most_unbiased: float | None
    at_most_interval: list[float] | None


class QuantileResult(_Shown, frozen=True, kw_only=True):
    """The bucket in which a share of the numbers is first reached, with its interval."""

    share: float
    low: str
    high: str
    interval: list[str]


class CellResult(_Shown, frozen=True, kw_only=True):
    """One combination of answers: what it is, and its share."""

    names: list[str]
    estimate: float
    standard_error: float
    interval: list[float]
    consistent: float


class AreaResult(CellResult, frozen=True, kw_only=True):
    """One combination of a product or one area of a map, and whether it stands out from the noise
    of cells that nobody is in.

    ``interval_80`` and ``interval_50`` are as in ``ChoiceResult``.
    """

    interval_80: list[float] | None
    interval_50: list[float] | None
    stands_out: bool


class SideResult(_Shown, frozen=True, kw_only=True):
    """One of the two numbers of a place on a map, with the ends of its range."""

    label: str
    unit: str
    low: float
    high: float


class NumberPartResult(_Shown, frozen=True, kw_only=True):
    """One number of several. ``mean`` is None if no report has it yet, ``poisoning`` is None if
    reports have no largest score."""

    name: FieldName
    label: str
    mean: MeanResult | None
    poisoning: PoisoningResult | None


class ChoicePartResult(_Shown, frozen=True, kw_only=True):
    """One of the small questions of a product."""

    name: FieldName
    label: str
    choices: list[ChoiceResult]


# --- questions --------------------------------------------------------------------------------


class _Question(_Shown, frozen=True, kw_only=True, tag_field="type"):
    """The keys of every question: its protection, and how to read its figures.

    ``short`` is what tables, figures and titles call it, in at most 32 characters.
    Where reports support choices, a report supports the true choice with probability ``p`` and any
    other with ``q``. A count of n reports then gives the estimate (count / n - q) / (p - q).
    ``mechanism`` has its parameters but for the weights of a channel, which are in the survey's
    definition. ``sentence`` is the finding, ``notes`` qualify it, and ``flags`` are signs of fake
    reports or faulty devices alone.
    """

    name: FieldName
    label: str
    short: str
    n: int
    mechanism: dict[str, object]
    method: str
    claim: dict[str, object]
    odds: str
    epsilon: str
    delta: str | UnsetType = UNSET
    p: float | UnsetType = UNSET
    q: float | UnsetType = UNSET
    sentence: str
    notes: list[str]
    flags: list[str]

    @property
    def type(self) -> str:
        """The question's type in the definition."""
        return str(self.__struct_config__.tag)


class OfChoicesResult(_Question, frozen=True, kw_only=True):
    """The shares of choices. ``poisoning`` is about these shares.

    Of a question with ``show_if``, ``choices`` are shares of everybody, and ``among_asked`` has
    those of the people who were asked.
    """

    design_effect: float | None
    effective_n: float | None
    choices: list[ChoiceResult]
    among_asked: AmongAskedResult | UnsetType = UNSET
    poisoning: PoisoningResult | None


class YesNoResult(OfChoicesResult, frozen=True, kw_only=True, tag="yes_no"):
    """Yes or no."""


class SelectOneResult(OfChoicesResult, frozen=True, kw_only=True, tag="select_one"):
    """One answer out of several."""


class SelectMultipleResult(OfChoicesResult, frozen=True, kw_only=True, tag="select_multiple"):
    """Any of several answers, at most ``most``."""

    most: int


class ScaleResult(_Question, frozen=True, kw_only=True, tag="scale"):
    """A scale: a mean score (unless reports are ticks), and shares if the aim is a distribution.

    ``among_asked`` is as for choices; a mean is always one of those who have a score. ``poisoning``
    is about the shares, or about the mean if there are no shares.
    """

    design_effect: float | UnsetType | None = UNSET
    effective_n: float | UnsetType | None = UNSET
    choices: list[ChoiceResult] | UnsetType = UNSET
    among_asked: AmongAskedResult | UnsetType = UNSET
    mean: MeanResult | UnsetType = UNSET
    poisoning: PoisoningResult | UnsetType | None = UNSET


class NumberResult(_Question, frozen=True, kw_only=True, tag="number"):
    """A number: its mean, and its distribution if that is the aim.

    ``fit`` says how the shares of the distribution were made, ``can_smooth`` whether asking for
    smoothing makes a difference. ``poisoning`` is about the mean, None if reports have no largest
    score.
    """

    mean: MeanResult
    distribution: list[BucketResult] | UnsetType = UNSET
    fit: FitMethod | UnsetType = UNSET
    can_smooth: bool | UnsetType = UNSET
    quantiles: list[QuantileResult] | UnsetType = UNSET
    poisoning: PoisoningResult | None


class VectorResult(_Question, frozen=True, kw_only=True, tag="vector"):
    """Several numbers, each with its mean."""

    parts: list[NumberPartResult]

    @property
    def known(self) -> list[tuple[NumberPartResult, MeanResult]]:
        """The numbers that some report has, each with its mean."""
        return [(part, part.mean) for part in self.parts if part.mean is not None]


class PointResult(_Question, frozen=True, kw_only=True, tag="point"):
    """A map, area by area: the areas of the first column come first, from its low end.

    ``outline`` is the author's, as path data (SPEC 4.1). ``poisoning`` is about the areas.
    """

    design_effect: float | None
    effective_n: float | None
    sides: list[SideResult]
    outline: str | None
    cells: list[AreaResult]
    poisoning: PoisoningResult | None


class ProductResult(_Question, frozen=True, kw_only=True, tag="product"):
    """Several small questions, each alone and all combined. ``poisoning`` is about the
    combinations."""

    design_effect: float | None
    effective_n: float | None
    parts: list[ChoicePartResult]
    cells: list[AreaResult]
    poisoning: PoisoningResult | None


ChoosingResult = YesNoResult | SelectOneResult | SelectMultipleResult | ScaleResult
"""The results of questions with a list of choices."""
QuestionResult = ChoosingResult | NumberResult | VectorResult | PointResult | ProductResult
"""One of these, by the ``type`` of the question."""


class SurveyResult(_Shown, frozen=True, kw_only=True):
    """A survey's results; every number is finite.

    ``total`` has the odds, the epsilon and any delta of all questions together. In a survey with
    waves, ``history`` is the epsilon of all waves. ``invited`` counts the invitations that stand,
    used or not. ``response_rate`` is the share of them that brought a report. Both are None if
    anybody may answer. Of a subgroup, ``strata`` has the values that it fixes. Of everybody in a
    closed survey with strata, ``subgroups`` are those that have results of their own.
    """

    survey: SurveyName
    title: str
    digest: str
    state: str
    n: int
    invited: int | None
    response_rate: float | None
    confidence: float
    total: dict[str, str]
    strata: dict[SurveyName, SurveyName] | UnsetType = UNSET
    subgroups: list[dict[SurveyName, SurveyName]] | UnsetType = UNSET
    questions: list[QuestionResult]

    def question(self, name: str) -> QuestionResult:
        """The figures of the question ``name``. Raises KeyError if there is no such question."""
        for question in self.questions:
            if question.name == name:
                return question
        names = ", ".join(question.name for question in self.questions)
        raise KeyError(f"no question {name!r}; there are {names}")
