"""Cross-tables: of those alone who were asked both questions, and honest about their fit."""

from __future__ import annotations

import csv
import json
import secrets
from itertools import product
from typing import Any

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import compile_survey
from deniably.estimation.crosstab import count_pairs, crosstab, likeliest
from deniably.estimation.estimate import project
from deniably.estimation.shrinkage_table import shrunken_table
from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably_server.storage.store import Store
from support.material import a_report, assert_problem, signed, survey_named

OPEN = {"results": {"minimum": 5, "while_open": True}}
PATH = "/api/surveys/workplace/crosstab?rows=stolen&columns=often"
SUBSETS = [[a, b] for a in range(5) for b in range(a + 1, 5)]


def add(store: Store, survey: Survey, values: dict[str, list[int]], times: int = 1) -> None:
    for _ in range(times):
        store.add(survey, Report(secrets.token_hex(16), survey.digest, values))


def published(app: Flask, **changes: Any) -> tuple[Store, Survey]:
    store: Store = app.extensions["deniably"]
    survey = survey_named(**OPEN | changes)
    store.publish(survey, signed(survey))
    return store, survey


def crossed(app: Flask) -> list[tuple[int, list[int], int]]:
    """Reports to both questions, in any numbers: those who say yes are often the daily ones."""
    store, survey = published(app)
    made = [
        (own, pair, 1 + 3 * (own == 0 and 4 in pair) + (own + sum(pair)) % 3)
        for own, pair in product(range(2), SUBSETS)
    ]
    for own, pair, times in made:
        add(store, survey, {"stolen": [own], "often": pair}, times)
    store.close_survey("workplace")
    return made


def consistent(found: dict[str, Any]) -> np.ndarray[Any, Any]:
    return np.array([[cell["consistent"] for cell in row] for row in found["cells"]])


