"""Defines the document of a survey's results, with the keys for each type of question.

A key is absent if the type, aim or mechanism of the question does not have it. None means that
these reports do not determine the value.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from deniably.survey.parts import FieldName, SurveyName

FitMethod = Literal["em", "ems", "projection"]
"""How shares for display were made: by expectation maximisation (EM) on whole reports, by EM with
smoothing, or by projection to the nearest distribution to the unbiased estimates."""


class _Shown(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the document."""


class PoisoningResult(_Shown, frozen=True, kw_only=True):
    """The largest effect that fake reports could have on a question's figures.

    ``exchange`` is the number of honest people who together move a figure as far as one fake
    report can. ``shift`` is how far a share (from 0 to 1) or a mean (in the question's unit) could
    be moved if 1 % and if 5 % of all reports were fake. ``flip`` is the share of fake reports that
    could put the second choice in the lead, None if no choice leads.
    """

    exchange: float
    shift: list[float]
    flip: float | None


class ChoiceResult(_Shown, frozen=True, kw_only=True):
    """One choice: the number of reports that support it, and the estimated share of people who
    gave it.

    ``interval`` and ``joint_interval`` (which holds for all choices at once) are for the
    population that the respondents are a random sample of. ``interval_80`` and ``interval_50`` are
    as ``interval``, at 80 and 50 % confidence; each is None unless its level is below the
    ``confidence`` of the document. ``respondents_interval`` is for these respondents alone.
    ``stands_out`` says whether the estimate is above what the noise gives to choices that nobody
    has. ``consistent`` is the share for display, never negative. ``count`` and ``stands_out`` are
    None where reports do not support choices.
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
    """The estimated share of all people who were asked a question with ``show_if``, for the
    population.

    Intervals are as in ``ChoiceResult``.
    """

    estimate: float
    standard_error: float
    interval: list[float]
    interval_80: list[float] | None
    interval_50: list[float] | None


class AmongChoiceResult(_Shown, frozen=True, kw_only=True):
    """One choice and its share among those who were asked a question with ``show_if``.

    ``estimate`` and ``standard_error`` are None where ``interval`` is wider than 0.8: too few were
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
    """The answers of those who were asked a question with ``show_if``, without "Not applicable".

    People were asked if they gave one of ``answers`` to the earlier ``question``. ``reports`` says
    which reports the estimates use: those to both questions, which give narrower intervals, or
    only those to the later question. ``asked`` is the share of all people who were asked.
    """

    question: FieldName
    answers: list[FieldName]
    reports: Literal["both questions", "this question"]
    asked: ShareAskedResult
    choices: list[AmongChoiceResult]


