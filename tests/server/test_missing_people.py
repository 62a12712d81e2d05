"""Results say where devices may have refused, because the author's other surveys used the limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from deniably.authoring.compiling import compile_survey
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey, as_survey
from deniably.trust.signing import Key
from deniably_server.api.missing_people import missing_people
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from deniably_server.storage.tables import register
from deniably_server.storage.writing.commit import BatchWrite
from spec.cases.mixers import EIGHT, mixed
from support.keys import key_of
from support.material import AUTHOR, signed

STRANGER = key_of(bytes(range(1, 33)))
SAID = "Some people may be missing."


@pytest.fixture
def app(tmp_path: Path) -> Flask:
    return create_app({"DATABASE": str(tmp_path / "deniably.db"), "TESTING": True})


def asking(name: str, epsilon: float, **more: Any) -> Survey:
    question = {"name": "q", "type": "yes_no", "label": "Q", "epsilon": epsilon}
    results = {"minimum": 1, "while_open": True}
    return compile_survey(
        {"name": name, "title": "T", "results": results, "questions": [question]} | more
    )


def published(
    app: Flask, monkeypatch: pytest.MonkeyPatch, day: str, survey: Survey, author: Key = AUTHOR
) -> None:
    monkeypatch.setattr(register, "today", lambda: day)
    store: Store = app.extensions["deniably"]
    store.publish(survey, signed(survey, author))
    batch = BatchWrite(survey)
    batch.add(
        randomise_answers(survey, dict.fromkeys([one.name for one in survey.questions], "yes"))
    )
    store.begin(batch)
    batch.wait()


def page(app: Flask, name: str) -> str:
    return " ".join(app.test_client().get(f"/surveys/{name}").text.split())


def test_the_third_survey_of_a_year_says_who_is_missing_from_it(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(app, monkeypatch, "2026-01-10", asking("first", 4.8))
    published(app, monkeypatch, "2026-05-01", asking("second", 4.8))
    assert SAID not in page(app, "second")
    published(app, monkeypatch, "2027-01-09", asking("third", 1.5))

    assert "this one adds up to 11.10" in page(app, "third")
    assert SAID in page(app, "second"), "it is open, and the third was answered before it"


def through(name: str, claim: str, answers: int) -> Survey:
    """A survey with a mixer: six questions at odds 8, or more, and the mixer's claim."""
    asked = [EIGHT | {"name": f"e{number}"} for number in range(answers)]
    terms = {"claim": {"epsilon": claim, "delta": "0.000001"}}
    return as_survey(mixed(*asked, mixer=terms, name=name))


def test_of_surveys_with_a_mixer_its_claim_counts_and_the_local_odds_apart(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six questions at odds 8 are epsilon 12.5, more than the limit of 10 against one server; but
    against that server alone 1.1 holds. All parties together may learn 50 in a year."""
    store: Store = app.extensions["deniably"]
    monkeypatch.setattr(register, "today", lambda: "2026-01-10")

    def said(*surveys: Survey) -> str:
        for survey in surveys:
            store.publish(survey, signed(survey))
        with app.app_context():
            return missing_people(surveys[-1].name)

    assert said(through("first", "1.0986", 6)) == ""
    assert said(through("second", "9.5", 6)).startswith(
        "Some people may be missing. A device gives one author at most epsilon 10 in 365 days, and"
        " with the author’s other surveys of that time this one adds up to 10.5986."
    )
    store.publish(other := through("other", "1", 12), signed(other, STRANGER))
    more = through("more", "1", 12)
    store.publish(more, signed(more, STRANGER))
    with app.app_context():
        assert missing_people("more") == "", "2 x 12 questions: 49.91"
    store.publish(last := through("last", "1", 1), signed(last, STRANGER))
    with app.app_context():
        told = missing_people("last")
    assert "at most epsilon 50 in 365 days that holds if mixers work together with servers" in told


def test_where_devices_offer_a_part_it_says_that_too(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = [{"name": name, "type": "yes_no", "label": "Q", "epsilon": 0.75} for name in ("q", "r")]
    published(app, monkeypatch, "2026-01-10", asking("first", 4.8))
    published(app, monkeypatch, "2026-05-01", asking("second", 4.8))
    published(app, monkeypatch, "2026-05-02", asking("third", 0, questions=two))
    published(app, monkeypatch, "2026-05-02", asking("whole", 0, questions=two, part=False))

    assert "answer only a part of the questions, or refuse" in page(app, "third")
    assert "those who take part in everything refuse. The intervals" in page(app, "whole")


def test_what_does_not_count_is_not_added_up(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    published(app, monkeypatch, "2026-01-10", asking("old", 4.8))
    published(app, monkeypatch, "2026-12-01", asking("theirs", 4.8), STRANGER)
    published(app, monkeypatch, "2027-01-10", asking("first", 4.8))
    app.extensions["deniably"].close_survey("first")
    published(app, monkeypatch, "2027-01-11", asking("second", 4.8))
    published(app, monkeypatch, "2027-01-12", asking("third", 0.4))

    assert SAID not in page(app, "first"), "closed before the others, 365 days after the old one"
    assert SAID not in page(app, "third"), "10.00"


def test_the_waves_of_a_panel_count_once(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 4):
        survey = asking(f"w-{number}", 2, waves={"panel": "w"})
        published(app, monkeypatch, f"2026-0{number}-01", survey)

    assert SAID not in page(app, "w-3")
