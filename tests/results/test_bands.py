"""The narrower intervals of a figure: made as the wide one is, and each within the next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.estimation.intervals import population_interval, within_each_other
from deniably.estimation.tally import Tally, tally
from deniably.exhibits.results_table import estimate
from deniably.results.document import YesNoResult
from deniably.results.rows import rows
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from support.documents import results
from support.every_type import somebody, survey_of_everything

EVERYTHING = survey_of_everything()


def answered(survey: Survey, n: int, *, alike: bool, seed: int = 1) -> dict[str, Tally]:
    """The tallies of n people, by chance all with the same answers."""
    random = Random(seed)
    people = [somebody(random)] * n if alike else [somebody(random) for _ in range(n)]
    values = [randomise_answers(survey, person).values for person in people]
    return {
        one.name: tally((value[one.name] for value in values), one.mechanism.law.cell_count)
        for one in survey.questions
    }


def figures(document: Any) -> Iterator[dict[str, Any]]:
    """Shares, means, combinations and areas, of whole questions and of parts."""
    for question in document["questions"]:
        for part in (question, *question.get("parts", ())):
            yield from part.get("choices", ())
            yield from part.get("cells", ())
            if part.get("mean"):
                yield part["mean"]


@pytest.mark.parametrize(("n", "alike"), [(1, True), (5, False), (30, True), (300, False)])
def test_fifty_per_cent_lie_within_eighty_and_eighty_within_the_interval(
    n: int, alike: bool
) -> None:
    document = results(EVERYTHING, "closed", answered(EVERYTHING, n, alike=alike))

    told = [one for one in figures(document) if one["estimate"] is not None]
    for among in (one["among_asked"] for one in document["questions"] if "among_asked" in one):
        told += [one for one in among["choices"] if one["estimate"] is not None]
        told.append(among["asked"])

    assert len(told) > 90
    for one in told:
        low, low_80, low_50 = (one[key][0] for key in ("interval", "interval_80", "interval_50"))
        high, high_80, high_50 = (one[key][1] for key in ("interval", "interval_80", "interval_50"))
        assert low <= low_80 <= low_50 <= high_50 <= high_80 <= high


def test_each_band_is_what_the_interval_is_at_that_confidence() -> None:
    """For every type of question and every mechanism: there is no second method."""
    tallies = answered(EVERYTHING, 400, alike=False)
    whole = list(figures(results(EVERYTHING, "closed", tallies)))
    for level, around in ((0.8, "interval"), (0.5, "interval_80")):
        there = figures(results(EVERYTHING, "closed", tallies, confidence=level))
        same = 0
        for wide, narrow in zip(whole, there, strict=True):
            band = wide[f"interval_{100 * level:.0f}"]
            if band is None or narrow["estimate"] is None:
                continue
            assert band == pytest.approx(np.clip(narrow["interval"], *wide[around]), abs=1e-9)
            same += band == narrow["interval"]
        assert same > 80  # all but those whose count no share explains at that level


def test_there_is_no_band_as_wide_as_the_interval_or_wider() -> None:
    tallies = answered(EVERYTHING, 50, alike=False)

    at = {level: results(EVERYTHING, "closed", tallies, confidence=level) for level in (0.8, 0.5)}

    assert all(one["interval_80"] is None for level in at for one in figures(at[level]))
    assert any(one["interval_50"] for one in figures(at[0.8]))
    assert all(one["interval_50"] is None for one in figures(at[0.5]))


def test_the_table_has_the_bands_of_the_document() -> None:
    survey = survey_of_everything()
    found = estimate(survey, answered(survey, 60, alike=False)).document

    shown = [row for row in rows(found) if row.get("standard_error") is not None]

    question = found.questions[0]
    assert isinstance(question, YesNoResult)
    first = question.choices[0]
    assert [shown[0][key] for key in ("low_80", "high_80")] == first.interval_80
    assert [shown[0][key] for key in ("low_50", "high_50")] == first.interval_50
    assert all(row.get("low_80") is not None for row in shown)


@settings(max_examples=200)
@given(st.integers(1, 60), st.floats(0.001, 0.4), st.floats(0.05, 0.59))
def test_bands_of_reports_that_no_share_explains_still_lie_within_each_other(
    n: int, q: float, apart: float
) -> None:
    """Every count that n reports can have, also those that honest devices never send."""
    counts = np.arange(n + 1)

    found = within_each_other(
        population_interval(counts, n, q + apart, q, alpha).ends for alpha in (0.05, 0.2, 0.5)
    )

    for (low, high), (inner_low, inner_high) in pairwise(found):
        assert (low <= inner_low).all()
        assert (inner_low <= inner_high).all()
        assert (inner_high <= high).all()
