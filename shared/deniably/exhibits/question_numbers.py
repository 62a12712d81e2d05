"""Tabulates the figures of a question with one digit more than its pictures, and says how they
were estimated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from deniably.core.counting import counted, people
from deniably.exhibits.exhibit import Printed
from deniably.exhibits.printing import points, span
from deniably.results import places
from deniably.results.document import (
    AmongAskedResult,
    AreaResult,
    ChoiceResult,
    MeanResult,
    PointResult,
    PoisoningResult,
    ProductResult,
    QuestionResult,
    SelectMultipleResult,
    VectorResult,
)
from deniably.results.drawing import rounding
from deniably.results.drawing.rounding import NARROW

_SHARE, _MEAN = "Share, %", "Mean"
_ALL, _HERE = "All answers at once", "These respondents only"
_LEAST_SEEN = 0.001
"""A share that may be 0 is printed as "below" this share, or below a larger one."""


def number_tables(question: QuestionResult, interval: str) -> Iterator[Printed]:
    """Yields the tables of a question, those that its type has: of shares among those who were
    asked, shares of everybody, means, and combinations.

    ``interval`` is the heading of the column of intervals, such as "95 % interval".
    """
    adjusted = (
        "Adjusted, each by itself"
        if isinstance(question, SelectMultipleResult)
        else "Adjusted to sum to 100"
    )
    among = getattr(question, "among_asked", UNSET)
    if among is not UNSET:
        yield _among_asked(question, among, interval)
    if choices := getattr(question, "choices", UNSET):
        yield _shares(question.label, choices, interval, adjusted)
    match question:
        case VectorResult(known=known):
            if known:
                yield _means(question, [(part.label, mean) for part, mean in known], interval)
        case ProductResult(parts=parts, cells=cells):
            for part in parts:
                yield _shares(part.label, part.choices, interval, adjusted)
            yield _cells(question, cells, interval, adjusted)
        case PointResult(cells=cells):
            if seen := [cell for cell in cells if cell.stands_out]:
                yield _cells(question, seen, interval, adjusted)
        case _:
            if (mean := _mean_of(question)) is not None:
                yield _means(question, [("Everybody", mean)], interval)


def method(question: QuestionResult, interval: str) -> Iterator[str]:
    """Yields paragraphs on how a question's figures were estimated, which population they are
    about, and how far fake reports could move them at most.

    ``interval`` is the name of the intervals, such as "95 % interval".
    """
    if isinstance(question, PointResult):
        yield f"The CSV has all {len(question.cells)} areas."
    yield (
        f"{_reports(question)}. {_worth(question)}Epsilon {question.epsilon} (odds"
        f" {question.odds}{f'; delta {question.delta}' if question.delta else ''}),"
        f" {question.method}{_weights(question)}. {interval}s are for everybody that these people"
        " are a random sample of; “these respondents only” leaves sampling out."
    )
    if isinstance(question, VectorResult):
        for part, mean in question.known:
            if part.poisoning is not None:
                yield _fake_reports(question, part.poisoning, mean, f", {part.label}")
    elif isinstance(question.poisoning, PoisoningResult):
        has_shares = bool(getattr(question, "choices", UNSET))
        only = None if has_shares else _mean_of(question)
        yield _fake_reports(question, question.poisoning, only)


# --- tables -----------------------------------------------------------------------------------


def _among_asked(question: QuestionResult, among: AmongAskedResult, interval: str) -> Printed:
    share = among.asked
    more = ""
    if among.reports == "this question" and not question.blanks:
        more = "; once the survey is closed, those to both questions tell more"
    return Printed(
        f"“{question.label}”, of those who were asked",
        ("Share of those who were asked, %", "Estimate", interval, "Std. error", _ALL),
        [
            [
                choice.label,
                rounding.UNKNOWN if choice.estimate is None else points(choice.estimate),
                span(choice.interval),
                "" if choice.standard_error is None else points(choice.standard_error),
                span(choice.joint_interval),
            ]
            for choice in among.choices
        ],
        note=(
            f"{points(share.estimate)}{NARROW}% were asked ({interval} {span(share.interval)},"
            f" std. error {points(share.standard_error)}). From the reports to {among.reports}"
            f"{more}. The shares below are of everybody."
        ),
    )


def _shares(label: str, choices: Sequence[ChoiceResult], interval: str, adjusted: str) -> Printed:
    return Printed(
        label,
        (_SHARE, "Estimate", interval, "Std. error", _ALL, _HERE, adjusted),
        [
            [
                choice.label,
                points(choice.estimate),
                span(choice.interval),
                points(choice.standard_error),
                span(choice.joint_interval),
                span(choice.respondents_interval),
                _adjusted(choice.consistent, choice.interval),
            ]
            for choice in choices
        ],
    )


def _cells(
    question: QuestionResult, cells: Sequence[AreaResult], interval: str, adjusted: str
) -> Printed:
    return Printed(
        question.label,
        (_SHARE, "Estimate", interval, "Std. error", adjusted),
        [
            [
                ", ".join(map(places.span, cell.names)),
                points(cell.estimate),
                span(cell.interval),
                points(cell.standard_error),
                _adjusted(cell.consistent, cell.interval),
            ]
            for cell in cells
        ],
    )


def _means(
    question: QuestionResult, means: Sequence[tuple[str, MeanResult]], interval: str
) -> Printed:
    return Printed(
        f"the {'means' if len(means) > 1 else 'mean'} of “{question.label}”",
        (_MEAN, "Estimate", interval, "Std. error", _HERE, "Reports"),
        [_mean_line(name, mean) for name, mean in means],
    )


def _mean_line(name: str, mean: MeanResult) -> list[str]:
    figures = [rounding.UNKNOWN, _numbers(mean, *mean.interval), "", ""]
    if mean.estimate is not None and mean.standard_error is not None:
        figures = [
            _numbers(mean, mean.estimate),
            _numbers(mean, *mean.interval),
            _numbers(mean, mean.standard_error),
            _numbers(mean, *mean.respondents_interval),
        ]
    return [f"{name}, {mean.unit}" if mean.unit else name, *figures, f"{mean.n:,}"]


def _mean_of(question: QuestionResult) -> MeanResult | None:
    mean = getattr(question, "mean", UNSET)
    return mean if isinstance(mean, MeanResult) else None


# --- sentences --------------------------------------------------------------------------------


def _reports(question: QuestionResult) -> str:
    """Returns how many reports the figures are from."""
    if question.blanks:
        return f"Reports of {people(question.n)}, among {counted(question.blanks, 'blank')}"
    return counted(question.n, "report")


def _worth(question: QuestionResult) -> str:
    """Returns how many people tell as much as one person asked directly; empty where that is not
    known."""
    effect, effective = (
        getattr(question, key, None) or None for key in ("design_effect", "effective_n")
    )
    if effect is None:
        return ""
    many = f"{effect:,.0f}" if effect >= 10 else f"{effect:.1f}"
    size = f", effective sample size {effective:,.0f}" if effective else ""
    return (
        f"{many} people here tell as much as 1 person asked directly (design effect"
        f" {effect:.1f}{size}). "
    )


def _weights(question: QuestionResult) -> str:
    mechanism = question.mechanism
    own = mechanism.get("own")
    return f", weights {own} : {mechanism.get('other')}" if own else ""


def _fake_reports(
    question: QuestionResult, poisoning: PoisoningResult, mean: MeanResult | None, name: str = ""
) -> str:
    """Returns a sentence on the most that fake reports could change: a mean, or a share where
    ``mean`` is None. ``name`` is the part of the question, after a comma."""
    few, many = poisoning.shift
    if mean is None:
        figure, by_few, by_many = "a share", f"{points(few)} points", points(many)
    else:
        figure, by_many = "the mean", _numbers(mean, many)
        by_few = f"{_numbers(mean, few)} {mean.unit}" if mean.unit else _numbers(mean, few)
    whose, of_these = ("people's", "people's") if question.blanks else ("all", "the")
    flip = ""
    if poisoning.flip:
        flip = (
            f" To take the lead away it takes about {points(poisoning.flip)}{NARROW}% of"
            f" {of_these} reports."
        )
    return (
        f"Fake reports{name}: one weighs as much as {poisoning.exchange:,.1f} honest people. If"
        f" 1{NARROW}% of {whose} reports were fake, {figure} could be off by up to {by_few}, with"
        f" 5{NARROW}% by up to {by_many}.{flip}"
    )


# --- numbers ----------------------------------------------------------------------------------


def _adjusted(share: float, interval: Sequence[float]) -> str:
    """Returns an adjusted share as text; one that may be 0 reads "below" the upper end of its
    interval."""
    # Decided by the printed digits, so that an interval from "0.0" never stands beside an exact
    # share.
    if points(interval[0]) == points(0):
        return f"below {points(max(interval[1], _LEAST_SEEN))}"
    return points(share)


def _numbers(mean: MeanResult, *values: float) -> str:
    """Returns one or two numbers as text, with a decimal more than the mean itself is printed
    with."""
    decimals = rounding.places(mean.interval) + 1
    return " to ".join(rounding.number(value, decimals) for value in values)
