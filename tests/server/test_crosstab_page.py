"""The page of a cross-table: what it shows and what it keeps folded, and how to choose a table."""

from __future__ import annotations

import csv
import io
import json
import re
import secrets
from html import unescape
from itertools import product
from statistics import median
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.results.drawing import rounding
from deniably.survey.report import Report
from deniably_server.storage.store import Store
from support.material import signed, survey_named

SUBSETS = [[a, b] for a in range(5) for b in range(a + 1, 5)]
Filled = tuple[FlaskClient, dict[str, Any]]
PATH = "/surveys/workplace/crosstab?rows=often&columns=stolen"


def fill(app: Flask, name: str, pairs: dict[int, list[list[int]]], times: int) -> None:
    questions = json.loads(survey_named().canonical)["questions"]
    questions[0]["short"] = "Stolen"
    survey = survey_named(name, results={"minimum": 5, "while_open": False}, questions=questions)
    store: Store = app.extensions["deniably"]
    store.publish(survey, signed(survey))
    for own, subsets in pairs.items():
        for subset in subsets * times:
            values = {"stolen": [own], "often": subset}
            store.add(survey, Report(secrets.token_hex(16), survey.digest, values))


@pytest.fixture
def together(app: Flask, client: FlaskClient) -> Filled:
    """Who steals, steals often; nobody does it twice."""
    fill(app, "workplace", {0: [[2, 3], [3, 4], [3, 4]], 1: [[0, 1], [0, 2], [0, 1]]}, 60)
    app.extensions["deniably"].close_survey("workplace")
    return client, client.get(f"/api{PATH}").get_json()


