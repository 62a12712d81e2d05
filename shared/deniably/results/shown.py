"""Turns the figures of a results document into rows to be drawn. All pictures round figures here,
so that they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import UNSET

from deniably.estimation.question_shares import UNSCORED
from deniably.results import among_asked, narrative
from deniably.results.document import (
    AmongChoiceResult,
    AreaResult,
    CellResult,
    ChoiceResult,
    MeanResult,
    NumberResult,
    QuantileResult,
    ShareAskedResult,
)
from deniably.results.drawing.rounding import Reading, exact, with_unit
from deniably.results.drawing.row import Row, banded, ends, mean_row, share_row

QUANTILES = {0.25: "A quarter", 0.5: "Half", 0.75: "Three quarters", 0.9: "Nine in ten"}
"""The quantiles that are drawn, with their labels."""
UNSURE = 1 / 3
"""The fraction of the range: where an interval is wider, the dot or quantile is drawn open."""


def ordered(choices: Sequence[ChoiceResult], *, by_size: bool) -> list[ChoiceResult]:
    """Returns the choices in the order of the question, or by falling estimate if ``by_size``.
    Answers such as "Prefer not to say" come last."""
    proper = [choice for choice in choices if not of_choice(choice).aside]
    # Refusals stay last whatever their size: they are no answer to the question.
    aside = [choice for choice in choices if of_choice(choice).aside]
    return [*(sorted(proper, key=lambda choice: -choice.estimate) if by_size else proper), *aside]


def of_choice(choice: ChoiceResult) -> Row:
    """Returns the row of a choice's share. An answer such as "Don't know" is set aside (drawn last
    and grey)."""
    row = share_row(choice.label, choice.estimate, choice.interval)
    row = replace(row, aside=choice.name in UNSCORED)
    return banded(row, choice.interval_80, choice.interval_50)


def of_choice_among(choice: AmongChoiceResult) -> Row:
    """Returns the row of a choice's share among those who were asked the question."""
    reading = among_asked.reading_of(choice)
    # A row needs a number; nothing is drawn at it, since the reading is "unknown".
    middle = sum(choice.interval) / 2 if choice.estimate is None else choice.estimate
    row = share_row(choice.label, middle, choice.interval)
    row = replace(row, reading=reading, open=reading.open, aside=choice.name in UNSCORED)
    return banded(row, choice.interval_80, choice.interval_50)


def of_asked(share: ShareAskedResult) -> Row:
    """Returns the row of the share of everybody who was asked a question with ``show_if``."""
    row = share_row("Were asked", share.estimate, share.interval)
    return banded(row, share.interval_80, share.interval_50)


def of_cell(label: str, cell: CellResult) -> Row:
    """Returns the row of the share of a combination of answers, or of an area of a map."""
    row = share_row(label, cell.estimate, cell.interval)
    if isinstance(cell, AreaResult):
        return banded(row, cell.interval_80, cell.interval_50)
    return row


def of_mean(label: str, mean: MeanResult) -> Row:
    """Returns the row of a mean. If the reports do not determine the mean, the row says so in
    words and nothing is drawn in it."""
    row = mean_row(label, mean.estimate, mean.interval, mean.extent, mean.unit)
    return banded(row, mean.interval_80, mean.interval_50)


def of_quantiles(question: NumberResult) -> list[Row]:
    """Returns a row for each quantile of the answers to a question about a number, with its
    interval and without bands. Returns an empty list if the question has no distribution."""
    if question.quantiles is UNSET or question.distribution is UNSET:
        return []
    range_ = question.distribution[0].low, question.distribution[-1].high
    return [
        _of_quantile(quantile, range_, question.mean.unit)
        for quantile in question.quantiles
        if quantile.share in QUANTILES
    ]


def _of_quantile(quantile: QuantileResult, range_: tuple[str, str], unit: str) -> Row:
    low, high = map(exact, quantile.interval)
    bare = f"{low} to {high}"
    reading = Reading(with_unit(exact(quantile.high), unit), bare, bare, "known")
    return Row(
        label=f"{QUANTILES[quantile.share]} at most",
        estimate=float(quantile.high),
        interval=ends([float(end) for end in quantile.interval]),
        reading=reading,
        open=narrative.width(quantile, range_) > UNSURE,
        muted=True,
    )