def by_plain_em(counts: list[int], columns: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Dempster, Laird and Rubin's steps, 20,000 of them, from columns of the joint channel."""
    tallied, channel = np.array(counts), np.array([column.ravel() for column in columns]).T
    shares = np.full(len(channel), 1 / len(channel))
    for _ in range(20_000):
        shares = shares * (channel @ (tallied / (shares @ channel))) / tallied.sum()
    return shares.reshape(columns[0].shape)


def test_two_single_choices_show_the_likeliest_shares(app: Flask, client: FlaskClient) -> None:
    made = crossed(app)

    found = client.get(PATH).get_json()

    assert found["fit"] == "maximum_likelihood"
    columns = [
        np.outer(
            [3 if a == own else 1 for a in range(2)], [3 if b in pair else 1 for b in range(5)]
        )
        for own, pair, _ in made
    ]
    expected = by_plain_em([times for *_, times in made], columns)
    np.testing.assert_allclose(consistent(found), expected, atol=0.02)
    assert np.abs(consistent(found) - np.clip([[c["estimate"] for c in r] for r in found["cells"]],
                                              0, 1)).max() > 0.03  # fmt: skip
    page = client.get("/surveys/workplace/crosstab?rows=stolen&columns=often").text
    assert "maximum likelihood" in page
    assert 'href="/api/surveys/workplace/crosstab?rows=stolen&amp;columns=often"' in page


def test_bits_one_by_one_have_the_likelihood_that_they_have(
    app: Flask, client: FlaskClient
) -> None:
    """Unary encoding with p = 1/2 and q = 1/4: report by report, all bits of it."""
    questions = json.loads(survey_named().canonical)["questions"]
    questions[0]["mechanism"] = {
        "name": "unary", "k": 2, "most": 1, "own": 2, "other": 1, "total": 4,
    }  # fmt: skip
    store, survey = published(app, questions=questions)
    made = [
        (bits, pair, 2 + 7 * (bits == [0] and 4 in pair) + len(bits))
        for bits, pair in product([[], [0], [1], [0, 1]], SUBSETS)
    ]
    for bits, pair, times in made:
        add(store, survey, {"stolen": bits, "often": pair}, times)

    store.close_survey("workplace")
    found = client.get(PATH).get_json()

    def likelihood(bits: list[int], a: int) -> float:
        """The own bit is set as often as not; the other one in a quarter of reports."""
        return 1 / 2 * (1 / 4 if 1 - a in bits else 3 / 4)

    columns = [
        np.outer([likelihood(bits, a) for a in range(2)], [3 if b in pair else 1 for b in range(5)])
        for bits, pair, _ in made
    ]
    assert found["fit"] == "maximum_likelihood"
    expected = by_plain_em([times for *_, times in made], columns)
    np.testing.assert_allclose(consistent(found), expected, atol=0.02)


def test_a_large_table_is_shrunk_alike_as_json_as_csv_and_on_the_page(
    app: Flask, client: FlaskClient
) -> None:
    """5 by 5 cells of two questions whose reports name 2 of 5 choices."""
    often = json.loads(survey_named().canonical)["questions"][1]
    store, survey = published(app, questions=[often, often | {"name": "again"}])
    made = [(one, other) for one, other in product(SUBSETS, SUBSETS) if set(one) & set(other)]
    for one, other in made:
        add(store, survey, {"often": one, "again": other}, 1 + 2 * (4 in one and 4 in other))
    store.close_survey("workplace")
    query = "crosstab{}?rows=often&columns=again"

    found = client.get("/api/surveys/workplace/" + query.format("")).get_json()

    bits = [
        np.array([[b in pair for b in range(5)] for pair in side]).repeat(
            [1 + 2 * (4 in one and 4 in other) for one, other in made], axis=0
        )
        for side in zip(*made, strict=True)
    ]
    mechanism = survey.questions[0].mechanism
    rates = float(mechanism.p), float(mechanism.q)  # type: ignore[union-attr]
    expected = shrunken_table(count_pairs(bits[0], bits[1]).kinds, (rates, rates))
    assert found["fit"] == "shrinkage"
    np.testing.assert_allclose(consistent(found), expected, atol=1e-6)
    sheet = client.get("/api/surveys/workplace/" + query.format(".csv")).text.splitlines()
    shown = [row["consistent"] for row in csv.DictReader(sheet) if row["consistent"]]
    np.testing.assert_allclose([float(one) for one in shown], consistent(found).ravel())
    assert "empirical Bayes" in client.get("/surveys/workplace/" + query.format("")).text


def test_names_stand_beside_labels_so_that_programs_need_no_definition(
    app: Flask, client: FlaskClient
) -> None:
    crossed(app)

    found = client.get(PATH).get_json()

    assert found["question_names"] == ["stolen", "often"]
    assert found["row_names"] == ["yes", "no"]
    assert found["rows"] == ["Yes", "No"]
    choices = json.loads(survey_named().canonical)["questions"][1]["choices"]
    assert found["column_names"] == [choice["name"] for choice in choices]
    assert found["columns"] == [choice["label"] for choice in choices]
    assert len(found["cells"]) == len(found["row_names"])
    assert {len(row) for row in found["cells"]} == {len(found["column_names"])}


def test_shares_of_rows_and_of_columns_have_margins_intervals_and_covariances(
    app: Flask, client: FlaskClient
) -> None:
    made = crossed(app)

    found = client.get(PATH).get_json()

    n = sum(times for *_, times in made)
    yes = sum(times for own, _, times in made if own == 0) / n
    shares = [(yes - 0.25) / 0.5, (0.75 - yes) / 0.5]
    assert [one["estimate"] for one in found["row_margins"]] == pytest.approx(shares, abs=1e-6)
    assert [one["name"] for one in found["column_margins"]] == found["column_names"]
    for row, margin in zip(found["cells"], found["row_margins"], strict=True):
        assert margin["interval"][0] <= margin["estimate"] <= margin["interval"][1]
        assert sum(cell["estimate"] for cell in row) == pytest.approx(margin["estimate"], abs=1e-5)
        for cell in row:
            within = cell["of_row"]
            low, high = within["interval"]
            if within["estimate"] is None:
                assert within["standard_error"] is within["interval_80"] is None
                assert high - low > 0.8
                continue
            ratio = cell["estimate"] / margin["estimate"]
            assert within["estimate"] == pytest.approx(ratio, abs=1e-4)
            # The error of a ratio, by the covariances that the document has (delta method).
            errors = cell["standard_error"] ** 2, margin["standard_error"] ** 2
            variance = errors[0] + ratio**2 * errors[1] - 2 * ratio * within["covariance"]
            if low > 0 and high < 1:
                delta = variance**0.5 / margin["estimate"]
                assert within["standard_error"] == pytest.approx(delta, rel=0.25)


def test_turning_the_table_swaps_rows_and_columns(app: Flask, client: FlaskClient) -> None:
    crossed(app)

    found = client.get(PATH).get_json()
    turned = client.get("/api/surveys/workplace/crosstab?rows=often&columns=stolen").get_json()

    assert found["row_margins"] == turned["column_margins"]
    for a, row in enumerate(found["cells"]):
        for b, cell in enumerate(row):
            assert cell["of_row"] == turned["cells"][b][a]["of_column"]


def test_one_sentence_says_whether_answers_go_together(app: Flask, client: FlaskClient) -> None:
    store, survey = published(app)
    for own, pair in ((0, [3, 4]), (1, [0, 1])):
        add(store, survey, {"stolen": [own], "often": pair}, 25)
    store.close_survey("workplace")
    store, survey = published(app, name="unrelated")
    for own, pair in product(range(2), SUBSETS):
        add(store, survey, {"stolen": [own], "often": pair}, 2)
    store.close_survey("unrelated")

    found = client.get(PATH).get_json()
    none = client.get(PATH.replace("workplace", "unrelated")).get_json()

    assert found["independence"] == 0.001
    assert found["sentence"] == (
        "They go together (p\u00a0=\u00a00.001: chance alone would show this much in 1 of"
        " 1,000 surveys)."
    )
    assert none["sentence"] == (
        "These reports do not show that the two go together (p\u00a0=\u00a01.00)."
    )


def test_what_would_take_long_is_projected(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    crossed(app)
    monkeypatch.setattr("deniably.estimation.crosstab._WORK", 1)

    found = client.get(PATH).get_json()

    raw = np.array([[cell["estimate"] for cell in row] for row in found["cells"]])
    assert found["fit"] == "projection"
    np.testing.assert_allclose(consistent(found), project(raw.ravel()).reshape(2, 5), atol=1e-5)
    page = client.get("/surveys/workplace/crosstab?rows=stolen&columns=often").text
    assert "the nearest shares to the estimates" in page


def test_several_ticks_are_shown_one_by_one(app: Flask, client: FlaskClient) -> None:
    questions = json.loads(survey_named().canonical)["questions"]
    questions[1] |= {
        "type": "select_multiple",
        "most": 1,
        "mechanism": {"name": "unary", "k": 5, "most": 1, "own": 2, "other": 1, "total": 4},
        "claim": {"odds": "3"},
    }
    store, survey = published(app, questions=questions)
    add(store, survey, {"stolen": [0], "often": [0, 1]}, 20)
    add(store, survey, {"stolen": [1], "often": [4]}, 20)

    store.close_survey("workplace")
    found = client.get(PATH).get_json()

    raw = np.array([[cell["estimate"] for cell in row] for row in found["cells"]])
    assert found["fit"] == "clipping"
    np.testing.assert_array_equal(consistent(found), np.clip(raw, 0, 1))


def test_only_those_who_were_asked_both_are_crossed(app: Flask, client: FlaskClient) -> None:
    """Two of three questions each: of 100 respondents, 40 were asked these two."""
    questions = json.loads(survey_named().canonical)["questions"]
    third = questions[0] | {"name": "third"}
    store, survey = published(app, questions=[*questions, third], ask=2)
    both = [(n % 2, SUBSETS[n % 10]) for n in range(40)]
    for own, pair in both:
        add(store, survey, {"stolen": [own], "often": pair})
    add(store, survey, {"stolen": [0], "third": [1]}, 35)
    add(store, survey, {"often": [0, 3], "third": [0]}, 25)

    store.close_survey("workplace")
    found = client.get(PATH).get_json()

    bits = np.eye(2, dtype=bool)[[own for own, _ in both]]
    subsets = np.array([[b in pair for b in range(5)] for _, pair in both])
    rates = [
        (float(question.mechanism.p), float(question.mechanism.q))  # type: ignore[union-attr]
        for question in survey.questions[:2]
    ]
    alone = crosstab(count_pairs(bits, subsets).kinds, *rates)
    shares = likeliest(bits, subsets, (3, 3))
    assert shares is not None
    assert found["n"] == 40
    for key, expected in (("estimate", alone.raw), ("standard_error", alone.standard_error)):
        got = [[cell[key] for cell in row] for row in found["cells"]]
        np.testing.assert_allclose(got, expected, atol=1e-6)
    np.testing.assert_allclose(consistent(found), shares, atol=1e-6)


def test_where_nobody_was_asked_both_there_is_no_table(app: Flask, client: FlaskClient) -> None:
    questions = json.loads(survey_named().canonical)["questions"]
    store, survey = published(app, questions=questions, ask=1)
    add(store, survey, {"stolen": [0]}, 10)
    add(store, survey, {"often": [0, 1]}, 10)

    store.close_survey("workplace")
    answer = client.get(PATH)

    assert answer.status_code == 404
    assert "asked both" in answer.get_json()["detail"]


def test_the_p_value_comes_from_dealing_reports_out_and_stays_the_same(
    app: Flask, client: FlaskClient
) -> None:
    crossed(app)

    found, again = (client.get(PATH).get_json() for _ in range(2))
    turned = client.get("/api/surveys/workplace/crosstab?rows=often&columns=stolen").get_json()

    assert found["shuffles"] == 999
    assert found["independence"] == again["independence"] == turned["independence"]
    assert found["independence"] == pytest.approx(round(1000 * found["independence"]) / 1000)
    page = client.get("/surveys/workplace/crosstab?rows=stolen&columns=often").text
    assert "999 times" in page


def test_a_table_of_too_many_cells_is_refused_and_the_dashboard_offers_none(
    app: Flask, client: FlaskClient
) -> None:
    sizes = {"small": 10, "wide": 100, "wider": 101}
    questions = [
        {"name": name, "type": "select_one", "label": name, "epsilon": 1,
         "choices": [f"Choice {index}" for index in range(size)]}
        for name, size in sizes.items()
    ]  # fmt: skip
    given = {"name": "wide", "title": "Wide", "contact": "a@example.org"}
    survey = compile_survey(given | {"results": {"minimum": 2}, "questions": questions})
    store: Store = app.extensions["deniably"]
    store.publish(survey, signed(survey))
    for _ in range(2):
        store.add(survey, a_report(survey))
    store.close_survey("wide")
    path = "/api/surveys/wide/crosstab?rows={}&columns={}".format

    assert client.get(path("small", "wide")).status_code == 200
    for rows, columns in (("small", "wider"), ("wider", "small")):
        refused = client.get(path(rows, columns))
        detail = assert_problem(refused, 422, "too-much")["detail"]
        assert "at most 1,000 cells, and this one would have 1,010" in detail
        assert "/api/surveys/wide/results.csv" in detail
    assert client.get("/api/surveys/wide/results.csv").status_code == 200

    page = client.get("/surveys/wide").text
    assert 'crosstab?rows=small&amp;columns=wide"' in page
    assert 'columns=wider"' not in page
