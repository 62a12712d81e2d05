"""The document of a survey's results: what each type of question says, and nothing else.

A key that a question does not have by its type, its aim or its mechanism is absent; None says that
these reports cannot tell it.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

FitMethod = Literal["em", "ems", "projection"]
"""How shares for display were made: EM on whole reports, EM with smoothing, or the nearest
distribution to the unbiased estimates."""


class _Shown(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the document."""


class CraftedResult(_Shown, frozen=True, kw_only=True):
    """What crafted reports could do to a question's figures at the worst.

    ``exchange`` is how many honest people one of them weighs as much as, ``shift`` how far 1 % and
    5 % of all reports could move a share (in units of 1) or a mean (in the question's unit) at
    most, ``flip`` the share of all reports that could give the lead to the second (None where
    nothing leads).
    """

    exchange: float
    shift: list[float]
    flip: float | None


class ChoiceResult(_Shown, frozen=True, kw_only=True):
    """One choice: how many reports support it (None where it is asked about through others), and
    what share of people that means.

    ``interval`` and ``joint_interval`` are for the population that the respondents are a random
    sample of, ``respondents_interval`` for these respondents alone. ``stands_out`` says whether
    it stands out from the noise of choices that nobody has (None where choices are asked about
    through others).
    """

    name: str
    label: str
    count: int | None
    estimate: float
    standard_error: float
    interval: list[float]
    joint_interval: list[float]
    respondents_interval: list[float]
    consistent: float
    stands_out: bool | None


class MeanResult(_Shown, frozen=True, kw_only=True):
    """A mean in the question's unit, with its margins for the population and for these people.

    A mean score that cannot be told has no estimate and no standard error, and its interval is
    the whole scale.
    """

    n: int
    unit: str
    estimate: float | None
    standard_error: float | None
    interval: list[float]
    respondents_standard_error: float | None
    respondents_interval: list[float]


class BucketResult(_Shown, frozen=True, kw_only=True):
    """Numbers from ``low`` to ``high``: their share for display, and the share of numbers up to
    ``high`` (None for the last bucket, and where the reports do not determine it)."""

    low: str
    high: str
    consistent: float
    at_most: float | None
    at_most_interval: list[float] | None


class QuantileResult(_Shown, frozen=True, kw_only=True):
    """The bucket in which a share of the numbers is first reached, and where it may lie."""

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
    """The same of a product, or one area of a map, and whether it stands out from the noise of all
    that nobody is in."""

    stands_out: bool


class NumberPartResult(_Shown, frozen=True, kw_only=True):
    """One number of several; no mean where no report has it yet. ``crafted`` is None where reports
    have no largest score."""

    name: str
    label: str
    mean: MeanResult | None
    crafted: CraftedResult | None


class ChoicePartResult(_Shown, frozen=True, kw_only=True):
    """One of the small questions of a product."""

    name: str
    label: str
    choices: list[ChoiceResult]


# --- questions --------------------------------------------------------------------------------


class _Question(_Shown, frozen=True, kw_only=True, tag_field="type"):
    """What every question has: its protection, and how to read its figures.

    A report supports the true choice with probability ``p`` and any other with ``q``, where
    reports support choices: of n reports a count then gives the estimate
    (count / n - q) / (p - q).
    """

    name: str
    label: str
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
    flags: list[str]

    @property
    def type(self) -> str:
        """Its type in the definition."""
        return str(self.__struct_config__.tag)


class _OfChoices(_Question, frozen=True, kw_only=True):
    """The shares of choices. ``crafted`` is about these."""

    design_effect: float | None
    effective_n: float | None
    choices: list[ChoiceResult]
    crafted: CraftedResult | None


class YesNoResult(_OfChoices, frozen=True, kw_only=True, tag="yes_no"):
    """Yes or no."""


class SelectOneResult(_OfChoices, frozen=True, kw_only=True, tag="select_one"):
    """One answer out of several."""


class SelectMultipleResult(_OfChoices, frozen=True, kw_only=True, tag="select_multiple"):
    """Any of several answers."""


class ScaleResult(_Question, frozen=True, kw_only=True, tag="scale"):
    """A scale: a mean score, unless reports are of ticks, and where the aim is a distribution the
    shares. ``crafted`` is about the shares, or where there are none, about the mean."""

    design_effect: float | UnsetType | None = UNSET
    effective_n: float | UnsetType | None = UNSET
    choices: list[ChoiceResult] | UnsetType = UNSET
    mean: MeanResult | UnsetType = UNSET
    crafted: CraftedResult | UnsetType | None = UNSET


class NumberResult(_Question, frozen=True, kw_only=True, tag="number"):
    """A number: its mean, and where the aim is a distribution that, too.

    ``fit`` says how the shares of the distribution were made, ``can_smooth`` whether asking for
    smoothing makes a difference. ``crafted`` is about the mean, and None where reports have no
    largest score.
    """

    mean: MeanResult
    distribution: list[BucketResult] | UnsetType = UNSET
    fit: FitMethod | UnsetType = UNSET
    can_smooth: bool | UnsetType = UNSET
    quantiles: list[QuantileResult] | UnsetType = UNSET
    crafted: CraftedResult | None


class VectorResult(_Question, frozen=True, kw_only=True, tag="vector"):
    """Several numbers, each with its mean."""

    parts: list[NumberPartResult]


class PointResult(_Question, frozen=True, kw_only=True, tag="point"):
    """A map, area by area. ``crafted`` is about the areas."""

    design_effect: float | None
    effective_n: float | None
    cells: list[AreaResult]
    crafted: CraftedResult | None


class ProductResult(_Question, frozen=True, kw_only=True, tag="product"):
    """Several small questions, one by one and all together. ``crafted`` is about the
    combinations."""

    design_effect: float | None
    effective_n: float | None
    parts: list[ChoicePartResult]
    cells: list[AreaResult]
    crafted: CraftedResult | None


QuestionResult = (
    YesNoResult
    | SelectOneResult
    | SelectMultipleResult
    | ScaleResult
    | NumberResult
    | VectorResult
    | PointResult
    | ProductResult
)
"""By the ``type`` of the question."""


class SurveyResult(_Shown, frozen=True, kw_only=True):
    """A survey's results; every number is finite.

    ``total`` has odds and epsilon, a delta where there is one, and in a survey with waves
    ``history``, the epsilon of all of them. ``invited`` is how many invitations stand, whether they
    were used or not, and ``response_rate`` what share of them brought a report; None where anybody
    may answer.
    """

    survey: str
    title: str
    digest: str
    state: str
    n: int
    invited: int | None
    response_rate: float | None
    confidence: float
    total: dict[str, str]
    questions: list[QuestionResult]
