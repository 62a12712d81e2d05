"""Made-up people answer a survey, so that its author sees what results look like."""

from __future__ import annotations

import re

import pytest
import requests
from click.testing import CliRunner, Result

from deniably.authoring.compiling import publish_text
from deniably.simulation.made_up import make_up
from deniably.survey.questions import NOT_APPLICABLE
from deniably.survey.report import make_report
from deniably_client import rehearsal
from support.every_type import survey_of_everything
from support.material import Server, contents, survey_named

SURVEY = publish_text(
    """
name: w
title: At work
results: {minimum: 50}
questions:
  - {name: stolen, type: yes_no, label: Ever stolen, epsilon: 2}
  - {name: often, type: select_one, label: How often, choices: [Never, Once, Often], epsilon: 2}
"""
)


def rehearse(*arguments: str, keys: str | None = None) -> Result:
    return CliRunner().invoke(rehearsal.rehearse, arguments, input=keys)


def test_after_a_rehearsal_and_a_closing_there_are_results(own_server: Server) -> None:
    done = rehearse(f"{own_server.url}/s/w", "--people", "60")
    own_server.close(SURVEY)

    assert done.exit_code == 0, done.output
    results = requests.get(f"{own_server.url}/api/surveys/w/results", timeout=30).json()
    assert results["n"] == 60
    assert f"{own_server.url}/surveys/w" in done.stdout
    shares = [float(share) for share in re.findall(r"([\d.]+)%", done.stdout)]
    assert len(shares) == 5
    assert sum(shares) == pytest.approx(200, abs=0.3)
    for question, first in zip(results["questions"], (0, 2), strict=True):
        for index, choice in enumerate(question["choices"]):
            # The standard errors are at most .095: five of them err so with a chance below 1e-6.
            assert abs(choice["estimate"] - shares[first + index] / 100) < 0.5


def test_every_made_up_person_has_a_device_of_their_own(server: Server) -> None:
    rehearse(f"{server.url}/s/w", "--people", "20")

    reports = contents(server.database)["reports"]
    assert len(reports) == 20


def test_made_up_people_can_answer_questions_of_every_type() -> None:
    survey = survey_of_everything()

    for person in make_up(survey, 50):
        make_report(survey, person)  # raises where an answer is none
        assert all(answer not in (NOT_APPLICABLE, [NOT_APPLICABLE]) for answer in person.values())


def test_what_they_answered_is_shown_for_every_type_of_question() -> None:
    survey = survey_of_everything()
    crowd = make_up(survey, 40)

    lines = list(rehearsal._truth(survey, crowd))

    for question in survey.questions:
        assert any(line.startswith(f"\n{question.label}") for line in lines), question.name
    assert all(line.startswith(("\n", "  ")) for line in lines)


def test_a_server_elsewhere_gets_made_up_people_only_if_that_is_wanted(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "is_here", lambda _: False)

    for keys in (None, "n\n"):
        asked = rehearse(f"{server.url}/s/w", "--people", "5", keys=keys)
        assert asked.exit_code == 1
        assert "5 made-up people would stay in it for good. Send them? [y/N]" in asked.output
    assert contents(server.database)["reports"] == []

    assert rehearse(f"{server.url}/s/w", "--people", "5", "--yes").exit_code == 0
    assert rehearse(f"{server.url}/s/w", "--people", "5", keys="y\n").exit_code == 0
    assert len(contents(server.database)["reports"]) == 10


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:8000/s/w", True), ("http://localhost/s/w", True),
        ("http://[::1]:8000/s/w", True), ("http://127.9.9.9/s/w", True),
        ("https://example.org/s/w", False), ("http://10.0.0.1/s/w", False),
        ("http://localhost.example.org/s/w", False), ("http://127.0.0.1.example.org/s/w", False),
    ],
)  # fmt: skip
def test_this_machine_is_known_by_its_names(url: str, here: bool) -> None:
    assert rehearsal.is_here(url) == here


def test_made_up_people_have_no_invitation(server: Server) -> None:
    server.publish(survey_named("invited", invited=True))

    done = rehearse(f"{server.url}/s/invited")

    assert done.exit_code == 1
    assert "this survey is by invitation, and made-up people have none" in done.output


def test_an_address_that_is_none_is_a_mistake_in_the_command() -> None:
    done = rehearse("http://127.0.0.1:9/x")

    assert done.exit_code == 2
    assert "a survey's address looks like" in done.output


def test_who_asks_for_people_from_a_table_is_told_where_these_are_tried(own_server: Server) -> None:
    done = rehearse(f"{own_server.url}/s/w", "--people-from", "table.csv")

    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert "deniably simulate SURVEY.yaml --truth table.csv" in said
    assert "--people-from" not in rehearse("--help").output
