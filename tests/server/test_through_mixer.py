"""A survey with a mixer: what its server takes from nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.core.errors import Refused
from deniably.survey.report import separate_reports
from deniably.survey.survey import Survey, as_survey
from deniably_client import Device
from deniably_server.storage.store import Store
from spec.cases.mixers import EIGHT, mixed
from spec.cases.questions import YES_NO
from support.material import (
    Server,
    a_report,
    assert_problem,
    lines_headers,
    new_token,
    signed,
)

SURVEY = as_survey(mixed(YES_NO, EIGHT, name="through"))
WHY = (
    "The answers to this survey come through its mixer, once the survey is closed; send the"
    " envelope to the mixer."
)


@pytest.fixture
def survey(app: Flask) -> Survey:
    store: Store = app.extensions["deniably"]
    store.publish(SURVEY, signed(SURVEY))
    return SURVEY


def bodies() -> list[bytes]:
    """A report to one question, as the server will find it in an envelope, and one to all."""
    apart = separate_reports(SURVEY, {"a": "yes", "e": "no"})
    return [apart[0].canonical, a_report(SURVEY).canonical]


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8"])
def test_no_report_comes_directly(
    app: Flask, client: FlaskClient, survey: Survey, kind: str
) -> None:
    for body in bodies():
        answer = client.post(f"/api/surveys/{survey.name}/reports", data=body, content_type=kind)

        assert assert_problem(answer, 422, "bad-report")["detail"] == WHY
    assert app.extensions["deniably"].reports(survey.name) == 0


def test_an_author_sends_none_either(app: Flask, client: FlaskClient, survey: Survey) -> None:
    store: Store = app.extensions["deniably"]
    headers = lines_headers(new_token(store, "author", survey.name))

    answer = client.post(
        f"/api/surveys/{survey.name}/batches", data=b"\n".join(bodies()), headers=headers
    )

    assert assert_problem(answer, 422, "bad-report")["detail"] == WHY
    assert store.reports(survey.name) == 0


def test_a_device_that_cannot_seal_refuses_the_survey_whole(tmp_path: Path) -> None:
    server = Server(tmp_path / "deniably.db")
    try:
        server.publish(SURVEY)
        with pytest.raises(Refused, match="go through a mixer, and this device cannot seal them"):
            Device(f"{server.url}/s/through").answer({"a": "yes", "e": "no"})
    finally:
        server.kill()