def text_of(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", page))


def test_the_page_says_whether_they_go_together_and_draws_the_share_within_each_row(
    together: Filled,
) -> None:
    client, found = together
    page = client.get(PATH).text

    assert found["sentence"] in text_of(page)
    assert found["sentence"].startswith("They go together")
    assert "<h1>How often? × Stolen</h1>" in page
    strips = re.findall(r'<tr role="row".*?</tr>', page.split("<tbody")[1])
    assert len(strips) == 5
    for line, row, name in zip(strips, found["cells"], found["rows"], strict=True):
        share = row[0]["of_row"]
        said = text_of(line)
        assert name in said
        if share["estimate"] is None:
            assert rounding.UNKNOWN in said
            assert rounding.share(0.5, share["interval"]).interval in said
            assert "<circle" not in line
        else:
            reading = rounding.share(share["estimate"], share["interval"])
            assert reading.value in said
            assert reading.interval in said
            assert "b80" in line, "the bands come from the library"
    assert "style=" not in page


def test_the_sentence_the_strips_and_the_heat_table_give_the_same_figures(
    together: Filled,
) -> None:
    client, found = together
    page = client.get(PATH).text

    finding = text_of(re.findall(r'<p class="finding">(.*?)</p>', page)[0])
    heat = text_of(page[page.index('class="heat"') :])
    told = [row[0]["of_row"] for row in found["cells"] if row[0]["of_row"]["estimate"] is not None]
    readings = [rounding.share(one["estimate"], one["interval"]) for one in told]
    assert len(told) >= 2
    assert len(readings) <= 4, "all of them are named"
    for reading in [one for one in readings if one.state == "known"] or readings:
        assert f"{reading.value} ({reading.bare})" in finding
    for reading in readings:
        assert reading.value in heat
        assert reading.bare in heat


@pytest.mark.parametrize("of", ["rows", "columns", "all"])
def test_percentages_are_of_rows_columns_or_all(together: Filled, of: str) -> None:
    client, found = together
    page = client.get(f"{PATH}&of={of}").text

    assert f'<b aria-current="page">% of {of}</b>' in page
    heat = page[page.index('class="heat"') :]
    body = text_of(heat[: heat.index("</table>")])
    for row in found["cells"]:
        for cell in row:
            share = cell if of == "all" else cell[f"of_{of.removesuffix('s')}"]
            if share["estimate"] is not None:
                assert rounding.share(share["estimate"], share["interval"]).value in body
    shown = {"row_margins": of != "rows", "column_margins": of != "columns"}
    for key, has in shown.items():
        for margin in found[key]:
            share = rounding.share(margin["estimate"], margin["interval"])
            assert not has or share.bare in body


def test_pairs_that_say_too_little_are_folded(app: Flask, client: FlaskClient) -> None:
    fill(app, "workplace", dict.fromkeys(range(2), SUBSETS), 2)
    app.extensions["deniably"].close_survey("workplace")

    page = client.get(PATH).text

    assert "These reports do not show that the two go together" in text_of(page)
    assert "points only" in page
    folded = page.index("Show the 10 cells anyway")
    assert folded < page.index('class="heat"'), "the table is inside the disclosure"
    assert 'class="finding"' not in page


def test_without_two_questions_there_are_two_selects(together: Filled) -> None:
    client, _ = together
    page = client.get("/surveys/workplace/crosstab")

    assert page.status_code == 200
    assert page.mimetype == "text/html"
    for key in ("rows", "columns"):
        assert f'<label for="{key}">' in page.text
        assert f'<select id="{key}" name="{key}">' in page.text
    assert page.text.count('<option value="stolen"') == 2
    assert 'action="/surveys/workplace/crosstab"' in page.text
    assert "form-action 'self'" in page.headers["Content-Security-Policy"]
    assert 'href="/surveys/workplace/crosstab"' in client.get("/surveys/workplace").text


def test_the_level_of_the_intervals_is_kept_from_page_to_page(together: Filled) -> None:
    client, _ = together
    page = client.get("/surveys/workplace?confidence=0.9").text

    for address in ("crosstab?confidence=0.9", "differences?confidence=0.9"):
        assert f'href="/surveys/workplace/{address}"' in page
        chooser = client.get(f"/surveys/workplace/{address}").text
        assert '<input type="hidden" name="confidence" value="0.9">' in chooser
    pair = "crosstab?rows=stolen&amp;columns=often&amp;confidence=0.9"
    assert f'href="/surveys/workplace/{pair}"' in page
    assert "90\u202f% interval" in client.get(f"/surveys/workplace/{unescape(pair)}").text


@pytest.mark.parametrize(
    ("query", "why"),
    [("rows=stolen&columns=stolen", "name the same question"), ("rows=x&columns=often", "“rows”")],
)
def test_a_choice_that_has_no_table_is_explained_beside_the_selects(
    together: Filled, query: str, why: str
) -> None:
    answer = together[0].get(f"/surveys/workplace/crosstab?{query}")

    assert answer.status_code == 400
    assert answer.mimetype == "text/html"
    assert why in text_of(answer.text)
    assert answer.text.count("<select") == 2


def test_of_one_question_the_other_is_still_to_choose(together: Filled) -> None:
    page = together[0].get("/surveys/workplace/crosstab?rows=often").text

    rows = page[page.index('<select id="rows"') :]
    assert rows.index('<option value="often" selected') < rows.index("</select>")


def test_before_closing_a_page_says_so(app: Flask, client: FlaskClient) -> None:
    fill(app, "workplace", dict.fromkeys(range(2), SUBSETS), 1)

    for path in (PATH, "/surveys/workplace/crosstab"):
        page = client.get(path)
        assert (page.status_code, page.mimetype) == (403, "text/html")
        assert "The results are not shown yet" in page.text
        assert "<table" not in page.text
    assert client.get(f"/api{PATH}").status_code == 403


def test_where_the_results_are_shown_already_the_page_leads_back_to_them(
    app: Flask, client: FlaskClient
) -> None:
    shown = survey_named("shown", results={"minimum": 1, "while_open": True})
    store: Store = app.extensions["deniably"]
    store.publish(shown, signed(shown))
    values = {"stolen": [0], "often": [0, 1]}
    store.add(shown, Report(secrets.token_hex(16), shown.digest, values))

    page = client.get("/surveys/shown/crosstab")

    assert page.status_code == 403
    assert "<h1>This is not shown yet</h1>" in page.text
    assert '<a class="button quiet" href="/surveys/shown">' in page.text


def test_questions_to_choose_from_are_called_what_their_author_calls_them(
    together: Filled,
) -> None:
    page = together[0].get("/surveys/workplace/crosstab").text

    assert page.count(">Stolen</option>") == 2
    assert page.count(">How often?</option>") == 2


def test_the_csv_has_every_figure_of_the_json(together: Filled) -> None:
    client, found = together
    answer = client.get(f"/api{PATH}".replace("crosstab", "crosstab.csv"))
    rows = list(csv.DictReader(io.StringIO(answer.text)))

    assert answer.headers["Content-Disposition"] == (
        'attachment; filename="workplace-often-stolen.csv"'
    )
    assert len(rows) == 5 + 2 + 3 * 10
    assert {(row["rows_label"], row["columns_label"]) for row in rows} == {
        tuple(found["questions"])
    }
    for a, b in product(range(5), range(2)):
        cell = found["cells"][a][b]
        for which, share in (
            ("all", cell), ("within the row", cell["of_row"]),
            ("within the column", cell["of_column"]),
        ):  # fmt: skip
            figure = f"share {'of ' * (which == 'all')}{which}"
            (row,) = [
                row
                for row in rows
                if (row["figure"], row["row"], row["column"])
                == (figure, found["row_names"][a], found["column_names"][b])
            ]
            expected = share["estimate"]
            assert row["estimate"] == ("" if expected is None else str(expected))
            assert [float(row["low"]), float(row["high"])] == share["interval"]


def test_the_page_says_once_what_one_product_question_would_have_told(together: Filled) -> None:
    client, found = together

    page = text_of(client.get(PATH).text)

    ((epsilon, then, now),) = re.findall(
        r"one product question with the same epsilon in all \((.*?)\), as many people would tell"
        r" the share of a pair to about ±(\d+) points instead of ±(\d+),",
        page,
    )
    errors = [cell["standard_error"] for line in found["cells"] for cell in line]
    assert now == rounding.half(1.96 * median(errors))
    assert int(then) < int(now)
    losses = [question.mechanism.loss for question in survey_named().questions]
    assert epsilon == (losses[0] + losses[1]).epsilon_text()
