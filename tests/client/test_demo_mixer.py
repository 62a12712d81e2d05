"""``deniably demo --mixer``: the same people and questions, once with local odds alone and once
through a mixer."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

import deniably_client.demo as demonstration
from deniably.authoring.compiling import compile_survey, publish_text
from deniably.design.mixer_plan import LOCAL_ODDS
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey
from deniably.trust.envelope import new_opening_key
from deniably.trust.mixer_offer import make_offer
from deniably.trust.signing import new_key
from deniably_client.demo.with_mixer import compared, mixed_survey

TEXT = (demonstration.HERE / "fair1978.yaml").read_text(encoding="utf-8")
OFFER = make_offer(new_key(), "https://mixer.example", "Works council", new_opening_key().public)


@pytest.fixture
def mixed() -> Survey:
    document: Any = json.loads(mixed_survey(TEXT, msgspec.json.encode(OFFER).decode()))
    return compile_survey(document)


def test_the_questions_are_the_same_with_the_odds_of_surveys_with_a_mixer(mixed: Survey) -> None:
    plain = publish_text(TEXT)

    assert mixed.name == f"{plain.name}-mixed"
    assert [one.label for one in mixed.questions] == [one.label for one in plain.questions]
    assert {one.mechanism.loss.odds_bound for one in mixed.questions} == {LOCAL_ODDS}
    assert mixed.server_loss.epsilon < plain.total.epsilon, "people give less to the server"
    assert isinstance(mixed.mixer, Mixer)
    assert mixed.mixer.by == "Works council"


def test_one_table_has_the_truth_and_both_estimates(
    mixed: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = {"alone": (0.31, 0.29, 0.33), "mixed": (0.325, 0.32, 0.33)}

    class Answer:
        def __init__(self, url: str) -> None:
            self.content = (publish_text(TEXT) if url.endswith("/alone") else mixed).canonical
            self.name = url.split("/")[-2]

        def json(self) -> object:
            estimate, *interval = shares[self.name]
            choice = {"name": "yes", "label": "Yes", "estimate": estimate, "interval": interval}
            return {"questions": [{"name": "affair", "label": "Affair?", "choices": [choice]}]}

    monkeypatch.setattr(
        "deniably_client.demo.with_mixer.requests.get", lambda url, timeout: Answer(url)
    )
    table = compared("http://s", [{"affair": "yes"}, {"affair": "no"}], "alone", "mixed")

    row = next(line for line in table.splitlines() if line.startswith("  Yes"))
    assert row.split() == ["Yes", "50.0%", "31.0%", "±", "2.0", "32.5%", "±", "0.5"]
    assert "   94  by the server, with local odds alone" in table
    assert "   75  by the server, with the mixer" in table
    assert " 99.9  by server and mixer, if they work together" in table


@pytest.mark.thorough
def test_both_servers_run_and_everybody_counts_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    people = demonstration.respondents()[::60]
    monkeypatch.setattr(demonstration, "respondents", lambda: people)

    done = CliRunner().invoke(
        demonstration.demo, ["--mixer", "--exit", "--port", "0"], catch_exceptions=False
    )

    assert done.exit_code == 0, done.output
    assert done.output.count("±") == 2 * (2 + 5 + 4)
    assert "   75  by the server, with the mixer" in done.output
    assert f"{len(people)} people answered" in done.output