class MeanResult(_Shown, frozen=True, kw_only=True):
    """A mean in the question's unit, with its margins for the population and for the respondents.

    ``extent`` is [least, largest] number that an answer can count as. ``interval_80`` and
    ``interval_50`` are as in ``ChoiceResult``. If the reports do not determine the mean,
    ``interval`` is the whole scale, and the estimate, both standard errors, ``interval_80`` and
    ``interval_50`` are None.
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
    """One bucket, with the numbers from ``low`` to ``high``: ``consistent`` is the bucket's share
    for display, and ``at_most`` the share of all numbers up to ``high``.

    Read and draw ``at_most``, which never falls from bucket to bucket and lies in
    ``at_most_interval``. Calculate with ``at_most_unbiased``, the unbiased estimate of the same
    share, which may fall. All three are None for the last bucket, and where the reports do not
    determine them.
    """

    low: str
    high: str
    consistent: float
    at_most: float | None
    at_most_unbiased: float | None
    at_most_interval: list[float] | None


class QuantileResult(_Shown, frozen=True, kw_only=True):
    """A quantile: the bucket from ``low`` to ``high`` in which the cumulative share first reaches
    ``share``, with an interval."""

    share: float
    low: str
    high: str
    interval: list[str]


class CellResult(_Shown, frozen=True, kw_only=True):
    """One combination of answers, with the labels of the answers in ``names``, and its estimated
    share. ``consistent`` is the share for display."""

    names: list[str]
    estimate: float
    standard_error: float
    interval: list[float]
    consistent: float


class AreaResult(CellResult, frozen=True, kw_only=True):
    """One combination of a product question, or one area of a map. ``stands_out`` says whether its
    estimate is above what the noise gives to combinations and areas that nobody is in.

    ``interval_80`` and ``interval_50`` are as in ``ChoiceResult``.
    """

    interval_80: list[float] | None
    interval_50: list[float] | None
    stands_out: bool


class SideResult(_Shown, frozen=True, kw_only=True):
    """One of the two sides of a map: a number that is asked, and the ends ``low`` and ``high`` of
    its range."""

    label: str
    unit: str
    low: float
    high: float


class NumberPartResult(_Shown, frozen=True, kw_only=True):
    """The results for one number of a question about several numbers. ``mean`` is None if no
    report has that number yet; ``poisoning`` is None if the effect of one report has no bound."""

    name: FieldName
    label: str
    mean: MeanResult | None
    poisoning: PoisoningResult | None


class ChoicePartResult(_Shown, frozen=True, kw_only=True):
    """One of the small questions of a product question, with the shares of its choices."""

    name: FieldName
    label: str
    choices: list[ChoiceResult]


# --- questions --------------------------------------------------------------------------------


# The type of question is the tag by which JSON is decoded to one of the classes below.
class _Question(_Shown, frozen=True, kw_only=True, tag_field="type"):
    """The keys of every question: its protection, and how to read its figures.

    ``short`` is what tables, figures and titles call it, in at most 32 characters.
    Where reports support choices, a report supports the true choice with probability ``p`` and any
    other with ``q``. A count of n reports then gives the estimate (count / n - q) / (p - q).
    Where a mixer added ``blanks`` to the reports of n people, the count has both, and a blank
    supports any given choice with probability ``m``. The estimate is then ((count - blanks * m) / n
    - q) / (p - q).
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
    blanks: int | UnsetType = UNSET
    m: float | UnsetType = UNSET
    sentence: str
    notes: list[str]
    flags: list[str]

    @property
    def type(self) -> str:
        """The question's type in the definition."""
        return str(self.__struct_config__.tag)


class OfChoicesResult(_Question, frozen=True, kw_only=True):
    """The results of a question with choices. ``poisoning`` is about the shares.

    ``design_effect`` is the variance of an estimate divided by the variance in a survey without
    randomisation, ``effective_n`` the number of reports divided by ``design_effect``. For a
    question with ``show_if``, ``choices`` are shares of everybody, and ``among_asked`` has those
    of the people who were asked.
    """

    design_effect: float | None
    effective_n: float | None
    choices: list[ChoiceResult]
    among_asked: AmongAskedResult | UnsetType = UNSET
    poisoning: PoisoningResult | None


class YesNoResult(OfChoicesResult, frozen=True, kw_only=True, tag="yes_no"):
    """The results of a question with the answers yes and no."""


class SelectOneResult(OfChoicesResult, frozen=True, kw_only=True, tag="select_one"):
    """The results of a question with one answer out of several."""


class SelectMultipleResult(OfChoicesResult, frozen=True, kw_only=True, tag="select_multiple"):
    """The results of a question with any of several answers, at most ``most`` by one person."""

    most: int


class ScaleResult(_Question, frozen=True, kw_only=True, tag="scale"):
    """The results of a scale: a mean score (unless reports are ticks), and shares if the
    question's aim is a distribution.

    ``among_asked`` is as in ``OfChoicesResult``. The mean is always that of the people whose
    answer has a score. ``poisoning`` is about the shares, or about the mean if there are no
    shares.
    """

    design_effect: float | UnsetType | None = UNSET
    effective_n: float | UnsetType | None = UNSET
    choices: list[ChoiceResult] | UnsetType = UNSET
    among_asked: AmongAskedResult | UnsetType = UNSET
    mean: MeanResult | UnsetType = UNSET
    poisoning: PoisoningResult | UnsetType | None = UNSET


