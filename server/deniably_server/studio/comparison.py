"""Turns the check of a draft into what its privacy page shows: ways to ask it, compared.

All figures are those of the check (``authoring.quick_check``); here they become texts of a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from math import ceil, exp, log, sqrt
from typing import Any, cast

from deniably.authoring.drafts import Document
from deniably.authoring.quick_check import DIFFERENCE, ExpertRow, QuickCheck
from deniably.authoring.special_designs import SpecialDesign
from deniably.authoring.ways import Operation, Way
from deniably.design.mixer_plan import LOCAL_ODDS
from deniably.survey.guessing_rates import rate_text
from deniably.survey.odds import surest
from deniably.survey.spending import FULL
from deniably.survey.survey import EPSILON_LIMIT
from deniably_server.studio.balance import (
    SAY,
    Balance,
    Margin,
    Range,
    balance_of,
    from_to,
    operation_json,
    people_expected,
    range_of,
)
from deniably_server.studio.fields import STOPS

FEW = 300
"""With fewer people than this the page warns that results will say little."""
_STEP = 5
"""From one stop of the slider to the next, in parts of the 100 that devices allow."""
_ROUNDING = Fraction(1, 10**9)
"""Exponentials of logarithms are a little off, and rates are rounded up."""
_80, _50 = 1.2816 / 1.9600, 0.6745 / 1.9600
"""How wide the intervals of 80 and of 50 % are, where that of 95 % is 1: ratios of normal
quantiles."""


@dataclass(frozen=True)
class ShownWay:
    """A way to ask the survey, such as at another epsilon, with its privacy cost and its precision
    in words.

    ``chosen`` is true for the way that the draft has now. ``operation`` changes the draft to this
    way, as JSON; it is empty where the way is chosen. ``lost`` says what the results would lack,
    ``crossed`` which cross-tables there could be. ``used`` is what is spent of the 100 that
    devices allow. ``one`` and ``all`` say how many of 100 guesses at one answer, and at all
    answers, are right; with a mixer those of this server alone. ``both_one`` and ``both_all`` are
    then those of this server and the mixer together; they are empty for other ways.
    """

    id: str
    label: str
    chosen: bool
    note: str
    lost: str
    used: int
    refused: bool
    margin: str
    one: str
    all: str
    crossed: str
    operation: str
    both_one: str
    both_all: str


@dataclass(frozen=True)
class Strip:
    """A picture of an example result, a share with its confidence intervals. ``value`` is the
    estimate in per cent. ``bars`` has (level, left end, width) for each interval, all in per
    cent."""

    bars: Sequence[tuple[int, float, float]]
    value: float


@dataclass(frozen=True)
class Learnt:
    """How precise the results of a question will be. ``of`` has the margin, and ``strip`` is a
    picture of it if the figure is a share."""

    of: Margin
    strip: Strip | None


@dataclass(frozen=True)
class GroupsCompared:
    """How many people it takes to compare two groups of one size by a question. About so many are
    ``needed`` to see a difference of ten points, or ``by`` so much if the answer is a number.
    ``seen`` is the difference that the expected people show."""

    title: str
    by: str
    needed: str
    seen: str


@dataclass(frozen=True)
class ShownDesign:
    """A special design. ``facts`` has its figures, by what they are called."""

    label: str
    note: str
    cost: str
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Slider:
    """The slider of a survey with one budget for all questions.

    ``stops`` has the epsilon of each stop as text, and ``shown`` the same on the scale of the 100
    that devices allow. ``place`` is the index of the stop nearest to the draft's epsilon, and
    ``now`` is the draft's epsilon on that scale, rounded up.
    """

    stops: Sequence[str]
    shown: Sequence[int]
    place: int
    now: int


@dataclass(frozen=True)
class MixerSlider:
    """The slider of a survey with a mixer: what this server alone may learn of all answers.

    ``stops`` has the odds of each stop as text, and ``rights`` how many of 100 guesses are then
    right at most. ``place`` is the index of the stop nearest to the draft's odds, and ``now`` the
    draft's own rate.
    """

    stops: Sequence[str]
    rights: Sequence[str]
    place: int
    now: str


@dataclass(frozen=True)
class Comparison:
    """What the privacy page shows of a draft.

    ``balance`` is about the draft as a whole. ``learnt`` has an entry for each question.
    ``compared`` has one, too, and at the end one for asking without randomisation. ``few`` is true
    if few people are expected. ``refused`` says why devices refuse the survey, and ``no_mixer``
    why its answers cannot go through the mixer whose offer is in the draft.
    """

    balance: Balance
    ways: Sequence[ShownWay] = ()
    learnt: Sequence[Learnt] = ()
    compared: Sequence[GroupsCompared] = ()
    few: bool = False
    designs: Sequence[ShownDesign] = ()
    experts: Sequence[ExpertRow] = ()
    refused: Sequence[str] = ()
    no_mixer: Sequence[str] = ()


def comparison_of(view: QuickCheck, draft: Document) -> Comparison:
    """Returns what the privacy page shows. ``view`` is the check of the draft as it is written."""
    balance = balance_of(view, draft, "")
    if view.problems or view.guessing is None:
        return Comparison(balance)
    return Comparison(
        balance,
        ways=[_way(way, draft) for way in view.ways],
        learnt=[
            Learnt(row, None if row.share is None else _strip(row.share)) for row in balance.margins
        ],
        # With a mixer answers travel apart, so nobody knows who is in which group.
        compared=[]
        if view.guessing.together
        else list(_compared(view, balance, people_expected(draft))),
        few=people_expected(draft) < FEW,
        designs=[_design(each) for each in view.designs],
        experts=view.experts,
        refused=view.refused,
        no_mixer=view.no_mixer,
    )


def slider_of(draft: Document) -> Slider | None:
    """Returns the slider of a draft with one budget for all questions; None where each question has
    its own protection."""
    budget: object = draft.get("budget")
    if not isinstance(budget, dict):
        return None
    shown = range(_STEP, FULL + 1, _STEP)
    unit = Decimal(EPSILON_LIMIT) / FULL
    try:
        now = Decimal(str(cast(Mapping[str, Any], budget).get("epsilon"))) / unit
    except ArithmeticError:  # it is a text, which the check says
        now = Decimal(FULL)
    if not now.is_finite():
        now = Decimal(FULL)
    nearest = min(range(len(shown)), key=lambda at: abs(shown[at] - now))
    spent = int(now.to_integral_value(ROUND_CEILING))
    return Slider([f"{stop * unit:f}" for stop in shown], shown, nearest, spent)


def mixer_slider_of(draft: Document) -> MixerSlider | None:
    """Returns the slider of a draft with a mixer; None for other drafts, and where the draft states
    no odds for the mixer that a slider can show."""
    mixer: object = draft.get("mixer")
    if not isinstance(mixer, dict):
        return None
    now = _epsilon(cast(Mapping[str, Any], mixer))
    if now is None:
        return None
    # Beyond what the questions keep by themselves a mixer is for nothing.
    local = sum(_epsilon(each) or log(LOCAL_ODDS) for each in draft["questions"])
    stops = [stop for stop in STOPS if log(float(stop.odds)) < local] or STOPS[:1]
    nearest = min(range(len(stops)), key=lambda at: abs(log(float(stops[at].odds)) - now))
    right = surest(Fraction(exp(now)))
    return MixerSlider(
        [stop.odds for stop in stops],
        [str(rate_text(surest(Fraction(stop.odds)))) for stop in stops],
        nearest,
        str(rate_text(right - _ROUNDING)),
    )


def _epsilon(stated: Mapping[str, Any]) -> float | None:
    """The epsilon that a mixer or a question states, as such or as odds; None where it states none
    that is a number above 0."""
    try:
        if "odds" in stated:
            return log(Fraction(str(stated["odds"]))) or None
        return float(stated["epsilon"]) or None
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return None


def _way(way: Way, draft: Document) -> ShownWay:
    both, several = way.together, len(draft["questions"]) > 1
    return ShownWay(
        way.id,
        way.label,
        way.chosen,
        way.note,
        way.lost,
        way.used,
        way.used > FULL,
        range_of(list(way.margins.values())),
        from_to(*way.one),
        str(way.all_answers) if several else "",
        way.crossed,
        "" if way.chosen else operation_json([*way.operations, *_kept_offer(way, draft)], draft),
        from_to(*both.one) if both else "",
        str(both.all_answers) if both and several else "",
    )


def _kept_offer(way: Way, draft: Document) -> Iterator[Operation]:
    """Keeps the offer of a mixer that another way does not use, so that it can be taken again."""
    mixer: object = draft.get("mixer")
    if isinstance(mixer, dict) and way.id != "mixer":
        yield Operation(None, "offer", cast(Mapping[str, Any], mixer).get("offer"))


def _design(design: SpecialDesign) -> ShownDesign:
    facts: dict[str, str] = {}
    if design.used is not None:
        facts["Privacy spent, all waves"] = f"{design.used} of {FULL}"
    if design.guess is not None:
        facts["Guess from all waves"] = str(design.guess)
    if points := range_of(list(design.margins.values())):
        facts["Plus or minus, in one group"] = f"{points} of 100"
    return ShownDesign(design.label, design.note, design.cost, facts)


def _compared(view: QuickCheck, balance: Balance, people: int) -> Iterator[GroupsCompared]:
    needed = {each.name: each.n_for_difference for each in view.questions}
    for row in balance.margins:
        yield _groups(row.title, needed.get(row.question), people, row.range)
    yield _groups("Asked openly, without protection", view.n_openly, people, None)


def _groups(title: str, needed: int | None, people: int, of: Range | None) -> GroupsCompared:
    """The smallest difference that is seen goes with the root of the number of people."""
    by = "" if of is None else of.text(DIFFERENCE)
    if needed is None:
        return GroupsCompared(title, by, "none", "none")
    seen = DIFFERENCE * sqrt(needed / people)
    text = f"{ceil(100 * seen)} of 100" if of is None else of.text(seen)
    return GroupsCompared(title, by, _about(needed), text if seen < 1 else "none")


def _strip(margin: float) -> Strip:
    bars: list[tuple[int, float, float]] = []
    for level, part in ((95, 1.0), (80, _80), (50, _50)):
        low, high = max(0.0, SAY - 100 * part * margin), min(100.0, SAY + 100 * part * margin)
        bars.append((level, round(low, 1), round(high - low, 1)))
    return Strip(bars, SAY)


def _about(people: int) -> str:
    """A number of people in two digits, rounded up: it is a plan."""
    step = 10 ** max(0, len(str(people)) - 2)
    return f"{-(-people // step) * step:,}"
