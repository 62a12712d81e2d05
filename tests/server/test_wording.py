"""How figures read: no false zero, no sign on a zero, the same in the sentence and in the table."""

from __future__ import annotations

import re

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from deniably.estimation.inversion import Margin, Mean
from deniably.estimation.tally import Tally
from deniably.results.narrative import (
    display_text,
    estimate_text,
    figure_text,
    mean_sentence,
    percent,
)
from deniably.survey.survey import Survey
from deniably_server.storage.store import Store
from support.documents import results
from support.material import a_report, signed, survey_named

OPEN = {"results": {"minimum": 3, "while_open": True}}
SHARES = st.floats(0, 1)


@given(st.lists(SHARES, min_size=3, max_size=3).map(sorted), st.floats(0, 2))
def test_no_share_reads_as_zero_or_less_or_as_all_or_more(
    shares: list[float], beyond: float
) -> None:
    low, estimate, high = shares
    texts = [display_text(estimate, [low, high]), estimate_text(estimate, [low, high])]
    texts += [estimate_text(-beyond, [0, high]), estimate_text(1 + beyond, [low, 1])]

    for text in texts:
        found = re.fullmatch(r"(below |above )?(\d+\.\d) %", text)
        assert found, text
        assert found[1] or 0 < float(found[2]) < 100
        assert text not in ("below 0.0 %", "above 100.0 %")
    if high >= 0.001:
        assert texts[2] == f"below {percent(high)}"
    if low <= 0.999:
        assert texts[3] == f"above {percent(low)}"


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e3))
def test_no_zero_has_a_sign(value: float, error: float) -> None:
    for text in (percent(value / 1e8), figure_text(value / 1e8, error)):
        assert not re.match(r"-[0.]+( %)?$", text)


def test_a_mean_beyond_its_scale_reads_the_same_in_the_sentence_and_in_the_table() -> None:
    margin = Margin(0.25, 1.0, 1.31, missed=False)
    mean = Mean(100, 0.95, 0.874, margin, margin, lambda _: margin)

    assert mean_sentence("The mean score", mean, "") == (
        "The mean score is an estimated 1.00 (95 % interval 1.00 to 1.31)."
    )


def few_reports() -> tuple[Survey, dict[str, Tally]]:
    """Two choices of five that nobody seems to have, while they may have them."""
    survey = survey_named(**OPEN)
    counts = {"stolen": [30, 90], "often": [84, 45, 46, 30, 35]}
    return survey, {
        question.name: Tally(120, np.array(counts[question.name])) for question in survey.questions
    }


def test_what_cannot_be_told_from_nobody_reads_below_the_end_of_its_interval() -> None:
    survey, tallies = few_reports()
    yes_no, often = results(survey, "closed", tallies)["questions"]

    for question in (yes_no, often):
        for choice in question["choices"]:
            low, high = choice["interval"]
            if choice["estimate"] < 0:
                assert estimate_text(choice["estimate"], choice["interval"]) == (
                    f"below {100 * high:.1f} %"
                )
            assert low == 0 or choice["estimate"] > 0
    assert yes_no["choices"][0]["estimate"] == 0
    assert re.match(r"Below \d+\.\d % answered “Yes” \(95 % interval 0\.0 % to", yes_no["sentence"])
    assert any(choice["estimate"] < 0 for choice in often["choices"])


def test_the_page_leads_with_estimate_and_interval(client: FlaskClient, app: Flask) -> None:
    store: Store = app.extensions["deniably"]
    survey = survey_named(**OPEN)
    store.publish(survey, signed(survey))
    for n in range(120):
        store.add(survey, a_report(survey, stolen=[n % 4 != 0], often=[n % 2, 2 + n % 3]))

    page = client.get("/surveys/workplace").text
    head = re.findall(r"<thead><tr>(.*?)</tr>", page)[0]
    header = re.findall(r">([^<]+)</th>", head)
    body = [
        re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row)
        for row in re.findall(r"<tbody>\n(.*?)</tbody>", page, re.S)[1].splitlines()
    ]

    assert header[:3] == ["Answer", "Estimate", "95 % interval"]
    assert header[-1] == "For display"
    assert len(body) == 5
    for _, estimate, interval, *_, shown in body:
        assert estimate != "0.0\u202f%"
        assert not estimate.startswith("-")
        end = interval.partition(" to ")[2]
        if interval.startswith("0.0"):
            assert shown == f"below {end}"
    assert re.search(r"below \d", page)
    assert "-0.0" not in page
    sentence = results(survey, "open", store.shown_tally("workplace"))["questions"][1]["sentence"]
    lead = next(row for row in body if f"“{row[0]}”" in sentence)
    assert lead[1].replace("\u202f", " ") in sentence


@pytest.mark.parametrize("path", ["results.csv", "results"])
def test_the_numbers_to_calculate_with_stay_as_they_are(
    client: FlaskClient, app: Flask, path: str
) -> None:
    store: Store = app.extensions["deniably"]
    survey = survey_named(**OPEN)
    store.publish(survey, signed(survey))
    for _ in range(40):
        store.add(survey, a_report(survey, stolen=[1], often=[3, 4]))

    text = client.get(f"/api/surveys/workplace/{path}").text

    assert "below" not in text.replace("Below", "").partition("sentence")[0]
    assert re.search(r"-0\.\d*[1-9]", text)  # an unbiased estimate below 0
    if path == "results.csv":
        columns = text.partition("\r\n")[0].split(",")
        first = columns.index("estimate")
        assert columns[first : first + 3] == ["estimate", "low", "high"]
