"""A comparison is a document and its exhibit: page, CSV, JSON, figure, notebook and words follow.

The ratio of two shares, which nothing but this module knows, goes through all of them as it stands.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from html import unescape
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, TypedDict

import pytest
from flask import Flask
from flask.testing import FlaskClient

import deniably as dn
from deniably.authoring.compiling import compile_survey
from deniably.core.counting import people
from deniably.core.errors import Incomparable, NoFigure
from deniably.exhibits.comparison import Comparison
from deniably.exhibits.exhibit import Exhibit, Picture, Printed, Records
from deniably.exhibits.marks import Strips
from deniably.mechanisms.law import Supporting
from deniably.results.differences import Side
from deniably.results.drawing import axes, rounding
from deniably.results.drawing.rounding import Reading
from deniably.results.drawing.row import Row
from deniably.results.narrative import level_text
from deniably.results.provenance import SAMPLE, Protection, ResultsSource
from deniably.survey.survey import Survey
from deniably.workbench.report_set import ReportSet
from deniably_server.api.comparisons import kind_of
from deniably_server.api.exhibits import blueprint_of
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from support.every_type import reports_by_seed
from support.material import new_token
from support.stored import stored

ROOT = Path(__file__).parents[2]

# --- the comparison: one module of the room exhibits ------------------------------------------


class RatioResult(TypedDict):
    """How many times as large one share is as another, with its interval (Fieller 1954)."""

    survey: str
    question: str
    name: str
    strata: dict[str, str]
    labels: list[str]
    n: int
    estimate: float
    interval: list[float]
    confidence: float


COLUMNS = ("survey", "question", "first", "second", "n", "estimate", "low", "high", "confidence")


def ratio_of(side: Side, asked: Mapping[str, str], confidence: float) -> RatioResult:
    law, n, counts = side.question.mechanism.law, side.tally.n, side.tally.counts
    names = [choice.name for choice in getattr(side.question, "choices", [])]
    if not isinstance(law, Supporting) or not law.single or not {*asked.values()} & {*names}:
        raise Incomparable("a ratio is of two choices, of which a report names one")
    one, other = (names.index(asked[key]) for key in ("choice", "other"))
    p, q = float(law.p), float(law.q)
    named = float(counts[one] / n), float(counts[other] / n)
    first, second = ((share - q) / (p - q) for share in named)
    scale = n * (p - q) ** 2
    v1, v2 = (share * (1 - share) / scale for share in named)
    both, z2 = -named[0] * named[1] / scale, NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    a, b, c = second**2 - z2 * v2, first * second - z2 * both, first**2 - z2 * v1
    if a <= 0:
        raise Incomparable("the second share cannot be told from nobody's")
    half = sqrt(b * b - a * c)
    return {
        "survey": side.survey.name,
        "question": side.question.label,
        "name": side.question.name,
        "strata": dict(side.stratum or {}),
        "labels": [side.question.choices[place].label for place in (one, other)],
        "n": n,
        "estimate": first / second,
        "interval": [(b - half) / a, (b + half) / a],
        "confidence": confidence,
    }


def ratio_exhibit(found: RatioResult, survey: Survey, state: str, closed: str) -> Exhibit:
    low, high = found["interval"]
    first, second = found["labels"]
    ends = f"{rounding.number(low, 2)} to {rounding.number(high, 2)}"
    value = rounding.number(found["estimate"], 2)
    finding = f"“{first}” is {value} times as frequent as “{second}”."
    level = f"{level_text(found['confidence'])} interval"
    row = Row(
        label=f"{first} to {second}", estimate=found["estimate"], interval=(low, high),
        reading=Reading(value, ends, ends, "known"),
    )  # fmt: skip
    record = {
        "survey": found["survey"], "question": found["name"], "first": first, "second": second,
        "n": found["n"], "estimate": found["estimate"], "low": low, "high": high,
        "confidence": found["confidence"],
    }  # fmt: skip
    return Exhibit(
        document=found,
        file=f"{found['survey']}-{found['name']}-ratio",
        heading=f"{first} to {second}",
        about=f"the ratio of “{first}” to “{second}”",
        source=ResultsSource.of_survey(survey, state, found["n"], closed, found["strata"]),
        protections=[Protection.of_question(survey.question(found["name"]))],
        confidence=found["confidence"],
        finding=finding,
        pictures=lambda: [
            Picture(Strips([row], axes.of_values([0, high]), heads=("Ratio", level)))
        ],
        records=Records(COLUMNS, lambda: [record]),
        method=lambda: [
            "The interval holds every ratio that the reports do not reject (Fieller 1954)."
        ],
        estimator="Ratio of unbiased shares (Fieller 1954).",
        label=found["question"],
        caption=f"Ratio: {found['question']}",
        lines=lambda: Printed("", ("compared", "ratio", level), [(row.label, value, ends)]),
        title=found["question"],
        lede=f"A ratio of shares, {people(found['n'])}.",
        opening=[finding],
        effect=f" {SAMPLE}",
        asks=[found["question"]],
        words=f". {finding} Ratio with {level}:",
    )


RATIO: Comparison[RatioResult] = Comparison(
    name="ratio",
    called="The ratio of two shares",
    asks={"choice": "the choice above", "other": "the choice below"},
    document=RatioResult,
    compute=ratio_of,
    exhibit=ratio_exhibit,
)

# --- what follows from it -------------------------------------------------------------------------

SURVEY = compile_survey({
    "name": "ratios", "title": "Ratios & more", "results": {"minimum": 5},
    "strata": {"site": ["north", "south"]},
    "questions": [
        {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 9},
        {"name": "caught", "type": "yes_no", "label": "Caught?", "odds": 9},
    ],
})  # fmt: skip
QUERY = "question=stolen&choice=no&other=yes"


@cache
def reports() -> ReportSet:
    return reports_by_seed(SURVEY, 600, 5)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    address = str(tmp_path_factory.mktemp("ratios") / "deniably.db")
    store = stored(address, reports())
    store.close_survey(SURVEY.name)
    store.close()
    app = create_app({"DATABASE": address, "TESTING": True})
    app.register_blueprint(blueprint_of(kind_of(RATIO), "ratios"))  # all that shipping it takes
    yield app
    app.extensions["deniably"].close()


@pytest.fixture(scope="module")
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture(scope="module")
def document(client: FlaskClient) -> dict[str, Any]:
    found = client.get(f"/api/surveys/ratios/ratio?{QUERY}")
    assert found.status_code == 200, found.text
    told: dict[str, Any] = found.get_json()
    return told


def test_every_format_has_the_same_numbers(client: FlaskClient, document: dict[str, Any]) -> None:
    (row,) = csv.DictReader(client.get(f"/api/surveys/ratios/ratio.csv?{QUERY}").text.splitlines())
    page = unescape(client.get(f"/surveys/ratios/ratio?{QUERY}").text)
    svg = client.get(f"/api/surveys/ratios/ratio.svg?{QUERY}&width=180").text
    figure = unescape(client.get(f"/surveys/ratios/ratio/figure?{QUERY}").text)
    study = dn.open((SURVEY, reports())).compare(RATIO, "stolen", choice="no", other="yes")

    assert [float(row[key]) for key in ("estimate", "low", "high")] == [
        document["estimate"], *document["interval"],
    ]  # fmt: skip
    assert study.estimate == document["estimate"]
    assert list(study.interval) == document["interval"]
    assert json.loads(json.dumps(study.to_dict())) == {"estimator": study.estimator} | document
    said = f"“No” is {document['estimate']:.2f} times as frequent as “Yes”."
    for text in (page, svg, figure, str(study), study._repr_html_()):
        assert said in re.sub(r"</text>\s*<text[^>]*>", " ", unescape(text))
    low, high = document["interval"]
    for text in (page, svg, figure, str(study)):
        assert f"{low:.2f} to {high:.2f}" in text
    assert "(Fieller 1954)" in page
    assert "under local differential privacy" in figure
    assert 'class="b b95"' in page
    assert 'class="b b95"' in study._repr_html_()


def test_the_ratio_is_that_of_the_shares_which_the_results_have(
    client: FlaskClient, document: dict[str, Any]
) -> None:
    (question,) = (
        one
        for one in client.get("/api/surveys/ratios/results").get_json()["questions"]
        if one["name"] == "stolen"
    )
    yes, no = (choice["estimate"] for choice in question["choices"])
    low, high = document["interval"]

    assert document["estimate"] == pytest.approx(no / yes, rel=1e-4)
    assert low < document["estimate"] < high


def test_links_lead_to_the_same_subgroup(client: FlaskClient) -> None:
    page = client.get(f"/surveys/ratios/ratio?{QUERY}&site=north&confidence=0.9").text
    links = [unescape(link) for link in re.findall(r'href="([^"]+)"', page)]
    wanted = f"{QUERY}&confidence=0.9&site=north"

    for link in ("/api/surveys/ratios/ratio", "/api/surveys/ratios/ratio.csv",
                 "/surveys/ratios/ratio/figure"):  # fmt: skip
        assert f"{link}?{wanted}" in links
    north = client.get(f"/api/surveys/ratios/ratio?{wanted}").get_json()
    assert north["strata"] == {"site": "north"}
    assert 0 < north["n"] < 600
    assert "site north" in page


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("question=stolen&choice=no", "“other” is missing: the choice below"),
        ("question=none&choice=no&other=yes", "“question” names one of the questions of ratios"),
        ("question=stolen&choice=a&other=b", "a ratio is of two choices"),
        (f"{QUERY}&confidence=2", "“confidence” is a number"),
        (f"{QUERY}&choose=1", "“choose” is no parameter"),
        (f"{QUERY}&site=west", "“site” is one of north, south"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_refused_with_the_reason(
    client: FlaskClient, query: str, why: str
) -> None:
    for address in ("/api/surveys/ratios/ratio", "/api/surveys/ratios/ratio.csv"):
        found = client.get(f"{address}?{query}")
        assert found.status_code == 400
        assert why.casefold() in found.get_json()["detail"].casefold()


def test_a_notebook_says_the_same_of_what_is_missing() -> None:
    study = dn.open((SURVEY, reports()))

    with pytest.raises(NoFigure, match="“other” is missing: the choice below"):
        study.compare(RATIO, "stolen", choice="no")
    with pytest.raises(NoFigure, match="stolen: a ratio is of two choices"):
        study.compare(RATIO, "stolen", choice="a", other="b")
    with pytest.raises(NoFigure, match="no question nothing"):
        study.compare(RATIO, "nothing", choice="no", other="yes")


def test_results_for_analysts_are_shown_to_nobody_else(tmp_path: Path) -> None:
    rules = {"minimum": 5, "to": "analysts", "reports": "never"}
    hidden = compile_survey(
        {"name": "mine", "title": "Mine", "results": rules, "questions": [
            {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 9}
        ]}
    )  # fmt: skip
    store = stored(str(tmp_path / "deniably.db"), reports_by_seed(hidden, 50, 1))
    token = new_token(store, "analyst", "mine")
    app = create_app({"DATABASE": str(tmp_path / "deniably.db"), "TESTING": True})
    app.register_blueprint(blueprint_of(kind_of(RATIO), "ratios"))
    own: Store = app.extensions["deniably"]
    own.close_survey("mine")
    client, address = app.test_client(), f"surveys/mine/ratio?{QUERY}"

    assert client.get(f"/api/{address}").status_code == 401
    assert "times as frequent" not in client.get(f"/{address}").text
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get(f"/api/{address}", headers=headers).status_code == 200
    own.close()
    store.close()


def test_the_reference_of_the_api_has_its_views(client: FlaskClient) -> None:
    paths = client.get("/api/openapi.json").get_json()["paths"]
    view = paths["/api/surveys/{name}/ratio"]["get"]
    needed = {one["name"] for one in view["parameters"] if one["in"] == "query" and one["required"]}

    assert view["summary"] == "The ratio of two shares."
    assert needed == {"question", "choice", "other"}
    assert {f"/api/surveys/{{name}}/ratio{ending}" for ending in ("", ".csv", ".svg")} < set(paths)


def test_contributing_names_at_most_three_files() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## To add a comparison\n")[2].partition("\n## ")[0]
    to_do = section.partition("What it has for nothing")[0]
    files = re.findall(r"`((?:shared|server)/[\w/]+(?:\.py|/))`", to_do)

    assert 1 <= len(set(files)) <= 3
    assert (ROOT / "shared/deniably/exhibits/comparison.py").exists()
