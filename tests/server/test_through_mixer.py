"""A survey with a mixer: what its server takes from nobody else."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.survey_files import load_survey
from deniably.survey.report import separate_reports
from deniably.survey.survey import Survey, as_survey
from deniably.trust.mixer_offer import make_offer
from deniably_server.storage.store import Store
from spec.cases.mixers import EIGHT, KEY, OPEN, mixed
from spec.cases.questions import YES_NO
from support.commands import call
from support.keys import key_of
from support.material import (
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


# What authors do -----------------------------------------------------------------------------

OFFER = make_offer(key_of(b"mixer".ljust(32)), "https://mixer.example.net", "Works council", KEY)
WRITTEN = f"""
name: council
title: Honesty at work
mixer: {{offer: offer.json, odds: 3, open: "{OPEN}"}}
questions:
  - {{name: stolen, type: yes_no, label: Ever stolen}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "offer.json").write_bytes(msgspec.json.encode(OFFER))
    file = tmp_path / "council.yaml"
    file.write_text(WRITTEN, encoding="utf-8")
    return file


def test_a_file_is_simulated_with_the_blanks(file: Path, tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("stolen\n" + "yes\n" * 300 + "no\n" * 700, encoding="utf-8")

    done = call("simulate", file, "--truth", people, "--json")

    yes = json.loads(done.stdout)[0]
    assert yes["truth"] == 0.3
    assert abs(yes["estimate"] - 0.3) < 0.1
    assert (
        "nobody has such rows" in call("simulate", file, "--truth", people, "--reports", "x").stderr
    )


def test_a_file_is_audited_and_the_blanks_are_worked_out_again(file: Path) -> None:
    done = call("audit", file, "--seconds", "0", "--trials", "10")

    assert done.returncode == 3, done.stderr  # in part: nothing was replayed
    told = " ".join(done.stdout.split())
    assert "if Works council does not conspire, and adds its 41 blanks to each question" in told


def test_the_lab_draws_a_file_and_says_when_that_holds(file: Path, tmp_path: Path) -> None:
    done = call("lab", file, "--output", tmp_path / "page.html")

    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Honesty at work, if mixer and server work together: odds of 8" in page
    assert "(the server alone: " in page


def test_a_file_has_a_dossier(file: Path) -> None:
    done = call("dossier", file, "--n", "500", "--seconds", "0", "--trials", "10")

    assert done.returncode == 0, done.stderr
    assert "does not conspire with the survey's server, and adds the blanks" in done.stdout


def test_a_file_is_checked_with_its_offer(file: Path) -> None:
    done = call("check", file)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1] == f"digest {load_survey(file).digest}"
    assert lines[3].split() == [
        "question", "type", "mechanism", "server", "alone", "together", "margin",
    ]  # fmt: skip
    assert lines[4].split()[-3:-1] == ["2.95", "8"]


def test_a_file_without_the_servers_key_has_no_digest_and_is_not_signed(file: Path) -> None:
    file.write_text(WRITTEN.replace(f', open: "{OPEN}"', ""), encoding="utf-8")

    checked, signed = call("check", file), call("sign", file, "--yes")

    assert "digest" not in checked.stdout
    assert signed.returncode == 1
    assert "$.mixer.open: the key of envelopes of the survey's server is missing" in signed.stderr


def test_a_file_is_planned_for_a_margin(file: Path) -> None:
    done = call("plan", file, "--margin", "0.05")

    assert done.returncode == 0, done.stderr
    assert "asked directly" in done.stdout.splitlines()[0]
    assert "server alone  together" in done.stdout
