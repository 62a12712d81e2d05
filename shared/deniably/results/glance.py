"""One finding of a survey, for lists of surveys: the first question about shares, in one row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import numpy as np

from deniably.estimation.estimate import Estimate
from deniably.estimation.figures import Shares, groups
from deniably.estimation.intervals import Ends, within_each_other
from deniably.estimation.tally import Tally
from deniably.results.figures.row import Row, banded, share_row
from deniably.survey.questions import NOT_APPLICABLE, OfChoices, Point, Product, YesNo
from deniably.survey.readable import short_label
from deniably.survey.survey import Survey

_LEVELS = (0.8, 0.5)


def finding(survey: Survey, tallies: Mapping[str, Tally]) -> Row | None:
    """The share of people with the first answer to a yes/no question, or with the most frequent
    answer to another, of the first question about shares. None without such a question.

    The label is the survey's title, the note names question and answer and counts the people.
    """
    for question in survey.questions:
        if isinstance(question, Point | Product):
            continue
        for group in groups(question):
            if isinstance(group, Shares):
                return _row(survey, cast(OfChoices, question), group, tallies[question.name])
    return None


def _row(survey: Survey, question: OfChoices, group: Shares, tally: Tally) -> Row:
    found = group.estimate(tally, 0.95)
    v = _told(question, found)
    whole = (found.low, found.high)
    _, *bands = within_each_other([whole, *map(found.interval_at, _LEVELS)])
    row = share_row(survey.title, float(found.raw[v]), (float(found.low[v]), float(found.high[v])))
    note = f"{short_label(question)} “{question.choices[v].label}” · {tally.n:,} people"
    return replace(banded(row, *(_at(band, v) for band in bands)), note=note)


def _told(question: OfChoices, found: Estimate) -> int:
    """The index of the answer that is told of: yes, or the most frequent one."""
    if isinstance(question, YesNo):
        return 0
    order = [int(v) for v in np.argsort(-found.raw, kind="stable")]
    return next((v for v in order if question.choices[v].name != NOT_APPLICABLE), order[0])


def _at(ends: Ends, v: int) -> tuple[float, float]:
    return float(ends[0][v]), float(ends[1][v])
