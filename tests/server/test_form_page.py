"""The form's page as the server writes it: what stands where."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask, render_template
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text
from deniably_server.api import pages
from support.material import signed

TEXT = """
name: s
title: T
results: RESULTS
questions:
  - {name: a, type: yes_no, label: A, odds: 2, also: [dont_know, prefer_not_to_say]}
  - {name: b, type: select_one, label: B, odds: 3, choices: [x, y, z]}
"""


def page(client: FlaskClient, app: Flask, results: str = "{minimum: 5}") -> str:
    survey = publish_text(TEXT.replace("RESULTS", results))
    app.extensions["deniably"].publish(survey, signed(survey))
    return client.get("/s/s").text


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The templates that are rendered from now on."""
    found = list[str]()

    def render(name: str, **texts: Any) -> str:
        found.append(name)
        return render_template(name, **texts)

    monkeypatch.setattr(pages, "render_template", render)
    return found


def test_a_form_is_written_once_for_each_language_until_the_survey_is_closed(
    client: FlaskClient, app: Flask, written: list[str]
) -> None:
    first = page(client, app, "{minimum: 17}")  # that no other test asks for
    german = client.get("/s/s?language=de").text

    assert client.get("/s/s").text == first != german == client.get("/s/s?language=de").text
    assert written == ["form.html"] * 2
    app.extensions["deniably"].close_survey("s")
    assert client.get("/s/s").text != first


def test_a_large_form_is_not_kept(client: FlaskClient, app: Flask, written: list[str]) -> None:
    choices = ", ".join(f"choice-{number}" for number in range(400))
    survey = publish_text(TEXT.replace("RESULTS", "{minimum: 5}").replace("x, y, z", choices))
    app.extensions["deniably"].publish(survey, signed(survey))

    assert "choice-399" in client.get("/s/s").text == client.get("/s/s").text
    assert written == ["form.html"] * 2


def test_answers_that_are_none_stand_apart_from_the_others(client: FlaskClient, app: Flask) -> None:
    labels = re.findall(r'<label class="choice( apart)?"><input type="radio".*?<span>(.*?)</span>',
                        page(client, app))  # fmt: skip

    assert [name for apart, name in labels if apart] == ["Don’t know"], "the first of them"
    assert [name for _, name in labels][:4] == ["Yes", "No", "Don’t know", "Prefer not to say"]


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ("{minimum: 5}", "Once the survey is closed."),
        ("{minimum: 5, while_open: true}", "Once there are enough answers."),
        ("{minimum: 5, to: analysts}", None),
    ],
)
def test_the_receipt_says_when_the_results_are_shown_unless_they_are_not(
    client: FlaskClient, app: Flask, results: str, said: str | None
) -> None:
    receipt = page(client, app, results).partition('data-step="receipt"')[2]

    assert ('href="/surveys/s"' in receipt) == (said is not None)
    for text in ("Once the survey is closed.", "Once there are enough answers."):
        assert (text in receipt) == (text == said)


def test_the_receipt_has_the_figures_of_the_first_page(client: FlaskClient, app: Flask) -> None:
    receipt = page(client, app).partition('data-step="receipt"')[2]
    rows = dict(re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", receipt))

    assert rows["Survey"] == "T"
    assert rows["Sent"] == "2 randomised answers"
    assert rows["Kept of your true answers"] == "nothing"
    assert rows["A guess from one answer"] == "right 60–70 of 100 times"
    assert rows["A guess from all 2 answers"] == "right 72 of 100 times"
    folded = receipt.partition("<details>")[2].partition("</details>")[0]
    assert folded.count("<code") == 4, "hashes are for those who want to compare them"
    assert receipt.partition("<details>")[0].count("<code") == 0


def test_how_it_works_is_one_link_away_from_the_start_and_from_the_receipt(
    client: FlaskClient, app: Flask
) -> None:
    for step in ("start", "receipt"):
        text = page(client, app).partition(f'data-step="{step}"')[2].partition("data-step=")[0]
        (link,) = re.findall(r'href="(/how[^"]*)"', text)
        assert client.get(link).status_code == 200
