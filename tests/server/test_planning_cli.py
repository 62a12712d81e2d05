"""``deniably plan``, ``simulate`` and ``audit``: what authors try before they publish."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from deniably.coins import Coins
from deniably.mechanisms import SubsetSelection
from deniably_server.audit_cli import audit
from deniably_server.plan_cli import plan
from deniably_server.simulate_cli import simulate
from every_type import somebody, survey_of_everything

SURVEY = """
name: s
title: Habits
budget: {epsilon: 4, spend: split}
questions:
  - {name: stolen, type: yes_no, label: Stolen}
  - {name: drinks, type: number, label: Drinks, minimum: 0, maximum: 50}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "survey.yaml"
    path.write_text(SURVEY)
    return path


def run(command, *arguments: object) -> Result:  # type: ignore[no-untyped-def]
    return CliRunner().invoke(command, [str(one) for one in arguments])


def test_the_number_of_respondents_follows_from_epsilon_and_margin() -> None:
    done = run(plan, "--epsilon", 1, "--margin", 0.05)

    assert done.exit_code == 0
    assert "1,799" in done.output
    assert "385 people asked directly" in done.output
    assert "4.7 times the respondents" in done.output


@pytest.mark.parametrize(
    "arguments", [("--epsilon", 1), ("--n", 5), (), ("--epsilon", 1, "--n", 5, "--margin", 0.1)]
)
def test_two_of_the_three_are_needed(arguments: tuple[object, ...]) -> None:
    done = run(plan, *arguments)

    assert done.exit_code == 2
    assert "give two of --epsilon, --margin and --n" in done.output


def test_a_survey_is_planned_question_by_question(file: Path) -> None:
    done = run(plan, file, "--n", 2000, "--json")

    rows = json.loads(done.output)
    assert [row["question"] for row in rows] == ["stolen", "drinks"]
    assert all(row["n"] == 2000 and 0 < row["margin"] < 0.1 for row in rows)
    assert run(plan, file, "--n", 5, "--epsilon", 1).exit_code == 2


def test_a_simulation_shows_truth_and_estimate(file: Path, tmp_path: Path) -> None:
    random = Random(1)
    truth = tmp_path / "truth.csv"
    rows = [(random.choice(["yes", "no", "no"]), random.randint(0, 20)) for _ in range(3000)]
    with truth.open("w", newline="") as out:
        csv.writer(out).writerows([("stolen", "drinks"), *rows])

    done = run(simulate, file, "--truth", truth, "--json")

    figures = {(row["question"], row["figure"]): row for row in json.loads(done.stdout)}
    assert set(figures) == {("stolen", "yes"), ("stolen", "no"), ("drinks", "mean")}
    share = float(figures["stolen", "yes"]["truth"].split()[0])
    seen = float(figures["stolen", "yes"]["estimate"].split()[0])
    assert share == pytest.approx(33.3, abs=3)
    # The standard error is 1.2 points: seven of them.
    assert seen == pytest.approx(share, abs=8.5)
    assert "intervals hold the truth" in run(simulate, file, "--truth", truth).output


def test_every_type_can_be_simulated(tmp_path: Path) -> None:
    survey = survey_of_everything()
    file, truth = tmp_path / "survey.json", tmp_path / "truth.csv"
    file.write_bytes(survey.canonical)
    random = Random(2)
    rows = []
    for _ in range(400):
        row: dict[str, object] = {}
        for name, answer in somebody(random).items():
            if isinstance(answer, dict):
                row |= {f"{name}.{part}": value for part, value in answer.items()}
            else:
                row[name] = ";".join(answer) if isinstance(answer, list) else answer
        rows.append(row)
    with truth.open("w", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)

    done = run(simulate, file, "--truth", truth, "--json")

    assert done.exit_code == 0, done.output
    figures = {(row["question"], row["figure"]) for row in json.loads(done.stdout)}
    assert ("drugs", "cannabis") in figures
    assert ("what", "not_applicable") in figures
    assert ("happy", "mean score") in figures
    assert ("hours", "care mean") in figures
    assert ("vote", "party.red") in figures


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("stolen\nyes\n", "the column drinks is missing"),
        ("stolen,drinks\nyes,3\nperhaps,4\n", "row 3: stolen: the answer is none of yes, no"),
        ("stolen,drinks\nyes,many\n", "row 2: drinks: needs a number"),
        ("stolen,drinks\nyes,\n", "row 2: drinks: needs an answer"),
        ("stolen,drinks\n", "has no rows"),
    ],
)
def test_a_wrong_file_is_explained(file: Path, tmp_path: Path, text: str, why: str) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text(text)

    done = run(simulate, file, "--truth", truth)

    assert done.exit_code == 1
    assert why in done.output


# --- audit --------------------------------------------------------------------------------------


def test_an_audit_shows_claimed_exact_and_certified(file: Path) -> None:
    done = run(audit, file, "--trials", 2000)

    assert done.exit_code == 0, done.output
    first, second = done.output.splitlines()[1:3]
    assert first.split()[:3] == ["stolen", "2.0000", "2.0000"]
    assert "passed, every branch walked" in first
    assert second.startswith("drinks")
    assert "one chance in a million" in done.output


def test_an_audit_can_be_read_by_programs(file: Path) -> None:
    rows = json.loads(run(audit, file, "--trials", 2000, "--json").output)

    for row in rows:
        assert row["passed"]
        assert 0.5 < row["certified"] <= row["exact"] <= row["claimed"] + 1e-9


def test_a_survey_that_gives_away_more_than_it_claims_fails(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A randomiser that keeps the answer too often, under a definition that is right."""
    honest = SubsetSelection.randomise

    def faulty(self: SubsetSelection, answer: int, coins: Coins) -> tuple[int, ...]:
        return (answer,) if coins.choose((1, 3)) == 0 else honest(self, answer, coins)

    monkeypatch.setattr(SubsetSelection, "randomise", faulty)
    done = run(audit, file, "--trials", 2000)

    assert done.exit_code == 1
    assert "FAILED" in done.output