class NumberResult(_Question, frozen=True, kw_only=True, tag="number"):
    """The results of a question about a number: the mean, and the distribution if the question's
    aim is one.

    ``fit`` says how the shares of the distribution were made, ``can_smooth`` whether smoothing, if
    asked for, changes them. ``poisoning`` is about the mean, None if the effect of one report has
    no bound.
    """

    mean: MeanResult
    distribution: list[BucketResult] | UnsetType = UNSET
    fit: FitMethod | UnsetType = UNSET
    can_smooth: bool | UnsetType = UNSET
    quantiles: list[QuantileResult] | UnsetType = UNSET
    poisoning: PoisoningResult | None


class VectorResult(_Question, frozen=True, kw_only=True, tag="vector"):
    """The results of a question about several numbers, each with its mean."""

    parts: list[NumberPartResult]

    @property
    def known(self) -> list[tuple[NumberPartResult, MeanResult]]:
        """The numbers that at least one report has, each with its mean."""
        return [(part, part.mean) for part in self.parts if part.mean is not None]


class PointResult(_Question, frozen=True, kw_only=True, tag="point"):
    """The results of a question about a place on a map, area by area: column after column, and in
    each column from the low end up.

    ``outline`` is the author's drawing, as SVG path data (SPEC 4.1). ``poisoning`` is about the
    areas.
    """

    design_effect: float | None
    effective_n: float | None
    sides: list[SideResult]
    outline: str | None
    cells: list[AreaResult]
    poisoning: PoisoningResult | None


class ProductResult(_Question, frozen=True, kw_only=True, tag="product"):
    """The results of several small questions that are answered in one report: of each question
    alone (``parts``), and of all combinations of their answers (``cells``). ``poisoning`` is about
    the combinations."""

    design_effect: float | None
    effective_n: float | None
    parts: list[ChoicePartResult]
    cells: list[AreaResult]
    poisoning: PoisoningResult | None


ChoosingResult = YesNoResult | SelectOneResult | SelectMultipleResult | ScaleResult
"""The results of questions with a list of choices."""
QuestionResult = ChoosingResult | NumberResult | VectorResult | PointResult | ProductResult
"""The results of one question, by the ``type`` of the question."""


class MixedResult(_Shown, frozen=True, kw_only=True):
    """What a mixer, which ``by`` runs, adds to the protection of a survey: against its server alone
    the answers of one person together keep ``odds``, ``epsilon`` and ``delta``.

    ``refused`` is the number of sealed answers in its batch that could not be read, and
    ``sentences`` says so in words. The list is empty if all could be read.
    """

    by: str
    odds: str
    epsilon: str
    delta: str
    refused: int
    sentences: list[str]


class SurveyResult(_Shown, frozen=True, kw_only=True):
    """The results of a survey; every number is finite.

    ``total`` has the odds, the epsilon and any delta of all questions together. In a survey with
    waves ``total`` also has ``history``, the epsilon of all waves, and ``waves``, the largest
    number of waves if there is one. ``invited`` counts the invitations that are valid, used or
    not. ``response_rate`` is the number of reports divided by ``invited``. Both are None if
    anybody may answer. If the answers came through a mixer, ``senders`` is the number of people
    whose answers it passed on, which is n; ``blanks`` is the number of made-up reports that it
    added to each question, and ``mixed`` what this protects. ``total`` is then what holds if the
    mixer and the survey's server work together. For a subgroup, ``strata`` has the values that it
    fixes. For everybody in a closed survey with strata, ``subgroups`` are those that have results
    of their own.
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
    senders: int | UnsetType = UNSET
    blanks: int | UnsetType = UNSET
    mixed: MixedResult | UnsetType = UNSET
    strata: dict[SurveyName, SurveyName] | UnsetType = UNSET
    subgroups: list[dict[SurveyName, SurveyName]] | UnsetType = UNSET
    questions: list[QuestionResult]

    def question(self, name: str) -> QuestionResult:
        """Returns the results of the question ``name``. Raises KeyError if there is no such
        question."""
        for question in self.questions:
            if question.name == name:
                return question
        names = ", ".join(question.name for question in self.questions)
        raise KeyError(f"no question {name!r}; there are {names}")
