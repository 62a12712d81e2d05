"""An author's outline on the pages: the form's map, the results' map and the figures."""

from __future__ import annotations

import gzip
import json
import re
from random import Random

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably import check_survey
from deniably.authoring.compiling import compile_survey
from deniably.core.coins import Coins
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from support.material import signed
from support.soak import soak

SQUARE = "M105 895 605 895 605 395 105 395 105 895"


def town(outline: object = None, name: str = "town") -> dict[str, object]:
    question = {
        "name": "home", "type": "point", "label": "Where do you live?", "epsilon": 2, "grid": 4,
        "parts": [
            {"name": each, "label": each, "minimum": 0, "maximum": 99} for each in ("east", "north")
        ],
    }  # fmt: skip
    drawn = {} if outline is None else {"outline": outline}
    results = {"minimum": 1, "while_open": True}
    return {"name": name, "title": "A town", "results": results, "questions": [question | drawn]}


def publish(app: Flask, document: dict[str, object]) -> Survey:
    survey = compile_survey(document)
    app.extensions["deniably"].publish(survey, signed(survey))
    return survey


def test_the_outline_lies_on_the_map_of_the_form(client: FlaskClient, app: Flask) -> None:
    publish(app, town(SQUARE))
    picture = re.search('<svg viewBox="0 0 100 100">.*?</svg>', client.get("/s/town").text)
    assert picture
    assert f'<path d="{SQUARE}" transform="scale(0.1)" fill="none"' in picture[0]


def test_a_map_without_an_outline_has_its_areas_alone(client: FlaskClient, app: Flask) -> None:
    publish(app, town())
    picture = re.search('<svg viewBox="0 0 100 100">.*?</svg>', client.get("/s/town").text)
    assert picture
    assert picture[0].count("<path") == 1


def test_results_and_figures_have_the_outline_too(client: FlaskClient, app: Flask) -> None:
    survey, coins = publish(app, town(SQUARE)), Coins(Random(1).randbytes)
    for _ in range(300):
        answers = {"home": {"east": "30", "north": "40"}}
        app.extensions["deniably"].add(survey, randomise_answers(survey, answers, coins))

    assert f'<path d="{SQUARE}"' in client.get("/surveys/town").text
    results = json.loads(client.get("/api/surveys/town/results").data)
    assert results["questions"][0]["outline"] == SQUARE
    figure = client.get("/api/surveys/town/figures/home.svg").text
    assert re.search(r'<path d="(M[\d.]+ [\d.]+L[\d.]+ [\d.]+){4}" stroke="#[0-9a-f]+" ', figure)


def _line(points: int) -> list[list[list[float]]]:
    random, x, y = Random(points), 50.0, 50.0
    line = [[x, y]]
    while len(line) < points:
        x, y = x + random.gauss(0, 3), y + random.gauss(0, 3)
        if 0 <= x <= 99 and 0 <= y <= 99:
            line.append([round(x, 2), round(y, 2)])
        x, y = line[-1]
    return [line]


@pytest.mark.parametrize("points", [5, soak(100), 5000])
def test_the_check_says_what_a_form_weighs_more(
    client: FlaskClient, app: Flask, points: int
) -> None:
    publish(app, town())
    publish(app, town(_line(points), "drawn"))
    plain, drawn = (len(gzip.compress(client.get(f"/s/{each}").data)) for each in ("town", "drawn"))
    (said,) = (
        re.search(r"costs each device about ([\d,]+) bytes", note)
        for note in check_survey(town(_line(points))).notes
        if "outline" in note
    )

    assert said
    assert int(said[1].replace(",", "")) == pytest.approx(drawn - plain, rel=0.15, abs=30)
